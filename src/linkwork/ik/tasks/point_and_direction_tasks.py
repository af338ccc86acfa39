"""Tasks for points and directions of frames: in a box, at a distance, aligned, looking at a point, within a cone.

Directions: with d fixed in B and the unit vector u that it is to have, seen from B, θ is the angle between them and a
the axis of the shortest turn, d × u = a sin θ.  Without a cone errors are θ a along two axes across d: finite and of
length π where u is straight behind, where any turn is a shortest one and the first of the axes is taken.  Rows are
the rates at which u turns about them, seen from B: that is the exact derivative where the error vanishes, and has the
exact gradient of θ²/2 everywhere.  Within a cone the error is θ itself, whose rate is that about a.
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
from linkwork.expr.scalar.functions import and_, atan2, eq, le, lt, sqrt, where
from linkwork.ik.tasks.frame_tasks import moves
from linkwork.ik.tasks.task import (
    AimedTask,
    Scalars,
    TaskKinematics,
    TaskRows,
    TaskTarget,
    WeighedTask,
    named,
    ranges_of,
)
from linkwork.spatial import Vec3

__all__ = ["AlignTask", "BoxTask", "DistanceTask", "LookAtTask"]


@dataclass(frozen=True)
class _DirectionTask(AimedTask):
    """What is said of a direction of a frame B relative to a frame A."""

    direction: str  # of the robot, or an axis of a frame, as "camera.z"
    _: KW_ONLY
    cone: Any = None  # the largest angle [rad]

    def _check(self, default: str) -> None:
        kind = type(self).__name__
        if not isinstance(self.direction, str):
            raise TypeError(f"{kind}: direction: expected a name, as 'hand.z', got {self.direction!r}")
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

    def _turned(self, d: Vec3, u: Vec3, turning: Sequence[Vec3 | None]) -> TaskRows:
        """What turns u to d, and its rates by how u turns seen from B: nothing where it does not."""
        turn, cosine = d.cross(u), d.dot(u)
        square = turn.dot(turn)
        straight = lt(square, 1e-24)
        sine = sqrt(where(straight, 1.0, square))
        behind = and_(straight, le(cosine, 0.0))
        axes = across(d)
        if self.cone is None:
            near = and_(lt(square, 1e-8), lt(0.0, cosine))
            scale = where(near, 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0)), atan2(sine, cosine) / sine)
            errors = [where(behind, h, e.dot(turn) * scale) for e, h in zip(axes, (math.pi, 0.0), strict=True)]
            return TaskRows(errors, [[0.0 if w is None else e.dot(w) for w in turning] for e in axes])
        angle = where(straight, where(behind, math.pi, 0.0), atan2(sine, cosine))
        unit = turn * (1.0 / sine)
        a = Vec3(*(where(straight, x, y) for x, y in zip(axes[0], unit, strict=True)))
        return TaskRows([angle], [[0.0 if w is None else a.dot(w) for w in turning]])


@public_constructor
@dataclass(frozen=True)
class AlignTask(_DirectionTask):
    """A direction of a frame is along a direction (3,), of any length, of ``relative_to``, or along ``to`` another.

        lw.ik.AlignTask("hand.z", to="table.z", cone=0.1)

    With a ``cone`` it may be off by that angle.
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
        return TaskTarget((3,), "direction", f"along which {self.direction!r} is to be in {self.relative_to!r}")

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        B, d = state.axis_of(self.direction)
        A, u = (self.relative_to, _unit(Vec3(*target))) if self.to is None else state.axis_of(self.to)
        between = state.between(B, A)
        turning = [-C.angular if moves(C) else None for C in between.columns]
        return self._turned(d, between.pose.rotation.inv_act(u), turning)

    def checked(self, robot: Any) -> Iterable[str]:
        other = ("frame", self.relative_to) if self.to is None else ("direction", self.to)
        return check_relative_motion(robot, ("direction", self.direction), other)


