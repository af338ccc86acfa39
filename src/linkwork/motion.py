"""Reference motion: trajectories, splines through points, and profiles from state to state.

`Robot.spline` and `Robot.profile` make trajectories of a robot; `spline` and `profile` here those of plain numbers.
"""

from .facade.motion.cartesian.followed import Deviation, FollowedPath
from .facade.motion.cartesian.making import arc, line, polyline, pose_spline
from .facade.motion.cartesian.path import CartesianPath
from .facade.motion.extremes import Extremes
from .facade.motion.profiles.kernels import ProfileNumbers
from .facade.motion.profiles.profile import ProfileFunction, profile
from .facade.motion.spline import spline
from .facade.motion.timing.limits import MotionLimit
from .facade.motion.timing.timing import TimedPath, time_optimal
from .facade.motion.trajectory import Trajectory, TrajectoryState
from .facade.planning.region import PoseRegion
from .facade.planning.result import PlanResult, PlanTree
from .facade.planning.roadmap import Roadmap

__all__ = [
    "CartesianPath",
    "Deviation",
    "Extremes",
    "FollowedPath",
    "MotionLimit",
    "PlanResult",
    "PlanTree",
    "PoseRegion",
    "ProfileFunction",
    "ProfileNumbers",
    "Roadmap",
    "TimedPath",
    "Trajectory",
    "TrajectoryState",
    "arc",
    "line",
    "polyline",
    "pose_spline",
    "profile",
    "spline",
    "time_optimal",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
