"""Shapes of links and obstacles: dimensions, mass properties and support points."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.shapes.bounding_shapes import (
        Fit,
        bounding_box,
        bounding_capsule,
        bounding_sphere,
        convex_hull,
    )
    from linkwork.shapes.composed_shapes import Compound, Rounded
    from linkwork.shapes.field_shapes import DistanceField, HeightField, PointCloud
    from linkwork.shapes.mesh import Mesh
    from linkwork.shapes.mesh_files import LoadedMesh, load_mesh
    from linkwork.shapes.polytope import Polytope
    from linkwork.shapes.primitives import Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Sphere
    from linkwork.shapes.shape import Geometry, Material, Shape
    from linkwork.shapes.shape_contract import check_shape

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
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.shapes.bounding_shapes": "Fit bounding_box bounding_capsule bounding_sphere convex_hull",
            "linkwork.shapes.shape_contract": "check_shape",
            "linkwork.shapes.composed_shapes": "Compound Rounded",
            "linkwork.shapes.field_shapes": "DistanceField HeightField PointCloud",
            "linkwork.shapes.mesh": "Mesh",
            "linkwork.shapes.mesh_files": "LoadedMesh load_mesh",
            "linkwork.shapes.polytope": "Polytope",
            "linkwork.shapes.primitives": "Box Capsule Cone Cylinder Ellipsoid HalfSpace Sphere",
            "linkwork.shapes.shape": "Geometry Material Shape",
        },
    )
