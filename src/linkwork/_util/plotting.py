"""matplotlib axes and the shared style of plots: colours, lines over time, axis labels, legends and shaded limits.

The colours are those of Okabe and Ito (2008), "Color universal design", which people with colour-blindness tell apart.
After the last colour the line style changes.  Names of robots' joints and frames are shown as they are: matplotlib
does not read ``$`` in them as mathematics.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any, NoReturn

import numpy as np

from linkwork._util.lazy_imports import optional_module
from linkwork._util.messages import escaped, label

__all__ = [
    "BLUE",
    "COLORS",
    "FRAME_COLORS",
    "GREEN",
    "GREY",
    "ORANGE",
    "SHARED_ZOOM",
    "VERMILION",
    "Panels",
    "add_legend",
    "add_notes",
    "equal_scales",
    "label_time",
    "line_style",
    "lines_by_unit",
    "mark_times",
    "new_axes",
    "plot_lines",
    "plot_text",
    "pyplot",
    "quantity_label",
    "shade_limits",
    "share_scale",
    "space_axes",
]

BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SKY, ORANGE, BLACK, GREY = "#56b4e9", "#e69f00", "#333333", "#8c8c8c"
COLORS = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, BLACK)
FRAME_COLORS = (VERMILION, GREEN, BLUE)  # axes x, y, z

SHARED_ZOOM = 1.4  # of three-dimensional axes with one scale
_DASHES: tuple[Any, ...] = ("-", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))  # "--" is the style of limits
_LINE_WIDTH = 1.5  # [points]
_MAX_LEGEND = 18  # lines above which there is no legend: 12 joints and a floating base have one
_LEGEND_CHARACTER, _HANDLE = 4.6, 34.0  # [points] mean width of a character, and width of a handle with its gaps
_BESIDE_LEGEND = 60.0  # [points] width of a figure beside its legend
_MARGIN = 1.05  # extent of a shared scale, relative to the data
_NEAR = 0.25  # limits at most this far from their line are shown, relative to the range of the axis
_STRIP = 0.06  # height of the strip that is shaded beyond a limit, relative to the axis
_CHARACTER = 3.7  # [points] mean width of a character of a note
_NOTES = "linkwork notes"  # name of the text object
_MAX_INTERVALS = 5  # between ticks of the longest axis in space
_LABEL, _Z_LABEL, _TICK = 4.0, 8.0, 3.5  # [points] from ticks to labels of x and y, and of z, and from axes to ticks
_LABEL_OFFSET, _TICK_OFFSET = 21.0, 8.0  # [points] that matplotlib adds to these, in units of the box across the axis
_OWN_LABEL = re.compile(r"_child\d+")  # of artists without a label
_ROOM = (0.01, 0.02, 0.92, 0.96)  # of axes in space: matplotlib's layout does not count the label of z
_FLAT_ROOM = (0.08, 0.07, 0.87, 0.89)  # of axes seen along one of their directions: nor those of the others
_GRID = {"color": "0.92", "linewidth": 0.6}


def pyplot() -> Any:
    """Return matplotlib.pyplot.  Raises ImportError if matplotlib is not installed."""
    return optional_module("matplotlib.pyplot", "plot needs matplotlib", "figures")


class Panels(np.ndarray):
    """Array of the axes of one figure: ``panels.figure.savefig("run.png")`` writes it, as for single axes."""

    @staticmethod
    def of(axes: Any) -> Any:
        """Return an array or a list of axes as panels, and single axes unchanged."""
        return np.asarray(axes, dtype=object).view(Panels) if np.ndim(axes) else axes

    @property
    def figure(self) -> Any:
        """The figure of the axes."""
        return self.flat[0].get_figure()

    def __getattr__(self, name: str) -> NoReturn:
        message = f"an array of axes has no attribute {name!r}; its figure has: panels.figure.savefig('run.png')"
        raise AttributeError(message, name=name)


def new_axes(rows: int, size: tuple[float, float], columns: int = 1) -> Any:
    """Return the axes of a new figure, one below the other: (rows,), or (rows, columns)."""
    shape = {"sharex": True, "figsize": size, "layout": "constrained"}
    axes = pyplot().subplots(rows, columns, **shape)[1]
    for axis in np.ravel(axes):
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color("0.6")
        axis.tick_params(color="0.6", labelsize="small")
        axis.grid(axis="y", **_GRID)
        axis.set_axisbelow(True)
        axis.margins(x=0.01)
    return Panels.of(axes)


def space_axes() -> Any:
    """Return three-dimensional axes, labelled in metres."""
    figure = pyplot().figure(figsize=(7.0, 7.0), layout="constrained")
    figure.get_layout_engine().set(rect=_ROOM)
    axes = figure.add_subplot(projection="3d")
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    axes.tick_params(labelsize="small")
    axes.zaxis.labelpad = _Z_LABEL
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((0.97, 0.97, 0.97, 1.0))
        axis._axinfo["grid"].update(color="0.88", linewidth=0.6)
    return axes


def plot_text(name: str) -> str:
    r"""Return a name as matplotlib shows it literally: shortened, escaped, and with ``\$`` for each ``$``."""
    return label(name).replace("$", r"\$")


def add_notes(axes: Any, notes: Iterable[str]) -> None:
    """Add notes in the upper left corner of axes in space; a note that is there already is not repeated."""
    known = next((text for text in axes.texts if text.get_gid() == _NOTES), None)
    before = [] if known is None else known.get_text().split("\n")
    columns = max(int(72.0 * axes.figure.get_figwidth() * axes.get_position().width / _CHARACTER), 20)
    lines = [line for note in notes for line in wrap(escaped(note).replace("$", r"\$"), columns)]
    if not lines:
        return
    if known is None:
        style = {"fontsize": "x-small", "color": VERMILION, "transform": axes.transAxes, "va": "top", "gid": _NOTES}
        known = axes.text2D(0.0, 1.0, "", **style)
        known.set_in_layout(False)
    known.set_text("\n".join(dict.fromkeys([*before, *lines])))


def quantity_label(quantity: str, units: Iterable[str]) -> str:
    """Return the label of an axis: the quantity and its units, each once, as in "q [rad, m]"."""
    named = [unit for unit in dict.fromkeys(units) if unit != "1"]
    return f"{quantity} [{', '.join(named)}]" if named else quantity


def lines_by_unit(
    quantity: str, names: Sequence[str], units: Sequence[str], values: np.ndarray
) -> list[tuple[str, dict[str, np.ndarray], list[int]]]:
    """Return the label, the lines and their columns of ``values`` (samples, n) for each unit.

    ``units`` has the unit of each column; without units, all lines are together.
    """
    units = units or [""] * len(names)
    groups = {unit: [k for k, of_line in enumerate(units) if of_line == unit] for unit in units}
    return [
        (quantity_label(quantity, [unit or "1"]), {names[k]: values[:, k] for k in columns}, columns)
        for unit, columns in groups.items()
    ]


def line_style(k: int) -> dict[str, Any]:
    """Return the colour, line style and width of line k."""
    dashes = _DASHES[k // len(COLORS) % len(_DASHES)]
    return {"color": COLORS[k % len(COLORS)], "linestyle": dashes, "linewidth": _LINE_WIDTH}


def plot_lines(
    axis: Any,
    t: np.ndarray,
    lines: Mapping[str, np.ndarray],
    *,
    legend: bool = True,
    columns: int = 4,
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
) -> None:
    """Plot lines over time t (samples,) [s], with a legend if there are at most `_MAX_LEGEND`.

    ``lower`` and ``upper`` (lines,) are limits, which are shaded.
    """
    for k, (name, x) in enumerate(lines.items()):
        axis.plot(t, x, label=plot_text(name), **line_style(k))
    if lower is not None and upper is not None:
        shade_limits(axis, [*lines.values()], lower, upper)
    if legend and len(lines) <= _MAX_LEGEND:
        add_legend(axis, columns)


def add_legend(axis: Any, columns: int = 4) -> None:
    """Add a legend of all labelled lines, above the axes if the figure arranges its axes by itself."""
    handles, labels = _labelled(axis)
    if not handles:
        return
    above = {"loc": "lower left", "bbox_to_anchor": (0.05, 1.0), "borderaxespad": 0.3}
    position = above if axis.figure.get_layout_engine() is not None else {"loc": "best"}
    spec = axis.get_subplotspec()
    room = 72.0 * axis.figure.get_figwidth() / (1 if spec is None else spec.get_gridspec().ncols) - _BESIDE_LEGEND
    fitting = int(room / (_HANDLE + _LEGEND_CHARACTER * max(map(len, labels))))  # long names need wide columns
    shape = {
        "ncols": max(min(columns, len(handles), fitting), 1),
        "fontsize": "small",
        "frameon": False,
        "handlelength": 1.8,
    }
    with warnings.catch_warnings():  # labels that begin with an underscore are names, too
        warnings.filterwarnings("ignore", "An artist whose label starts with an underscore")
        axis.legend(handles, labels, **shape, **position)


def _labelled(axis: Any) -> tuple[list[Any], list[str]]:
    """Return the lines and points with labels other than matplotlib's own ("_child0"), each label once."""
    handles = [x for x in (*axis.lines, *axis.collections) if not _OWN_LABEL.fullmatch(str(x.get_label()))]
    known = {str(x.get_label()): x for x in reversed(handles) if x.get_label()}
    ordered = dict(reversed(known.items()))
    return [*ordered.values()], [*ordered]


