"""Shared parts of plots: labels with units, lines with legends, one scale for several axes."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.plotting import (
    COLORS,
    GREY,
    add_legend,
    add_notes,
    label_time,
    line_style,
    plot_lines,
    quantity_label,
    share_scale,
)
from linkwork.model.coordinate_names import units_of

matplotlib = pytest.importorskip("matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")


def test_axis_labels_show_each_unit_once() -> None:
    assert quantity_label("q", ("rad", "m", "rad", "1")) == "q [rad, m]"
    assert quantity_label("q", ("1",)) == quantity_label("q", ()) == "q"
    arm = lw.load("arm7_gripper")
    for which, count, units in (("q", arm.nq, "rad m"), ("v", arm.nv, "rad/s m/s"), ("jerk", arm.nv, "rad/s³ m/s³")):
        result = units_of(arm.tree, which)  # type: ignore[arg-type]
        assert len(result) == count and set(result) == set(units.split())


def test_plot_legends_are_drawn_for_few_lines_and_only_the_last_axes_have_a_time_label() -> None:
    axes = plt.subplots(2, 2)[1]
    t = np.linspace(0.0, 1.0, 5)
    plot_lines(axes[0, 0], t, {"one": t, "two": t**2})
    plot_lines(axes[0, 1], t, {str(k): k * t for k in range(19)})
    plot_lines(axes[1, 1], t, {str(k): k * t for k in range(18)})
    plot_lines(axes[1, 0], t, {"one": t}, legend=False)
    assert [x.get_text() for x in axes[0, 0].get_legend().get_texts()] == ["one", "two"]
    assert axes[0, 1].get_legend() is None and axes[1, 0].get_legend() is None
    assert len(axes[1, 1].get_legend().get_texts()) == 18
    bare = plt.subplots()[1]
    add_legend(bare)
    assert bare.get_legend() is None
    label_time(axes)
    assert [axis.get_xlabel() for axis in axes.ravel()] == ["", "", "t [s]", "t [s]"]


def test_three_dimensional_axes_of_a_figure_have_equal_limits() -> None:
    axes = [plt.figure().add_subplot(projection="3d") for _ in range(2)]
    axes[0].plot([0.0, 4.0], [0.0, 1.0], [0.0, 1.0])
    axes[1].plot([0.0, 1.0], [-1.0, 0.0], [0.0, 2.0])
    share_scale(axes)
    limits = [(axis.get_xlim(), axis.get_ylim(), axis.get_zlim()) for axis in axes]
    assert limits[0] == limits[1]
    sizes = [high - low for low, high in limits[0]]
    assert np.ptp(sizes) < 1e-12 and sizes[0] >= 4.0
    (_, right), (bottom, _), (_, top) = limits[0]
    assert right >= 4.0 and bottom <= -1.0 and top >= 2.0


@pytest.mark.parametrize("size", [(0.22, 0.01, 0.005), (0.01, 0.22, 0.005)], ids=["wide", "tall"])
def test_labels_of_flat_mechanisms_are_in_the_picture_and_clear_of_tick_labels(size) -> None:
    """The mechanism moves in the plane of x and y, and is seen along z."""
    bar = lw.Robot.build(
        "bar",
        lw.Link("base"),
        lw.Link("bar", lw.shapes.Box(size), mass=1.0),
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="hinge", parent="base", child="bar"),
    )
    axes = bar.plot([0.05])
    figure = axes.figure
    figure.set_dpi(60.0)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    box = figure.bbox
    labels = [axis.label.get_window_extent(renderer) for axis in (axes.xaxis, axes.yaxis)]
    ticks = []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        ticks += [t.label1.get_window_extent(renderer) for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
    assert len(ticks) > 4 and axes.get_zlabel() == ""
    for extent in (*labels, *ticks):
        assert box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 and extent.y1 <= box.y1
    assert not any(label.overlaps(tick) for label in labels for tick in ticks)
    plt.close(figure)


# Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as seen without cones for long, medium and short waves
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
RGB_TO_XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def _lab(linear: np.ndarray) -> np.ndarray:
    """Return CIE L*a*b* of linear RGB (n, 3)."""
    xyz = np.clip(linear, 0.0, 1.0) @ np.transpose(RGB_TO_XYZ) / np.sum(RGB_TO_XYZ, axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def test_plot_colors_are_distinguishable_with_color_blindness() -> None:
    rgb = np.array([matplotlib.colors.to_rgb(color) for color in (*COLORS, "white")])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    for kind, matrix in {"none": np.eye(3), **BLINDNESS}.items():
        lab = _lab(linear @ np.transpose(matrix))
        distances = np.linalg.norm(lab[:, None] - lab[None], axis=-1)[np.triu_indices(len(lab), 1)]
        assert distances.min() > 9.0, (kind, distances.min())
    styles = {(line_style(k)["color"], str(line_style(k)["linestyle"])) for k in range(4 * len(COLORS))}
    assert len(styles) == 4 * len(COLORS)


def test_plots_shade_limits_that_lie_near_a_curve() -> None:
    axis = plt.subplots()[1]
    t = np.linspace(0.0, 1.0, 11)
    lines = {"a": t, "b": 0.5 * t, "c": np.full(11, np.nan)}
    plot_lines(axis, t, lines, lower=np.array([-np.inf, -5.0, 0.0]), upper=np.array([1.1, 1.1, 0.6]))
    drawn = [line for line in axis.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in drawn] == [1.1]  # b ends far below it; of c nothing is known
    assert drawn[0].get_color() == COLORS[0] and len(axis.collections) == 1
    low, high = axis.collections[0].get_datalim(axis.transData).intervaly
    assert low == pytest.approx(1.1) and high > 1.1 and axis.get_ylim()[1] >= high
    both = plt.subplots()[1]
    plot_lines(both, t, {"a": t, "b": t}, lower=np.array([-np.inf] * 2), upper=np.array([1.1, 1.1]))
    (line,) = (line for line in both.lines if line.get_linestyle() == "--")
    assert line.get_color() == GREY  # a limit of both


def test_plots_draw_names_with_dollar_signs_and_underscores_literally() -> None:
    axis = plt.subplots(layout="constrained")[1]
    names = ["_hidden", "$x$", r"\$a$", "_child", "a\nb"]
    plot_lines(axis, np.arange(2.0), {name: np.arange(2.0) for name in names})
    texts = axis.get_legend().get_texts()
    shown = [text._preprocess_math(text.get_text()) for text in texts]
    assert [text for text, _ in shown] == [*names[:4], r"a\nb"] and not any(is_math for _, is_math in shown)


def test_notes_are_in_the_upper_left_corner_of_axes_in_space_once_each() -> None:
    axes = plt.figure().add_subplot(projection="3d")
    add_notes(axes, [])
    assert not axes.texts
    add_notes(axes, ["a mesh is missing"])
    add_notes(axes, ["a mesh is missing", "a box is large"])
    (notes,) = axes.texts
    assert notes.get_text() == "a mesh is missing\na box is large"
    corner = notes.get_transform().transform(notes.get_position())
    np.testing.assert_allclose(corner, axes.transAxes.transform((0.0, 1.0)))
