"""The motion of the frame after a joint relative to the frame before it."""

from __future__ import annotations

from typing import Any

from ...spatial import by_rows
from ..row import Output, Row
from .site import Scalars, Site

__all__ = ["ROWS"]


def transform(site: Site, q: Scalars) -> Any:
    return site.type.X(q)


def twist(site: Site, q: Scalars, v: Scalars) -> Any:
    return site.type.twist(q, v)


def spatial_acceleration(site: Site, q: Scalars, v: Scalars, a: Scalars) -> Any:
    return site.type.acceleration(q, v, a)


def bias_acceleration(site: Site, q: Scalars, v: Scalars) -> Any:
    return site.type.bias(q, v)


def motion_subspace(site: Site, q: Scalars) -> Any:
    return by_rows(site.type.S(q).columns)


_ACCELERATION = Output((6,), "rad/s², m/s²")

ROWS = (
    Row.of(transform, "q", Output((4, 4), "1, m"), "Pose X_FM of the frame after the joint in the frame before it."),
    Row.of(twist, "q v", Output((6,), "rad/s, m/s"), "Twist S v of M relative to F, in M's coordinates."),
    Row.of(spatial_acceleration, "q v a", _ACCELERATION, "Spatial acceleration S a + Ṡ v of M relative to F, in M's."),
    Row.of(bias_acceleration, "q v", _ACCELERATION, "Spatial acceleration Ṡ v while v̇ = 0."),
    Row.of(motion_subspace, "q", Output((6, "nv"), "1, m"), "S, which maps velocities to twists."),
)
