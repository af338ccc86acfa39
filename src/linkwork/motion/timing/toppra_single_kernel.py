"""The fastest motion along polynomials of third degree within limits of velocity and acceleration: one kernel, in which
the path is evaluated, too; many paths at once on its lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.motion.timing.arguments import MotionAsked
from linkwork.motion.timing.segment_grid import first_of, segments_of
from linkwork.motion.timing.toppra_single_kernel_quick_kernel import QuickLaw, quick_kernel
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["QuickMotion", "is_quick", "quick"]


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
    """Whether it is such a path, and these are limits of such a kind."""
    if len(path.sections) > 1 or asked.jerk is not None or asked.stands:
        return False
    if asked.own and not (len(asked.own) == 1 and asked.own[0] is asked.torque):
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
    paths: Sequence[Trajectory],
    asked: MotionAsked,
    ends: Sequence[float],
    points: int,
    passes: int,
    tolerance: float | None,
) -> list[QuickMotion]:
    """Of paths of the same coordinates, each as it would be alone; one that is blocked in any pass is so."""
    law = QuickLaw(
        asked.robot if asked.own or asked.speed else None,
        asked.acceleration is not None,
        asked.torque is not None,
        tuple(asked.speed),
    )
    limits: dict[str, Any] = {"first": ends[0] ** 2, "last": ends[1] ** 2}
    limits |= {"slowest": asked.velocity[0], "highest": asked.velocity[1]}
    if asked.acceleration is not None:
        limits |= {"lower": asked.acceleration[0], "upper": asked.acceleration[1]}
    if asked.torque is not None:
        limits |= {"least": asked.torque.lower, "most": asked.torque.upper}
    if asked.speed:
        limits["speeds"] = np.array([*asked.speed.values()], dtype=float)
    room = np.inf if tolerance is None else 0.5 * tolerance
    given = [_given(path) for path in paths]
    alike: dict[tuple[int, int, int], list[int]] = {}
    for k, (c, _, _, count) in enumerate(given):
        n = segments_of(points, count)
        alike.setdefault((n, first_of(n, count), len(c)), []).append(k)
    found: list[Any] = [None] * len(paths)
    for (n, coarse, pieces), members in alike.items():
        alone = len(members) == 1
        c, starts, end = (
            given[members[0]][:3] if alone else [np.array([given[k][i] for k in members]) for i in range(3)]
        )
        nv = paths[0].nv
        counts = [coarse] * (passes - 1) + [n]
        made = quick_kernel(counts[0], pieces, nv, law)(c, starts, end, *limits.values())
        for before, count in pairwise(counts):
            s, w, u, t, _, firsts, stopped, _ = made
            kernel = quick_kernel(count, pieces, nv, law, before)
            made = kernel(c, starts, end, s, firsts, w, u, t, stopped, *limits.values())
        for k, s, w, u, t, clock, _, blocked, over in (
            [(*members, *made)] if alone else zip(members, *made, strict=True)
        ):
            found[k] = QuickMotion(s, w, u, t, clock, int(blocked) if over <= room else 0)
    return found


def _given(path: Trajectory) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Coefficients (pieces, nv, 4), where pieces begin, as many as a power of 2, where the last ends; how many."""
    section = path.sections[0]
    c, count = section.arrays["coefficients"], len(section.arrays["starts"])
    padded = section.padded()[0]
    if c.shape[-1] == 4:
        return padded["coefficients"], padded["starts"], section.end, count
    own = np.zeros((*padded["coefficients"].shape[:2], 4))
    own[:count, :, : c.shape[-1]] = c
    return own, padded["starts"], section.end, count
