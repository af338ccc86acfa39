"""Forward kinematics: poses of all bodies; pose, twist and acceleration of a frame relative to another.

The motion of a frame B relative to a frame A is expressed in a frame E, at a point P of B.  Only the joints between A
and B matter: it is the motion of B relative to L minus the motion of A relative to L, where L is the last body that
both chains from the world share.  Twists are at the origin of P as a point of B; the default P is B's own origin.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 2 and 4; composition of accelerations with the
Coriolis term: any text of mechanics, e.g. Kane and Levinson, Dynamics, 1985, section 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model.body import WORLD, Frame
from linkwork.model.function_spec import FunctionSpec, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, RigidMotion, Rotation, Vec3

__all__ = [
    "ROWS",
    "VIEW",
    "ZERO_MOTION",
    "acceleration",
    "ancestors",
    "chain_motion",
    "chain_pose",
    "chain_twist",
    "fork",
    "forward_kinematics",
    "pose",
    "pose_between",
    "pose_of_body",
    "rotated",
    "twist",
    "twist_at",
]


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

    It is in the axes of E (``expressed_in``).  The rates are measured by an observer fixed in A.  v̇ is the (classical)
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


class FrameQuery:
    """Poses that the motion of a frame B relative to a frame A needs, in the axes of E, at a point."""

    def __init__(self, tree: Tree, q: Scalars, frame: str, relative_to: str, expressed_in: str, at: str | None) -> None:
        self.B, self.A, E = tree.frame(frame), tree.frame(relative_to), tree.frame(expressed_in)
        _, to_B, to_A = fork(tree, self.B.body, self.A.body)
        self.chains = to_B, to_A
        self.X_EB, self.X_EA = pose_between(tree, q, E, self.B), pose_between(tree, q, E, self.A)
        self.point = self.X_EB.translation if at is None else pose_between(tree, q, E, tree.frame(at)).translation


ZERO_MOTION = Motion.zero()


def ancestors(tree: Tree, body: int) -> list[int]:
    """Return the bodies from the world's child down to this one."""
    path = []
    while body != WORLD:
        path.append(body)
        body = tree.bodies[body].parent
    return path[::-1]


def fork(tree: Tree, first: int, second: int) -> tuple[int, list[int], list[int]]:
    """Return L, the last body shared by the chains to two bodies, and the bodies from L (excluded) to each."""
    to_one, to_other = ancestors(tree, first), ancestors(tree, second)
    shared = 0
    while shared < min(len(to_one), len(to_other)) and to_one[shared] == to_other[shared]:
        shared += 1
    return (to_one[shared - 1] if shared else WORLD), to_one[shared:], to_other[shared:]


def chain_pose(tree: Tree, q: Scalars, chain: Sequence[int]) -> Pose:
    X = Pose.identity()
    for i in chain:
        X = X @ tree.bodies[i].X(q[i])
    return X


def pose_of_body(tree: Tree, q: Scalars, A: Frame, body: int) -> Pose:
    """Return the pose of a body in the frame A, computed only from the joints between them."""
    _, to_A, to_body = fork(tree, A.body, body)
    X_LA = chain_pose(tree, q, to_A) @ A.placement
    X: Pose = X_LA.inv() @ chain_pose(tree, q, to_body)
    return X


def pose_between(tree: Tree, q: Scalars, A: Frame, B: Frame) -> Pose:
    if A == B:
        return Pose.identity()
    X: Pose = pose_of_body(tree, q, A, B.body) @ B.placement
    return X


def chain_twist(tree: Tree, q: Scalars, v: Scalars, chain: Sequence[int]) -> Motion:
    """Return the twist of a chain's last body relative to the parent of its first, in the last body's axes."""
    V = Motion.zero()
    for i in chain:
        body = tree.bodies[i]
        V = body.X(q[i]).inv() @ V + body.S(q[i]) @ v[i]
    return V


def chain_motion(tree: Tree, q: Scalars, v: Scalars, a: Scalars, chain: Sequence[int]) -> RigidMotion:
    """Return the motion of a chain's last body relative to the parent of its first, with acceleration."""
    motion = RigidMotion.spinning(Vec3.zero())
    for i in chain:
        body = tree.bodies[i]
        S = body.S(q[i])
        motion = motion.through(body.X(q[i]), S @ v[i], S @ a[i] + body.bias(q[i], v[i]))
    return motion


def rotated(R: Rotation, V: Motion) -> Motion:
    return Motion(R @ V.angular, R @ V.linear)


def twist_at(V: Motion, point: Vec3) -> Motion:
    """Return a twist with its linear part at a point instead of the origin."""
    return Motion(V.angular, V.linear + V.angular.cross(point))
