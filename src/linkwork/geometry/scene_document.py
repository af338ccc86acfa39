"""Obstacles of a scene as JSON values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, cast

import numpy as np

from linkwork.shapes import Geometry, Shape
from linkwork.spatial import Pose

__all__ = ["entry_document", "obstacle_document"]


def obstacle_document(obstacle: Any) -> dict[str, Any]:
    """Return an obstacle as JSON values."""
    return entry_document(obstacle.name, obstacle.shape, obstacle.pose, obstacle.color)


def entry_document(name: str, shape: Shape, pose: Pose, color: Sequence[float] | None = None) -> dict[str, Any]:
    """Return a named shape at a pose, and its colour if it has one, as JSON values."""
    X = pose.elements()
    result = {
        "name": name,
        "shape": _plain(shape),
        "pose": [[float(x) for x in X[4 * k : 4 * k + 4]] for k in range(4)],
    }
    return result if color is None else {**result, "color": [*color]}


def _plain(value: Any) -> Any:
    if isinstance(value, Shape):
        named = {item.name: _plain(getattr(value, item.name)) for item in fields(cast(Any, value)) if item.init}
        return {"type": _word(type(value)), **named}
    if isinstance(value, Geometry):
        rows = [[*row] for row in value.origin.rotation.rows()]
        origin = {"xyz": [*value.origin.translation], "rotation": rows}
        return {"shape": _plain(value.shape), "origin": origin}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(x) for x in value] if isinstance(value, (tuple, list)) else value


def _word(kind: type) -> str:
    """Return the word for a type of shape: "half_space" for HalfSpace."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
