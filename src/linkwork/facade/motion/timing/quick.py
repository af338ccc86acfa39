"""The fastest motion along polynomials of third degree within limits of velocity and acceleration: one kernel, in which
the path is evaluated, too; many paths at once on its lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ....algorithms.motion.timing import NODES, PathLimits, PathValues, fastest
from ....bridge.machine import Kernel, compile
from ....bridge.once import Once
from ....expr.arrays import array
from ....expr.control import scan
from ....expr.functions import sqrt
from ..trajectory import Trajectory
from .asked import MotionAsked
from .grid import again, grid, jumps

__all__ = ["QuickMotion", "is_quick", "quick"]

_KERNELS: Once[Kernel] = Once(64)
_POWERS = np.arange(1.0, 4.0)


class QuickMotion(NamedTuple):
    """s, ṡ and t at the ends of segments (n + 1,), s̈ on them, and the clock: s, ṡ and s̈/2 at their beginnings (n, 3);
    and the segment that cannot be passed, or −1."""

    s: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    t: np.ndarray
    clock: np.ndarray
    blocked: int


def is_quick(path: Trajectory, asked: MotionAsked) -> bool:
    """Whether it is such a path, and these are all limits."""
    if len(path.sections) > 1 or asked.own or asked.speed or asked.jerk is not None or asked.stands:
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


def quick(
    paths: Sequence[Trajectory], asked: MotionAsked, ends: Sequence[float], points: int, passes: int
) -> list[QuickMotion]:
    """Of paths of the same coordinates, each as it would be alone: one that is blocked has no further passes."""
    assert asked.acceleration is not None
    limits = (*asked.velocity, *asked.acceleration, ends[0] ** 2, ends[1] ** 2)
    laid = [_segments(path, points, None) for path in paths]
    found = _together(laid, limits)
    for _ in range(passes - 1):
        going = [k for k, motion in enumerate(found) if motion.blocked < 0]
        laid = [_segments(paths[k], points, _again(paths[k], found[k])) for k in going]
        for k, motion in zip(going, _together(laid, limits), strict=True):
            found[k] = motion
    return found


def _together(laid: Sequence[tuple[np.ndarray, ...]], limits: tuple[Any, ...]) -> list[QuickMotion]:
    """Those of as many segments in one call."""
    if len(laid) == 1:
        n, nv = laid[0][0].shape[:2]
        speed, u, t, clock, blocked = _kernel(n, nv)(*laid[0], *limits)
        return [QuickMotion(laid[0][4], speed, u, t, clock, int(blocked))]
    found: list[Any] = [None] * len(laid)
    alike: dict[tuple[int, ...], list[int]] = {}
    for k, given in enumerate(laid):
        alike.setdefault(given[0].shape[:2], []).append(k)
    for (n, nv), members in alike.items():
        stacked = [np.stack([laid[k][i] for k in members]) for i in range(5)]
        for k, speed, u, t, clock, blocked in zip(members, *_kernel(n, nv)(*stacked, *limits), strict=True):
            found[k] = QuickMotion(laid[k][4], speed, u, t, clock, int(blocked))
    return found


def _segments(path: Trajectory, points: int, s: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Of each segment the coefficients of q' (n, nv, 3), where it begins in its piece, how long it is; the most of x at
    its ends (n + 1,), and these."""
    section = path.sections[0]
    c, starts = section.arrays["coefficients"], section.arrays["starts"]
    if s is None:
        s, steps, place, begins, whole = _grid(starts.tobytes(), section.end, points)
    else:
        s, steps, place, begins, whole = _laid(starts, s)
    rates = c[..., 1:] * _POWERS[: c.shape[-1] - 1]
    if rates.shape[-1] < 3:
        rates = np.concatenate([rates, np.zeros((*c.shape[:2], 3 - rates.shape[-1]))], axis=-1)
    caps = np.full(len(s), 1e30)
    if len(starts) > 1:
        h = np.diff(starts)[:, None]
        before = rates[:-1, :, 0] + h * (rates[:-1, :, 1] + h * rates[:-1, :, 2])
        after = rates[1:, :, 0]
        caps[whole[jumps(before, after)]] = 0.0
    return rates[place], begins, steps, caps, s


def _again(path: Trajectory, motion: QuickMotion) -> np.ndarray:
    section = path.sections[0]
    knots = np.append(section.arrays["starts"], section.end)
    return again(knots, motion.s, motion.t, motion.speed**2, motion.acceleration)


@lru_cache(maxsize=256)
def _grid(starts: bytes, end: float, points: int) -> tuple[np.ndarray, ...]:
    begins = np.frombuffer(starts)
    found = _laid(begins, grid(np.append(begins, end), points))
    for x in found:
        x.setflags(write=False)
    return found


def _laid(starts: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
    """Ends of segments, how long they are, in which pieces and where they begin there; where pieces begin."""
    place = np.searchsorted(starts, s[:-1], side="right") - 1
    return s, np.diff(s), place, s[:-1] - starts[place], np.searchsorted(s, starts[1:])


def _kernel(n: int, nv: int) -> Kernel:
    return _KERNELS.get((n, nv), lambda: _made(n, nv))


def _made(n: int, nv: int) -> Kernel:
    nodes = NODES[3]

    def traced(
        rates: Any,
        begins: Any,
        steps: Any,
        caps: Any,
        s: Any,
        slowest: Any,
        highest: Any,
        lower: Any,
        upper: Any,
        start: Any,
        end: Any,
    ) -> Any:
        def along(state: Any, row: Any) -> tuple[Any, Any]:
            c, begin, step = row
            first, second = [], []
            for node in nodes:
                d = begin + node * step
                first.append([a + d * (b + d * e) for a, b, e in c])
                second.append([b + 2.0 * d * e for _, b, e in c])
            return state, (array(first), array(second))

        _, (first, second) = scan(along, (), (rates, begins, steps))
        values, limits = PathValues(first, first, second), PathLimits(slowest, highest, lower, upper)
        found = fastest(values, limits, steps, caps, start, end, may_rest=True)

        def clocked(state: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], Any]:
            t, w = state
            place, step, x, u = row
            after = sqrt(x)
            t_after = t + 2.0 * step / (w + after)
            return (t_after, after), (after, t_after, array([place, w, 0.5 * u]))

        w0 = sqrt(found.x[0])
        _, (w, t, clock) = scan(clocked, (0.0 * w0, w0), (s[:-1], steps, found.x[1:], found.u))
        return np.concatenate([array([w0]), w]), found.u, np.concatenate([array([0.0 * w0]), t]), clock, found.blocked

    path = {"rates": (n, nv, 3), "begins": (n,), "steps": (n,), "caps": (n + 1,), "s": (n + 1,)}
    limits = dict.fromkeys(("slowest", "highest", "lower", "upper"), (nv,))
    return compile(traced, name="time_optimal", **path, **limits, start=(), end=())
