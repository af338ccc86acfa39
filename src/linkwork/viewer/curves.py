"""Plots of coordinates beside a picture, grouped by unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.viewer.document import Plot

__all__ = ["configuration_plots", "coordinate_plots", "velocity_plots"]


def configuration_plots(robot: Any, q: np.ndarray) -> list[Plot]:
    """Return plots of the configurations q (T, nq) with their limits, without quaternions."""
    units = [unit for _, body in robot.tree.stacked() for unit in body.joint.q_units]
    return coordinate_plots("position", robot.q_names, units, q, robot.lower, robot.upper)


def velocity_plots(robot: Any, v: np.ndarray) -> list[Plot]:
    """Return plots of the velocities v (T, nv) with their limits."""
    units = [unit for _, body in robot.tree.stacked() for unit in body.joint.v_units]
    limits = robot.velocity_limits
    return coordinate_plots("velocity", robot.v_names, units, v, -limits, limits)


def coordinate_plots(
    title: str,
    names: Sequence[str],
    units: Sequence[str],
    values: np.ndarray,
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
) -> list[Plot]:
    """Return one plot of values (T, n) for each unit but 1; a limit that is not finite counts as no limit."""
    plots = []
    for unit in dict.fromkeys(units):
        columns = [k for k, unit_of_column in enumerate(units) if unit_of_column == unit]
        if unit == "1" or not columns:
            continue
        low, high = (None if x is None or not np.isfinite(x[columns]).any() else x[columns] for x in (lower, upper))
        plots.append(Plot(title, unit, tuple(names[k] for k in columns), values[:, columns], low, high))
    return plots
