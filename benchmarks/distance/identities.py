"""Identities of signed distances in random and aligned placements: `python -m benchmarks.distance.identities`.

Every family of pairs is measured in both orders, in the placements of `distance_placements`.  The largest violation of
each identity is printed, relative to the size of the pair, and in brackets the number of pairs beyond `TOLERANCES`:

- surface: witness points lie on the surfaces of their bodies;
- planes: planes across the normal keep the bodies apart by the distance, -h_A(n) - h_B(-n) = d;
- between: the points differ by the distance along a normal of length 1;
- order: the distance of B and A is that of A and B;
- agree: both orders say the same of whether points and normal are unique (where nothing is moved by next to nothing);
- search: no direction parts overlapping bodies with less than the depth;
- point: where points are said to be unique, both orders give the same ones, and opposite normals;
- slope: along a random direction the normal is between the differences of the distance by B's place to both sides, and
  where it is said to be unique, it is the central one.

Points and central differences are asked where nothing is moved by less than differences are.
Pairs are drawn and measured in pieces, so memory does not grow with their number.  ``--json`` has the index of each
worst pair: `pairs(kinds, placement, PIECE, seed, piece)` draws it again.  The exit code is 1 where a pair is beyond a
tolerance.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np

from benchmarks.distance.placements import FAMILIES, PLACEMENTS, Array, Bodies, measured, pairs
from benchmarks.measurement.machine import machine
from benchmarks.tables.rows import table
from linkwork.cli.output import Stream, Terminal

__all__ = ["CHUNK", "TOLERANCES", "Swept", "Worst", "sweep", "violations"]

CHUNK = 10_000  # pairs that are measured at a time
SLOPE, FINER_SLOPE = 1e-6, 1e-9  # [m] steps of differences
TOLERANCES = {"surface": 1e-9, "planes": 1e-9, "between": 1e-13, "order": 1e-11, "agree": 0.5, "search": 1e-6,
              "point": 1e-9, "slope": 1e-3}  # fmt: skip


@dataclass(frozen=True)
class Worst:
    """Violations of each identity (count,), relative to the size of the pair; of slopes relative to 1."""

    surface: Array
    planes: Array
    between: Array
    order: Array
    agree: Array
    search: Array
    point: Array
    slope: Array


def violations(a: Bodies, b: Bodies, searched: int = 0, both: bool = True) -> tuple[Worst, int]:
    """Return the violations of all identities and the count of overlaps, at most ``searched`` of which are searched.

    Unless ``both`` orders are measured, the identities that compare them are 0.
    """
    d, n, p, q, unique = measured(a, b)
    back, m, q_, p_, unique_back = measured(b, a) if both else (d, -n, q, p, unique)
    size = a.extent + b.extent + sum(np.linalg.norm(x.X[:, :3, 3], axis=1) for x in (a, b)) + 1e-3
    planes = np.abs(-a.height(n) - b.height(-n) - d)
    between = np.maximum(np.abs(q - p - d[:, None] * n).max(-1) / size, np.abs(np.linalg.norm(n, axis=1) - 1.0))
    is_unique = (unique > 0.5) & (unique_back > 0.5) & ~b.beside
    apart = np.maximum(np.abs(p - p_).max(-1), np.abs(q - q_).max(-1))
    turned = np.where(np.abs(d) > 1e-6 * size, np.abs(n + m).max(-1), 0.0)
    over, search = np.flatnonzero(d < 0.0), np.zeros(len(d))
    if a.kind != "half-space":
        tried = over[:searched]
        search[tried] = _deeper(a.take(tried), b.take(tried), d[tried])
    return Worst(
        surface=np.maximum(a.off(p), b.off(q)) / size,
        planes=planes / size,
        between=between,
        order=np.abs(d - back) / size,
        agree=np.where(b.beside, 0.0, np.abs(unique - unique_back)),
        search=search / size,
        point=np.where(is_unique, np.maximum(apart / size, turned), 0.0),
        slope=_slopes(a, b, d, n, size, (unique > 0.5) & ~b.beside),
    ), len(over)


def _slopes(a: Bodies, b: Bodies, d: Array, n: Array, size: Array, smooth: Array) -> Array:
    """Return the deviation of normals from finite differences; 0 for pairs that nearly touch.

    Smooth points are compared with the central difference, other points with the interval between both one-sided
    differences.  Values beyond the tolerance are measured again with a smaller step: a kink may be next to the point.
    """
    worst = _out_of_slopes(a, b, d, n, smooth, SLOPE)
    again = np.flatnonzero(~(worst <= TOLERANCES["slope"]))
    if len(again):
        x, y = a.take(again), b.take(again)
        finer = _out_of_slopes(x, y, d[again], n[again], smooth[again], FINER_SLOPE)
        worst[again] = np.fmin(worst[again], finer)
    return np.where(np.abs(d) > 1e-3 * size, worst, 0.0)


def _out_of_slopes(a: Bodies, b: Bodies, d: Array, n: Array, smooth: Array, step: float) -> Array:
    u = np.random.default_rng(2).normal(size=(len(d), 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    along, slopes = (n * u).sum(-1), []
    for sign in (1.0, -1.0):
        X = b.X.copy()
        X[:, :3, 3] += sign * step * u
        slopes.append(sign * (measured(a, replace(b, X=X))[0] - d) / step)
    out = np.maximum(along - slopes[0], slopes[1] - along)
    central = np.abs(0.5 * (slopes[0] + slopes[1]) - along)
    return np.asarray(np.where(smooth, central, np.maximum(out, 0.0)))


def _deeper(a: Bodies, b: Bodies, d: Array) -> Array:
    """Return the maximum excess of the depth over the separation along any direction.

    The search evaluates only support functions: a grid of directions and the bodies' axes, refined around the best.
    """
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
        block = slice(start, start + 2000)
        index = np.arange(len(d))[block]
        x, y, direction = a.take(index), b.take(index), axes[block]
        tried = np.concatenate([np.broadcast_to(grid, (len(index), *grid.shape)), direction, -direction], axis=1)
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
        worst[block] = most - d[block]
    return np.maximum(worst, 0.0)


@dataclass(frozen=True)
class Swept:
    """Worst violations of a family in a kind of placement.

    For each identity: the maximum, the number of pairs beyond its tolerance, and the block and index of the worst pair.
    """

    family: str
    placement: str
    pairs: int
    overlaps: int
    searched: int
    seconds: float
    worst: dict[str, float]
    beyond: dict[str, int]
    index: dict[str, tuple[int, int]]


def sweep(
    kinds: tuple[str, str], placement: str, count: int, searched: int, seed: int = 0,
    advanced: Callable[[int], None] = lambda count: None,
) -> Swept:  # fmt: skip
    """Measure pairs of a family in blocks, and search some of their overlaps."""
    names = [field.name for field in fields(Worst)]
    worst, beyond, index = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0), dict.fromkeys(names, (0, 0))
    start, overlaps, left = time.perf_counter(), 0, searched
    for chunk in range(-(-count // CHUNK)):
        size = min(CHUNK, count - chunk * CHUNK)
        a, b = pairs(kinds, placement, CHUNK, seed, chunk)
        a, b = (x.take(np.arange(size)) for x in (a, b))
        off, over = violations(a, b, left)
        overlaps, left = overlaps + over, max(left - over, 0)
        for name in names:
            values = getattr(off, name)
            beyond[name] += int((~(values <= TOLERANCES[name])).sum())
            k = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
            if not values[k] <= worst[name]:
                worst[name], index[name] = float(values[k]), (chunk, k)
        advanced(size)
    took = time.perf_counter() - start
    tried = 0 if kinds[0] == "half-space" else searched - left
    return Swept("-".join(kinds), placement, count, overlaps, tried, took, worst, beyond, index)


def _rows(swept: Sequence[Swept]) -> Iterator[list[str]]:
    for x in swept:
        cells = (f"{x.worst[name]:.1e}" + (f" ({x.beyond[name]})" if x.beyond[name] else "") for name in x.worst)
        yield [x.family, x.placement, str(x.pairs), str(x.overlaps), str(x.searched), *cells]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return the exit code."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distance.identities", description=about)
    parser.add_argument("--count", type=int, default=100_000, help="pairs of each family and placement")
    parser.add_argument("--searched", type=int, default=500, help="overlaps to search per family and placement")
    parser.add_argument("--families", nargs="*", default=[], help="names such as cylinder-hull; all by default")
    parser.add_argument("--placements", nargs="*", choices=PLACEMENTS, default=list(PLACEMENTS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="FILE", help="file for the results, written after each family")
    chosen = parser.parse_args(arguments)
    names = ["-".join(kinds) for kinds in FAMILIES]
    if unknown := {*chosen.families} - {*names}:
        parser.error(f"--families: expected some of {', '.join(names)}, got {', '.join(sorted(unknown))}")
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    swept: list[Swept] = []
    for name, kinds in zip(names, FAMILIES, strict=True):
        if chosen.families and name not in chosen.families:
            continue
        for placement in chosen.placements:
            result = sweep(kinds, placement, chosen.count, chosen.searched, chosen.seed)
            swept.append(result)
            beyond = ", ".join(f"{key} {many}" for key, many in result.beyond.items() if many)
            terminal.log.line(f"{name}, {placement}: {result.seconds:.0f} s, beyond: {beyond or 'none'}")
            if chosen.json:
                data = {**machine(), "seed": chosen.seed, "tolerances": TOLERANCES, "swept": [asdict(x) for x in swept]}
                Path(chosen.json).write_text(json.dumps(data, indent=1) + "\n")
    columns = ["family", "placement", "pairs", "overlaps", "searched", *TOLERANCES]
    terminal.out.lines(table(columns, [*_rows(swept)], left=(0, 1)))
    total = {name: sum(x.beyond[name] for x in swept) for name in TOLERANCES}
    pairs_in_all = sum(x.pairs for x in swept)
    terminal.out.line(f"{pairs_in_all} pairs; beyond: {', '.join(f'{name} {many}' for name, many in total.items())}")
    return 1 if any(total.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
