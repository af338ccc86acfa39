"""Hierarchical QP for differential inverse kinematics: hard tasks, then soft tasks level by level.

Ranges of hard tasks are barriers: a step reduces the distance to a bound, h = e − low or high − e, by at most the
fraction g,

    h + ḣ dt ≥ (1 − g) h,

so the bound is never reached, and a violation shrinks by this fraction.  The order is: the robot's own equations G v +
σ = 0 (closed loops and rolling), as far as the limits allow; barriers; hard errors in the least-squares sense; levels
of soft tasks.  The result δ_i of a level becomes a constraint A_i δ = A_i δ_i on the following levels, so a solution
always exists.

Sources: Kanoun, Lamiraux and Wieber, Kinematic control of redundant manipulators: generalizing the task-priority
framework to inequality task, IEEE Trans. Robotics 27, 2011; Ames and others, Control barrier functions: theory and
applications, European Control Conference 2019; Agrawal and Sreenath, Discrete control barrier functions, RSS 2017.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.optimize.convex_qp import quadratic_program
from linkwork.expr.scalar.functions import eq, fmax, fmin, le, where
from linkwork.ik.algorithms.bounded_least_squares import BoundedSolution, boxed_least_squares
from linkwork.ik.algorithms.differential_step import (
    Cost,
    Source,
    VelocityStep,
    costs,
    sizes,
    velocity_step,
    with_errors,
)
from linkwork.ik.algorithms.joint_bounds import (
    MotionLimits,
    braking_speed,
    in_balls,
    is_infinite,
    most_along,
    nearest,
    scaled_bound,
    times,
)
from linkwork.ik.algorithms.task_stack import Stack, TaskState
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.algorithms.constraint_rows import AllRates
from linkwork.mechanisms.algorithms.weighted_projection import DiagonalMetric

__all__ = ["cascade_step", "is_plain"]

Scalars = Sequence[Any]

_INF = float("inf")
_TOLERANCE = 1e-11  # tolerance of the constraints of earlier levels
_LAST_TOLERANCE = 1e-9  # tolerance of the last program, whose cost may vanish
_REGULARISATION = 1e-10  # weight of the step relative to the slack


def is_plain(stack: Stack) -> bool:
    """Return True if all tasks are soft and of one level, so that no hierarchy is needed."""
    return not any(task.hard for task in stack.tasks) and len({task.level for task in stack.tasks}) <= 1


@dataclass
class _Cascade:
    """Step δ that satisfies the priority levels solved so far, with constraints that keep their results."""

    n: int
    units: list[float]  # steps of each coordinate that are comparable; programs have δ in these units
    lower: list[Any]  # bounds of δ
    upper: list[Any]
    step: list[Any]
    sides: list[Any]
    solved: Any = 1.0
    rounds: Any = 0.0
    rows: list[list[Any]] = field(default_factory=list)
    low: list[Any] = field(default_factory=list)
    high: list[Any] = field(default_factory=list)
    sources: list[Source | None] = field(default_factory=list)  # errors of the rows; None for linear ones

    def add_equations(self, rows: list[list[Any]], target: Scalars, floor: Scalars, sources: Sequence[Source]) -> None:
        """Solve the robot's own equations G δ = target as far as bounds allow, and keep G δ constant from then on.

        ``rows`` are G. ``floor`` is a small regularisation.
        """
        small = [_REGULARISATION * x for x in floor]
        self._take(boxed_least_squares(rows, [-x for x in target], small, [0.0] * self.n, self.lower, self.upper))
        self._constrain(rows, sources)

    def _constrain(self, rows: list[list[Any]], sources: Sequence[Source | None]) -> None:
        """Add constraints by which later levels do not change G δ, with the ``rows`` G and the current step δ."""
        values, self.sources = [dot(row, self.step) for row in rows], [*self.sources, *sources]
        self.rows, self.low, self.high = self.rows + rows, self.low + values, self.high + values

    def refine(self, rows: list[list[Any]], target: Scalars, floor: Scalars) -> None:
        """Reduce the residual of G δ = target below the tolerance of the quadratic programs; G are the ``rows``.

        The correction is the smallest step of the coordinates that are not at a bound.
        """
        unconstrained = [
            0.0 if _is_float(a) and _is_float(b) and a == b else where(eq(side, 0.0), 1.0 / s, 0.0)
            for s, side, a, b in zip(floor, self.sides, self.lower, self.upper, strict=True)
        ]
        remaining = [x - dot(row, self.step) for x, row in zip(target, rows, strict=True)]
        squares = [[x if is_zero(x) else x * x for x in row] for row in rows]
        change = DiagonalMetric(AllRates(rows, [], [], squares), unconstrained).step(remaining)
        self.step = [nearest(x + y, a, b) for x, y, a, b in zip(self.step, change, self.lower, self.upper, strict=True)]

    def add_barriers(
        self,
        rows: list[list[Any]],
        low: Scalars,
        high: Scalars,
        floor: Scalars,
        sources: Sequence[Source | None],
    ) -> None:
        """Add the constraints low ≤ B δ ≤ high for the ``rows`` B, which keep hard errors in their ranges.

        If the bounds of δ do not permit these constraints, they are relaxed by the minimum slack.
        """
        n, m = self.n, len(rows)
        H = [[0.0] * (n + m) for _ in range(n + m)]
        for k in range(n + m):
            H[k][k] = _REGULARISATION * floor[k] if k < n else 1.0
        A = [[*row, *([0.0] * m)] for row in self.rows]
        A += [[*row, *(1.0 if i == j else 0.0 for j in range(m))] for i, row in enumerate(rows)]
        unbounded = [_INF] * m
        self._take(
            self._solved(
                H,
                [0.0] * (n + m),
                A,
                [*self.low, *low],
                [*self.high, *high],
                [*self.lower, *(-x for x in unbounded)],
                [*self.upper, *unbounded],
            )[0]
        )
        values = [dot(row, self.step) for row in rows]
        self.rows += rows
        self.sources += sources
        self.low += [fmin(a, v) for a, v in zip(low, values, strict=True)]
        self.high += [fmax(b, v) for b, v in zip(high, values, strict=True)]

    def add_level(self, cost: Cost, last: bool) -> None:
        """Minimise the cost of a level of soft tasks, or of hard errors, and keep the result constant from then on."""
        columns = transposed(cost.A) if cost.A else [[] for _ in range(self.n)]
        pulls = [dot(column, cost.r) for column in columns]

        def solve(D: Scalars, c: Scalars, guess: Scalars | None) -> tuple[BoundedSolution, Scalars]:
            g = [x + y for x, y in zip(c, pulls, strict=True)]
            H = [[dot(a, b) + (D[i] if i == j else 0.0) for j, b in enumerate(columns)] for i, a in enumerate(columns)]
            tolerance = _LAST_TOLERANCE if last else _TOLERANCE
            return self._solved(H, g, self.rows, self.low, self.high, self.lower, self.upper, tolerance)

        solution = (
            cost.minimum(solve, self.sources, self.step) if self.rows else cost.bounded_minimum(self.lower, self.upper)
        )
        self._take(solution)
        if not last:
            units = [[1.0 if j == k else 0.0 for j in range(self.n)] for k in cost.diagonal_dofs]
            self._constrain([*cost.A, *units], [*cost.sources, *(None for _ in units)])

    def _solved(
        self, H: Any, g: Any, A: Any, low: Any, high: Any, lower: Any, upper: Any, tolerance: float = _TOLERANCE
    ) -> tuple[BoundedSolution, Scalars]:
        units = self.units + [1.0] * (len(g) - self.n)  # slack has none
        H = [_in_units(_scaled(row, u), units) for row, u in zip(H, units, strict=True)]
        g, A = _in_units(g, units), [_in_units(row, units) for row in A]
        lower, upper = (
            [scaled_bound(x, 1.0 / u) if u != 1.0 else x for x, u in zip(bounds, units, strict=True)]
            for bounds in (lower, upper)
        )
        H, g, A, low, high, lower, upper = (array(x) for x in (H, g, A, low, high, lower, upper))
        bounds = {"lower": low, "upper": high, "x_lower": lower, "x_upper": upper}
        result = quadratic_program(H, g, A, **bounds, tolerance=tolerance)
        solved = eq(result.status, 0.0)
        minimum = _in_units(list(result.x)[: self.n], self.units)
        x = [where(solved, a, b) for a, b in zip(minimum, self.step, strict=True)]
        step = [nearest(a, b, c) for a, b, c in zip(x, self.lower, self.upper, strict=True)]
        sides = list(result.active)[len(list(low)) :][: self.n]
        multipliers = [where(solved, x, 0.0) for x in result.multipliers]
        return BoundedSolution(step, sides, where(solved, 1.0, 0.0), result.iterations), multipliers

    def _take(self, result: BoundedSolution) -> None:
        """Continue with the step of a solution."""
        self.step, self.sides = result.x, result.sides
        self.solved, self.rounds = self.solved * result.least, self.rounds + result.rounds


def cascade_step(
    stack: Stack,
    q: Scalars,
    dt: Any,
    v_last: Scalars,
    limits: MotionLimits,
    gains: Scalars,
    damping: Any,
    norms: Sequence[tuple[Collection[int], Any]] = (),
) -> VelocityStep:
    """Return the velocity for hard tasks and several priority levels of soft tasks.

    ``norms`` are pairs: indices in v, and a bound of the norm of these velocities. A first solution without these
    bounds gives the direction of the box of limits that replaces each ball.
    """
    if norms:
        unconstrained = (
            cascade_step if stack.robot_equations else velocity_step
        )  # gives the direction of the box in each ball
        limits = in_balls(limits, unconstrained(stack, q, dt, v_last, limits, gains, damping).v, norms)
    at = stack.at(q)
    low, high = limits.box(stack.tree, q, dt, v_last, stack.locked_dofs)
    lower, upper = ([x if _is_float(x) else x * dt for x in bounds] for bounds in (low, high))
    n = stack.tree.nv
    step = [nearest(0.0, a, b) for a, b in zip(lower, upper, strict=True)]
    cascade = _Cascade(n, unit_steps(stack.tree), lower, upper, step, [0.0] * n)
    floor = [s * s for s in sizes(stack)]
    scales = stack.scales  # rows of all programs are comparable, so that tolerances do not depend on units
    sources = [(i, scales[i]) for i in stack.robot_equations]
    equations = [_scaled(at.rows[i], scale) for i, scale in sources]
    target = [-scale * at.errors[i] for i, scale in sources]
    if equations:
        cascade.add_equations(equations, target, floor, sources)
    if limits.loops:
        state, units = TaskState(stack.tree, q), [loop.loop.joint.v_units[loop.index] for loop in limits.loops]
        sizes_of = [1.0 if unit.startswith("rad") else stack.length_scale for unit in units]
        most = [dt * (size * loop.bound) for loop, size in zip(limits.loops, sizes_of, strict=True)]
        loop_rows = [_scaled(loop.row(state), size) for loop, size in zip(limits.loops, sizes_of, strict=True)]
        speeds = [[0.0 if k in stack.locked_dofs else x for k, x in enumerate(row)] for row in loop_rows]
        cascade.add_barriers(speeds, [-x for x in most], most, floor, [None] * len(most))
    barriers = [
        i for i, (pair, hard) in enumerate(zip(stack.ranges, stack.hard, strict=True)) if hard and pair != (0, 0)
    ]
    if barriers:
        slowing = [limits.acceleration[k] * dt if k in limits.accelerations else _INF for k in range(n)]
        owned = [task.own for task in stack.tasks for _ in task.component_names]
        rooms = []
        for i in barriers:
            change = most_along(at.rows[i], slowing) if owned[i] else _INF  # of the coordinate's rate in a step
            low_end, high_end = stack.ranges[i]
            below = _INF if is_infinite(low_end) else at.errors[i] - low_end
            above = _INF if is_infinite(high_end) else high_end - at.errors[i]
            rooms.append([scaled_bound(_room(x, gains[i], change, dt), scales[i]) for x in (below, above)])
        below_room, above_room = [-a for a, _ in rooms], [b for _, b in rooms]
        barrier_rows = [_scaled(at.rows[i], scales[i]) for i in barriers]
        cascade.add_barriers(barrier_rows, below_room, above_room, floor, [(i, scales[i]) for i in barriers])
    stages = _stages(stack)
    for stage, rows in enumerate(stages):
        cascade.add_level(costs(stack, q, at, rows, gains, damping), stage == len(stages) - 1)
    if equations:
        cascade.refine(equations, target, floor)
    v = [nearest(x / dt, a, b) for x, a, b in zip(cascade.step, low, high, strict=True)]
    least = where(le(0.5, cascade.solved), 1.0, 0.0)
    result = VelocityStep(v, cascade.sides, least, cascade.rounds, [], [], [])
    return with_errors(stack, at, [x * dt for x in v], gains, result)


def _room(distance: Any, gain: Any, change: Any, dt: Any) -> Any:
    """Return the distance by which a step may approach a bound at a ``distance``: at most the fraction ``gain`` of it.

    After the step, a stop before the bound is still possible. ``change`` is the largest change of the approach speed in
    a time step ``dt``.
    """
    if is_infinite(distance):
        return distance
    share = gain * distance
    return share if is_infinite(change) else fmin(share, braking_speed(fmax(distance, 0.0), change, dt) * dt)


def _stages(stack: Stack) -> list[list[int]]:
    """Return indices of errors by priority: a list of all hard errors, then a list of soft errors for each level."""
    equations = set(stack.robot_equations)
    ranks = [
        (-1 if task.hard else task.level, task.hard and pair != (0, 0)) for task in stack.tasks for pair in task.ranges
    ]
    counted = [(i, level) for i, (level, barrier) in enumerate(ranks) if not barrier and i not in equations]
    levels = sorted({level for _, level in counted})
    return [[i for i, error_level in counted if error_level == level] for level in levels]


def _scaled(row: Scalars, scale: float) -> list[Any]:
    return _in_units(row, [scale] * len(row))


def _in_units(row: Scalars, units: Sequence[float]) -> list[Any]:
    """Return a Jacobian row for a step in ``units``: each element times the unit of its coordinate."""
    return [times(x, u) for x, u in zip(row, units, strict=True)]


def _is_float(x: Any) -> bool:
    return x.__class__ is float
