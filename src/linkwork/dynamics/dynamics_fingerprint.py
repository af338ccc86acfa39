"""Digest of all that the motion of a robot under forces depends on, equal in every process."""

from __future__ import annotations

from typing import Any

from linkwork._util.npz_archive import OtherFileError
from linkwork.kernels.compiler_api import result_digest
from linkwork.model.tree import Tree

__all__ = ["check_same_dynamics", "dynamics_fingerprint", "joint_structure"]


def dynamics_fingerprint(robot: Any, *more: Any) -> str:
    """Return a digest of a robot's joints, inertias, passive forces, gravity, constraints and force elements.

    It includes ``more``, and the code of joints and functions of users.  Shapes, limits and names of links do not
    change it.
    """
    tree = robot.tree
    forces = [(b.inertia, b.damping, b.friction, b.dynamics, b.drive) for b in tree.bodies]
    additions = [tree.constraints, tree.force_elements]
    frames = [(x.name, x.body, x.placement) for x in tree.frames] if any(additions) else []
    points = [tree.points, tree.directions] if any(additions) else []
    return result_digest(joint_structure(tree), forces, tree.gravity, tree.stacking, additions, frames, points, more)


def joint_structure(tree: Tree) -> list[tuple[Any, ...]]:
    """Return the joint of each body with its name, its placement on its parent, and its coupling."""
    return [(b.parent, b.joint_name, b.joint, b.placement, b.rotor, b.coupling) for b in tree.bodies]


def check_same_dynamics(known: str, robot: Any, *more: Any) -> None:
    """Raise OtherFileError unless the digest ``known`` of a file is that of a robot and ``more``."""
    if known != dynamics_fingerprint(robot, *more):
        raise OtherFileError(
            f"it was made for another robot than {robot.name!r}, with other joints, inertias or forces, or with other "
            f"options; pass the same robot"
        )
