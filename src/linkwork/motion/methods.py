"""Motion methods of `Robot`: tracking of Cartesian paths, splines, and profiles between states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from linkwork import geometry, motion
from linkwork._util.lazy_imports import LazyModule
from linkwork.kernels.robot_base import Array, RobotBase

if TYPE_CHECKING:
    from linkwork.motion.profiles import profile as profiles
else:
    profiles = LazyModule("linkwork.motion.profiles.profile")

__all__ = ["CartesianMethods", "MotionMethods", "ProfileMethods"]


class CartesianMethods(RobotBase):
    """Methods for motion along Cartesian paths (see the page on motion)."""

    __slots__ = ()

    def track_cartesian_path(
        self,
        path: motion.CartesianPath,
        frame: str,
        *,
        q_init: Array | str | None = None,
        relative_to: str = "world",
        orientation: Literal["fixed", "free", "x", "y", "z"] = "fixed",
        position_tolerance: float = 1e-4,
        orientation_tolerance: float = 1e-3,
        max_joint_step: ArrayLike = 0.2,
        min_path_step: float = 1e-3,
        reconfigure: bool = False,
        num_starts: int = 8,
        position_limits: Any = None,
        locked: Sequence[str] = (),
        scene: geometry.Scene | None = None,
        collision_check: Literal["certified", "sampled"] = "certified",
        margin: float | Mapping[Any, float] = 0.0,
        touching: Sequence[tuple[str, str]] = (),
        resolution: float = 0.05,
    ) -> motion.TrackedPath:
        """Compute joint motion that moves a frame along a Cartesian path, without jumps, within limits.

        ``path`` is a `linkwork.motion.CartesianPath` of poses in ``relative_to``. ``q_init`` (nq,) is the
        configuration at the beginning of the path. If the frame's deviation there is at most a tenth of the
        tolerances, as at the end of a plan, the motion begins exactly at ``q_init``. If the deviation is at most 1e-3
        m and rad, the configuration is first moved onto the path. Without ``q_init`` the result is the motion that
        gets farthest, with the fewest reconfigurations and then the least joint motion. For an arm of six axes with
        inverse kinematics in closed form, it is chosen among all branches of solutions, and for other robots among
        ``num_starts`` starts. ``orientation`` selects the part of the poses' orientation that the frame must match:
        all ("fixed"), none ("free"), or all except rotation about the frame's axis "x", "y" or "z".

        Each configuration is solved from the previous one. A step on which a joint moves by more than
        ``max_joint_step`` [rad, m] is halved, down to ``min_path_step`` [m]. A larger move on the shortest step is a
        jump: the motion ends there, or with ``reconfigure`` the robot changes to another solution, which is counted.
        Between waypoints the curve deviates from the path by at most ``position_tolerance`` [m] and
        ``orientation_tolerance`` [rad]. Deviations are measured, and waypoints are added until they are small enough.
        ``position_limits`` and ``locked`` have the meaning of the options of `inverse_kinematics`.

        With a ``scene`` collisions are checked, including self-collisions: pairs stay farther apart than ``margin``
        [m].  With ``collision_check`` "certified" the whole curve is checked, and with "sampled" samples at a
        ``resolution`` [rad, m]. Without a ``scene`` these options raise ValueError.  ``margin`` may be a dict as in
        `plan`.  Pairs in ``touching`` may overlap as at the path's beginning, and 0.1 mm more: a held part is lifted
        off a table, or lowered onto it, with ``touching=[("part", "table")]``.

        Returns a `linkwork.motion.TrackedPath` with the fraction of the path that is followed, the reason for an early
        end, ``trajectory()`` and ``timed()``.

        >>> import numpy as np
        >>> import linkwork as lw
        >>> arm = lw.load("arm6")
        >>> q = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])
        >>> X = arm.pose(q, "tool")
        >>> arm.track_cartesian_path(lw.motion.line(X, lw.pose((0, 0, 0.1)) @ X), "tool", q_init=q)
        <TrackedPath of 'tool': solved, 100 %>

        Raises ValueError for a start that is not on the path or beyond limits, and for invalid options;
        UnknownNameError for unknown frames.
        """
        from linkwork.motion.cartesian.path_following import followed_path

        return followed_path(
            self,
            path,
            frame,
            q_init=q_init,
            relative_to=relative_to,
            orientation=orientation,
            tolerance=(position_tolerance, orientation_tolerance),
            max_joint_step=max_joint_step,
            min_path_step=min_path_step,
            reconfigure=reconfigure,
            num_starts=num_starts,
            position_limits=position_limits,
            locked=locked,
            scene=scene,
            collision_check=collision_check,
            margin=margin,
            touching=touching,
            resolution=resolution,
        )


class MotionMethods(RobotBase):
    """Methods for spline trajectories (see the page on motion)."""

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
        independent: str | Sequence[str] | None = None,
    ) -> motion.Trajectory:
        """Return a trajectory through configurations q (n, nq) at increasing times (n,) [s].

        q may be a dict by joint of arrays, (n,) for joints with one coordinate; joints that it leaves out are at zero.
        ``kind`` is

        - "cubic": continuous accelerations.  ``boundary`` is "natural" (zero acceleration at the ends; the default),
          "clamped" (at rest at the ends, or with ``velocity`` (2, nv)), "launched" (with ``velocity`` (nv,) at the
          beginning, "natural" at the end) or "periodic" (the last point equals the first);
        - "hermite": cubics with given velocities (n, nv), by default from parabolas through neighbouring points;
        - "quintic": quintics with given velocities and accelerations (n, nv), by default from parabolas;
        - "bspline": of any ``degree``, 3 by default, with continuous derivatives except the last; with ``control`` the
          points are control points: the curve stays in their convex hull and does not pass through inner points;
        - "linear": constant velocity from point to point, with jumps of v;
        - "slerp": as "linear", for robots whose joints are all independent rotations;
        - "screw", "decoupled": as "linear", with floating joints that move along screws, or with slerp and a straight
          line;
        - "squad": spherical quadrangles, with continuous v.

        Every kind runs on the robot's configuration manifold: rotations take the shortest path, angles are
        interpolated as numbers, and v and a have the robot's definitions of velocity and acceleration.  ``floating``
        selects the motion of floating joints for any kind: "screw" (default) or "decoupled".  With ``turns="short"``
        unlimited angles also take the shortest path from point to point, so they may differ from the points by full
        revolutions.

        For a mechanism with closed loops the points must be assembled.  The ``independent`` joints move along the
        spline; by default they are the joints that determine the others best at all points.  The other joints follow
        from the constraints, which hold at all times within 1e-9 [rad, characteristic lengths].

        In a compiled function, q and velocities may be symbols; the trajectory is differentiable with respect to them.

        Raises ValueError for times that do not increase, fewer than two points, non-finite values, wrong shapes,
        options that do not fit the kind, and velocity constraints such as rolling.  Raises ValueError for rotations
        that are too far apart for the spline's equations to converge, and for points of a mechanism that are not
        assembled, are singular, or are on different assembly branches.
        """
        from linkwork.motion.closed_motion import robot_spline

        options = {"boundary": boundary, "velocity": velocity, "acceleration": acceleration, "degree": degree}
        return robot_spline(self, times, q, kind, floating, options, control, turns, independent)


class ProfileMethods(RobotBase):
    """Methods for motion from state to state within limits (see the page on reference motion)."""

    __slots__ = ()

    def profile(
        self,
        q0: Array | str,
        q1: Array | str,
        *,
        v0: Array | None = None,
        v1: Array | None = None,
        a0: Array | None = None,
        a1: Array | None = None,
        kind: profiles.Kind = "jerk",
        synchronize: profiles.Synchronize = "time",
        velocity: Any = None,
        acceleration: Any = None,
        jerk: Any = None,
        duration: float | None = None,
        independent: str | Sequence[str] | None = None,
    ) -> motion.Trajectory:
        """Return a trajectory between two configurations, with velocities and accelerations at both ends.

        q0, q1 (nq,) must be within the joints' limits; v0, v1 and a0, a1 (nv,) are 0 by default.  ``kind``,
        ``synchronize`` and ``duration`` are as in `linkwork.motion.profile`.  Limits default to those of the robot.
        Few robots have limits of ``acceleration`` and ``jerk``; pass these limits where the kind needs them.  A limit
        is a number, an array (nv,), a pair (lower, upper), or a dict with such a value for each joint name.  Joints
        that a dict leaves out keep the robot's limits; if the robot has no limits of the quantity, the dict must
        contain every joint.

        Joints that rotate without limits take the shortest path, so the goal may differ by full revolutions.  A joint
        whose configurations are not a vector space (spherical, floating) moves along one constant direction of
        velocity, the difference of q0 and q1.  Each component of its velocity satisfies its limits; velocities at both
        ends must have that direction. Limits of position are checked for q0 and q1 only.

        For a mechanism with closed loops, q0 and q1 must be assembled.  The ``independent`` joints move along the
        profile, and the other joints follow as in `spline`.  If the other joints would exceed limits, the whole motion
        is slowed.

        >>> import numpy as np
        >>> import linkwork as lw
        >>> arm = lw.load("arm6")
        >>> motion = arm.profile(np.zeros(6), np.full(6, 0.5), acceleration=5.0, jerk=50.0)
        >>> bool(np.allclose(motion(motion.duration).q, 0.5))
        True

        Raises ValueError, with the reason, where no such motion exists; UnknownNameError for an unknown kind.
        """
        limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        options = (kind, synchronize, duration)
        return profiles.robot_profile(self, (q0, q1, v0, v1, a0, a1), options, limits, independent)
