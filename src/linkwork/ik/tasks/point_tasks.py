"""Where points of a robot are: within a box, and how far from each other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import fixed_together
from linkwork.constraints.constraint import References
from linkwork.constraints.jacobian_rows import seen_point
from linkwork.expr.scalar.functions import lt, sqrt, where
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

__all__ = ["BoxTask", "DistanceTask"]

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

    def rows(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        seen = seen_point(k, self.point, self.relative_to)
        R, r = seen.between.pose.rotation, seen.position
        rates = [R @ (C.linear + C.angular.cross(r)) if moves(C) else C.linear for C in seen.between.columns]
        return TaskRows([*seen.place], [[getattr(rate, axis) for rate in rates] for axis in _XYZ])


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

    def rows(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        (wanted,), (A, a), (B, b) = target, k.place_of(self.a), k.place_of(self.b)
        between = k.between(B, A)
        p = b + between.pose.rotation.inv_act(between.pose.translation - a)  # from a to b, in B's axes
        square = p.dot(p)
        met = lt(square, _MET)
        distance = sqrt(where(met, 1.0, square))
        e = Vec3(*(where(met, x, y / distance) for x, y in zip((1.0, 0.0, 0.0), p, strict=True)))
        rates = [e.dot(C.linear + C.angular.cross(b)) if moves(C) else 0.0 for C in between.columns]
        return TaskRows([where(met, 0.0, distance) - wanted], [rates])

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("point", self.a), ("point", self.b))


_MET = 1e-24  # the square of a distance that is none [m²]
