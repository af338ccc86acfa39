"""The nearest configuration: sequential quadratic programs on the manifold, from several starts.

    min ½ ‖q ⊖ q₀‖²_W  +  ½ Σ (w e)² of soft rows     with  e = 0 of hard rows, or within their ranges,  and limits.

From a start, steps of damped least squares until the hard rows are nearly met; from there each step is a quadratic
program of the rows and limits to first order (`quadratic_step`), with a matrix that learns the curvature of
½ ‖q ⊖ q₀‖² + λᵀe from the steps taken (BFGS, damped after Powell).  A step that neither closes more nor makes a merit,
the distance and ρ ‖e‖ together, smaller is halved.  Where steps end, or cannot lead nearer than what is known, another
start follows: the first is the seed, others fill the part of the limits that is no farther from q₀ than the nearest
configuration so far.  Angles of a start, and those of an answer, are brought within half a turn of q₀ where limits let
them: whole turns are no way nearer.  All of this is one loop.

Sources: Powell, A fast algorithm for nonlinearly constrained optimization calculations, Lecture Notes in Mathematics
630, 1978; Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapter 18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot, identity, is_zero, mirrored, transposed
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.ik.algorithms.damped_least_squares import shortened
from linkwork.ik.algorithms.levenberg_marquardt import MOST, SearchFound
from linkwork.ik.algorithms.sqp_step import Quadratics
from linkwork.ik.algorithms.target_distance_scaling import multiplied, sliding, stretch
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, numbered, unit_steps
from linkwork.kinematics.algorithms.low_discrepancy import rates

__all__ = ["nearest"]

Scalars = Sequence[Any]

STARTS = 24.0
_DAMPING = 0.1
_FROM_A_START, _LEADING = 40.0, 200.0  # steps, and those of a start that leads nearer than others
_NEARLY = 1e-2  # ‖e‖² of what is closed well enough to heed the distance
_DONE, _NOTHING = 1e-11, 1e-14  # a step that is the last one, and one that is none
_NEAR = 1e-4  # steps that are taken without asking the merit
_STIFFEST = 1e3  # curvature that is learned, beside that of the distance, 1
_SHORT = 1e-18  # the square of a step from which nothing is learned
_SLOW, _SLOWLY = 0.9, 4.0
_ROUNDING = 1e-10  # of a distance, by which steps that converge may differ
_NO_NEARER = 1e-7  # by what part less a distance is not worth steps
_INSIDE = 0.7  # of the distance that is known: within which starts are
_AWAY = 1.3  # of what is known: beyond which steps from a start are given up
_FAR = 1e300


class _State(NamedTuple):
    q: tuple[Any, ...]
    step: tuple[Any, ...]  # to try from there
    size: Any  # of that
    open: Any  # ‖e‖² at q
    far: Any  # what is minimised, at q
    price: Any  # ρ
    heeded: Any  # 1 where the step heeds the distance
    matrix: tuple[Any, ...]  # H, its lower triangle
    forces: tuple[Any, ...]  # λ of the step
    slopes: tuple[Any, ...]  # of ½‖q ⊖ q₀‖² + λᵀe at q
    bound: tuple[Any, ...]
    ends: tuple[Any, ...]
    slow: Any
    tried: Any
    starts: Any
    best: tuple[Any, ...]
    least: Any  # what is minimised there
    least_open: Any  # ‖e‖² there; 0 where done
    found: Any  # 1 where a configuration is known that does all
    leads: Any  # 1 where that is of this start
    taken: Any
    finished: Any


def nearest(
    stack: Stack, q_init: Scalars, box: LimitBox, budget: Any, first: Any, near: Scalars, starts: float = STARTS
) -> SearchFound:
    """The nearest configuration to ``near`` that does all hard tasks, of several local ones."""
    return _Search(stack, q_init, box, near).run(budget, first, starts)


@dataclass(frozen=True)
class _Search:
    stack: Stack
    seed: Scalars
    box: LimitBox
    near: Scalars

    @cached_property
    def used(self) -> list[int]:
        return [k for k in range(self.stack.tree.nv) if k not in self.stack.locked_dofs]

    @cached_property
    def centre(self) -> list[Any]:
        """What to be near, with what is held as it is in the seed."""
        tree, locked_dofs = self.stack.tree, self.stack.locked_dofs
        held = {
            n
            for i, _ in tree.stacked()
            if tree.v_slices[i].start in locked_dofs
            for n in range(tree.nq)[tree.q_slices[i]]
        }
        return [a if n in held else b for n, (a, b) in enumerate(zip(self.seed, self.near, strict=True))]

    @cached_property
    def hard(self) -> list[int]:
        return [i for i, hard in enumerate(self.stack.hard) if hard]

    @cached_property
    def soft(self) -> list[int]:
        return [i for i, hard in enumerate(self.stack.hard) if not hard]

    @cached_property
    def units(self) -> list[str]:
        return [unit for _, body in self.stack.tree.stacked() for unit in body.joint.v_units]

    @cached_property
    def reach(self) -> list[float]:
        return unit_steps(self.stack.tree)

    @cached_property
    def slides(self) -> list[int]:
        return sliding(self.stack)

    @cached_property
    def weights(self) -> list[Any]:
        return self.stack.counted()

    @cached_property
    def programs(self) -> Quadratics:
        scales, ranges = self.stack.scales, {}
        for row, i in enumerate(self.hard):
            low, high = self.stack.ranges[i]
            if low < high:
                ranges[row] = (low * scales[i], high * scales[i])
        return Quadratics(self.used, self.box, ranges)

    def turned(self, q: Scalars) -> list[Any]:
        """Angles by whole turns nearer to where they are to be near, as far as limits let them."""
        result, turn = list(q), 2.0 * math.pi
        for k, n in numbered(self.stack.tree).items():
            if self.units[k] != "rad" or k in self.stack.locked_dofs:
                continue
            x = q[n] - turn * floor((q[n] - self.near[n]) / turn + 0.5)
            if k in self.box.numbers:
                low, high = self.box.lower[n], self.box.upper[n]
                x = where(lt(high, x), x - turn, where(lt(x, low), x + turn, x))
                x = where(and_(lt(x, high), lt(low, x)), x, q[n])
            result[n] = x
        return result

    def begun(self, number: Any, least: Any) -> list[Any]:
        """The start of a number, no farther than what is known."""
        tree = self.stack.tree
        most = sqrt(2.0 * least)
        places = [0.5 + number * step for step in rates(tree.nv)]
        places = [x - floor(x) for x in places]
        reach = [
            0.0 if k in self.stack.locked_dofs else fmin(math.pi if unit.startswith("rad") else 2.0 * r, most)
            for k, (unit, r) in enumerate(zip(self.units, self.reach, strict=True))
        ]
        result = integrate(tree, self.centre, [r * (2.0 * x - 1.0) for r, x in zip(reach, places, strict=True)])
        for k, n in self.box.numbers.items():
            low, high = self._window(n, reach[k], most)
            result[n] = low + (high - low) * places[k]
        way = difference(tree, self.centre, result)
        part = fmin(1.0, _INSIDE * most / fmax(sqrt(dot(way, way)), 1e-9))
        result = integrate(tree, self.centre, [x * part for x in way])
        result = [where(lt(number, 0.5), a, b) for a, b in zip(self.seed, result, strict=True)]
        return self.box.within(result)

    def _window(self, n: int, reach: Any, most: Any) -> tuple[Any, Any]:
        """What starts are drawn from, of a number within limits: a turn, on the other side what limits cut off here."""
        x, low, high = self.centre[n], self.box.lower[n], self.box.upper[n]
        down = fmin(reach + fmax(x + reach - high, 0.0), most)
        up = fmin(reach + fmax(low - (x - reach), 0.0), most)
        return fmax(low, x - down), fmin(high, x + up)

    def run(self, budget: Any, first: Any, starts: float) -> SearchFound:
        used, hard = self.used, self.hard
        n, m = len(used), len(hard)

        def more(state: _State) -> Any:
            return and_(lt(state.finished, 0.5), lt(state.taken, budget))

        at = tuple(self.box.within(self.turned(self.begun(first, 0.5 * _FAR))))
        unit = tuple(x for i, row in enumerate(identity(n)) for x in row[: i + 1])
        nothing = (0.0,) * self.stack.tree.nv
        state = _State(
            at,
            nothing,
            0.0,
            _FAR,
            _FAR,
            0.0,
            0.0,
            unit,
            (0.0,) * m,
            (0.0,) * n,
            (0.0,) * sum(k in self.box.numbers for k in used),
            (0.0,) * len(self.programs.ranges),
            0.0,
            0.0,
            first,
            at,
            _FAR,
            _FAR,
            0.0,
            0.0,
            0.0,
            0.0,
        )

        def stepped(state: _State) -> _State:
            return self.stepped(state, first + starts)

        last: _State = while_loop(more, stepped, state, max_iterations=MOST).state
        return SearchFound(list(last.best), last.found, last.taken, last.starts - first)

    def stepped(self, state: _State, last: Any) -> _State:
        tree, used = self.stack.tree, self.used
        n = len(used)
        q = self.box.within(integrate(tree, state.q, state.step))
        at = self.stack.at(q)
        beyond = self.stack.beyond(at.errors)
        done = self.stack.done(beyond)
        weights = self.weights
        rows = [[_scaled(at.rows[i][k], weights[i]) for k in used] for i in self.hard]
        errors = [at.errors[i] * weights[i] for i in self.hard]
        out = [beyond[i] * weights[i] for i in self.hard]
        cost = dot(out, out)
        d = difference(tree, q, self.centre)
        g = [-d[k] for k in used]
        far = 0.5 * dot(g, g)
        for i in self.soft:
            e = weights[i] * beyond[i]
            far = far + 0.5 * e * e
            g = [
                x if is_zero(at.rows[i][k]) else x + weights[i] * e * at.rows[i][k]
                for x, k in zip(g, used, strict=True)
            ]
        # whether it is a step
        heeded = lt(0.5, state.heeded)
        closer = lt(cost, where(heeded, 0.25, 1.0) * state.open)
        better = lt(far - state.far, state.price * (sqrt(state.open) - sqrt(cost)))
        taken = or_(closer, and_(heeded, or_(better, lt(state.size, _NEAR))))
        # what it says of the curvature
        columns = transposed(rows) if rows else [[] for _ in used]
        slopes = [x + dot(column, state.forces) for x, column in zip(g, columns, strict=True)]
        learned = self._learned(state, slopes)
        H = [where(and_(taken, heeded), a, b) for a, b in zip(learned, state.matrix, strict=True)]
        # the next one
        now = lt(cost, _NEARLY)
        scale = dict.fromkeys(self.slides, stretch(self.stack, beyond, weights)) if self.slides else {}
        apart = [1.0 / (scale[k] * scale[k]) if k in scale else 1.0 for k in used]
        full = mirrored(
            [[where(now, H[_place(i, j)], apart[i] if i == j else 0.0) for j in range(i + 1)] for i in range(n)]
        )
        pull = [where(now, x, 0.0) for x in g]
        base = [0.0] * len(rows)  # multipliers from which on others are sought: what damps them vanishes with that
        if not self.programs.ranges:
            base = [where(and_(now, heeded), x, 0.0) for x in state.forces]
        along = [x + dot(column, base) for x, column in zip(pull, columns, strict=True)]
        damping = _DAMPING * cost
        if self.slides:  # damped multipliers leave rows open in proportion to the pull, which is as long as the way
            pulled = [x * (1.0 / self.reach[k]) for x, k in zip(pull, used, strict=True) if k in self.slides]
            damping = damping / fmax(1.0, dot(pulled, pulled))
        next_ = self.programs.solved(full, along, rows, errors, damping, q, state.bound, state.ends)
        step = [0.0] * tree.nv
        for k, x in zip(used, next_.step, strict=True):
            step[k] = x
        step = shortened(step, multiplied(self.reach, scale))
        step = [where(taken, a, 0.5 * b) for a, b in zip(step, state.step, strict=True)]
        size: Any = 0.0
        for x in step:
            size = size if is_zero(x) else fmax(size, fabs(x))
        forces = [a if is_zero(b) else a + b for a, b in zip(next_.multipliers, base, strict=True)]
        # what is known
        known = where(and_(lt(0.5, state.leads), taken), (1.0 + _ROUNDING) * state.least, state.least)
        merit = far + 2.0 * sqrt(dot(forces, forces) * cost)  # what is open yet may save as much
        least = or_(
            and_(done, or_(lt(state.found, 0.5), lt(merit, known))),
            and_(lt(state.found, 0.5), lt(cost, state.least_open)),
        )
        best = tuple(where(least, a, b) for a, b in zip(q, state.best, strict=True))
        least_far = where(least, merit, state.least)
        least_open = where(least, cost, state.least_open)
        result = where(done, 1.0, state.found)
        gains = -(dot(pull, next_.step)) - dot(forces, errors)  # by the step, to first order: twice what it saves
        slow = where(and_(lt(_SLOW * state.open, cost), not_(now)), state.slow + 1.0, 0.0)
        tried = state.tried + 1.0
        no_nearer = and_(
            and_(and_(now, taken), lt(0.5, result)),
            lt(least_far * (1.0 - _NO_NEARER), far - where(lt(0.0, gains), 1.5, 0.25) * gains),
        )
        no_nearer = or_(no_nearer, and_(lt(0.5, result), lt(_AWAY * least_far, far)))
        leads = where(least, 1.0, state.leads)
        no_nearer = and_(no_nearer, lt(leads, 0.5))
        ended = or_(
            or_(lt(where(lt(0.5, leads), _LEADING, _FROM_A_START), tried), lt(size, where(done, _DONE, _NOTHING))),
            or_(lt(_SLOWLY - 0.5, slow), no_nearer),
        )
        # the next start
        other = self.turned(q)
        d = difference(tree, other, self.centre)
        nearer = 0.5 * dot(d, d)
        turn = and_(and_(ended, lt(tried, _FROM_A_START)), lt(nearer, fmin(far, least_far)))
        number = where(and_(ended, not_(turn)), state.starts + 1.0, state.starts)
        fresh = self.turned(self.begun(number, where(lt(0.5, result), least_far, _FAR)))
        fresh = [where(turn, a, b) for a, b in zip(other, fresh, strict=True)]
        finished = and_(ended, and_(lt(last - 0.5, number), lt(0.5, result)))
        unit = [x for i, row in enumerate(identity(n)) for x in row[: i + 1]]

        def chosen(new: Scalars, mine: Scalars, before: Scalars) -> tuple[Any, ...]:
            return tuple(where(ended, a, where(taken, b, c)) for a, b, c in zip(new, mine, before, strict=True))

        lagrangian = [x + dot(column, forces) for x, column in zip(g, columns, strict=True)]
        zeros = [0.0] * max(n, len(rows), len(step))
        return _State(
            chosen(fresh, q, state.q),
            tuple(where(ended, 0.0, x) for x in step),
            size,
            where(ended, _FAR, where(taken, cost, state.open)),
            where(ended, _FAR, where(taken, far, state.far)),
            where(ended, 0.0, where(taken, fmax(2.0 * sqrt(dot(forces, forces)), 0.5 * state.price), state.price)),
            where(ended, 0.0, where(taken, where(now, 1.0, 0.0), state.heeded)),
            tuple(where(ended, a, b) for a, b in zip(unit, H, strict=True)),
            chosen(zeros[: len(rows)], forces, state.forces),
            chosen(zeros[:n], lagrangian, state.slopes),
            chosen(zeros[: len(state.bound)], next_.bound, state.bound),
            chosen(zeros[: len(state.ends)], next_.ends, state.ends),
            where(ended, 0.0, slow),
            where(and_(ended, not_(turn)), 0.0, tried),
            number,
            best,
            least_far,
            least_open,
            result,
            where(and_(ended, not_(turn)), 0.0, leads),
            state.taken + 1.0,
            where(finished, 1.0, 0.0),
        )

    def _learned(self, state: _State, slopes: Scalars) -> list[Any]:
        """H after a step."""
        n = len(slopes)
        H = [[state.matrix[_place(i, j)] for j in range(n)] for i in range(n)]
        s = [state.step[k] for k in self.used]
        y = [a - b for a, b in zip(slopes, state.slopes, strict=True)]
        Hs = [dot(row, s) for row in H]
        sHs, sy = dot(s, Hs), dot(s, y)
        part = where(lt(sy, 0.2 * sHs), 0.8 * sHs / fmax(sHs - sy, 1e-300), 1.0)
        r = [part * a + (1.0 - part) * b for a, b in zip(y, Hs, strict=True)]
        sr = part * sy + (1.0 - part) * sHs
        fine = and_(lt(_SHORT, sHs), lt(dot(r, r), _STIFFEST * sr))
        a, b = where(fine, 1.0 / fmax(sr, 1e-300), 0.0), where(fine, 1.0 / fmax(sHs, 1e-300), 0.0)
        return [H[i][j] + (a * r[i]) * r[j] - (b * Hs[i]) * Hs[j] for i in range(n) for j in range(i + 1)]


def _place(i: int, j: int) -> int:
    return max(i, j) * (max(i, j) + 1) // 2 + min(i, j)


def _scaled(x: Any, w: Any) -> Any:
    return x if is_zero(x) else x * w
