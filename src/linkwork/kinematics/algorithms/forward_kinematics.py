"""Forward kinematics: poses of all bodies; pose, twist and acceleration of a frame.

The motion of a frame B relative to a frame A is expressed in a frame E, at a point P of B.  Only the joints between A
and B matter: see `relative_kinematics`.  Twists are at the origin of P as a point of B; the default P is B's own
origin.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 2 and 4; composition of accelerations with the
Coriolis term: any text of mechanics, e.g. Kane and Levinson, Dynamics, 1985, section 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.kinematics.algorithms.relative_kinematics import (
    ZERO_MOTION,
    FrameQuery,
    chain_motion,
    chain_twist,
    pose_between,
    rotated,
    twist_at,
)
from linkwork.model.body import WORLD
from linkwork.model.function_spec import FunctionSpec, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose

__all__ = ["ROWS", "VIEW", "acceleration", "forward_kinematics", "pose", "twist"]


def forward_kinematics(tree: Tree, q: Sequence[Any]) -> list[Pose]:
    """Return X_WB for every body B, in body order."""
    q = tree.split_q(q)
    X = {WORLD: Pose.identity()}
    for i, p, body in tree.outward():
        X[i] = X[p] @ body.X(q[i])
    return [X[i] for i, _, _ in tree.outward()]


Scalars = Sequence[Any]


def pose(tree: Tree, q: Scalars, frame: str, relative_to: str = "world") -> Pose:
    """Return X_AB, the pose of frame B in frame A (``relative_to``)."""
    return pose_between(tree, tree.split_q(q), tree.frame(relative_to), tree.frame(frame))


def twist(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> Motion:
    """Return the twist (ω; v) of B (``frame``) relative to A (``relative_to``), in the axes of E (``expressed_in``).

    v is the velocity of the point of B at the origin of P (``point``), by default B's own origin.
    """
    q, v = tree.split_q(q), tree.split_v(v)
    query = FrameQuery(tree, q, frame, relative_to, expressed_in, point)
    V_B, V_A = (chain_twist(tree, q, v, chain) for chain in query.chains)
    V_B, V_A = query.X_EB @ (query.B.placement.inv() @ V_B), query.X_EA @ (query.A.placement.inv() @ V_A)
    return twist_at(V_B - V_A, query.point)


def acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> Motion:
    """Return the acceleration (ω̇; v̇) of B (``frame``) relative to A (``relative_to``).

    It is in the axes of E (``expressed_in``).  The rates are those of an observer fixed in A.  v̇ is the (classical)
    acceleration of the point of B at the origin of P (``point``), by default B's own origin.
    """
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    query = FrameQuery(tree, q, frame, relative_to, expressed_in, point)
    chain_B, chain_A = query.chains
    R_EB, R_EA = query.X_EB.rotation, query.X_EA.rotation
    V_B = rotated(R_EB, query.B.placement.inv() @ chain_twist(tree, q, v, chain_B))
    V_A = rotated(R_EA, query.A.placement.inv() @ chain_twist(tree, q, v, chain_A))
    B, A = (chain_motion(tree, q, v, a, chain) for chain in query.chains)
    B, A = (
        B.through(query.B.placement, ZERO_MOTION, ZERO_MOTION),
        A.through(query.A.placement, ZERO_MOTION, ZERO_MOTION),
    )
    r = query.X_EB.translation - query.X_EA.translation
    w_A, w_AB = V_A.angular, V_B.angular - V_A.angular
    v_AB = V_B.linear - V_A.linear - w_A.cross(r)
    alpha_A, a_A = R_EA @ A.angular_acceleration, R_EA @ A.acceleration
    alpha = R_EB @ B.angular_acceleration - alpha_A - w_A.cross(w_AB)
    linear = R_EB @ B.acceleration - a_A - alpha_A.cross(r) - w_A.cross(w_A.cross(r)) - w_A.cross(v_AB) * 2.0
    d = query.point - query.X_EB.translation
    return Motion(alpha, linear + alpha.cross(d) + w_AB.cross(w_AB.cross(d)))


VIEW = frame_options("frame", "relative_to", "expressed_in", "point")


ROWS = (
    FunctionSpec.of(forward_kinematics, "q", Output(("nb", 4, 4), "1, m"), "Poses of all bodies in the world."),
    FunctionSpec.of(
        pose,
        "q",
        Output((4, 4), "1, m"),
        "Pose of a frame relative to another.",
        options=frame_options("frame", "relative_to"),
    ),
    FunctionSpec.of(
        twist,
        "q v",
        Output((6,), "rad/s, m/s"),
        "Twist (ω; v) of a frame relative to another.",
        options=VIEW,
    ),
    FunctionSpec.of(
        acceleration,
        "q v a",
        Output((6,), "rad/s², m/s²"),
        "Acceleration (ω̇; v̇) of a frame relative to another.",
        options=VIEW,
    ),
)
