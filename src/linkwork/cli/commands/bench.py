"""`linkwork bench`: time a robot's functions on this machine."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from linkwork import Robot, __version__
from linkwork._util.progress import ProgressBar
from linkwork.cli.arguments import BAD_MODEL, CommandError, add_json, add_robot, random_states, robot_of
from linkwork.cli.function_timings import (
    FUNCTIONS,
    Compiled,
    Effort,
    compile_cold,
    method_call,
    seconds_per_call,
    threads,
)
from linkwork.cli.output import Terminal, columns_of, escaped, folded, label, number, quantity
from linkwork.cli.values import positive
from linkwork.errors import SingularInertiaError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_json(parser)
    parser.add_argument("--batch", metavar="N", type=positive, default=1024, help="states in a batch (default: 1024)")


@dataclass(frozen=True, slots=True)
class Timed:
    """Measured times of one function, or the reason why it was not measured."""

    function: str
    compiled: Compiled | None = None
    batch_seconds: float | None = None
    call_seconds: float | None = None
    note: str | None = None


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    if not robot.nv:
        raise CommandError(BAD_MODEL, f"{label(robot.name)}: the robot has no degrees of freedom to measure")
    rows = []
    functions = [
        name for name in FUNCTIONS if not (robot.tree.inertias_ignored and Robot.functions[name].needs_inertias)
    ]
    with ProgressBar(terminal.progress, "measuring", len(functions)) as progress:
        for function in functions:
            rows.append(_measured(robot, function, arguments.batch))
            progress.advance(1)
    if arguments.json:
        terminal.out.json(_data(robot, rows, arguments.batch))
    else:
        terminal.out.lines(_text(robot, rows, arguments.batch, columns_of(terminal.out)))
    return 0


def _measured(robot: Robot, function: str, size: int) -> Timed:
    try:
        compiled = compile_cold(robot, function)
    except SingularInertiaError as singular:
        return Timed(function, note=escaped(str(singular)))
    effort = Effort(rounds=5)
    with threads(1):
        batch = seconds_per_call(method_call(robot, function, random_states(robot, function, 2, size)), effort)
    call = seconds_per_call(method_call(robot, function, random_states(robot, function, 3)), effort)
    return Timed(function, compiled, batch, call)


# -- for people


def _text(robot: Robot, rows: list[Timed], size: int, columns: int | None) -> list[str]:
    header = ["function", "operations", "trace [ms]", "compile [s]", f"batch of {size} [ns/state]", "one call [µs]"]
    lines = folded(header, [_row_text(row, size) for row in rows], columns)
    notes = [f"{row.function}: {row.note}" for row in rows if row.note]
    title = f"{label(robot.name)}: {quantity(robot.nv, 'degree')} of freedom"
    about = f"linkwork {__version__}; float64, one thread; medians"
    below = [line for text in (*notes, about) for line in (wrap(text, columns) if columns else [text])]
    return [title, "", *lines, "", *below]


def _row_text(row: Timed, size: int) -> list[str]:
    if row.compiled is None or row.batch_seconds is None or row.call_seconds is None:
        return [row.function, *["-"] * 5]
    times = (1e9 / size * row.batch_seconds, 1e6 * row.call_seconds)
    return [
        row.function,
        str(row.compiled.operations),
        f"{1e3 * row.compiled.trace_seconds:.0f}",
        f"{row.compiled.compile_seconds:.2f}",
        *(number(float(f"{x:.3g}")) for x in times),
    ]


# -- for programs


def _data(robot: Robot, rows: list[Timed], size: int) -> dict[str, Any]:
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "batch": size,
        "functions": [_row_data(row, size) for row in rows],
    }


def _row_data(row: Timed, size: int) -> dict[str, Any]:
    compiled = row.compiled
    return {
        "name": row.function,
        "operations": compiled and compiled.operations,
        "trace_seconds": compiled and compiled.trace_seconds,
        "compile_seconds": compiled and compiled.compile_seconds,
        "batch_seconds_per_state": row.batch_seconds and row.batch_seconds / size,
        "call_seconds": row.call_seconds,
        "note": row.note,
    }
