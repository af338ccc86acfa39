"""Several answers to one question: branches of an arm, or, where joints are left over, configurations far apart.

Searches begin at the branches of the closed form, where there is one, at the seed, and at so many starts of the
sequence, each with a few steps of its own, all in one call of the kernel.  Answers that differ by whole turns, or by
little, count once, the nearest to the seed.  Of more than are asked for, those nearest to the seed are given, or, where
joints are left over, those far from each other: each next one is the farthest from all before.

Searches that go on: with all steps where few have not been enough, and until a deadline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.validation import integer
from linkwork.errors import Status
from linkwork.ik.failure_analysis import Reason, proofs
from linkwork.ik.kernels import TOLD
from linkwork.ik.problem_protocol import ProblemView
from linkwork.ik.result import IKResult
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.joints import Revolute
from linkwork.kinematics.algorithms.coordinates import characteristic_length

__all__ = ["from_answers", "go_on", "several", "until"]


APART = 0.1  # rad, or of a characteristic length: by how much a joint differs, of answers that are not one
STEPS = 60  # of each search
_STARTS, _EACH = 60, 8  # how many searches there are besides branches: so many, and so many for each answer
_MOST = 1000  # answers
_DONE, _ITERATIONS, _RESTARTS = (TOLD.index(name) for name in ("done", "iterations", "restarts"))


def several(
    problem: ProblemView, num_solutions: Any, q_init: np.ndarray, tolerances: np.ndarray, given: dict[str, np.ndarray]
) -> IKResult:
    """As many answers as are asked for, a leading axis of them, in the order of how far they are from the seed.

    Raises ValueError for a count that is none.
    """
    n = integer(
        problem.caller, "num_solutions", num_solutions, least=1, most=_MOST, what="how many answers, an integer"
    )
    ranks = {name: len(shape) for name, shape in problem.shapes.items()}
    shape = np.broadcast_shapes(q_init.shape[:-1], *(x.shape[: x.ndim - ranks[name]] for name, x in given.items()))
    flat = {
        name: np.broadcast_to(x, (*shape, *problem.shapes[name])).reshape(-1, *problem.shapes[name])
        for name, x in given.items()
    }
    seeds = np.broadcast_to(q_init, (*shape, q_init.shape[-1])).reshape(-1, q_init.shape[-1])
    if problem.solver != "levenberg":
        raise ValueError(
            f"{problem.caller}: num_solutions: hard tasks alone have several answers, and this is {problem.solver!r}"
        )
    if not len(seeds):
        sizes = q_init.shape[-1], len(problem.scales), len(TOLD)
        nothing = [np.zeros((n, *shape, size)) for size in sizes]
        return IKResult._make(problem, nothing[0], nothing[1], nothing[2], q_init, given, tolerances)
    q, errors, told = _candidates(problem, n, seeds, tolerances, flat)
    turning, scale = _moves(problem)
    q = _turned(problem, q, seeds[:, None], turning)
    far = _between(q, seeds[:, None], scale, 0.0 * turning)
    spread = _left_over(problem, tolerances, seeds, flat)
    found = [
        _chosen(n, done, x, y, scale, turning, spread)
        for done, x, y in zip(told[..., _DONE] == 1.0, q, far, strict=True)
    ]
    searches = q.shape[1]
    steps, restarts = told[..., _ITERATIONS].sum(axis=1), told[..., _RESTARTS].sum(axis=1) + searches - 1
    picked, reasons = np.zeros((len(seeds), n), dtype=int), {}
    for k, chosen in enumerate(found):
        best = int(np.argmin((errors[k] * problem.scales * (errors[k] * problem.scales)).sum(axis=-1)))
        picked[k] = [*chosen, *(chosen[:1] or [best]) * (n - len(chosen))]
        for missing in range(len(chosen), n) if chosen else ():
            reasons[missing * len(seeds) + k] = Reason(Status.NO_OTHER_SOLUTION, starts=searches, others=len(chosen))

    def taken(x: np.ndarray) -> np.ndarray:
        rows = np.take_along_axis(x, picked[..., None], axis=1)
        return np.ascontiguousarray(np.moveaxis(rows, 1, 0)).reshape(n, *shape, x.shape[-1])

    told = taken(told)
    spans = {_ITERATIONS: steps, _RESTARTS: restarts}
    for place, values in spans.items():
        told[..., place] = values.reshape(shape)
    for k in reasons:
        told.reshape(-1, told.shape[-1])[k, _DONE] = 0.0
    result = IKResult._make(problem, taken(q), taken(errors), told, q_init, given, tolerances)
    result._known(reasons)
    return result


def _candidates(
    problem: ProblemView, n: int, seeds: np.ndarray, tolerances: np.ndarray, given: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where searches end, (states, searches, ...)."""
    starts = np.arange(_STARTS + _EACH * n, dtype=float)

    def asked(begin: np.ndarray, first: np.ndarray) -> Any:
        targets = (x[:, None] for x in given.values())
        return problem.searching(
            begin,
            tolerances,
            problem.weights,
            problem.lower,
            problem.upper,
            np.array(float(STEPS)),
            first,
            *targets,
        )

    parts = [asked(seeds[:, None], starts)]
    branches = _branches(problem, tolerances, given, seeds)
    if branches is not None:
        parts.append(asked(branches, np.array(0.0)))
    problem.refuse_unless_poses(parts[0], seeds, given)
    return tuple(np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("q", "errors", "told"))  # type: ignore[return-value]


