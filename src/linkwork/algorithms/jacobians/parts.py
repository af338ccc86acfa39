"""The Jacobian's parts, the angular and that of a point's position, and the Jacobian in the coordinates q themselves.

A velocity is linear in the coordinates' rates, v = E(q) q̇ joint by joint, so the twist is J E q̇: a quaternion has four
columns, of which only rates tangent to the unit sphere make use.

Source: Diebel, Representing attitude: Euler angles, unit quaternions, and rotation vectors, 2006, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr.linalg.sums import product
from ...model.tree import Tree
from ...spatial import by_rows
from ..kinematics.frame_kinematics import VIEW
from ..row import Output, Row, frame_options
from .way import columns_of, way

__all__ = ["ROWS", "angular_jacobian", "configuration_jacobian", "position_jacobian"]

Scalars = Sequence[Any]


def position_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> list[list[Any]]:
    """J (3 × nv): the velocity relative to A of the point of B at P, expressed in E, is J v."""
    columns = columns_of(tree, way(tree, tree.split_q(q), frame, relative_to, expressed_in, at))
    return by_rows(columns)[3:]


def angular_jacobian(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", expressed_in: str = "world"
) -> list[list[Any]]:
    """J (3 × nv): the angular velocity of B relative to A, expressed in E, is J v."""
    columns = columns_of(tree, way(tree, tree.split_q(q), frame, relative_to, expressed_in))
    return by_rows(columns)[:3]


def configuration_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> list[list[Any]]:
    """J (6 × nq): the twist of B relative to A, expressed in E, at P, is J q̇ for every rate that q can have."""
    q = tree.split_q(q)
    rows = by_rows(columns_of(tree, way(tree, q, frame, relative_to, expressed_in, at)))
    found: list[list[Any]] = [[] for _ in rows]
    for i, body in tree.stacked():
        block = product([row[tree.v_slices[i]] for row in rows], body.asked("v_of_jacobian", q[i]))
        for row, part in zip(found, block, strict=True):
            row += part
    return found


ROWS = (
    Row.of(
        position_jacobian,
        "q",
        Output((3, "nv"), "m"),
        "Matrix that maps velocities to the velocity of a frame's origin.",
        options=VIEW,
    ),
    Row.of(
        angular_jacobian,
        "q",
        Output((3, "nv"), "1"),
        "Matrix that maps velocities to a frame's angular velocity.",
        options=frame_options("frame", "relative_to", "expressed_in"),
    ),
    Row.of(
        configuration_jacobian,
        "q",
        Output((6, "nq"), "1, m"),
        "Matrix that maps rates of the configuration to a frame's twist.",
        options=VIEW,
    ),
)
