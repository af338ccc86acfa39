"""Sweeps of TOPP-RA block by block of segments, so that the same kernels serve any number of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.timing.segment_constraints import PathLimits, PathValues
from linkwork.motion.algorithms.timing.toppra_sweeps import Reachable, sweep_backward, sweep_forward
from linkwork.motion.timing.limits import PathConstraints

__all__ = ["sweep_blocks"]

_KERNELS: LazyCache[Kernel] = LazyCache(64)
_BLOCK = 64  # segments of a kernel: its compile time grows with them
_ROUNDING = 1e-13


def sweep_blocks(
    rates: np.ndarray,
    velocity: tuple[np.ndarray, np.ndarray],
    constraints: PathConstraints,
    steps: np.ndarray,
    caps: np.ndarray,
    start: float,
    end: float,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return x = ṡ² (n + 1,) at the ends of segments, u = s̈ (n,), and the index of an infeasible segment or −1.

    Segments are processed in blocks of equal size. The backward sweep passes intervals of reachable x from block to
    block, the forward sweep x itself. The last block is padded with inactive segments.
    """
    count = len(steps)
    at_rest = 0.0 if constraints.at_rest is None else constraints.at_rest
    low, high = (x if x.ndim == 1 else x[:, None] for x in (constraints.lower, constraints.upper))  # of each segment
    may_rest = bool((low <= at_rest).all() and (at_rest <= high).all())
    inputs: dict[str, np.ndarray] = {"rates": rates, "second": constraints.second}
    inputs |= {"slowest": velocity[0], "highest": velocity[1], "lower": constraints.lower, "upper": constraints.upper}
    if constraints.first is not rates:
        inputs["first"] = constraints.first
    if constraints.at_rest is not None:
        inputs["at_rest"] = constraints.at_rest
    if constraints.speeds is not None and constraints.fastest is not None:
        inputs |= {"speeds": constraints.speeds, "speed_limits": constraints.fastest}
    shared_inputs = {name: inputs.pop(name) for name in _LIMITS if name in inputs and inputs[name].ndim == 1}
    inputs |= {"steps": steps, "caps": caps[:-1], "indices": np.arange(float(count))}
    blocks = _in_blocks(inputs)
    shapes = {name: np.shape(x) for name, x in (shared_inputs | blocks[0]).items()}
    backward = _KERNELS.get((may_rest, *shapes.items()), lambda: _backward(shapes, may_rest))

    at_end = min(end, float(caps[count]))
    reached: Any = (at_end, at_end, float(count - 1) if at_end < end else -1.0)
    lines, intervals = [], []
    for block in reversed(blocks):
        *reached, upper, lower_ends, upper_ends = backward(
            **shared_inputs, **block, following=np.array(reached, dtype=float)
        )
        lines.append(upper)
        intervals.append((lower_ends, upper_ends))
    minimum, most, blocked = (float(x) for x in reached)
    if blocked < 0.0 and not (minimum * (1.0 - _ROUNDING) <= start <= most * (1.0 + _ROUNDING)):
        blocked = 0.0

    after = [np.append(np.concatenate([x[k] for x in intervals[::-1]])[1:], at_end) for k in (0, 1)]
    after = [np.where(np.arange(len(x)) < count - 1, x, at_end) for x in after]
    forward = _KERNELS.get(lines[0].shape, lambda: _forward(lines[0].shape))
    x, result = np.array(start), [np.array([start])]
    for k, (upper, block) in enumerate(zip(lines[::-1], blocks, strict=True)):
        ends = (y[k * _BLOCK : (k + 1) * _BLOCK] for y in after)
        reached_here, x = forward(upper, *ends, block["steps"], block["indices"], np.asarray(x))
        result.append(reached_here)
    whole = np.concatenate(result)[: count + 1]
    return whole, 0.5 * np.diff(whole) / steps, int(blocked)


_LIMITS = "slowest", "highest", "lower", "upper", "speed_limits"


def _in_blocks(inputs: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Return the arrays, whose first axis is the segments, split into blocks of equal size.

    The last block is padded with copies of the last segment, whose ``indices`` are −1.
    """
    length = len(inputs["steps"])
    count = -(-length // _BLOCK)
    more = count * _BLOCK - length
    if more:
        inputs = {name: np.concatenate([x, np.repeat(x[-1:], more, axis=0)]) for name, x in inputs.items()}
        inputs["indices"][length:] = -1.0
    return [{name: x[k * _BLOCK : (k + 1) * _BLOCK] for name, x in inputs.items()} for k in range(count)]


def _backward(shapes: dict[str, tuple[int, ...]], may_rest: bool) -> Kernel:
    def traced(**x: Any) -> Any:
        along = PathValues(x["rates"], x.get("first", x["rates"]), x["second"], x.get("at_rest"), x.get("speeds"))
        limits = PathLimits(x["slowest"], x["highest"], x["lower"], x["upper"], x.get("speed_limits"))
        following = Reachable(*x["following"])
        reached, *lines = sweep_backward(
            along, limits, x["steps"], x["caps"], x["indices"], following, may_rest=may_rest
        )
        return *reached, *lines

    return compile(traced, name="time_optimal_backward", **shapes, following=3)


def _forward(lines: tuple[int, ...]) -> Kernel:
    n = lines[0]
    return compile(sweep_forward, name="time_optimal_forward", upper=lines, low=n, high=n, steps=n, indices=n, x=())
