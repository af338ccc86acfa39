"""Nonholonomic constraints: points that do not slip, wheels, discs and balls that roll, and knife edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import name_or, read_length
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion
from linkwork.constraints.jacobian_rows import VelocityLine, along
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.joints.axis import unit_axis
from linkwork.spatial import Motion, Vec3

__all__ = ["BallRolling", "KnifeEdge", "NoSlip", "Rolling", "RollingContact"]


@public_constructor
@dataclass(frozen=True)
class NoSlip(Constraint):
    """No-slip constraint: a point of a body has zero velocity along directions, relative to a frame.

    ``point`` is the name of a point, or of a frame for its origin.  ``directions`` are names of directions, or of axes
    of frames (``"runner.y"``), fixed to any body; the default is all axes of ``relative_to``.  Each direction e gives
    a row e·v = 0, with the velocity v of the material point relative to ``relative_to``.
    """

    point: str
    directions: tuple[str, ...] = ()
    _: KW_ONLY
    relative_to: str = "world"
    name: str = ""

    holonomic = False

    if TYPE_CHECKING:  # a single direction is converted to a tuple

        def __init__(
            self, point: str, directions: str | Iterable[str] = ..., *, relative_to: str = ..., name: str = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        names = (self.directions,) if isinstance(self.directions, str) else tuple(self.directions)
        if not all(isinstance(direction, str) for direction in names):
            raise TypeError(f"NoSlip: directions: expected names of directions, or of axes of frames, got {names!r}")
        object.__setattr__(self, "directions", names or tuple(f"{self.relative_to}.{axis}" for axis in "xyz"))
        object.__setattr__(self, "name", name_or(self.name, f"{self.point} does not slip"))

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,), points=(self.point,), directions=self.directions)

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: along {direction}" for direction in self.directions)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * len(self.directions)

    def velocity(self, state: Kinematics) -> list[Any]:
        between = state.between(state.locate(self.point)[0], self.relative_to)
        return [between.twist.dot(line.wrench) for line in self._lines(state, between)]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(state.locate(self.point)[0], self.relative_to)
        return along(between, self._lines(state, between))

    def checked(self, robot: Any) -> Iterator[str]:
        if robot.frame(robot.point(self.point).frame).body == robot.frame(self.relative_to).body:
            yield f"point {self.point!r} is fixed to frame {self.relative_to!r}, so it cannot move relative to it"

    def _lines(self, state: Kinematics, between: RelativeMotion) -> list[VelocityLine]:
        """Return the lines through the point along the directions, in coordinates of the point's body B.

        A direction that is fixed to another body rotates in B with that body.
        """
        B, c = state.locate(self.point)
        result = []
        for direction in self.directions:
            D, e = state.axis_of(direction)
            if self.relative_to == D:
                e = between.pose.rotation.inv_act(e)
                e_dot = e.cross(between.twist.angular)
            else:
                R, omega = state.pose(D, B).rotation, state.between(D, B).twist.angular
                e, e_dot = R @ e, R @ omega.cross(e)
            result.append(VelocityLine(e, e_dot, c, Vec3.zero()))
        return result


_FLAT = by_type(1e-16)  # squared sine of a disc's inclination below which it is treated as flat


@public_constructor
@dataclass(frozen=True)
class Rolling(Constraint):
    """Rolling of a wheel or a thin disc on a plane: its contact point has zero velocity in the plane.

    ``wheel`` is a frame at the centre of the wheel that rotates with it; ``axis`` is the axle in its coordinates.  The
    plane is z = 0 of the frame ``on``, which may move.  With the normal n, the unit vector a of the axle and u = n −
    (n·a) a, the contact point is c = −r u/|u| from the centre, for any inclination and heading of the disc.  The rows
    are the velocity v + ω × c of that point of the *wheel* relative to the plane, along x and y of the plane.

    ``contact=True`` adds a `RollingContact` with the same parameters, which keeps the wheel on the plane.  Use
    ``contact=False`` if joints keep the wheel on the plane.

    A disc that lies flat on the plane has no single contact point; the rows are meaningless there.

    ``radius`` r is in [m].  ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    wheel: str
    _: KW_ONLY
    radius: float  # r [m]
    on: str = "world"
    axis: Vec3 = Vec3(0.0, 1.0, 0.0)
    contact: bool = True
    name: str = ""

    holonomic = False

    if TYPE_CHECKING:  # three numbers are converted to a vector

        def __init__(
            self,
            wheel: str,
            *,
            radius: float,
            on: str = ...,
            axis: Any = ...,
            contact: bool = ...,
            name: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", read_length("Rolling", "radius", self.radius))
        object.__setattr__(self, "axis", unit_axis(self.axis, "Rolling"))
        object.__setattr__(self, "name", name_or(self.name, f"{self.wheel} rolls"))

    @property
    def references(self) -> References:
        return References(frames=(self.wheel, self.on))

    @property
    def implied_constraints(self) -> tuple[Constraint, ...]:
        if not self.contact:
            return ()
        name = f"{self.name}: contact"
        return (RollingContact(self.wheel, radius=self.radius, on=self.on, axis=self.axis, name=name),)

    @property
    def component_names(self) -> tuple[str, ...]:
        return f"{self.name}: along x", f"{self.name}: along y"

    @property
    def row_units(self) -> tuple[str, ...]:
        return "m", "m"

    def velocity(self, state: Kinematics) -> list[Any]:
        between = state.between(self.wheel, self.on)
        return [between.twist.dot(line.wrench) for line in _at_contact(between, self.axis, self.radius)[:2]]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(self.wheel, self.on)
        return along(between, _at_contact(between, self.axis, self.radius)[:2])


@public_constructor
@dataclass(frozen=True)
class RollingContact(Constraint):
    """Contact of a thin disc or a ball with a plane at its lowest point: its centre has the height r |u|, or r.

    It may slip or not.  Arguments are as in `Rolling`, where |u| is the sine of the angle between axle and normal;
    ``axis=None`` is a ball.  The row is the velocity of the material contact point along the normal, which equals the
    rate of the height, since the contact point moves along the rim.

    ``wheel``, ``radius`` r [m] and ``on`` are the disc's frame, its radius and the plane's frame.  ``name`` is the
    constraint's name, by default composed of the names of its parts.
    """

    wheel: str
    _: KW_ONLY
    radius: float  # r [m]
    on: str = "world"
    axis: Vec3 | None = Vec3(0.0, 1.0, 0.0)
    name: str = ""

    if TYPE_CHECKING:  # three numbers are converted to a vector

        def __init__(self, wheel: str, *, radius: float, on: str = ..., axis: Any = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", read_length("RollingContact", "radius", self.radius))
        if self.axis is not None:
            object.__setattr__(self, "axis", unit_axis(self.axis, "RollingContact"))
        object.__setattr__(self, "name", name_or(self.name, f"{self.wheel} touches"))

    @property
    def references(self) -> References:
        return References(frames=(self.wheel, self.on))

    @property
    def component_names(self) -> tuple[str, ...]:
        return (f"{self.name}: along z",)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def error(self, state: Kinematics) -> list[Any]:
        X = state.pose(self.wheel, self.on)
        height = X.translation.z
        return [height - self.radius * (1.0 if self.axis is None else _inclination(_across(X.rotation.z, self.axis)))]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(self.wheel, self.on)
        return along(between, _at_contact(between, self.axis, self.radius)[2:])


@public_constructor
@dataclass(frozen=True)
class BallRolling(Constraint):
    """Rolling of a ball on a plane, for example a turntable: its contact point has zero velocity in the plane.

    ``ball`` is a frame at the centre of the ball that rotates with it.  The plane is z = 0 of the frame ``on``, which
    may move.  The rows are the velocity of the point at distance r below the centre, relative to the plane, along x
    and y of the plane.  The ball may spin about the normal.  ``contact`` is as in `Rolling`.

    ``radius`` r is in [m].  ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    ball: str
    _: KW_ONLY
    radius: float  # r [m]
    on: str = "world"
    contact: bool = True
    name: str = ""

    holonomic = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", read_length("BallRolling", "radius", self.radius))
        object.__setattr__(self, "name", name_or(self.name, f"{self.ball} rolls"))

    @property
    def references(self) -> References:
        return References(frames=(self.ball, self.on))

    @property
    def implied_constraints(self) -> tuple[Constraint, ...]:
        if not self.contact:
            return ()
        return (RollingContact(self.ball, radius=self.radius, on=self.on, axis=None, name=f"{self.name}: contact"),)

    @property
    def component_names(self) -> tuple[str, ...]:
        return f"{self.name}: along x", f"{self.name}: along y"

    @property
    def row_units(self) -> tuple[str, ...]:
        return "m", "m"

    def velocity(self, state: Kinematics) -> list[Any]:
        between = state.between(self.ball, self.on)
        return [between.twist.dot(line.wrench) for line in _at_contact(between, None, self.radius)[:2]]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(self.ball, self.on)
        return along(between, _at_contact(between, None, self.radius)[:2])


def _at_contact(between: RelativeMotion, axis: Vec3 | None, radius: float) -> list[VelocityLine]:
    """Return three lines through the lowest point of a wheel or ball, along x, y and z of the plane.

    They are in coordinates of the wheel.  The axes of the plane rotate by −ω relative to the wheel: ė = e × ω.
    """
    R, V = between.pose.rotation, between.twist
    c, c_dot = _lowest(R.z, _rate_in_wheel(R.z, V), axis, radius)
    return [VelocityLine(e, _rate_in_wheel(e, V), c, c_dot) for e in (R.x, R.y, R.z)]


def _rate_in_wheel(e: Vec3, V: Motion) -> Vec3:
    return e.cross(V.angular)


def _lowest(n: Vec3, n_dot: Vec3, axis: Vec3 | None, radius: float) -> tuple[Vec3, Vec3]:
    """Return the lowest point c of a wheel or ball from its centre [m], and its rate ċ, in the wheel's axes.

    c is −r u/|u| with u = n − (n·a) a, or −r n for a ball, with the plane's normal n and the axle a.
    """
    if axis is None:
        return n * -radius, n_dot * -radius
    u, u_dot = _across(n, axis), _across(n_dot, axis)
    inverse = 1.0 / _inclination(u)
    d = u * inverse
    return d * -radius, (u_dot - d * d.dot(u_dot)) * (-radius * inverse)


def _across(n: Vec3, axis: Vec3) -> Vec3:
    """Return the component n − (n·a) a of n that is orthogonal to the unit vector a (``axis``)."""
    orthogonal: Vec3 = n - axis * n.dot(axis)
    return orthogonal


def _inclination(u: Vec3) -> Any:
    """Return |u|, the sine of the angle between the axle and the plane's normal.

    It is the height of the centre of a disc with radius 1.
    """
    square = u.dot(u)
    return sqrt(where(lt(_FLAT, square), square, _FLAT))


@public_constructor
@dataclass(frozen=True)
class KnifeEdge(Constraint):
    """A knife edge, such as a skate or a thin wheel: the origin of its frame has no lateral velocity.

    ``across`` is the lateral direction in coordinates of the frame, by default y, for a blade along x.  The velocity is
    relative to the frame ``on``.

    ``runner`` is the frame of the edge.  ``name`` is the constraint's name, by default composed of the names of its
    parts.
    """

    runner: str
    _: KW_ONLY
    across: Vec3 = Vec3(0.0, 1.0, 0.0)
    on: str = "world"
    name: str = ""

    holonomic = False

    if TYPE_CHECKING:  # three numbers are converted to a vector

        def __init__(self, runner: str, *, across: Any = ..., on: str = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "across", unit_axis(self.across, "KnifeEdge", "across"))
        object.__setattr__(self, "name", name_or(self.name, f"{self.runner} skates"))

    @property
    def references(self) -> References:
        return References(frames=(self.runner, self.on))

    @property
    def component_names(self) -> tuple[str, ...]:
        return (f"{self.name}: across",)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def velocity(self, state: Kinematics) -> list[Any]:
        return [state.between(self.runner, self.on).twist.linear.dot(self.across)]

    def rates(self, state: Kinematics) -> Rates:
        fixed = VelocityLine(self.across, Vec3.zero(), Vec3.zero(), Vec3.zero())
        return along(state.between(self.runner, self.on), [fixed])
