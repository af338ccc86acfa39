"""Reference motion of a robot."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.splines.spline import spline_of
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["MotionMethods"]


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
