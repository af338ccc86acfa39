"""Bounds of the shapes of a link, as far as their sizes are known: a sphere, a box, volume and inertia."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from linkwork.shapes import Geometry
from linkwork.spatial import Vec3

__all__ = ["bounding_box_of", "bounding_sphere_of", "uniform_moments_of"]


def bounding_sphere_of(shapes: Sequence[Geometry]) -> tuple[Vec3, float] | None:
    """Return the centre of the shapes and their maximum distance from it [m]; None if it is unknown."""
    bounds = [(geometry.origin, geometry.shape.bounding_sphere) for geometry in shapes]
    balls = [(X.point(bound[0]), bound[1]) for X, bound in bounds if bound is not None]
    if not balls or len(balls) < len(shapes):
        return None
    centers = [center for center, _ in balls]
    middle = sum(centers[1:], start=centers[0]) * (1.0 / len(centers))
    reach = max(math.hypot(*(center - middle)) + radius for center, radius in balls)
    return (middle, reach) if math.isfinite(reach) else None


def bounding_box_of(shapes: Sequence[Geometry]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the lower and upper corner (3,) [m] of the shapes' box in the link's axes; None if it is unknown."""
    if bounding_sphere_of(shapes) is None:
        return None
    corners = []
    for geometry in shapes:
        R = np.array(geometry.origin.rotation.rows(), dtype=float)
        try:
            points = geometry.shape.support(np.concatenate([R, -R]))  # row k of R is axis k of the link in the shape's
        except ValueError:  # the shape states a sphere, but no support points
            return None
        corners.append(points @ R.T + [*geometry.origin.translation])
    points = np.concatenate(corners)
    return points.min(axis=0), points.max(axis=0)


def uniform_moments_of(shapes: Sequence[Geometry]) -> tuple[float, np.ndarray] | None:
    """Return the volume [m³] of the shapes and the second moments (3, 3) [m²] of 1 kg spread over it.

    The second moments are about the centre of the volume, in the link's axes.  Overlapping parts count twice.  The
    result is None if the volume or the inertia of one shape is unknown, or without shapes.
    """
    volumes, centers, seconds = [], [], []
    for geometry in shapes:
        volume, inertia = geometry.shape.volume, geometry.shape.unit_inertia()
        if volume is None or inertia is None:
            return None
        J = geometry.origin.rotation @ inertia
        about = np.array([[*J.x], [*J.y], [*J.z]], dtype=float)
        volumes.append(float(volume))
        centers.append([*geometry.origin.point(geometry.shape.center)])
        seconds.append(0.5 * np.trace(about) * np.eye(3) - about)
    total = sum(volumes)
    if total <= 0.0:
        return None
    parts, points = np.array(volumes) / total, np.array(centers, dtype=float)
    away = points - parts @ points
    return total, np.einsum("k,kij->ij", parts, np.array(seconds) + away[:, :, None] * away[:, None, :])
