"""Numbers and ranges of which some ends are known: 0, 1 and infinity take no operation.

The box of velocities that limits leave for a step of time: of positions, velocities and accelerations.

By number of velocity, in the order of what wins where they contradict each other, each within what is left by those
before it:

    |v| ≤ V,     (q_low − q)/dt ≤ v ≤ (q_high − q)/dt,     |v − v_last| ≤ a dt,     |v| ≤ what a can locked_dofs brake.

So a velocity is never beyond its limit, positions come back as fast as velocities may, and there is always a box.  The
speed k a dt, slowed by a dt each step, goes until it rests a way of

    d = a dt² ((m + 1) k − m (m + 1)/2),     m = ⌊k⌋ = ⌊√(¼ + 2 d/(a dt²)) − ½⌋,

so that, where d is the distance to a limit, a state that can stop before its limits never breaks one of the rules.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import floor, fmax, fmin, lt, sqrt, where
from linkwork.kinematics.algorithms.coordinates import numbered
from linkwork.model.tree import Tree

__all__ = ["MotionLimits", "is_infinite", "is_one_number", "nearest", "scaled_bound", "times"]


Scalars = Sequence[Any]


def times(x: Any, a: Any) -> Any:
    """The product, where either may be known to be 0 and the second to be 1."""
    return 0.0 if is_zero(x) or is_zero(a) else (x if a.__class__ is float and a == 1.0 else x * a)


def is_infinite(bound: Any) -> bool:
    """Whether a bound is known to be infinite."""
    return bound.__class__ is float and math.isinf(bound)


def is_one_number(low: Any, high: Any) -> bool:
    """Whether a range is known to be a number."""
    return low is high or (low.__class__ is float and high.__class__ is float and bool(low == high))


def nearest(x: Any, low: Any, high: Any) -> Any:
    """The number of a range that is nearest."""
    if is_one_number(low, high):
        return low
    x = x if is_infinite(low) else fmax(x, low)
    return x if is_infinite(high) else fmin(x, high)


def scaled_bound(bound: Any, by: Any) -> Any:
    """A bound in other units: 0 and infinity stay what they are."""
    return bound if is_infinite(bound) or is_zero(bound) else bound * by


_INF = float("inf")
_ROUNDING = 8.0 * 2.0**-52  # so that q + v dt is not beyond by its last digit


@dataclass(frozen=True)
class MotionLimits:
    """What bounds a step: numbers over any scalar, and for which of them there is a bound at all."""

    lower: Scalars  # (nq)
    upper: Scalars
    velocity: Scalars  # (nv), positive
    acceleration: Scalars  # (nv), positive
    positions: frozenset[int]  # of q
    velocities: frozenset[int]  # of v
    accelerations: frozenset[int]  # of v

    def box(
        self, tree: Tree, q: Scalars, dt: Any, v_last: Scalars, locked_dofs: Collection[int] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Lowest and highest velocities (nv); infinite floats where nothing bounds them, 0 of what is held."""
        numbers, rate = numbered(tree), 1.0 / dt
        low: list[Any] = [-_INF] * tree.nv
        high: list[Any] = [_INF] * tree.nv
        for k in range(tree.nv):
            if k in locked_dofs:
                low[k] = high[k] = 0.0
                continue
            n = numbers.get(k)
            placed, braked = n is not None and n in self.positions, k in self.accelerations
            if k in self.velocities:
                low[k], high[k] = -self.velocity[k], self.velocity[k]
            if n is not None and placed:
                below, above = _above((self.lower[n] - q[n]) * rate), _below((self.upper[n] - q[n]) * rate)
                below = fmin(below, above)  # of a range narrower than rounding
                low[k], high[k] = nearest(below, low[k], high[k]), nearest(above, low[k], high[k])
            if braked:
                change = self.acceleration[k] * dt
                slowest, fastest = v_last[k] - change, v_last[k] + change
                low[k], high[k] = nearest(slowest, low[k], high[k]), nearest(fastest, low[k], high[k])
                if n is not None and placed:
                    down, up = (fmax(x, 0.0) for x in (q[n] - self.lower[n], self.upper[n] - q[n]))
                    least, most = -_stopping(down, change, dt), _stopping(up, change, dt)
                    low[k], high[k] = nearest(least, low[k], high[k]), nearest(most, low[k], high[k])
        return low, high


def _stopping(distance: Any, change: Any, dt: Any) -> Any:
    """The greatest speed that leaves room to stop, of speeds that change by so much a step."""
    steps = distance / (change * dt)
    whole = floor(sqrt(0.25 + 2.0 * fmin(steps, 1e12)) - 0.5)
    return change * (steps / (whole + 1.0) + 0.5 * whole)


def _above(v: Any) -> Any:
    """A velocity towards a lower bound, greater by a few units in the last place whatever its sign."""
    return v * where(lt(0.0, v), 1.0 + _ROUNDING, 1.0 - _ROUNDING)


def _below(v: Any) -> Any:
    """A velocity towards an upper bound, smaller by a few units in the last place whatever its sign."""
    return v * where(lt(0.0, v), 1.0 - _ROUNDING, 1.0 + _ROUNDING)
