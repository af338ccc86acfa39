"""Axis-aligned bounding box of the visible content of a scene document.

It determines the camera, the sizes of markers, and distances in a grid.

Positions of scenes far from the world's origin are relative to a point near the scene before they become float32. A
graphics processor has 24 bits for a position: 8 mm at 1e5 m, and 0.5 m at coordinates of maps (4.5e6 m).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from linkwork.viewer.document import Actor, Part, SceneDocument

__all__ = [
    "document_bounds",
    "extent",
    "moved",
    "near_origin",
    "part_poses",
    "rigid_and_scales",
    "round_length",
    "worlds",
]

_MIN_RADIUS = 0.05  # [m]
_SHORTEST = 1e-6  # [m] length of a rod whose ends coincide: a scale of zero has no normals
_OPPOSITE = 1e-6  # 1 + the cosine of directions that count as opposite


def document_bounds(document: SceneDocument, *, surroundings: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper corner (3,) [m] of the bounding box of all that is visible in the first frame.

    ``surroundings=False`` leaves out obstacles, lines and points. Half-spaces, arrows, frames and labels do not count.
    Both corners are the origin if nothing is visible.
    """
    boxes = [_corners(surface.vertices) for surface in document.surfaces]
    points = [np.empty((0, 3))]
    for actor in document.actors:
        X = np.concatenate([actor.poses[0], worlds(actor)[:, None]], axis=1)  # index -1 is the world
        parts = [part for part in actor.parts if part.layer not in document.hidden]
        for part in parts:
            points.append(_moved(part_poses(part, X), boxes[part.surface]))
        if not parts:
            points.append(X[..., :3, 3].reshape(-1, 3))
    if surroundings:
        bounded = [prop for prop in document.props if not prop.is_unbounded]
        points += [_moved(np.reshape(prop.pose, (-1, 4, 4))[:1], boxes[prop.surface]) for prop in bounded]
        positions = [*(lines.points for lines in document.lines), *(cloud.points for cloud in document.points)]
        points += [x if x.ndim == 2 else x[0] for x in positions]
    everything = np.concatenate(points)
    if not len(everything):
        return np.zeros(3), np.zeros(3)
    return everything.min(axis=0), everything.max(axis=0)


def extent(document: SceneDocument) -> tuple[np.ndarray, float]:
    """Return the centre (3,) and the radius [m] of the robots, or of all content if there is no robot.

    The radius is at least 0.05 m, and 1 m if nothing is shown.
    """
    low, high = document_bounds(document, surroundings=not document.actors)
    radius = 0.5 * float(np.linalg.norm(high - low))
    is_empty = radius == 0.0 and not document.actors
    return 0.5 * (low + high), 1.0 if is_empty else max(radius, _MIN_RADIUS)


def round_length(length: float) -> float:
    """Return the largest number of the form 1, 2 or 5 times a power of ten that is at most ``length`` [m]."""
    power = 10.0 ** math.floor(math.log10(length))
    return power * max(factor for factor in (1.0, 2.0, 5.0) if factor * power <= length * (1.0 + 1e-9))


def worlds(actor: Actor) -> np.ndarray:
    """Return the offset poses (n, 4, 4) of the n instances of a robot in the world [m]; identity without offsets."""
    return np.tile(np.eye(4), (actor.q.shape[1], 1, 1)) if actor.offsets is None else actor.offsets


def part_poses(part: Part, bodies: np.ndarray) -> np.ndarray:
    """Return the poses (..., 4, 4) of the surface of a part, for the poses ``bodies`` (..., nbodies + 1, 4, 4) [m].

    The last entry of ``bodies`` is the world. For a rod the third column of the pose is the vector between its ends,
    not of unit length, so the surface is stretched. Rods turn by the shortest rotation from their placement.
    """
    placed: np.ndarray = bodies[..., part.body, :, :] @ part.placement
    if part.end is None:
        return placed
    body, point = part.end
    vector = bodies[..., body, :3, :3] @ point + bodies[..., body, :3, 3] - placed[..., :3, 3]
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    x, before = placed[..., :3, 0], placed[..., :3, 2]
    z = np.where(length > _SHORTEST, vector, before) / np.where(length > _SHORTEST, length, 1.0)
    cosine = 1.0 + (before * z).sum(axis=-1, keepdims=True)
    x = x - np.where(cosine > _OPPOSITE, (before + z) * (x * z).sum(axis=-1, keepdims=True), 0.0) / np.maximum(
        cosine, _OPPOSITE
    )
    placed[..., :3, 0], placed[..., :3, 1] = x, np.cross(z, x)
    placed[..., :3, 2] = z * np.maximum(length, _SHORTEST)
    return placed


