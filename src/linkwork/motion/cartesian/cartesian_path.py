"""Ways of a frame in space: poses by how far it has gone.

Way points on a path, one after the other, and where they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import non_negative, number
from linkwork.kernels.array_arguments import real_array
from linkwork.kinematics.poses import pose_difference
from linkwork.motion.cartesian.path_segments import PathSegment, ReversedPiece, leg_of
from linkwork.spatial import Pose

__all__ = ["CartesianPath", "Steps", "grid"]


_FARTHEST = 1e100  # [m] from which on products of lengths overflow
_SAME = 1e-6  # [m, rad]: poses that are one
_CORNER = 1e-6  # relative: how far directions at both sides of a place may differ


@public
class CartesianPath:
    """Poses of a frame along a way in space: ``path(s)``, s from 0 to its ``length``.

    s is how far the origin has gone [m]; where the frame turns by more than it goes, a radian counts 0.2 m, and a blend
    counts as far as its corner.  `linkwork.motion.line`, `arc`, `pose_spline` and `polyline` make them; `append` joins
    them.  In which frame the poses are is said where they are followed.
    """

    __slots__ = ("_ends", "_pieces")

    def __init__(self, pieces: Sequence[PathSegment]) -> None:
        if not pieces or any(not piece.size > 0.0 for piece in pieces):
            raise ValueError(
                "CartesianPath: expected pieces that go somewhere: linkwork.motion.line, arc, pose_spline and polyline "
                "make paths"
            )
        self._pieces = tuple(pieces)
        self._ends = np.concatenate([[0.0], np.cumsum([piece.size for piece in pieces])])

    # -- what it is

    @property
    def length(self) -> float:
        """How far it goes: s at its end."""
        return float(self._ends[-1])

    @property
    def knots(self) -> np.ndarray:
        """Where its pieces begin and end (n + 1,)."""
        return self._ends.copy()

    @property
    def corners(self) -> np.ndarray:
        """Where its direction jumps: there a motion stops."""
        inner = self._ends[1:-1]
        if not len(inner):
            return inner.copy()
        before = np.array([self._pieces[k].at(np.ones(1))[1][0] / self._pieces[k].size for k in range(len(inner))])
        after = np.array([p.at(np.zeros(1))[1][0] / p.size for p in self._pieces[1:]])
        apart = np.abs(before - after).max(axis=-1)
        result: np.ndarray = inner[apart > _CORNER * np.maximum(np.abs(before).max(axis=-1), 1.0)]
        return result

    def __call__(self, s: ArrayLike) -> np.ndarray:
        """X(s): s (...) -> poses (..., 4, 4).  Raises ValueError for s outside of [0, length]."""
        return self.twist(s)[0]

    def twist(self, s: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Poses (..., 4, 4), and twists by s (..., 6), (ω; v) of the origin in the axes that poses are given in.

        Where two pieces meet it is the later one's.
        """
        expected = f"CartesianPath: s: expected numbers from 0 to {self.length:.6g}"
        at = np.asarray(real_array(expected, s), dtype=float)
        if at.size and not (at.min() >= -_SAME * self.length and at.max() <= self.length * (1.0 + _SAME)):
            bad = at[~((at >= 0.0) & (at <= self.length))].flat[0]
            raise ValueError(f"{expected}, got {bad:.6g}")
        flat = at.ravel()
        which = np.clip(np.searchsorted(self._ends, flat, side="right") - 1, 0, len(self._pieces) - 1)
        X, V = np.empty((len(flat), 4, 4)), np.empty((len(flat), 6))
        for k in np.unique(which):
            here = which == k
            X[here], V[here] = self._on(int(k), flat[here])
        return X.reshape(*at.shape, 4, 4), V.reshape(*at.shape, 6)

    def truncated(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The pose (4, 4) and the twist by s (6,) at the end of a piece: from before it, where a corner is."""
        X, V = self._on(k, self._ends[k + 1 : k + 2])
        return X[0], V[0]

    def _on(self, k: int, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = self._pieces[k].size
        X, V = self._pieces[k].at(np.clip((s - self._ends[k]) / size, 0.0, 1.0))
        return X, V / size

    # -- others made of it

    @public(tolerance=non_negative)
    def append(self, other: CartesianPath, *, tolerance: float = _SAME) -> CartesianPath:
        """This one, and the other after it.

        Raises ValueError where the other does not begin where this one ends, within ``tolerance`` [m, rad].
        """
        if not isinstance(other, CartesianPath):
            raise TypeError(f"append: expected a CartesianPath, got {other!r}")
        gap = pose_difference(self(self.length), other(0.0))
        turn, way = float(np.linalg.norm(gap[:3])), float(np.linalg.norm(gap[3:]))
        if turn > tolerance or way > tolerance:
            raise ValueError(
                f"append: the other begins {way:.3g} m and {turn:.3g} rad away from where this one ends: a line "
                "between "
                f"them closes the gap"
            )
        return CartesianPath([*self._pieces, *other._pieces])

    def reversed(self) -> CartesianPath:
        """The way back."""
        return CartesianPath(
            [piece.piece if isinstance(piece, ReversedPiece) else ReversedPiece(piece) for piece in self._pieces[::-1]]
        )

    def with_approach(self, distance: float, axis: str | ArrayLike = "z") -> CartesianPath:
        """A straight way before it, of a distance [m] along an axis of the frame as it is at the beginning.

        ``axis`` is "x", "y" or "z", with "-" for the opposite, or a vector in the frame's axes; the frame comes along
        it, from behind.
        """
        X = self(0.0)
        return _straight(_off(X, "with_approach", distance, axis), X).append(self)

    def with_retreat(self, distance: float, axis: str | ArrayLike = "z") -> CartesianPath:
        """A straight way after it, of a distance [m]: back along an axis of the frame as it is at the end.

        What comes along z goes back along z: the frame moves against the axis.
        """
        X = self(self.length)
        return self.append(_straight(X, _off(X, "with_retreat", distance, axis)))

    def __repr__(self) -> str:
        count = len(self._pieces)
        return f"<CartesianPath: {self.length:.6g} long, {count} piece{'' if count == 1 else 's'}>"


def _straight(X: np.ndarray, other: np.ndarray) -> CartesianPath:
    return CartesianPath([leg_of(Pose.of(X.tolist()), Pose.of(other.tolist()), "decoupled")])


def _off(X: np.ndarray, caller: str, distance: Any, axis: Any) -> np.ndarray:
    """A pose so far behind one along an axis of it."""
    far = np.asarray(real_array(f"{caller}: distance: expected metres above 0", distance), dtype=float)
    if far.ndim or not 0.0 < far < _FARTHEST:
        raise ValueError(f"{caller}: distance: expected metres above 0 and below {_FARTHEST:g}, got {distance!r}")
    if isinstance(axis, str):
        if axis.lstrip("+-") not in ("x", "y", "z") or len(axis) > 2:
            raise ValueError(f'{caller}: axis: expected "x", "y", "z", "-x", "-y" or "-z", or a vector, got {axis!r}')
        way = np.eye(3)["xyz".index(axis[-1])] * (-1.0 if axis[0] == "-" else 1.0)
    else:
        way = np.asarray(real_array(f"{caller}: axis: expected three numbers", axis), dtype=float)
        if way.shape != (3,) or not np.isfinite(way).all() or not np.linalg.norm(way) > 0.0:
            raise ValueError(f"{caller}: axis: expected three numbers, not all zero, got {axis!r}")
        way = way / np.linalg.norm(way)
    result: np.ndarray = X.copy()
    result[:3, 3] -= number(far) * (X[:3, :3] @ way)
    return result


@dataclass(frozen=True)
class Steps:
    """Configurations q (k, nq) at places s (k,) of a path; ``changed`` (k,) where one is no neighbour of the last.

    Of a way that does not come to the end, ``missed`` is the next place, which could not be reached.
    """

    s: np.ndarray
    q: np.ndarray
    changed: np.ndarray
    missed: float | None = None

    @property
    def end(self) -> float:
        """How far they come."""
        return float(self.s[-1]) if len(self.s) else 0.0


def grid(knots: np.ndarray, step: float) -> np.ndarray:
    """Places to begin with: all knots, and equal steps between them, two at least and about ``step``."""
    result = [np.linspace(a, b, max(int(np.ceil((b - a) / step)), 2) + 1)[:-1] for a, b in pairwise(knots)]
    return np.append(np.concatenate(result), knots[-1])
