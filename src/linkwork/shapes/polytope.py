"""The convex polytope.

The smallest sphere around points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.shapes.mass_properties import Moments, of_polytope_grown, of_triangles
from linkwork.shapes.quickhull import hull_triangles
from linkwork.shapes.shape import Shape
from linkwork.spatial import Symmetric3, Vec3
from linkwork.spatial.arguments import checked_array

__all__ = ["Polytope", "given_points", "smallest_ball"]


_LARGE = 1e100  # so that products of three stay finite
_EVEN = 1e-12  # relative to the extent: facets within it of one plane are one


@public
@dataclass(frozen=True, slots=True, repr=False)
class Polytope(Shape):
    """The convex hull of points (n, 3) [m], where they stand: the origin need not lie in it.

    ``vertices`` are its corners, in the order given, and ``triangles`` its sides, by indices of three corners each,
    counterclockwise from outside; sides of more corners are several triangles.  ``overestimate`` says of one that
    stands for something else how far its farthest point is from that [m], at most; see `convex_hull`.  Raises
    ValueError for fewer than four points, for points in one plane (their thickness less than 1e-10 of their extent),
    and for what are no finite numbers.

    >>> from linkwork import shapes
    >>> corner = shapes.Polytope([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 0.1, 0.1)])
    >>> len(corner.vertices), round(corner.volume, 6), [*corner.center]
    (4, 0.166667, [0.25, 0.25, 0.25])
    """

    vertices: tuple[tuple[float, float, float], ...]
    overestimate: float = field(default=0.0, compare=False)
    triangles: tuple[tuple[int, int, int], ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        given = given_points(self.vertices, "polytope: vertices")
        points = given[np.sort(np.unique(given, axis=0, return_index=True)[1])]
        try:
            result = hull_triangles(points)
        except ValueError as error:
            what = "less than 1e100 m apart" if str(error) != "flat" else "that are not in one plane"
            expected = "at least four points" if len(given) < 4 else f"points {what}"
            raise ValueError(f"polytope: vertices: expected {expected}, got {len(given)} points") from None
        corners, triangles = np.unique(result, return_inverse=True)
        object.__setattr__(self, "vertices", tuple(tuple(row) for row in points[corners].tolist()))
        object.__setattr__(self, "triangles", tuple(tuple(t) for t in triangles.reshape(-1, 3).tolist()))

    def __repr__(self) -> str:
        return f"<Polytope: {len(self.vertices)} vertices>"

    @property
    def planes(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals (m, 3), of length 1, and offsets (m,) [m] of its sides: it is all points x with normals·x ≤ offsets.

        Sides within 1e-12 of its extent of one plane are one.
        """
        points, triangles = np.array(self.vertices), np.array(self.triangles)
        extent = np.linalg.norm(np.ptp(points, axis=0))
        a, b, c = (points[triangles[:, k]] / extent for k in range(3))
        normals = np.cross(b - a, c - a)
        areas = np.linalg.norm(normals, axis=1)
        sides = []
        left = np.argsort(-areas)
        while len(left) and areas[left[0]] > 0.0:
            normal = normals[left[0]] / areas[left[0]]
            heights = points @ normal
            even = (heights[triangles[left]] >= heights.max() - _EVEN * extent).all(axis=1)
            sides.append((*normal, heights.max()))
            even[0] = True
            left = left[~even]
        result = np.array(sides)
        return result[:, :3], result[:, 3]

    @property
    def origin_radius(self) -> float:
        return float(np.linalg.norm(np.array(self.vertices), axis=1).max())

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
        center, radius = smallest_ball(np.array(self.vertices))
        return Vec3.of(center.tolist()), radius

    def _support(self, units: np.ndarray) -> np.ndarray:
        points = np.array(self.vertices)
        flat = units.reshape(-1, 3)
        rows = max(1, 1_000_000 // len(points))  # so that a large batch needs little memory
        best = [np.argmax(flat[k : k + rows] @ points.T, axis=1) for k in range(0, len(flat), rows)]
        chosen = np.concatenate(best) if best else np.empty(0, int)
        return np.asarray(points[chosen].reshape(units.shape))

    def _moments(self) -> Moments:
        return of_triangles(np.array(self.vertices), np.array(self.triangles))

    def _grown(self, radius: float) -> Moments:
        return of_polytope_grown(np.array(self.vertices), np.array(self.triangles), radius)


def given_points(value: Any, what: str) -> np.ndarray:
    """Points (n, 3) as floats.  Raises ValueError."""
    expected = f"{what}: expected points (n, 3) [m]"
    try:
        count = len(value)
    except TypeError:
        raise ValueError(f"{expected}, got {value!r}") from None
    points = checked_array(value, expected, (count, 3)) if count else np.empty((0, 3))
    if count and np.abs(points).max() > _LARGE:
        raise ValueError(f"{expected} less than 1e100 m away, got {np.abs(points).max():.3g}")
    return points


_INSIDE = 1e-12  # relative: what counts as inside while the sphere is looked for
_MOST = 1000  # points that may come in: rounding cannot make it go on for ever


def smallest_ball(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius of the smallest sphere around points (n, 3), to rounding; all of them are in it.

    The smallest sphere of at most four points, into which the farthest point outside comes until none is: its radius
    grows with each, so none returns [Welzl 1991; Gärtner, Fast and robust smallest enclosing balls, 1999].
    """
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    scale = float(np.abs(points - middle).max())
    if scale == 0.0:
        return middle, 0.0
    unit = (points - middle) / scale
    held = [int(np.argmax((unit * unit).sum(axis=1)))]
    center, radius = unit[held[0]], 0.0
    for _ in range(_MOST):
        squares = ((unit - center) ** 2).sum(axis=1)
        farthest = int(np.argmax(squares))
        if squares[farthest] <= radius * radius * (1.0 + _INSIDE) + 1e-30 or farthest in held:
            break
        held = [farthest, *held]
        center, radius, held = _of_few(unit, held)
    far = float(np.sqrt(((points - (middle + scale * center)) ** 2).sum(axis=1)).max())
    return middle + scale * center, far


def _of_few(unit: np.ndarray, held: list[int]) -> tuple[np.ndarray, float, list[int]]:
    """The smallest sphere around at most five points: the smallest of those through some that hold all."""
    best: tuple[float, np.ndarray, list[int]] | None = None
    for mask in range(1, 1 << len(held)):
        chosen = [k for i, k in enumerate(held) if mask >> i & 1]
        if len(chosen) > 4:
            continue
        p = unit[chosen]
        ways = p[1:] - p[0]
        t = np.linalg.lstsq(2.0 * ways @ ways.T, (ways * ways).sum(axis=1), rcond=None)[0] if len(ways) else []
        center = p[0] + np.asarray(t) @ ways if len(ways) else p[0]
        radius = float(np.sqrt(((unit[held] - center) ** 2).sum(axis=1)).max())
        if best is None or radius < best[0] * (1.0 - _INSIDE):
            best = radius, center, chosen
    assert best is not None
    return best[1], best[0], best[2]
