"""What a joint means for the two links that it connects, in either direction.  P is the parent and B the child."""

from __future__ import annotations

from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.joint_site import Scalars, Site
from linkwork.spatial import Force, Motion, Pose, by_rows, cross

__all__ = ["ROWS"]


def link_transform(site: Site, q: Scalars) -> Any:
    return site.X(q)


def link_transform_derivative(site: Site, q: Scalars) -> Any:
    matrices = []
    for k in range(site.type.nq):
        moving = seeded(q, [1.0 if i == k else 0.0 for i in range(site.type.nq)])
        matrices.append([parts(x, moving[0].level)[1] for x in site.X(moving).elements()])
    return matrices


def link_motion_subspace(site: Site, q: Scalars) -> Any:
    return by_rows(site.S(q).columns)


def link_pose(site: Site, q: Scalars, parent_pose: Scalars) -> Any:
    return Pose.of_elements(parent_pose) @ site.X(q)


def link_velocity(site: Site, q: Scalars, v: Scalars, parent_twist: Scalars) -> Any:
    return site.X(q).inv() @ Motion.of(parent_twist) + site.S(q) @ v


def link_acceleration(
    site: Site, q: Scalars, v: Scalars, a: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    X_BP, S = site.X(q).inv(), site.S(q)
    V_J = S @ v
    V_B = X_BP @ Motion.of(parent_twist) + V_J
    return X_BP @ Motion.of(parent_acceleration) + S @ a + site.bias(q, v) + cross(V_B, V_J)


def link_velocity_acceleration(
    site: Site, q: Scalars, v: Scalars, a: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    A_B = link_acceleration(site, q, v, a, parent_twist, parent_acceleration)
    return link_velocity(site, q, v, parent_twist), A_B


def link_motion(
    site: Site,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    parent_pose: Scalars,
    parent_twist: Scalars,
    parent_acceleration: Scalars,
) -> Any:
    V_B, A_B = link_velocity_acceleration(site, q, v, a, parent_twist, parent_acceleration)
    return link_pose(site, q, parent_pose), V_B, A_B


def link_bias_acceleration(
    site: Site, q: Scalars, v: Scalars, parent_twist: Scalars, parent_acceleration: Scalars
) -> Any:
    return link_acceleration(site, q, v, [0.0] * site.type.nv, parent_twist, parent_acceleration)


def link_torque(site: Site, q: Scalars, wrench: Scalars) -> Any:
    return site.S(q).T @ Force.of(wrench)


_POSE, _TWIST, _ACCELERATION = ((4, 4), "1, m"), ((6,), "rad/s, m/s"), ((6,), "rad/s², m/s²")
_FROM_PARENT = "q v a parent_twist parent_acceleration"

ROWS = (
    FunctionSpec.of(link_transform, "q", Output(*_POSE), "Pose X_PB of the child in the parent.", placed=True),
    FunctionSpec.of(
        link_transform_derivative,
        "q",
        Output(("nq", 4, 4)),
        "∂X_PB/∂q_k for every position coordinate.",
        placed=True,
    ),
    FunctionSpec.of(
        link_motion_subspace,
        "q",
        Output((6, "nv"), "1, m"),
        "Motion subspace of the child relative to the parent.",
        placed=True,
    ),
    FunctionSpec.of(link_pose, "q parent_pose", Output(*_POSE), "Pose of the child from the parent's.", placed=True),
    FunctionSpec.of(
        link_velocity, "q v parent_twist", Output(*_TWIST), "Twist of the child from the parent's.", placed=True
    ),
    FunctionSpec.of(
        link_acceleration,
        _FROM_PARENT,
        Output(*_ACCELERATION),
        "Spatial acceleration of the child from the parent's.",
        placed=True,
    ),
    FunctionSpec.of(
        link_velocity_acceleration,
        _FROM_PARENT,
        (Output(*_TWIST, "twist"), Output(*_ACCELERATION, "acceleration")),
        "Twist and spatial acceleration of the child from the parent's.",
        placed=True,
    ),
    FunctionSpec.of(
        link_motion,
        "q v a parent_pose parent_twist parent_acceleration",
        (Output(*_POSE, "pose"), Output(*_TWIST, "twist"), Output(*_ACCELERATION, "acceleration")),
        "Pose, twist and spatial acceleration of the child from the parent's.",
        placed=True,
    ),
    FunctionSpec.of(
        link_bias_acceleration,
        "q v parent_twist parent_acceleration",
        Output(*_ACCELERATION),
        "Spatial acceleration of the child while v̇ = 0, from the parent's.",
        placed=True,
    ),
    FunctionSpec.of(
        link_torque,
        "q wrench",
        Output(("nv",), "N·m, N"),
        "Joint forces of the wrench that one link applies on the other.",
        placed=True,
    ),
)
