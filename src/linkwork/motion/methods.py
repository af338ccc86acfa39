"""Joints that follow a path in space.

Reference motion of a robot.

Motion of a robot from one state to another, within limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from linkwork.geometry.scene import Scene
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.motion.cartesian.cartesian_path import CartesianPath
from linkwork.motion.cartesian.path_following import followed_path
from linkwork.motion.cartesian.result import TrackedPath
from linkwork.motion.profiles.profile import Kind, Synchronize, robot_profile
from linkwork.motion.splines.spline import spline_of
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["CartesianMethods", "MotionMethods", "ProfileMethods"]


class CartesianMethods(RobotBase):
    """Motion along ways in space (see the page on motion)."""

    __slots__ = ()

    def track_cartesian_path(
        self,
        path: CartesianPath,
        frame: str,
        *,
        q_init: Array | None = None,
        relative_to: str = "world",
        orientation: Literal["fixed", "free", "x", "y", "z"] = "fixed",
        tolerance: ArrayLike = (1e-4, 1e-3),
        max_joint_step: ArrayLike = 0.2,
        min_path_step: float = 1e-3,
        reconfigure: bool = False,
        num_starts: int = 8,
        position_limits: Any = None,
        locked: Sequence[str] = (),
        scene: Scene | None = None,
        collision_check: Literal["certified", "sampled"] = "certified",
        margin: float = 0.0,
        resolution: float = 0.05,
    ) -> TrackedPath:
        """Joints that take a frame along a path of poses in ``relative_to``, without jumps, within limits.

        ``path`` is a `linkwork.motion.CartesianPath`.  ``q_init`` (nq,) is where the robot is, with the frame where the
        path begins; without it the way is chosen that comes farthest, with the fewest reconfigurations and then the
        least joint motion, of all branches of an arm of six axes that has a closed form, and of so many ``num_starts``
        for others.  ``orientation`` says what of the poses' counts: all of it ("fixed"), nothing ("free"), or all but
        turns about the frame's own axis "x", "y" or "z".

        Configurations go from neighbour to neighbour.  A step on which a joint moves by more than ``max_joint_step``
        [rad, m] is halved, down to the ``min_path_step`` [m]; where it still does, that is a jump, and the path ends
        there, or, with ``reconfigure``, the robot goes over to another answer, and that is counted.  Between way
        points the curve is no farther from the path than ``tolerance`` (metres, radians), which is measured, and way
        points are added until it is so.  ``position_limits`` and ``locked`` are those of `inverse_kinematics`.

        With a ``scene`` all of it is looked at, self-collisions too: pairs stay farther apart than ``margin`` [m],
        certified of the whole curve, or sampled at a ``resolution`` [rad, m].

        The result is a `linkwork.motion.TrackedPath`: how much is followed and why no more, ``trajectory()``,
        ``timed()``.

        >>> import numpy as np
        >>> import linkwork as lw
        >>> arm = lw.load("arm6")
        >>> q = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])
        >>> X = arm.pose(q, "tool")
        >>> found = arm.track_cartesian_path(lw.motion.line(X, lw.pose((0, 0, 0.1)) @ X), "tool", q_init=q)
        >>> found
        <TrackedPath of 'tool': followed, 100 %>

        Raises ValueError for a start that is not on the path or beyond limits, and for options that are none;
        UnknownNameError for frames that are not there.
        """
        return followed_path(
            self,
            path,
            frame,
            q_init=q_init,
            relative_to=relative_to,
            orientation=orientation,
            tolerance=tolerance,
            max_joint_step=max_joint_step,
            min_path_step=min_path_step,
            reconfigure=reconfigure,
            num_starts=num_starts,
            position_limits=position_limits,
            locked=locked,
            scene=scene,
            collision_check=collision_check,
            margin=margin,
            resolution=resolution,
        )


class MotionMethods(RobotBase):
    """Trajectories (see the page on motion)."""

    __slots__ = ()

    def spline(
        self,
        times: ArrayLike,
        q: Any,
        kind: str = "cubic",
        *,
        boundary: str | None = None,
        velocity: Any = None,
        acceleration: Any = None,
        degree: int | None = None,
        control: bool = False,
        floating: str | None = None,
        turns: str = "counted",
    ) -> Trajectory:
        """A trajectory through configurations q (n, nq) at times (n,) that increase [s].

        ``kind`` is

        - "cubic": accelerations have no jump.  ``boundary`` is "natural" (none at the ends; the default), "clamped"
          (at rest there, or with ``velocity`` (2, nv)), "launched" (with ``velocity`` (nv,) at the begin, "natural" at
          the end) or "periodic" (the last point is the first);
        - "hermite": cubics with given velocities (n, nv), or those of parabolas through neighbours;
        - "quintic": of degree five with given velocities and accelerations (n, nv), or those of parabolas;
        - "bspline": of any ``degree``, 3 by default, with all derivatives continuous but the last; with ``control`` the
          points are control points, which it passes by, in whose hull it stays;
        - "linear": at constant velocity from point to point, with jumps of v;
        - "slerp": the same for robots whose rotations stand alone;
        - "screw", "decoupled": the same, floating joints moving along screws, or turning by slerp and going straight;
        - "squad": spherical quadrangles, v without jumps.

        Every kind runs on the manifold of the robot's configurations: rotations go the short way round, angles as they
        are counted, and v and a are those that the robot's functions take.  ``floating`` says for any kind how floating
        joints move: "screw", the default, or "decoupled".  With ``turns="short"`` angles without limits go the short
        way from point to point too, so the trajectory's differ from the points' by whole turns.  Constraints of a robot
        are not looked at.

        In a function that is compiled, q and velocities may be symbols, so the trajectory is differentiated by them.

        Raises ValueError for times that do not increase, fewer than two points, numbers that are not finite, wrong
        shapes, options that do not go with the kind, and rotations too far apart for a spline's equations to be solved.
        """
        given = {"boundary": boundary, "velocity": velocity, "acceleration": acceleration, "degree": degree}
        return spline_of(self, times, q, kind, floating, given, control, turns)


class ProfileMethods(RobotBase):
    """Reference motion from state to state (see the page on reference motion)."""

    __slots__ = ()

    def profile(
        self,
        q0: Array,
        q1: Array,
        *,
        v0: Array | None = None,
        v1: Array | None = None,
        a0: Array | None = None,
        a1: Array | None = None,
        kind: Kind = "jerk",
        synchronize: Synchronize = "time",
        velocity: Any = None,
        acceleration: Any = None,
        jerk: Any = None,
        duration: float | None = None,
    ) -> Trajectory:
        """The trajectory from one configuration to another, with velocities and accelerations at both ends.

        q0, q1 (nq,) are within the joints' limits; v0, v1 and a0, a1 (nv,) are 0 if they are left out.  ``kind``,
        ``synchronize`` and ``duration`` are those of `linkwork.motion.profile`.  ``velocity`` limits are those of the
        robot's file unless they are given; files say nothing of ``acceleration`` and ``jerk``, which have to be given
        where the kind needs them: a number, an array (nv,), a pair (lower, upper), or a dict of these by joint.

        Joints that turn without end go the short way, so a goal may be reached whole turns off.  A joint whose
        configuration is no plain numbers (a ball, a free flyer) moves along one velocity, the difference of q0 and q1,
        each component of which keeps its limits; velocities at its ends have to be along it.  Limits of positions are
        looked at for q0 and q1 alone.

        >>> import numpy as np
        >>> import linkwork as lw
        >>> arm = lw.load("arm6")
        >>> way = arm.profile(np.zeros(6), np.full(6, 0.5), acceleration=5.0, jerk=50.0)
        >>> bool(np.allclose(way(way.duration).q, 0.5))
        True

        Raises ValueError, with the reason, where there is no such motion; UnknownNameError for another kind.
        """
        given = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        options = (kind, synchronize, duration)
        return robot_profile(self, (q0, q1, v0, v1, a0, a1), options, given)
