"""Quickhull: the convex hull of points, with triangular facets.

The farthest point over a facet replaces all facets that it is above.  That a point is above a facet is decided exactly,
by integer arithmetic where rounding could matter, so the surface is closed for all inputs.  Points within `_NEAR` of a
facet count as inside.

Many points are added at once, with arrays: in each round all facets with points above them propose their farthest, and
those points are added whose visible facets neither overlap nor touch.  Then each new edge is convex, as if the points
had been added one by one.  Sums are of elementwise products in a fixed order, so each machine returns the same hull.

A point inside a plane facet or an edge can become a vertex if the corner of that facet was not proposed with it.
Afterwards, vertices with flat surroundings are left out, and added again only where they are outside.

Sources: Barber, Dobkin and Huhdanpaa, The Quickhull algorithm for convex hulls, ACM TOMS 22, 1996; Shewchuk, Adaptive
precision floating-point arithmetic and fast robust geometric predicates, 1997 (the bound on rounding).
"""

from __future__ import annotations

import itertools

import numpy as np

from linkwork.shapes.hull_start import (
    AFTER,
    BEFORE,
    TIE,
    changes,
    dots,
    first_four,
    scaled_points,
    slopes,
    true_at,
)

__all__ = ["hull_triangles"]

_NEAR = 1e-14  # relative to the extent: points less far outside count as inside
_LEVEL = 1e-12  # relative to the extent: facets within this of a common plane are flat at their edge
_ROUNDING = 7.8e-16  # bound on the rounding error of a determinant relative to its permanent
_TINY = 1e-280  # products above this have no error from underflow
_PAIRS = 200_000  # of points and facets at a time; bounds the memory
_MANY = 40  # proposals; among more, neighbours are thinned out first
_SCRAMBLE = np.uint32(2654435761)  # multiplier of a hash: orders proposals evenly over the surface
_SIDES = np.arange(3)


def hull_triangles(points: np.ndarray) -> np.ndarray:
    """Return the triangles (m, 3) of the hull of points (n, 3), as indices, counterclockwise from outside.

    Points inside facets and edges, within rounding, are not vertices.  Raises ValueError with the text "flat" for
    coplanar points.
    """
    scaled, extent = scaled_points(points)
    everything = np.arange(len(points))
    hull = _Hull(points, scaled, extent, everything)
    hull.grow()
    doubtful = hull.flat_vertices()
    firm = np.setdiff1d(hull.triangles(), doubtful)
    if len(doubtful) and len(firm) >= 4:
        try:
            again = _Hull(points, scaled, extent, firm)
        except ValueError:
            return hull.triangles()
        again.grow()
        again.offer(doubtful)
        again.grow()
        hull = again
    return hull.triangles()


