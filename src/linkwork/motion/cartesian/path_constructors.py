"""Constructors of Cartesian paths: lines, arcs, splines and polylines."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import nearest
from linkwork.joints.axis import coordinate_axis
from linkwork.kernels.array_arguments import real_array
from linkwork.motion.cartesian.cartesian_path import CartesianPath
from linkwork.motion.cartesian.path_segments import (
    ArcSegment,
    BlendSegment,
    PathSegment,
    ScrewSegment,
    SplineSegment,
    along_arc,
    along_screw,
    free_space,
    pose_configurations,
    straight_segment,
    turn_between,
)
from linkwork.motion.splines.interpolation import cubic
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.spatial import Pose, Vec3
from linkwork.spatial.arguments import checked_pose

__all__ = ["arc", "line", "polyline", "pose_spline"]

_ORIENTATIONS = ("decoupled", "screw")
_BOUNDARIES = ("natural", "clamped", "periodic")
_SAME = 1e-9  # [m, rad] poses that are nearer count as equal
_LEVEL = 1e-9  # relative: a thinner triangle of three points determines no circle


@public
def line(X0: ArrayLike, X1: ArrayLike, *, orientation: str = "decoupled") -> CartesianPath:
    """Return a path from the pose X0 to the pose X1, (4, 4) each: a straight line or a screw motion.

    If ``orientation`` is ``"decoupled"``, the origin moves on a straight line while the frame rotates about one axis
    by the smaller angle.  If it is ``"screw"``, the frame moves along one screw, with its origin on a helix.

    >>> import linkwork as lw
    >>> path = lw.motion.line(lw.pose((0, 0, 0)), lw.pose((0.4, 0, 0), rpy=(0, 0, 1.0)))
    >>> path.length, path(0.1)[:3, 3].round(9).tolist()
    (0.4, [0.1, 0.0, 0.0])

    Raises ValueError for an invalid pose, and for equal poses.
    """
    caller = "line"
    start, end = (_pose(caller, name, X)[0] for name, X in (("X0", X0), ("X1", X1)))
    _one_of(caller, orientation)
    segment = straight_segment(start, end, orientation)
    if segment.size <= _SAME:
        raise ValueError(f"{caller}: X1: expected a pose other than X0, got the same pose")
    return CartesianPath([segment])


@public
def arc(
    X0: ArrayLike,
    via: ArrayLike | None = None,
    X1: ArrayLike | None = None,
    *,
    center: ArrayLike | None = None,
    axis: ArrayLike | str | None = None,
    angle: float | None = None,
    orientation: str = "decoupled",
) -> CartesianPath:
    """Return a circular arc from a pose X0 (4, 4): through a point ``via`` to X1, or about a center.

    Arc through three points: the origin of X0, ``via`` (3,) and ``X1`` lie on the circle; ``X1`` is a pose (4, 4) or a
    point (3,).  Arc about a center: ``center`` (3,), ``axis`` and ``angle`` [rad] determine the arc by the right-hand
    rule. ``axis`` is a vector (3,), or "x", "y" or "z"; the angle may have any size.

    ``orientation`` is ``"decoupled"`` or ``"carried"``.  ``"decoupled"`` rotates the frame about one axis from X0's
    orientation to X1's; without a pose X1 the frame does not rotate.  ``"carried"`` rotates the frame with the circle.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> half = lw.motion.arc(lw.pose((1, 0, 0)), center=(0, 0, 0), axis=(0, 0, 1), angle=np.pi)
    >>> round(half.length, 6), half(half.length / 2)[:3, 3].round(9).tolist()
    (3.141593, [0.0, 1.0, 0.0])

    Raises ValueError for collinear points, X0 on the axis through the center, and an invalid pose.
    """
    caller = "arc"
    start = _pose(caller, "X0", X0)
    _one_of(caller, orientation, ("decoupled", "carried"))
    by_points, by_center = (via, X1), (center, axis, angle)
    if all(x is not None for x in by_points) and all(x is None for x in by_center):
        if np.ndim(via) == 2:  # type: ignore[arg-type]
            raise ValueError(f"{caller}: via: expected a point (3,), got a pose; pass its position via[:3, 3]")
        last = np.asarray(real_array(f"{caller}: X1: expected a pose (4, 4) or a point (3,)", X1), dtype=float)
        point = last if last.shape == (3,) else _pose(caller, "X1", X1)[1]
        sweep, middle = _circle(caller, start[1], _position(caller, "via", via), _position(caller, "X1", point))
        end = start[0] if last.shape == (3,) else checked_pose(last, f"{caller}: X1")
    elif all(x is not None for x in by_center) and all(x is None for x in by_points):
        middle = _position(caller, "center", center)
        along = _position(caller, "axis", coordinate_axis(axis))
        length = float(np.linalg.norm(along))
        turn = np.asarray(real_array(f"{caller}: angle: expected an angle [rad]", angle), dtype=float)
        if not length > 0.0 or turn.ndim or not np.isfinite(turn) or not turn:
            raise ValueError(
                f"{caller}: axis and angle: expected a nonzero axis and a nonzero angle [rad], "
                f"got {axis!r} and {angle!r}"
            )
        sweep, end = along / length * float(turn), start[0]
        offset = start[1] - middle
        if np.linalg.norm(np.cross(along / length, offset)) <= _LEVEL * max(1.0, float(np.linalg.norm(offset))):
            raise ValueError(f"{caller}: X0: expected a pose off the axis through the center, got one on the axis")
    else:
        every = {"via": via, "X1": X1, "center": center, "axis": axis, "angle": angle}
        names = [name for name, value in every.items() if value is not None]
        raise ValueError(
            f"{caller}: expected either via and X1, or center, axis and angle, got {', '.join(names) or 'none'}"
        )
    X = start[0]
    if orientation == "carried":
        turned = X.rotation.inv_act(Vec3.of(sweep.tolist()))
    else:
        turned = turn_between(X.rotation, end.rotation)
    zero = Vec3(0.0, 0.0, 0.0)
    return CartesianPath([ArcSegment(X, Vec3.of(middle.tolist()), Vec3.of(sweep.tolist()), zero, turned)])


@public
def pose_spline(poses: ArrayLike, *, orientation: str = "decoupled", boundary: str = "natural") -> CartesianPath:
    """Return a smooth path through poses (n, 4, 4): a cubic spline with continuous twist and twist rate.

    ``orientation`` is ``"decoupled"``, with the origin on a spline of positions, or ``"screw"``, with splines of
    twists. ``boundary`` has the meaning of the option of `Robot.spline`: ``"natural"``, ``"clamped"`` or
    ``"periodic"``.

    Raises ValueError for fewer than two poses, and for a pose equal to the one before it.
    """
    caller = "pose_spline"
    X = _poses(caller, poses)
    _one_of(caller, orientation)
    times = np.concatenate([[0.0], np.cumsum(_steps(caller, X))])
    if boundary not in _BOUNDARIES:
        raise ValueError(f"{caller}: boundary: got {boundary!r}: {nearest(str(boundary), _BOUNDARIES)}")
    if boundary == "periodic" and not np.allclose(X[0], X[-1], atol=_SAME):
        raise ValueError(f'{caller}: boundary: "periodic" requires a last pose equal to the first')
    q = pose_configurations(X)
    section = cubic(free_space(orientation == "decoupled"), times, q, boundary, None, caller)
    return CartesianPath([SplineSegment(Trajectory([section]))])


@public
def polyline(poses: ArrayLike, *, blend: float | ArrayLike = 0.0, orientation: str = "decoupled") -> CartesianPath:
    """Return straight segments from pose to pose (n, 4, 4), or position (n, 3), with sharp or rounded corners.

    ``blend`` [m] is the distance from a corner at which a parabola begins and ends, one number or one for each of the
    n − 2 corners.  A blend uses at most half of the shorter segment.  ``orientation`` has the meaning of the option of
    `line`.  Blends require ``"decoupled"`` segments; ``"screw"`` segments have corners.  A pose equal to its
    predecessor is left out.

    Raises ValueError for fewer than two different poses.
    """
    caller = "polyline"
    X = _poses(caller, poses)
    _one_of(caller, orientation)
    distinct = np.concatenate([[True], _steps(caller, X, repeated=True) > _SAME])
    radius = np.asarray(real_array(f"{caller}: blend: expected numbers >= 0 [m]", blend), dtype=float)
    if radius.shape not in ((), (len(X) - 2,)) or not (radius >= 0.0).all() or not np.isfinite(radius).all():
        raise ValueError(f"{caller}: blend: expected a number >= 0 [m] or {len(X) - 2} of them, got {blend!r}")
    if orientation == "screw" and radius.any():
        raise ValueError(
            f'{caller}: blend: expected 0, since orientation="screw" cannot round corners; use orientation="decoupled"'
        )
    if distinct.sum() < 2:
        raise ValueError(f"{caller}: expected at least two different poses, got equal ones")
    corner_radii = np.zeros(len(X))
    corner_radii[1:-1] = radius
    ends, radii = [Pose.of(x.tolist()) for x in X[distinct]], corner_radii[distinct]
    legs = [straight_segment(a, b, orientation) for a, b in pairwise(ends)]
    sizes = [segment.size for segment in legs]
    result: list[PathSegment] = []
    begin = 0.0  # length of each leg that the blend before it uses
    for k, (segment, size) in enumerate(zip(legs, sizes, strict=True)):
        last = k == len(legs) - 1
        room = 0.0 if last else min(radii[k + 1], 0.5 * size, 0.5 * sizes[k + 1])
        first, final = begin / size, 1.0 - room / size
        if final - first > _SAME:
            result.append(segment if first == 0.0 and final == 1.0 else _subsegment(segment, first, final))
        begin = room
        if room > 0.0:
            result.append(BlendSegment(_at(segment, final), ends[k + 1], _at(legs[k + 1], room / sizes[k + 1])))
    return CartesianPath(result)


def _at(segment: ArcSegment | ScrewSegment, u: float) -> Pose:
    if isinstance(segment, ScrewSegment):
        return along_screw(segment.X, segment.twist, u)
    return along_arc(segment.X, segment.center, segment.sweep, segment.shift, segment.rotation, u)


def _subsegment(segment: ArcSegment | ScrewSegment, first: float, final: float) -> ArcSegment | ScrewSegment:
    return straight_segment(
        _at(segment, first), _at(segment, final), "screw" if isinstance(segment, ScrewSegment) else "decoupled"
    )


def _pose(caller: str, name: str, value: Any) -> tuple[Pose, np.ndarray]:
    """Return a valid pose and its position (3,).  Raises ValueError."""
    X = checked_pose(value, f"{caller}: {name}")
    return X, np.array([*X.translation], dtype=float)


def _position(caller: str, name: str, value: Any) -> np.ndarray:
    result = np.asarray(real_array(f"{caller}: {name}: expected three numbers", value), dtype=float)
    if result.shape != (3,) or not np.isfinite(result).all():
        raise ValueError(f"{caller}: {name}: expected three finite numbers, got {value!r}")
    return result


def _poses(caller: str, value: Any) -> np.ndarray:
    """Return at least two valid poses as an array (n, 4, 4).  Raises ValueError."""
    expected = f"{caller}: expected at least two poses (n, 4, 4)"
    X = np.asarray(real_array(expected, value), dtype=float)
    if X.ndim == 2 and X.shape[1] == 3:  # positions
        X = np.stack([checked_pose(x, f"{caller}: pose {k}").matrix() for k, x in enumerate(X)] or [np.eye(4)])
    if X.ndim != 3 or X.shape[1:] != (4, 4) or len(X) < 2:
        raise ValueError(f"{expected}, got shape {X.shape}")
    return np.array([checked_pose(x, f"{caller}: pose {k}").matrix() for k, x in enumerate(X)])


def _steps(caller: str, X: np.ndarray, *, repeated: bool = False) -> np.ndarray:
    """Return the distances [m] between successive poses.  Raises ValueError for equal poses."""
    ends = [Pose.of(x.tolist()) for x in X]
    result = np.array([straight_segment(a, b, "decoupled").size for a, b in pairwise(ends)])
    if not repeated and (result <= _SAME).any():
        k = int(np.flatnonzero(result <= _SAME)[0])
        raise ValueError(f"{caller}: poses {k} and {k + 1} are equal; leave out one of them")
    return result


def _circle(caller: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation vector (3,) of the arc from point a through b to c, and the circle's center (3,).

    Raises ValueError for collinear points.
    """
    u, v = b - a, c - a
    normal = np.cross(u, v)
    area = float(normal @ normal)
    size = max(float(u @ u), float(v @ v))
    if not area > (_LEVEL * size) ** 2 or not size > 0.0:
        raise ValueError(f"{caller}: X0, via and X1 are on one line, so no circle passes through them; use a line")
    offset = (np.cross(normal, u) * float(v @ v) + np.cross(v, normal) * float(u @ u)) / (2.0 * area)
    n = normal / math.sqrt(area)
    first, last = -offset, v - offset
    angle = math.atan2(float(n @ np.cross(first, last)), float(first @ last)) % (2.0 * math.pi)
    return n * angle, a + offset


def _one_of(caller: str, value: Any, known: tuple[str, ...] = _ORIENTATIONS) -> None:
    if value not in known:
        raise ValueError(f"{caller}: orientation: got {value!r}: {nearest(str(value), known)}")
