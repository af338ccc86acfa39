"""The Jacobian of a frame B relative to A, expressed in E, at a point P of B; its parts, the angular and that of P's
position; and the Jacobian in the coordinates q themselves.

A joint's columns are its motions, seen from P: the twist of B relative to A is the sum of what the joints between them
contribute, and those on A's side count the other way.  A velocity is linear in the coordinates' rates, v = E(q) q̇ joint
by joint, so the twist is J E q̇: a quaternion has four columns, of which only rates tangent to the unit sphere make use.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 4.5; Diebel, Representing attitude: Euler angles,
unit quaternions, and rotation vectors, 2006, section 6.

Jacobians of all bodies at once: their columns are the same motions, seen from different points.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 4.5 (body Jacobians).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import product
from linkwork.kinematics.algorithms.forward_kinematics import VIEW
from linkwork.kinematics.algorithms.jacobians.joint_path import columns_of, poses_in, way
from linkwork.kinematics.algorithms.relative_kinematics import fork, moved
from linkwork.model.function_spec import FunctionSpec, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Subspace, by_rows

__all__ = ["ROWS", "angular_jacobian", "configuration_jacobian", "jacobian", "position_jacobian"]


Scalars = Sequence[Any]


def jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """J (6 × nv): the twist of B relative to A, expressed in E, at P, is J v."""
    return by_rows(columns_of(tree, way(tree, tree.split_q(q), frame, relative_to, expressed_in, point)))


def position_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """J (3 × nv): the velocity relative to A of the point of B at P, expressed in E, is J v."""
    return jacobian(tree, q, frame, relative_to, expressed_in, point)[3:]


def angular_jacobian(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", expressed_in: str = "world"
) -> list[list[Any]]:
    """J (3 × nv): the angular velocity of B relative to A, expressed in E, is J v."""
    return jacobian(tree, q, frame, relative_to, expressed_in)[:3]


def configuration_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """J (6 × nq): the twist of B relative to A, expressed in E, at P, is J q̇ for every rate that q can have."""
    q = tree.split_q(q)
    rows = by_rows(columns_of(tree, way(tree, q, frame, relative_to, expressed_in, point)))
    found: list[list[Any]] = [[] for _ in rows]
    for i, body in tree.stacked():
        block = product([row[tree.v_slices[i]] for row in rows], body.asked("velocity_from_rate_jacobian", q[i]))
        for row, part in zip(found, block, strict=True):
            row += part
    return found


def jacobians(
    tree: Tree, q: Scalars, relative_to: str = "world", expressed_in: str = "world", point: str | None = None
) -> list[list[list[Any]]]:
    """J (6 × nv) of every body, in body order: its twist relative to A, expressed in E, at P is J v."""
    q = tree.split_q(q)
    A, E, P = tree.frame(relative_to), tree.frame(expressed_in), None if point is None else tree.frame(point)
    X = poses_in(tree, q, E, range(len(tree.bodies)))
    C: dict[int, Subspace] = {i: X[i] @ body.S(q[i]) for i, _, body in tree.outward()}
    found = []
    for b, _, _ in tree.outward():
        r = X[b].translation if P is None else X[P.body].point(P.placement.translation)
        _, to_b, to_A = fork(tree, b, A.body)
        columns = [Motion.zero()] * tree.nv
        for chain, sign in ((to_b, 1.0), (to_A, -1.0)):
            for i in chain:
                for k, column in enumerate(C[i].columns, start=tree.v_slices[i].start):
                    columns[k] += moved(column, r) * sign
        found.append(by_rows(columns))
    return found


ROWS = (
    FunctionSpec.of(
        jacobian,
        "q",
        Output((6, "nv"), "1, m"),
        "Matrix that maps velocities to a frame's twist.",
        options=VIEW,
    ),
    FunctionSpec.of(
        position_jacobian,
        "q",
        Output((3, "nv"), "m"),
        "Matrix that maps velocities to the velocity of a frame's origin.",
        options=VIEW,
    ),
    FunctionSpec.of(
        angular_jacobian,
        "q",
        Output((3, "nv"), "1"),
        "Matrix that maps velocities to a frame's angular velocity.",
        options=frame_options("frame", "relative_to", "expressed_in"),
    ),
    FunctionSpec.of(
        configuration_jacobian,
        "q",
        Output((6, "nq"), "1, m"),
        "Matrix that maps rates of the configuration to a frame's twist.",
        options=VIEW,
    ),
    FunctionSpec.of(
        jacobians,
        "q",
        Output(("nb", 6, "nv"), "1, m"),
        "Matrices that map velocities to the twists of all bodies.",
        options=frame_options("relative_to", "expressed_in", "point"),
    ),
)
