"""Points and directions fixed to bodies: position, velocity, acceleration and Jacobian.

All are relative to A, in the axes of E.  A point r of a body, in the body's axes, is at p + R r and moves by R (v + ω ×
r) and R (p̈ + ω̇ × r + ω × (ω × r)), with the body's v, p̈, ω and ω̇ relative to A, in its own axes. So a point of a
body costs a rotation and an addition, once p, R, R [ω×] ... are known.

Source: Concurrent Dynamics International, Joint Motion, 2017, equations 13 to 16, which are relative to the world.

Directions: with R the rotation of a body, and u in its axes, they are R u, R (ω × u) and R (ω̇ × u + ω × (ω × u)), the
expressions of points without the body's origin.

Source: Concurrent Dynamics International, Joint Motion, 2017, equations 17 to 19, which are relative to the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.kinematics.algorithms.markers import (
    Markers,
    directions_by_body,
    field_at,
    in_input_order,
    marker_columns,
    marker_motions,
    marker_poses,
    marker_twists,
    points_by_body,
)
from linkwork.model.function_spec import FunctionSpec, Option, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Matrix3, Motion, Vec3

__all__ = ["ROWS", "point_acceleration", "point_jacobian", "point_position", "point_velocity"]


Scalars = Sequence[Any]
Names = str | Sequence[str]


def point_position(
    tree: Tree,
    q: Scalars,
    points: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    positions: Scalars | None = None,
) -> list[list[Any]]:
    """Return the vector from the origin of A (``relative_to``) to each point, in the axes of E (``expressed_in``)."""
    A, markers = tree.frame(relative_to), points_by_body(tree, points, positions)
    (_, X_EA), *poses_or_motions = marker_poses(tree, q, [Markers(A.body, A.placement), *markers], expressed_in)
    return in_input_order(
        (group, [X.rotation @ r + (X.translation - X_EA.translation) for r in group.vectors])
        for group, X in poses_or_motions
    )


def point_velocity(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    points: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    positions: Scalars | None = None,
) -> list[list[Any]]:
    """Return the velocity of each point relative to A (``relative_to``), in the axes of E (``expressed_in``).

    It is R (v + ω × r), with r the point in the axes of its body, R the rotation of the body to E, and v and ω the
    velocity and angular velocity of the body relative to A, in its own axes.
    """
    poses_or_motions = marker_twists(tree, q, v, points_by_body(tree, points, positions), relative_to, expressed_in)
    return in_input_order(
        (group, field_at(R, V.linear, Matrix3.cross(V.angular), group.vectors)) for group, R, V in poses_or_motions
    )


def point_acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    points: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    positions: Scalars | None = None,
) -> list[list[Any]]:
    """Return the acceleration of each point relative to A (``relative_to``), in the axes of E (``expressed_in``).

    It is R (p̈ + Ω r) with Ω = [ω̇×] + [ω×][ω×]. r is the point in the axes of its body, R the rotation of the body to
    E, and p̈, ω and ω̇ are the body's acceleration, angular velocity and angular acceleration relative to A, in its
    own axes.
    """
    poses_or_motions = marker_motions(tree, q, v, a, points_by_body(tree, points, positions), relative_to, expressed_in)
    return in_input_order(
        (group, field_at(R, body.acceleration, body.omega, group.vectors)) for group, R, body in poses_or_motions
    )


def point_jacobian(
    tree: Tree,
    q: Scalars,
    points: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    positions: Scalars | None = None,
) -> list[list[Any]]:
    """Return J (3 × nv) of each point: J v is its velocity relative to A, in the axes of E.

    A is ``relative_to``, and E is ``expressed_in``.
    """
    poses_or_motions = marker_columns(tree, q, points_by_body(tree, points, positions), relative_to, expressed_in)
    return in_input_order(
        (group, [_point_jacobian(tree.nv, V, X.point(r)) for r in group.vectors]) for group, X, V in poses_or_motions
    )


def _point_jacobian(nv: int, twists: Sequence[tuple[int, Motion]], point: Vec3) -> list[list[Any]]:
    """Return the Jacobian (3 × nv) of a point r: v + ω × r for the twist (ω; v) of each velocity, 0 for others."""
    J = [Vec3.zero()] * nv
    for k, V in twists:
        J[k] += V.linear + V.angular.cross(point)
    return [[column.x for column in J], [column.y for column in J], [column.z for column in J]]


POINTS: dict[str, Any] = {
    "optional": ("positions",),
    "options": (
        Option("points", required=True, names="point", counted="np"),
        *frame_options("relative_to", "expressed_in"),
    ),
}


def direction_vector(
    tree: Tree, q: Scalars, directions: Names, expressed_in: str = "world", vectors: Scalars | None = None
) -> list[list[Any]]:
    """Return each direction in the axes of E (``expressed_in``).

    It is R u, with u the direction in the axes of its body and R the rotation of the body to E.
    """
    poses_or_motions = marker_poses(tree, q, directions_by_body(tree, directions, vectors), expressed_in)
    return in_input_order((group, [X.rotation @ u for u in group.vectors]) for group, X in poses_or_motions)


def direction_velocity(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    directions: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    vectors: Scalars | None = None,
) -> list[list[Any]]:
    """Return the rate of each direction relative to A (``relative_to``), in the axes of E (``expressed_in``).

    It is R (ω × u), with u the direction in the axes of its body, R the rotation of the body to E, and ω the angular
    velocity of the body relative to A, in its own axes.
    """
    poses_or_motions = marker_twists(
        tree, q, v, directions_by_body(tree, directions, vectors), relative_to, expressed_in
    )
    return in_input_order(
        (group, field_at(R, Vec3.zero(), Matrix3.cross(V.angular), group.vectors)) for group, R, V in poses_or_motions
    )


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
    """Return the second rate of each direction relative to A (``relative_to``), in the axes of E (``expressed_in``).

    It is R Ω u with Ω = [ω̇×] + [ω×][ω×]. u is the direction in the axes of its body, R the rotation of the body to E,
    and ω and ω̇ are the angular velocity and acceleration of the body relative to A, in its own axes.
    """
    poses_or_motions = marker_motions(
        tree, q, v, a, directions_by_body(tree, directions, vectors), relative_to, expressed_in
    )
    return in_input_order(
        (group, field_at(R, Vec3.zero(), body.omega, group.vectors)) for group, R, body in poses_or_motions
    )


def direction_jacobian(
    tree: Tree,
    q: Scalars,
    directions: Names,
    relative_to: str = "world",
    expressed_in: str = "world",
    vectors: Scalars | None = None,
) -> list[list[Any]]:
    """Return J (3 × nv) of each direction: J v is its rate relative to A, in the axes of E.

    A is ``relative_to``, and E is ``expressed_in``.
    """
    poses_or_motions = marker_columns(tree, q, directions_by_body(tree, directions, vectors), relative_to, expressed_in)
    return in_input_order(
        (group, [_direction_jacobian(tree.nv, V, X.rotation @ u) for u in group.vectors])
        for group, X, V in poses_or_motions
    )


def _direction_jacobian(nv: int, twists: Sequence[tuple[int, Motion]], direction: Vec3) -> list[list[Any]]:
    """Return the Jacobian (3 × nv) of a direction u: ω × u for the twist (ω; v) of each velocity, 0 for others."""
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
    FunctionSpec.of(point_position, "q", Output(("np", 3), "m"), "Positions of points relative to a frame.", **POINTS),
    FunctionSpec.of(
        point_velocity, "q v", Output(("np", 3), "m/s"), "Velocities of points relative to a frame.", **POINTS
    ),
    FunctionSpec.of(
        point_acceleration,
        "q v a",
        Output(("np", 3), "m/s²"),
        "Accelerations of points relative to a frame.",
        **POINTS,
    ),
    FunctionSpec.of(
        point_jacobian,
        "q",
        Output(("np", 3, "nv"), "1, m"),
        "Matrices that map velocities to those of points.",
        **POINTS,
    ),
    FunctionSpec.of(
        direction_vector,
        "q",
        Output(("np", 3), "1"),
        "Directions in the axes of a frame.",
        optional=("vectors",),
        options=(NAMED, *frame_options("expressed_in")),
    ),
    FunctionSpec.of(
        direction_velocity,
        "q v",
        Output(("np", 3), "1/s"),
        "Rates of directions relative to a frame.",
        **DIRECTIONS,
    ),
    FunctionSpec.of(
        direction_acceleration,
        "q v a",
        Output(("np", 3), "1/s²"),
        "Second rates of directions relative to a frame.",
        **DIRECTIONS,
    ),
    FunctionSpec.of(
        direction_jacobian,
        "q",
        Output(("np", 3, "nv"), "1"),
        "Matrices that map velocities to rates of directions.",
        **DIRECTIONS,
    ),
)
