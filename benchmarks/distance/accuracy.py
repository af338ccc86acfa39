"""Accuracy of signed distances: `python -m benchmarks.distance --accuracy`.

The pairs are random, with random sizes and poses.  For separated pairs, each distance is checked against two bounds in
longdouble.  The lower bound is the gap between planes perpendicular to the normal; the upper bound is the distance of
the two witness points.  Overlaps of polytopes, and separated polytopes whose bounds differ, are compared with the
facets of the Minkowski difference from Qhull, evaluated in `numpy.longdouble`.  Points against bodies of revolution
are compared with a polygon.  For other overlaps, a search over all directions must find no smaller separation.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.distance.cases import core_values, turned
from benchmarks.distance.exact import difference_distance, round_distance, segments_distance
from benchmarks.distance.supports import KINDS, outside, support
from benchmarks.tables.rows import table
from linkwork.cli.output import Terminal
from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    signed_distance,
)
from linkwork.spatial import Pose, Vec3

__all__ = ["FAMILIES", "Errors", "Side", "accuracy", "measured", "printed"]

HULL = 20  # vertices
FLAT = ("point", "segment", "box", "hull")
FAMILIES = tuple((a, b) for j, b in enumerate(KINDS) for a in KINDS[: j + 1] if (a, b) != ("point", "point"))
COUNT, QUICK_COUNT = 100_000, 2000
_SEARCHED, _DIRECTIONS = 500, 2000
_SURE = 1e-15  # relative: bounds that differ by more are looked at again, of polytopes
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Side:
    """The largest errors of pairs on one side of touching, relative to the larger body's size."""

    pairs: int
    distance: float  # [1]
    normal: float | None  # [rad], against the direction between the points; of pairs apart by a thousandth
    witnesses: float  # off the surfaces, and off each other less distance · normal
    not_unique: float  # share


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors for a family of pairs."""

    family: str
    apart: Side
    overlap: Side
    deeper: float | None  # by how much a search over directions finds overlaps to be less deep
    searched: int  # so many of them


def core(kind: str, X: Pose, x: Any) -> Any:
    """Return the core of a body at pose X with sizes x, which may be symbols."""
    z = Vec3(*(row[2] for row in X.rotation.rows()))
    match kind:
        case "point":
            return PointCore(X.translation)
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
        case _:
            return PolytopeCore(X, [Vec3(*x[3 * k : 3 * k + 3]) for k in range(HULL)])


def sizes_of(kind: str) -> int:
    return {"point": 0, "segment": 1, "box": 3, "cylinder": 2, "cone": 2, "ellipsoid": 3, "hull": 3 * HULL}[kind]


def drawn(rng: np.random.Generator, kind: str, count: int) -> Array:
    """Sizes (count, of them), between a twentieth and one, a tenth of them thinner."""
    if kind == "hull":
        u = rng.normal(size=(count, HULL, 3))
        u *= np.exp(rng.uniform(np.log(0.1), 0.0, (count, 1, 3))) / np.linalg.norm(u, axis=-1, keepdims=True)
        return u.reshape(count, -1)
    return np.exp(rng.uniform(np.log(0.05), 0.0, (count, max(sizes_of(kind), 1))))


def pair_kernel(a: str, b: str) -> Any:
    def errors_of(X: Any, Y: Any, x: Any, y: Any) -> Any:
        return core_values(signed_distance(Solid(core(a, Pose.of(X), x)), Solid(core(b, Pose.of(Y), y))))

    return lw.compile(errors_of, X=(4, 4), Y=(4, 4), x=max(sizes_of(a), 1), y=max(sizes_of(b), 1))


def placed(rng: np.random.Generator, kinds: tuple[str, str], count: int) -> tuple[Array, Array, Array, Array]:
    """Poses and sizes of pairs of which about half overlap."""
    x, y = (drawn(rng, kind, count) for kind in kinds)
    X = np.zeros((2, count, 4, 4))
    X[..., 3, 3], X[..., :3, :3] = 1.0, turned(rng.normal(size=(2, count, 4)))
    X[0, :, :3, 3] = rng.uniform(-1.0, 1.0, (count, 3))
    u = rng.normal(size=(count, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    reach = support(kinds[0], X[0], x, u) - np.einsum("ij,ij->i", u, X[0, :, :3, 3])
    reach += support(kinds[1], np.concatenate([X[1, :, :, :3], X[1, :, :, 3:] * 0.0], axis=-1), y, -u)
    far = np.asarray(reach, float)[:, None] * rng.uniform(0.0, 2.0, (count, 1))
    X[1, :, :3, 3] = X[0, :, :3, 3] + u * far
    return X[0], X[1], x, y


def measured(kinds: tuple[str, str], count: int, searched: int = _SEARCHED) -> Errors:
    """Raises TypeError where nothing measures the pair."""
    rng = np.random.default_rng(abs(hash_of(kinds)))
    X, Y, x, y = placed(rng, kinds, count)
    d, n, p, q, unique = pair_kernel(*kinds)(X, Y, x, y)
    wide = np.longdouble
    size = np.maximum(*(extent(kind, s) for kind, s in zip(kinds, (x, y), strict=True)))
    n_, p_, q_ = (v.astype(wide) for v in (n, p, q))
    between = np.abs(q_ - p_ - n_ * d[:, None].astype(wide)).max(-1)
    on = np.maximum(outside(kinds[0], X, x, p_), outside(kinds[1], Y, y, q_))
    u = n_ / np.sqrt((n_ * n_).sum(-1, keepdims=True))
    bound = -support(kinds[0], X, x, u) - support(kinds[1], Y, y, -u)
    apart = d > 0.0
    length = np.sqrt(((q_ - p_) ** 2).sum(-1))
    error = np.maximum(np.where(apart, np.abs(length - d), 0.0), np.abs(bound - d))
    if kinds in (("point", "segment"), ("segment", "segment")):
        error = np.abs(d - segments_distance(kinds, X, x, Y, y))
    elif kinds in (("point", "cylinder"), ("point", "cone")):
        error = np.abs(d - round_distance(kinds[1], X, Y, y))
    elif all(kind in FLAT for kind in kinds):
        again = ~apart | (error > _SURE * size)
        error[again] = np.abs(d[again] - difference_distance(kinds, *(v[again] for v in (X, x, Y, y))))
    angle = np.sqrt((np.cross(u, q_ - p_) ** 2).sum(-1)) / np.maximum(np.abs(d), 1e-300)
    clear = apart & (d > 1e-3 * size)

    def side(mask: Array) -> Side:
        return Side(
            pairs=int(mask.sum()),
            distance=float((error / size)[mask].max(initial=0.0)),
            normal=float(angle[clear].max(initial=0.0)) if mask is apart else None,
            witnesses=float((np.maximum(between, on) / size)[mask].max(initial=0.0)),
            not_unique=float(np.mean(unique[mask] != 1.0)) if mask.any() else 0.0,
        )

    sampled = min(searched, int((~apart).sum()))
    depth = _deeper(kinds, X, x, Y, y, d, size, sampled) if "point" not in kinds and sampled else None
    return Errors(", ".join(kinds), side(apart), side(~apart), depth, sampled if depth is not None else 0)


def hash_of(kinds: tuple[str, str]) -> int:
    """The same in every process."""
    return KINDS.index(kinds[0]) * len(KINDS) + KINDS.index(kinds[1])


def extent(kind: str, x: Array) -> Array:
    result: Array = np.abs(x).max(-1) if kind != "point" else np.zeros(len(x))
    return result


def _deeper(kinds: tuple[str, str], X: Array, x: Array, Y: Array, y: Array, d: Array, size: Array, most: int) -> float:
    """Return the maximum relative excess of the computed depth over the depth from a search over directions."""
    rng, worst = np.random.default_rng(1), 0.0
    k = np.arange(_DIRECTIONS)
    z, turn = 1.0 - (2.0 * k + 1.0) / _DIRECTIONS, np.pi * (1.0 + 5.0**0.5) * k
    grid = np.stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z], axis=-1)
    for j in np.flatnonzero(d < 0.0)[:most]:

        def parted(u: Array, j: int = int(j)) -> Array:
            body = (np.broadcast_to(v[j], (len(u), *v.shape[1:])) for v in (X, x, Y, y))
            A, a, B, b = body
            return -np.asarray(support(kinds[0], A, a, u, float), float) - support(kinds[1], B, b, -u, float)

        value = parted(grid)
        best = grid[np.argsort(value)[-3:]]
        scale = 0.05
        while scale > 1e-8:
            tried = (best[:, None] + scale * rng.normal(size=(len(best), 16, 3))).reshape(-1, 3)
            tried = np.concatenate([best, tried / np.linalg.norm(tried, axis=1, keepdims=True)])
            value = parted(tried)
            best = tried[np.argsort(value)[-3:]]
            scale *= 0.7
        worst = max(worst, float((value.max() - d[j]) / size[j]))
    return worst


def accuracy(terminal: Terminal, quick: bool, families: Sequence[tuple[str, str]] = FAMILIES) -> list[Errors]:
    """Return the errors for all families."""
    results = []
    for kinds in families:
        start = time.perf_counter()
        try:
            results.append(measured(kinds, *((QUICK_COUNT, 20) if quick else (COUNT, _SEARCHED))))
        except TypeError as error:
            terminal.warning(f"left out: {', '.join(kinds)}: {error}")
        terminal.log.line(f"accuracy: {', '.join(kinds)}, {time.perf_counter() - start:.0f} s")
    return results


def printed(result: Sequence[Errors], terminal: Terminal) -> None:
    """The table of the largest errors."""
    header = ["pair", "apart", "distance", "normal [rad]", "points", "not unique"]
    header += ["overlap", "distance", "points", "not unique", "depth missed", "searched"]
    terminal.out.lines([*table(header, [cells(x) for x in result], left=(0,)), ""])
    terminal.out.line("largest errors, relative to the larger body's size; of normals, of pairs apart by a thousandth")


def cells(x: Errors) -> list[str]:
    """A line of the table."""
    shown = [x.family]
    for side in (x.apart, x.overlap):
        normal = [] if side.normal is None else [f"{side.normal:.1e}"]
        shown += [str(side.pairs), f"{side.distance:.1e}", *normal, f"{side.witnesses:.1e}", f"{side.not_unique:.1e}"]
    return [*shown, "-" if x.deeper is None else f"{x.deeper:.1e}", str(x.searched or "-")]
