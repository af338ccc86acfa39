"""Several solutions of one IK target, and continued searches.

The solutions are the branches of an arm or, for a redundant robot, configurations far apart.  Searches start at the
branches of the closed form (if there is one), at the initial guess, and at a fixed sequence of starts.  All run in one
call of the kernel, with a few iterations each.  Solutions that differ only by full revolutions or small motions count
once, and the one nearest to the initial guess is returned.  If there are more than requested, the nearest ones are
returned; for a redundant robot, each next solution is the farthest from all previous ones.

Continued searches run with all iterations where a few iterations were not enough, and until a deadline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.validation import integer
from linkwork.errors import Status
from linkwork.ik.arguments import flat_states
from linkwork.ik.failure_analysis import Reason, proofs
from linkwork.ik.kernels import DIAGNOSTICS, ProblemView
from linkwork.ik.result import IKResult
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.ik.tasks.modifiers import counted_joints
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.periodic_coordinates import periodic_coordinates

__all__ = ["continue_failed_searches", "restart_from_feasible", "run_until_deadline", "several_solutions"]


APART = 0.1  # [rad, characteristic lengths] minimum difference of some joint between distinct solutions
STEPS = 60  # iterations of each search
_STARTS, _EACH = 60, 8  # searches in addition to branches: a fixed number, and a number for each solution
_MOST = 1000  # solutions
_DONE, _ITERATIONS, _RESTARTS = (DIAGNOSTICS.index(name) for name in ("done", "iterations", "restarts"))


def several_solutions(
    problem: ProblemView, num_solutions: Any, q_init: np.ndarray, tolerances: np.ndarray, targets: dict[str, np.ndarray]
) -> IKResult:
    """Return ``num_solutions`` solutions on a new leading axis, sorted by distance from ``q_init``.

    Raises ValueError for an invalid count.
    """
    n = integer(problem.caller, "num_solutions", num_solutions, least=1, most=_MOST, description="an integer")
    ranks = {name: len(shape) for name, shape in problem.shapes.items()}
    shape = np.broadcast_shapes(q_init.shape[:-1], *(x.shape[: x.ndim - ranks[name]] for name, x in targets.items()))
    flat = {name: flat_states(x, ranks[name], shape) for name, x in targets.items()}
    initial_q = flat_states(q_init, 1, shape)
    if problem.solver != "levenberg":
        raise ValueError(
            f"{problem.caller}: num_solutions: expected hard tasks and solver 'levenberg', got {problem.solver!r}"
        )
    if not len(initial_q):
        sizes = q_init.shape[-1], len(problem.scales), len(DIAGNOSTICS)
        empty = [np.zeros((n, *shape, size)) for size in sizes]
        return IKResult._make(problem, empty[0], empty[1], empty[2], q_init, targets, tolerances)
    q, errors, diagnostics = _candidates(problem, n, initial_q, tolerances, flat)
    periodic, scale = _coordinate_scales(problem)
    q = _nearest_revolution(problem, q, initial_q[:, None], periodic)
    distances = _largest_difference(q, initial_q[:, None], scale, 0.0 * periodic)
    spread = _is_redundant(problem, tolerances, initial_q, flat)
    selections = [
        _select_solutions(n, done, x, y, scale, periodic, spread)
        for done, x, y in zip(diagnostics[..., _DONE] == 1.0, q, distances, strict=True)
    ]
    searches = q.shape[1]
    steps, restarts = diagnostics[..., _ITERATIONS].sum(axis=1), diagnostics[..., _RESTARTS].sum(axis=1) + searches - 1
    indices, reasons = np.zeros((len(initial_q), n), dtype=int), {}
    for k, selection in enumerate(selections):
        best = int(np.argmin((errors[k] * problem.scales * (errors[k] * problem.scales)).sum(axis=-1)))
        indices[k] = [*selection, *(selection[:1] or [best]) * (n - len(selection))]
        for missing in range(len(selection), n) if selection else ():
            reasons[missing * len(initial_q) + k] = Reason(
                Status.NO_OTHER_SOLUTION, starts=searches, num_solutions=len(selection)
            )

    def select(x: np.ndarray) -> np.ndarray:
        rows = np.take_along_axis(x, indices[..., None], axis=1)
        return np.ascontiguousarray(np.moveaxis(rows, 1, 0)).reshape(n, *shape, x.shape[-1])

    diagnostics = select(diagnostics)
    totals = {_ITERATIONS: steps, _RESTARTS: restarts}
    for k, values in totals.items():
        diagnostics[..., k] = values.reshape(shape)
    for k in reasons:
        diagnostics.reshape(-1, diagnostics.shape[-1])[k, _DONE] = 0.0
    result = IKResult._make(problem, select(q), select(errors), diagnostics, q_init, targets, tolerances)
    result._set_reasons(reasons)
    return result


def _candidates(
    problem: ProblemView, n: int, initial_q: np.ndarray, tolerances: np.ndarray, targets: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run all searches for solutions; return their q, errors and diagnostics, each (states, searches, ...)."""
    starts = np.arange(_STARTS + _EACH * n, dtype=float)

    def search(begin: np.ndarray, first: np.ndarray) -> Any:
        return problem.feasibility_kernel(
            begin,
            tolerances,
            problem.weights,
            problem.lower,
            problem.upper,
            np.array(float(STEPS)),
            first,
            *(x[:, None] for x in targets.values()),
        )

    searches_done = [search(initial_q[:, None], starts)]
    branches = _branches(problem, tolerances, targets, initial_q)
    if branches is not None:
        searches_done.append(search(branches, np.array(0.0)))
    problem.refuse_unless_poses(searches_done[0], initial_q, targets)
    return tuple(
        np.concatenate([getattr(part, name) for part in searches_done], axis=1)
        for name in ("q", "errors", "diagnostics")
    )  # type: ignore[return-value]


