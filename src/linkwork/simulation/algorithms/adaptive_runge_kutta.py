"""Dormand-Prince method with adaptive steps and dense output.

Each step is in local coordinates at its start.  Its width limits the difference of the solutions of fifth and fourth
order to a tolerance.  States at requested times follow from a continuous extension of fourth order.

With constraints, each substep starts from the nearest state that satisfies them.  `SingularPassage` leads past their
singular configurations.

Source: Dormand and Prince, A family of embedded Runge-Kutta formulae, 1980; Hairer, Norsett and Wanner, Solving
Ordinary Differential Equations I, 2nd ed. 1993, sections II.4 (steps) and II.6 (the extension).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, scan, while_loop
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.simulation.algorithms.fixed_step_integrators import DORMAND_PRINCE, stages
from linkwork.simulation.algorithms.ode_system import MotionSystem, State, plus

__all__ = [
    "PARTS",
    "TOLERANCE",
    "AdaptiveState",
    "adaptive",
    "begun",
    "dormand_prince",
    "state_at",
    "tried",
]

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
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 5.0  # safety factor, and bounds of the ratio of successive steps
TOLERANCE, PARTS = 1e-9, 1000  # [rad, characteristic lengths, and these per second] error; substeps of a step
_TIMES = 1e-12  # relative distance from a time that counts as reached


class AdaptiveState(NamedTuple):
    """Last step of an adaptive integration, with its dense output and the width of the next step.

    The step is from q (nq) at ``start`` to ``time``.  ``phi`` and ``v`` (5 nv each) are the coefficients of the
    displacement φ from q and of the velocity.
    """

    start: Any
    time: Any
    q: Any
    phi: Any
    v: Any
    width: Any
    steps: Any
    near: Any  # 1 beside a singular configuration of the constraints, else 0


def dormand_prince(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """Return q and v after a step h, integrated by adaptive substeps with errors of 10⁻⁹.

    v is infinite if 1000 substeps are not enough.
    """
    state, (ends, rates) = adaptive(system, begun(q, v, t, h), array([t + h]), TOLERANCE, TOLERANCE, PARTS)
    has_parts_left = lt(state.steps, float(PARTS))
    return list(ends[0]), [where(has_parts_left, x, math.inf) for x in rates[0]]


def begun(q: Scalars, v: Scalars, time: Any, width: Any) -> AdaptiveState:
    """Return the state of an integration that starts at q and v; ``width`` [s] is the first trial step."""
    n = len(v)
    zeros, rates = array([0.0] * (5 * n)), array([*v, *[0.0] * (4 * n)])
    return AdaptiveState(time, time, array(list(q)), zeros, rates, width, 0.0, 0.0)


def adaptive(
    system: MotionSystem, state: AdaptiveState, times: Any, tolerance: Any, absolute: Any, most: int
) -> tuple[AdaptiveState, Any]:
    """Integrate through increasing times (n,); return the final state, and q (n, nq) and v (n, nv).

    The error of a step is the root mean square of error/(absolute + tolerance |x|) over the displacement φ and v, with
    ``absolute`` in rad, characteristic lengths, and these per second. ``steps`` reaches ``most`` if ``most`` steps were
    not enough; the results are then invalid.
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
    """Return q and v at a time within the last step."""
    whole = state.time - state.start
    theta = where(lt(0.0, whole), (time - state.start) / where(lt(0.0, whole), whole, 1.0), 0.0)
    return _at(system, state, fmin(theta, 1.0))


def _at(system: MotionSystem, state: AdaptiveState, theta: Any) -> tuple[list[Any], list[Any]]:
    """Return q and v at a fraction θ of the last step."""
    phi, v = _extended(list(state.phi), theta), _extended(list(state.v), theta)
    return system.moved(list(state.q), phi), v


def _extended(rows: Scalars, theta: Any) -> list[Any]:
    n = len(rows) // 5
    remainder = 1.0 - theta
    return [
        rows[k]
        + theta
        * (rows[n + k] + remainder * (rows[2 * n + k] + theta * (rows[3 * n + k] + remainder * rows[4 * n + k])))
        for k in range(n)
    ]


