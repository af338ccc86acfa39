"""Shapes of links, what they look like, and where they sit."""

from .box import Box
from .capsule import Capsule
from .compound import Compound
from .cone import Cone
from .cylinder import Cylinder
from .distance_field import DistanceField
from .ellipsoid import Ellipsoid
from .fits import Fit, bounding_box, bounding_capsule, bounding_sphere, convex_hull
from .geometry import Geometry, Material
from .half_space import HalfSpace
from .height_field import HeightField
from .loading import LoadedMesh, load_mesh
from .mesh import Mesh
from .point_cloud import PointCloud
from .polytope import Polytope
from .rounded import Rounded
from .shape import Shape
from .sphere import Sphere

__all__ = [
    "Box",
    "Capsule",
    "Compound",
    "Cone",
    "Cylinder",
    "DistanceField",
    "Ellipsoid",
    "Fit",
    "Geometry",
    "HalfSpace",
    "HeightField",
    "LoadedMesh",
    "Material",
    "Mesh",
    "PointCloud",
    "Polytope",
    "Rounded",
    "Shape",
    "Sphere",
    "bounding_box",
    "bounding_capsule",
    "bounding_sphere",
    "convex_hull",
    "load_mesh",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
