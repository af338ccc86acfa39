"""Quickhull: the convex hull of points, with triangular facets.

The farthest point over a facet replaces all facets that it is above.  That a point is above a facet is decided exactly,
by rational arithmetic where rounding could matter, so the surface is closed for all inputs.  Points within `_NEAR` of a
facet count as inside.

Sources: Barber, Dobkin and Huhdanpaa, The Quickhull algorithm for convex hulls, ACM TOMS 22, 1996; Shewchuk, Adaptive
precision floating-point arithmetic and fast robust geometric predicates, 1997 (the bound on rounding).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

__all__ = ["FLAT", "hull_triangles"]

FLAT = 1e-10  # relative to the extent: minimum thickness of points with a hull
_NEAR = 1e-14  # relative to the extent: points less far outside count as inside
_TIE = 1e-13  # relative to the extent: points within this of the farthest are ties
_ROUNDING = 7.8e-16  # bound on the rounding error of a determinant relative to its permanent
_OBLIQUE = np.array([0.6180339887, 0.4142135624, 0.2360679775])  # direction that breaks ties in favour of a corner


def hull_triangles(points: np.ndarray) -> np.ndarray:
    """Return the triangles (m, 3) of the hull of points (n, 3), as indices, counterclockwise from outside.

    Points inside facets and edges, within rounding, are not vertices.  Raises ValueError with the text "flat" for
    coplanar points.
    """
    extent = float(np.linalg.norm(np.ptp(points, axis=0))) if len(points) else 0.0
    if not np.isfinite(extent * extent * extent):
        raise ValueError("too large")
    return _Hull(points, extent).triangles()


class _Hull:
    def __init__(self, points: np.ndarray, extent: float) -> None:
        self.points, self.extent = points, extent
        self.lists = points.tolist()
        self.exact: dict[int, list[Fraction]] = {}
        self.facets: dict[int, tuple[int, int, int]] = {}
        self.edges: dict[tuple[int, int], int] = {}  # facet to the left of each directed edge
        self.over: dict[int, np.ndarray] = {}  # indices of the points above a facet; each point has one facet
        self.count = 0  # of facets created so far

    def triangles(self) -> np.ndarray:
        corners = self._first_four()
        a, b, c, d = corners
        if self._above(d, (a, b, c)):
            b, c = c, b
        new = [self._add(*facet) for facet in ((a, b, c), (a, d, b), (b, d, c), (c, d, a))]
        self._share(new, np.setdiff1d(np.arange(len(self.points)), corners))
        waiting = list(new)
        while waiting:
            facet = waiting.pop()
            if facet not in self.facets or not len(self.over[facet]):
                continue
            point = self._farthest(facet)
            if point is None:
                continue
            new = self._replace(facet, point)
            waiting += new
        return np.array(list(self.facets.values()))

    def _first_four(self) -> list[int]:
        """Return four points that span a tetrahedron of non-zero volume."""
        p = self.points
        if len(p) < 4 or self.extent == 0.0:
            raise ValueError("flat")
        a = int(np.lexsort((p[:, 2], p[:, 1], p[:, 0]))[0])
        offset = (p - p[a]) / self.extent
        b = self._maximum((offset * offset).sum(axis=1))
        along = offset[b] / np.linalg.norm(offset[b])
        off = offset - (offset @ along)[:, None] * along
        c = self._maximum((off * off).sum(axis=1))
        if np.linalg.norm(off[c]) <= FLAT:
            raise ValueError("flat")
        normal = np.cross(along, off[c] / np.linalg.norm(off[c]))
        height = np.abs(offset @ normal)
        d = self._maximum(height)
        if height[d] <= FLAT:
            raise ValueError("flat")
        return [a, b, c, d]

    def _maximum(self, values: np.ndarray) -> int:
        """Return the index of the point with the largest value; among ties it is a corner of the hull."""
        ties = np.flatnonzero(values >= values.max() - _TIE)
        return int(ties[np.argmax(self.points[ties] @ _OBLIQUE)])

    def _add(self, a: int, b: int, c: int) -> int:
        self.count += 1
        self.facets[self.count] = (a, b, c)
        for edge in ((a, b), (b, c), (c, a)):
            self.edges[edge] = self.count
        self.over[self.count] = np.empty(0, int)
        return self.count

    def _normals(self, facets: list[int]) -> tuple[np.ndarray, np.ndarray]:
        corners = self.points[np.array([self.facets[k] for k in facets])]
        normals = np.cross((corners[:, 1] - corners[:, 0]) / self.extent, (corners[:, 2] - corners[:, 0]) / self.extent)
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        return normals / np.where(length > 0.0, length, 1.0), corners[:, 0]

    def _share(self, facets: list[int], points: np.ndarray) -> None:
        """Assign each point to the facet that it is highest above, if any."""
        if not len(points):
            return
        normals, corners = self._normals(facets)
        best, high = np.zeros(len(points), int), np.full(len(points), _NEAR * self.extent)
        for k, (normal, corner) in enumerate(zip(normals, corners, strict=True)):
            height = (self.points[points] - corner) @ normal
            best = np.where(height > high, k + 1, best)
            high = np.maximum(height, high)
        for k, facet in enumerate(facets):
            self.over[facet] = points[best == k + 1]

    def _farthest(self, facet: int) -> int | None:
        """Return the farthest of all points above a facet, among ties a corner; None if no point is above it."""
        (normal,), (corner,) = self._normals([facet])
        height = (self.points - corner) @ normal
        threshold = max(height.max() - _TIE * self.extent, _NEAR * self.extent)
        ties = np.flatnonzero(height >= threshold)
        ordered = ties[np.argsort(-(self.points[ties] @ _OBLIQUE))][:1].tolist()
        own = self.over[facet]
        ordered += own[np.argsort(-height[own])].tolist()
        return next((k for k in ordered if self._above(k, self.facets[facet])), None)

    def _replace(self, facet: int, point: int) -> list[int]:
        """Replace all facets that a point is above by facets from their border to the point, and return these."""
        visible, border, stack = {facet}, [], [facet]
        while stack:
            a, b, c = self.facets[stack.pop()]
            for u, v in ((a, b), (b, c), (c, a)):
                other = self.edges[v, u]
                if other in visible:
                    continue
                if self._above(point, self.facets[other]):
                    visible.add(other)
                    stack.append(other)
                else:
                    border.append((u, v))
        border = [(u, v) for u, v in border if self.edges[v, u] not in visible]
        left = np.concatenate([self.over.pop(k) for k in visible])
        for k in visible:
            a, b, c = self.facets.pop(k)
            for edge in ((a, b), (b, c), (c, a)):
                del self.edges[edge]
        new = [self._add(u, v, point) for u, v in border]
        self._share(new, left)
        return new

    def _above(self, point: int, facet: tuple[int, int, int]) -> bool:
        """Return True if a point is above the plane of a facet, decided exactly."""
        if point in facet:
            return False
        (ax, ay, az), (bx, by, bz), (cx, cy, cz), (x, y, z) = (self.lists[k] for k in (*facet, point))
        ux, uy, uz, vx, vy, vz, wx, wy, wz = (
            bx - ax,
            by - ay,
            bz - az,
            cx - ax,
            cy - ay,
            cz - az,
            x - ax,
            y - ay,
            z - az,
        )
        yz, zy, zx, xz, xy, yx = uy * vz, uz * vy, uz * vx, ux * vz, ux * vy, uy * vx
        det = wx * (yz - zy) + wy * (zx - xz) + wz * (xy - yx)
        error = (
            abs(wx) * (abs(yz) + abs(zy)) + abs(wy) * (abs(zx) + abs(xz)) + abs(wz) * (abs(xy) + abs(yx))
        ) * _ROUNDING
        if abs(det) > error and error > 1e-280:
            return bool(det > 0.0)
        a, b, c, p = (self._rational(k) for k in (*facet, point))
        u, v, w = ([s - t for s, t in zip(q, a, strict=True)] for q in (b, c, p))
        x_part, y_part = w[0] * (u[1] * v[2] - u[2] * v[1]), w[1] * (u[2] * v[0] - u[0] * v[2])
        volume = x_part + y_part + w[2] * (u[0] * v[1] - u[1] * v[0])
        return bool(volume > 0)

    def _rational(self, k: int) -> list[Fraction]:
        if k not in self.exact:
            self.exact[k] = [Fraction(x) for x in self.lists[k]]
        return self.exact[k]
