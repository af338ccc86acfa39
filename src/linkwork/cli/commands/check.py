"""`linkwork check`: whether a robot's constraints can be satisfied, its mobility, and whether limits hold."""

from __future__ import annotations

import argparse
from textwrap import wrap
from typing import Any

import numpy as np

from linkwork import __version__
from linkwork.cli.arguments import FAILED, add_json, add_robot, robot_of
from linkwork.cli.output import Terminal, columns_of, escaped, finite, folded, label, number, quantity
from linkwork.mechanisms.mobility.mobility_analysis import Mobility
from linkwork.parts.tree_drawing import constraint_rows
from linkwork.robot import Robot

__all__ = ["add_arguments", "mobility_lines", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    result = _mobility(robot)
    beyond = _beyond_limits(robot, result.q) if result.assembled else []
    if arguments.json:
        about = {"linkwork": __version__, "file": robot.tree.source, "floating_base": bool(arguments.floating_base)}
        terminal.out.json({**about, **mobility_data(result), "beyond_limits": beyond})
    else:
        terminal.out.lines(_text(robot, result, beyond, columns_of(terminal.out)))
    return 0 if result.assembled else FAILED


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
        f"beyond its limits: {label(one['name'])} at {number(one['q'])}, allowed {_bound(one['lower'])} .. "
        f"{_bound(one['upper'])}"
        for one in beyond
    ] + [f"{quantity(len(beyond), 'coordinate')} of q beyond limits at the checked configuration"]


def _bound(x: float | None) -> str:
    return "-" if x is None else number(x)


# -- for programs


def mobility_data(result: Mobility) -> dict[str, Any]:
    """Return a report of the mobility as plain data for JSON."""
    return dict(result.as_dict())


def _beyond_limits(robot: Robot, q: np.ndarray) -> list[dict[str, Any]]:
    """Return the name, value and limits of each coordinate of q that is beyond its joint's limits."""
    lower, upper = robot.lower, robot.upper
    slack = 1e-9 * np.maximum(1.0, np.abs(q))
    indices = np.flatnonzero((q < lower - slack) | (q > upper + slack)).tolist()
    bounds = zip(finite(lower), finite(upper), strict=True)
    known = list(bounds)
    return [{"name": robot.q_names[k], "q": float(q[k]), "lower": known[k][0], "upper": known[k][1]} for k in indices]
