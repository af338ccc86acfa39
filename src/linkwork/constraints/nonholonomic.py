"""Points that do not slip: no velocity along given directions.

Rolling on a plane without slip: wheels, discs and balls.

A blade: it glides along and turns, and does not go sideways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import given_length, name_or
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion, with_names
from linkwork.constraints.jacobian_rows import VelocityLine, along
from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.joints.axis import unit_axis
from linkwork.spatial import Motion, Vec3

__all__ = ["BallRolling", "KnifeEdge", "NoSlip", "Rolling", "RollingContact"]


@public_constructor
@dataclass(frozen=True)
class NoSlip(Constraint):
    """A point of a body has no velocity along some directions, relative to a frame.

    ``point`` is a point's name, or a frame's for its origin; ``directions`` are names of directions, or of axes of
    frames (``"runner.y"``), that may move with any body; all axes of ``relative_to`` if left out.  Each is a row,
    e·v = 0, v the velocity of the body's own point relative to ``relative_to``.
    """

    point: str
    directions: tuple[str, ...] = ()
    _: KW_ONLY
    relative_to: str = "world"
    name: str = ""

    holonomic = False

    if TYPE_CHECKING:  # one direction stands for itself

        def __init__(
            self, point: str, directions: str | Iterable[str] = ..., *, relative_to: str = ..., name: str = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        given = (self.directions,) if isinstance(self.directions, str) else tuple(self.directions)
        if not all(isinstance(direction, str) for direction in given):
            raise TypeError(f"NoSlip: directions: expected names of directions, or of axes of frames, got {given!r}")
        object.__setattr__(self, "directions", given or tuple(f"{self.relative_to}.{axis}" for axis in "xyz"))
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
        between = state.between(state.place_of(self.point)[0], self.relative_to)
        return [between.twist.dot(line.wrench) for line in self._lines(state, between)]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(state.place_of(self.point)[0], self.relative_to)
        return along(between, self._lines(state, between))

    def checked(self, robot: Any) -> Iterator[str]:
        if robot.frame(robot.point(self.point).frame).body == robot.frame(self.relative_to).body:
            yield f"point {self.point!r} is fixed to frame {self.relative_to!r}, so it cannot move relative to it"

    def with_names(self, names: Mapping[str, str]) -> Self:
        return replace(
            self,
            point=with_names(self.point, names),
            directions=tuple(with_names(direction, names) for direction in self.directions),
            relative_to=with_names(self.relative_to, names),
        )

    def _lines(self, state: Kinematics, between: RelativeMotion) -> list[VelocityLine]:
        """The lines through the point, in its body's coordinates B; what is fixed to D turns by the twist of D in B."""
        B, c = state.place_of(self.point)
        result = []
        for direction in self.directions:
            D, e = state.axis_of(direction)
            if self.relative_to == D:
                e = between.pose.rotation.inv_act(e)
                e_dot = e.cross(between.twist.angular)
            else:
                seen, turning = state.pose(D, B).rotation, state.between(D, B).twist.angular
                e, e_dot = seen @ e, seen @ turning.cross(e)
            result.append(VelocityLine(e, e_dot, c, Vec3.zero()))
        return result


_FLAT = 1e-16  # the square of a disc's inclination below which every point of its rim is the lowest


