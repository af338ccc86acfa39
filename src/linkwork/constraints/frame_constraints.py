"""Constraints between frames of two bodies, or of a body and the world: welds, balls, parallels, angles, the centre
of mass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import fixed_together, given_number, given_place, name_or
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion
from linkwork.constraints.jacobian_rows import AXES, across, seen_point, sizes_of
from linkwork.expr.scalar.functions import and_, atan2, lt, sqrt, where
from linkwork.spatial import Force, Pose, Vec3, by_rows
from linkwork.spatial.arguments import checked_pose

__all__ = ["Angle", "Ball", "CenterOfMass", "Parallel", "Weld"]


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
        object.__setattr__(self, "pose", checked_pose(self.pose, "Weld: pose"))
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

    def error(self, state: Kinematics) -> list[Any]:
        rest = self.pose.inv() @ state.between(self.frame, self.other).pose
        gap = Pose.identity().difference(rest)
        return [*gap.angular, *rest.rotation.inv_act(gap.linear)]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(self.frame, self.other)
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

    def error(self, state: Kinematics) -> list[Any]:
        frame, place = state.place_of(self.b)
        return [*(seen_point(state, self.a, frame).place - (place + self.point))]

    def rates(self, state: Kinematics) -> Rates:
        frame, _ = state.place_of(self.b)
        return seen_point(state, self.a, frame).rates(*AXES)

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

    def error(self, state: Kinematics) -> list[Any]:
        result = [*state.center_of_mass(self.relative_to)]
        return [result[i] - place for i, place in self._held]

    def checked(self, robot: Any) -> Iterable[str]:
        robot.require_inertias("CenterOfMass")
        if robot.mass == 0.0:
            yield f"robot {robot.name!r} has no mass, so there is no centre of it: give a link a mass"

    @property
    def _held(self) -> list[tuple[int, float]]:
        given = enumerate((self.x, self.y, self.z))
        return [(i, place) for i, place in given if place is not None]


@dataclass(frozen=True)
class _OfDirections(Constraint):
    """A constraint between two directions, of A and of B."""

    a: str
    b: str

    @property
    def references(self) -> References:
        return References(directions=(self.a, self.b))

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("direction", self.a), ("direction", self.b))

    def _between(self, state: Kinematics) -> tuple[RelativeMotion, Vec3, Vec3]:
        """How B moves relative to A, and both directions in B's axes."""
        (A, a), (B, b) = state.axis_of(self.a), state.axis_of(self.b)
        between = state.between(B, A)
        return between, between.pose.rotation.inv_act(a), b


@public_constructor
@dataclass(frozen=True)
class Parallel(_OfDirections):
    """Two directions are parallel, and point the same way.

    Its error is the rotation vector of the shortest turn from one to the other, along two axes across the second: π
    long where they are opposite.  Its rows are the relative angular velocity along these axes, and what it exerts are
    the torques about them [N·m].
    """

    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", name_or(self.name, f"parallel({self.a}, {self.b})"))

    @property
    def component_names(self) -> tuple[str, ...]:
        return f"{self.name}: across 1", f"{self.name}: across 2"

    @property
    def row_units(self) -> tuple[str, ...]:
        return "rad", "rad"

    def error(self, state: Kinematics) -> list[Any]:
        """The turn from a to b; where they are opposite, π about the first of the axes."""
        _, a, b = self._between(state)
        turn, cosine = a.cross(b), a.dot(b)
        square = turn.dot(turn)
        straight = lt(square, 1e-24)
        sine = sqrt(where(straight, 1.0, square))
        near = and_(lt(square, 1e-8), lt(0.0, cosine))
        scale = where(near, 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0)), atan2(sine, cosine) / sine)
        opposite = and_(straight, lt(cosine, 0.0))
        return [where(opposite, h, e.dot(turn) * scale) for e, h in zip(across(b), (math.pi, 0.0), strict=True)]

    def rates(self, state: Kinematics) -> Rates:
        between, _, b = self._between(state)
        axes = across(b)
        rows = [[e.dot(C.angular) for C in between.columns] for e in axes]
        sizes = [sizes_of(between.columns, Force(e, Vec3.zero())) for e in axes]
        return Rates(rows, [e.dot(between.bias.angular) for e in axes], None, sizes)


@public_constructor
@dataclass(frozen=True)
class Angle(_OfDirections):
    """Two directions are at an angle α [rad], 0 < α < π: (cos α − a·b)/sin α = 0.

    Near its zeros this is the angle less α; it is smooth everywhere.  Where the directions are parallel or opposite its
    row vanishes, and the angle 0 is what `Parallel` is for.
    """

    angle: float  # α [rad]
    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        angle = given_number("Angle", "angle", self.angle)
        if not 1e-6 < angle < math.pi - 1e-6:
            raise ValueError(f"Angle: angle: expected one between 0 and π [rad], got {angle}; Parallel is for 0")
        object.__setattr__(self, "angle", angle)
        object.__setattr__(self, "name", name_or(self.name, f"angle({self.a}, {self.b})"))

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",)

    def error(self, state: Kinematics) -> list[Any]:
        _, a, b = self._between(state)
        return [(math.cos(self.angle) - a.dot(b)) * (1.0 / math.sin(self.angle))]

    def rates(self, state: Kinematics) -> Rates:
        """In B, a turns at a × ω: the rate of −a·b is ω·(a × b)."""
        between, a, b = self._between(state)
        share = 1.0 / math.sin(self.angle)
        w, F = between.twist.angular, Force(a.cross(b) * share, Vec3.zero())
        bias = between.bias.angular.dot(F.moment) + w.dot(a.cross(w).cross(b)) * share
        return Rates([[C.dot(F) for C in between.columns]], [bias], None, [sizes_of(between.columns, F)])
