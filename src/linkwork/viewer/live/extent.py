"""Centre and size of what a document shows, for the camera and for the size of marks."""

from __future__ import annotations

import math

import numpy as np

from linkwork.viewer.document import SceneDocument

__all__ = ["extent", "round_length"]


def extent(document: SceneDocument) -> tuple[np.ndarray, float]:
    """Return the centre (3,) and the radius [m] of what a document shows at first; (0, 0, 0) and 1 if it is empty."""
    points: list[np.ndarray] = []
    boxes = [
        np.stack([s.vertices.min(axis=0), s.vertices.max(axis=0)]).astype(float) if len(s.vertices) else None
        for s in document.surfaces
    ]
    for actor in document.actors:
        X = actor.poses[0]
        points.append(X[..., :3, 3].reshape(-1, 3))
        for part in actor.parts:
            box = boxes[part.surface]
            if box is not None and part.layer in ("visual", "collision"):
                corners = np.stack(np.meshgrid(*box.T, indexing="ij"), axis=-1).reshape(-1, 3)
                fixed = corners @ part.placement[:3, :3].T + part.placement[:3, 3]
                placed = fixed if part.body < 0 else fixed @ X[:, part.body, :3, :3].mT + X[:, part.body, None, :3, 3]
                points.append(placed.reshape(-1, 3))
    if not document.actors:
        points += [np.asarray(prop.pose).reshape(-1, 4, 4)[:, :3, 3] for prop in document.props]
        points += [np.asarray(lines.points).reshape(-1, 3) for lines in document.lines]
        points += [np.asarray(cloud.points).reshape(-1, 3) for cloud in document.points]
    stacked = np.concatenate([np.empty((0, 3)), *points])
    if not len(stacked):
        return np.zeros(3), 1.0
    low, high = stacked.min(axis=0), stacked.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), 0.05)


def round_length(length: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is at most a length > 0 [m]."""
    power = 10.0 ** math.floor(math.log10(length))
    return power * max(factor for factor in (1.0, 2.0, 5.0) if factor * power <= length * (1.0 + 1e-9))
