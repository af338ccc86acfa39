"""Joints that close loops, as constraints of a tree and as bodies with the parameters of a joint of the tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any

from linkwork.constraints import LoopJoint
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import floor
from linkwork.joints import JointType
from linkwork.joints.straight_motion import straight_motion_joint
from linkwork.model.body import WORLD, Body, Drive, Limits
from linkwork.model.periodic_coordinates import PeriodicCoordinates, counting_angles
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose

__all__ = ["body_of", "loops_of", "periodic_angles", "spring_configuration", "with_loop_values"]


def loops_of(tree: Tree) -> list[LoopJoint]:
    """Return the joints that close loops, in the order of their coordinates."""
    return [constraint for constraint in tree.constraints if isinstance(constraint, LoopJoint)]


def body_of(loop: LoopJoint) -> Body:
    """Return a massless body with the joint type, limits, damping, friction and springs of a loop joint."""
    joint = loop.joint
    no_limits = Limits.none(joint)
    bounds = Limits(
        loop.lower or no_limits.lower,
        loop.upper or no_limits.upper,
        loop.velocity_bound or no_limits.velocity,
        loop.effort or no_limits.effort,
    )
    return Body(
        loop.frame,
        WORLD,
        loop.name,
        joint,
        Pose.identity(),
        Pose.identity(),
        Inertia.zero(),
        bounds,
        damping=loop.damping or (0.0,) * joint.nv,
        friction=loop.friction or (0.0,) * joint.nv,
        drive=Drive(
            stiffness=loop.stiffness,
            rest=loop.rest,
            static_friction=loop.static_friction,
            friction_velocity=loop.friction_velocity,
        ),
    )


def spring_configuration(loop: LoopJoint, X: Pose) -> list[Any]:
    """Return the configuration q_J of a loop joint at a pose X, with the full turns nearest to its rest configuration.

    A pose determines the angles of a joint up to full revolutions. Springs of these angles pull along the shorter
    direction, so that their energy is a continuous function of the pose.
    """
    q = loop.joint.configuration_from_pose(X)
    if not loop.rest or all(map(is_zero, loop.stiffness)):
        return q
    periodic = periodic_angles(loop.joint).in_q
    return [
        x - math.tau * floor((x - q_rest) * (1.0 / math.tau) + 0.5) if counts and not is_zero(q_rest) else x
        for x, q_rest, counts in zip(q, loop.rest, periodic, strict=True)
    ]


def periodic_angles(joint: JointType) -> PeriodicCoordinates:
    """Return masks of the angles of a joint that its pose determines only up to full turns."""
    return counting_angles(straight_motion_joint(joint), periodic=True)


def with_loop_values(loop: Any, kind: str, values: Sequence[Any]) -> Any:
    """Return a loop joint with new values of a kind such as "stiffness"; they may be of any scalar type, unchecked."""
    result = copy(loop)
    object.__setattr__(result, kind, tuple(values))
    return result
