"""`linkwork robots`: list the built-in robots."""

from __future__ import annotations

import argparse

from linkwork import __version__
from linkwork import robots as built_in
from linkwork.cli.arguments import add_json, read_robot
from linkwork.cli.output import Terminal, number, table

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    result = {name: read_robot(name) for name in built_in.names()}
    if arguments.json:
        robots = [
            {"name": name, "file": robot.tree.source, "nq": robot.nq, "nv": robot.nv, "mass": robot.mass}
            for name, robot in result.items()
        ]
        terminal.out.json({"linkwork": __version__, "robots": robots})
        return 0
    rows = [
        [name, str(robot.nv), str(len(robot.frames)), number(robot.mass), robot.frames[-1]]
        for name, robot in result.items()
    ]
    terminal.out.lines(table(["name", "nv", "links", "mass [kg]", "last link"], rows, left=(0, 4)))
    return 0
