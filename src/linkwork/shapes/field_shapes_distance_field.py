"""The distance field: signed distances at the points of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.field_shapes import Sampled, ends_of_grid, given_array, placed_grid

__all__ = ["DistanceField"]


@public
@dataclass(frozen=True, slots=True, eq=False)
class DistanceField(Sampled):
    """Signed distances (l, m, n) [m] at the points origin + (spacing[0] i, spacing[1] j, spacing[2] k).

    ``spacing`` [m] is one number or three, ``origin`` (3,) [m], the middle of the grid at zero if left out.  Between
    points distances are interpolated, which is off by ``error`` at most; beyond the grid there is taken to be nothing.
    `linkwork.distance_field` makes one of shapes.

    Raises ValueError for fewer than two points along an axis, numbers that are not finite, and a spacing that is not
    above zero.
    """

    values: Any
    spacing: Any
    origin: Any = None

    def __post_init__(self) -> None:
        what = "distance field"
        expected = f"{what}: values: expected numbers (l, m, n) [m], at least (2, 2, 2)"
        values = given_array(self.values, expected, 3, (2, 2, 2))
        spacing, origin = placed_grid(what, self.spacing, self.origin, values.shape)
        for name, value in (("values", values), ("spacing", spacing), ("origin", origin)):
            object.__setattr__(self, name, value)

    @property
    def error(self) -> float:
        """How far interpolated distances are off at most, if those at the points are right: half of a cell's diagonal.

        A distance d changes by no more than one goes, so Σ wᵢ d(cᵢ) is off by Σ wᵢ ‖p − cᵢ‖ ≤ √(Σ wᵢ ‖p − cᵢ‖²), and
        that is √(Σ t (1 − t) h²) over the axes.
        """
        return 0.5 * float(np.linalg.norm(self.spacing))

    @property
    def reach(self) -> float:
        ends = ends_of_grid(self.spacing, self.origin, self.values.shape)
        return float(np.linalg.norm(ends))
