"""Whole-body control: a hierarchical quadratic program in accelerations and contact forces.

    min Σ w ‖A a − a*‖² + ε_a ‖a‖² + ε_f ‖p‖²       over a (nv), contact forces f = E p and forces μ of loops, with

    M a + h − J_cᵀ f − Gᵀ μ = τ,  |τ| ≤ motor limits, 0 without a motor;     J_c a = −J̇_c v − k J_c v;
    G a = −γ;     p ≥ 0, four edges of each friction cone;     a_low ≤ a ≤ a_high.

Where motors cannot provide accelerations within a_low and a_high, these bounds yield, and motor limits hold.

A contact that is switched off has no force and imposes no constraint.  Tasks of a later level are optimised within the
optima of the earlier levels, which are constrained by equations.

The twist of a rigid body determines the motion of all its points, so their contact equations are dependent, while
their J̇_c v differ by ω × (ω × r).  So no a satisfies all these equations while the body rotates.  With S, the map
from the twist to a point's velocity, they are satisfied in the least-squares sense, Σ Sᵀ(J_c a + J̇_c v + k J_c v) = 0
over the body's points: six consistent equations.  The equations of several bodies may be inconsistent, for example for
stretched legs, or for soles on legs with fewer joints than a sole has equations.  So contact equations are satisfied
in the least-squares sense.

Sources: Herzog and others, Momentum control with hierarchical inverse dynamics on a torque-controlled humanoid,
Autonomous Robots 40, 2016; Escande, Mansard and Wieber, Hierarchical quadratic programming, Int. J. Robotics Research
33(7), 2014; Del Prete, Joint position and velocity bounds in discrete-time acceleration/torque control of robot
manipulators, IEEE Robotics and Automation Letters 3(1), 2018.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.control.algorithms.pid_integrator import bounded
from linkwork.control.algorithms.sparse_qp import RangedRows, ranged_program
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, fmax, fmin

__all__ = ["BodyContact", "BodyDynamics", "BodyForces", "BodyUnits", "LevelRows", "body_forces", "braking_limits"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_INF = float("inf")
_EDGES = 4
_BRAKING_SHARE = 0.5  # of the motors' forces that braking at limits plans with; the rest is for changes of M and h
_SOLVER_ERROR = 1e-4  # by which a program may exceed bounds of accelerations, in `BodyUnits`
_LEAST_ROOM = 0.05  # of a motor's limit, where gravity and velocities need all of it


@dataclass(frozen=True, slots=True)
class BodyDynamics:
    """Dynamics of a robot: M a + h = τ with motor limits, and loop constraints G a = −γ.

    ``M`` is a lower triangle. A limit is 0 for a joint without a motor. ``free`` (nv) are the desired accelerations of
    motions that no task controls, zero by default.
    """

    M: Rows
    h: Scalars
    limits: Scalars
    G: Rows = ()
    gamma: Scalars = ()
    free: Scalars = ()


@dataclass(frozen=True, slots=True)
class BodyContact:
    """A contact point of a rigid body: its Jacobian, its friction coefficient, and whether it is in contact.

    ``J`` maps v to its velocity along two tangents and the normal, and ``accelerations`` are the required values of J
    a. ``on`` is 0 for a contact that is switched off. ``body`` identifies its rigid body. ``screws`` (3 × 6) map the
    twist of this body, in any units, to the same velocity; they are used for several contacts on one body.
    """

    J: Rows
    accelerations: Scalars
    friction: float
    on: Any
    body: Hashable = None
    screws: Rows = ()


@dataclass(frozen=True, slots=True)
class LevelRows:
    """Tasks of one priority level: their Jacobian A, desired accelerations a* and weights."""

    rows: Rows
    accelerations: Scalars
    weights: Scalars


@dataclass(frozen=True, slots=True)
class BodyUnits:
    """Units in which quadratic programs are solved, so that tolerances do not depend on the robot's units.

    ``steps`` (nv) are the units of coordinates: 1 rad, or a characteristic ``length``.
    """

    time: float  # [s]
    mass: float
    length: float
    steps: Sequence[float]

    @property
    def accelerations(self) -> list[float]:
        """Unit of each acceleration (nv)."""
        return [x / self.time**2 for x in self.steps]

    @property
    def force(self) -> float:
        """Unit of contact forces: mass · length / time², from the units of the robot."""
        return self.mass * self.length / self.time**2

    @property
    def joint_forces(self) -> list[float]:
        """Unit of each joint force (nv)."""
        return [self.force * self.length / x for x in self.steps]

    def error(self, unit: float) -> float:
        """Return the solver's error of an acceleration bound, for a coordinate with this ``unit``."""
        return _SOLVER_ERROR * unit / self.time**2

    def rows(self, rows: Rows, unit: float = 1.0) -> list[list[Any]]:
        """Return rows r of products r·a for accelerations a in these units; r·a has ``unit`` per time unit squared."""
        return [_each(row, [x / unit for x in self.steps]) for row in rows]

    def dynamics(self, of: BodyDynamics) -> BodyDynamics:
        """Return dynamics converted to these units."""
        per, inertia = [1.0 / x for x in self.joint_forces], 1.0 / (self.mass * self.length**2)
        M = [_each(row, [inertia * a * x for x in self.steps]) for a, row in zip(self.steps, of.M, strict=True)]
        gamma = _each(of.gamma, [self.time**2] * len(of.gamma))
        free = _each(of.free, [1.0 / x for x in self.accelerations])
        return BodyDynamics(M, _each(of.h, per), _each(of.limits, per), self.rows(of.G), gamma, free)

    def contact(self, of: BodyContact) -> BodyContact:
        """Return a contact converted to these units."""
        accelerations = _each(of.accelerations, [self.time**2 / self.length] * len(of.accelerations))
        return replace(of, J=self.rows(of.J, self.length), accelerations=accelerations)

    def level(self, of: LevelRows) -> LevelRows:
        """Return the tasks of a level converted to these units; task errors count as angles."""
        return LevelRows(self.rows(of.rows), _each(of.accelerations, [self.time**2] * len(of.rows)), of.weights)


