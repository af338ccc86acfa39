"""First steps of Quickhull: points of extent one, and a tetrahedron among them.

Sums are of elementwise products in a fixed order, so that each machine returns the same.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "AFTER",
    "BEFORE",
    "FLAT",
    "TIE",
    "changes",
    "dots",
    "first_four",
    "require_volume",
    "scaled_points",
    "slopes",
    "true_at",
]

FLAT = 1e-10  # relative to the extent: minimum thickness of points with a hull
TIE = 1e-13  # relative to the extent: points within this of the farthest are ties
AFTER, BEFORE = [1, 2, 0], [2, 0, 1]  # the components of a cross product
_OBLIQUE = (0.6180339887, 0.4142135624, 0.2360679775)  # direction that breaks ties in favour of a corner


def require_volume(points: np.ndarray) -> None:
    """Raise the ValueError of `hull_triangles` for points (n, 3) that it would refuse; takes much less time."""
    scaled, extent = scaled_points(points)
    first_four(scaled, extent, np.arange(len(points)))


def scaled_points(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return coordinates (3, n) divided by a power of two, and their extent, which is then near one."""
    if len(points) < 4:
        raise ValueError("flat")
    x, y, z = np.ptp(points, axis=0).tolist()
    extent = (x * x + y * y + z * z) ** 0.5
    if not np.isfinite(extent * extent * extent):
        raise ValueError("too large")
    if extent == 0.0:
        raise ValueError("flat")
    exponent = int(np.frexp(max(x, y, z))[1])
    scaled = np.ldexp(np.ascontiguousarray(points.T, dtype=float), -exponent)
    x, y, z = np.ptp(scaled, axis=1).tolist()
    return scaled, float((x * x + y * y + z * z) ** 0.5)


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the dot products (n,) of vectors (3, n), summed in a fixed order."""
    c = a * b
    return np.asarray(c[0] + c[1] + c[2])


def true_at(condition: np.ndarray) -> np.ndarray:
    return condition.nonzero()[0]


def changes(values: np.ndarray) -> np.ndarray:
    """Return a mask that is True for the first value, and for each value that differs from the previous one."""
    result = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=result[1:])
    return result


def slopes(points: np.ndarray) -> np.ndarray:
    return np.asarray(points[0] * _OBLIQUE[0] + points[1] * _OBLIQUE[1] + points[2] * _OBLIQUE[2])


def first_four(points: np.ndarray, extent: float, indices: np.ndarray) -> tuple[int, int, int, int]:
    """Return the indices of four points that span a tetrahedron of non-zero volume."""
    p = points[:, indices]
    slope = slopes(p)

    def maximum(values: np.ndarray) -> int:  # among ties, a corner of the hull
        ties = true_at(values >= values.max() - TIE)
        return int(ties[np.argmax(slope[ties])])

    a = int(np.lexsort((p[2], p[1], p[0]))[0])
    offset = (p - p[:, a : a + 1]) / extent
    squares = dots(offset, offset)
    b = maximum(squares)
    along = offset[:, b : b + 1] / np.sqrt(squares[b])
    off = offset - dots(offset, along) * along
    squares = dots(off, off)
    c = maximum(squares)
    width = float(np.sqrt(squares[c]))
    if width <= FLAT:
        raise ValueError("flat")
    across = off[:, c : c + 1] / width
    normal = along[AFTER] * across[BEFORE] - along[BEFORE] * across[AFTER]
    height = np.abs(dots(offset, normal))
    d = maximum(height)
    if height[d] <= FLAT:
        raise ValueError("flat")
    return int(indices[a]), int(indices[b]), int(indices[c]), int(indices[d])
