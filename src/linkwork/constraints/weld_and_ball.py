"""What is held where it is: frames and points, on another body or in the world."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import fixed_together, given_number, given_place, name_or
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References
from linkwork.constraints.jacobian_rows import AXES, seen_point
from linkwork.spatial import Pose, Vec3, by_rows
from linkwork.spatial.arguments import given_pose

__all__ = ["Ball", "CenterOfMass", "Weld"]

_XYZ = ("x", "y", "z")


@public_constructor
@dataclass(frozen=True)
class Weld(Constraint):
    """A frame is at a pose in another frame, as a foot that sticks to the ground: X_FM = ``pose``.

    Its six rows are the twist of M relative to F, in M's coordinates, as of a loop closed by a fixed joint; what it
    exerts is the wrench (moment; force) on M, in these coordinates.  Its error is (rotation vector; way) from the pose
    to where M is: the vector is as long as the angle, so nothing but the pose is a zero.
    """

    frame: str  # M
    other: str = "world"  # F
    _: KW_ONLY
    pose: Pose = Pose.identity()
    name: str = ""

    if TYPE_CHECKING:  # a matrix makes a pose, and so do three numbers

        def __init__(self, frame: str, other: str = ..., *, at: Any = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", given_pose(self.pose, "Weld: at"))
        object.__setattr__(self, "name", name_or(self.name, f"weld({self.frame}, {self.other})"))

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.other))

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {kind} {axis}" for kind in ("rotation", "translation") for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * 3 + ("m",) * 3

    def error(self, k: Kinematics) -> list[Any]:
        rest = self.pose.inv() @ k.between(self.frame, self.other).pose
        gap = Pose.identity().difference(rest)
        return [*gap.angular, *rest.rotation.inv_act(gap.linear)]

    def rates(self, k: Kinematics) -> Rates:
        between = k.between(self.frame, self.other)
        squares = [(C.angular.dot(C.angular), C.linear.dot(C.linear)) for C in between.columns]
        sizes = [[angular for angular, _ in squares]] * 3 + [[linear for _, linear in squares]] * 3
        return Rates(by_rows(between.columns), [*between.bias.elements()], None, sizes)


@public_constructor
@dataclass(frozen=True)
class Ball(Constraint):
    """A point is where another is, on another body or in the world, as a foot that touches and does not slip: r = 0.

    r is the way from ``b``, and from a place ``point`` beside it, to ``a``, in the axes of b's frame; so is the force
    that it exerts on a [N].
    """

    a: str
    b: str = "world"
    _: KW_ONLY
    point: Vec3 = Vec3(0.0, 0.0, 0.0)  # from b, in the axes of its frame [m]
    name: str = ""

    if TYPE_CHECKING:  # any three numbers make a place

        def __init__(self, a: str, b: str = ..., *, at: Any = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", given_place("Ball", "point", self.point))
        object.__setattr__(self, "name", name_or(self.name, f"ball({self.a}, {self.b})"))

    @property
    def references(self) -> References:
        return References(points=(self.a, self.b))

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * 3

    def error(self, k: Kinematics) -> list[Any]:
        frame, place = k.place_of(self.b)
        return [*(seen_point(k, self.a, frame).place - (place + self.point))]

    def rates(self, k: Kinematics) -> Rates:
        frame, _ = k.place_of(self.b)
        return seen_point(k, self.a, frame).rates(*AXES)

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("point", self.a), ("point", self.b))


@public_constructor
@dataclass(frozen=True)
class CenterOfMass(Constraint):
    """The robot's centre of mass has these coordinates in a frame, those that are given: c_x − x = 0, ...

    A row each; what they exert are forces on the whole of the robot [N].
    """

    x: float | None = None
    y: float | None = None
    z: float | None = None
    _: KW_ONLY
    relative_to: str = "world"
    name: str = ""

    uses_inertia = True

    def __post_init__(self) -> None:
        for axis in _XYZ:
            if getattr(self, axis) is not None:
                object.__setattr__(self, axis, given_number("CenterOfMass", f"{axis} [m]", getattr(self, axis)))
        if not self._held:
            raise ValueError("CenterOfMass: x, y, z: expected a coordinate at least: CenterOfMass(z=0.8)")
        object.__setattr__(self, "name", name_or(self.name, "center of mass"))

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,))

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {_XYZ[i]}" for i, _ in self._held)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * len(self._held)

    def error(self, k: Kinematics) -> list[Any]:
        found = [*k.center_of_mass(self.relative_to)]
        return [found[i] - place for i, place in self._held]

    def checked(self, robot: Any) -> Iterable[str]:
        robot.require_inertias("CenterOfMass")
        if robot.mass == 0.0:
            yield f"robot {robot.name!r} has no mass, so there is no centre of it: give a link a mass"

    @property
    def _held(self) -> list[tuple[int, float]]:
        given = enumerate((self.x, self.y, self.z))
        return [(i, place) for i, place in given if place is not None]
