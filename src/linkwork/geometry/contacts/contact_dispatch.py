"""Which pairs touch in more than one point, and what finds these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linkwork.geometry.contacts.contact_manifold import Touching, one_point
from linkwork.geometry.contacts.face_clipping import box_box, box_cylinder, segment_box
from linkwork.geometry.contacts.half_space_contacts import ON_HALF_SPACES
from linkwork.geometry.contacts.support_polygon import outlines
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    CylinderCore,
    HalfSpaceCore,
    PolytopeCore,
    SegmentCore,
    Solid,
)
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs import signed_distance

__all__ = ["CONTACTS", "contacts"]

_BY_OUTLINES = (
    (PolytopeCore, PolytopeCore),
    (PolytopeCore, BoxCore),
    (PolytopeCore, ConeCore),
    (PolytopeCore, CylinderCore),
    (PolytopeCore, SegmentCore),
    (ConeCore, BoxCore),
    (ConeCore, ConeCore),
    (ConeCore, CylinderCore),
    (ConeCore, SegmentCore),
    (CylinderCore, CylinderCore),
    (CylinderCore, SegmentCore),
)

CONTACTS: Mapping[tuple[type, type], Callable[[Any, Any, SignedDistance, Any], Touching]] = {
    (BoxCore, BoxCore): box_box,
    (SegmentCore, BoxCore): segment_box,
    (BoxCore, CylinderCore): box_cylinder,
    **dict.fromkeys(_BY_OUTLINES, outlines),
}
"""By the types of the two cores, in one of the two orders: of cores, what lies between
them, and how far apart they may be."""


def contacts(a: Solid, b: Solid, within: Any = 0.0) -> Touching:
    """Where two solids touch, or are no farther apart than ``within`` [m], over any scalar: one to nine points.

    Raises TypeError for a pair that nothing measures, such as two half-spaces.
    """
    kinds = type(a.core), type(b.core)
    grown = within + a.radius + b.radius
    if isinstance(a.core, HalfSpaceCore) and kinds[1] in ON_HALF_SPACES:
        found = ON_HALF_SPACES[kinds[1]](a.core, b.core, grown)
    elif kinds in CONTACTS:
        found = CONTACTS[kinds](a.core, b.core, signed_distance(Solid(a.core), Solid(b.core)), grown)
    elif (isinstance(b.core, HalfSpaceCore) and kinds[0] in ON_HALF_SPACES) or kinds[::-1] in CONTACTS:
        return contacts(b, a, within).flipped()
    else:
        return one_point(signed_distance(a, b), within)
    return found.rounded(a.radius, b.radius)
