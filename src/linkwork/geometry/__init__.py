"""Signed distances, contacts, rays and scenes of shapes, over any scalar."""

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
    "PointCore",
    "PolytopeCore",
    "SegmentCore",
    "SignedDistance",
    "Solid",
    "bounding_sphere",
    "signed_distance",
    "solid",
    "support",
    "support_is_one",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
