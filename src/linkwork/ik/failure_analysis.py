"""Why there is no answer: failures of inverse kinematics judged, all of a batch at once, and only when one asks.

In this order:

1. a bound of reach that holds for every configuration (`reach`): "out_of_reach", proved;
2. a longer search within limits, of those that ended early, finds an answer: "singular" where the search stood at a
   configuration whose rows depend on each other and whose errors no small motion makes smaller, else
   "max_iterations";
3. a search without limits finds one: "at_limits", of joints that are named;
4. hard tasks are left out, one at a time, as long as the others are not done together, without limits: what remains
   is one task, "not_found", or several of which each is done without one of the others: "infeasible".

Before all of these, a task whose errors are NaN at every configuration that was tried is "not_finite".  A state
that a longer search of the same solver does not help, where another start finds an answer, is a "local_minimum"; so are
states where hard tasks are done and soft ones cost something at the least of all starts.  "out_of_reach" is proved.

Searches run in the kernel that gave the answer, where it can: a task is left out by tolerances without end.

Source of 4: Chinneck, Feasibility and Infeasibility in Optimization, 2008 (the deletion filter).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.errors import Status
from linkwork.ik.algorithms.levenberg_marquardt import MOST
from linkwork.ik.kernels import NEAR
from linkwork.ik.problem_protocol import ProblemView
from linkwork.ik.reach_bounds import Chain, UnreachableCertificate, chain_between
from linkwork.ik.tasks.frame_tasks import PoseTask, PositionTask

__all__ = ["BlockingLimit", "Reason", "Singularity", "judged"]

EFFORT = 2000  # steps of each further search
_RANK = 1e-4  # of the largest singular value: what counts as none
_STANDS = 1e-3  # of errors times the largest singular value: a gradient that is as good as none
_TURN = math.tau


@dataclass(frozen=True)
class BlockingLimit:
    """A joint that an answer without limits has beyond its bound [rad, m]."""

    joint: str
    needed: float
    bound: float
    unit: str

    def __str__(self) -> str:
        side = "above" if self.needed > self.bound else "below"
        return f"{self.joint!r} would have to be at {self.needed:.4g} {self.unit}, {side} its limit {self.bound:.4g}"


@dataclass(frozen=True)
class Singularity:
    """Where rows depend on each other: the smallest singular value, and the direction that no joint moves in.

    ``direction`` are parts by row, of length 1, in units of characteristic size; ``aligned`` names pairs of joints
    that turn about the same line there.
    """

    value: float
    direction: Mapping[str, float]
    aligned: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        parts = sorted(self.direction.items(), key=lambda item: -abs(item[1]))
        text = ", ".join(f"{x:+.2f} {name}" for name, x in parts if abs(x) > 0.1)
        axes = "".join(f"; the axes of {a!r} and {b!r} are aligned" for a, b in self.aligned)
        return f"nothing moves it along {text} (smallest singular value {self.value:.2g}){axes}"


@dataclass
class Reason:
    """What is known of one failure."""

    status: Status | None = None
    proof: UnreachableCertificate | None = None
    limits: tuple[BlockingLimit, ...] = ()
    tasks: tuple[str, ...] = ()  # that cannot be done, alone or together
    starts: int = 0  # of all searches
    steps: int = 0  # after which a longer search of the same solver from the same seed finds an answer; 0: none does
    singularity: Singularity | None = None
    multipliers: dict[str, np.ndarray] = field(default_factory=dict)
    others: int = 0  # answers that there are, of several that were asked for


class _Failures:
    """States of a batch that have failed, one a row of each array."""

    def __init__(
        self,
        problem: ProblemView,
        q: np.ndarray,
        given: Mapping[str, np.ndarray],
        tolerances: np.ndarray,
        told: Mapping[str, np.ndarray],
        seed: np.ndarray,
        errors: np.ndarray,
    ) -> None:
        self.problem, self.q, self.given, self.told, self.seed = problem, q, given, told, seed
        self.tolerances = np.broadcast_to(tolerances, (len(q), tolerances.shape[-1]))
        self.reasons = [Reason(starts=1 + int(x)) for x in told["restarts"]]
        for reason, reached in zip(self.reasons, told["reached"], strict=True):
            if reached == 1.0:  # hard tasks are done, and soft ones have not come to a minimum
                reason.status = Status.MAX_ITERATIONS
        names = [task.name for task in problem.tasks for _ in task.component_names]
        for k in np.flatnonzero(np.isnan(errors).any(axis=-1)):  # the first number would have been the best so far
            odd = dict.fromkeys(name for name, x in zip(names, errors[k], strict=True) if np.isnan(x))
            self.reasons[k].status, self.reasons[k].tasks = Status.NOT_FINITE, tuple(odd)
        self.hard = [task for task in problem.tasks if task.hard]
        self.rows: dict[str, slice] = {}
        start = 0
        for task in problem.tasks:
            self.rows[task.name] = slice(start, start + len(task.component_names))
            start += len(task.component_names)

    @property
    def open(self) -> np.ndarray:
        """Those that nothing is known of yet."""
        return np.array([k for k, reason in enumerate(self.reasons) if not reason.status], dtype=int)

    def search(
        self, some: np.ndarray, *, position_limits: bool = True, first: np.ndarray | float = 0.0, without: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Another search for some of them, from where they are: done, q and steps.

        ``without`` are tolerances (some, rows) in the place of what was asked.
        """
        problem = self.problem
        lower, upper = (
            (problem.lower, problem.upper) if position_limits else (np.full_like(problem.lower, s) for s in _ENDS)
        )
        result = problem.searching(
            self.q[some],
            self.tolerances[some] if without is None else without,
            np.zeros_like(problem.weights),
            lower,
            upper,
            np.array(float(EFFORT)),
            np.array(first, dtype=float),
            *(x[some] for x in self.given.values()),
        )
        told = result.told
        for k, starts in zip(some, told[:, 2], strict=True):
            self.reasons[k].starts += 1 + int(starts)
        return told[:, 0] == 1.0, result.q, told[:, 1]

    # -- the tests, in their order

    def prove(self) -> None:
        for reason, result in zip(self.reasons, proofs(self.problem, self.given, self.tolerances), strict=True):
            if result is not None and not reason.status:
                reason.proof, name = result
                reason.tasks = (name,)
                reason.status = None if reason.proof.within_limits else Status.OUT_OF_REACH

    def search_longer(self) -> None:
        some = self.open
        early = np.array([self.told["iterations"][k] < EFFORT and self.reasons[k].proof is None for k in some], bool)
        some = some[early]
        if not len(some):
            return
        done, _, _ = self.search(some, first=self.told["restarts"][some] + 1.0)
        some = some[done]
        if not len(some):
            return
        for k, result, steps in zip(some, self.standing(some), self.enough(some), strict=True):
            reason = self.reasons[k]
            reason.singularity, reason.steps = result, int(steps)
            stands = Status.MAX_ITERATIONS if steps else Status.LOCAL_MINIMUM
            reason.status = stands if result is None else Status.SINGULAR

    def enough(self, some: np.ndarray) -> np.ndarray:
        """The steps after which the solver itself, from the same seed, does the tasks of some states; 0 where never."""
        problem = self.problem
        if problem.solver in NEAR:
            return np.zeros(len(some))
        result = problem.kernel(
            self.seed[some],
            self.tolerances[some],
            problem.weights,
            *problem.ends,
            np.array(float(MOST)),
            np.array(0.0),
            *(x[some] for x in self.given.values()),
        )
        more = (result.told[:, 0] == 1.0) & (result.told[:, 1] > self.told["iterations"][some])
        return np.where(more, result.told[:, 1], 0.0)

    def search_beyond_limits(self) -> None:
        some = self.open
        if not len(some) or not len(self.problem.bounded):
            return
        done, q, _ = self.search(some, position_limits=False)
        for k, x in zip(some[done], q[done], strict=True):
            limits = beyond_limits(self.problem, x, [target[k] for target in self.given.values()])
            self.reasons[k].status, self.reasons[k].limits = Status.AT_LIMITS, limits

    def search_with_fewer(self) -> None:
        """The smallest set that cannot be done, of tasks that stay in it when one of them is left out."""
        some = self.open
        if not len(some):
            return
        tolerances = self.tolerances[some].copy()
        kept = np.ones((len(some), len(self.hard)), dtype=bool)
        for j, task in enumerate(self.hard if len(self.hard) > 1 else ()):
            fewer = tolerances.copy()
            fewer[:, self.rows[task.name]] = np.inf
            alone = kept[:, j] & (kept.sum(axis=1) == 1)
            done, _, _ = self.search(some, position_limits=False, without=fewer)
            out = ~done & ~alone
            kept[out, j] = False
            tolerances[out] = fewer[out]
        for k, names in zip(some, kept, strict=True):
            reason = self.reasons[k]
            reason.tasks = tuple(task.name for task, is_kept in zip(self.hard, names, strict=True) if is_kept)
            reason.status = Status.INFEASIBLE if len(reason.tasks) > 1 else Status.NOT_FOUND
        self.balance(some, tolerances)

    # -- what is seen at a configuration

    def seen(self, q: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors (some, rows) and rows (some, rows, nv) in units of characteristic size, of hard tasks."""
        result = self.problem.looking(q, *(x[some] for x in self.given.values()))
        scales = np.array(self.problem.scales)
        return result.errors * scales, result.rows * scales[:, None]

    def standing(self, some: np.ndarray) -> list[Singularity | None]:
        """Of those that stand where no small motion helps, and rows depend on each other: how."""
        errors, rows = self.seen(self.q[some], some)
        result: list[Singularity | None] = []
        for k, e, J in zip(some, errors, rows, strict=True):
            gradient = J.T @ e
            moving = np.flatnonzero(np.abs(J).max(axis=0) > 0.0)
            used = np.flatnonzero(np.abs(J).max(axis=1) + np.abs(e) > 0.0)
            U, sizes, _ = np.linalg.svd(J[np.ix_(used, moving)])
            at = min(len(used), len(moving)) - 1
            if (
                at < 0
                or sizes[at] > _RANK * sizes[0]
                or np.abs(gradient).max() > _STANDS * np.linalg.norm(e) * sizes[0]
            ):
                result.append(None)
                continue
            names = [name for task in self.problem.tasks for name in task.component_names]
            direction = {names[i]: float(x) for i, x in zip(used, U[:, at], strict=True)}
            result.append(Singularity(float(sizes[at]), direction, aligned(self.problem, self.q[k])))
        return result

    def balance(self, some: np.ndarray, tolerances: np.ndarray) -> None:
        """Multipliers of tasks that cannot be done together, where their least compromise is."""
        at = np.array([len(self.reasons[k].tasks) > 1 for k in some], dtype=bool)
        if not at.any():
            return
        some, tolerances = some[at], tolerances[at]
        done, q, _ = self.search(some, position_limits=False, without=tolerances)
        for k in some[done]:  # which one more start does together: no conflict
            self.reasons[k].status, self.reasons[k].tasks = Status.NOT_FOUND, ()
        some, tolerances, q = some[~done], tolerances[~done], q[~done]
        if not len(some):
            return
        errors, rows = self.seen(q, some)
        scales = np.array(self.problem.scales)
        for k, e, J, left in zip(some, errors, rows, tolerances, strict=True):
            counted = np.isfinite(left) & (scales > 0.0)
            force = balanced(J[counted], e[counted])
            if force is None:
                continue
            whole = np.zeros(len(e))
            whole[counted] = force * scales[counted]
            self.reasons[k].multipliers = {name: whole[self.rows[name]] for name in self.reasons[k].tasks}


_ENDS = (-np.inf, np.inf)


def proofs(
    problem: ProblemView, given: Mapping[str, np.ndarray], tolerances: np.ndarray
) -> list[tuple[UnreachableCertificate, str] | None]:
    """Of targets (F, ...) and tolerances (F, rows): why a task cannot be done, and its name, where bounds tell."""
    result: list[tuple[UnreachableCertificate, str] | None] = [None] * len(tolerances)
    for limits in (False, True):
        start = 0
        for task in problem.tasks:
            left = tolerances[:, start : start + len(task.component_names)]
            start += len(task.component_names)
            some = np.array([k for k, proof in enumerate(result) if proof is None], dtype=int)
            chain = problem.chain(task, position_limits=limits) if task.hard and len(some) else None
            if chain is not None:
                for k, proof in zip(some, _proofs(chain, task, given[task.name][some], left[some]), strict=True):
                    result[k] = None if proof is None else (proof, task.name)
    return result


def _proofs(chain: Chain, task: Any, targets: np.ndarray, left: np.ndarray) -> list[UnreachableCertificate | None]:
    if isinstance(task, PositionTask):
        X = np.broadcast_to(np.eye(4), (len(targets), 4, 4)).copy()
        X[:, :3, 3] = targets
        rotation, position = np.full(len(targets), np.inf), np.linalg.norm(left, axis=-1)
    else:
        X = targets
        rotation, position = np.linalg.norm(left[:, :3], axis=-1), np.linalg.norm(left[:, 3:], axis=-1)
    result: list[UnreachableCertificate | None] = [None] * len(targets)
    for turned in (True, False):  # a target that may be turned is bounded by its place alone
        use = np.flatnonzero(np.isfinite(position) & (np.isfinite(rotation) if turned else True))
        bounds = chain.proofs(X[use], position[use], rotation[use] if turned else 0.0 * position[use], turned)
        for k, proof in zip(use, bounds, strict=True):
            result[k] = result[k] or proof
    return result


def judged(
    problem: ProblemView,
    q: np.ndarray,
    given: Mapping[str, np.ndarray],
    tolerances: np.ndarray,
    told: Mapping[str, np.ndarray],
    q_init: np.ndarray,
    errors: np.ndarray,
) -> list[Reason]:
    """A reason for each of some failures: q and seeds (F, nq), targets (F, ...), tolerances and errors (F, rows), and
    what kernels told.
    """
    failures = _Failures(problem, q, given, tolerances, told, q_init, errors)
    failures.prove()
    failures.search_longer()
    failures.search_beyond_limits()
    for k in failures.open:
        if failures.reasons[k].proof is not None:
            failures.reasons[k].status = Status.OUT_OF_REACH
    failures.search_with_fewer()
    return failures.reasons


def beyond_limits(problem: ProblemView, q: np.ndarray, targets: Sequence[np.ndarray]) -> tuple[BlockingLimit, ...]:
    """Joints that a configuration has beyond their bounds: whole turns aside, but of joints that tasks name, and where
    they name some, of those alone that rows depend on.
    """
    result, tree = [], problem.robot.tree
    counted = {name for task in problem.tasks for name in task.references.joints}
    rows = problem.looking(q, *targets).rows if counted else None
    for k, n in problem.bounded.items():
        if rows is not None and not rows[:, k].any():
            continue
        low, high, x = problem.lower[n], problem.upper[n], float(q[n])
        body = next(body for i, body in tree.stacked() if tree.q_slices[i].start <= n < tree.q_slices[i].stop)
        unit = body.joint.q_units[n - tree.q_slices[tree.joint_index(body.joint_name)].start]
        if unit == "rad" and body.joint_name not in counted:  # the turn of x that is least beyond
            ends = [math.floor((end - x) / _TURN) for end in (low, high) if math.isfinite(end)]
            turns = [x + _TURN * (turn + more) for turn in ends for more in (0, 1)]
            x = min(turns, key=lambda y: max(low - y, y - high, 0.0))
        if not low <= x <= high:
            result.append(BlockingLimit(body.joint_name, x, float(low if x < low else high), unit))
    return tuple(sorted(result, key=lambda limit: -abs(limit.needed - limit.bound)))


def aligned(problem: ProblemView, q: np.ndarray) -> tuple[tuple[str, str], ...]:
    """Pairs of joints that turn about the same line."""
    robot, result = problem.robot, []
    tree = robot.tree
    points = [task.between[:1] if task.between else task.references.frames[:1] for task in problem.tasks]
    frames = [tree.point(name).frame for some in points for name in some]
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


def balanced(J: np.ndarray, e: np.ndarray) -> np.ndarray | None:
    """Return the λ nearest to e with Jᵀ λ = 0, which proves that no small motion makes errors e vanish: λᵀ e > 0.

    None where there is none: errors that are zero or not finite, or a search that came to no compromise.
    """
    if not (np.isfinite(J).all() and np.isfinite(e).all() and e.any()):
        return None
    U, sizes, _ = np.linalg.svd(J, full_matrices=True)
    rank = int((sizes > _RANK * max(float(sizes[0]) if len(sizes) else 0.0, 1e-300)).sum())
    rest: np.ndarray = U[:, rank:] @ (U[:, rank:].T @ e)
    return rest if np.linalg.norm(rest) > _RANK * np.linalg.norm(e) else None


def proving(task: Any) -> bool:
    """Whether bounds of reach say something of a task."""
    return isinstance(task, (PoseTask, PositionTask))


def chain_of(robot: Any, task: Any, q: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Chain | None:
    if not proving(task) or task.frame not in robot.frames:  # but a point
        return None
    return chain_between(robot, task.frame, task.relative_to, q, lower, upper)
