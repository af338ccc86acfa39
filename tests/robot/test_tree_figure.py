"""The graph of a robot's tree: a box for each link, a line for each joint, and no overlap of boxes and labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linkwork as lw

plt = pytest.importorskip("matplotlib.pyplot")


def _overlap(a, b) -> bool:
    return a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1


def test_plot_tree_draws_links_joints_and_constraints(drawn):
    for name in drawn(["arm7_gripper", "quadruped", "fourbar", "humanoid", "delta"]):
        robot = lw.load(name)
        axes = robot.plot_tree()
        texts = [text.get_text() for text in axes.texts if text.get_text()]
        assert [text for text in texts if text in {link.name for link in robot.links}]
        for link in robot.links:
            assert link.name in texts
        for joint in robot.joints:
            (label,) = (text for text in texts if text.split("\n")[0] == joint.name)
            assert joint.type.type_name() in label
        assert {c.name for c in robot.tree.constraints} <= set(texts)
        assert len(axes.lines) == len(robot.links)  # each link has a line to its parent or the world
        # boxes of links stand at their lines' ends
        ends = {(line.get_xdata()[-1], line.get_ydata()[-1]) for line in axes.lines}
        boxes = {text.get_position() for text in axes.texts if text.get_text() in {x.name for x in robot.links}}
        assert len(boxes) == len(robot.links) and np.allclose(sorted(boxes), sorted(ends))


def test_texts_drawn_by_plot_tree_do_not_overlap():
    axes = lw.load("humanoid").plot_tree()
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not [pair for pair in itertools.combinations(boxes, 2) if _overlap(*pair)]
    page = axes.figure.bbox
    assert all(page.x0 <= b.x0 and b.x1 <= page.x1 and page.y0 <= b.y0 and b.y1 <= page.y1 for b in boxes)


def test_plot_tree_draws_on_the_users_axes_and_limits_its_size():
    robot = lw.load("double_pendulum")
    axes = plt.figure().add_subplot()
    assert robot.plot_tree(axes) is axes and len(axes.lines) == len(robot.links)
    links = "".join(f'<link name="l{k}"/>' for k in range(501))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/></joint>' for k in range(500)
    )
    long = lw.Robot.from_urdf_string(f'<robot name="long">{links}{joints}</robot>')
    with pytest.raises(ValueError, match="plot_tree: robot: expected at most 500 links"):
        long.plot_tree()
