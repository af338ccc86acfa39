"""Joints that close loops, as constraints of a tree and as bodies with the parameters of a joint of the tree."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from linkwork.constraints import LoopJoint
from linkwork.model.body import WORLD, Body, Drive, Limits
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose

__all__ = ["body_of", "loops_of", "with_loop_values"]


def loops_of(tree: Tree) -> list[LoopJoint]:
    """Return the joints that close loops, in the order of their coordinates."""
    return [constraint for constraint in tree.constraints if isinstance(constraint, LoopJoint)]


def body_of(loop: LoopJoint) -> Body:
    """Return a massless body with the joint type, limits, damping, friction and springs of a loop joint."""
    joint = loop.joint
    none = Limits.none(joint)
    bounds = Limits(
        loop.lower or none.lower,
        loop.upper or none.upper,
        loop.velocity_bound or none.velocity,
        loop.effort or none.effort,
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


def with_loop_values(loop: Any, kind: str, values: Sequence[Any]) -> Any:
    """Return a loop joint with other values of one kind, such as "stiffness", of any scalars and without a check."""
    result = copy(loop)
    object.__setattr__(result, kind, tuple(values))
    return result
