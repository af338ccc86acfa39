"""Signed distances, contacts, rays and scenes of shapes, over any scalar."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.geometry.cores import (
        BoxCore,
        ConeCore,
        Core,
        CylinderCore,
        EllipsoidCore,
        HalfSpaceCore,
        PointCore,
        PolytopeCore,
        SegmentCore,
        Solid,
    )
    from linkwork.geometry.distance import SignedDistance
    from linkwork.geometry.pairs import PAIRS, signed_distance
    from linkwork.geometry.scene import Obstacle, Scene
    from linkwork.geometry.separation_bounds import BOUNDS, BoundingSphere, bounding_sphere
    from linkwork.geometry.solids import SOLIDS, solid
    from linkwork.geometry.support_points import SUPPORTS, support, support_is_one

__all__ = [
    "BOUNDS",
    "PAIRS",
    "SOLIDS",
    "SUPPORTS",
    "BoundingSphere",
    "BoxCore",
    "ConeCore",
    "Core",
    "CylinderCore",
    "EllipsoidCore",
    "HalfSpaceCore",
    "Obstacle",
    "PointCore",
    "PolytopeCore",
    "Scene",
    "SegmentCore",
    "SignedDistance",
    "Solid",
    "bounding_sphere",
    "signed_distance",
    "solid",
    "support",
    "support_is_one",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.geometry.cores": (
                "BoxCore ConeCore Core CylinderCore EllipsoidCore HalfSpaceCore PointCore PolytopeCore "
                "SegmentCore Solid"
            ),
            "linkwork.geometry.distance": "SignedDistance",
            "linkwork.geometry.pairs": "PAIRS signed_distance",
            "linkwork.geometry.scene": "Obstacle Scene",
            "linkwork.geometry.separation_bounds": "BOUNDS BoundingSphere bounding_sphere",
            "linkwork.geometry.solids": "SOLIDS solid",
            "linkwork.geometry.support_points": "SUPPORTS support support_is_one",
        },
    )
