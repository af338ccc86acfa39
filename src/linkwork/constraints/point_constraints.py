"""A point on a line, a plane, a curve or a surface that is fixed to a frame.

Curves and surfaces are where functions of the place vanish: so no parameter along them has to be looked for, nothing
jumps where another point of a curve becomes the nearest, and the derivatives are exact, on any scalar.

Two points at a distance: a rod with a ball joint at either end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import fixed_together, given_length, given_number, given_place, name_or
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion
from linkwork.constraints.jacobian_rows import AXES, RelativePoint, VelocityLine, across, along, chained, seen_point
from linkwork.constraints.user_functions import over_any_scalar, refuse_pickling
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.spatial import Vec3

__all__ = ["Distance", "PointOnCurve", "PointOnLine", "PointOnPlane", "PointOnSurface"]


@public_constructor
@dataclass(frozen=True)
class PointOnPlane(Constraint):
    """A point is on the plane across a direction n, ``offset`` along n from the origin of n's frame: n·r − offset = 0.

    What it exerts is the force along n on the point [N].
    """

    point: str
    normal: str  # a direction, as in "table.z"
    _: KW_ONLY
    offset: float = 0.0  # [m]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", given_number("PointOnPlane", "offset", self.offset))
        object.__setattr__(self, "name", name_or(self.name, f"{self.point} on the plane of {self.normal}"))

    @property
    def references(self) -> References:
        return References(points=(self.point,), directions=(self.normal,))

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def error(self, state: Kinematics) -> list[Any]:
        frame, n = state.axis_of(self.normal)
        return [n.dot(seen_point(state, self.point, frame).place) - self.offset]

    def rates(self, state: Kinematics) -> Rates:
        frame, n = state.axis_of(self.normal)
        return seen_point(state, self.point, frame).rates(n)

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("point", self.point), ("direction", self.normal))


@public_constructor
@dataclass(frozen=True)
class PointOnLine(Constraint):
    """A point is on the line along a direction u through a place p of its frame: e·(r − p) = 0 of two e across u."""

    point: str
    line: str  # a direction, as in "rail.x"
    _: KW_ONLY
    line_point: Vec3 = Vec3(0.0, 0.0, 0.0)  # p [m]
    name: str = ""

    if TYPE_CHECKING:  # any three numbers make a place

        def __init__(self, point: str, line: str, *, at: Any = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "line_point", given_place("PointOnLine", "line_point", self.line_point))
        object.__setattr__(self, "name", name_or(self.name, f"{self.point} on the line of {self.line}"))

    @property
    def references(self) -> References:
        return References(points=(self.point,), directions=(self.line,))

    @property
    def component_names(self) -> tuple[str, ...]:
        return f"{self.name}: across 1", f"{self.name}: across 2"

    @property
    def row_units(self) -> tuple[str, ...]:
        return "m", "m"

    def error(self, state: Kinematics) -> list[Any]:
        frame, u = state.axis_of(self.line)
        way = seen_point(state, self.point, frame).place - self.line_point
        return [e.dot(way) for e in across(u)]

    def rates(self, state: Kinematics) -> Rates:
        frame, u = state.axis_of(self.line)
        return seen_point(state, self.point, frame).rates(*across(u))

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("point", self.point), ("direction", self.line))


@public_constructor
@dataclass(frozen=True)
class PointOnSurface(Constraint):
    """A point at r, in a frame, is where a function f of the user's is zero: f(r) = 0.

    f gets an array (3,) and gives a number, in metres if it is to be comparable; NumPy's functions and those of
    `linkwork.expr` work on it.  Where its gradient vanishes the surface has no tangent plane, and the row is zero.
    """

    point: str
    function: Callable[[Any], Any]
    _: KW_ONLY
    frame: str = "world"
    name: str = ""

    rows = 1

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not callable(self.function):
            raise TypeError(f"{kind}: expected a function of a place (3,), got {self.function!r}")
        where = "surface" if self.rows == 1 else "curve"
        object.__setattr__(self, "name", name_or(self.name, f"{self.point} on the {where} in {self.frame}"))

    @property
    def references(self) -> References:
        return References(points=(self.point,), frames=(self.frame,))

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (self.function,)

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,) if self.rows == 1 else tuple(f"{self.name}[{i}]" for i in range(self.rows))

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * self.rows

    def error(self, state: Kinematics) -> list[Any]:
        return self._of([*self._seen(state).place])

    def rates(self, state: Kinematics) -> Rates:
        seen = self._seen(state)
        return chained(self._of, [*seen.place], [*seen.velocity], seen.rates(*AXES))

    def bind(self, state: Kinematics) -> Self:
        if not all(isinstance(x, Symbol) for x in self._of(Graph().inputs("r", (3,)))):
            raise ValueError(f"constraint {self.name!r}: its function gives the same for all places")
        return self

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("point", self.point), ("frame", self.frame))

    def __getstate__(self) -> dict[str, Any]:
        refuse_pickling(self)
        return self.__dict__

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def _seen(self, state: Kinematics) -> RelativePoint:
        return seen_point(state, self.point, self.frame)

    def _of(self, place: list[Any]) -> list[Any]:
        return over_any_scalar(f"constraint {self.name!r}", self.function, place, count=self.rows)


@public_constructor
@dataclass(frozen=True)
class PointOnCurve(PointOnSurface):
    """A point at r, in a frame, is where two functions of the user's are zero, f(r) = (0, 0): where two surfaces meet.

    The graph y = g(x) in the plane z = 0, say, is ``lambda r: (r[1] - g(r[0]), r[2])``.
    """

    rows = 2


@public_constructor
@dataclass(frozen=True)
class Distance(Constraint):
    """Two points, or origins of frames, are at a distance l: (p·p/l − l)/2 = 0, p the way from one to the other.

    Near its zeros this is |p| − l; it is smooth where the points meet too, and zero at the distance l alone.  What it
    exerts is the force along the rod [N], positive where it pushes.
    """

    a: str
    b: str
    length: float  # l [m]
    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", given_length("Distance", "length", self.length))
        object.__setattr__(self, "name", name_or(self.name, f"distance({self.a}, {self.b})"))

    @property
    def references(self) -> References:
        return References(points=(self.a, self.b))

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def error(self, state: Kinematics) -> list[Any]:
        _, _, p = self._between(state)
        return [(p.dot(p) * (1.0 / self.length) - self.length) * 0.5]

    def rates(self, state: Kinematics) -> Rates:
        between, b, p = self._between(state)
        V, share = between.twist, 1.0 / self.length
        p_rate = V.linear - V.angular.cross(p - b)
        return along(between, [VelocityLine(p * share, p_rate * share, b, Vec3.zero())])

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("point", self.a), ("point", self.b))

    def _between(self, state: Kinematics) -> tuple[RelativeMotion, Vec3, Vec3]:
        """How b's frame B moves relative to a's, where b is in B, and the way p from a to b in B's axes."""
        (A, a), (B, b) = state.place_of(self.a), state.place_of(self.b)
        between = state.between(B, A)
        return between, b, b + between.pose.rotation.inv_act(between.pose.translation - a)
