"""Checks of the arguments phases, steps and duration of trajectory problems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.validation import is_integer, number

__all__ = ["OutsidePhase", "phase_of", "read_duration", "read_phases", "read_schedule"]


def read_phases(phases: Any, steps: int) -> dict[str, range]:
    """Return the steps of each phase as a range, by name.  Raises TypeError and ValueError."""
    if phases is None:
        return {}
    if not isinstance(phases, Mapping):
        raise TypeError(
            f"TrajectoryProblem: phases: expected a dict of names to (first step, step after the last), got {phases!r}"
        )
    ranges = {}
    for name, pair in phases.items():
        try:
            first, end = pair
            fine = isinstance(name, str) and is_integer(first) and is_integer(end) and 0 <= first < end <= steps
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise ValueError(
                f"TrajectoryProblem: phases: {name!r}: expected (first step, step after the last) in 0 to {steps}, "
                f"got {pair!r}"
            )
        ranges[name] = range(int(first), int(end))
    return ranges


@dataclass(frozen=True)
class OutsidePhase:
    """Argument ``steps`` that means all steps but those of a phase."""

    phase: str


def read_schedule(caller: str, value: Any, steps: int, phases: Mapping[str, range]) -> tuple[tuple[int, ...], bool]:
    """Return the steps that an argument names, and True if it is a single index.

    Raises TypeError and ValueError.
    """

    def one(x: Any) -> int:
        if not is_integer(x):
            raise TypeError(f"{caller}: steps: expected steps, a slice or the name of a phase, got {value!r}")
        if not -steps <= x < steps:
            raise ValueError(f"{caller}: steps: expected steps from {-steps} to {steps - 1}, got {x}")
        return int(x) % steps

    if value is None:
        return tuple(range(steps)), False
    if isinstance(value, OutsidePhase):
        return tuple(t for t in range(steps) if t not in phases[value.phase]), False
    if isinstance(value, str):
        if value not in phases:
            raise ValueError(f"{caller}: steps: unknown phase {value!r}; {nearest(value, tuple(phases))}")
        return tuple(phases[value]), False
    if isinstance(value, slice):
        numbers = tuple(range(steps)[value])
    elif isinstance(value, (range, Sequence, np.ndarray)):
        numbers = tuple(sorted({one(x) for x in value}))
    else:
        return (one(value),), True
    if not numbers:
        raise ValueError(f"{caller}: steps: {value!r} selects none of {steps} steps")
    return numbers, False


def phase_of(value: Any) -> tuple[str, bool]:
    """Return the phase that an argument ``steps`` names, or "", and True if it means all other steps."""
    return (value.phase, True) if isinstance(value, OutsidePhase) else (value if isinstance(value, str) else "", False)


def read_duration(duration: Any, phases: Mapping[str, range], steps: int) -> dict[str, Any]:
    """Return the duration [s] of each phase, by name, or of the whole path, by "".

    A duration is a number, or (lower, upper) for a free one.  Raises ValueError.
    """
    if isinstance(duration, Mapping):
        missing = [name for name in phases if name not in duration]
        unknown = [name for name in duration if name not in phases]
        covered = sorted(k for own in phases.values() for k in own)
        if missing or unknown or covered != list(range(steps)):
            raise ValueError(
                f"TrajectoryProblem: duration: expected one for each phase, with phases that cover the steps 0 to "
                f"{steps} without overlap, got {dict(duration)!r} "
                f"for { ({name: (own.start, own.stop) for name, own in phases.items()})!r}"
            )
        return {name: _seconds(duration[name]) for name in sorted(phases, key=lambda name: phases[name].start)}
    return {"": _seconds(duration)}


def _seconds(value: Any) -> Any:
    try:
        pair = tuple(number(x) for x in value) if isinstance(value, (tuple, list)) else (number(value),)
    except (TypeError, ValueError):
        pair = (math.nan,)
    if len(pair) not in (1, 2) or not all(0.0 < x < math.inf for x in pair) or pair[0] > pair[-1]:
        raise ValueError(f"TrajectoryProblem: duration: expected a time > 0 [s], or (lower, upper), got {value!r}")
    return pair if len(pair) == 2 else pair[0]
