"""Paths of a frame from pose to pose: screws, arcs and blends, over any scalar.

A path gives the pose X(u) for u from 0 to 1, and `moving` its twist by u.  For X with rotation R and origin p,

    V = (φ; ṗ),  [φ×] = Ṙ Rᵀ,

in the axes in which X is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = ["along_arc", "along_blend", "along_screw", "moving", "screw_between", "turn_between"]


def turn_between(R: Rotation, S: Rotation) -> Vec3:
    """Return the rotation vector φ, |φ| ≤ π, for which R exp(φ) = ``S``.

    φ has the same components in the axes of both.
    """
    return Quaternion.of(R.T @ S).log()


def screw_between(X: Pose, Y: Pose) -> Motion:
    """Return the twist ξ in X's own axes for which X exp(ξ) = ``Y``, with a rotation of at most π."""
    rotation = turn_between(X.rotation, Y.rotation)
    return Motion(rotation, twist_of_translation(rotation, X.rotation.inv_act(Y.translation - X.translation)))


def along_screw(X: Pose, twist: Motion, u: Any) -> Pose:
    """Return X exp(u ξ), ξ in X's own axes."""
    rotation = twist.angular * u
    translation = translation_of_twist(rotation, twist.linear * u)
    return Pose(X.rotation @ Quaternion.exp(rotation).rotation(), X.translation + X.rotation @ translation)


def along_arc(X: Pose, center: Vec3, sweep: Vec3, translation: Vec3, rotation: Vec3, u: Any) -> Pose:
    """Return the pose at u on an arc: the origin rotates about a center by u α and translates by u d.

    The frame rotates by u φ in X's own axes.  ``sweep`` is α, an angle times its axis; with 0 the path is a straight
    line.
    """
    carried = Quaternion.exp(sweep * u).rotation() @ (X.translation - center)
    return Pose(X.rotation @ Quaternion.exp(rotation * u).rotation(), center + carried + translation * u)


def along_blend(X: Pose, corner: Pose, Y: Pose, u: Any) -> Pose:
    """Return the pose at u on a parabola between two poses, tangent to the lines to a corner.

    De Casteljau's construction, with slerp.  Source: Shoemake, Animating rotation with quaternion curves, SIGGRAPH
    1985.
    """
    before, after = (_towards(a.rotation, b.rotation, u) for a, b in ((X, corner), (corner, Y)))
    a, b = (_between(a.translation, b.translation, u) for a, b in ((X, corner), (corner, Y)))
    return Pose(_towards(before, after, u), _between(a, b, u))


def moving(path: Callable[[Any], Pose], u: Any) -> tuple[Pose, Motion]:
    """Return the pose of a path at u, and its derivative by u as a twist (angular; linear).

    The twist is in the axes in which the path's poses are expressed.
    """
    (at,) = seeded([u], [1.0])
    both = [parts(x, at.level) for x in path(at).elements()]
    X, rate = Pose.of_elements([x for x, _ in both]), Pose.of_elements([y for _, y in both])
    rows = [rate.rotation @ X.rotation.T @ Vec3(*axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    x, y, z = rows  # the columns of Ṙ Rᵀ
    return X, Motion(Vec3(y.z, z.x, x.y), rate.translation)


def _between(a: Vec3, b: Vec3, u: Any) -> Vec3:
    result: Vec3 = a + (b - a) * u
    return result


def _towards(R: Rotation, S: Rotation, u: Any) -> Rotation:
    return R @ Quaternion.exp(turn_between(R, S) * u).rotation()
