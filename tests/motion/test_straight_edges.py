"""Planar and floating joints move straight along edges: limits hold between way points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.joints.straight_motion import straight_motion_joint
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import affine_coordinates, straight_tree
from linkwork.planning.planning_space import PlanningSpace
from linkwork.robot.joint_checks.check_joint import check_joint

SIDES = {"x": 3.0, "y": 0.3, "z": 0.4}
POSTS = (
    lw.Scene()
    .with_sphere("post", 0.12, (0.0, 0.0, 0.0))
    .with_sphere("left", 0.1, (-1.0, 0.2, 0.0))
    .with_sphere("right", 0.1, (1.0, -0.2, 0.0))
)
BASES = {
    "planar": joints.Planar(),
    "floating": joints.Floating(),
    "parameters": joints.FloatingMRP(),
    "composite": joints.Composite((joints.Prismatic((0, 0, 1)), joints.Planar((0, 1, 0), (1, 0, 0)))),
    "backward": joints.Reversed(joints.Planar()),
}


def _based(joint: joints.JointType) -> lw.Robot:
    """A box on a base whose positions have limits, and an arm that turns on it."""
    names = joint.q_names
    bounds = [
        SIDES[name[-1]] if unit == "m" and name[-1] in SIDES else 0.1 if unit == "m" else np.inf
        for name, unit in zip(names, joint.q_units, strict=True)
    ]
    hinge = lw.joints.Revolute((0, 0, 1))
    return lw.Robot.build(
        "based",
        lw.Link("ground"),
        lw.Link("trunk", lw.shapes.Capsule(0.03, 0.1).at((0.05, 0.0, 0.0)), mass=1.0),
        lw.Link("arm", lw.shapes.Sphere(0.03).at((0.1, 0.0, 0.0)), mass=1.0),
        lw.Joint.of(joint, name="base", parent="ground", child="trunk", lower=[-x for x in bounds], upper=bounds),
        lw.Joint.of(hinge, name="turn", parent="trunk", child="arm", lower=-2.0, upper=2.0),
    )


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("kind", [joints.Planar, joints.Floating, joints.FloatingMRP])
def test_joints_replaced_by_straight_line_joints_have_equal_poses(kind: type[joints.JointType]) -> None:
    rng = np.random.default_rng(2)
    joint = kind.example(rng)
    straight = straight_motion_joint(joint)
    free = [np.inf] * joint.nq
    lengths = [k for k, unit in enumerate(joint.q_units) if unit == "m"]
    assert affine_coordinates(straight)[lengths].all() and not affine_coordinates(joint)[lengths].any()
    check_joint(straight).raise_if_failed()
    for q0, q1 in joint.random(rng, [-x for x in free], free, (5, 2)).tolist():
        phi = straight.difference(q0, q1)
        end = straight.integrate(q0, phi)
        assert np.abs(np.array((joint.X(end).inv() @ joint.X(q1)).elements()) - np.eye(4).ravel()).max() < 1e-9
        half = straight.integrate(q0, [0.5 * x for x in phi])
        assert np.allclose(np.array(half)[lengths], 0.5 * (np.array(q0) + q1)[lengths], atol=1e-14)
        v = rng.normal(size=joint.nv).tolist()
        q_dot = straight.q_dot(q0, v)
        rate = joint.velocity_from_rate(q0, q_dot)
        assert np.allclose(straight.velocity_from_rate(q0, q_dot), v)
        assert np.allclose((straight.S(q0) @ v).elements(), (joint.S(q0) @ rate).elements())


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", BASES)
def test_joint_limits_hold_along_straight_edges_of_planned_paths(name: str) -> None:
    """Positions of plans, also shortened, rounded and timed ones, are within limits up to 1e-12."""
    robot = _based(BASES[name])
    edges = "certified" if name in ("planar", "floating") else "sampled"
    low, high = robot.lower - 1e-12, robot.upper + 1e-12
    rng = np.random.default_rng(5)
    names, units = BASES[name].q_names, BASES[name].q_units
    result = 0
    for seed in range(4):
        q = robot.random_configuration(seed=rng.integers(1 << 30), size=40)
        start, goal = q[~robot.in_collision(q, POSTS)][:2]
        x = next(k for k, trajectory in enumerate(names) if trajectory.endswith("x") and units[k] == "m")
        start[x], goal[x] = -2.5, 2.5
        how = {"method": "optimal", "max_iterations": 1} if seed == 3 else {}
        plan = robot.plan(start, goal, POSTS, seed=seed, collision_check=edges, time_limit=60.0, **how)
        if not plan.success:
            assert "collision" in plan.status
            continue
        result += 1
        straight, smooth = plan.trajectory(), plan.trajectory(smooth=True)
        assert abs(straight.duration - plan.cost) < 1e-9
        for trajectory in (straight, smooth, time_optimal(straight), time_optimal(smooth)):
            at = trajectory.sampled(num_samples=1500)[1]
            assert ((at.q >= low) & (at.q <= high)).all()
            if edges == "certified":
                assert robot.minimum_distance(at.q, POSTS).min() > 0.0
        before, after = plan.path[:-1], plan.path[1:]
        if edges == "certified":
            assert robot.is_motion_free(before, after, POSTS).free.all()
    assert result >= 2


def time_optimal(path: lw.motion.Trajectory) -> lw.motion.Trajectory:
    return lw.motion.time_optimal(path, velocity=1.0, acceleration=3.0).trajectory


@pytest.mark.slow(every=3)
def test_planar_headings_rotate_in_the_shorter_direction_along_planned_edges() -> None:
    robot = _based(joints.Planar())
    for turned, turn in ((-3.0, 2.0 * np.pi - 6.0), (3.0 + 200.0 * np.pi, 0.0), (3.0 + 6.2831, 6.2831 - 2.0 * np.pi)):
        start, goal = np.array([-2.0, 0.25, 3.0, 0.0]), np.array([2.0, 0.25, turned, 0.0])
        plan = robot.plan(start, goal, POSTS, collision_check="sampled")
        assert plan.success and abs(plan.path[-1, 2] - 3.0 - turn) < 1e-9
        assert np.abs(np.diff(plan.path[:, 2])).max() < 2.0
        assert abs(plan.trajectory().path_length() - plan.cost) < 1e-6 * plan.cost


@pytest.mark.slow(every=5)
def test_planning_over_long_distances_uses_bounded_memory() -> None:
    far = 1e12
    robot = _limited(_based(joints.Floating()), [-np.inf] * 4 + [-far] * 3, [np.inf] * 4 + [far] * 3)
    start, goal = robot.neutral(), robot.neutral()
    start[4], goal[4] = -far, far
    scene = lw.Scene().with_box("wall", (1.0, 2.0, 2.0), (0.0, 0.0, 0.0))
    for edges in ("certified", "sampled"):
        plan = robot.plan(start, goal, scene, collision_check=edges, time_limit=0.2)
        assert plan.status in ("solved", "time_limit", "max_nodes")


def test_joint_limits_that_edges_may_violate_between_waypoints_are_refused_by_the_planner() -> None:
    robot = _based(joints.Floating())
    base = robot.tree.bodies[0]
    low, high = list(base.limits.lower), list(base.limits.upper)
    low[:4], high[:4] = [-1.01] * 4, [1.01] * 4  # which no quaternion leaves
    assert PlanningSpace(_limited(robot, low, high), POSTS, collision_check="sampled")
    low[1] = -0.2
    with pytest.raises(ValueError, match=r"plan: limits of joint 'base' \(floating\): -0.2 to 1.01 of coordinate 1"):
        _limited(robot, low, high).plan(robot.neutral(), robot.neutral(), POSTS)


def _limited(robot: lw.Robot, low: list[float], high: list[float]) -> lw.Robot:
    tree: Tree = robot.tree
    first = replace(tree.bodies[0], limits=replace(tree.bodies[0].limits, lower=tuple(low), upper=tuple(high)))
    return lw.Robot(replace(tree, bodies=(first, *tree.bodies[1:])))


def test_replacing_joints_for_planning_leaves_robots_without_planar_or_floating_joints_unchanged() -> None:
    for _ in range(2):  # equal trees are trees of their own
        tree = lw.load("arm7").tree
        assert straight_tree(tree) is tree
