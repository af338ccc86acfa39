"""What a profile is asked for: states, limits and options as arrays, or a reason why not.

Why there is no profile: which coordinate, which state, which limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.validation import number
from linkwork.errors import UnknownNameError
from linkwork.motion.algorithms.profiles.jerk_limited_profile import Ends, JointBounds
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest, resting_way
from linkwork.motion.arguments import JointSlices, read_limit
from linkwork.motion.profiles.profile_kinds import ProfileKind, ProfileLimits, ProfileNumbers, kind_of, profile_kernel
from linkwork.motion.profiles.slow_motions import slowed

__all__ = ["SYNCHRONIZE", "AskedProfile", "in_lines", "read_limits", "read_options", "solved", "still_joints"]


SYNCHRONIZE = ("time", "phase")
_STRAIGHT = 1e-9  # of the largest: by how much states may be off a straight line


class AskedProfile(NamedTuple):
    """A profile's states (n,), limits and options."""

    caller: str
    names: Sequence[str]
    kind: ProfileKind
    states: tuple[np.ndarray, ...]  # q0, q1, v0, v1, a0, a1
    limits: ProfileLimits
    synchronize: str | None
    duration: float | None


def read_options(
    caller: str, kind: Any, synchronize: Any, duration: Any
) -> tuple[ProfileKind, str | None, float | None]:
    """Raises UnknownNameError and ValueError for what is none."""
    result = kind_of(kind)
    if synchronize is not None and synchronize not in SYNCHRONIZE:
        raise UnknownNameError("way to synchronise", synchronize, SYNCHRONIZE)
    if duration is None:
        return result, synchronize, None
    try:
        seconds = number(duration)
    except (TypeError, ValueError):
        raise ValueError(f"{caller}: duration: expected seconds above 0, got {duration!r}") from None
    if not 0.0 < seconds < np.inf:
        raise ValueError(f"{caller}: duration: expected seconds above 0, got {duration!r}")
    return result, synchronize, seconds


def read_limits(
    caller: str, kind: ProfileKind, names: Sequence[str], given: dict[str, Any], places: JointSlices | None
) -> ProfileLimits:
    """Limits of velocity, acceleration and jerk; those left out are none, unless the kind needs them."""
    result: list[np.ndarray] = []
    for order, (what, limit) in enumerate(given.items(), start=1):
        if limit is None and 2 <= order <= kind.order:
            raise ValueError(
                f'{caller}: {what}: kind="{kind.name}" needs limits of {what}, and there are none: pass '
                f"{what}=, a number "
                f"or an array of shape ({len(names)},)"
            )
        up, down = read_limit(caller, what, np.inf if limit is None else limit, names, places)
        if order == kind.order > 1 and not (np.isfinite(up) & np.isfinite(down)).all():
            k = int(np.argmin(np.isfinite(up) & np.isfinite(down)))
            other = '; kind="trapezoid" has no limit of jerk' if what == "jerk" else ""
            raise ValueError(f'{caller}: {what} of {names[k]}: kind="{kind.name}" needs a limit, got none{other}')
        result += [up, down]
    return ProfileLimits(*result)


def solved(asked: AskedProfile) -> ProfileNumbers:
    """The profile.  Raises ValueError with the reason where there is none."""
    caller, names, kind, states, limits, synchronize, duration = asked
    if kind.polynomial and duration is None and not any(np.isfinite(x).any() for x in limits):
        raise ValueError(
            f'{caller}: kind="{kind.name}" needs a duration, or limits that say how fast it may be: pass duration=, or '
            f"velocity=, acceleration= or jerk="
        )
    if synchronize == "phase":
        return in_lines(asked._replace(synchronize="time"), [np.arange(len(names))], _WHOLE)
    still = still_joints(caller, names, states, limits)
    limits = ProfileLimits(*(np.where(still, 1.0, x) for x in limits)).finite()
    least = np.full(len(names), 0.0 if duration is None else duration)
    together = synchronize is not None or duration is not None
    fixed = kind.polynomial and duration is not None
    numbers = profile_kernel(kind, len(names), together, fixed)(*states, *limits, least)
    status = int(numbers.status)
    if status:
        raise ValueError(why_not(caller, kind, names, states, limits, status, duration))
    result = ProfileNumbers(*(np.asarray(x) for x in numbers))
    if duration is not None and result.durations.max() > duration * (1.0 + 1e-9):
        raise ValueError(
            f"{caller}: no profile within the limits takes {duration:.9g} s; of those that take longer the first takes "
            f"{result.durations.max():.9g} s"
        )
    if not together:
        _refuse_moving_ends(asked, result)
    if kind.polynomial:
        return result

    def alone(k: int, state: tuple[float, ...]) -> ProfileNumbers:
        own = [np.array([x]) for x in state], [x[k : k + 1] for x in limits]
        result: ProfileNumbers = profile_kernel(kind, 1, True, False)(*own[0], *own[1], np.zeros(1))
        return result

    try:
        return slowed(result, states, alone, names)
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None


def _refuse_moving_ends(asked: AskedProfile, result: ProfileNumbers) -> None:
    last = result.durations.max()
    for k, name in enumerate(asked.names):
        moves = asked.states[3][k] != 0.0 or asked.states[5][k] != 0.0
        if moves and result.durations[k] < last * (1.0 - 1e-12):
            raise ValueError(
                f"{asked.caller}: synchronize=None: {name} comes to its goal {last - result.durations[k]:.6g} s before "
                f'others, and is to move there (v1, a1); synchronize="time" lets all end together'
            )


