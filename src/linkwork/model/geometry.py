"""Shapes on a link, kept as data: no mesh is opened here."""

from __future__ import annotations

from dataclasses import dataclass

from ..spatial import Pose

__all__ = ["Box", "Cylinder", "Geometry", "Material", "Mesh", "Shape", "Sphere"]


@dataclass(frozen=True, slots=True)
class Box:
    """A box about the origin: its edges along x, y and z [m]."""

    size: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder about the origin, its axis along z: radius and length [m]."""

    radius: float
    length: float


@dataclass(frozen=True, slots=True)
class Sphere:
    """A sphere about the origin: radius [m]."""

    radius: float


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh file, by the name the description gives it, and the scale along each axis."""

    uri: str
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


Shape = Box | Cylinder | Sphere | Mesh


@dataclass(frozen=True, slots=True)
class Material:
    """Colour (red, green, blue, alpha in [0, 1]) and texture file of a visual shape, where given."""

    name: str = ""
    rgba: tuple[float, float, float, float] | None = None
    texture: str | None = None


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape and its pose in the link's frame."""

    shape: Shape
    origin: Pose
    name: str = ""
    material: Material | None = None
