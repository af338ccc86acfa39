"""Random and aligned placements of pairs of bodies, and kernels that measure them.

Every family that `linkwork.geometry` measures is drawn: all pairs of the cores in its tables, and hulls whose faces are
known when code is made.  Sizes and positions of aligned placements are multiples of a step and axes are parallel or a
quarter turn apart, so that faces are flush and heights, centers and axes are equal; a share of them is moved or turned
by 1e-12 or 1e-9.  Support functions and surfaces are written here again, in NumPy: they are the reference.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

import linkwork as lw
from benchmarks.distance.cases import turned
from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    HalfSpaceCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    signed_distance,
)
from linkwork.geometry.pairs.pair_dispatch import LONG, PAIRS
from linkwork.geometry.support_points import SUPPORTS
from linkwork.spatial import Pose, Vec3

__all__ = ["FAMILIES", "KINDS", "PLACEMENTS", "Array", "Bodies", "about", "families", "kernel", "measured", "pairs"]

Array = np.ndarray
PLACEMENTS = ("random", "aligned")
VERTICES = 12
STEP = 0.05  # [m] sizes and places of aligned placements are multiples of it
_BESIDE = (1e-12, 1e-9)  # [m, rad]


def _hulls() -> Array:
    """Vertices (shapes, VERTICES, 3) of regular and of random hulls, some of them repeated."""
    z = np.array([1.0, -1.0])
    signs = np.array(list(itertools.product(z, z, z)))
    cross = np.vstack([np.eye(3), -np.eye(3)])
    corners = np.exp(2j * np.pi * np.arange(6) / 6.0)
    prism = np.array([[w.real, w.imag, h] for w in corners for h in z])
    wedge = np.array([[x, y, h] for x, y in ((1.0, 0.0), (-1.0, 1.0), (-1.0, -1.0)) for h in z])
    pyramid = np.array([[1.0, 1, -1], [1, -1, -1], [-1, 1, -1], [-1, -1, -1], [0, 0, 1]])
    tetrahedron = signs[[0, 3, 5, 6]]
    rng = np.random.default_rng(0)
    known = [signs, cross, prism, wedge, pyramid, tetrahedron]
    while len(known) < 16:
        x = rng.normal(size=(VERTICES, 3))
        known.append(x / np.linalg.norm(x, axis=1, keepdims=True))
    return np.array([np.resize(v, (VERTICES, 3)) for v in known])


HULLS = _hulls()


def _planes() -> tuple[Array, Array]:
    """Outward normals (shapes, planes, 3) and offsets of `HULLS`, some of them repeated."""
    results = [ConvexHull(v).equations for v in HULLS]
    most = max(map(len, results))
    rows = np.array([np.resize(f, (most, 4)) for f in results])
    return rows[..., :3], -rows[..., 3]


NORMALS, OFFSETS = _planes()
SIZES = {"point": 0, "segment": 1, "box": 3, "cylinder": 2, "cone": 2, "ellipsoid": 3, "hull": 3, "half-space": 0,
         "octahedron": 0, "wedge": 0}  # fmt: skip
KINDS = tuple(SIZES)
CORES: Mapping[type, tuple[str, ...]] = {
    PointCore: ("point",),
    SegmentCore: ("segment",),
    BoxCore: ("box",),
    CylinderCore: ("cylinder",),
    ConeCore: ("cone",),
    EllipsoidCore: ("ellipsoid",),
    PolytopeCore: ("hull", "octahedron", "wedge"),
    HalfSpaceCore: ("half-space",),
}
"""The kinds of bodies by their core."""
_CONSTANT = {"octahedron": (1, 0.2), "wedge": (3, 0.3)}  # hulls whose faces are known when code is made; shape, scale


def families(bounded: Sequence[type] = tuple(SUPPORTS), partners: Sequence[tuple[type, type]] = ()) -> list[Any]:
    """Return all pairs of kinds of bounded cores, and the pairs of cores with their own functions.

    Raises LookupError for a core without random samples.
    """
    cores = [*itertools.combinations_with_replacement(bounded, 2), *partners]
    if missing := {core.__name__ for pair in cores for core in pair if core not in CORES}:
        raise LookupError(f"families: no placements are drawn of {', '.join(sorted(missing))}; add them to CORES")
    results = [(a, b) for pair in cores for a in CORES[pair[0]] for b in CORES[pair[1]]]
    return list({frozenset(kinds): kinds for kinds in results}.values())


FAMILIES: list[tuple[str, str]] = families(partners=(*PAIRS, *LONG))


@dataclass(frozen=True)
class Bodies:
    """Bodies of a kind: poses (count, 4, 4), sizes (count, n), and the shapes of hulls (count,)."""

    kind: str
    X: Array
    sizes: Array
    shape: Array
    beside: Array  # True where the body was moved or turned by 1e-12 or 1e-9

    def vertices(self) -> Array:
        """Return the vertices of hulls in their body frames: (count, VERTICES, 3)."""
        return HULLS[self.shape] * self.scale()[:, None]

    def scale(self) -> Array:
        """Return the scales of hulls along their axes: (count, 3)."""
        if self.kind in _CONSTANT:
            return np.full((len(self.X), 3), _CONSTANT[self.kind][1])
        return self.sizes

    @property
    def values(self) -> Array:
        """Sizes as kernels take them."""
        if self.kind == "hull":
            return self.vertices().reshape(len(self.X), -1)
        return self.sizes if self.sizes.shape[1] else np.zeros((len(self.X), 1))

    @property
    def extent(self) -> Array:
        if self.kind in ("hull", *_CONSTANT):
            return np.linalg.norm(self.vertices(), axis=-1).max(-1)
        return np.linalg.norm(self.sizes, axis=1) if self.sizes.shape[1] else np.zeros(len(self.X))

    def take(self, index: Array) -> Bodies:
        return Bodies(self.kind, self.X[index], self.sizes[index], self.shape[index], self.beside[index])

    def height(self, n: Array) -> Array:
        """max n · p over their points: n is (count, ..., 3)."""
        u = np.einsum("kij,k...i->k...j", self.X[:, :3, :3], n)
        at = np.einsum("k...i,ki->k...", n, self.X[:, :3, 3])
        s = [self.sizes[:, j].reshape(-1, *(1,) * (n.ndim - 2)) for j in range(self.sizes.shape[1])]
        across = np.sqrt(u[..., 0] ** 2 + u[..., 1] ** 2)
        match self.kind:
            case "point":
                heights: Array = np.zeros(at.shape)
            case "half-space":
                heights = np.where((across < 1e-13) & (u[..., 2] > 0.0), 0.0, np.inf)
            case "segment":
                heights = s[0] * np.abs(u[..., 2])
            case "box":
                heights = s[0] * np.abs(u[..., 0]) + s[1] * np.abs(u[..., 1]) + s[2] * np.abs(u[..., 2])
            case "cylinder":
                heights = s[0] * across + s[1] * np.abs(u[..., 2])
            case "cone":
                heights = np.maximum(s[1] * u[..., 2], s[0] * across - s[1] * u[..., 2])
            case "ellipsoid":
                heights = np.sqrt((s[0] * u[..., 0]) ** 2 + (s[1] * u[..., 1]) ** 2 + (s[2] * u[..., 2]) ** 2)
            case _:
                heights = np.einsum("kvj,k...j->k...v", self.vertices(), u).max(-1)
        return np.asarray(at + heights)

    def off(self, p: Array) -> Array:
        """Distance of points (count, 3) from the surfaces, to first order."""
        z = np.einsum("kij,ki->kj", self.X[:, :3, :3], p - self.X[:, :3, 3])
        across, x = np.sqrt(z[:, 0] ** 2 + z[:, 1] ** 2), self.sizes
        match self.kind:
            case "point":
                return np.asarray(np.abs(z).max(-1))
            case "half-space":
                return np.asarray(np.abs(z[:, 2]))
            case "segment":
                return np.maximum(np.maximum(across, np.abs(z[:, 2]) - x[:, 0]), 0.0)
            case "box":
                return np.asarray(np.abs((np.abs(z) - x).max(-1)))
            case "cylinder":
                return np.abs(np.maximum(across - x[:, 0], np.abs(z[:, 2]) - x[:, 1]))
            case "cone":
                r, h = x[:, 0], x[:, 1]
                return np.abs(np.maximum((2.0 * h * across - r * (h - z[:, 2])) / np.hypot(2.0 * h, r), -h - z[:, 2]))
            case "ellipsoid":
                level = ((z / x) ** 2).sum(-1) - 1.0
                return np.abs(level) / np.maximum(np.sqrt((4.0 * (z / x**2) ** 2).sum(-1)), 1e-300)
        n = NORMALS[self.shape] / self.scale()[:, None]
        length = np.linalg.norm(n, axis=-1)
        return np.abs(((np.einsum("kfj,kj->kf", n, z) - OFFSETS[self.shape]) / length).max(-1))


def core(kind: str, X: Pose, x: Any) -> Any:
    """Return the core of a body at pose X with sizes x, which may be symbols."""
    z = Vec3(*(row[2] for row in X.rotation.rows()))
    match kind:
        case "point":
            return PointCore(X.translation)
        case "half-space":
            return HalfSpaceCore(X.translation, z)
        case "segment":
            return SegmentCore(X.translation, z * x[0])
        case "box":
            return BoxCore(X, Vec3(*x))
        case "cylinder":
            return CylinderCore(X, x[0], x[1])
        case "cone":
            return ConeCore(X, x[0], x[1])
        case "ellipsoid":
            return EllipsoidCore(X, Vec3(*x))
        case "hull":
            return PolytopeCore(X, [Vec3(*x[3 * k : 3 * k + 3]) for k in range(VERTICES)])
    shape, scale = _CONSTANT[kind]
    vertices = dict.fromkeys(tuple(v) for v in (HULLS[shape] * scale).tolist())
    return PolytopeCore(X, [Vec3(*v) for v in vertices])


@cache
def kernel(a: str, b: str) -> Any:
    """Compile distance, normal, both points and unique, of poses (4, 4) and sizes."""

    def distance_and_normal(X: Any, Y: Any, x: Any, y: Any) -> Any:
        d = signed_distance(Solid(core(a, Pose.of(X), x)), Solid(core(b, Pose.of(Y), y)))
        return d.distance, [*d.normal], [*d.on_a], [*d.on_b], d.unique

    count = {kind: 3 * VERTICES if kind == "hull" else max(SIZES[kind], 1) for kind in (a, b)}
    return lw.compile(distance_and_normal, X=(4, 4), Y=(4, 4), x=count[a], y=count[b])


def measured(a: Bodies, b: Bodies) -> tuple[Array, ...]:
    """Return distance, normal, both points and unique of all pairs."""
    return tuple(np.asarray(x) for x in kernel(a.kind, b.kind)(a.X, b.X, a.values, b.values))


def pairs(kinds: tuple[str, str], placement: str, count: int, seed: int = 0, chunk: int = 0) -> tuple[Bodies, Bodies]:
    """Draw pairs of bodies, about half of which overlap; they depend on the names and the numbers given alone."""
    name = zlib.crc32("-".join(kinds).encode())
    rng = np.random.default_rng([seed, name, PLACEMENTS.index(placement), chunk])
    return {"random": _random, "aligned": _aligned}[placement](rng, kinds, count)


def _poses(R: Array, p: Array) -> Array:
    X = np.zeros((len(R), 4, 4))
    X[:, :3, :3], X[:, :3, 3], X[:, 3, 3] = R, p, 1.0
    return X


def _shapes(rng: np.random.Generator, kind: str, count: int) -> Array:
    return np.full(count, _CONSTANT[kind][0]) if kind in _CONSTANT else rng.integers(0, len(HULLS), count)


def _random(rng: np.random.Generator, kinds: tuple[str, str], count: int) -> tuple[Bodies, Bodies]:
    bodies = []
    for kind in kinds:
        sizes = np.exp(rng.uniform(np.log(0.05), 0.0, (count, SIZES[kind])))
        X = _poses(turned(rng.normal(size=(count, 4))), rng.uniform(-1.0, 1.0, (count, 3)))
        bodies.append(Bodies(kind, X, sizes, _shapes(rng, kind, count), np.zeros(count, bool)))
    a, b = bodies
    u = rng.normal(size=(count, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    reach = sum(np.minimum(x.height(s * u) - s * (u * x.X[:, :3, 3]).sum(-1), 1.0) for x, s in ((a, 1.0), (b, -1.0)))
    b.X[:, :3, 3] = a.X[:, :3, 3] + u * (reach * rng.uniform(0.0, 2.0, count))[:, None]
    return a, b


def _quarter_turns() -> Array:
    results = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            R = np.zeros((3, 3))
            R[range(3), order] = signs
            if np.linalg.det(R) > 0.0:
                results.append(R)
    return np.array(results)


def _aligned(rng: np.random.Generator, kinds: tuple[str, str], count: int) -> tuple[Bodies, Bodies]:
    turns, bodies = _quarter_turns(), []
    for kind in kinds:
        sizes = STEP * rng.integers(1, 13, (count, SIZES[kind]))
        R = turns[rng.integers(0, len(turns), count)]
        X = _poses(R, np.zeros((count, 3)))
        bodies.append(Bodies(kind, X, sizes, _shapes(rng, kind, count), np.zeros(count, bool)))
    a, b = bodies
    # some are turned in their plane by an eighth or a twelfth of a turn, some by next to nothing
    angle = rng.choice([0.0, np.pi / 4.0, np.pi / 6.0], count, p=[0.8, 0.1, 0.1])
    b.X[:, :3, :3] = about(np.broadcast_to([0.0, 0.0, 1.0], (count, 3)), angle) @ b.X[:, :3, :3]
    tiny = rng.choice([0.0, *_BESIDE], count, p=[0.7, 0.15, 0.15])
    b.X[:, :3, :3] = about(rng.normal(size=(count, 3)), tiny) @ b.X[:, :3, :3]
    # next to each other in one coordinate or in more
    p = STEP * rng.integers(-24, 25, (count, 3)) * (rng.random((count, 3)) < 0.6)
    near = rng.choice([0.0, *_BESIDE], (count, 3), p=[0.8, 0.1, 0.1])
    b.X[:, :3, 3] = p + near * rng.choice([-1.0, 1.0], (count, 3))
    b.beside[:] = (tiny > 0.0) | (near > 0.0).any(axis=1)
    # half of them elsewhere: so what is flush is so to rounding
    away = rng.random(count) < 0.5
    W = _poses(turned(rng.normal(size=(count, 4))), rng.uniform(-1.0, 1.0, (count, 3)))
    for x in (a, b):
        x.X[away] = W[away] @ x.X[away]
    return a, b


def about(axis: Array, angle: Array) -> Array:
    """Return rotation matrices (count, 3, 3) about axes (count, 3) of any length by angles (count,) [rad]."""
    q = np.concatenate([np.cos(angle / 2.0)[:, None], np.zeros((len(angle), 3))], axis=1)
    q[:, 1:] = axis / np.linalg.norm(axis, axis=1, keepdims=True) * np.sin(angle / 2.0)[:, None]
    return turned(q)