class _Hull:
    """Closed surface of triangles.

    Half-edge 3 k + j begins at corner j of facet k; its twin is the same edge from the other side.
    """

    def __init__(self, points: np.ndarray, scaled: np.ndarray, extent: float, indices: np.ndarray) -> None:
        self.original, self.points, self.extent = points, scaled, extent
        self.slope = slopes(scaled)
        self.wholes: tuple[np.ndarray, np.ndarray] | None = None
        self.count, self.free = 4, np.empty(0, np.intp)  # facets, those among them that are not in use
        room = 64
        self.corner, self.twin = np.zeros(3 * room, np.intp), np.zeros(3 * room, np.intp)
        self.normal, self.bound = np.zeros((3, room)), np.zeros((3, room))  # of twice the area; sums of moduli
        self.inverse = np.zeros(room)  # of the length of the normal
        self.apex = np.full(room, -1)  # the point that the facet proposes
        self.owner = np.full(room, -1)  # the proposal that sees the facet, in the present round
        self.slot = np.zeros(room, np.intp)
        self.tied = False  # two points have been equally far above a facet
        self.outside, self.home = np.empty(0, np.intp), np.empty(0, np.intp)  # points, each with one facet below it
        self.high = np.empty(0)  # height of each over its facet; zero if it is no candidate
        self._start(*first_four(scaled, extent, indices))
        self.offer(indices)

    def _start(self, a: int, b: int, c: int, d: int) -> None:
        self.corner[:3] = a, b, c
        self._measure(np.zeros(1, np.intp))
        if self._above(np.array([d]), np.zeros(1, np.intp))[0]:
            b, c = c, b
        self.corner[:12] = a, b, c, a, d, b, b, d, c, c, d, a
        ends = [(a, b), (b, c), (c, a), (a, d), (d, b), (b, a), (b, d), (d, c), (c, b), (c, d), (d, a), (a, c)]
        self.twin[:12] = [ends.index((v, u)) for u, v in ends]
        self._measure(np.arange(4))

    def triangles(self) -> np.ndarray:
        return self.corner[3 * self._facets()[:, None] + _SIDES]

    def _facets(self) -> np.ndarray:
        return np.setdiff1d(np.arange(self.count), self.free)

    def offer(self, points: np.ndarray) -> None:
        """Assign each point outside of the surface to a facet that it is above."""
        facets = self._facets()
        self._assign(points, np.zeros(len(points), np.intp), np.full(len(points), len(facets)), facets)

    def grow(self) -> None:
        """Add points to the surface until none is outside."""
        while len(proposals := self._proposals()):
            self._add(*self._visible(proposals))

    def _proposals(self) -> np.ndarray:
        """Return the facets that propose a point to add, by ascending preference."""
        count = self.count
        facets = true_at(self.apex[:count] >= 0)
        order = facets.astype(np.uint32) * _SCRAMBLE
        if len(facets) > _MANY:
            rank = np.zeros(count, np.uint32)
            rank[facets] = order
            near = self.twin[3 * facets[:, None] + _SIDES] // 3
            chosen = rank[near].max(axis=1) <= order
            facets, order = facets[chosen], order[chosen]
        facets = facets[np.argsort(order, kind="stable")]
        if self.tied and 0 < len(facets) * len(self.outside) <= _PAIRS:
            self._prefer_corners(facets)
        sound = self._above(self.apex[facets], facets)
        if not sound.all():
            self._reject(facets[~sound])
            return facets[sound] if sound.any() else self._proposals()
        return facets

    def _prefer_corners(self, facets: np.ndarray) -> None:
        """Replace the proposed point of each facet by a corner of the hull, if it is as far above the facet."""
        first = self.corner[3 * facets]
        normal = self.normal[:, facets] * self.inverse[facets]
        x, y, z = self.points[:, self.outside]
        (a, b, c), (i, j, k) = self.points[:, first, None], normal[:, :, None]
        height = (x - a) * i + (y - b) * j + (z - c) * k
        least = np.maximum(height.max(axis=1) - TIE * self.extent, _NEAR * self.extent)
        slope = np.where(height >= least[:, None], self.slope[self.outside], -np.inf)
        best = slope.argmax(axis=1)
        point = self.outside[best]
        better = true_at((point != self.apex[facets]) & (height[np.arange(len(facets)), best] >= least))
        better = better[self._above(point[better], facets[better])]
        self.apex[facets[better]] = point[better]

    def _reject(self, facets: np.ndarray) -> None:
        """Propose another point for each of the facets, since rounding placed the present one above the facet."""
        self.owner[facets] = 0
        proposed = true_at(self.owner[self.home] == 0)
        self.owner[facets] = -1
        refused = self.outside[proposed] == self.apex[self.home[proposed]]
        self.high[proposed[refused]] = 0.0
        self.apex[facets] = -1
        left = proposed[self.high[proposed] > 0.0]
        self._propose(self.outside[left], self.home[left], self.high[left])

    def _visible(self, proposals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the points to add, and for all facets visible from them the index of the point and the facet.

        If the visible facets of two proposals overlap or touch, the later proposal is taken.
        """
        owner, twin, slot = self.owner, self.twin, self.slot
        point = self.apex[proposals]
        taken = np.ones(len(point), bool)
        f, c = proposals, np.arange(len(point))
        owner[f] = c
        marked, owners = [f], [c]
        while len(f):
            g = twin[(3 * f[:, None] + _SIDES).ravel()] // 3
            c = np.repeat(c, 3)
            new = true_at(owner[g] != c)
            g, c = g[new], c[new]
            new = true_at(self._above(point[c], g))
            g, c = g[new], c[new]
            before = owner[g]
            contested = true_at(before >= 0)
            if len(contested):
                lost = (before > c) & taken[before]
                taken[before[(before >= 0) & ~lost]] = False
                taken[c[lost]] = False
                new = true_at(taken[c])
                g, c = g[new], c[new]
            owner[g] = c  # the last, so the highest
            taken[c[owner[g] != c]] = False
            step = np.arange(len(g))
            slot[g] = step
            new = true_at(slot[g] == step)
            g, c = g[new], c[new]
            marked.append(g)
            owners.append(c)
            new = true_at(taken[c])
            f, c = g[new], c[new]
        f, c = np.concatenate(marked), np.concatenate(owners)
        new = true_at(taken[c])
        visible, by = f[new], c[new]
        owner[f] = -1
        owner[visible] = by
        neighbour = owner[twin[3 * visible[:, None] + _SIDES] // 3]
        touching = (neighbour >= 0) & (neighbour != by[:, None])
        if touching.any():
            taken[np.minimum(neighbour, by[:, None])[touching]] = False
            owner[visible] = -1
            new = true_at(taken[by])
            visible, by = visible[new], by[new]
        number = np.cumsum(taken) - 1
        order = np.argsort(by, kind="stable")
        visible, by = visible[order], number[by[order]]
        owner[visible] = by
        return point[taken], by, visible

    def _add(self, points: np.ndarray, by: np.ndarray, visible: np.ndarray) -> None:
        """Replace the facets visible from each point by new facets between their outer edges and the point."""
        many = len(points)
        half = (3 * visible[:, None] + _SIDES).ravel()
        twin = self.twin[half]
        by = np.repeat(by, 3)
        border = true_at(self.owner[twin // 3] != by)
        half, twin, by = half[border], twin[border], by[border]
        following = half + 1
        following[following % 3 == 0] -= 3
        u, v = self.corner[half], self.corner[following]

        cavity = self.owner[self.home]
        self.owner[visible] = -1
        self.apex[visible] = -1
        missing = max(0, len(u) - len(visible) - len(self.free))
        self._reserve(self.count + missing)
        room = np.concatenate([visible, self.free, np.arange(self.count, self.count + missing)])
        new, self.free = room[: len(u)], room[len(u) :]
        self.count += missing

        first = 3 * new
        self.corner[first], self.corner[first + 1], self.corner[first + 2] = u, v, points[by]
        self.twin[first], self.twin[twin] = twin, first
        base = by * len(self.slope)
        starts, ends = first[np.argsort(base + u)] + 2, first[np.argsort(base + v)] + 1
        self.twin[starts], self.twin[ends] = ends, starts
        self._measure(new)

        rows = np.bincount(by, minlength=many)
        begin = np.cumsum(rows) - rows
        freed = cavity >= 0
        loose, cavity = self.outside[freed], cavity[freed]
        left = true_at(loose != points[cavity])
        loose, cavity = loose[left], cavity[left]
        stay = ~freed
        self.outside, self.home, self.high = self.outside[stay], self.home[stay], self.high[stay]
        self._assign(loose, begin[cavity], rows[cavity], new)

    def _reserve(self, count: int) -> None:
        have = len(self.inverse)
        if count <= have:
            return
        more = max(count, 2 * have) - have
        for name in ("corner", "twin"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros(3 * more, np.intp)]))
        for name in ("normal", "bound"):
            setattr(self, name, np.concatenate([getattr(self, name), np.zeros((3, more))], axis=1))
        for name, value in (("inverse", 0), ("apex", -1), ("owner", -1), ("slot", 0)):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.full(more, value, array.dtype)]))

    def _measure(self, facets: np.ndarray) -> None:
        """Compute and store the normals of facets."""
        p, first = self.points, 3 * facets
        a = p.take(self.corner[first], axis=1)
        s, t = p.take(self.corner[first + 1], axis=1) - a, p.take(self.corner[first + 2], axis=1) - a
        plus, minus = s[AFTER] * t[BEFORE], s[BEFORE] * t[AFTER]
        normal = plus - minus
        self.normal[:, facets] = normal
        self.bound[:, facets] = np.abs(plus) + np.abs(minus)
        length = np.sqrt(dots(normal, normal))
        self.inverse[facets] = 1.0 / np.where(length > 0.0, length, 1.0)

    def _assign(self, points: np.ndarray, begin: np.ndarray, rows: np.ndarray, facets: np.ndarray) -> None:
        """Assign each point to the facet, of ``facets[begin : begin + rows]``, that it is highest above; if any."""
        if not len(points):
            return
        highest = []
        cuts = [0, len(points)]
        if (total := int(rows.sum())) > _PAIRS:
            cuts = [0, *(1 + np.searchsorted(np.cumsum(rows), np.arange(_PAIRS, total, _PAIRS))).tolist(), len(points)]
        for i, j in itertools.pairwise(cuts):
            if i < j:
                highest.append(self._highest(points[i:j], begin[i:j], rows[i:j], facets))
        new, home, high = (np.concatenate(parts) for parts in zip(*highest, strict=True))
        self.outside = np.concatenate([self.outside, new])
        self.home, self.high = np.concatenate([self.home, home]), np.concatenate([self.high, high])
        self._propose(new, home, high)

    def _highest(
        self, points: np.ndarray, begin: np.ndarray, rows: np.ndarray, facets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        start = np.cumsum(rows) - rows
        point_of_row = np.repeat(np.arange(len(points)), rows)
        facet = facets[np.arange(len(point_of_row)) + (begin - start)[point_of_row]]
        offset = self.points.take(points[point_of_row], axis=1)
        offset -= self.points.take(self.corner[3 * facet], axis=1)
        height = dots(offset, self.normal.take(facet, axis=1)) * self.inverse[facet]
        best = np.maximum.reduceat(height, start)
        above = true_at(best > _NEAR * self.extent)
        least = np.maximum(best - TIE * self.extent, _NEAR * self.extent)
        ties = true_at((height >= least[point_of_row]) & (height > _NEAR * self.extent))
        tied = point_of_row[ties]  # of equally high facets the first, so one plane has one list
        first = ties[true_at(changes(tied))]
        return points[above], facet[first], height[first]

    def _propose(self, points: np.ndarray, home: np.ndarray, high: np.ndarray) -> None:
        """Set the proposed point of each facet: the farthest of the points above it, a corner among equal ones."""
        if not len(points):
            return
        order = np.argsort(home, kind="stable")
        points, home, high = points[order], home[order], high[order]
        fresh = changes(home)
        start = true_at(fresh)
        best = np.maximum.reduceat(high, start)
        number = np.cumsum(fresh) - 1
        ties = true_at(high >= np.maximum(best - TIE * self.extent, _NEAR * self.extent)[number])
        if len(ties) > len(start):
            self.tied = True
            ties = ties[np.lexsort((-self.slope[points[ties]], number[ties]))]
            ties = ties[true_at(changes(number[ties]))]
        self.apex[home[ties]] = points[ties]

    def _above(self, points: np.ndarray, facets: np.ndarray) -> np.ndarray:
        """Return a mask that is True where a point is above the plane of its facet, decided exactly."""
        offset = self.points.take(points, axis=1)
        offset -= self.points.take(self.corner[3 * facets], axis=1)
        det = dots(offset, self.normal.take(facets, axis=1))
        error = dots(np.abs(offset), self.bound.take(facets, axis=1)) * _ROUNDING
        above = np.asarray(det > error)
        unsure = true_at((np.abs(det) <= error) | (error <= _TINY))
        if len(unsure):
            above[unsure] = self._exactly_above(points[unsure], facets[unsure])
        return above

    def _exactly_above(self, points: np.ndarray, facets: np.ndarray) -> np.ndarray:
        corners = self.corner[3 * facets[:, None] + _SIDES]
        result = np.zeros(len(points), bool)
        distinct = true_at((corners != points[:, None]).all(axis=1))
        if not len(distinct):
            return result
        a = self._whole(corners[distinct, 0])
        u, v, w = (self._whole(k[distinct]) - a for k in (corners[:, 1], corners[:, 2], points))
        result[distinct] = ((u[AFTER] * v[BEFORE] - u[BEFORE] * v[AFTER]) * w).sum(axis=0) > 0
        return result

    def _whole(self, points: np.ndarray) -> np.ndarray:
        """Return coordinates (3, n) as Python integers in a common unit, for exact arithmetic."""
        if self.wholes is None:
            fraction, exponent = np.frexp(self.original.T)
            exponent = exponent.astype(int)
            least = exponent[fraction != 0.0].min()
            shift = np.where(fraction != 0.0, exponent - least, 0)
            self.wholes = np.ldexp(fraction, 53).astype(np.int64), shift
        mantissa, shift = self.wholes
        return np.asarray(np.left_shift(mantissa[:, points].astype(object), shift[:, points].astype(object)))

    def flat_vertices(self) -> np.ndarray:
        """Return vertices at which the surface is flat, or bent along one line."""
        half = (3 * self._facets()[:, None] + _SIDES).ravel()
        opposite = self.twin[half] - 1
        opposite[opposite % 3 == 2] += 3
        facet = half // 3
        offset = self.points.take(self.corner[opposite], axis=1) - self.points.take(self.corner[3 * facet], axis=1)
        height = np.abs(dots(offset, self.normal.take(facet, axis=1)) * self.inverse[facet])
        of_edge = np.zeros(3 * self.count)
        of_edge[half] = height
        bent = np.minimum(height, of_edge[self.twin[half]]) > _LEVEL * self.extent
        vertex = self.corner[half]
        edges = np.bincount(vertex, weights=bent, minlength=len(self.slope))
        return np.unique(vertex[edges[vertex] < 2.5])
