"""Signed distances compared with coal: `python -m benchmarks.distance`.

A kernel computes distance, normal and witness points of a pair of shapes at 4096 poses, on one thread into existing
arrays.  coal is called from Python, and in its own loop without Python.  Pairs with iterative algorithms are timed
separated and overlapping.  Results are compared first.  The exit code is 1 if coal's direction separates shapes better
than ours, or its points are nearer; in other cases of disagreement, coal is inaccurate.  Then a robot is measured
against itself and a scene.

``--edges`` checks samples on random edges that are certified free.  ``--accuracy`` compares with results of higher
precision instead (see `benchmarks.distance.accuracy`).  ``--write`` measures everything and writes the figures to
docs/distances_figures.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.distance.accuracy import accuracy, printed
from benchmarks.distance.cases import BATCH, CASES, COPIES, Case, kernel, marginal, names, poses
from benchmarks.distance.page import PAGE, write
from benchmarks.distance.peers import Coal, coal_version
from benchmarks.distance.robots import checked_edges
from benchmarks.distance.robots import measured as measured_robots
from benchmarks.dynamics.robot_figures import FULL, QUICK
from benchmarks.measurement.machine import machine
from benchmarks.measurement.paired_timing import compare
from benchmarks.measurement.seconds import shown_time
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.rows import table
from benchmarks.tables.targets import Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.function_timings import Call, Effort, threads
from linkwork.cli.output import Stream, Terminal

__all__ = ["Measured", "chosen_poses", "main", "measured", "pair_verdicts"]

PARTS = ("pairs", "robots", "accuracy")
COMPARED = 512
_LONG = 100e-9  # s: what takes longer is hardly moving arrays
_TOLERANCE = 1e-5  # [m]: coal's own is 1e-6


@dataclass(frozen=True, slots=True)
class Measured:
    """Results for one pair of bodies.  Times in seconds, for one element of a batch."""

    pair: str
    seconds: float  # arrays in and out
    alone: float | None  # by itself, in a kernel that does more
    operations: int
    peer_call: float | None
    peer_loop: float | None
    difference: float | None  # of distances [m]
    normals: float | None  # angle [rad], where they are unique
    beaten: float | None  # by how much the peer's answer proves ours wrong [m]
    overlaps: float  # share of poses


def chosen_poses(case: Case, peer: Coal | None, count: int = BATCH) -> np.ndarray:
    """Return random poses within reach that are apart or overlap as the case requires, by the peer's distance."""
    rng = np.random.default_rng(7)
    reach = 1.2 * float(case.a.origin_radius + case.b.origin_radius)
    result = poses(rng, count if case.side == "both" else 6 * count, reach if case.side != "overlap" else 0.5 * reach)
    if case.side == "both":
        return result
    if peer is None:
        d = kernel(case.a, case.b)(result)[0]
    else:
        d = peer.distances(result)[0]
    result = result[(d > 1e-6) if case.side == "apart" else (d < -1e-6)]
    return result[np.arange(count) % len(result)]


