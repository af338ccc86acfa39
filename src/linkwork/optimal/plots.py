"""Optimal paths drawn with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.plotting import new_axes

__all__ = ["plot_result"]


def plot_result(result: Any, axes: Any, index: Any) -> Any:
    """Plot configurations over time, and below them the values of each feature at its steps; return the axes."""
    problem, names = result.problem, list(result.residuals)
    axes = new_axes(1 + len(names), (8.0, 2.0 * (1 + len(names)))) if axes is None else axes
    t = result.times[index] if result.times.ndim > 1 else result.times
    for k, name in enumerate(problem.robot.q_names):
        axes[0].plot(t, result.q[index][:, k], label=name)
    axes[0].set_ylabel("q")
    axes[0].legend(fontsize="small", ncols=4)
    places = {term.name: k for k, term in enumerate(problem.terms)}
    for axis, name in zip(axes[1:], names, strict=False):
        steps = result._steps_of(places[name])
        axis.plot(t[list(steps)], result.residuals[name][index], marker="." if len(steps) < 3 else None)
        axis.axhline(0.0, color="0.8", linewidth=0.5, zorder=0)
        axis.set_ylabel(name, fontsize="small")
    np.atleast_1d(axes)[-1].set_xlabel("t [s]")
    return axes
