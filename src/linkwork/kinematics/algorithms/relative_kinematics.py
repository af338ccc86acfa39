"""Relative kinematics of frames: bodies between them, and poses, twists and motions along the chains.

The motion of a frame B relative to a frame A is that of B relative to L minus that of A relative to L.  L is the last
body that both chains from the world share; its own motion does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model.body import WORLD, Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, RigidMotion, Rotation, Vec3

__all__ = [
    "ZERO_MOTION",
    "FrameQuery",
    "ancestors",
    "chain_motion",
    "chain_pose",
    "chain_twist",
    "fork",
    "pose_between",
    "pose_of_body",
    "rotated",
    "twist_at",
]

Scalars = Sequence[Any]


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
