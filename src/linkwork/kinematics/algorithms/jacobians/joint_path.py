"""The way from a frame A to a frame B: the joints between them, and the motions that they give B relative to A.

Everything is in the axes of E, seen from the point P: so motions of all joints add up as they are, and V × M needs no
shift.  A joint that turns about z through the point s moves P by z × (P − s).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.kinematics.algorithms.relative_kinematics import ancestors, fork
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Subspace

__all__ = ["PathJoint", "columns_of", "poses_in", "way"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class PathJoint:
    """A joint on the way, and what each of its velocities makes of B's motion relative to A."""

    body: int  # that it carries
    outward: bool  # whether that body is the next on the way, and not the one before
    X: Pose  # of the body, in E's axes, seen from P
    columns: tuple[Motion, ...]

    @staticmethod
    def of(tree: Tree, q: Scalars, body: int, outward: bool, X: Pose) -> PathJoint:
        return PathJoint(body, outward, X, _counted(X, tree.bodies[body].S(q[body]), outward))

    def seen(self, motions: Subspace) -> tuple[Motion, ...]:
        """Motions in the body's coordinates, as they count on the way."""
        return _counted(self.X, motions, self.outward)

    def moving(self, v: Scalars) -> Motion:
        """The columns' sum, each times its velocity.  v is split, body by body."""
        V: Motion = Subspace(self.columns) @ v[self.body]
        return V


def _counted(X: Pose, motions: Subspace, outward: bool) -> tuple[Motion, ...]:
    return tuple(X @ M if outward else -(X @ M) for M in motions.columns)


def way(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", expressed_in: str = "world", at: str | None = None
) -> list[PathJoint]:
    """The joints from A to B, in this order.  q is split, body by body."""
    B, A, P = tree.frame(frame), tree.frame(relative_to), tree.frame(frame if at is None else at)
    _, to_B, to_A = fork(tree, B.body, A.body)
    X = poses_in(tree, q, tree.frame(expressed_in), [i for F in (B, A, P) for i in ancestors(tree, F.body)])
    point = X[P.body].point(P.placement.translation)
    joints = [*((i, False) for i in reversed(to_A)), *((i, True) for i in to_B)]
    return [PathJoint.of(tree, q, i, outward, Pose(X[i].rotation, X[i].translation - point)) for i, outward in joints]


def poses_in(tree: Tree, q: Scalars, E: Frame, bodies: Iterable[int]) -> dict[int, Pose]:
    """X_EB for the world, for E's own body and those before it, and for these bodies, parents first."""
    X = {E.body: E.placement.inv() @ Pose.identity()}
    for i in reversed(ancestors(tree, E.body)):
        X[tree.bodies[i].parent] = X[i] @ tree.bodies[i].X(q[i]).inv()
    for i in bodies:
        if i not in X:
            X[i] = X[tree.bodies[i].parent] @ tree.bodies[i].X(q[i])
    return X


def columns_of(tree: Tree, steps: Iterable[PathJoint]) -> list[Motion]:
    """The Jacobian's columns: those of joints that share their numbers, a master and its followers, add up."""
    columns = [Motion.zero()] * tree.nv
    for step in steps:
        for k, C in enumerate(step.columns, start=tree.v_slices[step.body].start):
            columns[k] += C
    return columns
