"""How accurate signed distances are: `python -m benchmarks.distance --accuracy`.

Random pairs of random sizes, both at random poses.  Polytopes are compared with the facets of their Minkowski
difference, which Qhull names and `numpy.longdouble` measures.  Of curved shapes every answer is held between two bounds
in longdouble: no direction's support gives more than the distance, and no two points of the bodies are nearer; in
overlaps the direction is what counts, and a search over all directions must find none that is better.  Normals of
smooth pairs are compared with Newton's method in longdouble.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.output import Terminal, table
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

from .distance_cases import numbers, turned
from .distance_exact import difference_distance, segments_distance
from .distance_supports import KINDS, outside, support

__all__ = ["FAMILIES", "Errors", "measured", "run"]

HULL = 20  # vertices
FLAT = ("point", "segment", "box", "hull")
FAMILIES = tuple((a, b) for j, b in enumerate(KINDS) for a in KINDS[: j + 1] if (a, b) != ("point", "point"))
_SEARCHED, _DIRECTIONS = 200, 2000
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Errors:
    """The largest of a family, relative to the larger body's size."""

    family: str
    pairs: int
    overlaps: float
    distance: float  # [1]
    normal: float | None  # [rad], of pairs apart, where the reference has one
    witnesses: float  # off the surfaces, and off each other less distance · normal
    deeper: float | None  # by how much a search over directions finds overlaps to be less deep
    not_unique: float


def core(kind: str, X: Pose, x: Any) -> Any:
    """Of sizes that may be symbols."""
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
    def found(X: Any, Y: Any, x: Any, y: Any) -> Any:
        return numbers(signed_distance(Solid(core(a, Pose.of(X), x)), Solid(core(b, Pose.of(Y), y))))

    return lw.compile(found, X=(4, 4), Y=(4, 4), x=max(sizes_of(a), 1), y=max(sizes_of(b), 1))


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
    if kinds == ("segment", "segment"):
        error = np.abs(d - segments_distance(X, x, Y, y))
    elif all(kind in FLAT for kind in kinds) and kinds != ("point", "segment"):
        error = np.abs(d - difference_distance(kinds, X, x, Y, y))
    else:
        error = np.where(apart, np.abs(np.sqrt(((q_ - p_) ** 2).sum(-1)) - d), 0.0)
        error = np.maximum(error, np.abs(bound - d))
    angle = np.sqrt((np.cross(u, q_ - p_) ** 2).sum(-1)) / np.maximum(np.abs(d), 1e-300)
    clear = apart & (d > 1e-3 * size)
    depth = _deeper(kinds, X, x, Y, y, d, size, searched) if "point" not in kinds else None
    return Errors(
        family=", ".join(kinds),
        pairs=count,
        overlaps=float(np.mean(d < 0.0)),
        distance=float((error / size).max()),
        normal=float(angle[clear].max(initial=0.0)),
        witnesses=float((np.maximum(between, on) / size).max()),
        deeper=depth,
        not_unique=float(np.mean(unique != 1.0)),
    )


def hash_of(kinds: tuple[str, str]) -> int:
    """The same in every process."""
    return KINDS.index(kinds[0]) * len(KINDS) + KINDS.index(kinds[1])


def extent(kind: str, x: Array) -> Array:
    found: Array = np.abs(x).max(-1) if kind != "point" else np.zeros(len(x))
    return found


def _deeper(kinds: tuple[str, str], X: Array, x: Array, Y: Array, y: Array, d: Array, size: Array, most: int) -> float:
    """Of overlaps: the most by which a direction parts the bodies with less than the depth found, relative."""
    rng, worst = np.random.default_rng(1), 0.0
    k = np.arange(_DIRECTIONS)
    z, turn = 1.0 - (2.0 * k + 1.0) / _DIRECTIONS, np.pi * (1.0 + 5.0**0.5) * k
    grid = np.stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z], axis=-1)
    for j in np.flatnonzero(d < 0.0)[:most]:

        def parted(u: Array, j: int = int(j)) -> Array:
            one = (np.broadcast_to(v[j], (len(u), *v.shape[1:])) for v in (X, x, Y, y))
            A, a, B, b = one
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


def measured_all(count: int, searched: int, done: Callable[[str], None]) -> Iterator[Errors]:
    """Of all families; those that Qhull is asked about get a tenth of the pairs."""
    for kinds in FAMILIES:
        faceted = all(kind in FLAT for kind in kinds) and kinds[1] != "segment"
        try:
            yield measured(kinds, count // 10 if faceted or "hull" in kinds else count, searched)
        except TypeError as error:
            done(f"left out: {', '.join(kinds)}: {error}")
            continue
        done(f"accuracy: {', '.join(kinds)}")


def run(terminal: Terminal, about: dict[str, Any], chosen: argparse.Namespace) -> int:
    """Print the table of the largest errors, and write it if asked; returns the exit code."""
    found = list(measured_all(*((2000, 20) if chosen.quick else (100_000, _SEARCHED)), terminal.log.line))
    header = ["pair", "pairs", "overlap", "distance", "normal [rad]", "witnesses", "depth missed", "not unique"]
    terminal.out.lines([*table(header, [cells(x) for x in found], left=(0,)), ""])
    terminal.out.line("largest errors, relative to the larger body's size; of normals, of pairs apart by a thousandth")
    terminal.out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    if chosen.json:
        data = {"machine": about, "accuracy": [asdict(x) for x in found]}
        Path(chosen.json).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return 0


def cells(x: Errors) -> list[str]:
    """A line of the table."""
    shown = [f"{v:.1e}" if v is not None else "-" for v in (x.distance, x.normal, x.witnesses, x.deeper)]
    return [x.family, str(x.pairs), f"{100 * x.overlaps:.0f} %", *shown, f"{100 * x.not_unique:.2g} %"]
