"""Dormand and Prince's method with steps as the error allows, and what lies between its points.

Steps are taken in the chart about where each begins, as wide as keeps the difference of solutions of fifth and fourth
order within a tolerance; the times that are asked for lie within steps, on a continuous extension of fourth order.

Source: Dormand and Prince, A family of embedded Runge-Kutta formulae, 1980; Hairer, Norsett and Wanner, Solving
Ordinary Differential Equations I, 2nd ed. 1993, sections II.4 (steps) and II.6 (the extension).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan, while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, lt, sqrt, where
from linkwork.simulation.algorithms.fixed_step_integrators import DORMAND_PRINCE, stages
from linkwork.simulation.algorithms.ode_system import MotionSystem, State, plus

__all__ = ["PARTS", "TOLERANCE", "AdaptiveState", "adaptive", "begun", "dormand_prince", "state_at", "tried"]

Scalars = Sequence[Any]

_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
_DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 5.0  # of what the next step may be, beside the last
TOLERANCE, PARTS = 1e-9, 1000
_TIMES = 1e-12  # of a step: nearer to its end than that is its end


class AdaptiveState(NamedTuple):
    """A step from q (nq) at ``start`` to ``time``, how φ and v go in it (5 nv each), the next step, and all steps."""

    start: Any
    time: Any
    q: Any
    phi: Any
    v: Any
    width: Any
    steps: Any


def dormand_prince(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """A step in as many parts as errors of 10⁻⁹ ask for; infinite where 1000 are not enough, so that it is noticed."""
    state, (ends, rates) = adaptive(system, begun(q, v, t, h), array([t + h]), TOLERANCE, TOLERANCE, PARTS)
    fine = lt(state.steps, float(PARTS))
    return list(ends[0]), [where(fine, x, math.inf) for x in rates[0]]


def begun(q: Scalars, v: Scalars, time: Any, width: Any) -> AdaptiveState:
    """Before the first step: at q and v, with a first step to try."""
    n = len(v)
    return AdaptiveState(time, time, array(list(q)), array([0.0] * (5 * n)), array([*v, *[0.0] * (4 * n)]), width, 0.0)


def adaptive(
    system: MotionSystem, state: AdaptiveState, times: Any, tolerance: Any, absolute: Any, most: int
) -> tuple[AdaptiveState, Any]:
    """q and v at times (n,) that increase, n rows of q and of v, and where it ended, to go on from.

    A step's error is measured by the root of the mean of (error/(absolute + tolerance |x|))² over φ and v.  ``steps``
    is beyond ``most`` where that many were not enough: what follows then is not to be used.
    """

    def further(state: AdaptiveState, time: Any) -> tuple[AdaptiveState, Any]:
        def behind(state: AdaptiveState) -> Any:
            gap = _TIMES * (1.0 + fabs(time))
            return and_(lt(state.time, time - gap), lt(state.steps, float(most)))

        reached = while_loop(behind, lambda s: tried(system, s, tolerance, absolute), state, max_iterations=most).state
        q, v = state_at(system, reached, time)
        return reached, (array(q), array(v))

    return scan(further, state, times)


def state_at(system: MotionSystem, state: AdaptiveState, time: Any) -> tuple[list[Any], list[Any]]:
    """q and v at a time within the last step."""
    whole = state.time - state.start
    theta = where(lt(0.0, whole), (time - state.start) / where(lt(0.0, whole), whole, 1.0), 0.0)
    return _at(system, state, fmin(theta, 1.0))


def _at(system: MotionSystem, state: AdaptiveState, theta: Any) -> tuple[list[Any], list[Any]]:
    """q and v at a part of the last step."""
    phi, v = _extended(list(state.phi), theta), _extended(list(state.v), theta)
    return system.moved(list(state.q), phi), v


def _extended(rows: Scalars, theta: Any) -> list[Any]:
    n = len(rows) // 5
    rest = 1.0 - theta
    return [
        rows[k] + theta * (rows[n + k] + rest * (rows[2 * n + k] + theta * (rows[3 * n + k] + rest * rows[4 * n + k])))
        for k in range(n)
    ]


def tried(system: MotionSystem, state: AdaptiveState, tolerance: Any, absolute: Any) -> AdaptiveState:
    """A step tried: taken where its error is small enough; the next is as wide as the error lets expect."""
    q, v = _at(system, state, 1.0)
    h, n = state.width, len(v)
    phi_rates, v_rates = stages(system, DORMAND_PRINCE, state.time, q, v, h)
    still = [0.0] * n
    phi = plus(still, h, *zip(DORMAND_PRINCE.b, phi_rates, strict=True))
    end = plus(v, h, *zip(DORMAND_PRINCE.b, v_rates, strict=True))
    errors = [
        error / (absolute + tolerance * fmax(fabs(before), fabs(after)))
        for rates, first, last in ((phi_rates, still, phi), (v_rates, v, end))
        for error, before, after in zip(plus(still, h, *zip(_ERROR, rates, strict=True)), first, last, strict=True)
    ]
    error = sqrt(sum((e * e for e in errors), 0.0) * (1.0 / len(errors)))
    fine = lt(error, 1.0)
    wider = fmin(_MOST, fmax(_LEAST, _SAFETY * fmax(error, 1e-10) ** -0.2))
    taken = (
        [*_between(still, phi, phi_rates, h)],
        [*_between(v, end, v_rates, h)],
    )

    def either(new: Sequence[Any], old: Any) -> Any:
        return array([where(fine, a, b) for a, b in zip(new, list(old), strict=True)])

    return AdaptiveState(
        where(fine, state.time, state.start),
        where(fine, state.time + h, state.time),
        either(q, state.q),
        either(taken[0], state.phi),
        either(taken[1], state.v),
        where(fine, h * wider, h * fmin(wider, 1.0)),
        state.steps + 1.0,
    )


def _between(first: Scalars, last: Scalars, rates: Sequence[Scalars], h: Any) -> list[Any]:
    """The five rows of the extension: its value, and what θ, 1 − θ, θ, 1 − θ in turn multiply."""
    way = [b - a for a, b in zip(first, last, strict=True)]
    bend = [h * a - b for a, b in zip(rates[0], way, strict=True)]
    other = [b - h * a - c for a, b, c in zip(rates[-1], way, bend, strict=True)]
    top = plus([0.0] * len(way), h, *zip(_DENSE, rates, strict=True))
    return [*first, *way, *bend, *other, *top]
