"""Signed distances, contacts, rays and scenes of shapes, over any scalar."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.geometry.cores import BOUNDS as BOUNDS
    from linkwork.geometry.cores import BoundingSphere as BoundingSphere
    from linkwork.geometry.cores import BoxCore as BoxCore
    from linkwork.geometry.cores import ConeCore as ConeCore
    from linkwork.geometry.cores import Core as Core
    from linkwork.geometry.cores import CylinderCore as CylinderCore
    from linkwork.geometry.cores import EllipsoidCore as EllipsoidCore
    from linkwork.geometry.cores import HalfSpaceCore as HalfSpaceCore
    from linkwork.geometry.cores import PointCore as PointCore
    from linkwork.geometry.cores import PolytopeCore as PolytopeCore
    from linkwork.geometry.cores import SegmentCore as SegmentCore
    from linkwork.geometry.cores import SignedDistance as SignedDistance
    from linkwork.geometry.cores import Solid as Solid
    from linkwork.geometry.cores import bounding_sphere as bounding_sphere
    from linkwork.geometry.obstacle import Obstacle as Obstacle
    from linkwork.geometry.pairs import PAIRS as PAIRS
    from linkwork.geometry.pairs import signed_distance as signed_distance
    from linkwork.geometry.scene import Scene as Scene
    from linkwork.geometry.solids import SOLIDS as SOLIDS
    from linkwork.geometry.solids import solid as solid
    from linkwork.geometry.support_points import SUPPORTS as SUPPORTS
    from linkwork.geometry.support_points import support as support
    from linkwork.geometry.support_points import support_is_one as support_is_one


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.geometry.cores": (
                "BOUNDS BoundingSphere BoxCore ConeCore Core CylinderCore EllipsoidCore HalfSpaceCore "
                "PointCore PolytopeCore SegmentCore SignedDistance Solid bounding_sphere"
            ),
            "linkwork.geometry.pairs": "PAIRS signed_distance",
            "linkwork.geometry.obstacle": "Obstacle",
            "linkwork.geometry.scene": "Scene",
            "linkwork.geometry.solids": "SOLIDS solid",
            "linkwork.geometry.support_points": "SUPPORTS support support_is_one",
        },
    )
