"""Smooth segments of Cartesian paths: the pose of a frame for u from 0 to 1, and its twist per unit of u.

Screws, arcs and blends between poses are functions over any scalar.  For X with rotation R and origin p, the twist is

    V = (φ; ṗ),  [φ×] = Ṙ Rᵀ,

in the axes in which X is expressed; `moving` computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.robot.construction.robot_loading import Options, read_robot_string
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = [
    "ArcSegment",
    "BlendSegment",
    "PathSegment",
    "ReversedSegment",
    "ScrewSegment",
    "SplineSegment",
    "along_arc",
    "along_blend",
    "along_screw",
    "free_space",
    "moving",
    "pose_configurations",
    "screw_between",
    "straight_segment",
    "turn_between",
]

_kernels: LazyCache[Kernel] = LazyCache()

RADIAN = 0.2  # [m] weight of a rotation of 1 rad, at least


def turn_between(R: Rotation, S: Rotation) -> Vec3:
    """Return the rotation vector φ, |φ| ≤ π, for which R exp(φ) = ``S``.

    φ has the same components in the axes of R and of ``S``.
    """
    return Quaternion.of(R.T @ S).log()


def screw_between(X: Pose, Y: Pose) -> Motion:
    """Return the twist ξ in X's own axes for which X exp(ξ) = ``Y``, with a rotation of at most π."""
    rotation = turn_between(X.rotation, Y.rotation)
    return Motion(rotation, twist_of_translation(rotation, X.rotation.inv_act(Y.translation - X.translation)))


def along_screw(X: Pose, twist: Motion, u: Any) -> Pose:
    """Return the pose X exp(u ξ), where ξ is the ``twist`` in X's own axes."""
    rotation = twist.angular * u
    translation = translation_of_twist(rotation, twist.linear * u)
    return Pose(X.rotation @ Quaternion.exp(rotation).rotation(), X.translation + X.rotation @ translation)


def along_arc(X: Pose, center: Vec3, sweep: Vec3, translation: Vec3, rotation: Vec3, u: Any) -> Pose:
    """Return the pose at u on an arc: the origin rotates about a center by u α and translates by u d.

    The frame rotates by u φ in X's own axes.  ``sweep`` is α, ``translation`` d and ``rotation`` φ; α and φ are
    rotation vectors.  If α is 0, the path is a straight line.
    """
    carried = Quaternion.exp(sweep * u).rotation() @ (X.translation - center)
    return Pose(X.rotation @ Quaternion.exp(rotation * u).rotation(), center + carried + translation * u)


def along_blend(X: Pose, corner: Pose, Y: Pose, u: Any) -> Pose:
    """Return the pose at u on a parabola between two poses, tangent to the lines to a corner.

    The method is De Casteljau's construction, with slerp for rotations.  Source: Shoemake, Animating rotation with
    quaternion curves, SIGGRAPH 1985.
    """
    before, after = (_towards(a.rotation, b.rotation, u) for a, b in ((X, corner), (corner, Y)))
    a, b = (_between(a.translation, b.translation, u) for a, b in ((X, corner), (corner, Y)))
    return Pose(_towards(before, after, u), _between(a, b, u))


def moving(path: Callable[[Any], Pose], u: Any) -> tuple[Pose, Motion]:
    """Return the pose of a path at u, and its derivative with respect to u as a twist (angular; linear).

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


class PathSegment(Protocol):
    """A smooth segment of a frame's path: poses as a function of u in [0, 1]."""

    @property
    def size(self) -> float:
        """Path length [m], at least 0.2 m for each radian of rotation."""

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return poses (n, 4, 4) at u (n,), and the frame's twists per unit of u (n, 6) in the axes of the poses."""


def _path_size(distance: float, angle: float) -> float:
    return max(distance, RADIAN * angle)


@dataclass(frozen=True)
class ScrewSegment:
    """A screw motion with poses X exp(u ξ), where ξ is the ``twist``."""

    X: Pose
    twist: Motion

    @property
    def size(self) -> float:
        """Path length [m]: the length of the origin's path, or 0.2 m for each radian of rotation if this is larger."""
        return _path_size(_length(self.twist.linear), _length(self.twist.angular))

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return poses (n, 4, 4) at u (n,), and twists per unit of u (n, 6)."""
        return _evaluated("screw", u, self.X, self.twist)


@dataclass(frozen=True)
class ArcSegment:
    """A path segment on which the frame's origin moves on an arc about a center, plus a translation ``shift``.

    ``sweep`` is the rotation vector of the arc; if it is 0, the segment is a straight line. ``rotation`` is the
    rotation vector of the frame, in the axes of the initial pose X.
    """

    X: Pose
    center: Vec3
    sweep: Vec3
    shift: Vec3
    rotation: Vec3

    @property
    def size(self) -> float:
        """Path length [m]: the origin's initial speed |dp/du|, or 0.2 m for each radian of rotation if this is larger.

        p is the position of the origin, and u in [0, 1] the parameter of the segment.
        """
        v = self.sweep.cross(self.X.translation - self.center) + self.shift
        return _path_size(_length(v), _length(self.rotation))

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return poses (n, 4, 4) at u (n,), and twists per unit of u (n, 6)."""
        return _evaluated("arc", u, self.X, self.center, self.sweep, self.shift, self.rotation)


