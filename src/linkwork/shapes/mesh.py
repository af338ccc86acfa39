"""The mesh: kept as data, no file is opened here."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork._util.checked_arguments import public
from linkwork.shapes.shape import MasslessShape
from linkwork.spatial.arguments import checked_array, checked_string

__all__ = ["Mesh"]


@public
@dataclass(frozen=True, slots=True)
class Mesh(MasslessShape):
    """A mesh file, by the name the description gives it, and the scale along each axis, none of them zero.

    Raises ValueError for a name or scale that is none.  The file is not looked for.
    """

    uri: str
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        expected = "mesh: scale: expected three numbers, none of them zero"
        scale = checked_array(self.scale, expected, (3,))
        if not scale.all():
            raise ValueError(f"{expected}, got {self.scale!r}")
        object.__setattr__(self, "uri", checked_string(self.uri, "mesh: uri", "the name of a file"))
        object.__setattr__(self, "scale", tuple(scale.tolist()))

    @property
    def origin_radius(self) -> None:
        return None
