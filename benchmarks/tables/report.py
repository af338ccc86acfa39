"""The tables for people, in plain text or Markdown, and the JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.compiler.large_robots import LargeResult
from benchmarks.dynamics.robot_figures import STANDARD_BATCH, FunctionResult, RobotResult
from benchmarks.first_calls.startup import Startup
from benchmarks.tables.rows import table
from benchmarks.tables.verdicts import Verdict

__all__ = ["context_table", "data", "target_table"]

METHOD = (
    "float64, one thread, row-major NumPy arrays in and new arrays out; outputs compared with Pinocchio's before "
    "timing; timed in turns, medians of rounds"
)


def target_table(rows: Sequence[Verdict], *, markdown: bool = False) -> list[str]:
    """One line a target: met or missed."""
    header = ["robot", "what", "linkwork", "Pinocchio", "result", "target", ""]
    cells = [[row.robot, row.label, row.ours, row.peer, row.shown, row.target_shown, row.verdict] for row in rows]
    return table(header, cells, left=(0, 1, 6), markdown=markdown)


def context_table(results: Sequence[RobotResult], *, markdown: bool = False) -> list[str]:
    """One line a function of a robot: everything measured.  In brackets how many times as fast as Pinocchio.

    Where results are large, new arrays are new memory, which takes longer than to compute them: hence ``out=``.
    """
    sizes = sorted({size for result in results for outcome in result.functions for size in outcome.batches})
    header = ["robot", "dof", "function", "operations", "trace [ms]", "compile [s]"]
    header += [f"batch of {size} [ns/state]" for size in sizes]
    header += [f"of {STANDARD_BATCH}, out=", "one call [µs]", "p50", "p99", "Pinocchio p50", "p99", "difference"]
    cells = [
        [result.robot, str(result.nv), *_function_cells(outcome, sizes)]
        for result in results
        for outcome in result.functions
    ]
    return table(header, cells, left=(0, 2), markdown=markdown)


def data(
    machine: dict[str, object],
    results: Sequence[RobotResult],
    startup: Startup | None,
    rows: Sequence[Verdict],
    no_op: dict[str, float],
    large: Sequence[LargeResult] = (),
) -> dict[str, Any]:
    """Everything measured, for JSON.  Times in seconds, of batches for the whole batch."""
    return {
        "machine": machine,
        "method": METHOD,
        "startup": None if startup is None else asdict(startup),
        "no_op_call": no_op,
        "robots": [_finite(asdict(result)) for result in results],
        "many_bodies": [asdict(outcome) for outcome in large],
        "targets": [{**_finite(asdict(row)), "met": row.met} for row in rows],
    }


def _function_cells(result: FunctionResult, sizes: Sequence[int]) -> list[str]:
    cells = [result.function, str(result.operations), f"{1e3 * result.trace:.0f}", f"{result.compile:.2f}"]
    for size in sizes:
        batch = result.batches.get(size)
        cells.append("-" if batch is None else _timed(batch.ours * 1e9 / size, batch.ratio))
    cells.append("-" if result.into is None else _timed(result.into.ours * 1e9 / STANDARD_BATCH, result.into.ratio))
    cells.append("-" if result.call is None else _timed(result.call.ours * 1e6, result.call.ratio))
    for pair in (result.call_percentiles, result.peer_percentiles):
        cells += ["-", "-"] if pair is None else [f"{1e6 * x:.2f}" for x in pair]
    return [*cells, "-" if result.difference is None else f"{result.difference:.0e}"]


def _timed(value: float, ratio: float | None) -> str:
    shown = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return shown if ratio is None else f"{shown} ({ratio:.1f}x)"


def _finite(value: Any) -> Any:
    """Return a copy with None for values that are not finite, which JSON cannot represent."""
    if isinstance(value, dict):
        return {str(key): _finite(x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
