"""Wrenches across a joint: what of them moves it, and what its mounting bears."""

from __future__ import annotations

from typing import Any

from linkwork.joints.base.from_transform import Span
from linkwork.model.function_spec import Output, Row
from linkwork.model.joint_site import Scalars, Site
from linkwork.spatial import Force, Pose, by_rows

__all__ = ["ROWS"]


def constraint_wrench_subspace(site: Site, q: Scalars) -> Any:
    return by_rows(site.type.constraint_wrench_subspace(q))


def torque(site: Site, q: Scalars, wrench: Scalars) -> Any:
    return site.type.torque(q, Force.of(wrench))


def split_wrench(site: Site, q: Scalars, wrench: Scalars, world_pose: Scalars | None = None) -> Any:
    w = Force.of(wrench)
    joint = Force.of(Span.of([column.elements() for column in site.type.S(q).columns]).projected(w.elements()))
    parts = joint, w - joint
    return parts if world_pose is None else tuple(Pose.of_elements(world_pose) @ part for part in parts)


def reaction(site: Site, q: Scalars, wrench: Scalars) -> Any:
    return -(site.type.X(q) @ Force.of(wrench))


_WRENCH = "N·m, N"

ROWS = (
    Row.of(
        constraint_wrench_subspace,
        "q",
        Output((6, "nc")),
        "Basis of the wrenches that do no work: Tᵀ S = 0.",
    ),
    Row.of(torque, "q wrench", Output(("nv",), _WRENCH), "Joint forces Sᵀ F of a wrench across the joint."),
    Row.of(
        split_wrench,
        "q wrench",
        (Output((6,), _WRENCH, "joint_force"), Output((6,), _WRENCH, "internal_force")),
        "Joint force, w projected onto S's span, and internal force, in M, or in the world where M's pose is given.",
        optional=("world_pose",),
    ),
    Row.of(reaction, "q wrench", Output((6,), _WRENCH), "Wrench −X_FM w on the link before the joint, in F."),
)
