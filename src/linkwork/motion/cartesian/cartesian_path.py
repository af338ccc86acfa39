"""Cartesian paths: poses of a frame as a function of the distance travelled; waypoints on a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.validation import non_negative, number
from linkwork.kernels.array_arguments import real_array
from linkwork.kinematics.poses import pose_difference
from linkwork.motion.cartesian.path_segments import PathSegment, ReversedSegment, straight_segment
from linkwork.spatial import Pose

__all__ = ["CartesianPath", "Waypoints", "initial_positions"]


_MAX_DISTANCE = 1e100  # [m]; products of larger lengths overflow
_SAME = 1e-6  # [m, rad] poses that are nearer count as equal
_CORNER = 1e-6  # relative: a larger difference of one-sided directions is a corner


@public
class CartesianPath(metaclass=WithForeignNames):
    """Poses of a frame along a path in space: ``path(s)``, s from 0 to its ``length``.

    s is the distance travelled by the origin [m].  Where the frame rotates more than it translates, s grows by 0.2 m
    for each radian; on a blend s grows by the length of the two lines via its corner.  `linkwork.motion.line`, `arc`,
    `pose_spline` and `polyline` create paths; `append` joins them.  The frame in which poses are expressed is chosen
    when the path is followed.

    ``segments`` are the parts of the path, in order.
    """

    __slots__ = ("_ends", "_segments")

    def __init__(self, segments: Sequence[PathSegment]) -> None:
        if not segments or any(not segment.size > 0.0 for segment in segments):
            raise ValueError(
                "CartesianPath: segments: expected segments of positive length; use linkwork.motion.line, arc, "
                "pose_spline or polyline"
            )
        self._segments = tuple(segments)
        self._ends = np.concatenate([[0.0], np.cumsum([segment.size for segment in segments])])

    # -- properties

    @property
    def length(self) -> float:
        """Length of the path [m]: s at its end."""
        return float(self._ends[-1])

    @property
    def knots(self) -> np.ndarray:
        """Positions s (n + 1,) where segments begin and end."""
        return self._ends.copy()

    @property
    def corners(self) -> np.ndarray:
        """Positions s at which the direction is discontinuous; a motion stops there."""
        inner = self._ends[1:-1]
        if not len(inner):
            return inner.copy()
        before = np.array([self._segments[k].at(np.ones(1))[1][0] / self._segments[k].size for k in range(len(inner))])
        after = np.array([p.at(np.zeros(1))[1][0] / p.size for p in self._segments[1:]])
        jump = np.abs(before - after).max(axis=-1)
        result: np.ndarray = inner[jump > _CORNER * np.maximum(np.abs(before).max(axis=-1), 1.0)]
        return result

    def __call__(self, s: ArrayLike) -> np.ndarray:
        """Return poses (..., 4, 4) at s (...).  Raises ValueError for s outside of [0, length]."""
        return self.twist(s)[0]

    def twist(self, s: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the poses (..., 4, 4) at s (...), and the frame's twists (..., 6) per unit of s.

        A twist (ω; v) consists of the angular velocity and the velocity of the origin for ṡ = 1, in the axes in which
        poses are expressed. At a knot the twist is that of the later segment.
        """
        expected = f"CartesianPath: s: expected values from 0 to {self.length:.6g} [m]"
        at = np.asarray(real_array(expected, s), dtype=float)
        if at.size and not (at.min() >= -_SAME * self.length and at.max() <= self.length * (1.0 + _SAME)):
            bad = at[~((at >= 0.0) & (at <= self.length))].flat[0]
            raise ValueError(f"{expected}, got {bad:.6g}")
        flat = at.ravel()
        which = np.clip(np.searchsorted(self._ends, flat, side="right") - 1, 0, len(self._segments) - 1)
        X, V = np.empty((len(flat), 4, 4)), np.empty((len(flat), 6))
        for k in np.unique(which):
            on_segment = which == k
            X[on_segment], V[on_segment] = self._on(int(k), flat[on_segment])
        return X.reshape(*at.shape, 4, 4), V.reshape(*at.shape, 6)

    @public
    def truncated(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the pose (4, 4) at the end of segment k, and the twist (6,) per unit of s just before that end.

        s is the path's parameter [m].
        """
        X, V = self._on(k, self._ends[k + 1 : k + 2])
        return X[0], V[0]

    def _on(self, k: int, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = self._segments[k].size
        X, V = self._segments[k].at(np.clip((s - self._ends[k]) / size, 0.0, 1.0))
        return X, V / size

    # -- derived paths

    @public(tolerance=non_negative)
    def append(self, other: CartesianPath, *, tolerance: float = _SAME) -> CartesianPath:
        """Return this path followed by ``other``.

        Raises ValueError if ``other`` does not begin at this path's end, within ``tolerance`` [m, rad].
        """
        if not isinstance(other, CartesianPath):
            raise TypeError(f"append: expected a CartesianPath, got {other!r}")
        gap = pose_difference(self(self.length), other(0.0))
        angle, distance = float(np.linalg.norm(gap[:3])), float(np.linalg.norm(gap[3:]))
        if angle > tolerance or distance > tolerance:
            raise ValueError(
                f"append: other: it begins {distance:.3g} m and {angle:.3g} rad from the end of this path; "
                "close the gap with a line"
            )
        return CartesianPath([*self._segments, *other._segments])

    def reversed(self) -> CartesianPath:
        """Return the path in the opposite direction."""
        return CartesianPath(
            [
                segment.segment if isinstance(segment, ReversedSegment) else ReversedSegment(segment)
                for segment in self._segments[::-1]
            ]
        )

    def with_approach(self, distance: float, axis: str | ArrayLike = "z") -> CartesianPath:
        """Return the path preceded by a straight approach of length ``distance`` [m].

        ``axis`` is "x", "y" or "z" of the frame at the path's beginning, with "-" for the opposite, or a vector in the
        frame's axes.  The frame moves along this axis to the path's beginning.
        """
        X = self(0.0)
        return _straight(_behind(X, "with_approach", distance, axis), X).append(self)

    def with_retreat(self, distance: float, axis: str | ArrayLike = "z") -> CartesianPath:
        """Return the path followed by a straight retreat of length ``distance`` [m].

        ``axis`` is "x", "y" or "z" of the frame at the path's end, with "-" for the opposite, or a vector in the
        frame's axes. The frame moves against this axis: a frame that approaches along z retreats along −z.
        """
        X = self(self.length)
        return self.append(_straight(X, _behind(X, "with_retreat", distance, axis)))

    def __repr__(self) -> str:
        count = len(self._segments)
        return f"<CartesianPath: {self.length:.6g} long, {count} segment{'' if count == 1 else 's'}>"


add_foreign_names(CartesianPath, "motion.CartesianPath")


def _straight(X: np.ndarray, Y: np.ndarray) -> CartesianPath:
    return CartesianPath([straight_segment(Pose.of(X.tolist()), Pose.of(Y.tolist()), "decoupled")])


def _behind(X: np.ndarray, caller: str, distance: Any, axis: Any) -> np.ndarray:
    """Return the pose X (4, 4) shifted by −``distance`` [m] along an axis of its frame.  Raises ValueError."""
    length = np.asarray(real_array(f"{caller}: distance: expected a positive number [m]", distance), dtype=float)
    if length.ndim or not 0.0 < length < _MAX_DISTANCE:
        raise ValueError(
            f"{caller}: distance: expected a positive number [m] below {_MAX_DISTANCE:g}, got {distance!r}"
        )
    if isinstance(axis, str):
        if axis.lstrip("+-") not in ("x", "y", "z") or len(axis) > 2:
            raise ValueError(f'{caller}: axis: expected "x", "y", "z", "-x", "-y" or "-z", or a vector, got {axis!r}')
        direction = np.eye(3)["xyz".index(axis[-1])] * (-1.0 if axis[0] == "-" else 1.0)
    else:
        direction = np.asarray(real_array(f"{caller}: axis: expected three numbers", axis), dtype=float)
        if direction.shape != (3,) or not np.isfinite(direction).all() or not np.linalg.norm(direction) > 0.0:
            raise ValueError(f"{caller}: axis: expected three numbers, not all zero, got {axis!r}")
        direction = direction / np.linalg.norm(direction)
    result: np.ndarray = X.copy()
    result[:3, 3] -= number(length) * (X[:3, :3] @ direction)
    return result


@dataclass(frozen=True)
class Waypoints:
    """Configurations q (k, nq) at positions s (k,) of a path.

    ``changed`` (k,) is True where the robot is reconfigured: the step from the previous configuration is a jump.  If
    the path's end is not reached, ``missed`` is the next position, for which there is no configuration.
    """

    s: np.ndarray
    q: np.ndarray
    changed: np.ndarray
    missed: float | None = None

    @property
    def end(self) -> float:
        """Position reached on the path [m]."""
        return float(self.s[-1]) if len(self.s) else 0.0


def initial_positions(knots: np.ndarray, step: float) -> np.ndarray:
    """Return all knots and equally spaced positions between, about ``step`` apart."""
    result = [np.linspace(a, b, max(int(np.ceil((b - a) / step)), 2) + 1)[:-1] for a, b in pairwise(knots)]
    return np.append(np.concatenate(result), knots[-1])
