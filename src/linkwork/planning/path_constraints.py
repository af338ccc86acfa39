"""Path constraints: tasks and loop closures that hold along a path, and the space they define.

A configuration is projected onto the constraints by minimum-norm steps, q ⊕ −Jᵀ(JJᵀ + μ)⁻¹ e, within limits: IK with
the solver "projection".

An edge from q0 to q1 is bisected until it is straight enough: the midpoint of a segment is projected onto the
constraints, and both halves are checked again, for all segments of all edges together.  A segment is accepted if the
constraint error between its ends, checked at three points, is within the bound.  Both halves must be shorter than the
segment by a factor, so segments shrink, and an edge converges to a continuous path without jumps.  Certified edge
checks then apply to the straight segments, which are the returned path.

Sources: Berenson, Srinivasa, Ferguson and Kuffner, Manipulation planning on constraint manifolds, 2009; Hauser, Fast
interpolation and time-optimization on implicit contact submanifolds, 2013 (halving, and how much halves may grow);
Kingston, Moll and Kavraki, Sampling-based methods for motion planning with constraints, 2018.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.validation import number, shown
from linkwork.constraints import Constraint
from linkwork.ik.arguments import own_constraint_task
from linkwork.ik.ik_problem import IKProblem
from linkwork.ik.tasks.modifiers import counted_joints
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.tree import Tree
from linkwork.planning.configuration_geometry import is_later
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.search.halton_samples import Samples

__all__ = ["ConstrainedSpace", "PathConstraintTasks"]


_STEPS = 40  # maximum iterations of a projection


class PathConstraintTasks:
    """Path constraints as IK tasks: their errors, and projection of configurations onto them.

    Errors must vanish along a path, or stay within ranges. ``bound`` [m, rad] is the permitted error between
    waypoints; at waypoints it is the tasks' own tolerance.
    """

    def __init__(
        self, robot: Any, keep: Any, *, bound: float, limits: tuple[np.ndarray, np.ndarray], caller: str
    ) -> None:
        self.robot, self.caller = robot, caller
        self.bound = _bound(caller, bound)
        tasks = _read_constraints(caller, robot, keep)
        self.problem = IKProblem(
            robot, tasks, solver="projection", max_iterations=_STEPS, position_limits=limits, caller=caller
        )
        for task in self.problem.tasks:
            _check(caller, task)
        self.names = tuple(name for task in self.problem.tasks for name in task.component_names)
        self.units = tuple(unit for task in self.problem.tasks for unit in task.row_units)
        tolerances = np.asarray(self.problem.tolerances, dtype=float)
        rows = np.array([x for task in self.problem.tasks for x in task.tolerances_of(self.bound)])
        self.bounds = np.where(np.isinf(tolerances), np.inf, rows)
        if (tolerances > 0.5 * self.bounds)[np.isfinite(tolerances)].any():
            k = int(np.argmax(np.where(np.isfinite(tolerances), tolerances / self.bounds, 0.0)))
            raise ValueError(
                f"{caller}: constraint_tolerance: {self.names[k]!r}: expected at least {2.0 * tolerances[k]:.3g}, "
                f"twice the tolerance at waypoints, got {self.bounds[k]:.3g}"
            )

    def size(self, q: np.ndarray) -> np.ndarray:
        """Return the largest error (...) of configurations (..., nq), relative to its bound.

        All constraints hold if it is at most 1.
        """
        result: np.ndarray = (np.abs(self.problem.residual_and_jacobian(q)[0]) / self.bounds).max(axis=-1)
        return result

    def projected(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return configurations near q (..., nq) that satisfy the constraints, and a mask of success (...)."""
        if not q.size:
            return q, np.ones(q.shape[:-1], dtype=bool)
        result = self.problem.solve(q)
        return result.q, np.asarray(result.success)

    def dimension(self, q: np.ndarray) -> int:
        """Return the number of free directions of velocity at a configuration (nq,)."""
        rows = self.problem.residual_and_jacobian(q)[1][self._equalities]
        return int(self.robot.nv - np.linalg.matrix_rank(rows, tol=1e-9)) if len(rows) else int(self.robot.nv)

    @property
    def _equalities(self) -> np.ndarray:
        ranges = [pair for task in self.problem.tasks for pair in task.ranges]
        return np.array([low == high for low, high in ranges]) & np.isfinite(self.bounds)

    def violation(self, q: np.ndarray) -> str | None:
        """Return a description of the largest violation at a configuration (nq,), or None."""
        errors = np.abs(self.problem.residual_and_jacobian(q)[0])
        component = int(np.argmax(errors / self.bounds))
        if errors[component] <= self.bounds[component]:
            return None
        unit = "" if self.units[component] == "1" else f" {self.units[component]}"
        error, bound = errors[component], self.bounds[component]
        return f"{self.names[component]!r} has error {error:.3g}{unit}, {bound:.3g} is allowed"


