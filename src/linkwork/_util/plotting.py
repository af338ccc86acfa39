"""matplotlib axes and shared parts of plots: lines by time, labels with units, legends, one scale for several axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["COLORS", "label_time", "new_axes", "plot_lines", "pyplot", "quantity_label", "share_scale", "space_axes"]

COLORS = tuple(
    f"tab:{name}" for name in ("blue", "orange", "green", "red", "purple", "brown", "pink", "gray", "olive", "cyan")
)
_MAX_LEGEND = 12  # lines above which there is no legend
_MARGIN = 1.05  # extent of a shared scale, relative to the data


def pyplot() -> Any:
    """Return matplotlib.pyplot.  Raises ImportError if matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plot needs matplotlib: pip install "linkwork[figures]"') from None
    return plt


def new_axes(rows: int, size: tuple[float, float], columns: int = 1) -> Any:
    """Return the axes of a new figure, one below the other: (rows,), or (rows, columns)."""
    shape = {"sharex": True, "figsize": size, "layout": "constrained"}
    return pyplot().subplots(rows, columns, **shape)[1]


def space_axes() -> Any:
    """Return three-dimensional axes, labelled in metres."""
    axes = pyplot().figure(figsize=(7.0, 7.0), layout="constrained").add_subplot(projection="3d")
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    return axes


def quantity_label(quantity: str, units: Iterable[str]) -> str:
    """Return the label of an axis: the quantity and its units, each once, as in "q [rad, m]"."""
    named = [unit for unit in dict.fromkeys(units) if unit != "1"]
    return f"{quantity} [{', '.join(named)}]" if named else quantity


def plot_lines(
    axis: Any, t: np.ndarray, lines: Mapping[str, np.ndarray], *, legend: bool = True, columns: int = 4
) -> None:
    """Plot lines over time t (samples,) [s], with a legend if there are at most `_MAX_LEGEND`."""
    for name, x in lines.items():
        axis.plot(t, x, label=name)
    if legend and len(lines) <= _MAX_LEGEND:
        axis.legend(fontsize="small", ncols=columns)


def label_time(axes: Any) -> None:
    """Label the time axis of the lowest axes of a column."""
    for axis in np.atleast_1d(np.atleast_1d(axes)[-1]):
        axis.set_xlabel("t [s]")


def share_scale(axes: Any) -> None:
    """Set the limits of several three-dimensional axes to one common cube that contains all their data."""
    boxes = np.array([[axis.get_xlim(), axis.get_ylim(), axis.get_zlim()] for axis in axes])
    low, high = boxes[..., 0].min(axis=0), boxes[..., 1].max(axis=0)
    half = 0.5 * _MARGIN * float((high - low).max())
    middle = 0.5 * (low + high)
    for axis in axes:
        for k, name in enumerate("xyz"):
            getattr(axis, f"set_{name}lim")(middle[k] - half, middle[k] + half)
        axis.set_box_aspect((1.0, 1.0, 1.0), zoom=1.4)
