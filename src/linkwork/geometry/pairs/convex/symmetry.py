"""Symmetries of two bodies: axes that they share, and images of directions that part them alike."""

from __future__ import annotations

from typing import Any

from linkwork.expr.scalar.functions import and_, fabs, le, lt, or_, sqrt
from linkwork.geometry.cores import ConeCore, CylinderCore, EllipsoidCore, SegmentCore
from linkwork.geometry.pairs.convex.direction_branch_and_bound import Round
from linkwork.geometry.pairs.convex.minkowski_difference import Difference, length_of
from linkwork.geometry.unit_vectors import across, choose
from linkwork.spatial import Vec3

__all__ = ["direction", "images", "rotational_symmetry"]

_PARALLEL = 1e-8  # sines of angles between axes that are parallel, for what is level about them
_ROUNDING = 1e-28  # relative, of squares: what is across an axis by no more than that is across it by rounding


def direction(v: Vec3) -> Vec3:
    """Return v over its length, or z where v has none."""
    known = lt(1e-300, v.dot(v))
    return choose(known, v * (1.0 / sqrt(length_of(v))), Vec3(0.0, 0.0, 1.0))


def rotational_symmetry(difference: Difference) -> Round | None:
    """Return whether both are bodies of revolution about parallel axes, and where; None for types that are not."""
    of_a, of_b = _axis_of_revolution(difference.a), _axis_of_revolution(difference.b)
    if of_a is None or of_b is None:
        return None
    (axis, round_a, any_a), (other, round_b, any_b) = of_a, of_b
    axis, other = choose(any_a, other, axis), choose(any_b, axis, other)
    sine = axis.cross(other)
    parallel = and_(and_(round_a, round_b), lt(sine.dot(sine), _PARALLEL * _PARALLEL))
    between = difference.between()
    out = between - axis * axis.dot(between)
    out = choose(lt(_ROUNDING * between.dot(between), out.dot(out)), out, across(axis))
    return Round(parallel, axis, direction(out - axis * axis.dot(out)))


def _axis_of_revolution(core: Any) -> tuple[Vec3, Any, Any] | None:
    """Return an axis, whether a core is a body of revolution about it, and whether about any axis."""
    if isinstance(core, SegmentCore):
        square = core.half.dot(core.half)
        return direction(core.half), le(0.0, square), le(square, 0.0)
    if isinstance(core, (CylinderCore, ConeCore)):
        return _axes(core)[2], le(0.0, core.radius), lt(core.radius, 0.0)
    if isinstance(core, EllipsoidCore):
        r, (x, y, z) = core.radii, _axes(core)
        about_x, about_y, about_z = le(fabs(r.y - r.z), 0.0), le(fabs(r.z - r.x), 0.0), le(fabs(r.x - r.y), 0.0)
        axis = choose(about_z, z, choose(about_y, y, x))
        return axis, or_(about_x, or_(about_y, about_z)), and_(about_x, about_y)
    return None


def images(difference: Difference, n: Vec3) -> list[Vec3]:
    """Return −n, the images of n in the planes and about the axes of both bodies, and these axes."""
    found = [-n]
    for core in (difference.a, difference.b):
        for axis in _axes(core):
            image = n - axis * (2.0 * axis.dot(n))
            found += [image, -image, axis, -axis]
    return found


def _axes(core: Any) -> list[Vec3]:
    """Directions across which a core may be its own image."""
    if isinstance(core, SegmentCore):
        return [direction(core.half)]
    if not hasattr(core, "pose"):
        return []
    return [core.pose.rotation @ Vec3.of(e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