def _each(values: Scalars, by: Sequence[float]) -> list[Any]:
    """Return the products of ``values`` and ``by``, element by element; zero and infinite floats are unchanged."""
    return [x if is_zero(x) or _is_infinite(x) else x * k for x, k in zip(values, by, strict=False)]


class BodyForces(NamedTuple):
    """Result of whole-body control: joint forces τ (nv), accelerations a (nv), and contact forces.

    The force of each contact acts on the robot and has components along the contact's two tangents and its normal.
    ``solved`` is 1 if the programs of all levels are solved to optimality, else 0. ``rounds`` is the number of
    iterations, the total over all levels.
    """

    tau: list[Any]
    acceleration: list[Any]
    contacts: list[list[Any]]
    solved: Any
    rounds: Any


def body_forces(
    dynamics: BodyDynamics,
    contacts: Sequence[BodyContact],
    levels: Sequence[LevelRows],
    box: tuple[Scalars, Scalars],
    regularization: tuple[float, float],
    units: BodyUnits,
    ranges: Sequence[tuple[Scalars, Any, Any, float]] = (),
) -> BodyForces:
    """Solve the quadratic programs of all levels at one state; return joint forces, accelerations and contact forces.

    ``box`` are the lower and upper bounds of the accelerations a, and ``ranges`` are rows r with bounds of r·a and the
    unit of the coordinate with this acceleration.  ``regularization`` are the weights ε_a of ‖a − a_0‖² and ε_f of the
    squared contact forces, in ``units``.
    """
    dynamics, contacts = units.dynamics(dynamics), [units.contact(contact) for contact in contacts]
    levels = [units.level(level) for level in levels]
    per = [1.0 / x for x in units.accelerations]
    box = _each(box[0], per), _each(box[1], per)
    n, m, c = len(dynamics.h), _EDGES * len(contacts), len(dynamics.G)
    size = n + m + c
    columns = [list(edge) for contact in contacts for edge in _edges(contact)]
    columns += [list(row) for row in dynamics.G]

    def balance(k: int) -> list[Any]:
        """Return row k of the matrix in M a − Jᵀf − Gᵀμ = τ − h, for the unknowns a, f and μ.

        a are accelerations, f contact forces along the edges of friction pyramids, and μ forces of loops.
        """
        inertia = [dynamics.M[max(k, j)][min(k, j)] for j in range(n)]
        return [*inertia, *(-row[k] if not is_zero(row[k]) else 0.0 for row in columns)]

    equal: list[list[Any]] = []
    values: list[Any] = []
    rows: list[list[Any]] = []
    low: list[Any] = []
    high: list[Any] = []
    yielding: list[int] = []
    for k, limit in enumerate(dynamics.limits):
        if is_zero(limit):
            equal.append(balance(k))
            values.append(-dynamics.h[k])
        elif not (isinstance(limit, float) and math.isinf(limit)):
            rows.append(balance(k))
            low.append(-limit - dynamics.h[k])
            high.append(limit - dynamics.h[k])
    zeros = [0.0] * (m + c)
    contact_equations = _contact_equations(contacts)
    loose = range(len(equal), len(equal) + len(contact_equations))
    for equation, value in contact_equations:
        equal.append([*equation, *zeros])
        values.append(value)
    for row, bias in zip(dynamics.G, dynamics.gamma, strict=True):
        equal.append([*row, *zeros])
        values.append(-bias)
    for k in range(n, n + m):
        rows.append([1.0 if j == k else 0.0 for j in range(size)])
        low.append(0.0)
        high.append(_INF)
    limited = [([1.0 if j == k else 0.0 for j in range(n)], a, b) for k, (a, b) in enumerate(zip(*box, strict=True))]
    for r, *ends, unit in ranges:
        limited.append((units.rows([r], unit)[0], *_each(ends, [units.time**2 / unit] * 2)))
    for row, a, b in limited:
        if not (_is_infinite(a) and _is_infinite(b)):
            yielding.append(len(rows))
            rows.append([*row, *zeros])
            low.append(a)
            high.append(b)
    x: list[Any] = [0.0] * size
    result: Any = 1.0
    rounds: Any = 0.0
    sides = None
    for level in levels:
        H, g = _cost(level, dynamics.free, n, size, regularization)
        solution = ranged_program(H, g, equal, values, RangedRows(rows, low, high), sides, loose, yielding)
        x, sides = solution.x, solution.sides
        result, rounds = result * solution.optimal, rounds + solution.rounds
        for row in level.rows:
            equal.append([*row, *zeros])
            values.append(dot(row, x[:n]))
    tau = [
        0.0 if is_zero(b) else h + dot(balance(k), x)
        for k, (h, b) in enumerate(zip(dynamics.h, dynamics.limits, strict=True))
    ]
    tau = _each(bounded(tau, dynamics.limits), units.joint_forces)
    forces = []
    for k, contact in enumerate(contacts):
        p = [y * units.force for y in x[n + _EDGES * k : n + _EDGES * (k + 1)]]
        mu, on = contact.friction, contact.on
        forces.append([on * mu * (p[0] - p[1]), on * mu * (p[2] - p[3]), on * (p[0] + p[1] + p[2] + p[3])])
    return BodyForces(tau, _each(x[:n], units.accelerations), forces, result, rounds)


