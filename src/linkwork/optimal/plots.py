"""Plots of optimal paths against time: configurations with shaded limits, and the values of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.plotting import label_time, line_style, new_axes, plot_lines, plot_text, quantity_label
from linkwork.model.coordinate_names import units_of

__all__ = ["plot_result"]

_FEW = 3  # values that are drawn as points, too


def plot_result(result: Any, axes: Any, index: Any) -> Any:
    """Plot configurations against time, and below them the values of each feature at its steps.

    Return the axes.  Regions beyond position limits are shaded.  A component that has the name of a coordinate has the
    coordinate's colour.
    """
    problem, names = result.problem, list(result.residuals)
    robot = problem.robot
    axes = new_axes(1 + len(names), (8.0, 2.0 * (1 + len(names)))) if axes is None else axes
    t = result.times[index] if result.times.ndim > 1 else result.times
    ends = np.cumsum(result.steps[index] if result.steps.ndim > 1 else result.steps)
    times = (t, ends, ends - 0.5 * np.diff(ends, prepend=0.0))  # of positions, velocities and accelerations
    lines = dict(zip(robot.q_names, result.q[index].T, strict=True))
    first = np.atleast_1d(axes)[0]
    plot_lines(first, t, lines, lower=robot.lower, upper=robot.upper)
    first.set_ylabel(quantity_label("q", units_of(robot.tree, "q")))
    indices = {term.name: k for k, term in enumerate(problem.terms)}
    for axis, name in zip(np.atleast_1d(axes)[1:], names, strict=False):
        steps = list(result._steps_of(indices[name]))
        feature = problem.terms[indices[name]].feature
        at = times[min(feature.depth, 2)][steps]
        components, values = feature.component_names, result.residuals[name][index]
        if set(components) <= set(robot.v_names):
            for component, x in zip(components, values.T, strict=True):
                style = line_style(robot.v_names.index(component))
                axis.plot(at, x, label=plot_text(component), **style)
        else:
            plot_lines(axis, at, dict(zip(components, values.T, strict=True)), columns=3)
        if len(steps) < _FEW:
            for line in axis.lines:
                line.set_marker("o")
        axis.axhline(0.0, color="0.7", linewidth=0.6, zorder=0)
        axis.set_ylabel(plot_text(quantity_label(name, feature.row_units)), fontsize="small")
    label_time(axes)
    return axes
