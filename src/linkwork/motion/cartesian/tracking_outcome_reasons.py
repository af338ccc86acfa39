"""Why a path is not followed to its end, in a word and a sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.motion.cartesian.arguments import AskedPath

__all__ = ["Ended", "ended", "left_path", "meets"]

_SINGULAR = 0.05  # [1, m]: a least singular value that explains why joints move much


class Ended(NamedTuple):
    """A word of `FollowedPath.status`, and a sentence."""

    status: str
    reason: str


def ended(asked: AskedPath, q: np.ndarray, s: float, missed: float, largest: np.ndarray) -> Ended:
    """Why there is no neighbour of q, at s, at the next place."""
    at = f"at {100.0 * s / asked.path.length:.4g} % of the path"
    X = asked.path(missed)
    free, done = asked.solved(q[None], X[None], limits=False)
    if done[0] and (np.abs(asked.difference(q, free[0])) <= 2.0 * largest).all():
        told = _beyond(asked, q, free[0])
        if told is not None:
            return Ended("joint limit", f"{at} {told}")
    found = asked.problem.solve(q, X_path=X)
    if not found.success:
        if found.status == "out of reach":
            return Ended("out of reach", f"{at} the next pose is {found.explain()}")
        wanted = asked.unlimited.solve(q, X_path=X)
        told = _beyond(asked, q, wanted.q) if wanted.success else None
        if told is not None:
            return Ended("joint limit", f"{at} {told}")
        return Ended("out of reach", f"{at} the next pose has no configuration: {found.explain()}")
    least = asked.singular(q)
    move = asked.difference(q, np.asarray(found.q))
    k = int(np.abs(move).argmax())
    jump = f"the nearest answer found there moves joint {asked.joint(k)!r} by {move[k]:.3g} at once"
    if least < _SINGULAR:
        return Ended(
            "singularity",
            f"{at} the robot is next to a singularity, with a least singular value of {least:.2g}: {jump}",
        )
    return Ended("jump", f"{at} no configuration is near the one before: {jump}")


def _beyond(asked: AskedPath, q: np.ndarray, wanted: np.ndarray) -> str | None:
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
    return Ended("collision", f"at {100.0 * part:.4g} % of the path {pair[0]!r} {word} {pair[1]!r} ({status})")


def left_path(asked: AskedPath, q: np.ndarray, s: float, allowed: tuple[float, float]) -> Ended:
    """Of a curve that does not stay near enough to the path."""
    least = asked.singular(q)
    at = f"at {100.0 * s / asked.path.length:.4g} % of the path"
    if least < _SINGULAR:
        return Ended(
            "singularity", f"{at} the robot is next to a singularity, with a least singular value of {least:.2g}"
        )
    return Ended(
        "deviation",
        f"{at} way points as near as they can be do not keep the frame within {allowed[0]:g} m and {allowed[1]:g} rad",
    )