def rigid_and_scales(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split poses with stretched orthogonal axes into rigid poses (..., 4, 4) [m] and scales (..., 3)."""
    scales = np.linalg.norm(X[..., :3, :3], axis=-2)
    result = X.copy()
    result[..., :3, :3] /= scales[..., None, :]
    return result, scales


def _corners(vertices: np.ndarray) -> np.ndarray:
    """Return the corners (8, 3) of the bounding box of vertices (n, 3) [m]; (0, 3) without vertices."""
    if not len(vertices):
        return np.empty((0, 3))
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    return np.stack(np.meshgrid(*np.stack([low, high], axis=1).astype(float), indexing="ij"), axis=-1).reshape(-1, 3)


def _moved(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points (k, 3) transformed by each of the poses (n, 4, 4), as an array (n k, 3) [m]."""
    result: np.ndarray = points @ X[:, :3, :3].mT + X[:, None, :3, 3]
    return result.reshape(-1, 3)


_FAR = 1e3  # distance from the world's origin, in radii of the scene, of which pictures show the rounding
_ROUND = 1e2  # the new origin is a multiple of the power of ten below this many radii, as the grid has round lengths


def near_origin(document: SceneDocument) -> tuple[SceneDocument, np.ndarray]:
    """Return a document with positions relative to a new origin, and this origin (3,) in the world [m].

    The origin is near the middle of the motion. Its coordinate along an axis is zero unless the scene is far from the
    world's origin along this axis.
    """
    center, radius = extent(document)  # of the first frame
    center = center + _middle(document, slice(None)) - _middle(document, slice(1))
    unit = 10.0 ** np.floor(np.log10(_ROUND * radius))
    origin = np.where(np.abs(center) > _FAR * radius, unit * np.round(center / unit), 0.0)
    return (moved(document, -origin) if origin.any() else document), origin


def _middle(document: SceneDocument, frames: slice) -> np.ndarray:
    """Return the middle (3,) [m] of the positions of all bodies in the selected frames; zero without bodies."""
    positions = [actor.poses[frames, ..., :3, 3].reshape(-1, 3) for actor in document.actors]
    everything = np.concatenate([*positions, np.empty((0, 3))])
    result: np.ndarray = 0.5 * (everything.min(axis=0) + everything.max(axis=0)) if len(everything) else np.zeros(3)
    return result


def moved(document: SceneDocument, shift: np.ndarray) -> SceneDocument:
    """Return a document whose contents are moved by ``shift`` (3,) [m]."""
    move = np.eye(4)
    move[:3, 3] = shift
    return replace(
        document,
        actors=tuple(_moved_actor(actor, move) for actor in document.actors),
        props=tuple(replace(x, pose=move @ x.pose) for x in document.props),
        lines=tuple(replace(x, points=x.points + shift) for x in document.lines),
        points=tuple(replace(x, points=x.points + shift) for x in document.points),
        arrows=tuple(replace(x, starts=x.starts + shift) for x in document.arrows),
        frames=tuple(replace(x, poses=move @ x.poses) for x in document.frames),
        texts=tuple(replace(x, position=x.position + shift) for x in document.texts),
    )


def _moved_actor(actor: Actor, move: np.ndarray) -> Actor:
    poses = move @ actor.poses
    if actor.poses.strides[0] == 0:
        poses = np.broadcast_to(move @ actor.poses[:1], actor.poses.shape)
    return replace(actor, poses=poses, offsets=move @ worlds(actor))
