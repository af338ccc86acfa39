"""Tasks for points and directions: in a box, at a distance, aligned, looking at a point, within a cone.

Directions: d is fixed in B, and u is the required unit direction, both in B's axes.  θ is the angle between them and a
the axis of the shortest rotation, d × u = a sin θ.  Without a cone, errors are the components of θ a along two axes
perpendicular to d.  They are finite, and of norm π where u is opposite to d; every rotation is then a shortest one,
and the first of the two axes is used.  Rows are the rates at which u rotates about the two axes relative to B.  They
are the exact derivative where the error vanishes, and give the exact gradient of θ²/2 everywhere.  With a cone the
error is θ itself, and its rate is the angular velocity about a.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import check_relative_motion
from linkwork.constraints.constraint import References
from linkwork.constraints.jacobian_rows import across, relative_point
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, atan2, eq, le, lt, sqrt, where
from linkwork.ik.tasks.arguments import named, ranges_of
from linkwork.ik.tasks.frame_tasks import moves
from linkwork.ik.tasks.task import AimedTask, Scalars, TaskKinematics, TaskRows, TaskTarget, WeighedTask
from linkwork.spatial import Vec3

__all__ = ["AlignTask", "BoxTask", "DistanceTask", "LookAtTask"]


@dataclass(frozen=True)
class _DirectionTask(AimedTask):
    """Base class of tasks for a direction that is fixed in a frame B, relative to a frame A.

    ``cone`` is the largest permitted angle [rad] to the required direction, or None.
    """

    direction: str  # of the robot, or an axis of a frame, as "camera.z"
    _: KW_ONLY
    cone: Any = None  # the largest angle [rad]

    def _check(self, default: str) -> None:
        kind = type(self).__name__
        if not isinstance(self.direction, str):
            raise TypeError(f"{kind}: direction: expected a name such as 'hand.z', got {self.direction!r}")
        if self.cone is not None:
            try:
                cone = float(self.cone)
            except (TypeError, ValueError):
                cone = math.nan
            if not 0.0 < cone < math.pi:
                raise ValueError(f"{kind}: cone: expected an angle between 0 and π [rad], got {self.cone!r}")
            object.__setattr__(self, "cone", cone)
        self.settle(default)

    @property
    def _depends_on(self) -> References:
        return self.references

    @property
    def component_names(self) -> tuple[str, ...]:
        if self.cone is not None:
            return (f"{self.name}: angle",)
        return f"{self.name}: across 1", f"{self.name}: across 2"

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * len(self.component_names)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return ((0.0, 0.0),) * 2 if self.cone is None else ((-math.inf, self.cone),)

    @property
    def exact(self) -> bool:
        return self.cone is not None

    def _rotation_error(self, d: Vec3, u: Vec3, rates_in_B: Sequence[Vec3 | None]) -> TaskRows:
        """Return the rotation from the direction u to the task's direction d as errors [rad], and its Jacobian.

        Both are unit vectors in B's axes, in which d is fixed.  ``rates_in_B`` are the angular velocities of B
        relative to u for each coordinate of v, None where they are zero.  With a cone the error is the angle alone.
        """
        axis, cosine = d.cross(u), d.dot(u)
        square = axis.dot(axis)
        straight = lt(square, by_type(1e-24))
        sine = sqrt(where(straight, 1.0, square))
        opposite = and_(straight, le(cosine, 0.0))
        axes = across(d)
        if self.cone is None:
            near = and_(lt(square, 1e-8), lt(0.0, cosine))
            scale = where(near, 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0)), atan2(sine, cosine) / sine)
            errors = [where(opposite, h, e.dot(axis) * scale) for e, h in zip(axes, (math.pi, 0.0), strict=True)]
            return TaskRows(errors, [[0.0 if w is None else e.dot(w) for w in rates_in_B] for e in axes])
        angle = where(straight, where(opposite, math.pi, 0.0), atan2(sine, cosine))
        unit = axis * (1.0 / sine)
        a = Vec3(*(where(straight, x, y) for x, y in zip(axes[0], unit, strict=True)))
        return TaskRows([angle], [[0.0 if w is None else a.dot(w) for w in rates_in_B]])


@public_constructor
@dataclass(frozen=True)
class AlignTask(_DirectionTask):
    """Task: a direction of a frame is parallel to a direction (3,) or to the direction ``to``.

        lw.ik.AlignTask("hand.z", to="table.z", cone=0.1)

    The target direction is in ``relative_to`` and may have any length.  With a ``cone`` [rad] the angle between both
    directions is at most ``cone``.

    ``weight``, ``level``, ``tolerance`` and ``name`` are those of every `Task`.
    """

    _: KW_ONLY
    to: str | None = None  # a direction of the robot, or an axis of a frame
    relative_to: str = "world"

    def __post_init__(self) -> None:
        self._check(self.direction)

    @property
    def references(self) -> References:
        if self.to is None:
            return References(frames=(self.relative_to,), directions=(self.direction,))
        return References(directions=(self.direction, self.to))

    @property
    def target_of(self) -> TaskTarget | None:
        if self.to is not None:
            return None
        return TaskTarget((3,), "direction", f"direction of {self.direction!r} in {self.relative_to!r}")

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        B, d = state.axis_of(self.direction)
        A, u = (self.relative_to, _unit(Vec3(*target))) if self.to is None else state.axis_of(self.to)
        between = state.between(B, A)
        rates_in_B = [-C.angular if moves(C) else None for C in between.columns]
        return self._rotation_error(d, between.pose.rotation.inv_act(u), rates_in_B)

    def checked(self, robot: Any) -> Iterable[str]:
        second_feature = ("frame", self.relative_to) if self.to is None else ("direction", self.to)
        return check_relative_motion(robot, ("direction", self.direction), second_feature)


@public_constructor
@dataclass(frozen=True)
class LookAtTask(_DirectionTask):
    """Task: a direction through its frame's origin points at a position (3,) or at ``point``.

        lw.ik.LookAtTask("camera.z", point="hand", cone=0.4)

    The position is in ``relative_to``.  ``point`` is a frame (its origin) or a point of the robot.  With a ``cone``
    [rad], half of a field of view, the angle between the direction and the line to the position may be up to ``cone``.
    A position at the origin itself counts as straight behind.

    ``weight``, ``level``, ``tolerance``, ``target`` and ``name`` are those of every `Task`.
    """

    _: KW_ONLY
    point: str | None = None  # a frame, or a point
    relative_to: str = "world"

    def __post_init__(self) -> None:
        self._check(self.direction)

    @property
    def references(self) -> References:
        if self.point is None:
            return References(frames=(self.relative_to,), directions=(self.direction,))
        return References(points=(self.point,), directions=(self.direction,))

    @property
    def target_of(self) -> TaskTarget | None:
        if self.point is not None:
            return None
        return TaskTarget((3,), "place", f"position that {self.direction!r} points at, in {self.relative_to!r} [m]")

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        B, d = state.axis_of(self.direction)
        A, position = (self.relative_to, Vec3(*target)) if self.point is None else state.locate(self.point)
        between = state.between(B, A)
        r = between.pose.rotation.inv_act(position - between.pose.translation)  # in B, where ṙ = −(v + ω × r)
        square = r.dot(r)
        coincident = lt(square, _NEAR)
        inverse = 1.0 / where(coincident, 1.0, square)
        u = r * where(coincident, 0.0, sqrt(inverse))
        inverse_square = where(coincident, 0.0, inverse)
        rates_in_B = [
            -(C.angular - r * (r.dot(C.angular) * inverse)) - r.cross(C.linear) * inverse_square if moves(C) else None
            for C in between.columns
        ]
        return self._rotation_error(d, u, rates_in_B)

    def checked(self, robot: Any) -> Iterable[str]:
        second_feature = ("frame", self.relative_to) if self.point is None else ("point", self.point)
        return check_relative_motion(robot, ("direction", self.direction), second_feature)


_NEAR = by_type(1e-16)  # [m²] squared distance below which the direction is undefined


def _unit(d: Vec3) -> Vec3:
    """Return a direction normalised to length one; zero stays zero."""
    square = d.dot(d)
    is_zero = eq(square, 0.0)
    result: Vec3 = d * where(is_zero, 0.0, 1.0 / sqrt(where(is_zero, 1.0, square)))
    return result


_XYZ = ("x", "y", "z")


@public_constructor
@dataclass(frozen=True)
class BoxTask(WeighedTask):
    """Task: a point, or a frame's origin, is in a box: lower ≤ p ≤ upper in the axes of ``relative_to`` [m].

    Bounds are numbers, or one for each axis, and may be infinite.

    ``weight``, ``level``, ``tolerance`` and ``name`` are those of every `Task`.
    """

    point: str
    lower: Any = -math.inf
    upper: Any = math.inf
    _: KW_ONLY
    relative_to: str = "world"

    def __post_init__(self) -> None:
        named(self, "point", of="point")
        lower, upper = ranges_of("BoxTask", self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        self.settle(self.point)
        assert len(self.ranges) == len(_XYZ)

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,), points=(self.point,))

    @property
    def _depends_on(self) -> References:
        return self.references

    @property
    def between(self) -> tuple[str, str]:
        return self.point, self.relative_to

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: position {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * 3

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return tuple(zip(self._by_row(self.lower, "lower"), self._by_row(self.upper, "upper"), strict=True))

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        view = relative_point(state, self.point, self.relative_to)
        R, r = view.between.pose.rotation, view.position
        rates = [R @ (C.linear + C.angular.cross(r)) if moves(C) else C.linear for C in view.between.columns]
        return TaskRows([*view.point], [[getattr(rate, axis) for rate in rates] for axis in _XYZ])


@public_constructor
@dataclass(frozen=True)
class DistanceTask(AimedTask):
    """Task: the distance of two points, or frame origins, is the target l [m]; the error is |p| − l.

    Where the points coincide, the gradient is taken along the first axis, so that the search can leave the point.
    `Within` gives ranges, such as "at least": ``Within(DistanceTask("left_hand", "right_hand", target=0.0), 0.2)``.

    ``a`` and ``b`` are the points.  ``weight``, ``level``, ``tolerance`` and ``name`` are those of every `Task`.
    """

    a: str
    b: str

    def __post_init__(self) -> None:
        named(self, "a", "b", of="point")
        self.settle(f"distance({self.a}, {self.b})")

    @property
    def references(self) -> References:
        return References(points=(self.a, self.b))

    @property
    def _depends_on(self) -> References:
        return self.references

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((), "length", f"distance between {self.a!r} and {self.b!r} [m]")

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        (desired,), (A, a), (B, b) = target, state.locate(self.a), state.locate(self.b)
        between = state.between(B, A)
        p = b + between.pose.rotation.inv_act(between.pose.translation - a)  # from a to b, in B's axes
        square = p.dot(p)
        coincident = lt(square, _MET)
        distance = sqrt(where(coincident, 1.0, square))
        e = Vec3(*(where(coincident, x, y / distance) for x, y in zip((1.0, 0.0, 0.0), p, strict=True)))
        rates = [e.dot(C.linear + C.angular.cross(b)) if moves(C) else 0.0 for C in between.columns]
        return TaskRows([where(coincident, 0.0, distance) - desired], [rates])

    def checked(self, robot: Any) -> Iterable[str]:
        return check_relative_motion(robot, ("point", self.a), ("point", self.b))


_MET = by_type(1e-24)  # [m²] squared distance below which points coincide
