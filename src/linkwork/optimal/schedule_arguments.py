"""When something counts: phases, steps and durations of a path, looked at before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.validation import is_integer, number

__all__ = ["Besides", "phase_of", "read_duration", "read_phases", "read_schedule"]


def read_phases(phases: Any, steps: int) -> dict[str, range]:
    """Phases by name: steps from the first to before the last.  Raises TypeError and ValueError."""
    if phases is None:
        return {}
    if not isinstance(phases, Mapping):
        raise TypeError(
            f"Problem: phases: expected a dict of names to (first step, step after the last), got {phases!r}"
        )
    found = {}
    for name, pair in phases.items():
        try:
            first, end = pair
            fine = isinstance(name, str) and is_integer(first) and is_integer(end) and 0 <= first < end <= steps
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise ValueError(
                f"Problem: phases: {name!r}: expected (first step, step after the last) in 0 to {steps}, got {pair!r}"
            )
        found[name] = range(int(first), int(end))
    return found


@dataclass(frozen=True)
class Besides:
    """All steps but those of a phase."""

    phase: str


def read_schedule(caller: str, at: Any, steps: int, phases: Mapping[str, range]) -> tuple[tuple[int, ...], bool]:
    """The steps at which something counts, and whether it is one by number.  Raises TypeError and ValueError."""

    def one(x: Any) -> int:
        if not is_integer(x):
            raise TypeError(f"{caller}: at: expected steps, a slice or the name of a phase, got {at!r}")
        if not -steps <= x < steps:
            raise ValueError(f"{caller}: at: expected steps from {-steps} to {steps - 1}, got {x}")
        return int(x) % steps

    if at is None:
        return tuple(range(steps)), False
    if isinstance(at, Besides):
        return tuple(t for t in range(steps) if t not in phases[at.phase]), False
    if isinstance(at, str):
        if at not in phases:
            raise ValueError(f"{caller}: at: no phase is called {at!r}; {nearest(at, tuple(phases))}")
        return tuple(phases[at]), False
    if isinstance(at, slice):
        found = tuple(range(steps)[at])
    elif isinstance(at, (range, Sequence, np.ndarray)):
        found = tuple(sorted({one(x) for x in at}))
    else:
        return (one(at),), True
    if not found:
        raise ValueError(f"{caller}: at: {at!r} are no steps of {steps}")
    return found, False


def phase_of(at: Any) -> tuple[str, bool]:
    """The phase that steps are of, and whether they are all but its; "" where they are of none."""
    return (at.phase, True) if isinstance(at, Besides) else (at if isinstance(at, str) else "", False)


def read_duration(duration: Any, phases: Mapping[str, range], steps: int) -> dict[str, Any]:
    """By phase, or "" for the whole path: how long it takes [s], a number or (least, most).  Raises ValueError."""
    if isinstance(duration, Mapping):
        missing = [name for name in phases if name not in duration]
        unknown = [name for name in duration if name not in phases]
        covered = sorted(k for own in phases.values() for k in own)
        if missing or unknown or covered != list(range(steps)):
            raise ValueError(
                f"Problem: duration: expected one for each of phases that follow each other from 0 to {steps}, "
                f"got {dict(duration)!r} for { ({name: (own.start, own.stop) for name, own in phases.items()})!r}"
            )
        return {name: _seconds(duration[name]) for name in sorted(phases, key=lambda name: phases[name].start)}
    return {"": _seconds(duration)}


def _seconds(given: Any) -> Any:
    try:
        pair = tuple(number(x) for x in given) if isinstance(given, (tuple, list)) else (number(given),)
    except (TypeError, ValueError):
        pair = (math.nan,)
    if len(pair) not in (1, 2) or not all(0.0 < x < math.inf for x in pair) or pair[0] > pair[-1]:
        raise ValueError(f"Problem: duration: expected a time above 0 [s], or (least, most), got {given!r}")
    return pair if len(pair) == 2 else pair[0]
