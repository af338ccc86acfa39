"""The motion of the frame after a joint relative to the frame before it."""

from __future__ import annotations

from typing import Any

from linkwork.model.function_spec import Output, Row
from linkwork.model.joint_site import Scalars, Site
from linkwork.spatial import Motion, Pose, by_rows

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


def configuration_of(site: Site, pose: Scalars) -> Any:
    return site.type.q_of(Pose.of_elements(pose))


def velocity_of(site: Site, q: Scalars, motion: Scalars) -> Any:
    return site.type.v_of_twist(q, Motion.of(motion))


def gap(site: Site, pose: Scalars) -> Any:
    return site.type.gap(Pose.of_elements(pose))


_ACCELERATION = Output((6,), "rad/s², m/s²")

ROWS = (
    Row.of(transform, "q", Output((4, 4), "1, m"), "Pose X_FM of the frame after the joint in the frame before it."),
    Row.of(twist, "q v", Output((6,), "rad/s, m/s"), "Twist S v of M relative to F, in M's coordinates."),
    Row.of(spatial_acceleration, "q v a", _ACCELERATION, "Spatial acceleration S a + Ṡ v of M relative to F, in M's."),
    Row.of(bias_acceleration, "q v", _ACCELERATION, "Spatial acceleration Ṡ v while v̇ = 0."),
    Row.of(
        configuration_of, "pose", Output(("nq",), configuration=True), "A configuration whose transform is nearest."
    ),
    Row.of(velocity_of, "q motion", Output(("nv",), "rad/s, m/s"), "The velocity whose twist is nearest to one."),
    Row.of(gap, "pose", Output((6,), "rad, m"), "What is left to a pose from the nearest configuration."),
    Row.of(motion_subspace, "q", Output((6, "nv"), "1, m"), "S, which maps velocities to twists."),
)
