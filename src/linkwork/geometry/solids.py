"""Shapes at poses as solids: what each is without the radius that rounds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..shapes import Box, Cylinder, Shape, Sphere
from ..spatial import Pose, Vec3
from .cores import BoxCore, CylinderCore, PointCore, Solid

__all__ = ["SOLIDS", "solid"]

SOLIDS: Mapping[type, Callable[[Any, Pose], Solid]] = {
    Sphere: lambda shape, X: Solid(PointCore(X.translation), shape.radius),
    Box: lambda shape, X: Solid(BoxCore(X, Vec3.of(shape.size) * 0.5)),
    Cylinder: lambda shape, X: Solid(CylinderCore(X, shape.radius, 0.5 * shape.length)),
}
"""An entry a type of shape."""


def solid(shape: Shape, X: Pose) -> Solid:
    """A shape whose frame is at a pose.  Raises TypeError for one that is no convex solid, such as a mesh's file."""
    try:
        return SOLIDS[type(shape)](shape, X)
    except KeyError:
        raise TypeError(f"expected a convex shape, got {shape!r}") from None
