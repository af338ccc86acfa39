"""Collision shapes of the bundled robots: every solid link has one, and none touch in the rest configuration."""

from __future__ import annotations

import pytest

import linkwork as lw
from linkwork.collision.algorithms import placed_shapes, shape_pairs
from linkwork.geometry import signed_distance

# Links that reach into each other around a joint between them, and a wheel that stands under its frame.
BY_DESIGN = {
    "leg": {("hip_bracket", "thigh"), ("shin", "heel_spring")},
    "differential_drive": {("chassis", "castor_wheel")},
}


@pytest.mark.slow(every=5)
def test_bundled_robots_at_rest_touch_only_where_designed(drawn):
    for name in drawn(lw.robots.names()):
        robot = lw.load(name)
        placed = placed_shapes(robot.tree, robot.neutral().tolist())
        links = [shape.split("/")[0] for shape in robot.collision_shapes]
        visible_frames = {frame.name for frame in robot.tree.frames if frame.visuals}
        inside = {"left_hip_roll_link", "right_hip_roll_link"} if name == "humanoid" else set()  # the pelvis
        assert set(links) == visible_frames - inside, name
        touching = set()
        for i, j in shape_pairs(robot.tree, robot.collision_pairs):
            if signed_distance(placed[i].row.solid, placed[j].row.solid).distance < 1e-9:
                touching.add((links[i], links[j]))
        assert touching == BY_DESIGN.get(name, set()), name


def test_links_connected_by_a_loop_joint_are_not_a_collision_pair() -> None:
    """The ends of a loop's joint touch by design, as those of a tree's do."""
    for name, pair in (("fourbar", {"coupler", "rocker"}), ("delta", {"platform", "rod_1a"})):
        assert all({*looked_at} != pair for looked_at in lw.load(name).collision_pairs)
