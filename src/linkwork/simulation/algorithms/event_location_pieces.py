"""A step in pieces: what a method's state is at any time within a step.

Methods of one evaluation or a few make shorter steps of themselves, so that what lies within a step is the method's own
at its order; the adaptive one has its continuous extension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, fmin, le, lt, where
from linkwork.simulation.algorithms.adaptive_runge_kutta import PARTS, TOLERANCE, begun, state_at, tried
from linkwork.simulation.algorithms.ode_system import MotionSystem

__all__ = ["StepPiece", "StepPieces", "adaptive_pieces", "shorter_steps"]

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
        q, v, found = advance(piece.end, piece.q, piece.v, h - piece.end)
        return StepPiece(piece.end, h, q, v, (piece.q, piece.v), found)

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

        state = while_loop(behind, lambda s: tried(system, s, TOLERANCE, TOLERANCE), before, at_most=PARTS).state
        end = fmin(state.time - t, h)
        q, v = state_at(system, state, t + end)
        v = [where(lt(state.steps, float(PARTS)), x, math.inf) for x in v]  # so that it is noticed
        return StepPiece(before.time - t, end, together(q), together(v), state, ())

    def at(piece: StepPiece, time: Any) -> tuple[Any, Any]:
        q, v = state_at(system, piece.inside, t + time)
        return together(q), together(v)

    return StepPieces(start, further, at)
