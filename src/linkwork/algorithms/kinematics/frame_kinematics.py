"""Kinematics of a frame B relative to a frame A, expressed in a frame E, at a point P of B.

Only the joints between A and B matter: with L the last body that both chains from the world share, the motion of B
relative to A is that of B relative to L less that of A relative to L, whatever L itself does.  Twists and Jacobians
are taken at the origin of P as a point of B; the default P is B's own origin.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 2 and 4; composition of accelerations with the
Coriolis term: any text of mechanics, e.g. Kane and Levinson, Dynamics, 1985, section 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model.body import WORLD, Frame
from ...model.tree import Tree
from ...spatial import Motion, Pose, RigidMotion, Rotation, Vec3, by_rows
from ..row import Output, Row, frame_options

__all__ = ["ROWS", "acceleration", "jacobian", "pose", "twist"]

Scalars = Sequence[Any]


def pose(tree: Tree, q: Scalars, frame: str, relative_to: str = "world") -> Pose:
    """X_AB: the pose of frame B in frame A (``relative_to``)."""
    return _pose(tree, tree.split_q(q), tree.frame(relative_to), tree.frame(frame))


def twist(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> Motion:
    """(ω; v) of frame B relative to A, expressed in E: v is the velocity of the point of B at P."""
    q, v = tree.split_q(q), tree.split_v(v)
    view = _View(tree, q, frame, relative_to, expressed_in, at)
    V_B, V_A = (_twist(tree, q, v, chain) for chain in view.chains)
    V_B, V_A = view.X_EB @ (view.B.placement.inv() @ V_B), view.X_EA @ (view.A.placement.inv() @ V_A)
    return _moved(V_B - V_A, view.point)


def acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> Motion:
    """(ω̇; v̇) of frame B relative to A, expressed in E.

    The rates are those an observer fixed in A sees; v̇ is the (classical) acceleration of the point of B at P.
    """
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    view = _View(tree, q, frame, relative_to, expressed_in, at)
    chain_B, chain_A = view.chains
    R_EB, R_EA = view.X_EB.rotation, view.X_EA.rotation
    V_B = _rotated(R_EB, view.B.placement.inv() @ _twist(tree, q, v, chain_B))
    V_A = _rotated(R_EA, view.A.placement.inv() @ _twist(tree, q, v, chain_A))
    B, A = (_motion(tree, q, v, a, chain) for chain in view.chains)
    B, A = B.through(view.B.placement, _STILL, _STILL), A.through(view.A.placement, _STILL, _STILL)
    r = view.X_EB.translation - view.X_EA.translation
    w_A, w_AB = V_A.angular, V_B.angular - V_A.angular
    v_AB = V_B.linear - V_A.linear - w_A.cross(r)
    alpha_A, a_A = R_EA @ A.angular_acceleration, R_EA @ A.acceleration
    alpha = R_EB @ B.angular_acceleration - alpha_A - w_A.cross(w_AB)
    linear = R_EB @ B.acceleration - a_A - alpha_A.cross(r) - w_A.cross(w_A.cross(r)) - w_A.cross(v_AB) * 2.0
    d = view.point - view.X_EB.translation
    return Motion(alpha, linear + alpha.cross(d) + w_AB.cross(w_AB.cross(d)))


def jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    at: str | None = None,
) -> list[list[Any]]:
    """J (6 × nv): the twist of B relative to A, expressed in E, at P, is J v."""
    q = tree.split_q(q)
    view = _View(tree, q, frame, relative_to, expressed_in, at)
    columns = [Motion.zero()] * tree.nv
    X_EL = _pose_of_body(tree, q, tree.frame(expressed_in), view.last_shared)
    for chain, sign in zip(view.chains, (1.0, -1.0), strict=True):
        X_Ei = X_EL
        for i in chain:
            body = tree.bodies[i]
            X_Ei = X_Ei @ body.X(q[i])
            for k, column in enumerate(body.S(q[i]).columns, start=tree.v_slices[i].start):
                columns[k] += _moved(X_Ei @ column, view.point) * sign
    return by_rows(columns)


class _View:
    """Who is asked about (B), by whom (A), in whose axes (E), at which point: the poses that the question needs."""

    def __init__(self, tree: Tree, q: Scalars, frame: str, relative_to: str, expressed_in: str, at: str | None) -> None:
        self.B, self.A, E = tree.frame(frame), tree.frame(relative_to), tree.frame(expressed_in)
        self.last_shared, to_B, to_A = _fork(tree, self.B.body, self.A.body)
        self.chains = to_B, to_A
        self.X_EB, self.X_EA = _pose(tree, q, E, self.B), _pose(tree, q, E, self.A)
        self.point = self.X_EB.translation if at is None else _pose(tree, q, E, tree.frame(at)).translation


_STILL = Motion.zero()


def _ancestors(tree: Tree, body: int) -> list[int]:
    """The bodies from the world's child down to this one."""
    path = []
    while body != WORLD:
        path.append(body)
        body = tree.bodies[body].parent
    return path[::-1]


