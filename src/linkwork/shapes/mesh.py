"""Reference to a mesh file; the file itself is not opened here."""

from __future__ import annotations

from linkwork._util.checked_arguments import public
from linkwork._util.lazy_dataclass import dataclass
from linkwork.shapes.shape import MasslessShape
from linkwork.spatial.arguments import checked_array, checked_string

__all__ = ["Mesh"]


@public
@dataclass(frozen=True, slots=True)
class Mesh(MasslessShape):
    """Reference to a mesh file by its ``uri``, with a non-zero scale along each axis.

    Raises ValueError for an invalid name or scale.  The file is not opened; `load_mesh` reads it.
    """

    uri: str
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        expected = "mesh: scale: expected three non-zero numbers"
        if isinstance(self.scale, (int, float)):
            raise ValueError(f"{expected}, got {self.scale!r}; one factor is scale=({self.scale!r},) * 3")
        scale = checked_array(self.scale, expected, (3,))
        if not scale.all():
            raise ValueError(f"{expected}, got {self.scale!r}")
        object.__setattr__(self, "uri", checked_string(self.uri, "mesh: uri", "the name of a file"))
        object.__setattr__(self, "scale", tuple(scale.tolist()))

    @property
    def origin_radius(self) -> None:
        return None
