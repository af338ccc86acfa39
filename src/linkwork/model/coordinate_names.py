"""Names and units of the coordinates of q and v, indices of coordinates by name, and named configurations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from linkwork._util.lazy_imports import LazyModule
from linkwork._util.messages import nearest
from linkwork.errors import UnknownNameError
from linkwork.joints import JointType
from linkwork.model.body import Body
from linkwork.model.function_spec import Output, Shape
from linkwork.model.tree import Tree

if TYPE_CHECKING:
    from linkwork.model import loop_joints
else:
    loop_joints = LazyModule("linkwork.model.loop_joints")

__all__ = [
    "AXES",
    "coordinates_of",
    "dimensions_of",
    "index_of",
    "joint_of",
    "labels_of",
    "named_positions",
    "names_in",
    "names_of",
    "units_for",
    "units_of",
]


def names_of(tree: Tree, which: Literal["q", "v"]) -> tuple[str, ...]:
    """Return the name of each coordinate of q or v.

    It is the joint's name, followed by a suffix of the joint's type if the joint has several coordinates.
    """
    return tuple(name for _, names in _by_joint(tree, which) for name in names)


def units_of(tree: Tree, which: Literal["q", "v", "a", "jerk"]) -> tuple[str, ...]:
    """Return the unit of each coordinate of q, v, v̇ or v̈."""
    if which == "q":
        return tuple(unit for _, body in tree.stacked() for unit in body.joint.q_units)
    power = {"v": "", "a": "²", "jerk": "³"}[which]
    return tuple(unit + power for _, body in tree.stacked() for unit in body.joint.v_units)


def index_of(tree: Tree, which: Literal["q", "v"], names: str | Iterable[str]) -> np.ndarray:
    """Return the indices (n,) in q or v of the named coordinates or joints: see `Robot.q_index`."""
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, Iterable):
        raise TypeError(f"{which}_index: expected a list of names, got {names!r}")
    indices: dict[str, list[int]] = {}
    count = 0
    for joint, coordinates in _by_joint(tree, which):
        indices[joint] = list(range(count, count + len(coordinates)))
        indices |= {name: [count + k] for k, name in enumerate(coordinates)}
        count += len(coordinates)
    result: list[int] = []
    for name in names:
        if not isinstance(name, str) or name not in indices:
            raise UnknownNameError(f"joint or coordinate of {which}", name, indices)
        if set(indices[name]) & set(result):
            raise ValueError(f"{which}_index: a coordinate of {name!r} is listed twice")
        result += indices[name]
    return np.array(result, dtype=np.intp)


def joint_of(tree: Tree, k: int) -> str:
    """Return the name of the joint with the coordinate v[k]."""
    return next(body.joint_name for i, body in tree.stacked() if k in range(tree.nv)[tree.v_slices[i]])


def _by_joint(tree: Tree, which: Literal["q", "v"]) -> Iterable[tuple[str, list[str]]]:
    for _, body in tree.stacked():
        yield body.joint_name, names_in(body, which)


def names_in(body: Body, which: Literal["q", "v"]) -> list[str]:
    """Return the names of the coordinates of one body's joint."""
    return coordinates_of(body.joint_name, body.joint, which)


def coordinates_of(name: str, joint: JointType, which: Literal["q", "v"]) -> list[str]:
    """Return the names of the coordinates of a joint called ``name``."""
    count, names = (joint.nq, joint.q_names) if which == "q" else (joint.nv, joint.v_names)
    parts = names if len(names) == count else tuple(str(k) for k in range(count))
    return [name] if count == 1 else [f"{name}.{part}" for part in parts]


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
    """Return the labels of a dimension of a robot's quantities; None if the dimension has no labels."""
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
    if name == "loop":
        return tuple(loop.name for loop in loop_joints.loops_of(tree))
    return _FIXED.get(name)


_FIXED = {"axis": AXES, "component": _SIX, "row": (*AXES, "w"), "column": (*AXES, "position")}


def units_for(tree: Tree, output: Output) -> str:
    """Return the units of a result of the robot.

    A vector of joint values has a single unit if all joints have angles, or all have lengths.
    """
    units = output.units.split(", ")
    kinds = {unit.startswith("rad") for unit in units_of(tree, "v")}
    if output.shape in (("nv",), ("nq",)) and len(units) > 1 and len(kinds) == 1 and tree.nq == tree.nv:
        return units[0 if kinds.pop() else 1]
    return output.units


def named_positions(tree: Tree, name: str) -> list[float]:
    """Return the coordinates (nq) of a named configuration; joints without a stated value are at zero.

    Raises UnknownNameError.
    """
    states = {state.name: state for state in tree.named_configurations}
    if name not in states:
        remedy = "Robot.with_named_configuration and with_srdf_document add some; joints have values in a dict"
        remedy = f"{nearest(name, states)}; {remedy}" if states else f"the robot has none; {remedy}"
        raise UnknownNameError("named configuration", name, states, remedy)
    stated = dict(states[name].q)
    return [x for _, body in tree.stacked() for x in stated.get(body.joint_name) or body.call_joint("zero")]
