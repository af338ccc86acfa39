"""Comparison of the parts of robots: joints, shapes, constraints, force elements, actuators and configurations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.compare.joint_matching import JointPair, Names, Pairing, axis_at_zero
from linkwork.compare.robot_comparison import Comparer
from linkwork.formats.description import Drive
from linkwork.joints import JointType
from linkwork.model import Frame, Tree
from linkwork.shapes import Mesh
from linkwork.spatial import Pose

__all__ = ["compare_joint", "compare_parts", "compare_shapes"]


def compare_joint(to: Comparer, pairing: Pairing, pair: JointPair, poses: list[dict[int, Pose]], names: Names) -> None:
    """Compare type, axis, relations, limits and drive of a joint, with those of the right robot in its direction."""
    left, right = pairing.left.bodies[pair.left], pairing.right.bodies[pair.right]
    name, sign = left.joint_name, pair.direction or 1
    to.texts("joints", "joint type", name, left.joint.type_name(), _type_of(right.joint, pair.swapped))
    axes = [
        axis_at_zero(tree, k, X[k])
        for tree, k, X in ((pairing.left, pair.left, poses[0]), (pairing.right, pair.right, poses[1]))
    ]
    if axes[0] is not None and axes[1] is not None:
        axis = -axes[1][1] if pair.swapped else axes[1][1]
        to.values("joints", "axis in the world at zero", name, axes[0][1], axis, 1.0)
    for quantity, relation, twin in (("mimic", left.mimic, right.mimic), ("coupling", left.coupling, right.coupling)):
        if relation is not None or twin is not None:
            masters = ("-" if relation is None else names.right(relation.joint), "-" if twin is None else twin.joint)
            to.texts("joints", f"{quantity}: master", name, *masters)
            if relation is not None and twin is not None and masters[0] == masters[1]:
                turned = sign * _direction(pairing, twin.joint)
                values = (relation.ratio, relation.offset), (turned * twin.ratio, sign * twin.offset)
                to.values("joints", f"{quantity}: ratio, offset", name, *values, 1.0)
    if left.joint.nq == right.joint.nq:
        low, high = right.limits.positions
        if sign < 0:
            low, high = (tuple(-x for x in values) for values in (high, low))
        to.values("limits", "lower limit [rad, m]", name, left.limits.positions[0], low)
        to.values("limits", "upper limit [rad, m]", name, left.limits.positions[1], high)
    if left.joint.nv != right.joint.nv:
        return
    to.values("limits", "speed limit [rad/s, m/s]", name, left.limits.velocity, right.limits.velocity)
    to.values("limits", "effort limit [N·m, N]", name, left.limits.effort, right.limits.effort)
    none = (float("inf"),) * left.joint.nv
    for key, unit in (("acceleration", "[rad/s², m/s²]"), ("jerk", "[rad/s³, m/s³]")):
        ours, theirs = (getattr(side.limits, key) or none for side in (left, right))
        to.values("limits", f"{key} limit {unit}", name, ours, theirs)
    to.values("drives", "damping", name, left.damping, right.damping)
    to.values("drives", "friction", name, left.friction, right.friction)
    nv = left.joint.nv
    for key, default in (("armature", 0.0), ("gear_ratio", 1.0), ("stiffness", 0.0)):
        values_left, values_right = (Drive.full(getattr(body.drive, key), nv, default) for body in (left, right))
        if any(x != default for x in (*values_left, *values_right)):
            to.values("drives", key.replace("_", " "), name, values_left, values_right)
    if any(left.drive.stiffness) and any(right.drive.stiffness) and left.joint.nq == right.joint.nq:
        zero = left.joint.zero()
        rests = [np.array(body.drive.rest or zero) for body in (left, right)]
        to.values("drives", "rest position of springs", name, rests[0], sign * rests[1] if sign < 0 else rests[1], 1.0)


def _direction(pairing: Pairing, joint: str) -> int:
    """Return −1 if a joint of the right robot turns in the opposite direction on the left, else 1."""
    directions = {pairing.right.bodies[pair.right].joint_name: pair.direction for pair in pairing.pairs}
    return directions.get(joint, 1) or 1


def _type_of(joint: JointType, swapped: bool) -> str:
    return (joint.reversed() if swapped else joint).type_name()


def compare_shapes(to: Comparer, name: str, left: Frame, right: Frame) -> None:
    """Compare the shapes of a link: their kinds in order, and if these are the same their sizes and poses."""
    for group, quantity, shapes_left, shapes_right in (
        ("collisions", "collision shapes", left.collisions, right.collisions),
        ("visuals", "visual shapes", left.visuals, right.visuals),
    ):
        if not shapes_left and not shapes_right:
            continue
        kinds = [
            ", ".join(type(geometry.shape).__name__ for geometry in shapes) or "-"
            for shapes in (shapes_left, shapes_right)
        ]
        to.texts(group, quantity, name, *kinds)
        if kinds[0] != kinds[1]:
            continue
        for k, (a, b) in enumerate(zip(shapes_left, shapes_right, strict=True)):
            label = name if len(shapes_left) == 1 else f"{name}/{k}"
            _compare_values(to, group, f"{quantity}: size [m]", label, a.shape, b.shape)
            to.values(group, f"{quantity}: pose", label, a.origin.matrix(), b.origin.matrix(), 1.0)


def compare_parts(to: Comparer, left: Tree, right: Tree, names: Names) -> None:
    """Compare constraints, force elements, actuators and named configurations, by name."""
    for group, quantity, parts, candidates in (
        ("constraints", "constraint", left.constraints, right.constraints),
        ("constraints", "force element", left.force_elements, right.force_elements),
        ("actuators", "actuator", left.actuators, right.actuators),
        ("actuators", "named configuration", left.named_configurations, right.named_configurations),
    ):
        known: dict[str, Any] = {part.name: part for part in candidates}
        matched = set()
        for part in parts:
            partner = known.get(names.right(part.name))
            if partner is None:
                to.only(group, quantity, part.name, left=True)
            else:
                matched.add(partner.name)
                _compare_values(to, group, quantity, part.name, part, partner, names)
        for name in known:
            if name not in matched:
                to.only(group, quantity, name, left=False)


def _compare_values(
    to: Comparer, group: str, quantity: str, subject: str, left: Any, right: Any, names: Names | None = None
) -> None:
    """Compare two objects field by field: texts, names and structure exactly, numbers by the tolerance."""
    if type(left) is not type(right):
        to.texts(group, quantity, subject, type(left).__name__, type(right).__name__)
        return
    flat_left, flat_right = _flat(left, names), _flat(right, None)
    words = [[x for x in values if not isinstance(x, float)] for values in (flat_left, flat_right)]
    if len(flat_left) != len(flat_right) or words[0] != words[1]:
        a, b = next(
            ((a, b) for a, b in zip(*words, strict=False) if a != b),
            (f"{len(flat_left)} values", f"{len(flat_right)} values"),
        )
        to.texts(group, quantity, subject, str(a), str(b))
        return
    floats = [[x for x in values if isinstance(x, float)] for values in (flat_left, flat_right)]
    if floats[0] or floats[1]:
        to.values(group, quantity, subject, floats[0], floats[1], 1.0)
    else:
        to.texts(group, quantity, subject, "", "")


def _flat(value: Any, names: Names | None) -> list[float | str]:
    """Return the numbers and texts of an object, in the order of its fields; texts with their name in the right robot.

    The path of a mesh file counts with its last part only.
    """
    if isinstance(value, (bool, type(None))):
        return [str(value)]
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, str):
        return [names.right(value) if names is not None else value]
    if isinstance(value, np.ndarray):
        return [float(x) for x in value.ravel()]
    if isinstance(value, Mesh):
        return [value.uri.replace("\\", "/").rpartition("/")[2], *value.scale]
    if isinstance(value, Mapping):
        return [x for key in sorted(value) for x in (key, *_flat(value[key], names))]
    if isinstance(value, Sequence):
        return [x for element in value for x in _flat(element, names)]
    if dataclasses.is_dataclass(value):
        kind: list[float | str] = [type(value).__name__] if isinstance(value, JointType) else []
        return kind + [
            x for field in dataclasses.fields(value) if field.compare for x in _flat(getattr(value, field.name), names)
        ]
    return [repr(value)]
