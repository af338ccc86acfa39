"""Peaks and ridges of a height field that stand into a body from below.

Of the field's points around the body's middle, in each quarter of them the one counts that is deepest in the body, so
there are four places, two of them on a ridge.  How many points are looked at follows from the shape and the field: all
that may be below it, 31 × 31 at most.  A point is touched along a normal that leads out of the ground there, away from
all points next to it, some of which are lower: what is flat, or hollow, is touched by the body's own corners, and
nothing is touched by the sides of what is pushed across it.  A ridge counts by its points alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.expr.autodiff.custom_derivative_still import still
from linkwork.expr.control import scan
from linkwork.expr.scalar.functions import and_, fabs, floor, fmax, fmin, le, lt, where
from linkwork.geometry.contacts.contact_manifold import Contact, Touching
from linkwork.geometry.cores import PointCore, Solid
from linkwork.geometry.fields.height_field import Ground, corner_at
from linkwork.geometry.pairs import signed_distance
from linkwork.geometry.separation_bounds import bounding_sphere
from linkwork.shapes import Shape

__all__ = ["peaks_below", "points_below"]

_MOST = 15  # points to each side of the middle
_QUARTERS = ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0))
_AROUND = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))  # what triangles join a point with
_FAR = 1e9  # [m]
_RISE = 0.05  # sines of angles along the normal by which points next to one rise and fall, and count as level


def points_below(shape: Shape, spacing: Sequence[float]) -> tuple[int, int]:
    """How many points of a field, that far apart [m], a shape may be above to each side of its middle."""
    reach = math.inf if shape.reach is None else shape.reach  # from its origin
    x, y = (_MOST if reach > _MOST * s else math.ceil(reach / s) for s in spacing)
    return x, y


def peaks_below(ground: Ground, b: Solid, counts: tuple[int, int], within: Any) -> list[Touching]:
    """Four places, which are there where such a point is no farther than ``within`` [m] from the solid.

    Both are in the field's coordinates; ``counts`` is how many of its points are looked at to each side.
    """
    around = bounding_sphere(b.core)
    x0, y0, dx, dy = ground.grid[:4]
    middle = [floor((around.center.x - x0) / dx + 0.5), floor((around.center.y - y0) / dy + 0.5)]
    i0, j0 = still(middle)
    found = []
    for side_x, side_y in _QUARTERS:
        # the first quarter to each side has what stands in the middle
        ways = [(i, j) for i in range(side_x > 0.0, counts[0] + 1) for j in range(side_y > 0.0, counts[1] + 1)]
        offsets = [[side_x * i, side_y * j] for i, j in ways]

        def nearer(best: tuple[Any, Any, Any], way: Any) -> tuple[tuple[Any, Any, Any], None]:
            i, j = i0 + way[0], j0 + way[1]
            p = corner_at(ground, *_kept(ground, i, j))
            apart = where(_on(ground, i, j), signed_distance(Solid(PointCore(p)), b).distance, _FAR)
            less = lt(apart, best[0])
            return (where(less, apart, best[0]), where(less, i, best[1]), where(less, j, best[2])), None

        (_, i, j), _ = scan(nearer, (_FAR, i0, j0), offsets)
        i, j = still([i, j])
        on = _on(ground, i, j)
        i, j = _kept(ground, i, j)
        p = corner_at(ground, i, j)
        near = signed_distance(Solid(PointCore(p)), b)
        there = and_(on, le(near.distance, within))
        falls: Any = 0.0
        for a, c in _AROUND:
            way = corner_at(ground, *_kept(ground, i + a, j + c)) - p
            rises, least = near.normal.dot(way), _RISE * _RISE * way.dot(way)
            there = and_(there, le(rises * fabs(rises), least))
            falls = fmax(falls, where(lt(rises * fabs(rises), -least), 1.0, 0.0))
        there = and_(there, lt(0.5, falls))
        found.append(Touching(near.normal, (Contact(near.on_a, near.on_b, -near.distance, there),)))
    return found


def _on(ground: Ground, i: Any, j: Any) -> Any:
    cells_x, cells_y = ground.grid[4:6]
    return and_(and_(le(0.0, i), le(i, cells_x)), and_(le(0.0, j), le(j, cells_y)))


def _kept(ground: Ground, i: Any, j: Any) -> tuple[Any, Any]:
    cells_x, cells_y = ground.grid[4:6]
    return fmin(fmax(i, 0.0), cells_x), fmin(fmax(j, 0.0), cells_y)
