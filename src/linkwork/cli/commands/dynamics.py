"""`linkwork dynamics`: print the terms of the equation of motion at one state, and forces or accelerations."""

from __future__ import annotations

import argparse

import numpy as np

from linkwork.cli.arguments import BAD_MODEL, USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.output import Terminal, escaped, label, number
from linkwork.cli.parser import NUMERIC
from linkwork.cli.states import (
    acceleration_of,
    add_configuration,
    configuration_data,
    matrix_lines,
    required_q,
    velocity_of,
)
from linkwork.cli.values import named_values
from linkwork.errors import UnknownNameError

__all__ = ["add_arguments", "run"]

_VECTORS = {
    "v": "velocity: all of v, NAME=NUMBER for some, or @FILE; loops determine the others (default: at rest)",
    "a": "acceleration: print the joint forces that it needs [rad/s², m/s²]; given as --v",
    "tau": "joint forces: print the acceleration that they cause [N·m, N]",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    add_configuration(parser)
    for name, about in _VECTORS.items():
        parser.add_argument(f"--{name}", metavar="V", nargs="+", type=NUMERIC, help=about)
    parser.add_argument(
        "--actuators",
        metavar="JOINT",
        nargs="+",
        help="joints with motors for --a, of a robot with loops (default: all that have limited freedom)",
    )
    parser.add_argument(
        "--passive", action="store_true", help="include armature, damping, friction and springs of joints"
    )
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    q = required_q(robot, arguments, terminal)
    try:
        v = velocity_of(robot, q, "--v", arguments.v or [])
        a = acceleration_of(robot, q, v, "--a", arguments.a or [])
        tau = named_values("--tau", arguments.tau or [], np.zeros(robot.nv), robot.v_names, "v")
        if arguments.actuators and not robot.constraints:
            raise ValueError("--actuators: expected a robot with loops or other constraints")
    except (UnknownNameError, ValueError) as error:
        raise CommandError(USAGE, escaped(str(error))) from error
    passive = arguments.passive
    try:
        matrix = robot.mass_matrix(q, passive=passive)
        columns = {"bias_force": robot.bias_force(q, v), "gravity_force": robot.gravity_force(q)}
        constrained = bool(robot.constraints)
        reactions = {}  # forces of constraints
        for name, stated, value in (
            ("inverse_dynamics", arguments.a, a),
            ("forward_dynamics", arguments.tau, tau),
        ):
            if stated is None:
                continue
            if constrained:
                acting = {"actuators": arguments.actuators} if name == "inverse_dynamics" else {}
                result = getattr(robot, f"constrained_{name}")(q, v, value, passive=passive, **acting)
                columns[name], reactions[f"{name}_constraint_forces"] = result[:2]
            else:
                columns[name] = getattr(robot, name)(q, v, value, passive=passive)
        energies = {
            "kinetic_energy": float(robot.kinetic_energy(q, v)),
            "potential_energy": float(robot.potential_energy(q)),
        }
        center = robot.center_of_mass(q)
    except (TypeError, ValueError) as error:  # inertias that were ignored, unsupported constraints
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    rows = [row for constraint in robot.constraints for row in constraint.component_names]
    if arguments.json:
        names = {"v_names": list(robot.v_names), "v": v}
        if reactions:
            names["constraint_names"] = rows
        more = {"mass_matrix": matrix, **columns, **reactions, **energies, "center_of_mass": center}
        terminal.out.json(configuration_data(robot, q, **names, passive=passive, **more))
        return 0
    lines = [f"{label(robot.name)}: dynamics at one state, in SI units"]
    if constrained:
        lines += ["mass matrix, bias and gravity are those of the tree, without its constraints"]
    lines += matrix_lines("mass matrix", robot.v_names, robot.v_names, matrix)
    lines += matrix_lines(
        "", robot.v_names, [name.replace("_", " ") for name in columns], np.array([*columns.values()]).T
    )
    if reactions:
        titles = [name.removesuffix("_constraint_forces").replace("_", " ") for name in reactions]
        lines += matrix_lines("constraint forces", rows, titles, np.array([*reactions.values()]).T)
    lines += ["", *(f"{name.replace('_', ' ')}: {number(x)} J" for name, x in energies.items())]
    terminal.out.lines([*lines, f"centre of mass: {' '.join(number(x + 0.0) for x in center)} m"])
    return 0