@dataclass(frozen=True)
class BlendSegment:
    """A parabola between two poses, tangent to the lines that meet in a corner."""

    X: Pose
    corner: Pose
    end: Pose

    @property
    def size(self) -> float:
        """Path length [m] via the corner, so that the speed is continuous with the adjacent segments."""
        legs = ((self.X, self.corner), (self.corner, self.end))
        return sum(
            _path_size(_length(b.translation - a.translation), _length(turn_between(a.rotation, b.rotation)))
            for a, b in legs
        )

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return poses (n, 4, 4) at u (n,), and twists per unit of u (n, 6)."""
        return _evaluated("blend", u, self.X, self.corner, self.end)


@dataclass(frozen=True)
class SplineSegment:
    """A path segment that follows a trajectory of poses, from its start time (u = 0) to its end time (u = 1).

    ``curve`` is the trajectory of a floating joint.
    """

    curve: Trajectory

    @property
    def size(self) -> float:
        """Path length [m], equal to the duration of the trajectory, whose time is path length."""
        return self.curve.duration

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return poses (n, 4, 4) at u (n,), and twists per unit of u (n, 6)."""
        T = self.curve.duration
        q, v, _ = self.curve(np.clip(self.curve.start_time + u * T, self.curve.start_time, self.curve.end_time))
        X = np.asarray(_kernels.get("free", _free_kernel)(q))
        R = X[..., :3, :3]
        V = np.concatenate([(R @ v[..., :3, None])[..., 0], (R @ v[..., 3:, None])[..., 0]], axis=-1)
        return X, V * T


@dataclass(frozen=True)
class ReversedSegment:
    """Another path segment, traversed from its end to its beginning."""

    segment: PathSegment

    @property
    def size(self) -> float:
        """Path length of the segment [m], equal in both directions."""
        return self.segment.size

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return poses (n, 4, 4) at u (n,), and twists per unit of u (n, 6)."""
        X, V = self.segment.at(1.0 - u)
        return X, -V


@cache
def _free_tree() -> Tree:
    """Return the tree of a robot with a single floating joint, whose configurations are poses."""
    text = '<robot name="free"><link name="frame"/></robot>'
    return read_robot_string(text, Options(floating_base=True, inertia="ignore"))


def free_space(apart: bool) -> CurveSpace:
    """Return the configuration space of a floating joint, for curves of poses.

    Poses are interpolated along screws, or with translation and rotation separate if ``apart``.
    """
    return CurveSpace.of(_free_tree(), apart)


def pose_configurations(X: np.ndarray) -> np.ndarray:
    """Return configurations (n, 7) of a floating joint at poses X (n, 4, 4)."""
    joint = _free_tree().bodies[0].joint
    return np.array([joint.configuration_from_pose(Pose.of(x.tolist())) for x in X], dtype=float)


def _free_kernel() -> Kernel:
    joint = _free_tree().bodies[0].joint

    def traced(q: Any) -> Any:
        return _matrix(joint.X([*q]))

    return compile(traced, name="pose_of_free_frame", q=(joint.nq,))


def straight_segment(X: Pose, Y: Pose, orientation: str) -> ArcSegment | ScrewSegment:
    """Return the segment between two poses: a straight line, or with orientation "screw" a screw motion."""
    if orientation == "screw":
        return ScrewSegment(X, screw_between(X, Y))
    zero = Vec3(0.0, 0.0, 0.0)
    rotation = turn_between(X.rotation, Y.rotation)
    return ArcSegment(X, X.translation, zero, Y.translation - X.translation, rotation)


def _length(v: Vec3) -> float:
    return float(np.linalg.norm([*v]))


_ARGUMENT_TYPES: dict[str, tuple[type, ...]] = {
    "screw": (Pose, Motion),
    "arc": (Pose, Vec3, Vec3, Vec3, Vec3),
    "blend": (Pose, Pose, Pose),
}
_SIZES: dict[type, tuple[int, ...]] = {Pose: (4, 4), Motion: (6,), Vec3: (3,)}
_CURVES: dict[str, Any] = {"screw": along_screw, "arc": along_arc, "blend": along_blend}


def _evaluated(name: str, u: np.ndarray, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
    arrays = [
        x.matrix() if isinstance(x, Pose) else np.array(x.elements() if isinstance(x, Motion) else [*x], dtype=float)
        for x in arguments
    ]
    X, V = _kernels.get(name, lambda: _kernel(name))(*arrays, u)
    return np.asarray(X), np.asarray(V)


def _kernel(name: str) -> Kernel:
    """Return the kernel that computes poses and twists along a path segment; ``name`` is "screw", "arc" or "blend"."""
    kinds = _ARGUMENT_TYPES[name]

    def traced(*, u: Any, **arguments: Any) -> Any:
        values = [kind.of(x) for kind, x in zip(kinds, arguments.values(), strict=True)]  # type: ignore[attr-defined]
        X, V = moving(lambda at: _CURVES[name](*values, at), u)
        return _matrix(X), list(V.elements())

    sizes = {f"part{k}": _SIZES[kind] for k, kind in enumerate(kinds)}
    return compile(traced, name=f"pose_along_{name}", **sizes, u=())


def _matrix(X: Pose) -> list[list[Any]]:
    elements = X.elements()
    return [list(elements[4 * k : 4 * k + 4]) for k in range(4)]
