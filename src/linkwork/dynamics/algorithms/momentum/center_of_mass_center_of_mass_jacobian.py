"""The Jacobian of the centre of mass: of each joint, how it moves the part of the mass that it carries.

A joint that moves with (ω; v) at the origin of its body, and carries the mass m_i with first moment h_i of what is
asked about, moves its centre of mass by (m_i v + ω × h_i) / m.  So neither places in the world nor distances between
joints are needed, only directions.

Source: Orin and Goswami, Centroidal momentum matrix of a humanoid robot, IROS 2008 (the linear part of the matrix).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.momentum.center_of_mass import PART, part_of
from linkwork.kinematics.algorithms.relative_kinematics import fork, pose_of_body
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3

__all__ = ["ROWS", "center_of_mass_jacobian"]


def center_of_mass_jacobian(
    tree: Tree,
    q: Sequence[Any],
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[list[Any]]:
    """J (3 × nv): the velocity of the centre of mass as seen from A, in E's axes, is J v."""
    part, q = part_of(tree, subtree, "center_of_mass_jacobian"), tree.split_q(q)
    shared, to_part, to_A = fork(tree, part.root.body, tree.frame(relative_to).body)
    carriers = {*part.bodies, *to_part}  # what moves the part as seen from the last body that A's chain shares
    X = {i: body.X(q[i]) for i, _, body in tree.outward() if i in carriers or i in to_A}
    m: dict[int, Any] = dict.fromkeys((shared, *carriers), 0.0)  # of the part that each carries, as a share of it
    h = dict.fromkeys((shared, *carriers), Vec3.zero())
    for i in part.bodies:
        inertia = tree.fixed_inertia if i == WORLD else tree.bodies[i].inertia
        m[i], h[i] = inertia.mass / part.mass, inertia.moment * (1.0 / part.mass)
    for i, p, _ in tree.inward():
        if i in carriers and i != shared:
            m[p] += m[i]
            h[p] += X[i].rotation @ h[i] + X[i].translation * m[i]

    columns = [Vec3.zero()] * tree.nv
    R = {shared: pose_of_body(tree, q, tree.frame(expressed_in), shared).rotation}
    for i, p, body in tree.outward():
        if i in carriers and i != shared:
            R[i] = R[p] @ X[i].rotation
            for k, S in enumerate(body.S(q[i]).columns, start=tree.v_slices[i].start):
                columns[k] += R[i] @ _moved(S, m[i], h[i])
    R_EA, c = R[shared], h[shared]  # all of the part, from here on as a point that A's own joints move away from
    for i in to_A:
        R_EA, c = R_EA @ X[i].rotation, X[i].inv().point(c)
        for k, S in enumerate(tree.bodies[i].S(q[i]).columns, start=tree.v_slices[i].start):
            columns[k] -= R_EA @ _moved(S, 1.0, c)
    return [[column.x for column in columns], [column.y for column in columns], [column.z for column in columns]]


def _moved(S: Motion, mass: Any, moment: Vec3) -> Vec3:
    velocity: Vec3 = S.linear * mass + S.angular.cross(moment)
    return velocity


ROWS = (
    Row.of(
        center_of_mass_jacobian,
        "q",
        Output((3, "nv"), "1, m"),
        "Matrix that maps velocities to that of the centre of mass.",
        options=PART,
        weighed=True,
    ),
)
