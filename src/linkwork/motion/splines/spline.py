"""Splines: checks of the arguments, and the trajectory; angles that may change by full revolutions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import nearest
from linkwork._util.validation import integer
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import stacked_by_joint
from linkwork.model.periodic_coordinates import periodic_coordinates, revolutions
from linkwork.model.tree_edits import straight_tree
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.arguments import increasing, normalized
from linkwork.motion.splines import interpolation
from linkwork.motion.trajectory.trajectory import Trajectory

__all__ = ["nearer_turns", "spline", "spline_of", "unlimited_angles"]


_KINDS = ("hermite", "cubic", "quintic", "bspline", "linear", "squad", "slerp", "screw", "decoupled")
_BOUNDARIES = ("natural", "clamped", "launched", "periodic")
_TURNS = ("counted", "short")
_FLOATING = ("screw", "decoupled")
_OPTIONS = {  # which options a kind takes
    "hermite": ("velocity",),
    "cubic": ("boundary", "velocity"),
    "quintic": ("velocity", "acceleration"),
    "bspline": ("degree", "control"),
}


@public
def spline(
    times: ArrayLike,
    q: ArrayLike,
    kind: str = "cubic",
    *,
    boundary: str | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    degree: int | None = None,
    control: bool = False,
) -> Trajectory:
    """Return a spline through points q (n, nq) at increasing times (n,) [s], for coordinates that form a vector space.

    ``kind`` is one of the kinds of `Robot.spline` that are not for rotations:

    - "cubic" (default): continuous a.  ``boundary`` is "natural" (zero acceleration at the ends; the default),
      "clamped" (at rest at the ends, or with ``velocity`` (2, nq)), "launched" (with ``velocity`` (nq,) at the
      beginning, "natural" at the end) or "periodic" (the last point equals the first);
    - "hermite": cubics with velocities (n, nq); "quintic": quintics with velocities and accelerations (n, nq).  By
      default these are estimated by parabolas through neighbouring points;
    - "bspline": of any ``degree``, 3 by default; with ``control`` the points are control points;
    - "linear": constant velocity from point to point, with jumps of v.

    >>> import linkwork as lw
    >>> wave = lw.motion.spline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]])
    >>> wave(1.0).q.tolist(), wave(0.0).a.tolist()
    ([1.0], [0.0])
    """
    options = {"boundary": boundary, "velocity": velocity, "acceleration": acceleration, "degree": degree}
    return spline_of(None, times, q, kind, None, options, control)


def spline_of(
    robot: Any,
    times: Any,
    q: Any,
    kind: str,
    floating: str | None,
    options: dict[str, Any],
    control: bool = False,
    turns: str = "counted",
) -> Trajectory:
    """Return a spline through configurations of a robot's tree, or without one through points of a vector space."""
    caller = "spline"
    options = dict.fromkeys(("boundary", "velocity", "acceleration", "degree")) | options
    _one_of(caller, "kind", kind, _KINDS)
    for name, value in (*options.items(), ("control", control or None)):
        if value is not None and name not in _OPTIONS.get(kind, ()):
            kinds = [k for k, names in _OPTIONS.items() if name in names]
            raise ValueError(f"{caller}: {name} is for kind {' or '.join(map(repr, kinds))}, not {kind!r}")
    t = _times(caller, times)
    points = _points(caller, robot, q, len(t))
    _one_of(caller, "turns", turns, _TURNS)
    if turns == "short" and robot is not None:
        points = _with_short_turns(robot, points)
    space = _space(caller, robot, kind, floating, points)
    velocity, acceleration, degree = options["velocity"], options["acceleration"], options["degree"]
    if kind in ("linear", "slerp", "screw", "decoupled"):
        return Trajectory([interpolation.straight(space, t, points)], robot)
    if kind == "squad":
        return Trajectory([interpolation.squad(space, t, points)], robot)
    if kind == "hermite":
        v = _rows(caller, "velocity", velocity, (len(t), space.nv))
        return Trajectory([interpolation.hermite(space, t, points, v)], robot)
    if kind == "quintic":
        v = _rows(caller, "velocity", velocity, (len(t), space.nv))
        a = _rows(caller, "acceleration", acceleration, (len(t), space.nv))
        return Trajectory([interpolation.quintic(space, t, points, v, a)], robot)
    if kind == "cubic":
        boundary = options["boundary"] or "natural"
        _one_of(caller, "boundary", boundary, _BOUNDARIES)
        if velocity is not None and boundary not in ("clamped", "launched"):
            raise ValueError(f'{caller}: velocity: velocities at the ends (2, nv) require boundary="clamped"')
        if velocity is None and boundary == "launched":
            raise ValueError(f'{caller}: boundary: "launched" requires the initial velocity= (nv,)')
        ends = _rows(caller, "velocity", velocity, (space.nv,) if boundary == "launched" else (2, space.nv))
        if boundary == "periodic":
            _refuse_open(caller, robot, space, points)
        return Trajectory([interpolation.cubic(space, t, points, boundary, ends, caller)], robot)
    degree = 3 if degree is None else degree
    description = "an integer below the number of points,"
    degree = integer(caller, "degree", degree, least=1, most=len(t) - 1, description=description)
    if control:
        return Trajectory([interpolation.of_control_points(space, t, points, int(degree))], robot)
    return Trajectory([interpolation.through_points(space, t, points, int(degree), caller)], robot)


