"""Events within a step: where a function of time and state passes zero, found by bisection.

Of all that pass zero in a piece the first is located, by halving the interval in which some has passed; so the state
that is found is the last in which none has.  What only watches leaves the motion as it is; what has a jump goes on from
there.

A step in pieces: what a method's state is at any time within a step.

Methods of one evaluation or a few make shorter steps of themselves, so that what lies within a step is the method's own
at its order; the adaptive one has its continuous extension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.pytree import tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, put, while_loop
from linkwork.expr.scalar.functions import and_, eq, fmin, le, lt, or_, where
from linkwork.simulation.algorithms.adaptive_runge_kutta import PARTS, TOLERANCE, begun, state_at, tried
from linkwork.simulation.algorithms.ode_system import MotionSystem

__all__ = ["LocatedStep", "StepPieces", "WatchedFunction", "adaptive_pieces", "located_step", "shorter_steps"]


_HALVINGS = 60
_NEAR = 2.0**-52  # of a time: what is nearer is the same
_END = 1e-12  # of a step: nearer to its end than that is its end


@dataclass(frozen=True, slots=True)
class WatchedFunction:
    """``guard(t, q, v)`` that passes zero upward (1), downward (−1) or either way (0), and what happens then.

    ``jump(t, q, v)`` gives the q and v that the motion goes on from.
    """

    guard: Callable[[Any, Any, Any], Any]
    direction: int
    stop: bool
    jump: Callable[[Any, Any, Any], tuple[Any, Any]] | None


class LocatedStep(NamedTuple):
    """Up to where a step was looked at [s], q and v there, and what guards were; what happened until then.

    A row of the ``table`` is an event: 2^k of each function k that passed zero, its time, q and v before it, and q and
    v after it; ``count`` were found, more than there are rows if they pile up.  ``stopped`` is 1 after one that stops,
    and ``lost`` is k + 1 where guard k was no number.
    """

    piece: StepPiece
    seen: Any
    q: Any
    v: Any
    guards: Any
    stopped: Any
    table: Any
    count: Any
    lost: Any


def located_step(
    pieces: StepPieces, watched: Sequence[WatchedFunction], t: Any, h: Any, q: Any, v: Any, table: Any, count: Any
) -> LocatedStep:
    """A step of h from q and v at t, up to its end, an event that stops, or one more event than the table has rows."""
    rows = len(table)

    def guards(time: Any, q: Any, v: Any) -> Any:
        return array([w.guard(t + time, q, v) for w in watched])

    def passed(before: Any, after: Any) -> list[Any]:
        result = []
        for w, a, b in zip(watched, before, after, strict=True):
            up, down = and_(le(a, 0.0), lt(0.0, b)), and_(le(0.0, a), lt(b, 0.0))
            result.append(up if w.direction > 0 else down if w.direction < 0 else or_(up, down))
        return result

    def going(s: LocatedStep) -> Any:
        within = and_(lt(s.seen, h * (1.0 - _END)), lt(s.lost, 0.5))
        return and_(and_(within, lt(s.stopped, 0.5)), lt(s.count, rows + 0.5))

    def further(s: LocatedStep) -> LocatedStep:
        piece = cond(lt(s.seen, s.piece.end), lambda p: p, pieces.further, s.piece)
        after = guards(piece.end, piece.q, piece.v)
        none = array([0.0] * len(table[0]))
        quiet = _Found(piece.end, piece.q, piece.v, after, False, False, none)
        hit = _any(passed(s.guards, after))
        result = cond(hit, lambda: happened(s, piece, after), lambda: quiet)
        again = pieces.begun(result.seen, result.q, result.v)
        return LocatedStep(
            _either(result.jumps, again, piece),
            result.seen,
            result.q,
            result.v,
            result.guards,
            where(result.stops, 1.0, 0.0),
            put(s.table, where(hit, s.count, -1.0), result.row),
            s.count + where(hit, 1.0, 0.0),
            _lost(result.guards),
        )

    def happened(s: LocatedStep, piece: StepPiece, after: Any) -> _Found:
        """The first event in a piece, between what was seen of it and its end."""

        def halved(x: _Between) -> _Between:
            middle = 0.5 * (x.low + x.high)
            q, v = pieces.at(piece, middle)
            g = guards(middle, q, v)
            beyond = _any(passed(s.guards, g))
            lower = _Between(x.low, middle, x.q, x.v, q, v, g)
            return _either(beyond, lower, x._replace(low=middle, q=q, v=v))  # type: ignore[no-any-return]

        between = _Between(s.seen, piece.end, s.q, s.v, piece.q, piece.v, after)
        apart = _NEAR * (t + h)
        x = while_loop(lambda x: lt(apart, x.high - x.low), halved, between, max_iterations=_HALVINGS).state
        which = passed(s.guards, x.guards)
        state = (x.q, x.v)
        for w, here in zip(watched, which, strict=True):
            if w.jump is not None:
                state = _either(here, w.jump(t + x.low, *state), state)
        bits = sum((where(here, 2.0**k, 0.0) for k, here in enumerate(which)), 0.0)
        row = array([bits, t + x.low, *x.q, *x.v, *state[0], *state[1]])
        stops = _any([here for w, here in zip(watched, which, strict=True) if w.stop])
        jumps = _any([here for w, here in zip(watched, which, strict=True) if w.jump is not None])
        # a guard that is zero where a jump ends is still on the side that it came from
        sides = guards(x.low, *state)
        sides = [where(and_(here, eq(a, 0.0)), b, a) for here, a, b in zip(which, sides, s.guards, strict=True)]
        there = _Found(x.low, *state, array(sides), stops, jumps, row)
        on = _Found(x.high, x.q_high, x.v_high, x.guards, stops, jumps, row)
        return _either(_any([stops, jumps]), there, on)  # type: ignore[no-any-return]

    first = guards(0.0, q, v)
    start = LocatedStep(pieces.begun(0.0, q, v), 0.0, q, v, first, 0.0, table, count, _lost(first))
    return while_loop(going, further, start, max_iterations=_MOST).state  # type: ignore[no-any-return]


_MOST = 2000  # pieces and events


class _Found(NamedTuple):
    """Where a look into a piece ended, whether an event there stops or jumps, and the row that says which."""

    seen: Any
    q: Any
    v: Any
    guards: Any
    stops: Any
    jumps: Any
    row: Any


class _Between(NamedTuple):
    """Times between which an event is: q and v before it, and q, v and guards after it."""

    low: Any
    high: Any
    q: Any
    v: Any
    q_high: Any
    v_high: Any
    guards: Any


def _lost(guards: Any) -> Any:
    """One more than the number of the first guard that is NaN, 0 where none is."""
    result: Any = 0.0
    for k, x in reversed([*enumerate(guards)]):
        result = where(le(x, math.inf), result, k + 1.0)
    return result


def _any(truths: Sequence[Any]) -> Any:
    result: Any = False
    for x in truths:
        result = x if result is False else result if x is False else or_(result, x)
    return result


def _either(condition: Any, one: Any, other: Any) -> Any:
    """One nested value or another of its nesting."""
    if condition is False:
        return other
    return tree_map(lambda a, b: _chosen(condition, a, b), one, other)


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    if not isinstance(a, np.ndarray):
        return where(condition, a, b)
    return array([where(condition, x, y) for x, y in zip(a.ravel(), b.ravel(), strict=True)]).reshape(a.shape)


Scalars = Sequence[Any]


class StepPiece(NamedTuple):
    """From ``begin`` to ``end`` [s] after the step's start: ``inside`` is what it needs to know, q and v its end.

    ``more`` is what else a step gives.
    """

    begin: Any
    end: Any
    q: Any
    v: Any
    inside: Any
    more: Any


@dataclass(frozen=True, slots=True)
class StepPieces:
    """How a step goes on from q and v at a time after its start, what the next piece is, and q and v in a piece."""

    begun: Callable[[Any, Any, Any], StepPiece]
    further: Callable[[StepPiece], StepPiece]
    at: Callable[[StepPiece, Any], tuple[Any, Any]]


def shorter_steps(advance: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]], h: Any, more: Any) -> StepPieces:
    """One piece to the step's end: ``advance(begin, q, v, width)`` gives q, v and more of a step as wide as asked."""

    def further(piece: StepPiece) -> StepPiece:
        q, v, result = advance(piece.end, piece.q, piece.v, h - piece.end)
        return StepPiece(piece.end, h, q, v, (piece.q, piece.v), result)

    def at(piece: StepPiece, time: Any) -> tuple[Any, Any]:
        start, rates = piece.inside
        q, v, _ = advance(piece.begin, start, rates, time - piece.begin)
        return q, v

    return StepPieces(lambda time, q, v: StepPiece(time, time, q, v, (q, v), more), further, at)


def adaptive_pieces(system: MotionSystem, t: Any, h: Any, together: Callable[[Scalars], Any]) -> StepPieces:
    """Dormand and Prince's steps, as wide as errors of 10⁻⁹ let them be; ``together`` makes arrays of numbers."""

    def start(time: Any, q: Any, v: Any) -> StepPiece:
        return StepPiece(time, time, q, v, begun(list(q), list(v), t + time, h - time), ())

    def further(piece: StepPiece) -> StepPiece:
        before = piece.inside

        def behind(state: Any) -> Any:
            return and_(le(state.time, before.time), lt(state.steps, float(PARTS)))

        state = while_loop(behind, lambda s: tried(system, s, TOLERANCE, TOLERANCE), before, max_iterations=PARTS).state
        end = fmin(state.time - t, h)
        q, v = state_at(system, state, t + end)
        v = [where(lt(state.steps, float(PARTS)), x, math.inf) for x in v]  # so that it is noticed
        return StepPiece(before.time - t, end, together(q), together(v), state, ())

    def at(piece: StepPiece, time: Any) -> tuple[Any, Any]:
        q, v = state_at(system, piece.inside, t + time)
        return together(q), together(v)

    return StepPieces(start, further, at)
