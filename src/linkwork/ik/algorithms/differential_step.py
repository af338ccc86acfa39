"""Differential inverse kinematics of soft tasks: a bounded least-squares problem for the velocity.

With δ = v dt, errors e, their Jacobian J, weights W and gains g (the fraction of an error that a step removes):

    min ½ ‖W (J δ + g e)‖² + ½ λ ‖S δ‖²,     λ = c ‖W e‖² + floor,     dt low ≤ δ ≤ dt high.

S makes radians and metres comparable.  The damping c ‖W e‖² vanishes with the error, so that convergence is at full
rate, and bounds steps at singularities: ‖S δ‖ ≤ g/(2 √c) before limits, for any J.  Hard tasks have no damping but the
floor; limits bound them.  Errors of single coordinates, such as a posture, form a diagonal and add no cost.

Sources: Nakamura and Hanafusa, Inverse kinematic solutions with singularity robustness, ASME J. Dyn. Syst. 108, 1986;
Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method, IEEE Trans. Robotics 27, 2011
(damping by the error); Flacco, De Luca and Khatib, Control of redundant robots under hard joint constraints, IEEE
Trans. Robotics 31, 2015 (boxes of velocities).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import eq, fabs, fmax, fmin, le, lt, sqrt, where
from linkwork.ik.algorithms.bounded_least_squares import boxed_least_squares
from linkwork.ik.algorithms.joint_bounds import MotionLimits, nearest, scaled_bound
from linkwork.ik.algorithms.task_stack import Stack, Stacked
from linkwork.kinematics.algorithms.coordinates import unit_steps

__all__ = ["Cost", "VelocityStep", "costs", "in_balls", "sizes", "velocity_step", "with_errors"]

Scalars = Sequence[Any]

_ROUNDING = by_type(1e-15)  # relative
_TINY = by_type(1e-300)  # [rad/s, m/s] smallest bound
_FLOOR = by_type(1e-9)  # minimum damping, which resolves redundancy


@dataclass(frozen=True)
class Cost:
    """Cost ½ ‖A δ + r‖² + ½ δᵀ D δ + cᵀ δ of a step δ; D is a diagonal.

    D and c contain the errors that depend on a single coordinate; ``diagonal_dofs`` are these coordinates.
    """

    A: list[list[Any]]
    r: list[Any]
    D: list[Any]
    c: list[Any]
    diagonal_dofs: list[int]


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
    """Return for each velocity the factor that makes it comparable with the others.

    It is 1 for angles and 1 / characteristic length for lengths.
    """
    return [1.0 / x for x in unit_steps(stack.tree)]


def costs(stack: Stack, at: Stacked, rows: Collection[int], gains: Scalars, damping: Any) -> Cost:
    """Return the quadratic cost of a step for the errors with indices ``rows``.

    ``gains`` are the fractions of the errors that the step removes.  Hard errors are weighted by their scales, soft
    ones by their weights.  ``damping`` is multiplied by the sum of squared weighted soft errors.
    """
    beyond = stack.beyond(at.errors)
    A: list[list[Any]] = []
    r: list[Any] = []
    D: list[Any] = [0.0] * stack.tree.nv
    c: list[Any] = [0.0] * stack.tree.nv
    diagonal_dofs: dict[int, None] = {}
    size: Any = 0.0
    for i, (e, row, weight) in enumerate(zip(beyond, at.rows, stack.all_weights(), strict=True)):
        if i not in rows or is_zero(weight):
            continue
        w = weight if stack.ranges[i] == (0.0, 0.0) else where(eq(e, 0.0), 0.0, weight)
        used = [k for k, x in enumerate(row) if not is_zero(x)]
        if len(used) == 1:
            (k,) = used
            diagonal_dofs[k] = None
            D[k] = D[k] + w * w * row[k] * row[k]
            c[k] = c[k] + w * w * row[k] * gains[i] * e
        elif used:
            A.append([x if is_zero(x) else w * x for x in row])
            r.append(w * gains[i] * e)
            size = size if stack.hard[i] else size + w * w * e * e
    D = [d + (damping * size + _FLOOR) * s * s for d, s in zip(D, sizes(stack), strict=True)]
    return Cost(A, r, D, c, list(diagonal_dofs))


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
    """Return the velocity for soft tasks of one level.

    The search for active limits starts from those active at ``v_last``.  ``norms`` are pairs of indices in v and the
    bound of the norm of these velocities.  Where the first solution exceeds a bound, the velocities are limited to a
    box inside the ball, with a corner in the direction of that solution.
    """
    at = stack.at(q)
    cost = costs(stack, at, range(len(at.errors)), gains, damping)
    rate = 1.0 / dt

    def solve(limits: MotionLimits) -> tuple[list[Any], Any]:
        low, high = limits.box(stack.tree, q, dt, v_last, stack.locked_dofs)
        guess = [where(le(b, x), 1.0, where(le(x, a), -1.0, 0.0)) for x, a, b in zip(v_last, low, high, strict=True)]
        shortest, longest = ([scaled_bound(x, dt) for x in bounds] for bounds in (low, high))
        result = boxed_least_squares(cost.A, cost.r, cost.D, cost.c, shortest, longest, guess)
        v = [fmin(fmax(x * rate, a), b) for x, a, b in zip(result.x, low, high, strict=True)]
        return v, result

    v, result = solve(limits)
    if norms:
        v, result = solve(in_balls(limits, v, norms))
    return with_errors(
        stack, at, [x * dt for x in v], gains, VelocityStep(v, result.sides, result.least, result.rounds, [], [], [])
    )


def with_errors(stack: Stack, at: Stacked, delta: Scalars, gains: Scalars, result: VelocityStep) -> VelocityStep:
    """Return ``result`` with the errors before and after the step ``delta``, outside their ranges.

    ``after`` is to first order.  ``short`` is the difference of the step's effect from the one that the gains require.
    """
    changes = [dot(row, delta) for row in at.rows]
    after = stack.beyond([e + x for e, x in zip(at.errors, changes, strict=True)])
    short = []
    for e, x, gain, (low, high) in zip(at.errors, changes, gains, stack.ranges, strict=True):
        value = gain * e + x
        short.append(value - nearest(value, scaled_bound(low, gain), scaled_bound(high, gain)))
    return result._replace(errors=stack.beyond(at.errors), after=after, short=short)


def in_balls(limits: MotionLimits, v: Scalars, norms: Sequence[tuple[Collection[int], Any]]) -> MotionLimits:
    """Return motion limits with a box of velocity limits inside each ball ‖v‖ ≤ bound of ``norms``.

    Where v exceeds the bound, the corner of the box is in the direction of v.
    """
    velocity, bounded = list(limits.velocity), set(limits.velocities)
    for diagonal_dofs, bound in norms:
        components = [v[k] for k in diagonal_dofs]
        size = sqrt(dot(components, components))
        beyond = lt(bound, size)
        share = where(beyond, bound, 1.0) / where(beyond, size, 1.0)
        share = share - _ROUNDING * share
        for k in diagonal_dofs:
            reduced = where(beyond, fmax(fabs(v[k]) * share, _TINY), bound)
            velocity[k] = fmin(velocity[k], reduced) if k in bounded else reduced
            bounded.add(k)
    return replace(limits, velocity=velocity, velocities=frozenset(bounded))
