"""Grids of segments along a path: initial grids, and grids redistributed over a motion.

A path is a chain of smooth curves that meet at knots.  Knots are always ends of segments.  An array with an entry for
each curve is padded to a length that is a power of 2; unused entries of the parameters at which curves begin are `FAR`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan, take
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, where
from linkwork.motion.algorithms.curves.curve_kinds import FAR, segment_index

__all__ = ["SegmentGrid", "initial_segments", "redistributed_segments", "squares_at"]

_NEVER = 1e-300
_FEW = 16  # curves: for fewer all are compared instead of a search
_LEAST = 2.0  # segments between knots: a motion cannot pass a segment at both of whose ends it rests


class SegmentGrid(NamedTuple):
    """A path's grid: the ends of n segments, s (n + 1,), and ``firsts`` (curves,), each curve's first segment.

    A path is a chain of smooth curves, each divided into segments. ``firsts`` has indices of segments.
    """

    s: Any
    firsts: Any

    def curves(self) -> tuple[Any, Any]:
        """Return two arrays (n,) by segment: the index of its curve, and 1 for the first segment of a curve, else 0."""

        indices = np.arange(float(len(self.firsts)))

        def one(state: Any, k: Any) -> tuple[Any, Any]:
            curve, first = _columns_at(self.firsts, k, indices, self.firsts)
            return state, (curve, where(le(k, first), 1.0, 0.0))

        curves, begin = scan(one, (), np.arange(float(len(self.s) - 1)))[1]
        return curves, begin


def initial_segments(starts: Any, end: Any, count: int) -> SegmentGrid:
    """Return a grid of ``count`` segments: their number on each curve of a path is in proportion to the curve's length.

    Segments are shorter at the path's ends, because a motion from rest is slow.
    """
    first, last = starts[0], float(count)
    length = end - first
    shares = _mapped(lambda start: where(lt(start, FAR), (start - first) / length, 1.0), starts)
    firsts = _firsts(starts, shares, count)
    columns = firsts, _next(firsts, last), starts, _next(starts, end)

    def one(state: Any, k: Any) -> tuple[Any, Any]:
        begin, stop, start, after = _columns_at(firsts, k, *columns)
        t = (k - begin) / fmax(stop - begin, 1.0)
        t = where(le(begin, 0.0), 0.5 * (t + t * t), t)
        left = 1.0 - t
        t = where(le(last, stop), 1.0 - 0.5 * (left + left * left), t)
        return state, where(le(last, k), end, start + t * (after - start))

    return SegmentGrid(scan(one, (), np.arange(last + 1.0))[1], firsts)


def redistributed_segments(
    old: SegmentGrid, starts: Any, end: Any, w: Any, u: Any, t: Any, count: int
) -> tuple[SegmentGrid, Any]:
    """Return a grid of ``count`` new segments of a path, spread evenly over a motion, and True if the grid is valid.

    Each segment has about the same sum of two fractions: its fraction of the motion's time, and its fraction of all
    changes of ṡ. The motion has speeds ṡ = w and times t at the ends of the ``old`` segments, and s̈ = u between.
    ``starts`` are the values of s at which the path's curves begin. The grid is invalid if rounding makes a segment
    vanish.
    """
    had, last = len(u), float(count)
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
    table = _mapped(lambda weight: fmin(weight, FAR), table)  # keeps one sentinel value
    at = scan(lambda _, k: (take(table, fmin(k, final)),) * 2, 0.0 * full, old.firsts)[1]
    firsts = _firsts(starts, _mapped(lambda x: x / full, at), count)
    columns = firsts, _next(firsts, last), starts, _next(starts, end), at, _next(at, full)

    def one(state: Any, k: Any) -> tuple[Any, Any]:
        begin, stop, start, after, low, high = _columns_at(firsts, k, *columns)
        weight = low + (k - begin) / fmax(stop - begin, 1.0) * (high - low)
        segment, _ = segment_index(table, weight)
        segment = fmin(segment, final - 1.0)
        below, above = take(table, segment), take(table, segment + 1.0)
        part = fmin(fmax((weight - below) / fmax(above - below, _NEVER), 0.0), 1.0)
        d = part * (
            take(t, segment + 1.0) - take(t, segment)
        )  # on a segment the speed, and so the weight, is linear in time
        s = take(old.s, segment) + d * (take(w, segment) + 0.5 * take(u, segment) * d)
        s = where(le(k, begin), start, fmin(fmax(s, start), after))
        return state, where(le(last, k), end, s)

    s = scan(one, (), np.arange(last + 1.0))[1]
    rising = scan(lambda is_rising, row: (and_(is_rising, lt(row[0], row[1])), None), le(full, FAR), (s[:-1], s[1:]))[0]
    return SegmentGrid(s, firsts), rising


def squares_at(s: Any, w: Any, at: Any) -> Any:
    """Return ṡ² at positions ``at`` of a motion with ṡ = w at the ends s of segments and constant s̈ between."""
    count = len(s) - 1
    size = 1 << count.bit_length()
    table = _mapped(lambda x: x, np.concatenate([s, np.full(size - count - 1, FAR)]))

    def one(state: Any, x: Any) -> tuple[Any, Any]:
        segment, begin = segment_index(table, x)
        segment = fmin(segment, float(count - 1))
        end, before, after = take(s, segment + 1.0), take(w, segment), take(w, segment + 1.0)
        begin = fmin(begin, take(s, segment))
        part = (x - begin) / fmax(end - begin, _NEVER)
        return state, before * before + part * (after * after - before * before)

    return scan(one, (), at)[1]


def _firsts(starts: Any, shares: Any, total: int) -> Any:
    """Return the index of each curve's first segment, if ``total`` segments are divided among the curves of a path.

    ``shares`` are the fractions of all segments that precede each curve. Each curve has at least `_LEAST` segments.
    Unused entries of ``starts`` are `FAR`.
    """
    curves = scan(lambda n, start: (n + where(lt(start, FAR), 1.0, 0.0), None), 0.0 * shares[0], starts)[0]

    def one(state: tuple[Any, Any], row: Any) -> tuple[tuple[Any, Any], Any]:
        least, k = state
        share, start = row
        first = fmax(least, fmin(floor(share * float(total) + 0.5), float(total) - _LEAST * (curves - k)))
        return (first + _LEAST, k + 1.0), where(lt(start, FAR), first, FAR)

    return scan(one, (0.0 * shares[0], 0.0 * shares[0]), (shares, starts))[1]


def _next(table: Any, otherwise: Any) -> Any:
    """Return for each entry of ``table`` the entry after it, and ``otherwise`` if that is missing or `FAR`."""
    following = np.concatenate([table[1:], array([otherwise])])
    return _mapped(lambda x: where(lt(x, FAR), x, otherwise), following)


def _columns_at(firsts: Any, k: Any, *columns: Any) -> list[Any]:
    """Return the entry of each of the ``columns`` for the curve that contains segment k.

    Columns have an entry for each curve of a path; ``firsts`` has the index of each curve's first segment.
    """
    if len(firsts) > _FEW:
        curve, _ = segment_index(firsts, k)
        return [take(column, curve) for column in columns]
    result = [column[0] for column in columns]
    for j in range(1, len(firsts)):
        later = le(firsts[j], k)
        result = [where(later, column[j], x) for x, column in zip(result, columns, strict=True)]
    return result


def _mapped(function: Any, *columns: Any) -> Any:
    return scan(lambda state, row: (state, function(*row)), (), columns)[1]
