"""`linkwork dynamics`: print the terms of the equation of motion, and joint forces or accelerations.

The terms are those of one state, or of all rows of tables.
"""

from __future__ import annotations

import argparse

import numpy as np

from linkwork.cli.arguments import BAD_MODEL, USAGE, CommandError, add_json, add_robot, robot_of
from linkwork.cli.files import DATA, add_files, check_files, data_writers, write_files, written_lines
from linkwork.cli.output import Terminal, columns_of, escaped, folded, label, number, quantity
from linkwork.cli.parser import NUMERIC
from linkwork.cli.states import (
    acceleration_of,
    add_configuration,
    configuration_data,
    configurations_of,
    force_of,
    matrix_lines,
    velocity_of,
)
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
    add_files(parser, "write the terms: a row for each state (.csv), or all results with mass matrices (.json, .npz)")
    add_json(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    check_files(arguments, DATA)
    robot = robot_of(arguments, terminal)
    q = configurations_of(robot, arguments, terminal)
    try:
        v = velocity_of(robot, q, "--v", arguments.v or [], tables=True)
        a = acceleration_of(robot, q, v, "--a", arguments.a or [], tables=True)
        tau = force_of(robot, "--tau", arguments.tau or [])
        batch = _batch(q=q, v=v, a=a, tau=tau)
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
        energies = {"kinetic_energy": robot.kinetic_energy(q, v), "potential_energy": robot.potential_energy(q)}
        center = robot.center_of_mass(q)
    except (TypeError, ValueError) as error:  # inertias that were ignored, unsupported constraints
        raise CommandError(BAD_MODEL, escaped(str(error))) from error
    rows = [row for constraint in robot.constraints for row in constraint.component_names]
    names = {"v_names": list(robot.v_names), "v": v}
    if reactions:
        names["constraint_names"] = rows
    more = {"mass_matrix": matrix, **columns, **reactions, **energies, "center_of_mass": center}
    data = configuration_data(robot, q, **names, passive=passive, **more)
    parts = {f"{name}:{at}": x[..., k] for name, x in columns.items() for k, at in enumerate(robot.v_names)}
    parts |= {f"{name}:{at}": x[..., k] for name, x in reactions.items() for k, at in enumerate(rows)}
    parts |= energies | {f"center_of_mass:{axis}": center[..., k] for k, axis in enumerate("xyz")}
    cells = np.stack([np.broadcast_to(x, batch).ravel() for x in parts.values()], axis=1) + 0.0
    write_files(arguments, data_writers(data, [*parts], cells.tolist()))
    if arguments.json:
        terminal.out.json(data | {"output": arguments.output})
        return 0
    lines = [f"{label(robot.name)}: dynamics at {quantity(len(cells), 'state') if batch else 'one state'}, in SI units"]
    if constrained:
        lines += ["mass matrix, bias and gravity are those of the tree, without its constraints"]
    if batch:
        titles = [f"{name.replace('_', ' ')}{colon}{at}" for name, colon, at in (x.partition(":") for x in parts)]
        shown = [[str(k), *map(number, values)] for k, values in enumerate(cells.tolist())]
        header = ["row", *map(label, titles)]
        lines += ["", *folded(header, shown, columns_of(terminal.out), left=()), *written_lines(arguments)]
        terminal.out.lines(lines)
        return 0
    lines += matrix_lines("mass matrix", robot.v_names, robot.v_names, matrix)
    lines += matrix_lines(
        "", robot.v_names, [name.replace("_", " ") for name in columns], np.array([*columns.values()]).T
    )
    if reactions:
        titles = [name.removesuffix("_constraint_forces").replace("_", " ") for name in reactions]
        lines += matrix_lines("constraint forces", rows, titles, np.array([*reactions.values()]).T)
    lines += ["", *(f"{name.replace('_', ' ')}: {number(float(x))} J" for name, x in energies.items())]
    lines += [f"centre of mass: {' '.join(number(x + 0.0) for x in center)} m", *written_lines(arguments)]
    terminal.out.lines(lines)
    return 0


def _batch(**vectors: np.ndarray) -> tuple[int, ...]:
    """Return (n,) for tables of n states, or () for vectors of one state. Raises ValueError."""
    counts = {name: len(x) for name, x in vectors.items() if x.ndim == 2}
    if len({n for n in counts.values() if n > 1}) > 1:
        stated = ", ".join(f"{n} of --{name}" for name, n in counts.items())
        raise ValueError(f"expected tables with equal numbers of rows, got {stated}")
    return (max(counts.values()),) if counts else ()
