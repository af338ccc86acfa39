"""Scenes far from the world's origin: positions relative to a point near the scene, before they become float32.

A graphics processor has 24 bits for a position: 8 mm at 1e5 m, and 0.5 m at coordinates of maps (4.5e6 m).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.viewer.bounds import extent, worlds
from linkwork.viewer.document import Actor, SceneDocument

__all__ = ["moved", "near_origin"]

_FAR = 1e3  # distance from the world's origin, in radii of the scene, of which pictures show the rounding
_ROUND = 1e2  # the new origin is a multiple of the power of ten below this many radii, as the grid has round lengths


def near_origin(document: SceneDocument) -> tuple[SceneDocument, np.ndarray]:
    """Return a document with positions relative to an origin, and that origin (3,) in the world [m].

    The origin is near the middle of the motion.  Its coordinate along an axis is zero unless the scene is far from the
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
