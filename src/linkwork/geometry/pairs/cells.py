"""How deep 0 is in A − B: the least of h(n) over all directions, found by cutting the sphere of directions into cells.

A cell is a triangle of directions n₁ n₂ n₃ with the farthest points w₁ w₂ w₃ of A − B along them.  In all of it
h(n) ≥ max n · w_i.  Where one of the three is largest, n · w_i has its least value at a corner of that part, if it is
positive there: it is a cosine.  So the cell's least value is at one of its corners, where two of the three are equal
on one of its sides, or where all three are equal, if that is in the cell.  A cell whose bound is no less than the best
h so far is done, and so is one where h is what the bound says; any other is cut at that place, and h is asked there.

Cells do not overlap.  What waits is looked at in the order last in, first out, so a cell's corners are told by how deep
cuts are nested, and three small numbers tell a cell.  Of polytopes the search ends at a facet of A − B, and the least h
is exact.

Related: Kelley's cutting planes, here in the dual of the expanding polytope (van den Bergen, Proximity queries and
penetration depth computation on 3D game objects, 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...expr.control.loops import while_loop
from ...expr.functions import and_, fabs, floor, fmax, fmin, le, lt, not_, or_, sqrt, where
from ...spatial import Vec3
from ..directions import choose
from .difference import Difference, length_of
from .stack import entry, table_of, with_entry

__all__ = ["Deepest", "deepest"]

_STEPS = 1000
_WAITING = 40  # cells
_POINTS = 40  # nested cuts, and the four corners that cells begin with
_OF = 64.0  # numbers of points are less than that
_ROUNDING = 4e-15  # of lengths: what rounding leaves between bounds
_AWAY = 0.1  # of a side, from its ends: no cut is nearer, so cells do not become needles
_THIRD = 3.0**-0.5
_CORNERS = (
    Vec3(_THIRD, _THIRD, _THIRD),
    Vec3(_THIRD, -_THIRD, -_THIRD),
    Vec3(-_THIRD, _THIRD, -_THIRD),
    Vec3(-_THIRD, -_THIRD, _THIRD),
)


class Deepest(NamedTuple):
    """The best h(n) so far and its n; directions with their points, the cells that wait, and how many."""

    depth: Any
    n: Vec3
    points: Any
    waiting: Any
    many: Any


class _Cut(NamedTuple):
    """Where a cell is cut: at a direction on the side across from a corner, 0 to 2, or inside: 3."""

    least: Any
    n: Vec3
    side: Any
    exact: Any  # whether the cut is where the bound is least


def deepest(difference: Difference, known: Sequence[Vec3], going: Any, gap: float = 0.0) -> Deepest:
    """The least h(n), of an A − B that 0 is in; elsewhere that of some directions, as those known.

    With a gap, what may be less than that part better than the best so far is not looked for.
    """
    depth: Any = 1e150
    n = Vec3(0.0, 0.0, 1.0)
    rows: list[list[Any]] = []
    scale: Any = 0.0
    for way in (*_CORNERS, *difference.axes(), *(-axis for axis in difference.axes()), *known):
        w = difference.support(way)[0]
        if len(rows) < len(_CORNERS):
            rows.append([*way, *w])
            scale = fmax(scale, w.dot(w))
        depth, n = _better(depth, n, way.dot(w), way)
    rounding = _ROUNDING * sqrt(where(lt(0.0, scale), scale, 1.0))
    points = table_of([rows[min(k, len(_CORNERS) - 1)] for k in range(_POINTS)])
    first = [_code(*map(float, cell)) for cell in ((0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2))]
    waiting = table_of([first[k] if k < len(first) else 0.0 for k in range(_WAITING)])
    start = Deepest(depth, n, points, waiting, where(going, float(len(first)), 0.0))
    found: Deepest = while_loop(
        lambda s: lt(0.5, s.many), lambda s: _step(difference, s, rounding, gap), start, at_most=_STEPS
    ).state
    return found


def _better(depth: Any, n: Vec3, h: Any, other: Vec3) -> tuple[Any, Vec3]:
    less = lt(h, depth)
    return where(less, h, depth), choose(less, other, n)


def _code(i: Any, j: Any, k: Any) -> Any:
    return (k * _OF + j) * _OF + i


def _step(difference: Difference, s: Deepest, rounding: Any, gap: float) -> Deepest:
    last = s.many - 1.0
    code = entry(s.waiting, last)
    k = floor(code * (1.0 / (_OF * _OF)))
    code = code - k * (_OF * _OF)
    j = floor(code * (1.0 / _OF))
    i = code - j * _OF
    rows = [entry(s.points, index) for index in (i, j, k)]
    n = tuple(Vec3(*row[:3]) for row in rows)
    w = tuple(Vec3(*row[3:]) for row in rows)
    cut = _least(n, w)
    open_ = lt(cut.least, s.depth * (1.0 - gap) - rounding)
    at, _ = difference.support(cut.n)
    h = cut.n.dot(at)
    depth, best = _better(s.depth, s.n, h, cut.n)
    met = le(h - cut.least, rounding)
    for corner, point in enumerate(w):  # what is asked again is answered again: the rest is rounding
        away = at - point
        met = or_(met, and_(lt(0.1, fabs(cut.side - float(corner))), le(away.dot(away), rounding * rounding)))
    new = fmax(fmax(i, fmax(j, k)) + 1.0, float(len(_CORNERS)))
    room = and_(lt(new, float(_POINTS)), lt(last, _WAITING - 2.5))
    open_ = and_(and_(open_, room), not_(and_(cut.exact, met)))
    inside = lt(2.5, cut.side)
    replaced = _code(new, j, k), _code(i, new, k), _code(i, j, new)
    across = [lt(fabs(cut.side - float(corner)), 0.5) for corner in range(3)]
    one, two = where(across[0], replaced[1], replaced[0]), where(across[1], replaced[2], replaced[1])
    one, two = where(across[2], replaced[0], one), where(across[0], replaced[2], two)
    three = replaced[2]
    nowhere = where(open_, 0.0, -1000.0)
    waiting = with_entry(s.waiting, last + nowhere, one)
    waiting = with_entry(waiting, last + 1.0 + nowhere, two)
    waiting = with_entry(waiting, last + 2.0 + nowhere, three)
    points = with_entry(s.points, new + nowhere, [*cut.n, *at])
    many = where(open_, last + where(inside, 3.0, 2.0), last)
    return Deepest(depth, best, points, waiting, many)


def _least(n: tuple[Vec3, ...], w: tuple[Vec3, ...]) -> _Cut:
    """Where a cell's bound is least, and how much it is there; 1e300 where it is least at a corner."""
    least: Any = 1e300
    cut = Vec3(0.0, 0.0, 1.0)
    side: Any = 0.0
    middle: Any = 0.5  # how far the cut would be from the middle of the side
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        e = w[i] - w[j]
        p, q = n[i].dot(e), -n[j].dot(e)
        both = and_(lt(0.0, p), lt(0.0, q))
        s = p / where(both, p + q, 1.0)
        at = n[i] + (n[j] - n[i]) * s
        value = at.dot(w[i]) / sqrt(length_of(at))
        less = and_(both, lt(value, least))
        t = fmin(fmax(s, _AWAY), 1.0 - _AWAY)
        least, cut = where(less, value, least), choose(less, n[i] + (n[j] - n[i]) * t, cut)
        side, middle = where(less, float(k), side), where(less, fabs(s - 0.5), middle)
    m = (w[1] - w[0]).cross(w[2] - w[0])
    m = m * (1.0 / sqrt(length_of(m)))
    signs = [m.dot(n[(k + 1) % 3].cross(n[(k + 2) % 3])) for k in range(3)]
    above = and_(lt(0.0, signs[0]), and_(lt(0.0, signs[1]), lt(0.0, signs[2])))
    below = and_(lt(signs[0], 0.0), and_(lt(signs[1], 0.0), lt(signs[2], 0.0)))
    m = choose(below, -m, m)
    value = m.dot(w[0])
    less = and_(or_(above, below), lt(value, least))
    least, cut = where(less, value, least), choose(less, m, cut)
    side, middle = where(less, 3.0, side), where(less, 0.0, middle)
    return _Cut(least, cut * (1.0 / sqrt(length_of(cut))), side, le(middle, 0.5 - _AWAY))
