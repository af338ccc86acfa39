"""The height field: ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.field_shapes import Sampled, ends_of_grid, given_array, placed_grid

__all__ = ["HeightField"]


@public
@dataclass(frozen=True, slots=True, eq=False)
class HeightField(Sampled):
    """Ground under a grid: all that lies below its triangles, down to any depth.

    ``heights`` (m, n) [m] are z above the points origin + (spacing[0] i, spacing[1] j); ``spacing`` [m] is one number
    or two, ``origin`` (2,) [m], the middle of the grid at zero if left out.  Each cell has two triangles, on both sides
    of the line from (i, j) to (i + 1, j + 1).  Beyond the grid is nothing: let it reach further than what stands on
    it.

    Raises ValueError for fewer than two rows or columns, numbers that are not finite, and a spacing that is not above
    zero.

    >>> from linkwork import shapes
    >>> ground = shapes.HeightField([[0.0, 0.0], [0.1, 0.1]], 0.5)
    >>> ground.origin, round(ground.reach, 4)
    ((-0.25, -0.25), 0.3674)
    """

    heights: Any
    spacing: Any
    origin: Any = None

    def __post_init__(self) -> None:
        what = "height field"
        heights = given_array(self.heights, f"{what}: heights: expected numbers (m, n) [m], at least (2, 2)", 2, (2, 2))
        spacing, origin = placed_grid(what, self.spacing, self.origin, heights.shape)
        for name, value in (("heights", heights), ("spacing", spacing), ("origin", origin)):
            object.__setattr__(self, name, value)

    @property
    def reach(self) -> float:
        """Of the surface: the ground below it has no end."""
        ends = ends_of_grid(self.spacing, self.origin, self.heights.shape)
        return float(np.linalg.norm([*ends, np.abs(self.heights).max()]))
