"""Signed distances of shapes over any scalar: cores and radii, and what measures each pair."""

from .cores import (
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
from .distance import SignedDistance
from .pairs import PAIRS, signed_distance
from .solids import SOLIDS, solid

__all__ = [
    "PAIRS",
    "SOLIDS",
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
    "signed_distance",
    "solid",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
