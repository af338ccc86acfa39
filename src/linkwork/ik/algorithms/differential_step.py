"""A velocity that brings tasks on, within limits: one step of differential inverse kinematics.

With δ = v dt, errors e, their Jacobian J, weights W and gains g (the part of an error that a step takes away):

    min ½ ‖W (J δ + g e)‖² + ½ λ ‖S δ‖²,     λ = c ‖W e‖² + floor,     dt low ≤ δ ≤ dt high.

S makes radians and metres comparable.  The damping c ‖W e‖² vanishes with the error, so that steps end at full rate,
and bounds them at singularities: ‖S δ‖ ≤ g/(2 √c) before limits, whatever J is.  Hard tasks take no damping but the
floor: limits bound what they ask for.  Tasks of single numbers, such as a posture, are a diagonal, and cost nothing.

Sources: Nakamura and Hanafusa, Inverse kinematic solutions with singularity robustness, ASME J. Dyn. Syst. 108, 1986;
Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method, IEEE Trans. Robotics 27, 2011
(damping by the error); Flacco, De Luca and Khatib, Control of redundant robots under hard joint constraints, IEEE
Trans. Robotics 31, 2015 (boxes of velocities).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import eq, fabs, fmax, fmin, le, lt, sqrt, where
from linkwork.ik.algorithms.bounded_least_squares import boxed_least_squares
from linkwork.ik.algorithms.joint_bounds import MotionLimits, nearest, scaled_bound
from linkwork.ik.algorithms.task_stack import Stack, Stacked
from linkwork.kinematics.algorithms.coordinates import unit_steps

__all__ = ["Cost", "StepFound", "costs", "in_balls", "sizes", "told", "velocity_step"]

Scalars = Sequence[Any]

_FLOOR = 1e-9  # of the damping: what decides where tasks leave a choice


@dataclass(frozen=True)
class Cost:
    """½ ‖A δ + r‖² + ½ δᵀ D δ + cᵀ δ; ``places`` are the numbers whose own rows are in D and c."""

    A: list[list[Any]]
    r: list[Any]
    D: list[Any]
    c: list[Any]
    places: list[int]


class StepFound(NamedTuple):
    """v, which of its numbers are at limits (1, −1 or 0), whether it is the least within them, rounds, and errors."""

    v: list[Any]
    sides: list[Any]
    least: Any
    rounds: Any
    errors: list[Any]  # before the step, beyond ranges
    after: list[Any]  # the same to the first order after it
    short: list[Any]  # what is missing of what gains ask for


def sizes(stack: Stack) -> list[float]:
    """S: by velocity, 1 of angles, 1/(a characteristic length) of lengths."""
    return [1.0 / x for x in unit_steps(stack.tree)]


def costs(stack: Stack, at: Stacked, rows: Collection[int], gains: Scalars, damping: Any) -> Cost:
    """What some rows cost, those of hard tasks in characteristic sizes."""
    beyond = stack.beyond(at.errors)
    A: list[list[Any]] = []
    r: list[Any] = []
    D: list[Any] = [0.0] * stack.tree.nv
    c: list[Any] = [0.0] * stack.tree.nv
    places: dict[int, None] = {}
    size: Any = 0.0
    for i, (e, row, weight) in enumerate(zip(beyond, at.rows, stack.counted(), strict=True)):
        if i not in rows or is_zero(weight):
            continue
        w = weight if stack.ranges[i] == (0.0, 0.0) else where(eq(e, 0.0), 0.0, weight)
        moved = [k for k, x in enumerate(row) if not is_zero(x)]
        if len(moved) == 1:
            (k,) = moved
            places[k] = None
            D[k] = D[k] + w * w * row[k] * row[k]
            c[k] = c[k] + w * w * row[k] * gains[i] * e
        elif moved:
            A.append([x if is_zero(x) else w * x for x in row])
            r.append(w * gains[i] * e)
            size = size if stack.hard[i] else size + w * w * e * e
    D = [d + (damping * size + _FLOOR) * s * s for d, s in zip(D, sizes(stack), strict=True)]
    return Cost(A, r, D, c, list(places))


def velocity_step(
    stack: Stack,
    q: Scalars,
    dt: Any,
    v_last: Scalars,
    limits: MotionLimits,
    gains: Scalars,
    damping: Any,
    norms: Sequence[tuple[Collection[int], Any]] = (),
) -> StepFound:
    """The velocity of all tasks together, of one level and none of them hard.

    The velocity before, where it is at limits, is where the search for what limits hold begins.  ``norms`` are sets of
    velocities that are bounded as a vector: where the first answer is beyond, its direction sets the box that is put
    into the ball.
    """
    at = stack.at(q)
    cost = costs(stack, at, range(len(at.errors)), gains, damping)
    rate = 1.0 / dt

    def solved(limits: MotionLimits) -> tuple[list[Any], Any]:
        low, high = limits.box(stack.tree, q, dt, v_last, stack.locked_dofs)
        guess = [where(le(b, x), 1.0, where(le(x, a), -1.0, 0.0)) for x, a, b in zip(v_last, low, high, strict=True)]
        shortest, longest = ([scaled_bound(x, dt) for x in bounds] for bounds in (low, high))
        result = boxed_least_squares(cost.A, cost.r, cost.D, cost.c, shortest, longest, guess)
        v = [fmin(fmax(x * rate, a), b) for x, a, b in zip(result.x, low, high, strict=True)]
        return v, result

    v, result = solved(limits)
    if norms:
        v, result = solved(in_balls(limits, v, norms))
    return told(
        stack, at, [x * dt for x in v], gains, StepFound(v, result.sides, result.least, result.rounds, [], [], [])
    )


def told(stack: Stack, at: Stacked, delta: Scalars, gains: Scalars, result: StepFound) -> StepFound:
    """With the errors of a step δ."""
    changes = [dot(row, delta) for row in at.rows]
    after = stack.beyond([e + x for e, x in zip(at.errors, changes, strict=True)])
    short = []
    for e, x, gain, (low, high) in zip(at.errors, changes, gains, stack.ranges, strict=True):
        value = gain * e + x
        short.append(value - nearest(value, scaled_bound(low, gain), scaled_bound(high, gain)))
    return result._replace(errors=stack.beyond(at.errors), after=after, short=short)


def in_balls(limits: MotionLimits, v: Scalars, norms: Sequence[tuple[Collection[int], Any]]) -> MotionLimits:
    """Limits with a box in each ball, the corner of which lies in the direction of v where that is beyond."""
    velocity, bounded = list(limits.velocity), set(limits.velocities)
    for places, most in norms:
        part = [v[k] for k in places]
        size = sqrt(dot(part, part))
        beyond = lt(most, size)
        share = where(beyond, most * (1.0 - 1e-15), 1.0) / where(beyond, size, 1.0)
        for k in places:
            own = where(beyond, fmax(fabs(v[k]) * share, 1e-300), most)
            velocity[k] = fmin(velocity[k], own) if k in bounded else own
            bounded.add(k)
    return MotionLimits(
        limits.lower,
        limits.upper,
        velocity,
        limits.acceleration,
        limits.positions,
        frozenset(bounded),
        limits.accelerations,
    )
