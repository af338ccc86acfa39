"""A path in the least time: what `time_optimal` returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.messages import number
from linkwork.motion.timing.limits import MotionAsked, MotionLimit
from linkwork.motion.timing.phase_plane_plot import plot_phase_plane
from linkwork.motion.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from linkwork.kernels.robot_base import RobotBase

__all__ = ["TimedPath"]


class _Times(NamedTuple):
    trajectory: Trajectory
    s: np.ndarray
    t: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray


class TimedPath(_Times):
    """A path in the least time, and how it is run through.

    ``s`` (n + 1,) are places on the path, its own times, or those of the curve beneath where it is one that was run
    through otherwise already; a straight piece on which the path rests inside counts as run evenly.  ``t`` is when they
    are passed [s], ``speed`` ṡ there, and ``acceleration`` s̈: (n,) that of segments, or within limits of jerk (n + 1,)
    that at s, which is linear in time between, or nearly so.
    """

    _estimate: Callable[[], float] | None = None

    @classmethod
    def estimated(cls, times: Sequence[Any], estimate: Callable[[], float]) -> TimedPath:
        """One whose `optimality_gap` is computed when it is first read."""
        result = cls(*times)
        result._estimate = estimate
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (tuple(self), self.__dict__.get("optimality_gap", nan))

    def __repr__(self) -> str:
        return f"<TimedPath: {number(self.duration)} s in {len(self.t) - 1} segments>"

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.t[-1])

    @cached_property
    def optimality_gap(self) -> float:
        """An estimate of how much longer the motion takes than the least time, because of its segments [s].

        It is what halving all segments saves, three times at most until that is less than a thousandth of the time,
        and as much as the last again.  That is the loss where it is in proportion to the segments' lengths; mostly it
        falls faster, and the estimate is too large.  It is no bound.  Within limits of jerk it is twice what twice the
        segments save, with 5e-4 of the time for the barrier that keeps off limits; the search is a local one, of which
        it knows nothing.  It is at most the time by which the motion is longer than without limits of jerk.

        Motions are made for it when it is first read.  It is inf where there is none on shorter segments, and NaN of a
        copy or a pickled motion of which it was not read before.
        """
        return nan if self._estimate is None else self._estimate()

    @public
    def plot(
        self,
        axes: Any = None,
        *,
        velocity: Any = None,
        acceleration: Any = None,
        torque: Any = None,
        speed: Mapping[str, float] | None = None,
        limits: Sequence[MotionLimit] = (),
        robot: RobotBase | None = None,
    ) -> Any:
        """The phase plane, speed by place on the path, drawn with matplotlib; its axes.

        With limits, any of those that `time_optimal` made it with, it shows the greatest speed that they allow at
        each place, whatever the acceleration is, and by colour which of them holds the motion back.
        """
        asked = None
        of_second_order = acceleration is not None or not (torque is None or torque is False) or len(limits) > 0
        if of_second_order or velocity is not None or speed:
            robot = self.trajectory.robot if robot is None else robot
            acceleration = acceleration if of_second_order else np.inf
            asked = MotionAsked.read("plot", self.trajectory, robot, velocity, acceleration, torque, speed, limits)
        return plot_phase_plane(self, asked, axes)


def _restored(times: Sequence[Any], gap: float) -> TimedPath:
    return TimedPath.estimated(times, lambda: gap)
