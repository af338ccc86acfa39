"""Points, directions and frames added to robots: attributes, refusals, and edits that keep them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.model.tree_attachments import with_direction, with_frame, with_point
from linkwork.spatial import Pose
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.trees import TREES, state

OFFSET = lw.pose((0.1, -0.2, 0.3), rpy=(0.4, -0.3, 1.0))


@pytest.fixture(scope="module")
def robot():
    with_frames = lw.load("arm7").with_frame("camera", "hand", OFFSET).with_frame("goal", "world", (1, 0, 0))
    with_frames = with_frames.with_point("tip", "hand", (0, 0, 0.1)).with_point("spot", "world", (0.5, 0, 0))
    return with_frames.with_direction("approach", "camera", (0, 3, 4)).with_direction("up", "world", (0, 0, 1))


def test_points_and_directions_of_a_robot_are_listed_with_frame_and_vector(robot):
    assert [point.name for point in robot.points] == ["tip", "spot"]
    tip, approach = robot.points["tip"], robot.directions["approach"]
    assert (tip.frame, tip.position.tolist()) == ("hand", [0.0, 0.0, 0.1])
    assert (approach.frame, approach.vector.tolist()) == ("camera", [0.0, 0.6, 0.8])
    assert repr(tip) == "<PlacedPoint 'tip': at (0, 0, 0.1) in 'hand'>"
    assert repr(approach) == "<PlacedDirection 'approach': along (0, 0.6, 0.8) in 'camera'>"
    for array in (tip.position, approach.vector):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert tip == lw.load("arm7").with_point("tip", "hand", (0, 0, 0.1)).points[0] != robot.points["spot"]
    assert hash(tip) == hash(robot.points[0]) != hash(robot.points[1])
    with pytest.raises(UnknownNameError, match="no point named 'tipp'; did you mean 'tip'"):
        robot.points["tipp"]
    assert lw.load("arm7").points == () == lw.load("arm7").directions
    lines = str(robot).splitlines()
    assert any("tip" in line and "point" in line and "(0, 0, 0.1) in hand" in line for line in lines)
    assert any("approach" in line and "direction" in line for line in lines)
    assert any("goal" in line and line.rstrip().endswith("frame") for line in lines)
    assert "tip" in robot._repr_html_()


def test_frames_added_to_a_robot_are_not_links(robot):
    """`linkwork.Link(frames=...)` gives the same robot."""
    assert robot.frames[-2:] == ("camera", "goal")
    assert not {"camera", "goal"} & {link.name for link in robot.links}
    assert (robot.link("camera").parent, robot.link("camera").body) == ("hand", "flange")
    assert (robot.link("goal").parent, robot.link("goal").joint) == ("world", None)
    assert robot.fixed_joints == lw.load("arm7").fixed_joints and robot.mass == lw.load("arm7").mass
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.083, 0.083, 0.0)}
    hinge = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="rod")
    plain = lw.Robot.build("pendulum", lw.Link("rod", **rod), hinge)
    built = lw.Robot.build("pendulum", lw.Link("rod", **rod, frames={"end": OFFSET}), hinge)
    assert plain.with_frame("end", "rod", OFFSET) == built and hash(plain.with_frame("end", "rod", OFFSET)) == hash(
        built
    )
    q = robot.random_configuration(seed=0)
    assert np.allclose(robot.pose(q, "camera"), robot.pose(q, "hand") @ OFFSET, atol=1e-15)
    twice = robot.with_frame("lens", "camera", Pose.of(OFFSET.tolist()))
    assert np.allclose(twice.pose(q, "lens", relative_to="hand"), OFFSET @ OFFSET, atol=1e-15)
    assert np.array_equal(robot.with_frame("same", "hand").pose(q, "same"), robot.pose(q, "hand"))
    force, J = robot.gravity_force(q, wrenches={"camera": np.ones(6)}), robot.jacobian(q, "camera")
    assert np.allclose(force, robot.gravity_force(q) - J.T @ np.ones(6), atol=1e-13)
    for function in ("mass_matrix", "gravity_force"):  # a massless frame changes nothing
        assert np.array_equal(getattr(robot, function)(q), getattr(lw.load("arm7"), function)(q))


def test_robots_with_points_and_directions_compare_and_pickle_by_value(robot):
    plain = lw.load("arm7")
    assert robot != plain and len({robot, plain, pickle.loads(pickle.dumps(robot))}) == 2
    unpickled = pickle.loads(pickle.dumps(robot))
    assert unpickled == robot and unpickled.points == robot.points and unpickled.directions == robot.directions
    assert plain.with_point("a", "hand") != plain.with_point("b", "hand") != plain.with_point("b", "wrist")
    assert plain.with_direction("a", "hand", (0, 0, 1)) == plain.with_direction("a", "hand", (0, 0, 7))


def marker_positions(robot, q, **view: Any):
    names = [point.name for point in robot.points]
    f = Direct(robot.tree)
    directions = tuple(direction.name for direction in robot.directions)
    return [
        f.point_position(q, tuple(names), **view),
        f.direction_vector(q, directions, expressed_in=view.get("expressed_in", "world")),
    ]


def test_edits_of_a_robot_keep_positions_of_points_and_directions(robot):
    q = robot.random_configuration(seed=0, size=3)
    positions, marks = marker_positions(robot, q), (robot.tree.points, robot.tree.directions)
    for edited in (
        robot.with_gravity((0, 0, 0)),
        robot.with_inertia("wrist", mass=2.0),
        robot.with_payload("payload", "camera", 1.0),
        robot.with_joint(robot.joint("elbow").with_damping(3.0)),
        robot.with_couplings({"wrist_roll": ("shoulder_pan", 1.0, 0.0)}),
        robot.with_frame("another", "camera"),
    ):
        assert (edited.tree.points, edited.tree.directions) == marks
        if edited.nq == robot.nq:
            for actual, expected in zip(marker_positions(edited, q), positions, strict=True):
                assert_close(actual, expected, 1e-15)
    locked = robot.with_locked_joints({"elbow": -1.2, "wrist_roll": 0.3})
    q = locked.random_configuration(seed=1, size=3)
    full = np.insert(np.insert(q, 3, -1.2, axis=1), 6, 0.3, axis=1)
    for actual, expected in zip(marker_positions(locked, q), marker_positions(robot, full), strict=True):
        assert_close(actual, expected, 1e-14)


@pytest.mark.parametrize("root", ["hand", "camera", "goal", "world", "forearm_distal"])
def test_changing_the_root_of_a_robot_keeps_points_on_their_bodies(root, robot):
    """Markers of the world move to the body that was fixed to it."""
    rerooted = robot.with_root(root)
    q = robot.random_configuration(seed=0, size=3)
    assert [point.name for point in rerooted.points] == ["tip", "spot"] and len(rerooted.directions) == 2
    base = {"relative_to": "base", "expressed_in": "base"}
    for actual, expected in zip(marker_positions(rerooted, q, **base), marker_positions(robot, q, **base), strict=True):
        assert_close(actual, expected, 1e-13)
    assert rerooted.points["tip"].frame == "hand"
    assert rerooted.points["spot"].frame == ("world" if root == "world" else "goal" if root == "goal" else "base")
    for name in ("camera", "goal"):
        assert_close(
            Direct(rerooted.tree).pose(q, name, relative_to="base"),
            Direct(robot.tree).pose(q, name, relative_to="base"),
            1e-13,
        )
        assert rerooted.link(name).parent in ("hand", "base", "world")
    back = rerooted.with_root("base")
    for actual, expected in zip(marker_positions(back, q, **base), marker_positions(robot, q, **base), strict=True):
        assert_close(actual, expected, 1e-13)
    assert rerooted.bodies[-1:] != ("goal",) and "goal" not in rerooted.bodies


def test_changing_the_root_of_a_floating_robot_keeps_points_on_their_bodies():
    robot = lw.load("quadruped", floating_base=True)
    foot = robot.bodies[-1]
    robot = robot.with_point("spot", "world", (1, 2, 3)).with_point("toe", foot, (0, 0, -0.1))
    rerooted = robot.with_root(foot)
    assert rerooted.tree.points == robot.tree.points
    q = rerooted.random_configuration(seed=0, size=2)
    assert_close(Direct(rerooted.tree).point_position(q, "spot"), np.broadcast_to([1.0, 2.0, 3.0], (2, 3)), 1e-15)


@pytest.mark.parametrize("name", ["rerooted", "coupled_0", "mixed_1"])
def test_points_on_trees_of_all_joint_types_are_at_their_stated_positions(name):
    tree = TREES[name]
    marked = with_point(tree, "p", tree.frames[-1].name, (0.1, 0.2, 0.3))
    marked = with_direction(with_frame(marked, "f", "world", OFFSET), "u", "f", (1, 1, 0))
    q, _, _ = state(tree)
    X = Direct(tree).pose(q, tree.frames[-1].name)
    expected = X[:, :3, :3] @ [0.1, 0.2, 0.3] + X[:, :3, 3]
    assert_close(Direct(marked).point_position(q, "p"), expected, 1e-14)
    u = OFFSET[:3, :3] @ [np.sqrt(0.5), np.sqrt(0.5), 0.0]
    assert_close(Direct(marked).direction_vector(q, "u"), np.broadcast_to(u, (len(q), 3)), 1e-14)


@pytest.mark.light
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda r: r.with_point("p", "hnd"), UnknownNameError, "no frame named 'hnd'; did you mean 'hand'"),
        (lambda r: r.with_point("p", "tip"), UnknownNameError, "it is a point in frame 'hand'"),
        (lambda r: r.with_direction("u", 3, (0, 0, 1)), UnknownNameError, "no frame named 3"),
        (lambda r: r.with_frame("f", "nowhere"), UnknownNameError, "no frame named 'nowhere'"),
        (lambda r: r.with_point("tip", "hand"), ValueError, "already has a point 'tip'"),
        (lambda r: r.with_point("hand", "hand"), ValueError, "already has a frame 'hand'"),
        (lambda r: r.with_point("up", "hand"), ValueError, "already has a direction 'up'"),
        (lambda r: r.with_frame("up", "hand"), ValueError, "already has a direction 'up'"),
        (lambda r: r.with_frame("tip", "hand"), ValueError, "already has a point 'tip'"),
        (lambda r: r.with_frame("world", "hand"), ValueError, "'world'"),
        (lambda r: r.with_direction("hand.z", "hand", (0, 0, 1)), ValueError, "axis of a frame of this name"),
        (lambda r: r.with_direction("lens.z", "hand", (0, 0, 1)).with_frame("lens", "hand"), ValueError, "lens.z"),
        (lambda r: r.with_payload("tip", "hand", 1.0), ValueError, "point 'tip'"),
        (lambda r: r.with_point(" ", "hand"), ValueError, "expected a name"),
        (lambda r: r.with_point(3, "hand"), ValueError, "expected a name"),
        (lambda r: r.with_point("p", "hand", (0, 0)), ValueError, r"position: expected three numbers \[m\]"),
        (lambda r: r.with_point("p", "hand", (0, 0, np.nan)), ValueError, "got .*nan"),
        (lambda r: r.with_point("p", "hand", (0, 0, 1e30)), ValueError, "at most 1e"),
        (lambda r: r.with_point("p", "hand", "abc"), ValueError, "expected three numbers"),
        (lambda r: r.with_direction("u", "hand", (0, 0, 0)), ValueError, "not all zero"),
        (lambda r: r.with_direction("u", "hand", (0, 0, np.inf)), ValueError, "finite numbers"),
        (lambda r: r.with_direction("u", "hand", (0, 1)), ValueError, "three numbers"),
        (lambda r: r.with_frame("f", "hand", np.diag([1, 1, -1, 1])), ValueError, "pose: expected a pose"),
        (lambda r: r.with_frame("f", "hand", 2 * np.eye(4)), ValueError, "pose: expected a pose"),
        (lambda r: r.with_frame("f", "hand", (0, np.nan, 0)), ValueError, "pose: expected a pose"),
        (lambda r: r.with_frame("f", "hand", (0, 1e30, 0)), ValueError, "at most 1e"),
    ],
)
def test_invalid_points_directions_and_frames_are_refused(call, kind, message, robot):
    with pytest.raises(kind, match=message):
        call(robot)
