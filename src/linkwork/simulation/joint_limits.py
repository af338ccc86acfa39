"""Joint limits in simulation, and the terms with bounded impulses in a step's program, apart from contacts.

The terms are those of joint limits, dry friction, constraints and servos.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import positive
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.model.friction_laws import FrictionLaw, same
from linkwork.model.limited_coordinates import LimitedCoordinate, limited_coordinates, limited_values
from linkwork.model.tree import Tree
from linkwork.simulation.actuators import ServoForces
from linkwork.simulation.algorithms.compliant_forces import stop_force
from linkwork.simulation.algorithms.contact.contact_terms import Interval, StepScale, dry_friction, limit, servo
from linkwork.simulation.algorithms.passive_resistance import DryRow
from linkwork.simulation.rollout.spring_steps import WEIGHTS, least_inertias

__all__ = [
    "LIMITS",
    "JointStops",
    "dry_intervals",
    "joint_limits",
    "read_limit_mode",
    "servo_intervals",
    "warn_of_limits",
]


LIMITS = ("held", "soft", "ignored")
_TRANSITION = 1e-3  # [rad, characteristic lengths] depth over which the damper grows
_PASSED = 1e-3  # [rad, characteristic lengths] excess beyond a limit, or beyond the start, that is reported


@public_constructor
@dataclass(frozen=True)
class JointStops:
    """Compliant stops at joint limits, for every method: springs and dampers that never pull.

        f = max(0, k d + b s(d) ḋ),     k = m/(ζ T)²,     b = 2 m/T.

    d is the excess of a joint beyond its limit, and s(d) lets the damper grow over the first 0.001 rad, or 0.001
    characteristic lengths.  ``time`` is T [s], the time constant: a shorter one is stiffer; use several steps.
    ``damping_ratio`` is ζ.  m is the smallest effective inertia of the joint, 1/(M⁻¹)ₖₖ, in 32 configurations within
    its limits.  With ``parameters`` that change inertias it is the effective inertia in the current configuration.
    Under a force f₀ a joint rests f₀/k beyond its limit.

    >>> import linkwork as lw
    >>> from linkwork.simulation import JointStops
    >>> arm = lw.load("arm7")
    >>> fallen = arm.simulate(arm.neutral() + 0.1, duration=1.0, joint_limit_mode=JointStops(time=0.01),
    ...     record_every=10)
    >>> bool((fallen.q < arm.upper + 0.1).all())
    True

    Raises ValueError for values that are not positive.
    """

    time: float = 0.02
    damping_ratio: float = 1.0

    def __post_init__(self) -> None:
        positive("JointStops", "time", self.time, symbols=False, unit="s")
        positive("JointStops", "damping_ratio", self.damping_ratio, symbols=False)

    def forces(
        self, robot: Any, passive: bool, q: Sequence[Any], v: Sequence[Any], parameters: Mapping[str, Any] | None = None
    ) -> list[Any]:
        """Return the forces (nv) [N·m, N] that the stops exert on the joints at q and v.

        With ``passive``, the effective inertias of joints include armature.  ``parameters`` replace the robot's own.
        """
        result: list[Any] = [0.0] * robot.nv
        coordinates = limited_coordinates(robot.tree)
        if any(name.partition(":")[0] in WEIGHTS for name in parameters or ()):
            inertias = _inertias_at(robot.with_parameters(dict(parameters or {})), passive, coordinates, q)
        else:
            inertias = _inertias(robot, passive, coordinates)
        for coordinate, m in zip(coordinates, inertias, strict=True):
            if m.__class__ is float and math.isinf(m):  # constraints hold the coordinate
                continue
            x, row = _rate(coordinate, robot.tree, q)
            stiffness, damping = m / (self.damping_ratio * self.time) ** 2, 2.0 * m / self.time
            speed, grown = dot(row, v), _TRANSITION * _unit(coordinate, robot)
            for side, bound in ((1.0, coordinate.lower), (-1.0, coordinate.upper)):
                if math.isfinite(bound):
                    depth, rate = side * (bound - x), -side * speed
                    force = side * stop_force(depth, rate, stiffness, damping, grown)
                    result = [a if is_zero(r) else a + r * force for a, r in zip(result, row, strict=True)]
        return result


def _rate(coordinate: LimitedCoordinate, tree: Tree, q: Scalars) -> tuple[Any, list[Any]]:
    """Return the value x of a limited coordinate and the row r (nv) of its rate.

    r is a unit vector if a single velocity moves the coordinate.
    """
    if coordinate.v is None or coordinate.q is None:
        return coordinate.rate(KinematicState(tree, q))
    return q[coordinate.q], [1.0 if j == coordinate.v else 0.0 for j in range(tree.nv)]


def _unit(coordinate: LimitedCoordinate, robot: Any) -> float:
    """Return 1 rad, or the characteristic length [m] of a robot for a coordinate that is a length."""
    return characteristic_length(robot.tree) if coordinate.unit == "m" else 1.0


def _inertias_at(robot: Any, passive: bool, coordinates: Sequence[LimitedCoordinate], q: Sequence[Any]) -> list[Any]:
    """Return the effective inertia 1/(r M⁻¹ rᵀ) of each limited coordinate at q."""
    inverse = robot.constrained_mass_matrix_inverse if robot.constraints else robot.mass_matrix_inverse
    W = [list(row) for row in inverse(array(list(q)), passive=passive)]
    rows = [_rate(coordinate, robot.tree, q)[1] for coordinate in coordinates]
    return [1.0 / dot(row, [dot(column, row) for column in W]) for row in rows]


def _inertias(robot: Any, passive: bool, coordinates: Sequence[LimitedCoordinate]) -> list[float]:
    """Return the smallest effective inertia 1/(r M⁻¹ rᵀ) of each limited coordinate, over sampled configurations.

    It is infinite where constraints hold the coordinate.  Raises ValueError for a coordinate without inertia.
    """
    with np.errstate(divide="ignore"):
        each = least_inertias(robot, passive) if any(coordinate.v is not None for coordinate in coordinates) else ()
    result = [each[coordinate.v] if coordinate.v is not None else math.nan for coordinate in coordinates]
    without_velocity = [k for k, coordinate in enumerate(coordinates) if coordinate.v is None]
    if without_velocity:
        q = robot.random_configuration(seed=0, size=_SAMPLES)
        inverse = robot.constrained_mass_matrix_inverse if robot.constraints else robot.mass_matrix_inverse
        W = inverse(q, passive=passive)
        rates = [[_rate(coordinates[k], robot.tree, x) for k in without_velocity] for x in q.tolist()]
        rows = np.array([[row for _, row in each] for each in rates], dtype=float)
        ends = [(coordinates[k].lower, coordinates[k].upper) for k in without_velocity]
        beyond = [sum(max(a - x, x - b, 0.0) for (x, _), (a, b) in zip(each, ends, strict=True)) for each in rates]
        near = np.argsort(beyond, kind="stable")[: max(_SAMPLES // 4, beyond.count(0.0))]  # of loops few are within
        shares = np.einsum("nki,nij,nkj->nk", rows, W, rows)[near].max(axis=0)
        for k, share in zip(without_velocity, shares.tolist(), strict=True):
            result[k] = 1.0 / share if share > _IMMOBILE * shares.max() else math.inf
    for coordinate, m in zip(coordinates, result, strict=True):
        if not m > 0.0:
            raise ValueError(
                f"simulate: joint_limit_mode: expected inertia at every joint, got none at {coordinate.name!r}; "
                "give it inertia"
            )
    return result


def read_limit_mode(value: Any) -> str | JointStops | None:
    """Read a mode of `LIMITS`, `JointStops` or None.  Raises TypeError and UnknownNameError."""
    if value is None or isinstance(value, JointStops):
        return value
    if not isinstance(value, str):
        raise TypeError(f"simulate: joint_limit_mode: expected 'held', 'soft', 'ignored' or JointStops, got {value!r}")
    if value not in LIMITS:
        raise UnknownNameError("mode of joint limits", value, LIMITS)
    return JointStops() if value == "soft" else value


def warn_of_limits(robot: Any, t: np.ndarray, q: np.ndarray) -> None:
    """Warn of the first joint that passed a limit, in records q (..., n, nq) at times t (n,)."""
    coordinates = limited_coordinates(robot.tree)
    if not q.size or not coordinates:
        return
    x = limited_values(robot, coordinates, q)
    lower, upper = (
        np.array([coordinate.lower for coordinate in coordinates]),
        np.array([coordinate.upper for coordinate in coordinates]),
    )
    beyond = np.maximum(lower - x, x - upper)
    units = np.array([_unit(coordinate, robot) for coordinate in coordinates])
    passed = beyond > _PASSED * units + np.maximum(beyond[..., :1, :], 0.0)
    for k in np.flatnonzero(passed.any(axis=tuple(range(passed.ndim - 1))))[:1].tolist():
        index = tuple(map(int, np.argwhere(passed[..., k])[0]))
        side = "lower" if x[(*index, k)] < lower[k] else "upper"
        bound = lower[k] if side == "lower" else upper[k]
        entry = f" in environment {', '.join(map(str, index[:-1]))}" if len(index) > 1 else ""
        warnings.warn(
            f"simulate: {coordinates[k].name!r} passed its {side} limit of {bound:.4g} at {t[index[-1]]:g} s{entry}: "
            "joint limits are not enforced here; joint_limit_mode='held' enforces them with the default method, "
            "'soft' adds springs, and 'ignored' silences this warning",
            SimulationWarning,
            stacklevel=levels_up(),
        )


Scalars = Sequence[Any]
_IMMOBILE = 1e-12  # share of the largest mobility below which constraints hold a coordinate
_SAMPLES = 32  # configurations in which effective inertias are compared
_RESTS = 1e-5  # part of a step in which friction stops a joint that counts as at rest


def joint_limits(robot: Any, A: Sequence[Scalars], q: Scalars, h: Any, scale: StepScale) -> list[Interval]:
    """Return the bounded impulses of position limits, of joints of the tree and of joints that close loops."""
    result = []
    rates = [(coordinate, *_rate(coordinate, robot.tree, q)) for coordinate in limited_coordinates(robot.tree)]
    for side in (1.0, -1.0):
        for coordinate, x, row in rates:
            bound = coordinate.lower if side > 0.0 else coordinate.upper
            if math.isfinite(bound):
                low, high = (0.0, math.inf) if side > 0.0 else (-math.inf, 0.0)
                unit = scale.pace * scale.length if coordinate.unit == "m" else scale.pace
                result.append(limit(row, bound - x, _inertia(row, A), low, high, h, unit))
    return result


def _inertia(row: Scalars, A: Sequence[Scalars]) -> Any:
    """Return the effective inertia of the velocity r·w for a diagonal mass matrix, that of A: 1 / Σ r²/A."""
    used = [(k, x) for k, x in enumerate(row) if not is_zero(x)]
    if len(used) == 1 and used[0][1].__class__ is float and used[0][1] == 1.0:
        return A[used[0][0]][used[0][0]]
    return 1.0 / sum(x * x * (1.0 / A[k][k]) for k, x in used)


def dry_intervals(rows: Sequence[DryRow], law: FrictionLaw, A: Sequence[Scalars], h: Any) -> list[Interval]:
    """Return the bounded impulses of dry friction that sticks, one for each row with friction.

    A row is a velocity along which joints have dry friction. The force is bounded by the static friction f_s for a row
    at rest, and by |F(v)| for a row that moves, summed over a joint and its followers.
    """
    result = []
    for row, speed, friction in rows:
        if all(is_zero(dry.static) for _, dry in friction):
            continue
        f: Any = 0.0
        f_s: Any = 0.0
        for ratio, dry in friction:
            f = f + abs(ratio) * law.magnitude(ratio * speed, dry)
            f_s = f_s + abs(ratio) * dry.static
        m = _inertia(row, A)
        most = f_s if same(f_s, f) else where(lt(m * fabs(speed), _RESTS * h * f_s), f_s, f)
        result.append(dry_friction(row, most, m, h))
    return result


def servo_intervals(moving: Any, servos: ServoForces, A: Sequence[Scalars], q: Scalars, h: Any) -> list[Interval]:
    """Return the bounded impulses of servos, whose forces are those of the state at the end of the step."""
    left = moving.difference(array(list(q)), array(list(servos.position)))
    each = zip(servos.force, left, servos.velocity, servos.stiffness, servos.damping, servos.limit, strict=True)
    terms = [(f + K * e + D * rate, h * K + D, most) for f, e, rate, K, D, most in each]
    return [servo(k, len(A), *term, A[k][k], h) for k, term in enumerate(terms) if not is_zero(term[2])]