@public_constructor
@dataclass(frozen=True)
class LookAtTask(_DirectionTask):
    """A direction of a frame, through its origin, points at a place (3,) of ``relative_to``, or at ``point``.

        lw.ik.LookAtTask("camera.z", point="hand", cone=0.4)

    ``point`` is a frame, for its origin, or a point of the robot.  With a ``cone``, half of a field of view, the place
    may be off by that angle.  A place at the origin itself counts as one straight behind.
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
        return TaskTarget((3,), "place", f"what {self.direction!r} is to point at, in {self.relative_to!r}")

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        B, d = state.axis_of(self.direction)
        A, place = (self.relative_to, Vec3(*target)) if self.point is None else state.place_of(self.point)
        between = state.between(B, A)
        r = between.pose.rotation.inv_act(place - between.pose.translation)  # in B, where ṙ = −(v + ω × r)
        square = r.dot(r)
        nowhere = lt(square, _NEAR)
        inverse = 1.0 / where(nowhere, 1.0, square)
        u = r * where(nowhere, 0.0, sqrt(inverse))
        pull = where(nowhere, 0.0, inverse)
        turning = [
            -(C.angular - r * (r.dot(C.angular) * inverse)) - r.cross(C.linear) * pull if moves(C) else None
            for C in between.columns
        ]
        return self._turned(d, u, turning)

    def checked(self, robot: Any) -> Iterable[str]:
        other = ("frame", self.relative_to) if self.point is None else ("point", self.point)
        return check_relative_motion(robot, ("direction", self.direction), other)


_NEAR = 1e-16  # the square of a distance at which there is no direction [m²]


def _unit(d: Vec3) -> Vec3:
    """A direction of length one; none where it has no length."""
    square = d.dot(d)
    none = eq(square, 0.0)
    result: Vec3 = d * where(none, 0.0, 1.0 / sqrt(where(none, 1.0, square)))
    return result


_XYZ = ("x", "y", "z")


@public_constructor
@dataclass(frozen=True)
class BoxTask(WeighedTask):
    """A point, or a frame's origin, is within a box: lower ≤ p ≤ upper in the axes of ``relative_to`` [m].

    Bounds are numbers, or one an axis, infinite where there is none.
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
        seen = relative_point(state, self.point, self.relative_to)
        R, r = seen.between.pose.rotation, seen.position
        rates = [R @ (C.linear + C.angular.cross(r)) if moves(C) else C.linear for C in seen.between.columns]
        return TaskRows([*seen.point], [[getattr(rate, axis) for rate in rates] for axis in _XYZ])


@public_constructor
@dataclass(frozen=True)
class DistanceTask(AimedTask):
    """Two points, or origins of frames, are at a distance that comes with the call [m]: |p| − l.

    Where the points meet its row is the rate along the first axis, so that there is a way out.  `Within` makes ranges
    of it, as "at least": ``Within(DistanceTask("left_hand", "right_hand", target=0.0), 0.2)``.
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
    def target_of(self) -> TaskTarget:
        return TaskTarget((), "length", f"how far {self.a!r} is to be from {self.b!r} [m]")

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        (wanted,), (A, a), (B, b) = target, state.place_of(self.a), state.place_of(self.b)
        between = state.between(B, A)
        p = b + between.pose.rotation.inv_act(between.pose.translation - a)  # from a to b, in B's axes
        square = p.dot(p)
        met = lt(square, _MET)
        distance = sqrt(where(met, 1.0, square))
        e = Vec3(*(where(met, x, y / distance) for x, y in zip((1.0, 0.0, 0.0), p, strict=True)))
        rates = [e.dot(C.linear + C.angular.cross(b)) if moves(C) else 0.0 for C in between.columns]
        return TaskRows([where(met, 0.0, distance) - wanted], [rates])

    def checked(self, robot: Any) -> Iterable[str]:
        return check_relative_motion(robot, ("point", self.a), ("point", self.b))


_MET = 1e-24  # the square of a distance that is none [m²]
