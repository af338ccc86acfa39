"""`linkwork info`: show the structure of a robot."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from textwrap import wrap
from typing import Any

import numpy as np

from linkwork import Actuator, Joint, Robot, __version__
from linkwork.cli.arguments import add_json, add_robot, floats, robot_of
from linkwork.cli.commands.check import CONSTRAINTS, mobility_data, mobility_lines
from linkwork.cli.output import (
    Terminal,
    columns_of,
    escaped,
    finite,
    folded,
    issue_data,
    label,
    number,
    number_list,
    quantity,
)
from linkwork.constraints import Constraint
from linkwork.formats.description import NamedState
from linkwork.model import (
    WORLD,
    Frame,
    Tree,
    axis_text,
    constraint_lines,
    constraint_rows,
    follows_text,
    joint_parameters,
    slice_text,
    tree_lines,
)

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--tree", action="store_true", help="print only the tree of links and joints, and the constraints"
    )
    add_json(shown)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = robot_of(arguments, terminal)
    if arguments.tree:
        terminal.out.lines([*tree_lines(robot.tree, columns_of(terminal.out)), *constraint_lines(robot.tree)])
    elif arguments.json:
        terminal.out.json(_data(robot))
    else:
        terminal.out.lines(_text(robot, columns_of(terminal.out)))
    return 0


# -- for people


def _text(robot: Robot, columns: int | None) -> list[str]:
    tree = robot.tree
    joints, links = robot.joints, robot.tree.frames
    marks = sum(not frame.is_link for frame in links)
    further = f", {quantity(marks, 'frame')}" if marks else ""
    followers = sum(body.coupling is not None for body in tree.bodies)
    coupled = f", {followers} of them coupled to others" if followers else ""
    moving = f"{quantity(len(joints), 'moving joint')}{coupled}"
    size = f"{moving} (nq {robot.nq}, nv {robot.nv}), {quantity(len(links) - marks, 'link')}{further}"
    about = f"{size}, {_mass(tree)}, gravity {number_list(robot.gravity)} m/s²"
    shown = [name for name in _DRIVES if any(getattr(joint, name).any() for joint in joints)]
    rows = [_joint_row(joint, shown) for joint in joints]
    return [
        label(robot.name),
        *(wrap(f"  {about}", columns, subsequent_indent="  ") if columns else [f"  {about}"]),
        f"  read from {_end(escaped(tree.source or '<string>'), columns)}",
        "",
        *tree_lines(tree, columns),
        "",
        *(folded((*_JOINT_HEADER[:-1], *shown, _JOINT_HEADER[-1]), rows, columns, left=(0, 1, 2)) if joints else []),
        *([""] if joints else []),
        *folded(_LINK_HEADER, [_link_row(tree, frame) for frame in links], columns, left=(0, 1, 4, 5)),
        *([] if tree.inertias_ignored else [f"total mass {_mass(tree)}"]),
        *(_constrained(robot, columns) if tree.constraints else []),
        *(_actuated(robot, columns) if robot.actuators else []),
        *(_named(robot, columns) if robot.named_configurations else []),
    ]


def _constrained(robot: Robot, columns: int | None) -> list[str]:
    """Return the lines of the table of constraints and of the mobility."""
    table = folded(CONSTRAINTS, constraint_rows(robot.tree), columns, left=(0, 1, 2))
    return ["", *table, "", *mobility_lines(robot.mobility(), columns)]


def _actuated(robot: Robot, columns: int | None) -> list[str]:
    """Return the lines of the table of actuators."""
    rows = [
        [
            label(actuator.name),
            actuator.kind,
            ", ".join(map(label, actuator.frames or [joint for joint, _ in actuator.joints])),
            number_list(actuator.wrench)
            if actuator.wrench
            else number_list(g for _, gears in actuator.joints for g in gears),
            _bounds_text(actuator.control_range),
            _bounds_text(actuator.force_range),
        ]
        for actuator in robot.actuators
    ]
    return ["", *folded(_ACTUATOR_HEADER, rows, columns, left=(0, 1, 2))]


def _named(robot: Robot, columns: int | None) -> list[str]:
    """Return the lines of the table of named configurations."""
    rows = []
    for state in robot.tree.named_configurations:
        stated = [f"{label(joint)} {number_list(x)}" for joint, x in state.q]
        more = [name for name, x in (("velocity", state.v), ("controls", state.controls)) if x is not None]
        rows.append([label(state.name), ", ".join(stated) or "-", ", ".join(more) or "-"])
    return ["", *folded(_NAMED_HEADER, rows, columns, left=(0, 1, 2))]


def _bounds_text(bounds: tuple[float, float]) -> str:
    return f"{number(bounds[0])} .. {number(bounds[1])}" if np.isfinite(bounds).any() else "-"


def _mass(tree: Tree) -> str:
    return "inertias ignored" if tree.inertias_ignored else f"{number(tree.mass)} kg"


def _end(path: str, columns: int | None) -> str:
    """Return a path; if it is too long for a line, only its end, beginning at a separator."""
    if columns is None or len(path) <= (limit := max(columns - len("  read from "), 2)):
        return path
    end = path[len(path) - limit + 1 :]
    return "…" + end[max(end.find("/"), 0) :]


_JOINT_HEADER = (
    *("joint", "type", "axis", "q", "v", "limits [rad, m]", "speed [rad/s, m/s]", "effort [N·m, N]"),
    *("damping", "friction", "follows"),
)
_DRIVES = ("armature", "stiffness")  # columns that are shown if some joint has a value
_ACTUATOR_HEADER = ("actuator", "kind", "acts on", "gear", "control range", "force range [N·m, N]")
_NAMED_HEADER = ("configuration", "joints [rad, m]", "and")
_LINK_HEADER = ("link", "on body", "mass [kg]", "center of mass [m]", "collision shapes", "welded by")


def _joint_row(joint: Joint, shown: list[str]) -> list[str]:
    return [
        label(joint.name),
        joint.type_name,
        axis_text(joint.type),
        slice_text(joint.q_slice),
        slice_text(joint.v_slice),
        _range_text(joint),
        number_list(joint.velocity),
        number_list(joint.effort),
        _or_dash(joint.damping),
        _or_dash(joint.friction),
        *(_or_dash(getattr(joint, name)) for name in shown),
        _follows_text(joint),
    ]


def _or_dash(values: np.ndarray) -> str:
    return number_list(values) if values.any() else "-"


def _range_text(joint: Joint) -> str:
    if not np.isfinite([*joint.lower, *joint.upper]).any():
        return "-"
    return " ".join(f"{number(low)} .. {number(high)}" for low, high in zip(joint.lower, joint.upper, strict=True))


def _follows_text(joint: Joint) -> str:
    """Return as text the coupling that a joint follows; "-" without a coupling.

    A mimic relation of the file without a coupling is in brackets.
    """
    if joint.coupling is not None:
        return follows_text(joint.coupling)
    return "-" if joint.mimic is None else f"({follows_text(joint.mimic)})"


def _link_row(tree: Tree, frame: Frame) -> list[str]:
    mass, center = frame.inertia.mass, _center(frame)
    return [
        label(frame.name),
        label(_body_name(tree, frame)),
        number(mass) if mass else "-",
        number_list(center) if center else "-",
        ", ".join(f"{count} {kind}" for kind, count in _shape_counts(frame).items()) or "-",
        label(frame.fixed_joint or "-"),
    ]


def _shape_counts(frame: Frame) -> dict[str, int]:
    """Number of collision shapes of a link by kind, in the order of the file."""
    return dict(Counter(type(geometry.shape).__name__ for geometry in frame.collisions))


def _body_name(tree: Tree, frame: Frame) -> str:
    return "world" if frame.body == WORLD else tree.bodies[frame.body].name


def _center(frame: Frame) -> list[float] | None:
    """Centre of mass (3,) of a link in its frame [m]; None for a link without mass."""
    mass = frame.inertia.mass
    return [float(x) / mass for x in frame.inertia.moment] if mass else None


# -- for programs


def _data(robot: Robot) -> dict[str, Any]:
    tree = robot.tree
    return {
        "linkwork": __version__,
        "name": robot.name,
        "file": tree.source,
        "floating_base": floats(robot),
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": None if tree.inertias_ignored else robot.mass,
        "gravity": [float(g) for g in robot.gravity],
        "joints": [_joint_data(joint) for joint in robot.joints],
        "links": [_link_data(tree, frame) for frame in tree.frames],
        "constraints": [_constraint_data(constraint) for constraint in tree.constraints],
        "actuators": [_actuator_data(actuator) for actuator in robot.actuators],
        "named_configurations": [_named_data(state) for state in tree.named_configurations],
        "mobility": mobility_data(robot.mobility()) if tree.constraints else None,
        "warnings": [issue_data(issue) for issue in robot.report.warnings],
    }


def _joint_data(joint: Joint) -> dict[str, Any]:
    values = joint_parameters(joint.type)
    return {
        "name": joint.name,
        "type": joint.type_name,
        "axis": values.get("axis"),
        "parameters": values,
        "parent": joint.parent,
        "child": joint.child,
        "q": [joint.q_slice.start, joint.q_slice.stop],
        "v": [joint.v_slice.start, joint.v_slice.stop],
        "lower": finite(joint.lower),
        "upper": finite(joint.upper),
        "velocity": finite(joint.velocity),
        "effort": finite(joint.effort),
        "damping": finite(joint.damping),
        "friction": finite(joint.friction),
        "static_friction": finite(joint.static_friction),
        "armature": finite(joint.armature),
        "gear_ratio": finite(joint.gear_ratio),
        "stiffness": finite(joint.stiffness),
        "rest": finite(joint.rest),
        "mimic": joint.mimic and asdict(joint.mimic),
        "coupling": joint.coupling and asdict(joint.coupling),
    }


def _link_data(tree: Tree, frame: Frame) -> dict[str, Any]:
    return {
        "name": frame.name,
        "body": _body_name(tree, frame),
        "mass": None if tree.inertias_ignored else frame.inertia.mass,
        "center_of_mass": _center(frame),
        "collision_shapes": _shape_counts(frame),
        "fixed_joint": frame.fixed_joint,
        "position_in_body": [float(x) for x in frame.placement.translation],
    }


def _constraint_data(constraint: Constraint) -> dict[str, Any]:
    named = constraint.references
    return {
        "name": constraint.name,
        "kind": type(constraint).__name__,
        "frames": list(named.frames),
        "joints": list(named.joints),
        "points": list(named.points),
        "rows": list(constraint.component_names),
        "holonomic": constraint.holonomic,
    }


def _actuator_data(actuator: Actuator) -> dict[str, Any]:
    return {
        "name": actuator.name,
        "kind": actuator.kind,
        "joints": {joint: list(gears) for joint, gears in actuator.joints},
        "frame": actuator.frame,
        "wrench": list(actuator.wrench),
        "relative_to": actuator.relative_to,
        "gain": list(actuator.gain),
        "bias": list(actuator.bias),
        "control_range": finite(actuator.control_range),
        "force_range": finite(actuator.force_range),
        "offset": actuator.offset,
    }


def _named_data(state: NamedState) -> dict[str, Any]:
    return {
        "name": state.name,
        "q": {joint: list(x) for joint, x in state.q},
        "v": None if state.v is None else {joint: list(x) for joint, x in state.v},
        "controls": None if state.controls is None else dict(state.controls),
    }
