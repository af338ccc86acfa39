"""Joints that do not move the frame of a goal: they stay as at the start, unless they are in the way."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

SCENE = (
    lw.Scene().with_box("wall", (0.5, 0.05, 0.5), (0.5, 0.0, 0.25)).with_box("post", (0.06, 0.06, 1.0), (-0.3, 0, 0.5))
)
Q = np.array([0.6, 1.4, 0.3, 0.013, 0.021])
END = np.array([-0.6, 1.4, 0.3, 0.0, 0.0])


def _arm() -> lw.Robot:
    """Three revolute joints and two fingers that slide."""
    tilt, Joint, Link = lw.joints.Revolute((0, 1, 0)), lw.Joint, lw.Link
    finger = lw.shapes.Box((0.02, 0.01, 0.06)).at((0, 0, 0.03))
    slide = {"parent": "fore", "lower": 0.0, "upper": 0.05}
    return lw.Robot.build(
        "arm",
        Link("base", lw.shapes.Sphere(0.08), mass=1.0),
        Link("turret", mass=1.0),
        Link("upper", lw.shapes.Capsule(0.04, 0.4).at((0, 0, 0.2)), mass=1.0),
        Link("fore", lw.shapes.Capsule(0.04, 0.3).at((0, 0, 0.15)), mass=1.0, frames={"tip": (0, 0, 0.35)}),
        Link("left", finger, mass=0.1),
        Link("right", finger, mass=0.1),
        Joint.of(lw.joints.Revolute((0, 0, 1)), name="pan", parent="base", child="turret", placement=(0, 0, 0.15)),
        Joint.of(tilt, name="shoulder", parent="turret", child="upper", lower=-2.0, upper=2.0),
        Joint.of(tilt, name="elbow", parent="upper", child="fore", placement=(0, 0, 0.4), lower=-2.6, upper=2.6),
        Joint.of(lw.joints.Prismatic((0, 1, 0)), name="a", child="left", placement=(0, 0.01, 0.35), **slide),
        Joint.of(lw.joints.Prismatic((0, -1, 0)), name="b", child="right", placement=(0, -0.01, 0.35), **slide),
    )


@pytest.fixture(scope="module")
def arm() -> lw.Robot:
    return _arm()


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("goal", ["pose", "position", "region"])
def test_joints_that_do_not_move_the_goal_frame_keep_their_positions_along_a_plan(arm: lw.Robot, goal: str) -> None:
    X = arm.pose(END, "tip")
    free = [0.0, 0.0, -0.2, 0.0, 0.0, 0.0]
    goals = {"pose": X, "position": X[:3, 3], "region": lw.planning.PoseRegion("tip", X, free, np.negative(free))}
    options = {} if goal == "region" else {"frame": "tip"}
    plan = arm.plan(Q, goals[goal], SCENE, **options)
    assert plan.success and len(plan.path) > 2
    np.testing.assert_array_equal(plan.path[:, 3:], np.broadcast_to(Q[3:], (len(plan.path), 2)))
    assert arm.is_motion_free(plan.path[:-1], plan.path[1:], SCENE).success.all()
    np.testing.assert_allclose(arm.pose(plan.path[-1], "tip")[:3, 3], X[:3, 3], atol=2e-6)


@pytest.mark.slow(every=5)
def test_coupled_joints_and_loops_beside_the_goal_frame_keep_their_positions_in_a_plan(arm: lw.Robot) -> None:
    coupled = arm.with_couplings({"b": "a"})
    plan = coupled.plan(Q[:4], coupled.pose(END[:4], "tip"), SCENE, frame="tip")
    assert plan.success and (plan.path[:, 3] == Q[3]).all()
    looped = arm.with_constraints(lw.constraints.Coupling({"a": 1.0, "b": -1.0}))
    q = np.append(Q[:4], Q[3])
    plan = looped.plan(q, looped.pose(END, "tip"), SCENE, frame="tip")
    assert plan.success and np.abs(plan.path[:, 3:] - Q[3]).max() < 1e-9
    related = arm.with_constraints(lw.constraints.Coupling({"elbow": 0.1, "b": -1.0}))  # b follows the elbow
    q, end = np.append(Q[:4], 0.1 * Q[2]), np.array([-0.6, 1.3, 0.45, 0.0, 0.045])
    plan = related.plan(q, related.pose(end, "tip"), SCENE, frame="tip")
    assert plan.success and (plan.path[:, 3] == Q[3]).all()
    np.testing.assert_allclose(plan.path[-1, 4], end[4], atol=1e-5)


@pytest.mark.slow(every=3)
def test_joint_that_obstructs_a_goal_pose_moves_in_a_plan() -> None:
    slide = {"parent": "rail", "lower": -1.0, "upper": 1.0}
    carts = lw.Robot.build(
        "carts",
        lw.Link("rail", mass=1.0),
        lw.Link("one", lw.shapes.Box((0.1, 0.1, 0.1)), mass=1.0),
        lw.Link("two", lw.shapes.Box((0.1, 0.1, 0.1)), mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="x", child="one", **slide),
        lw.Joint.of(lw.joints.Prismatic((0, 1, 0)), name="y", child="two", **slide),
    )
    q = np.array([-0.5, 0.02])
    plan = carts.plan(q, (0.0, 0.0, 0.0), frame="one")
    assert plan.success and abs(plan.path[-1, 0]) < 1e-6 and abs(plan.path[-1, 1]) > 0.1
    locked = carts.plan(q, (0.0, 0.0, 0.0), frame="one", position_limits={"y": (0.02, 0.02)})
    assert locked.status == "goal_not_found" and "'one'" in locked.message


@pytest.mark.costly
@pytest.mark.parametrize("constrained", [False, True])
def test_joints_with_equal_start_and_goal_positions_do_not_move_along_a_plan(arm: lw.Robot, constrained: bool) -> None:
    q, end = np.append(Q[:3], [0.05, 0.05]), np.append(END[:3], [0.05, 0.05 - 1e-9])
    gate = SCENE.with_box("gate", (0.02, 0.4, 0.6), (0.62, 0, 0.75)).with_box("lid", (0.8, 0.05, 0.02), (0.45, 0, 0.72))
    turned = lw.ik.FunctionTask("turned", lambda state: 3.0 - state.q()[0])
    options = {"path_constraints": lw.ik.Within(turned, 0.0, np.inf)} if constrained else {}
    for seed in range(6):  # some first paths are free only with closed fingers
        plan = arm.plan(q, end, gate, seed=seed, time_limit=60.0, **options)
        assert plan.success and np.abs(plan.path[:, 3:] - q[3:]).max() <= 1e-9
        np.testing.assert_array_equal(plan.path[[0, -1], 1:], [q[1:], end[1:]])
        if constrained:  # edges are proved free in shorter parts
            points = plan.path[:-1] + np.linspace(0.0, 1.0, 101)[:, None, None] * np.diff(plan.path, axis=0)
            assert not arm.in_collision(points, gate).any()
        else:
            assert arm.is_motion_free(plan.path[:-1], plan.path[1:], gate).success.all()


@pytest.mark.slow(every=9)
def test_shortest_paths_keep_fingers_at_rest_and_are_those_of_the_robot_with_locked_fingers(arm: lw.Robot) -> None:
    q, end = np.append(Q[:3], [0.05, 0.02]), np.append(END[:3], [0.05, 0.02 - 1e-9])
    gate = SCENE.with_box("gate", (0.02, 0.4, 0.6), (0.62, 0, 0.75)).with_box("lid", (0.8, 0.05, 0.02), (0.45, 0, 0.72))
    locked = arm.with_locked_joints({"a": 0.05, "b": 0.02})
    options = {"method": "optimal", "max_iterations": 6, "time_limit": 600.0}
    for scene in (SCENE, gate):
        alone = locked.plan(q[:3], end[:3], scene, **options)
        for goals in (end, [end, np.append(END[:3] + 0.3, [0.05, 0.02])]):
            plan = arm.plan(q, goals, scene, seed=2, **options)
            assert plan.success and plan.goal == 0 and np.abs(plan.path[:, 3:] - q[3:]).max() <= 1e-9
            np.testing.assert_array_equal(plan.path[[0, -1], 1:], [q[1:], end[1:]])
            assert arm.is_motion_free(plan.path[:-1], plan.path[1:], scene, tolerance=1e-7).success.all()
            assert plan.cost < 1.01 * alone.cost and plan.history[-1].cost < plan.history[0].cost
    moving = arm.plan(q, [end, np.append(END[:3] + 0.3, [0.0, 0.02])], SCENE, **options)  # goals of other fingers
    assert moving.success and moving.cost < 1.05 * alone.cost


@pytest.mark.slow(every=3)
def test_blocking_joint_moves_along_a_plan_though_its_start_and_goal_are_equal() -> None:
    slide = {"parent": "rail", "lower": -1.0, "upper": 1.0}
    box = lw.shapes.Box((0.1, 0.1, 0.1))
    carts = lw.Robot.build(
        "carts",
        lw.Link("rail", mass=1.0),
        lw.Link("one", box, mass=1.0),
        lw.Link("two", box, mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="x", child="one", **slide),
        lw.Joint.of(lw.joints.Prismatic((0, 1, 0)), name="y", child="two", **slide),
    )
    for options in ({}, {"method": "optimal", "max_iterations": 3}):
        plan = carts.plan([-0.5, 0.02], [0.5, 0.02], **options)
        assert plan.success and np.abs(plan.path[:, 1]).max() > 0.1


@pytest.mark.slow(every=5)
def test_plans_with_limits_of_an_unbounded_joint_do_not_change_plans_without_limits() -> None:
    """Without limits the base turns the short way; limits of half a turn in both directions leave only the long way."""
    posts = lw.Scene().with_box("left", (0.06, 0.06, 1.0), (-0.45, 0, 0.5))
    posts = posts.with_box("right", (0.06, 0.06, 1.0), (0.45, 0, 0.5))
    start, goal = Q * [0.0, 1.0, 1.0, 0.0, 0.0] + [2.6, 0, 0, 0.01, 0.01], Q * [0.0, 1.0, 1.0, 0.0, 0.0]
    goal += [-2.6, 0, 0, 0.01, 0.01]
    for robot, order in ((_arm(), (True, False)), (_arm(), (False, True))):
        for is_limited in order:
            limits = {"position_limits": {"pan": (-3.0, 3.0)}} if is_limited else {}
            plan = robot.plan(start, goal, posts, seed=1, **limits)
            assert plan.success and (np.abs(plan.path[:, 0]).max() < 3.0) == is_limited
