"""Dimensions of labelled arrays: the name and the labels of each dimension of a robot's quantities.

A dimension that occurs twice in an array has a number at its second and third occurrence: a mass matrix has the
dimensions "dof" and "dof_2".
"""

from __future__ import annotations

from collections.abc import Mapping

from linkwork.model.coordinate_names import names_of, units_of
from linkwork.model.function_spec import Output, Shape
from linkwork.model.tree import Tree

__all__ = ["AXES", "dimensions_of", "labels_of", "units_for"]

AXES = ("x", "y", "z")
_SIX = (*(f"angular.{axis}" for axis in AXES), *(f"linear.{axis}" for axis in AXES))
_NAMES: Mapping[int | str, str] = {
    "nq": "coordinate",
    "nv": "dof",
    "2nv": "state",
    "nb": "body",
    "np": "point",
    "nc": "constraint",
    "ne": "holonomic_constraint",
    "nl": "loop_dof",
    "nlq": "loop_coordinate",
    "nloops": "loop",
    "nfe": "force_element",
    "npi": "parameter",
    "ni": "independent",
    "nk": "selected",
    3: "axis",
    6: "component",
}
_POSE = ("row", "column")  # of 4 × 4 matrices


def dimensions_of(shape: Shape) -> tuple[str, ...]:
    """Return the names of the dimensions of an array whose shape has sizes by name or as integers."""
    result: list[str] = []
    for k, size in enumerate(shape):
        name = _POSE[shape[:k].count(4)] if size == 4 else _NAMES.get(size, f"size_{size}")
        count = sum(earlier == name or earlier.startswith(f"{name}_") for earlier in result)
        result.append(f"{name}_{count + 1}" if count else name)
    return tuple(result)


def labels_of(tree: Tree, dimension: str) -> tuple[str, ...] | None:
    """Return the labels of a dimension of a robot's quantities; None for one whose labels the robot does not have."""
    name = dimension.rstrip("0123456789").rstrip("_")
    if name == "coordinate":
        return names_of(tree, "q")
    if name == "dof":
        return names_of(tree, "v")
    if name == "state":
        return tuple(f"{which}:{label}" for which in ("dq", "v") for label in names_of(tree, "v"))
    if name == "body":
        return tuple(body.name for body in tree.bodies)
    if name == "constraint":
        return tuple(row for constraint in tree.constraints for row in constraint.component_names)
    if name == "holonomic_constraint":
        return tuple(row for c in tree.constraints if c.holonomic for row in c.component_names)
    return _FIXED.get(name)


_FIXED = {"axis": AXES, "component": _SIX, "row": (*AXES, "w"), "column": (*AXES, "position")}


def units_for(tree: Tree, output: Output) -> str:
    """Return the units of a result: of a vector by joint those of its joints, if all are angles or all are lengths."""
    units = output.units.split(", ")
    kinds = {unit.startswith("rad") for unit in units_of(tree, "v")}
    if output.shape in (("nv",), ("nq",)) and len(units) > 1 and len(kinds) == 1 and tree.nq == tree.nv:
        return units[0 if kinds.pop() else 1]
    return output.units
