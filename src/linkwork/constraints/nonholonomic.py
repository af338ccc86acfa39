"""Points that do not slip: no velocity along given directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import name_or
from linkwork.constraints.constraint import Between, Constraint, Kinematics, Rates, References, renamed
from linkwork.constraints.jacobian_rows import VelocityLine, along
from linkwork.spatial import Vec3

__all__ = ["NoSlip"]


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
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: along {direction}" for direction in self.directions)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * len(self.directions)

    def velocity(self, k: Kinematics) -> list[Any]:
        between = k.between(k.place_of(self.point)[0], self.relative_to)
        return [between.twist.dot(line.wrench) for line in self._lines(k, between)]

    def rates(self, k: Kinematics) -> Rates:
        between = k.between(k.place_of(self.point)[0], self.relative_to)
        return along(between, self._lines(k, between))

    def checked(self, robot: Any) -> Iterator[str]:
        if robot.frame(robot.point(self.point).frame).body == robot.frame(self.relative_to).body:
            yield f"point {self.point!r} is fixed to frame {self.relative_to!r}, so it cannot move relative to it"

    def renamed(self, names: Mapping[str, str]) -> Self:
        return replace(
            self,
            point=renamed(self.point, names),
            directions=tuple(renamed(direction, names) for direction in self.directions),
            relative_to=renamed(self.relative_to, names),
        )

    def _lines(self, k: Kinematics, between: Between) -> list[VelocityLine]:
        """The lines through the point, in its body's coordinates B; what is fixed to D turns by the twist of D in B."""
        B, c = k.place_of(self.point)
        found = []
        for direction in self.directions:
            D, e = k.axis_of(direction)
            if self.relative_to == D:
                e = between.pose.rotation.inv_act(e)
                e_dot = e.cross(between.twist.angular)
            else:
                seen, turning = k.pose(D, B).rotation, k.between(D, B).twist.angular
                e, e_dot = seen @ e, seen @ turning.cross(e)
            found.append(VelocityLine(e, e_dot, c, Vec3.zero()))
        return found
