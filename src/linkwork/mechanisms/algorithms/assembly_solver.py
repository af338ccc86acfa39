"""Configurations that satisfy all constraints: nearest to wishes, some joints held, within limits.

Sequential quadratic steps without the constraints' curvature: of all δ that close what is open to first order the one
that leads nearest to the wish p,

    min ½ ‖δ + d‖²_W  with  φ + G δ = 0,      d = q ⊖ p,
    δ = −W⁻¹Gᵀ Λ_ν⁻¹ φ  −  (1 − W⁻¹Gᵀ Λ⁺ G) d,      Λ = G W⁻¹ Gᵀ,

in which columns of held joints are left out.  Λ_ν = Λ + ν ‖φ‖² 1 shortens steps where constraints are far from met, and
lets them be met at a quadratic rate.  A step that neither closes more nor, nearly closed, leads nearer is halved.
Coordinates that would go beyond their limits are stopped, and the others make up for it.

Sources: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005; Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 16 and 18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, lt, or_, sqrt, where
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, characteristic_length, unit_steps
from linkwork.mechanisms.algorithms.assembly_derivative import implied
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, constraint_error, rates_of
from linkwork.mechanisms.algorithms.weighted_projection import Weighed, largest, of_errors
from linkwork.model.coupled_joints import bounds
from linkwork.model.function_spec import FunctionSpec, Option, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "assemble_configuration", "assembly_derivatives", "held_velocities"]

Scalars = Sequence[Any]

MOST = 100  # steps
_LONGEST = 1.0  # a step's largest number [rad, characteristic lengths]
_HEEDED = 70.0  # steps after which constraints alone count
_DONE = 1e-8  # the last step: what is left after it is rounding
_NEARLY = 1e-2  # ‖φ‖², in characteristic lengths, of what is closed well enough to heed the wish
_CLOSED = 1e-26  # the same of what is as good as closed
_SHORT, _SHORTEST = 1e-3, 1e-6  # steps that are as good as their direction, and as none
_AT = 1e-6  # how near to its limit a coordinate is at it
_DAMPING = 1.0  # ν at first
_ROUNDS = 3  # in which coordinates are found that would go beyond their limits


class _State(NamedTuple):
    q: tuple[Any, ...]  # the best configuration so far
    delta: tuple[Any, ...]  # the step to try from there
    size: Any  # of that step
    open: Any  # ‖φ‖² at q
    far: Any  # ½ ‖d‖²_W at q
    price: Any  # ρ
    pull: tuple[Any, ...]  # the step to the wish at q, as long as it would be without curvature
    damping: Any  # ν
    slope: Any  # ‖Gᵀφ‖² / (‖G‖² ‖φ‖²) at q
    tried: Any  # how many steps


class _Stopped(NamedTuple):
    """A step within limits, of which coordinates with some are stopped or not."""

    stopped: tuple[Any, ...]  # 1 or 0
    step: tuple[Any, ...]
    pull: tuple[Any, ...]
    price: Any
    new: Any  # 1 where some were found last


def assemble_configuration(
    tree: Tree,
    q: Scalars,
    q1: Scalars,
    weights: Scalars,
    time: Scalars | None = None,
    held: str | Sequence[str] = (),
    position_limits: bool = True,
) -> tuple[list[Any], list[Any], Any, Any, Any]:
    """A configuration that satisfies constraints, from the start q, near q1; the error that is left; how many steps it
    took, and how they ended: 0, or as a loop; and the slope of what is open, 0 in a false minimum.

    Joints that are held stay as they are in q.
    """
    if not any(constraint.holonomic for constraint in tree.constraints):
        return list(q), [], 0.0, 0.0, 0.0
    problem = _Problem.of(tree, q1, weights, 0.0 if time is None else time[0], held, position_limits)

    def more(state: _State) -> Any:
        return lt(_DONE, state.size)

    start = problem.box.within(q)
    nothing = (0.0,) * tree.nv
    first = _State(tuple(start), nothing, math.inf, math.inf, 0.0, 0.0, nothing, _DAMPING, 0.0, 0.0)
    result = while_loop(more, problem.stepped, first, max_iterations=MOST)
    last: _State = result.state
    done = lt(last.size, 2.0 * _DONE)
    at = problem.moved(last.q, [where(done, x, 0.0) for x in last.delta])
    reference = _held_in(tree, q, q1, held)
    at, told = implied(tree, at, [result.iterations, result.status, last.slope], reference, problem.linear)
    return at, problem.error(at), *told


@dataclass(frozen=True)
class _Problem:
    """What is asked for, and steps toward it."""

    tree: Tree
    wish: Scalars
    weights: Scalars
    inverse: Scalars  # of the weights; 0 of what is held
    length: float  # a robot's own, of which others are measured
    reach: Scalars  # the longest steps
    box: LimitBox
    time: Any

    @staticmethod
    def of(
        tree: Tree, wish: Scalars, weights: Scalars, time: Any, held: str | Sequence[str], position_limits: bool
    ) -> _Problem:
        still = set(held_velocities(tree, held))
        inverse = [0.0 if k in still else 1.0 / w for k, w in enumerate(weights)]
        length = characteristic_length(tree)
        known = bounds(tree)
        lower, upper = ([x for i, _ in tree.stacked() for x in known[i][side]] for side in (0, 1))
        both = zip(lower, upper, strict=True)
        bounded = [n for n, ends in enumerate(both) if position_limits and any(map(math.isfinite, ends))]
        box = LimitBox.of(tree, lower, upper, bounded, still)
        return _Problem(tree, wish, weights, inverse, length, unit_steps(tree, _LONGEST, _LONGEST), box, time)

    def error(self, q: Scalars) -> list[Any]:
        return constraint_error(self.tree, q, [self.time])

    def linear(self, q: Scalars) -> tuple[Scalars, list[list[Any]], Weighed]:
        """φ, G and least steps."""
        rates = of_errors(self.tree, rates_of(self.tree, q, [0.0] * self.tree.nv, self.time))
        return self.error(q), rates.rows, Weighed(rates, self.inverse)

    def moved(self, q: Scalars, delta: Scalars) -> list[Any]:
        return self.box.within(integrate(self.tree, q, delta))

    def stepped(self, state: _State) -> _State:
        """Try the step; take it and find the next one, or halve it."""
        nearly = _NEARLY * self.length**2
        at = self.moved(state.q, state.delta)
        error = self.error(at)
        d = [0.0 if is_zero(w) else -x for x, w in zip(difference(self.tree, at, self.wish), self.inverse, strict=True)]
        open_, far = dot(error, error), 0.5 * dot(self.weights, [x * x for x in d])
        better = lt(far - state.far, state.price * (sqrt(state.open) - sqrt(open_)))
        close = lt(fmax(open_, state.open), nearly)
        closer = lt(open_, where(and_(close, lt(_SHORT, state.size)), 0.25, 1.0) * state.open)
        good = or_(or_(closer, and_(close, better)), lt(open_, _CLOSED * self.length**2))
        taken = or_(good, and_(close, lt(state.size, _SHORTEST)))  # so short a step is given up: on without the wish
        rates = of_errors(self.tree, rates_of(self.tree, at, [0.0] * self.tree.nv, self.time))
        more = where(lt(state.open, nearly), 1.0, 4.0)  # nearly closed, it may be the wish that was too far
        damping = where(taken, 0.25, more) * state.damping
        heeded = and_(and_(lt(open_, nearly), lt(state.tried, _HEEDED)), good)
        d = [0.0 if is_zero(x) else where(heeded, x, 0.0) for x in d]
        step, pull, price, slope = self._step(at, error, d, rates, damping * open_, open_, heeded, state)
        size = largest([x if r == _LONGEST else x * (_LONGEST / r) for x, r in zip(step, self.reach, strict=True)])
        return _State(
            tuple(where(taken, a, b) for a, b in zip(at, state.q, strict=True)),
            tuple(where(taken, a, 0.5 * b) for a, b in zip(step, state.delta, strict=True)),
            where(taken, size, 0.5 * state.size),
            where(taken, open_, state.open),
            where(taken, far, state.far),
            where(taken, fmax(price, 0.5 * state.price), state.price),
            tuple(where(taken, a, b) for a, b in zip(pull, state.pull, strict=True)),
            damping,
            where(taken, slope, state.slope),
            state.tried + 1.0,
        )

    def _step(
        self,
        q: Scalars,
        error: Scalars,
        d: Scalars,
        rates: AllRates,
        more: Any,
        open_: Any,
        heeded: Any,
        state: _State,
    ) -> tuple[list[Any], list[Any], Any, Any]:
        """δ, the part of it that leads to the wish, ρ, and the slope that is left."""
        nearest = Weighed(rates, self.inverse, more)
        slopes = list(nearest.pulled(error))
        if self.box.indices:
            result = self._within_limits(q, error, d, nearest, heeded, state)
            for k, stopped in zip(self.box.indices, result.stopped, strict=True):
                slopes[k] = where(lt(0.0, stopped), 0.0, slopes[k])
            step, pull, price = list(result.step), list(result.pull), result.price
        else:
            closing, pull, price = self._parts(nearest, error, d)
            step = self._joined(closing, pull, self._stretch(state, pull))
        size = dot([x for row in rates.rows for x in row], [x for row in rates.rows for x in row])
        return step, pull, price, dot(slopes, slopes) / fmax(open_ * size, 1e-300)

    def _within_limits(
        self, q: Scalars, error: Scalars, d: Scalars, nearest: Weighed, heeded: Any, state: _State
    ) -> _Stopped:
        """The step without what would go beyond its limits: far from where constraints hold all of that is stopped, and
        found again while there is more of it; else what is at its limits, and others shorten the step.
        """

        def again(before: _Stopped) -> _Stopped:
            inverse = list(nearest.inverse)
            for k, stopped in zip(self.box.indices, before.stopped, strict=True):
                inverse[k] = where(lt(0.0, stopped), 0.0, inverse[k])
            closing, pull, price = self._parts(replace(nearest, inverse=inverse), error, d)
            step = self._joined(closing, pull, self._stretch(state, pull))
            flags, new = [], 0.0
            for k, stopped in zip(self.box.indices, before.stopped, strict=True):
                room = self.box.room(q, k, step[k])
                beyond = lt(room, where(heeded, fmin(fabs(step[k]), _AT), fabs(step[k])))
                new = where(and_(beyond, lt(stopped, 0.5)), 1.0, new)
                flags.append(where(beyond, 1.0, stopped))
            return _Stopped(tuple(flags), tuple(step), tuple(pull), price, new)

        nothing, none = (0.0,) * len(self.inverse), (0.0,) * len(self.box.indices)
        first = _Stopped(none, nothing, nothing, 0.0, 1.0)
        result: _Stopped = while_loop(lambda s: lt(0.0, s.new), again, first, max_iterations=1 + _ROUNDS).state
        part: Any = 1.0
        for k in self.box.indices:
            x = result.step[k]
            room = self.box.room(q, k, x)
            part = fmin(part, where(lt(room, fabs(x)), room / fmax(fabs(x), 1e-300), 1.0))
        part = where(heeded, fmax(part, 0.0), 1.0)
        return result._replace(step=tuple(x * part for x in result.step))

    def _parts(self, nearest: Weighed, error: Scalars, d: Scalars) -> tuple[list[Any], list[Any], Any]:
        """The step that closes, that to the wish along what stays closed, and ρ: twice its multipliers."""
        factors = nearest.factors
        closing_forces = factors.once([-x for x in error])
        closing = nearest.pulled(closing_forces)
        multipliers = factors.solved([dot(row, d) for row in nearest.rates.rows], steps=2)
        along = nearest.pulled(multipliers)
        wishing = [0.0 if is_zero(w) else x - y for x, y, w in zip(along, d, nearest.inverse, strict=True)]
        wishing = [
            where(lt(0.0, w), x, 0.0) if k in self.box.indices else x
            for k, (x, w) in enumerate(zip(wishing, nearest.inverse, strict=True))
        ]
        multipliers = [a + b for a, b in zip(multipliers, closing_forces, strict=True)]
        return closing, wishing, 2.0 * sqrt(dot(multipliers, multipliers))

    def _stretch(self, state: _State, pull: Scalars) -> Any:
        """How much longer the step to the wish is, as the last step changed it: after Barzilai and Borwein."""
        moved = dot(self.weights, [x * x for x in state.delta])
        less = dot(self.weights, [x * (a - b) for x, a, b in zip(state.delta, state.pull, pull, strict=True)])
        return where(lt(0.0, less), fmin(fmax(moved / fmax(less, 1e-300), 0.1), 10.0), 1.0)

    def _joined(self, closing: Scalars, pull: Scalars, stretch: Any) -> list[Any]:
        pull = self._shortened([0.0 if is_zero(x) else x * stretch for x in pull])
        return [a + b for a, b in zip(self._shortened(closing), pull, strict=True)]

    def _shortened(self, step: Scalars) -> list[Any]:
        size = largest([x * (1.0 / r) for x, r in zip(step, self.reach, strict=True)])
        scale = 1.0 / fmax(size, 1.0)
        return [0.0 if is_zero(x) else x * scale for x in step]


def assembly_derivatives(
    tree: Tree, q: Scalars, time: Scalars | None = None, held: str | Sequence[str] = ()
) -> list[list[Any]]:
    """K (nv × nv): how an assembled configuration changes, δq = K δy, with the held joints' velocities δy.

    Where what is held leaves more than one way, it is the least: of the free columns G_f and the held ones G_h,
    δ_f = −G_f⁺ G_h δy.  Columns of joints that are not held are zero.
    """
    fixed = held_velocities(tree, held)
    K: list[list[Any]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    for k in fixed:
        K[k][k] = 1.0
    if not fixed or not any(constraint.holonomic for constraint in tree.constraints):
        return K
    rates = of_errors(tree, rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0]))
    nearest = Weighed(rates, [0.0 if k in fixed else 1.0 for k in range(tree.nv)])
    for k in fixed:
        for row, x in zip(K, nearest.step([-row[k] for row in rates.rows]), strict=True):
            row[k] = x if row is not K[k] else 1.0
    return K


def held_velocities(tree: Tree, held: str | Sequence[str]) -> list[int]:
    """Where in v joints are that are held.  Raises ValueError for a joint that follows another."""
    result: list[int] = []
    for name in (held,) if isinstance(held, str) else held:
        index = tree.joint_index(name)
        coupling = tree.bodies[index].coupling
        if coupling is not None:
            raise ValueError(f"held: joint {name!r} follows joint {coupling.joint!r}: hold that one")
        result += range(tree.nv)[tree.v_slices[index]]
    return result


def _held_in(tree: Tree, q: Scalars, other: Scalars, held: str | Sequence[str]) -> list[Any]:
    """Another configuration, with those joints of q that are held."""
    result = list(other)
    for name in (held,) if isinstance(held, str) else held:
        place = tree.q_slices[tree.joint_index(name)]
        result[place] = q[place]
    return result


HELD = Option("held", (), names="joint", counted="nh")

ROWS = (
    FunctionSpec.of(
        assemble_configuration,
        "q q1 weights",
        (
            Output(("nq",), "rad, m, 1", "q", configuration=True),
            Output(("ne",), "m, rad", "error"),
            Output((), "1", "iterations"),
            Output((), "1", "status"),
            Output((), "1", "slope"),
        ),
        "A configuration that satisfies constraints, with joints held and others near a wish.",
        optional=("time",),
        options=(HELD, Option("position_limits", True, (True, False))),
        needs_joint_limits=True,
    ),
    FunctionSpec.of(
        assembly_derivatives,
        "q",
        Output(("nv", "nv"), "1, m, 1/m"),
        "How an assembled configuration changes with the joints that are held.",
        optional=("time",),
        options=(HELD,),
    ),
)
