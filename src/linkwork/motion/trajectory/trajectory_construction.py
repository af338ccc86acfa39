"""Construction of trajectories: from polynomials, through states, and from other trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from linkwork._util.validation import finite_array, positive
from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_kinds import FAR
from linkwork.motion.algorithms.hermite_interpolation import quintic_between
from linkwork.motion.arguments import bases, increasing, space_of
from linkwork.motion.trajectory.map_segments import Rows, between_points, each, one_sign
from linkwork.motion.trajectory.time_scaling import clock_by_length, clocked, monotone_clock, speed_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = [
    "at_one_speed",
    "at_other_times",
    "chained",
    "coordinate_section",
    "polynomial_section",
    "refuse_jumps",
    "through_states",
]


def polynomial_section(times: Any, coefficients: Any, robot: RobotBase | None, base: Any) -> Section:
    """Return a section of polynomials with the same segments for all coordinates.  Raises ValueError."""
    caller = "Trajectory.polynomial"
    breaks = increasing(caller, times)
    space = space_of(caller, robot, coefficients, 1)
    c = finite_array(caller, "coefficients", coefficients, shape=(len(breaks) - 1, space.nv, "terms"))
    arrays = {"starts": breaks[:-1], "coefficients": c}
    kind = "polynomial"
    if base is not None or not space.is_plain:
        arrays["base"] = bases(caller, space, base, (len(breaks) - 1, space.nq), robot)
        kind = "retracted"
    return Section(space, KINDS[kind], arrays, breaks[0], breaks[-1])


def coordinate_section(
    times: Sequence[Any],
    coefficients: Sequence[Any],
    robot: RobotBase | None,
    base: Any,
    start: float | None,
    end: float | None,
) -> Section:
    """Return a section of polynomials with separate segments for each coordinate.  Raises ValueError."""
    caller = "Trajectory.by_coordinate"
    if len(times) != len(coefficients):
        raise ValueError(f"{caller}: expected as many times as coefficients, got {len(times)} and {len(coefficients)}")
    space = CurveSpace(len(times), len(times)) if robot is None else CurveSpace.of(robot.tree)
    if len(times) != space.nv:
        raise ValueError(f"{caller}: expected {space.nv} coordinates, the robot's velocities, got {len(times)}")
    breaks = [increasing(f"{caller}: coordinate {j}", x) for j, x in enumerate(times)]
    rows = [
        finite_array(caller, f"coefficients[{j}]", c, shape=(len(b) - 1, "terms"))
        for j, (b, c) in enumerate(zip(breaks, coefficients, strict=True))
    ]
    segments, terms = max(len(c) for c in rows), max(c.shape[1] for c in rows)
    starts, c = np.full((space.nv, segments), FAR), np.zeros((space.nv, segments, terms))
    for j, (b, polynomials) in enumerate(zip(breaks, rows, strict=True)):
        starts[j, : len(polynomials)], c[j, : len(polynomials), : polynomials.shape[1]] = b[:-1], polynomials
    first = min(b[0] for b in breaks) if start is None else float(start)
    last = max(b[-1] for b in breaks) if end is None else float(end)
    if not first <= last:
        raise ValueError(f"{caller}: start and end: expected start <= end, got {first:g} and {last:g} s")
    if base is None and space.is_plain:
        base = np.zeros(space.nq)
    arrays = {"starts": starts, "coefficients": c, "base": bases(caller, space, base, (space.nq,), robot)}
    return Section(space, KINDS["by_coordinate"], arrays, first, last)


def through_states(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows, a: Rows) -> Section:
    """Return quintics through q (n, nq), v and a (n, nv) at times t (n,).

    At a jump, a time occurs twice: with the state before and the state after the jump.
    """
    q = one_sign(space, q)
    begins = np.append(np.diff(t) > 0.0, True) if t.dtype != object else np.ones(len(t), dtype=bool)
    ends = np.flatnonzero(begins)[:-1] + 1

    def quintic_coefficients(h: object, *states: list[object]) -> list[list[object]]:
        return quintic_between(space, h, *states)

    states = (y for x in (q, v, a) for y in (x[begins][:-1], x[ends]))
    return between_points(space, t[begins], q[begins], each(quintic_coefficients, np.diff(t)[begins[:-1]], *states))


def chained(sections: Iterable[Section], start: float) -> list[Section]:
    """Return the sections shifted in time, each to begin at the end of the previous one; the first at ``start``."""
    result: list[Section] = []
    for section in sections:
        result.append(section.starting_at(result[-1].end if result else start))
    return result


def refuse_jumps(first: Any, second: Any, name: Callable[[int], str], tolerance: float) -> None:
    """Raise ValueError if q or v at the start of ``second`` differs from q or v at the end of ``first``.

    Differences up to a tolerance are permitted; ``name`` returns the name of a coordinate of v.
    """
    end, begin = first(first.end_time), second(second.start_time)
    space = first.sections[0].space
    gap = np.abs(np.asarray(space.difference([*end.q], [*begin.q]), dtype=float))
    for quantity, jump in (("q", gap), ("v", np.abs(begin.v - end.v))):
        if jump.size and jump.max() > tolerance:
            k = int(jump.argmax())
            raise ValueError(
                f"concatenate: {quantity} of {name(k)} jumps by {jump[k]:.6g} where the other begins, more than "
                f"tolerance={tolerance:.6g}; a larger tolerance= permits small jumps, allow_jump=True all of them"
            )


def at_other_times(trajectory: Any, times: Any) -> Sequence[Section]:
    """Return a trajectory's sections stretched in time by a factor, or with new times at the knots."""
    if np.ndim(times) == 0:
        scale = positive("retimed", "times", times, symbols=False)
        return chained([s.scaled(0.0, scale) for s in trajectory.sections], trajectory.start_time)
    knots = trajectory.knots
    new = increasing("retimed", times)
    if len(new) != len(knots):
        raise ValueError(f"retimed: expected {len(knots)} times, one for each of its knots, got {len(new)}")
    if np.array_equal(new, knots):
        same: Sequence[Section] = trajectory.sections
        return same
    return clocked(trajectory.sections, monotone_clock(new, knots), new, knots)


def at_one_speed(trajectory: Any, speed: Any, weights: Any, frame: str | None) -> list[Section]:
    """Return a trajectory's sections timed so that the speed in joint space, or of a frame, is constant."""
    caller = "at_constant_speed"
    target = positive(caller, "speed", speed, symbols=False)
    knots = trajectory.knots
    rate = speed_of(caller, trajectory, weights, frame)
    clock, new = clock_by_length(caller, knots, rate, target, trajectory.start_time)
    return clocked(trajectory.sections, clock, new, knots)
