"""Text drawing of a robot's tree with box characters: a line for each link, with its joint."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import cut, escaped, label, number, number_list, width
from linkwork.constraints import Constraint, LoopJoint
from linkwork.joints import JointType
from linkwork.model.body import WORLD, Body, Direction, Following, Frame, Point
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = [
    "axis_text",
    "constraint_lines",
    "constraint_rows",
    "follows_text",
    "joint_parameters",
    "joint_row",
    "link_row",
    "slice_text",
    "tree_lines",
]

_MAX_DEPTH = 24  # drawn levels; deeper ones show their depth instead of all lines on the left
_MIN_WIDTH = 6  # columns of each of link, joint, type and axis in a narrow terminal
_MAX_WIDTH = 72  # columns of the links; joints after longer ones are not aligned
_EFFORT_UNITS = {"rad/s": "N·m", "m/s": "N"}  # by unit of the velocity


def tree_lines(tree: Tree, columns: int | None = None) -> list[str]:
    """Return the lines of a text drawing of a robot's tree.

    After a link, the links fixed to it are drawn first, then its moving children. If the drawing is wider than
    ``columns``, fewer levels are drawn and texts are truncated.
    """
    rows: list[tuple[str, ...]] = _rows(tree, _MAX_DEPTH)
    if columns is not None and max((len("  ".join(row)) for row in rows), default=0) > columns:
        rows = _rows(tree, max(2, min(_MAX_DEPTH, columns // 8)))
    widest = [min(max((width(row[k]) for row in rows), default=0), _MAX_WIDTH) for k in range(4)]
    if columns is not None:
        while sum(widest) + 2 * 3 > max(columns, 4 * _MIN_WIDTH + 2 * 3):
            widest[widest.index(max(widest))] -= 1
        rows = [tuple(map(cut, row, widest)) for row in rows]
    lines = [""] * len(rows)
    for k, row in enumerate(rows):
        cells = [cell + " " * (n - width(cell)) for cell, n in zip(row[:3], widest[:3], strict=True)]
        lines[k] = "  ".join([*cells, *row[3:]]).rstrip()
    return ["world", *lines]


def constraint_lines(tree: Tree) -> list[str]:
    """Return a heading and a line for each constraint: name, kind and references; [] without constraints."""
    if not tree.constraints:
        return []
    rows = [row[:3] for row in constraint_rows(tree)]
    widest = [max(width(row[k]) for row in rows) for k in (0, 1)]
    cells = [[cell + " " * (n - width(cell)) for cell, n in zip(row, widest, strict=False)] for row in rows]
    return ["constraints", *("  ".join(["   " + c[0], c[1], row[2]]) for c, row in zip(cells, rows, strict=True))]


def constraint_rows(tree: Tree) -> list[list[str]]:
    """Return a table row for each constraint: name, kind, references and number of equations."""
    return [
        [label(c.name), _kind(c), ", ".join(map(label, _references(c))) or "-", str(len(c.component_names))]
        for c in tree.constraints
    ]


def _kind(constraint: Constraint) -> str:
    return escaped(constraint.joint.type_name() if isinstance(constraint, LoopJoint) else type(constraint).__name__)


def _references(constraint: Constraint) -> tuple[str, ...]:
    names = constraint.references
    return tuple(dict.fromkeys((*names.joints, *names.frames, *names.points, *names.directions)))


def joint_parameters(joint: JointType) -> dict[str, Any]:
    """Return the parameters of a joint type by name, the fields of its dataclass; vectors are lists."""
    values = {}
    for field in _fields(joint):
        value = getattr(joint, field.name)
        if isinstance(value, Vec3):
            value = [float(x) for x in value]
        values[field.name] = value if isinstance(value, (list, int, float, str, bool)) else str(value)
    return values


def axis_text(joint: JointType) -> str:
    """Return as text those parameters of a joint type that differ from their defaults.

    An axis along one of the frame's axes is shown by its letter.
    """
    defaults = {field.name: field.default for field in _fields(joint)}
    shown = []
    for name, value in joint_parameters(joint).items():
        if getattr(joint, name) == defaults[name]:
            continue
        if isinstance(value, list):
            text = _LETTERS.get(tuple(value)) or f"({', '.join(map(number, value))})"
        else:
            text = number(value) if isinstance(value, float) else escaped(str(value))
        shown.append(text if name == "axis" else f"{name} {text}")
    return ", ".join(shown)


def slice_text(indices: slice) -> str:
    """Return a slice as text: "3", or "3:6"."""
    return str(indices.start) if indices.stop == indices.start + 1 else f"{indices.start}:{indices.stop}"


def follows_text(coupling: Following) -> str:
    """Return a coupling as text: "2 × elbow + 0.1"."""
    return f"{number(coupling.ratio)} × {label(coupling.joint)} + {number(coupling.offset)}"


def _fields(joint: JointType) -> tuple[dataclasses.Field[Any], ...]:
    """Return the dataclass fields of a joint type; () if the type is not a dataclass."""
    return dataclasses.fields(joint) if dataclasses.is_dataclass(joint) else ()


def _rows(tree: Tree, max_depth: int) -> list[tuple[str, ...]]:
    """Return four texts for every link, depth first: the drawn link, its joint, the joint's type and axis."""
    children: dict[int, list[_Child]] = {WORLD: []}
    for i in range(len(tree.bodies)):
        children[i] = []
    for frame in tree.frames:
        if not _is_body(tree, frame) and not (frame.body == WORLD and frame.name == "world"):
            children[frame.body].append(frame)
    marks: list[Point | Direction] = [*tree.points, *tree.directions]
    for mark in marks:
        children[tree.frame(mark.frame).body].append(mark)
    for i, parent, _ in tree.outward():
        children[parent].append(i)
    rows: list[tuple[str, ...]] = []
    stack = list(reversed(_placed(children[WORLD], "", 1)))
    while stack:
        child, before, last, depth = stack.pop()
        line = before + ("└─ " if last else "├─ ")
        if depth > max_depth:
            line = f"…{depth}… {line[-3:]}"
        if isinstance(child, int):
            body = tree.bodies[child]
            rows.append((line + label(body.name), *_carried(body)))
            below = (before + ("   " if last else "│  "))[-3 * max_depth :]
            stack += reversed(_placed(children[child], below, depth + 1))
        elif isinstance(child, (Point, Direction)):
            rows.append((line + label(child.name), "-", *_marked(child)))
        else:
            is_root = child.body == WORLD and child.welded_to is None
            kind = "welded" if child.fixed_joint is not None else "root" if is_root else "frame"
            rows.append((line + label(child.name), label(child.fixed_joint or "-"), kind, ""))
    return rows


