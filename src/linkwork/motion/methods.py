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

        ``path`` is a `linkwork.motion.CartesianPath` of poses in ``relative_to``. ``q_init`` (nq,) is the configuration
        at the beginning of the path. The motion begins exactly there if the frame's deviation is at most a tenth of the
        tolerances, as at the end of a plan; with up to 1e-3 m and rad it is moved onto the path. Without ``q_init`` the
        result is the motion that gets farthest, with the fewest reconfigurations and then the least joint motion. It is
        chosen among all branches of an arm of six axes with a closed form, and among ``num_starts`` starts for other
        robots. ``orientation`` selects what must match of the poses' orientation: all ("fixed"), nothing ("free"), or
        all except rotation about the frame's axis "x", "y" or "z".

        Each configuration is found from its neighbour. A step on which a joint moves by more than ``max_joint_step``
        [rad, m] is halved, down to ``min_path_step`` [m]. A larger move that remains is a jump: the path ends there, or
        with ``reconfigure`` the robot changes to another solution, which is counted. Between waypoints the curve
        deviates from the path by at most ``position_tolerance`` [m] and ``orientation_tolerance`` [rad]; this is
        measured, and waypoints are added until it holds. ``position_limits`` and ``locked`` are those of
        `inverse_kinematics`.

        With a ``scene`` collisions are checked, including self-collisions: pairs stay farther apart than ``margin``
        [m], by ``collision_check`` "certified" for the whole curve, or "sampled" at a ``resolution`` [rad, m].
        Without a ``scene`` these options are refused.  ``margin`` may be a dict as in `plan`.  Pairs in ``touching``
        may overlap as at the path's beginning, and 0.1 mm more: a held part is lifted off a table, or lowered onto it,
        with ``touching=[("part", "table")]``.

        Returns a `linkwork.motion.TrackedPath`: the followed fraction with the reason for its end, ``trajectory()`` and
        ``timed()``.

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
        - "hermite": cubics with given velocities (n, nv), by default those of parabolas through neighbours;
        - "quintic": quintics with given velocities and accelerations (n, nv), by default those of parabolas;
        - "bspline": of any ``degree``, 3 by default, with continuous derivatives except the last; with ``control`` the
          points are control points, in whose convex hull the curve stays without passing through them;
        - "linear": constant velocity from point to point, with jumps of v;
        - "slerp": the same for robots of independent rotations only;
        - "screw", "decoupled": the same, with floating joints moving along screws, or with slerp and a straight line;
        - "squad": spherical quadrangles, with continuous v.

        Every kind runs on the robot's configuration manifold: rotations take the shortest path, angles are interpolated
        as numbers, and v and a are those of the robot's functions.  ``floating`` sets for any kind how floating joints
        move: "screw" (default) or "decoupled".  With ``turns="short"`` unlimited angles also take the shortest path
        from point to point, so they may differ from the points by full revolutions.

        For a mechanism with closed loops the points must be assembled.  The spline is that of the ``independent``
        joints, by default those that determine the others best at all points.  The others follow, so the constraints
        hold at all times within 1e-9 [rad, characteristic lengths].

        In a compiled function q and velocities may be symbols, so the trajectory is differentiable by them.

        Raises ValueError for times that do not increase, fewer than two points, non-finite values, wrong shapes,
        options that do not fit the kind, rotations too far apart for the spline's equations to be solved, and points of
        a mechanism that are not assembled, are singular, or are on different assembly branches;
        and for velocity constraints, such as rolling.
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
        ``synchronize`` and ``duration`` are those of `linkwork.motion.profile`.  Limits are by default those of the
        robot.  Few robots have limits of ``acceleration`` and ``jerk``; pass them where the kind needs them.  A limit
        is a number, an array (nv,), a pair (lower, upper), or a dict of these by joint.  Joints that a dict leaves out
        keep the robot's limits; a dict contains every joint of a robot without limits of the quantity.

        Joints that rotate without limits take the shortest path, so the goal may differ by full revolutions.  A joint
        whose configuration is not plain coordinates (spherical, floating) moves along one constant direction of
        velocity, the difference of q0 and q1, each component of which satisfies its limits; velocities at its ends must
        have that direction. Limits of position are checked for q0 and q1 only.

        For a mechanism with closed loops q0 and q1 must be assembled.  The ``independent`` joints move along the
        profile, and the others follow as in `spline`.  If these would exceed limits, the whole motion is slowed.

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
