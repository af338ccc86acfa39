"""Armature, damping, dry friction and springs of joints, against MuJoCo and Pinocchio.

MuJoCo has dry friction as a constraint that is soft: joints that it holds creep, and those that slide fast enough feel
exactly what they are given.  So joints that slide are compared, with its constraints on, and with them off all else.
What passive forces MuJoCo computes are springs and damping; armature is in its mass matrix.  Pinocchio's dynamics of
rigid bodies include armature alone: damping and friction are data of its models, which are put in beside them here.
"""

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.scalars import Direct

SAMPLES = 5
MODEL = """
<mujoco><option gravity="1 2 -9.81"><flag contact="disable"/></option><compiler autolimits="false"/><worldbody>
<body><inertial pos="0.1 0.2 0" mass="2" diaginertia="0.1 0.2 0.25"/><joint name="hinge" type="hinge" axis="0 1 0"/>
<body pos="0.3 0 0.1"><inertial pos="0 0.2 0.1" mass="1" diaginertia="0.1 0.2 0.15"/>
<joint name="ball" type="ball"/>
<body pos="0 0 0.4"><inertial pos="0.1 0 0.1" mass="3" diaginertia="0.3 0.2 0.15"/>
<joint name="slide" type="slide" axis="1 0 0"/></body></body></body></worldbody></mujoco>
"""


def of_three_joints():
    """The same in linkwork."""
    inertias = {"a": (2, (0.1, 0.2, 0), (0.1, 0.2, 0.25)), "b": (1, (0, 0.2, 0.1), (0.1, 0.2, 0.15))}
    inertias["c"] = (3, (0.1, 0, 0.1), (0.3, 0.2, 0.15))
    offset = {"a": (0, 0, 0), "b": (0.3, 0, 0.1), "c": (0, 0, 0.4)}
    types = {"hinge": joints.Revolute((0, 1, 0)), "ball": joints.Spherical(), "slide": joints.Prismatic((1, 0, 0))}
    links = [lw.Link(name, mass=m, com=c, inertia=J) for name, (m, c, J) in inertias.items()]
    pairs = zip(types.items(), ("world", "a", "b"), "abc", strict=True)
    linkwork_joints = [lw.Joint.of(t, name=n, parent=p, child=c, placement=offset[c]) for (n, t), p, c in pairs]
    return lw.Robot.build("three", *links, *linkwork_joints, gravity=(1, 2, -9.81))


def some_dynamics(robot, rng, friction=0.0):
    """Set random passive properties of all joints that are not floating."""
    free = ~np.concatenate([np.full(joint.nv, joint.type.is_floating) for joint in robot.joints if joint.nv])
    drawn = {key: free * rng.uniform(0.1, 2.0, robot.nv) for key in ("armature", "damping", "stiffness")}
    return robot.with_joint_dynamics(
        **drawn, friction=free * friction * rng.uniform(0.5, 1.0, robot.nv), rest=robot.random_configuration(rng)
    )


