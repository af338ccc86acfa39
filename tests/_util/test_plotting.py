"""Shared parts of plots: labels with units, lines with legends, one scale for several axes."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.plotting import label_time, plot_lines, quantity_label, share_scale
from linkwork.model.coordinate_names import units_of

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402


def test_labels_have_each_unit_once() -> None:
    assert quantity_label("q", ("rad", "m", "rad", "1")) == "q [rad, m]"
    assert quantity_label("q", ("1",)) == quantity_label("q", ()) == "q"
    arm = lw.load("arm7_gripper")
    for which, count, units in (("q", arm.nq, "rad m"), ("v", arm.nv, "rad/s m/s"), ("jerk", arm.nv, "rad/s³ m/s³")):
        found = units_of(arm.tree, which)  # type: ignore[arg-type]
        assert len(found) == count and set(found) == set(units.split())


def test_a_legend_names_few_lines_and_the_last_axes_have_the_time() -> None:
    axes = plt.subplots(2, 2)[1]
    t = np.linspace(0.0, 1.0, 5)
    plot_lines(axes[0, 0], t, {"one": t, "two": t**2})
    plot_lines(axes[0, 1], t, {str(k): k * t for k in range(13)})
    plot_lines(axes[1, 0], t, {"one": t}, legend=False)
    assert [x.get_text() for x in axes[0, 0].get_legend().get_texts()] == ["one", "two"]
    assert axes[0, 1].get_legend() is None and axes[1, 0].get_legend() is None
    label_time(axes)
    assert [axis.get_xlabel() for axis in axes.ravel()] == ["", "", "t [s]", "t [s]"]
    plt.close("all")


def test_axes_in_space_share_a_cube_around_all() -> None:
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
    plt.close("all")
