"""A blade: it glides along and turns, and does not go sideways."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import name_or
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References
from linkwork.constraints.jacobian_rows import VelocityLine, along
from linkwork.joints.axis import unit_axis
from linkwork.spatial import Vec3

__all__ = ["Skate"]


@public_constructor
@dataclass(frozen=True)
class Skate(Constraint):
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
        object.__setattr__(self, "across", unit_axis(self.across, "Skate", "across"))
        object.__setattr__(self, "name", name_or(self.name, f"{self.runner} skates"))

    @property
    def references(self) -> References:
        return References(frames=(self.runner, self.on))

    @property
    def row_names(self) -> tuple[str, ...]:
        return (f"{self.name}: across",)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def velocity(self, k: Kinematics) -> list[Any]:
        return [k.between(self.runner, self.on).twist.linear.dot(self.across)]

    def rates(self, k: Kinematics) -> Rates:
        fixed = VelocityLine(self.across, Vec3.zero(), Vec3.zero(), Vec3.zero())
        return along(k.between(self.runner, self.on), [fixed])
