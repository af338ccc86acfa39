"""Requests of motion profiles: checks of states, limits and options; the solution, or the reason if none exists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.validation import positive
from linkwork.errors import UnknownNameError
from linkwork.motion.algorithms.profiles.jerk_limited_profile import Ends, JointBounds
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest, resting_displacement
from linkwork.motion.arguments import own_limits, read_limit
from linkwork.motion.profiles.profile_kinds import (
    ProfileArrays,
    ProfileKind,
    ProfileLimits,
    kind_of,
    profile_kernel,
    with_slow_motions,
)

__all__ = ["SYNCHRONIZE", "ProfileRequest", "along_lines", "locked_coordinates", "read_limits", "read_options", "solve"]


SYNCHRONIZE = ("time", "phase")
_STRAIGHT = 1e-9  # of the largest component: permitted deviation of states from a straight line


class ProfileRequest(NamedTuple):
    """Request of a motion profile between two states of n coordinates.

    ``states`` are q0, q1, v0, v1, a0 and a1 (n,) each.
    """

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
    """Return the kind of profile, the synchronization and the duration [s], if they are valid.

    Raises UnknownNameError and ValueError.
    """
    result = kind_of(kind)
    if synchronize is not None and synchronize not in SYNCHRONIZE:
        raise UnknownNameError("synchronization", synchronize, SYNCHRONIZE)
    seconds = None if duration is None else positive(caller, "duration", duration, unit="s", symbols=False)
    return result, synchronize, seconds


def read_limits(
    caller: str, kind: ProfileKind, names: Sequence[str], values: dict[str, Any], robot: Any = None
) -> ProfileLimits:
    """Return the limits of velocity, acceleration and jerk; by default the robot's limits, else infinite limits.

    Raises ValueError for an invalid limit, and where the kind of profile needs a limit that is missing.
    """
    result: list[np.ndarray] = []
    for order, (quantity, limit) in enumerate(values.items(), start=1):
        default = own_limits(robot, quantity)
        if limit is None and default is None and 2 <= order <= kind.order:
            simpler = "" if quantity == "acceleration" else 'kind="trapezoid" has no limit of jerk, and '
            raise ValueError(
                f'{caller}: {quantity}: kind="{kind.name}" needs limits of {quantity}; pass {quantity}=, '
                f'a number or an array of shape ({len(names)},); {simpler}kind="quintic" needs a duration alone'
            )
        limit = limit if limit is not None else np.inf if default is None else default
        up, down = read_limit(caller, quantity, limit, names, robot, default)
        if order == kind.order > 1 and not (np.isfinite(up) & np.isfinite(down)).all():
            k = int(np.argmin(np.isfinite(up) & np.isfinite(down)))
            note = '; kind="trapezoid" has no limit of jerk' if quantity == "jerk" else ""
            raise ValueError(f'{caller}: {quantity} of {names[k]}: kind="{kind.name}" needs a limit, got none{note}')
        result += [up, down]
    return ProfileLimits(*result)


def solve(request: ProfileRequest) -> ProfileArrays:
    """Return the motion profiles between the states of a request.  Raises ValueError with the reason if none exist."""
    caller, names, kind, states, limits, synchronize, duration = request
    if kind.polynomial and duration is None and not any(np.isfinite(x).any() for x in limits):
        raise ValueError(
            f'{caller}: kind="{kind.name}" needs a duration or limits; pass duration=, velocity=, '
            f"acceleration= or jerk="
        )
    if synchronize == "phase":
        return along_lines(request._replace(synchronize="time"), [np.arange(len(names))], _STRAIGHT_LINE)
    locked = locked_coordinates(caller, names, states, limits)
    limits = ProfileLimits(*(np.where(locked, 1.0, x) for x in limits)).finite()
    least = np.full(len(names), 0.0 if duration is None else duration)
    together = synchronize is not None or duration is not None
    fixed = kind.polynomial and duration is not None
    arrays = profile_kernel(kind, len(names), together, fixed)(*states, *limits, least)
    status = int(arrays.status)
    if status:
        raise ValueError(failure_reason(caller, kind, names, states, limits, status, duration))
    result = ProfileArrays(*(np.asarray(x) for x in arrays))
    if duration is not None and result.durations.max() > duration * (1.0 + 1e-9):
        raise ValueError(
            f"{caller}: no profile within the limits takes {duration:.9g} s; the next longer profile takes "
            f"{result.durations.max():.9g} s; pass a longer duration= or higher limits"
        )
    if not together:
        _refuse_moving_ends(request, result)
    if kind.polynomial:
        return result

    def alone(k: int, state: tuple[float, ...]) -> ProfileArrays:
        inputs = [np.array([x]) for x in state], [x[k : k + 1] for x in limits]
        result: ProfileArrays = profile_kernel(kind, 1, True, False)(*inputs[0], *inputs[1], np.zeros(1))
        return result

    try:
        return with_slow_motions(result, states, alone, names)
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None


def _refuse_moving_ends(request: ProfileRequest, result: ProfileArrays) -> None:
    last = result.durations.max()
    for k, name in enumerate(request.names):
        moves = request.states[3][k] != 0.0 or request.states[5][k] != 0.0
        if moves and result.durations[k] < last * (1.0 - 1e-12):
            raise ValueError(
                f"{request.caller}: synchronize=None: {name} reaches its goal {last - result.durations[k]:.6g} s "
                f'before the last coordinate, so v1 and a1 must be 0 for it; synchronize="time" ends all together'
            )


def along_lines(request: ProfileRequest, groups: Sequence[np.ndarray], remedy: str) -> ProfileArrays:
    """Return motion profiles in which each group of coordinates moves along a straight line.

    ``groups`` are arrays of indices. All coordinates of a group move in proportion to the profile of the coordinate
    with the largest displacement. Raises ValueError, with the ``remedy``, if velocities or accelerations at the ends
    are not along the line.
    """
    states, limits, shares, leads = request.states, request.limits, [], []
    reduced: list[list[float]] = [[] for _ in limits]
    for group in groups:
        lead, share = _line(request, group, remedy)
        leads.append(lead)
        shares.append(share)
        for k in (0, 2, 4):
            for j, (a, b) in enumerate(((k, k + 1), (k + 1, k))):
                with np.errstate(divide="ignore", invalid="ignore"):
                    scaled = np.where(share > 0.0, limits[a][group], limits[b][group]) / np.abs(share)
                reduced[k + j].append(float(np.min(np.where(share == 0.0, np.inf, scaled))))
    smaller = request._replace(
        names=[request.names[k] for k in leads],
        states=tuple(x[leads] for x in states),
        limits=ProfileLimits(*map(np.array, reduced)),
    )
    result = solve(smaller)
    n, (_, m, terms) = len(request.names), result.coefficients.shape
    durations, times, coefficients = np.zeros(n), np.zeros((n, m + 1)), np.zeros((n, m, terms))
    for k, (group, share, lead) in enumerate(zip(groups, shares, leads, strict=True)):
        durations[group], times[group] = result.durations[k], result.times[k]
        c = result.coefficients[k].copy()
        c[:, 0] -= states[0][lead]
        coefficients[group] = share[:, None, None] * c
        coefficients[group, :, 0] += states[0][group][:, None]
    return ProfileArrays(durations, times, coefficients, result.status)


def _line(request: ProfileRequest, group: np.ndarray, remedy: str) -> tuple[int, np.ndarray]:
    """Return the coordinate in a group with the largest displacement, and the displacements divided by the largest.

    Raises ValueError, with the ``remedy``, if a velocity or acceleration at an end does not have the direction of the
    displacement.
    """
    displacement = (request.states[1] - request.states[0])[group]
    rates = [x[group] for x in request.states[2:]]
    along = displacement if displacement.any() else max(rates, key=lambda x: np.abs(x).max(initial=0.0))
    index = int(np.argmax(np.abs(along)))
    share = along / along[index] if along[index] else np.zeros(len(group)) + (np.arange(len(group)) == index)
    for quantity, x in zip(("v0", "v1", "a0", "a1"), rates, strict=True):
        off = np.abs(x - share * x[index])
        k = int(np.argmax(off))
        if off[k] > _STRAIGHT * np.abs(x).max():
            raise ValueError(
                f"{request.caller}: {quantity} of {request.names[group[k]]} is {x[k]:.6g}, but along the "
                f"straight line from q0 to q1 it is {share[k] * x[index]:.6g}: {remedy}"
            )
    return int(group[index]), share


_STRAIGHT_LINE = 'synchronize="phase" requires a straight line; synchronize="time" does not'


_SLACK = 1e-9


def locked_coordinates(
    caller: str, names: Sequence[str], states: Sequence[np.ndarray], limits: ProfileLimits
) -> np.ndarray:
    """Return a mask (n,) of coordinates that cannot move, because a limit is 0 in both directions.

    Raises ValueError if such a coordinate must move, and for limits of acceleration or jerk that are 0 in one direction
    only.
    """
    locked = np.zeros(len(names), dtype=bool)
    for quantity, up, down in (
        ("velocity", limits.velocity_up, limits.velocity_down),
        ("acceleration", limits.acceleration_up, limits.acceleration_down),
        ("jerk", limits.jerk_up, limits.jerk_down),
    ):
        zero = (up <= 0.0) & (down <= 0.0)
        if quantity != "velocity":
            for k in np.flatnonzero(((up <= 0.0) | (down <= 0.0)) & ~zero):
                raise ValueError(
                    f"{caller}: {quantity} of {names[int(k)]}: expected positive limits in both "
                    f"directions, or 0 in both to lock it, got 0 in one"
                )
        locked |= zero
    q0, q1, *rates = states
    moving = np.abs(q1 - q0) > 0.0
    for rate in rates:
        moving = moving | (rate != 0.0)
    for k in np.flatnonzero(locked & moving):
        raise ValueError(
            f"{caller}: {names[int(k)]} must move from {q0[k]:.6g} to {q1[k]:.6g}, but one of its limits is 0"
        )
    return locked


def failure_reason(
    caller: str,
    kind: ProfileKind,
    names: Sequence[str],
    states: Sequence[np.ndarray],
    limits: ProfileLimits,
    status: int,
    duration: float | None,
) -> str:
    """Return a text why no motion profile exists; it names the coordinate, the state at an end, and the violated limit.

    ``status`` is that of the failed computation: 1 for an invalid state at an end, 2 if no duration fits.
    """
    q0, q1, v0, v1, a0, a1 = states
    V, V_down, A, B, up, down = limits
    ends: tuple[tuple[str, np.ndarray, np.ndarray, float], ...] = (("start", v0, a0, 1.0), ("goal", v1, a1, -1.0))
    for k, name in enumerate(names):
        for end, v, a, sense in ends:
            index = 0 if end == "start" else 1
            result = _outside_message(f"v{index}: v of {name} at the {end}", v[k], V[k], V_down[k], "velocity")
            if not result and kind.accelerations:
                result = _outside_message(f"a{index}: a of {name} at the {end}", a[k], A[k], B[k], "acceleration")
            if not result and kind.order == 3:
                result = _overshoot_message(name, end, v[k], sense * a[k], (V[k], V_down[k]), (up[k], down[k]))
            if result:
                return f"{caller}: {result}"
    for k, name in enumerate(names):
        displacement = q1[k] - q0[k]
        if (displacement > 0.0 and V[k] <= 0.0) or (displacement < 0.0 and V_down[k] <= 0.0):
            return f"{caller}: {name} must move by {displacement:.6g}, but its limit of velocity in this direction is 0"
    if kind.polynomial:
        if duration is not None:
            return f"{caller}: the {kind.name} profile of {duration:.9g} s violates the limits; leave out duration="
        return (
            f"{caller}: no {kind.name} profile between these states was found within the limits, by durations 1 % "
            f'apart; it would exceed them between the ends; try kind="jerk"'
        )
    for k, name in enumerate(names):
        result = _too_near_message(name, kind, [float(x[k]) for x in states], [float(x[k]) for x in limits])
        if result:
            return f"{caller}: {result}"
    whom = "all coordinates" if len(names) > 1 else names[0]
    result = f"no feasible duration of {whom} was found, as values differ too much in size; status {status}"
    return f"{caller}: q0, q1 and duration: {result}"


def _too_near_message(name: str, kind: ProfileKind, state: Sequence[float], limits: Sequence[float]) -> str:
    """Return a message if a goal is nearer than the stopping distance of a coordinate that cannot move back, else "".

    A coordinate cannot move back if its velocity limit in one direction is 0.
    """
    q0, q1, v0, v1, a0, a1 = state
    V, V_down, A, B, up, down = limits
    if V_down > 0.0 and V > 0.0:
        return ""
    if kind.order == 3:
        bounds = JointBounds(V, A, B, 1.0 / up, 1.0 / down)
        least = float(resting_displacement(JointRequest(q0, q1, Ends(v0, a0, v1, a1), bounds, V_down)))
    else:
        stop, start = (B, A) if V_down <= 0.0 else (A, B)
        least = 0.5 * (v0 * abs(v0) / stop + v1 * abs(v1) / start)
    displacement, forward = q1 - q0, V_down <= 0.0
    if not (displacement < least if forward else displacement > least):
        return ""
    starts = f" and to reach v = {v1:.6g}" if v1 != 0.0 or (a1 != 0.0 and kind.accelerations) else ""
    from_a = f" and a = {a0:.6g}" if kind.accelerations and kind.order == 3 else ""
    return (
        f"{name} must move by {displacement:.6g}, but from v = {v0:.6g}{from_a} it needs {least:.6g} to stop{starts} "
        f"within its limits; its limits of velocity, [{-V_down:.6g}, {V:.6g}], do not permit it to move back"
    )


def _outside_message(quantity: str, x: float, up: float, down: float, limit: str) -> str:
    if -down * (1.0 + _SLACK) <= x <= up * (1.0 + _SLACK):
        return ""
    return f"{quantity} is {x:.6g}, outside its limits of {limit}, [{-down:.6g}, {up:.6g}]"


def _overshoot_message(
    name: str, end: str, v: float, a: float, speed: tuple[float, float], jerk: tuple[float, float]
) -> str:
    """Return a message if the velocity at an end leads beyond its limits although the acceleration is reduced to 0.

    The message is "" otherwise.  The acceleration is reduced at the limit of jerk; at the goal, backwards in time.
    """
    up, down = jerk
    extreme = v + 0.5 * a * abs(a) / (down if a > 0.0 else up)
    if -speed[1] * (1.0 + _SLACK) <= extreme <= speed[0] * (1.0 + _SLACK):
        return ""
    when = "after the start" if end == "start" else "before the goal"
    return (
        f"{name} has v = {v:.6g} and a = {a if end == 'start' else -a:.6g} at the {end}: within its limits of jerk its "
        f"velocity {when} reaches {extreme:.6g}, outside [{-speed[1]:.6g}, {speed[0]:.6g}]"
    )