@public_constructor
@dataclass(frozen=True)
class Rolling(Constraint):
    """A wheel or a thin disc rolls on a plane: the point of it that touches the plane has no velocity along it.

    ``wheel`` is a frame that turns with the wheel, at its centre; ``axis`` is the axle, in the frame's own coordinates.
    The plane is z = 0 of the frame ``on``, which may move.  With the normal n, the axle's unit vector a and u =
    n − (n·a) a, the point of the rim that is nearest to the plane is c = −r u/|u| from the centre, however the disc
    leans and wherever it is steered.  Its rows are the velocity v + ω × c of that point of the *wheel*, relative to the
    plane, along the plane's x and y.

    ``contact=True`` puts a `RollingContact` of the same numbers on the robot beside it, called after it, which holds
    the point on the plane; leave it out where joints keep the wheel on the plane anyway.

    A disc that lies flat on the plane touches it everywhere: there is no such point, and the rows mean nothing there.
    """

    wheel: str
    _: KW_ONLY
    radius: float  # r [m]
    on: str = "world"
    axis: Vec3 = Vec3(0.0, 1.0, 0.0)
    contact: bool = True
    name: str = ""

    holonomic = False

    if TYPE_CHECKING:  # any three numbers make an axis

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
        object.__setattr__(self, "radius", given_length("Rolling", "radius", self.radius))
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
    """A thin disc, or a ball, touches a plane with its lowest point, slipping or not: z = r |u|, or z = r.

    As `Rolling`; ``axis=None`` is a ball.  Its row's velocity is that of the disc's point at the contact along the
    plane's normal, which is the height's rate, since the contact runs along the rim.
    """

    wheel: str
    _: KW_ONLY
    radius: float  # r [m]
    on: str = "world"
    axis: Vec3 | None = Vec3(0.0, 1.0, 0.0)
    name: str = ""

    if TYPE_CHECKING:  # any three numbers make an axis

        def __init__(self, wheel: str, *, radius: float, on: str = ..., axis: Any = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", given_length("RollingContact", "radius", self.radius))
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
        return [height - self.radius * (1.0 if self.axis is None else _reach(_across(X.rotation.z, self.axis)))]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(self.wheel, self.on)
        return along(between, _at_contact(between, self.axis, self.radius)[2:])


@public_constructor
@dataclass(frozen=True)
class BallRolling(Constraint):
    """A ball rolls on a plane, which may move, a turntable say: the point of it that touches has no velocity along it.

    ``ball`` is a frame that turns with the ball, at its centre.  The plane is z = 0 of the frame ``on``; the rows are
    the velocity of the ball's point r below the centre, relative to the plane, along the plane's x and y.  It may spin
    about the normal.  ``contact`` is as of `Rolling`.
    """

    ball: str
    _: KW_ONLY
    radius: float  # r [m]
    on: str = "world"
    contact: bool = True
    name: str = ""

    holonomic = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", given_length("BallRolling", "radius", self.radius))
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
    """The lines through the lowest point along the plane's axes x, y and z, in the wheel's coordinates.

    The plane's axes turn by −ω as the wheel sees them: ė = e × ω.
    """
    R, V = between.pose.rotation, between.twist
    c, c_dot = _lowest(R.z, _turning(R.z, V), axis, radius)
    return [VelocityLine(e, _turning(e, V), c, c_dot) for e in (R.x, R.y, R.z)]


def _turning(e: Vec3, V: Motion) -> Vec3:
    return e.cross(V.angular)


def _lowest(n: Vec3, n_dot: Vec3, axis: Vec3 | None, radius: float) -> tuple[Vec3, Vec3]:
    """c = −r u/|u|, of a ball −r n, and ċ, while n changes."""
    if axis is None:
        return n * -radius, n_dot * -radius
    u, u_dot = _across(n, axis), _across(n_dot, axis)
    inverse = 1.0 / _reach(u)
    d = u * inverse
    return d * -radius, (u_dot - d * d.dot(u_dot)) * (-radius * inverse)


def _across(n: Vec3, axis: Vec3) -> Vec3:
    """n − (n·a) a."""
    rest: Vec3 = n - axis * n.dot(axis)
    return rest


def _reach(u: Vec3) -> Any:
    """|u|, the sine of the angle between axle and normal: how high a disc of radius 1 reaches."""
    square = u.dot(u)
    return sqrt(where(lt(_FLAT, square), square, _FLAT))


@public_constructor
@dataclass(frozen=True)
class KnifeEdge(Constraint):
    """A blade, or a thin wheel seen from above: the origin of its frame has no velocity across it.

    ``across`` is the direction that is ruled out, in the frame's own coordinates: its y, for a blade along x.  The
    velocity is relative to the frame ``on``.
    """

    runner: str
    _: KW_ONLY
    across: Vec3 = Vec3(0.0, 1.0, 0.0)
    on: str = "world"
    name: str = ""

    holonomic = False

    if TYPE_CHECKING:  # any three numbers make a direction

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