def shade_limits(axis: Any, lines: Sequence[np.ndarray], lower: np.ndarray, upper: np.ndarray) -> None:
    """Draw a dashed line at each limit that a curve comes near to, and shade a strip beyond the limit.

    ``lower``, ``upper`` (n,) are the limits of n curves ``lines``, in the order of their colours.  A limit that several
    curves share is grey.
    """
    bottom, top = axis.get_ylim()
    room = _NEAR * max(top - bottom, 1e-12)
    limits: dict[tuple[float, int], list[Any]] = {}
    for k, x in enumerate(lines):
        smallest, largest = np.fmin.reduce(x, initial=np.inf), np.fmax.reduce(x, initial=-np.inf)
        for limit, side, gap in ((lower[k], -1, smallest - lower[k]), (upper[k], 1, upper[k] - largest)):
            if np.isfinite(limit) and gap < room:
                limits.setdefault((float(limit), side), []).append(COLORS[k % len(COLORS)])
    if not limits:
        return
    values = [limit for limit, _ in limits]
    strip = _STRIP * (max(top, *values) - min(bottom, *values))
    for (limit, side), colors in limits.items():
        color = colors[0] if len(colors) == 1 else GREY
        ends = sorted((limit, limit + side * strip))
        across = axis.get_yaxis_transform()
        axis.fill_between([0.0, 1.0], *ends, transform=across, color=color, alpha=0.18, linewidth=0.0, zorder=1)
        axis.axhline(limit, color=color, linewidth=0.8, linestyle="--", zorder=1)
        bottom, top = min(bottom, ends[0]), max(top, ends[1])
    axis.set_ylim(bottom, top)


