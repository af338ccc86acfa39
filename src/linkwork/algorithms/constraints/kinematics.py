"""A robot in one state, as its constraints ask about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...model.tree import Tree
from ...spatial import Motion, Pose, Subspace, Vec3, cross
from ..jacobians.way import WayStep, columns_of
from ..kinematics.between import fork, pose_between
from ..momentum.center_of_mass import center_of_mass

__all__ = ["BetweenFrames", "KinematicState"]

Scalars = Sequence[Any]


class KinematicState:
    """A robot at q and v, and at a time.  What needs v may not be asked where there is none."""

    def __init__(self, tree: Tree, q: Scalars, v: Scalars | None = None, time: Any = 0.0) -> None:
        self.tree, self.time = tree, time
        self._q, self._v = list(q), None if v is None else list(v)
        self._split_q = tree.split_q(q)
        self._between: dict[tuple[str, str], BetweenFrames] = {}

    @property
    def nv(self) -> int:
        return self.tree.nv

    def q(self, joint: str) -> list[Any]:
        i = self.tree.joint_index(joint)
        numbers, coupling = self._split_q[i], self.tree.bodies[i].coupling
        return list(numbers) if coupling is None else coupling.q(numbers)

    def v(self, joint: str) -> list[Any]:
        i = self.tree.joint_index(joint)
        numbers, coupling = self.split_v[i], self.tree.bodies[i].coupling
        return list(numbers) if coupling is None else coupling.v(numbers)

    def moving(self, joint: str) -> list[list[Any]]:
        i = self.tree.joint_index(joint)
        places, ratio = range(self.nv)[self.tree.v_slices[i]], self.tree.bodies[i].ratio
        return [[ratio if k == place else 0.0 for k in range(self.nv)] for place in places]

    def units(self, joint: str) -> tuple[str, ...]:
        rates = self.tree.bodies[self.tree.joint_index(joint)].joint.v_units
        return tuple(unit.removesuffix("/s") for unit in rates)

    def pose(self, frame: str, relative_to: str = "world") -> Pose:
        return pose_between(self.tree, self._split_q, self.tree.frame(relative_to), self.tree.frame(frame))

    def point(self, name: str, relative_to: str = "world") -> Vec3:
        point = self.tree.point(name)
        return self.pose(point.frame, relative_to).point(point.position)

    def direction(self, name: str, relative_to: str = "world") -> Vec3:
        direction = self.tree.direction(name)
        found: Vec3 = self.pose(direction.frame, relative_to).rotation @ direction.vector
        return found

    def place_of(self, point: str) -> tuple[str, Vec3]:
        found = self.tree.point(point)
        return found.frame, found.position

    def axis_of(self, direction: str) -> tuple[str, Vec3]:
        found = self.tree.direction(direction)
        return found.frame, found.vector

    def center_of_mass(self, relative_to: str = "world") -> Vec3:
        return Vec3.of(center_of_mass(self.tree, self._q, None, relative_to, relative_to))

    def between(self, frame: str, relative_to: str = "world") -> BetweenFrames:
        key = frame, relative_to
        if key not in self._between:
            self._between[key] = BetweenFrames(self, frame, relative_to)
        return self._between[key]

    @cached_property
    def split_v(self) -> list[Any]:
        assert self._v is not None, "a constraint's error asked for a velocity"
        return self.tree.split_v(self._v)

    @property
    def split_q(self) -> list[Any]:
        return self._split_q


class BetweenFrames:
    """The motion of a frame B relative to a frame A, in B's coordinates, at B's origin."""

    def __init__(self, state: KinematicState, frame: str, relative_to: str) -> None:
        self._state, self._frame, self._relative_to = state, frame, relative_to

    @cached_property
    def pose(self) -> Pose:
        """X_AB, by the same poses that the columns are seen by."""
        A = self._state.tree.frame(self._relative_to)
        return (self._poses[A.body] @ A.placement).inv().formed()

    @cached_property
    def _chains(self) -> tuple[int, list[int], list[int]]:
        tree = self._state.tree
        return fork(tree, tree.frame(self._frame).body, tree.frame(self._relative_to).body)

    @cached_property
    def _poses(self) -> dict[int, Pose]:
        """X_Bi of the bodies on the way, inward from B and outward to A.

        Where the way goes over from one chain to the other, what lies between their stators is one constant: so the
        distance of a mechanism from the world's origin costs no digits.
        """
        tree, q = self._state.tree, self._state.split_q
        B, bodies = tree.frame(self._frame), tree.bodies
        last, to_B, to_A = self._chains
        X = {B.body: B.placement.inv() @ Pose.identity()}
        for i in reversed(to_B[1:]):
            X[bodies[i].parent] = X[i] @ bodies[i].X(q[i]).inv()
        if to_B and to_A:
            b, a = bodies[to_B[0]], bodies[to_A[0]]
            stator = X[to_B[0]] @ b.X_of_joint(q[to_B[0]]).inv()
            X[to_A[0]] = stator @ (b.placement.inv() @ a.placement) @ a.X_of_joint(q[to_A[0]])
        elif to_B:
            X[last] = X[to_B[0]] @ bodies[to_B[0]].X(q[to_B[0]]).inv()
        elif to_A:
            X[to_A[0]] = X[last] @ bodies[to_A[0]].X(q[to_A[0]])
        for i in to_A[1:]:
            X[i] = X[bodies[i].parent] @ bodies[i].X(q[i])
        return X

    @cached_property
    def _steps(self) -> list[WayStep]:
        _, to_B, to_A = self._chains
        joints = [*((i, False) for i in reversed(to_A)), *((i, True) for i in to_B)]
        return [WayStep.of(self._state.tree, self._state.split_q, i, out, self._poses[i]) for i, out in joints]

    @cached_property
    def columns(self) -> list[Motion]:
        return columns_of(self._state.tree, self._steps)

    @cached_property
    def _moving(self) -> list[Motion]:
        return [step.moving(self._state.split_v) for step in self._steps]

    @property
    def twist(self) -> Motion:
        return sum(self._moving, Motion.zero())

    @cached_property
    def bias(self) -> Motion:
        """Σ V_i × V_j of the joints i before j on the way, and what the joints' own motions change by.

        A column that is fixed in the body i, seen from B, changes by −V_Bi × C, V_Bi the twist of B relative to i.
        """
        state, found, before = self._state, Motion.zero(), Motion.zero()
        for step, V in zip(self._steps, self._moving, strict=True):
            body = state.tree.bodies[step.body]
            own = body.bias(state.split_q[step.body], state.split_v[step.body])
            (seen,) = step.seen(Subspace((own,)))
            found = found + cross(before, V) + seen
            before = before + V
        return found
