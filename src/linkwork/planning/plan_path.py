"""Path planning queries: arguments of `Robot.plan`, the choice of the search, and the result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.progress import Reporter, read_progress
from linkwork._util.validation import finite_number, integer, one_of
from linkwork.collision.clearance_margins import read_margins, read_pairs, touching_margins
from linkwork.collision.motion_validity import METHODS
from linkwork.errors import Status
from linkwork.kernels.compiler_api import compilations
from linkwork.kernels.robot_arguments import by_joint, read_configuration, read_limits
from linkwork.model.limited_coordinates import limited_coordinates
from linkwork.planning.goals import GoalConfigurations, read_goals, resolve_goals
from linkwork.planning.path_constraints import ConstrainedSpace, PathConstraintTasks
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.rejected_configurations import base_inside, collisions_of, limits_of
from linkwork.planning.result import CostSoFar, PlanResult
from linkwork.planning.search.informed_planner import improve_path
from linkwork.planning.search.kernel_planner import KernelSearch, compile_first_search, is_supported
from linkwork.planning.search.path_smoothing import improved_at_rest, path_with_joints_at_rest, shorten_path
from linkwork.planning.search.rrt_connect_batch import SearchOptions, rrt_connect
from linkwork.planning.search.search_tree import GrownTree

__all__ = ["PLANNERS", "PlanQuery", "QueryBegin", "plan_path", "read_space"]

PLANNERS = ("connect", "optimal")
_NODES = 200_000  # maximum nodes of both trees
_MAX_LOCKED_ROUNDS = 50  # of each search of a path with joints at rest


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
    """Return the result of a query for a collision-free path; see `Robot.plan` for the arguments."""
    begin = QueryBegin.now()
    one_of("plan", "method", method, PLANNERS)
    seed = integer("plan", "seed", seed, least=0, most=None, description="an integer")
    read_progress("plan", progress)
    budget = _positive("time_limit", time_limit, "s", least=0.0)
    if max_iterations is not None:
        max_iterations = integer(
            "plan", "max_iterations", max_iterations, least=0, most=None, description="None or an integer"
        )
    max_searches = integer("plan", "max_searches", max_searches, least=1, description="an integer")
    margins, pairs = read_margins(margin), read_pairs(pairs)
    if not _is_empty(touching):
        end_configurations = [
            *_starts(robot, start),
            *(item.q for item in read_goals(robot, goal, frame, int(seed)) if item.q is not None),
        ]
        margins = touching_margins(robot, scene, pairs, margins, touching, end_configurations)
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
    query = PlanQuery(space, start, goal, frame, int(seed), begin)
    max_goal_solutions = integer("plan", "max_goal_solutions", max_goal_solutions, least=1)
    # compilation does not count towards the time limit
    compile_first_search(space, query.starts, sum(item.most_solutions(max_goal_solutions) for item in query.goals))
    starts, goals, refused = query.end_configurations(max_goal_solutions)
    if refused is not None:
        return refused

    def shorten(path: np.ndarray, within: PlanningSpace | None = None) -> np.ndarray:
        if not simplify:
            return path
        spacing, where = SearchOptions().spacing, space if within is None else within
        return shorten_path(where, path, seed=int(seed), spacing=spacing, continues=lambda: clock.has_time)

    def search_again(locked: PlanningSpace, start: np.ndarray, end: np.ndarray) -> np.ndarray | None:
        """Return a path in a space with locked joints, by a limited search, or None."""
        rounds = 0

        def limited(nodes: int) -> bool:
            nonlocal rounds
            rounds += 1
            return rounds <= _MAX_LOCKED_ROUNDS and clock.continues(nodes)

        result, _ = rrt_connect(locked, start[None], end[None], seed=int(seed), continues=limited)
        return None if result is None else shorten(result, locked)

    history: list[CostSoFar] = []

    def improve(locked: PlanningSpace, path: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """Return a path (k, nq) to any of the ``goals`` that is no longer than ``path``, by the optimal planner.

        ``locked`` is the planning space, in which some joints may be locked.
        """
        result, improvements = improve_path(
            locked,
            path,
            starts,
            goals,
            seed=int(seed),
            iterations=max_iterations,
            continues=clock.continues,
            shorten=lambda better: shorten(better, locked),
            begin_time=begin.time,
        )
        history.extend(improvements)
        return result

    kernel_search = (
        KernelSearch(space, starts, goals.q, seed=int(seed), searches=int(max_searches), simplify=simplify)
        if is_supported(space, len(starts) + len(goals.q))
        else None
    )
    if kernel_search is None or method == "optimal":
        space.make_ready(starts[0])
    clock = _Clock(time.perf_counter(), budget, progress)
    space.has_time = lambda: clock.has_time
    with clock:
        path = None if kernel_search is None else kernel_search.path(clock.continues, clock.paused)
        if kernel_search is not None:
            clock.iterations += kernel_search.iterations
            trees = kernel_search.trees
            if simplify and path is not None:
                path = kernel_search.with_joints_at_rest(path, clock.continues, clock.paused)
        if path is None:
            with clock.paused():
                space.make_ready(starts[0])
            path, more = rrt_connect(space, starts, goals.q, seed=int(seed), continues=clock.continues)
            if kernel_search is None or path is not None or _node_count(more) > _node_count(trees):
                trees = more
            path = None if path is None else shorten(path)
            if path is not None and simplify:
                path = path_with_joints_at_rest(space, path, search_again)
        if path is not None and method == "optimal":
            path = improved_at_rest(space, path, starts, goals.q, improve)
    del space.has_time  # later uses of the space have no time limit
    return query.finish(path, trees, goals, clock, history)


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
    """Return the planning space that the options of `Robot.plan` describe, after a check of them.

    Raises ValueError and TypeError.
    """
    one_of("plan", "collision_check", collision_check, METHODS)
    bounds = None if position_limits is None else read_limits("plan", robot, position_limits)
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
    # A floating joint that closes a loop constrains nothing, but may have limits.
    constraints = robot.tree.constraints
    closes = any(part.component_names for part in constraints) or (constraints and limited_coordinates(robot.tree))
    if not closes and isinstance(path_constraints, (list, tuple)) and not path_constraints:
        return PlanningSpace(robot, scene, **options)
    end_configurations = (robot.lower, robot.upper) if bounds is None else bounds
    constraint_tasks = PathConstraintTasks(
        robot, path_constraints, bound=constraint_tolerance, limits=end_configurations, caller="plan"
    )
    return ConstrainedSpace(robot, scene, tasks=constraint_tasks, **options)


class QueryBegin(NamedTuple):
    """Beginning of a query: its time, and the number of compilations before it."""

    time: float  # [s], of perf_counter
    compilations: int

    @classmethod
    def now(cls) -> QueryBegin:
        return cls(time.perf_counter(), compilations())


class PlanQuery:
    """Query for a path in a planning space: its starts, its goals, and the construction of its result."""

    def __init__(
        self, space: PlanningSpace, start: Any, goal: Any, frame: str | None, seed: int, begin: QueryBegin
    ) -> None:
        """Read the starts and goals.  Raises the exceptions of `Robot.plan` for invalid ones."""
        self.space, self.begin = space, begin
        self.starts = _starts(space.robot, start)
        self.goals = read_goals(space.robot, goal, frame, seed)

    def end_configurations(self, max_solutions: int) -> tuple[np.ndarray, GoalConfigurations, PlanResult | None]:
        """Return the collision-free starts and goals, and None; or a failed result instead of None.

        A result says why there is no valid start or no valid goal.
        """
        configurations = [item.q for item in self.goals if item.q is not None]
        if len(configurations) == len(self.goals):  # fast path: check all together if all are configurations
            candidates = np.concatenate([self.starts, configurations])
            if self.space.within(candidates).all() and self.space.free_ends(candidates).all():
                return (
                    self.starts,
                    GoalConfigurations(candidates[len(self.starts) :], np.arange(len(configurations)), []),
                    None,
                )
        starts, refused = self._checked_starts()
        if refused is not None:
            return starts, GoalConfigurations(starts[:0], np.empty(0, dtype=int), []), refused
        goals = resolve_goals(self.space, self.goals, starts[0], max_solutions)
        return starts, goals, None if len(goals.q) else self.without_goals(goals)

    def _checked_starts(self) -> tuple[np.ndarray, PlanResult | None]:
        """Return the valid starts and None, or a failed result that states why there are none."""
        space, starts = self.space, self.starts
        within = space.within(starts)
        if not within.any():
            return starts, self.refused(
                Status.START_OUTSIDE_LIMITS, f"the start is outside the position limits: {limits_of(space, starts[0])}"
            )
        starts = starts[within]
        free = space.free_ends(starts)
        if free.any():
            return starts[free], None
        message = space.violation(starts[0])
        if message is not None:
            return starts, self.refused(Status.START_VIOLATES_CONSTRAINTS, f"at the start {message}")
        message = f"the start is in collision: {collisions_of(space, starts[0])}"
        base = base_inside(space.robot, space.scene)
        return starts, self.refused(Status.START_IN_COLLISION, f"{message}; {base}" if base else message)

    def without_goals(self, goals: GoalConfigurations) -> PlanResult:
        message = "; ".join(text for _, text, _ in goals.reasons[:3])
        further = len(goals.reasons) - 3
        message += f"; and {further} more goals are none either" if further > 0 else ""
        base = base_inside(self.space.robot, self.space.scene)
        tried = [q for *_, q in goals.reasons if q is not None]
        return self.refused(goals.reasons[0][0], f"{message}; {base}" if base else message, tried)

    def refused(self, status: Status, message: str, tried: Sequence[np.ndarray] = ()) -> PlanResult:
        """Return the failed result of a query for which no search is possible.

        ``tried`` are invalid configurations of the goals.
        """
        stated = [goal.q for goal in self.goals if goal.q is not None]
        result = self._result(status, f"{message}; show() draws it", None, (), None, 0)
        poses = [(name, X[0]) for goal in self.goals for name, X in (goal.poses or {}).items()]
        return result._replaced(_ends=(self.starts, np.reshape([*tried] or stated, (-1, self.space.robot.nq)), poses))

    def finish(
        self,
        path: np.ndarray | None,
        trees: tuple[GrownTree, GrownTree],
        goals: GoalConfigurations,
        clock: _Clock,
        history: Sequence[CostSoFar] = (),
    ) -> PlanResult:
        if path is not None:
            return self.solved(path, goals, trees, clock.iterations, history)
        start_tree, goal_tree = trees
        spent = time.perf_counter() - clock.begin_time
        of_goals = f"{goal_tree.count} from {_plural(len(goals.q), 'goal configuration')}"
        message = (
            f"no path was found in {spent:.3g} s: {start_tree.count} configurations explored from the start and "
            f"{of_goals}, {clock.iterations} iterations, {self.space.checked} motions checked; show() draws them"
        )
        if goals.reasons:
            message += f"; also, {goals.reasons[0][1]}"
        base = base_inside(self.space.robot, self.space.scene)
        status = Status.MAX_NODES if clock.full else Status.TIME_LIMIT
        return self._result(status, f"{message}; {base}" if base else message, None, trees, None, clock.iterations)

    def solved(
        self,
        path: np.ndarray,
        goals: GoalConfigurations,
        trees: tuple[GrownTree, ...] = (),
        iterations: int = 0,
        history: Sequence[CostSoFar] = (),
    ) -> PlanResult:
        space = self.space
        last = space.length(space.difference(goals.q, path[-1]))
        goal_index = int(goals.goal_indices[int(last.argmin())])
        label = self.goals[goal_index].label
        message = f"a path to {label}" if len(self.goals) > 1 else "a path to the goal"
        path = space.counted(space.detailed(path))
        return self._result(Status.SOLVED, message, path, trees, goal_index, iterations, history)

    def _result(
        self,
        status: Status,
        message: str,
        path: np.ndarray | None,
        trees: tuple[GrownTree, ...],
        goal: int | None,
        iterations: int,
        history: Sequence[CostSoFar] = (),
    ) -> PlanResult:
        space = self.space
        return PlanResult._make(
            status=status,
            _message=message,
            path=np.empty((0, space.robot.nq)) if path is None else path,
            cost=np.inf if path is None else space.cost(path),
            goal=goal,
            seconds=time.perf_counter() - self.begin.time,
            nodes=sum(tree.count for tree in trees),
            iterations=iterations,
            motions_checked=space.checked,
            robot=space.robot,
            scene=space.scene,
            _space=space,
            _trees=tuple(trees),
            history=tuple(history),
            _compiled=compilations() > self.begin.compilations,
        )


class _Clock:
    """Clock of a search: its time limit, its limit of nodes, and the report of its progress."""

    def __init__(self, begin_time: float, budget: float, progress: Any) -> None:
        self.begin_time, self.budget, self.iterations = begin_time, budget, 0
        self.full = False
        self.report = Reporter("plan", progress, "planning: seconds", budget, begin_time)

    def __enter__(self) -> _Clock:
        self.report.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.report.__exit__(*error)

    def continues(self, nodes: int) -> bool:
        """Return True if the search continues for another iteration."""
        spent = time.perf_counter() - self.begin_time
        self.report.reach(min(spent, self.budget))
        self.full = nodes > _NODES
        if spent >= self.budget or self.full:
            return False
        self.iterations += 1
        return True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time of a compilation from the time limit."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.begin_time += time.perf_counter() - begin

    @property
    def has_time(self) -> bool:
        """True while time is left."""
        return time.perf_counter() - self.begin_time < self.budget


def _starts(robot: Any, start: Any) -> np.ndarray:
    """Return the start configurations (n, nq), from one or several.  Raises ValueError."""
    result = np.atleast_2d(read_configuration(robot, "plan", "start", start))
    if result.ndim != 2 or not len(result):
        raise ValueError(f"plan: start: expected a configuration, or several (n, {robot.nq}), got shape {result.shape}")
    return result


def _is_empty(touching: Any) -> bool:
    return isinstance(touching, (tuple, list)) and not touching


def _node_count(trees: tuple[GrownTree, GrownTree]) -> int:
    return sum(tree.count for tree in trees)


def _plural(n: int, argument: str) -> str:
    return f"{n} {argument}{'' if n == 1 else 's'}"


def _positive(argument: str, x: Any, unit: str, least: float | None = None) -> float:
    above = 0.0 if least is None else None
    return float(finite_number("plan", argument, x, least=least, above=above, infinite=True, symbols=False, unit=unit))
