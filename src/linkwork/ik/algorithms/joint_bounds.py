"""Bounds of velocities and accelerations from limits of positions, velocities and accelerations, with braking.

Arithmetic with bounds known at trace time (0, 1, infinity) adds no operations.

The bounds of each velocity, in order of priority; each bound applies within the interval that previous bounds leave:

    |v| ≤ V,     (q_low − q)/dt ≤ v ≤ (q_high − q)/dt,     |v − v_last| ≤ a dt,     |v| ≤ braking limit of a.

So a velocity never exceeds its limit, positions return as fast as velocities permit, and the box is never empty.  From
a speed k a dt, reduced by a dt in each step, the distance to rest is

    d = a dt² ((m + 1) k − m (m + 1)/2),     m = ⌊k⌋ = ⌊√(¼ + 2 d/(a dt²)) − ½⌋.

With d the distance to a limit, a state that can stop before its limits never violates one of the bounds.

Accelerations of a controller with steps of unknown length h ≤ T/2 have the speed limit s(d), with the deceleration α:

    s(d) = d/T,  d ≤ α T²;     s(d) = √(α (2 d − α T²)),  d > α T²;     v̇ ≤ −s'(d) v + (s(d) − v)/T.

Then v = s(d) is never crossed, so the joint comes to rest at its limit, and its deceleration is at most α.  This holds
for exact steps with constant acceleration and for semi-implicit Euler steps.  For a faster joint, v > s(d), the last
term has the factor y², y = v/s(d) up to 4.  In continuous time ẏ = −y (1 − y)²/T near the limit, so d remains positive.

Source: Del Prete, Joint position and velocity bounds in discrete-time acceleration/torque control of robot
manipulators, IEEE Robotics and Automation Letters 3(1), 2018 (viability).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, floor, fmax, fmin, lt, sqrt, where
from linkwork.kinematics.algorithms.coordinates import coordinate_indices
from linkwork.model.limited_coordinates import LoopSpeed
from linkwork.model.tree import Tree

__all__ = [
    "Changes",
    "MotionLimits",
    "acceleration_range",
    "braking_speed",
    "in_balls",
    "is_infinite",
    "is_single_value",
    "most_along",
    "nearest",
    "scaled_bound",
    "times",
]


Scalars = Sequence[Any]


def times(x: Any, a: Any) -> Any:
    """Return the product x a; no operation is generated for a factor known to be 0, or an a known to be 1."""
    return 0.0 if is_zero(x) or is_zero(a) else (x if a.__class__ is float and a == 1.0 else x * a)


def is_infinite(bound: Any) -> bool:
    """Return True if a bound is known to be infinite."""
    return bound.__class__ is float and math.isinf(bound)


def is_single_value(low: Any, high: Any) -> bool:
    """Return True if a range is known to be a single value."""
    return low is high or (low.__class__ is float and high.__class__ is float and bool(low == high))


def nearest(x: Any, low: Any, high: Any) -> Any:
    """Return the value in a range that is nearest to x."""
    if is_single_value(low, high):
        return low
    x = x if is_infinite(low) else fmax(x, low)
    return x if is_infinite(high) else fmin(x, high)


def scaled_bound(bound: Any, factor: Any) -> Any:
    """Return a bound in other units; 0 and infinity are unchanged."""
    return bound if is_infinite(bound) or is_zero(bound) else bound * factor


_INF = float("inf")
_ONE_STEP, _LASTING = 2.0, 0.02  # of a change of acceleration: what limits leave room for
_MAX_FACTOR = 4.0  # of v/s(d), beyond which the bound is linear again
_ROUNDING = 8.0 * 2.0**-52  # margin so that q + v dt does not exceed a bound by rounding
_BALL_ROUNDING = by_type(1e-15)  # margin of norms, relative
_SMALLEST_BOUND = by_type(1e-300)  # [rad/s, m/s]


@dataclass(frozen=True)
class Changes:
    """Possible changes of accelerations (nv) within a ``step`` [s] of constant forces, for margins to limits."""

    accelerations: Scalars
    step: float

    def along(self, row: Scalars, horizon: float) -> tuple[Any, Any]:
        """Return margins to the position and the velocity limits of a coordinate whose velocity is r·v; r is ``row``.

        The margins leave room for changes of acceleration: for the full change during one step, and for a fraction of
        it throughout the ``horizon`` [s].
        """
        change = dot([x if is_zero(x) else fabs(x) for x in row], self.accelerations)
        distance, speed = (_ONE_STEP * self.step**k + _LASTING * horizon**k for k in (2, 1))
        return distance * change, speed * change


@dataclass(frozen=True)
class MotionLimits:
    """Position, velocity and acceleration limits of a step, with the indices of the limited coordinates."""

    lower: Scalars  # (nq)
    upper: Scalars
    velocity: Scalars  # (nv), positive
    acceleration: Scalars  # (nv), positive
    positions: frozenset[int]  # indices of q with limits
    velocities: frozenset[int]  # indices of v with limits
    accelerations: frozenset[int]  # indices of v with limits
    loops: tuple[LoopSpeed, ...] = ()  # speed limits of joints that close loops

    def box(
        self, tree: Tree, q: Scalars, dt: Any, v_last: Scalars, locked_dofs: Collection[int] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Return the lowest and the highest permitted velocity of each coordinate in the next step ``dt`` (nv).

        Velocities without limits are infinite floats; velocities of locked joints are 0.
        """
        q_index, rate = coordinate_indices(tree), 1.0 / dt
        low: list[Any] = [-_INF] * tree.nv
        high: list[Any] = [_INF] * tree.nv
        for k in range(tree.nv):
            if k in locked_dofs:
                low[k] = high[k] = 0.0
                continue
            n = q_index.get(k)
            has_position_limit, has_acceleration_limit = n is not None and n in self.positions, k in self.accelerations
            if k in self.velocities:
                low[k], high[k] = -self.velocity[k], self.velocity[k]
            if n is not None and has_position_limit:
                below, above = _above((self.lower[n] - q[n]) * rate), _below((self.upper[n] - q[n]) * rate)
                below = fmin(below, above)  # if the range is narrower than rounding
                low[k], high[k] = nearest(below, low[k], high[k]), nearest(above, low[k], high[k])
            if has_acceleration_limit:
                change = self.acceleration[k] * dt
                slowest, fastest = v_last[k] - change, v_last[k] + change
                low[k], high[k] = nearest(slowest, low[k], high[k]), nearest(fastest, low[k], high[k])
                if n is not None and has_position_limit:
                    room_below, room_above = (fmax(x, 0.0) for x in (q[n] - self.lower[n], self.upper[n] - q[n]))
                    min_braking, max_braking = (
                        -braking_speed(room_below, change, dt),
                        braking_speed(room_above, change, dt),
                    )
                    low[k], high[k] = nearest(min_braking, low[k], high[k]), nearest(max_braking, low[k], high[k])
        return low, high

    def acceleration_box(
        self, tree: Tree, q: Scalars, v: Scalars, horizon: float, errors: Scalars, changes: Changes | None = None
    ) -> tuple[list[Any], list[Any]]:
        """Return the lowest and highest permitted acceleration of each coordinate (nv) [rad/s², m/s²].

        Accelerations without limits are infinite.  The box holds for steps up to half the ``horizon`` T [s].  A joint
        can brake before position limits with its acceleration limit α; α = inf permits any deceleration.  The velocity
        limit |v + a T| ≤ V takes precedence, so the box is never empty.  ``errors`` (nv) are the tolerances by which
        the solver may exceed the box; ``changes`` are changes of acceleration within a step, for which margins are
        left.
        """
        q_index = coordinate_indices(tree)
        low: list[Any] = [-_INF] * tree.nv
        high: list[Any] = [_INF] * tree.nv
        for k in range(tree.nv):
            n = q_index.get(k)
            speed = self.velocity[k] if k in self.velocities else _INF
            if n is not None and n in self.positions:
                ends = q[n], self.lower[n], self.upper[n]
            else:
                ends = 0.0, -_INF, _INF
            room = (0.0, 0.0) if changes is None else changes.along([float(j == k) for j in range(tree.nv)], horizon)
            low[k], high[k] = acceleration_range(*ends, v[k], self.acceleration[k], speed, horizon, errors[k], room)
        return low, high


