"""Reference motion: trajectories, splines, profiles, path timing and Cartesian paths.

`Robot.spline` and `Robot.profile` create trajectories of a robot; `spline` and `profile` here create those of plain
coordinates.
"""

from linkwork.motion.cartesian.cartesian_path import CartesianPath
from linkwork.motion.cartesian.path_constructors import arc, line, polyline, pose_spline
from linkwork.motion.cartesian.result import Deviation, TrackedPath
from linkwork.motion.profiles.profile import ProfileFunction, profile
from linkwork.motion.profiles.profile_kinds import ProfileArrays
from linkwork.motion.splines.spline import spline
from linkwork.motion.timing.limits import MotionLimit
from linkwork.motion.timing.time_optimal import TimedPath, time_optimal
from linkwork.motion.trajectory.trajectory import Trajectory, TrajectoryState
from linkwork.motion.trajectory.trajectory_extremes import Extremes

__all__ = [
    "CartesianPath",
    "Deviation",
    "Extremes",
    "MotionLimit",
    "ProfileArrays",
    "ProfileFunction",
    "TimedPath",
    "TrackedPath",
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
    """Return the documented names of this package."""
    return sorted(__all__)
