"""Kernels of TOPP-RA: sweeps over blocks of segments, and a single kernel for whole motions along cubics.

The kernels of sweeps are the same for any number of segments.  The single kernel computes one path or a batch of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.kernels.compiler_api import Kernel, batch_call, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.timing.segment_constraints import PathLimits, PathValues
from linkwork.motion.algorithms.timing.toppra_sweeps import Reachable, sweep_backward, sweep_forward
from linkwork.motion.timing.limits import LimitSet, PathConstraints
from linkwork.motion.timing.path_grid import coarse_count, segment_count
from linkwork.motion.timing.timing_kernel import LimitKinds, timing_kernel
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["KernelMotion", "fits_single_kernel", "motions_by_single_kernel", "sweep_blocks"]

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
    block, and the forward sweep passes x. The last block is padded with inactive segments.
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


class KernelMotion(NamedTuple):
    """A motion on n segments of a path, as the kernel returns it.

    A path is a chain of curves, each divided into segments. ``s``, ``speed`` (ṡ) and ``t`` (n + 1,) are at the ends of
    segments, and s̈ (n,) is constant on each. ``clock`` (n, 3) are the coefficients s, ṡ, s̈/2 of s(t) on each segment.
    ``firsts`` (curves,) are the indices of the first segments of the curves. ``blocked`` is the index of an infeasible
    segment, or −1.
    """

    s: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    t: np.ndarray
    clock: np.ndarray
    firsts: np.ndarray
    blocked: int

    def curves(self) -> np.ndarray:
        """Return the index of the curve of each segment (n,), read-only."""
        result = np.zeros(len(self.acceleration))
        for k, first in enumerate(self.firsts.tolist()):
            result[int(first) :] = k
        result.setflags(write=False)
        return result


_UNLIMITED = 1e30
_NARROWED = 0.0, 0.0, 1e-5, 1e-4, 1e-3  # of limits of torque, in further passes until the motion satisfies all limits


def fits_single_kernel(path: Trajectory, limit_set: LimitSet) -> bool:
    """Return True if the single kernel can time this path within these limits."""
    if len(path.sections) > 1 or limit_set.jerk is not None or limit_set.has_zero_limit:
        return False
    if limit_set.custom and not (len(limit_set.custom) == 1 and limit_set.custom[0] is limit_set.torque):
        return False
    if limit_set.loops or (limit_set.forces is not None and limit_set.forces.motors is not None):
        return False
    if limit_set.resistance is not None and limit_set.resistance.robot.tree.force_elements:
        return False
    section = path.sections[0]
    c = section.arrays.get("coefficients")
    return (
        section.kind.name == "polynomial"
        and section.space.is_plain
        and section.clock is None
        and not section.is_symbolic
        and c is not None
        and c.shape[-1] <= 4
        and bool(section.arrays["starts"][0] == section.start)
        and bool(section.end > section.arrays["starts"][-1])
    )


def motions_by_single_kernel(
    paths: Sequence[Trajectory],
    limit_set: LimitSet,
    ends: Sequence[float],
    points: Sequence[int],
    passes: int,
    tolerance: float | None,
) -> list[KernelMotion]:
    """Return the time-optimal motions along several paths with the same coordinates, computed as a batch.

    Each motion equals the result for its path alone. ``points`` has the least number of segments for each path. A
    motion that is infeasible in any pass counts as infeasible.
    """
    kinds = LimitKinds(
        limit_set.robot if limit_set.custom or limit_set.speed else None,
        limit_set.acceleration is not None,
        limit_set.torque is not None,
        tuple(limit_set.speed),
        limit_set.forces is not None and limit_set.forces.passive,
        limit_set.resistance is not None,
    )
    limits: dict[str, Any] = {"first": ends[0] ** 2, "last": ends[1] ** 2}
    limits |= {"slowest": limit_set.velocity[0], "highest": limit_set.velocity[1]}
    if limit_set.acceleration is not None:
        limits |= {"lower": limit_set.acceleration[0], "upper": limit_set.acceleration[1]}
    if limit_set.torque is not None:
        limits |= {"least": limit_set.torque.lower, "most": limit_set.torque.upper}
    if limit_set.speed:
        limits["speeds"] = np.array([*limit_set.speed.values()], dtype=float)
    room = 1.0 if tolerance is None else 0.5 * tolerance  # more means that the sweeps do not converge
    cubics = [_padded_cubics(path) for path in paths]
    groups: dict[tuple[int, int, int], list[int]] = {}
    for k, (c, _, _, count) in enumerate(cubics):
        n = segment_count(points[k], count)
        groups.setdefault((n, coarse_count(n, count), len(c)), []).append(k)
    result: list[Any] = [None] * len(paths)
    for (n, coarse, curves), members in groups.items():
        alone = len(members) == 1
        c, starts, end = (
            cubics[members[0]][:3] if alone else [np.array([cubics[k][i] for k in members]) for i in range(3)]
        )
        nv = paths[0].nv
        path, bounds = ([np.asarray(x, dtype=float) for x in values] for values in ((c, starts, end), limits.values()))
        # a call with padded curves is not one of the single call, whose code would be compiled in vain
        is_single = alone and cubics[members[0]][3] == curves

        before: int | None = None
        outputs: Any = ()
        for count in [coarse] * (passes - 1) + [n]:
            kernel = timing_kernel(count, curves, nv, kinds, before)
            before, outputs = count, (kernel if is_single else batch_call(kernel))(*path, *_handed_on(outputs), *bounds)
        for k, *outcome in [(*members, *outputs)] if alone else zip(members, *outputs, strict=True):
            used = cubics[k][3]
            for share in _NARROWED if kinds.resists else ():
                if outcome[6] >= 0.0 or outcome[7] <= room:
                    break
                path, kernel = (
                    [np.asarray(x, dtype=float) for x in cubics[k][:3]],
                    timing_kernel(n, curves, nv, kinds, n),
                )
                call = kernel if used == curves else batch_call(kernel)
                *outcome, over = call(*path, *_handed_on(outcome), *_narrowed(limits, share))
                outcome.append(over - share)
            s, w, u, t, clock, firsts, blocked, over = outcome
            result[k] = KernelMotion(s, w, u, t, clock, firsts[:used], int(blocked) if over <= room else 0)
    return result


def _narrowed(limits: dict[str, Any], share: float) -> list[np.ndarray]:
    """Return the limits, with torque limits narrowed by the fraction ``share`` of their size."""
    low, high = limits["least"], limits["most"]
    size = np.maximum(*(np.where(np.abs(x) < _UNLIMITED, np.abs(x), 0.0) for x in (low, high)))
    narrow = limits | {"least": low + share * size, "most": high - share * size}
    return [np.asarray(x, dtype=float) for x in narrow.values()]


def _handed_on(outputs: Any) -> tuple[Any, ...]:
    """Return those outputs of a kernel that are inputs of the kernel of the next pass; () if there are no outputs."""
    if not outputs:
        return ()
    s, w, u, t, _, firsts, stopped, _ = outputs
    return s, firsts, w, u, t, np.asarray(stopped)


def _padded_cubics(path: Trajectory) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Return (coefficients, starts, end, count) of a path of cubics, padded with unused cubics to a power of 2.

    ``coefficients`` are (cubics, nv, 4), and ``starts`` the parameters at which cubics begin. ``end`` is the path's
    end, and ``count`` the number of cubics before padding.
    """
    section = path.sections[0]
    c, count = section.arrays["coefficients"], len(section.arrays["starts"])
    padded = section.padded()[0]
    if c.shape[-1] == 4:
        return padded["coefficients"], padded["starts"], section.end, count
    cubics = np.zeros((*padded["coefficients"].shape[:2], 4))
    cubics[:count, :, : c.shape[-1]] = c
    return cubics, padded["starts"], section.end, count