def _bound(caller: str, bound: Any) -> float:
    try:
        result = number(bound)
    except (TypeError, ValueError):
        result = float("nan")
    if not 0.0 < result < float("inf"):
        raise ValueError(f"{caller}: constraint_tolerance: expected a positive number [m, rad], got {bound!r}")
    return result


def _read_constraints(caller: str, robot: Any, keep: Any) -> list[Any]:
    """Return the path constraints that an argument states, or the robot's own constraints if it is empty.

    Raises ValueError, TypeError.
    """
    for constraint in robot.tree.constraints:
        if not constraint.holonomic:
            raise ValueError(
                f"{caller}: robot {robot.name!r}: expected holonomic constraints, got velocity constraint "
                f"{constraint.name!r}; plan for the robot without_constraints({constraint.name!r})"
            )
        if constraint.time_dependent:
            raise ValueError(
                f"{caller}: expected constraints independent of time, got {constraint.name!r}; plan for the robot "
                f"without_constraints({constraint.name!r})"
            )
    if isinstance(keep, (Task, Constraint)):
        keep = (keep,)
    if not isinstance(keep, Iterable) or isinstance(keep, (str, bytes, dict)):
        raise TypeError(f"{caller}: path_constraints: expected tasks and constraints, got {keep!r}")
    for task in keep if isinstance(keep, Sequence | np.ndarray) else ():
        if not isinstance(task, (Task, Constraint)):
            raise TypeError(f"{caller}: path_constraints: expected tasks and constraints, got {shown(task)}")
    result = [*keep] or [own_constraint_task(robot.tree, constraint) for constraint in robot.tree.constraints]
    if not result:
        raise ValueError(f"{caller}: path_constraints: expected at least one task or constraint, got none")
    return result


def _check(caller: str, task: Task) -> None:
    """Raise ValueError for an IK task that cannot be a path constraint: a soft task, or a task without a target."""
    if not task.hard:
        raise ValueError(f"{caller}: path_constraints: expected hard tasks, got soft task {task.name!r} with a weight")
    if task.target_of is not None and task.target is None:
        raise ValueError(
            f"{caller}: path_constraints: task {task.name!r} has no target; set target={task.target_of.doc}"
        )


_FRACTIONS = np.array([0.25, 0.5, 0.75])  # positions on a segment where it is checked
_SHARE = 0.8  # permitted error at these positions relative to the bound; it is slightly larger in between
_SHRINK = 0.75  # maximum length of a half relative to its segment; ½ for straight ones
_MAX_LENGTH = 0.5  # of a segment, in lengths of the space
_MAX_BISECTIONS = 14  # maximum bisections
_DRAWS = 20  # attempts to replace samples whose projection failed


class DiscretizedEdges(NamedTuple):
    """Edges divided into straight segments, which are in order along each edge.

    An edge that violates the constraints has none.
    """

    feasible: np.ndarray  # (n,) of each edge
    edge: np.ndarray  # (m,) index of each segment's edge
    begin: np.ndarray  # (m, nq)
    end: np.ndarray


class ProjectedSamples(Samples):
    """Sequence of samples projected onto the path constraints, without those whose projection fails."""

    def __init__(self, tree: Tree, lower: np.ndarray, upper: np.ndarray, seed: int, tasks: PathConstraintTasks) -> None:
        super().__init__(tree, lower, upper, seed)
        self._tasks = tasks

    def take(self, count: int) -> np.ndarray:
        """Return the next samples (count, nq); fewer if most projections fail."""
        result: list[np.ndarray] = []
        remaining = count
        for _ in range(_DRAWS):
            q, valid = self._tasks.projected(super().take(remaining))
            result.append(q[valid])
            remaining -= int(valid.sum())
            if not remaining:
                break
        return np.concatenate(result)


