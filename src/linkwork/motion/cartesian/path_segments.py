"""Pieces of ways in space, each smooth: where a frame is at u from 0 to 1, and its twist by u."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np

from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.tree import Tree
from linkwork.motion.algorithms import pose_interpolation as poses
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.parts.construction.robot_loading import Options, read_robot_string
from linkwork.spatial import Motion, Pose, Vec3
from linkwork.spatial.arguments import matrix_of

__all__ = [
    "ArcPiece",
    "BlendPiece",
    "PathSegment",
    "ReversedPiece",
    "ScrewPiece",
    "SplinePiece",
    "free_space",
    "leg_of",
    "pose_numbers",
]

_kernels: LazyCache[Kernel] = LazyCache()

RADIAN = 0.2  # [m]: what a turn of 1 rad counts for at least


class PathSegment(Protocol):
    """A smooth way of a frame."""

    @property
    def size(self) -> float:
        """How far it goes [m], 0.2 m for each radian at least."""

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses (n, 4, 4), and twists by u (n, 6) in the axes of these, for u (n,)."""


def _counted(way: float, turn: float) -> float:
    return max(way, RADIAN * turn)


@dataclass(frozen=True)
class ScrewPiece:
    """X exp(u ξ)."""

    X: Pose
    twist: Motion

    @property
    def size(self) -> float:
        """At the origin's speed, which is constant."""
        return _counted(_length(self.twist.linear), _length(self.twist.angular))

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists."""
        return _evaluated("screw", u, self.X, self.twist)


@dataclass(frozen=True)
class ArcPiece:
    """Around a center, straight on, and turning: see `along_arc`."""

    X: Pose
    center: Vec3
    around: Vec3
    way: Vec3
    turn: Vec3

    @property
    def size(self) -> float:
        """At the origin's speed, which is constant."""
        v = self.around.cross(self.X.translation - self.center) + self.way
        return _counted(_length(v), _length(self.turn))

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists."""
        return _evaluated("arc", u, self.X, self.center, self.around, self.way, self.turn)


@dataclass(frozen=True)
class BlendPiece:
    """A parabola from a pose to another, which would meet in a corner."""

    X: Pose
    corner: Pose
    other: Pose

    @property
    def size(self) -> float:
        """As far as to the corner and on, so that it begins and ends as fast as what lies before and after."""
        legs = ((self.X, self.corner), (self.corner, self.other))
        return sum(
            _counted(_length(b.translation - a.translation), _length(poses.turn_between(a.rotation, b.rotation)))
            for a, b in legs
        )

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists."""
        return _evaluated("blend", u, self.X, self.corner, self.other)


@dataclass(frozen=True)
class SplinePiece:
    """A curve of a free frame, from one of its times to another."""

    curve: Trajectory

    @property
    def size(self) -> float:
        """As its times are."""
        return self.curve.duration

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists."""
        T = self.curve.duration
        q, v, _ = self.curve(np.clip(self.curve.start_time + u * T, self.curve.start_time, self.curve.end_time))
        X = np.asarray(_kernels.get("free", _free_kernel)(q))
        R = X[..., :3, :3]
        V = np.concatenate([(R @ v[..., :3, None])[..., 0], (R @ v[..., 3:, None])[..., 0]], axis=-1)
        return X, V * T


@dataclass(frozen=True)
class ReversedPiece:
    """A piece from its end to its beginning."""

    piece: PathSegment

    @property
    def size(self) -> float:
        """The same."""
        return self.piece.size

    def at(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists."""
        X, V = self.piece.at(1.0 - u)
        return X, -V


@cache
def _free_tree() -> Tree:
    """One frame that moves freely: its configurations are poses."""
    text = '<robot name="free"><link name="frame"/></robot>'
    return read_robot_string(text, Options(floating_base=True, inertia="ignore"))


def free_space(apart: bool) -> CurveSpace:
    """What a free frame's curves run in: it turns and goes straight apart, or along screws."""
    return CurveSpace.of(_free_tree(), apart)


def pose_numbers(X: np.ndarray) -> np.ndarray:
    """The configurations (n, 7) of the free frame at poses (n, 4, 4)."""
    joint = _free_tree().bodies[0].joint
    return np.array([joint.configuration_from_pose(Pose.of(x.tolist())) for x in X], dtype=float)


def _free_kernel() -> Kernel:
    joint = _free_tree().bodies[0].joint

    def traced(q: Any) -> Any:
        return _matrix(joint.X([*q]))

    return compile(traced, name="pose_of_free_frame", q=(joint.nq,))


def leg_of(X: Pose, other: Pose, orientation: str) -> ArcPiece | ScrewPiece:
    """The straight way, or the screw."""
    if orientation == "screw":
        return ScrewPiece(X, poses.screw_between(X, other))
    zero = Vec3(0.0, 0.0, 0.0)
    turn = poses.turn_between(X.rotation, other.rotation)
    return ArcPiece(X, X.translation, zero, other.translation - X.translation, turn)


def _length(v: Vec3) -> float:
    return float(np.linalg.norm([*v]))


_SHAPES: dict[str, tuple[type, ...]] = {
    "screw": (Pose, Motion),
    "arc": (Pose, Vec3, Vec3, Vec3, Vec3),
    "blend": (Pose, Pose, Pose),
}
_SIZES: dict[type, tuple[int, ...]] = {Pose: (4, 4), Motion: (6,), Vec3: (3,)}
_WAYS: dict[str, Any] = {"screw": poses.along_screw, "arc": poses.along_arc, "blend": poses.along_blend}


def _evaluated(name: str, u: np.ndarray, *given: Any) -> tuple[np.ndarray, np.ndarray]:
    numbers = [
        matrix_of(x) if isinstance(x, Pose) else np.array(x.elements() if isinstance(x, Motion) else [*x], dtype=float)
        for x in given
    ]
    X, V = _kernels.get(name, lambda: _kernel(name))(*numbers, u)
    return np.asarray(X), np.asarray(V)


def _kernel(name: str) -> Kernel:
    """What evaluates a kind of piece."""
    kinds = _SHAPES[name]

    def traced(*, u: Any, **given: Any) -> Any:
        values = [kind.of(x) for kind, x in zip(kinds, given.values(), strict=True)]  # type: ignore[attr-defined]
        X, V = poses.moving(lambda at: _WAYS[name](*values, at), u)
        return _matrix(X), list(V.elements())

    sizes = {f"part{k}": _SIZES[kind] for k, kind in enumerate(kinds)}
    return compile(traced, name=f"pose_along_{name}", **sizes, u=())


def _matrix(X: Pose) -> list[list[Any]]:
    elements = X.elements()
    return [list(elements[4 * k : 4 * k + 4]) for k in range(4)]