def measured(case: Case, effort: Effort) -> Measured:
    """Raises TypeError where nothing measures the pair."""
    ours = kernel(case.a, case.b)
    try:
        peer: Coal | None = Coal(case.a, case.b)
    except CannotCompare:
        peer = None
    X = chosen_poses(case, peer)
    with threads(1):
        out = ours(X)
        difference = angle = beaten = None
        if peer is not None:
            d, n, _, _ = peer.distances(X[:COMPARED])
            beaten = _beaten(case, X[:COMPARED], out[0][:COMPARED], out[1][:COMPARED], d, n)
            difference = float(np.abs(out[0][:COMPARED] - d).max())
            known = (out[4][:COMPARED] == 1.0) & (np.abs(d) > 1e-6)
            cosine = np.einsum("ij,ij->i", n, out[1][:COMPARED])[known]
            angle = float(np.arccos(np.clip(cosine, -1.0, 1.0)).max(initial=0.0))
        names_of = {"kernel": ours, "X": X, "out": out}
        if peer is None:
            times = compare(Call("kernel(X, out=out)", names_of), None, effort)
        else:
            T, request, result = peer.transforms(X[:COMPARED]), peer.request, peer.result
            its = {"distance": peer.coal.distance, "a": peer.a, "b": peer.b, "at": peer.at, "T": T}
            call = Call(
                "for x in T: clear(); distance(a, at, b, x, request, result)",
                {**its, "request": request, "result": result, "clear": result.clear},  # else it gives what it found
            )
            times = compare(Call("kernel(X, out=out)", names_of), call, effort)
        loop = None if peer is None else peer.loop_seconds(X[: 4 * COMPARED], effort.rounds)
        return Measured(
            pair=case.name,
            seconds=times.ours / BATCH,
            alone=_alone(case, X, effort) if times.ours < _LONG * BATCH else None,
            operations=ours.arithmetic,
            peer_call=None if times.peer is None else times.peer / COMPARED,
            peer_loop=loop,
            difference=difference,
            normals=angle,
            beaten=beaten,
            overlaps=float(np.mean(out[0] < 0.0)),
        )


def _beaten(case: Case, X: np.ndarray, d: np.ndarray, n: np.ndarray, peer: np.ndarray, direction: np.ndarray) -> float:
    """Planes across any direction leave a gap that is no more than the distance, and ours leave all of it."""

    def gap(u: np.ndarray) -> np.ndarray:
        local = np.einsum("kij,ki->kj", X[:, :3, :3], u)
        farthest = np.einsum("kij,kj->ki", X[:, :3, :3], case.b.support(-local)) + X[:, :3, 3]
        result: np.ndarray = ((farthest - case.a.support(u)) * u).sum(-1)
        return result

    apart = np.where(peer > 0.0, d - peer, 0.0)
    return float(np.max([gap(direction) - d, d - gap(n), apart]))


def _alone(case: Case, X: np.ndarray, effort: Effort) -> float:
    """Return the time for a pair without reading and writing arrays: kernels with several copies minus one copy."""
    single, many = (marginal(case.a, case.b, copies) for copies in (1, COPIES))
    Y = np.broadcast_to(np.eye(4), X.shape).copy()
    rng = np.random.default_rng(3)
    Y[:, :3, 3] = rng.normal(scale=1e-3, size=(len(Y), 3))
    calls = (Call("f(X, Y, out=out)", {"f": f, "X": X, "Y": Y, "out": f(X, Y)}) for f in (many, single))
    result = compare(next(calls), next(calls), effort)
    assert result.peer is not None
    return max(result.ours - result.peer, 0.0) / (COPIES - 1) / len(X)


