"""What is to hold along a way: tasks, constraints and a robot's own loops, as errors and as a projection.

A configuration is brought to where all holds by steps of least length, q ⊕ −Jᵀ(JJᵀ + μ)⁻¹ e, within limits: inverse
kinematics of the solver "projection".

A space in which something holds along every way: configurations are projected, edges are walked in small steps.

An edge from q0 to q1 is halved until it is straight enough: the middle of a piece is projected to where all holds, and
the two halves are looked at again, all pieces of all edges side by side.  A piece is done where what is to hold is off
by no more than its bound between its ends, looked at in three places.  Both halves of a piece have to be shorter than
the piece by a factor: so pieces shrink, and what the edge converges to is one continuous way that does not jump.
Certified edges are then proofs of the straight pieces, which are the way that is given out.

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
from linkwork.ik.arguments import OWN
from linkwork.ik.ik_problem import IKProblem
from linkwork.ik.tasks.modifiers import ConstraintTask
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.tree import Tree
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.search.halton_samples import Samples

__all__ = ["ConstrainedSpace", "KeptTasks"]


_STEPS = 40  # of a projection


class KeptTasks:
    """Errors that have to vanish along a way, or stay within ranges, and the nearest configurations where they do.

    ``bound`` [m, rad] is what may be left of them between way points; at way points it is the tasks' own tolerance.
    """

    def __init__(
        self, robot: Any, keep: Any, *, bound: float, limits: tuple[np.ndarray, np.ndarray], caller: str
    ) -> None:
        self.robot, self.caller = robot, caller
        self.bound = _bound(caller, bound)
        tasks = _asked(caller, robot, keep)
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
                f"{caller}: constraint_tolerance: {self.names[k]!r} is held to {tolerances[k]:.3g} at way "
                f"points: between them "
                f"expected at least {2.0 * tolerances[k]:.3g}, got {self.bounds[k]:.3g}"
            )

    def size(self, q: np.ndarray) -> np.ndarray:
        """The largest error by its bound (...), of configurations (..., nq): up to 1 all is kept."""
        result: np.ndarray = (np.abs(self.problem.residual_and_jacobian(q)[0]) / self.bounds).max(axis=-1)
        return result

    def projected(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Configurations near those (..., nq) in which all holds, and whether there are such."""
        if not q.size:
            return q, np.ones(q.shape[:-1], dtype=bool)
        result = self.problem.solve(q)
        return result.q, np.asarray(result.success)

    def dimension(self, q: np.ndarray) -> int:
        """How many directions of velocity are left in a configuration (nq,)."""
        rows = self.problem.residual_and_jacobian(q)[1][self._equalities]
        return int(self.robot.nv - np.linalg.matrix_rank(rows, tol=1e-9)) if len(rows) else int(self.robot.nv)

    @property
    def _equalities(self) -> np.ndarray:
        ranges = [pair for task in self.problem.tasks for pair in task.ranges]
        return np.array([low == high for low, high in ranges]) & np.isfinite(self.bounds)

    def violation(self, q: np.ndarray) -> str | None:
        """What a configuration (nq,) violates most, by how much; nothing where all is kept."""
        errors = np.abs(self.problem.residual_and_jacobian(q)[0])
        worst = int(np.argmax(errors / self.bounds))
        if errors[worst] <= self.bounds[worst]:
            return None
        unit = "" if self.units[worst] == "1" else f" {self.units[worst]}"
        return f"{self.names[worst]!r} is off by {errors[worst]:.3g}{unit}, and {self.bounds[worst]:.3g} is allowed"


def _bound(caller: str, bound: Any) -> float:
    try:
        result = number(bound)
    except (TypeError, ValueError):
        result = float("nan")
    if not 0.0 < result < float("inf"):
        raise ValueError(f"{caller}: constraint_tolerance: expected a positive number [m, rad], got {bound!r}")
    return result


