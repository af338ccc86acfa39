"""Dispatch of signed distances: function by the types of two cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    FieldCore,
    HalfSpaceCore,
    PointCore,
    SegmentCore,
    SignedDistance,
    Solid,
)
from linkwork.geometry.pairs.closed_form.point_and_segment_pairs import (
    half_space_convex,
    point_box,
    point_cylinder,
    point_point,
)
from linkwork.geometry.pairs.distance_derivatives import differentiated
from linkwork.geometry.support_points import SUPPORTS

__all__ = ["LONG", "PAIRS", "has_own", "is_closed_form", "signed_distance"]

PAIRS: Mapping[tuple[type, type], Callable[[Any, Any], SignedDistance]] = {
    (PointCore, PointCore): point_point,
    (PointCore, SegmentCore): partial(differentiated, "point_segment"),
    (PointCore, BoxCore): point_box,
    (PointCore, CylinderCore): point_cylinder,
    (PointCore, ConeCore): partial(differentiated, "point_cone"),
    (PointCore, EllipsoidCore): partial(differentiated, "point_ellipsoid"),
    (SegmentCore, SegmentCore): partial(differentiated, "segment_segment"),
    (SegmentCore, BoxCore): partial(differentiated, "segment_box"),
    (BoxCore, BoxCore): partial(differentiated, "box_box"),
    **{(HalfSpaceCore, kind): half_space_convex for kind in SUPPORTS},
}
"""Closed-form functions by the types of the two cores, in one of both orders.

Other pairs of bounded cores are in `LONG`, or use `convex`.
"""

LONG: Mapping[tuple[type, type], Callable[[Any, Any], SignedDistance]] = {
    (SegmentCore, CylinderCore): partial(differentiated, "segment_cylinder"),
    (BoxCore, CylinderCore): partial(differentiated, "box_cylinder"),
    (CylinderCore, CylinderCore): partial(differentiated, "cylinder_cylinder"),
}
"""Functions of other pairs with long code and short loops."""


def is_closed_form(a: type, b: type) -> bool:
    """Return True if the signed distance of two types of cores has a closed form, in either order."""
    return (a, b) in PAIRS or (b, a) in PAIRS


def has_own(a: type, b: type) -> bool:
    """Return True if two types of cores have their own function for the signed distance, in either order.

    The code of such a function may be long.
    """
    return _own(a, b)[0] is not None


def _own(a: type, b: type) -> tuple[Callable[[Any, Any], SignedDistance] | None, bool]:
    """Return (function, swapped): the pair's own function, or None; ``swapped`` is True if it takes b before a."""
    for table in (PAIRS, LONG):
        for kinds, swapped in (((a, b), False), ((b, a), True)):
            if kinds in table:
                return table[kinds], swapped
    return None, False


def signed_distance(a: Solid, b: Solid) -> SignedDistance:
    """Compute the signed distance of two solids, over any scalar.

    Raises TypeError for an unsupported pair, such as two half-spaces.
    """
    kinds = type(a.core), type(b.core)
    measure, swapped = _own(*kinds)
    if measure is not None:
        result = measure(b.core, a.core).flipped() if swapped else measure(a.core, b.core)
    elif isinstance(a.core, FieldCore) and kinds[1] in SUPPORTS:
        result = a.core.measure(b.core)
    elif isinstance(b.core, FieldCore) and kinds[0] in SUPPORTS:
        result = b.core.measure(a.core).flipped()
    elif isinstance(a.core, FieldCore) and a.core.points is not None:
        result = a.core.points(lambda point: signed_distance(Solid(point), Solid(b.core)))
    elif isinstance(b.core, FieldCore) and b.core.points is not None:
        result = b.core.points(lambda point: signed_distance(Solid(point), Solid(a.core))).flipped()
    elif all(kind in SUPPORTS for kind in kinds):
        result = differentiated("convex", a.core, b.core)
    else:
        names = " and ".join(kind.__name__.removesuffix("Core").lower() for kind in kinds)
        raise TypeError(f"signed_distance: the distance of a {names} is not supported")
    return result.rounded(a.radius, b.radius)
