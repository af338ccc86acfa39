"""`linkwork check`: report implausible values of robots, and whether their constraints and limits can be satisfied.

Exit codes: 1 if the constraints cannot be satisfied, for findings that are errors, for a difference from a library of
``--beside``, with ``--strict`` or ``--fail-on-warning`` for warnings, and for findings with a code of ``--fail-on``;
others as for all commands.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection
from dataclasses import replace
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from linkwork import Robot, __version__
from linkwork.cli.arguments import (
    FAILED,
    USAGE,
    CommandError,
    add_json,
    add_meshes,
    add_robot,
    floats,
    robot_of,
    with_meshes,
)
from linkwork.cli.commands.compare import add_beside, add_sampling, compared_with_libraries
from linkwork.cli.output import (
    Terminal,
    as_options,
    columns_of,
    error_data,
    escaped,
    finite,
    folded,
    issue_data,
    label,
    number,
    quantity,
)
from linkwork.cli.parser import WordForm
from linkwork.mechanisms import Mobility
from linkwork.model import constraint_rows
from linkwork.parts import ModelCheck, ModelFinding

__all__ = ["add_arguments", "mobility_data", "mobility_lines", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser, nargs="+")
    add_meshes(parser)
    add_beside(parser)
    add_sampling(parser)
    parser.add_argument(
        "--fail-on-warning",
        action="store_true",
        help="exit with code 1 for warnings, those of the file too, which are errors of code 3 with --strict",
    )
    for name, about in (
        ("--fail-on", "exit with code 1 for findings with these codes, also for notes such as MESH_MISSING"),
        ("--ignore", "leave out findings with these codes"),
    ):
        parser.add_argument(name, metavar="CODE", nargs="+", type=_CODES, action="extend", default=[], help=about)
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Check each file.  The exit code is the largest of all files."""
    files: list[str] = arguments.file
    for option in ("fail_on", "ignore"):
        codes = [code for word in getattr(arguments, option) for code in word.split(",") if code]
        wrong = next((code for code in codes if not _CODE.fullmatch(code)), None)
        if wrong is not None:
            name = f"--{option.replace('_', '-')}"
            raise CommandError(USAGE, f"{name}: expected codes such as MESH_MISSING, got {escaped(repr(wrong))}")
        setattr(arguments, option, frozenset(codes))
    if len(files) == 1:
        data, code = _checked(arguments, files[0], terminal)
        if arguments.json:
            terminal.out.json({"linkwork": __version__, **data})
        return code
    checked = []
    for k, file in enumerate(files):
        if not arguments.json:
            terminal.out.lines([*([""] if k else []), f"{escaped(file)}:"])
        try:
            checked.append(_checked(arguments, file, terminal))
        except CommandError as error:
            terminal.error(str(error))
            checked.append(({"file": file, **error_data(error)}, error.code))
    if arguments.json:
        terminal.out.json({"linkwork": __version__, "files": [data for data, _ in checked]})
    return max(code for _, code in checked)


def _checked(arguments: argparse.Namespace, file: str, terminal: Terminal) -> tuple[dict[str, Any], int]:
    """Print the report on a file, or with ``--json`` return it as data; also return the exit code."""
    arguments = argparse.Namespace(**{**vars(arguments), "file": file})
    robot = robot_of(arguments, replace(terminal, is_quiet=True))  # the warnings are in the report
    result = _mobility(robot)
    beyond = _beyond_limits(robot, result.q) if result.assembled else []
    model = (with_meshes(robot, arguments) if arguments.meshes else robot).check_model()
    findings = _with_repairs(model, robot, arguments.ignore)
    beside = compared_with_libraries(robot, arguments)
    data: dict[str, Any] = {}
    if arguments.json:
        about = {"file": robot.tree.source, "floating_base": floats(robot)}
        repairs = [issue_data(issue) for issue in robot.report.warnings if issue.code not in arguments.ignore]
        data = {**about, **mobility_data(result), "beyond_limits": beyond, "repairs": repairs}
        data |= {"model": findings.as_dict(), "beside": [comparison.as_dict() for comparison in beside]}
    else:
        columns = columns_of(terminal.out)
        terminal.out.lines([*_text(robot, result, beyond, columns), "", *findings.lines(columns)])
        for comparison in beside:
            terminal.out.lines(["", *comparison.lines(columns)])
    is_odd = findings.errors or any(x.code in arguments.fail_on for x in findings.findings)
    is_odd = is_odd or ((arguments.strict or arguments.fail_on_warning) and findings.warnings)
    is_right = result.assembled and not is_odd and all(comparison.same for comparison in beside)
    return data, 0 if is_right else FAILED


