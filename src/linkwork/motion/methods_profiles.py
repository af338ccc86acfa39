"""Motion of a robot from one state to another, within limits."""

from __future__ import annotations

from typing import Any

from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.motion.profiles.profile import Kind, Synchronize
from linkwork.motion.profiles.profile_of_robot import robot_profile
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["ProfileMethods"]


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
