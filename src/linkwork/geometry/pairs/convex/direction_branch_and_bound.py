"""Penetration depth of two bodies A and B by branch and bound on directions.

The depth is the minimum over unit vectors n of the overlap h(n), the support function of the Minkowski difference A −
B. A cell is a triangle of directions n₁ n₂ n₃ with the support points w₁ w₂ w₃ of A − B along them. In the cell, h(n)
≥ max n · w_i. In the part where one of the three is largest, the minimum of n · w_i is at a corner of that part if it
is positive, since it is a cosine. So the cell's lower bound is at one of its corners, where two of the three are equal
on one of its sides, or where all three are equal, if that is in the cell. A cell is closed if its bound is not less
than the best h so far, or if h equals the bound. Any other cell is cut at the direction of its bound, and h is
evaluated there.

Cells do not overlap. They wait on a stack, so a cell's corners are among the nested cuts, and three small integers
identify a cell. For polytopes the search ends at a facet of A − B, and the least h is exact.

Symmetries of two bodies give a direction at once (a common axis), and images of a direction with the same h.

Related: Kelley's cutting planes, here in the dual of the expanding polytope (van den Bergen, Proximity queries and
penetration depth computation on 3D game objects, 2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.control.table_access import entry, table_of, with_entry
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import (
    and_,
    fabs,
    floor,
    fmax,
    fmin,
    le,
    lt,
    not_,
    or_,
    sqrt,
    where,
)
from linkwork.geometry.cores import ConeCore, CylinderCore, EllipsoidCore, SegmentCore
from linkwork.geometry.pairs.convex.minkowski_difference import Best, Difference, safe_square
from linkwork.geometry.unit_vectors import FAR, TINY, across, choose
from linkwork.spatial import Vec3

__all__ = ["SAME_VALLEY", "DepthSearch", "direction", "images", "rotational_symmetry", "search_depth"]


SAME_VALLEY = 0.95  # cosine of the angle below which directions are in different valleys of h
_STEPS = 50_000
_MANY = 1000.0  # steps after which minima that differ by `_CLOSE` of the size of A − B are equal
_CLOSE = by_type(2.5e7)  # in rounding errors between bounds
_WAITING = 64  # cells on the stack
_POINTS = 63  # nested cuts, and the four initial corners
_BASE = 64.0  # greater than indices of points
_ROUNDING = by_type(4e-15)  # relative rounding error between bounds
_NEVER = by_type(1e300)  # [m²] beyond all squares
_AGAIN = by_type(250.0)  # rounding error of bounds at less accurate directions, relative to the same
_FLAT = by_type(1e-24)  # sin² of the angle of a degenerate triangle of support points
_AWAY = 0.1  # least distance of a cut from the ends of a side, relative to it, so that cells do not degenerate
_THIRD = 3.0**-0.5
_CORNERS = (
    Vec3(_THIRD, _THIRD, _THIRD),
    Vec3(_THIRD, -_THIRD, -_THIRD),
    Vec3(-_THIRD, _THIRD, -_THIRD),
    Vec3(-_THIRD, -_THIRD, _THIRD),
)
_CELLS = ((0, 2, 3), (1, 3, 2), (0, 1, 2), (0, 3, 1))
_IN_LUNE = 2  # the first two cells are the lune with the ends 0 and 1, and 2 and 3 on its edges
_LUNE = 1e-3  # [rad] half of its angle
_RIVAL = 0.99  # cosine of the angle to the best direction below which another is a rival
_EQUAL = 1.0 + 1e-6  # bound relative to the best depth above which a closed cell contains no rival


class DepthSearch(NamedTuple):
    """State of a search for the direction n of the least h(n).

    ``depth`` and ``n`` are the best h so far and its direction. ``m`` is the direction of the rival: the best one far
    from n or from known directions; ``rival`` is the signed square h |h| of the rival's h, or of a lower bound on it.
    ``points`` are directions and their support points. ``waiting`` and ``num_cells`` are the stack of cells and their
    number, ``steps`` the number of steps so far.
    """

    depth: Any
    n: Vec3
    rival: Any
    m: Vec3
    points: Any
    waiting: Any
    num_cells: Any
    steps: Any


class _Cut(NamedTuple):
    """Direction n, of any length, at which a cell is cut, and the signed square of the cell's lower bound.

    ``side`` 0 to 2 is a cut on the side opposite to that corner, 3 inside the cell; with 4 added, the cut is on the
    side but not where the bound is least.
    """

    square: Any
    n: Vec3
    side: Any


class RotationalSymmetry(NamedTuple):
    """Common direction of the axes of two bodies of revolution, and the direction orthogonal to it toward B."""

    parallel: Any  # True if the axes are parallel
    axis: Vec3
    out: Vec3


def search_depth(
    difference: Difference,
    known: Sequence[Vec3],
    gap: float = 0.0,
    valleys: Sequence[Vec3] = (),
    symmetry: RotationalSymmetry | None = None,
) -> DepthSearch:
    """Return the least h(n) of a Minkowski difference A − B that contains 0, its direction n, and a rival direction.

    Directions that are better by less than the relative ``gap`` are not searched for. With ``valleys``, the rival is
    the best direction far from them among those evaluated. Otherwise it is the best far from n, so that two equal
    minima far from each other give a rival that is equal within the gap.

    For bodies of revolution about parallel axes, only a lune of directions around the plane of both axes is searched:
    in h(n) = f(n · axis) − n · c, only the last term depends on the angle about the axis, so h is least in the half
    plane toward B's center.
    """
    depth: Any = FAR
    n = Vec3(0.0, 0.0, 1.0)
    rival, m = depth, n
    rows: list[list[Any]] = []
    scale: Any = 0.0
    for trial in (*_corners(symmetry), *difference.sides(), *known):
        w = difference.support(trial)[0]
        if len(rows) < len(_CORNERS):
            rows.append([*trial, *w])
            scale = fmax(scale, w.dot(w))
        h = trial.dot(w)
        if not valleys:
            rival, m = _rival(depth, n, rival, m, h, trial)
        depth, n = Best(depth, n).better(h, trial)
    rounding = _ROUNDING * sqrt(where(lt(0.0, scale), scale, 1.0))
    points = table_of([rows[min(k, len(_CORNERS) - 1)] for k in range(_POINTS)])
    first = []
    for cell in _CELLS:
        cut = _least(tuple(Vec3(*rows[k][:3]) for k in cell), tuple(Vec3(*rows[k][3:]) for k in cell))
        i, j, k = map(float, cell)
        first.append([_code(i, j, k, cut.side), cut.square, *cut.n])
    waiting = table_of([first[min(k, len(first) - 1)] for k in range(_WAITING)])
    num_cells: Any = float(len(first))
    if symmetry is not None:
        num_cells = where(symmetry.parallel, float(_IN_LUNE), num_cells)
    start = DepthSearch(depth, n, rival + 0.0 * depth, m, points, waiting, num_cells, 0.0 * depth)
    result: DepthSearch = while_loop(
        lambda s: lt(0.5, s.num_cells),
        lambda s: _step(difference, s, rounding, gap, valleys),
        start,
        max_iterations=_STEPS,
    ).state
    return result


def _corners(symmetry: RotationalSymmetry | None) -> tuple[Vec3, ...]:
    """Return the corners of the initial cells: of the sphere, or of a lune."""
    if symmetry is None:
        return _CORNERS
    z, x = symmetry.axis, symmetry.out * math.cos(_LUNE)
    y = z.cross(symmetry.out) * math.sin(_LUNE)
    lune = (z, -z, x - y, x + y)
    return tuple(choose(symmetry.parallel, n, corner) for n, corner in zip(lune, _CORNERS, strict=True))


def _rival(depth: Any, n: Vec3, rival: Any, m: Vec3, h: Any, trial: Vec3) -> tuple[Any, Vec3]:
    """Return (rival, m), the second-best direction m and its signed square h |h|, after the direction ``trial``.

    n is the best direction so far, with the overlap ``depth``. The rival m is the best direction far from n.
    """
    less, far = lt(h, depth), lt(trial.dot(n), _RIVAL)
    along = m.dot(trial)
    same = lt(_RIVAL * _RIVAL * m.dot(m), along * fabs(along))  # the rival becomes the best
    first, third = and_(less, far), and_(not_(less), and_(far, lt(h * fabs(h), rival)))
    rival = where(and_(less, same), _NEVER, rival)
    rival = where(first, _NEVER if depth is FAR else depth * fabs(depth), where(third, h * fabs(h), rival))
    return rival, choose(first, n, choose(third, trial, m))


def _closed(best: Vec3, rival_bound: Any, m: Vec3, closed: Any, square: Any, n: Vec3) -> tuple[Any, Vec3]:
    """Return (rival, m), the second-best direction m and a bound on h |h| of its overlap h, after a cell is closed.

    The closed cell has the lower bound ``square``, in the direction n. It becomes the rival if its bound is less and n
    is far from the best direction.
    """
    near = best.dot(n)
    far = lt(near * fabs(near), _RIVAL * _RIVAL * n.dot(n))
    rival = and_(closed, and_(far, lt(square, rival_bound)))
    return where(rival, square, rival_bound), choose(rival, n, m)


def _code(i: Any, j: Any, k: Any, side: Any) -> Any:
    return ((i * _BASE + j) * _BASE + k) * _BASE + side


def _step(difference: Difference, s: DepthSearch, rounding: Any, gap: float, valleys: Sequence[Vec3]) -> DepthSearch:
    last = s.num_cells - 1.0
    code, square, *at = entry(s.waiting, last)
    side, code = _split_code(code)
    k, code = _split_code(code)
    j, i = _split_code(code)
    rows = [entry(s.points, index) for index in (i, j, k)]
    n = tuple(Vec3(*row[:3]) for row in rows)
    w = tuple(Vec3(*row[3:]) for row in rows)
    cut = Vec3(*at)
    has_cut = lt(TINY, cut.dot(cut))
    cut = cut * (1.0 / sqrt(safe_square(cut)))
    point, _ = difference.support(cut)
    h = where(has_cut, cut.dot(point), FAR)
    depth, best = Best(s.depth, s.n).better(h, cut)
    rival, m = s.rival, s.m
    if not valleys:
        rival, m = _rival(s.depth, s.n, rival, m, h, cut)
    else:
        far = lt(h, rival)
        for valley in valleys:
            far = and_(far, lt(cut.dot(valley), SAME_VALLEY))
        rival, m = where(far, h, rival), choose(far, cut, m)
    shifted = lt(3.5, side)
    side = where(shifted, side - 4.0, side)
    size = sqrt(fabs(square))
    bound = where(lt(square, 0.0), -size, size)
    is_exact = le(h, rounding + bound)
    near = le(h, rounding * _AGAIN + bound)
    for corner, old in enumerate(w):  # an equal support point means an exact bound, except for rounding
        away = point - old
        again = and_(lt(0.5, fabs(side - float(corner))), le(away.dot(away), rounding * rounding))
        is_exact = or_(is_exact, and_(near, again))
    new = fmax(fmax(i, fmax(j, k)) + 1.0, float(len(_CORNERS)))
    room = and_(lt(new, float(_POINTS)), lt(last, _WAITING - 2.5))
    enough = depth * (1.0 - gap) - rounding
    if gap:  # cells along a level valley, as about a common axis, close slowly
        enough = where(lt(s.steps, _MANY), enough, fmin(enough, depth - rounding * _CLOSE))
    enough = enough * fabs(enough)
    equal = depth * _EQUAL + rounding
    equal = equal * fabs(equal)
    is_cut = and_(and_(and_(has_cut, room), lt(square, enough)), or_(shifted, not_(is_exact)))
    cells = []
    if not valleys:  # a cell that is not cut may contain a rival
        rival, m = _closed(best, rival, m, and_(le(enough, square), lt(square, equal)), square, cut)
    for corner, corners in enumerate(((new, j, k), (i, new, k), (i, j, new))):
        part = _least(_replaced(n, corner, cut), _replaced(w, corner, point))
        is_part = and_(is_cut, lt(0.5, fabs(side - float(corner))))  # at most two parts for a cut on a side
        open_ = and_(is_part, lt(part.square, enough))
        cells.append((open_, corners, part))
        if not valleys:
            closed = and_(and_(is_part, not_(open_)), lt(part.square, equal))
            rival, m = _closed(best, rival, m, closed, part.square, part.n)
    targets = []
    num_cells = last
    for k, (is_part, _, part) in enumerate(cells):  # the cell of least bound is next, so it is the last on the stack
        before: Any = 0.0
        for index, (is_tied, _, against) in enumerate(cells):
            if index != k:
                first = lt(part.square, against.square) if index > k else le(part.square, against.square)
                before = before + where(and_(is_tied, first), 1.0, 0.0)
        targets.append(where(is_part, last + before, -1.0))
        num_cells = num_cells + where(is_part, 1.0, 0.0)
    waiting = s.waiting
    for target, (_, corners, part) in zip(targets, cells, strict=True):
        waiting = with_entry(waiting, target, [_code(*corners, part.side), part.square, *part.n])
    points = with_entry(s.points, where(is_cut, new, -1.0), [*cut, *point])
    return DepthSearch(depth, best, rival, m, points, waiting, num_cells, s.steps + 1.0)


def _split_code(code: Any) -> tuple[Any, Any]:
    """Return the last of the small integers that a code combines, and the code of the remaining integers."""
    remaining = floor(code * (1.0 / _BASE))
    return code - remaining * _BASE, remaining


def _replaced(corners: tuple[Vec3, ...], corner: int, by: Vec3) -> tuple[Vec3, ...]:
    return (*corners[:corner], by, *corners[corner + 1 :])


def _least(n: tuple[Vec3, ...], w: tuple[Vec3, ...]) -> _Cut:
    """Return the cut of a cell where its lower bound of the overlap is least; the square is `_NEVER` at a corner.

    Directions m have any length; their bounds h/‖m‖ are compared by h |h| and m · m, without divisions.
    """
    best: tuple[Any, Any, Vec3, Any] = (_NEVER, 1.0, Vec3(0.0, 0.0, 1.0), 0.0)
    start, end, part, total = n[1], n[2], 1.0, 2.0
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        e = w[i] - w[j]
        p, q = n[i].dot(e), -n[j].dot(e)
        m = n[i] * q + n[j] * p
        less, best = _less(best, and_(lt(0.0, p), lt(0.0, q)), m, m.dot(w[i]), float(k))
        start, end = choose(less, n[i], start), choose(less, n[j], end)
        part, total = where(less, p, part), where(less, p + q, total)
    u, v = w[1] - w[0], w[2] - w[0]
    m = u.cross(v)
    known = lt(_FLAT * (u.dot(u) * v.dot(v)), m.dot(m))
    signs = [m.dot(n[(k + 1) % 3].cross(n[(k + 2) % 3])) for k in range(3)]
    above = and_(lt(0.0, signs[0]), and_(lt(0.0, signs[1]), lt(0.0, signs[2])))
    below = and_(lt(signs[0], 0.0), and_(lt(signs[1], 0.0), lt(signs[2], 0.0)))
    height = m.dot(w[0])
    inside_cell = and_(known, or_(above, below))
    inside, (least, length, cut, side) = _less(best, inside_cell, m, where(below, -height, height), 3.0)
    s = part / total
    t = fmin(fmax(s, _AWAY), 1.0 - _AWAY)
    shifted = and_(not_(inside), lt(0.0, fabs(s - t)))
    cut = choose(inside, choose(below, -cut, cut), start + (end - start) * t)
    return _Cut(least / length, cut, where(shifted, side + 4.0, side))


def _less(
    best: tuple[Any, Any, Vec3, Any], exists: Any, m: Vec3, h: Any, side: Any
) -> tuple[Any, tuple[Any, Any, Vec3, Any]]:
    """Return (less, better): True if an overlap's bound h/‖m‖ exists and is below the best one; the better of both."""
    least, length, cut, where_ = best
    signed, square = h * fabs(h), m.dot(m)
    less = and_(exists, and_(lt(0.0, square), lt(signed * length, least * square)))
    better = where(less, signed, least), where(less, square, length), choose(less, m, cut), where(less, side, where_)
    return less, better


