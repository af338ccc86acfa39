"""Outcome of tracking a Cartesian path: the part of it that is near enough and collision-free, and why it ends there.

Collision checks of edges are for straight segments and the curve through way points is not straight: it is cut into
pieces that are so near to their chords that no point of the robot is farther off than a small bound, and chords keep
that much more distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import joint_reaches
from linkwork.errors import Status
from linkwork.model.coordinate_names import joint_of
from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.cartesian_path import Steps
from linkwork.motion.cartesian.waypoint_refinement import Curve, RefinedCurve, filled

__all__ = ["Ended", "SceneAsked", "TrackingOutcome", "farthest", "levers"]


_TRIED = 4  # of several ways


@dataclass(frozen=True)
class SceneAsked:
    """Obstacles, and how they are looked at."""

    scene: Any
    edges: Literal["certified", "sampled"]
    margin: float
    resolution: float

    def free(self, robot: Any, q: np.ndarray) -> np.ndarray:
        """Whether configurations (n, nq) are free."""
        return ~np.asarray(robot.in_collision(q, self.scene, margin=self.margin), dtype=bool)


@dataclass(frozen=True)
class TrackingOutcome:
    """Curves, where they begin anew, what is off at most [m, rad], how far they come, and why no farther."""

    curves: tuple[Curve, ...]
    begins: tuple[int, ...]
    off: tuple[float, float]
    end: float
    told: Ended


def farthest(
    asked: PathRequest,
    ways: list[Steps],
    allowed: tuple[float, float],
    largest: np.ndarray,
    around: SceneAsked | None,
) -> TrackingOutcome:
    """Of the first way that comes to the end, or of the one that comes farthest."""
    best: tuple[float, Steps, RefinedCurve, Any] | None = None
    for way in ways[:_TRIED]:
        done = filled(asked, way, allowed)
        end = way.end if done.wrong is None else done.wrong
        met = None
        if around is not None and done.curves:
            met = first_met(asked, done.curves, around.scene, around.edges, around.margin, around.resolution)
            end = end if met is None else met.s
        if best is None or end > best[0]:
            best = end, way, done, met
        if met is None and done.wrong is None and way.missed is None:
            break
    assert best is not None
    end, way, done, met = best
    curves, begins = done.curves, done.begins
    length = asked.path.length
    if met is not None:
        curves, begins = _before(asked.robot, curves, begins, met.free_until)
        told = meets(met.s / length, met.pair, met.distance, met.status)
    elif done.wrong is not None:
        q = curves[-1].q[-1] if curves else way.q[0]
        told = left_path(asked, q, done.wrong, allowed)
    elif way.missed is not None:
        told = _missed(asked, way, largest, around)
    else:
        told = Ended(Status.SOLVED, "the path is followed to its end")
    curves = tuple(curve for curve in curves if len(curve.s) > 1)
    return TrackingOutcome(curves, tuple(k for k in begins if k < len(curves)), done.off, end, told)


def _missed(asked: PathRequest, way: Steps, largest: np.ndarray, around: SceneAsked | None) -> Ended:
    """Why there is no next way point."""
    assert way.missed is not None
    q = way.q[-1]
    if around is not None:
        result, done = asked.solved(q[None], asked.path(way.missed)[None])
        near = done[0] and (np.abs(asked.difference(q, result[0])) <= largest).all()
        if near and not around.free(asked.robot, result)[0]:
            one = asked.robot.nearest_pair(result[0], scene=around.scene)
            return meets(way.end / asked.path.length, one.pairs[0], float(one.distance[0]), Status.COLLIDING)
    return ended(asked, q, way.end, way.missed, largest)


def _before(
    robot: Any, curves: tuple[Curve, ...], begins: tuple[int, ...], s: float
) -> tuple[tuple[Curve, ...], tuple[int, ...]]:
    """What of curves is before a place."""
    kept = []
    for curve in curves:
        if curve.s[0] >= s:
            break
        here = curve.s < s
        if not here.all():
            rows = zip((curve.q, curve.v, curve.a), curve.trajectory(robot)(s), strict=True)
            kept.append(Curve(np.append(curve.s[here], s), *(np.vstack([x[here], y]) for x, y in rows)))
            break
        kept.append(curve)
    return tuple(kept), tuple(k for k in begins if k < len(kept))


_SINGULAR = 0.05  # [1, m]: a least singular value that explains why joints move much


class Ended(NamedTuple):
    """Status and message of a `TrackedPath`."""

    status: Status
    message: str


def ended(asked: PathRequest, q: np.ndarray, s: float, missed: float, largest: np.ndarray) -> Ended:
    """Why there is no neighbour of q, at s, at the next place."""
    at = f"at {100.0 * s / asked.path.length:.4g} % of the path"
    X = asked.path(missed)
    free, done = asked.solved(q[None], X[None], limits=False)
    if done[0] and (np.abs(asked.difference(q, free[0])) <= 2.0 * largest).all():
        told = _beyond(asked, q, free[0])
        if told is not None:
            return Ended(Status.AT_LIMITS, f"{at} {told}")
    result = asked.problem.solve(q, X_path=X)
    if not result.success:
        if result.status is Status.OUT_OF_REACH:
            return Ended(Status.OUT_OF_REACH, f"{at} the next pose is out of reach: {result.message}")
        wanted = asked.unlimited.solve(q, X_path=X)
        told = _beyond(asked, q, wanted.q) if wanted.success else None
        if told is not None:
            return Ended(Status.AT_LIMITS, f"{at} {told}")
        return Ended(Status.OUT_OF_REACH, f"{at} the next pose has no configuration: {result.message}")
    least = asked.singular(q)
    move = asked.difference(q, np.asarray(result.q))
    k = int(np.abs(move).argmax())
    jump = f"the nearest answer found there moves joint {joint_of(asked.robot.tree, k)!r} by {move[k]:.3g} at once"
    if least < _SINGULAR:
        return Ended(
            Status.SINGULAR,
            f"{at} the robot is next to a singularity, with a least singular value of {least:.2g}: {jump}",
        )
    return Ended(Status.JOINT_JUMP, f"{at} no configuration is near the one before: {jump}")


def _beyond(asked: PathRequest, q: np.ndarray, wanted: np.ndarray) -> str | None:
    """Which joint would have to go beyond its limit, where one would."""
    if not asked.problem.plain:
        return None
    inner = asked.problem
    over = np.maximum(inner.lower - wanted, wanted - inner.upper)
    if not (over > 0.0).any():
        return None
    k = int(over.argmax())
    name = asked.robot.q_names[k]
    side, bound = ("lower", asked.lower[k]) if wanted[k] < inner.lower[k] else ("upper", asked.upper[k])
    return f"joint {name!r} is at its {side} limit, {bound:.6g}, and would have to go on to {wanted[k]:.6g}"


def meets(part: float, pair: tuple[str, str], distance: float, status: str) -> Ended:
    """Of a pair that is too near, at so much of the path."""
    word = "collides with" if distance <= 0.0 else f"is {distance:.3g} m from"
    return Ended(Status.COLLIDING, f"at {100.0 * part:.4g} % of the path {pair[0]!r} {word} {pair[1]!r} ({status})")


def left_path(asked: PathRequest, q: np.ndarray, s: float, allowed: tuple[float, float]) -> Ended:
    """Of a curve that does not stay near enough to the path."""
    least = asked.singular(q)
    at = f"at {100.0 * s / asked.path.length:.4g} % of the path"
    if least < _SINGULAR:
        return Ended(
            Status.SINGULAR, f"{at} the robot is next to a singularity, with a least singular value of {least:.2g}"
        )
    return Ended(
        Status.DEVIATION,
        f"{at} way points as near as they can be do not keep the frame within {allowed[0]:g} m and {allowed[1]:g} rad",
    )


_NEAR = 5e-4  # [m]: what points may be off when curves are taken for chords


class Met(NamedTuple):
    """What is met first: until where the path is free, where it is met and in which configuration, how that is known,
    the pair and its distance [m].
    """

    free_until: float
    s: float
    q: np.ndarray
    status: str
    pair: tuple[str, str]
    distance: float


def first_met(
    asked: PathRequest,
    curves: tuple[Curve, ...],
    scene: Any,
    edges: Literal["certified", "sampled"],
    margin: float,
    resolution: float,
) -> Met | None:
    """The first place at which something is no farther than a margin [m], if there is one."""
    robot = asked.robot
    try:
        reaches = levers(robot, asked.lower, asked.upper)
    except (TypeError, ValueError):
        if edges == "certified":
            raise
        reaches = np.ones(robot.nv)  # samples prove nothing, so no bound is asked for
    result = [_chords(robot, curve, reaches) for curve in curves]
    s, ends = (np.concatenate(part) for part in zip(*[(s, ends) for s, ends, _ in result], strict=True))
    room = max(room for _, _, room in result) if edges == "certified" else 0.0
    free = robot.is_motion_free(
        ends[:, 0], ends[:, 1], scene, collision_check=edges, margin=margin + room, resolution=resolution
    )
    if free.free.all():
        return None
    k = int(np.flatnonzero(~free.free)[0])
    t = float(free.t[k])
    q = np.asarray(free.q[k])
    near = robot.nearest_pair(q, scene=scene)
    at = float(s[k, 0] + t * (s[k, 1] - s[k, 0]))
    return Met(float(s[k, 0]), at, q, str(free.status[k]), near.pairs[0], float(near.distance[0]))


def _chords(robot: Any, curve: Curve, reaches: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Places (n, 2), ends of chords (n, 2, nq), and how far points are off at most [m]."""
    h = np.diff(curve.s)[:, None]
    way = curve.trajectory(robot)
    # chords go straight, as these polynomials of the numbers that joints add up do
    b, c, d, e = np.moveaxis(way.sections[0].arrays["coefficients"], -1, 0)[2:] * h ** np.arange(2, 6)[:, None, None]
    # a chord is off by no more than an eighth of the second derivative, which its Bernstein coefficients bound
    b, c, d, e = 2.0 * b, 6.0 * c, 12.0 * d, 20.0 * e
    most = np.abs([b, b + c / 3.0, b + (2.0 * c + d) / 3.0, b + c + d + e]).max(axis=0)
    far = 0.125 * most @ reaches
    count = np.maximum(np.ceil(np.sqrt(far / _NEAR)).astype(int), 1)
    which = np.repeat(np.arange(len(count)), count)
    k = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    u = np.stack([k, k + 1], axis=-1) / count[which][:, None]
    s = curve.s[which][:, None] + u * h[which]
    q = way(np.minimum(s, curve.s[-1])).q
    return s, q, float((far / count**2).max(initial=0.0))


def levers(robot: Any, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """By number of v: how far any point of a collision shape moves at most, for each rad or m [m], between limits.

    Raises TypeError and ValueError where nothing bounds that: see `joint_reaches`.
    """
    try:
        return joint_reaches(robot.tree, lower, upper)
    except (TypeError, ValueError) as error:
        raise type(error)(f'{error}: use collision_check="sampled"') from None
