"""Direction of the view from the front: along the normal of a mechanism that moves in a plane."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.viewer.document import SceneDocument
from linkwork.viewer.skeleton_joints import axes_of

__all__ = ["front_view", "plane_normal", "view_along"]

_PARALLEL = 1e-3  # [rad]


def front_view(document: SceneDocument) -> tuple[float, float]:
    """Return azimuth and elevation [rad] of the camera of the view from the front.

    If all robots move in one plane, the camera is on the normal of this plane, otherwise on the positive x axis.
    """
    normals = [plane_normal(actor.robot, actor.poses[0, 0]) for actor in document.actors if actor.robot is not None]
    normal = normals[0] if normals else None
    if normal is None or any(n is None or np.linalg.norm(np.cross(n, normal)) > _PARALLEL for n in normals):
        return 0.0, 0.0
    return view_along(normal) or (0.0, 0.0)


def view_along(normal: np.ndarray) -> tuple[float, float] | None:
    """Return azimuth and elevation [rad] of the view along a horizontal or vertical normal; None for other normals."""
    x, y, z = normal
    if abs(z) > 1.0 - _PARALLEL:
        return -0.5 * math.pi, 0.5 * math.pi
    if abs(z) > _PARALLEL:
        return None
    side = 1.0 if x > y else -1.0  # from +x or -y: the picture's horizontal axis is y or x
    return math.atan2(side * y, side * x), 0.0


def plane_normal(robot: Any, poses: np.ndarray) -> np.ndarray | None:
    """Return the unit normal (3,) of the plane in which a robot moves; None if it moves in space, or only slides.

    ``poses`` (nb, 4, 4) are those of its bodies in one configuration.
    """
    rotations: list[np.ndarray] = []
    translations: list[np.ndarray] = []
    for body, pose in zip(robot.tree.bodies, poses, strict=True):
        joint = body.joint
        if joint.nv > 3 or not joint.has_fixed_subspaces:
            return None
        S = body.rotor.inv() @ body.call_joint("S", body.call_joint("zero"))
        for direction, _, rotates in axes_of(S):
            (rotations if rotates else translations).append(pose[:3, :3] @ direction)
    if not rotations:
        return None
    normal = rotations[0]
    is_planar = all(np.linalg.norm(np.cross(axis, normal)) < _PARALLEL for axis in rotations)
    return normal if is_planar and all(abs(axis @ normal) < _PARALLEL for axis in translations) else None
