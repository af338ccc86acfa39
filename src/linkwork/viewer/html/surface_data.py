"""Surfaces as the page stores them: positions in 16 bits, and normals that the page computes again from the shape."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from linkwork.viewer.document import Surface
from linkwork.viewer.html.arrays import Arrays

__all__ = ["surface_data"]

_LEVELS = 65535  # of a coordinate within the surface's bounds
_COARSE = 1e-3  # [m] surfaces whose levels are further apart are stored in float32
_LARGE = 500  # vertices of surfaces whose normals are computed in the page


def surface_data(surface: Surface, arrays: Arrays) -> dict[str, Any]:
    """Return a surface as data for JSON, with its arrays added to ``arrays``.

    Coordinates are rounded to 1/65535 of the surface's extent.  For a large surface, points at one position are stored
    once, and the page computes normals that are smooth up to edges of 35°, as builders of documents do.
    """
    texture = None
    if surface.texture is not None and surface.uv is not None:
        kind = "png" if surface.texture.startswith(b"\x89PNG") else "jpeg"
        texture = f"data:image/{kind};base64,{base64.b64encode(surface.texture).decode('ascii')}"
    vertices = np.asarray(surface.vertices, dtype=float)
    triangles = np.asarray(surface.triangles, dtype=np.uint32)
    low = vertices.min(axis=0, initial=np.inf) if len(vertices) else np.zeros(3)
    step = np.ptp(vertices, axis=0) / _LEVELS if len(vertices) else np.zeros(3)
    colors = None if surface.colors is None else np.asarray(surface.colors, dtype=np.uint8)
    creased = (
        surface.uv is None and surface.normals is not None and len(vertices) > _LARGE and bool(step.max() <= _COARSE)
    )
    result: dict[str, Any] = {"texture": texture, "normals": None, "creased": creased, "low": None, "step": None}
    if not len(vertices) or step.max() > _COARSE:
        result["vertices"] = arrays.add("f4", vertices)
    else:
        levels = np.round((vertices - low) / np.where(step > 0.0, step, 1.0)).astype(np.uint16)
        if creased:
            points, triangles = _merged(levels if colors is None else np.hstack([levels, colors]), triangles)
            levels, colors = points[:, :3], None if colors is None else points[:, 3:]
        result["vertices"] = arrays.add("u2", _differences(levels))
        result |= {"low": low.tolist(), "step": step.tolist()}
    if surface.normals is not None and not creased:
        result["normals"] = arrays.add("i1", np.round(np.asarray(surface.normals, dtype=float) * 127.0))
    code = "u2" if len(vertices) <= _LEVELS else "u4"
    indices = np.ravel(triangles).astype(np.uint16 if code == "u2" else np.uint32)
    result["triangles"] = arrays.add(code, _differences(indices))
    for name, code, array in (("colors", "u1", colors), ("uv", "f4", surface.uv)):
        result[name] = None if array is None else arrays.add(code, array)
    return result


def _differences(values: np.ndarray) -> np.ndarray:
    """Return the differences of unsigned integers along the first axis, modulo their range: they compress better."""
    return np.diff(values, axis=0, prepend=np.zeros_like(values[:1]))


def _merged(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, in the order of their first occurrence, and the triangles of them."""
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[np.sort(first)], rank[np.ravel(inverse)][triangles].astype(np.uint32)
