"""Shapes of links, what they look like, and where they sit."""

from .box import Box
from .cylinder import Cylinder
from .geometry import Geometry, Material
from .mesh import Mesh
from .shape import Shape
from .sphere import Sphere

__all__ = ["Box", "Cylinder", "Geometry", "Material", "Mesh", "Shape", "Sphere"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
