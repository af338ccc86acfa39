"""What becomes of way points: curves through them, as far as these are near enough and clear of a scene, and why no
farther."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkwork.motion.cartesian.arguments import AskedPath
from linkwork.motion.cartesian.cartesian_path_steps import Steps
from linkwork.motion.cartesian.path_clearance import first_met
from linkwork.motion.cartesian.tracking_outcome_reasons import Ended, ended, left_path, meets
from linkwork.motion.cartesian.waypoint_refinement import Curve, Filled, filled

__all__ = ["FollowOutcome", "SceneAsked", "farthest"]

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
class FollowOutcome:
    """Curves, where they begin anew, what is off at most [m, rad], how far they come, and why no farther."""

    curves: tuple[Curve, ...]
    begins: tuple[int, ...]
    off: tuple[float, float]
    end: float
    told: Ended


def farthest(
    asked: AskedPath,
    ways: list[Steps],
    allowed: tuple[float, float],
    largest: np.ndarray,
    around: SceneAsked | None,
) -> FollowOutcome:
    """Of the first way that comes to the end, or of the one that comes farthest."""
    best: tuple[float, Steps, Filled, Any] | None = None
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
        told = Ended("followed", "the path is followed to its end")
    curves = tuple(curve for curve in curves if len(curve.s) > 1)
    return FollowOutcome(curves, tuple(k for k in begins if k < len(curves)), done.off, end, told)


def _missed(asked: AskedPath, way: Steps, largest: np.ndarray, around: SceneAsked | None) -> Ended:
    """Why there is no next way point."""
    assert way.missed is not None
    q = way.q[-1]
    if around is not None:
        found, done = asked.solved(q[None], asked.path(way.missed)[None])
        near = done[0] and (np.abs(asked.difference(q, found[0])) <= largest).all()
        if near and not around.free(asked.robot, found)[0]:
            one = asked.robot.nearest(found[0], scene=around.scene)
            return meets(way.end / asked.path.length, one.pairs[0], float(one.distance[0]), "colliding")
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
