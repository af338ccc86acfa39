"""Operational-space control (Khatib): joint forces for desired task accelerations, level by level of priority.

With τ = h(q, v) + M a_0 + Σ J̃_kᵀ F_k the robot accelerates by a = a_0 + Σ M⁻¹ J̃_kᵀ F_k.  For each level

    F_k = Λ_k (a_k* − J̇_k v − J_k a),     Λ_k⁻¹ = J̃_k M⁻¹ J̃_kᵀ,     J̃_k = J_k − Σ_{j<k} (J_k M⁻¹ J̃_jᵀ) Λ_j J̃_j,

where a is the acceleration by the earlier levels and a_0.  Since J_j M⁻¹ J̃_kᵀ = 0 for j < k, no level accelerates an
earlier one (the null space is dynamically consistent), and a_0 acts in the null space of all levels.

If tasks are singular, or dependent on earlier ones, Λ⁻¹ is singular.  Then λ 1 is added, with

    λ = max(0, tr/κ − s),      s = 1/tr(Λ) ≤ σ_min,

where tr is the trace of J_k M⁻¹ J_kᵀ, an upper bound of its largest eigenvalue.  So the condition number is at most κ,
forces are bounded, and nothing changes where 1/tr(Λ) is above tr/κ.

For a target out of reach, the force does not vanish.  So the forces of a level are scaled down where they accelerate a
joint by more than a bound, which is lower near singularities.  With a_0 = −k_d v the robot follows v̇ = −k_d (v − v_d),
so the bound is one of the speeds v_d.  Forces that the motion of the targets requires are not scaled.

Sources: Khatib, A unified approach for motion and force control of robot manipulators, IEEE J. Robotics and Automation
RA-3(1), 1987; Sentis and Khatib, Synthesis of whole-body behaviors through hierarchical control of behavioral
primitives, Int. J. Humanoid Robotics 2(4), 2005; Nakamura and Hanafusa, ASME J. Dyn. Syst. Meas. Control 108, 1986
(damping near singularities only).

Task motions are errors e, Jacobians J, and bias accelerations J̇ v.  J̇ v is the derivative of J(q, x) v along q̇(v)
and the motion of the target x, with v constant, by dual numbers in these two directions.  The motion of the target
follows from the desired J v, at which errors do not change.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.functions import eq, fabs, fmax, fmin, where
from linkwork.ik.algorithms.task_stack import Stack, TaskState
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.configuration_manifold import velocity_to_configuration_derivative
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["Level", "TaskMotion", "drift_along", "force_shares", "regular", "task_forces", "task_motion"]


Scalars = Sequence[Any]
Rows = Sequence[Scalars]
_NEAR, _RAMP = 3.0, 5.0  # factor of tr/κ below which 1/tr(Λ) is near a singularity, and slope of the transition
_FARTHER = 8.0  # bound of accelerations far from singularities, relative to that near them
_REGULARIZATION = 1e-12  # of the diagonal, to estimate the condition number


@dataclass(frozen=True, slots=True)
class Level:
    """Tasks of one priority level: their Jacobian J (``rows``), and the required values of J a (``accelerations``).

    a are joint accelerations. Both are scaled to comparable units. ``reference`` is the part of the required values
    that follows from the motion of targets; its forces are not bounded.
    """

    rows: Rows
    accelerations: Scalars
    reference: Scalars = ()


@dataclass(frozen=True, slots=True)
class _ConsistentTasks:
    """Matrices of the tasks of one priority level, which later levels must not disturb.

    ``rows`` is J̃, the tasks' Jacobian without the motions of higher priorities. ``inward`` is J̃ L⁻¹ with M = Lᵀ D L,
    and ``inverse`` are the factors of J̃ M⁻¹ J̃ᵀ. ``nearness`` is 0 far from a singularity and 1 at it.
    """

    rows: list[list[Any]]
    inward: list[list[Any]]
    inverse: Semidefinite
    nearness: Any  # from 0 far from a singularity to 1


def task_forces(
    tree: Tree,
    q: Scalars,
    levels: Sequence[Level],
    a0: Scalars,
    condition: float,
    armature: bool = False,
    shares: Sequence[Any] | None = None,
) -> list[Any]:
    """Return the joint forces (nv) that prioritized tasks need in addition to h + M a_0, level by level.

    They are Σ J̃ᵀF, where J̃ is a level's Jacobian without the motions of higher levels. F = Λ (a* − J̇ v − J a_0 − J
    M⁻¹ τ), with the required task accelerations a* and the forces τ of the higher levels. ``condition`` bounds the
    condition number of each Λ⁻¹ = J̃ M⁻¹ J̃ᵀ. With ``armature``, M includes the armature of joints. ``shares`` are the
    factors of each level's forces that `force_shares` returns, 1 by default.
    """
    return _solved(tree, q, levels, a0, condition, armature, shares or [1.0] * len(levels), ())[0]


def force_shares(
    tree: Tree, q: Scalars, levels: Sequence[Level], a0: Scalars, condition: float, armature: bool, most: Scalars
) -> list[Any]:
    """Return, for each priority level, a factor ≤ 1 of its forces with which joint accelerations stay within bounds.

    Near singularities, forces then accelerate no joint by more than ``most`` (nv) [rad/s², m/s²]. Elsewhere the bound
    is `_FARTHER` times ``most``. Forces that the motion of targets requires are not counted.
    """
    return _solved(tree, q, levels, a0, condition, armature, None, most)[1]


def _solved(
    tree: Tree,
    q: Scalars,
    levels: Sequence[Level],
    a0: Scalars,
    condition: float,
    armature: bool,
    shares: Sequence[Any] | None,
    most: Scalars,
) -> tuple[list[Any], list[Any]]:
    """Return the joint forces of `task_forces`, and the factors of each level's forces.

    The factors are ``shares``, or those of `force_shares` if ``shares`` is None.
    """
    M_inv = inverse_mass_matrix(tree, q, armature)
    before: list[_ConsistentTasks] = []
    tau: list[Any] = [0.0] * tree.nv
    y: list[Any] = [0.0] * tree.nv  # D⁻¹ L⁻ᵀ τ
    used: list[Any] = []
    for number, level in enumerate(levels):
        rows, inward = [list(row) for row in level.rows], [M_inv.inward(row) for row in level.rows]
        effects = [M_inv.weighed(row) for row in inward]
        size = sum((dot(a, b) for a, b in zip(inward, effects, strict=True)), 0.0)
        errors = [
            a - (0.0 if all(map(is_zero, a0)) else dot(row, a0)) - dot(z, y)
            for a, row, z in zip(level.accelerations, rows, inward, strict=True)
        ]
        for upper in before:
            for k, z in enumerate(effects):
                share = upper.inverse.once([dot(w, z) for w in upper.inward])
                rows[k] = [
                    x - dot(column, share) for x, column in zip(rows[k], zip(*upper.rows, strict=True), strict=True)
                ]
                inward[k] = [
                    x - dot(column, share) for x, column in zip(inward[k], zip(*upper.inward, strict=True), strict=True)
                ]
        effects = [M_inv.weighed(row) for row in inward]
        S = [[dot(row, effects[j]) for j in range(i + 1)] for i, row in enumerate(inward)]
        result = _ConsistentTasks(rows, inward, *_regular(S, size, condition))
        led = list(level.reference) or [0.0] * len(errors)
        pulled = result.inverse.once([a - b for a, b in zip(errors, led, strict=True)])
        if shares is None:
            own_push = [dot(column, pulled) for column in zip(*effects, strict=True)]
            bound = _FARTHER - (_FARTHER - 1.0) * result.nearness
            pushes = zip(M_inv.outward(own_push), most, strict=True)
            used.append(bound / functools.reduce(fmax, (fabs(x) / each for x, each in pushes), bound))
        else:
            used.append(shares[number])
        forces = [a + used[-1] * b for a, b in zip(result.inverse.once(led), pulled, strict=True)]
        tau = [x + dot(column, forces) for x, column in zip(tau, zip(*rows, strict=True), strict=True)]
        y = [x + dot(column, forces) for x, column in zip(y, zip(*effects, strict=True), strict=True)]
        before.append(result)
    return tau, used


def regular(S: Rows, size: Any, condition: float) -> Semidefinite:
    """Return the factors of S + λ 1, with the smallest λ ≥ 0 that keeps the condition number below ``condition``.

    S is positive semidefinite, and ``size`` is an upper bound of its eigenvalues.
    """
    return _regular(S, size, condition)[0]


def _regular(S: Rows, size: Any, condition: float) -> tuple[Semidefinite, Any]:
    """Return the factors of `regular`, and a number that is 0 far from a singularity of S and 1 at it."""
    m = len(S)
    estimate = Semidefinite.of([list(row) + [0.0] * (m - len(row)) for row in S], [_REGULARIZATION * size] * m, 0.0)
    inverses: Any = 0.0
    for k in range(m):
        half = estimate.half([1.0 if i == k else 0.0 for i in range(m)])
        inverses = inverses + sum((x * x * d for x, d in zip(half, estimate.D_inv, strict=True)), 0.0)
    immovable = eq(inverses, 0.0)
    smallest = where(immovable, 0.0, 1.0 / where(immovable, 1.0, inverses))
    most = size / (condition - 1.0)
    added = fmax(most - smallest, 0.0)
    nearness = fmin(1.0, _RAMP * fmax(1.0 - smallest / fmax(_NEAR * most, 1e-300), 0.0))
    return Semidefinite.of([list(row) + [0.0] * (m - len(row)) for row in S], [added] * m, 0.0), nearness


class TaskMotion(NamedTuple):
    """Motion of IK tasks in one state: errors e, Jacobian J (``rows``), bias accelerations J̇ v (``drifts``), and J v.

    ``rates`` are J v, a list for each task, which may have more entries than the task has rows in J. ``led`` are the
    parts of the bias accelerations that the motion of targets causes.
    """

    errors: list[Any]
    rows: list[list[Any]]
    drifts: list[Any]
    led: list[Any]
    rates: list[list[Any]]  # by task


def task_motion(stack: Stack, q: Scalars, v: Scalars, leads: Sequence[Scalars]) -> TaskMotion:
    """Return the motion of all tasks of a stack, with the Jacobians for controllers (`Task.moving_rows`).

    ``leads`` are the values of J v, by task, at which tasks follow the motions of their targets.
    """
    at = TaskState(stack.tree, q)
    each = list(zip(stack.tasks, stack.targets, leads, strict=True))
    moved = [SparseTangent({0: x}) for x in velocity_to_configuration_derivative(stack.tree, q, v)]
    for task, target, lead in each:
        moved += [SparseTangent({1: x}) for x in _target_rates(at, task, target, lead)]
    moving = seeded([*q, *(x for target in stack.targets for x in target)], moved)
    state, start = TaskState(stack.tree, moving[: len(q)]), len(q)
    result = TaskMotion([], [], [], [], [])
    for task, target, _ in each:
        task_rows = task.moving_rows(state, moving[start : start + len(target)])
        start += len(target)
        split = [[parts(x, moving[0].level) for x in row] for row in task_rows.rows]
        changes = [[x if isinstance(x, SparseTangent) else SparseTangent({}) for _, x in row] for row in split]
        rows = [[x for x, _ in row] for row in split]
        m = len(task_rows.errors)
        by_q, by_target = ([dot([x.get(key) for x in row], v) for row in changes[:m]] for key in (0, 1))
        result.errors.extend(parts(x, moving[0].level)[0] for x in task_rows.errors)
        result.rows.extend(rows[:m])
        result.drifts.extend(a if is_zero(b) else a + b for a, b in zip(by_q, by_target, strict=True))
        result.led.extend(by_target)
        result.rates.append([dot(row, v) for row in rows])
    return result


def _target_rates(state: TaskState, task: Task, target: Scalars, lead: Scalars) -> list[Any]:
    """Return the time derivatives of a target's elements if the task follows its target at J v = ``lead``.

    Errors of a robot at rest would then change at −``lead``: y solves ∂e/∂target y = −lead in the least-squares sense,
    with the minimum norm, in the tangent space of the target. The result is zero for tasks whose ``lead`` does not
    determine the motion of the target.
    """
    if not task.rates_follow_jacobian or all(map(is_zero, lead)):
        return [0.0] * len(target)
    directions = _target_directions(task, target)
    each = [SparseTangent(dict(enumerate(row))) for row in zip(*directions, strict=True)]
    moving = seeded(list(target), each)
    slopes = [parts(e, moving[0].level)[1] for e in task.errors(state, moving)]
    rows = [[row.get(k) if isinstance(row, SparseTangent) else 0.0 for k in range(len(directions))] for row in slopes]
    columns = transposed(rows)
    if len(rows) < len(columns):
        y = [dot(column, _solved_normal(rows, [-x for x in lead])) for column in columns]
    else:
        y = _solved_normal(columns, [-dot(column, lead) for column in columns])
    return [dot(y, row) for row in zip(*directions, strict=True)]


def _solved_normal(A: Rows, b: Scalars) -> list[Any]:
    """Return the solution x of A Aᵀ x = b."""
    return Semidefinite.of([[dot(x, y) for y in A[: k + 1]] for k, x in enumerate(A)]).solved(b)


def _target_directions(task: Task, target: Scalars) -> list[list[Any]]:
    """Return vectors that span the possible changes of a target's elements, such as of a rotation matrix."""
    kind, n = task.target_of.kind if task.target_of is not None else "", len(target)
    units = [[1.0 if j == k else 0.0 for j in range(n)] for k in range(n)]
    if kind == "direction":
        t = Vec3.of(target)
        return [[*t.cross(Vec3.of(unit))] for unit in units]
    if kind not in ("pose", "rotation"):
        return units
    width = 4 if kind == "pose" else 3
    result = []
    for axis in (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)):
        row = [0.0] * n
        for j in range(3):
            for i, x in enumerate(axis.cross(Vec3.of([target[width * k + j] for k in range(3)]))):
                row[width * i + j] = x
        result.append(row)
    return [*result, *(units[k] for k in (3, 7, 11) if kind == "pose")]


def drift_along(tree: Tree, rows: Callable[[Scalars], list[list[Any]]], q: Scalars, v: Scalars) -> list[Any]:
    """Return J̇ v for a Jacobian that is a function of q."""
    moving = seeded(list(q), [SparseTangent({0: x}) for x in velocity_to_configuration_derivative(tree, q, v)])
    level = moving[0].level

    def rate(x: Any) -> Any:
        tangent = parts(x, level)[1]
        return tangent.get(0) if isinstance(tangent, SparseTangent) else 0.0

    return [dot([rate(x) for x in row], v) for row in rows(moving)]
