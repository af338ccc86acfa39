"""Point constraints: a point on a line, a plane, a curve or a surface of a frame, and two points at a distance.

Curves and surfaces are implicit: zeros of functions of the position.  This needs no search for a curve parameter, so
the error does not jump where another curve point becomes the closest, and derivatives are exact on any scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import check_relative_motion, name_or, read_length, read_number, read_position
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion
from linkwork.constraints.jacobian_rows import AXES, RelativePoint, VelocityLine, across, along, chained, relative_point
from linkwork.constraints.user_functions import OfUserFunctions, over_any_scalar
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.spatial import Vec3

__all__ = ["Distance", "PointOnCurve", "PointOnLine", "PointOnPlane", "PointOnSurface"]


@public_constructor
@dataclass(frozen=True)
class PointOnPlane(Constraint):
    """Constraint of a point to a plane with normal n: n·r − offset = 0, with r in the frame to which n is fixed.

    The constraint force is the force on the point along n [N].

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    point: str
    normal: str  # name of a direction, for example "table.z"
    _: KW_ONLY
    offset: float = 0.0  # [m]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", read_number("PointOnPlane", "offset", self.offset))
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
        return [n.dot(relative_point(state, self.point, frame).point) - self.offset]

    def rates(self, state: Kinematics) -> Rates:
        frame, n = state.axis_of(self.normal)
        return relative_point(state, self.point, frame).rates(n)

    def checked(self, robot: Any) -> Iterable[str]:
        return check_relative_motion(robot, ("point", self.point), ("direction", self.normal))


@public_constructor
@dataclass(frozen=True)
class PointOnLine(Constraint):
    """Constraint of a point to the line through p along u: e·(r − p) = 0 for two directions e orthogonal to u.

    u is a direction (``line``) fixed to a frame, and p (``line_point``) a position in that frame.

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    point: str
    line: str  # name of a direction, for example "rail.x"
    _: KW_ONLY
    line_point: Vec3 = Vec3(0.0, 0.0, 0.0)  # p [m]
    name: str = ""

    if TYPE_CHECKING:  # three numbers are converted to a vector

        def __init__(self, point: str, line: str, *, line_point: Any = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "line_point", read_position("PointOnLine", "line_point", self.line_point))
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
        r = relative_point(state, self.point, frame).point - self.line_point
        return [e.dot(r) for e in across(u)]

    def rates(self, state: Kinematics) -> Rates:
        frame, u = state.axis_of(self.line)
        return relative_point(state, self.point, frame).rates(*across(u))

    def checked(self, robot: Any) -> Iterable[str]:
        return check_relative_motion(robot, ("point", self.point), ("direction", self.line))


@public_constructor
@dataclass(frozen=True)
class PointOnSurface(OfUserFunctions, Constraint):
    """Constraint of a point to an implicit surface f(r) = 0, with a user function f of its position r in a frame.

    f takes an array (3,) [m] and returns a number, preferably in metres, by NumPy's functions and those of
    `linkwork.expr`.  Where the gradient of f is zero, the surface has no tangent plane and the row is zero.

    ``function`` is f, ``point`` the point, and ``frame`` the frame of r.  ``name`` is the constraint's name, by default
    composed of the names of its parts.
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
            raise TypeError(f"{kind}: function: expected a function of a position (3,), got {self.function!r}")
        shape = "surface" if self.rows == 1 else "curve"
        object.__setattr__(self, "name", name_or(self.name, f"{self.point} on the {shape} in {self.frame}"))

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
        return self._of([*self._relative_point(state).point])

    def rates(self, state: Kinematics) -> Rates:
        point = self._relative_point(state)
        return chained(self._of, [*point.point], [*point.velocity], point.rates(*AXES))

    def bind(self, state: Kinematics) -> Self:
        if not all(isinstance(x, Symbol) for x in self._of(Graph().inputs("r", (3,)))):
            raise ValueError(f"constraint {self.name!r}: its function returns the same value for all positions")
        return self

    def checked(self, robot: Any) -> Iterable[str]:
        return check_relative_motion(robot, ("point", self.point), ("frame", self.frame))

    def _relative_point(self, state: Kinematics) -> RelativePoint:
        return relative_point(state, self.point, self.frame)

    def _of(self, position: list[Any]) -> list[Any]:
        return over_any_scalar(f"constraint {self.name!r}", self.function, position, count=self.rows)


@public_constructor
@dataclass(frozen=True)
class PointOnCurve(PointOnSurface):
    """Constraint of a point to an implicit curve f(r) = (0, 0), the intersection of two surfaces.

    For example, the graph y = g(x) in the plane z = 0 is ``lambda r: (r[1] - g(r[0]), r[2])``.

    ``function`` is f of the position r of the ``point`` in ``frame``.  ``name`` is the constraint's name, by default
    composed of the names of its parts.
    """

    rows = 2


@public_constructor
@dataclass(frozen=True)
class Distance(Constraint):
    """Constraint that two points, or origins of frames, have the distance l: (p·p/l − l)/2 = 0.

    p is the vector between them.  The constraint models a rod with a ball joint at each end.  Near its zeros the error
    equals |p| − l to first order; it is smooth also for coincident points, and zero only at the distance l.  The
    constraint force acts along the rod [N], positive in compression.

    ``a`` and ``b`` are the points, and ``length`` is l [m].  ``name`` is the constraint's name, by default composed of
    the names of its parts.
    """

    a: str
    b: str
    length: float  # l [m]
    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", read_length("Distance", "length", self.length))
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
        return check_relative_motion(robot, ("point", self.a), ("point", self.b))

    def _between(self, state: Kinematics) -> tuple[RelativeMotion, Vec3, Vec3]:
        """Return the relative motion of the bodies of a and b, the point b, and the vector p from a to b.

        It is the motion of b's frame B relative to a's frame.  The point and the vector are in the axes of B [m].
        """
        (A, a), (B, b) = state.locate(self.a), state.locate(self.b)
        between = state.between(B, A)
        return between, b, b + between.pose.rotation.inv_act(between.pose.translation - a)
