"""Joints that follow a path in space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from linkwork.geometry.scene import Scene
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.motion.cartesian.cartesian_path import CartesianPath
from linkwork.motion.cartesian.path_following import followed_path
from linkwork.motion.cartesian.result import FollowedPath

__all__ = ["CartesianMethods"]


class CartesianMethods(RobotBase):
    """Motion along ways in space (see the page on motion)."""

    __slots__ = ()

    def move_along(
        self,
        path: CartesianPath,
        frame: str,
        *,
        start: Array | None = None,
        relative_to: str = "world",
        orientation: Literal["fixed", "free", "x", "y", "z"] = "fixed",
        tolerance: ArrayLike = (1e-4, 1e-3),
        largest_step: ArrayLike = 0.2,
        finest: float = 1e-3,
        reconfigure: bool = False,
        starts: int = 8,
        limits: Any = None,
        locked: Sequence[str] = (),
        scene: Scene | None = None,
        edges: Literal["certified", "sampled"] = "certified",
        margin: float = 0.0,
        resolution: float = 0.05,
    ) -> FollowedPath:
        """Joints that take a frame along a path of poses in ``relative_to``, without jumps, within limits.

        ``path`` is a `linkwork.motion.CartesianPath`.  ``start`` (nq,) is where the robot is, with the frame where the
        path begins; without it the way is chosen that comes farthest, with the fewest reconfigurations and then the
        least joint motion, of all branches of an arm of six axes that has a closed form, and of so many ``starts`` for
        others.  ``orientation`` says what of the poses' counts: all of it ("fixed"), nothing ("free"), or all but
        turns about the frame's own axis "x", "y" or "z".

        Configurations go from neighbour to neighbour.  A step on which a joint moves by more than ``largest_step``
        [rad, m] is halved, down to the ``finest`` [m]; where it still does, that is a jump, and the path ends there,
        or, with ``reconfigure``, the robot goes over to another answer, and that is counted.  Between way points the
        curve is no farther from the path than ``tolerance`` (metres, radians), which is measured, and way points are
        added until it is so.  ``limits`` and ``locked`` are those of `inverse_kinematics`.

        With a ``scene`` all of it is looked at, self-collisions too: pairs stay farther apart than ``margin`` [m],
        certified of the whole curve, or sampled at a ``resolution`` [rad, m].

        The result is a `linkwork.motion.FollowedPath`: how much is followed and why no more, ``trajectory()``,
        ``timed()``.

        >>> import numpy as np
        >>> import linkwork as lw
        >>> arm = lw.load("arm6")
        >>> q = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])
        >>> X = arm.pose(q, "tool")
        >>> found = arm.move_along(lw.motion.line(X, lw.pose((0, 0, 0.1)) @ X), "tool", start=q)
        >>> found
        <FollowedPath of 'tool': followed, 100 %>

        Raises ValueError for a start that is not on the path or beyond limits, and for options that are none;
        UnknownNameError for frames that are not there.
        """
        return followed_path(
            self,
            path,
            frame,
            start=start,
            relative_to=relative_to,
            orientation=orientation,
            tolerance=tolerance,
            largest_step=largest_step,
            finest=finest,
            reconfigure=reconfigure,
            starts=starts,
            limits=limits,
            locked=locked,
            scene=scene,
            edges=edges,
            margin=margin,
            resolution=resolution,
        )
