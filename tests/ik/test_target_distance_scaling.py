"""Targets far beyond the robot's size, for robots with slides: steps and starts scale with the distance."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.arms import chain_text

FAR = 1e9


def chain(*joints, tip="0 0 0"):
    """Bounds of so much stand for none."""
    return chain_text([(*joint, -FAR, FAR) if len(joint) == 3 else joint for joint in joints], tip)


SLIDER = chain(("prismatic", "0.6 0 0.8", "0 0 0.2"))
GANTRY = chain(("prismatic", "1 0 0", "0 0 0"), ("prismatic", "0 1 0", "0 0 0"), ("prismatic", "0 0 1", "0 0 0"))


@pytest.mark.parametrize("robot", [SLIDER, GANTRY])
@pytest.mark.parametrize("weight", [None, 1.0])
def test_ik_of_linear_problems_needs_few_iterations_at_any_distance(robot, weight):
    tip = f"l{robot.nv}"
    task = lw.ik.PositionTask(tip, weight=weight, name="place")
    bounded = robot.ik_problem(task, position_limits=False)
    most = {}
    for far in (1.0, 30.0, 1e3, 1e5):
        q = np.random.default_rng(0).uniform(-far, far, (20, robot.nq))
        position = robot.pose(q, tip)[:, :3, 3]
        solution = bounded.solve(place=position)
        assert (solution.status == "solved").all() and (solution.restarts == 0).all()
        assert np.abs(robot.pose(solution.q, tip)[:, :3, 3] - position).max() <= 1e-6
        most[far] = int(solution.iterations.max())
    assert max(most.values()) <= (5 if weight is None else 8)  # the first looks at the seed
    assert weight is not None or most[1e5] <= 3


def test_ik_scales_function_tasks_of_length_with_the_distance():
    height = lw.ik.FunctionTask("height", lambda k, z: k.point("l1")[2] - z[0], shape=(1,), units="1")
    solution = SLIDER.ik_problem(height, position_limits=False).solve(height=[[3e4]])
    assert solution.success.all() and solution.iterations.max() <= 5


@pytest.mark.slow(every=5)
def test_ik_solves_a_machine_modelled_in_millimetres():
    """Ranges of metres in mm, with and without offsets, and a rotating wrist."""
    slides = [
        ("prismatic", "1 0 0", "0 0 0", 0.0, 8000.0),
        ("prismatic", "0 1 0", "0 0 250", 0.0, 4000.0),
        ("prismatic", "0 0 1", "0 0 -120", -1500.0, 0.0),
    ]
    bare = [(kind, axis, "0 0 0", low, high) for kind, axis, _, low, high in slides]
    for joints in (bare, [*slides, ("revolute", "0 0 1", "0 0 -80", -3.0, 3.0)]):
        robot, tip = chain_text(joints, "0 0 0"), f"l{len(joints) + 1}"
        position = robot.pose(robot.random_configuration(seed=1, size=40), tip)[:, :3, 3]
        for task in (lw.ik.PositionTask(tip, name="place"), lw.ik.PositionTask(tip, weight=1.0, name="place")):
            solution = robot.ik_problem(task).solve(place=position)
            assert (solution.status == "solved").all() and solution.iterations.max() <= 20
        near = robot.ik_problem(lw.ik.PositionTask(tip, name="place"), solver="nearest").solve(place=position)
        assert near.success.mean() >= 0.9


@pytest.mark.parametrize("root", ["planar", "floating"])
def test_ik_targets_far_from_the_base_need_no_more_iterations_than_near_targets(root):
    links = "".join(f'<link name="l{i}"/>' for i in range(5))
    arm = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/><origin xyz="0 0 0.3"/>'
        f'<axis xyz="{axis}"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
        for i, axis in enumerate(("0 0 1", "0 1 0", "0 1 0", "1 0 0"), start=0)
    )
    base = '<joint name="base" type="{}"><parent link="world"/><child link="l0"/><axis xyz="0 0 1"/></joint>'
    robot = lw.Robot.from_urdf_string(f'<robot name="r"><link name="world"/>{links}{base.format(root)}{arm}</robot>')
    X = robot.pose(robot.random_configuration(seed=1, size=60), "l4")
    away = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 1.0, float(root == "floating")]
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    problem = robot.ik_problem(lw.ik.PoseTask("l4", name="X"))
    steps = []
    for far in (0.5, 30.0, 1000.0):
        targets = X.copy()
        targets[:, :3, 3] += far * away
        solution = problem.solve(X=targets)
        assert (solution.status == "solved").all()
        steps.append(solution.iterations.mean())
    assert max(steps) <= 2.0 * steps[0]


def test_failed_ik_searches_without_a_proof_do_not_have_status_out_of_reach():
    """Without a proof the status is "not_found"; "out_of_reach" has a proof."""
    arm = lw.load("arm7")
    X = arm.pose(arm.random_configuration(seed=3, size=12), "hand")
    locked = arm.inverse_kinematics(X, "hand", locked=["elbow", "wrist_roll"], max_iterations=100)
    far = arm.inverse_kinematics(X @ lw.pose((0.0, 0.0, 4.0)), "hand", max_iterations=100)
    assert (far.status == "out_of_reach").all() and all(proof.proved for proof in far.proof)
    for result in (locked, far):
        for status, proof in zip(result.status, result.proof, strict=True):
            assert (status != "out_of_reach") or proof.proved
    assert "not_found" in locked.status and all(
        "not_found: no solution from" in locked.explain(k) for k in range(12) if locked.status[k] == "not_found"
    )