def tried(system: MotionSystem, state: AdaptiveState, tolerance: Any, absolute: Any) -> AdaptiveState:
    """Try a step: accept it if its error is small enough, and choose the next width by the error."""
    q, v = _at(system, state, 1.0)
    if system.projected is not None:
        q, v = system.projected(state.time, q, v)
    h, n, near, passage = state.width, len(v), lt(0.5, state.near), system.passage
    zero = [0.0] * n

    def rated(acting: MotionSystem, q: Any, v: Any) -> Any:
        """Return v at the start, the rates of the stages, and the errors of displacement and velocity."""
        q, v = list(q), list(v)
        if acting is not system and passage is not None:
            v = passage.velocity(state.time, q, v)
        rates = stages(acting, DORMAND_PRINCE, state.time, q, v, h)
        errors = [plus(zero, h, *zip(_ERROR, stage_rates, strict=True)) for stage_rates in rates]
        if acting is not system and passage is not None:
            phi = plus(zero, h, *zip(DORMAND_PRINCE.b, rates[0], strict=True))
            errors = [passage.tangent(state.time + h, system.moved(q, phi), x) for x in errors]
        return array(v), *map(array, rates), *map(array, errors)

    if passage is None:
        trial = rated(system, q, v)
    else:
        beside = replace(system, acceleration=passage.nearest_acceleration)
        trial = cond(near, partial(rated, beside), partial(rated, system), array(list(q)), array(list(v)))
    v, phi_rates, v_rates, phi_errors, v_errors = (list(x) for x in trial)
    phi = plus(zero, h, *zip(DORMAND_PRINCE.b, phi_rates, strict=True))
    end = plus(v, h, *zip(DORMAND_PRINCE.b, v_rates, strict=True))
    units = unit_steps(system.tree)
    errors = [
        error / (absolute * unit + tolerance * fmax(fabs(before), fabs(after)))
        for each in (zip(phi_errors, zero, phi, units, strict=True), zip(v_errors, v, end, units, strict=True))
        for error, before, after, unit in each
    ]
    error = sqrt(sum((e * e for e in errors), 0.0) * (1.0 / len(errors)))
    is_accurate = lt(error, 1.0)
    wider = fmin(_MOST, fmax(_LEAST, _SAFETY * fmax(error, 1e-10) ** -0.2))
    width = where(is_accurate, h * wider, h * fmin(wider, 1.0))
    now = near
    if passage is not None:
        now = cond(or_(not_(is_accurate), near), lambda q: passage.is_near(state.time, q), lambda _: False, array(q))
        width = where(
            and_(now, not_(or_(near, is_accurate))), h, width
        )  # the same step, beside a singular configuration
    rows = (
        [*_between(zero, phi, phi_rates, h)],
        [*_between(v, end, v_rates, h)],
    )

    def either(new: Sequence[Any], old: Any) -> Any:
        return array([where(is_accurate, a, b) for a, b in zip(new, list(old), strict=True)])

    return AdaptiveState(
        where(is_accurate, state.time, state.start),
        where(is_accurate, state.time + h, state.time),
        either(q, state.q),
        either(rows[0], state.phi),
        either(rows[1], state.v),
        width,
        state.steps + 1.0,
        where(now, 1.0, 0.0),
    )


def _between(first: Scalars, last: Scalars, rates: Sequence[Scalars], h: Any) -> list[Any]:
    """Return the five coefficient vectors (n each) of the fourth-order interpolation over a step, in nested form.

    With the fraction θ of the step, x = c₀ + θ (c₁ + (1 − θ) (c₂ + θ (c₃ + (1 − θ) c₄))).
    """
    change = [b - a for a, b in zip(first, last, strict=True)]
    bend = [h * a - b for a, b in zip(rates[0], change, strict=True)]
    third_order = [b - h * a - c for a, b, c in zip(rates[-1], change, bend, strict=True)]
    top = plus([0.0] * len(change), h, *zip(_DENSE, rates, strict=True))
    return [*first, *change, *bend, *third_order, *top]
