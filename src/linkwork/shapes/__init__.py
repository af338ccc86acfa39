"""Shapes of links, what they look like, and where they sit."""

from linkwork.shapes.bounding_shapes import (
    Fit,
    bounding_box,
    bounding_capsule,
    bounding_sphere,
    convex_hull,
)
from linkwork.shapes.composed_shapes import Compound
from linkwork.shapes.composed_shapes_rounded import Rounded
from linkwork.shapes.field_shapes_distance_field import DistanceField
from linkwork.shapes.field_shapes_height_field import HeightField
from linkwork.shapes.field_shapes_point_cloud import PointCloud
from linkwork.shapes.mesh import Mesh
from linkwork.shapes.mesh_files import LoadedMesh, load_mesh
from linkwork.shapes.polytope import Polytope
from linkwork.shapes.primitives import Box
from linkwork.shapes.primitives_capsule import Capsule
from linkwork.shapes.primitives_cone import Cone
from linkwork.shapes.primitives_cylinder import Cylinder
from linkwork.shapes.primitives_ellipsoid import Ellipsoid
from linkwork.shapes.primitives_half_space import HalfSpace
from linkwork.shapes.primitives_sphere import Sphere
from linkwork.shapes.shape import Shape
from linkwork.shapes.shape_geometry import Geometry, Material

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
