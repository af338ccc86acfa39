"""A robot in one state, as its constraints ask about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from linkwork.dynamics.algorithms.momentum.center_of_mass import center_of_mass
from linkwork.kinematics.algorithms.jacobians.relative_frame_motion import BetweenFrames
from linkwork.kinematics.algorithms.relative_kinematics import pose_between
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Vec3

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
