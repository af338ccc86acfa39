"""The compound: several shapes as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.shape import Shape, Unweighed
from linkwork.shapes.shape_geometry import Geometry
from linkwork.spatial.arguments import given_pose

__all__ = ["Compound"]


@public
@dataclass(frozen=True, slots=True)
class Compound(Unweighed):
    """Several shapes at poses, such as the convex pieces of a mesh: its distances are the least of its parts'.

    ``parts`` are shapes, pairs (shape, pose) or what `Shape.at` gives; compounds among them are taken apart.  Overlaps
    are counted for each part alone, so nothing is said of what it weighs.  Raises ValueError for no parts, TypeError
    for what is no shape.

    >>> from linkwork import shapes
    >>> dumbbell = shapes.Compound([shapes.Sphere(0.1).at((0, 0, -0.3)), shapes.Sphere(0.1).at((0, 0, 0.3))])
    >>> len(dumbbell.parts), dumbbell.reach
    (2, 0.4)
    """

    parts: Any

    def __post_init__(self) -> None:
        expected = "compound: parts: expected shapes, or pairs of a shape and a pose"
        if isinstance(self.parts, (str, bytes, Shape, Geometry)) or not hasattr(self.parts, "__iter__"):
            raise TypeError(f"{expected}, got {self.parts!r}")
        parts: list[Geometry] = []
        for k, one in enumerate(self.parts):
            placed = _placed(one, f"{expected}, got {one!r} as part {k}", f"compound: part {k}: pose")
            if isinstance(placed.shape, Compound):
                parts += [Geometry(p.shape, placed.origin @ p.origin, p.name) for p in placed.shape.parts]
            else:
                parts.append(placed)
        if not parts:
            raise ValueError("compound: parts: expected one part at least, got none")
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def reach(self) -> float | None:
        reaches = [part.shape.reach for part in self.parts]
        if any(reach is None for reach in reaches):
            return None
        places = [np.linalg.norm([*part.origin.translation]) for part in self.parts]
        return float(max(place + reach for place, reach in zip(places, reaches, strict=True)))


def _placed(one: Any, expected: str, pose: str) -> Geometry:
    if isinstance(one, Geometry):
        return one
    if isinstance(one, Shape):
        return Geometry(one, given_pose(None, pose))
    if isinstance(one, Sequence) and len(one) == 2 and isinstance(one[0], Shape):
        return Geometry(one[0], given_pose(one[1], pose))
    raise TypeError(expected)
