"""Outcome of tracking a Cartesian path: its accurate, collision-free part, and the reason for its end.

Collision checks are for straight edges, but curves through waypoints are not straight.  So a curve is divided into
chords: no point of the robot deviates from its position on the chord by more than a small bound.  The margins for
chords are larger by this bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import joint_reaches
from linkwork.collision.clearance_margins import Margins, check_motions
from linkwork.errors import Status
from linkwork.model.coordinate_names import joint_of
from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.cartesian_path import Waypoints
from linkwork.motion.cartesian.waypoint_refinement import Curve, RefinedCurve, refined

__all__ = ["Ending", "SceneCheck", "TrackingOutcome", "best_outcome", "displacement_bounds"]


_MAX_CANDIDATES = 4  # candidates that are refined at most


@dataclass(frozen=True)
class SceneCheck:
    """A scene of obstacles, and the options of collision checks with it."""

    scene: Any
    collision_check: Literal["certified", "sampled"]
    margins: Margins
    resolution: float

    @property
    def near(self) -> float:
        """Permitted distance [m] between a point of the robot on a curve and the same point on the curve's chord.

        A chord is the straight motion between two configurations of the curve.
        """
        return _NEAR if self.margins.is_uniform else _NEAR_TOUCHING

    def is_free(self, robot: Any, q: np.ndarray) -> np.ndarray:
        """Return a mask (n,): True for each of the configurations q (n, nq) that is collision-free."""
        if self.margins.is_uniform:
            return ~np.asarray(robot.in_collision(q, self.scene, margin=self.margins.scene), dtype=bool)
        result: np.ndarray = (robot.distances(q, self.scene).distance > self._margin_of_pairs(robot)).all(axis=-1)
        return result

    def nearest(self, robot: Any, q: np.ndarray) -> tuple[tuple[str, str], float, float]:
        """Return the pair of shapes with the least distance minus margin at q (nq,), its distance and margin [m]."""
        if self.margins.is_uniform:
            near = robot.nearest_pair(q, scene=self.scene)
            return near.pairs[0], float(near.distance[0]), self.margins.scene
        result, margins = robot.distances(q, self.scene), self._margin_of_pairs(robot)
        k = int((result.distance - margins).argmin())
        return result.pairs[k], float(result.distance[k]), float(margins[k])

    def check(self, robot: Any, q0: np.ndarray, q1: np.ndarray, room: float) -> Any:
        """Check n straight motions from q0 to q1 (n, nq) for collisions.

        The distance of each pair must exceed its margin plus ``room`` [m].
        """
        tolerance = _TOLERANCE if self.margins.is_uniform else _NEAR_TOUCHING
        return check_motions(
            robot,
            self.scene,
            self.margins,
            q0,
            q1,
            collision_check=self.collision_check,
            resolution=self.resolution,
            room=room,
            tolerance=tolerance,
            caller="track_cartesian_path",
        )

    def _margin_of_pairs(self, robot: Any) -> np.ndarray:
        return self.margins.of(
            robot,
            robot._pair_selection("track_cartesian_path", self.scene, None),
            argument="track_cartesian_path: margin",
        )


@dataclass(frozen=True)
class TrackingOutcome:
    """Curves along the part of the path that was followed, and the reason for its end.

    ``begins`` are the indices of curves that begin after a reconfiguration of the robot. ``deviation`` is the largest
    deviation from the path [m, rad], and ``end`` is the position s reached.
    """

    curves: tuple[Curve, ...]
    begins: tuple[int, ...]
    deviation: tuple[float, float]
    end: float
    ending: Ending


def best_outcome(
    request: PathRequest,
    candidates: list[Waypoints],
    allowed: tuple[float, float],
    max_step: np.ndarray,
    scene_check: SceneCheck | None,
) -> TrackingOutcome:
    """Return the outcome of the first candidate that reaches the path's end, else of the one that follows most of it.

    At most four candidates are tried.
    """
    best: tuple[float, Waypoints, RefinedCurve, Any] | None = None
    for waypoints in candidates[:_MAX_CANDIDATES]:
        done = refined(request, waypoints, allowed)
        end = waypoints.end if done.failed_at is None else done.failed_at
        collision = None
        if scene_check is not None and done.curves:
            collision = first_collision(request, done.curves, scene_check)
            end = end if collision is None else collision.s
        if best is None or end > best[0]:
            best = end, waypoints, done, collision
        if collision is None and done.failed_at is None and waypoints.missed is None:
            break
    assert best is not None
    end, waypoints, done, collision = best
    curves, begins = done.curves, done.begins
    length = request.path.length
    if collision is not None:
        curves, begins = _clipped_before(request.robot, curves, begins, collision.free_until)
        assert scene_check is not None
        ending = collision_ending(collision.s / length, collision.pair, collision.distance, collision.margin)
    elif done.failed_at is not None:
        q = curves[-1].q[-1] if curves else waypoints.q[0]
        ending = deviation_ending(request, q, done.failed_at, allowed)
    elif waypoints.missed is not None:
        ending = _missed_ending(request, waypoints, max_step, scene_check)
    else:
        ending = Ending(Status.SOLVED, "the path is followed to its end")
    curves = tuple(curve for curve in curves if len(curve.s) > 1)
    return TrackingOutcome(curves, tuple(k for k in begins if k < len(curves)), done.deviation, end, ending)


def _missed_ending(
    request: PathRequest, waypoints: Waypoints, max_step: np.ndarray, scene_check: SceneCheck | None
) -> Ending:
    """Return the status and message that explain why tracking ends at the last waypoint."""
    assert waypoints.missed is not None
    q = waypoints.q[-1]
    if scene_check is not None:
        result, done = request.solve(q[None], request.path(waypoints.missed)[None])
        near = done[0] and (np.abs(request.difference(q, result[0])) <= max_step).all()
        if near and not scene_check.is_free(request.robot, result)[0]:
            return collision_ending(waypoints.end / request.path.length, *scene_check.nearest(request.robot, result[0]))
    return missing_neighbor_ending(request, q, waypoints.end, waypoints.missed, max_step)


def _clipped_before(
    robot: Any, curves: tuple[Curve, ...], begins: tuple[int, ...], s: float
) -> tuple[tuple[Curve, ...], tuple[int, ...]]:
    """Return the parts of the ``curves`` up to path position s, and the ``begins`` that are indices of these curves.

    ``begins`` are the indices of curves that begin after a reconfiguration of the robot.
    """
    clipped = []
    for curve in curves:
        if curve.s[0] >= s:
            break
        below = curve.s < s
        if not below.all():
            rows = zip((curve.q, curve.v, curve.a), curve.trajectory(robot)(s), strict=True)
            clipped.append(Curve(np.append(curve.s[below], s), *(np.vstack([x[below], y]) for x, y in rows)))
            break
        clipped.append(curve)
    return tuple(clipped), tuple(k for k in begins if k < len(clipped))


_CHECKED_POSES = 33  # of the rest of a path, for a proof that one of them is out of reach
_SINGULAR = 0.05  # [1, m] smallest singular value below which a large joint motion is called singular


class Ending(NamedTuple):
    """Status and message of a `TrackedPath`."""

    status: Status
    message: str


def missing_neighbor_ending(
    request: PathRequest, q: np.ndarray, s: float, missed: float, max_step: np.ndarray
) -> Ending:
    """Return the status and message for tracking that ends at position s, since no solution at ``missed`` is near.

    ``missed`` is the next position. A solution is near if each joint moves at most ``max_step`` (nv,) from q (nq,).
    """
    at = f"at {100.0 * s / request.path.length:.4g} % of the path"
    X = request.path(missed)
    unlimited, done = request.solve(q[None], X[None], limits=False)
    if done[0] and (np.abs(request.difference(q, unlimited[0])) <= 2.0 * max_step).all():
        limit = _limit_message(request, unlimited[0])
        if limit is not None:
            return Ending(Status.AT_LIMITS, f"{at} {limit}")
    result = request.problem.solve(q, X_path=X)
    singular_value = request.smallest_singular_value(q)
    if not result.success:
        if result.status is Status.OUT_OF_REACH:
            return Ending(Status.OUT_OF_REACH, f"{at} the next pose is out of reach: {result.message}")
        further = np.linspace(missed, request.path.length, _CHECKED_POSES)
        for part, proof in zip(further, request.proofs(request.path(further)), strict=True):
            if proof is not None:
                later = f"{100.0 * part / request.path.length:.4g} % of the path"
                return Ending(Status.OUT_OF_REACH, f"{at} the path leads out of reach; at {later} {proof}")
        if singular_value < _SINGULAR and result.status is not Status.AT_LIMITS:
            near = f"{at} the robot is near a singularity, with a smallest singular value of {singular_value:.2g}"
            return Ending(
                Status.SINGULAR, f"{near}, and no configuration was found for the next pose: {result.message}"
            )
        status = Status.AT_LIMITS if result.status is Status.AT_LIMITS else Status.NOT_FOUND
        return Ending(status, f"{at} no configuration was found for the next pose: {result.message}")
    move = request.difference(q, np.asarray(result.q))
    k = int(np.abs(move).argmax())
    jump = (
        f"the nearest solution found there moves joint {joint_of(request.robot.tree, k)!r} by {move[k]:.3g} in one step"
    )
    if singular_value < _SINGULAR:
        return Ending(
            Status.SINGULAR,
            f"{at} the robot is near a singularity, with a smallest singular value of {singular_value:.2g}: {jump}",
        )
    return Ending(Status.JOINT_JUMP, f"{at} no configuration found is near the one before: {jump}")


def _limit_message(request: PathRequest, unlimited: np.ndarray) -> str | None:
    """Return a text that names the joint that would have to exceed its limit; None if no joint would.

    ``unlimited`` (nq,) is the next configuration without limits.
    """
    if not request.problem.plain:
        return None
    inner = request.problem
    over = np.maximum(inner.lower - unlimited, unlimited - inner.upper)
    if not (over > 0.0).any():
        return None
    k = int(over.argmax())
    name = request.robot.q_names[k]
    side, bound = ("lower", request.lower[k]) if unlimited[k] < inner.lower[k] else ("upper", request.upper[k])
    return f"joint {name!r} is at its {side} limit, {bound:.6g}, and would have to move to {unlimited[k]:.6g}"


def collision_ending(part: float, pair: tuple[str, str], distance: float, margin: float) -> Ending:
    """Return the status and message for a ``pair`` of shapes that are too close at the fraction ``part`` of the path.

    The status is "colliding" if their distance is at most the margin. Otherwise it is "undecided", since a certified
    check needs more distance than the margin.
    """
    word = "collides with" if distance <= 0.0 else f"is {distance:.3g} m from"
    status = Status.COLLIDING if distance <= margin else Status.UNDECIDED
    return Ending(status, f"at {100.0 * part:.4g} % of the path {pair[0]!r} {word} {pair[1]!r} ({status})")


def deviation_ending(request: PathRequest, q: np.ndarray, s: float, allowed: tuple[float, float]) -> Ending:
    """Return the status and message for tracking that ends at s, since the frame deviates too much between waypoints.

    ``allowed`` are the tolerances [m, rad]. The status is "singular" if q (nq,) is near a singularity.
    """
    singular_value = request.smallest_singular_value(q)
    at = f"at {100.0 * s / request.path.length:.4g} % of the path"
    if singular_value < _SINGULAR:
        return Ending(
            Status.SINGULAR,
            f"{at} the robot is near a singularity, with a smallest singular value of {singular_value:.2g}",
        )
    return Ending(
        Status.DEVIATION,
        f"{at} the densest waypoints do not keep the frame within {allowed[0]:g} m and {allowed[1]:g} rad",
    )


_EXAMPLES = 500  # configurations of each curve that are searched for a collision
_NEAR = 5e-4  # [m] distance of points from the chords of curves, at most
_NEAR_TOUCHING = 3e-5  # [m] the same, and the tolerance of checks, if pairs with a permitted depth of 0.1 mm touch
_TOLERANCE = 1e-4  # [m] of `Robot.is_motion_free`


class FirstCollision(NamedTuple):
    """The first collision along a path.

    The path is free until position ``free_until``.  The collision is at position ``s`` and configuration ``q``;
    ``pair`` are the shapes, with their distance and margin [m].
    """

    free_until: float
    s: float
    q: np.ndarray
    pair: tuple[str, str]
    distance: float
    margin: float


def first_collision(request: PathRequest, curves: tuple[Curve, ...], scene_check: SceneCheck) -> FirstCollision | None:
    """Return the first position at which two shapes are at most their margin [m] apart; None if there is none."""
    robot = request.robot
    try:
        reaches = displacement_bounds(robot, request.lower, request.upper)
    except (TypeError, ValueError):
        if scene_check.collision_check == "certified":
            raise
        reaches = np.ones(robot.nv)  # sampled checks need no bound
    result = [_chords(robot, curve, reaches, scene_check.near) for curve in curves]
    s, ends = (np.concatenate(part) for part in zip(*[(s, ends) for s, ends, _ in result], strict=True))
    room = max(room for _, _, room in result) if scene_check.collision_check == "certified" else 0.0
    check = scene_check.check(robot, ends[:, 0], ends[:, 1], room)
    if check.free.all():
        return None
    k = int(np.flatnonzero(~check.free)[0])
    t = float(check.t[k])
    q = np.asarray(check.q[k])
    pair, distance, margin = scene_check.nearest(robot, q)
    at = float(s[k, 0] + t * (s[k, 1] - s[k, 0]))
    if distance > margin:  # the proof needs some distance more: look for an example behind
        further = np.concatenate([curve.trajectory(robot)(_samples_from(curve, at)).q for curve in curves])
        colliding = np.flatnonzero(~scene_check.is_free(robot, further))
        if len(colliding):
            q = further[colliding[0]]
            pair, distance, margin = scene_check.nearest(robot, q)
    return FirstCollision(float(s[k, 0]), at, q, pair, distance, margin)


def _samples_from(curve: Curve, s: float) -> np.ndarray:
    """Return sample positions on a curve after position s; empty if the curve ends before s."""
    return np.linspace(max(s, curve.s[0]), curve.s[-1], _EXAMPLES if s < curve.s[-1] else 0)


def _chords(robot: Any, curve: Curve, reaches: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return chords of a curve: positions (n, 2) and configurations (n, 2, nq) of their ends.

    The third value bounds the deviation [m] of any point of the robot on the curve from the same point on the chord;
    it is at most ``near``. ``reaches`` (nv,) are the bounds that `displacement_bounds` returns.
    """
    h = np.diff(curve.s)[:, None]
    trajectory = curve.trajectory(robot)
    # chords are straight in the joints' local coordinates, in which these polynomials are
    b, c, d, e = (
        np.moveaxis(trajectory.sections[0].arrays["coefficients"], -1, 0)[2:] * h ** np.arange(2, 6)[:, None, None]
    )
    # the error of a chord is at most 1/8 of the second derivative, which its Bernstein coefficients bound
    b, c, d, e = 2.0 * b, 6.0 * c, 12.0 * d, 20.0 * e
    most = np.abs([b, b + c / 3.0, b + (2.0 * c + d) / 3.0, b + c + d + e]).max(axis=0)
    far = 0.125 * most @ reaches
    count = np.maximum(np.ceil(np.sqrt(far / near)).astype(int), 1)
    which = np.repeat(np.arange(len(count)), count)
    k = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    u = np.stack([k, k + 1], axis=-1) / count[which][:, None]
    s = curve.s[which][:, None] + u * h[which]
    q = trajectory(np.minimum(s, curve.s[-1])).q
    return s, q, float((far / count**2).max(initial=0.0))


def displacement_bounds(robot: Any, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return, for each joint (nv,), how far any point of a collision shape moves at most per unit of v [m/rad, m/m].

    The bounds hold for configurations between ``lower`` and ``upper`` (nq,). Raises TypeError for a joint whose twist
    is not constant or whose configuration is not a vector space, and ValueError for an unbounded shape or prismatic
    joint.
    """
    try:
        return joint_reaches(robot.tree, lower, upper)
    except (TypeError, ValueError) as error:
        raise type(error)(f'{error}: use collision_check="sampled"') from None
