"""Progressive hulls: simplification of a convex hull to few vertices by an outer hull.

Edges of the hull collapse to points, the edge that adds the least volume first.  The point must keep all inner points
inside: for each edge of the surrounding ring, it is above the plane through the edge that supports the original hull.
These conditions and the volume are linear in the point, so it is the solution of a linear program in three variables.
Afterwards single vertices are moved by the same program.

Source: Sander, Gu, Gortler, Hoppe and Snyder, Silhouette clipping, SIGGRAPH 2000.  Here the planes support the original
hull and not the previous one, so errors do not accumulate.  An intersection of half-spaces has about two vertices for
each half-space: with the same number of vertices, its excess volume is several times larger.
"""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from linkwork.shapes.quickhull import hull_triangles

__all__ = ["distance_from_hull", "outer_vertices"]

_TOLERANCE = 1e-12  # relative to the extent
_PASSES = 4  # over single vertices
_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])
_MANY = 300  # corners; larger hulls are reduced to so many extreme points first
_STEPS = np.arange(_MANY)
_HEIGHTS = 1.0 - (2.0 * _STEPS + 1.0) / _MANY
_ANGLES = _STEPS * (np.pi * (3.0 - np.sqrt(5.0)))
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES), _HEIGHTS], axis=1)
_DIRECTIONS[:, :2] *= np.sqrt(1.0 - _HEIGHTS * _HEIGHTS)[:, None]  # of length 1, along a spiral
_TRIPLES = {n: np.array(list(itertools.combinations(range(n), 3)), int).reshape(-1, 3) for n in range(3, 25)}


def outer_vertices(points: np.ndarray, triangles: np.ndarray, max_vertices: int) -> np.ndarray:
    """Return at most ``max_vertices`` points whose hull contains the hull with vertices (n, 3) and triangles."""
    middle = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - middle, full_matrices=False)
    wide = np.ptp((points - middle) @ axes.T, axis=0)
    inner = (points - middle) @ axes.T / wide  # of equal extents; hulls and ratios of volumes are invariant
    if np.linalg.det(axes) < 0.0:
        triangles = triangles[:, ::-1]
    chosen = inner
    if len(inner) > _MANY:
        chosen = inner[np.unique(np.argmax(_DIRECTIONS @ inner.T, axis=1))]
        triangles = hull_triangles(chosen)
    surface = _Surface(chosen, triangles)
    surface.shrink(max_vertices)
    best, surface.inner = surface.corners(), inner
    for _ in range(_PASSES):
        best = _hull_of(best, surface.inner)
        surface.restart(best)
        surface.settle()
        moved = _hull_of(surface.corners(), surface.inner)
        if _volume(moved) >= _volume(best) * (1.0 - 1e-3):
            break
        best = moved
    return np.asarray(middle + (best * wide) @ axes)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross product; `numpy.cross` would spend more time on checks than on the product."""
    return np.asarray(a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT])


def _hull_of(points: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return the corners of the hull of ``points``, enlarged until no point of ``inner`` is outside by rounding.

    The mean of ``inner`` is zero.
    """
    corners: np.ndarray = points[np.unique(hull_triangles(points))]
    for _ in range(3):
        normals, offsets = _planes(corners, hull_triangles(corners))
        factor = float(((inner @ normals.T).max(axis=0) / offsets).max())
        if factor <= 1.0:
            break
        corners = corners * (factor + 4e-16)
    return corners


def _planes(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normals = _cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1)
    sound = length > 0.0
    normals = normals[sound] / length[sound, None]
    return normals, (points @ normals.T).max(axis=0)


def _volume(points: np.ndarray) -> float:
    triangles = hull_triangles(points)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return float((a * _cross(b, c)).sum() / 6.0)