_Child = int | Frame | Point | Direction  # index of a moving body, or an item fixed to the parent


def _placed(children: Sequence[_Child], before: str, depth: int) -> list[tuple[_Child, str, bool, int]]:
    return [(child, before, k == len(children) - 1, depth) for k, child in enumerate(children)]


def _carried(body: Body) -> tuple[str, str, str]:
    return label(body.joint_name), body.joint.type_name(), axis_text(body.joint)


def _marked(mark: Point | Direction) -> tuple[str, str]:
    """Return "point" or "direction", and a text of the vector with the name of its frame."""
    kind, vector = ("point", mark.position) if isinstance(mark, Point) else ("direction", mark.vector)
    return kind, f"{number_list(vector)} in {label(mark.frame)}"


def _is_body(tree: Tree, frame: Frame) -> bool:
    """Return True for the frame of a moving body, False for a link welded to the body."""
    return frame.body != WORLD and tree.bodies[frame.body].name == frame.name


_LETTERS = {
    tuple(sign if k == i else 0.0 for k in range(3)): ("-" if sign < 0 else "") + "xyz"[i]
    for i in range(3)
    for sign in (1.0, -1.0)
}


def joint_row(joint: Any) -> dict[str, str]:
    """Return the texts of a joint by column: type, axis, slices of q and v, and limits with units."""
    q_units, v_units = joint.type.q_units, joint.type.v_units
    efforts = tuple(_EFFORT_UNITS.get(unit, "") for unit in v_units)
    return {
        "joint": label(joint.name),
        "type": joint.type_name,
        "axis": axis_text(joint.type),
        "q": slice_text(joint.q_slice) if len(joint.lower) else "",
        "v": slice_text(joint.v_slice) if len(joint.velocity) else "",
        "lower": _limits(joint.lower, q_units),
        "upper": _limits(joint.upper, q_units),
        "velocity": _limits(joint.velocity, v_units),
        "effort": _limits(joint.effort, efforts),
        "follows": "" if joint.coupling is None else follows_text(joint.coupling),
    }


def link_row(link: Any) -> dict[str, str]:
    """Return the texts of a link by column: joint, parent, mass, centre of mass and shapes."""
    inertia = link.inertia_at_origin
    is_massive = inertia is not None and float(inertia.mass) > 0.0
    shapes = Counter(type(geometry.shape).__name__ for geometry in link.collisions)
    return {
        "link": label(link.name),
        "parent": label(link.parent),
        "joint": "" if link.joint is None else label(link.joint) + (" (fixed)" if link.is_welded else ""),
        "mass": f"{number(link.mass)} kg" if is_massive else "",
        "centre of mass": f"{number_list(np.round(link.com, 9))} m" if is_massive else "",
        "collision shapes": ", ".join(f"{count} {kind}" for kind, count in shapes.items()),
    }


def _limits(values: Sequence[float], units: Sequence[str]) -> str:
    """Return limits as text with their units; equal limits once, and "-" without limits."""
    text = number_list(values) if len(values) else "-"
    shown = ", ".join(unit for unit in dict.fromkeys(units) if unit not in ("", "1"))
    return text if text == "-" or not shown else f"{text} {shown}"
