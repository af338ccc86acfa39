"""Executed paths equal checked ones: angles over many revolutions, all joint types, coupled joints, roadmaps."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.robot_arguments import read_limits
from linkwork.model.periodic_coordinates import periodic_coordinates
from linkwork.model.random_tree import random_tree
from linkwork.model.tree_edits import straight_tree
from linkwork.planning.goals import GoalConfigurations
from linkwork.planning.path_constraints import ConstrainedSpace, PathConstraintTasks
from linkwork.planning.plan_path import PlanQuery, QueryBegin
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.search.path_smoothing import remove_straight_nodes

Z = (0.0, 0.0, 1.0)
T = np.linspace(0.0, 1.0, 9)
POST = lw.Scene().with_box("post", (0.06, 0.06, 2.0), (0.05, 0.4, 0.0))


def _bounded(tree: Any) -> lw.Robot:
    """The robot of a tree, with lengths within a metre of zero."""
    bodies = []
    for body in tree.bodies:
        low = tuple(-1.0 if unit == "m" else -np.inf for unit in body.joint.q_units)
        bodies.append(replace(body, limits=replace(body.limits, lower=low, upper=tuple(-x for x in low))))
    return lw.Robot(replace(tree, bodies=tuple(bodies)))


def _poses(robot: lw.Robot, q: np.ndarray) -> np.ndarray:
    return np.asarray(robot.forward_kinematics(q))[..., :3, :]


def _turned(rng: np.random.Generator, robot: lw.Robot, q: np.ndarray) -> np.ndarray:
    """Configurations an odd multiple of half a revolution from q (n, nq), about one axis each."""
    units = [unit for _, body in robot.tree.stacked() for unit in body.joint.v_units]
    phi = np.zeros((len(q), robot.nv))
    phi[np.arange(len(q)), rng.choice(np.flatnonzero(np.array(units) == "rad/s"), len(q))] = 1.0
    return np.asarray(robot.integrate(q, phi * np.pi * rng.choice([-7, -3, -1, 1, 3, 7], len(q))[:, None]))


@pytest.mark.slow(every=9)
def test_trajectories_of_plans_equal_the_checked_motions_for_every_joint_type(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = _bounded(random_tree(np.random.default_rng(0), 18)).with_collisions("body0", lw.shapes.Sphere(0.1))
    straight = lw.Robot(straight_tree(robot.tree))
    rng = np.random.default_rng(1)
    space = PlanningSpace(robot, POST, weights=rng.uniform(0.1, 10.0, robot.nv))
    checked: list[np.ndarray] = []

    def check(self: PlanningSpace, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        q = straight.integrate(q0[:, None], T[:, None] * straight.difference(q0, q1)[:, None])
        checked[:] = _poses(robot, q)
        return np.ones(len(q0), dtype=bool)

    monkeypatch.setattr(PlanningSpace, "_check_batch", check)
    for seed in range(6):
        path = [space.samples(seed).take(1)]
        for _ in range(12):
            path += [_turned(rng, straight, path[-1]), space.samples(int(rng.integers(1000))).take(1)]
        nodes = np.concatenate(path)
        query = PlanQuery(space, nodes[0], nodes[-1], None, 0, QueryBegin.now())
        plan = query.solved(nodes, GoalConfigurations(nodes[-1:], np.zeros(1, dtype=int), []))
        for forward in (True, False):
            ends = nodes if forward else nodes[::-1]
            assert space.edges_are_free(ends[:-1], ends[1:]).all()
            motion = plan.trajectory()
            weighted = space.weights * straight.difference(plan.path[:-1], plan.path[1:])
            lengths = np.linalg.norm(weighted, axis=-1)
            np.testing.assert_allclose(np.diff(motion.knots), lengths[lengths > 0.0], atol=1e-12 * plan.cost)
            assert motion.end_time == plan.cost
            executed = [_poses(robot, motion(a + T * (b - a)).q) for a, b in pairwise(motion.knots)]
            expected = checked if forward else [edge[::-1] for edge in checked[::-1]]
            assert len(executed) == len(expected) > len(nodes)
            assert max(np.abs(x - y).max() for x, y in zip(executed, expected, strict=True)) < 2e-12


def _arm(joint: Any, **options: Any) -> lw.Robot:
    bar, Joint = lw.shapes.Capsule(0.03, 0.5).at(lw.pose((0.35, 0.0, 0.0), rpy=(0.0, 0.5 * np.pi, 0.0))), lw.Joint
    links = lw.Link("base", mass=1.0), lw.Link("arm", bar, mass=1.0), lw.Link("hand", mass=1.0)
    turn = Joint.of(lw.joints.Revolute(Z), name="wrist", parent="arm", child="hand", placement=(0.6, 0.0, 0.0))
    return lw.Robot.build("arm", *links, Joint.of(joint, name="shoulder", parent="base", child="arm", **options), turn)


@pytest.mark.slow(every=9)
def test_planned_paths_to_goals_many_half_revolutions_away_avoid_a_post(drawn: Any) -> None:
    geared = {ratio: _arm(lw.joints.Revolute(Z)).with_couplings({"wrist": ("shoulder", ratio)}) for ratio in (0.5, -2)}
    planar = _arm(lw.joints.Planar(), lower=[-0.01, -0.01, -np.inf], upper=[0.01, 0.01, np.inf])
    screw = _arm(lw.joints.Helical(Z, 0.3))
    far = lw.Scene().with_box("post", (0.06, 0.06, 2.0), (3.0, 0.4, 0.0))  # joints that count revolutions go past it
    slide = lw.joints.Composite((lw.joints.Prismatic((1.0, 0.0, 0.0)), lw.joints.Revolute(Z)))
    composite = _arm(slide, lower=[-0.01, -np.inf], upper=[0.01, np.inf])
    back = _arm(lw.joints.Universal(Z, (0.0, 1.0, 0.0)).reversed())
    turning = [(robot, POST) for robot in (_arm(lw.joints.Revolute(Z)), planar, geared[-2], composite, back)]
    for robot, scene in drawn([*turning, (screw, far), (geared[0.5], far)]):
        roadmap = lw.planning.Roadmap(robot, scene, num_nodes=40)
        for k in (-7, -3, -1, 1, 3, 7):
            start, goal = robot.neutral(), robot.neutral()
            goal[2 if robot is planar else 1 if robot is composite else 0] = k * np.pi
            for plan in (robot.plan(start, goal, scene, time_limit=60.0), roadmap.plan(start, goal)):
                motion = plan.trajectory()
                q = motion(np.linspace(motion.start_time, motion.end_time, 400)).q
                assert robot.minimum_distance(q, scene).min() > 0.0
                assert np.abs(_poses(robot, q[-1]) - _poses(robot, goal)).max() < 1e-12


def test_nodes_of_straight_paths_longer_than_half_a_revolution_are_not_removed() -> None:
    for joint in (lw.joints.Revolute(Z), lw.joints.UnboundedRevolute(Z), lw.joints.Spherical()):
        robot = _arm(joint)
        space, phi = PlanningSpace(robot, POST), np.zeros((7, robot.nv))
        phi[:, robot.joint("shoulder").v_slice.stop - 1] = 0.8 * np.arange(7)
        path = np.asarray(robot.integrate(robot.neutral(), phi))
        left = remove_straight_nodes(space, path)
        assert len(left) == 3 and space.cost(left) == pytest.approx(space.cost(path), abs=1e-12)


def test_planner_counts_revolutions_that_change_a_pose_or_a_constraint_error() -> None:
    robot = lw.Robot(random_tree(np.random.default_rng(3), 18))
    names = [body.joint_name for body in robot.tree.bodies if type(body.joint) is lw.joints.Revolute]
    types = [lw.joints.Revolute, lw.joints.Universal, lw.joints.Helical]
    chain = lw.Robot(random_tree(np.random.default_rng(4), 12, types=types, shape="chain"))
    same = [body.joint_name for body in chain.tree.bodies if type(body.joint) is lw.joints.Revolute]
    coupled = chain.with_couplings({same[1]: (same[0], 0.5), same[3]: (same[2], -3.0)})
    for robot_ in (robot, coupled):
        q, straight = robot_.random_configuration(seed=0), straight_tree(robot_.tree)
        periodic = periodic_coordinates(straight)
        units = np.array([unit for _, body in robot_.tree.stacked() for unit in body.joint.q_units])
        edges, q_b, turns = lw.Robot(straight), robot_.random_configuration(seed=1), np.zeros(robot_.nv)
        for k in np.flatnonzero(units == "rad"):
            turned = q_b + 2.0 * np.pi * (np.arange(robot_.nq) == k)
            assert periodic.in_q[k] == (np.abs(_poses(robot_, turned) - _poses(robot_, q_b)).max() < 1e-11)
            turns += periodic.in_q[k] * (edges.difference(q, turned) - edges.difference(q, q_b)) / (2.0 * np.pi)
        np.testing.assert_allclose(turns, periodic.in_v, atol=1e-12)
        assert periodic.in_q.sum() == periodic.in_v.sum() > 0
    free = periodic_coordinates(robot.tree).in_q.sum() - periodic_coordinates(robot.tree, frozenset(names)).in_q.sum()
    assert free == len(names) > 0


def test_planned_straight_edges_rotate_in_the_shorter_direction() -> None:
    """Revolutions are added to the end of an edge: it is the same configuration, at most half a revolution away."""
    space = PlanningSpace(_arm(lw.joints.Revolute(Z)), POST)
    q0, q1 = np.random.default_rng(0).uniform(-9.0, 9.0, (2, 20, space.robot.nq))
    edge, begin, end = space.straight_parts(q0, q1)
    assert edge.tolist() == list(range(20)) and np.array_equal(begin, q0)
    np.testing.assert_allclose(end - begin, space.difference(q0, q1), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(np.exp(1j * end), np.exp(1j * q1), rtol=0.0, atol=1e-14)
    assert 2.0 < np.abs(end - begin).max() <= np.pi


def test_path_constraints_on_an_angle_hold_over_many_planned_edges() -> None:
    robot = _arm(lw.joints.Revolute(Z))
    within = lw.ik.Within(lw.ik.JointTask("shoulder", target=0.0), -4.0, 4.0)
    tasks = PathConstraintTasks(robot, [within], bound=1e-3, limits=(robot.lower, robot.upper), caller="plan")
    limits = read_limits("plan", robot, None)
    space = ConstrainedSpace(robot, POST, tasks=tasks, position_limits=limits)
    path = np.array([[3.0, 0.0], [-3.0, 0.0], [-1.0, 0.0]])
    assert np.array_equal(space.counted(path), path) and space.difference(path[0], path[1])[0] == -6.0
