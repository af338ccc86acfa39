"""Soft tasks under hard ones and limits: an augmented Lagrangian, minimised by Gauss–Newton steps on the manifold.

RowRequest for is a minimum of ½ Σ (w e)² over soft rows where every hard row has l ≤ c(q) ≤ u and q is within limits.
Hard rows are done first (`levenberg`).  From there on,

    L(q) = ½ Σ (w e)² + ½ ρ Σ (y − clip(y, l, u))²,    y = c + λ/ρ,

is half of a sum of squares ‖r‖² again, so that the steps to its minimum are those of `steps`, within limits, with a
damping ν ‖r‖² that is ruled by what steps gain of what they promise.  After every step that is short enough

    λ ← ρ (y − clip(y, l, u)),

and ρ grows where hard rows have not come closer.  H has the rows that are active; where a step failed across the end
of a range that was near, H has that row, too, until a step is taken.  Where nothing moves any more, the gradient of
½ Σ (w e)² + λᵀ c vanishes but for what limits hold.  A row that is not active has λ = 0; λ > 0 pushes down, from u.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 10 and 17; Nielsen, Damping parameter in
Marquardt's method, IMM-REP-1999-05, 1999; Birgin and Martínez, Practical Augmented Lagrangian Methods, 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, sqrt, where
from linkwork.ik.algorithms.damped_least_squares import full, newton_step, shortened
from linkwork.ik.algorithms.joint_bounds import is_infinite, is_one_number, nearest, scaled_bound
from linkwork.ik.algorithms.levenberg_marquardt import SearchFound
from linkwork.ik.algorithms.levenberg_marquardt import search as search_hard
from linkwork.ik.algorithms.restarts import begun
from linkwork.ik.algorithms.target_distance_scaling import multiplied, sliding, stretch
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, unit_steps

__all__ = ["MinimumFound", "RowRequest", "descend", "search"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_MOST = 400  # steps, of which that many may gain nothing
_STILL = 1e-7  # a step so short is the end [rad, characteristic length]
_SHORTEST = 1e-11
_FAR = 1e300
_DAMPING = 0.1
_LEAST, _MOST_DAMPING = 1e-9, 1e6  # ν
_SINGULAR = 1e-9  # of the mean curvature: what damping is at least
_STIFF = 50.0  # ρ at first, as a multiple of how stiff soft rows are beside hard ones
_PULLED = 0.1  # [rad, half a characteristic length]: how far soft rows may pull hard ones before multipliers hold them
_STIFFER, _STIFFEST = 10.0, 300.0  # how it grows, and as a multiple of the first how far
_SHORT = 0.3  # a step so short makes new multipliers at first
_SECOND_ORDER = 16  # velocities: with so many, second derivatives are worth their price
_LOST = 0.05  # [rad, half a characteristic length]: so far from their ranges hard rows have been left
_NEAR = 0.1  # of how far a step led out of a range: rows that were nearer to its end resist
_GAIN = 1e-6  # of what soft rows cost: less than that is none
_NOISE = 1e-13  # of a sum of squares: rounding
_ROUNDING = 1e-14  # of errors [rad, characteristic length], which is all that is left of them where they vanish
_NONE = 1e-200  # damping where nothing is curved


@dataclass(frozen=True)
class RowRequest:
    """What is asked of each row: to be within a range and tolerance where it is hard, else as little as can be."""

    hard: Sequence[bool]
    low: Scalars
    high: Scalars
    weights: Scalars  # of soft rows; of hard ones what makes them comparable, 0 where they are free
    tolerances: Scalars  # of hard rows

    @staticmethod
    def of(stack: Stack) -> RowRequest:
        ranges = stack.ranges
        return RowRequest(
            stack.hard, [low for low, _ in ranges], [high for _, high in ranges], stack.counted(), stack.tolerances
        )

    def beyond(self, errors: Scalars) -> list[Any]:
        """By how much each error is out of its range."""
        return [x - nearest(x, a, b) for x, a, b in zip(errors, self.low, self.high, strict=True)]

    def fine(self, beyond: Scalars) -> Any:
        """Whether hard rows are within tolerance."""
        result: Any = True
        for x, tolerance, hard in zip(beyond, self.tolerances, self.hard, strict=True):
            if hard:
                result = and_(result, le(fabs(x), tolerance))
        return result


@dataclass(frozen=True)
class _Squares:
    """L as half of the sum of the squares of ``residuals``, with their rows, at the multipliers λ and ρ."""

    residuals: list[Any]
    rows: list[list[Any]]
    weights: list[Any]  # by row: what errors are multiplied with
    away: list[Any]  # by hard row: c − clip(y, l, u), which λ/ρ grows by
    inside: list[Any]  # by row: how far y is from the ends of its range, −1 where that counts

    @staticmethod
    def of(asked: RowRequest, errors: Scalars, rows: Rows, forces: Scalars, rho: Any) -> _Squares:
        root = sqrt(rho)
        residuals: list[Any] = []
        scaled: list[list[Any]] = []
        weights: list[Any] = []
        away: list[Any] = []
        inside: list[Any] = []
        for k, hard in enumerate(asked.hard):
            pushed: Any = 0.0
            room: Any = -1.0
            w, low, high, x = asked.weights[k], asked.low[k], asked.high[k], errors[k]
            if hard:
                pushed = forces[len(away)] / rho
                y = w * x + pushed
                near = nearest(y, scaled_bound(low, w), scaled_bound(high, w))
                away.append(w * x - near)
                residuals.append(root * (y - near))
                room = _room(y, scaled_bound(low, w), scaled_bound(high, w))
                w = root * w
            else:
                near = nearest(x, low, high)
                y = x
                residuals.append(w * (x - near))
            if not is_one_number(low, high):
                counts = or_(lt(y, near), lt(near, y))
                if hard:  # one that has just been active resists, so that no step leads far across
                    counts = or_(counts, lt(0.0, fabs(pushed)))
                w, room = where(counts, w, 0.0), where(counts, -1.0, room)
            inside.append(room)
            weights.append(w)
            scaled.append([a if is_zero(a) else a * w for a in rows[k]])
        return _Squares(residuals, scaled, weights, away, inside)


class MinimumFound(NamedTuple):
    """Where a descent ended."""

    q: list[Any]
    done: Any  # 1 where it is a minimum at which hard rows are done, 2 where nothing was gained any more
    iterations: Any
    forces: list[Any]  # λ by row, of errors as they are; 0 of soft ones


class _State(NamedTuple):
    q: tuple[Any, ...]
    slopes: tuple[Any, ...]  # g, the gradient of ½ ‖r‖² at q
    bends: tuple[Any, ...]  # its Hessian there, the lower triangle
    stretch: Any  # s at q of velocities that are lengths: see `slides`
    curvature: Any  # of a velocity, on average: the mean of RᵀR's diagonal
    cost: Any  # ‖r‖² at q
    damping: Any  # ν
    rooms: tuple[Any, ...]  # of hard rows with a range: how far from its ends; −1 where the Hessian has the row
    forces: tuple[Any, ...]  # λ of hard rows
    stiffness: Any  # ρ
    short: Any
    away: Any  # how far hard rows were from their ranges at the last multipliers
    best: tuple[Any, ...]
    least: Any  # Σ (w e)² of soft rows there
    told: tuple[Any, ...]  # λ there
    idle: Any  # steps since soft rows got better
    done: Any  # 1 at a minimum, 2 where nothing is gained any more
    taken: Any


def search(stack: Stack, seed: Scalars, box: LimitBox, budget: Any, first: Any = 0.0) -> SearchFound:
    """A minimum of soft tasks at which hard ones are done; where those cannot be, the least of theirs that was met."""
    asked = RowRequest.of(stack)
    if not any(asked.hard):
        least = descend(stack, asked, begun(stack.tree, seed, box, first, stack.locked_dofs), box, budget)
        return SearchFound(least.q, _is_minimum(least), least.iterations, 0.0, 1.0, least.forces)
    reached = search_hard(stack.only(hard=True), seed, box, budget, first)
    if all(asked.hard):
        return reached._replace(reached=reached.done, multipliers=[0.0] * len(asked.hard))
    left = where(lt(0.5, reached.done), budget, 0.0)
    least = descend(stack, asked, reached.q, box, left)
    return SearchFound(
        least.q, _is_minimum(least), reached.iterations + least.iterations, reached.starts, reached.done, least.forces
    )


def descend(
    stack: Stack, asked: RowRequest, q: Scalars, box: LimitBox, budget: Any, patience: float = _MOST
) -> MinimumFound:
    """A minimum near q, where hard rows are done; no worse than q, where steps do not lead to it within a budget."""
    tree = stack.tree
    longest, slides = unit_steps(tree), sliding(stack)
    hard = [k for k, is_hard in enumerate(asked.hard) if is_hard]
    ranged = [k for k in hard if not is_one_number(asked.low[k], asked.high[k])]

    def stepped(state: _State) -> _State:
        fresh = le(_FAR, state.cost)
        H = full(state.bends, tree.nv)
        most = where(fresh, 1.0, _DAMPING * state.damping * state.cost + _SINGULAR * state.curvature + _NONE)
        scale = dict.fromkeys(slides, state.stretch)
        step = newton_step(H, state.slopes, most, box, state.q, scale=scale)
        step = shortened(step, multiplied(longest, scale))
        promised = -2.0 * dot(step, state.slopes) - dot(step, [dot(row, step) for row in H])
        length: Any = 0.0
        for x, unit in zip(step, longest, strict=True):
            length = length if is_zero(x) else fmax(length, fabs(x) * (1.0 / unit))

        # what the step gained of what it promised
        q = box.within(integrate(tree, state.q, step))
        at = stack.at(q, exact=True)
        beyond = asked.beyond(at.errors)
        fine = asked.fine(beyond)
        wanting: Any = 0.0
        for x, w, is_hard in zip(beyond, asked.weights, asked.hard, strict=True):
            wanting = wanting if is_hard else wanting + (x * w) * (x * w)
        begin = _stiffness(asked, beyond, at.rows)
        rho = where(lt(state.stiffness, 1e-200), begin, state.stiffness)
        result = _Squares.of(asked, at.errors, at.rows, state.forces, rho)
        cost = dot(result.residuals, result.residuals)
        gained = where(fresh, _FAR, state.cost - cost)
        better = le(1e-4 * promised - _noise(state.cost, state.curvature), gained)
        ratio = fmin(fmax(gained / fmax(promised, 1e-300), -1.0), 1.0)
        damping = where(better, state.damping * fmax(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), 4.0 * state.damping)
        damping = where(fresh, 1.0, fmin(fmax(damping, _LEAST), _MOST_DAMPING))

        # new multipliers
        update = and_(and_(better, le(length, state.short)), not_(fresh))
        away: Any = 0.0
        for x in result.away:
            away = fmax(away, fabs(x))
        root = sqrt(rho)
        told = [root * result.residuals[k] for k in hard]
        forces = [where(update, a, b) for a, b in zip(told, state.forces, strict=True)]
        stiffer = and_(update, lt(0.3 * state.away, away))
        # back to where hard rows were done
        lost = and_(and_(stiffer, lt(state.away, away)), and_(lt(_LOST, away), lt(state.least, _FAR)))
        forces = [where(lost, 0.0, x) for x in forces]
        stiffness = where(stiffer, fmin(_STIFFER * rho, fmax(rho, _STIFFEST * begin)), rho)
        now = _Squares.of(asked, at.errors, at.rows, forces, stiffness)
        columns = transposed(now.rows)
        slopes = [dot(column, now.residuals) for column in columns]
        lower = [dot(columns[i], columns[j]) for i in range(tree.nv) for j in range(i + 1)]
        curvature = sum(dot(column, column) for column in columns) * (1.0 / max(tree.nv, 1))
        if tree.nv <= _SECOND_ORDER:
            pulls = [r * w for r, w in zip(now.residuals, now.weights, strict=True)]
            lower = [x + y for x, y in zip(lower, stack.bent(q, pulls), strict=True)]

        # a step that failed across the end of a range: such rows resist the next one
        near = [
            where(and_(le(0.0, room), lt(room, _NEAR * fabs(result.residuals[k]) / root)), 1.0, 0.0)
            for k, room in zip(ranged, state.rooms, strict=True)
        ]
        crossed = transposed([[x * a for x in result.rows[k]] for k, a in zip(ranged, near, strict=True)])
        rooms = [
            where(better, now.inside[k], where(lt(0.5, a), -1.0, room))
            for k, a, room in zip(ranged, near, state.rooms, strict=True)
        ]
        places = [(i, j) for i in range(tree.nv) for j in range(i + 1)]
        resisted = list(state.bends)
        if crossed:
            resisted = [x + dot(crossed[i], crossed[j]) for x, (i, j) in zip(resisted, places, strict=True)]

        again = where(lost, 0.0, 1.0)
        solved = and_(
            and_(and_(better, fine), not_(fresh)), le(length * (state.curvature + most), _STILL * state.curvature)
        )
        kept = and_(and_(better, fine), or_(solved, lt(wanting, state.least)))
        gains = and_(kept, lt(wanting, (1.0 - _GAIN) * state.least))
        idle = where(gains, 0.0, state.idle + 1.0)
        given_up = or_(and_(not_(better), lt(length, _SHORTEST)), lt(patience, idle))

        def chosen(new: Scalars, old: Scalars) -> tuple[Any, ...]:
            return tuple(where(better, a, b) for a, b in zip(new, old, strict=True))

        return _State(
            tuple(where(lost, a, b) for a, b in zip(state.best, chosen(q, state.q), strict=True)),
            tuple(again * x for x in chosen(slopes, state.slopes)),
            tuple(where(better, a, b) for a, b in zip(lower, resisted, strict=True)),
            where(better, stretch(stack, beyond, asked.weights), state.stretch) if slides else 1.0,
            where(better, curvature, state.curvature),
            where(lost, _FAR, where(better, dot(now.residuals, now.residuals), state.cost)),
            damping,
            tuple(rooms),
            tuple(forces),
            stiffness,
            where(lost, _SHORT, where(update, fmax(0.3 * state.short, _STILL), state.short)),
            where(lost, _FAR, where(update, away, state.away)),
            tuple(where(kept, a, b) for a, b in zip(q, state.best, strict=True)),
            where(kept, wanting, state.least),
            tuple(where(kept, a, b) for a, b in zip(told, state.told, strict=True)),
            idle,
            where(solved, 1.0, where(given_up, 2.0, 0.0)),
            state.taken + 1.0,
        )

    def more(state: _State) -> Any:
        return and_(lt(state.done, 0.5), lt(state.taken, budget))

    at, zero, none = tuple(box.within(q)), (0.0,) * tree.nv, (0.0,) * len(hard)
    flat = (0.0,) * (tree.nv * (tree.nv + 1) // 2)
    begin = _State(
        at,
        zero,
        flat,
        1.0,
        0.0,
        _FAR,
        1.0,
        (-1.0,) * len(ranged),
        none,
        0.0,
        _SHORT,
        _FAR,
        at,
        _FAR,
        none,
        0.0,
        0.0,
        0.0,
    )
    last: _State = while_loop(more, stepped, begin, max_iterations=_MOST).state
    by_row: list[Any] = [0.0] * len(asked.hard)
    for k, x in zip(hard, last.told, strict=True):
        by_row[k] = x * asked.weights[k]
    return MinimumFound(list(last.best), last.done, last.taken, by_row)


def _is_minimum(result: MinimumFound) -> Any:
    return where(and_(lt(0.5, result.done), lt(result.done, 1.5)), 1.0, 0.0)


def _noise(cost: Any, curvature: Any) -> Any:
    """What of ‖r‖² is rounding: of the sum, and of errors as small as they may be."""
    least = _ROUNDING * _ROUNDING * curvature
    return _NOISE * cost + 2.0 * sqrt(cost * least) + least


def _stiffness(asked: RowRequest, beyond: Scalars, rows: Rows) -> Any:
    """ρ at first: how stiff soft rows are beside hard ones, and how far they would pull those from their ranges."""
    of: dict[bool, Any] = {True: 1e-300, False: 1e-12}
    for row, w, hard in zip(rows, asked.weights, asked.hard, strict=True):
        of[hard] = of[hard] + dot(row, row) * (w * w)
    pulls = [0.0 if hard else x * (w * w) for x, w, hard in zip(beyond, asked.weights, asked.hard, strict=True)]
    pull = [dot(column, pulls) for column in transposed(rows)]
    return fmax(_STIFF * of[False] / of[True], sqrt(dot(pull, pull) / of[True]) * (1.0 / _PULLED))


def _room(x: Any, low: Any, high: Any) -> Any:
    """How far x is from the nearer end of its range."""
    below = _FAR if is_infinite(low) else x - low
    return fmin(below, _FAR if is_infinite(high) else high - x)