def _asked(caller: str, robot: Any, keep: Any) -> list[Any]:
    """What to keep, or what the robot obeys of itself, where nothing more is said.  Raises ValueError, TypeError."""
    for constraint in robot.tree.constraints:
        if not constraint.holonomic:
            raise ValueError(
                f"{caller}: robot {robot.name!r} obeys {constraint.name!r}, a constraint of velocities, which straight "
                f"ways of configurations do not keep: plan for the robot without_constraints({constraint.name!r})"
            )
        if constraint.time_dependent:
            raise ValueError(f"{caller}: constraint {constraint.name!r} depends on time, and a way has none yet")
    if isinstance(keep, (Task, Constraint)):
        keep = (keep,)
    if not isinstance(keep, Iterable) or isinstance(keep, (str, bytes, dict)):
        raise TypeError(f"{caller}: path_constraints: expected tasks and constraints, got {keep!r}")
    for task in keep if isinstance(keep, Sequence | np.ndarray) else ():
        if not isinstance(task, (Task, Constraint)):
            raise TypeError(f"{caller}: path_constraints: expected tasks and constraints, got {shown(task)}")
    result = [*keep] or [ConstraintTask(one, tolerance=OWN, own=True) for one in robot.tree.constraints]
    if not result:
        raise ValueError(f"{caller}: path_constraints: expected a task at least, got none")
    return result


def _check(caller: str, task: Task) -> None:
    """Raises ValueError for a task that nothing can hold to."""
    if not task.hard:
        raise ValueError(
            f"{caller}: path_constraints: task {task.name!r} is soft, with a weight: what is kept along the way is hard"
        )
    if task.target_of is not None and task.target is None:
        raise ValueError(
            f"{caller}: path_constraints: task {task.name!r} has no {task.target_of.doc}: give it a constant target="
        )


_PLACES = np.array([0.25, 0.5, 0.75])  # of a piece, where it is looked at
_ROOM = 0.8  # of the bound, which is what may be left there: between these places is a little more
_SHRINK = 0.75  # halves are no longer than this part of a piece; straight ones are half
_LONGEST = 0.5  # a piece, in the space's lengths
_DEEPEST = 14  # halvings
_DRAWS = 20  # times that samples are drawn again, for those that could not be projected


class WalkedEdges(NamedTuple):
    """Edges as straight pieces, in their order along each edge; none of edges along which not all can be kept."""

    kept: np.ndarray  # (n,) by edge
    edge: np.ndarray  # (m,) by piece: which edge it is of
    begin: np.ndarray  # (m, nq)
    end: np.ndarray


class ProjectedSamples(Samples):
    """Samples, each brought to where all holds; those that cannot be are left out."""

    def __init__(self, tree: Tree, lower: np.ndarray, upper: np.ndarray, seed: int, kept: KeptTasks) -> None:
        super().__init__(tree, lower, upper, seed)
        self._kept = kept

    def take(self, count: int) -> np.ndarray:
        """The next ones (count, nq); fewer, where hardly any could be projected."""
        result: list[np.ndarray] = []
        left = count
        for _ in range(_DRAWS):
            q, fine = self._kept.projected(super().take(left))
            result.append(q[fine])
            left -= int(fine.sum())
            if not left:
                break
        return np.concatenate(result)


