"""Direction of the view: from the front of planar mechanisms, or from a side where obstacles do not hide the robot.

The view from the front is along the normal of a mechanism that moves in a plane.  Obstacles that hide robots from all
sides are half-transparent.  Sample points of the robots count as hidden if an obstacle's triangle is between them and
the eye.  Source of the intersection: Möller and Trumbore, Fast, minimum storage ray/triangle intersection, 1997.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.viewer.bounds import part_poses, worlds
from linkwork.viewer.document import Actor, SceneDocument, Surface
from linkwork.viewer.skeleton_joints import axes_of
from linkwork.viewer.triangles import decimated

__all__ = ["PERSPECTIVE", "VEIL", "clear_document", "clear_view", "front_view", "plane_normal", "view_along"]

PERSPECTIVE = (-0.75, 0.36)
"""Azimuth and elevation [rad] of the view in perspective, unless obstacles hide the robots there."""
VEIL = 0.25
"""Opacity of obstacles that hide the robots."""
_HIDDEN = 0.25  # share of hidden points up to which a view is as it should be
_HIDING = 0.05  # share of points above which an obstacle is half-transparent
_TURN, _STEEPER = 0.15, 0.1  # share of hidden points that outweighs half a turn, and a steeper view
_AZIMUTHS = 24  # around the vertical axis
_STEEP = 0.9  # [rad]
_MAX_POINTS, _OF_PART, _FRAMES = 96, 4, 3  # points in all, of a part, and frames of a motion
_MAX_TRIANGLES = 400  # of an obstacle
_BEFORE = 1e-3  # distance from a point, relative to that of the eye, at which a surface does not hide it
_DISTANCE = 4.5  # of the page's camera, in radii of the robots


def clear_view(
    points: np.ndarray,
    obstacles: Sequence[np.ndarray],
    angles: tuple[float, float] = PERSPECTIVE,
    distance: float = math.inf,
) -> tuple[tuple[float, float], list[int]]:
    """Return azimuth and elevation [rad] of a view on ``points`` (n, 3), and the indices of obstacles that hide them.

    ``obstacles`` are triangles (m, 3, 3) [m]. The view has the ``angles`` unless obstacles hide a quarter of the
    points in it. Then it is the turned or steeper view with the fewest hidden points. ``distance`` [m] is the distance
    of the eye from the middle of the points; it is infinite for a parallel projection.
    """
    if not len(points) or not obstacles:
        return angles, []
    chosen = points[np.unique(np.linspace(0, len(points) - 1, _MAX_POINTS).astype(int))]
    owner = np.repeat(np.arange(len(obstacles)), [len(corners) for corners in obstacles])
    corners = np.concatenate([np.asarray(x, dtype=float) for x in obstacles])

    def hidden(view: tuple[float, float]) -> np.ndarray:
        return _hidden(chosen, corners, owner, len(obstacles), view, distance)

    views = [(0.0, angles)]
    best = hidden(angles)
    if best.any(axis=0).mean() <= _HIDDEN:
        return angles, []
    for elevation in (angles[1], max(angles[1], _STEEP)):
        for k in range(_AZIMUTHS):
            turn = math.remainder(2.0 * math.pi * k / _AZIMUTHS, 2.0 * math.pi)
            penalty = _TURN * abs(turn) / math.pi + _STEEPER * (elevation > angles[1])
            views.append((penalty, (angles[0] + turn, elevation)))
    scores = [(float(hidden(view).any(axis=0).mean()) + penalty, penalty, view) for penalty, view in views]
    view = min(scores)[2]
    best = hidden(view)
    if best.any(axis=0).mean() <= _HIDDEN:
        return view, []
    return view, np.flatnonzero(best.mean(axis=1) > _HIDING).tolist()


def _hidden(
    points: np.ndarray,
    corners: np.ndarray,
    owner: np.ndarray,
    count: int,
    view: tuple[float, float],
    distance: float,
) -> np.ndarray:
    """Return a bool array (count, n): True where an obstacle hides a point.

    ``owner`` is the index of the obstacle for each triangle ``corners``.
    """
    azimuth, elevation = view
    level = math.cos(elevation)
    back = np.array([level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)])
    if math.isinf(distance):
        size = float(np.ptp(np.concatenate([points, corners.reshape(-1, 3)]), axis=0).sum())
        rays = np.broadcast_to(size * back, points.shape)
    else:
        rays = 0.5 * (points.min(axis=0) + points.max(axis=0)) + distance * back - points
    a = corners[:, 0]
    ab, ac = corners[:, 1] - a, corners[:, 2] - a
    with np.errstate(divide="ignore", invalid="ignore"):
        across = np.cross(rays[:, None], ac)
        scale = 1.0 / (across * ab).sum(axis=-1)
        start = points[:, None] - a
        u = (start * across).sum(axis=-1) * scale
        turned = np.cross(start, ab)
        v = (turned * rays[:, None]).sum(axis=-1) * scale
        t = (turned * ac).sum(axis=-1) * scale
        hits = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > _BEFORE) & (t < 1.0)
    result = np.zeros((count, len(points)), dtype=bool)
    point, triangle = np.nonzero(hits)
    result[owner[triangle], point] = True
    return result


def clear_document(document: SceneDocument) -> tuple[SceneDocument, tuple[float, float]]:
    """Return a document whose obstacles do not hide its robots, and azimuth and elevation [rad] of its view.

    Only obstacles that hide the robots from all sides change; they are half-transparent.
    """
    names = list(dict.fromkeys(prop.name for prop in document.props if prop.layer == "obstacle"))
    if not names or "obstacle" in document.hidden:
        return document, PERSPECTIVE
    points = _robot_points(document)
    if not len(points):
        return document, PERSPECTIVE
    obstacles = [np.empty((0, 3, 3)) for _ in names]
    for prop in document.props:
        if prop.layer == "obstacle" and prop.color[3] > VEIL:
            X = np.reshape(prop.pose, (-1, 4, 4))[0]
            placed = _triangles(document.surfaces[prop.surface]) @ X[:3, :3].T + X[:3, 3]
            obstacles[names.index(prop.name)] = np.concatenate([obstacles[names.index(prop.name)], placed])
    radius = 0.5 * float(np.linalg.norm(np.ptp(points, axis=0)))
    angles, hiding = clear_view(points, obstacles, distance=_DISTANCE * radius)
    veiled = {names[k] for k in hiding}
    if not veiled:
        return document, angles
    props = tuple(
        replace(prop, color=(*prop.color[:3], min(prop.color[3], VEIL)))
        if prop.name in veiled and prop.layer == "obstacle"
        else prop
        for prop in document.props
    )
    return replace(document, props=props), angles


def _robot_points(document: SceneDocument) -> np.ndarray:
    """Return points (n, 3) [m] on the visible surfaces of the robots at the start, in the middle and at the end."""
    solid = [actor for actor in document.actors if actor.opacity == 1.0] or list(document.actors)
    return np.concatenate([np.empty((0, 3)), *(_actor_points(document, actor) for actor in solid)])


def _actor_points(document: SceneDocument, actor: Actor) -> np.ndarray:
    frames = np.unique(np.linspace(0, len(actor.poses) - 1, _FRAMES).astype(int))
    world = np.broadcast_to(worlds(actor)[:, None], (len(frames), actor.poses.shape[1], 1, 4, 4))
    X = np.concatenate([actor.poses[frames], world], axis=2)
    result = [np.empty((0, 3))]
    for part in actor.parts:
        vertices = document.surfaces[part.surface].vertices
        if part.layer in document.hidden or not len(vertices):
            continue
        sample = np.asarray(vertices, dtype=float)[np.linspace(0, len(vertices) - 1, _OF_PART).astype(int)]
        placed = part_poses(part, X)
        moved = sample @ np.swapaxes(placed[..., :3, :3], -1, -2) + placed[..., None, :3, 3]
        result.append(moved.reshape(-1, 3))
    return np.concatenate(result)


def _triangles(surface: Surface) -> np.ndarray:
    """Return at most 400 triangles (n, 3, 3) near a surface."""
    points, triangles = np.asarray(surface.vertices, dtype=float), np.asarray(surface.triangles, dtype=np.intp)
    if len(triangles) > _MAX_TRIANGLES:
        points, triangles, _ = decimated(points, triangles, _MAX_TRIANGLES)
    result: np.ndarray = points[triangles]
    return result


_PARALLEL = 1e-3  # [rad]


def front_view(document: SceneDocument) -> tuple[float, float]:
    """Return azimuth and elevation [rad] of the camera for the front view.

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

    ``poses`` (nb, 4, 4) are the poses of its bodies in one configuration.
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
