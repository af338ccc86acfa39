"""Identities of signed distances in random and aligned placements: `python -m benchmarks.distance_identities`.

Every family of pairs is measured in both orders.  Sizes and places of aligned placements are multiples of a step and
axes are parallel or a quarter turn apart, so that faces are flush and heights, centers and axes are equal; a share of
them is moved or turned by 1e-12 or 1e-9.  The largest violation of each identity is printed, relative to the size of
the pair:

- surface: witness points lie on the surfaces of their bodies;
- planes: planes across the normal keep the bodies apart by the distance, -h_A(n) - h_B(-n) = d (of pairs that do not
  all but touch: what is apart by rounding has no direction that is known better);
- between: the points differ by the distance along a normal of length 1;
- order: the distance of B and A is that of A and B;
- search: no direction parts overlapping bodies with less than the depth;
- point: where the points are said to be unique, both orders give the same ones;
- slope: the normal is between the differences of the distance by B's place to both sides, and where it is said to be
  unique, it is the central one.

The last two are asked of the points and of the central difference where nothing is moved by less than differences are.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

import linkwork as lw
from linkwork.cli.output import Stream, Terminal, table
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
from linkwork.spatial import Pose, Vec3

from .distance_cases import turned

__all__ = ["FAMILIES", "KINDS", "PLACEMENTS", "Worst", "kernel", "pairs", "violations"]

Array = np.ndarray
PLACEMENTS = ("random", "aligned")
VERTICES = 12
STEP = 0.05  # [m] sizes and places of aligned placements are multiples of it
SLOPE = 1e-6  # [m] of central differences
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
    found = [ConvexHull(v).equations for v in HULLS]
    most = max(map(len, found))
    rows = np.array([np.resize(f, (most, 4)) for f in found])
    return rows[..., :3], -rows[..., 3]


NORMALS, OFFSETS = _planes()
SIZES = {"point": 0, "segment": 1, "box": 3, "cylinder": 2, "cone": 2, "ellipsoid": 3, "hull": 3, "half-space": 0,
         "octahedron": 0, "wedge": 0}  # fmt: skip
KINDS = tuple(SIZES)
_CONSTANT = {"octahedron": (1, 0.2), "wedge": (3, 0.3)}  # hulls whose faces are known when code is made; shape, scale
_FLAT = ("segment", "box", "octahedron", "wedge")


def _families() -> tuple[tuple[str, str], ...]:
    curved = [(a, b) for j, b in enumerate(KINDS[:7]) for a in KINDS[: j + 1]]
    known = [(a, b) for b in ("octahedron", "wedge") for a in (*_FLAT, "cylinder") if (b, a) != ("octahedron", "wedge")]
    return (*curved, *(("half-space", b) for b in KINDS[:7]), *known)


FAMILIES = _families()


@dataclass(frozen=True)
class Bodies:
    """Bodies of a kind: poses (count, 4, 4), sizes (count, n), and the shapes of hulls (count,)."""

    kind: str
    X: Array
    sizes: Array
    shape: Array
    beside: Array  # whether it is moved or turned by next to nothing

    def vertices(self) -> Array:
        """In their own axes: (count, VERTICES, 3)."""
        return HULLS[self.shape] * self.scale()[:, None]

    def scale(self) -> Array:
        """Of hulls, along their axes."""
        if self.kind in _CONSTANT:
            return np.full((len(self.X), 3), _CONSTANT[self.kind][1])
        return self.sizes

    @property
    def numbers(self) -> Array:
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
                own: Array = np.zeros(at.shape)
            case "half-space":
                own = np.where(across < 1e-13, 0.0, np.inf)
            case "segment":
                own = s[0] * np.abs(u[..., 2])
            case "box":
                own = s[0] * np.abs(u[..., 0]) + s[1] * np.abs(u[..., 1]) + s[2] * np.abs(u[..., 2])
            case "cylinder":
                own = s[0] * across + s[1] * np.abs(u[..., 2])
            case "cone":
                own = np.maximum(s[1] * u[..., 2], s[0] * across - s[1] * u[..., 2])
            case "ellipsoid":
                own = np.sqrt((s[0] * u[..., 0]) ** 2 + (s[1] * u[..., 1]) ** 2 + (s[2] * u[..., 2]) ** 2)
            case _:
                own = np.einsum("kvj,k...j->k...v", self.vertices(), u).max(-1)
        return np.asarray(at + own)

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
    """Of sizes that may be symbols."""
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
    """Distance, normal, both points and whether they are unique."""

    def found(X: Any, Y: Any, x: Any, y: Any) -> Any:
        d = signed_distance(Solid(core(a, Pose.of(X), x)), Solid(core(b, Pose.of(Y), y)))
        return d.distance, [*d.normal], [*d.on_a], [*d.on_b], d.unique

    count = {kind: 3 * VERTICES if kind == "hull" else max(SIZES[kind], 1) for kind in (a, b)}
    return lw.compile(found, X=(4, 4), Y=(4, 4), x=count[a], y=count[b])


def found(a: Bodies, b: Bodies) -> tuple[Array, ...]:
    """What the kernel says of all."""
    return tuple(np.asarray(x) for x in kernel(a.kind, b.kind)(a.X, b.X, a.numbers, b.numbers))


def pairs(kinds: tuple[str, str], placement: str, count: int, seed: int = 0) -> tuple[Bodies, Bodies]:
    """Pairs of bodies of which about half overlap."""
    place = PLACEMENTS.index(placement)
    rng = np.random.default_rng([seed, FAMILIES.index(kinds), place])
    return (_random, _aligned)[place](rng, kinds, count)


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
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            R = np.zeros((3, 3))
            R[range(3), order] = signs
            if np.linalg.det(R) > 0.0:
                found.append(R)
    return np.array(found)


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
    b.X[:, :3, :3] = _about(np.broadcast_to([0.0, 0.0, 1.0], (count, 3)), angle) @ b.X[:, :3, :3]
    tiny = rng.choice([0.0, *_BESIDE], count, p=[0.7, 0.15, 0.15])
    b.X[:, :3, :3] = _about(rng.normal(size=(count, 3)), tiny) @ b.X[:, :3, :3]
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


def _about(axis: Array, angle: Array) -> Array:
    q = np.concatenate([np.cos(angle / 2.0)[:, None], np.zeros((len(angle), 3))], axis=1)
    q[:, 1:] = axis / np.linalg.norm(axis, axis=1, keepdims=True) * np.sin(angle / 2.0)[:, None]
    return turned(q)


@dataclass(frozen=True)
class Worst:
    """Violations of each identity (count,), relative to the size of the pair; of slopes relative to 1."""

    surface: Array
    planes: Array
    between: Array
    order: Array
    search: Array
    point: Array
    slope: Array


def violations(a: Bodies, b: Bodies, searched: int = 0) -> Worst:
    """Of all identities; of overlaps no more than ``searched`` are searched."""
    d, n, p, q, unique = found(a, b)
    back, _, q_, p_, also = found(b, a)
    size = a.extent + b.extent + sum(np.linalg.norm(x.X[:, :3, 3], axis=1) for x in (a, b)) + 1e-3
    length = np.linalg.norm(n, axis=1)
    bounded = np.isfinite(a.height(n)) if a.kind != "half-space" else np.ones(len(d), bool)
    with np.errstate(invalid="ignore"):
        planes = np.where(bounded, np.abs(-_own_height(a, n) - b.height(-n) - d), 0.0)
    between = np.maximum(np.abs(q - p - d[:, None] * n).max(-1) / size, np.abs(length - 1.0))
    one = (unique > 0.5) & (also > 0.5) & ~b.beside
    point = np.where(one, np.maximum(np.abs(p - p_).max(-1), np.abs(q - q_).max(-1)), 0.0)
    search = np.zeros(len(d))
    if searched and a.kind != "half-space":
        over = np.flatnonzero(d < 0.0)[:searched]
        search[over] = _deeper(a.take(over), b.take(over), d[over])
    return Worst(
        np.maximum(a.off(p), b.off(q)) / size,
        np.where(np.abs(d) > 1e-6 * size, planes, 0.0) / size,
        between,
        np.abs(d - back) / size,
        search / size,
        point / size,
        _slopes(a, b, d, n, size, (unique > 0.5) & ~b.beside),
    )


def _own_height(a: Bodies, n: Array) -> Array:
    if a.kind != "half-space":
        return a.height(n)
    z = a.X[:, :3, 2]
    return np.where(np.abs(n - z).max(-1) < 1e-13, (z * a.X[:, :3, 3]).sum(-1), np.inf)


def _slopes(a: Bodies, b: Bodies, d: Array, n: Array, size: Array, smooth: Array) -> Array:
    """How far the normal's parts are from the central differences where they are to be smooth, elsewhere how far they
    are out of what is between those to both sides; of pairs that do not all but touch."""
    worst = np.zeros(len(d))
    for k in range(3):
        slopes = []
        for sign in (1.0, -1.0):
            X = b.X.copy()
            X[:, k, 3] += sign * SLOPE
            slopes.append(sign * (found(a, replace(b, X=X))[0] - d) / SLOPE)
        out = np.maximum(n[:, k] - slopes[0], slopes[1] - n[:, k])
        worst = np.maximum(worst, np.where(smooth, np.abs(0.5 * (slopes[0] + slopes[1]) - n[:, k]), out))
    return np.where(np.abs(d) > 1e-3 * size, worst, 0.0)


def _deeper(a: Bodies, b: Bodies, d: Array) -> Array:
    """The most by which a direction parts overlapping bodies with less than the depth: a search that knows support
    functions alone, from directions everywhere and from those of the bodies' axes, finer and finer about the best."""
    rng = np.random.default_rng(1)
    k = np.arange(400)
    z, turn = 1.0 - (2.0 * k + 1.0) / len(k), np.pi * (1.0 + 5.0**0.5) * k
    grid = np.stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z], axis=-1)
    axes = np.concatenate([x.X[:, :3, :3].transpose(0, 2, 1) for x in (a, b)], axis=1)
    crossed = np.cross(axes[:, :3, None], axes[:, None, 3:]).reshape(len(d), 9, 3)
    axes = np.concatenate([axes, crossed + 1e-9 * axes[:, :1]], axis=1)
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    worst = np.empty(len(d))
    for start in range(0, len(d), 2000):
        here = slice(start, start + 2000)
        index = np.arange(len(d))[here]
        x, y, own = a.take(index), b.take(index), axes[here]
        tried = np.concatenate([np.broadcast_to(grid, (len(index), *grid.shape)), own, -own], axis=1)
        scale = 0.08
        while True:
            value = -x.height(tried) - y.height(-tried)
            order = np.argsort(value, axis=1)[:, -3:]
            best, most = np.take_along_axis(tried, order[..., None], axis=1), value.max(1)
            if scale < 1e-7:
                break
            tried = best[:, :, None] + scale * rng.normal(size=(len(index), 3, 12, 3))
            tried = np.concatenate([best, tried.reshape(len(index), -1, 3)], axis=1)
            tried /= np.linalg.norm(tried, axis=-1, keepdims=True)
            scale *= 0.6
        worst[here] = most - d[here]
    return np.maximum(worst, 0.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return the exit code."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distance_identities", description=about)
    parser.add_argument("--count", type=int, default=100_000, help="pairs of each family and placement")
    parser.add_argument("--searched", type=int, default=500, help="overlaps of each that are searched")
    parser.add_argument("--families", nargs="*", default=[], help="names such as cylinder-hull; all by default")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    rows = []
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    names = [field.name for field in fields(Worst)]
    for kinds in FAMILIES:
        name = "-".join(kinds)
        if chosen.families and name not in chosen.families:
            continue
        for placement in PLACEMENTS:
            start = time.perf_counter()
            a, b = pairs(kinds, placement, chosen.count, chosen.seed)
            worst = violations(a, b, chosen.searched)
            rows.append([name, placement, str(chosen.count), *(f"{getattr(worst, x).max():.1e}" for x in names)])
            terminal.log.line(f"{name}, {placement}, {time.perf_counter() - start:.0f} s")
    terminal.out.lines(table(["family", "placement", "pairs", *names], rows, left=(0, 1)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
