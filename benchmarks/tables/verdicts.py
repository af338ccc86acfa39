"""Measured values with their targets: the rows of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.compiler.compiler_figures import Figure
from benchmarks.dynamics.robot_figures import STANDARD_BATCH, FunctionResult, RobotResult
from benchmarks.first_calls.startup import Startup
from benchmarks.measurement.paired_timing import Comparison
from benchmarks.tables.targets import IMPORT_SECONDS, LONG_PROGRAM_SECONDS, TARGETS, Target

__all__ = ["Verdict", "verdicts"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A value with a target; ``ours`` and ``peer`` are the figures it is computed from, as text with units."""

    robot: str
    label: str
    ours: str
    peer: str
    value: float | None  # None: it could not be measured
    shown: str
    target: Target
    target_shown: str

    @property
    def met(self) -> bool:
        return self.value is not None and self.target.met(self.value)

    @property
    def verdict(self) -> str:
        return "not measured" if self.value is None else "met" if self.met else "MISSED"


def verdicts(
    results: Sequence[RobotResult],
    startup: Startup | None,
    long_program: tuple[int, float] | None = None,
    functions: Sequence[str] | None = None,
) -> list[Verdict]:
    """Every target of the robots that were measured, of a long program (instructions, seconds) and of the start.

    ``functions`` are those that were measured, if not all.
    """
    rows = [row for result in results for row in _of_robot(result, functions)]
    if long_program is not None:
        count, seconds = long_program
        target, shown = Target(LONG_PROGRAM_SECONDS), f"{seconds:.1f} s"
        rows.append(Verdict("-", f"compile {count} instructions", shown, "-", seconds, shown, target, "<= 10 s"))
    if startup is not None:
        shown = f"{startup.import_seconds:.2f} s"
        target = Target(IMPORT_SECONDS)
        rows.append(Verdict("-", "import linkwork", shown, "-", startup.import_seconds, shown, target, "<= 0.4 s"))
        unwanted, names = float(len(startup.unwanted)), ", ".join(startup.unwanted) or "none"
        rows.append(Verdict("-", "jax, torch, scipy imported", names, "-", unwanted, names, Target(0), "none"))
    return rows


def _of_robot(result: RobotResult, function_names: Sequence[str] | None) -> Iterator[Verdict]:
    functions = {results.function: results for results in result.functions}
    for (robot, function, measure), target in TARGETS.items():
        if robot == result.robot and (function_names is None or function in function_names):
            figure = result.figures.get(function, {}).get(measure) or _figure(functions.get(function), measure)
            yield _verdict(robot, figure, function, measure, target)


def _figure(result: FunctionResult | None, measure: str) -> Figure | None:
    """Return a figure of a function's measurements without a peer."""
    if result is None:
        return None
    if measure == "operations":
        return Figure(result.operations)
    if measure == "asymmetry":
        return None if result.asymmetric is None else Figure(result.asymmetric)
    if measure == "compile":
        return Figure(result.trace + result.compile, result.trace + result.compile)
    if measure == "batch":
        return _of_comparison(result.batches.get(STANDARD_BATCH), STANDARD_BATCH)
    if measure == "call":
        figure = _of_comparison(result.call, 1)
        return figure and Figure(1.0 / figure.value, figure.ours, figure.peer)
    return None


def _of_comparison(result: Comparison | None, size: int) -> Figure | None:
    if result is None or result.ratio is None or result.peer is None:
        return None
    return Figure(result.ratio, result.ours / size, result.peer / size)


def _verdict(robot: str, figure: Figure | None, function: str, measure: str, target: Target) -> Verdict:
    readable = function.replace("_", " ")
    times = (None, None) if figure is None else (figure.ours, figure.peer)
    value = None if figure is None else figure.value
    kind = measure.split()[0].rstrip(",")
    bound = f"{target.bound:g}"
    if kind == "batch":
        how = measure.removeprefix("batch").replace(" avx2", ", AVX2").replace(" float32", ", float32")
        title = f"{readable}, batch of {STANDARD_BATCH}{how}, one state"
        ours, peer = (_time(x, 1e9, "ns") for x in times)
        return Verdict(robot, title, ours, peer, value, _shown(value, "{:.1f}x"), target, f">= {bound}x")
    if kind == "call":
        title = f"{readable}, one call" + (" of the kernel, out=" if measure.endswith("out") else "")
        ours, peer = (_time(x, 1e6, "µs") for x in times)
        return Verdict(robot, title, ours, peer, value, _shown(value, "{:.2f} of its time"), target, f"<= {bound}")
    if kind == "threads":
        title = f"{readable}, batch of 65536, two threads against one"
        ours, peer = _time(times[0], 1e3, "ms"), f"one: {_time(times[1], 1e3, 'ms')}"
        return Verdict(robot, title, ours, peer, value, _shown(value, "{:.2f}x"), target, f">= {bound}x")
    if kind == "asymmetry":
        title = f"{readable}, elements unlike the transpose's"
        shown = _shown(value, "{:.0f}")
        return Verdict(robot, title, shown, "-", value, shown, target, "none")
    if kind == "operations":
        shown = _shown(value, "{:.0f}")
        return Verdict(robot, f"{readable}, {measure}", shown, "-", value, shown, target, f"<= {bound}")
    title = {"compile": "compile cold", "warm": "load the file and call once, warm cache"}[kind]
    shown = _shown(value, "{:.2f} s" if kind == "compile" else "{:.3f} s")
    return Verdict(robot, f"{readable}, {title}", shown, "-", value, shown, target, f"<= {bound} s")


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _time(seconds: float | None, scale: float, unit: str) -> str:
    return "-" if seconds is None else f"{scale * seconds:.4g} {unit}"
