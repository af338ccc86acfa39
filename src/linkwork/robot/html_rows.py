"""Table rows of joints and links, for notebooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import label, number, number_list
from linkwork.model.tree_drawing import axis_text, follows_text, slice_text

__all__ = ["joint_row", "link_row"]

_EFFORT_UNITS = {"rad/s": "N·m", "m/s": "N"}  # by unit of the velocity


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
