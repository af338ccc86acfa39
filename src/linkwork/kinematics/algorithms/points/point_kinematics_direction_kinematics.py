"""Directions fixed to bodies: the vectors, their rates and Jacobians, as seen from A, in the axes of E.

With R the rotation of a body, and u in its axes: R u, R (ω × u) and R (ω̇ × u + ω × (ω × u)), what points have without
the body's origin.

Source: Concurrent Dynamics International, Joint Motion, 2017, equations 17 to 19, which are relative to the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.kinematics.algorithms.points.markers import directions_by_body, field_at, in_order
from linkwork.kinematics.algorithms.points.relative_body_motion import (
    columns_seen,
    motions_seen,
    poses_seen,
    twists_seen,
)
from linkwork.model.function_spec import Option, Output, Row, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Matrix3, Motion, Vec3

__all__ = ["ROWS", "direction_acceleration", "direction_jacobian", "direction_vector", "direction_velocity"]

Scalars = Sequence[Any]
Names = str | Sequence[str]


def direction_vector(
    tree: Tree, q: Scalars, directions: Names, expressed_in: str = "world", vectors: Scalars | None = None
) -> list[list[Any]]:
    """R u: each direction in the axes of E."""
    seen = poses_seen(tree, q, directions_by_body(tree, directions, vectors), expressed_in)
    return in_order((some, [X.rotation @ u for u in some.vectors]) for some, X in seen)


def direction_velocity(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    directions: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    vectors: Scalars | None = None,
) -> list[list[Any]]:
    """R (ω × u): how each direction turns as an observer fixed in A sees it, in the axes of E."""
    seen = twists_seen(tree, q, v, directions_by_body(tree, directions, vectors), relative_to, expressed_in)
    return in_order((some, field_at(R, Vec3.zero(), Matrix3.cross(V.angular), some.vectors)) for some, R, V in seen)


def direction_acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    directions: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    vectors: Scalars | None = None,
) -> list[list[Any]]:
    """R Ω u, Ω = [ω̇×] + [ω×][ω×]: the second rate of each direction as A sees it, in the axes of E."""
    seen = motions_seen(tree, q, v, a, directions_by_body(tree, directions, vectors), relative_to, expressed_in)
    return in_order((some, field_at(R, Vec3.zero(), body.omega, some.vectors)) for some, R, body in seen)


def direction_jacobian(
    tree: Tree,
    q: Scalars,
    directions: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    vectors: Scalars | None = None,
) -> list[list[Any]]:
    """J (3 × nv) of each direction: how it turns as an observer fixed in A sees it, in the axes of E, is J v."""
    seen = columns_seen(tree, q, directions_by_body(tree, directions, vectors), relative_to, expressed_in)
    return in_order((some, [_jacobian(tree.nv, V, X.rotation @ u) for u in some.vectors]) for some, X, V in seen)


def _jacobian(nv: int, twists: Sequence[tuple[int, Motion]], direction: Vec3) -> list[list[Any]]:
    """ω × u of every column's twist (ω; v)."""
    J = [Vec3.zero()] * nv
    for k, V in twists:
        J[k] += V.angular.cross(direction)
    return [[column.x for column in J], [column.y for column in J], [column.z for column in J]]


NAMED = Option("directions", required=True, names="direction", counted="np")
DIRECTIONS: dict[str, Any] = {
    "optional": ("vectors",),
    "options": (NAMED, *frame_options("relative_to", "expressed_in")),
}

ROWS = (
    Row.of(
        direction_vector,
        "q",
        Output(("np", 3), "1"),
        "Directions in the axes of a frame.",
        optional=("vectors",),
        options=(NAMED, *frame_options("expressed_in")),
    ),
    Row.of(
        direction_velocity,
        "q v",
        Output(("np", 3), "1/s"),
        "Rates of directions as a frame sees them.",
        **DIRECTIONS,
    ),
    Row.of(
        direction_acceleration,
        "q v a",
        Output(("np", 3), "1/s²"),
        "Second rates of directions as a frame sees them.",
        **DIRECTIONS,
    ),
    Row.of(
        direction_jacobian,
        "q",
        Output(("np", 3, "nv"), "1"),
        "Matrices that map velocities to rates of directions.",
        **DIRECTIONS,
    ),
)
