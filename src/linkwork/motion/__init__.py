"""Reference motion: trajectories, splines, profiles, path timing and Cartesian paths.

`Robot.spline` and `Robot.profile` create trajectories of a robot; `spline` and `profile` here create those of plain
coordinates.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.motion.cartesian.cartesian_path import CartesianPath
    from linkwork.motion.cartesian.path_constructors import arc, line, polyline, pose_spline
    from linkwork.motion.cartesian.result import Deviation, TrackedPath
    from linkwork.motion.profiles.profile import ProfileFunction, profile
    from linkwork.motion.profiles.profile_kinds import ProfileArrays
    from linkwork.motion.splines.spline import spline
    from linkwork.motion.timing.limits import MotionLimit
    from linkwork.motion.timing.time_optimal import time_optimal
    from linkwork.motion.timing.timed_path import TimedPath
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.motion.cartesian.cartesian_path": "CartesianPath",
            "linkwork.motion.cartesian.path_constructors": "arc line polyline pose_spline",
            "linkwork.motion.cartesian.result": "Deviation TrackedPath",
            "linkwork.motion.profiles.profile": "ProfileFunction profile",
            "linkwork.motion.profiles.profile_kinds": "ProfileArrays",
            "linkwork.motion.splines.spline": "spline",
            "linkwork.motion.timing.limits": "MotionLimit",
            "linkwork.motion.timing.time_optimal": "time_optimal",
            "linkwork.motion.timing.timed_path": "TimedPath",
            "linkwork.motion.trajectory.trajectory": "Trajectory TrajectoryState",
            "linkwork.motion.trajectory.trajectory_extremes": "Extremes",
        },
    )