def _mobility(robot: Robot) -> Mobility:
    """Return the mobility of the robot at an assembled configuration, within the joints' limits if possible."""
    if any(constraint.holonomic for constraint in robot.tree.constraints):
        within = robot.assemble(check=False)
        if np.all(within.success):
            return robot.mobility(within.q)
    return robot.mobility()


# -- for people


def _text(robot: Robot, result: Mobility, beyond: list[dict[str, Any]], columns: int | None) -> list[str]:
    rows = constraint_rows(robot.tree)
    return [
        *mobility_lines(result, columns),
        *(["", *folded(CONSTRAINTS, rows, columns, left=(0, 1, 2))] if rows else []),
        "",
        *_limit_lines(beyond, bool(rows)),
    ]


def _with_repairs(model: ModelCheck, robot: Robot, ignored: Collection[str]) -> ModelCheck:
    """Return the findings of a check, together with warnings and notes of the robot's file that the check lacks.

    They are sorted by severity. Findings with ``ignored`` codes are left out.
    """
    reported = {(x.code, x.subject[1]) for x in model.findings}
    findings = [replace(x, remedy=as_options(x.remedy)) for x in model.findings]
    for issue in robot.report.warnings:
        named = _NAMED.findall(issue.where.element or "")
        kind, name = named[-1] if named else ("robot", robot.name)
        if (issue.code, name) not in reported:
            severity: Literal["note", "warning"] = "note" if issue.is_note else "warning"
            line = "" if issue.where.line is None else f" (line {issue.where.line})"
            hint, message = as_options(issue.hint or ""), as_options(issue.message)
            findings.append(ModelFinding(issue.code, severity, (kind, name), message + line, "", hint))
    findings = [x for x in findings if x.code not in ignored]
    findings.sort(key=lambda x: ("error", "warning", "note").index(x.severity))
    return ModelCheck._make(name=model.name, findings=tuple(findings))


_CODE = re.compile(r"[A-Z][A-Z0-9_]*")
_CODES = WordForm(lambda word: all(_CODE.fullmatch(code) for code in word.split(",")))
_NAMED = re.compile(r"(\w+)\[([^\]]*)\]")  # steps of an element's path that have names
CONSTRAINTS = ("constraint", "kind", "names", "rows")


def mobility_lines(result: Mobility, columns: int | None) -> list[str]:
    """Return a report of the mobility in lines of at most ``columns`` characters."""
    lines = [escaped(line) for line in str(result).splitlines()]
    if columns is None:
        return lines
    return [part for line in lines for part in wrap(line, columns, subsequent_indent="    ")]


def _limit_lines(beyond: list[dict[str, Any]], constrained: bool) -> list[str]:
    if not beyond:
        return ["within all joints' limits" + (" as assembled" if constrained else " at neutral")]
    return [
        f"beyond its limits: {label(joint['name'])} at {number(joint['q'])}, allowed {_bound(joint['lower'])} .. "
        f"{_bound(joint['upper'])}"
        for joint in beyond
    ] + [f"{quantity(len(beyond), 'coordinate')} of q beyond limits at the checked configuration"]


def _bound(x: float | None) -> str:
    return "-" if x is None else number(x)


# -- for programs


def mobility_data(result: Mobility) -> dict[str, Any]:
    """Return the mobility as plain data for JSON."""
    return dict(result.as_dict())


def _beyond_limits(robot: Robot, q: np.ndarray) -> list[dict[str, Any]]:
    """Return the name, value and limits of each coordinate of q that is beyond its joint's limits."""
    lower, upper = robot.lower, robot.upper
    slack = 1e-9 * np.maximum(1.0, np.abs(q))
    indices = np.flatnonzero((q < lower - slack) | (q > upper + slack)).tolist()
    bounds = zip(finite(lower), finite(upper), strict=True)
    known = list(bounds)
    return [{"name": robot.q_names[k], "q": float(q[k]), "lower": known[k][0], "upper": known[k][1]} for k in indices]
