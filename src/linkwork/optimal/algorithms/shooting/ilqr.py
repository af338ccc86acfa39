"""Iterative LQR and multiple shooting: steps of a problem that is quadratic around a motion, until none is left.

An iteration takes how every step of the motion varies (all steps side by side), sweeps backward for a policy
(`sweep`), and rolls out: from the start, with u ← u + α k + K (x' ⊖ x), the longest α = 1, ½, ¼ ... with which a merit
falls.  Where states are given that no control joins, roll-outs close the gaps, by α of each:

    y' = f(x', u') ⊕ −(1 − α) gap,      merit = cost + ν Σ |gap|,

so that α = 1 leaves none.  Constraints enter by their augmented Lagrangian (`terms`): where steps no longer promise
much, multipliers are renewed, and the penalty grows where violations do not shrink.

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
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, where
from linkwork.optimal.algorithms.shooting.augmented_cost import CONSTRAINTS, Terms, WeighedRows, quadratic
from linkwork.optimal.algorithms.shooting.riccati_backward_pass import Policy, StepModel, swept
from linkwork.optimal.algorithms.shooting.search_state import (
    LOST,
    SOLVED,
    STOPPED,
    STUCK,
    Packing,
    RollOut,
    SearchState,
    ShootingFound,
    begun,
    chosen,
)
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics, LinearStep

__all__ = ["Shooting"]

Scalars = Sequence[Any]

MOST = 2000  # iterations
_ARMIJO = 1e-4
_HALVINGS = 14
_STIFFER, _SHORT, _SOFTER, _FIRST, _LEAST, _STIFFEST = 10.0, 3.0, 0.3, 1e-4, 1e-8, 1e12
_ROUNDING = 4e-15  # of what a merit is a sum of
_GROWTH, _SHRUNK, _PENALTY = 10.0, 0.25, 1e9
"""How a penalty grows, where violations are more than a quarter of what they were; and how far."""


class _Rolled(NamedTuple):
    motion: RollOut
    share: Any  # α
    merit: Any
    taken: Any
    tried: Any


@dataclass(frozen=True)
class Shooting:
    """A problem of T steps: dynamics, what is wanted, and how to look for it.

    ``given`` (T, k) comes with each step; ``weights`` are (T, rows) of moving and of reached rows.
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
    tolerances: tuple[Scalars, Scalars] | None = None  # of moving and of reached rows; ``feasibility`` of all
    proximal: float = 0.0  # the least damping
    bent_rows: bool = False  # whether the rows' curvature is taken, too, as far as they tell it
    packing: Packing = field(default_factory=Packing)

    @property
    def _tolerances(self) -> tuple[Scalars, Scalars]:
        """By row."""
        if self.tolerances is not None:
            return self.tolerances
        return tuple([self.feasibility] * len(k) for k in (self.terms.moving_kinds, self.terms.reached_kinds))  # type: ignore[return-value]

    @property
    def constrained(self) -> bool:
        """Whether there are constraints besides limits of controls."""
        return any(kind in CONSTRAINTS for kind in (*self.terms.moving_kinds, *self.terms.reached_kinds))

    def weighed(self, w: Any, k: Any, penalty: Any) -> tuple[WeighedRows, WeighedRows]:
        """Of a step, moving and reached."""
        kinds = self.terms.moving_kinds, self.terms.reached_kinds
        return tuple(WeighedRows(a, list(b), list(c), penalty) for a, b, c in zip(kinds, w, k, strict=True))  # type: ignore[return-value]

    def _beyond(self, parts: Sequence[WeighedRows], rows: Sequence[Scalars]) -> Any:
        """The largest violation of a step."""
        result = (part.beyond(r, most) for part, r, most in zip(parts, rows, self._tolerances, strict=True))
        return fmax(*result)

    def before(self, x: Any) -> Any:
        """The states from which steps begin."""
        return np.concatenate([np.array([list(self.start)], dtype=object), x[:-1]])

    def followed(self, u: Any) -> RollOut:
        """The motion of controls (T, m)."""

        def step(x: Any, row: Any) -> tuple[Any, Any]:
            u, data = row
            y = np.array(self.dynamics.at(list(data)).step(list(x), list(u)))
            return y, y

        _, x = scan(step, np.array(list(self.start)), (u, self.data))
        return RollOut(x, u)

    # ---- how steps vary, all side by side

    def looked(self, state: SearchState) -> tuple[Any, Any, Any, Any, Any]:
        """By step: packed models, new multipliers, rows, (cost, violation, size of the gap), and gaps."""

        def step(_: Any, row: Any) -> tuple[Any, Any]:
            x, u, y, data, w, k = row
            x, u, y, data = list(x), list(u), list(y), list(data)
            moving, reached = self.weighed(w, k, state.penalty)
            dynamics = self.dynamics.at(data)
            there, linear = dynamics.linear(x, u)
            rows = self.terms.moving(x, u, there, data), self.terms.reached(y, data)
            if self.constrained:
                new = tuple(
                    [where(lt(0.5, state.renew), a, b) for a, b in zip(part.renewed(r), part.multipliers, strict=True)]
                    for part, r in zip((moving, reached), rows, strict=True)
                )
                moving, reached = self.weighed(w, new, state.penalty)
            else:
                new = (list(k[0]), list(k[1]))
            led = there, linear
            _, g, H = quadratic(lambda x, u, y: self.terms.moving(x, u, y, data), dynamics, x, u, moving, led)
            if self.bent_rows:
                more = self.terms.curvature(x, u, data, moving.slopes(rows[0]))
                H = [[a + state.bend * b for a, b in zip(*lines, strict=True)] for lines in zip(H, more, strict=True)]
            _, g_y, H_y = quadratic(lambda y, _: self.terms.reached(y, data), dynamics, y, (), reached)
            gap = dynamics.apart(y, there[: dynamics.numbers]) if self.gaps else []
            model = [list(linear.factors), g, H, g_y, H_y, gap]
            sizes = [
                moving.cost(rows[0]) + reached.cost(rows[1]),
                self._beyond((moving, reached), rows),
                _total(gap),
            ]
            kept = self.packing.packed(model)
            return (), (kept, tuple(map(_array, new)), tuple(map(_array, rows)), np.array(sizes), _array(gap))

        x, u = state.motion
        _, result = scan(step, (), (self.before(x), u, x, self.data, self.weights, state.multipliers))
        return result  # type: ignore[no-any-return]

    def model(self, packed: Any, curvature: Any = None) -> StepModel:
        """A step's, of what was kept."""
        factors, g, H, g_y, H_y, gap = self.packing.unpacked(packed)
        n = self.dynamics.size + self.dynamics.controls
        bent = [] if curvature is None else [list(curvature[i * n : (i + 1) * n]) for i in range(n)]
        return StepModel(LinearStep(tuple(factors)), g, H, g_y, H_y, gap, bent)

    def bent(self, state: SearchState, kept: Any) -> Any:
        """The dynamics' second derivatives, by the costates of the motion."""

        def back(p: Any, row: Any) -> tuple[Any, Any]:
            at = self.model(row)
            here = [a + b for a, b in zip(p, at.reached_gradient, strict=True)]
            q = [a + b for a, b in zip(at.gradient, at.linear.gradient(here), strict=True)]
            return np.array(q[: self.dynamics.size]), np.array(here)

        _, costates = scan(back, np.zeros(self.dynamics.size), kept, reverse=True)

        def step(_: Any, row: Any) -> tuple[Any, Any]:
            x, u, p, data = (list(part) for part in row)
            bent = self.dynamics.at(data).curvature(x, u, p)
            return (), np.array([state.bend * x for line in bent for x in line])

        _, result = scan(step, (), (self.before(state.motion.x), state.motion.u, costates, self.data))
        return result

    def policy(self, state: SearchState, packed: Any) -> Policy:
        """Where to go."""
        n, m = self.dynamics.size, self.dynamics.controls
        bent = self.bent(state, packed) if self.second_order else None
        rows = (packed, state.motion.u) if bent is None else (packed, state.motion.u, bent)

        def room(row: Any) -> tuple[list[Any], list[Any]]:
            assert self.limits is not None
            return tuple([b - x for b, x in zip(bound, row[1], strict=True)] for bound in self.limits)  # type: ignore[return-value]

        damping = fmax(state.damping, self.proximal) if self.proximal else state.damping
        return swept(
            lambda row: self.model(row[0], *row[2:]), rows, n, m, damping, None if self.limits is None else room
        )

    # ---- roll-outs

    def rolled(
        self, old: RollOut, policy: Policy, share: Any, multipliers: Any, penalty: Any, gaps: Any
    ) -> tuple[RollOut, Any, Any]:
        """The motion with a share of the policy's steps, its cost, and the largest violation."""

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            x, total, most = state
            x = list(x)
            x_old, u_old, k, K, data, w, multipliers, *gap = row
            away = self.dynamics.apart(list(x_old), x)
            u = [a + share * b + dot(list(c), away) for a, b, c in zip(u_old, k, K, strict=True)]
            if self.limits is not None:
                u = [fmin(fmax(a, low), up) for a, low, up in zip(u, *self.limits, strict=True)]
            data = list(data)
            there = self.dynamics.at(data).led(x, u)
            y = there[: self.dynamics.numbers]
            if self.gaps:
                y = self.dynamics.moved(y, [(share - 1.0) * d for d in gap[0]])
            moving, reached = self.weighed(w, multipliers, penalty)
            rows = self.terms.moving(x, u, there, data), self.terms.reached(y, data)
            cost = moving.cost(rows[0]) + reached.cost(rows[1])
            most = fmax(most, self._beyond((moving, reached), rows))
            return (np.array(y), total + cost, most), (np.array(y), np.array(u))

        rows: Any = (self.before(old.x), old.u, policy.k, policy.K, self.data, self.weights, multipliers)
        rows = (*rows, gaps) if self.gaps else rows
        (_, cost, violation), (x, u) = scan(step, (np.array(list(self.start)), 0.0, 0.0), rows)
        return RollOut(x, u), cost, violation

    def along(self, packed: Any, policy: Policy, gaps: Any) -> tuple[Any, Any]:
        """What the cost changes by along the policy's whole steps, which close the gaps: to first order, and what the
        second adds.
        """
        n = self.dynamics.size

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            dx, total, bent = state
            packed, k, K, gap = row
            at = self.model(packed)
            dx = list(dx)
            both = [*dx, *(a + dot(list(c), dx) for a, c in zip(k, K, strict=True))]
            dy = [a + d for a, d in zip(at.linear.changed(both), gap, strict=True)]
            total = total + dot(at.gradient, both) + dot(at.reached_gradient, dy)
            for z, H in ((both, at.hessian), (dy, at.reached_hessian)):
                bent = bent + 0.5 * dot(z, [dot(row, z) for row in H])
            return (np.array(dy), total, bent), None

        (_, total, bent), _ = scan(step, (np.zeros(n), 0.0, 0.0), (packed, policy.k, policy.K, gaps))
        return total, bent

    def searched(
        self,
        state: SearchState,
        multipliers: Any,
        policy: Policy,
        cost: Any,
        slope: Any,
        gap: Any,
        gaps: Any,
        last: Any,
    ) -> _Rolled:
        """The longest share of the policy's steps, of 1, ½, ¼ ..., with which the merit falls; the last step leaves
        constraints within their tolerances.
        """
        merit = cost + state.nu * gap
        promised = slope - state.nu * gap
        room = _ROUNDING * (1.0 + fabs(merit)) * len(state.motion.u)

        def step(at: Any) -> Any:
            share, _, tried, _ = at
            motion, cost, violation = self.rolled(state.motion, policy, share, multipliers, state.penalty, gaps)
            trial_merit = cost + state.nu * (1.0 - share) * gap
            fine = and_(lt(fabs(trial_merit), 1e300), le(trial_merit, merit + _ARMIJO * share * promised + room))
            fine = and_(fine, or_(not_(last), le(violation, 1.0)))
            return where(fine, share, 0.5 * share), where(fine, 1.0, 0.0), tried + 1.0, motion

        many = (self.dynamics.numbers + self.dynamics.controls) * len(state.motion.u)
        start = 1.0, 0.0, where(lt(0.5, policy.regular), 0.0, 2.0 * _HALVINGS), state.motion
        more = lambda at: and_(lt(at[1], 0.5), lt(at[2], _HALVINGS - 0.5))  # noqa: E731
        share, taken, tried, motion = watching_while_loop(more, step, start, _HALVINGS, many).state
        kept = RollOut(*(chosen(lt(0.5, taken), a, b) for a, b in zip(motion, state.motion, strict=True)))
        return _Rolled(kept, share, merit, taken, where(lt(1.5 * _HALVINGS, tried), 0.0, tried))

    # ---- the loop

    def stepped(self, state: SearchState) -> SearchState:
        """An iteration."""
        kept, multipliers, _, sizes, gaps = self.looked(state)
        cost, violation, gap = _summed(sizes)
        policy = self.policy(state, kept)
        slope, bent = self.along(kept, policy, gaps) if self.gaps else (policy.slope, 0.0)
        decrement = where(lt(0.5, policy.regular), -policy.slope, 1e30)
        nu = where(lt(1e-12, gap), fmax(state.nu, 2.0 * (slope + bent) / where(lt(1e-12, gap), gap, 1.0)), state.nu)
        state = state._replace(nu=nu)
        size = 1.0 + fabs(cost)
        regular, whole = lt(0.5, policy.regular), lt(gap, self.feasibility)
        least = self.tolerance * self.tolerance
        small = and_(and_(regular, whole), lt(decrement, state.target * size))
        last = and_(and_(small, lt(decrement, least * size)), lt(violation, 1.0))
        trial = self.searched(state, multipliers, policy, cost, slope, gap, gaps, last)
        taken, failed = lt(0.5, trial.taken), lt(trial.taken, 0.5)
        bending = lt(0.5, state.bend)
        damping = where(
            or_(taken, and_(bending, not_(regular))),
            where(lt(0.75, trial.share), state.damping * _SOFTER, fmax(state.damping * _SHORT, _FIRST)),
            fmax(state.damping * _STIFFER, _FIRST),
        )
        damping = where(lt(damping, _LEAST), 0.0, damping)
        renew = and_(small, not_(last)) if self.constrained else lt(1.0, 0.0 * cost)
        grown = and_(lt(0.5, state.renew), lt(_SHRUNK * state.before, violation))
        stuck = and_(failed, lt(_STIFFEST, damping))
        return SearchState(
            trial.motion,
            policy.K,
            multipliers,
            where(and_(grown, lt(state.penalty, _PENALTY)), state.penalty * _GROWTH, state.penalty),
            where(renew, 1.0, 0.0),
            where(lt(0.5, state.renew), violation, state.before),
            where(small, fmax(state.target * 0.01, least), state.target),
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
        self, motion: RollOut, multipliers: tuple[Any, Any] | None = None, kept: Sequence[Any] | None = None
    ) -> ShootingFound:
        """From a motion; of single shooting, from its controls.  With what another call has ``kept`` it goes on."""
        many, m, n = len(motion.u), self.dynamics.controls, self.dynamics.size
        if not self.gaps:
            motion = self.followed(motion.u)
        if multipliers is None:
            multipliers = tuple(np.zeros((many, len(k))) for k in (self.terms.moving_kinds, self.terms.reached_kinds))  # type: ignore[assignment]
        kept = begun(self.tolerance, self.penalty, self.constrained) if kept is None else kept
        start = SearchState(motion, np.zeros((many, m, n)), multipliers, *kept)  # type: ignore[arg-type]
        more = lambda s: and_(lt(1.5, s.status), lt(s.iterations, self.iterations - 0.5))  # noqa: E731
        end = while_loop(more, self.stepped, start, max_iterations=MOST)
        last = end.state
        _, _, rows, sizes, _ = self.looked(last._replace(renew=0.0))
        plain = self._plain(rows)
        _, violation, gap = _summed(sizes)
        return ShootingFound(
            last.motion, last.gains, last.multipliers, rows, plain, violation, gap, last.decrement,
            last.iterations, last.roll_outs, where(lt(1.5, end.status), LOST, last.status),
            last.penalty, last[3:],
        )  # fmt: skip

    def _plain(self, rows: Any) -> Any:
        """The cost, without constraints."""

        def step(total: Any, row: Any) -> tuple[Any, Any]:
            w, rows = row
            for part, r in zip(self.weighed(w, w, 1.0), rows, strict=True):
                for kind, x, weight in zip(part.kinds, r, part.weights, strict=True):
                    if kind not in CONSTRAINTS:
                        x = where(lt(0.0, fabs(weight)), x, 0.0) * weight
                        total = total + (x if kind == "cost" else 0.5 * x * x)
            return total, None

        return scan(step, 0.0, (self.weights, rows))[0]


def _array(numbers: Scalars) -> np.ndarray:
    return np.array(list(numbers))


def _total(numbers: Scalars) -> Any:
    total: Any = 0.0
    for x in numbers:
        total = total + fabs(x)
    return total


def _summed(sizes: Any) -> tuple[Any, Any, Any]:
    """Cost, largest violation, and gaps, of all steps."""

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        cost, violation, gap = state
        return (cost + row[0], fmax(violation, row[1]), gap + row[2]), None

    return scan(step, (0.0, 0.0, 0.0), sizes)[0]  # type: ignore[no-any-return]
