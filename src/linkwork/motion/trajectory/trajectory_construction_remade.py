"""What trajectories are made of others: sections one after the other, and at other times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.motion.arguments import finite_number, increasing
from linkwork.motion.trajectory.time_scaling import clocked, monotone_clock
from linkwork.motion.trajectory.time_scaling_arc_length import clock_by_length, speed_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["at_one_speed", "at_other_times", "chained", "refuse_jumps"]


def chained(sections: Iterable[Section], start: float) -> list[Section]:
    """One after the other, from a time on."""
    found: list[Section] = []
    for section in sections:
        found.append(section.moved(found[-1].end if found else start))
    return found


def refuse_jumps(first: Any, other: Any, name: Callable[[int], str], tolerance: float) -> None:
    """Raises ValueError where q or v of the other's beginning is not that of the first one's end."""
    end, begin = first(first.end_time), other(other.start_time)
    space = first.sections[0].space
    gap = np.abs(np.asarray(space.local([*end.q], [*begin.q]), dtype=float))
    for what, apart in (("q", gap), ("v", np.abs(begin.v - end.v))):
        if apart.size and apart.max() > tolerance:
            k = int(apart.argmax())
            raise ValueError(
                f"spliced: {what} of {name(k)} jumps by {apart[k]:.6g} where the other begins; allow_jump=True lets it"
            )


def at_other_times(trajectory: Any, times: Any) -> Sequence[Section]:
    """All longer by a factor, or with new times for the knots."""
    if np.ndim(times) == 0:
        scale = finite_number("retimed: scale", times)
        if scale <= 0.0:
            raise ValueError(f"retimed: expected a factor above 0, got {times!r}")
        return chained([s.scaled(0.0, scale) for s in trajectory.sections], trajectory.start_time)
    knots = trajectory.knots
    new = increasing("retimed", times)
    if len(new) != len(knots):
        raise ValueError(f"retimed: expected {len(knots)} times, one for each of its knots, got {len(new)}")
    if np.array_equal(new, knots):
        same: Sequence[Section] = trajectory.sections
        return same
    return clocked(trajectory.sections, monotone_clock(new, knots), new, knots)


def at_one_speed(trajectory: Any, speed: Any, weights: Any, frame: str | None) -> list[Section]:
    """At the speed of joint space or of a frame."""
    who = "by_length"
    wanted = finite_number(f"{who}: speed", speed)
    if wanted <= 0.0:
        raise ValueError(f"{who}: speed: expected a number above 0, got {speed!r}")
    knots = trajectory.knots
    rate = speed_of(who, trajectory, weights, frame)
    clock, new = clock_by_length(who, knots, rate, wanted, trajectory.start_time)
    return clocked(trajectory.sections, clock, new, knots)