def _branches(
    problem: ProblemView, tolerances: np.ndarray, targets: dict[str, np.ndarray], initial_q: np.ndarray
) -> np.ndarray | None:
    """Return the closed-form branches (states, 8, nq) of a single pose task on a six-axis arm, else None."""
    task = problem.tasks[0]
    if len(problem.tasks) != 1 or type(task) is not PoseTask or not np.isfinite(tolerances).all():
        return None
    form = problem.robot.closed_form(task.frame, relative_to=task.relative_to)
    if form is None or form.redundant is not None:
        return None
    result: np.ndarray = form.branches(targets[task.name], q_init=initial_q).q
    return np.where(np.isfinite(result), result, initial_q[:, None])


def _coordinate_scales(problem: ProblemView) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays (nq): 1 where full revolutions are equivalent, else 0; and factors for comparable units."""
    tree = problem.robot.tree
    periodic = periodic_coordinates(tree, counted_joints(tree, problem.tasks)).in_q.astype(float)
    scale = np.ones(tree.nq)
    for k, body in tree.stacked():
        scale[tree.q_slices[k]] = [
            1.0 / characteristic_length(tree) if unit == "m" else 1.0 for unit in body.joint.q_units
        ]
    return periodic, scale


def _nearest_revolution(problem: ProblemView, q: np.ndarray, initial_q: np.ndarray, periodic: np.ndarray) -> np.ndarray:
    """Shift periodic coordinates by full revolutions as near to the initial guess as limits allow."""
    near = np.clip(initial_q, problem.lower, problem.upper)
    turns = periodic * np.round((near - q) / math.tau)
    for _ in range(3):
        moved = q + math.tau * turns
        out = ((moved < problem.lower) | (moved > problem.upper)) & (turns != 0.0)
        if not out.any():
            break
        turns = np.where(out, turns - np.sign(turns), turns)
    moved = q + math.tau * turns
    fine = (moved >= problem.lower) & (moved <= problem.upper)
    result: np.ndarray = np.where((turns != 0.0) & fine, moved, q)
    return result


def _largest_difference(a: np.ndarray, b: np.ndarray, scale: np.ndarray, periodic: np.ndarray) -> np.ndarray:
    """Return the largest scaled difference of any joint, up to full revolutions where they are equivalent."""
    d = a - b
    return np.asarray((np.abs(d - math.tau * periodic * np.round(d / math.tau)) * scale).max(axis=-1))


def _is_redundant(
    problem: ProblemView, tolerances: np.ndarray, initial_q: np.ndarray, targets: dict[str, np.ndarray]
) -> bool:
    """Return True if more joints move the tasks than there are hard residual components."""
    rows = problem.residual_kernel(initial_q, *targets.values()).rows
    moving = int((np.abs(rows).max(axis=(0, 1)) > 0.0).sum())
    hard = [task.hard for task in problem.tasks for _ in task.component_names]
    return moving > int((np.isfinite(np.broadcast_to(tolerances, (len(hard),))) & hard).sum())


def _select_solutions(
    n: int,
    done: np.ndarray,
    q: np.ndarray,
    distances: np.ndarray,
    scale: np.ndarray,
    periodic: np.ndarray,
    spread: bool,
) -> list[int]:
    """Return the indices of at most n distinct solutions among the searches that are ``done``.

    The solutions are the nearest to the initial guess. With ``spread``, each further solution is instead the farthest
    from all previous ones. They are sorted by their ``distances`` from the initial guess.
    """
    left = [int(k) for k in np.argsort(distances, kind="stable") if done[k]]
    result: list[int] = []
    gap = np.full(len(q), np.inf)  # distance to the nearest selected solution
    while left and len(result) < n:
        k = max(left, key=lambda i: gap[i]) if spread and result else left[0]
        if gap[k] > APART:
            result.append(k)
            gap = np.minimum(gap, _largest_difference(q, q[k], scale, periodic))
        left = [i for i in left if i != k and gap[i] > APART]
    return sorted(result, key=lambda i: float(distances[i]))


_CHUNK = 200  # iterations between two readings of the clock
_WINDOWS = 8  # windows of starts that are searched together
_LEAST = 100  # minimum iterations of a window
_SHORTER = 4  # divisor of the iterations where infeasibility is proved
_FEWEST = 3  # minimum iterations of a start


def continue_failed_searches(
    problem: ProblemView,
    result: Any,
    q_init: np.ndarray,
    tolerances: np.ndarray,
    targets: dict[str, np.ndarray],
    steps: int,
) -> None:
    """Continue failed searches for ``steps`` iterations in total and update ``result`` in place.

    The iterations are divided among several simultaneous searches, each of which begins at another index of the
    sequence of starts. Each spends its last iterations on its best configuration, so a failed state returns the best of
    several minima. Searches are shorter where a reach bound proves that there is no solution.
    """
    failed, rows = _failed_states(result)
    targets = {name: rows(x, len(problem.shapes[name])) for name, x in targets.items()}
    tolerances = rows(tolerances, 1)
    proved = np.array([proof is not None for proof in proofs(problem, targets, tolerances)], dtype=bool)
    for selected, count in ((np.flatnonzero(~proved), steps), (np.flatnonzero(proved), steps // _SHORTER)):
        if len(selected):
            _search_windows(problem, result, rows(q_init, 1), tolerances, targets, failed, selected, count)


def _failed_states(result: Any) -> tuple[np.ndarray, Callable[[np.ndarray, int], np.ndarray]]:
    """Return the flat indices of the failed states, and a function (array, rank) that selects their entries.

    ``rank`` is the number of trailing axes that belong to one state.
    """
    shape = result.diagnostics.shape[:-1]
    failed = np.flatnonzero(result.diagnostics[..., 0].ravel() != 1.0)

    def rows(x: np.ndarray, rank: int) -> np.ndarray:
        return flat_states(x, rank, shape)[failed]

    return failed, rows


def _search_windows(
    problem: ProblemView,
    result: Any,
    q_init: np.ndarray,
    tolerances: np.ndarray,
    targets: dict[str, np.ndarray],
    failed: np.ndarray,
    selected: np.ndarray,
    steps: int,
) -> None:
    """Continue the searches of the failed states with indices ``selected`` and update ``result`` in place.

    Several searches of a state run at the same time, each from another index of the sequence of starts.
    """
    windows = min(max(steps // _LEAST, 1), _WINDOWS)
    each = max(steps // windows, 1)
    diagnostics = result.diagnostics.reshape(-1, result.diagnostics.shape[-1])
    starts = diagnostics[failed[selected], _RESTARTS][:, None] + 1.0 + np.arange(windows) * (each // _FEWEST + 1.0)
    more = problem.kernel(
        q_init[selected][:, None],
        tolerances[selected][:, None],
        problem.weights,
        *problem.finite_bounds,
        np.array(float(each)),
        starts,
        *(x[selected][:, None] for x in targets.values()),
    )
    # for each state the window that succeeded, or has the lowest cost
    scales = np.array(problem.scales)
    before = np.square(result.errors.reshape(len(diagnostics), -1)[failed[selected]] * scales).sum(axis=-1)
    costs = np.square(more.errors * scales).sum(axis=-1) - 1e300 * (more.diagnostics[..., 0] == 1.0)
    best = np.argmin(costs, axis=1)
    which = np.arange(len(selected))
    better = ~(costs[which, best] >= before)
    added = {k: more.diagnostics[..., k].sum(axis=1) for k in (_ITERATIONS, _RESTARTS)}
    sums = {k: diagnostics[failed[selected], k] + count for k, count in added.items()}
    for array, x in ((result.q, more.q), (result.errors, more.errors), (result.diagnostics, more.diagnostics)):
        array.reshape(-1, array.shape[-1])[failed[selected][better]] = x[which, best][better]
    for k, x in sums.items():
        diagnostics[failed[selected], k] = x + (windows if k == _RESTARTS else 0.0)


def restart_from_feasible(
    problem: ProblemView,
    result: Any,
    q_init: np.ndarray,
    near: np.ndarray,
    tolerances: np.ndarray,
    targets: dict[str, np.ndarray],
    steps: np.ndarray,
) -> None:
    """Repeat failed nearest-configuration searches from any feasible configuration, and update ``result`` in place."""
    failed, rows = _failed_states(result)
    left = rows(tolerances, 1)
    target_arrays = [rows(x, len(problem.shapes[name])) for name, x in targets.items()]
    first = np.array(0.0)
    feasible = problem.feasibility_kernel(
        rows(q_init, 1), left, problem.weights, *problem.finite_bounds, steps, first, *target_arrays
    )
    done = np.flatnonzero(feasible.diagnostics[:, 0] == 1.0)
    if not len(done):
        return
    more = problem.kernel(
        feasible.q[done],
        left[done],
        problem.weights,
        *problem.finite_bounds,
        steps,
        first,
        rows(near, 1)[done],
        *(x[done] for x in target_arrays),
    )
    for array, x in ((result.q, more.q), (result.errors, more.errors), (result.diagnostics, more.diagnostics)):
        array.reshape(-1, array.shape[-1])[failed[done]] = x


def run_until_deadline(
    time_limit: float, max_iterations: int, run: Callable[[np.ndarray, np.ndarray], IKResult]
) -> IKResult:
    """Return the first solution, or the best result when ``time_limit`` [s] expires.

    ``run`` takes the number of iterations and the index of the first start.  If soft tasks have a remaining cost, the
    search continues with other starts.
    """
    end = time.perf_counter() + time_limit
    best: IKResult | None = None
    first, steps = 0.0, 0
    while True:
        result = run(np.array(float(_CHUNK)), np.array(first))
        steps += int(result.iterations)
        first += float(result.restarts) + 1.0
        if best is None or _rank(result) < _rank(best):
            best = result
        if result.success and result.status is Status.SOLVED:
            return best._with_counts(steps, int(first) - 1)
        if time.perf_counter() >= end or steps >= max_iterations:
            return best._with_counts(steps, int(first) - 1)


def _rank(result: IKResult) -> tuple[bool, bool, float, float]:
    """Return a sort key (infeasible, failed, hard cost, soft cost); the smallest key is the best result."""
    cost = 0.0 if result.feasible else float(result.cost)
    return not result.feasible, not result.success, cost, float(result.soft_cost)
