"""Distance fields of shapes: their distances at the points of a grid, in batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.geometry.cores import PointCore, Solid
from linkwork.geometry.fields.field_dispatch import FIELDS, field_distance
from linkwork.geometry.pairs import signed_distance
from linkwork.geometry.solids import solid
from linkwork.shapes import Compound, DistanceField
from linkwork.shapes.shape import sizes
from linkwork.spatial import Vec3

__all__ = ["distance_field"]

_MOST = 4_000_000  # points
_BATCH = 1 << 15


@public
def distance_field(shapes: Any, spacing: Any, *, margin: float | None = None) -> DistanceField:
    """A distance field of shapes: signed distances at the points of a grid around them.

    ``shapes`` are those of a `linkwork.shapes.Compound`: shapes, pairs (shape, pose), or what `Shape.at` gives; where
    they overlap, distances inside are those of the one that is deepest.  ``spacing`` [m] is one number or three.  The
    grid reaches beyond the shapes by ``margin`` [m], the larger the more exact distances out there are; four cells if
    left out.  Interpolated distances are off by `DistanceField.error` at most.

    >>> import linkwork as lw
    >>> from linkwork import shapes
    >>> field = lw.distance_field([shapes.Sphere(0.1)], 0.05)
    >>> field.values.shape, float(field.values[6, 6, 6])
    ((13, 13, 13), -0.1)

    Raises ValueError for a spacing or margin that is none, shapes without an end, and more than 4 000 000 points;
    TypeError for what is no shape.
    """
    what = "distance_field"
    if isinstance(shapes, (list, tuple, np.ndarray)) and not len(shapes):
        raise ValueError("distance_field: shapes: expected one shape at least, got none")
    parts = (shapes if isinstance(shapes, Compound) else Compound(shapes)).parts
    steps = sizes(what, "spacing", spacing if np.ndim(spacing) else (spacing,) * 3, 3)
    edge = 4.0 * max(steps) if margin is None else sizes(what, "margin", margin)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for part in parts:
        reach = part.shape.origin_radius
        if reach is None or not math.isfinite(reach):
            raise ValueError(f"{what}: shapes: expected shapes of a known size, got {part.shape!r}")
        place = np.array([*part.origin.translation])
        low, high = np.minimum(low, place - reach), np.maximum(high, place + reach)
    cells = [max(math.ceil((b - a + 2.0 * edge) / h - 1e-9), 1) for a, b, h in zip(low, high, steps, strict=True)]
    count = math.prod(n + 1 for n in cells)
    if count > _MOST:
        raise ValueError(f"{what}: spacing and margin: expected at most {_MOST} points, got {count}: take a larger one")
    origin = 0.5 * (low + high) - 0.5 * np.array(cells) * steps
    axes = (o + h * np.arange(n + 1) for o, h, n in zip(origin, steps, cells, strict=True))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    values = np.concatenate([_least(parts, points[k : k + _BATCH]) for k in range(0, count, _BATCH)])
    return DistanceField(values.reshape([n + 1 for n in cells]), steps, origin)


def _least(parts: Any, points: np.ndarray) -> np.ndarray:
    at = Solid(PointCore(Vec3(*points.T)))
    least = np.full(len(points), np.inf)
    for part in parts:
        kind = type(part.shape)
        if kind in FIELDS:
            field = FIELDS[kind]
            found = field_distance(kind, field.arrays(part.shape), part.origin, at, field.radius(part.shape))
        else:
            found = signed_distance(solid(part.shape, part.origin), at)
        least = np.minimum(least, found.distance)
    return least
