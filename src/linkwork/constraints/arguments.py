"""Checks of the arguments of constraints: numbers, lengths, positions, and the joints and frames that they refer to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork._util.validation import finite_number
from linkwork.expr.scalar.symbol import Graph
from linkwork.spatial import Vec3
from linkwork.spatial.arguments import LARGEST, checked_array

__all__ = ["fixed_together", "given_length", "given_number", "given_place", "measured_in", "name_or", "plain_joint"]


def given_length(kind: str, what: str, value: Any) -> float:
    """Return a length above 0 [m] as float."""
    return float(
        finite_number(kind, what, value, above=0.0, most=LARGEST, symbols=False, what="a length above 0", unit="m")
    )


def name_or(name: str, default: str) -> str:
    """The name that a constraint was given, or what it is called where it was given none."""
    return default if name == "" else name


def given_number(kind: str, what: str, value: Any, zero: bool = True) -> float:
    """Return a number as float, one other than 0 unless ``zero``."""
    return float(
        finite_number(kind, what, value, least=-LARGEST, most=LARGEST, symbols=False, what="a number", nonzero=not zero)
    )


def given_place(kind: str, what: str, value: Any) -> Vec3:
    """Return three finite numbers [m] as a vector."""
    value = tuple(value) if isinstance(value, Vec3) else value
    return Vec3.of(checked_array(value, f"{kind}: {what}: expected three numbers [m]", (3,)).tolist())


def fixed_together(robot: Any, one: tuple[str, str], other: tuple[str, str]) -> Iterator[str]:
    """What is wrong where a constraint is between parts of one rigid body: each "frame", "point" or "direction" and its
    name.
    """
    if one == other:
        yield f"it is between {one[1]!r} and itself"
        return
    frames = (name if kind == "frame" else getattr(robot, kind)(name).frame for kind, name in (one, other))
    first, second = (robot.frame(frame).body for frame in frames)
    if first == second:
        whose = "are fixed to the world" if first < 0 else f"are of one body, {robot.bodies[first].name!r}"
        yield f"{one[1]!r} and {other[1]!r} {whose}, so nothing moves between them"


def plain_joint(robot: Any, joint: str, kind: str, single: bool = True) -> Iterator[str]:
    """What is wrong where a joint's numbers are not such that v is q̇, or are several where one is needed."""
    type_ = robot.bodies[robot.joint_index(joint)].joint
    if single and (type_.nq, type_.nv) != (1, 1):
        yield (
            f"joint {joint!r} is of type {type_.type_name()}, with {type_.nq} numbers in q and {type_.nv} in v: "
            f"{kind} is of joints of one number"
        )
        return
    graph = Graph()
    q, v = graph.inputs("q", (type_.nq,)), graph.inputs("v", (type_.nv,))
    if type_.nq != type_.nv or any(a is not b for a, b in zip(type_.q_dot(q, v), v, strict=True)):
        yield f"joint {joint!r} is of type {type_.type_name()}, whose velocity is not the rate of its configuration"


def measured_in(robot: Any, joint: str, unit: str, kind: str) -> Iterator[str]:
    """What is wrong where a joint of one number is measured in another unit."""
    type_ = robot.bodies[robot.joint_index(joint)].joint
    if type_.q_units != (unit,):
        what = "turns [rad]" if unit == "rad" else "slides [m]"
        got = f"is of type {type_.type_name()}, measured in {', '.join(type_.q_units)}"
        yield f"joint {joint!r} {got}: {kind} needs one that {what}"
