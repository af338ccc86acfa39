"""Kinematic path between two frames: its joints, and the relative pose, twist and Jacobian columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from linkwork._util.cached_properties import cached_property
from linkwork.kinematics.algorithms.forward_kinematics import ancestors, fork
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Subspace, cross

__all__ = ["BetweenFrames", "PathJoint", "SplitState", "columns_of", "joint_path", "poses_in"]


Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class PathJoint:
    """Joint on the path from a frame A to a frame B, with the twist of B relative to A per unit of its velocities."""

    body: int  # index of the joint's body
    outward: bool  # True if that body follows the joint on the path
    X: Pose  # of the body, in E's axes, relative to P
    columns: tuple[Motion, ...]

    @staticmethod
    def of(tree: Tree, q: Scalars, body: int, outward: bool, X: Pose) -> PathJoint:
        return PathJoint(body, outward, X, _signed_columns(X, tree.bodies[body].S(q[body]), outward))

    def transformed(self, motions: Subspace) -> tuple[Motion, ...]:
        """Transform motions from the body's axes and origin to the axes and origin of the path's columns.

        Their sign is reversed if the joint leads towards the base.
        """
        return _signed_columns(self.X, motions, self.outward)

    def twist(self, v: Scalars) -> Motion:
        """Return the part of the twist of B relative to A that the joint's velocity causes.

        v is a list of the joints' velocities, by body.
        """
        V: Motion = Subspace(self.columns) @ v[self.body]
        return V


def _signed_columns(X: Pose, motions: Subspace, outward: bool) -> tuple[Motion, ...]:
    return tuple(X @ M if outward else -(X @ M) for M in motions.columns)


def joint_path(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", expressed_in: str = "world", at: str | None = None
) -> list[PathJoint]:
    """Return the joints on the path from A (``relative_to``) to B (``frame``), in order; q is split by body.

    Their columns are in the axes of E (``expressed_in``), at the origin of ``at``, by default B's own.
    """
    B, A, P = tree.frame(frame), tree.frame(relative_to), tree.frame(frame if at is None else at)
    _, to_B, to_A = fork(tree, B.body, A.body)
    X = poses_in(tree, q, tree.frame(expressed_in), [i for F in (B, A, P) for i in ancestors(tree, F.body)])
    point = X[P.body].point(P.placement.translation)
    joints = [*((i, False) for i in reversed(to_A)), *((i, True) for i in to_B)]
    return [PathJoint.of(tree, q, i, outward, Pose(X[i].rotation, X[i].translation - point)) for i, outward in joints]


def poses_in(tree: Tree, q: Scalars, E: Frame, bodies: Iterable[int]) -> dict[int, Pose]:
    """Return the poses in the frame E by body index.

    They are the poses of the world, E's body and its ancestors, and ``bodies``, in which parents must come first.
    """
    X = {E.body: E.placement.inv() @ Pose.identity()}
    for i in reversed(ancestors(tree, E.body)):
        X[tree.bodies[i].parent] = X[i] @ tree.bodies[i].X(q[i]).inv()
    for i in bodies:
        if i not in X:
            X[i] = X[tree.bodies[i].parent] @ tree.bodies[i].X(q[i])
    return X


def columns_of(tree: Tree, path: Iterable[PathJoint]) -> list[Motion]:
    """Return the Jacobian's columns (nv) for the joints of a path.

    Columns of joints that share coordinates (coupled joints) add up; those of joints off the path are zero.
    """
    columns = [Motion.zero()] * tree.nv
    for step in path:
        for k, C in enumerate(step.columns, start=tree.v_slices[step.body].start):
            columns[k] += C
    return columns


class BodyState(Protocol):
    """Protocol of a robot's state with q and v split by body."""

    @property
    def tree(self) -> Tree: ...

    @property
    def split_q(self) -> list[Any]: ...

    @property
    def split_v(self) -> list[Any]: ...


@dataclass(frozen=True)
class SplitState:
    """State of a robot with q and v split by body."""

    tree: Tree
    split_q: list[Any]
    split_v: list[Any]

    @staticmethod
    def of(tree: Tree, q: Sequence[Any], v: Sequence[Any] | None = None) -> SplitState:
        return SplitState(tree, tree.split_q(q), [] if v is None else tree.split_v(v))


