"""Paths among obstacles, as people ask for them: what they hand over, read and checked, becomes a search."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork._util.validation import finite_number, integer, one_of
from linkwork.collision.motion_validity import METHODS
from linkwork.errors import Status, UnknownNameError
from linkwork.ik.arguments import read_limits
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import by_joint, read_configuration
from linkwork.planning.clearance_margins import read_margins, read_pairs, touching_margins
from linkwork.planning.collision_space import base_inside, collisions_of, limits_of
from linkwork.planning.goals import GoalsFound, goals_found, read_goals
from linkwork.planning.path_constraints import ConstrainedSpace, KeptTasks
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.result import CostSoFar, PlanResult
from linkwork.planning.search.informed_planner import improved
from linkwork.planning.search.kernel_planner import QuickSearch, is_quick
from linkwork.planning.search.path_smoothing import shortened
from linkwork.planning.search.rrt_connect_batch import SearchOptions, connected
from linkwork.planning.search.search_tree import GrownTree

__all__ = ["PLANNERS", "PlanQuery", "plan_path", "read_space"]

PLANNERS = ("connect", "optimal")
_NODES = 200_000  # of both trees: more are no help


def plan_path(
    robot: Any,
    start: Any,
    goal: Any,
    scene: Any,
    *,
    frame: str | None,
    method: str,
    collision_check: str,
    resolution: float,
    margin: Any,
    pairs: Any,
    touching: Any,
    seed: int,
    time_limit: float,
    weights: Any,
    position_limits: Any,
    path_constraints: Any,
    constraint_tolerance: float,
    max_iterations: int | None,
    max_searches: int,
    simplify: bool,
    max_goal_solutions: int,
    progress: Any,
) -> PlanResult:
    """What `Robot.plan` gives."""
    begun = time.perf_counter()
    one_of("plan", "method", method, PLANNERS)
    seed = integer("plan", "seed", seed, least=0, most=None, what="an integer")
    read_progress("plan", progress)
    budget = _positive("time_limit", time_limit, "s", least=0.0)
    if max_iterations is not None:
        max_iterations = integer(
            "plan", "max_iterations", max_iterations, least=0, most=None, what="None or an integer"
        )
    max_searches = integer("plan", "max_searches", max_searches, least=1, what="an integer")
    margins, pairs = read_margins(margin), read_pairs(pairs)
    if not _is_nothing(touching):
        ends = [
            *_starts(robot, start),
            *(one.q for one in read_goals(robot, goal, frame, int(seed)) if one.q is not None),
        ]
        margins = touching_margins(robot, scene, pairs, margins, touching, ends)
    space = read_space(
        robot,
        scene,
        collision_check,
        resolution,
        margins,
        weights,
        position_limits,
        path_constraints,
        constraint_tolerance,
        pairs,
    )
    query = PlanQuery(space, start, goal, frame, int(seed), begun)
    starts, goals, refused = query.ends(max_goal_solutions)
    if refused is not None:
        return refused

    def shorter(path: np.ndarray) -> np.ndarray:
        if not simplify:
            return path
        return shortened(space, path, seed=int(seed), spacing=SearchOptions().spacing, going=lambda: clock.is_left)

    space.make_ready(starts[0])  # what is compiled on the way takes none of the budget
    quick = (
        QuickSearch(space, starts, goals.q, seed=int(seed), searches=int(max_searches), simplify=simplify)
        if is_quick(space, len(starts) + len(goals.q))
        else None
    )
    clock = _Clock(time.perf_counter(), budget, progress)
    history: list[CostSoFar] = []
    space.is_left = lambda: clock.is_left
    with clock:
        path = None if quick is None else quick.path(clock.going)
        if quick is not None:
            clock.rounds += quick.rounds
            trees = quick.trees
        if path is None:
            path, more = connected(space, starts, goals.q, seed=int(seed), going=clock.going)
            if quick is None or path is not None or _many(more) > _many(trees):
                trees = more
            path = None if path is None else shorter(path)
        if path is not None and method == "optimal":
            path, history = improved(
                space,
                path,
                starts,
                goals.q,
                seed=int(seed),
                iterations=max_iterations,
                going=clock.going,
                shorten=shorter,
                begun=begun,
            )
    del space.is_left  # what is asked of the space later has all the time
    return query.found(path, trees, goals, clock, history)


def read_space(
    robot: Any,
    scene: Any,
    collision_check: str,
    resolution: float,
    margin: Any,
    weights: Any,
    position_limits: Any,
    path_constraints: Any = (),
    constraint_tolerance: float = 1e-3,
    pairs: Any = None,
) -> PlanningSpace:
    """The space that is planned in, with what is to be kept in it, and a robot's own constraints.  Raises ValueError
    and TypeError.
    """
    one_of("plan", "collision_check", collision_check, METHODS)
    bounds = None if position_limits is None else read_limits("plan", robot, _named(robot, position_limits))
    options: dict[str, Any] = {
        "margin": read_margins(margin),
        "pairs": read_pairs(pairs),
        "collision_check": collision_check,
        "resolution": _positive("resolution", resolution, "rad, m"),
        "weights": None
        if weights is None
        else by_joint("plan", "weights", robot.tree, weights, default=1.0, above=0.0),
        "position_limits": bounds,
    }
    if not robot.tree.constraints and isinstance(path_constraints, (list, tuple)) and not path_constraints:
        return PlanningSpace(robot, scene, **options)
    ends = (robot.lower, robot.upper) if bounds is None else bounds
    kept = KeptTasks(robot, path_constraints, bound=constraint_tolerance, limits=ends, caller="plan")
    return ConstrainedSpace(robot, scene, kept=kept, **options)


class PlanQuery:
    """What was asked of a space, and what becomes of it."""

    def __init__(self, space: PlanningSpace, start: Any, goal: Any, frame: str | None, seed: int, begun: float) -> None:
        """Raises what `Robot.plan` does of a start and goals."""
        self.space, self.begun = space, begun
        self.starts = _starts(space.robot, start)
        self.wanted = read_goals(space.robot, goal, frame, seed)

    def ends(self, answers: int) -> tuple[np.ndarray, GoalsFound, PlanResult | None]:
        """Starts and goals that are free, or why there are none."""
        given = [one.q for one in self.wanted if one.q is not None]
        if len(given) == len(self.wanted):  # all at once, where nothing is to be told of any
            every = np.concatenate([self.starts, given])
            if self.space.within(every).all() and self.space.free_ends(every).all():
                return self.starts, GoalsFound(every[len(self.starts) :], np.arange(len(given)), []), None
        starts, refused = self._checked_starts()
        if refused is not None:
            return starts, GoalsFound(starts[:0], np.empty(0, dtype=int), []), refused
        goals = goals_found(self.space, self.wanted, starts[0], answers)
        return starts, goals, None if len(goals.q) else self.without_goals(goals)

    def _checked_starts(self) -> tuple[np.ndarray, PlanResult | None]:
        """Those that can be started from, or why none can."""
        space, starts = self.space, self.starts
        within = space.within(starts)
        if not within.any():
            return starts, self.refused(
                Status.START_OUTSIDE_LIMITS, f"the start is outside limits: {limits_of(space, starts[0])}"
            )
        starts = starts[within]
        free = space.free_ends(starts)
        if free.any():
            return starts[free], None
        told = space.violation(starts[0])
        if told is not None:
            return starts, self.refused(Status.START_VIOLATES_CONSTRAINTS, f"at the start {told}")
        told = f"the start is in collision: {collisions_of(space, starts[0])}"
        base = base_inside(space.robot, space.scene)
        return starts, self.refused(Status.START_IN_COLLISION, f"{told}; {base}" if base else told)

    def without_goals(self, goals: GoalsFound) -> PlanResult:
        told = "; ".join(text for _, text in goals.reasons[:3])
        rest = len(goals.reasons) - 3
        told += f"; and {rest} more goals are none either" if rest > 0 else ""
        base = base_inside(self.space.robot, self.space.scene)
        return self.refused(goals.reasons[0][0], f"{told}; {base}" if base else told)

    def refused(self, status: Status, message: str) -> PlanResult:
        """Return the result of a query that has no path."""
        return self._result(status, message, None, (), None, 0)

    def found(
        self,
        path: np.ndarray | None,
        trees: tuple[GrownTree, GrownTree],
        goals: GoalsFound,
        clock: _Clock,
        history: Sequence[CostSoFar] = (),
    ) -> PlanResult:
        if path is not None:
            return self.solved(path, goals, trees, clock.rounds, history)
        here, there = trees
        spent = time.perf_counter() - clock.begun
        of_goals = f"{there.count} from {_counted(len(goals.q), 'goal configuration')}"
        message = (
            f"no path was found in {spent:.3g} s: {here.count} configurations explored from the start and {of_goals}, "
            f"{clock.rounds} iterations, {self.space.checked} motions checked; plot() draws them"
        )
        if goals.reasons:
            message += f"; besides, {goals.reasons[0][1]}"
        base = base_inside(self.space.robot, self.space.scene)
        status = Status.MAX_NODES if clock.full else Status.TIME_LIMIT
        return self._result(status, f"{message}; {base}" if base else message, None, trees, None, clock.rounds)

    def solved(
        self,
        path: np.ndarray,
        goals: GoalsFound,
        trees: tuple[GrownTree, ...] = (),
        rounds: int = 0,
        history: Sequence[CostSoFar] = (),
    ) -> PlanResult:
        space = self.space
        last = space.length(space.difference(goals.q, path[-1]))
        which = int(goals.of[int(last.argmin())])
        label = self.wanted[which].label
        message = f"a path to {label}" if len(self.wanted) > 1 else "a path to the goal"
        path = space.counted(space.detailed(path))
        return self._result(Status.SOLVED, message, path, trees, which, rounds, history)

    def _result(
        self,
        status: Status,
        message: str,
        path: np.ndarray | None,
        trees: tuple[GrownTree, ...],
        goal: int | None,
        rounds: int,
        history: Sequence[CostSoFar] = (),
    ) -> PlanResult:
        space = self.space
        return PlanResult._make(
            status=status,
            _message=message,
            path=np.empty((0, space.robot.nq)) if path is None else path,
            cost=np.inf if path is None else space.cost(path),
            goal=goal,
            seconds=time.perf_counter() - self.begun,
            nodes=sum(tree.count for tree in trees),
            iterations=rounds,
            motions_checked=space.checked,
            robot=space.robot,
            scene=space.scene,
            _space=space,
            _grown=tuple(trees),
            history=tuple(history),
        )


class _Clock:
    """Says how long the search goes on, and tells how far it is."""

    def __init__(self, begun: float, budget: float, progress: Any) -> None:
        self.begun, self.budget, self.rounds = begun, budget, 0
        self.full = False
        self.report = Reporter("plan", progress, "planning: seconds", budget, begun)

    def __enter__(self) -> _Clock:
        self.report.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.report.__exit__(*error)

    def going(self, nodes: int) -> bool:
        """Return whether the search goes on for another round."""
        spent = time.perf_counter() - self.begun
        self.report.reach(min(spent, self.budget))
        self.full = nodes > _NODES
        if spent >= self.budget or self.full:
            return False
        self.rounds += 1
        return True

    @property
    def is_left(self) -> bool:
        """Whether some of the time is."""
        return time.perf_counter() - self.begun < self.budget


def _starts(robot: Any, start: Any) -> np.ndarray:
    """Return the starts (n, nq).  Raises ValueError."""
    result = np.atleast_2d(read_configuration(robot, "plan", "start", start))
    if result.ndim != 2 or not len(result):
        raise ValueError(f"plan: start: expected a configuration, or several (n, {robot.nq}), got shape {result.shape}")
    return result


def _is_nothing(touching: Any) -> bool:
    return isinstance(touching, (tuple, list)) and not touching


def _many(trees: tuple[GrownTree, GrownTree]) -> int:
    return sum(tree.count for tree in trees)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _positive(what: str, x: Any, unit: str, least: float | None = None) -> float:
    above = 0.0 if least is None else None
    return float(finite_number("plan", what, x, least=least, above=above, infinite=True, symbols=False, unit=unit))


def _named(robot: Any, limits: Any) -> Any:
    """A dict of limits by name as two arrays."""
    if not isinstance(limits, Mapping):
        return limits
    lower, upper = np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    known = {*robot.q_names, *(joint.name for joint in robot.joints)}
    for name, pair in limits.items():
        if name not in known:
            raise UnknownNameError("number of q", str(name), sorted(known))
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise ValueError(f"plan: position_limits: {name!r}: expected (lower, upper), got {pair!r}") from None
        at = robot.q_index([name])
        _put(lower, at, f"position_limits: {name!r}: lower", low)
        _put(upper, at, f"position_limits: {name!r}: upper", high)
    return lower, upper


def _put(result: np.ndarray, at: np.ndarray, what: str, x: Any) -> None:
    """A number, or one for each place."""
    expected = f"plan: {what}: expected a number" + (f", or {len(at)} of them" if len(at) > 1 else "")
    numbers = real_array(expected, x)
    if numbers.shape not in ((), at.shape):
        raise ValueError(f"{expected}, got {x!r}")
    result[at] = numbers
