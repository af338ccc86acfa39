"""Methods of `Robot` for points, directions and additional frames fixed to bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.messages import number_list
from linkwork._util.named_tuples import Named
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, RobotBase, edits
from linkwork.model.body import Direction, Point
from linkwork.model.tree_attachments import with_direction, with_frame, with_point
from linkwork.spatial import Pose
from linkwork.spatial.arguments import fixed_array

__all__ = ["PlacedDirection", "PlacedPoint", "PointMethods"]


Names = str | Sequence[str]


class PointMethods(RobotBase):
    """Methods for points and directions fixed to bodies, and for additional frames."""

    __slots__ = ()

    # -- access

    @property
    def points(self) -> Named[PlacedPoint]:
        """Named points, in the order in which they were added: see `with_point`."""
        return Named(map(PlacedPoint, self._tree.points), "point")

    @property
    def directions(self) -> Named[PlacedDirection]:
        """Named directions, in the order in which they were added: see `with_direction`."""
        return Named(map(PlacedDirection, self._tree.directions), "direction")

    @edits
    def with_point(self, name: str, frame: str, position: ArrayLike = (0.0, 0.0, 0.0)) -> Self:
        """Return the robot with a named point fixed to a frame: a fingertip, a marker, a contact.

        ``position`` (3,) is relative to the frame's origin, in its axes [m].  The name must differ from the names of
        all frames, points and directions.  The point keeps its position on its body in robots derived from this one.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7").with_point("tip", "hand", (0, 0, 0.1))
        >>> robot.points["tip"]
        <PlacedPoint 'tip': at (0, 0, 0.1) in 'hand'>
        >>> robot.point_position(robot.neutral(), "tip").shape
        (3,)

        Raises UnknownNameError for an unknown frame, ValueError for a position that is not three finite numbers and for
        a name in use.
        """
        return type(self)(with_point(self._tree, name, frame, position))

    @edits
    def with_direction(self, name: str, frame: str, vector: ArrayLike | str) -> Self:
        """Return the robot with a named direction fixed to a frame: an approach, an optical axis, a normal.

        ``vector`` (3,) is in the frame's axes, of any nonzero length, or "x", "y" or "z"; it is stored with unit
        length. The name must differ from the names of all frames, points and directions.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7").with_direction("approach", "hand", (0, 0, 2))
        >>> robot.directions["approach"].vector.tolist()
        [0.0, 0.0, 1.0]

        Raises UnknownNameError for an unknown frame, ValueError for a vector that is not three finite numbers or is
        zero, and for a name in use.
        """
        return type(self)(with_direction(self._tree, name, frame, vector))

    @edits
    def with_frame(self, name: str, frame: str, pose: ArrayLike | Pose | None = None) -> Self:
        """Return the robot with an additional frame, which every function that takes the name of a frame accepts.

        The new frame is fixed to ``frame``, which may be ``"world"``, at ``pose``: a pose (4, 4) or the position (3,)
        of its origin [m], by default the identity.  It has no mass and is not a link: `frames` lists it, `links` does
        not.  The name must differ from the names of all frames, points and directions.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7").with_frame("camera", "hand", lw.pose((0, 0, 0.05), rpy=(0, 0.3, 0)))
        >>> robot.frames[-1], robot.link("camera")
        ('camera', <PlacedLink 'camera': a frame on 'hand', 0 kg>)
        >>> robot.jacobian(robot.neutral(), "camera").shape
        (6, 7)

        Raises UnknownNameError for an unknown frame, ValueError for an invalid pose and for a name in use.
        """
        return type(self)(with_frame(self._tree, name, frame, pose))

    # -- points

    @computed
    def point_position(
        self,
        q: Array,
        points: Names,
        *,
        positions: ArrayLike | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute r, the vectors from the origin of A (``relative_to``) to points, in the axes of ``expressed_in``.

        ``points`` is the name of a point (`with_point`) or of a frame (its origin), or a list of np names.  With
        ``positions`` (..., np, 3) [m], the names are frames, and the points are at these positions in their axes:
        ``["hand"] * 20 + ["wrist"] * 10`` for thirty markers on two links.  Each point of a body costs a rotation and
        an addition.  q (..., nq) -> (..., np, 3) [m]; for a single name instead of a list, all shapes are without np.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7")
        >>> robot.point_position(robot.neutral(), ["hand", "wrist"], positions=[(0, 0, 0.1), (0, 0, 0)]).shape
        (2, 3)

        Raises UnknownNameError for an unknown point or frame.
        """

    @computed
    def point_velocity(
        self,
        q: Array,
        v: Array,
        points: Names,
        *,
        positions: ArrayLike | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute ṙ, the velocities of points relative to A (``relative_to``), in the axes of ``expressed_in``.

        They are measured by an observer fixed in A.  Points are specified as in `point_position`.  For a point at r
        from its body's origin it is v + ω × r, relative to A.  q (..., nq), v (..., nv) -> (..., np, 3) [m/s], without
        np for one.
        """

    @computed
    def point_acceleration(
        self,
        q: Array,
        v: Array,
        a: Array,
        points: Names,
        *,
        positions: ArrayLike | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute r̈, the classical accelerations of points relative to A, in the axes of ``expressed_in``.

        They are measured by an observer fixed in A (``relative_to``), without gravity. Points are specified as in
        `point_position`. For a point at r from its body's origin it is v̇ + ω̇ × r + ω × (ω × r), relative to A. q
        (..., nq), v, a (..., nv) -> (..., np, 3) [m/s²], without np for one.
        """

    @computed
    def point_jacobian(
        self,
        q: Array,
        points: Names,
        *,
        positions: ArrayLike | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the Jacobian J of points: J v is a point's velocity relative to A, in the axes of ``expressed_in``.

        The velocity is measured by an observer fixed in A (``relative_to``). Points are specified as in
        `point_position`. Columns of joints that are not between A and the point are zero. q (..., nq) -> (..., np, 3,
        nv) [1, m], without np for a single name.
        """

    # -- directions

    @computed
    def direction_vector(
        self,
        q: Array,
        directions: Names,
        *,
        vectors: ArrayLike | None = None,
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute u, directions fixed to bodies, in the axes of ``expressed_in``.

        ``directions`` is the name of a direction (`with_direction`), an axis of a frame such as ``"hand.z"``, or a
        list of np names. With ``vectors`` (..., np, 3), the names are frames, and the directions are these vectors in
        their axes; their lengths are unchanged. q (..., nq) -> (..., np, 3) [1]; for a single name instead of a list,
        all shapes are without np.

        >>> import linkwork as lw
        >>> robot = lw.load("arm7")
        >>> q = robot.neutral()
        >>> bool((robot.direction_vector(q, "hand.z") == robot.pose(q, "hand")[:3, 2]).all())
        True

        Raises UnknownNameError for an unknown direction or frame.
        """

    @computed
    def direction_velocity(
        self,
        q: Array,
        v: Array,
        directions: Names,
        *,
        vectors: ArrayLike | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute u̇ = ω × u, the rates of directions relative to A, in the axes of ``expressed_in``.

        They are measured by an observer fixed in A (``relative_to``); ω is relative to A. Directions are specified as
        in `direction_vector`. q (..., nq), v (..., nv) -> (..., np, 3) [1/s], without np for one.
        """

    @computed
    def direction_acceleration(
        self,
        q: Array,
        v: Array,
        a: Array,
        directions: Names,
        *,
        vectors: ArrayLike | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute ü = ω̇ × u + ω × (ω × u), the second rates of directions relative to A (``relative_to``).

        They are measured by an observer fixed in A, in the axes of ``expressed_in``; ω and ω̇ are relative to A.
        Directions are specified as in `direction_vector`. q (..., nq), v, a (..., nv) -> (..., np, 3) [1/s²], without
        np for one.
        """

    @computed
    def direction_jacobian(
        self,
        q: Array,
        directions: Names,
        *,
        vectors: ArrayLike | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the Jacobian J of directions: J v is a direction's rate relative to A, in axes of ``expressed_in``.

        The rate is measured by an observer fixed in A (``relative_to``). Directions are specified as in
        `direction_vector`. Columns of joints that are not between A and the direction are zero. q (..., nq) -> (...,
        np, 3, nv) [1], without np for a single name.
        """


@dataclass(frozen=True, slots=True, repr=False)
class PlacedPoint:
    """Named point of a robot, fixed to a frame: an immutable value, equal and hashable by content."""

    point: Point

    @property
    def name(self) -> str:
        """Name of the point."""
        return self.point.name

    @property
    def frame(self) -> str:
        """Name of the frame that the point is fixed to."""
        return self.point.frame

    @property
    def position(self) -> np.ndarray:
        """Position relative to the frame's origin, in its axes (3,) [m]."""
        return fixed_array([*self.point.position])

    def __repr__(self) -> str:
        return f"<PlacedPoint {self.name!r}: at {number_list(self.position)} in {self.frame!r}>"


@dataclass(frozen=True, slots=True, repr=False)
class PlacedDirection:
    """Named direction of a robot, fixed to a frame: an immutable value, equal and hashable by content."""

    direction: Direction

    @property
    def name(self) -> str:
        """Name of the direction."""
        return self.direction.name

    @property
    def frame(self) -> str:
        """Name of the frame that the direction is fixed to."""
        return self.direction.frame

    @property
    def vector(self) -> np.ndarray:
        """Unit vector in the frame's axes (3,) [1]."""
        return fixed_array([*self.direction.vector])

    def __repr__(self) -> str:
        return f"<PlacedDirection {self.name!r}: along {number_list(self.vector)} in {self.frame!r}>"