_PARALLEL = by_type(1e-16)  # sin² of the angle below which axes of revolution are parallel
_ON_AXIS = by_type(1e-28)  # relative square of an orthogonal component below which it is a rounding error


def direction(v: Vec3) -> Vec3:
    """Return v divided by its length, or the unit vector z for a zero vector."""
    known = lt(TINY, v.dot(v))
    return choose(known, v * (1.0 / sqrt(safe_square(v))), Vec3(0.0, 0.0, 1.0))


def rotational_symmetry(difference: Difference) -> RotationalSymmetry | None:
    """Return the parallel axes of two bodies of revolution; None for other types of cores."""
    of_a, of_b = _axis_of_revolution(difference.a), _axis_of_revolution(difference.b)
    if of_a is None or of_b is None:
        return None
    (axis, round_a, any_a), (axis_b, round_b, any_b) = of_a, of_b
    axis, axis_b = choose(any_a, axis_b, axis), choose(any_b, axis, axis_b)
    sine = axis.cross(axis_b)
    parallel = and_(and_(round_a, round_b), lt(sine.dot(sine), _PARALLEL))
    between = difference.between()
    out = between - axis * axis.dot(between)
    out = choose(lt(_ON_AXIS * between.dot(between), out.dot(out)), out, across(axis))
    return RotationalSymmetry(parallel, axis, direction(out - axis * axis.dot(out)))


