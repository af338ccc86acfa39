"""A step of whole-body control as a quadratic program in accelerations and forces: what is least, and what holds.

    min Σ w ‖A a − a*‖² + ε_a ‖a‖² + ε_f ‖p‖²       over a (nv), contact forces f = E p and forces μ of loops, with

    M a + h − J_cᵀ f − Gᵀ μ = τ,  |τ| ≤ limits of motors, 0 where there are none;     J_c a = −J̇_c v − k J_c v;
    G a = −γ;     p ≥ 0, four edges of each friction cone;     a_low ≤ a ≤ a_high.

A contact that is switched off has no force, and holds nothing.  Tasks of a later level are done as well as those before
leave it: what these reach is kept as an equation.

Points of one rigid body move by its twist alone, so the rows of several depend on each other, while their J̇_c v
differ by ω × (ω × r): no a meets all of them where the body turns.  With S a point's velocity by the twist, they are
met in the least-squares sense, Σ Sᵀ(J_c a + J̇_c v + k J_c v) = 0 over the body's points: six equations that do not
contradict each other.  Those of several bodies may: soles on legs with fewer joints than a sole has equations, or legs
that are stretched out.  So equations of contacts are met in the least-squares sense, too.

Sources: Herzog and others, Momentum control with hierarchical inverse dynamics on a torque-controlled humanoid,
Autonomous Robots 40, 2016; Escande, Mansard and Wieber, Hierarchical quadratic programming, Int. J. Robotics Research
33(7), 2014; Del Prete, Joint position and velocity bounds in discrete-time acceleration/torque control of robot
manipulators, IEEE Robotics and Automation Letters 3(1), 2018.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.control.algorithms.sparse_qp import RangedRows, ranged_program
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fmax, fmin

__all__ = ["BodyContact", "BodyDynamics", "BodyForces", "LevelRows", "acceleration_box", "body_forces"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_INF = float("inf")
_EDGES = 4


@dataclass(frozen=True, slots=True)
class BodyDynamics:
    """M (its lower triangle), h, greatest forces of motors, 0 where there are none; rows G and γ of loops."""

    M: Rows
    h: Scalars
    limits: Scalars
    G: Rows = ()
    gamma: Scalars = ()


@dataclass(frozen=True, slots=True)
class BodyContact:
    """Rows of a contact's velocity along two tangents and the normal, what J a is to be, friction; 0 where off.

    ``body`` names the rigid body that it is on, and ``screws`` (3 × 6) are the same velocity by that body's twist, in
    any units: they are used where several contacts are on one body.
    """

    J: Rows
    wanted: Scalars
    friction: float
    on: Any
    body: Hashable = None
    screws: Rows = ()


@dataclass(frozen=True, slots=True)
class LevelRows:
    """A, a* and weights by row, of tasks of one level."""

    rows: Rows
    wanted: Scalars
    weights: Scalars


class BodyForces(NamedTuple):
    """τ and a (nv), f by contact along two tangents and the normal, whether it is the least, and rounds in all."""

    tau: list[Any]
    acceleration: list[Any]
    contacts: list[list[Any]]
    found: Any
    rounds: Any


def body_forces(
    dynamics: BodyDynamics,
    contacts: Sequence[BodyContact],
    levels: Sequence[LevelRows],
    box: tuple[Scalars, Scalars],
    small: tuple[float, float],
) -> BodyForces:
    """The forces of a step; ``small`` are ε_a and ε_f, ``box`` the bounds of a."""
    n, m, c = len(dynamics.h), _EDGES * len(contacts), len(dynamics.G)
    size = n + m + c
    columns = [list(edge) for contact in contacts for edge in _edges(contact)]
    columns += [list(row) for row in dynamics.G]

    def balance(k: int) -> list[Any]:
        """A row of M a − Jᵀf − Gᵀμ."""
        inertia = [dynamics.M[max(k, j)][min(k, j)] for j in range(n)]
        return [*inertia, *(-row[k] if not is_zero(row[k]) else 0.0 for row in columns)]

    equal: list[list[Any]] = []
    given: list[Any] = []
    rows: list[list[Any]] = []
    low: list[Any] = []
    high: list[Any] = []
    for k, most in enumerate(dynamics.limits):
        if is_zero(most):
            equal.append(balance(k))
            given.append(-dynamics.h[k])
        elif not (isinstance(most, float) and math.isinf(most)):
            rows.append(balance(k))
            low.append(-most - dynamics.h[k])
            high.append(most - dynamics.h[k])
    rest = [0.0] * (m + c)
    holding = _holding(contacts)
    loose = range(len(equal), len(equal) + len(holding))
    for held, wanted in holding:
        equal.append([*held, *rest])
        given.append(wanted)
    for row, bias in zip(dynamics.G, dynamics.gamma, strict=True):
        equal.append([*row, *rest])
        given.append(-bias)
    for k in range(n, n + m):
        rows.append([1.0 if j == k else 0.0 for j in range(size)])
        low.append(0.0)
        high.append(_INF)
    for k, (a, b) in enumerate(zip(*box, strict=True)):
        if not (_none(a) and _none(b)):
            rows.append([1.0 if j == k else 0.0 for j in range(size)])
            low.append(a)
            high.append(b)
    x: list[Any] = [0.0] * size
    result: Any = 1.0
    rounds: Any = 0.0
    sides = None
    for level in levels:
        H, g = _cost(level, n, size, small)
        solution = ranged_program(H, g, equal, given, RangedRows(rows, low, high), sides, loose)
        x, sides = solution.x, solution.sides
        result, rounds = result * solution.found, rounds + solution.rounds
        for row in level.rows:
            equal.append([*row, *rest])
            given.append(dot(row, x[:n]))
    tau = [
        0.0 if is_zero(b) else h + dot(balance(k), x)
        for k, (h, b) in enumerate(zip(dynamics.h, dynamics.limits, strict=True))
    ]
    forces = []
    for k, contact in enumerate(contacts):
        p = x[n + _EDGES * k : n + _EDGES * (k + 1)]
        mu, on = contact.friction, contact.on
        forces.append([on * mu * (p[0] - p[1]), on * mu * (p[2] - p[3]), on * (p[0] + p[1] + p[2] + p[3])])
    return BodyForces(tau, x[:n], forces, result, rounds)


def _holding(contacts: Sequence[BodyContact]) -> list[tuple[list[Any], Any]]:
    """Return rows of a (nv) and their values that hold all contacts: three of a point, six of several on a body."""
    bodies: dict[Hashable, list[BodyContact]] = {}
    for k, contact in enumerate(contacts):
        bodies.setdefault(("alone", k) if contact.body is None else contact.body, []).append(contact)
    result = []
    for points in bodies.values():
        moved = [
            (contact.screws[k] if len(points) > 1 else (), _scaled(row, contact.on), contact.on * contact.wanted[k])
            for contact in points
            for k, row in enumerate(contact.J)
        ]
        if len(points) == 1:
            result += [(row, wanted) for _, row, wanted in moved]
            continue
        n = len(points[0].J[0])
        for j in range(6):
            shares = [screw[j] for screw, _, _ in moved]
            row = [dot(shares, [row[k] for _, row, _ in moved]) for k in range(n)]
            result.append((row, dot(shares, [wanted for _, _, wanted in moved])))
    return result


def _scaled(row: Scalars, by: Any) -> list[Any]:
    return [x if is_zero(x) else by * x for x in row]


def _edges(contact: BodyContact) -> list[list[Any]]:
    """What forces of one along the edges of a friction cone do to the robot (nv)."""
    mu, on = contact.friction, contact.on
    first, second, normal = contact.J
    result = []
    for tangent, side in ((first, mu), (first, -mu), (second, mu), (second, -mu)):
        result.append(
            [x if is_zero(x) else on * x for x in (b + side * a for a, b in zip(tangent, normal, strict=True))]
        )
    return result


def _cost(level: LevelRows, n: int, size: int, small: tuple[float, float]) -> tuple[list[list[Any]], list[Any]]:
    """H (its lower triangle) and g."""
    weighed = [[x if is_zero(x) else x * w for x in row] for row, w in zip(level.rows, level.weights, strict=True)]
    H: list[list[Any]] = []
    for i in range(size):
        H.append([dot([r[i] for r in weighed], [r[j] for r in level.rows]) if i < n else 0.0 for j in range(i + 1)])
        H[i][i] = H[i][i] + (small[0] if i < n else small[1])
    g = [-dot([row[k] for row in weighed], level.wanted) if k < n else 0.0 for k in range(size)]
    return H, g


def acceleration_box(
    q: Scalars, v: Scalars, lower: Scalars, upper: Scalars, fastest: Scalars, T: float
) -> tuple[list[Any], list[Any]]:
    """a within which |v + a T| ≤ V, and q + v T + ½ a T² within its bounds; speeds win, and there always is a room."""
    low: list[Any] = []
    high: list[Any] = []
    for x, u, a, b, V in zip(q, v, lower, upper, fastest, strict=True):
        least = -_INF if _none(a) else 2.0 * (a - x - u * T) / (T * T)
        most = _INF if _none(b) else 2.0 * (b - x - u * T) / (T * T)
        if not _none(V):
            slow, fast = (-V - u) / T, (V - u) / T
            least = slow if _none(least) else fmin(fmax(least, slow), fast)
            most = fast if _none(most) else fmax(fmin(most, fast), slow)
        if not (_none(least) or _none(most)):
            least = fmin(least, most)
        low.append(least)
        high.append(most)
    return low, high


def _none(x: Any) -> bool:
    return isinstance(x, float) and math.isinf(x)
