"""Analysis of failed IK states: why there is no solution, for all failures of a batch together.

In this order, and only when it is requested:

1. A reach bound that holds for every configuration (`reach_bounds`) proves "out_of_reach".
2. A longer search within limits finds a solution for a state whose search ended early.  The status is "singular" if
   the search stopped where the Jacobian loses rank and no small motion reduces the errors, else "max_iterations".
3. A search without limits finds a solution, with joints that exceed their limits.  The status is "at_limits" if it is
   proved that limits prevent every solution (`impossibility`), else "not_found".
4. Hard tasks are removed one at a time, as long as the others are still not satisfied together, without limits.  The
   tasks that remain are the conflict that searches found.  The status is "infeasible" if it is proved that two of the
   tasks contradict each other, else "not_found".

A status other than "not_found" requires a proof or a computed solution: a failed search proves nothing.

Before these analyses, a state is "not_finite" if a task's errors are NaN at every configuration that was tried.  A
state is a "local_minimum" if a longer search from the same start does not improve it, although another start leads to a
solution.  A state with satisfied hard tasks is a "local_minimum", too, if its soft tasks have a nonzero cost at the
best of all starts.

Searches run in the kernel of the original solve where possible: an infinite tolerance removes a task.

Source of 4: Chinneck, Feasibility and Infeasibility in Optimization, 2008 (the deletion filter).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.errors import Status
from linkwork.ik.algorithms.levenberg_marquardt import MAX_ITERATIONS
from linkwork.ik.impossibility import are_contradictory, limits_prevent
from linkwork.ik.kernels import NEAR, ProblemView
from linkwork.ik.reach_bounds import UnreachableCertificate, task_proofs
from linkwork.ik.tasks.modifiers import LimitRange, counted_joints
from linkwork.model.limited_coordinates import limited_values

__all__ = ["BlockingLimit", "Reason", "Singularity", "analyse_failures"]

EFFORT = 2000  # iterations of each further search
_RANK = 1e-4  # singular values below this share of the largest count as zero
_STATIONARY = 1e-3  # a gradient below this times |e| σ_max counts as zero
_REVOLUTION = math.tau


@dataclass(frozen=True)
class BlockingLimit:
    """Joint limit that prevents a solution: a solution computed without limits exceeds it.

    ``needed`` is the joint's position in that solution, and ``bound`` the limit, in ``unit`` "rad" or "m".
    """

    joint: str
    needed: float
    bound: float
    unit: str

    def __str__(self) -> str:
        side = "above" if self.needed > self.bound else "below"
        return f"{self.joint!r} needs {self.needed:.4g} {self.unit}, {side} its limit {self.bound:.4g}"


@dataclass(frozen=True)
class Singularity:
    """Rank deficiency of the Jacobian: its smallest singular value and the motion of the frames that no joint produces.

    ``direction`` is that motion, a unit vector as a dict by error, with lengths divided by the characteristic length.
    ``aligned`` lists pairs of joints whose axes coincide.
    """

    value: float
    direction: Mapping[str, float]
    aligned: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        components = sorted(self.direction.items(), key=lambda item: -abs(item[1]))
        text = ", ".join(f"{x:+.2f} {name}" for name, x in components if abs(x) > 0.1)
        axes = "".join(f"; the axes of {a!r} and {b!r} are aligned" for a, b in self.aligned)
        return f"no joint moves the tasks along {text} (smallest singular value {self.value:.2g}){axes}"


@dataclass
class Reason:
    """Findings about one failed state."""

    status: Status | None = None
    proof: UnreachableCertificate | None = None
    limits: tuple[BlockingLimit, ...] = ()
    tasks: tuple[str, ...] = ()  # tasks that cannot be satisfied, alone or together
    starts: int = 0  # starts of all searches
    steps: int = 0  # iterations with which the same solver succeeds from the same initial guess; 0: it does not
    singularity: Singularity | None = None
    multipliers: dict[str, np.ndarray] = field(default_factory=dict)
    num_solutions: int = 0  # solutions found of several requested


class _Failures:
    """Failed states of a batch; each array has one row per state."""

    def __init__(
        self,
        problem: ProblemView,
        q: np.ndarray,
        targets: Mapping[str, np.ndarray],
        tolerances: np.ndarray,
        diagnostics: Mapping[str, np.ndarray],
        q_init: np.ndarray,
        errors: np.ndarray,
    ) -> None:
        self.problem, self.q, self.targets, self.diagnostics, self.q_init = problem, q, targets, diagnostics, q_init
        self.tolerances = np.broadcast_to(tolerances, (len(q), tolerances.shape[-1]))
        self.reasons = [Reason(starts=1 + int(x)) for x in diagnostics["restarts"]]
        for reason, reached in zip(self.reasons, diagnostics["reached"], strict=True):
            if reached == 1.0:  # hard tasks are satisfied, soft ones not converged
                reason.status = Status.STALLED
        for reason, steps in zip(self.reasons, diagnostics["iterations"], strict=True):
            if reason.status and steps >= problem.max_iterations * reason.starts:
                reason.status = Status.MAX_ITERATIONS
        names = [task.name for task in problem.tasks for _ in task.component_names]
        for k in np.flatnonzero(np.isnan(errors).any(axis=-1)):  # a finite residual would have replaced NaN as the best
            not_finite_tasks = dict.fromkeys(name for name, x in zip(names, errors[k], strict=True) if np.isnan(x))
            self.reasons[k].status, self.reasons[k].tasks = Status.NOT_FINITE, tuple(not_finite_tasks)
        self.hard = [task for task in problem.tasks if task.hard]
        self.rows: dict[str, slice] = {}
        start = 0
        for task in problem.tasks:
            self.rows[task.name] = slice(start, start + len(task.component_names))
            start += len(task.component_names)

    @property
    def open(self) -> np.ndarray:
        """Indices of the states without a status so far."""
        return np.array([k for k, reason in enumerate(self.reasons) if not reason.status], dtype=int)

    def search(
        self, states: np.ndarray, *, position_limits: bool = True, first: np.ndarray | float = 0.0, without: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Search again from the current configurations of ``states``; return success, q and iterations for each.

        ``first`` is the index of the first initial guess. ``without`` (states, errors) are tolerances in which infinite
        entries remove tasks. ``position_limits=False`` ignores the limits.
        """
        problem, tolerances = self.problem, self.tolerances[states] if without is None else without
        if not position_limits:
            limits = [isinstance(task, LimitRange) for task in problem.tasks for _ in task.component_names]
            tolerances = np.where(limits, np.inf, tolerances)
        lower, upper = (
            (problem.lower, problem.upper) if position_limits else (np.full_like(problem.lower, s) for s in _ENDS)
        )
        result = problem.feasibility_kernel(
            self.q[states],
            tolerances,
            np.zeros_like(problem.weights),
            lower,
            upper,
            np.array(float(EFFORT)),
            np.array(first, dtype=float),
            *(x[states] for x in self.targets.values()),
        )
        diagnostics = result.diagnostics
        for k, starts in zip(states, diagnostics[:, 2], strict=True):
            self.reasons[k].starts += 1 + int(starts)
        return diagnostics[:, 0] == 1.0, result.q, diagnostics[:, 1]

    # -- tests in their order

    def prove(self) -> None:
        for reason, result in zip(self.reasons, proofs(self.problem, self.targets, self.tolerances), strict=True):
            if result is not None and not reason.status:
                reason.proof, name = result
                reason.tasks = (name,)
                reason.status = None if reason.proof.within_limits else Status.OUT_OF_REACH

    def search_longer(self) -> None:
        states = self.open
        early = np.array(
            [self.diagnostics["iterations"][k] < EFFORT and self.reasons[k].proof is None for k in states], bool
        )
        states = states[early]
        if not len(states):
            return
        done, _, _ = self.search(states, first=self.diagnostics["restarts"][states] + 1.0)
        states = states[done]
        if not len(states):
            return
        for k, result, steps in zip(states, self.singularities(states), self.iterations_needed(states), strict=True):
            reason = self.reasons[k]
            reason.singularity, reason.steps = result, int(steps)
            stationary_status = Status.MAX_ITERATIONS if steps else Status.LOCAL_MINIMUM
            reason.status = stationary_status if result is None else Status.SINGULAR

    def iterations_needed(self, states: np.ndarray) -> np.ndarray:
        """Return the iterations with which a longer search from the same initial guess succeeds; 0 if it fails."""
        problem = self.problem
        if problem.solver in NEAR:
            return np.zeros(len(states))
        result = problem.kernel(
            self.q_init[states],
            self.tolerances[states],
            problem.weights,
            *problem.finite_bounds,
            np.array(float(MAX_ITERATIONS)),
            np.array(0.0),
            *(x[states] for x in self.targets.values()),
        )
        more = (result.diagnostics[:, 0] == 1.0) & (result.diagnostics[:, 1] > self.diagnostics["iterations"][states])
        return np.where(more, result.diagnostics[:, 1], 0.0)

    def search_beyond_limits(self) -> None:
        states = self.open
        if not len(states) or not self.problem.limited:
            return
        done, q, _ = self.search(states, position_limits=False)
        for k, x in zip(states[done], q[done], strict=True):
            reason, targets = self.reasons[k], {name: target[k] for name, target in self.targets.items()}
            reason.limits = beyond_limits(self.problem, x, [*targets.values()])
            proved = reason.proof is not None or limits_prevent(self.problem, targets, self.tolerances[k])
            reason.status = Status.AT_LIMITS if proved else Status.NOT_FOUND
            if not reason.limits:  # the solution differs by full revolutions from one within limits
                reason.status = Status.LOCAL_MINIMUM

    def find_conflict(self) -> None:
        """Find a minimal set of hard tasks that cannot be satisfied together, by the deletion filter."""
        states = self.open
        if not len(states):
            return
        tolerances = self.tolerances[states].copy()
        remaining = np.ones((len(states), len(self.hard)), dtype=bool)
        for j, task in enumerate(self.hard if len(self.hard) > 1 else ()):
            fewer = tolerances.copy()
            fewer[:, self.rows[task.name]] = np.inf
            alone = remaining[:, j] & (remaining.sum(axis=1) == 1)
            done, _, _ = self.search(states, position_limits=False, without=fewer)
            out = ~done & ~alone
            remaining[out, j] = False
            tolerances[out] = fewer[out]
        for k, names in zip(states, remaining, strict=True):
            reason = self.reasons[k]
            reason.tasks = tuple(task.name for task, remains in zip(self.hard, names, strict=True) if remains)
            targets = {name: target[k] for name, target in self.targets.items()}
            proved = are_contradictory(self.problem, reason.tasks, targets, self.tolerances[k])
            reason.status = Status.INFEASIBLE if proved else Status.NOT_FOUND
        self.set_multipliers(states, tolerances)

    # -- scaled residuals at configurations

    def scaled_residual(self, q: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return errors (states, rows) and Jacobian (states, rows, nv) in units of characteristic size.

        Entries of soft tasks are zero.
        """
        result = self.problem.residual_kernel(q, *(x[states] for x in self.targets.values()))
        scales = np.array(self.problem.scales)
        return result.errors * scales, result.rows * scales[:, None]

    def singularities(self, states: np.ndarray) -> list[Singularity | None]:
        """Return the singularity at which each state's search stopped, or None.

        A state is singular if its Jacobian is rank-deficient and no small motion reduces the errors.
        """
        errors, rows = self.scaled_residual(self.q[states], states)
        result: list[Singularity | None] = []
        for k, e, J in zip(states, errors, rows, strict=True):
            gradient = J.T @ e
            moving = np.flatnonzero(np.abs(J).max(axis=0) > 0.0)
            used = np.flatnonzero(np.abs(J).max(axis=1) + np.abs(e) > 0.0)
            U, sizes, _ = np.linalg.svd(J[np.ix_(used, moving)])
            at = min(len(used), len(moving)) - 1
            if (
                at < 0
                or sizes[at] > _RANK * sizes[0]
                or np.abs(gradient).max() > _STATIONARY * np.linalg.norm(e) * sizes[0]
            ):
                result.append(None)
                continue
            names = [name for task in self.problem.tasks for name in task.component_names]
            direction = {names[i]: float(x) for i, x in zip(used, U[:, at], strict=True)}
            result.append(Singularity(float(sizes[at]), direction, aligned(self.problem, self.q[k])))
        return result

    def set_multipliers(self, states: np.ndarray, tolerances: np.ndarray) -> None:
        """Compute the Lagrange multipliers of conflicting tasks at the configuration that violates them least.

        The violation is the sum of squared errors, without position limits.
        """
        at = np.array([len(self.reasons[k].tasks) > 1 for k in states], dtype=bool)
        if not at.any():
            return
        states, tolerances = states[at], tolerances[at]
        done, q, _ = self.search(states, position_limits=False, without=tolerances)
        for k in states[done]:  # one more start satisfies them together: no conflict
            if self.reasons[k].status is not Status.INFEASIBLE:
                self.reasons[k].tasks = ()
        states, tolerances, q = states[~done], tolerances[~done], q[~done]
        if not len(states):
            return
        errors, rows = self.scaled_residual(q, states)
        scales = np.array(self.problem.scales)
        for k, e, J, left in zip(states, errors, rows, tolerances, strict=True):
            counted = np.isfinite(left) & (scales > 0.0)
            force = compromise_multipliers(J[counted], e[counted])
            if force is None:
                continue
            whole = np.zeros(len(e))
            whole[counted] = force * scales[counted]
            self.reasons[k].multipliers = {name: whole[self.rows[name]] for name in self.reasons[k].tasks}


_ENDS = (-np.inf, np.inf)


def proofs(
    problem: ProblemView, targets: Mapping[str, np.ndarray], tolerances: np.ndarray
) -> list[tuple[UnreachableCertificate, str] | None]:
    """Return for each of F targets a certificate that it is unreachable, with the name of its task, or None.

    ``targets`` are (F, ...) by task name, and ``tolerances`` (F, rows).
    """
    result: list[tuple[UnreachableCertificate, str] | None] = [None] * len(tolerances)
    for limits in (False, True):
        start = 0
        for task in problem.tasks:
            left = tolerances[:, start : start + len(task.component_names)]
            start += len(task.component_names)
            states = np.array([k for k, proof in enumerate(result) if proof is None], dtype=int)
            chain = problem.chain(task, position_limits=limits) if task.hard and len(states) else None
            if chain is not None:
                for k, proof in zip(
                    states, task_proofs(chain, task, targets[task.name][states], left[states]), strict=True
                ):
                    result[k] = None if proof is None else (proof, task.name)
    return result


def analyse_failures(
    problem: ProblemView,
    q: np.ndarray,
    targets: Mapping[str, np.ndarray],
    tolerances: np.ndarray,
    diagnostics: Mapping[str, np.ndarray],
    q_init: np.ndarray,
    errors: np.ndarray,
) -> list[Reason]:
    """Return the reason of each failed state.

    ``q`` and ``q_init`` are (F, nq), targets (F, ...), ``tolerances`` and ``errors`` (F, rows).  ``diagnostics`` are
    the kernel's diagnostics by name.
    """
    failures = _Failures(problem, q, targets, tolerances, diagnostics, q_init, errors)
    failures.prove()
    failures.search_longer()
    failures.search_beyond_limits()
    for k in failures.open:
        if failures.reasons[k].proof is not None:
            failures.reasons[k].status = Status.OUT_OF_REACH
    failures.find_conflict()
    return failures.reasons


def beyond_limits(problem: ProblemView, q: np.ndarray, targets: Sequence[np.ndarray]) -> tuple[BlockingLimit, ...]:
    """Return the joints whose positions in a configuration are outside their limits.

    Angles are first shifted by the full revolutions that violate the limits least, unless a task names the joint.  If
    tasks name joints, joints that do not change any error of the tasks are omitted.
    """
    result, tree = [], problem.robot.tree
    counted = counted_joints(tree, problem.tasks)
    rows = problem.residual_kernel(q, *targets).rows if counted else None
    values = limited_values(problem.robot, problem.limited, q).tolist()
    for coordinate, x in zip(problem.limited, values, strict=True):
        v = coordinate.v
        if v is not None and (v in problem.locked_dofs or (rows is not None and not rows[:, v].any())):
            continue
        low, high = coordinate.lower, coordinate.upper
        if (
            v is not None and coordinate.unit == "rad" and coordinate.joint not in counted
        ):  # with the smallest violation
            ends = [math.floor((end - x) / _REVOLUTION) for end in (low, high) if math.isfinite(end)]
            turns = [x + _REVOLUTION * (turn + more) for turn in ends for more in (0, 1)]
            x = min(turns, key=lambda y: max(low - y, y - high, 0.0))
        if not low <= x <= high:
            result.append(BlockingLimit(coordinate.joint, x, low if x < low else high, coordinate.unit))
    return tuple(sorted(result, key=lambda limit: -abs(limit.needed - limit.bound)))


def aligned(problem: ProblemView, q: np.ndarray) -> tuple[tuple[str, str], ...]:
    """Return the pairs of joints with coincident rotation axes."""
    robot, result = problem.robot, []
    tree = robot.tree
    points = [task.between[:1] if task.between else task.references.frames[:1] for task in problem.tasks]
    frames = [tree.point(name).frame for pair in points for name in pair]
    names = [body.joint_name for _, body in tree.stacked() for _ in range(body.joint.nv)]
    for frame in dict.fromkeys(frames):
        J = robot.jacobian(q, frame)
        turning = [k for k in range(robot.nv) if np.linalg.norm(J[:3, k]) > 0.5]
        for i, a in enumerate(turning):
            for b in turning[i + 1 :]:
                sign = math.copysign(1.0, float(J[:3, a] @ J[:3, b]))
                if np.abs(J[:, a] - sign * J[:, b]).max() <= _RANK * (1.0 + np.abs(J[3:, a]).max()):
                    result.append((names[a], names[b]))
    return tuple(dict.fromkeys(result))


def compromise_multipliers(J: np.ndarray, e: np.ndarray) -> np.ndarray | None:
    """Return the λ nearest to e with Jᵀ λ = 0 and λᵀ e > 0, which proves that no small motion removes the errors e.

    The result is None if there is none, or if e is zero or not finite. J is the Jacobian of e.
    """
    if not (np.isfinite(J).all() and np.isfinite(e).all() and e.any()):
        return None
    U, sizes, _ = np.linalg.svd(J, full_matrices=True)
    rank = int((sizes > _RANK * max(float(sizes[0]) if len(sizes) else 0.0, 1e-300)).sum())
    projected: np.ndarray = U[:, rank:] @ (U[:, rank:].T @ e)
    return projected if np.linalg.norm(projected) > _RANK * np.linalg.norm(e) else None
