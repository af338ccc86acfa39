"""Segments of a path: where their ends are, the path's knots among them; and of a motion, those of equal weight.

Pieces of the path are rows of a table whose number is a power of 2, in which those that are not there begin at `FAR`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan, take
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, where
from linkwork.motion.algorithms.curves.curve_kinds import FAR, piece_at

__all__ = ["Laid", "laid", "laid_anew"]

_NEVER = 1e-300
_FEW = 16  # pieces
_LEAST = 2.0  # segments of a piece: a motion that rests at both ends of a segment does not pass it


class Laid(NamedTuple):
    """Ends of n segments, s (n + 1,), and with which segments pieces begin (pieces,)."""

    s: Any
    firsts: Any

    def pieces(self) -> tuple[Any, Any]:
        """In which pieces segments are (n,), and which of them begin there (n,): 1, or 0."""

        places = np.arange(float(len(self.firsts)))

        def one(state: Any, k: Any) -> tuple[Any, Any]:
            piece, first = _of_piece(self.firsts, k, places, self.firsts)
            return state, (piece, where(le(k, first), 1.0, 0.0))

        pieces, begin = scan(one, (), np.arange(float(len(self.s) - 1)))[1]
        return pieces, begin


def laid(starts: Any, end: Any, many: int) -> Laid:
    """Of so many segments, by the lengths of pieces; closer together at the path's ends, where it is slow."""
    first, last = starts[0], float(many)
    length = end - first
    shares = _of_each(lambda start: where(lt(start, FAR), (start - first) / length, 1.0), starts)
    firsts = _firsts(starts, shares, many)
    columns = firsts, _next(firsts, last), starts, _next(starts, end)

    def one(state: Any, k: Any) -> tuple[Any, Any]:
        begin, stop, start, after = _of_piece(firsts, k, *columns)
        t = (k - begin) / fmax(stop - begin, 1.0)
        t = where(le(begin, 0.0), 0.5 * (t + t * t), t)
        left = 1.0 - t
        t = where(le(last, stop), 1.0 - 0.5 * (left + left * left), t)
        return state, where(le(last, k), end, start + t * (after - start))

    return Laid(scan(one, (), np.arange(last + 1.0))[1], firsts)


def laid_anew(old: Laid, starts: Any, end: Any, w: Any, u: Any, t: Any, many: int) -> tuple[Laid, Any]:
    """So many segments of a motion with ṡ = w at s, passed at t, and s̈ = u between: of the same time and change of
    speed; and whether they are any, and not nothing but rounding.
    """
    had, last = len(u), float(many)
    final = float(had)
    whole = scan(lambda total, row: (total + fabs(row[1] - row[0]), None), 0.0 * w[0], (w[:-1], w[1:]))[0]
    a, b = 1.0 / fmax(t[had], _NEVER), 1.0 / fmax(whole, _NEVER)

    def weighed(total: Any, row: Any) -> tuple[Any, Any]:
        before, after, time = row
        total = total + b * fabs(after - before)
        return total, total + a * time

    weights = scan(weighed, 0.0 * whole, (w[:-1], w[1:], t[1:]))[1]
    weights = np.concatenate([array([0.0 * whole]), weights])
    full = weights[had]

    size = 1 << had.bit_length()
    table = np.concatenate([weights, np.full(size - had - 1, FAR)])
    table = _of_each(lambda weight: fmin(weight, FAR), table)  # so that it stands in one place
    at = scan(lambda _, k: (take(table, fmin(k, final)),) * 2, 0.0 * full, old.firsts)[1]
    firsts = _firsts(starts, _of_each(lambda x: x / full, at), many)
    columns = firsts, _next(firsts, last), starts, _next(starts, end), at, _next(at, full)

    def one(state: Any, k: Any) -> tuple[Any, Any]:
        begin, stop, start, after, low, high = _of_piece(firsts, k, *columns)
        weight = low + (k - begin) / fmax(stop - begin, 1.0) * (high - low)
        place, _ = piece_at(table, weight)
        place = fmin(place, final - 1.0)
        below, above = take(table, place), take(table, place + 1.0)
        part = fmin(fmax((weight - below) / fmax(above - below, _NEVER), 0.0), 1.0)
        d = part * (
            take(t, place + 1.0) - take(t, place)
        )  # on a segment the speed, and so the weight, is linear in time
        s = take(old.s, place) + d * (take(w, place) + 0.5 * take(u, place) * d)
        s = where(le(k, begin), start, fmin(fmax(s, start), after))
        return state, where(le(last, k), end, s)

    s = scan(one, (), np.arange(last + 1.0))[1]
    rising = scan(lambda fine, row: (and_(fine, lt(row[0], row[1])), None), le(full, FAR), (s[:-1], s[1:]))[0]
    return Laid(s, firsts), rising


def _firsts(starts: Any, shares: Any, many: int) -> Any:
    """With which segments pieces begin, of shares until each one's beginning: each has `_LEAST` at least."""
    count = scan(lambda n, start: (n + where(lt(start, FAR), 1.0, 0.0), None), 0.0 * shares[0], starts)[0]

    def one(state: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], Any]:
        least, k = state
        share, start = row
        first = fmax(least, fmin(floor(share * float(many) + 0.5), float(many) - _LEAST * (count - k)))
        return (first + _LEAST, k + 1.0), where(lt(start, FAR), first, FAR)

    return scan(one, (0.0 * shares[0], 0.0 * shares[0]), (shares, starts))[1]


def _next(table: Any, otherwise: Any) -> Any:
    """The following entries, and something else after the last and in the place of those that are not there."""
    following = np.concatenate([table[1:], array([otherwise])])
    return _of_each(lambda x: where(lt(x, FAR), x, otherwise), following)


def _of_piece(firsts: Any, k: Any, *columns: Any) -> list[Any]:
    """Of the piece that a segment is in its numbers in columns: of few pieces all are looked at, without a search."""
    if len(firsts) > _FEW:
        piece, _ = piece_at(firsts, k)
        return [take(column, piece) for column in columns]
    result = [column[0] for column in columns]
    for j in range(1, len(firsts)):
        later = le(firsts[j], k)
        result = [where(later, column[j], x) for x, column in zip(result, columns, strict=True)]
    return result


def _of_each(function: Any, *columns: Any) -> Any:
    return scan(lambda state, row: (state, function(*row)), (), columns)[1]
