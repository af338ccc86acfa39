"""Constraints between frames: weld, ball joint, parallel axes, angle of axes, and the centre of mass."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import check_relative_motion, name_or, read_number, read_position
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion
from linkwork.constraints.jacobian_rows import AXES, across, relative_point, sizes_of
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, atan2, lt, sqrt, where
from linkwork.spatial import Force, Pose, Vec3, by_rows
from linkwork.spatial.arguments import checked_pose

__all__ = ["Angle", "Ball", "CenterOfMass", "Parallel", "Weld"]


_XYZ = ("x", "y", "z")


@public_constructor
@dataclass(frozen=True)
class Weld(Constraint):
    """Weld of two frames: frame M has the constant pose X_FM = ``pose`` in frame F.

    An example is a foot that sticks to the ground. The six rows are the twist of M relative to F, in coordinates of M,
    as for a loop closed by a fixed joint. The constraint forces are the wrench (moment; force) on M in these
    coordinates [N·m, N]. The error is (rotation vector; translation) from ``pose`` to X_FM. It is zero only at X_FM =
    ``pose``, since the length of the rotation vector is the angle.

    M is ``frame`` and F is ``other``, by default the world. ``name`` is the constraint's name, by default composed of
    the names of its parts.
    """

    frame: str  # M
    other: str = "world"  # F
    _: KW_ONLY
    pose: Pose = Pose.identity()
    name: str = ""

    if TYPE_CHECKING:  # a matrix or three numbers are converted to a pose

        def __init__(self, frame: str, other: str = ..., *, pose: Any = ..., name: str = ...) -> None: ...

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
        residual = self.pose.inv() @ state.between(self.frame, self.other).pose
        difference = Pose.identity().difference(residual)
        return [*difference.angular, *residual.rotation.inv_act(difference.linear)]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(self.frame, self.other)
        squares = [(C.angular.dot(C.angular), C.linear.dot(C.linear)) for C in between.columns]
        sizes = [[angular for angular, _ in squares]] * 3 + [[linear for _, linear in squares]] * 3
        return Rates(by_rows(between.columns), [*between.bias.elements()], None, sizes)


@public_constructor
@dataclass(frozen=True)
class Ball(Constraint):
    """Ball joint: two points of different bodies coincide, r = 0, for example a foot in contact without slip.

    r is the vector from ``b``, displaced by ``point``, to ``a``, in the axes of b's frame.  The constraint force is
    the force on ``a`` in the same axes [N].

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    a: str
    b: str = "world"
    _: KW_ONLY
    point: Vec3 = Vec3(0.0, 0.0, 0.0)  # from b, in the axes of its frame [m]
    name: str = ""

    if TYPE_CHECKING:  # three numbers are converted to a vector

        def __init__(self, a: str, b: str = ..., *, point: Any = ..., name: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", read_position("Ball", "point", self.point))
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
        frame, position = state.locate(self.b)
        return [*(relative_point(state, self.a, frame).point - (position + self.point))]

    def rates(self, state: Kinematics) -> Rates:
        frame, _ = state.locate(self.b)
        return relative_point(state, self.a, frame).rates(*AXES)

    def checked(self, robot: Any) -> Iterable[str]:
        return check_relative_motion(robot, ("point", self.a), ("point", self.b))


@public_constructor
@dataclass(frozen=True)
class CenterOfMass(Constraint):
    """Prescribed centre of mass: its coordinates in a frame have constant values, c_x − x = 0, ...

    There is one row for each coordinate that is not None.  The constraint forces act on the whole robot [N].

    ``x``, ``y`` and ``z`` [m] are coordinates in the frame ``relative_to``.  ``name`` is the constraint's name, by
    default composed of the names of its parts.
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
                object.__setattr__(self, axis, read_number("CenterOfMass", f"{axis} [m]", getattr(self, axis)))
        if not self._coordinates:
            raise ValueError("CenterOfMass: x, y, z: expected a coordinate, as in CenterOfMass(z=0.8)")
        object.__setattr__(self, "name", name_or(self.name, "center of mass"))

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,))

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {_XYZ[i]}" for i, _ in self._coordinates)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * len(self._coordinates)

    def error(self, state: Kinematics) -> list[Any]:
        result = [*state.center_of_mass(self.relative_to)]
        return [result[i] - value for i, value in self._coordinates]

    def checked(self, robot: Any) -> Iterable[str]:
        robot.require_inertias("CenterOfMass")
        if robot.mass == 0.0:
            yield f"robot {robot.name!r} has no mass and no centre of mass: give a link a mass"

    @property
    def _coordinates(self) -> list[tuple[int, float]]:
        return [(i, value) for i, value in enumerate((self.x, self.y, self.z)) if value is not None]


@dataclass(frozen=True)
class _OfDirections(Constraint):
    """Base of constraints between a direction fixed to a frame A and one fixed to a frame B."""

    a: str
    b: str

    @property
    def references(self) -> References:
        return References(directions=(self.a, self.b))

    def checked(self, robot: Any) -> Iterable[str]:
        return check_relative_motion(robot, ("direction", self.a), ("direction", self.b))

    def _between(self, state: Kinematics) -> tuple[RelativeMotion, Vec3, Vec3]:
        """Return the motion of B relative to A, and the directions of A and of B in the axes of B."""
        (A, a), (B, b) = state.axis_of(self.a), state.axis_of(self.b)
        between = state.between(B, A)
        return between, between.pose.rotation.inv_act(a), b


@public_constructor
@dataclass(frozen=True)
class Parallel(_OfDirections):
    """Constraint that two directions are parallel and equally oriented.

    The error is the rotation vector of the smallest rotation from the first to the second direction, in two axes
    orthogonal to the second; its length is π for opposite directions.  The rows are the relative angular velocity
    about these axes, and the constraint forces are the torques about them [N·m].

    ``a`` and ``b`` are the directions, or axes of frames such as "hand.z".  ``name`` is the constraint's name, by
    default composed of the names of its parts.
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
        """Return the rotation vector [rad] that turns direction a to b, as its components on two axes orthogonal to b.

        For opposite directions in a state it is π about the first axis.
        """
        _, a, b = self._between(state)
        sine_axis, cosine = a.cross(b), a.dot(b)
        square = sine_axis.dot(sine_axis)
        straight = lt(square, by_type(1e-24))
        sine = sqrt(where(straight, 1.0, square))
        near = and_(lt(square, 1e-8), lt(0.0, cosine))
        scale = where(near, 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0)), atan2(sine, cosine) / sine)
        opposite = and_(straight, lt(cosine, 0.0))
        return [where(opposite, h, e.dot(sine_axis) * scale) for e, h in zip(across(b), (math.pi, 0.0), strict=True)]

    def rates(self, state: Kinematics) -> Rates:
        between, _, b = self._between(state)
        axes = across(b)
        rows = [[e.dot(C.angular) for C in between.columns] for e in axes]
        sizes = [sizes_of(between.columns, Force(e, Vec3.zero())) for e in axes]
        return Rates(rows, [e.dot(between.bias.angular) for e in axes], None, sizes)


