"""Support functions and surfaces of bodies in longdouble: references for `benchmarks.distance.accuracy`.

Sizes are those of cores: half lengths of segments, half edges of boxes, radius and half length of cylinders and cones,
radii of ellipsoids, vertices of hulls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["KINDS", "outside", "support"]

KINDS = ("point", "segment", "box", "cylinder", "cone", "ellipsoid", "hull")
Array = np.ndarray


def support(kind: str, X: Array, x: Array, n: Array, real: Any = np.longdouble) -> Array:
    """max n · p over points p of bodies at poses X: (count,)."""
    X, x, n = (v.astype(real) for v in (X, x, n))
    u = np.einsum("kij,ki->kj", X[:, :3, :3], n)
    at = (X[:, :3, 3] * n).sum(-1)
    across = np.sqrt(u[:, 0] ** 2 + u[:, 1] ** 2)
    match kind:
        case "point":
            heights = np.zeros(len(u), real)
        case "segment":
            heights = x[:, 0] * np.abs(u[:, 2])
        case "box":
            heights = (x * np.abs(u)).sum(-1)
        case "cylinder":
            heights = x[:, 0] * across + x[:, 1] * np.abs(u[:, 2])
        case "cone":
            heights = np.maximum(x[:, 1] * u[:, 2], x[:, 0] * across - x[:, 1] * u[:, 2])
        case "ellipsoid":
            heights = np.sqrt(((x * u) ** 2).sum(-1))
        case _:
            heights = np.einsum("kij,kj->ki", x.reshape(len(x), -1, 3), u).max(-1)
    result: Array = at + heights
    return result


def outside(kind: str, X: Array, x: Array, p: Array) -> Array:
    """Return the first-order distances of points to the bodies' surfaces: (count,); zero for hulls."""
    x = x.astype(p.dtype)
    z = np.einsum("kij,ki->kj", X[:, :3, :3].astype(p.dtype), p - X[:, :3, 3])
    across = np.sqrt(z[:, 0] ** 2 + z[:, 1] ** 2)
    match kind:
        case "point":
            result = np.abs(z).max(-1)
        case "segment":
            result = np.maximum(across, np.abs(z[:, 2]) - x[:, 0])
        case "box":
            result = np.abs((np.abs(z) - x).max(-1))
        case "cylinder":
            result = np.abs(np.maximum(across - x[:, 0], np.abs(z[:, 2]) - x[:, 1]))
        case "cone":
            r, h = x[:, 0], x[:, 1]
            side = (2.0 * h * across - r * (h - z[:, 2])) / np.sqrt(4.0 * h * h + r * r)
            result = np.abs(np.maximum(side, -h - z[:, 2]))
        case "ellipsoid":
            level = ((z / x) ** 2).sum(-1) - 1.0
            result = np.abs(level) / np.sqrt((4.0 * (z / x**2) ** 2).sum(-1))
        case _:
            result = np.zeros(len(z), p.dtype)
    return np.maximum(result, 0.0)
