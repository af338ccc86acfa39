"""Errors for motions: they are passed in the place of arrays, or lack the times that a function needs."""

from __future__ import annotations

from typing import Any

__all__ = ["refuse_motion", "untimed"]

_TIMING = "time it with linkwork.motion.time_optimal, retimed or at_constant_speed, or pass plan.timed(...).trajectory"


def untimed(caller: str, trajectory: Any) -> str:
    """Return the message of an error: a caller needs times, which the trajectory does not have."""
    return f"{caller}: expected a trajectory over time, got {trajectory!r}; {_TIMING}"


def refuse_motion(expected: str, value: Any) -> None:
    """Raise ValueError, which begins with ``expected``, if a value is a plan, a trajectory or another motion."""
    kind = type(value)
    if hasattr(kind, "is_timed"):
        remedy = "trajectory(t) returns q, v and a; simulate accepts trajectories in time_inputs"
        remedy = remedy if value.is_timed else _TIMING
    elif hasattr(kind, "timed"):
        remedy = "pass its .timed(...).trajectory in time_inputs"
    elif hasattr(kind, "trajectory"):
        remedy = f"pass its .trajectory{'()' if callable(kind.trajectory) else ''} in time_inputs"
    else:
        return
    raise ValueError(f"{expected}, got {value!r}; {remedy}")
