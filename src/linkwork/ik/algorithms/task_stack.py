"""All IK tasks of a problem in one state: stacked errors and Jacobian, over any scalar.

`TaskState` has the kinematics of a robot that tasks use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.collision.algorithms import link_clearances, moving_shapes, shape_pairs
from linkwork.collision.algorithms.pairwise_distances import nearby_distances
from linkwork.collision.algorithms.shape_placement import named_pairs
from linkwork.constraints.constraint import Constraint
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives, with_values
from linkwork.dynamics.algorithms.momentum.center_of_mass import center_of_mass_jacobian
from linkwork.dynamics.algorithms.momentum.momentum import centroidal_momentum_matrix
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, le, lt, sqrt, where
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SolidKind
from linkwork.ik.algorithms.joint_bounds import nearest
from linkwork.ik.tasks.task import PairSelection, Task, TaskKinematics, TaskRows
from linkwork.joints import JointType
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import NOISE
from linkwork.mechanisms.algorithms.constrained_manipulability import log_manipulability
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, derived
from linkwork.mechanisms.algorithms.weighted_projection import largest
from linkwork.model.collision_pairs import collision_pairs, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["Stack", "Stacked", "TaskState", "WideRows"]


Scalars = Sequence[Any]
WideRows = tuple[tuple[int, ...], ...]
"""Indices of errors whose tolerances widen the set of solutions, in groups; the norm of a group is bounded."""

_ROUNDING = 1e-28  # square of an element, relative to that without cancellation, below which it is rounding
_INSIDE = 0.99  # share of a wide tolerance to which searches reduce an error, so that they end within the tolerance


@dataclass(frozen=True, slots=True)
class Stacked:
    """Errors e of all tasks in one state, one after the other, and the ``rows`` of their Jacobian J."""

    errors: list[Any]
    rows: list[list[Any]]


@dataclass(frozen=True)
class Stack:
    """The IK tasks of a robot with their targets, tolerances and weights."""

    tree: Tree
    tasks: tuple[Task, ...]
    targets: tuple[Scalars, ...]  # of each task; empty without a target
    tolerances: Scalars  # of each error
    weights: Scalars  # of each soft error
    locked_dofs: frozenset[int] = frozenset()  # indices in v of locked joints
    dt: Any = None  # [s] time step of differential IK; errors then include their drift during it
    wide: WideRows = ()
    permitted: tuple[tuple[Any, Any], ...] | None = None  # range of each error, instead of those of the tasks
    unmoved: frozenset[int] | None = None  # `idle_dofs`, where the tasks are not all of the problem

    @property
    def idle_dofs(self) -> frozenset[int]:
        """Indices in v of joints on which no error of the tasks depends; restarts leave them at the initial guess.

        The set is empty if a task depends on quantities other than joints and relative poses of frames.
        """
        if self.unmoved is not None:
            return self.unmoved
        tree, moving = self.tree, set[int]()
        for names in (task._depends_on for task in self.tasks):
            if names is None:
                return frozenset()
            points, directions = map(tree.point, names.points), map(tree.direction, names.directions)
            frames = [*names.frames, *(x.frame for x in points), *(x.frame for x in directions)]
            bodies = [tree.frame(name).body for name in frames]
            joints = {tree.joint_index(name) for name in names.joints}
            joints |= {i for body in bodies[1:] for path in fork(tree, bodies[0], body)[1:] for i in path}
            moving |= {k for i in joints for k in range(tree.nv)[tree.v_slices[i]]}
        return frozenset(range(tree.nv)) - moving

    @property
    def units(self) -> list[str]:
        return [unit for task in self.tasks for unit in task.row_units]

    @property
    def hard(self) -> list[bool]:
        return [task.hard for task in self.tasks for _ in task.component_names]

    @property
    def robot_equations(self) -> list[int]:
        """Indices of the errors of the robot's own constraints that must be zero (rather than in a range)."""
        each = [(task, pair) for task in self.tasks for pair in task.ranges]
        return [row for row, (task, pair) in enumerate(each) if task.own and pair == (0.0, 0.0)]

    @property
    def owners(self) -> list[int]:
        """Index of the task to which each error belongs."""
        return [k for k, task in enumerate(self.tasks) for _ in task.component_names]

    @property
    def ranges(self) -> list[tuple[Any, Any]]:
        return [pair for task in self.tasks for pair in task.ranges] if self.permitted is None else [*self.permitted]

    @property
    def ranged(self) -> list[bool]:
        """True for each error that has a permitted range instead of a single permitted value."""
        by_task = [pair[0] != pair[1] for task in self.tasks for pair in task.ranges]
        return by_task if self.permitted is None else [low is not high for low, high in self.permitted]

    @property
    def scales(self) -> list[float]:
        """Weights that make errors comparable: 1 for angles, 2 / characteristic length for lengths."""
        return [self.length_scale if unit == "m" else 1.0 for unit in self.units]

    @property
    def length_scale(self) -> float:
        """Weight of a length [1/m] that makes it comparable with an angle."""
        return 2.0 / characteristic_length(self.tree)

    def at(self, q: Scalars, *, exact: bool = False, curved: bool = False) -> Stacked:
        """Compute the errors of all tasks and their Jacobian at q; columns of locked joints are zero.

        ``exact`` selects a Jacobian that is exact also where errors are not zero. ``curved`` selects a Jacobian that
        can be differentiated again for second derivatives. With a time step ``dt``, errors include their drift during
        the step.
        """
        k = TaskState(self.tree, q)
        errors: list[Any] = []
        rows: list[list[Any]] = []
        for task, target in zip(self.tasks, self.targets, strict=True):
            compute = task.curved_rows if curved else task.exact_jacobian if exact else task.rows
            result = compute(k, target)
            drift = None if self.dt is None else task.drift(k, target)
            shifted = (
                result.errors if drift is None else [e + self.dt * d for e, d in zip(result.errors, drift, strict=True)]
            )
            errors += shifted
            rows += [[0.0 if j in self.locked_dofs else x for j, x in enumerate(row)] for row in result.rows]
        return Stacked(errors, rows)

    def second_derivatives(self, q: Scalars, multipliers: Scalars) -> list[Any]:
        """Compute the second derivatives of Σ λ_i e_i with respect to v; λ are the ``multipliers``.

        The result is the lower triangle of the symmetric matrix (nv × nv), row by row; entries of locked joints are
        zero.
        """

        def gradient(q: Scalars) -> list[Any]:
            rows = self.at(q, curved=True).rows
            return [dot(column, multipliers) for column in transposed(rows)]

        H = derivatives(self.tree, gradient, q)[0]
        shifted = [[0.0 if {i, j} & self.locked_dofs else H[i][j] for j in range(len(H))] for i in range(len(H))]
        return [0.5 * (shifted[i][j] + shifted[j][i]) for i in range(len(H)) for j in range(i + 1)]

    def only(self, *, hard: bool) -> Stack:
        """Return the stack of the hard tasks, or of the soft ones."""
        return self.some([k for k, task in enumerate(self.tasks) if task.hard is hard])

    def some(self, chosen: Sequence[int]) -> Stack:
        """Return the stack of the selected tasks."""
        rows = [row for row, k in enumerate(self.owners) if k in chosen]
        return Stack(
            self.tree,
            tuple(self.tasks[k] for k in chosen),
            tuple(self.targets[k] for k in chosen),
            [self.tolerances[k] for k in rows],
            [self.weights[k] for k in rows],
            self.locked_dofs,
            self.dt,
            tuple(tuple(map(rows.index, group)) for group in self.wide if rows.count(group[0])),
            None if self.permitted is None else tuple(self.permitted[k] for k in rows),
            self.idle_dofs,
        )

    def with_ranges(self) -> Stack:
        """Return the stack with wide tolerances converted to ranges of errors, for solvers that accept ranges.

        The tolerance of a norm becomes a range of each of its errors.
        """
        if not self.wide:
            return self
        permitted, tolerances = [(low, low if low == high else high) for low, high in self.ranges], [*self.tolerances]
        for k in (k for group in self.wide for k in group):
            (low, high), reach = permitted[k], _INSIDE * tolerances[k]
            permitted[k], tolerances[k] = (low - reach, high + reach), tolerances[k] - reach
        return replace(self, tolerances=tolerances, wide=(), permitted=tuple(permitted))

    def beyond(self, errors: Scalars) -> list[Any]:
        """Return the signed violation of each error's permitted range, 0 within the range."""
        return [
            x if is_zero(low) and is_zero(high) else x - nearest(x, low, high)
            for x, (low, high) in zip(errors, self.ranges, strict=True)
        ]

    def active_rows(self, rows: Sequence[Scalars], beyond: Scalars) -> list[list[Any]]:
        """Return the Jacobian ``rows`` in which rows of errors within their permitted ranges are zero.

        Rows of errors that must be zero are unchanged.
        """
        return [
            [x if is_zero(x) else where(eq(out, 0.0), 0.0, x) for x in row] if ranged else list(row)
            for row, out, ranged in zip(rows, beyond, self.ranged, strict=True)
        ]

    def beyond_tolerances(self, rows: Sequence[Scalars], beyond: Scalars) -> Stacked:
        """Return violations reduced by wide tolerances, 0 within tolerance, and their Jacobian.

        ``beyond`` are the errors outside their permitted ranges, and ``rows`` their Jacobian. If a tolerance bounds the
        norm of a group of errors, the group's first entry is the excess of this norm, and its other entries are 0.
        """
        result = Stacked([*beyond], [*map(list, rows)])
        for group in self.wide:
            first, *further_rows = group
            size, most = self._norms(beyond, group)
            excess = fmax(size - _INSIDE * most, 0.0)
            scale = where(lt(0.0, excess), 1.0 / where(lt(0.0, size), size, 1.0), 0.0)
            columns = [[rows[k][j] for k in group] for j in range(len(rows[0]))]
            result.errors[first] = excess
            result.rows[first] = [
                0.0 if all(map(is_zero, column)) else dot(column, [beyond[k] * scale for k in group])
                for column in columns
            ]
            for k in further_rows:
                result.errors[k], result.rows[k] = 0.0, [0.0] * len(columns)
        return result

    def _norms(self, beyond: Scalars, group: Sequence[int]) -> tuple[Any, Any]:
        """Return the norm of the errors with indices ``group``, and the norm of their tolerances.

        ``beyond`` are the errors outside their permitted ranges.
        """
        if len(group) == 1:
            return fabs(beyond[group[0]]), self.tolerances[group[0]]
        norms = [sqrt(dot(x, x)) for x in ([values[k] for k in group] for values in (beyond, self.tolerances))]
        return norms[0], norms[1]

    def weighted(self, rows: Sequence[Scalars], beyond: Scalars, weights: Scalars) -> tuple[list[Any], list[list[Any]]]:
        """Return the weighted range violations and the weighted Jacobian.

        Rows of the Jacobian are zero for errors that are within their range; rows of equations are always included.
        """
        active_rows = self.active_rows(rows, beyond)
        weighted = [[x if is_zero(x) else x * w for x in row] for row, w in zip(active_rows, weights, strict=True)]
        return [x * w for x, w in zip(beyond, weights, strict=True)], weighted

    def done(self, beyond: Scalars) -> Any:
        """Return a condition: all hard errors are within tolerance."""
        groups = [group for group in self.wide if len(group) > 1]
        wide = {k for group in groups for k in group}
        bounds = [self._norms(beyond, group) for group in groups]
        for k, (x, tolerance, hard) in enumerate(zip(beyond, self.tolerances, self.hard, strict=True)):
            if hard and not is_zero(x) and k not in wide:
                bounds.append((fabs(x), tolerance))
        result: Any = True
        for size, most in bounds:
            is_satisfied = le(size, most)
            result = is_satisfied if result is True else and_(result, is_satisfied)
        return result

    def all_weights(self) -> list[Any]:
        """Return the weight of each error: a soft error's weight, or a hard error's scale, 0 for an infinite tolerance.

        A scale makes angles and lengths comparable.
        """
        return [
            where(lt(tolerance, 1e300), scale, 0.0) if hard else weight
            for tolerance, scale, hard, weight in zip(
                self.tolerances, self.scales, self.hard, self.weights, strict=True
            )
        ]


