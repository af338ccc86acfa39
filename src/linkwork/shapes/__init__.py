"""Shapes of links, what they look like, and where they sit."""

from .box import Box
from .capsule import Capsule
from .cone import Cone
from .cylinder import Cylinder
from .ellipsoid import Ellipsoid
from .geometry import Geometry, Material
from .half_space import HalfSpace
from .mesh import Mesh
from .polytope import Polytope
from .rounded import Rounded
from .shape import Shape
from .sphere import Sphere

__all__ = [
    "Box",
    "Capsule",
    "Cone",
    "Cylinder",
    "Ellipsoid",
    "Geometry",
    "HalfSpace",
    "Material",
    "Mesh",
    "Polytope",
    "Rounded",
    "Shape",
    "Sphere",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
