"""Two points at a distance: a rod with a ball joint at either end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import fixed_together, given_length, name_or
from linkwork.constraints.constraint import Between, Constraint, Kinematics, Rates, References
from linkwork.constraints.jacobian_rows import VelocityLine, along
from linkwork.spatial import Vec3

__all__ = ["Distance"]


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
    def row_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def error(self, k: Kinematics) -> list[Any]:
        _, _, p = self._between(k)
        return [(p.dot(p) * (1.0 / self.length) - self.length) * 0.5]

    def rates(self, k: Kinematics) -> Rates:
        between, b, p = self._between(k)
        V, share = between.twist, 1.0 / self.length
        p_rate = V.linear - V.angular.cross(p - b)
        return along(between, [VelocityLine(p * share, p_rate * share, b, Vec3.zero())])

    def checked(self, robot: Any) -> Iterable[str]:
        return fixed_together(robot, ("point", self.a), ("point", self.b))

    def _between(self, k: Kinematics) -> tuple[Between, Vec3, Vec3]:
        """How b's frame B moves relative to a's, where b is in B, and the way p from a to b in B's axes."""
        (A, a), (B, b) = k.place_of(self.a), k.place_of(self.b)
        between = k.between(B, A)
        return between, b, b + between.pose.rotation.inv_act(between.pose.translation - a)