def _contact_equations(contacts: Sequence[BodyContact]) -> list[tuple[list[Any], Any]]:
    """Return equations (row, right-hand side) of a by which contacts keep their velocities: three or six for a body.

    A body with one contact point has three equations, and a body with several points six.
    """
    bodies: dict[Hashable, list[BodyContact]] = {}
    for k, contact in enumerate(contacts):
        bodies.setdefault(("alone", k) if contact.body is None else contact.body, []).append(contact)
    result = []
    for points in bodies.values():
        equations = [
            (
                contact.screws[k] if len(points) > 1 else (),
                _scaled(row, contact.on),
                contact.on * contact.accelerations[k],
            )
            for contact in points
            for k, row in enumerate(contact.J)
        ]
        if len(points) == 1:
            result += [(row, value) for _, row, value in equations]
            continue
        n = len(points[0].J[0])
        for j in range(6):
            shares = [screw[j] for screw, _, _ in equations]
            row = [dot(shares, [row[k] for _, row, _ in equations]) for k in range(n)]
            result.append((row, dot(shares, [value for _, _, value in equations])))
    return result


def _scaled(row: Scalars, by: Any) -> list[Any]:
    return [x if is_zero(x) else by * x for x in row]


def _edges(contact: BodyContact) -> list[list[Any]]:
    """Return the joint forces (nv) of unit forces along the four edges of a contact's friction pyramid."""
    mu, on = contact.friction, contact.on
    first, second, normal = contact.J
    result = []
    for tangent, side in ((first, mu), (first, -mu), (second, mu), (second, -mu)):
        result.append(
            [x if is_zero(x) else on * x for x in (b + side * a for a, b in zip(tangent, normal, strict=True))]
        )
    return result


