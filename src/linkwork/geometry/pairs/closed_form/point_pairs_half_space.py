"""A half-space and anything that is bounded: by the point that reaches farthest into it."""

from __future__ import annotations

from linkwork.geometry.cores import Core, HalfSpaceCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.support_points import support, support_is_one

__all__ = ["half_space_convex"]


def half_space_convex(a: HalfSpaceCore, b: Core) -> SignedDistance:
    """n · (p − point), p being b's support point along −n.  The normal is the plane's."""
    deepest = support(b, -a.normal)
    distance = a.normal.dot(deepest - a.point)
    return SignedDistance(distance, a.normal, deepest - a.normal * distance, deepest, support_is_one(b, -a.normal))
