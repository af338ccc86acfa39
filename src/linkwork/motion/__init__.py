"""Reference motion: trajectories, splines, profiles, path timing and Cartesian paths.

`Robot.spline` and `Robot.profile` create trajectories of a robot; `spline` and `profile` of this module create
trajectories of plain coordinates, without a robot.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.motion.cartesian.cartesian_path import CartesianPath as CartesianPath
    from linkwork.motion.cartesian.path_constructors import arc as arc
    from linkwork.motion.cartesian.path_constructors import line as line
    from linkwork.motion.cartesian.path_constructors import polyline as polyline
    from linkwork.motion.cartesian.path_constructors import pose_spline as pose_spline
    from linkwork.motion.cartesian.result import Deviation as Deviation
    from linkwork.motion.cartesian.result import TrackedPath as TrackedPath
    from linkwork.motion.profiles.profile import ProfileFunction as ProfileFunction
    from linkwork.motion.profiles.profile import profile as profile
    from linkwork.motion.profiles.profile_kinds import ProfileArrays as ProfileArrays
    from linkwork.motion.splines.spline import spline as spline
    from linkwork.motion.timing.limits import MotionLimit as MotionLimit
    from linkwork.motion.timing.time_optimal import time_optimal as time_optimal
    from linkwork.motion.timing.timed_path import TimedPath as TimedPath
    from linkwork.motion.trajectory.motion_clearance import MotionClearance as MotionClearance
    from linkwork.motion.trajectory.motion_sequence import MotionSequence as MotionSequence
    from linkwork.motion.trajectory.motion_sequence import sequence as sequence
    from linkwork.motion.trajectory.trajectory import Trajectory as Trajectory
    from linkwork.motion.trajectory.trajectory import TrajectoryState as TrajectoryState
    from linkwork.motion.trajectory.trajectory_extremes import Extremes as Extremes


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
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
            "linkwork.motion.trajectory.motion_clearance": "MotionClearance",
            "linkwork.motion.trajectory.motion_sequence": "MotionSequence sequence",
            "linkwork.motion.trajectory.trajectory": "Trajectory TrajectoryState",
            "linkwork.motion.trajectory.trajectory_extremes": "Extremes",
        },
    )