class ConstrainedSpace(PlanningSpace):
    """Planning space of the configurations of a robot in a scene that satisfy path constraints."""

    def __init__(self, *args: Any, tasks: PathConstraintTasks, **options: Any) -> None:
        super().__init__(*args, counted=counted_joints(tasks.robot.tree, tasks.problem.tasks), **options)
        self.constraint_tasks = tasks

    def integrate(self, q: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Return q ⊕ φ projected onto the constraints; if the projection fails, edges to it are not free."""
        return self.constraint_tasks.projected(super().integrate(q, phi))[0]

    def free(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = super().free(q) & (self.constraint_tasks.size(q) <= 1.0)
        return result

    def free_ends(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = super().free_ends(q) & (self.constraint_tasks.size(q) <= 1.0)
        return result

    def keeps(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = self.constraint_tasks.size(q) <= _SHARE
        return result

    def edges_are_free(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        discretized = self.discretized(q0, q1)
        result = discretized.feasible.copy()
        if len(discretized.edge):
            free = super().edges_are_free(discretized.begin, discretized.end)
            result[discretized.edge[~free]] = False
        return result

    def discretized(self, q0: np.ndarray, q1: np.ndarray) -> DiscretizedEdges:
        """Return edges (n, nq) bisected into segments on which the path constraints hold."""
        feasible = (self.constraint_tasks.size(q0) <= 1.0) & (self.constraint_tasks.size(q1) <= 1.0)
        reversed_ = is_later(q0, q1)  # an edge is bisected from the same end in both directions
        q0, q1 = np.where(reversed_[:, None], q1, q0), np.where(reversed_[:, None], q0, q1)
        edge: np.ndarray = np.flatnonzero(feasible)
        position: np.ndarray = np.zeros(len(edge))
        begin, end = q0[edge], q1[edge]
        done: list[tuple[np.ndarray, ...]] = []
        width = 1.0
        for _ in range(_MAX_BISECTIONS):
            phi = self.difference(begin, end)
            length = self.length(phi)
            between = super().integrate(begin[:, None], _FRACTIONS[:, None] * phi[:, None])
            straight = (self.constraint_tasks.size(between) <= _SHARE).all(axis=-1) & (length <= _MAX_LENGTH)
            done.append((edge[straight], position[straight], begin[straight], end[straight]))
            edge, position, begin, end, length = (x[~straight] for x in (edge, position, begin, end, length))
            if not len(edge):
                break
            middle, valid = self.constraint_tasks.projected(between[~straight, 1])
            for half in (self.difference(begin, middle), self.difference(middle, end)):
                valid &= self.length(half) <= _SHRINK * length
            feasible[edge[~valid]] = False
            valid = feasible[edge]
            width *= 0.5
            edge, position = np.tile(edge[valid], 2), np.concatenate([position[valid], position[valid] + width])
            begin, end = np.concatenate([begin[valid], middle[valid]]), np.concatenate([middle[valid], end[valid]])
        feasible[edge] = False  # edges that are still being bisected
        edge, position, begin, end = (np.concatenate(parts) for parts in zip(*done, strict=True))
        swap = reversed_[edge]
        order = np.lexsort((np.where(swap, -position, position), edge))
        order = order[feasible[edge[order]]]
        begin, end = np.where(swap[:, None], end, begin), np.where(swap[:, None], begin, end)
        return DiscretizedEdges(feasible, edge[order], begin[order], end[order])

    def detailed(self, path: np.ndarray) -> np.ndarray:
        """Return waypoints (k, nq) along a path of edges, such that straight motions satisfy the constraints.

        Between waypoints errors are within the bound.  Raises ValueError for an edge that violates the constraints.
        """
        if len(path) < 2:
            return path
        discretized = self.discretized(path[:-1], path[1:])
        if not discretized.feasible.all():
            raise ValueError(
                f"detailed: edge {int(np.argmin(discretized.feasible))} of the path violates the constraints"
            )
        return super().detailed(np.concatenate([discretized.begin, path[-1:]]))

    @property
    def tasks(self) -> tuple[Any, ...]:
        return tuple(task for task in self.constraint_tasks.problem.tasks if not task.own)

    @property
    def is_flat(self) -> bool:
        return False

    def edge_lengths(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        discretized = self.discretized(q0, q1)
        result: np.ndarray = np.bincount(
            discretized.edge, self.length(self.difference(discretized.begin, discretized.end)), minlength=len(q0)
        )
        return result

    def samples(self, seed: int) -> ProjectedSamples:
        """Return a sequence of samples within limits, projected onto the constraints; reproducible by seed."""
        reach = 2.0 * characteristic_length(self.robot.tree)
        length = np.array([unit == "m" for body, _, _ in self._joint_slices() for unit in body.joint.q_units])
        lower = np.where(length & np.isneginf(self.lower), np.minimum(-reach, self.upper - reach), self.lower)
        upper = np.where(length & np.isposinf(self.upper), np.maximum(reach, lower + reach), self.upper)
        return ProjectedSamples(self.straight.tree, lower, upper, seed, self.constraint_tasks)

    def _check_lengths(self) -> None:
        """Raise ValueError for unbounded lengths, unless loop closures bound them."""
        if not self.robot.constraints:
            super()._check_lengths()

    def dimension(self) -> int:
        """Return the number of free directions of velocity at a generic configuration."""
        q = self.samples(0).take(3)
        return max((self.constraint_tasks.dimension(configuration) for configuration in q), default=int(self.robot.nv))

    def violation(self, q: np.ndarray) -> str | None:
        return self.constraint_tasks.violation(q)
