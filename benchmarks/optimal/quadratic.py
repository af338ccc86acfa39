"""Quadratic programs compared with daqp, piqp and quadprog: `python -m benchmarks.optimal.quadratic`.

The programs are random and strictly convex: 7 variables within a box, and 30 variables with 40 inequalities, of which a
few or nearly the maximum number are active.  Our batches on one thread are compared with a loop over the peers' single
calls from existing arrays, since they have no batched calls; and single calls with single calls.  The solve time that a
peer reports is shown, too.  Solutions are compared first; peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.dynamics.robot_figures import FULL, QUICK
from benchmarks.measurement.machine import machine
from benchmarks.measurement.paired_timing import compare
from benchmarks.tables.rows import table
from benchmarks.tables.targets import QUADRATIC, Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.function_timings import Call, Effort, environment, threads
from linkwork.cli.output import Stream, Terminal

__all__ = ["Program", "main", "programs", "quadratic_verdicts"]

BATCH = 512
_NEAR = {"daqp": 1e-6, "piqp": 1e-5, "quadprog": 1e-6}  # how near solutions have to be, relative


@dataclass(frozen=True, slots=True)
class Program:
    """Programs of one shape, and how hard they are."""

    name: str
    arrays: dict[str, np.ndarray]

    @property
    def n(self) -> int:
        return int(self.arrays["g"].shape[-1])

    def one(self, k: int) -> dict[str, np.ndarray]:
        return {name: np.ascontiguousarray(x[k]) for name, x in self.arrays.items()}


@dataclass(frozen=True, slots=True)
class Measured:
    """Times in seconds, of one program."""

    program: str
    peer: str
    batch: float
    call: float
    peer_call: float | None  # None without a peer
    peer_inside: float | None
    cold: float
    iterations: float
    active: float
    difference: float | None


def programs(batch: int = BATCH) -> list[Program]:
    """Return the programs: a box; inequalities with few active; inequalities with nearly the maximum number active."""
    rng = np.random.default_rng(0)
    results = []
    for name, n, m, slope in (
        ("box, n = 7", 7, 0, 3.0),
        ("n = 30, 40 rows", 30, 40, 0.5),
        ("n = 30, hard", 30, 40, 3.0),
    ):
        U = rng.standard_normal((batch, n, n))
        arrays = {"H": U @ U.swapaxes(-1, -2) / n + 0.1 * np.eye(n), "g": slope * rng.standard_normal((batch, n))}
        if m:
            A, x = rng.standard_normal((batch, m, n)), rng.uniform(-0.3, 0.3, (batch, n))
            v = np.einsum("bij,bj->bi", A, x)
            below, above = rng.uniform(*((0.0, 2.0) if slope > 1.0 else (1.0, 5.0)), (2, batch, m))
            arrays |= {"A": A, "lower": v - below, "upper": v + above}
        else:
            arrays |= {"x_lower": -rng.uniform(0.3, 1.0, (batch, n)), "x_upper": rng.uniform(0.3, 1.0, (batch, n))}
        results.append(Program(name, arrays))
    return results


Solver = Callable[[], tuple[np.ndarray, float | None]]  # a solution, and the time inside if it is told


def _daqp(arrays: dict[str, np.ndarray]) -> Solver:
    import daqp

    n = arrays["g"].size
    boxed = "x_lower" in arrays
    rows = arrays.get("A", np.zeros((0, n)))
    upper, lower = (arrays["x_upper"], arrays["x_lower"]) if boxed else (arrays["upper"], arrays["lower"])
    sense = np.zeros(upper.size, np.int32)

    def solve() -> tuple[np.ndarray, float | None]:
        x, _, flag, info = daqp.solve(arrays["H"], arrays["g"], rows, upper, lower, sense)
        assert flag == 1
        return x, float(info["solve_time"]) + float(info.get("setup_time", 0.0))

    return solve


def _piqp(arrays: dict[str, np.ndarray]) -> Solver:
    import piqp

    rows = (None, None, arrays["A"], arrays["lower"], arrays["upper"]) if "A" in arrays else (None,) * 5
    bounds = (arrays.get("x_lower"), arrays.get("x_upper"))

    def solve() -> tuple[np.ndarray, float | None]:
        solver = piqp.DenseSolver()
        solver.settings.eps_abs, solver.settings.eps_rel = 1e-9, 1e-9
        solver.setup(arrays["H"], arrays["g"], *rows, *bounds)
        solver.solve()
        return solver.result.x, None

    return solve


def _quadprog(arrays: dict[str, np.ndarray]) -> Solver:
    import quadprog

    n = arrays["g"].size
    rows = arrays.get("A", np.eye(n))
    lower, upper = (arrays[f"{'' if 'A' in arrays else 'x_'}{side}"] for side in ("lower", "upper"))
    C, b = np.ascontiguousarray(np.vstack([rows, -rows]).T), np.concatenate([lower, -upper])

    def solve() -> tuple[np.ndarray, float | None]:
        return quadprog.solve_qp(arrays["H"], -arrays["g"], C, b)[0], None

    return solve


PEERS: dict[str, Callable[[dict[str, np.ndarray]], Solver]] = {"daqp": _daqp, "piqp": _piqp, "quadprog": _quadprog}


def _measured(program: Program, effort: Effort) -> Iterator[Measured]:
    names = ", ".join(f"{name}={name}" for name in program.arrays)
    with environment(LINKWORK_CACHE="off"), threads(1):
        start = time.perf_counter()
        solved = lw.quadratic_program(**program.arrays)
        lw.quadratic_program(**program.one(0))
        cold = time.perf_counter() - start
        assert np.all(solved.status == 0.0), f"{program.name}: status {np.unique(solved.status)}"
        names_of = {"solve": lw.quadratic_program, **program.arrays}
        batch = compare(Call(f"solve({names})", names_of), None, effort).ours / BATCH
        call = Call(f"solve({names})", {"solve": lw.quadratic_program, **program.one(0)})
        counts = float(np.mean(solved.iterations)), float(np.mean(np.abs(solved.active).sum(-1)))
        alone = True
        for name, make in PEERS.items():
            try:
                solvers = [make(program.one(k)) for k in range(64)]
                results = [solver() for solver in solvers]
            except ImportError:
                continue
            alone = False
            expected = np.array([x for x, _ in results])
            difference = float(abs(solved.x[:64] - expected).max() / abs(expected).max())
            assert difference < _NEAR[name], f"{program.name}: {name} differs by {difference:.2g}"
            inside = None if results[0][1] is None else float(np.median([seconds for _, seconds in results]))
            each = Call("for solver in solvers: solver()", {"solvers": solvers})
            times = compare(call, each, effort)
            assert times.peer is not None
            yield Measured(
                program.name,
                name,
                batch,
                times.ours,
                times.peer / len(solvers),
                inside,
                cold,
                *counts,
                difference,
            )
        if alone:
            yield Measured(program.name, "-", batch, compare(call, None, effort).ours, None, None, cold, *counts, None)


def quadratic_verdicts(measured: Sequence[Measured]) -> list[Verdict]:
    """The rows of the table of targets."""
    rows = []
    for (program, figure), target in QUADRATIC.items():
        results = [x for x in measured if x.program == program]
        if not results:
            continue
        fastest = min(results, key=lambda x: x.peer_call or 0.0)
        if figure == "cold":
            rows.append(_row(program, "compiled and called, cold", fastest.cold, None, fastest.cold, target))
        elif figure == "batch":
            rows.append(
                _row(program, f"batch of {BATCH}, one", fastest.batch, fastest.peer_call, fastest.batch, target)
            )
        elif fastest.peer_call is not None:
            ratio = fastest.peer_call / fastest.batch
            rows.append(_row(program, f"beside {fastest.peer}", fastest.batch, fastest.peer_call, ratio, target))
    return rows


def _row(program: str, title: str, ours: float, peer: float | None, value: float, target: Target) -> Verdict:
    shown, bound = (
        (f"{value:.3g}x", f">= {target.bound:g}x") if target.at_least else (_time(value), f"<= {_time(target.bound)}")
    )
    return Verdict(program, title, _time(ours), "-" if peer is None else _time(peer), value, shown, target, bound)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{1e6 * seconds:.3g} µs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and, if asked, write the JSON.  Raises AssertionError if solutions differ."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.optimal.quadratic", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--quick", action="store_true", help="short timings, without the hard programs")
    parser.add_argument("--json", metavar="FILE", help="file for the results")
    chosen = parser.parse_args(arguments)
    effort, about = (QUICK if chosen.quick else FULL).effort, machine()
    measured = [row for program in programs()[: 2 if chosen.quick else 3] for row in _measured(program, effort)]
    out = Terminal(Stream(sys.stdout), Stream(sys.stderr)).out
    header = [
        "programs",
        "held",
        "changes",
        "batch, one",
        "one call",
        "peer",
        "its call",
        "inside",
        "cold",
        "difference",
    ]
    cells = [
        [
            x.program,
            f"{x.active:.1f}",
            f"{x.iterations:.1f}",
            _time(x.batch),
            _time(x.call),
            x.peer,
            _time(x.peer_call),
            _time(x.peer_inside),
            _time(x.cold),
            "-" if x.difference is None else f"{x.difference:.0e}",
        ]
        for x in measured
    ]
    out.lines([*table(header, cells, left=(0, 5)), ""])
    rows = quadratic_verdicts(measured)
    header = ["programs", "what", "linkwork", "fastest peer", "result", "target", ""]
    judged = [[x.robot, x.label, x.ours, x.peer, x.shown, x.target_shown, x.verdict] for x in rows]
    out.lines([*table(header, judged, left=(0, 1)), ""])
    out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    out.line(f"{sum(row.met for row in rows)} of {len(rows)} targets met")
    if chosen.json:
        written: dict[str, Any] = {"machine": about, "programs": [asdict(x) for x in measured]}
        written["targets"] = [asdict(row) for row in rows]
        Path(chosen.json).write_text(json.dumps(written, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
