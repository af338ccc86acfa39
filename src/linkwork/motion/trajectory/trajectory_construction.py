"""Sections of polynomials that people give, as `Trajectory.polynomial` and `Trajectory.by_coordinate` take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.kernels.robot_base import RobotBase
from linkwork.motion.algorithms.curves import KINDS, CurveSpace
from linkwork.motion.algorithms.curves.curve_kinds_pieces import FAR
from linkwork.motion.arguments import bases, finite_array, increasing, space_of
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["coordinate_section", "polynomial_section"]


def polynomial_section(times: Any, coefficients: Any, robot: RobotBase | None, base: Any) -> Section:
    """All coordinates on the same pieces.  Raises ValueError."""
    who = "Trajectory.polynomial"
    breaks = increasing(who, times)
    space = space_of(who, robot, coefficients, 1)
    expected = f"{who}: coefficients: expected an array of shape ({len(breaks) - 1}, {space.nv}, terms)"
    c = finite_array(expected, coefficients, (len(breaks) - 1, space.nv, None))
    arrays = {"starts": breaks[:-1], "coefficients": c}
    kind = "polynomial"
    if base is not None or not space.is_plain:
        arrays["base"] = bases(who, space, base, (len(breaks) - 1, space.nq), robot)
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
    """Each coordinate on pieces of its own.  Raises ValueError."""
    who = "Trajectory.by_coordinate"
    if len(times) != len(coefficients):
        raise ValueError(f"{who}: expected as many times as coefficients, got {len(times)} and {len(coefficients)}")
    space = CurveSpace(len(times), len(times)) if robot is None else CurveSpace.of(robot.tree)
    if len(times) != space.nv:
        raise ValueError(f"{who}: expected {space.nv} coordinates, the robot's velocities, got {len(times)}")
    breaks = [increasing(f"{who}: coordinate {j}", x) for j, x in enumerate(times)]
    rows = [
        finite_array(
            f"{who}: coefficients: coordinate {j}: expected coefficients ({len(b) - 1}, terms)", c, (len(b) - 1, None)
        )
        for j, (b, c) in enumerate(zip(breaks, coefficients, strict=True))
    ]
    pieces, terms = max(len(c) for c in rows), max(c.shape[1] for c in rows)
    starts, c = np.full((space.nv, pieces), FAR), np.zeros((space.nv, pieces, terms))
    for j, (b, own) in enumerate(zip(breaks, rows, strict=True)):
        starts[j, : len(own)], c[j, : len(own), : own.shape[1]] = b[:-1], own
    first = min(b[0] for b in breaks) if start is None else float(start)
    last = max(b[-1] for b in breaks) if end is None else float(end)
    if not first <= last:
        raise ValueError(f"{who}: start and end: expected a start not after the end, got {first:g} and {last:g} s")
    if base is None and space.is_plain:
        base = np.zeros(space.nq)
    arrays = {"starts": starts, "coefficients": c, "base": bases(who, space, base, (space.nq,), robot)}
    return Section(space, KINDS["by_coordinate"], arrays, first, last)
