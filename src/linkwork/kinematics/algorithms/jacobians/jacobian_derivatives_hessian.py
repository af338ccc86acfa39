"""The kinematic Hessian: how the Jacobian of a frame B relative to A changes along each velocity.

Along the velocity of one joint, everything behind it on the way from A to B turns, and P moves away from what is before
it.  So for a column C = (ω; v) and a column C' = (ω'; v') behind it, C' changes along C by (ω × ω'; ω × v'), and C
along C' by (0; ω × v'): the linear part is symmetric.  A joint's own columns change as those of the body that carries
them, and by ∂S.

Source: Haviland and Corke, Manipulator differential kinematics, part 2: acceleration and advanced applications,
IEEE Robotics and Automation Magazine 31, 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.joints.base.from_transform import units
from linkwork.kinematics.algorithms.forward_kinematics_frame_kinematics import VIEW
from linkwork.kinematics.algorithms.jacobians.joint_path import WayStep, way
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3

__all__ = ["ROWS", "changes", "jacobian_hessian"]

Scalars = Sequence[Any]


def jacobian_hessian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> list[list[list[Any]]]:
    """H (6 × nv × nv): H[:, j, k] is what J̇[:, j] is at the unit velocity k."""
    q = tree.split_q(q)
    found = changes(tree, q, way(tree, q, frame, relative_to, expressed_in, at))
    elements = [[H.elements() for H in column] for column in found]
    return [[[H[row] for H in column] for column in elements] for row in range(6)]


def changes(tree: Tree, q: Scalars, steps: Sequence[WayStep]) -> list[list[Motion]]:
    """H[j][k]: how column j changes along the unit velocity k.  q is split, body by body."""
    H = [[Motion.zero()] * tree.nv for _ in range(tree.nv)]
    before: list[tuple[int, Motion]] = []
    for step in steps:
        place = range(tree.nv)[tree.v_slices[step.body]]
        own = list(zip(place, step.columns, strict=True))
        for k, C in before:
            for j, D in own:
                H[j][k] += _turned(C, D)
                H[k][j] += _shifted(C, D)
        for k, unit in zip(place, units(len(place)), strict=True):
            moving = step.seen(tree.bodies[step.body].S_dot(q[step.body], unit))
            for (j, C), C_dot in zip(own, moving, strict=True):
                D = step.columns[k - place.start]
                H[j][k] += (_turned(D, C) if step.outward else _shifted(C, D)) + C_dot
        before += own
    return H


def _turned(C: Motion, behind: Motion) -> Motion:
    """How a motion changes while what has it turns along C."""
    return Motion(C.angular.cross(behind.angular), C.angular.cross(behind.linear))


def _shifted(C: Motion, behind: Motion) -> Motion:
    """How C changes while P moves along a motion behind it."""
    return Motion(Vec3.zero(), C.angular.cross(behind.linear))


ROWS = (
    Row.of(
        jacobian_hessian,
        "q",
        Output((6, "nv", "nv"), "1, m"),
        "How the matrix that maps velocities to a frame's twist changes along each of them.",
        options=VIEW,
    ),
)
