"""Checks of the arguments of constraints: numbers, lengths, positions, and the joints and frames that they refer to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linkwork._util.validation import finite_number
from linkwork.expr.scalar.symbol import Graph
from linkwork.spatial import Vec3
from linkwork.spatial.arguments import LARGEST, checked_array

__all__ = [
    "check_coordinate_joint",
    "check_joint_unit",
    "check_relative_motion",
    "name_or",
    "read_length",
    "read_number",
    "read_position",
]


def read_length(kind: str, argument: str, value: Any) -> float:
    """Return a length [m] as a float.  Raises ValueError unless it is positive and finite."""
    return float(
        finite_number(
            kind, argument, value, above=0.0, most=LARGEST, symbols=False, description="a length > 0", unit="m"
        )
    )


def name_or(name: str, default: str) -> str:
    """Return a name, or the default for an empty name."""
    return default if name == "" else name


def read_number(kind: str, argument: str, value: Any, zero: bool = True) -> float:
    """Return a number as a float.  Raises ValueError for one that is not finite and, unless ``zero``, for 0."""
    return float(
        finite_number(
            kind, argument, value, least=-LARGEST, most=LARGEST, symbols=False, description="a number", nonzero=not zero
        )
    )


def read_position(kind: str, argument: str, value: Any) -> Vec3:
    """Return a position [m] of three coordinates as a `Vec3`.  Raises ValueError unless they are finite."""
    value = tuple(value) if isinstance(value, Vec3) else value
    if isinstance(value, str):
        expected = "expected three numbers [m], coordinates in the axes of its frame"
        raise ValueError(f"{kind}: {argument}: {expected}, got {value!r}; the frame's origin is (0, 0, 0)")
    return Vec3.of(checked_array(value, f"{kind}: {argument}: expected three numbers [m]", (3,)).tolist())


def check_relative_motion(robot: Any, a: tuple[str, str], b: tuple[str, str]) -> Iterator[str]:
    """Yield a message if a constraint connects two items of one rigid body.

    Each item is a pair of its kind ("frame", "point" or "direction") and its name.
    """
    if a == b:
        yield f"it is between {a[1]!r} and itself"
        return
    frames = (name if kind == "frame" else getattr(robot, kind)(name).frame for kind, name in (a, b))
    first, second = (robot.frame(frame).body for frame in frames)
    if first == second:
        relation = "are fixed to the world" if first < 0 else f"are of one body, {robot.bodies[first].name!r}"
        yield f"{a[1]!r} and {b[1]!r} {relation}, so nothing moves between them"


def check_coordinate_joint(robot: Any, joint: str, kind: str, single: bool = True) -> Iterator[str]:
    """Yield a message if the velocity of a joint is not the rate q̇ of its configuration.

    With ``single``, a joint with several coordinates is refused as well.
    """
    type_ = robot.bodies[robot.joint_index(joint)].joint
    if single and (type_.nq, type_.nv) != (1, 1):
        yield (
            f"joint {joint!r} is of type {type_.type_name()}, with {type_.nq} coordinates and {type_.nv} velocities: "
            f"{kind} needs joints with one coordinate"
        )
        return
    graph = Graph()
    q, v = graph.inputs("q", (type_.nq,)), graph.inputs("v", (type_.nv,))
    if type_.nq != type_.nv or any(a is not b for a, b in zip(type_.q_dot(q, v), v, strict=True)):
        yield f"joint {joint!r} is of type {type_.type_name()}, whose velocity is not the rate of its configuration"


def check_joint_unit(robot: Any, joint: str, unit: str, kind: str) -> Iterator[str]:
    """Yield a message if the coordinate of a joint has another unit than ``unit``, "rad" or "m"."""
    type_ = robot.bodies[robot.joint_index(joint)].joint
    if type_.q_units != (unit,):
        motion = "rotates [rad]" if unit == "rad" else "slides [m]"
        got = f"is of type {type_.type_name()}, measured in {', '.join(type_.q_units)}"
        yield f"joint {joint!r} {got}: {kind} needs one that {motion}"
