"""Shapes of links and obstacles: dimensions, mass properties and support points."""

from typing import TYPE_CHECKING

from linkwork._util.public_names import public_names
from linkwork.shapes.bounding_shapes import (
    Fit,
    bounding_box,
    bounding_capsule,
    bounding_sphere,
    convex_hull,
)
from linkwork.shapes.check_shape import check_shape
from linkwork.shapes.composed_shapes import Compound, Rounded
from linkwork.shapes.field_shapes import DistanceField, HeightField, PointCloud
from linkwork.shapes.mesh import Mesh
from linkwork.shapes.mesh_files import LoadedMesh, load_mesh
from linkwork.shapes.polytope import Polytope
from linkwork.shapes.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Sphere
from linkwork.shapes.shape import Geometry, Material, Shape

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
    "check_shape",
    "convex_hull",
    "load_mesh",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(__name__, __all__)
