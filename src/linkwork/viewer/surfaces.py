"""Surfaces of the shapes of a scene document; equal surfaces are stored once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath

import numpy as np

from linkwork._util.file_search import FileSearch
from linkwork._util.messages import cut
from linkwork.shapes import Compound, DistanceField, HeightField, Mesh, PointCloud, Shape
from linkwork.viewer.document import Color, Surface
from linkwork.viewer.mesh_surfaces import mesh_surfaces
from linkwork.viewer.solid_and_field_surfaces import (
    cloud_surface,
    convex_surface,
    distance_field_surface,
    height_field_surface,
)
from linkwork.viewer.triangles import decimated, smooth_surface

__all__ = ["PLACEHOLDER_COLOR", "PlacedSurface", "SurfaceSet", "is_placeholder", "shape_surface"]

PLACEHOLDER_COLOR: Color = (0.85, 0.25, 0.65, 0.55)
_PLACEHOLDER_SIZE = 0.06  # [m]
_MAX_CACHED = 512


@dataclass(frozen=True)
class PlacedSurface:
    """Surface of a shape: its index in the document, pose in the shape's frame, and colour in its file or None.

    ``missing`` is the name of a mesh file that could not be read, if the surface is its placeholder.
    """

    index: int
    pose: np.ndarray
    color: Color | None = None
    missing: str | None = None


@dataclass
class SurfaceSet:
    """Surfaces of a document, and notes on what could not be drawn; equal shapes share a surface."""

    surfaces: list[Surface] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """Reasons why mesh files are not read, by their names."""
    _placed: dict[tuple[Shape, FileSearch | None], tuple[PlacedSurface, ...]] = field(default_factory=dict)
    _index: dict[int, int] = field(default_factory=dict)
    _decimated: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, surface: Surface) -> int:
        """Return the index of a surface, which is added unless an equal surface exists."""
        if id(surface) not in self._index:
            self._index[id(surface)] = len(self.surfaces)
            self.surfaces.append(surface)
        return self._index[id(surface)]

    def decimated(self, index: int, limit: int) -> int:
        """Return the index of an approximation of surface ``index`` with at most ``limit`` triangles and no texture."""
        surface = self.surfaces[index]
        if len(surface.triangles) <= limit:
            return index
        if (index, limit) not in self._decimated:
            triangles = surface.triangles.astype(np.int64)
            points, triangles, source = decimated(surface.vertices.astype(float), triangles, limit)
            colors = None if surface.colors is None else surface.colors[source]
            self._decimated[index, limit] = self.add(smooth_surface(points, triangles, colors=colors))
        return self._decimated[index, limit]

    def of_shape(self, shape: Shape, search: FileSearch) -> tuple[PlacedSurface, ...]:
        """Return the surfaces of a shape; a mesh file that cannot be read has a placeholder and a note."""
        key = (shape, search if isinstance(shape, (Mesh, Compound)) else None)
        result = self._placed.get(key)
        if result is None:
            result = self._placed[key] = tuple(self._surfaces_of(shape, search))
        return result

    def _surfaces_of(self, shape: Shape, search: FileSearch) -> Iterator[PlacedSurface]:
        if isinstance(shape, Compound):
            for part in shape.parts:
                pose = part.origin.matrix()
                for placed in self.of_shape(part.shape, search):
                    yield PlacedSurface(placed.index, pose @ placed.pose, placed.color, placed.missing)
            return
        if isinstance(shape, Mesh):
            yield from self._surfaces_of_file(shape, search)
            return
        surface = shape_surface(shape)
        if surface is not None:
            yield PlacedSurface(self.add(surface), np.eye(4))
            return
        self.notes.append(f"{shape!r} is drawn as a placeholder: it has no support points")
        yield self._placeholder("")

    def _surfaces_of_file(self, mesh: Mesh, search: FileSearch) -> Iterator[PlacedSurface]:
        try:
            result = mesh_surfaces(mesh, search)
        except (ValueError, OSError, ImportError) as error:
            name = cut(PurePath(mesh.uri).name or mesh.uri, 60)
            reason = str(error).splitlines()[0]
            self.missing.setdefault(name, reason)
            self.notes.append(f"{name} is drawn as a placeholder: {reason}")
            yield self._placeholder(name)
            return
        self.notes += [note for note in result.notes if note not in self.notes]
        for surface, color in result.surfaces:
            yield PlacedSurface(self.add(surface), np.eye(4), color)

    def _placeholder(self, name: str) -> PlacedSurface:
        return PlacedSurface(self.add(_placeholder_surface()), np.eye(4), PLACEHOLDER_COLOR, name)


@lru_cache(maxsize=_MAX_CACHED)
def shape_surface(shape: Shape) -> Surface | None:
    """Return the surface of a shape that is neither a mesh file nor a compound; None if it cannot be drawn.

    >>> from linkwork import shapes
    >>> shape_surface(shapes.Box((1, 2, 3))).triangles.shape
    (12, 3)
    """
    match shape:
        case HeightField():
            return height_field_surface(shape)
        case DistanceField():
            return distance_field_surface(shape)
        case PointCloud():
            return cloud_surface(shape)
    return convex_surface(shape)


def is_placeholder(surface: Surface) -> bool:
    """Return True for the surface that represents a mesh file that cannot be read."""
    return surface is _placeholder_surface()


@lru_cache(maxsize=1)
def _placeholder_surface() -> Surface:
    from linkwork.shapes import Box

    surface = convex_surface(Box((_PLACEHOLDER_SIZE,) * 3))
    assert surface is not None
    return surface
