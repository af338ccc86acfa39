"""Digests of all that a robot's collisions in a scene, or its motion, depend on; they are equal in every process."""

from __future__ import annotations

from typing import Any

from linkwork._util.checked_arguments import public
from linkwork._util.npz_archive import OtherFileError
from linkwork.kernels.compiler_api import result_digest
from linkwork.model.collision_pairs import collision_pairs, link_shapes
from linkwork.model.tree import Tree

__all__ = ["check_same_dynamics", "dynamics_fingerprint", "fingerprint"]


@public
def fingerprint(robot: Any, scene: Any, *more: Any, masses: bool = False) -> str:
    """Return a digest of a robot's joints, limits, shapes, pairs and constraints, of a scene's obstacles, and ``more``.

    Joints, shapes and functions of users are included by their code.  With ``masses``, the digest depends on inertias
    and gravity, too, which tasks and constraints may read.
    """
    tree = robot.tree
    bodies = [*joint_structure(tree), *(b.limits.positions for b in tree.bodies)]
    frames = [(frame.name, frame.body, frame.placement) for frame in tree.frames]
    content = [bodies, frames, tree.points, tree.directions, tree.constraints, robot.lower, robot.upper]
    if masses or tree.constraints:
        content += [[body.inertia for body in tree.bodies], [frame.inertia for frame in tree.frames], robot.gravity]
    obstacles = [] if scene is None else [(x.name, x.shape, x.pose) for x in scene.obstacles]
    return result_digest(content, link_shapes(tree), collision_pairs(tree), obstacles, more)


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