def in_balls(limits: MotionLimits, v: Scalars, norms: Sequence[tuple[Collection[int], Any]]) -> MotionLimits:
    """Return the motion limits with tighter velocity limits: a box inside each ball ‖v_k‖ ≤ bound of ``norms``.

    ``norms`` are pairs (indices in v, bound). Where v exceeds the bound, the box has a corner in the direction of v.
    """
    velocity, bounded = list(limits.velocity), set(limits.velocities)
    for diagonal_dofs, bound in norms:
        components = [v[k] for k in diagonal_dofs]
        size = sqrt(dot(components, components))
        beyond = lt(bound, size)
        share = where(beyond, bound, 1.0) / where(beyond, size, 1.0)
        share = share - _BALL_ROUNDING * share
        for k in diagonal_dofs:
            reduced = where(beyond, fmax(fabs(v[k]) * share, _SMALLEST_BOUND), bound)
            velocity[k] = fmin(velocity[k], reduced) if k in bounded else reduced
            bounded.add(k)
    return replace(limits, velocity=velocity, velocities=frozenset(bounded))


def acceleration_range(
    x: Any,
    lower: Any,
    upper: Any,
    v: Any,
    braking: Any,
    speed: Any,
    horizon: float,
    error: float,
    room: tuple[Any, Any] = (0.0, 0.0),
) -> tuple[Any, Any]:
    """Return the lowest and the highest permitted acceleration of a coordinate x with the velocity v.

    The range keeps x within ``lower`` and ``upper``, and |v| within ``speed``, if x can decelerate at ``braking``.
    Infinite limits are floats.  The limits also hold if the acceleration exceeds the range by ``error``.  ``room`` is
    an additional margin to the limits of x and of v.
    """
    low: Any = -_INF
    high: Any = _INF
    margin = error * horizon * horizon + room[0]
    if not is_infinite(lower):
        low = -_approach(x - lower - margin, -v, braking, horizon)
    if not is_infinite(upper):
        high = _approach(upper - x - margin, v, braking, horizon)
    if not is_infinite(speed):
        V = speed - (error * horizon + room[1])
        slow, fast = (-V - v) / horizon, (V - v) / horizon
        low = slow if is_infinite(low) else nearest(low, slow, fast)
        high = fast if is_infinite(high) else nearest(high, slow, fast)
    if not (is_infinite(low) or is_infinite(high)):
        low = fmin(low, high)
    return low, high


