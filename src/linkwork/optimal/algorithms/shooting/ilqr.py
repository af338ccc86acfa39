"""Iterative LQR (iLQR/DDP) and multiple shooting with an augmented Lagrangian.

An iteration linearises all steps of the motion in parallel, computes a policy by the Riccati backward pass
(`riccati_backward_pass`), and rolls out from the start with u ← u + α k + K (x' ⊖ x), for the largest α = 1, ½, ¼ ...
that decreases the merit.  A gap is the difference between the end of a step and the initial guess of the next state.
Roll-outs close a fraction α of each gap:

    y' = f(x', u') ⊕ −(1 − α) gap,      merit = cost + ν Σ |gap|,

so α = 1 closes all gaps.  Constraints enter by their augmented Lagrangian (`augmented_cost`).  When the predicted
decrease is small, multipliers are updated, and the penalty grows if violations do not decrease.

Sources: Li and Todorov, Iterative linear quadratic regulator design, ICINCO 2004; Mastalli et al., Crocoddyl, ICRA 2020
(gaps); Howell, Jackson and Manchester, ALTRO, IROS 2019 (multipliers); Pantoja, Differential dynamic programming and
Newton's method, Int. J. Control 47, 1988 (curvature by costates).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.control.loops import scan, watching_while_loop, while_loop
from linkwork.expr.control.stored_scans import scan_stored, scan_storing
from linkwork.expr.linalg.sparse_dot import dot, is_zero, lower_of, mirrored_of
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.optimal.algorithms.shooting.augmented_cost import CONSTRAINTS, Terms, WeightedRows, quadratic
from linkwork.optimal.algorithms.shooting.riccati_backward_pass import Policy, StepModel, backward_pass
from linkwork.optimal.algorithms.shooting.search_state import (
    LOST,
    SOLVED,
    STOPPED,
    STUCK,
    Packing,
    RollOut,
    SearchState,
    ShootingOutcome,
    initial_scalars,
    select,
)
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics, LinearStep

__all__ = ["Shooting"]

Scalars = Sequence[Any]

MAX_ITERATIONS = 2000
_ARMIJO = 1e-4
_HALVINGS = 14
# Damping: factors after a failed, a short and a long step, first and smallest value, and the maximum
_STIFFER, _SHORT, _SOFTER, _FIRST, _MIN_DAMPING, _MAX_DAMPING = 10.0, 3.0, 0.3, 1e-4, 1e-8, 1e12
_ROUNDING = 4e-15  # of the merit, per summand
_GROWTH, _MIN_DECREASE, _MAX_PENALTY = 10.0, 0.25, 1e9  # of the penalty: factor, if violations stay above this share


class _LineSearch(NamedTuple):
    motion: RollOut
    share: Any  # α
    merit: Any
    taken: Any
    tried: Any


@dataclass(frozen=True)
class Shooting:
    """A shooting problem of T steps: dynamics, cost terms and solver options.

    ``data`` (T, k) are the inputs of each step.  ``weights`` are two arrays (T, components): weights of components that
    depend on the step itself, and of components that depend only on the state it reaches (see `Terms`).
    """

    dynamics: Dynamics
    terms: Terms
    start: Any  # x (nx)
    data: Any
    weights: tuple[Any, Any]
    limits: tuple[Any, Any] | None = None  # of u: (m,) each
    gaps: bool = False
    second_order: bool = False
    tolerance: Any = 1e-6
    feasibility: Any = 1e-9  # of gaps
    penalty: Any = 10.0
    iterations: Any = 200.0
    tolerances: tuple[Scalars, Scalars] | None = None  # of moving and of reached rows; default ``feasibility``
    proximal: float = 0.0  # smallest damping
    bent_rows: bool = False  # with second derivatives of rows, if the terms provide them
    packing: Packing = field(default_factory=Packing)
    curvature_packing: Packing = field(default_factory=Packing)

    @property
    def _tolerances(self) -> tuple[Scalars, Scalars]:
        """Tolerances of the components of constraints, as two sequences.

        The first is for components that depend on the step itself, the second for those that depend only on the next
        state.
        """
        if self.tolerances is not None:
            return self.tolerances
        return tuple([self.feasibility] * len(k) for k in (self.terms.moving_kinds, self.terms.reached_kinds))  # type: ignore[return-value]

    @property
    def constrained(self) -> bool:
        """True if there are constraints other than control limits."""
        return any(kind in CONSTRAINTS for kind in (*self.terms.moving_kinds, *self.terms.reached_kinds))

    def weighted_rows(self, w: Any, k: Any, penalty: Any) -> tuple[WeightedRows, WeightedRows]:
        """Return two costs: for components that depend on the step itself, and on the state that it reaches.

        ``w`` are the weights and ``k`` the multipliers of both kinds of components, as pairs.
        """
        kinds = self.terms.moving_kinds, self.terms.reached_kinds
        return tuple(WeightedRows(a, list(b), list(c), penalty) for a, b, c in zip(kinds, w, k, strict=True))  # type: ignore[return-value]

    def _beyond(self, parts: Sequence[WeightedRows], rows: Sequence[Scalars]) -> Any:
        """Return the largest violation of a constraint in a step, divided by its tolerance."""
        result = (part.beyond(r, most) for part, r, most in zip(parts, rows, self._tolerances, strict=True))
        return fmax(*result)

    def before(self, x: Any) -> Any:
        """Return the states (T, nx) at which steps begin; ``x`` (T, nx) are the states at which they end."""
        return np.concatenate([np.array([list(self.start)], dtype=object), x[:-1]])

    def roll_out(self, u: Any) -> RollOut:
        """Return the motion from the start with the controls ``u`` (T, m)."""

        def step(x: Any, row: Any) -> tuple[Any, Any]:
            u, data = row
            y = np.array(self.dynamics.at(list(data)).step(list(x), list(u)))
            return y, y

        _, x = scan(step, np.array(list(self.start)), (u, self.data))
        return RollOut(x, u)

    # ---- linearisation, all steps in parallel

    def linearize(self, state: SearchState) -> tuple[Any, Any, Any, Any, Any]:
        """Return the local models of all steps, with the cost and violations, at the motion of a search state.

        The result has five entries, each with a row for each step:

        - the derivatives of dynamics and cost, packed into a flat array and stored for `scan_stored`;
        - the updated multipliers;
        - the values of the components of `Terms`;
        - the triple (cost, largest violation, size of the gap);
        - the gap at the end of the step.
        """

        def step(_: Any, row: Any) -> tuple[Any, Any]:
            x, u, y, data, w, k = row
            x, u, y, data = list(x), list(u), list(y), list(data)
            moving, reached = self.weighted_rows(w, k, state.penalty)
            dynamics = self.dynamics.at(data)
            outputs, linear = dynamics.linear(x, u)
            rows = self.terms.moving(x, u, outputs, data), self.terms.reached(y, data)
            if self.constrained:
                new = tuple(
                    [
                        where(lt(0.5, state.renew), a, b)
                        for a, b in zip(part.new_multipliers(r), part.multipliers, strict=True)
                    ]
                    for part, r in zip((moving, reached), rows, strict=True)
                )
                moving, reached = self.weighted_rows(w, new, state.penalty)
            else:
                new = (list(k[0]), list(k[1]))
            outputs_of_step = outputs, linear
            _, g, H = quadratic(
                lambda x, u, y: self.terms.moving(x, u, y, data), dynamics, x, u, moving, outputs_of_step
            )
            if self.bent_rows:
                more = self.terms.curvature(x, u, data, moving.derivatives(rows[0]))
                H = [[a + state.bend * b for a, b in zip(*lines, strict=True)] for lines in zip(H, more, strict=True)]
            _, g_y, H_y = quadratic(lambda y, _: self.terms.reached(y, data), dynamics, y, (), reached)
            gap = dynamics.state_difference(y, outputs[: dynamics.state_size]) if self.gaps else []
            model = [list(linear.factors), g, H, g_y, H_y, gap]
            sizes = self._sizes((moving, reached), rows, gap)
            packed = self.packing.packed(model)
            arrays = tuple(map(_array, new)), tuple(map(_array, rows)), np.array(sizes), _array(gap)
            return (), (packed, arrays)

        x, u = state.motion
        _, (packed, arrays) = scan_storing(step, (), (self.before(x), u, x, self.data, self.weights, state.multipliers))
        return packed, *arrays

    def evaluate(self, state: SearchState) -> tuple[Any, Any]:
        """Return the values of all cost and constraint components, and a triple for each step, without derivatives.

        The triple is (cost, largest violation, size of the gap). A gap is the difference between the end of a step and
        the beginning of the next.
        """

        def step(_: Any, row: Any) -> tuple[Any, Any]:
            x, u, y, data, w, k = row
            x, u, y, data = list(x), list(u), list(y), list(data)
            dynamics = self.dynamics.at(data)
            outputs = dynamics.outputs_of_step(x, u)
            rows = self.terms.moving(x, u, outputs, data), self.terms.reached(y, data)
            gap = dynamics.state_difference(y, outputs[: dynamics.state_size]) if self.gaps else []
            sizes = self._sizes(self.weighted_rows(w, k, state.penalty), rows, gap)
            return (), (tuple(map(_array, rows)), np.array(sizes))

        x, u = state.motion
        _, (rows, sizes) = scan(step, (), (self.before(x), u, x, self.data, self.weights, state.multipliers))
        return rows, sizes

    def _sizes(self, parts: Sequence[WeightedRows], rows: Sequence[Scalars], gap: Scalars) -> list[Any]:
        """Return a step's cost, its largest violation relative to tolerances, and the size of its gap."""
        cost = parts[0].cost(rows[0]) + parts[1].cost(rows[1])
        return [cost, self._beyond(parts, rows), self.dynamics.size_of(gap) if self.gaps else 0.0]

    def model(self, packed: Any, curvature: Any = None) -> StepModel:
        """Return the quadratic model of a step's cost and dynamics, from a flat array that `linearize` returned.

        ``curvature`` are second derivatives of the dynamics, also as a flat array, if they are used.
        """
        factors, g, H, g_y, H_y, gap = self.packing.unpacked(packed)
        parts = () if curvature is None else self.curvature_packing.unpacked(curvature)
        bent = tuple([mirrored_of(lower, len(factor[0])) if lower else []
                      for lower, factor in zip(parts, factors, strict=False)])  # fmt: skip
        return StepModel(LinearStep(tuple(factors)), g, H, g_y, H_y, gap, bent)

    def dynamics_curvature(self, state: SearchState, packed: Any) -> Any:
        """Return, for each step, the second derivatives of the dynamics, weighted with the costates of the motion.

        The result has the lower triangles of the matrices that `Dynamics.curvature` returns, as flat arrays stored for
        `scan_stored`. They are multiplied by ``bend`` of the search's state, a factor from 0 to 1. ``packed`` are the
        models of all steps, from `linearize`.
        """

        def back(p: Any, row: Any) -> tuple[Any, Any]:
            at = self.model(row[0])
            *arguments, before = at.linear.gradients([a + b for a, b in zip(p, at.reached_gradient, strict=True)])
            q = [a + b for a, b in zip(at.gradient, before, strict=True)]
            return np.array(q[: self.dynamics.size]), tuple(map(_array, arguments))

        _, gradients = scan_stored(back, np.zeros(self.dynamics.size), packed, reverse=True)

        def step(_: Any, row: Any) -> tuple[Any, Any]:
            x, u, data = (list(part) for part in row[:3])
            parts = self.dynamics.at(data).curvature(x, u, [list(part) for part in row[3]])
            lower = [[x if is_zero(x) else state.bend * x for x in lower_of(part)] for part in parts]
            return (), (self.curvature_packing.packed(lower), ())

        rows = self.before(state.motion.x), state.motion.u, self.data, gradients
        _, (result, _) = scan_storing(step, (), rows)
        return result

    def policy(self, state: SearchState, packed: Any) -> Policy:
        """Return the feedback policy (k, K) of every step, by the Riccati backward pass."""
        n, m = self.dynamics.size, self.dynamics.controls
        bent = self.dynamics_curvature(state, packed) if self.second_order else None
        stored = (packed,) if bent is None else (packed, bent)

        def room(u: Any) -> tuple[list[Any], list[Any]]:
            assert self.limits is not None
            return tuple([b - x for b, x in zip(bound, u, strict=True)] for bound in self.limits)  # type: ignore[return-value]

        damping = fmax(state.damping, self.proximal) if self.proximal else state.damping
        return backward_pass(
            lambda row: self.model(*row), stored, state.motion.u, n, m, damping, None if self.limits is None else room
        )

    # ---- roll-outs

    def roll_out_policy(
        self, old: RollOut, policy: Policy, share: Any, multipliers: Any, penalty: Any, gaps: Any
    ) -> tuple[RollOut, Any, Any]:
        """Return the motion with a fraction of a feedback policy, its cost, and its largest relative violation.

        ``share`` is the fraction, and ``old`` the motion to which the policy belongs. ``gaps`` are the differences
        between the end of a step and the beginning of the next, of which the same fraction is closed.
        """

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            x, total, most = state
            x = list(x)
            x_old, u_old, k, K, data, w, multipliers, *gap = row
            away = self.dynamics.state_difference(list(x_old), x)
            u = [a + share * b + dot(list(c), away) for a, b, c in zip(u_old, k, K, strict=True)]
            if self.limits is not None:
                u = [fmin(fmax(a, low), up) for a, low, up in zip(u, *self.limits, strict=True)]
            data = list(data)
            outputs = self.dynamics.at(data).outputs_of_step(x, u)
            y = outputs[: self.dynamics.state_size]
            if self.gaps:
                y = self.dynamics.moved(y, [(share - 1.0) * d for d in gap[0]])
            moving, reached = self.weighted_rows(w, multipliers, penalty)
            rows = self.terms.moving(x, u, outputs, data), self.terms.reached(y, data)
            cost = moving.cost(rows[0]) + reached.cost(rows[1])
            most = fmax(most, self._beyond((moving, reached), rows))
            return (np.array(y), total + cost, most), (np.array(y), np.array(u))

        rows: Any = (self.before(old.x), old.u, policy.k, policy.K, self.data, self.weights, multipliers)
        rows = (*rows, gaps) if self.gaps else rows
        (_, cost, violation), (x, u) = scan(step, (np.array(list(self.start)), 0.0, 0.0), rows)
        return RollOut(x, u), cost, violation

    def cost_change(self, packed: Any, policy: Policy, gaps: Any) -> tuple[Any, Any]:
        """Return the predicted first- and second-order change of the cost for a full step along a feedback policy.

        The step also closes all gaps, the differences between the end of a step and the beginning of the next.
        """
        n = self.dynamics.size

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            dx, total, bent = state
            packed, (k, K, gap) = row
            at = self.model(packed)
            dx = list(dx)
            both = [*dx, *(a + dot(list(c), dx) for a, c in zip(k, K, strict=True))]
            dy = [a + d for a, d in zip(at.linear.changed(both), gap, strict=True)]
            total = total + dot(at.gradient, both) + dot(at.reached_gradient, dy)
            for z, H in ((both, at.hessian), (dy, at.reached_hessian)):
                bent = bent + 0.5 * dot(z, [dot(row, z) for row in H])
            return (np.array(dy), total, bent), None

        (_, total, bent), _ = scan_stored(step, (np.zeros(n), 0.0, 0.0), packed, (policy.k, policy.K, gaps))
        return total, bent

    def line_search(
        self,
        state: SearchState,
        multipliers: Any,
        policy: Policy,
        cost: Any,
        slope: Any,
        gap: Any,
        gaps: Any,
        last: Any,
    ) -> _LineSearch:
        """Return the motion for the largest fraction 1, ½, ¼ ... of a policy that decreases the merit.

        The merit is ``cost`` plus a factor times the total ``gap``. ``slope`` is the derivative of the cost along the
        policy. If ``last`` is true, the motion also has to satisfy the constraints within their tolerances.
        """
        merit = cost + state.nu * gap
        promised = slope - state.nu * gap
        room = _ROUNDING * (1.0 + fabs(merit)) * len(state.motion.u)

        def step(at: Any) -> Any:
            share, _, tried, _ = at
            motion, cost, violation = self.roll_out_policy(
                state.motion, policy, share, multipliers, state.penalty, gaps
            )
            trial_merit = cost + state.nu * (1.0 - share) * gap
            is_accepted = and_(lt(fabs(trial_merit), 1e300), le(trial_merit, merit + _ARMIJO * share * promised + room))
            is_accepted = and_(is_accepted, or_(not_(last), le(violation, 1.0)))
            return where(is_accepted, share, 0.5 * share), where(is_accepted, 1.0, 0.0), tried + 1.0, motion

        many = (self.dynamics.state_size + self.dynamics.controls) * len(state.motion.u)
        start = 1.0, 0.0, where(lt(0.5, policy.regular), 0.0, 2.0 * _HALVINGS), state.motion
        more = lambda at: and_(lt(at[1], 0.5), lt(at[2], _HALVINGS - 0.5))  # noqa: E731
        share, taken, tried, motion = watching_while_loop(more, step, start, _HALVINGS, many).state
        accepted = RollOut(*(select(lt(0.5, taken), a, b) for a, b in zip(motion, state.motion, strict=True)))
        return _LineSearch(accepted, share, merit, taken, where(lt(1.5 * _HALVINGS, tried), 0.0, tried))

    # ---- the loop

    def iterate(self, state: SearchState) -> SearchState:
        """Return the state of the search after one more iteration."""
        packed, multipliers, _, sizes, gaps = self.linearize(state)
        cost, violation, gap = _summed(sizes)
        policy = self.policy(state, packed)
        slope, bent = self.cost_change(packed, policy, gaps) if self.gaps else (policy.slope, 0.0)
        decrement = where(lt(0.5, policy.regular), -policy.slope, 1e30)
        nu = where(lt(1e-12, gap), fmax(state.nu, 2.0 * (slope + bent) / where(lt(1e-12, gap), gap, 1.0)), state.nu)
        state = state._replace(nu=nu)
        size = 1.0 + fabs(cost)
        regular, whole = lt(0.5, policy.regular), lt(gap, self.feasibility)
        smallest = self.tolerance * self.tolerance
        small = and_(and_(regular, whole), lt(decrement, state.target * size))
        last = and_(and_(small, lt(decrement, smallest * size)), lt(violation, 1.0))
        last = and_(last, le(state.damping, 0.0))  # damping that stiff costs need hides the decrease of other costs
        trial = self.line_search(state, multipliers, policy, cost, slope, gap, gaps, last)
        taken, failed = lt(0.5, trial.taken), lt(trial.taken, 0.5)
        bending = lt(0.5, state.bend)
        damping = where(
            or_(taken, and_(bending, not_(regular))),
            where(lt(0.75, trial.share), state.damping * _SOFTER, fmax(state.damping * _SHORT, _FIRST)),
            fmax(state.damping * _STIFFER, _FIRST),
        )
        damping = where(or_(lt(damping, _MIN_DAMPING), and_(taken, small)), 0.0, damping)
        renew = and_(small, not_(last)) if self.constrained else lt(1.0, 0.0 * cost)
        grown = and_(lt(0.5, state.renew), lt(_MIN_DECREASE * state.before, violation))
        stuck = and_(failed, lt(_MAX_DAMPING, damping))
        return SearchState(
            trial.motion,
            policy.K,
            multipliers,
            where(and_(grown, lt(state.penalty, _MAX_PENALTY)), state.penalty * _GROWTH, state.penalty),
            where(renew, 1.0, 0.0),
            where(lt(0.5, state.renew), violation, state.before),
            where(small, fmax(state.target * 0.01, smallest), state.target),
            damping,
            where(regular, where(lt(0.75, trial.share), 1.0, state.bend), where(bending, 0.0, state.bend)),
            nu,
            violation,
            gap,
            decrement,
            state.iterations + 1.0,
            state.roll_outs + trial.tried,
            where(last, SOLVED, where(stuck, STUCK, STOPPED)),
        )

    def solve(
        self, motion: RollOut, multipliers: tuple[Any, Any] | None = None, scalars: Sequence[Any] | None = None
    ) -> ShootingOutcome:
        """Return the result of a search that begins with a motion; single shooting uses only the motion's controls.

        ``multipliers`` are the initial multipliers, by default 0. ``scalars`` are the penalty, damping and counters of
        the search (`SHOOTING_SCALARS`); with the scalars of an earlier result, the search continues from this result.
        """
        count, m, n = len(motion.u), self.dynamics.controls, self.dynamics.size
        if not self.gaps:
            motion = self.roll_out(motion.u)
        if multipliers is None:
            multipliers = tuple(np.zeros((count, len(k))) for k in (self.terms.moving_kinds, self.terms.reached_kinds))  # type: ignore[assignment]
        scalars = initial_scalars(self.tolerance, self.penalty, self.constrained) if scalars is None else scalars
        start = SearchState(motion, np.zeros((count, m, n)), multipliers, *scalars)  # type: ignore[arg-type]
        more = lambda s: and_(lt(1.5, s.status), lt(s.iterations, self.iterations - 0.5))  # noqa: E731
        end = while_loop(more, self.iterate, start, max_iterations=MAX_ITERATIONS)
        last = end.state
        rows, sizes = self.evaluate(last)
        plain = self._plain(rows)
        _, violation, gap = _summed(sizes)
        return ShootingOutcome(
            last.motion, last.gains, last.multipliers, rows, plain, violation, gap, last.decrement,
            last.iterations, last.roll_outs, where(lt(1.5, end.status), LOST, last.status),
            last.penalty, last[3:],
        )  # fmt: skip

    def _plain(self, rows: Any) -> Any:
        """Return the sum of all costs and half the sum of all weighted squares of a motion; constraints are left out.

        ``rows`` are the values of all components, step by step.
        """

        def step(total: Any, row: Any) -> tuple[Any, Any]:
            w, rows = row
            for part, r in zip(self.weighted_rows(w, w, 1.0), rows, strict=True):
                for kind, x, weight in zip(part.kinds, r, part.weights, strict=True):
                    if kind not in CONSTRAINTS:
                        x = where(lt(0.0, fabs(weight)), x, 0.0) * weight
                        total = total + (x if kind == "cost" else 0.5 * x * x)
            return total, None

        return scan(step, 0.0, (self.weights, rows))[0]


def _array(values: Scalars) -> np.ndarray:
    return np.array(list(values))


def _summed(sizes: Any) -> tuple[Any, Any, Any]:
    """Return the total cost, largest violation and total gap of all steps; ``sizes`` has these three for each step."""

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        cost, violation, gap = state
        return (cost + row[0], fmax(violation, row[1]), gap + row[2]), None

    return scan(step, (0.0, 0.0, 0.0), sizes)[0]  # type: ignore[no-any-return]
