"""Sequences of named motions, such as the cycle of a machine, with the time of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.messages import label, number, table, untimed
from linkwork._util.validation import boolean, non_negative
from linkwork._util.validation import name as checked_name
from linkwork.motion.splines.spline import spline
from linkwork.motion.timing.timed_path import TimedPath
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["MotionSequence", "sequence"]


@dataclass(frozen=True, eq=False, repr=False)
class MotionSequence:
    """Named motions one after the other; ``str`` returns a table of their times and the sum.

    ``trajectory`` consists of all steps; its `Trajectory.robot_at` returns the robot with the objects that it holds at
    a time.  ``names`` are the names of the n steps, ``starts`` (n,) the times at which they begin [s], and
    ``durations`` (n,) their durations [s], whose sum is the cycle time.
    """

    trajectory: Trajectory
    names: tuple[str, ...]
    starts: np.ndarray
    durations: np.ndarray

    def __repr__(self) -> str:
        total = float(self.durations.sum())
        rows = [
            [label(name), _short(start), _short(duration), f"{100.0 * duration / (total or 1.0):.1f}"]
            for name, start, duration in zip(self.names, self.starts, self.durations, strict=True)
        ]
        end = float(self.starts[-1] + self.durations[-1])
        rows.append(["sum", _short(end), _short(total), "100.0"])
        return "\n".join(table(["step", "start [s]", "duration [s]", "%"], rows))


def _short(seconds: float) -> str:
    return number(float(f"{seconds:.5g}"))


@public
def sequence(
    steps: Mapping[str, Trajectory | TimedPath | float], *, allow_jump: bool = False, tolerance: float = 1e-6
) -> MotionSequence:
    """Join named motions of a robot to one motion, with the time of each step.

    ``steps`` is a dict from names to motions, in order: a trajectory, a timed path, or a number of seconds in which the
    robot rests, such as the time in which a gripper closes.  The robots of the steps may hold different objects: see
    `Trajectory.concatenate`, which also explains ``allow_jump`` and ``tolerance``.

    >>> import linkwork as lw
    >>> move = lw.motion.profile([0.0], [1.0], velocity=1.0, acceleration=4.0, kind="trapezoid")
    >>> lw.motion.sequence({"forth": move, "dwell": 0.5, "back": move.reversed()})
    step   start [s]  duration [s]      %
    -----  ---------  ------------  -----
    forth          0          1.25   41.7
    dwell       1.25           0.5   16.7
    back        1.75          1.25   41.7
    sum            3             3  100.0

    Raises TypeError for steps of another type. Raises ValueError for steps without any motion, a path without times, a
    negative time, and steps that do not meet.
    """
    caller = "sequence"
    expected = (
        f'{caller}: steps: expected a dict of trajectories and seconds, as in {{"approach": motion, "grip": 0.4}}'
    )
    if not isinstance(steps, Mapping):
        raise TypeError(f"{expected}, got {steps!r}")
    boolean(caller, "allow_jump", allow_jump)
    non_negative(caller, "tolerance", tolerance, symbols=False)
    names = [checked_name(caller, "steps", key) for key in steps]
    read = [_step(f"{caller}: steps[{key!r}]", steps[key]) for key in names]
    first = next((step for step in read if isinstance(step, Trajectory)), None)
    if first is None:
        raise ValueError(f"{expected}, got no trajectory")
    result: Trajectory | None = None
    durations = []
    for name, step in zip(names, read, strict=True):
        durations.append(step.duration if isinstance(step, Trajectory) else step)
        if step == 0.0:
            continue
        motion = step if isinstance(step, Trajectory) else _rest(first if result is None else result, step, result)
        if result is None:
            result = motion.shifted(0.0)
        else:
            try:
                result = result.concatenate(motion, allow_jump=allow_jump, tolerance=tolerance)
            except ValueError as error:
                reason = str(error).removeprefix("concatenate: ")
                raise ValueError(f"{caller}: steps[{name!r}]: {reason}") from None
    assert result is not None
    ends = np.cumsum(durations)
    return MotionSequence(result, tuple(names), ends - durations, np.array(durations))


def _step(caller: str, value: object) -> Trajectory | float:
    value = value.trajectory if isinstance(value, TimedPath) else value
    if isinstance(value, Trajectory):
        if not value.is_timed:
            raise ValueError(untimed(caller, value))
        return value
    if hasattr(value, "timed"):
        raise TypeError(f"{caller}: expected a timed motion or seconds, got {value!r}; its method timed() returns one")
    return float(non_negative(caller, "duration", value, unit="s", symbols=False))


def _rest(beside: Trajectory, seconds: float, before: Trajectory | None) -> Trajectory:
    """Return a motion of ``seconds`` at rest, at the end of the motion ``before``.

    Without ``before``, the rest is at the start of the motion ``beside``.
    """
    t = beside.start_time if before is None else before.end_time
    q = beside(t, side="right" if before is None else "left").q
    if beside.robot is None:
        return spline([0.0, seconds], [q, q])
    result: Trajectory = beside.robot_at(t).spline([0.0, seconds], [q, q])
    return result