def _cost(
    level: LevelRows, free: Scalars, n: int, size: int, regularization: tuple[float, float]
) -> tuple[list[list[Any]], list[Any]]:
    """Return the lower triangle of H and the vector g of the quadratic cost ½ xᵀH x + gᵀx of a priority level.

    The n first of the ``size`` unknowns x are accelerations, for which ``free`` are desired values. ``regularization``
    are weights of accelerations and of all other unknowns.
    """
    weighted = [[x if is_zero(x) else x * w for x in row] for row, w in zip(level.rows, level.weights, strict=True)]
    H: list[list[Any]] = []
    for i in range(size):
        H.append([dot([r[i] for r in weighted], [r[j] for r in level.rows]) if i < n else 0.0 for j in range(i + 1)])
        H[i][i] = H[i][i] + (regularization[0] if i < n else regularization[1])
    g = [-dot([row[k] for row in weighted], level.accelerations) if k < n else 0.0 for k in range(size)]
    for k, x in enumerate(free):
        g[k] = g[k] - regularization[0] * x
    return H, g


def braking_limits(dynamics: BodyDynamics, gravity: Sequence[float]) -> list[Any]:
    """Return decelerations (nv) that the motors of all joints can provide simultaneously, whatever their signs.

    They need a fixed fraction of each motor's limit that gravity and bias forces leave. With the decelerations α, Σ_j
    |M_kj| α_j ≤ fraction · (limit_k − max(|h_k|, gravity_k)) holds for all motors k. ``gravity`` (nv) are the largest
    gravity forces. The result is infinite for joints without motor limits. Contact forces and loops are not considered.
    """
    limits, M = dynamics.limits, dynamics.M
    motors = [k for k, limit in enumerate(limits) if not is_zero(limit) and not _is_infinite(limit)]
    nominal = {k: limits[k] / M[k][k] for k in motors}
    share: Any = 1.0
    for k in motors:
        size = sum(
            (fabs(M[max(j, k)][min(j, k)]) * nominal[j] for j in motors if not is_zero(M[max(j, k)][min(j, k)])), 0.0
        )
        share = fmin(share, fmax(limits[k] - fmax(fabs(dynamics.h[k]), gravity[k]), _LEAST_ROOM * limits[k]) / size)
    return [_BRAKING_SHARE * share * nominal[k] if k in nominal else _INF for k in range(len(limits))]


def _is_infinite(x: Any) -> bool:
    return isinstance(x, float) and math.isinf(x)