def mark_times(axis: Any, times: Iterable[float]) -> None:
    """Draw a thin vertical line behind the curves at each time [s], such as those of events and knots."""
    across = axis.get_xaxis_transform()
    axis.vlines([*times], 0.0, 1.0, transform=across, color="0.85", linewidth=0.6, zorder=0)


def label_time(axes: Any, label: str = "t [s]") -> None:
    """Label the time axis of the bottom axes in a column of axes."""
    for axis in np.atleast_1d(np.atleast_1d(axes)[-1]):
        axis.set_xlabel(label)


def equal_scales(axes: Any) -> None:
    """Set equal scales of three-dimensional axes, with as many ticks on each axis as there is room for."""
    pyplot()
    from matplotlib.ticker import MaxNLocator

    axes.set_aspect("equal")
    extents = [high - low for low, high in (getattr(axes, f"get_{x}lim")() for x in "xyz")]
    for axis, extent in zip((axes.xaxis, axes.yaxis, axes.zaxis), extents, strict=True):
        if len(axis.get_ticklocs()):  # an axis along the view has none
            count = max(round(_MAX_INTERVALS * extent / max(extents)), 1)
            axis.set_major_locator(MaxNLocator(count, steps=[1, 2, 5, 10]))
    _move_labels_of_flat_view(axes, extents)


def _move_labels_of_flat_view(axes: Any, extents: Sequence[float]) -> None:
    """Place the labels of three-dimensional axes in a view along one axis, which has no ticks, as in a square picture.

    matplotlib places labels at a fraction of the box's width, so labels overlap beside a narrow box.
    """
    shown = [k for k, axis in enumerate((axes.xaxis, axes.yaxis, axes.zaxis)) if len(axis.get_ticklocs())]
    if len(shown) != 2:
        return
    engine = axes.figure.get_layout_engine()
    if engine is not None and engine.get().get("rect") == _ROOM:
        engine.set(rect=_FLAT_ROOM)
    largest = max(extents[k] for k in shown)
    for k, across in (shown, shown[::-1]):
        factor = largest / extents[across]
        axis = (axes.xaxis, axes.yaxis, axes.zaxis)[k]
        axis.labelpad = factor * ((_LABEL, _LABEL, _Z_LABEL)[k] + _LABEL_OFFSET) - _LABEL_OFFSET
        axis.set_tick_params(pad=factor * (_TICK + _TICK_OFFSET) - _TICK_OFFSET)


def share_scale(axes: Any) -> None:
    """Set the limits of several three-dimensional axes to one common cube that contains all their data."""
    boxes = np.array([[axis.get_xlim(), axis.get_ylim(), axis.get_zlim()] for axis in axes])
    low, high = boxes[..., 0].min(axis=0), boxes[..., 1].max(axis=0)
    half = 0.5 * _MARGIN * float((high - low).max())
    middle = 0.5 * (low + high)
    for axis in axes:
        for k, name in enumerate("xyz"):
            getattr(axis, f"set_{name}lim")(middle[k] - half, middle[k] + half)
        axis.set_box_aspect((1.0, 1.0, 1.0), zoom=SHARED_ZOOM)
