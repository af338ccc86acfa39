"""Interior-point Newton method for jerk-limited motions, for any number of segments.

The contribution of a segment is in `linkwork.motion.algorithms.timing.jerk_interior_point`.  Segments are evaluated as
a batch.  The sweeps of a Newton step proceed block by block, with a fixed number of segments in each block.  So kernels
depend only on the numbers of coordinates and limits.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from linkwork.kernels.compiler_api import Kernel, batch_call, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.timing.jerk_interior_point import (
    CARRIED,
    STAGE,
    SmoothLimits,
    SmoothValues,
    last_stage,
    remaining_shares,
    remaining_shares_at_end,
    stage_of,
    sweep_gains,
    sweep_steps,
)

__all__ = ["SmoothProgram"]

_STEPS = 80  # Newton steps at most
_POLISH = 10  # of them with the last barrier parameter at most
_HALVINGS = 30
_MAX_SHARE = 0.9  # of the distance to a limit: largest part of a step
_REDUCTION = 0.2  # factor of the barrier parameter from step to step
_CONVERGED = 1e-5  # relative change of x: a smaller step is the last
_BLOCK = 64  # segments of a sweep's kernel
_FIXED = 1e90  # second derivative by δ of padding segments, so that they do not change
_TINY = 1e-300
_SEGMENT_VALUES = 4  # values of a segment, besides its constraints


class _Kernels(NamedTuple):
    """Kernels of a Newton step for m second-order limits and r coordinates.

    ``stages`` and ``rooms`` are for segments, and ``end`` and ``end_rooms`` for the path's end. ``stages`` and ``end``
    compute derivatives of the barriers. ``rooms`` and ``end_rooms`` compute the remaining distances to the limits. All
    but ``end_rooms`` take batches.
    """

    stages: Callable[..., Any]
    end: Callable[..., Any]
    rooms: Callable[..., Any]
    end_rooms: Kernel


class _Sweeps(NamedTuple):
    """Kernels of the backward and forward sweep over a block of segments, the same for all paths."""

    gains: Kernel
    steps: Kernel


_KERNELS: LazyCache[_Kernels] = LazyCache(64)
_SWEEPS: LazyCache[_Sweeps] = LazyCache(1)


class SmoothProgram:
    """Minimum-time problem in x = ṡ² and u = s̈ at grid points of a path, within limits, by an interior-point method.

    x is fixed at both ends. ``moving`` is a pair of numbers for the beginning and the end: 1 if u is free there, 0 if u
    is fixed, such as at rest.
    """

    def __init__(
        self,
        along: SmoothValues,
        limits: SmoothLimits,
        steps: np.ndarray,
        caps: np.ndarray,
        steepest: np.ndarray,
        moving: tuple[float, float],
    ) -> None:
        n, m, r = len(steps), along.first.shape[1], along.rates.shape[2]
        has_rest = along.at_rest is not None
        self.moving = moving
        self.kernels = _kernels(m, r, has_rest=has_rest)
        self.sweeps = _SWEEPS.get((), _build_sweeps)
        slowest = 1.0 / np.sqrt(np.minimum(caps[:-1], caps[1:]))
        second_order = [along.first, along.second, limits.lower, limits.upper, *([along.at_rest] if has_rest else [])]
        rates = [x.reshape(n, -1) for x in (along.rates, along.bends, along.thirds)]
        segment_values = np.stack([steps, caps[:-1], slowest, steepest], axis=1)
        self.segment_data = np.concatenate(
            [segment_values, *(x[:-1] for x in second_order), *rates, limits.least_jerk, limits.most_jerk], axis=1
        )
        self.at_end = np.concatenate([x[-1] for x in second_order])

    def solve(self, x: np.ndarray, u: np.ndarray, first: float, last: float) -> tuple[np.ndarray, np.ndarray]:
        """Return x = ṡ² and u = s̈ (n + 1,) of the fastest motion; the search begins at a feasible motion.

        ``x`` and ``u`` belong to the feasible motion.  x at both ends does not change.  The barrier
        parameter μ [s] decreases from ``first`` to ``last``.
        """
        motion = np.stack([x, u], axis=1)
        mu, at_last = first, 0
        for _ in range(_STEPS):
            change = self._direction(motion, mu)
            ends = _both_ends(motion), _both_ends(change)
            part, left = 1.0, self._remaining_share(motion, change, 1.0, ends)
            for _ in range(_HALVINGS):
                if left >= 1.0 - _MAX_SHARE:
                    break
                part *= min(max(_MAX_SHARE / max(1.0 - left, 1e-3), 0.3), 0.9)
                left = self._remaining_share(motion, change, part, ends)
            else:
                return motion[:, 0], motion[:, 1]  # rounding spoilt the step
            ending = mu <= last * (1.0 + 1e-9)
            at_last = at_last + 1 if ending else 0
            biggest = np.abs(change[1:-1, 0] / (motion[1:-1, 0] + _TINY)).max(initial=0.0)
            motion = motion + part * change
            if ending and (biggest < _CONVERGED or at_last >= _POLISH):
                break
            if part > 0.5:
                mu = max(mu * _REDUCTION, last)
        return motion[:, 0], motion[:, 1]

    def _direction(self, motion: np.ndarray, mu: float) -> np.ndarray:
        """Return the Newton step (n + 1, 2) of x = ṡ² and u = s̈ at all grid points, for a barrier parameter ``mu``."""
        n = len(self.segment_data)
        stages = self.kernels.stages(_both_ends(motion), self.segment_data, mu)
        more = -n % _BLOCK
        if more:
            zeros = np.zeros((more, STAGE))
            zeros[:, 5], zeros[:, 9] = _FIXED, 1.0
            stages = np.concatenate([stages, zeros])
        blocks = stages.reshape(-1, _BLOCK, STAGE)
        p_xx, p_xu, p_uu, p_u = self.kernels.end(motion[-1], self.at_end, mu)
        free = self.moving[1]
        carried = np.zeros(CARRIED)
        carried[:3], carried[4] = (p_xx, p_xu, p_uu), p_u
        carried[5], carried[8] = 1.0, 1.0 - free  # of multipliers: equations of x and u
        carried[11] = -free
        gains = np.empty((len(blocks), _BLOCK, 5))
        for k in range(len(blocks) - 1, -1, -1):
            carried, gains[k] = self.sweeps.gains(blocks[k], carried)
        change = np.empty((len(blocks) * _BLOCK + 1, 2))
        first, multipliers = self._initial_change(carried.tolist())
        change[0] = now = np.array([0.0, first])
        for k, block in enumerate(blocks):
            change[1 + k * _BLOCK : 1 + (k + 1) * _BLOCK], now = self.sweeps.steps(gains[k], block, multipliers, now)
        change = change[: n + 1]
        # exact at the ends, without the rounding errors of the sweeps
        change[-1, 0] = 0.0
        change[-1, 1] *= free
        return change

    def _initial_change(self, carried: list[float]) -> tuple[float, np.ndarray]:
        """Return the Newton step of s̈ at the path's beginning, and the multipliers (2,) of the conditions at its end.

        The conditions are on ṡ² and s̈. ``carried`` is the state of the backward Riccati sweep at the path's beginning.
        """
        p_uu, p_u = carried[2], carried[4]
        g_x, g_y = carried[7], carried[8]
        s_xx, s_xy, s_yy, t_x, t_y = carried[9:]
        by = self.moving[0] / (p_uu if p_uu > 0.0 else 1.0)
        s_xx, s_xy, s_yy = s_xx - by * g_x * g_x, s_xy - by * g_x * g_y, s_yy - by * g_y * g_y
        t_x, t_y = t_x - by * g_x * p_u, t_y - by * g_y * p_u
        whole = s_xx * s_yy - s_xy * s_xy
        whole = whole if abs(whole) > _TINY else 1.0
        ν_x, ν_y = (s_xy * t_y - s_yy * t_x) / whole, (s_xy * t_x - s_xx * t_y) / whole
        return -by * (p_u + g_x * ν_x + g_y * ν_y), np.array([ν_x, ν_y])

    def _remaining_share(
        self, motion: np.ndarray, change: np.ndarray, part: float, ends: tuple[np.ndarray, np.ndarray]
    ) -> float:
        """Return the smallest ratio after/before of the distances to limits, for a fraction ``part`` of a Newton step.

        ``change`` is the Newton step of the ``motion``. ``ends`` are the motion and the step, repeated for both ends of
        each segment. The result is −∞ if a ratio is NaN.
        """
        shares = self.kernels.rooms(*ends, part, self.segment_data)
        at_end = self.kernels.end_rooms(np.concatenate([motion[-1], motion[-1] + part * change[-1]]), self.at_end)
        least = min(float(shares.min()), float(at_end))
        return least if least == least else -inf


def _both_ends(x: np.ndarray) -> np.ndarray:
    """Return x and u at the beginning and end of each segment (n, 4), from x and u at grid points (n + 1, 2)."""
    return np.concatenate([x[:-1], x[1:]], axis=1)


def _kernels(m: int, r: int, *, has_rest: bool) -> _Kernels:
    return _KERNELS.get((m, r, has_rest), lambda: _build_kernels(m, r, has_rest=has_rest))


def _build_kernels(m: int, r: int, *, has_rest: bool) -> _Kernels:
    at_end = (5 if has_rest else 4) * m
    value = _SEGMENT_VALUES + at_end + 8 * r

    def along_of(x: Any, jerks: Any) -> tuple[SmoothValues, SmoothLimits]:
        """Return the path's derivatives and the limits at a segment as named tuples, from two flat arrays."""
        first, second, lower, upper, *more = (x[k * m : (k + 1) * m] for k in range(at_end // m if m else 4))
        rates, bends, thirds = (
            np.reshape(jerks[2 * k * r : 2 * (k + 1) * r], (2, r)) if len(jerks) else () for k in range(3)
        )
        values = SmoothValues(first, second, rates, bends, thirds, more[0] if more else None)
        return values, SmoothLimits(lower, upper, jerks[6 * r : 7 * r], jerks[7 * r :])

    def stages(motion: Any, value: Any, mu: Any) -> Any:
        along, limits = along_of(value[_SEGMENT_VALUES : _SEGMENT_VALUES + at_end], value[_SEGMENT_VALUES + at_end :])
        return stage_of([*motion], along, limits, [*value[:_SEGMENT_VALUES]], mu)

    def end(motion: Any, value: Any, mu: Any) -> Any:
        along, limits = along_of(value, value[:0])
        return last_stage(motion[0], motion[1], along, limits, mu)

    def rooms(motion: Any, change: Any, part: Any, value: Any) -> Any:
        along, limits = along_of(value[_SEGMENT_VALUES : _SEGMENT_VALUES + at_end], value[_SEGMENT_VALUES + at_end :])
        return remaining_shares([*motion], [*change], part, along, limits, [*value[:_SEGMENT_VALUES]])

    def end_rooms(ends: Any, value: Any) -> Any:
        return remaining_shares_at_end([*ends], *along_of(value, value[:0]))

    return _Kernels(
        batch_call(compile(stages, name="smooth_stages", motion=4, value=value, mu=())),
        batch_call(compile(end, name="smooth_end", motion=2, value=at_end, mu=())),
        batch_call(compile(rooms, name="smooth_rooms", motion=4, change=4, part=(), value=value)),
        compile(end_rooms, name="smooth_end_rooms", ends=4, value=at_end),
    )


def _build_sweeps() -> _Sweeps:
    return _Sweeps(
        compile(sweep_gains, name="smooth_gains", stages=(_BLOCK, STAGE), carried=CARRIED),
        compile(sweep_steps, name="smooth_steps", gains=(_BLOCK, 5), stages=(_BLOCK, STAGE), multipliers=2, change=2),
    )
