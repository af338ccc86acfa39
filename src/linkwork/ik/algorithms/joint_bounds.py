"""Velocity bounds of one time step from limits of positions, velocities and accelerations.

Arithmetic with bounds known at trace time (0, 1, infinity) adds no operations.

For each velocity, in order of priority, each within what the previous ones leave:

    |v| ≤ V,     (q_low − q)/dt ≤ v ≤ (q_high − q)/dt,     |v − v_last| ≤ a dt,     |v| ≤ braking limit of a.

So a velocity never exceeds its limit, positions return as fast as velocities permit, and the box is never empty.  A
speed k a dt, reduced by a dt in each step, covers until rest the distance

    d = a dt² ((m + 1) k − m (m + 1)/2),     m = ⌊k⌋ = ⌊√(¼ + 2 d/(a dt²)) − ½⌋.

With d the distance to a limit, a state that can stop before its limits never violates one of the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import floor, fmax, fmin, lt, sqrt, where
from linkwork.kinematics.algorithms.coordinates import coordinate_indices
from linkwork.model.tree import Tree

__all__ = ["MotionLimits", "is_infinite", "is_single_value", "nearest", "scaled_bound", "times"]


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
_ROUNDING = 8.0 * 2.0**-52  # margin so that q + v dt does not exceed a bound by rounding


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

    def box(
        self, tree: Tree, q: Scalars, dt: Any, v_last: Scalars, locked_dofs: Collection[int] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Return the lowest and the highest permitted velocity of each coordinate in the next step ``dt`` (nv).

        They are infinite floats without limits, and 0 for locked joints.
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
                        -_braking_speed(room_below, change, dt),
                        _braking_speed(room_above, change, dt),
                    )
                    low[k], high[k] = nearest(min_braking, low[k], high[k]), nearest(max_braking, low[k], high[k])
        return low, high


def _braking_speed(distance: Any, change: Any, dt: Any) -> Any:
    """Return the maximum speed from which a joint can stop within a distance.

    ``change`` is the maximum change of its speed in a step ``dt``.
    """
    steps = distance / (change * dt)
    steps_to_rest = floor(sqrt(0.25 + 2.0 * fmin(steps, 1e12)) - 0.5)
    return change * (steps / (steps_to_rest + 1.0) + 0.5 * steps_to_rest)


def _above(v: Any) -> Any:
    """Increase a velocity towards a lower bound by a few units in the last place, whatever its sign."""
    return v * where(lt(0.0, v), 1.0 + _ROUNDING, 1.0 - _ROUNDING)


def _below(v: Any) -> Any:
    """Decrease a velocity towards an upper bound by a few units in the last place, whatever its sign."""
    return v * where(lt(0.0, v), 1.0 - _ROUNDING, 1.0 + _ROUNDING)