def pair_verdicts(results: Sequence[Measured], cases: dict[str, Case]) -> Iterator[Verdict]:
    """The rows of the table of targets."""
    for x in results:
        case = cases[x.pair]
        peer = "-" if x.peer_call is None else shown_time(x.peer_call)
        most = Target(case.most)
        ours = shown_time(x.seconds)
        yield Verdict(
            x.pair, f"batch of {BATCH}, one", ours, peer, x.seconds, ours, most, f"<= {shown_time(case.most)}"
        )
        if x.peer_call is not None:
            ratio, least = x.peer_call / x.seconds, Target(case.beside, at_least=True)
            shown = f"{ratio:.3g}x"
            yield Verdict(x.pair, "beside coal's call", ours, peer, ratio, shown, least, f">= {case.beside:g}x")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, if asked, write the JSON; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distance", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="short timings; with --accuracy: fewer poses")
    parser.add_argument("--accuracy", action="store_true", help="errors against higher precision instead of times")
    parser.add_argument("--pairs", metavar="NAME", action="append", default=[], help="measure only this pair of shapes")
    parser.add_argument("--parts", help=f"of {','.join(PARTS)} (default: times; with --write all)")
    parser.add_argument("--edges", metavar="N", type=int, help="only check this number of random edges")
    parser.add_argument("--seed", type=int, default=2, help="seed of these edges, to check a million in several runs")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.name}")
    chosen = parser.parse_args(arguments)
    default = PARTS[2:] if chosen.accuracy else PARTS if chosen.write else PARTS[:2]
    parts = chosen.parts.split(",") if chosen.parts else list(default)
    if not {*parts} <= {*PARTS}:
        parser.error(f"--parts: expected some of {','.join(PARTS)}, got {chosen.parts}")
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    if chosen.edges is not None:
        free, wrong = checked_edges(chosen.edges, chosen.seed)
        terminal.out.line(f"{chosen.edges} edges, {free} certified free, {wrong} of them wrongly (seed {chosen.seed})")
        return 1 if wrong else 0
    about: dict[str, Any] = {**machine(), "coal": _coal()}
    try:
        cases = names(chosen.pairs)
    except KeyError as error:
        parser.error(f"no pair is called {error}; there are {'; '.join(CASES)}")
    effort = (QUICK if chosen.quick else FULL).effort
    results: list[Measured] = []
    for case in cases if "pairs" in parts else ():
        try:
            results.append(measured(case, effort))
        except TypeError as error:
            terminal.warning(f"left out: {case.name}: {error}")
        terminal.log.line(f"pairs: {case.name}")
    rows = list(pair_verdicts(results, {case.name: case for case in cases}))
    robots: list[dict[str, Any]] = []
    if "robots" in parts:
        robots, more = measured_robots(effort, chosen.quick, terminal)
        rows += more
    _print(terminal, results, robots, rows)
    errors = accuracy(terminal, chosen.quick) if "accuracy" in parts else []
    if errors:
        printed(errors, terminal)
    terminal.out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    if rows:
        terminal.out.line(f"{sum(row.met for row in rows)} of {len(rows)} targets met")
    data = {"machine": about, "pairs": [asdict(x) for x in results], "robots": robots}
    data["targets"] = [{**asdict(row), "met": row.met} for row in rows]
    data["accuracy"] = [asdict(x) for x in errors]
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if chosen.write:
        write(data)
    wrong = [x for x in results if x.beaten is not None and not x.beaten <= _TOLERANCE]
    for x in wrong:
        terminal.error(f"{x.pair}: coal's answers prove distances wrong by {x.beaten:.2g} m")
    return 1 if wrong or any(x.get("wrong") for x in robots) else 0


def _coal() -> str:
    try:
        return coal_version()
    except CannotCompare:
        return "-"


def _print(
    terminal: Terminal, results: Sequence[Measured], robots: Sequence[dict[str, Any]], rows: list[Verdict]
) -> None:
    out = terminal.out
    if results:
        header = [
            "pair",
            "batch, one",
            "alone",
            "operations",
            "coal, call",
            "coal, loop",
            "overlaps",
            "distance",
            "normal",
            "beaten",
        ]
        cells = [
            [
                x.pair,
                shown_time(x.seconds),
                shown_time(x.alone),
                str(x.operations),
                shown_time(x.peer_call),
                shown_time(x.peer_loop),
                f"{100 * x.overlaps:.0f} %",
                "-" if x.difference is None else f"{x.difference:.0e}",
                "-" if x.normals is None else f"{x.normals:.0e}",
                "-" if x.beaten is None else f"{x.beaten:.0e}",
            ]
            for x in results
        ]
        out.lines([*table(header, cells, left=(0,)), ""])
    if robots:
        keys = list(dict.fromkeys(key for x in robots for key in x))
        out.lines([*table(keys, [[str(x.get(key, "-")) for key in keys] for x in robots], left=(0, 1)), ""])
    if not rows:
        return
    header = ["what", "measure", "linkwork", "coal", "result", "target", ""]
    judged = [[x.robot, x.label, x.ours, x.peer, x.shown, x.target_shown, x.verdict] for x in rows]
    out.lines([*table(header, judged, left=(0, 1)), ""])


if __name__ == "__main__":
    raise SystemExit(main())
