"""Trajectories drawn with matplotlib."""

from __future__ import annotations

from typing import Any

__all__ = ["new_axes", "plot_trajectory"]


def new_axes(rows: int, size: tuple[float, float]) -> Any:
    """A figure's axes, some below the other.  Raises ImportError where matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plot needs matplotlib: pip install "linkwork[figures]"') from None
    return plt.subplots(rows, 1, sharex=True, figsize=size, layout="constrained")[1]


def plot_trajectory(trajectory: Any, axes: Any, n: int) -> Any:
    """q, v, a and the jerk, one below the other."""
    axes = new_axes(4, (8.0, 8.0)) if axes is None else axes
    robot = trajectory.robot
    t, state = trajectory.sampled(n=n)
    rows = [*zip(("q", "v", "a"), state, strict=True), ("jerk", trajectory.jerk(t))]
    for axis, (what, x) in zip(axes, rows, strict=False):
        names = None if robot is None else robot.q_names if what == "q" else robot.v_names
        for k in range(x.shape[-1]):
            axis.plot(t, x[:, k], label=str(k) if names is None else names[k])
        axis.set_ylabel(what)
        for knot in trajectory.knots[:: max(len(trajectory.knots) // 50, 1)]:
            axis.axvline(knot, color="0.9", linewidth=0.5, zorder=0)
    if state.q.shape[-1] <= 12:
        axes[0].legend(fontsize="small", ncols=4)
    axes[-1].set_xlabel("t [s]")
    return axes
