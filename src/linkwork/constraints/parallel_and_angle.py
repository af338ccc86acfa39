"""Directions of two bodies that are parallel, or at an angle."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import fixed_together, given_number, name_or
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References, RelativeMotion
from linkwork.constraints.jacobian_rows import across, sizes_of
from linkwork.expr.scalar.functions import and_, atan2, lt, sqrt, where
from linkwork.spatial import Force, Vec3

__all__ = ["Angle", "Parallel"]


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

    def _between(self, k: Kinematics) -> tuple[RelativeMotion, Vec3, Vec3]:
        """How B moves relative to A, and both directions in B's axes."""
        (A, a), (B, b) = k.axis_of(self.a), k.axis_of(self.b)
        between = k.between(B, A)
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

    def error(self, k: Kinematics) -> list[Any]:
        """The turn from a to b; where they are opposite, π about the first of the axes."""
        _, a, b = self._between(k)
        turn, cosine = a.cross(b), a.dot(b)
        square = turn.dot(turn)
        straight = lt(square, 1e-24)
        sine = sqrt(where(straight, 1.0, square))
        near = and_(lt(square, 1e-8), lt(0.0, cosine))
        scale = where(near, 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0)), atan2(sine, cosine) / sine)
        opposite = and_(straight, lt(cosine, 0.0))
        return [where(opposite, h, e.dot(turn) * scale) for e, h in zip(across(b), (math.pi, 0.0), strict=True)]

    def rates(self, k: Kinematics) -> Rates:
        between, _, b = self._between(k)
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

    def error(self, k: Kinematics) -> list[Any]:
        _, a, b = self._between(k)
        return [(math.cos(self.angle) - a.dot(b)) * (1.0 / math.sin(self.angle))]

    def rates(self, k: Kinematics) -> Rates:
        """In B, a turns at a × ω: the rate of −a·b is ω·(a × b)."""
        between, a, b = self._between(k)
        share = 1.0 / math.sin(self.angle)
        w, F = between.twist.angular, Force(a.cross(b) * share, Vec3.zero())
        bias = between.bias.angular.dot(F.moment) + w.dot(a.cross(w).cross(b)) * share
        return Rates([[C.dot(F) for C in between.columns]], [bias], None, [sizes_of(between.columns, F)])
