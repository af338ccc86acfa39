"""Path planning among obstacles: configuration spaces, free and reproducible paths, and failures."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.collision.algorithms.displacement_bounds import joint_reaches
from linkwork.kernels.compiler_api import compilations
from linkwork.model.random_tree import random_tree
from linkwork.model.tree_edits import straight_tree
from linkwork.planning.goals import read_goals
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.search import kernel_planner
from linkwork.planning.search.halton_samples import halton
from linkwork.planning.search.search_kernel import SearchTables
from linkwork.planning.search.search_tree import PlanningTree, TableTree

WALL = lw.Scene().with_box("wall", (0.1, 0.4, 0.4), (3.0, 0.0, 0.0))


def _bounded(robot: lw.Robot) -> lw.Robot:
    """Lengths within a metre of zero."""
    tree, bodies = robot.tree, []
    for body in robot.tree.bodies:
        low = [-1.0 if unit == "m" else -np.inf for unit in body.joint.q_units]
        limits = replace(body.limits, lower=tuple(low), upper=tuple(-x for x in low))
        bodies.append(replace(body, limits=limits))
    return lw.Robot(replace(tree, bodies=tuple(bodies)))


def test_every_joint_type_has_distances_samples_and_bounds_for_planning() -> None:
    every = lw.Robot(random_tree(np.random.default_rng(0), 18)).with_collisions("body0", lw.shapes.Sphere(0.1))
    with pytest.raises(ValueError, match=r"is an unbounded length in \[-inf, inf\] m.*position_limits=\{"):
        PlanningSpace(every, WALL)
    robot = _bounded(every)
    space = PlanningSpace(robot, WALL)
    q = space.samples(3).take(64)
    assert np.array_equal(q, space.samples(3).take(64)) and not np.array_equal(q, space.samples(4).take(64))
    assert np.isfinite(q).all() and space.within(q).all() and np.allclose(q, robot.normalize(q))
    q0, q1 = q[:32], q[32:]
    phi = space.difference(q0, q1)
    assert space.turning.any() and np.abs(phi[:, space.turning]).max() <= np.pi
    assert np.abs(space.difference(space.integrate(q0, phi), q1)).max() < 1e-6
    assert np.allclose(space.between(q1, q0[:3]), space.length(space.difference(q0[:3, None], q1[None])) ** 2)
    path = space.counted(q)
    assert np.abs(robot.difference(path[:-1], path[1:])[:, space.turning]).max() <= np.pi + 1e-12


def test_halton_points_equal_published_values() -> None:
    assert np.allclose(
        halton(1, 6, [2, 3]).T, [[1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8], [1 / 3, 2 / 3, 1 / 9, 4 / 9, 7 / 9, 2 / 9]]
    )
    assert np.allclose(halton(4, 3, [2, 3]), halton(1, 6, [2, 3])[3:])


def test_planning_trees_return_the_path_to_the_root() -> None:
    tree = PlanningTree(np.zeros((1, 2)))
    for k in range(1, 200):
        assert tree.extend(np.array([[k, -k]]), np.array([k // 2 if k > 1 else 0])) == [k]
    assert [int(tree.q[k, 0]) for k in tree.nodes_to(100)] == [100, 50, 25, 12, 6, 3, 1, 0]


def test_cutting_a_planning_tree_removes_the_node_with_its_descendants() -> None:
    tree = PlanningTree(np.zeros((2, 1)))
    positions = tree.extend(np.arange(2.0, 7.0)[:, None], np.array([0, 2, 1, 3, 4]))
    assert positions.tolist() == [2, 3, 4, 5, 6]
    tree.cut([3])
    assert tree.q[:, 0].tolist() == [0.0, 0.0, 2.0, 4.0, 6.0] and tree.parent.tolist() == [-1, -1, 0, 1, 3]


def test_planning_trees_that_share_tables_have_their_own_nodes_and_parents() -> None:
    nodes = np.arange(12.0).reshape(6, 2)
    links = np.array([[0.0, -1.0], [1.0, -1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    for side, rows, parent in ((0, [0, 2, 4], [-1, 0, 1]), (1, [1, 3, 5], [-1, 0, 0])):
        tree = TableTree(nodes, links, side, 3)
        assert (tree.q == nodes[rows]).all() and tree.parent.tolist() == parent and tree.count == 3


def _arm() -> lw.Robot:
    """Two capsules on a turret that turns without end."""
    tilt, Joint = lw.joints.Revolute((0, 1, 0)), lw.Joint
    return lw.Robot.build(
        "arm",
        lw.Link("base", lw.shapes.Sphere(0.08), mass=1.0),
        lw.Link("turret", mass=1.0),
        lw.Link("upper", lw.shapes.Capsule(0.04, 0.4).at((0, 0, 0.2)), mass=1.0),
        lw.Link("fore", lw.shapes.Capsule(0.04, 0.3).at((0, 0, 0.15)), mass=1.0, frames={"tip": (0, 0, 0.35)}),
        Joint.of(lw.joints.Revolute((0, 0, 1)), name="pan", parent="base", child="turret", placement=(0, 0, 0.15)),
        Joint.of(tilt, name="shoulder", parent="turret", child="upper", lower=-2.0, upper=2.0),
        Joint.of(tilt, name="elbow", parent="upper", child="fore", placement=(0, 0, 0.4), lower=-2.6, upper=2.6),
    )


SCENE = (
    lw.Scene()
    .with_box("wall", (0.5, 0.05, 0.5), (0.5, 0.0, 0.25))
    .with_box("board", (0.5, 1.0, 0.03), (0.5, 0.0, -0.1))
    .with_box("post", (0.06, 0.06, 1.0), (-0.3, 0.0, 0.5))
)
START, GOAL = np.array([0.6, 1.4, 0.3]), np.array([-0.6, 1.4, 0.3])


@pytest.fixture(scope="module")
def arm() -> lw.Robot:
    return _arm()


def _least(robot: lw.Robot, path: np.ndarray, scene: lw.Scene | None) -> float:
    """The least distance at configurations 1e-3 apart."""
    least, straight = np.inf, lw.Robot(straight_tree(robot.tree))
    for q0, q1 in pairwise(path):
        phi = straight.difference(q0, q1)
        t = np.linspace(0.0, 1.0, 2 + int(np.linalg.norm(phi) / 1e-3))[:, None]
        least = min(least, float(robot.minimum_distance(straight.integrate(q0, t * phi), scene).min()))
    return least


@pytest.mark.slow(every=9)
def test_planned_paths_are_collision_free_and_equal_for_equal_seeds(arm: lw.Robot) -> None:
    assert not arm.is_motion_free(START, GOAL, SCENE).success
    costs = []
    for seed in range(5):
        plan = arm.plan(START, GOAL, SCENE, seed=seed)
        assert plan.success and plan.status == "solved" and plan.goal == 0
        turns = (plan.path[-1] - GOAL) / (2.0 * np.pi)
        assert np.array_equal(plan.path[0], START) and np.abs(turns - [round(turns[0]), 0.0, 0.0]).max() < 1e-12
        assert _least(arm, plan.path, SCENE) > 0.0
        assert abs(plan.cost - np.linalg.norm(np.diff(plan.path, axis=0), axis=1).sum()) < 1e-12
        costs.append((plan.cost, arm.plan(START, GOAL, SCENE, seed=seed, max_searches=1).cost))
        rough = arm.plan(START, GOAL, SCENE, seed=seed, simplify=False)
        assert plan.cost <= rough.cost and _least(arm, rough.path, SCENE) > 0.0
        threads = lw.get_num_threads()
        try:
            lw.set_num_threads(1 if threads > 1 else 2)
            assert np.array_equal(plan.path, arm.plan(START, GOAL, SCENE, seed=seed).path)
        finally:
            lw.set_num_threads(threads)
    several, single = np.array(costs).T  # of searches; the shortest rough path may be longer after its simplification
    assert several.sum() < single.sum() and (several <= 1.01 * single).all()
    wide = arm.plan(START, GOAL, SCENE, margin=0.02)
    assert wide.success and _least(arm, wide.path, SCENE) > 0.02
    sampled = arm.plan(START, GOAL, SCENE, collision_check="sampled", resolution=0.02)
    assert sampled.success and _least(arm, sampled.path, SCENE) > -0.02
    assert len(plan.tree.q) == len(plan.tree.parent) == plan.nodes and plan.tree.parent.max() < plan.nodes


@pytest.mark.slow(every=5)
def test_planning_search_that_fills_small_tables_is_repeated_with_large_tables(
    arm: lw.Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = arm.plan(START, GOAL, SCENE, seed=1)
    monkeypatch.setattr(kernel_planner, "SMALL", SearchTables(tree=6, path=8, best=4, roots=4, pairs=4))
    again = _arm()
    for _ in range(2):  # the second time with large tables at once
        plan = again.plan(START, GOAL, SCENE, seed=1)
        assert plan._space.has_loop("searching 512") and np.array_equal(plan.path, expected.path)
        for count in ("iterations", "nodes", "motions_checked"):
            assert getattr(plan, count) == getattr(expected, count)


@pytest.mark.slow(every=9)
def test_plans_avoid_collisions_of_attached_objects_and_weights_define_their_cost(arm: lw.Robot) -> None:
    loaded = arm.with_attached("rod", "tip", lw.shapes.Capsule(0.02, 0.2))
    plan = loaded.plan(START, GOAL, SCENE)
    assert plan.success and _least(loaded, plan.path, SCENE) > 0.0
    near = [0.35, 1.4, 0.3]
    assert arm.plan(START, near, SCENE).success
    club = arm.with_attached("club", "tip", lw.shapes.Capsule(0.25, 0.01))
    club_plan = club.plan(START, near, SCENE)
    assert (
        club_plan.status == "goal_in_collision" and "'club' is" in club_plan.message and "'wall'" in club_plan.message
    )
    for scale in (2.0**-7, 2.0**7):
        scaled = arm.plan(START, GOAL, SCENE, weights=scale)
        assert abs(scaled.cost - scale * arm.plan(START, GOAL, SCENE).cost) < 1e-9 * scaled.cost
    heavy = arm.plan(START, GOAL, SCENE, weights={"pan": 3.0})
    steps = np.diff(heavy.path, axis=0) * [3.0, 1.0, 1.0]
    assert heavy.success and abs(heavy.cost - np.linalg.norm(steps, axis=1).sum()) < 1e-12


def test_goals_of_plans_may_be_configurations_poses_and_regions(arm: lw.Robot, drawn: Any) -> None:
    q = np.array([[-0.6, 1.2, 0.5], [-2.0, 0.5, 1.0]])
    X = arm.pose(q, "tip")
    inside = lw.planning.PoseRegion("tip", X[1], [0.0] * 6, [0.0] * 6)
    goals: list[tuple[Any, dict[str, Any], set[int]]] = [
        (q, {}, {0, 1}),
        (X[0], {"frame": "tip"}, {0}),
        (X, {"frame": "tip"}, {0, 1}),
        ({"tip": X[1]}, {}, {0}),
        ({"pan": -0.6, "shoulder": 1.2, "elbow": 0.5}, {}, {0}),
        (inside, {}, {0}),
        ([inside, q[0], {"tip": X[0]}], {}, {0, 1, 2}),
        (X[0].tolist(), {"frame": "tip"}, {0}),
        (X.tolist(), {"frame": "tip"}, {0, 1}),
        ([q[0], X[1]], {"frame": "tip"}, {0, 1}),
        ([q[0].tolist(), X[1].tolist(), inside], {"frame": "tip"}, {0, 1, 2}),
    ]
    for goal, how, which in drawn(goals):
        plan = arm.plan(START, goal, SCENE, **how)
        assert plan.success and plan.goal in which, plan.message
        end = arm.pose(plan.path[-1], "tip")
        assert min(np.abs(lw.pose_difference(end, goal_pose)).max() for goal_pose in X) < 1e-5
    several = arm.plan(np.array([START, q[1]]), q[1], SCENE)
    assert several.success and len(several.path) == 2 and several.cost == 0.0
    standing = several.trajectory()
    assert standing.duration == 0.0 and standing.path_length() == 0.0 and not standing.extremes(1).upper.any()
    assert several.timed(acceleration=1.0).duration == 0.0


def test_goal_position_of_a_plan_leaves_the_orientation_free(arm: lw.Robot) -> None:
    q = np.array([[-0.6, 1.2, 0.5], [-2.0, 0.5, 1.0]])
    position = arm.pose(q[0], "tip")[:3, 3]
    for goal, how in ((position, {"frame": "tip"}), (position.tolist(), {"frame": "tip"}), ({"tip": position}, {})):
        plan = arm.plan(START, goal, SCENE, **how)
        assert plan.success and np.abs(arm.pose(plan.path[-1], "tip")[:3, 3] - position).max() < 1e-5
    beside_a_pose = arm.plan(START, [q[0], arm.pose(q[1], "tip")], SCENE, frame="tip")  # nq = 3: a configuration
    assert beside_a_pose.success and (beside_a_pose.goal == 1 or np.array_equal(beside_a_pose.path[-1], q[0]))
    far = arm.plan(START, (9.0, 0.0, 0.0), SCENE, frame="tip")
    assert far.status == "goal_unreachable"


@pytest.mark.slow(every=5)
def test_goal_positions_of_a_robot_without_three_coordinates_are_refused_if_several() -> None:
    robot = lw.Robot(random_tree(np.random.default_rng(0), 4, types=[lw.joints.Revolute], shape="chain"))
    robot = robot.with_collisions("body3", lw.shapes.Sphere(0.05))
    home, goal_q = np.zeros(4), np.full(4, 0.3)
    X = robot.pose(goal_q, "body3")
    specs = read_goals(robot, [X[:3, 3], goal_q, X], "body3", 0)
    assert [None if spec.poses is None else spec.poses["body3"].shape for spec in specs] == [(1, 3), None, (1, 4, 4)]
    plan = robot.plan(home, [X[:3, 3], X[:3, 3] + 9.0], WALL, frame="body3")
    assert plan.success and plan.goal == 0
    assert np.abs(robot.pose(plan.path[-1], "body3")[:3, 3] - X[:3, 3]).max() < 1e-5
    for goal, how, error, words in (
        (X[:3, 3], {}, ValueError, r"goal: expected a configuration \(4,\), .*a position \(x, y, z\) needs frame="),
        (X[:3, :3], {"frame": "body3"}, ValueError, "goal: expected .* got a rotation matrix"),
        ((0.0, np.nan, 0.0), {"frame": "body3"}, ValueError, r"goal: expected a position, three numbers \[m\]"),
        ([lw.ik.PositionTask("body3")], {}, TypeError, r"goal\[0\]: expected .* got PositionTask; .* needs frame="),
    ):
        with pytest.raises(error, match=f"^plan: {words}"):
            robot.plan(home, goal, WALL, **how)


def test_goal_region_of_a_plan_may_have_free_angles() -> None:
    free = lw.planning.PoseRegion("tip", (0.1, 0.2, 0.3), [-np.inf] * 3 + [0.0] * 3, [np.inf] * 3 + [0.0] * 3)
    X = free.sampled(200)
    assert np.allclose(X[:, :3, 3], (0.1, 0.2, 0.3)) and (X[:, :3, :3].min(axis=0) < -0.5).all()
    half = lw.planning.PoseRegion("tip", np.eye(4), [0.0] * 6, [0.0, 0.0, np.inf, 0.0, 0.0, 0.0]).sampled(200)
    assert -1e-9 < half[:, 1, 0].min() < 0.1 and half[:, 1, 0].max() > 0.9 and np.allclose(half[:, 2, 2], 1.0)
    with pytest.raises(ValueError, match=r"infinite bounds mean -π and π"):
        lw.planning.PoseRegion("tip", np.eye(4), [0.0, 0.0, -np.inf, 0.0, 0.0, 0.0], [0.0, 0.0, -4.0, 0.0, 0.0, 0.0])
    for lower, upper in (([-np.inf] * 6, [np.inf] * 6), ([np.inf] * 6, [np.inf] * 6), ([np.nan] * 6, [0.0] * 6)):
        with pytest.raises(ValueError, match=r"lower: expected six numbers: .* infinite if free, and finite x, y, z"):
            lw.planning.PoseRegion("tip", np.eye(4), lower, upper)


@pytest.mark.slow(every=5)
def test_goals_that_are_hard_to_sample_are_not_reported_as_unreachable(arm: lw.Robot) -> None:
    wide, free = np.array([np.inf] * 3 + [20.0, 20.0, 0.0]), np.array([np.inf] * 3 + [20.0, 20.0, 20.0])
    for X, bounds in (
        (arm.pose(START, "tip"), wide),  # a board of 40 m around the present pose
        (lw.pose((20.4, 0.0, 0.3)), free),  # of which a corner is within reach
        (
            arm.pose(START, "tip") @ lw.pose((0.0, 0.0, 0.0), rpy=(0.0, 0.4, 0.0)),
            np.r_[np.inf, 0.5, np.inf, 9.0, 9.0, 9.0],
        ),
    ):
        region = lw.planning.PoseRegion("tip", X, -bounds, bounds)
        plan = arm.plan(START, region)
        assert plan.success, plan.message
        inside = np.linalg.inv(X) @ arm.pose(plan.path[-1], "tip")
        assert (np.abs(inside[:3, 3]) <= bounds[3:] + 1e-5).all()
        assert abs(np.arcsin(inside[2, 0])) <= min(bounds[1], np.pi / 2) + 1e-5
    turned = arm.pose(START, "tip") @ lw.pose((0.0, 0.0, 0.0), rpy=(0.0, 0.0, 0.3))
    assert arm.plan(START, turned, frame="tip").status == "goal_not_found"  # three joints have few of all poses
    blocked = arm.pose([0.0, 1.4, 0.3], "tip")
    plan = arm.plan(START, blocked, SCENE, frame="tip")
    assert plan.status == "goal_not_found" and "'wall'" in plan.message and "solutions is valid" in plan.message
    far = lw.planning.PoseRegion("tip", lw.pose((9.0, 0.0, 0.0)), [0.0] * 6, [0.0] * 6)
    assert arm.plan(START, far).status == "goal_unreachable"


@pytest.mark.slow(every=5)
def test_printed_plan_states_planning_and_compilation_times(arm: lw.Robot) -> None:
    arm.plan(START, START, SCENE)
    plan = arm.plan(START, START, SCENE)
    assert str(plan._replaced(seconds=0.25)).endswith(", in 250 ms")
    assert str(plan._replaced(seconds=11.1, _compiled=True)).endswith(", in 11.1 s, with compilation")
    first = compilations()
    another = arm.with_collisions("fore", lw.shapes.Capsule(0.02, 0.1))
    assert another.plan(START, START)._compiled == (compilations() > first)


def test_first_plan_compiles_no_collision_check_of_single_configurations(arm: lw.Robot) -> None:
    bare = arm.with_collisions("fore", lw.shapes.Capsule(0.021, 0.1))
    plan = bare.plan(START, START)
    compiled = [name for block in plan._space.blocks for name in block.selection.kernels]
    assert plan.success and any("is_motion_free" in str(name) for name in compiled)
    assert not any("in_collision" in str(name) for name in compiled)


def test_continuous_joints_rotate_in_the_shorter_direction_in_plans(arm: lw.Robot) -> None:
    plan = arm.plan([3.0, 1.0, 0.3], [-3.0, 1.0, 0.3])
    assert plan.success and abs(plan.cost - (2 * np.pi - 6.0)) < 1e-9
    assert np.abs(plan.path[-1] - [2 * np.pi - 3.0, 1.0, 0.3]).max() < 1e-12
    assert abs(plan.trajectory().path_length() - plan.cost) < 1e-6


def test_plan_moves_a_floating_rod_through_a_window() -> None:
    rod = lw.Robot.build("rod", lw.Link("rod", lw.shapes.Capsule(0.05, 0.5), mass=1.0), floating_base=True)
    window = lw.Scene()
    for name, size, position in (
        ("low", (0.1, 2.0, 0.6), (0.0, 0.0, -0.7)),
        ("high", (0.1, 2.0, 0.6), (0.0, 0.0, 0.2)),
        ("left", (0.1, 0.6, 2.0), (0.0, -1.0, 0.0)),
        ("right", (0.1, 0.6, 2.0), (0.0, 1.0, 0.0)),
    ):
        window = window.with_box(name, size, position)
    start, goal = np.array([1.0, 0, 0, 0, -0.8, 0, 0]), np.array([-1.0, 0, 0, 0, 0.8, 0, 0])
    with pytest.raises(ValueError, match=r"'floating_base.x' is an unbounded length .*position_limits="):
        rod.plan(start, goal, window)
    limits = {"floating_base.x": (-1.0, 1.0), "floating_base.y": (-0.9, 0.9), "floating_base.z": (-0.9, 0.9)}
    plan = rod.plan(start, goal, window, position_limits=limits, time_limit=60.0)
    assert plan.success and len(plan.path) > 2 and _least(rod, plan.path, window) > 0.0
    assert np.allclose(np.linalg.norm(plan.path[:, :4], axis=1), 1.0)
    assert np.abs(rod.difference(plan.path[-1], goal)).max() < 1e-9
    assert abs(plan.trajectory(smooth=True).duration - plan.cost) < 1e-9


@pytest.mark.slow(every=5)
def test_trajectories_of_plans_follow_the_planned_path(arm: lw.Robot) -> None:
    plan = arm.plan(START, GOAL, SCENE)
    straight = plan.trajectory()
    assert abs(straight.duration - plan.cost) < 1e-12 and np.allclose(straight(straight.knots).q, plan.path)
    timed = plan.timed(velocity=1.0, acceleration=5.0)
    q = timed.trajectory(np.linspace(0.0, timed.duration, 2000)).q
    assert float(arm.minimum_distance(q, SCENE).min()) > 0.0
    assert np.allclose(q[[0, -1]], plan.path[[0, -1]])


@pytest.mark.slow(every=5)
def test_blended_corners_of_planned_paths_stay_within_the_proved_clearance(arm: lw.Robot) -> None:
    plan = arm.plan(START, GOAL, SCENE, time_limit=600.0)  # not cut short on a busy machine
    smooth, straight = plan.trajectory(smooth=True), plan.trajectory()
    assert len(plan.path) > 2 and abs(smooth.duration - straight.duration) < 1e-12
    t = np.linspace(0.0, smooth.duration, 20_001)
    state = smooth(t)
    assert float(arm.minimum_distance(state.q, SCENE).min()) > 0.0
    assert np.allclose(state.q[[0, -1]], plan.path[[0, -1]]) and np.abs(state.q - straight(t).q).max() < 0.6
    jump = np.abs(np.diff(state.v, axis=0)).max()
    assert jump < 0.05 < np.abs(np.diff(straight(t).v, axis=0)).max()
    assert np.abs(np.diff(state.a, axis=0)).max() < 0.05 * np.abs(state.a).max()
    limits = {"velocity": 1.0, "acceleration": 5.0}
    assert plan.timed(smooth=True, **limits).duration < plan.timed(**limits).duration
    limits |= {"jerk": 60.0, "num_points": 100}
    timed = plan.timed(smooth=True, **limits)
    assert timed.speed[1:-1].min() > 0.0 and timed.duration < 0.9 * plan.timed(**limits).duration
    assert timed.trajectory.satisfies_limits(velocity=1.0, acceleration=5.0, jerk=60.0, tolerance=1e-4)
    # how far points move is bounded
    slide = lw.Joint.of(
        lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart", lower=-1.0, upper=2.0
    )
    cart = lw.Robot.build("cart", lw.Link("cart", lw.shapes.Box((0.1, 0.1, 0.1)), mass=1.0), slide)
    rng = np.random.default_rng(0)
    for robot, link, position in ((arm, "fore", [0.0, 0.0, 0.34]), (cart, "cart", [0.05, 0.05, 0.05])):
        reach = joint_reaches(robot.tree, robot.lower, robot.upper)
        q = robot.random_configuration(rng, size=500)
        delta = rng.uniform(-0.1, 0.1, q.shape)
        moved = [robot.pose(x, link) @ [*position, 1.0] for x in (q, q + delta)]
        assert (np.linalg.norm(moved[0] - moved[1], axis=1) <= np.abs(delta) @ reach + 1e-12).all()
    ball = lw.Robot(random_tree(rng, 2, types=[lw.joints.Spherical]))
    with pytest.raises(TypeError, match="no bound is known for its points' displacement"):
        joint_reaches(ball.tree, ball.lower, ball.upper)


@pytest.mark.slow(every=5)
def test_failed_plans_state_the_reason(arm: lw.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = np.array([0.0, 1.4, 0.3])
    apart = {"pan": (-0.7, 0.7), "shoulder": (1.3, 1.5), "elbow": (0.0, 0.6)}
    spent = {"time_limit": 0.1, "position_limits": apart}
    around = lw.Scene().with_box("crate", (0.4, 0.4, 0.4))
    far = lw.pose((3.0, 0.0, 0.0))
    for start, goal, scene, how, status, words in (
        (blocked, GOAL, SCENE, {}, "start_in_collision", ["the start", "'fore'", "m deep in 'wall'"]),
        (START, blocked, SCENE, {}, "goal_in_collision", ["goal is in collision", "'fore'", "'wall'"]),
        (START, [blocked, blocked], SCENE, {}, "goal_in_collision", ["goal[0]", "goal[1]"]),
        ([0.6, 2.5, 0.0], GOAL, SCENE, {}, "start_outside_limits", ["'shoulder'", "2.5", "outside its limit 2"]),
        (START, [0.6, 0.5, -3.0], SCENE, {}, "goal_outside_limits", ["'elbow'", "outside its limit -2.6"]),
        (START, far, SCENE, {"frame": "tip"}, "goal_unreachable", ["out_of_reach", "m"]),
        (START, GOAL, around, {}, "start_in_collision", ["'crate' contains the robot's base", "'base'"]),
        (
            START,
            GOAL,
            SCENE,
            spent,
            "time_limit",
            ["configurations explored from the start", "iterations", "Increase time_limit"],
        ),
    ):
        plan = arm.plan(start, goal, scene, **how)
        assert not plan.success and plan.status == status, plan.message
        assert all(word in plan.explain() for word in words), plan.message
        assert plan.path.shape == (0, 3) and plan.cost == np.inf and plan.goal is None
        with pytest.raises(ValueError, match="expected a plan with a path"):
            plan.trajectory()
    assert plan.nodes > 2 and plan.tree.q.shape == (plan.nodes, 3)  # what was explored is told, where time ends, too
    with monkeypatch.context() as few:
        few.setattr("linkwork.planning.plan_path._NODES", 10)
        full = arm.plan(START, GOAL, SCENE, position_limits=apart, time_limit=600.0)
    assert full.status == "max_nodes" and "another seed" in full.explain() and "time_limit" not in full.explain()
    values: list[lw.Progress] = []
    arm.plan(START, GOAL, SCENE, position_limits=apart, time_limit=0.02, progress=values.append)
    assert values[-1].done == values[-1].total == 0.02 and values[-1].seconds >= 0.02


@pytest.mark.slow(every=5)
def test_long_planned_edges_are_sampled_in_blocks_within_the_time_limit(arm: lw.Robot) -> None:
    space = PlanningSpace(arm, SCENE, collision_check="sampled", resolution=2e-6)
    start, end = np.array([[0.6, 0.2, 0.3]]), np.array([[1.0, 0.2, 0.3]])
    assert space.edges_are_free(start, end).all()  # 200 000 samples
    assert not space.edges_are_free(START[None], GOAL[None]).any()
    space.has_time = lambda: False
    with pytest.raises(OutOfTimeError, match=r"^$"):
        space.edges_are_free(start, end)
    certified = PlanningSpace(arm, SCENE)
    certified.has_time = lambda: False
    assert certified.edges_are_free(start, end).all()  # what takes little is not asked for
    with pytest.raises(OutOfTimeError, match=r"^$"):
        certified.edges_are_free(np.repeat(start, 1000, axis=0), np.repeat(end, 1000, axis=0))
    fine = arm.plan(START, GOAL, SCENE, collision_check="sampled", resolution=1e-7, time_limit=0.05)
    assert fine.status == "time_limit" and not fine.path.size


@pytest.mark.slow(every=5)
def test_pose_goal_is_not_read_as_a_batch_of_configurations_of_four_joints() -> None:
    robot = lw.Robot(random_tree(np.random.default_rng(0), 4, types=[lw.joints.Revolute], shape="chain"))
    robot = robot.with_collisions("body3", lw.shapes.Sphere(0.05))
    home, goal_q = np.zeros(4), np.full(4, 0.3)
    X = robot.pose(goal_q, "body3")
    for goal in (X, X.round(3), lw.spatial.Pose.of(X.tolist()), [X], [home, X], X[np.newaxis], np.eye(4).tolist()):
        with pytest.raises(ValueError, match=r"^plan: goal.*: expected configurations, .*; a pose needs frame="):
            robot.plan(home, goal, WALL)
    for call in (
        lambda: robot.plan(X, home, WALL),
        lambda: robot.inverse_kinematics(X, "body3", q_init=X),
        lambda: robot.is_motion_free(X, home, WALL),
    ):
        with pytest.raises(
            ValueError, match=r": expected a configuration \(\.\.\., 4\), got a pose \(4, 4\); inverse_kin"
        ):
            call()
    assert robot.plan(home, np.array([goal_q] * 4), WALL).success  # four configurations
    assert robot.plan(home, X, WALL, frame="body3").success
    assert robot.plan(home, lw.spatial.Pose.of(X.tolist()), WALL, frame="body3").success


def test_invalid_arguments_of_planning_are_refused(arm: lw.Robot) -> None:
    for arguments, how, error, words in (
        (([np.nan, 0.0, 0.0], GOAL), {}, ValueError, "start.*NaN"),
        ((START, [0.0, np.nan, 0.0]), {}, ValueError, "goal.*NaN"),
        ((START, [0.0, 0.0]), {}, ValueError, r"goal: .*\(\.\.\., 3\)"),
        ((START, []), {}, ValueError, "goal: expected an array of shape"),
        ((START, []), {"frame": "tip"}, ValueError, r"goal: expected a pose .* got shape \(0,\)"),
        ((START, np.empty((0, 3))), {}, ValueError, "goal: expected at least one goal"),
        ((START, np.empty((0, 4, 4))), {"frame": "tip"}, ValueError, "goal: expected at least one goal"),
        ((START, np.eye(4)), {}, ValueError, r"goal: expected configurations, .*\(4, 4\); a pose needs frame="),
        ((np.eye(4), GOAL), {}, ValueError, r"start: .*got shape \(4, 4\); inverse_kinematics computes"),
        ((START, np.eye(4)), {"frame": "tap"}, lw.errors.UnknownNameError, "did you mean 'tip'"),
        ((START, np.eye(3)), {"frame": "tip"}, ValueError, "expected a pose"),
        ((START, np.eye(2)), {"frame": "tip"}, ValueError, "expected a pose"),
        ((START, [START, GOAL]), {"frame": "tip"}, ValueError, "expected a pose"),
        ((START, 2.0 * np.eye(4)), {"frame": "tip"}, ValueError, "plan: goal: expected a pose.* with a rotation"),
        ((START, {"tip": 2.0 * np.eye(4)}), {}, ValueError, r"plan: goal\['tip'\]: expected a pose.* with a rotation"),
        ((np.empty((0, 3)), GOAL), {}, ValueError, r"start: expected a configuration.*got shape \(0, 3\)"),
        ((START, GOAL, "table"), {}, TypeError, "scene: expected a linkwork"),
        ((START, GOAL), {"method": "conect"}, ValueError, "expected one of 'connect', 'optimal'"),
        ((START, GOAL), {"collision_check": "sample"}, ValueError, "expected one of 'certified', 'sampled'"),
        ((START, GOAL), {"seed": -1}, ValueError, "seed: expected a numpy"),
        ((START, GOAL), {"margin": np.nan}, ValueError, "margin: expected a finite number"),
        ((START, GOAL), {"resolution": 0.0}, ValueError, "resolution: expected a number"),
        ((START, GOAL), {"time_limit": np.nan}, ValueError, "time_limit: expected a number"),
        ((START, GOAL), {"progress": 3}, TypeError, "progress: expected True, False or a function of"),
        ((START, GOAL), {"max_searches": 0}, ValueError, "max_searches: expected an integer"),
        ((START, GOAL), {"weights": [1.0, 0.0, 1.0]}, ValueError, "weights: expected numbers"),
        ((START, GOAL), {"weights": {"pan": "heavy"}}, ValueError, r"plan: weights\['pan'\]: expected .*'heavy'"),
        (
            (START, GOAL),
            {"weights": {"pan": [1.0, 2.0]}},
            ValueError,
            r"weights\['pan'\]: expected a number, got shape",
        ),
        (
            (START, GOAL),
            {"position_limits": {"pan": ("a", 1.0)}},
            ValueError,
            "position_limits: 'pan': lower: .*'a'",
        ),
        (
            (START, GOAL),
            {"position_limits": {"pan": (0.0, "b")}},
            ValueError,
            "position_limits: 'pan': upper: .*'b'",
        ),
        ((START, GOAL), {"position_limits": {"elbo": (0.0, 1.0)}}, lw.errors.UnknownNameError, "did you mean 'elbow'"),
    ):
        with pytest.raises(error, match=words):
            arm.plan(*arguments, **how)
    hinge = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), parent="world", child="rod")
    bare = lw.Robot.build("bare", lw.Link("rod", mass=1.0), hinge)
    with pytest.raises(ValueError, match="has no collision shapes"):
        bare.plan([0.0], [1.0])


@pytest.mark.slow(every=9)
def test_plots_of_plans_show_the_obstacles(arm: lw.Robot) -> None:
    pytest.importorskip("matplotlib")
    axes = arm.plan(START, GOAL, SCENE).plot("tip")
    assert len(axes.collections) >= len(SCENE.obstacles) and axes.get_title() == "solved: path of tip"
    apart = {"pan": (-0.7, 0.7), "shoulder": (1.3, 1.5), "elbow": (0.0, 0.6)}
    spent = arm.plan(START, GOAL, SCENE, position_limits=apart, time_limit=0.05)
    axes = spent.plot("tip")
    assert axes.get_title() == "time_limit: path of tip"
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["search tree from the start", "search tree from the goals"]

    def tips(axes: Any, q: Any) -> int:
        """Return the number of drawn points near the middle of the last link."""
        (surfaces,) = (x for x in axes.collections if hasattr(x, "corners"))
        near = np.linalg.norm(surfaces.corners.reshape(-1, 3) - arm.pose(q, "tip")[:3, 3], axis=1) < 0.15
        return int(near.sum())

    goal = spent.trees[1].q[0]
    assert tips(axes, START) > 0 < tips(axes, goal), "the robot is drawn at the start and at the goal"
    assert tips(spent.plot("tip", shapes=1), goal) == 0 == tips(spent.plot("tip", shapes=0), START)