def most_along(row: Scalars, each: Scalars) -> Any:
    """Return the largest value of r·v for velocities v = s r with |v_k| ≤ ``each[k]``; r is ``row``."""
    result: Any = _INF
    for r, most in zip(row, each, strict=True):
        if not (is_zero(r) or is_infinite(most)):
            bound = most / fmax(fabs(r), by_type(1e-9))
            result = bound if is_infinite(result) else fmin(result, bound)
    return result if is_infinite(result) else result * dot(row, row)


def _approach(d: Any, v: Any, braking: Any, T: float) -> Any:
    """Return the largest acceleration towards a position limit at the distance d, for a joint with velocity v.

    Positive velocities approach the limit. The joint can still stop before the limit with the deceleration ``braking``.
    T is twice the longest step [s].
    """
    speed, slope = d / T, 1.0 / T
    if not is_infinite(braking):
        far = lt(braking * (T * T), d)
        speed = where(far, sqrt(where(far, braking * (2.0 * d - braking * (T * T)), 1.0)), speed)
        slope = where(far, braking / where(far, speed, 1.0), slope)
    ahead = fmax(v, 0.0)
    factor = ahead / fmax(speed, fmax(ahead / _MAX_FACTOR, by_type(1e-300)))
    return fmax(factor * factor, 1.0) * (speed - v) / T - slope * v


def braking_speed(distance: Any, change: Any, dt: Any) -> Any:
    """Return the maximum speed from which a joint can stop within a distance.

    ``change`` is the maximum change of its speed in a step ``dt``.
    """
    steps = distance / (change * dt)
    steps_to_rest = floor(sqrt(0.25 + 2.0 * fmin(steps, 1e12)) - 0.5)
    return change * (steps / (steps_to_rest + 1.0) + 0.5 * steps_to_rest)


def _above(v: Any) -> Any:
    """Return a velocity increased by a few units in the last place, so that rounding does not violate a lower bound."""
    return v * where(lt(0.0, v), 1.0 + _ROUNDING, 1.0 - _ROUNDING)


def _below(v: Any) -> Any:
    """Return a velocity decreased by a few units in the last place, so that rounding keeps an upper bound."""
    return v * where(lt(0.0, v), 1.0 - _ROUNDING, 1.0 + _ROUNDING)
