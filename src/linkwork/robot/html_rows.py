"""HTML of a robot's tree, and the table rows of joints and links, for notebooks; all names are escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from linkwork._util.html_tables import rows_table, tag
from linkwork._util.messages import label, number, number_list
from linkwork.model.tree import Tree
from linkwork.robot.tree_drawing import axis_text, constraint_lines, follows_text, slice_text, tree_lines

__all__ = ["joint_row", "link_row", "robot_html"]

_MAX_LINES = 200  # of the tree
_EFFORT_UNITS = {"rad/s": "N·m", "m/s": "N"}  # by unit of the velocity


def robot_html(tree: Tree, joints: Iterable[Any], picture: str = "") -> str:
    """Return HTML of a robot: a heading, a picture, the tree in a <pre> and a <table> with a row for each joint."""
    count = f"{len(tree.bodies)} moving joint{'' if len(tree.bodies) == 1 else 's'}"
    mass = "" if tree.inertias_ignored else f", {number(tree.mass)} kg"
    head = tag("div", tag("b", escape(label(tree.name))), f": {count}, nq {tree.nq}, nv {tree.nv}{mass}")
    lines, own = tree_lines(tree), constraint_lines(tree)
    more = [f"… and more: {len(lines)} links in all"] if len(lines) > _MAX_LINES else []
    drawn = escape("\n".join([*lines[:_MAX_LINES], *more, *own[:_MAX_LINES]]))
    rows = [joint_row(joint) for joint in joints]
    details = tag("pre", drawn, style="line-height: 1.2"), rows_table(rows, "joints") if rows else ""
    return tag("div", head, picture, tag("details", tag("summary", "links and joints"), *details))


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
    """Return limits with their units, each once; "-" where there is none."""
    text = number_list(values) if len(values) else "-"
    shown = ", ".join(unit for unit in dict.fromkeys(units) if unit not in ("", "1"))
    return text if text == "-" or not shown else f"{text} {shown}"
