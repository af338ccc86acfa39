"""Measured numbers beside their targets: the rows of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkwork.cli.timing import Comparison

from .measure import STANDARD_BATCH, FunctionResult, RobotResult
from .startup import Startup
from .targets import IMPORT_SECONDS, TARGETS, Target

__all__ = ["Verdict", "verdicts"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A number with a target; ``ours`` and ``peer`` are what it was computed from, as text with units."""

    robot: str
    what: str
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


def verdicts(results: Sequence[RobotResult], startup: Startup | None) -> list[Verdict]:
    """Every target of the robots that were measured, and of the start."""
    rows = [row for result in results for row in _of_robot(result)]
    if startup is not None:
        shown = f"{startup.import_seconds:.2f} s"
        target = Target(IMPORT_SECONDS)
        rows.append(Verdict("-", "import linkwork", shown, "-", startup.import_seconds, shown, target, "<= 0.4 s"))
        unwanted, names = float(len(startup.unwanted)), ", ".join(startup.unwanted) or "none"
        rows.append(Verdict("-", "jax, torch, scipy imported", names, "-", unwanted, names, Target(0), "none"))
    return rows


def _of_robot(result: RobotResult) -> Iterator[Verdict]:
    functions = {found.function: found for found in result.functions}
    for (robot, function, measure), target in TARGETS.items():
        if robot == result.robot:
            yield _verdict(robot, functions.get(function), function, measure, target)


def _verdict(robot: str, found: FunctionResult | None, function: str, measure: str, target: Target) -> Verdict:
    readable = function.replace("_", " ")
    if measure == "batch":
        batch = None if found is None else found.batches.get(STANDARD_BATCH)
        ours, peer = _times(batch, 1e9 / STANDARD_BATCH, "ns")
        speed = None if batch is None else batch.ratio
        shown = "-" if speed is None else f"{speed:.1f}x"
        what = f"{readable}, batch of {STANDARD_BATCH}, one state"
        return Verdict(robot, what, ours, peer, speed, shown, target, f">= {target.bound:g}x")
    if measure == "call":
        call = None if found is None else found.call
        ours, peer = _times(call, 1e6, "µs")
        part = None if call is None or call.ratio is None else 1.0 / call.ratio
        shown = "-" if part is None else f"{part:.2f} of its time"
        return Verdict(robot, f"{readable}, one call", ours, peer, part, shown, target, f"<= {target.bound:g}")
    if measure == "operations":
        count = None if found is None else found.operations
        shown = "-" if count is None else str(count)
        return Verdict(robot, f"{readable}, operations", shown, "-", count, shown, target, f"<= {target.bound:g}")
    seconds = None if found is None else found.trace + found.compile
    shown = "-" if seconds is None else f"{seconds:.2f} s"
    return Verdict(robot, f"{readable}, compile cold", shown, "-", seconds, shown, target, f"<= {target.bound:g} s")


def _times(found: Comparison | None, scale: float, unit: str) -> tuple[str, str]:
    if found is None:
        return "-", "-"
    return f"{scale * found.ours:.3g} {unit}", "-" if found.peer is None else f"{scale * found.peer:.4g} {unit}"
