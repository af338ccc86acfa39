"""Whether what follows a path stays clear of a scene, and of itself.

Edges are straight and curves are not: the curve is cut into pieces that are so near to their chords that no point of
the robot is farther off than a small bound, and chords keep that much more room.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import joint_reaches
from linkwork.motion.cartesian.arguments import PathRequest
from linkwork.motion.cartesian.waypoint_refinement import Curve

__all__ = ["Met", "first_met", "levers"]

_NEAR = 5e-4  # [m]: what points may be off when curves are taken for chords


class Met(NamedTuple):
    """What is met first: until where the path is free, where it is met and in which configuration, how that is known,
    the pair and its distance [m]."""

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
    found = [_chords(robot, curve, reaches) for curve in curves]
    s, ends = (np.concatenate(part) for part in zip(*[(s, ends) for s, ends, _ in found], strict=True))
    room = max(room for _, _, room in found) if edges == "certified" else 0.0
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
        raise type(error)(f'{error}: use edges="sampled"') from None
