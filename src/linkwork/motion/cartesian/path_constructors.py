"""Lines, arcs, splines and polylines in space, as people ask for them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import nearest
from linkwork.kernels.array_arguments import real_array
from linkwork.motion.algorithms import pose_interpolation as poses
from linkwork.motion.cartesian.cartesian_path import CartesianPath
from linkwork.motion.cartesian.path_segments import (
    ArcPiece,
    BlendPiece,
    PathSegment,
    ScrewPiece,
    SplinePiece,
    free_space,
    leg_of,
    pose_numbers,
)
from linkwork.motion.splines import interpolation as through
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.spatial import Pose, Vec3
from linkwork.spatial.arguments import checked_pose, matrix_of

__all__ = ["arc", "line", "polyline", "pose_spline"]

_ORIENTATIONS = ("decoupled", "screw")
_BOUNDARIES = ("natural", "clamped", "periodic")
_SAME = 1e-9  # [m, rad]: poses that are one
_LEVEL = 1e-9  # relative: how thin a triangle of three places is no circle


@public
def line(X0: ArrayLike, X1: ArrayLike, *, orientation: str = "decoupled") -> CartesianPath:
    """A straight way from one pose to another, (4, 4) each.

    ``"decoupled"``: the origin goes straight while the frame turns about one axis, the short way; ``"screw"``: both
    along one screw, on which the origin is on a helix.

    >>> import linkwork as lw
    >>> way = lw.motion.line(lw.pose((0, 0, 0)), lw.pose((0.4, 0, 0), rpy=(0, 0, 1.0)))
    >>> way.length, way(0.1)[:3, 3].round(9).tolist()
    (0.4, [0.1, 0.0, 0.0])

    Raises ValueError for what is no pose, and for poses that are the same.
    """
    caller = "line"
    start, end = (_pose(caller, name, X)[0] for name, X in (("X0", X0), ("X1", X1)))
    _one_of(caller, orientation)
    piece = leg_of(start, end, orientation)
    if piece.size <= _SAME:
        raise ValueError(f"{caller}: X0 and X1 are the same pose, so there is no way between them")
    return CartesianPath([piece])


@public
def arc(
    X0: ArrayLike,
    via: ArrayLike | None = None,
    X1: ArrayLike | None = None,
    *,
    center: ArrayLike | None = None,
    axis: ArrayLike | None = None,
    angle: float | None = None,
    orientation: str = "decoupled",
) -> CartesianPath:
    """An arc of a circle from a pose X0 (4, 4): through a place ``via`` to X1, or about a center.

    ``via`` (3,) and ``X1`` (4, 4) or (3,): the circle through three places; ``"decoupled"`` turns the frame from X0's
    orientation to X1's about one axis.  ``center`` (3,), ``axis`` (3,) and ``angle`` [rad], by the right hand and of
    any size.  ``orientation`` is ``"decoupled"`` (X0's stays unless X1 is a pose) or ``"carried"``: the frame turns
    with the circle.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> half = lw.motion.arc(lw.pose((1, 0, 0)), center=(0, 0, 0), axis=(0, 0, 1), angle=np.pi)
    >>> round(half.length, 6), half(half.length / 2)[:3, 3].round(9).tolist()
    (3.141593, [0.0, 1.0, 0.0])

    Raises ValueError for places on one line, a center on the axis through X0, and what is no pose.
    """
    caller = "arc"
    start = _pose(caller, "X0", X0)
    _one_of(caller, orientation, ("decoupled", "carried"))
    by_places, by_center = (via, X1), (center, axis, angle)
    if all(x is not None for x in by_places) and all(x is None for x in by_center):
        last = np.asarray(real_array(f"{caller}: X1: expected a pose (4, 4) or a place (3,)", X1), dtype=float)
        place = last if last.shape == (3,) else _pose(caller, "X1", X1)[1]
        around, middle = _circle(caller, start[1], _place(caller, "via", via), _place(caller, "X1", place))
        end = start[0] if last.shape == (3,) else checked_pose(last, f"{caller}: X1")
    elif all(x is not None for x in by_center) and all(x is None for x in by_places):
        middle = _place(caller, "center", center)
        along = _place(caller, "axis", axis)
        length = float(np.linalg.norm(along))
        turn = np.asarray(real_array(f"{caller}: angle: expected an angle [rad]", angle), dtype=float)
        if not length > 0.0 or turn.ndim or not np.isfinite(turn) or not turn:
            raise ValueError(
                f"{caller}: expected an axis of some length and an angle other than 0 [rad], got {axis!r} and {angle!r}"
            )
        around, end = along / length * float(turn), start[0]
        off = start[1] - middle
        if np.linalg.norm(np.cross(along / length, off)) <= _LEVEL * max(1.0, float(np.linalg.norm(off))):
            raise ValueError(f"{caller}: X0 is on the axis through the center, so it goes nowhere")
    else:
        raise ValueError(f"{caller}: via, X1, center, axis and angle: expected the first two, or the other three")
    X = start[0]
    if orientation == "carried":
        turned = X.rotation.inv_act(Vec3.of(around.tolist()))
    else:
        turned = poses.turn_between(X.rotation, end.rotation)
    zero = Vec3(0.0, 0.0, 0.0)
    return CartesianPath([ArcPiece(X, Vec3.of(middle.tolist()), Vec3.of(around.tolist()), zero, turned)])


@public
def pose_spline(poses_given: ArrayLike, *, orientation: str = "decoupled", boundary: str = "natural") -> CartesianPath:
    """A smooth way through poses (n, 4, 4): a cubic spline whose twist and its rate have no jumps.

    ``orientation`` is ``"decoupled"``, the origin on a spline of places, or ``"screw"``, where splines are of twists;
    ``boundary`` as of `Robot.spline`: ``"natural"``, ``"clamped"`` or ``"periodic"``.

    Raises ValueError for fewer than two poses, and for one that is the same as the one before it.
    """
    caller = "pose_spline"
    X = _poses(caller, poses_given)
    _one_of(caller, orientation)
    times = np.concatenate([[0.0], np.cumsum(_steps(caller, X))])
    if boundary not in _BOUNDARIES:
        raise ValueError(f"{caller}: boundary: got {boundary!r}: {nearest(str(boundary), _BOUNDARIES)}")
    if boundary == "periodic" and not np.allclose(X[0], X[-1], atol=_SAME):
        raise ValueError(f'{caller}: boundary="periodic" takes a last pose that is the first')
    q = pose_numbers(X)
    section = through.cubic(free_space(orientation == "decoupled"), times, q, boundary, None, caller)
    return CartesianPath([SplinePiece(Trajectory([section]))])


@public
def polyline(
    poses_given: ArrayLike, *, blend: float | ArrayLike = 0.0, orientation: str = "decoupled"
) -> CartesianPath:
    """Straight ways from pose to pose (n, 4, 4), with corners, or rounded ones: ``blend`` [m] is where a parabola
    begins before a corner and ends after it, one number or one for each of the n − 2 corners.

    A blend takes no more than half of the shorter way.  It is of ``"decoupled"`` ways; ``"screw"`` ones have corners.
    Poses that repeat the one before them are left out.

    Raises ValueError for fewer than two poses, or two that are the same and no others.
    """
    caller = "polyline"
    X = _poses(caller, poses_given)
    _one_of(caller, orientation)
    kept = np.concatenate([[True], _steps(caller, X, repeated=True) > _SAME])
    radius = np.asarray(real_array(f"{caller}: blend: expected metres from 0", blend), dtype=float)
    if radius.shape not in ((), (len(X) - 2,)) or not (radius >= 0.0).all() or not np.isfinite(radius).all():
        raise ValueError(f"{caller}: blend: expected metres from 0, one number or {len(X) - 2}, got {blend!r}")
    if orientation == "screw" and radius.any():
        raise ValueError(f'{caller}: blend: screws have corners: leave it out, or take orientation="decoupled"')
    if kept.sum() < 2:
        raise ValueError(f"{caller}: all poses are the same, so there is no way between them")
    given = np.zeros(len(X))
    given[1:-1] = radius
    ends, radii = [Pose.of(x.tolist()) for x in X[kept]], given[kept]
    legs = [leg_of(a, b, orientation) for a, b in pairwise(ends)]
    sizes = [piece.size for piece in legs]
    result: list[PathSegment] = []
    begin = 0.0  # of each leg, the part that the blend before it has taken
    for k, (piece, size) in enumerate(zip(legs, sizes, strict=True)):
        last = k == len(legs) - 1
        room = 0.0 if last else min(radii[k + 1], 0.5 * size, 0.5 * sizes[k + 1])
        first, final = begin / size, 1.0 - room / size
        if final - first > _SAME:
            result.append(piece if first == 0.0 and final == 1.0 else _part(piece, first, final))
        begin = room
        if room > 0.0:
            result.append(BlendPiece(_at(piece, final), ends[k + 1], _at(legs[k + 1], room / sizes[k + 1])))
    return CartesianPath(result)


def _at(piece: ArcPiece | ScrewPiece, u: float) -> Pose:
    if isinstance(piece, ScrewPiece):
        return poses.along_screw(piece.X, piece.twist, u)
    return poses.along_arc(piece.X, piece.center, piece.around, piece.way, piece.turn, u)


def _part(piece: ArcPiece | ScrewPiece, first: float, final: float) -> ArcPiece | ScrewPiece:
    return leg_of(_at(piece, first), _at(piece, final), "screw" if isinstance(piece, ScrewPiece) else "decoupled")


def _pose(caller: str, name: str, value: Any) -> tuple[Pose, np.ndarray]:
    """A pose, and its place."""
    X = checked_pose(value, f"{caller}: {name}")
    return X, np.array([*X.translation], dtype=float)


def _place(caller: str, name: str, value: Any) -> np.ndarray:
    result = np.asarray(real_array(f"{caller}: {name}: expected three numbers", value), dtype=float)
    if result.shape != (3,) or not np.isfinite(result).all():
        raise ValueError(f"{caller}: {name}: expected three finite numbers, got {value!r}")
    return result


def _poses(caller: str, value: Any) -> np.ndarray:
    """Two poses at least."""
    expected = f"{caller}: expected poses (n, 4, 4), two at least"
    X = np.asarray(real_array(expected, value), dtype=float)
    if X.ndim != 3 or X.shape[1:] != (4, 4) or len(X) < 2:
        raise ValueError(f"{expected}, got shape {X.shape}")
    return np.array([matrix_of(checked_pose(x, f"{caller}: pose {k}")) for k, x in enumerate(X)])


def _steps(caller: str, X: np.ndarray, *, repeated: bool = False) -> np.ndarray:
    """How far each pose is from the one before.  Raises ValueError for those that are the same."""
    ends = [Pose.of(x.tolist()) for x in X]
    result = np.array([leg_of(a, b, "decoupled").size for a, b in pairwise(ends)])
    if not repeated and (result <= _SAME).any():
        k = int(np.flatnonzero(result <= _SAME)[0])
        raise ValueError(f"{caller}: poses {k} and {k + 1} are the same: leave one of them out")
    return result


def _circle(caller: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vector of the angle from a through b to c, and the center.  Raises ValueError for places on one line."""
    u, v = b - a, c - a
    normal = np.cross(u, v)
    area = float(normal @ normal)
    size = max(float(u @ u), float(v @ v))
    if not area > (_LEVEL * size) ** 2 or not size > 0.0:
        raise ValueError(f"{caller}: X0, via and X1 are on one line, so no circle goes through them: take a line")
    off = (np.cross(normal, u) * float(v @ v) + np.cross(v, normal) * float(u @ u)) / (2.0 * area)
    n = normal / math.sqrt(area)
    first, last = -off, v - off
    angle = math.atan2(float(n @ np.cross(first, last)), float(first @ last)) % (2.0 * math.pi)
    return n * angle, a + off


def _one_of(caller: str, value: Any, known: tuple[str, ...] = _ORIENTATIONS) -> None:
    if value not in known:
        raise ValueError(f"{caller}: orientation: got {value!r}: {nearest(str(value), known)}")
