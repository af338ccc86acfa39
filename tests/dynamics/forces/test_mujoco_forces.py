"""Wrenches across joints, forces of wrenches and impacts of real robots, against MuJoCo."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

import mujoco

from oracles.comparison import assert_close, solving_bound
from oracles.example_robots import EXAMPLES
from oracles.mujoco_model import MuJoCo

ACCEPTED = ("panda", "ur5", "kinova", "xarm7", "talos", "g1", "solo12", "go2")


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.name in ACCEPTED], ids=str)
def test_joint_wrenches_static_torques_and_impacts_equal_mujocos(example):
    robot, theirs = example.robot(), MuJoCo(example)
    model, data = theirs.model, theirs.data
    rng = np.random.default_rng(5)
    (q,), v, a = robot.random_configuration(rng, size=1), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    p = rng.normal(size=6)
    frame = example.frames[0]

    T = theirs._put(q, v, a)
    felt = np.zeros(model.nv)
    body = data.body(frame)
    mujoco.mj_applyFT(model, data, p[3:], p[:3], body.xpos, body.id, felt)
    u = T.T @ felt
    assert_close(robot.static_torque(q, wrenches={frame: p}), u, 1e-12, "static_torque")
    mass = robot.mass_matrix(q)
    step = np.zeros((1, model.nv))
    mujoco.mj_solveM(model, data, step, felt[None])
    after = v + np.linalg.solve(T, step[0])
    bound = max(1e-10, solving_bound(mass, (u,), after - v))
    assert_close(robot.impact(q, v, impulses={frame: p}), after, bound, "impact")

    mujoco.mj_rnePostConstraint(model, data)  # interaction forces about the centre of the tree's mass
    expected = []
    for link in robot.bodies:  # the joint stands at its origin in these files
        carrier = data.body(link)
        moment, force = carrier.cfrc_int[:3], carrier.cfrc_int[3:]
        arm = data.subtree_com[model.body_rootid[carrier.id]] - carrier.xpos
        expected.append([*(moment + np.cross(arm, force)), *force])
    carrier = robot.joint_wrenches(q, v, a, expressed_in="world")
    assert_close(carrier, expected, 1e-10, "joint_wrenches")
