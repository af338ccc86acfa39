"""Differential inverse kinematics of soft tasks: a bounded least-squares problem for the velocity.

With δ = v dt, errors e, their Jacobian J, weights W and gains g (the fraction of an error that a step removes):

    min ½ ‖W (J δ + g e)‖² + ½ λ ‖S δ‖²,     λ = c ‖W e‖² + floor,     dt low ≤ δ ≤ dt high.

S makes radians and metres comparable.  The damping c ‖W e‖² vanishes with the error, so that convergence is at full
rate, and bounds steps at singularities: ‖S δ‖ ≤ g/(2 √c) before limits, for any J.  Hard tasks have no damping except
the floor; limits bound their steps.  Errors of single coordinates, such as a posture, form a diagonal and add no cost.

A step must reduce the errors by a fraction of the reduction that J predicts.  Otherwise a diagonal as large as the
measured curvature of the errors is added to the damping, until a step succeeds.  So steps become short near
configurations from which a target is out of reach.

Sources: Nakamura and Hanafusa, Inverse kinematic solutions with singularity robustness, ASME J. Dyn. Syst. 108, 1986;
Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method, IEEE Trans. Robotics 27, 2011
(damping by the error); Böhning and Lindsay, Monotonicity of quadratic-approximation algorithms, Annals of the Institute
of Statistical Mathematics 40, 1988 (bounds of second derivatives); Flacco, De Luca and Khatib, Control of redundant
robots under hard joint constraints, IEEE Trans. Robotics 31, 2015 (boxes of velocities).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import fori_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, eq, fmax, fmin, le, lt, sqrt, where
from linkwork.ik.algorithms.bounded_least_squares import BoundedSolution, boxed_least_squares
from linkwork.ik.algorithms.joint_bounds import MotionLimits, in_balls, nearest, scaled_bound, times
from linkwork.ik.algorithms.task_stack import Stack, Stacked
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import unit_steps

__all__ = ["Cost", "Source", "VelocityStep", "costs", "sizes", "velocity_step", "with_errors"]

Scalars = Sequence[Any]
Source = tuple[int, Any]  # index of an error, and its weight in a row
Weighted = tuple[Any, list[Any], Any, Any]  # weight w of an error e, w J, w e, and its gain
Forces = Sequence[tuple[int, Any]]  # indices of errors, and the forces of constraints on them
Solve = Callable[[Scalars, Scalars, "Scalars | None"], "tuple[BoundedSolution, Scalars]"]

_TINY = by_type(1e-300)  # smallest divisor and square
_NO_COST = by_type(1e-18)  # [rad², m²] smaller changes of a weighted sum of squares are rounding
_FLOOR = by_type(1e-9)  # minimum damping, which resolves redundancy
_SHARE = 0.25  # of the reduction that a linear model promises, by which errors must fall
_LEAST, _MOST = 1.0 / 256.0, 4.0  # damping of accepted steps and largest first one, relative to the bound of curvature
_GROWTH = 4.0  # smallest factor of the damping after a step that is not accepted
_RETRIES = 6
_ACCEPTED = -1.0  # damping of a step that is accepted


@dataclass(frozen=True)
class Cost:
    """Cost ½ ‖A δ + r‖² + ½ δᵀ D δ + cᵀ δ of a step δ, with a diagonal D.

    D and c contain the errors that depend on a single coordinate; ``diagonal_dofs`` are these coordinates. ``sources``
    are, for each row of A, the index of its error and its weight. ``model`` returns functions that predict and measure
    how much a step reduces the errors; its argument are the forces of constraints on errors.
    """

    A: list[list[Any]]
    r: list[Any]
    D: list[Any]
    c: list[Any]
    diagonal_dofs: list[int]
    sources: list[Source]
    model: Callable[[Forces], StepModel]
    is_linear: bool

    def bounded_minimum(self, lower: Scalars, upper: Scalars, guess: Scalars | None = None) -> BoundedSolution:
        """Return the step of least cost within bounds, with a larger diagonal D if the cost does not fall enough."""

        def solve(D: Scalars, c: Scalars, guess: Scalars | None) -> tuple[BoundedSolution, Scalars]:
            return boxed_least_squares(self.A, self.r, D, c, lower, upper, guess), ()

        return self.minimum(solve, guess=guess)

    def minimum(
        self, solve: Solve, sources: Sequence[Source | None] = (), origin: Scalars = (), guess: Scalars | None = None
    ) -> BoundedSolution:
        """Return the step ``solve(D, c, guess)``; if it does not reduce the errors enough, solve again with a larger D.

        ``solve`` also returns the multipliers of constraints; ``sources`` has an entry for each constraint, None for a
        linear one. ``origin`` is a step that satisfies the constraints; zero without constraints. The larger diagonal D
        damps the difference from ``origin``.
        """
        undamped, multipliers = solve(self.D, self.c, guess)
        forces = [(source[0], source[1] * multipliers[k]) for k, source in enumerate(sources) if source is not None]
        if self.is_linear and not forces:
            return undamped
        model = self.model(forces)
        start, most = (model.promise(origin), model.most(origin)) if forces else (0.0, 0.0)
        promise, most = model.promise(undamped.x) - start, most + model.most(undamped.x)
        is_proven = and_(lt(0.5, undamped.least), le(most, (1.0 - _SHARE) * promise + _NO_COST))

        def judged(x: Scalars, least: Any, promise: Any, before: Any) -> tuple[Any, Any]:
            """Return 1 if the step x is rejected, else 0, and how much less the errors fall than predicted.

            ``least`` is 1 if x is a minimum of the cost. ``promise`` is the predicted reduction of squared errors
            between the step ``origin`` and x, and ``before`` the actual reduction by the step ``origin``.
            """
            reduction = model.actual(x) - before
            suits = and_(lt(0.5, least), le(_SHARE * promise, reduction + _NO_COST))
            return where(suits, 0.0, 1.0), promise - reduction

        def first() -> tuple[Any, Any, Any]:
            before = model.actual(origin) if forces else 0.0
            return *judged(undamped.x, undamped.least, promise, before), before

        # few steps are rejected: values for these alone are computed in a branch
        is_refused, lack, before = cond(is_proven, lambda: (0.0, 0.0, 0.0), first)

        def again() -> tuple[Any, ...]:
            bends = model.diagonal()

            def larger(scale: Any, x: Scalars, lack: Any) -> Any:
                change = [a - b for a, b in zip(x, origin, strict=True)] if forces else x
                ratio = lack / fmax(dot(bends, [a * a for a in change]), _TINY)
                return fmax(_GROWTH * scale, fmin(ratio, _MOST))

            def retry(k: Any, state: tuple[Any, ...]) -> Any:
                damping = state[0]

                def damped() -> tuple[Any, ...]:
                    D = [a if is_zero(b) else a + damping * b for a, b in zip(self.D, bends, strict=True)]
                    c = self.c
                    if forces:
                        c = [a - damping * b * x for a, b, x in zip(c, bends, origin, strict=True)]
                    new, _ = solve(D, c, state[2])

                    def following() -> Any:
                        is_refused, lack = judged(new.x, new.least, model.promise(new.x) - start, before)
                        return where(lt(0.5, is_refused), larger(damping, new.x, lack), _ACCEPTED)

                    scale = cond(lt(k, _RETRIES - 1.5), following, lambda: _ACCEPTED)
                    return scale, tuple(new.x), tuple(new.sides), new.least, state[4] + new.rounds

                return cond(lt(0.0, damping), damped, lambda: state)

            # a loop of known length has reverse derivatives
            return tuple(fori_loop(0, _RETRIES, retry, (larger(_LEAST, undamped.x, lack), *result))[1:])

        result = tuple(undamped.x), tuple(undamped.sides), undamped.least, undamped.rounds
        x, sides, least, rounds = cond(lt(0.5, is_refused), again, lambda: result)
        return BoundedSolution(list(x), list(sides), least, rounds)


class StepModel(NamedTuple):
    """Functions of a step δ: the predicted and actual reduction of squared errors, and a bound of their difference.

    They are ``promise``, ``actual`` and ``most``.
    """

    promise: Callable[[Scalars], Any]
    most: Callable[[Scalars], Any]
    actual: Callable[[Scalars], Any]
    diagonal: Callable[[], list[Any]]  # bounds second derivatives of half the squared errors


class VelocityStep(NamedTuple):
    """Velocity v, its active limits (1, −1 or 0), convergence, rounds, and errors."""

    v: list[Any]
    sides: list[Any]  # of the velocities
    least: Any
    rounds: Any
    errors: list[Any]  # before the step, outside ranges
    after: list[Any]  # errors after the step, to first order
    short: list[Any]  # difference from the reduction that gains require


def sizes(stack: Stack) -> list[float]:
    """Return, for each velocity coordinate, a factor that makes angles and lengths comparable.

    It is 1 for angles and 1 / characteristic length for lengths.
    """
    return [1.0 / x for x in unit_steps(stack.tree)]


def costs(stack: Stack, q: Scalars, at: Stacked, rows: Collection[int], gains: Scalars, damping: Any) -> Cost:
    """Return the quadratic cost of a step for the errors with indices ``rows``.

    ``gains`` are the fractions of the errors that the step removes.  Hard errors are weighted by their scales, soft
    errors by their weights.  ``damping`` is multiplied by the sum of squared weighted soft errors.
    """
    beyond, weights = stack.beyond(at.errors), stack.all_weights()
    A: list[list[Any]] = []
    r: list[Any] = []
    D: list[Any] = [0.0] * stack.tree.nv
    c: list[Any] = [0.0] * stack.tree.nv
    diagonal_dofs: dict[int, None] = {}
    sources: list[Source] = []
    counted: dict[int, Weighted] = {}
    size: Any = 0.0
    for i, (e, row, weight) in enumerate(zip(beyond, at.rows, weights, strict=True)):
        if i not in rows or is_zero(weight):
            continue
        w = weight if stack.ranges[i] == (0.0, 0.0) else where(eq(e, 0.0), 0.0, weight)
        used = [k for k, x in enumerate(row) if not is_zero(x)]
        if not used:
            continue
        scaled, reduced = [x if is_zero(x) else w * x for x in row], w * gains[i] * e
        counted[i] = w, scaled, w * e, gains[i]
        if len(used) == 1:
            (k,) = used
            diagonal_dofs[k] = None
            D[k] = D[k] + scaled[k] * scaled[k]
            c[k] = c[k] + scaled[k] * reduced
        else:
            sources.append((i, w))
            A.append(scaled)
            r.append(reduced)
            size = size if stack.hard[i] else size + w * w * e * e
    D = [d + (damping * size + _FLOOR) * s * s for d, s in zip(D, sizes(stack), strict=True)]
    steps = unit_steps(stack.tree)
    groups = [_CurvedErrors.of(at, group, counted, steps) for group in _curved(stack, at, [*counted])]
    scales, curved = stack.scales, {i for group in groups for i in group.rows}
    linear = [(row, gain * x) for i, (_, row, x, gain) in counted.items() if i not in curved]

    def bends(forces: Forces) -> list[tuple[list[int], Any, list[Any]]]:
        """Return for each task and unit (indices of its errors, norm of the forces on them, bounds of their curvature).

        ``forces`` are constraint forces on errors. Errors with a constant Jacobian are left out.
        """
        by_index = dict(forces)
        forces_by_group = [(group, [by_index[i] for i in group]) for group in _curved(stack, at, [*by_index])]
        return [
            (group, sqrt(dot(pull, pull)), _bends([at.rows[i] for i in group], steps))
            for group, pull in forces_by_group
        ]

    def model(forces: Forces) -> StepModel:
        weighted = [w * gain * x / scales[i] for i, (w, _, x, gain) in counted.items()]
        least = sqrt(dot(weighted, weighted) + _TINY)  # force on an error whose linear model vanishes with a long step
        pulls = [(group, fmax(pull, least * scales[group[0]]), bound) for group, pull, bound in bends(forces)]

        def diagonal() -> list[Any]:
            result: list[Any] = [0.0] * stack.tree.nv
            for pull, bound in [
                *((group.pull(group.errors), group.bends) for group in groups),
                *((x, b) for _, x, b in pulls),
            ]:
                result = [x if is_zero(b) else x + pull * b for x, b in zip(result, bound, strict=True)]
            return result

        def flat(delta: Scalars) -> Any:
            result: Any = 0.0
            for row, x in linear:
                change = dot(row, delta)
                result = result - change * (change + 2.0 * x)
            return result

        def promise(delta: Scalars) -> Any:
            result = flat(delta)
            for group in groups:
                result = result + group.reduction(group.linear(delta))
            return result

        def most(delta: Scalars) -> Any:
            squares, result = [x * x for x in delta], 0.0
            for group in groups:
                left, bend = group.pull(group.linear(delta)), dot(group.bends, squares)
                sharpest = group.gain * reduce(fmax, [w * w for w in group.weights])
                result = result + bend * (left + 0.25 * bend * sharpest)
            for _, pull, bound in pulls:
                result = result + pull * dot(bound, squares)
            return result

        def actual(delta: Scalars) -> Any:
            """Return the actual reduction of the squared errors by the step ``delta``.

            For each constraint, twice its force times the deviation of its errors from their linear model is
            subtracted.
            """
            errors, result = stack.at(integrate(stack.tree, q, delta)).errors, flat(delta)
            after = stack.beyond(errors)
            for group in groups:
                new = [w * after[i] for w, i in zip(group.weights, group.rows, strict=True)]
                result = result + group.reduction(new)
            for indices, pull, _ in pulls:
                off = [errors[i] - at.errors[i] - dot(at.rows[i], delta) for i in indices]
                result = result - 2.0 * pull * sqrt(dot(off, off) + _TINY)
            return result

        return StepModel(promise, most, actual, diagonal)

    return Cost(A, r, D, c, list(diagonal_dofs), sources, model, not groups)


@dataclass(frozen=True)
class _CurvedErrors:
    """Errors of one task and unit with a nonlinear Jacobian, and functions to judge a step by.

    A step that removes the fraction g of an error e reduces ½ ‖w e‖² with the slope of ½ ‖w (g e + J δ)‖², divided by
    g. Norms are compared instead of errors, because the remaining error changes its direction in axes that turn with
    the frame.
    """

    rows: list[int]  # indices of the errors
    gain: Any  # g
    weights: list[Any]
    errors: list[Any]  # w e
    jacobian: list[list[Any]]  # w J
    bends: list[Any]  # b (nv) with ‖ë‖ ≤ Σ b_k v_k²

    @classmethod
    def of(cls, at: Stacked, rows: list[int], counted: Mapping[int, Weighted], steps: Sequence[float]) -> _CurvedErrors:
        weights, jacobian, errors, gains = (list(x) for x in zip(*(counted[i] for i in rows), strict=True))
        return cls(rows, gains[0], weights, errors, jacobian, _bends([at.rows[i] for i in rows], steps))

    def pull(self, errors: Scalars) -> Any:
        """Return g ‖w² e‖: the fraction g times the norm of the gradient of ½ ‖w e‖² with respect to the errors e.

        The argument are the weighted errors w e.
        """
        pulls = [w * x for w, x in zip(self.weights, errors, strict=True)]
        return self.gain * sqrt(dot(pulls, pulls))

    def reduction(self, errors: Scalars) -> Any:
        """Return the reduction of ‖w e‖², the squared norm of the weighted errors, by a step, times the fraction g.

        g is the fraction of the errors that the step should remove. The argument are the weighted errors w e after the
        step.
        """
        return self.gain * (dot(self.errors, self.errors) - dot(errors, errors))

    def linear(self, delta: Scalars) -> list[Any]:
        """Return the weighted errors w (e + J δ) of a linear model."""
        return [x + dot(row, delta) for x, row in zip(self.errors, self.jacobian, strict=True)]


def _curved(stack: Stack, at: Stacked, rows: Collection[int]) -> list[list[int]]:
    """Return the indices in ``rows`` of errors whose Jacobian is not constant, grouped by task and unit."""
    groups: dict[tuple[int, str], list[int]] = {}
    for i, (owner, unit) in enumerate(zip(stack.owners, stack.units, strict=True)):
        is_linear = stack.tasks[owner].of_velocity or all(x.__class__ is float for x in at.rows[i])
        if i in rows and not is_linear:
            groups.setdefault((owner, unit), []).append(i)
    return list(groups.values())


def _bends(rows: Sequence[Scalars], steps: Sequence[float]) -> list[Any]:
    """Return numbers b (nv) with |d²e/dt²| ≤ Σ b_k v_k² for errors e of a frame at constant velocity v.

    ``rows`` are the frame's Jacobian, and ``steps`` make angles and lengths comparable. Let joint i precede joint j in
    the chain. The derivative of column j of the Jacobian with respect to joint i is the cross product of a unit vector
    with column j, so it is no longer than column j. It is zero for a prismatic joint i.
    """
    squares = [dot(column, column) for column in transposed(rows)]
    moving = [k for k, x in enumerate(squares) if not is_zero(x)]
    sizes = [times(x if is_zero(x) else sqrt(x + _TINY), u) for x, u in zip(squares, steps, strict=True)]  # smooth at 0
    result, carried = [0.0] * len(sizes), 0.0
    for rank, k in reversed([*enumerate(moving)]):
        carried = carried + sizes[k]
        result[k] = times(carried + float(rank) * sizes[k], steps[k] ** -2)
    return result


def velocity_step(
    stack: Stack,
    q: Scalars,
    dt: Any,
    v_last: Scalars,
    limits: MotionLimits,
    gains: Scalars,
    damping: Any,
    norms: Sequence[tuple[Collection[int], Any]] = (),
) -> VelocityStep:
    """Return the velocity for tasks that are all soft and of one priority level.

    The search for active limits starts from the limits that are active at the last velocity, ``v_last``. ``norms`` are
    pairs: indices in v, and a bound of the norm of these velocities. If the first solution exceeds a bound, the
    velocities are limited to a box inside the ball, with a corner in the direction of this solution.
    """
    at = stack.at(q)
    cost = costs(stack, q, at, range(len(at.errors)), gains, damping)
    rate = 1.0 / dt

    def solve(limits: MotionLimits) -> tuple[list[Any], Any]:
        low, high = limits.box(stack.tree, q, dt, v_last, stack.locked_dofs)
        guess = [where(le(b, x), 1.0, where(le(x, a), -1.0, 0.0)) for x, a, b in zip(v_last, low, high, strict=True)]
        shortest, longest = ([scaled_bound(x, dt) for x in bounds] for bounds in (low, high))
        result = cost.bounded_minimum(shortest, longest, guess)
        v = [fmin(fmax(x * rate, a), b) for x, a, b in zip(result.x, low, high, strict=True)]
        return v, result

    v, result = solve(limits)
    if norms:
        v, result = solve(in_balls(limits, v, norms))
    return with_errors(
        stack, at, [x * dt for x in v], gains, VelocityStep(v, result.sides, result.least, result.rounds, [], [], [])
    )


def with_errors(stack: Stack, at: Stacked, delta: Scalars, gains: Scalars, result: VelocityStep) -> VelocityStep:
    """Return ``result`` with the errors before and after the step ``delta``, as violations of their ranges.

    ``after`` is to first order. ``short`` is the change of the errors by the step minus the change that the gains
    require.
    """
    changes = [dot(row, delta) for row in at.rows]
    after = stack.beyond([e + x for e, x in zip(at.errors, changes, strict=True)])
    short = []
    for e, x, gain, (low, high) in zip(at.errors, changes, gains, stack.ranges, strict=True):
        value = gain * e + x
        short.append(value - nearest(value, scaled_bound(low, gain), scaled_bound(high, gain)))
    return result._replace(errors=stack.beyond(at.errors), after=after, short=short)