def _branches(
    problem: ProblemView, tolerances: np.ndarray, given: dict[str, np.ndarray], seeds: np.ndarray
) -> np.ndarray | None:
    """Those of the closed form (states, 8, nq), of six axes that it is all about."""
    task = problem.tasks[0]
    if len(problem.tasks) != 1 or type(task) is not PoseTask or not np.isfinite(tolerances).all():
        return None
    form = problem.robot.closed_form(task.frame, relative_to=task.relative_to)
    if form is None or form.redundant is not None:
        return None
    result: np.ndarray = form.branches(given[task.name], q_init=seeds).q
    return np.where(np.isfinite(result), result, seeds[:, None])


def _moves(problem: ProblemView) -> tuple[np.ndarray, np.ndarray]:
    """By number of q: 1 where whole turns are none, and what makes differences comparable."""
    tree = problem.robot.tree
    turning, scale = np.zeros(tree.nq), np.ones(tree.nq)
    for k, body in tree.stacked():
        place = tree.q_slices[k]
        turning[place] = type(body.joint) is Revolute
        scale[place] = [1.0 / characteristic_length(tree) if unit == "m" else 1.0 for unit in body.joint.q_units]
    return turning, scale


def _turned(problem: ProblemView, q: np.ndarray, seeds: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """By whole turns as near to the seed as limits allow."""
    turns = turning * np.round((seeds - q) / math.tau)
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


def _between(a: np.ndarray, b: np.ndarray, scale: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """The largest difference of a joint, whole turns aside where they are none."""
    d = a - b
    return np.asarray((np.abs(d - math.tau * turning * np.round(d / math.tau)) * scale).max(axis=-1))


def _left_over(problem: ProblemView, tolerances: np.ndarray, seeds: np.ndarray, given: dict[str, np.ndarray]) -> bool:
    """Whether more joints move than there are rows to be done."""
    rows = problem.looking(seeds, *given.values()).rows
    moving = int((np.abs(rows).max(axis=(0, 1)) > 0.0).sum())
    hard = [task.hard for task in problem.tasks for _ in task.component_names]
    return moving > int((np.isfinite(np.broadcast_to(tolerances, (len(hard),))) & hard).sum())


def _chosen(
    n: int, done: np.ndarray, q: np.ndarray, far: np.ndarray, scale: np.ndarray, turning: np.ndarray, spread: bool
) -> list[int]:
    """Which searches are the answers, nearest to the seed first."""
    left = [int(k) for k in np.argsort(far, kind="stable") if done[k]]
    result: list[int] = []
    gap = np.full(len(q), np.inf)  # to the nearest of those that are found
    while left and len(result) < n:
        k = max(left, key=lambda i: gap[i]) if spread and result else left[0]
        if gap[k] > APART:
            result.append(k)
            gap = np.minimum(gap, _between(q, q[k], scale, turning))
        left = [i for i in left if i != k and gap[i] > APART]
    return sorted(result, key=lambda i: float(far[i]))


_CHUNK = 200  # steps between two looks at the clock
_WINDOWS = 8  # of starts, that are searched at once
_LEAST = 100  # steps of a window
_SHORTER = 4
_FEWEST = 3  # steps of a start
_ITERATIONS_GOING_ON, _RESTARTS_GOING_ON = TOLD.index("iterations"), TOLD.index("restarts")


def go_on(
    problem: ProblemView,
    result: Any,
    q_init: np.ndarray,
    tolerances: np.ndarray,
    given: dict[str, np.ndarray],
    steps: int,
) -> None:
    """Search with ``steps`` more for what was not found soon; put in place.

    Several windows of the sequence of starts are searched at once.  Each ends with the last steps from its best: where
    there is no answer the nearest is the least of several minima.  Where a bound says that there is none, windows are
    shorter.
    """
    failed, rows = _failed_states(result)
    targets = {name: rows(x, len(problem.shapes[name])) for name, x in given.items()}
    tolerances = rows(tolerances, 1)
    proved = np.array([proof is not None for proof in proofs(problem, targets, tolerances)], dtype=bool)
    for some, count in ((np.flatnonzero(~proved), steps), (np.flatnonzero(proved), steps // _SHORTER)):
        if len(some):
            _in_windows(problem, result, rows(q_init, 1), tolerances, targets, failed, some, count)


def _failed_states(result: Any) -> tuple[np.ndarray, Callable[[np.ndarray, int], np.ndarray]]:
    """The flat indices of the states that are not solved, and the function that takes their rows of an array whose last
    ``rank`` axes are of one state.
    """
    shape = result.told.shape[:-1]
    failed = np.flatnonzero(result.told[..., 0].ravel() != 1.0)

    def rows(x: np.ndarray, rank: int) -> np.ndarray:
        own = x.shape[x.ndim - rank :]
        spread: np.ndarray = np.broadcast_to(x, (*shape, *own)).reshape(-1, *own)[failed]
        return spread

    return failed, rows


def _in_windows(
    problem: ProblemView,
    result: Any,
    q_init: np.ndarray,
    tolerances: np.ndarray,
    targets: dict[str, np.ndarray],
    failed: np.ndarray,
    some: np.ndarray,
    steps: int,
) -> None:
    """Search on for some of the failed states; put in place."""
    windows = min(max(steps // _LEAST, 1), _WINDOWS)
    each = max(steps // windows, 1)
    told = result.told.reshape(-1, result.told.shape[-1])
    starts = told[failed[some], _RESTARTS_GOING_ON][:, None] + 1.0 + np.arange(windows) * (each // _FEWEST + 1.0)
    more = problem.kernel(
        q_init[some][:, None],
        tolerances[some][:, None],
        problem.weights,
        *problem.ends,
        np.array(float(each)),
        starts,
        *(x[some][:, None] for x in targets.values()),
    )
    # of each state the window that is done, or is nearest
    scales = np.array(problem.scales)
    before = np.square(result.errors.reshape(len(told), -1)[failed[some]] * scales).sum(axis=-1)
    costs = np.square(more.errors * scales).sum(axis=-1) - 1e300 * (more.told[..., 0] == 1.0)
    best = np.argmin(costs, axis=1)
    which = np.arange(len(some))
    taken = ~(costs[which, best] >= before)
    sums = {
        k: told[failed[some], k] + more.told[..., k].sum(axis=1) for k in (_ITERATIONS_GOING_ON, _RESTARTS_GOING_ON)
    }
    for place, x in ((result.q, more.q), (result.errors, more.errors), (result.told, more.told)):
        place.reshape(-1, place.shape[-1])[failed[some][taken]] = x[which, best][taken]
    for k, x in sums.items():
        told[failed[some], k] = x + (windows if k == _RESTARTS_GOING_ON else 0.0)


def from_answers(
    problem: ProblemView,
    result: Any,
    q_init: np.ndarray,
    near: np.ndarray,
    tolerances: np.ndarray,
    given: dict[str, np.ndarray],
    steps: np.ndarray,
) -> None:
    """Search for nearest configurations again from any answers, where the first search has met none; put in place."""
    failed, rows = _failed_states(result)
    left = rows(tolerances, 1)
    targets = [rows(x, len(problem.shapes[name])) for name, x in given.items()]
    first = np.array(0.0)
    some = problem.searching(rows(q_init, 1), left, problem.weights, *problem.ends, steps, first, *targets)
    done = np.flatnonzero(some.told[:, 0] == 1.0)
    if not len(done):
        return
    more = problem.kernel(
        some.q[done],
        left[done],
        problem.weights,
        *problem.ends,
        steps,
        first,
        rows(near, 1)[done],
        *(x[done] for x in targets),
    )
    for place, x in ((result.q, more.q), (result.errors, more.errors), (result.told, more.told)):
        place.reshape(-1, place.shape[-1])[failed[done]] = x


def until(time_limit: float, max_iterations: int, run: Callable[[np.ndarray, np.ndarray], IKResult]) -> IKResult:
    """One answer, or the best that there is after so many seconds; ``run`` takes how many steps, and which start.

    Of soft tasks that are not done, other starts may cost less: the search goes on.
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
            return best._after(steps, int(first) - 1)
        if time.perf_counter() >= end or steps >= max_iterations:
            return best._after(steps, int(first) - 1)


def _rank(result: IKResult) -> tuple[bool, bool, float, float]:
    """Less is better: hard tasks done, at a minimum of soft ones, how far from done, what soft ones cost."""
    far = 0.0 if result.feasible else float(result.cost)
    return not result.feasible, not result.success, far, float(result.soft_cost)
