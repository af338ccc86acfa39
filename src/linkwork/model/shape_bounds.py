"""Bounding sphere of the shapes of a link, as far as their sizes are known."""

from __future__ import annotations

import math
from collections.abc import Sequence

from linkwork.shapes import Geometry
from linkwork.spatial import Vec3

__all__ = ["bounding_sphere_of"]


def bounding_sphere_of(shapes: Sequence[Geometry]) -> tuple[Vec3, float] | None:
    """Return the centre of the shapes and their maximum distance from it [m]; None if it is unknown."""
    bounds = [(geometry.origin, geometry.shape.bounding_sphere) for geometry in shapes]
    balls = [(X.point(bound[0]), bound[1]) for X, bound in bounds if bound is not None]
    if not balls or len(balls) < len(shapes):
        return None
    centers = [center for center, _ in balls]
    middle = sum(centers[1:], start=centers[0]) * (1.0 / len(centers))
    reach = max(math.hypot(*(center - middle)) + radius for center, radius in balls)
    return (middle, reach) if math.isfinite(reach) else None
