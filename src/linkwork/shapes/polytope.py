"""Convex polytope, and the smallest enclosing sphere of points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.hull_start import require_volume
from linkwork.shapes.mass_properties import Moments, of_polytope_grown, of_triangles
from linkwork.shapes.quickhull import hull_triangles
from linkwork.shapes.shape import Shape
from linkwork.spatial import Symmetric3, Vec3
from linkwork.spatial.arguments import checked_array

__all__ = ["Polytope", "read_points", "smallest_sphere"]


_LARGE = 1e100  # products of three coordinates stay finite
_PLANE_TOLERANCE = 1e-12  # relative to the extent: facets within it of a plane are merged


@public
@dataclass(frozen=True, slots=True, repr=False)
class Polytope(Shape):
    """Convex hull of points (n, 3) [m]; the origin may be outside it.

    ``vertices`` are its corners, in the order of the points.  ``triangles`` are its facets, as indices of three
    vertices each, counterclockwise from outside; larger facets are several triangles.  If the polytope approximates
    another shape from outside, ``overestimate`` bounds the distance of its farthest point from that shape [m]; see
    `convex_hull`.

    Raises ValueError for fewer than four points, for coplanar points (thickness below 1e-10 of their extent) and for
    values that are not finite.

    >>> from linkwork import shapes
    >>> corner = shapes.Polytope([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 0.1, 0.1)])
    >>> len(corner.vertices), round(corner.volume, 6), [*corner.center]
    (4, 0.166667, [0.25, 0.25, 0.25])
    """

    vertices: tuple[tuple[float, float, float], ...]
    overestimate: float = field(default=0.0, compare=False)
    triangles: tuple[tuple[int, int, int], ...] = field(init=False, compare=False)
    _all_points: np.ndarray = field(init=False, compare=False)  # different points, of which the corners are some

    def __post_init__(self) -> None:
        array = read_points(self.vertices, "polytope: vertices")
        points = _different(array)
        try:
            require_volume(points)
        except ValueError as error:
            condition = "less than 1e100 m apart" if str(error) != "flat" else "that are not in one plane"
            expected = "at least four points" if len(array) < 4 else f"points {condition}"
            raise ValueError(f"polytope: vertices: expected {expected}, got {len(array)} points") from None
        points.setflags(write=False)
        object.__setattr__(self, "_all_points", points)
        object.__delattr__(self, "vertices")  # until they are requested: the hull takes most of the time

    def __getattr__(self, name: str) -> Any:  # called for fields that are not set yet
        if name not in ("vertices", "triangles"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        points = self._all_points
        corners, triangles = np.unique(hull_triangles(points), return_inverse=True)
        object.__setattr__(self, "triangles", tuple(tuple(t) for t in triangles.reshape(-1, 3).tolist()))
        object.__setattr__(self, "vertices", tuple(tuple(row) for row in points[corners].tolist()))
        return getattr(self, name)

    def __repr__(self) -> str:
        return f"<Polytope: {len(self.vertices)} vertices>"

    @property
    def planes(self) -> tuple[np.ndarray, np.ndarray]:
        """Unit normals (m, 3) and offsets (m,) [m] of the facets.

        The polytope is the set of points x with normals·x ≤ offsets.

        Facets within 1e-12 of the extent of a common plane are merged.
        """
        points, triangles = np.array(self.vertices), np.array(self.triangles)
        extent = np.linalg.norm(np.ptp(points, axis=0))
        a, b, c = (points[triangles[:, k]] / extent for k in range(3))
        normals = np.cross(b - a, c - a)
        areas = np.linalg.norm(normals, axis=1)
        facets = []
        left = np.argsort(-areas)
        while len(left) and areas[left[0]] > 0.0:
            normal = normals[left[0]] / areas[left[0]]
            heights = points @ normal
            coplanar = (heights[triangles[left]] >= heights.max() - _PLANE_TOLERANCE * extent).all(axis=1)
            facets.append((*normal, heights.max()))
            coplanar[0] = True
            left = left[~coplanar]
        result = np.array(facets)
        return result[:, :3], result[:, 3]

    @property
    def origin_radius(self) -> float:
        return float(np.linalg.norm(self._all_points, axis=1).max())

    @property
    def volume(self) -> float:
        return self._moments().volume

    @property
    def center(self) -> Vec3:
        return Vec3.of(self._moments().center.tolist())

    def unit_inertia(self) -> Symmetric3:
        return self._moments().unit_inertia()

    @property
    def bounding_sphere(self) -> tuple[Vec3, float]:
        center, radius = smallest_sphere(self._all_points)  # that of the corners: no other point is farther
        return Vec3.of(center.tolist()), radius

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = np.array(self.vertices)
        flat = units.reshape(-1, 3)
        rows = max(1, 1_000_000 // len(points))  # bounds the memory of a large batch
        best = [np.argmax(flat[k : k + rows] @ points.T, axis=1) for k in range(0, len(flat), rows)]
        chosen = np.concatenate(best) if best else np.empty(0, int)
        return np.asarray(points[chosen].reshape(units.shape))

    def _moments(self) -> Moments:
        return of_triangles(np.array(self.vertices), np.array(self.triangles))

    def _grown(self, radius: float) -> Moments:
        return of_polytope_grown(np.array(self.vertices), np.array(self.triangles), radius)


def _different(points: np.ndarray) -> np.ndarray:
    """Return the distinct points of (n, 3), in the order of their first occurrence."""
    if not len(points):
        return points
    order = np.lexsort(points.T)
    ordered = points[order]
    first = np.ones(len(points), bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.asarray(points[np.sort(order[first])])


def read_points(value: Any, name: str) -> np.ndarray:
    """Return points (n, 3) as a float array.  Raises ValueError."""
    expected = f"{name}: expected points (n, 3) [m]"
    try:
        count = len(value)
    except TypeError:
        raise ValueError(f"{expected}, got {value!r}") from None
    points = checked_array(value, expected, (count, 3)) if count else np.empty((0, 3))
    if count and np.abs(points).max() > _LARGE:
        raise ValueError(f"{expected} with coordinates below 1e100 m, got {np.abs(points).max():.3g}")
    return points


_INSIDE = 1e-12  # relative tolerance of the iteration
_MAX_ITERATIONS = 1000  # bounds the iteration in the presence of rounding


def smallest_sphere(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return centre (3,) and radius of the smallest sphere that contains points (n, 3), to rounding.

    The sphere is determined by at most four points.  The farthest point outside enters the set until no point is
    outside; the radius grows with each step, so no set repeats [Welzl 1991; Gärtner, Fast and robust smallest enclosing
    balls, 1999].
    """
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    scale = float(np.abs(points - middle).max())
    if scale == 0.0:
        return middle, 0.0
    unit = (points - middle) / scale
    active = [int(np.argmax((unit * unit).sum(axis=1)))]
    center, radius = unit[active[0]], 0.0
    for _ in range(_MAX_ITERATIONS):
        squares = ((unit - center) ** 2).sum(axis=1)
        farthest = int(np.argmax(squares))
        if squares[farthest] <= radius * radius * (1.0 + _INSIDE) + 1e-30 or farthest in active:
            break
        center, radius, active = _sphere_of_few(unit, [farthest, *active])
    far = float(np.sqrt(((points - (middle + scale * center)) ** 2).sum(axis=1)).max())
    return middle + scale * center, far


def _sphere_of_few(unit: np.ndarray, active: list[int]) -> tuple[np.ndarray, float, list[int]]:
    """Return the smallest sphere of at most five points: centre, radius and the points that determine it."""
    best: tuple[float, np.ndarray, list[int]] | None = None
    for mask in range(1, 1 << len(active)):
        chosen = [k for i, k in enumerate(active) if mask >> i & 1]
        if len(chosen) > 4:
            continue
        p = unit[chosen]
        edges = p[1:] - p[0]
        t = np.linalg.lstsq(2.0 * edges @ edges.T, (edges * edges).sum(axis=1), rcond=None)[0] if len(edges) else []
        center = p[0] + np.asarray(t) @ edges if len(edges) else p[0]
        radius = float(np.sqrt(((unit[active] - center) ** 2).sum(axis=1)).max())
        if best is None or radius < best[0] * (1.0 - _INSIDE):
            best = radius, center, chosen
    assert best is not None
    return best[1], best[0], best[2]