@public_constructor
@dataclass(frozen=True)
class Angle(_OfDirections):
    """Constraint that two directions enclose an angle α [rad], 0 < α < π: (cos α − a·b)/sin α = 0.

    Near its zeros the error equals the angle minus α to first order; it is smooth everywhere.  For parallel or
    opposite directions its row is zero; use `Parallel` for the angle 0.

    ``name`` is the constraint's name, by default composed of the names of its parts.
    """

    angle: float  # α [rad]
    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        angle = read_number("Angle", "angle", self.angle)
        if not 1e-6 < angle < math.pi - 1e-6:
            raise ValueError(f"Angle: angle: expected a number between 0 and π [rad], got {angle}; use Parallel for 0")
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
        """Return the Jacobian row and bias of the constraint on direction a of frame A and direction b of frame B.

        ``state`` gives the angular velocity ω of B relative to A. In the axes of B, ȧ = a × ω, so the rate of −a·b is
        ω·(a × b).
        """
        between, a, b = self._between(state)
        share = 1.0 / math.sin(self.angle)
        w, F = between.twist.angular, Force(a.cross(b) * share, Vec3.zero())
        bias = between.bias.angular.dot(F.moment) + w.dot(a.cross(w).cross(b)) * share
        return Rates([[C.dot(F) for C in between.columns]], [bias], None, [sizes_of(between.columns, F)])
