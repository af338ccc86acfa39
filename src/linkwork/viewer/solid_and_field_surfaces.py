"""Surfaces of convex solids and half-spaces, and of fields: height fields, point clouds, distance fields.

Height fields have their triangles, and distance fields the triangles of marching tetrahedra.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from linkwork.shapes import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    DistanceField,
    Ellipsoid,
    HalfSpace,
    HeightField,
    PointCloud,
    Polytope,
    Shape,
    Sphere,
)
from linkwork.viewer.document import Surface
from linkwork.viewer.triangles import smooth_surface

__all__ = [
    "arrow_surface",
    "axes_surface",
    "cloud_points",
    "cloud_surface",
    "coil_surface",
    "convex_surface",
    "distance_field_surface",
    "ellipsoid_surface",
    "height_field_surface",
    "joined",
    "prism_surface",
    "rod_surface",
]

_SIDES = 32  # of a circle
_TURNS = 8  # of a spring
_COIL = 2.5  # radius of a spring's turns, in radii of bars
_ARC = 8  # steps of a quarter of a circle
_PLATE = 2.0  # [m] half width of the drawn section of a half-space
_PLATE_THICKNESS = 0.01  # [m]
_DIRECTIONS = 1000  # in which support points of other convex shapes are evaluated


def convex_surface(shape: Shape) -> Surface | None:
    """Return the surface of a convex shape, or of a part of a half-space; None for a shape without support points."""
    match shape:
        case Box():
            return _box(np.asarray(shape.size), np.zeros(3))
        case HalfSpace():
            size = np.array([2.0 * _PLATE, 2.0 * _PLATE, _PLATE_THICKNESS])
            return _box(size, np.array([0.0, 0.0, -0.5 * _PLATE_THICKNESS]))
        case Sphere():
            return ellipsoid_surface((shape.radius,) * 3)
        case Ellipsoid():
            return ellipsoid_surface(shape.radii)
        case Cylinder():
            return _cylinder(shape.radius, -0.5 * shape.length, 0.5 * shape.length)
        case Cone():
            return _cone(shape.radius, -0.5 * shape.length, 0.5 * shape.length)
        case Capsule():
            return _capsule(shape.radius, 0.5 * shape.length)
        case Polytope():
            return smooth_surface(np.array(shape.vertices), np.array(shape.triangles))
    return _hull_of_support(shape)


@lru_cache(maxsize=256)
def ellipsoid_surface(radii: tuple[float, float, float], sides: int = _SIDES, arc: int = _ARC) -> Surface:
    """Return the surface of an ellipsoid with ``radii`` along x, y and z [m]."""
    unit = _revolved(_arc(0.0, 1.0, -0.5 * math.pi, 0.5 * math.pi, 2 * arc), sides)
    assert unit.normals is not None
    scale = np.asarray(radii, dtype=np.float32)
    normals = unit.normals * (scale.min() / scale)
    return Surface(unit.vertices * scale, unit.triangles, normals / np.linalg.norm(normals, axis=1, keepdims=True))


@lru_cache(maxsize=256)
def arrow_surface(length: float, radius: float) -> Surface:
    """Return an arrow along z from the origin: a cylinder of ``radius`` and a cone twice as wide [m]."""
    head = min(6.0 * radius, 0.5 * length)
    return joined([_cylinder(radius, 0.0, length - head, 12), _cone(2.0 * radius, length - head, length, 12)])


def prism_surface(rim: np.ndarray, center: np.ndarray, half: np.ndarray) -> Surface:
    """Return a plate with the sides ``rim`` ± ``half`` (n, 3) [m]; from ``center`` all of the rim is visible."""
    n = len(rim)
    k = np.arange(n)
    after = np.roll(k, -1)
    turns = np.cross(rim - center, rim[after] - center).sum(axis=0) @ half
    k, after = (k, after) if turns > 0.0 else (after, k)  # counter-clockwise about half
    vertices = np.concatenate([rim + half, rim - half, [center + half, center - half]])
    top, bottom = np.full(n, 2 * n), np.full(n, 2 * n + 1)
    corners = [(top, k, after), (bottom, n + after, n + k), (k, n + k, after), (after, n + k, n + after)]
    triangles = np.concatenate([np.stack(corner, axis=1) for corner in corners])
    return Surface(vertices.astype(np.float32), triangles.astype(np.uint32))


@lru_cache(maxsize=256)
def axes_surface(length: float) -> Surface:
    """Return the axes of a frame as coloured rods: x red, y green, z blue, each of ``length`` [m]."""
    rod = _cylinder(0.02 * length, 0.0, length, 8)
    rods = []
    for k, color in enumerate(((214, 58, 48), (46, 150, 66), (44, 98, 214))):
        turned = np.roll(np.eye(3, dtype=np.float32), 2 - k, axis=1)  # turns z to x, y or z
        assert rod.normals is not None
        colors = np.tile(np.array([*color, 255], np.uint8), (len(rod.vertices), 1))
        rods.append(Surface(rod.vertices @ turned.T, rod.triangles, rod.normals @ turned.T, colors))
    return joined(rods)


@lru_cache(maxsize=256)
def rod_surface(radius: float) -> Surface:
    """Return a cylinder of length 1 m along z from the origin; a `Part` with two ends stretches it [m]."""
    return _cylinder(radius, 0.0, 1.0)


@lru_cache(maxsize=256)
def coil_surface(radius: float, length: float) -> Surface:
    """Return a helical spring of length 1 m along z from the origin; a `Part` with two ends stretches it [m].

    Its wire is round where the spring has ``length`` [m], and somewhat thinner than a bar of ``radius`` [m].
    """
    length = max(length, radius)
    t = np.linspace(0.0, 1.0, 12 * _TURNS + 1)
    width = _COIL * radius * np.clip(np.minimum(t, 1.0 - t) * 10.0 - 0.5, 0.0, 1.0)  # the ends are straight
    angle = 2.0 * math.pi * _TURNS * t
    wire = np.stack([width * np.cos(angle), width * np.sin(angle), length * t], axis=1)
    tangent = np.gradient(wire, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    outwards = np.stack([np.cos(angle), np.sin(angle), 0.0 * t], axis=1)
    second = np.cross(tangent, outwards)
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    first = np.cross(second, tangent)
    sides = 6
    phi = 2.0 * math.pi * np.arange(sides) / sides
    normals = first[:, None] * np.cos(phi)[:, None] + second[:, None] * np.sin(phi)[:, None]
    vertices = wire[:, None] + 0.6 * radius * normals
    vertices[..., 2] = np.clip(vertices[..., 2] / length, 0.0, 1.0)
    normals[..., 2] *= length
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    low, j = np.arange(len(t) - 1)[:, None] * sides, np.arange(sides)
    a, b = low + j, low + (j + 1) % sides
    triangles = np.concatenate(
        [np.stack(x, axis=-1).reshape(-1, 3) for x in ((a, b + sides, b), (a, a + sides, b + sides))]
    )
    vertices, normals = (x.reshape(-1, 3).astype(np.float32) for x in (vertices, normals))
    return Surface(vertices, triangles.astype(np.uint32), normals)


def joined(surfaces: list[Surface]) -> Surface:
    """Join several surfaces with normals, with or without vertex colours, into one."""
    starts = np.cumsum([0, *(len(s.vertices) for s in surfaces[:-1])])
    colors = [s.colors for s in surfaces if s.colors is not None]
    return Surface(
        np.concatenate([s.vertices for s in surfaces]),
        np.concatenate([s.triangles + np.uint32(k) for s, k in zip(surfaces, starts, strict=True)]),
        np.concatenate([s.normals for s in surfaces if s.normals is not None]),
        np.concatenate(colors) if len(colors) == len(surfaces) else None,
    )


# -- surfaces of revolution: profiles are rows (r, z, normal along r, normal along z), upwards outside


def _revolved(profile: np.ndarray, sides: int = _SIDES) -> Surface:
    """Return the surface of revolution of a profile (n, 4) about z; two rows at one position make a crease.

    A row has a radius, a height, and the normal in these directions.
    """
    angle = 2.0 * math.pi * np.arange(sides) / sides
    cosine, sine = np.cos(angle), np.sin(angle)
    r, z, nr, nz = profile.T

    def around(radial: np.ndarray, axial: np.ndarray) -> np.ndarray:
        columns = [radial[:, None] * cosine, radial[:, None] * sine, np.repeat(axial[:, None], sides, axis=1)]
        return np.stack(columns, axis=-1).reshape(-1, 3).astype(np.float32)

    low = np.arange(len(profile) - 1)[:, None] * sides
    j = np.arange(sides)[None, :]
    a, b = low + j, low + (j + 1) % sides
    c, d = b + sides, a + sides
    lower = np.stack([a, b, c], axis=-1)[(r[:-1] > 0.0) & _apart(profile)]  # without triangles at a pole
    upper = np.stack([a, c, d], axis=-1)[(r[1:] > 0.0) & _apart(profile)]
    triangles = np.concatenate([lower.reshape(-1, 3), upper.reshape(-1, 3)])
    return Surface(around(r, z), triangles.astype(np.uint32), around(nr, nz))


def _apart(profile: np.ndarray) -> np.ndarray:
    """Return True for each pair of successive profile points at different positions."""
    return np.asarray((profile[1:, :2] != profile[:-1, :2]).any(axis=1))


def _arc(z: float, radius: float, start: float, end: float, steps: int) -> np.ndarray:
    angle = np.linspace(start, end, steps + 1)
    across, along = np.cos(angle), np.sin(angle)
    across[np.abs(across) < 1e-12] = 0.0  # at the poles
    return np.stack([radius * across, z + radius * along, across, along], axis=1)


def _cylinder(radius: float, low: float, high: float, sides: int = _SIDES) -> Surface:
    rows = [(0.0, low, 0, -1), (radius, low, 0, -1), (radius, low, 1, 0)]
    rows += [(radius, high, 1, 0), (radius, high, 0, 1), (0.0, high, 0, 1)]
    return _revolved(np.array(rows, dtype=float), sides)


def _cone(radius: float, low: float, high: float, sides: int = _SIDES) -> Surface:
    slant = math.hypot(high - low, radius)
    side = ((high - low) / slant, radius / slant)
    rows = [(0.0, low, 0, -1), (radius, low, 0, -1), (radius, low, *side), (0.0, high, *side)]
    return _revolved(np.array(rows, dtype=float), sides)


def _capsule(radius: float, half: float) -> Surface:
    lower = _arc(-half, radius, -0.5 * math.pi, 0.0, _ARC)
    upper = _arc(half, radius, 0.0, 0.5 * math.pi, _ARC)
    return _revolved(np.concatenate([lower, upper]))


def _box(size: np.ndarray, center: np.ndarray) -> Surface:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size + center
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    normals = np.repeat(np.array([[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]]), 4, axis=0)
    triangles = np.concatenate([[[4 * k, 4 * k + 1, 4 * k + 2], [4 * k, 4 * k + 2, 4 * k + 3]] for k in range(6)])
    vertices = corners[np.array(faces).reshape(-1)]
    return Surface(vertices.astype(np.float32), triangles.astype(np.uint32), normals.astype(np.float32))


def _hull_of_support(shape: Shape) -> Surface | None:
    """Return the convex hull of support points in nearly uniform directions; None if the shape has none."""
    z = 1.0 - (2.0 * np.arange(_DIRECTIONS) + 1.0) / _DIRECTIONS
    angle = math.pi * (1.0 + math.sqrt(5.0)) * np.arange(_DIRECTIONS)
    flat = np.sqrt(1.0 - z * z)
    spiral = np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=1)
    try:
        points = np.asarray(shape.support(np.concatenate([spiral, np.eye(3), -np.eye(3)])), dtype=float)
        points = np.unique(np.round(points, 9), axis=0)  # [m] corners of flat faces occur many times
        hull = Polytope(points)  # type: ignore[arg-type]
        return smooth_surface(np.array(hull.vertices), np.array(hull.triangles))
    except ValueError:  # without support points, or flat
        return None


MAX_GRID = 250  # points of a drawn grid along an axis
MAX_POINTS = 20_000  # of a drawn cloud
_MARKER = 0.004  # [m] half size of the drawn points of a cloud without a radius
_MAX_MARKERS = 2000  # points of a cloud on a link


def height_field_surface(field: HeightField) -> Surface:
    """Return the upper surface of a terrain; grids with more than 250 points along an axis are sampled."""
    heights = np.asarray(field.heights)
    i, j = (_sampled(count) for count in heights.shape)
    x = field.origin[0] + field.spacing[0] * i
    y = field.origin[1] + field.spacing[1] * j
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), heights[np.ix_(i, j)]], axis=-1)
    index = np.arange(len(i) * len(j)).reshape(len(i), len(j))
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    triangles = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    return smooth_surface(points.reshape(-1, 3), triangles)


def _sampled(count: int) -> np.ndarray:
    """Return at most `MAX_GRID` indices in range(count), evenly spread, with both ends."""
    return np.unique(np.round(np.linspace(0, count - 1, min(count, MAX_GRID))).astype(int))


def cloud_points(cloud: PointCloud) -> np.ndarray:
    """Return the points of a cloud (n, 3) [m]; of a large cloud every k-th point."""
    points = np.asarray(cloud.points)
    return points[:: -(-len(points) // MAX_POINTS)]


def cloud_surface(cloud: PointCloud) -> Surface:
    """Return a surface with a small octahedron at each point of a cloud, for clouds that move with a link."""
    points = np.asarray(cloud.points)
    points = points[:: -(-len(points) // _MAX_MARKERS)]
    corners = np.concatenate([np.eye(3), -np.eye(3)]) * max(cloud.radius, _MARKER)
    faces = [(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2), (1, 0, 5), (3, 1, 5), (4, 3, 5), (0, 4, 5)]
    vertices = (points[:, None] + corners).reshape(-1, 3)
    triangles = (6 * np.arange(len(points))[:, None, None] + np.array(faces)).reshape(-1, 3)
    return Surface(vertices.astype(np.float32), triangles.astype(np.uint32))


def distance_field_surface(field: DistanceField) -> Surface | None:
    """Return the zero level set of a signed distance field as a surface; None if it is not inside of the grid.

    Each cell is divided into six tetrahedra around one of its diagonals. Source: Doi and Koide, An efficient method of
    triangulating equi-valued surfaces by using tetrahedral cells, 1991.
    """
    stride = [-(-count // MAX_GRID) for count in field.values.shape]
    values = np.asarray(field.values)[:: stride[0], :: stride[1], :: stride[2]]
    if min(values.shape) < 2:
        return None
    values = np.where(values == 0.0, 1e-300, values)  # a point on the surface counts as outside
    cells = _crossed_cells(values)
    if not len(cells):
        return None
    edges, triangles = _march(values, cells)
    unique, index = np.unique(edges, axis=0, return_inverse=True)
    low, high = (np.stack(np.unravel_index(unique[:, k], values.shape), axis=1) for k in (0, 1))
    first, second = values[tuple(low.T)], values[tuple(high.T)]
    t = (first / (first - second))[:, None]
    grid = (1.0 - t) * low + t * high
    points = np.asarray(field.origin) + grid * np.asarray(field.spacing) * stride
    return smooth_surface(points, index.reshape(-1)[triangles])


def _crossed_cells(values: np.ndarray) -> np.ndarray:
    """Return the indices (n, 3) of grid cells that the zero level set passes through."""
    inside = values < 0.0
    corners = [inside[tuple(slice(k, n - 1 + k) for k, n in zip(c, values.shape, strict=True))] for c in _CORNERS]
    count = sum(corner.astype(np.int8) for corner in corners)
    return np.argwhere((count > 0) & (count < 8))


_CORNERS = tuple(itertools.product((0, 1), repeat=3))


def _march(values: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return edges (k, 2) of grid points that the zero level set crosses, and triangles as indices of these edges.

    The smaller grid index of an edge comes first.

    Triangles are counter-clockwise seen from where values are positive.
    """
    edges, triangles, total = [], [], 0
    for axes in itertools.permutations(range(3)):
        steps = np.concatenate([np.zeros((1, 3), int), np.cumsum(np.eye(3, dtype=int)[list(axes)], axis=0)])
        odd = np.linalg.det(np.eye(3)[list(axes)]) < 0.0  # corners in mirrored order
        corner = cells[:, None, :] + steps
        index = np.ravel_multi_index(tuple(np.moveaxis(corner, -1, 0)), values.shape)  # (n, 4)
        inside = values.reshape(-1)[index] < 0.0
        code = inside @ np.array([1, 2, 4, 8])
        for pattern in range(1, 15):
            chosen = index[code == pattern]
            for triangle in _faces(pattern) if len(chosen) else ():
                turned = triangle[::-1] if odd else triangle
                ends = np.sort(np.stack([chosen[:, list(pair)] for pair in turned], axis=1), axis=-1)
                edges.append(ends.reshape(-1, 2))
                triangles.append(total + np.arange(3 * len(chosen)).reshape(-1, 3))
                total += 3 * len(chosen)
    return np.concatenate(edges), np.concatenate(triangles)


def _faces(pattern: int) -> list[tuple[tuple[int, int], ...]]:
    """Return the triangles of the zero level set in a tetrahedron, as edges (inside, outside) that it crosses.

    ``pattern`` has a bit for each corner with a negative value. The corners (0, 1, 2, 3) of the tetrahedron have
    positive orientation: (c1 - c0) · (c2 - c0) × (c3 - c0) > 0.
    """
    inside = [k for k in range(4) if pattern >> k & 1]
    outside = [k for k in range(4) if not pattern >> k & 1]
    if len(inside) == 2:
        (a, b), (c, d) = inside, outside
        if not _is_even((a, b, c, d)):
            c, d = d, c
        return [((a, c), (a, d), (b, d)), ((a, c), (b, d), (b, c))]
    lone, opposite = (inside[0], outside) if len(inside) == 1 else (outside[0], inside)
    x, y, z = opposite
    if _is_even((lone, x, y, z)) != (len(inside) == 1):
        y, z = z, y
    return [((lone, x), (lone, y), (lone, z))]


def _is_even(order: tuple[int, ...]) -> bool:
    """Return True for an even permutation of (0, 1, 2, 3)."""
    return sum(order[i] > order[j] for i in range(4) for j in range(i + 1, 4)) % 2 == 0
