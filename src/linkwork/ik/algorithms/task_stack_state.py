"""A robot in a configuration, as its tasks ask about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from linkwork.collision.algorithms import link_clearances, moving_shapes, shape_pairs
from linkwork.collision.algorithms.pair_selection import meant_pairs
from linkwork.collision.algorithms.pairwise_distances_nearby import nearby_distances
from linkwork.constraints.constraint import Constraint
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import with_values
from linkwork.dynamics.algorithms.momentum.center_of_mass_center_of_mass_jacobian import center_of_mass_jacobian
from linkwork.dynamics.algorithms.momentum.momentum_centroidal_matrix import centroidal_momentum_matrix
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids_rows import SolidKind
from linkwork.ik.tasks.task import MeantPairs, TaskKinematics, TaskRows
from linkwork.joints import JointType
from linkwork.joints.base.from_transform import units
from linkwork.mechanisms.algorithms.constraints.constraint_kinematics import KinematicState
from linkwork.mechanisms.algorithms.constraints.constraint_rows import derived
from linkwork.model.collision_pairs import collision_pairs, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["TaskState"]

Scalars = Sequence[Any]


class TaskState(KinematicState):
    """A robot at q, at rest."""

    def __init__(self, tree: Tree, q: Scalars, time: Any = 0.0) -> None:
        super().__init__(tree, q, [0.0] * tree.nv, time)

    @property
    def configuration(self) -> list[Any]:
        return list(self._q)

    def joint(self, name: str) -> JointType:
        return self.tree.bodies[self.tree.joint_index(name)].joint

    def local(self, joint: str, reference: Scalars) -> TaskRows:
        body, q, moving = self.tree.bodies[self.tree.joint_index(joint)], self.q(joint), self.moving(joint)
        rates = [body.asked("local_rate", reference, q, unit) for unit in units(body.joint.nv)]
        rows: list[list[Any]] = [[0.0] * self.nv for _ in moving]
        for rate, motion in zip(rates, moving, strict=True):
            for row, share in zip(rows, rate, strict=True):
                for k, x in enumerate(motion):
                    if not is_zero(x):
                        row[k] = row[k] + share * x
        return TaskRows(list(body.asked("local", reference, q)), rows)

    def moving_center_of_mass(self, relative_to: str = "world") -> tuple[Vec3, list[Vec3]]:
        rows = center_of_mass_jacobian(self.tree, self._q, None, relative_to, relative_to)
        return self.center_of_mass(relative_to), [Vec3(*column) for column in zip(*rows, strict=True)]

    def clearance_links(self, scene: bool) -> tuple[str, ...]:
        shapes = link_shapes(self.tree)
        behind = [shapes[j].link for _, j in shape_pairs(self.tree, collision_pairs(self.tree))]
        moving = [shapes[k].link for k in moving_shapes(self.tree)] if scene else []
        return tuple(dict.fromkeys([*behind, *moving]))

    def clearances(self, scene: Mapping[SolidKind, Any]) -> Mapping[str, TaskRows]:
        pairs = shape_pairs(self.tree, collision_pairs(self.tree))
        found = link_clearances(self.tree, self._q, pairs, moving_shapes(self.tree), scene)
        return {link: TaskRows([d], [rates]) for link, (d, rates) in found.items()}

    def meant_pairs(self, who: str, scene: Scene, pairs: Iterable[tuple[str, str]] | None) -> MeantPairs:
        shapes, own, meeting = meant_pairs(self.tree, who, scene, pairs)
        places = dict(zip(scene.names, scene.places, strict=True))
        rows, capacity = sorted({k for k, _ in meeting}), sum(count for _, count in scene.capacities)
        met = [len(own) + rows.index(k) * capacity + places[name] for k, name in meeting]
        names = [(shapes[i].name, shapes[j].name) for i, j in own] + [(shapes[k].name, name) for k, name in meeting]
        links = [shapes[j].link for _, j in own] + [shapes[k].link for k, _ in meeting]
        return MeantPairs(tuple(own), tuple(rows), (*range(len(own)), *met), tuple(names), tuple(links))

    def nearby(
        self, own: Sequence[tuple[int, int]], shapes: Sequence[int], scene: Mapping[SolidKind, Any], within: Any
    ) -> TaskRows:
        return TaskRows(*nearby_distances(self.tree, self._q, own, shapes, scene, within))

    def at(self, time: Any) -> TaskState:
        return TaskState(self.tree, self._q, time)

    def held(self, constraint: Constraint) -> TaskRows:
        rates = constraint.rates(self)
        if rates is not None:
            return TaskRows(list(constraint.error(self)), rates.rows)
        return self.derived(constraint.error)

    def velocity_rows(self, constraint: Constraint) -> TaskRows:
        rates = constraint.rates(self) or derived(self.tree, constraint, self._q, [0.0] * self.nv, self.time)
        return TaskRows(list(rates.drift or [0.0] * len(rates.rows)), rates.rows)

    def momentum_rows(self) -> list[list[Any]]:
        return centroidal_momentum_matrix(self.tree, self._q)

    def derived(self, errors: Callable[[TaskKinematics], Scalars]) -> TaskRows:
        values, (rows,) = with_values(self.tree, lambda q: list(errors(TaskState(self.tree, q, self.time))), self._q)
        return TaskRows(values, rows)
