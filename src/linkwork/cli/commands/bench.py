"""`linkwork bench`: how fast a robot's functions are on this machine."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from linkwork import __version__
from linkwork._util.progress import ProgressBar
from linkwork.cli.arguments import (
    BAD_MODEL,
    FAILED,
    CommandError,
    add_json,
    add_robot,
    positive,
    robot_of,
)
from linkwork.cli.benchmark.function_timings import (
    Compiled,
    agreement,
    batch_calls,
    compile_cold,
    single_calls,
    threads,
)
from linkwork.cli.benchmark.paired_timing import Comparison, Effort, compare
from linkwork.cli.benchmark.pinocchio_peer import FUNCTIONS, CannotCompare, Pinocchio, pinocchio_version
from linkwork.cli.output import Terminal, columns_of, escaped, folded, label, number, quantity
from linkwork.errors import SingularInertiaError
from linkwork.robot import Robot
from linkwork.robot_table import ROBOT

__all__ = ["HELP", "add_arguments", "run"]

HELP = "measure a robot's functions, beside Pinocchio where it is installed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_json(parser)
    parser.add_argument("--batch", metavar="N", type=positive, default=1024, help="states in a batch (default: 1024)")


@dataclass(frozen=True, slots=True)
class Timed:
    """What was measured of one function."""

    function: str
    compiled: Compiled | None = None
    error: float | None = None  # against Pinocchio; the bound is what rounding explains
    bound: float | None = None
    batch: Comparison | None = None
    call: Comparison | None = None
    note: str | None = None

    @property
    def differs(self) -> bool:
        return self.error is not None and self.bound is not None and not self.error <= self.bound


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    if not robot.nv:
        raise CommandError(BAD_MODEL, f"{label(robot.name)}: nothing moves, so there is nothing to measure")
    peer = _peer(robot, terminal)
    rows = []
    functions = [name for name in FUNCTIONS if not (robot.tree.inertias_ignored and ROBOT[name].of_inertias)]
    with ProgressBar(terminal.log, "measuring", len(functions)) as progress:
        for function in functions:
            rows.append(_measured(robot, peer, function, arguments.batch))
            progress.advance(1)
    if arguments.json:
        terminal.out.json(_data(robot, peer, rows, arguments.batch))
    else:
        terminal.out.lines(_text(robot, peer, rows, arguments.batch, columns_of(terminal.out)))
    wrong = [row.function for row in rows if row.differs]
    if wrong:
        terminal.error(f"outputs differ from Pinocchio's by more than rounding explains: {', '.join(wrong)}")
    return FAILED if wrong else 0


def _peer(robot: Robot, terminal: Terminal) -> Pinocchio | None:
    try:
        return Pinocchio(robot)
    except CannotCompare as reason:
        terminal.log.line(f"linkwork: no comparison: {escaped(str(reason))}")
        return None


def _measured(robot: Robot, peer: Pinocchio | None, function: str, size: int) -> Timed:
    try:
        compiled = compile_cold(robot, function)
    except SingularInertiaError as singular:
        return Timed(function, note=escaped(str(singular)))
    error = bound = note = None
    if peer is not None:
        try:
            error, bound = agreement(robot, peer, function)
        except CannotCompare as reason:
            note = f"no comparison: {escaped(str(reason))}"
        if error is None or bound is None or not error <= bound:
            peer = None  # what computes something else is not timed beside
    effort = Effort(rounds=5)
    with threads(1):
        batch = compare(*batch_calls(robot, peer, function, size), effort)
    call = compare(*single_calls(robot, peer, function), effort)
    return Timed(function, compiled, error, bound, batch, call, note)


# -- for people


def _text(robot: Robot, peer: Pinocchio | None, rows: list[Timed], size: int, columns: int | None) -> list[str]:
    header = ["function", "operations", "trace [ms]", "compile [s]", f"batch of {size} [ns/state]", "one call [µs]"]
    if peer is not None:
        header[5:] = ["Pinocchio", "speed", "one call [µs]", "Pinocchio", "speed", "difference"]
    together = [(1, 2, 3), (4, 5, 6), (7, 8, 9, 10)] if peer is not None else []
    lines = folded(header, [_row_text(row, peer is not None, size) for row in rows], columns, together=together)
    notes = [f"{row.function}: {row.note}" for row in rows if row.note]
    version = f", Pinocchio {pinocchio_version()}" if peer is not None else ""
    title = f"{label(robot.name)}: {quantity(robot.nv, 'degree')} of freedom"
    about = f"linkwork {__version__}{version}; float64, one thread; medians"
    below = [line for text in (*notes, about) for line in (wrap(text, columns) if columns else [text])]
    return [title, "", *lines, "", *below]


def _row_text(row: Timed, compared: bool, size: int) -> list[str]:
    if row.compiled is None or row.batch is None or row.call is None:
        return [row.function, *["-"] * (10 if compared else 5)]
    work = [
        str(row.compiled.operations),
        f"{1e3 * row.compiled.trace_seconds:.0f}",
        f"{row.compiled.compile_seconds:.2f}",
    ]
    batch, call = _pair(row.batch, 1e9 / size), _pair(row.call, 1e6)
    if not compared:
        return [row.function, *work, batch[0], call[0]]
    return [row.function, *work, *batch, *call, "-" if row.error is None else f"{row.error:.0e}"]


def _pair(found: Comparison, scale: float) -> list[str]:
    """Ours, the peer's and how much faster ours is."""
    peer = "-" if found.peer is None else f"{number(float(f'{scale * found.peer:.3g}'))}"
    speed = "-" if found.ratio is None else f"{found.ratio:.1f}x"
    return [number(float(f"{scale * found.ours:.3g}")), peer, speed]


# -- for programs


def _data(robot: Robot, peer: Pinocchio | None, rows: list[Timed], size: int) -> dict[str, Any]:
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "batch": size,
        "peer": peer and {"name": "Pinocchio", "version": pinocchio_version()},
        "functions": [_row_data(row, size) for row in rows],
    }


def _row_data(row: Timed, size: int) -> dict[str, Any]:
    compiled, batch, call = row.compiled, row.batch, row.call
    return {
        "name": row.function,
        "operations": compiled and compiled.operations,
        "trace_seconds": compiled and compiled.trace_seconds,
        "compile_seconds": compiled and compiled.compile_seconds,
        "batch_seconds_per_state": batch and batch.ours / size,
        "call_seconds": call and call.ours,
        "peer_batch_seconds_per_state": batch and batch.peer and batch.peer / size,
        "peer_call_seconds": call and call.peer,
        "batch_speed_over_peer": batch and batch.ratio,
        "call_speed_over_peer": call and call.ratio,
        "relative_difference": row.error if row.error != float("inf") else None,
        "agrees": None if row.error is None else not row.differs,
        "note": row.note,
    }
