"""The two sweeps along a path of any number of segments, block by block: kernels serve all numbers of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import Once
from linkwork.motion.algorithms.timing import (
    PathLimits,
    PathValues,
    Reachable,
    sweep_backward,
    sweep_forward,
)
from linkwork.motion.timing.limits import PathRows

__all__ = ["solved"]

_KERNELS: Once[Kernel] = Once(64)
_BLOCK = 64  # segments: what a kernel takes to compile grows with it
_ROUNDING = 1e-13


def solved(
    rates: np.ndarray,
    velocity: tuple[np.ndarray, np.ndarray],
    rows: PathRows,
    steps: np.ndarray,
    caps: np.ndarray,
    start: float,
    end: float,
) -> tuple[np.ndarray, np.ndarray, int]:
    """x at the ends of n segments, u on them, and the segment that cannot be passed, or −1.

    The segments are taken in blocks of the same length.  What can be reached is handed from block to block, backward,
    and the speed forward.  The last block is filled up with segments that are none.
    """
    many = len(steps)
    rest = 0.0 if rows.rest is None else rows.rest
    low, high = (x if x.ndim == 1 else x[:, None] for x in (rows.lower, rows.upper))  # of each segment
    may_rest = bool((low <= rest).all() and (rest <= high).all())
    given: dict[str, np.ndarray] = {"rates": rates, "second": rows.second}
    given |= {"slowest": velocity[0], "highest": velocity[1], "lower": rows.lower, "upper": rows.upper}
    if rows.first is not rates:
        given["first"] = rows.first
    if rows.rest is not None:
        given["rest"] = rows.rest
    if rows.speeds is not None and rows.fastest is not None:
        given |= {"speeds": rows.speeds, "speed_limits": rows.fastest}
    alike = {name: given.pop(name) for name in _LIMITS if name in given and given[name].ndim == 1}
    given |= {"steps": steps, "caps": caps[:-1], "numbers": np.arange(float(many))}
    blocks = _in_blocks(given)
    shapes = {name: np.shape(x) for name, x in (alike | blocks[0]).items()}
    backward = _KERNELS.get((may_rest, *shapes.items()), lambda: _backward(shapes, may_rest))

    at_end = min(end, float(caps[many]))
    reached: Any = (at_end, at_end, float(many - 1) if at_end < end else -1.0)
    lines, intervals = [], []
    for block in reversed(blocks):
        *reached, upper, lower_ends, upper_ends = backward(**alike, **block, following=np.array(reached, dtype=float))
        lines.append(upper)
        intervals.append((lower_ends, upper_ends))
    least, most, blocked = (float(x) for x in reached)
    if blocked < 0.0 and not (least * (1.0 - _ROUNDING) <= start <= most * (1.0 + _ROUNDING)):
        blocked = 0.0

    after = [np.append(np.concatenate([x[k] for x in intervals[::-1]])[1:], at_end) for k in (0, 1)]
    after = [np.where(np.arange(len(x)) < many - 1, x, at_end) for x in after]
    forward = _KERNELS.get(lines[0].shape, lambda: _forward(lines[0].shape))
    x, found = np.array(start), [np.array([start])]
    for k, (upper, block) in enumerate(zip(lines[::-1], blocks, strict=True)):
        ends = (y[k * _BLOCK : (k + 1) * _BLOCK] for y in after)
        reached_here, x = forward(upper, *ends, block["steps"], block["numbers"], x)
        found.append(reached_here)
    whole = np.concatenate(found)[: many + 1]
    return whole, 0.5 * np.diff(whole) / steps, int(blocked)


_LIMITS = "slowest", "highest", "lower", "upper", "speed_limits"


def _in_blocks(given: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Rows of segments, `_BLOCK` by `_BLOCK`; after the last one it is repeated, with the number −1."""
    many = len(given["steps"])
    count = -(-many // _BLOCK)
    more = count * _BLOCK - many
    if more:
        given = {name: np.concatenate([x, np.repeat(x[-1:], more, axis=0)]) for name, x in given.items()}
        given["numbers"][many:] = -1.0
    return [{name: x[k * _BLOCK : (k + 1) * _BLOCK] for name, x in given.items()} for k in range(count)]


def _backward(shapes: dict[str, tuple[int, ...]], may_rest: bool) -> Kernel:
    def traced(**x: Any) -> Any:
        along = PathValues(x["rates"], x.get("first", x["rates"]), x["second"], x.get("rest"), x.get("speeds"))
        limits = PathLimits(x["slowest"], x["highest"], x["lower"], x["upper"], x.get("speed_limits"))
        following = Reachable(*x["following"])
        reached, *lines = sweep_backward(
            along, limits, x["steps"], x["caps"], x["numbers"], following, may_rest=may_rest
        )
        return *reached, *lines

    return compile(traced, name="time_optimal_backward", **shapes, following=3)


def _forward(lines: tuple[int, ...]) -> Kernel:
    n = lines[0]
    return compile(sweep_forward, name="time_optimal_forward", upper=lines, low=n, high=n, steps=n, numbers=n, x=())
