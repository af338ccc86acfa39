"""Digest of all that collisions and kinematics of a robot in a scene depend on, equal in every process."""

from __future__ import annotations

from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.dynamics.dynamics_fingerprint import joint_structure
from linkwork.kernels.compiler_api import result_digest
from linkwork.model.collision_pairs import collision_pairs, link_shapes

__all__ = ["fingerprint"]


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
