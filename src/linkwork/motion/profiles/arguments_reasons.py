"""Why there is no profile: which coordinate, which state, which limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.motion.algorithms.profiles.jerk_limited_profile import Ends, JointBounds
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest, resting_way
from linkwork.motion.profiles.profile_kinds import ProfileKind
from linkwork.motion.profiles.profile_kinds_limits import ProfileLimits

__all__ = ["still_joints", "why_not"]

_SLACK = 1e-9


def still_joints(who: str, names: Sequence[str], states: Sequence[np.ndarray], limits: ProfileLimits) -> np.ndarray:
    """Which coordinates (n,) cannot move, as a limit of theirs is 0 both ways.

    Raises ValueError where one of them is asked to, and for limits of acceleration or jerk that are 0 one way.
    """
    still = np.zeros(len(names), dtype=bool)
    for what, up, down in (
        ("velocity", limits.velocity_up, limits.velocity_down),
        ("acceleration", limits.acceleration_up, limits.acceleration_down),
        ("jerk", limits.jerk_up, limits.jerk_down),
    ):
        zero = (up <= 0.0) & (down <= 0.0)
        if what != "velocity":
            for k in np.flatnonzero(((up <= 0.0) | (down <= 0.0)) & ~zero):
                raise ValueError(
                    f"{who}: {what} of {names[int(k)]}: expected limits above 0 both ways, or 0 both ways for one that "
                    f"stands still, got 0 one way"
                )
        still |= zero
    q0, q1, *rates = states
    moving = np.abs(q1 - q0) > 0.0
    for rate in rates:
        moving = moving | (rate != 0.0)
    for k in np.flatnonzero(still & moving):
        raise ValueError(f"{who}: {names[int(k)]} is to move from {q0[k]:.6g} to {q1[k]:.6g}, and a limit of its is 0")
    return still


def why_not(
    who: str,
    kind: ProfileKind,
    names: Sequence[str],
    states: Sequence[np.ndarray],
    limits: ProfileLimits,
    status: int,
    duration: float | None,
) -> str:
    """The reason, in words."""
    q0, q1, v0, v1, a0, a1 = states
    V, V_down, A, B, up, down = limits
    ends: tuple[tuple[str, np.ndarray, np.ndarray, float], ...] = (("start", v0, a0, 1.0), ("goal", v1, a1, -1.0))
    for k, name in enumerate(names):
        for end, v, a, sense in ends:
            place = 0 if end == "start" else 1
            found = _outside(f"v{place}: v of {name} at the {end}", v[k], V[k], V_down[k], "velocity")
            if not found and kind.accelerations:
                found = _outside(f"a{place}: a of {name} at the {end}", a[k], A[k], B[k], "acceleration")
            if not found and kind.order == 3:
                found = _beyond(name, end, v[k], sense * a[k], (V[k], V_down[k]), (up[k], down[k]))
            if found:
                return f"{who}: {found}"
    for k, name in enumerate(names):
        way = q1[k] - q0[k]
        if (way > 0.0 and V[k] <= 0.0) or (way < 0.0 and V_down[k] <= 0.0):
            return f"{who}: {name} is to move by {way:.6g}, and its limit of velocity that way is 0"
    if kind.polynomial:
        if duration is not None:
            return f"{who}: the {kind.name} profile of {duration:.9g} s does not keep the limits; leave out duration="
        return (
            f"{who}: no {kind.name} profile between these states keeps the limits, of whatever duration: between the "
            f'ends it would leave them; kind="jerk" keeps them'
        )
    for k, name in enumerate(names):
        found = _too_near(name, kind, [float(x[k]) for x in states], [float(x[k]) for x in limits])
        if found:
            return f"{who}: {found}"
    whom = "all coordinates" if len(names) > 1 else names[0]
    found = f"no duration that fits {whom} was found: numbers are too far apart; status {status}"
    return f"{who}: q0, q1 and duration: {found}"


def _too_near(name: str, kind: ProfileKind, state: Sequence[float], limits: Sequence[float]) -> str:
    """Where a coordinate that may not turn back is to go less far than it takes to stop, and to start again."""
    q0, q1, v0, v1, a0, a1 = state
    V, V_down, A, B, up, down = limits
    if V_down > 0.0 and V > 0.0:
        return ""
    if kind.order == 3:
        bounds = JointBounds(V, A, B, 1.0 / up, 1.0 / down)
        least = float(resting_way(JointRequest(q0, q1, Ends(v0, a0, v1, a1), bounds, V_down)))
    else:
        stop, start = (B, A) if V_down <= 0.0 else (A, B)
        least = 0.5 * (v0 * abs(v0) / stop + v1 * abs(v1) / start)
    way, forth = q1 - q0, V_down <= 0.0
    if not (way < least if forth else way > least):
        return ""
    starts = f" and to reach v = {v1:.6g}" if v1 != 0.0 or (a1 != 0.0 and kind.accelerations) else ""
    from_a = f" and a = {a0:.6g}" if kind.accelerations and kind.order == 3 else ""
    return (
        f"{name} is to move by {way:.6g}, and from v = {v0:.6g}{from_a} it takes {least:.6g} to stop{starts} within "
        f"its limits: its goal is nearer than that, and its limits of velocity, [{-V_down:.6g}, {V:.6g}], do not "
        f"let it turn back"
    )


def _outside(what: str, x: float, up: float, down: float, limit: str) -> str:
    if -down * (1.0 + _SLACK) <= x <= up * (1.0 + _SLACK):
        return ""
    return f"{what} is {x:.6g}, outside of its limits of {limit}, [{-down:.6g}, {up:.6g}]"


def _beyond(name: str, end: str, v: float, a: float, speed: tuple[float, float], jerk: tuple[float, float]) -> str:
    """Where the velocity goes however fast the acceleration is taken back; backwards in time at the goal."""
    up, down = jerk
    turned = v + 0.5 * a * abs(a) / (down if a > 0.0 else up)
    if -speed[1] * (1.0 + _SLACK) <= turned <= speed[0] * (1.0 + _SLACK):
        return ""
    when = "after the start" if end == "start" else "before the goal"
    return (
        f"{name} has v = {v:.6g} and a = {a if end == 'start' else -a:.6g} at the {end}: within its limits of jerk its "
        f"velocity {when} is {turned:.6g} at least once, outside of [{-speed[1]:.6g}, {speed[0]:.6g}]"
    )
