"""Shapes of links and obstacles: dimensions, mass properties and support points."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.shapes.bounding_shapes import Fit as Fit
    from linkwork.shapes.bounding_shapes import bounding_box as bounding_box
    from linkwork.shapes.bounding_shapes import bounding_capsule as bounding_capsule
    from linkwork.shapes.bounding_shapes import bounding_sphere as bounding_sphere
    from linkwork.shapes.bounding_shapes import convex_hull as convex_hull
    from linkwork.shapes.composed_shapes import Compound as Compound
    from linkwork.shapes.composed_shapes import Rounded as Rounded
    from linkwork.shapes.field_shapes import DistanceField as DistanceField
    from linkwork.shapes.field_shapes import HeightField as HeightField
    from linkwork.shapes.field_shapes import PointCloud as PointCloud
    from linkwork.shapes.mesh import Mesh as Mesh
    from linkwork.shapes.mesh_files import LoadedMesh as LoadedMesh
    from linkwork.shapes.mesh_files import load_mesh as load_mesh
    from linkwork.shapes.polytope import Polytope as Polytope
    from linkwork.shapes.primitives import Box as Box
    from linkwork.shapes.primitives import Capsule as Capsule
    from linkwork.shapes.primitives import Cone as Cone
    from linkwork.shapes.primitives import Cylinder as Cylinder
    from linkwork.shapes.primitives import Ellipsoid as Ellipsoid
    from linkwork.shapes.primitives import HalfSpace as HalfSpace
    from linkwork.shapes.primitives import Sphere as Sphere
    from linkwork.shapes.shape import Geometry as Geometry
    from linkwork.shapes.shape import Material as Material
    from linkwork.shapes.shape import Shape as Shape
    from linkwork.shapes.shape_contract import check_shape as check_shape


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
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