class BetweenFrames:
    """Motion of a frame B relative to a frame A, in B's coordinates, at B's origin."""

    def __init__(self, state: BodyState, frame: str, relative_to: str) -> None:
        self._state, self._frame, self._relative_to = state, frame, relative_to

    @cached_property
    def pose(self) -> Pose:
        """X_AB, the pose of B in A, computed from the same poses as the columns."""
        A, (_, _, to_A) = self._state.tree.frame(self._relative_to), self._chains
        X = self._poses[A.body] @ A.placement if to_A else self._past_fork(A.placement)
        return X.inv().formed()

    @cached_property
    def _chains(self) -> tuple[int, list[int], list[int]]:
        tree = self._state.tree
        return fork(tree, tree.frame(self._frame).body, tree.frame(self._relative_to).body)

    @cached_property
    def _poses(self) -> dict[int, Pose]:
        """Poses in B, by body index, of the bodies on the path from B to A, without their last common ancestor."""
        q, bodies, (_, _, to_A) = self._state.split_q, self._state.tree.bodies, self._chains
        X = dict(self._inward)
        for i in to_A[:1]:
            X[i] = self._past_fork(bodies[i].placement) @ bodies[i].X_of_joint(q[i])
        for i in to_A[1:]:
            X[i] = X[bodies[i].parent] @ bodies[i].X(q[i])
        return X

    @cached_property
    def _inward(self) -> dict[int, Pose]:
        """Poses in B, by body index, of B's body and its ancestors, up to the last common ancestor with A's body.

        The common ancestor itself is not included.
        """
        q, bodies, B = self._state.split_q, self._state.tree.bodies, self._state.tree.frame(self._frame)
        X = {B.body: B.placement.inv() @ Pose.identity()}
        for i in reversed(self._chains[1][1:]):
            X[bodies[i].parent] = X[i] @ bodies[i].X(q[i]).inv()
        return X

    def _past_fork(self, placement: Pose) -> Pose:
        """Return the pose in B of an item that has the pose ``placement`` on the last common ancestor.

        It is the last common ancestor of A's and B's bodies. The constant placements on it are combined first. The
        distance of a mechanism from the world's origin then costs no precision.
        """
        state, (_, to_B, _) = self._state, self._chains
        if not to_B:
            X: Pose = state.tree.frame(self._frame).placement.inv() @ placement
            return X
        b, q = state.tree.bodies[to_B[0]], state.split_q[to_B[0]]
        return self._inward[to_B[0]] @ b.X_of_joint(q).inv() @ (b.placement.inv() @ placement)

    @cached_property
    def _steps(self) -> list[PathJoint]:
        _, to_B, to_A = self._chains
        joints = [*((i, False) for i in reversed(to_A)), *((i, True) for i in to_B)]
        return [PathJoint.of(self._state.tree, self._state.split_q, i, out, self._poses[i]) for i, out in joints]

    @cached_property
    def columns(self) -> list[Motion]:
        return columns_of(self._state.tree, self._steps)

    @cached_property
    def _moving(self) -> list[Motion]:
        return [step.twist(self._state.split_v) for step in self._steps]

    @property
    def twist(self) -> Motion:
        return sum(self._moving, Motion.zero())

    @cached_property
    def bias(self) -> Motion:
        """Acceleration of B relative to A at v̇ = 0: Σ V_i × V_j, plus the change of the joints' own axes.

        The sum is over all pairs of joints i before j on the path. V_i is the joint's contribution to the twist. A
        column C that is fixed in the body i changes, relative to B, by −V_Bi × C, with V_Bi the twist of B relative to
        i.
        """
        state, result, before = self._state, Motion.zero(), Motion.zero()
        for step, V in zip(self._steps, self._moving, strict=True):
            body = state.tree.bodies[step.body]
            joint_bias = body.bias(state.split_q[step.body], state.split_v[step.body])
            (transformed,) = step.transformed(Subspace((joint_bias,)))
            result = result + cross(before, V) + transformed
            before = before + V
        return result
