"""Reference motion: trajectories, splines through points, and profiles from state to state.

`Robot.spline` and `Robot.profile` make trajectories of a robot; `spline` and `profile` here those of plain numbers.
"""

from .facade.motion.extremes import Extremes
from .facade.motion.spline import spline
from .facade.motion.trajectory import Trajectory, TrajectoryState

__all__ = ["Extremes", "Trajectory", "TrajectoryState", "spline"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