def _times(caller: str, times: Any) -> Any:
    """Return increasing times (n,).  Raises ValueError; the order of symbols cannot be checked."""
    if not is_traced(times):
        return increasing(caller, times)
    result = array(times)
    if result.ndim != 1 or len(result) < 2:
        raise ValueError(f"{caller}: times: expected at least two increasing times [s]; got shape {result.shape}")
    return result


def _points(caller: str, robot: Any, q: Any, count: int) -> Any:
    """Return points q (n, nq) normalised to the robot's manifold.  Raises ValueError."""
    if robot is not None:
        q = stacked_by_joint(robot, caller, "q", q, "q")
    traced = is_traced(q)
    result = array(q) if traced else np.asarray(real_array(f"{caller}: q: expected an array (n, nq)", q), dtype=float)
    nq = "nq" if robot is None else robot.nq
    expected = f"{caller}: q: expected an array of shape ({count}, {nq}), one point for each time"
    if result.ndim != 2 or len(result) != count or (robot is not None and result.shape[1] != robot.nq):
        hint = "; pass single coordinates as q[:, np.newaxis]" if result.shape == (count,) else ""
        raise ValueError(f"{expected}; got shape {result.shape}{hint}")
    if traced:
        return result
    if not np.isfinite(result).all():
        index = tuple(int(k) for k in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{expected}; got {result[index]} at {index}")
    return normalized(robot, result)


def _with_short_turns(robot: Any, points: Any) -> Any:
    """Return points whose unlimited angles change by at most half a revolution from point to point."""
    result, angles = [points[0]], unlimited_angles(robot)
    for q in points[1:]:
        result.append(nearer_turns(robot, result[-1], q, angles))
    return array(result)


def _space(caller: str, robot: Any, kind: str, floating: str | None, points: Any) -> CurveSpace:
    if robot is None:
        if kind in ("squad", "slerp", "screw", "decoupled"):
            raise ValueError(
                f'{caller}: kind: {kind!r} is for rotations; use "linear" or "cubic" for plain coordinates'
            )
        return CurveSpace(points.shape[1], points.shape[1])
    if kind in _FLOATING:
        if floating not in (None, kind):
            raise ValueError(
                f"{caller}: floating: kind {kind!r} sets how floating joints move, got floating={floating!r}"
            )
        floating = kind
    _one_of(caller, "floating", floating or "screw", _FLOATING)
    free = [joint.name for joint in robot.joints if joint.type.is_floating]
    if kind == "slerp" and free:
        raise ValueError(
            f'{caller}: kind: "slerp" is for rotations only, but {free[0]!r} is a floating joint; use "screw", or '
            f'"decoupled", which combines slerp with straight motion'
        )
    return CurveSpace.of(robot.tree, apart=floating == "decoupled")


def _rows(caller: str, name: str, x: Any, shape: tuple[int, ...]) -> Any:
    if x is None:
        return None
    traced = is_traced(x)
    expected = f"{caller}: {name}: expected an array of shape {shape}"
    result = array(x) if traced else np.asarray(real_array(expected, x), dtype=float)
    if result.shape != shape:
        raise ValueError(f"{expected}; got shape {result.shape}")
    if not traced and not np.isfinite(result).all():
        index = tuple(int(k) for k in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{expected}; got {result[index]} at {index}")
    return result


def _refuse_open(caller: str, robot: Any, space: CurveSpace, points: Any) -> None:
    """Raise ValueError if a periodic spline does not end where it begins."""
    if points.dtype == object:
        return
    gap = np.abs(np.array(space.difference([*points[0]], [*points[-1]]), dtype=float))
    if gap.size and gap.max() > 1e-9:
        k = int(gap.argmax())
        name = f"coordinate {k}" if robot is None else repr(robot.v_names[k])
        raise ValueError(
            f'{caller}: boundary: "periodic" requires a last point equal to the first; {name} differs by {gap[k]:.6g}'
        )


def _one_of(caller: str, argument: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{caller}: {argument}: got {value!r}: {nearest(str(value), known)}")


def unlimited_angles(robot: Any) -> np.ndarray:
    """Return the indices in q of angles without limits whose full revolution leads back to the same pose."""
    unlimited = np.isneginf(robot.lower) & np.isposinf(robot.upper)
    return np.flatnonzero(periodic_coordinates(straight_tree(robot.tree)).in_q & unlimited)


def nearer_turns(robot: Any, before: Any, q: Any, angles: np.ndarray | None = None) -> Any:
    """Return q (nq) with full revolutions added so that each angle is within half a revolution of ``before``.

    ``angles`` are the indices that `unlimited_angles` returns, if they are known.
    """
    angles = unlimited_angles(robot) if angles is None else angles
    result = array(q)  # a copy
    result[angles] -= math.tau * revolutions(result[angles] - before[angles])
    return result
