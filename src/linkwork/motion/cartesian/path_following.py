"""Joints that follow a path in space: asked, tracked or chosen by branches, filled in, and looked at in a scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.validation import integer
from linkwork.errors import Status, UnknownNameError
from linkwork.geometry.scene import Scene
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.motion.arguments import finite_number
from linkwork.motion.cartesian.arguments import FREE_ROWS, HABITS, PathRequest
from linkwork.motion.cartesian.cartesian_path import CartesianPath, Steps, grid
from linkwork.motion.cartesian.configuration_choice import branch_steps, tracked
from linkwork.motion.cartesian.result import Deviation, TrackedPath
from linkwork.motion.cartesian.tracking_outcome import Ended, SceneAsked, farthest, levers

__all__ = ["followed_path"]

WHO = "track_cartesian_path"
STEP = 0.05  # [m]: of the path, to begin with
_NEAR = 1e-3  # [m, rad]: a start that is so near to the path's is moved onto it
_EDGES = ("certified", "sampled")


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
    margin: float,
    resolution: float,
) -> TrackedPath:
    """See `Robot.track_cartesian_path`."""
    if not isinstance(path, CartesianPath):
        raise TypeError(
            f"{WHO}: path: expected a CartesianPath, as linkwork.motion.line, arc, pose_spline and polyline make it, "
            f"got {type(path).__name__}"
        )
    for name in (frame, relative_to):
        if name not in robot.frames and name != "world":
            raise UnknownNameError("frame", name, robot.frames)
    for what, given, known in (
        ("orientation", orientation, tuple(FREE_ROWS)),
        ("collision_check", collision_check, _EDGES),
    ):
        if given not in known:
            raise ValueError(f"{WHO}: {what}: got {given!r}: {nearest(str(given), known)}")
    allowed = _pair(tolerance)
    largest = _largest(robot, max_joint_step)
    num_starts = integer(WHO, "num_starts", num_starts, least=1, what="an integer")
    smallest = finite_number(f"{WHO}: min_path_step", min_path_step)
    if not smallest > 0.0:
        raise ValueError(f"{WHO}: min_path_step: expected metres above 0, got {min_path_step!r}")
    margin = finite_number(f"{WHO}: margin", margin)
    if scene is not None and not isinstance(scene, Scene):
        raise TypeError(f"{WHO}: scene: expected a Scene, got {type(scene).__name__}")
    begin = None if q_init is None else _one(robot, q_init)
    asked = PathRequest(robot, path, frame, relative_to, orientation, position_limits, locked, begin, smallest, WHO)
    if scene is not None and collision_check == "certified":
        levers(robot, asked.lower, asked.upper)
    if begin is not None:
        begin = _on_path(asked, begin)
    places = grid(path.knots, STEP)
    around = None if scene is None else SceneAsked(scene, collision_check, margin, resolution)
    ways = _ways(asked, places, begin, largest, bool(reconfigure), int(num_starts), around)
    if not ways:
        result = asked.problem.solve(X_path=path(0.0))
        told = Ended(Status.COLLIDING, "at 0 % of the path every answer found collides")
        if result.success and around is None:
            message = "at 0 % of the path no configuration was found to begin at: give one, q_init="
            told = Ended(Status.OUT_OF_REACH, message)
        elif not result.success:
            status = Status.AT_LIMITS if result.status is Status.AT_LIMITS else Status.OUT_OF_REACH
            told = Ended(status, f"at 0 % of the path the first pose has no configuration: {result.message}")
        return TrackedPath._make(robot, path, frame, relative_to, *told, 0.0, Deviation(0.0, 0.0), (), ())
    came = farthest(asked, ways, allowed, largest, around)
    fraction = 1.0 if came.told.status is Status.SOLVED else min(came.end / path.length, 1.0)
    off = Deviation(*came.off)
    return TrackedPath._make(robot, path, frame, relative_to, *came.told, fraction, off, came.curves, came.begins)


def _ways(
    asked: PathRequest,
    places: np.ndarray,
    begin: np.ndarray | None,
    largest: np.ndarray,
    reconfigure: bool,
    starts: int,
    around: SceneAsked | None,
) -> list[Steps]:
    """Way points from place to place, the best way first; none where there is nowhere to begin."""
    form = asked.problem.form if not asked.free else None
    free = None if around is None else lambda q: around.free(asked.robot, q)
    if form is not None and asked.plain:
        base = asked.robot.neutral() if begin is None else begin
        turning = np.isin(np.arange(asked.robot.nq), _turning(asked.robot, form.joints))

        def nodes(at: np.ndarray) -> list[np.ndarray]:
            result = form.branches(asked.path(at), position_limits=False, q_init=base)
            q = [own[valid] for own, valid in zip(result.q, result.valid, strict=True)]
            return q if free is None else [x[free(x)] if len(x) else x for x in q]

        first = begin[None] if begin is not None else _within(asked, nodes(places[:1])[0], turning)
        if len(first):
            best = branch_steps(asked, places, nodes, first, turning, largest, reconfigure)
            if around is None or len(first) == 1:
                return [best]
            each = [branch_steps(asked, places, nodes, q[None], turning, largest, reconfigure) for q in first]
            return [best, *_in_order(asked, each)]  # where the way between places of the best is not free
    if begin is not None:
        habits = range(HABITS) if asked.spare and asked.plain else range(1)
        ways = tracked(asked, places, np.repeat(begin[None], len(habits), axis=0), habits, largest, reconfigure)
        return _in_order(asked, ways)
    result = asked.problem.solve(X_path=asked.path(0.0), num_solutions=starts)
    first = np.asarray(result.q)[np.asarray(result.success)]
    if free is not None and len(first):
        first = first[free(first)]
    if not len(first):
        return []
    ways = tracked(asked, places, first, [0] * len(first), largest, reconfigure)
    if free is not None:
        ways = [_until_met(way, free(way.q)) for way in ways]
    return _in_order(asked, ways)


def _in_order(asked: PathRequest, ways: list[Steps]) -> list[Steps]:
    """Those that come farthest first, then those of the fewest reconfigurations and the least motion."""
    return sorted(ways, key=lambda way: (-way.end, way.changed.sum(), _motion(asked, way)))


def _until_met(way: Steps, free: np.ndarray) -> Steps:
    """As far as nothing collides."""
    if free.all():
        return way
    k = int(np.flatnonzero(~free)[0])
    return Steps(way.s[: k + 1], way.q[: k + 1], way.changed[: k + 1], way.missed if k == len(free) - 1 else None)


def _motion(asked: PathRequest, way: Steps) -> float:
    return float(np.linalg.norm(asked.difference(way.q[:-1], way.q[1:]), axis=-1).sum())


def _turning(robot: Any, joints: Sequence[str]) -> list[int]:
    return [robot.joint(name).q_slice.start for name in joints]


def _within(asked: PathRequest, q: np.ndarray, turning: np.ndarray) -> np.ndarray:
    """Those of configurations that are within limits, their angles by whole turns as near to the middle as can be."""
    p = asked.problem
    turn = 2.0 * np.pi
    with np.errstate(invalid="ignore"):
        least, most = np.ceil((p.lower - q) / turn), np.floor((p.upper - q) / turn)
    wanted = np.clip(np.round((p.midrange - q) / turn), least, np.maximum(least, most))
    result = np.where(turning, q + turn * wanted, q)
    return result[((result >= p.lower) & (result <= p.upper)).all(axis=-1)]


def _pair(given: Any) -> tuple[float, float]:
    """What may be left of the path [m, rad].  Raises ValueError."""
    result = []
    for name, unit, value in zip(("position_tolerance", "orientation_tolerance"), ("m", "rad"), given, strict=True):
        number = finite_number(f"{WHO}: {name}", value)
        if not number >= 1e-6:
            raise ValueError(f"{WHO}: {name}: expected at least 1e-6 [{unit}], got {value!r}")
        result.append(float(number))
    return result[0], result[1]


def _largest(robot: Any, value: Any) -> np.ndarray:
    expected = f"{WHO}: max_joint_step: expected a positive number, or {robot.nv} [rad, m]"
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.shape not in ((), (robot.nv,)) or not (result > 0.0).all():
        raise ValueError(f"{expected}, got {value!r}")
    return np.broadcast_to(result, (robot.nv,))


def _one(robot: Any, start: Any) -> np.ndarray:
    q = read_configuration(robot, WHO, "q_init", start)
    if q.shape != (robot.nq,):
        raise ValueError(f"{WHO}: q_init: expected one configuration ({robot.nq},), got shape {q.shape}")
    return q


def _on_path(asked: PathRequest, q: np.ndarray) -> np.ndarray:
    """The start, moved onto the path where it is next to it.  Raises ValueError where it is not, or beyond limits."""
    outside = (q < asked.lower) | (q > asked.upper)
    if asked.problem.plain and outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{WHO}: q_init: {asked.robot.q_names[k]!r} is {q[k]:.6g}, beyond its limits {asked.lower[k]:.6g} to "
            f"{asked.upper[k]:.6g}"
        )
    way, turn = asked.off(q[None], np.zeros(1))[0]
    result, done = asked.solved(q[None], asked.path(0.0)[None])
    if way > _NEAR or turn > _NEAR or not done[0]:
        raise ValueError(
            f"{WHO}: q_init: {asked.frame!r} is {way:.3g} m and {turn:.3g} rad away from where the path begins: "
            f"begin it at robot.pose(q_init, {asked.frame!r}), or leave q_init out"
        )
    onto: np.ndarray = result[0]
    return onto
