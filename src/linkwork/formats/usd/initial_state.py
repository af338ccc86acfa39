"""The configuration in which a stage shows its bodies, with the targets of the drives as controls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from linkwork.errors import Location
from linkwork.formats.description import NamedState, NamedStateDescription
from linkwork.formats.usd.joint_graph import Graph
from linkwork.formats.usd.joint_prims import JointPrim
from linkwork.formats.usd.prim_values import PrimReader
from linkwork.joints import Floating
from linkwork.spatial import Pose, Quaternion

__all__ = ["INITIAL", "initial_state"]

INITIAL = "initial"  # name of the configuration
_ZERO = 1e-6  # [rad, m] coordinates below it are rounding of single precision
_APART = 1e-3  # [rad, m] bodies that are farther from where their joint can hold them are reported


def initial_state(
    reader: PrimReader, graph: Graph, poses: Mapping[str, Pose], where: Location
) -> NamedStateDescription | None:
    """Return the configuration "initial" of the stage, or None if it is zero and no drive has a target.

    Joints that follow others are left out.  The warning POSE_APART reports bodies whose poses in
    the stage their joint cannot reach.
    """
    values: list[tuple[str, tuple[float, ...]]] = []
    is_moved = False
    for joint in graph.joints:
        if isinstance(joint.joint, Floating) and joint.name not in {used.name for used in graph.used}:
            pose = poses[joint.child]
            quaternion = [float(x) for x in Quaternion.of(pose.rotation).elements()]
            values.append((joint.name, (*quaternion, *pose.translation)))
            is_moved |= [*values[-1][1]] != [*joint.joint.zero()]
    for used in graph.used:
        first, second = (_placed(poses, end.link) @ end.pose for end in used.ends)
        q = _coordinates(reader, used, first.inv().formed() @ second)
        if q is not None and used.mimic is None and used.joint.nq:
            values.append((used.name, q))
            is_moved |= [*q] != [*used.joint.zero()]
    for loop in graph.loops:  # to report loops that are open in the stage
        first, second = (_placed(poses, end.link) @ end.pose for end in loop.ends)
        _coordinates(reader, loop, first.inv().formed() @ second)
    controls = tuple(target for used in graph.used for target in used.targets)
    if not is_moved and not any(value for _, value in controls):
        return None
    return NamedStateDescription(NamedState(INITIAL, tuple(values), None, controls or None), where)


def _placed(poses: Mapping[str, Pose], link: str) -> Pose:
    return poses.get(link, Pose.identity())


def _coordinates(reader: PrimReader, used: JointPrim, X: Pose) -> tuple[float, ...] | None:
    """Return the coordinates of a joint with the pose X_FM, shifted by full turns into its limits if possible."""
    joint = used.joint
    residual: Any = joint.pose_residual(X)
    apart = max(math.hypot(*residual.angular), math.hypot(*residual.linear))
    if not apart <= _APART:
        message = f"the bodies are {apart:.3g} [rad, m] from where the joint can hold them: the joint's frames are used"
        reader.warn(used.prim, "POSE_APART", message)
        return None
    q = [float(x) for x in joint.configuration_from_pose(X)]
    if joint.nq == joint.nv:
        q = [0.0 if abs(x) < _ZERO else x for x in q]
        for k, unit in enumerate(joint.q_units):
            lower, upper = used.limits.lower[k], used.limits.upper[k]
            turn = math.copysign(2.0 * math.pi, lower - q[k])
            if unit == "rad" and not lower <= q[k] <= upper and lower <= q[k] + turn <= upper:
                q[k] += turn
    return tuple(q)
