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

__all__ = ["SAME_VALLEY", "Deepest", "deepest"]

SAME_VALLEY = 0.95  # cosines of angles between directions

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
    """The best h(n) so far and its n; the best far from known directions, and its n; directions with their points, the
    cells that wait, and how many."""

    depth: Any
    n: Vec3
    other: Any
    m: Vec3
    points: Any
    waiting: Any
    many: Any


class _Cut(NamedTuple):
    """Where a cell is cut: at a direction on the side across from a corner, 0 to 2, or inside: 3."""

    least: Any
    n: Vec3
    side: Any
    exact: Any  # whether the cut is where the bound is least


def deepest(
    difference: Difference, known: Sequence[Vec3], going: Any, gap: float = 0.0, valleys: Sequence[Vec3] = ()
) -> Deepest:
    """The least h(n), of an A − B that 0 is in; elsewhere that of some directions, as those known.

    With a gap, what may be less than that part better than the best so far is not looked for; but the best far from
    some ``valleys`` that was seen on the way is given, too.
    """
    depth: Any = 1e150
    n = Vec3(0.0, 0.0, 1.0)
    rows: list[list[Any]] = []
    scale: Any = 0.0
    for way in (*_CORNERS, *difference.sides(), *known):
        w = difference.support(way)[0]
        if len(rows) < len(_CORNERS):
            rows.append([*way, *w])
            scale = fmax(scale, w.dot(w))
        depth, n = _better(depth, n, way.dot(w), way)
    rounding = _ROUNDING * sqrt(where(lt(0.0, scale), scale, 1.0))
    points = table_of([rows[min(k, len(_CORNERS) - 1)] for k in range(_POINTS)])
    first = [_code(*map(float, cell)) for cell in ((0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2))]
    waiting = table_of([first[k] if k < len(first) else 0.0 for k in range(_WAITING)])
    start = Deepest(depth, n, 1e150 + 0.0 * depth, n, points, waiting, where(going, float(len(first)), 0.0))
    found: Deepest = while_loop(
        lambda s: lt(0.5, s.many), lambda s: _step(difference, s, rounding, gap, valleys), start, at_most=_STEPS
    ).state
    return found


def _better(depth: Any, n: Vec3, h: Any, other: Vec3) -> tuple[Any, Vec3]:
    less = lt(h, depth)
    return where(less, h, depth), choose(less, other, n)


def _code(i: Any, j: Any, k: Any) -> Any:
    return (k * _OF + j) * _OF + i


def _step(difference: Difference, s: Deepest, rounding: Any, gap: float, valleys: Sequence[Vec3]) -> Deepest:
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
    other, m = s.other, s.m
    if valleys:
        far = lt(h, other)
        for valley in valleys:
            far = and_(far, lt(cut.n.dot(valley), SAME_VALLEY))
        other, m = where(far, h, other), choose(far, cut.n, m)
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
    return Deepest(depth, best, other, m, points, waiting, many)


def _least(n: tuple[Vec3, ...], w: tuple[Vec3, ...]) -> _Cut:
    """Where a cell's bound is least, and how much it is there; 1e150 where it is least at a corner.

    Of directions m of any length, bounds h/‖m‖ are compared by h |h| and m · m, without divisions.
    """
    least, length, cut, side = 1e300, 1.0, Vec3(0.0, 0.0, 1.0), 0.0
    best: tuple[Any, Any, Vec3, Any] = (least, length, cut, side)
    start, end, part, whole = n[1], n[2], 1.0, 2.0
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        e = w[i] - w[j]
        p, q = n[i].dot(e), -n[j].dot(e)
        m = n[i] * q + n[j] * p
        less, best = _less(best, and_(lt(0.0, p), lt(0.0, q)), m, m.dot(w[i]), float(k))
        start, end = choose(less, n[i], start), choose(less, n[j], end)
        part, whole = where(less, p, part), where(less, p + q, whole)
    m = (w[1] - w[0]).cross(w[2] - w[0])
    signs = [m.dot(n[(k + 1) % 3].cross(n[(k + 2) % 3])) for k in range(3)]
    above = and_(lt(0.0, signs[0]), and_(lt(0.0, signs[1]), lt(0.0, signs[2])))
    below = and_(lt(signs[0], 0.0), and_(lt(signs[1], 0.0), lt(signs[2], 0.0)))
    height = m.dot(w[0])
    inside, (least, length, cut, side) = _less(best, or_(above, below), m, where(below, -height, height), 3.0)
    s = part / whole
    t = fmin(fmax(s, _AWAY), 1.0 - _AWAY)
    exact = or_(inside, le(fabs(s - t), 0.0))
    on_side = start + (end - start) * t
    cut = choose(inside, choose(below, -cut, cut), on_side)
    size = sqrt(fabs(least / length))
    return _Cut(where(lt(least, 0.0), -size, size), cut * (1.0 / sqrt(length_of(cut))), side, exact)


def _less(
    best: tuple[Any, Any, Vec3, Any], there: Any, m: Vec3, h: Any, side: Any
) -> tuple[Any, tuple[Any, Any, Vec3, Any]]:
    """Whether a bound h/‖m‖ is there and less than the best; the better one."""
    least, length, cut, where_ = best
    signed, square = h * fabs(h), m.dot(m)
    less = and_(there, and_(lt(0.0, square), lt(signed * length, least * square)))
    better = where(less, signed, least), where(less, square, length), choose(less, m, cut), where(less, side, where_)
    return less, better
