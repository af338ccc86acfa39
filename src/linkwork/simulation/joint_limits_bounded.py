"""What is in a step's program besides contacts, each with bounds of its impulse: limits of joints, dry friction, what
closes loops, and servos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.coulomb_friction import dry_friction
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.motion.algorithms.curves.curve_space import CurveSpace
from linkwork.simulation.algorithms.contact.contact_terms import Interval, dry, held, limit, servo
from linkwork.simulation.servo_actuators import ServoForces

__all__ = ["dry_joints", "joint_limits", "limited_places", "loops_held", "servos_held"]

Scalars = Sequence[Any]

_RESTS = 1e-4  # [rad/s, m/s]: below, dry friction is that of joints at rest


def limited_places(robot: Any) -> list[tuple[int, int]]:
    """Where in q and in v the numbers stand that limits may be of: configurations with v for their rates."""
    space = CurveSpace.of(robot.tree)
    if space.is_plain:
        return [(k, k) for k in range(robot.nv)]
    return [(place.q + k, place.v + k) for place in space.joints if place.is_plain for k in range(place.joint.nv)]


def joint_limits(robot: Any, A: Sequence[Scalars], q: Scalars, h: Any) -> list[Interval]:
    """The limits of joints whose configurations are numbers with v for their rates."""
    found = []
    pairs = limited_places(robot)
    for side, bounds in ((1.0, robot.lower), (-1.0, robot.upper)):
        for i, k in pairs:
            if math.isfinite(bounds[i]):
                row = [1.0 if j == k else 0.0 for j in range(robot.nv)]
                low, high = (0.0, math.inf) if side > 0.0 else (-math.inf, 0.0)
                found.append(limit(row, bounds[i] - q[i], A[k][k], low, high, h))
    return found


def dry_joints(moving: Any, A: Sequence[Scalars], v: Scalars, h: Any) -> list[Interval]:
    """Coulomb's friction of joints: of those at rest the static one."""
    found = []
    for k, (f, f_s) in enumerate(zip(*dry_friction(moving.tree), strict=True)):
        if not is_zero(f_s):
            most = f_s if f_s is f or (f_s.__class__ is float and f_s == f) else where(lt(fabs(v[k]), _RESTS), f_s, f)
            found.append(dry(k, len(v), most, A[k][k], h))
    return found


def loops_held(moving: Any, A: Sequence[Scalars], t: Any, q: Scalars, v: Scalars, h: Any) -> list[Interval | None]:
    """What closes loops, and what rolls: each row of the constraints (nc), nothing where a row moves nothing.

    A row that has an error asks for the velocity with which the step ends where it holds, G w = −σ − h γ/2 and not
    along the tangent of its start, which would feed energy.
    """
    constraints = moving.tree.constraints
    if not constraints:
        return []
    at = array(list(q))
    timed = {"time": t} if any(one.timed for one in constraints) else {}
    errors = iter(list(moving.constraint_error(at, **timed)))
    rows, drifts = moving.constraint_jacobian(at, **timed), list(moving.constraint_drift(at, **timed))
    kinds = [one.holonomic for one in constraints for _ in one.row_names]
    bends = list(moving.constraint_bias(at, array(list(v)), **timed))
    drifts = [s + 0.5 * h * x if has else s for s, x, has in zip(drifts, bends, kinds, strict=True)]
    found = [(list(r), next(errors) if has else 0.0, s) for r, s, has in zip(rows, drifts, kinds, strict=True)]
    return [None if all(map(is_zero, row)) else held(row, error, drift, A, h) for row, error, drift in found]


def servos_held(moving: Any, servos: ServoForces, A: Sequence[Scalars], q: Scalars, h: Any) -> list[Interval]:
    """Each velocity's servo, by its numbers at the end of the step."""
    left = moving.difference(array(list(q)), array(list(servos.position)))
    each = zip(servos.force, left, servos.velocity, servos.stiffness, servos.damping, servos.limit, strict=True)
    numbers = [(f + K * e + D * rate, h * K + D, most) for f, e, rate, K, D, most in each]
    return [servo(k, len(A), *some, A[k][k], h) for k, some in enumerate(numbers) if not is_zero(some[2])]