class TaskState(KinematicState):
    """Kinematics of a robot at configuration q and velocity 0, with the functions that IK tasks use."""

    def __init__(self, tree: Tree, q: Scalars, time: Any = 0.0) -> None:
        super().__init__(tree, q, [0.0] * tree.nv, time)

    @property
    def configuration(self) -> list[Any]:
        return list(self._q)

    def joint(self, name: str) -> JointType:
        return self.tree.bodies[self.tree.joint_index(name)].joint

    def difference(self, joint: str, reference: Scalars) -> TaskRows:
        body, q, moving = self.tree.bodies[self.tree.joint_index(joint)], self.q(joint), self.moving(joint)
        rates = [body.call_joint("difference_rate", reference, q, unit) for unit in unit_vectors(body.joint.nv)]
        rows: list[list[Any]] = [[0.0] * self.nv for _ in moving]
        for rate, motion in zip(rates, moving, strict=True):
            for row, share in zip(rows, rate, strict=True):
                for k, x in enumerate(motion):
                    if not is_zero(x):
                        row[k] = row[k] + share * x
        return TaskRows(list(body.call_joint("difference", reference, q)), rows)

    def moving_center_of_mass(self, relative_to: str = "world") -> tuple[Vec3, list[Vec3]]:
        rows = center_of_mass_jacobian(self.tree, self._q, None, relative_to, relative_to)
        return self.center_of_mass(relative_to), [Vec3(*column) for column in zip(*rows, strict=True)]

    def clearance_links(self, scene: bool) -> tuple[str, ...]:
        shapes = link_shapes(self.tree)
        outer_links = [shapes[j].link for _, j in shape_pairs(self.tree, collision_pairs(self.tree))]
        moving = [shapes[k].link for k in moving_shapes(self.tree)] if scene else []
        return tuple(dict.fromkeys([*outer_links, *moving]))

    def clearances(self, scene: Mapping[SolidKind, Any]) -> Mapping[str, TaskRows]:
        pairs = shape_pairs(self.tree, collision_pairs(self.tree))
        result = link_clearances(self.tree, self._q, pairs, moving_shapes(self.tree), scene)
        return {link: TaskRows([d], [rates]) for link, (d, rates) in result.items()}

    def select_pairs(self, caller: str, scene: Scene, pairs: Iterable[tuple[str, str]] | None) -> PairSelection:
        shapes, robot_pairs, scene_pairs = named_pairs(self.tree, caller, scene, pairs)
        indices = dict(zip(scene.names, scene.row_indices, strict=True))
        rows, capacity = sorted({k for k, _ in scene_pairs}), sum(count for _, count in scene.capacities)
        count = len(robot_pairs)
        scene_indices = [count + rows.index(k) * capacity + indices[name] for k, name in scene_pairs]
        names = [(shapes[i].name, shapes[j].name) for i, j in robot_pairs]
        names += [(shapes[k].name, name) for k, name in scene_pairs]
        links = [shapes[j].link for _, j in robot_pairs] + [shapes[k].link for k, _ in scene_pairs]
        selected = (*range(count), *scene_indices)
        return PairSelection(tuple(robot_pairs), tuple(rows), selected, tuple(names), tuple(links))

    def nearby(
        self, own: Sequence[tuple[int, int]], shapes: Sequence[int], scene: Mapping[SolidKind, Any], within: Any
    ) -> TaskRows:
        return TaskRows(*nearby_distances(self.tree, self._q, own, shapes, scene, within))

    def at(self, time: Any) -> TaskState:
        return TaskState(self.tree, self._q, time)

    def constraint_rows(self, constraint: Constraint) -> TaskRows:
        rates = constraint.rates(self)
        if rates is None:
            result = self.derived(constraint.error)
            return TaskRows(result.errors, _above_rounding(constraint, result.rows, constraint.row_sizes(self)))
        return TaskRows(list(constraint.error(self)), _above_rounding(constraint, rates.rows, rates.sizes))

    def velocity_rows(self, constraint: Constraint) -> TaskRows:
        rates = constraint.rates(self) or derived(self.tree, constraint, self._q, [0.0] * self.nv, self.time)
        drift = list(rates.drift or [0.0] * len(rates.rows))
        return TaskRows(drift, _above_rounding(constraint, rates.rows, rates.sizes))

    def momentum_rows(self) -> list[list[Any]]:
        return centroidal_momentum_matrix(self.tree, self._q)

    def closed_manipulability(self, frame: str, relative_to: str, part: str, floor: Any) -> tuple[Any, Any] | None:
        if not self.tree.constraints:
            return None
        return log_manipulability(self.tree, self._q, frame, relative_to, part, self.time, floor)

    def derived(self, errors: Callable[[TaskKinematics], Scalars]) -> TaskRows:
        values, (rows,) = with_values(self.tree, lambda q: list(errors(TaskState(self.tree, q, self.time))), self._q)
        return TaskRows(values, rows)


def _above_rounding(
    constraint: Constraint, rows: list[list[Any]], sizes: list[list[Any]] | None = None
) -> list[list[Any]]:
    """Return a constraint's Jacobian rows with elements that are rounding errors set to zero.

    Solvers that scale rows would magnify rounding errors.  ``sizes`` are the squares that elements would have without
    cancellation.  Without ``sizes``, an element is compared with the largest element of its column among the
    constraint's rows of the same unit.
    """
    least = NOISE
    if sizes is None:
        units, least = list(constraint.row_units), _ROUNDING
        alike = {unit: [row for row, row_unit in zip(rows, units, strict=True) if row_unit == unit] for unit in units}
        most = {unit: [largest(column) for column in transposed(unit_rows)] for unit, unit_rows in alike.items()}
        sizes = [[x * x for x in most[unit]] for unit in units]
    result = []
    for row, limits in zip(rows, sizes, strict=True):
        is_real = lt(least * sum(limits), dot(row, row))
        result.append(
            [
                x if is_zero(x) else where(and_(is_real, lt(_ROUNDING * size, x * x)), x, 0.0)
                for x, size in zip(row, limits, strict=True)
            ]
        )
    return result