class ConstrainedSpace(PlanningSpace):
    """Configurations of a robot in a scene in which what is ``kept`` holds."""

    def __init__(self, *args: Any, kept: KeptTasks, **options: Any) -> None:
        super().__init__(*args, **options)
        self.kept = kept

    def integrate(self, q: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """q ⊕ φ, and from there the nearest where all holds; where none is near, what edges to are not free."""
        return self.kept.projected(super().integrate(q, phi))[0]

    def free(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = super().free(q) & (self.kept.size(q) <= 1.0)
        return result

    def free_ends(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = super().free_ends(q) & (self.kept.size(q) <= 1.0)
        return result

    def keeps(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = self.kept.size(q) <= _ROOM
        return result

    def edges_are_free(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        walked = self.walked(q0, q1)
        result = walked.kept.copy()
        if len(walked.edge):
            free = super().edges_are_free(walked.begin, walked.end)
            result[walked.edge[~free]] = False
        return result

    def walked(self, q0: np.ndarray, q1: np.ndarray) -> WalkedEdges:
        """Edges (n, nq) halved until they are straight enough."""
        kept = (self.kept.size(q0) <= 1.0) & (self.kept.size(q1) <= 1.0)
        back = _later(q0, q1)  # an edge is walked from the same end, whichever way it is asked for
        q0, q1 = np.where(back[:, None], q1, q0), np.where(back[:, None], q0, q1)
        edge: np.ndarray = np.flatnonzero(kept)
        place: np.ndarray = np.zeros(len(edge))
        begin, end = q0[edge], q1[edge]
        done: list[tuple[np.ndarray, ...]] = []
        width = 1.0
        for _ in range(_DEEPEST):
            phi = self.difference(begin, end)
            length = self.length(phi)
            between = super().integrate(begin[:, None], _PLACES[:, None] * phi[:, None])
            straight = (self.kept.size(between) <= _ROOM).all(axis=-1) & (length <= _LONGEST)
            done.append((edge[straight], place[straight], begin[straight], end[straight]))
            edge, place, begin, end, length = (x[~straight] for x in (edge, place, begin, end, length))
            if not len(edge):
                break
            middle, fine = self.kept.projected(between[~straight, 1])
            for half in (self.difference(begin, middle), self.difference(middle, end)):
                fine &= self.length(half) <= _SHRINK * length
            kept[edge[~fine]] = False
            fine = kept[edge]
            width *= 0.5
            edge, place = np.tile(edge[fine], 2), np.concatenate([place[fine], place[fine] + width])
            begin, end = np.concatenate([begin[fine], middle[fine]]), np.concatenate([middle[fine], end[fine]])
        kept[edge] = False  # of those that are still being halved
        edge, place, begin, end = (np.concatenate(parts) for parts in zip(*done, strict=True))
        swap = back[edge]
        order = np.lexsort((np.where(swap, -place, place), edge))
        order = order[kept[edge[order]]]
        begin, end = np.where(swap[:, None], end, begin), np.where(swap[:, None], begin, end)
        return WalkedEdges(kept, edge[order], begin[order], end[order])

    def detailed(self, path: np.ndarray) -> np.ndarray:
        """Way points (k, nq) of a path of edges: between neighbours all holds within the bound."""
        if len(path) < 2:
            return path
        walked = self.walked(path[:-1], path[1:])
        if not walked.kept.all():
            raise ValueError(f"detailed: edge {int(np.argmin(walked.kept))} of the path cannot be kept")
        return np.concatenate([walked.begin, path[-1:]])

    @property
    def tasks(self) -> tuple[Any, ...]:
        return tuple(task for task in self.kept.problem.tasks if not task.own)

    @property
    def is_flat(self) -> bool:
        return False

    def edge_lengths(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        walked = self.walked(q0, q1)
        result: np.ndarray = np.bincount(
            walked.edge, self.length(self.difference(walked.begin, walked.end)), minlength=len(q0)
        )
        return result

    def samples(self, seed: int) -> ProjectedSamples:
        """Configurations in which all holds, near such as are spread over the limits."""
        far = 2.0 * characteristic_length(self.robot.tree)
        length = np.array([unit == "m" for body, _, _ in self._places() for unit in body.joint.q_units])
        lower = np.where(length & np.isneginf(self.lower), np.minimum(-far, self.upper - far), self.lower)
        upper = np.where(length & np.isposinf(self.upper), np.maximum(far, lower + far), self.upper)
        return ProjectedSamples(self.straight.tree, lower, upper, seed, self.kept)

    def _check_lengths(self) -> None:
        """What closes a robot's loops bounds lengths as well."""
        if not self.robot.constraints:
            super()._check_lengths()

    def dimension(self) -> int:
        """How many directions of velocity are left, where nothing special happens."""
        q = self.samples(0).take(3)
        return max((self.kept.dimension(one) for one in q), default=int(self.robot.nv))

    def violation(self, q: np.ndarray) -> str | None:
        return self.kept.violation(q)


def _later(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Whether q0 (n, nq) comes after q1, by the first number in which they differ."""
    differ = q0 != q1
    first = differ.argmax(axis=-1)[:, None]
    result: np.ndarray = np.take_along_axis(q0, first, -1)[:, 0] > np.take_along_axis(q1, first, -1)[:, 0]
    return result
