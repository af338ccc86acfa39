"""Where a shape sits on a link, and what it looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork._util.checked_arguments import public
from linkwork.spatial import Pose
from linkwork.spatial.arguments import given_numbers

if TYPE_CHECKING:
    from linkwork.shapes.shape import Shape

__all__ = ["Geometry", "Material"]


@public
@dataclass(frozen=True, slots=True)
class Material:
    """Colour (red, green, blue and alpha, 1 if left out, in [0, 1]) and texture file of a visual shape, where given.

    Raises ValueError for a colour that is none.
    """

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None
    texture: str | None = None

    def __post_init__(self) -> None:
        if self.rgba is None:
            return
        expected = "material: rgba: expected three or four numbers between 0 and 1"
        rgba = given_numbers(self.rgba, expected, (3,), (4,)).tolist()
        if min(rgba) < 0.0 or max(rgba) > 1.0:
            raise ValueError(f"{expected}, got {self.rgba!r}")
        object.__setattr__(self, "rgba", (*rgba, 1.0)[:4])


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape and its pose in the link's frame: see `Shape.at`."""

    shape: Shape
    origin: Pose
    name: str = ""
    material: Material | None = None