def test_springs_of_hinges_slides_and_balls_equal_mujocos():
    """The spring and the armature of a ball have one value for all directions in MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(0)
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    robot = some_dynamics(of_three_joints(), rng).with_joint_dynamics(stiffness={"ball": 1.5}, armature={"ball": 0.7})
    model.dof_armature[:], model.dof_damping[:] = robot.armature, robot.damping
    model.jnt_stiffness[:] = [robot.joint(name).stiffness[0] for name in ("hinge", "ball", "slide")]
    model.qpos_spring[:] = robot.rest_configuration
    q, v = robot.random_configuration(rng, size=20), rng.normal(size=(20, robot.nv))
    tau = rng.normal(size=(20, robot.nv))
    expected = {"passive": [], "M": [], "a": []}
    for sample in range(20):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q[sample], v[sample], tau[sample]
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        expected["passive"].append(data.qfrc_passive.copy())
        expected["M"].append(M)
        expected["a"].append(data.qacc.copy())
    assert_close(Direct(robot.tree).passive_force(q, v), expected["passive"], 1e-12, core=1)
    assert_close(Direct(robot.tree).mass_matrix(q, passive=True), expected["M"], 1e-12, core=2)
    assert_close(Direct(robot.tree).forward_dynamics(q, v, tau, passive=True), expected["a"], 1e-10, core=1)


def test_passive_forces_of_robots_equal_mujocos(drawn):
    pytest.importorskip("mujoco")
    import mujoco

    from oracles.mujoco_model import MuJoCo

    for example in drawn([*(e for e in EXAMPLES if e.name in ("panda", "ur5", "talos", "solo12")), *SHIPPED]):
        rng = np.random.default_rng(1)
        oracle = MuJoCo(example)
        robot = some_dynamics(example.robot(), rng, friction=1.0)
        model, data = oracle.model, oracle.data
        for joint, at_q, at_v, floats in oracle.joints:
            if not floats:
                mine = robot.joint(joint.name)
                model.dof_armature[at_v], model.dof_damping[at_v] = mine.armature[0], mine.damping[0]
                model.jnt_stiffness[model.joint(joint.name).id] = mine.stiffness[0]
                model.qpos_spring[at_q] = mine.rest[0]
                model.dof_frictionloss[at_v] = mine.friction[0]
        q = robot.random_configuration(rng, size=SAMPLES)
        v, a = rng.normal(size=(2, SAMPLES, robot.nv))
        v = v + 2.0 * np.sign(v)  # all slide
        springs = robot.with_joint_dynamics(friction=np.zeros(robot.nv))
        rows = zip(q, v, a, strict=True)
        forces, passive = [], []
        for x in rows:
            T = oracle._put(*x)
            forces.append(T.T @ data.qfrc_inverse)
            passive.append(T.T @ data.qfrc_passive)
        assert_close(Direct(springs.tree).passive_force(q, v), passive, 1e-12, example.name, core=1)
        assert_close(Direct(springs.tree).inverse_dynamics(q, v, a, passive=True), forces, 1e-10, example.name, core=1)
        off = mujoco.mjtDisableBit
        model.opt.disableflags = int(off.mjDSBL_LIMIT) | int(off.mjDSBL_CONTACT) | int(off.mjDSBL_EQUALITY)
        model.opt.tolerance, model.opt.iterations = 0.0, 200
        model.dof_solimp[:] = (
            0.9999,
            0.9999,
            0.001,
            0.5,
            2.0,
        )  # hard: else light joints creep
        tau = Direct(robot.tree).inverse_dynamics(q, v, a, passive=True, friction="coulomb")
        for k, x in enumerate(zip(q, v, a, strict=True)):
            T = oracle._put(*x)
            data.qfrc_applied[:] = np.linalg.solve(T.T, tau[k])
            acceleration = data.qacc.copy()
            mujoco.mj_forward(model, data)
            assert_close(data.qacc, acceleration, 1e-8, example.name)


def test_passive_forces_of_robots_equal_pinocchios(drawn):
    pytest.importorskip("pinocchio")
    from oracles.pinocchio_model import Pinocchio

    for example in drawn([*(e for e in EXAMPLES if e.name in ("panda", "ur5", "talos", "solo12")), *SHIPPED]):
        rng = np.random.default_rng(2)
        robot = some_dynamics(example.robot(), rng, friction=1.0)
        oracle = Pinocchio(example, robot)
        model = oracle.model
        for joint in robot.joints:
            if joint.nv == 1:
                index = model.joints[model.getJointId(joint.name)].idx_v
                model.armature[index] = joint.armature[0]
        q = robot.random_configuration(rng, size=SAMPLES)
        v, a = rng.normal(size=(2, SAMPLES, robot.nv))
        loose = robot.with_joint_dynamics(friction=0.0, damping=0.0, stiffness=0.0)
        tau = oracle.inverse_dynamics(q, v, a)
        assert_close(Direct(loose.tree).inverse_dynamics(q, v, a, passive=True), tau, 1e-11, example.name, core=1)
        assert_close(
            Direct(loose.tree).mass_matrix(q, passive=True), oracle.mass_matrix(q), 1e-11, example.name, core=2
        )
        exerted = Direct(robot.tree).passive_force(q, v, friction="coulomb")
        acceleration = Direct(robot.tree).forward_dynamics(q, v, tau - exerted, passive=True, friction="coulomb")
        assert_close(acceleration, oracle.forward_dynamics(q, v, tau), 1e-8, example.name, core=1)
