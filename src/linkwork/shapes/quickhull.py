"""The convex hull of points, its facets as triangles.

Quickhull: the farthest point over a facet takes the place of all facets that it is above.  What is above a facet is
decided exactly, by rational arithmetic where rounding could decide otherwise, so the facets always close, whatever the
points are; points within `_NEAR` of a facet count as inside.  [Barber, Dobkin and Huhdanpaa, The Quickhull algorithm
for convex hulls, ACM TOMS 22, 1996; the bound on rounding: Shewchuk, Adaptive precision floating-point arithmetic and
fast robust geometric predicates, 1997]
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

__all__ = ["FLAT", "hull_triangles"]

FLAT = 1e-10  # relative to the extent: points of less thickness have no hull
_NEAR = 1e-14  # relative to the extent: how far a point may be outside and count as inside
_EVEN = 1e-13  # relative to the extent: points this near to the farthest are as far
_ROUNDING = 7.8e-16  # relative to the permanent: the most that rounding changes a determinant by
_ASLANT = np.array([0.6180339887, 0.4142135624, 0.2360679775])  # chooses a corner where a whole side is as far


def hull_triangles(points: np.ndarray) -> np.ndarray:
    """The triangles (m, 3) of the hull of points (n, 3), by their indices, counterclockwise from outside.

    Corners alone are named: what lies inside sides and edges, within rounding, is not.  Raises ValueError, "flat",
    where all points lie in one plane.
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
        self.edges: dict[tuple[int, int], int] = {}  # of directed edges: the facet on their left
        self.over: dict[int, np.ndarray] = {}  # indices of points above a facet, each with one facet
        self.made = 0

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
        """Four points of some volume."""
        p = self.points
        if len(p) < 4 or self.extent == 0.0:
            raise ValueError("flat")
        a = int(np.lexsort((p[:, 2], p[:, 1], p[:, 0]))[0])
        way = (p - p[a]) / self.extent
        b = self._most((way * way).sum(axis=1))
        along = way[b] / np.linalg.norm(way[b])
        off = way - (way @ along)[:, None] * along
        c = self._most((off * off).sum(axis=1))
        if np.linalg.norm(off[c]) <= FLAT:
            raise ValueError("flat")
        normal = np.cross(along, off[c] / np.linalg.norm(off[c]))
        height = np.abs(way @ normal)
        d = self._most(height)
        if height[d] <= FLAT:
            raise ValueError("flat")
        return [a, b, c, d]

    def _most(self, values: np.ndarray) -> int:
        """The point of the largest value; a corner, where several have it."""
        even = np.flatnonzero(values >= values.max() - _EVEN)
        return int(even[np.argmax(self.points[even] @ _ASLANT)])

    def _add(self, a: int, b: int, c: int) -> int:
        self.made += 1
        self.facets[self.made] = (a, b, c)
        for edge in ((a, b), (b, c), (c, a)):
            self.edges[edge] = self.made
        self.over[self.made] = np.empty(0, int)
        return self.made

    def _normals(self, facets: list[int]) -> tuple[np.ndarray, np.ndarray]:
        corners = self.points[np.array([self.facets[k] for k in facets])]
        normals = np.cross((corners[:, 1] - corners[:, 0]) / self.extent, (corners[:, 2] - corners[:, 0]) / self.extent)
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        return normals / np.where(length > 0.0, length, 1.0), corners[:, 0]

    def _share(self, facets: list[int], points: np.ndarray) -> None:
        """Puts each point over the facet that it is highest above, if it is above one."""
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
        """The farthest of all points over a facet; a corner, where several are as far."""
        (normal,), (corner,) = self._normals([facet])
        height = (self.points - corner) @ normal
        least = max(height.max() - _EVEN * self.extent, _NEAR * self.extent)
        even = np.flatnonzero(height >= least)
        ordered = even[np.argsort(-(self.points[even] @ _ASLANT))][:1].tolist()
        own = self.over[facet]
        ordered += own[np.argsort(-height[own])].tolist()
        return next((k for k in ordered if self._above(k, self.facets[facet])), None)

    def _replace(self, facet: int, point: int) -> list[int]:
        """Puts facets to a point in the place of all that it is above."""
        seen, border, stack = {facet}, [], [facet]
        while stack:
            a, b, c = self.facets[stack.pop()]
            for u, v in ((a, b), (b, c), (c, a)):
                other = self.edges[v, u]
                if other in seen:
                    continue
                if self._above(point, self.facets[other]):
                    seen.add(other)
                    stack.append(other)
                else:
                    border.append((u, v))
        border = [(u, v) for u, v in border if self.edges[v, u] not in seen]
        left = np.concatenate([self.over.pop(k) for k in seen])
        for k in seen:
            a, b, c = self.facets.pop(k)
            for edge in ((a, b), (b, c), (c, a)):
                del self.edges[edge]
        new = [self._add(u, v, point) for u, v in border]
        self._share(new, left)
        return new

    def _above(self, point: int, facet: tuple[int, int, int]) -> bool:
        """Whether a point is above the plane of a facet, exactly."""
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
        most = (
            abs(wx) * (abs(yz) + abs(zy)) + abs(wy) * (abs(zx) + abs(xz)) + abs(wz) * (abs(xy) + abs(yx))
        ) * _ROUNDING
        if abs(det) > most and most > 1e-280:
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