def _fork(tree: Tree, one: int, other: int) -> tuple[int, list[int], list[int]]:
    """L, the last body that the chains to two bodies share, and the bodies from L (not included) to either."""
    to_one, to_other = _ancestors(tree, one), _ancestors(tree, other)
    shared = 0
    while shared < min(len(to_one), len(to_other)) and to_one[shared] == to_other[shared]:
        shared += 1
    return (to_one[shared - 1] if shared else WORLD), to_one[shared:], to_other[shared:]


def _chain_pose(tree: Tree, q: Scalars, chain: Sequence[int]) -> Pose:
    X = Pose.identity()
    for i in chain:
        X = X @ tree.bodies[i].X(q[i])
    return X


def _pose_of_body(tree: Tree, q: Scalars, A: Frame, body: int) -> Pose:
    """X_A,body, through the joints between them only."""
    _, to_A, to_body = _fork(tree, A.body, body)
    X_LA = _chain_pose(tree, q, to_A) @ A.placement
    X: Pose = X_LA.inv() @ _chain_pose(tree, q, to_body)
    return X


def _pose(tree: Tree, q: Scalars, A: Frame, B: Frame) -> Pose:
    if A == B:
        return Pose.identity()
    X: Pose = _pose_of_body(tree, q, A, B.body) @ B.placement
    return X


def _twist(tree: Tree, q: Scalars, v: Scalars, chain: Sequence[int]) -> Motion:
    """The twist of the chain's last body relative to the body before its first, in the last one's coordinates."""
    V = Motion.zero()
    for i in chain:
        body = tree.bodies[i]
        V = body.X(q[i]).inv() @ V + body.S(q[i]) @ v[i]
    return V


def _motion(tree: Tree, q: Scalars, v: Scalars, a: Scalars, chain: Sequence[int]) -> RigidMotion:
    """The motion of the chain's last body, where the body before its first is at rest."""
    motion = RigidMotion.spinning(Vec3.zero())
    for i in chain:
        body = tree.bodies[i]
        S = body.S(q[i])
        motion = motion.through(body.X(q[i]), S @ v[i], S @ a[i] + body.bias(q[i], v[i]))
    return motion


def _rotated(R: Rotation, V: Motion) -> Motion:
    return Motion(R @ V.angular, R @ V.linear)


def _moved(V: Motion, point: Vec3) -> Motion:
    """The same twist, its linear part taken at a point instead of the origin."""
    return Motion(V.angular, V.linear + V.angular.cross(point))


_VIEW = frame_options("frame", "relative_to", "expressed_in", "at")

ROWS = (
    Row.of(
        pose,
        "q",
        Output((4, 4), "1, m"),
        "Pose of a frame relative to another.",
        options=frame_options("frame", "relative_to"),
    ),
    Row.of(
        twist,
        "q v",
        Output((6,), "rad/s, m/s"),
        "Twist (ω; v) of a frame relative to another.",
        options=_VIEW,
    ),
    Row.of(
        acceleration,
        "q v a",
        Output((6,), "rad/s², m/s²"),
        "Acceleration (ω̇; v̇) of a frame relative to another.",
        options=_VIEW,
    ),
    Row.of(
        jacobian,
        "q",
        Output((6, "nv"), "1, m"),
        "Matrix that maps velocities to a frame's twist.",
        options=_VIEW,
    ),
)
