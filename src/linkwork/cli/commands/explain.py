"""`linkwork explain`: where the operations of a robot's compiled function come from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from linkwork import Joint, Robot, __version__
from linkwork._util.messages import cut
from linkwork.cli.arguments import USAGE, CommandError, add_json, add_robot, floats, robot_of
from linkwork.cli.output import Terminal, columns_of, escaped, label, number, quantity, table, width
from linkwork.errors import UnknownNameError
from linkwork.kernels import CodeStatistics, OperationCount, OperationReport, code_statistics, report_operations

__all__ = ["add_arguments", "run"]

_SHORTEST = 6  # characters of a name that is cut for a narrow terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    parser.add_argument("function", metavar="FUNCTION", help=f"one of {', '.join(Robot.functions)}")
    parser.add_argument("--frame", metavar="FRAME", help="the frame, for a function of one (pose, twist ...)")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    requested = _request(robot, arguments.function, arguments.frame)
    try:
        explained = report_operations(robot, requested)
    except UnknownNameError as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    code = code_statistics(robot.compile(requested))
    if arguments.json:
        about = {
            "floating_base": floats(robot),
            "function": arguments.function,
            "frame": arguments.frame,
        }
        terminal.out.json(_data(robot, explained, code, about))
    else:
        columns = columns_of(terminal.out)
        frame_text = "" if arguments.frame is None else f" of {label(arguments.frame)}"
        size = f"{quantity(explained.total.arithmetic, 'operation')} (mul, add, sub)"
        terminal.out.line(f"{label(robot.name)}: {arguments.function}{frame_text}, {size}")
        for lines in (_bodies(robot, explained, columns), _kinds(explained.total), _code(code)):
            terminal.out.lines(["", *lines])
    return 0


def _request(robot: Robot, function: str, frame: str | None) -> Any:
    """Return the function as `Robot.compile` accepts it: a name, or a pair of name and frame.

    Raises CommandError for a missing or superfluous frame.
    """
    row = Robot.functions.get(function)
    if row is not None and row.requires_frame and frame is None:
        example = f", such as {escaped(robot.frames[-1])}" if robot.frames else ""
        raise CommandError(USAGE, f"{function} needs a frame: pass --frame{example}")
    if row is not None and not row.requires_frame and frame is not None:
        raise CommandError(USAGE, f"{function} has no frame: omit --frame")
    if row is not None and row.needs_inertias and robot.tree.inertias_ignored:
        raise CommandError(USAGE, f"{function} depends on inertias: omit --inertia ignore")
    return function if frame is None else (function, frame)


# -- for people


def _bodies(robot: Robot, explained: OperationReport, columns: int | None) -> list[str]:
    """Return the lines of a table of operations by body, which fits the width ``columns``.

    A narrow table has no column of joints, and shortened names if necessary.
    """
    names = [(label(joint.child), label(joint.name), joint.type_name) for joint in robot.joints]
    total = explained.total
    works = [*explained.bodies, *([explained.elsewhere] if explained.elsewhere.operations else []), total]
    names += [("elsewhere", "", "")] * (len(works) - len(names) - 1) + [("total", "", "")]
    header = [*explained.passes, "total", "share", "div", "sin, cos"]
    rows = [_row(work, total) for work in works]

    def lines(named: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
        full = [[*cell, *row] for cell, row in zip(cells, rows, strict=True)]
        return table([*named, *header], full, left=range(len(named)))

    whole = lines(("body", "joint", "type"), names)
    if columns is None or max(map(width, whole)) <= columns:
        return whole
    short = lines(("body",), [(body,) for body, _, _ in names])
    excess = max(map(width, short)) - columns
    if excess <= 0:
        return short
    longest = max(max(width(body) for body, _, _ in names) - excess, _SHORTEST)
    return lines(("body",), [(cut(body, longest),) for body, _, _ in names])


def _row(work: OperationCount, total: OperationCount) -> list[str]:
    share = f"{100 * work.arithmetic / total.arithmetic:.1f} %" if total.arithmetic else "-"
    counts = (*work.by_pass, work.arithmetic)
    return [*map(str, counts), share, _or_dash(work.count("div")), _or_dash(work.count("sin", "cos"))]


def _or_dash(count: int) -> str:
    return str(count) if count else "-"


def _kinds(total: OperationCount) -> list[str]:
    """Return the lines of a table of operations by kind, the most frequent first."""
    if not total.operations:
        return ["no operations: results are inputs and constants"]
    result = sorted(total.operations.items(), key=lambda item: (-item[1], item[0]))
    return table(["operation", "count"], [[name, str(count)] for name, count in result])


def _code(code: CodeStatistics) -> list[str]:
    size = f"{number(round(code.code_bytes / 1024, 1))} KiB"
    effort = f"traced in {1e3 * code.trace_seconds:.0f} ms, compiled in {code.seconds:.2f} s"
    if code.cached:
        result = f"loaded from the cache on disk in {1e3 * code.seconds:.0f} ms"
        effort = f"{result}; traced and compiled once in {code.compile_seconds:.2f} s"
    return [
        f"instructions  {code.instructions}, of which {code.fused} are fused products and sums",
        f"live values   {code.max_live_values} at most",
        f"machine code  {size}, {quantity(code.lanes, 'lane')}, {quantity(code.segments, 'segment')}",
        f"compilation   {effort}",
    ]


# -- for programs


def _data(robot: Robot, explained: OperationReport, code: CodeStatistics, about: dict[str, Any]) -> dict[str, Any]:
    total = explained.total
    bodies = zip(robot.joints, explained.bodies, strict=True)
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "file": robot.tree.source,
        **about,
        "passes": list(explained.passes),
        "bodies": [_body_data(joint, work, total) for joint, work in bodies],
        "elsewhere": _work_data(explained.elsewhere, total),
        "total": _work_data(total, total),
        "code": asdict(code),
    }


def _body_data(joint: Joint, work: OperationCount, total: OperationCount) -> dict[str, Any]:
    return {"body": joint.child, "joint": joint.name, "type": joint.type_name, **_work_data(work, total)}


def _work_data(work: OperationCount, total: OperationCount) -> dict[str, Any]:
    return {
        "arithmetic": work.arithmetic,
        "by_pass": list(work.by_pass),
        "share": work.arithmetic / total.arithmetic if total.arithmetic else None,
        "operations": dict(sorted(work.operations.items())),
    }