def _axis_of_revolution(core: Any) -> tuple[Vec3, Any, Any] | None:
    """Return an axis, and flags of symmetry of revolution about it and about any axis; None for other types."""
    if isinstance(core, SegmentCore):
        square = core.half.dot(core.half)
        return direction(core.half), le(0.0, square), le(square, 0.0)
    if isinstance(core, (CylinderCore, ConeCore)):
        return _axes(core)[2], le(0.0, core.radius), lt(core.radius, 0.0)
    if isinstance(core, EllipsoidCore):
        r, (x, y, z) = core.radii, _axes(core)
        about_x, about_y, about_z = le(fabs(r.y - r.z), 0.0), le(fabs(r.z - r.x), 0.0), le(fabs(r.x - r.y), 0.0)
        axis = choose(about_z, z, choose(about_y, y, x))
        return axis, or_(about_x, or_(about_y, about_z)), and_(about_x, about_y)
    return None


def images(difference: Difference, n: Vec3) -> list[Vec3]:
    """Return directions that the bodies' symmetries relate to n: −n, its mirror and rotated images, and their axes."""
    result = [-n]
    for core in (difference.a, difference.b):
        for axis in _axes(core):
            image = n - axis * (2.0 * axis.dot(n))
            result += [image, -image, axis, -axis]
    return result


def _axes(core: Any) -> list[Vec3]:
    """Return the axes of a core's possible mirror and rotational symmetries."""
    if isinstance(core, SegmentCore):
        return [direction(core.half)]
    if not hasattr(core, "pose"):
        return []
    return [core.pose.rotation @ Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
