"""Tracking of a Cartesian path: check of arguments, choice of configurations, refinement, collision check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.validation import finite_number, integer, positive
from linkwork.collision.clearance_margins import read_margins, touching_margins
from linkwork.errors import Status
from linkwork.geometry.scene import Scene
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.motion.cartesian.arguments import FREE_ROTATIONS, NUM_STRATEGIES, PathRequest
from linkwork.motion.cartesian.cartesian_path import CartesianPath, Waypoints, initial_positions
from linkwork.motion.cartesian.configuration_choice import branch_steps, tracked
from linkwork.motion.cartesian.result import Deviation, TrackedPath
from linkwork.motion.cartesian.tracking_outcome import Ending, SceneCheck, best_outcome, displacement_bounds

__all__ = ["followed_path"]

CALLER = "track_cartesian_path"
_STEP = 0.05  # [m] initial distance of waypoints
_NEAR = 1e-3  # [m, rad] a start that is nearer to the path's beginning is moved onto it
_EXACT_SHARE = 0.1  # of the tolerances: a start that is nearer is left exactly as it is
_COLLISION_CHECKS = ("certified", "sampled")
_RESOLUTION = 0.05  # [rad, m] default of `Robot.track_cartesian_path`


def followed_path(
    robot: Any,
    path: Any,
    frame: str,
    *,
    q_init: Any,
    relative_to: str,
    orientation: str,
    tolerance: Any,
    max_joint_step: Any,
    min_path_step: float,
    reconfigure: bool,
    num_starts: int,
    position_limits: Any,
    locked: Sequence[str],
    scene: Scene | None,
    collision_check: Any,
    margin: Any,
    touching: Any,
    resolution: float,
) -> TrackedPath:
    """Return the configurations along a path: see `Robot.track_cartesian_path` for arguments and result."""
    if not isinstance(path, CartesianPath):
        raise TypeError(
            f"{CALLER}: path: expected a CartesianPath, as from linkwork.motion.line, arc, pose_spline or polyline, "
            f"got {type(path).__name__}"
        )
    for name in (frame, relative_to):
        robot.tree.frame(name)
    for name, value, known in (
        ("orientation", orientation, tuple(FREE_ROTATIONS)),
        ("collision_check", collision_check, _COLLISION_CHECKS),
    ):
        if value not in known:
            raise ValueError(f"{CALLER}: {name}: got {value!r}: {nearest(str(value), known)}")
    allowed = _tolerances(tolerance)
    max_step = _max_step(robot, max_joint_step)
    num_starts = integer(CALLER, "num_starts", num_starts, least=1)
    min_step = positive(CALLER, "min_path_step", min_path_step, unit="m", symbols=False)
    margins, resolution = read_margins(margin, CALLER), positive(CALLER, "resolution", resolution, unit="rad, m")
    if scene is not None and not isinstance(scene, Scene):
        raise TypeError(f"{CALLER}: scene: expected a Scene, got {type(scene).__name__}")
    if scene is None:
        _refuse_checks(collision_check, margin, touching, resolution)
    begin = None if q_init is None else _start_configuration(robot, q_init)
    request = PathRequest(
        robot, path, frame, relative_to, orientation, position_limits, locked, begin, min_step, CALLER
    )
    if scene is not None and collision_check == "certified":
        displacement_bounds(robot, request.lower, request.upper)
    if begin is not None:
        begin = _on_path(request, begin, allowed)
    path_positions = initial_positions(path.knots, _STEP)
    if not (isinstance(touching, (tuple, list)) and not touching):
        first = request.problem.solve(X_path=path(0.0)).q if begin is None else begin
        margins = touching_margins(robot, scene, None, margins, touching, [np.asarray(first)], CALLER)
    scene_check = None if scene is None else SceneCheck(scene, collision_check, margins, resolution)
    candidates = _candidates(request, path_positions, begin, max_step, bool(reconfigure), int(num_starts), scene_check)
    if not candidates:
        result = request.problem.solve(X_path=path(0.0))
        ending = Ending(Status.COLLIDING, "at 0 % of the path all solutions found collide")
        if result.success and scene_check is None:
            message = "at 0 % of the path no start configuration was found; pass q_init="
            ending = Ending(Status.NOT_FOUND, message)
        elif not result.success:
            proved = result.status in (Status.AT_LIMITS, Status.OUT_OF_REACH)
            message = f"at 0 % of the path no configuration was found for the first pose: {result.message}"
            ending = Ending(result.status if proved else Status.NOT_FOUND, message)
        return TrackedPath._make(robot, path, frame, relative_to, *ending, 0.0, Deviation(0.0, 0.0), (), ())
    outcome = best_outcome(request, candidates, allowed, max_step, scene_check)
    fraction = 1.0 if outcome.ending.status is Status.SOLVED else min(outcome.end / path.length, 1.0)
    deviation = Deviation(*outcome.deviation)
    return TrackedPath._make(
        robot, path, frame, relative_to, *outcome.ending, fraction, deviation, outcome.curves, outcome.begins
    )


def _refuse_checks(collision_check: str, margin: Any, touching: Any, resolution: float) -> None:
    """Raise ValueError if an option of collision checks is not its default, since without a scene no check is made."""
    for name, value, is_default in (
        ("collision_check", collision_check, collision_check == _COLLISION_CHECKS[0]),
        ("margin", margin, not margin),
        ("touching", touching, isinstance(touching, (tuple, list)) and not touching),
        ("resolution", resolution, resolution == _RESOLUTION),
    ):
        if not is_default:
            raise ValueError(
                f"{CALLER}: {name}: expected no such option without a scene, since collisions are not checked then, "
                f"got {value!r}; pass scene=linkwork.Scene() to check the robot against itself"
            )


def _candidates(
    request: PathRequest,
    path_positions: np.ndarray,
    begin: np.ndarray | None,
    max_step: np.ndarray,
    reconfigure: bool,
    starts: int,
    scene_check: SceneCheck | None,
) -> list[Waypoints]:
    """Return alternative sequences of waypoints along the path, in the order in which they should be tried.

    ``begin`` is the start configuration (nq,); without it, the start is searched. The list is empty if there is none.
    """
    form = request.problem.form if not request.free else None
    free = None if scene_check is None else lambda q: scene_check.is_free(request.robot, q)
    if form is not None and request.is_plain:
        base = request.robot.neutral() if begin is None else begin
        turning = np.isin(np.arange(request.robot.nq), _angle_indices(request.robot, form.joints))

        def nodes(at: np.ndarray) -> list[np.ndarray]:
            result = form.branches(request.path(at), position_limits=False, q_init=base)
            q = [branches[valid] for branches, valid in zip(result.q, result.valid, strict=True)]
            return q if free is None else [x[free(x)] if len(x) else x for x in q]

        first = begin[None] if begin is not None else _within_limits(request, nodes(path_positions[:1])[0], turning)
        if len(first):
            best = branch_steps(request, path_positions, nodes, first, turning, max_step, reconfigure)
            if scene_check is None or len(first) == 1:
                return [best]
            each = [
                branch_steps(request, path_positions, nodes, q[None], turning, max_step, reconfigure) for q in first
            ]
            return [best, *_in_order(request, each)]  # if the best one collides between its waypoints
    if begin is not None:
        strategies = range(NUM_STRATEGIES) if request.is_plain and request.is_redundant(begin) else range(1)
        candidates = tracked(
            request, path_positions, np.repeat(begin[None], len(strategies), axis=0), strategies, max_step, reconfigure
        )
        return _in_order(request, candidates)
    result = request.problem.solve(X_path=request.path(0.0), num_solutions=starts)
    first = np.asarray(result.q)[np.asarray(result.success)]
    if free is not None and len(first):
        first = first[free(first)]
    if not len(first):
        return []
    candidates = tracked(request, path_positions, first, [0] * len(first), max_step, reconfigure)
    if free is not None:
        candidates = [_until_collision(waypoints, free(waypoints.q)) for waypoints in candidates]
    return _in_order(request, candidates)


def _in_order(request: PathRequest, candidates: list[Waypoints]) -> list[Waypoints]:
    """Return the candidates sorted by position reached, then by fewest reconfigurations, then by least motion."""
    return sorted(
        candidates, key=lambda waypoints: (-waypoints.end, waypoints.changed.sum(), _motion(request, waypoints))
    )


def _until_collision(waypoints: Waypoints, free: np.ndarray) -> Waypoints:
    """Return the waypoints up to and including the first that collides; ``free`` (k,) is True for all others."""
    if free.all():
        return waypoints
    k = int(np.flatnonzero(~free)[0])
    return Waypoints(
        waypoints.s[: k + 1],
        waypoints.q[: k + 1],
        waypoints.changed[: k + 1],
        waypoints.missed if k == len(free) - 1 else None,
    )


def _motion(request: PathRequest, waypoints: Waypoints) -> float:
    return float(np.linalg.norm(request.difference(waypoints.q[:-1], waypoints.q[1:]), axis=-1).sum())


def _angle_indices(robot: Any, joints: Sequence[str]) -> list[int]:
    return [robot.joint(name).q_slice.start for name in joints]


def _within_limits(request: PathRequest, q: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """Return the configurations (m, nq) among q (n, nq) that are within limits.

    Coordinates that are ``turning`` (nq,) are first moved by full revolutions towards the middle of their limits.
    """
    p = request.problem
    turn = 2.0 * np.pi
    with np.errstate(invalid="ignore"):
        least, most = np.ceil((p.lower - q) / turn), np.floor((p.upper - q) / turn)
    turns = np.clip(np.round((p.midrange - q) / turn), least, np.maximum(least, most))
    result = np.where(turning, q + turn * turns, q)
    return result[((result >= p.lower) & (result <= p.upper)).all(axis=-1)]


def _tolerances(values: Any) -> tuple[float, float]:
    """Return the permitted deviations from the path [m, rad].  Raises ValueError."""
    position, orientation = values
    return (
        finite_number(CALLER, "position_tolerance", position, least=1e-6, unit="m", symbols=False),
        finite_number(CALLER, "orientation_tolerance", orientation, least=1e-6, unit="rad", symbols=False),
    )


def _max_step(robot: Any, value: Any) -> np.ndarray:
    expected = f"{CALLER}: max_joint_step: expected a positive number or an array of shape ({robot.nv},) [rad, m]"
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.shape not in ((), (robot.nv,)) or not (result > 0.0).all():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(result, (robot.nv,))


def _start_configuration(robot: Any, start: Any) -> np.ndarray:
    q = read_configuration(robot, CALLER, "q_init", start)
    if q.shape != (robot.nq,):
        raise ValueError(f"{CALLER}: q_init: expected one configuration of shape ({robot.nq},), got shape {q.shape}")
    return q


def _on_path(request: PathRequest, q: np.ndarray, allowed: tuple[float, float]) -> np.ndarray:
    """Return the start configuration, at which the frame is at the path's beginning.

    q is returned unchanged if its deviation is at most a tenth of the ``allowed`` deviations [m, rad], such as at the
    end of a planned path.  Otherwise q is corrected so that the frame is exactly at the path's beginning.  Raises
    ValueError if the frame is not near the path's beginning, or q is beyond limits.
    """
    outside = (q < request.lower) | (q > request.upper)
    if request.problem.plain and outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{CALLER}: q_init: {request.robot.q_names[k]!r} is {q[k]:.6g}, beyond its limits "
            f"{request.lower[k]:.6g} to {request.upper[k]:.6g}"
        )
    distance, angle = request.deviations(q[None], np.zeros(1))[0]
    if distance <= _EXACT_SHARE * allowed[0] and angle <= _EXACT_SHARE * allowed[1]:
        return q
    result, done = request.solve(q[None], request.path(0.0)[None])
    if distance > _NEAR or angle > _NEAR or not done[0]:
        raise ValueError(
            f"{CALLER}: q_init: {request.frame!r} is {distance:.3g} m and {angle:.3g} rad from the beginning of the "
            f"path; begin the path at robot.pose(q_init, {request.frame!r}), or leave out q_init"
        )
    onto: np.ndarray = result[0]
    return onto