class _Surface:
    """Closed triangle surface that contains all inner points."""

    def __init__(self, inner: np.ndarray, triangles: np.ndarray) -> None:
        self.inner = inner
        self._start(inner, triangles)

    def restart(self, points: np.ndarray) -> None:
        """Replace the surface by the convex hull of ``points``."""
        self._start(points, hull_triangles(points))

    def _start(self, points: np.ndarray, triangles: np.ndarray) -> None:
        self.at: dict[int, np.ndarray] = dict(enumerate(points))
        self.count = len(points)  # of vertices created so far
        self.after: dict[int, dict[int, int]] = {k: {} for k in self.at}  # from each neighbour to the next one
        for a, b, c in triangles.tolist():
            self.after[a][b], self.after[b][c], self.after[c][a] = c, a, b

    def corners(self) -> np.ndarray:
        return np.array(list(self.at.values()))

    def shrink(self, max_vertices: int) -> None:
        """Collapse edges until ``max_vertices`` vertices are left or no edge can collapse."""
        queue: list[tuple[float, int, int, int]] = []
        result: dict[tuple[int, int], tuple[int, np.ndarray]] = {}  # by queued edge: version of its entry, point
        stale: set[tuple[int, int]] = set()  # edges whose surroundings have changed
        versions = itertools.count()

        def evaluate(u: int, v: int) -> None:
            cost, point = self._cost(u, v)
            stale.discard((u, v))
            result[u, v] = next(versions), point
            heapq.heappush(queue, (cost, result[u, v][0], u, v))

        for u in self.at:
            for v in self.after[u]:
                if u < v:
                    evaluate(u, v)
        while len(self.at) > max_vertices and queue:
            cost, version, u, v = heapq.heappop(queue)
            if u not in self.at or v not in self.at or result[u, v][0] != version:
                continue
            if (u, v) in stale:
                evaluate(u, v)
                continue
            if not np.isfinite(cost):
                break
            new = self._collapse(u, v, result[u, v][1])
            for neighbour in self.after[new]:
                evaluate(min(neighbour, new), max(neighbour, new))
                stale.update((min(neighbour, k), max(neighbour, k)) for k in self.after[neighbour] if k != new)

    def settle(self) -> None:
        """Move vertices one by one to the positions of least enclosed volume."""
        for v in list(self.at):
            ring = self._ring(v)
            cost, point = self._best_tip(ring)
            if np.isfinite(cost) and cost < self._cone(ring, self.at[v]):
                self.at[v] = point

    def _ring(self, v: int) -> list[int]:
        after = self.after[v]
        first = next(iter(after))
        ring = [first]
        while (following := after[ring[-1]]) != first:
            ring.append(following)
        return ring

    def _around(self, u: int, v: int) -> list[int] | None:
        """Return the vertices around the edge (u, v), counterclockwise; None if the edge must not collapse."""
        ring_u, ring_v = self._ring(u), self._ring(v)
        if len(set(ring_u) & set(ring_v)) != 2 or len(ring_u) + len(ring_v) - 4 < 3:
            return None
        i, j = ring_u.index(v), ring_v.index(u)
        return ring_u[i + 1 :] + ring_u[:i] + (ring_v[j + 1 :] + ring_v[:j])[1:-1]

    def _cost(self, u: int, v: int) -> tuple[float, np.ndarray]:
        ring = self._around(u, v)
        if ring is None:
            return np.inf, np.zeros(3)
        cost, point = self._best_tip(ring)
        before = self._cone(self._ring(u), self.at[u]) + self._cone(self._ring(v), self.at[v])
        both = self._cone([v, self.after[u][v]], self.at[u]) + self._cone([self.after[v][u], v], self.at[u])
        return cost - before + both, point

    def _cone(self, ring: list[int], tip: np.ndarray) -> float:
        """Return six times the volume between the origin and the triangles from a ring of vertices to a tip.

        A ring of two vertices is an edge, with a single triangle.
        """
        p = np.array([self.at[k] for k in ring])
        if len(ring) == 2:
            return float(tip @ _cross(p[0], p[1]))
        return float(tip @ _cross(p, np.concatenate([p[1:], p[:1]])).sum(axis=0))

    def _best_tip(self, ring: list[int]) -> tuple[float, np.ndarray]:
        """Return the volume and the position of the point above a ring of vertices that adds the least volume.

        All inner points must be below the triangles from the ring to that point.
        """
        if not 3 <= len(ring) < 25:
            return np.inf, np.zeros(3)
        p = np.array([self.at[k] for k in ring])
        after = np.concatenate([p[1:], p[:1]])
        normals, offsets = self._supporting_planes(p, after)
        gradient = _cross(p, after).sum(axis=0)
        t = _TRIPLES[len(ring)]
        a, b, c = (normals[t[:, k]] for k in range(3))
        bc = _cross(b, c)
        det = (a * bc).sum(axis=1)
        sound = np.abs(det) > 1e-6
        if not sound.any():
            return np.inf, np.zeros(3)
        t, a, b, c, bc = t[sound], a[sound], b[sound], c[sound], bc[sound]
        d = offsets[t]
        tips = (d[:, :1] * bc + d[:, 1:2] * _cross(c, a) + d[:, 2:] * _cross(a, b)) / det[sound, None]
        is_outer = (tips @ normals.T >= offsets - _TOLERANCE).all(axis=1) & (np.abs(tips).max(axis=1) < 2.0)
        if not is_outer.any():
            return np.inf, np.zeros(3)
        volumes = tips[is_outer] @ gradient
        best = int(np.argmin(volumes))
        return float(volumes[best]), tips[is_outer][best]

    def _supporting_planes(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return normals and offsets of planes that contain the edge from a to b (n, 3) and touch the inner points.

        All inner points are below the plane. The points of contact are on the left of the edge, seen from outside.
        """
        along = b - a
        along = along / np.linalg.norm(along, axis=1, keepdims=True)
        middle = 0.5 * (a + b)
        up = middle - (middle * along).sum(axis=1, keepdims=True) * along  # the origin is inside
        up = up / np.linalg.norm(up, axis=1, keepdims=True)
        left = _cross(up, along)
        offset = self.inner[None] - a[:, None]
        x, y = np.einsum("nki,ni->nk", offset, left), np.einsum("nki,ni->nk", offset, up)
        slope = np.arctan2(y, x)  # angle from the left direction; the plane at the largest angle has all points below
        slope = np.where(slope > 0.5 * np.pi, slope - 2.0 * np.pi, slope)
        angle = np.where(x * x + y * y > _TOLERANCE * _TOLERANCE, slope, -np.inf).max(axis=1)
        normals = np.cos(angle)[:, None] * up - np.sin(angle)[:, None] * left
        return normals, (normals * a).sum(axis=1)

    def _collapse(self, u: int, v: int, point: np.ndarray) -> int:
        ring = self._around(u, v)
        assert ring is not None
        new, self.count = self.count, self.count + 1
        for k in ring:
            self.after[k].pop(u, None)
            self.after[k].pop(v, None)
        for gone in (u, v):
            del self.after[gone], self.at[gone]
        self.at[new] = point
        self.after[new] = {}
        for before, after in zip(ring, ring[1:] + ring[:1], strict=True):
            self.after[new][before], self.after[before][after], self.after[after][new] = after, new, before
        return new


def distance_from_hull(queries: np.ndarray, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return signed distances (m,) of query points (m, 3) from the hull of points; negative inside."""
    normals, offsets = _planes(points, triangles)
    result = (queries @ normals.T - offsets).max(axis=1)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    for k in np.flatnonzero(result > 0.0):
        result[k] = _distance_to_triangles(queries[k], a, b, c)
    return np.asarray(result)


def _distance_to_triangles(p: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Return the distance of a point to the nearest triangle; a, b, c (n, 3) are the corners."""
    least = min(_distance_to_segments(p, a, b), _distance_to_segments(p, b, c), _distance_to_segments(p, c, a))
    normals = _cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1)
    over = np.ones(len(a), bool)
    for s, t in ((a, b), (b, c), (c, a)):
        over &= (_cross(t - s, p - s) * normals).sum(axis=1) >= 0.0
    over &= length > 0.0
    if over.any():
        least = min(least, float((np.abs(((p - a) * normals).sum(axis=1))[over] / length[over]).min()))
    return least


def _distance_to_segments(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    edge = b - a
    square = (edge * edge).sum(axis=1)
    t = np.clip(((p - a) * edge).sum(axis=1) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    return float(np.linalg.norm(p - a - t[:, None] * edge, axis=1).min())