def in_lines(asked: AskedProfile, groups: Sequence[np.ndarray], remedy: str) -> ProfileNumbers:
    """Groups of coordinates, each along its straight line: one profile of the coordinate that goes farthest in each.

    Raises ValueError where velocities or accelerations at the ends lead off the line.
    """
    states, limits, shares, leads = asked.states, asked.limits, [], []
    reduced: list[list[float]] = [[] for _ in limits]
    for group in groups:
        lead, share = _line(asked, group, remedy)
        leads.append(lead)
        shares.append(share)
        for k in (0, 2, 4):
            for j, (one, other) in enumerate(((k, k + 1), (k + 1, k))):
                with np.errstate(divide="ignore", invalid="ignore"):
                    own = np.where(share > 0.0, limits[one][group], limits[other][group]) / np.abs(share)
                reduced[k + j].append(float(np.min(np.where(share == 0.0, np.inf, own))))
    smaller = asked._replace(
        names=[asked.names[k] for k in leads],
        states=tuple(x[leads] for x in states),
        limits=ProfileLimits(*map(np.array, reduced)),
    )
    result = solved(smaller)
    n, (_, m, terms) = len(asked.names), result.coefficients.shape
    durations, times, coefficients = np.zeros(n), np.zeros((n, m + 1)), np.zeros((n, m, terms))
    for k, (group, share, lead) in enumerate(zip(groups, shares, leads, strict=True)):
        durations[group], times[group] = result.durations[k], result.times[k]
        own = result.coefficients[k].copy()
        own[:, 0] -= states[0][lead]
        coefficients[group] = share[:, None, None] * own
        coefficients[group, :, 0] += states[0][group][:, None]
    return ProfileNumbers(durations, times, coefficients, result.status)


def _line(asked: AskedProfile, group: np.ndarray, remedy: str) -> tuple[int, np.ndarray]:
    """The coordinate of a group that goes farthest, and how far the others go for each of its units."""
    way = (asked.states[1] - asked.states[0])[group]
    rates = [x[group] for x in asked.states[2:]]
    along = way if way.any() else max(rates, key=lambda x: np.abs(x).max(initial=0.0))
    place = int(np.argmax(np.abs(along)))
    share = along / along[place] if along[place] else np.zeros(len(group)) + (np.arange(len(group)) == place)
    for what, x in zip(("v0", "v1", "a0", "a1"), rates, strict=True):
        off = np.abs(x - share * x[place])
        k = int(np.argmax(off))
        if off[k] > _STRAIGHT * np.abs(x).max():
            raise ValueError(
                f"{asked.caller}: {what} of {asked.names[group[k]]} is {x[k]:.6g}, and along the "
                f"straight line from q0 to "
                f"q1 it would be {share[k] * x[place]:.6g}: {remedy}"
            )
    return int(group[place]), share


_WHOLE = 'a motion with synchronize="phase" is a straight line; synchronize="time" needs none'


_SLACK = 1e-9


def still_joints(caller: str, names: Sequence[str], states: Sequence[np.ndarray], limits: ProfileLimits) -> np.ndarray:
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
                    f"{caller}: {what} of {names[int(k)]}: expected limits above 0 both ways, or 0 both "
                    f"ways for one that "
                    f"stands still, got 0 one way"
                )
        still |= zero
    q0, q1, *rates = states
    moving = np.abs(q1 - q0) > 0.0
    for rate in rates:
        moving = moving | (rate != 0.0)
    for k in np.flatnonzero(still & moving):
        raise ValueError(
            f"{caller}: {names[int(k)]} is to move from {q0[k]:.6g} to {q1[k]:.6g}, and a limit of its is 0"
        )
    return still


def why_not(
    caller: str,
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
            result = _outside(f"v{place}: v of {name} at the {end}", v[k], V[k], V_down[k], "velocity")
            if not result and kind.accelerations:
                result = _outside(f"a{place}: a of {name} at the {end}", a[k], A[k], B[k], "acceleration")
            if not result and kind.order == 3:
                result = _beyond(name, end, v[k], sense * a[k], (V[k], V_down[k]), (up[k], down[k]))
            if result:
                return f"{caller}: {result}"
    for k, name in enumerate(names):
        way = q1[k] - q0[k]
        if (way > 0.0 and V[k] <= 0.0) or (way < 0.0 and V_down[k] <= 0.0):
            return f"{caller}: {name} is to move by {way:.6g}, and its limit of velocity that way is 0"
    if kind.polynomial:
        if duration is not None:
            return (
                f"{caller}: the {kind.name} profile of {duration:.9g} s does not keep the limits; leave out duration="
            )
        return (
            f"{caller}: no {kind.name} profile between these states keeps the limits, of whatever "
            f"duration: between the "
            f'ends it would leave them; kind="jerk" keeps them'
        )
    for k, name in enumerate(names):
        result = _too_near(name, kind, [float(x[k]) for x in states], [float(x[k]) for x in limits])
        if result:
            return f"{caller}: {result}"
    whom = "all coordinates" if len(names) > 1 else names[0]
    result = f"no duration that fits {whom} was found: numbers are too far apart; status {status}"
    return f"{caller}: q0, q1 and duration: {result}"


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
