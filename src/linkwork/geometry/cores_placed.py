"""Cores and distances in other coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkwork.expr.scalar.functions import where
from linkwork.geometry.cores import Core, HalfSpaceCore, PointCore, SegmentCore
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.unit_vectors import choose
from linkwork.spatial import InversePose, Pose

__all__ = ["chosen", "core_in", "distance_in"]


def core_in(X: Pose | InversePose, core: Core) -> Core:
    """A core given in b, in the coordinates of a, by X_ab."""
    turned = X.rotation.inv_act if isinstance(X, InversePose) else lambda v: X.rotation @ v
    if isinstance(core, PointCore):
        return PointCore(X.point(core.point))
    if isinstance(core, SegmentCore):
        return SegmentCore(X.point(core.center), turned(core.half))
    if isinstance(core, HalfSpaceCore):
        return HalfSpaceCore(X.point(core.point), turned(core.normal))
    return replace(core, pose=X @ core.pose)


def distance_in(X: Pose, found: SignedDistance) -> SignedDistance:
    """What was measured in b, in the coordinates of a, by X_ab."""
    return replace(found, normal=X.rotation @ found.normal, on_a=X.point(found.on_a), on_b=X.point(found.on_b))


def chosen(condition: Any, yes: SignedDistance, no: SignedDistance) -> SignedDistance:
    """One of two."""
    return SignedDistance(
        where(condition, yes.distance, no.distance),
        choose(condition, yes.normal, no.normal),
        choose(condition, yes.on_a, no.on_a),
        choose(condition, yes.on_b, no.on_b),
        where(condition, yes.unique, no.unique),
    )
