"""Loops compared with Pinocchio's constraints of three and six rows, and with MuJoCo's stiff equalities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE, fourbars, parallel
from linkwork.joints import Fixed, Spherical


def tied(joint: lw.joints.JointType, frame: str = "hand") -> tuple[lw.Robot, np.ndarray, np.ndarray]:
    """An arm whose hand is held to the ground where it is, and a velocity that this allows."""
    robot, rng = lw.load("arm7"), np.random.default_rng(1)
    q = robot.random_configuration(rng)
    robot = robot.with_frame("ground", "world", robot.pose(q, frame)).with_loop("grip", "ground", frame, joint)
    v = rng.normal(size=robot.nv)
    G = robot.constraint_jacobian(q)
    return robot, q, v - np.linalg.pinv(G) @ (G @ v)


@pytest.mark.costly
@pytest.mark.parametrize("joint", [Spherical(), Fixed()], ids=["3 rows", "6 rows"])
def test_constrained_accelerations_equal_pinocchios(joint: lw.joints.JointType) -> None:
    pin = pytest.importorskip("pinocchio")
    frame = lw.load("arm7").links[-1].name
    robot, q, v = tied(joint, frame)
    tau = np.random.default_rng(2).normal(size=robot.nv)
    model = pin.buildModelFromXML(lw.robots.path("arm7").read_text(encoding="utf-8"))
    names = [joint.name for joint in robot.joints]
    assert list(model.names)[1:] == names and model.nq == robot.nq
    hand = model.frames[model.getFrameId(frame)]
    kind = pin.ContactType.CONTACT_3D if joint.nv else pin.ContactType.CONTACT_6D
    X = robot.pose(q, frame)
    ground = pin.SE3(X[:3, :3], X[:3, 3])
    constraint = pin.RigidConstraintModel(
        kind, model, hand.parentJoint, hand.placement, 0, ground, pin.ReferenceFrame.LOCAL
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(constraint)
    datas.append(constraint.createData())
    data, settings = model.createData(), pin.ProximalSettings(1e-12, 1e-12, 20)
    pin.initConstraintDynamics(model, data, models, datas)
    expected = pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)
    dynamics_result, forces = robot.constrained_forward_dynamics(q, v, tau)
    assert forces.shape == (6 - joint.nv,)
    assert np.max(np.abs(dynamics_result - expected)) < 1e-8 * np.max(np.abs(expected))


FOURBAR = """
<mujoco>
  <compiler angle="radian"/> <option gravity="0 0 -9.81" timestep="1e-4"/>
  <worldbody>
    <body name="rod0"> <joint name="A0" axis="0 1 0"/>
      <inertial pos=".5 0 0" mass="1" diaginertia=".08 .08333333333333333 .08333333333333333"/>
      <body name="coupler1" pos="1 0 0"> <joint name="B1" axis="0 1 0"/>
        <inertial pos=".5 0 0" mass="1" diaginertia=".08 .08333333333333333 .08333333333333333"/>
      </body>
    </body>
    <body name="rod1" pos="1 0 0"> <joint name="A1" axis="0 1 0"/>
      <inertial pos=".5 0 0" mass="1" diaginertia=".08 .08333333333333333 .08333333333333333"/>
    </body>
  </worldbody>
  <equality>
    <connect body1="coupler1" body2="rod1" anchor="1 0 0" solimp=".99999 .99999 .001" solref=".001 1"/>
  </equality>
</mujoco>
"""


def test_constrained_accelerations_are_close_to_those_of_stiff_mujoco_equalities() -> None:
    """At rest, since it leaves the rows' own rates out; a four-bar whose loop is a hinge here and a ball there."""
    mujoco = pytest.importorskip("mujoco")
    robot = fourbars(1, HINGE)
    model = mujoco.MjModel.from_xml_string(FOURBAR)
    data: Any = mujoco.MjData(model)
    tau = {"A0": 0.7, "B1": -0.4, "A1": 1.1}
    for angle in (0.4, 1.2):
        q, v = parallel(robot, angle)
        for joint in robot.joints:
            data.joint(joint.name).qpos, data.joint(joint.name).qvel = q[joint.q_slice], 0.0
            data.joint(joint.name).qfrc_applied = tau[joint.name]
        mujoco.mj_forward(model, data)
        dynamics_result, _ = robot.constrained_forward_dynamics(
            q, v, np.array([tau[joint.name] for joint in robot.joints])
        )
        expected = np.array([data.joint(joint.name).qacc[0] for joint in robot.joints])
        assert np.max(np.abs(dynamics_result - expected)) < 1e-3 * np.max(np.abs(expected))
