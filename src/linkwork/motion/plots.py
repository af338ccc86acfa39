"""Plots of trajectories over time: q, v, a and the jerk, with shaded limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.plotting import label_time, lines_by_unit, mark_times, new_axes, plot_lines, quantity_label
from linkwork._util.validation import integer
from linkwork.model.coordinate_names import units_of
from linkwork.motion.arguments import own_limits, read_limit, read_positions

__all__ = ["plot_trajectory"]


_NAMES = {"position": 0, "velocity": 1, "acceleration": 2, "jerk": 3}
_MAX_KNOTS = 50  # vertical lines


def plot_trajectory(trajectory: Any, axes: Any, n: int, limits: Any, columns: int) -> Any:
    """Return axes with plots of q, v, a and the jerk, one below the other, with limits shaded.

    n is the number of times.  Each unit has axes of its own.  The coordinates are distributed over ``columns``.
    """
    columns = integer("plot", "columns", columns, least=1)
    known = _limits(trajectory, limits)
    if not trajectory.is_timed:  # limits of derivatives by time have no effect
        known = {order: sides for order, sides in known.items() if order == 0}
    columns = min(columns, trajectory.nv)
    robot = trajectory.robot
    t, state = trajectory.sampled(num_samples=n)
    quantities: list[tuple[Any, np.ndarray]]
    quantities = [*zip(("q", "v", "a"), state, strict=True), ("jerk", trajectory.jerk(t))]
    rows = []
    for order, (quantity, x) in enumerate(quantities):
        names = (robot.q_names if order == 0 else robot.v_names) if robot is not None else map(str, range(x.shape[-1]))
        units = () if robot is None else units_of(robot.tree, quantity)
        label = quantity if trajectory.is_timed else "q" + order * "′"
        by_unit = lines_by_unit(label, [*names], units, x) if axes is None else _together(label, [*names], units, x)
        rows += [(order, *row) for row in by_unit]
    passed_axes = axes
    axes = new_axes(len(rows), (8.0 + 4.0 * (columns - 1), 2.0 * len(rows)), columns) if axes is None else axes
    for k, (order, label, lines, indices) in enumerate(rows):
        if order and not trajectory.is_timed:
            label = label.partition(" [")[0]
        for j, shown in enumerate(np.array_split(np.arange(len(indices)), columns)):
            axis = axes[k] if np.ndim(axes) == 1 else axes[k][j]
            at = [indices[m] for m in shown]
            lower, upper = (side[at] for side in known[order]) if order in known else (None, None)
            few, named = 4 if columns == 1 else 1, [*lines.items()]
            chosen = dict(named[m] for m in shown)
            plot_lines(axis, t, chosen, legend=order == 0, columns=few, lower=lower, upper=upper)
            mark_times(axis, trajectory.knots[:: max(len(trajectory.knots) // _MAX_KNOTS, 1)])
            axis.set_ylabel(label if j == 0 else "")
        if passed_axes is not None and k + 1 == len(np.atleast_1d(passed_axes)):
            break
    label_time(axes, "t [s]" if trajectory.is_timed else "path length [rad, m]")
    return axes


def _together(
    label: str, names: list[str], units: Sequence[str], x: np.ndarray
) -> list[tuple[str, dict[str, np.ndarray], list[int]]]:
    """Return one row of lines for all units, for axes that the caller passed."""
    return [(quantity_label(label, units), dict(zip(names, x.T, strict=True)), [*range(len(names))])]


def _limits(trajectory: Any, value: Any) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return the lower and upper limits of coordinates by order of the derivative, 0 for q.  Raises ValueError."""
    robot = trajectory.robot
    if value is None or value is False:
        return {}
    result: dict[str, Any] = {}
    if robot is not None:
        rates = {name: own_limits(robot, name) for name in ("velocity", "acceleration", "jerk")}
        result = {"position": (robot.lower, robot.upper)} | {k: x for k, x in rates.items() if x is not None}
    if isinstance(value, Mapping):
        for name in value:
            if name not in _NAMES:
                raise ValueError(f"plot: limits: expected keys among {', '.join(_NAMES)}, got {name!r}")
        result |= value
    elif value is not True:
        raise ValueError(f"plot: limits: expected True, or a dict of {', '.join(_NAMES)}, got {value!r}")
    return {_NAMES[name]: _sides(trajectory, name, x) for name, x in result.items()}


def _sides(trajectory: Any, name: str, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper limits (n,) of a quantity, from a pair or magnitudes.  Raises ValueError."""
    robot = trajectory.robot
    if name == "position":
        if isinstance(value, Mapping) and robot is not None:
            pairs = {joint: x if _is_pair(x) else (-np.asarray(x, dtype=float), x) for joint, x in value.items()}
            value = tuple({joint: x[k] for joint, x in pairs.items()} for k in range(2))
        pair = _is_pair(value)
        sides = value if pair else (value, value)
        limits = (None, None) if robot is None else (robot.lower, robot.upper)
        low, high = (
            read_positions("plot", name, side, trajectory.nq, robot, x) for side, x in zip(sides, limits, strict=True)
        )
        low = low if pair else -low
        if not (low <= high).all():
            raise ValueError(f"plot: {name}: expected lower limits below upper ones, got {value!r}")
        return low, high
    names = [str(k) for k in range(trajectory.nv)] if robot is None else list(robot.v_names)
    up, down = read_limit("plot", name, value, names, robot, own_limits(robot, name))
    return -down, up


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2
