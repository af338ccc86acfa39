"""Steps of MuJoCo's integrators, and forces of actuators, against MuJoCo on the same model."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.formats import MujocoCoordinates
from linkwork.simulation import actuator_servos, actuator_torque

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the reference")

MODEL = """<mujoco><compiler angle="radian"/><option timestep="0.002" integrator="{}"><flag contact="disable"/></option>
<worldbody><site name="anchor" pos="0.3 0.2 1" quat="0.8 0.2 0.4 0.1"/>
<body name="trunk" pos="0 0 1"><freejoint/><inertial pos="0.01 0.02 0" mass="3" diaginertia="0.02 0.03 0.04"/>
<body name="a" pos="0.1 0 0.2" quat="0.9 0.1 0.2 0.3"><joint name="a" axis="0 1 0"
 damping="0.3" armature="0.05" stiffness="8" springref="0.2"/>
 <inertial pos="0 0 0.1" mass="1" diaginertia="0.01 0.012 0.005"/>
<site name="tip" pos="0 0 0.3" quat="0.5 0.1 0 0.2"/>
<body name="b" pos="0 0 0.3"><joint name="b" axis="1 0 0" damping="0.1" actuatorfrcrange="-1.5 1.5"/>
 <inertial pos="0 0.05 0.1" mass="0.7" diaginertia="0.01 0.012 0.005"/>
<body name="c" pos="0 0 0.3"><joint name="c" type="slide" axis="0 0 1" damping="2" stiffness="50"/>
 <inertial pos="0 0.05 0.1" mass="0.5" diaginertia="0.01 0.012 0.005"/></body>
<body name="d" pos="0.1 0 0"><joint name="d" type="ball" damping="0.05"/>
 <inertial pos="0.05 0 0.1" mass="0.3" diaginertia="0.01 0.012 0.005"/></body></body></body></body>
{}</worldbody>{}</mujoco>"""
ALONE = """<body name="alone" pos="1 0 0"><freejoint/>
<inertial pos="0.1 0.05 0" mass="0.5" diaginertia="0.01 0.012 0.02"/></body>"""
SERVOS = """<actuator><position name="p" joint="a" kp="40" kv="3"/><motor name="m" joint="b" gear="2"/>
<velocity name="v" joint="c" kv="30" forcerange="-4 4"/></actuator>"""
EVERY = """<tendon><fixed name="t"><joint joint="a" coef="0.5"/><joint joint="c" coef="-2"/></fixed></tendon>
<actuator><position joint="a" kp="40" kv="3"/><motor joint="b" gear="9"/><velocity joint="c" kv="30" forcerange="-4 4"/>
<general tendon="t" gainprm="3" biastype="affine" biasprm="1 -2 -0.5"/><motor joint="d" gear="1 2 3"/>
<general site="tip" gainprm="2" biastype="affine" biasprm="0 -3 -0.2" gear="1 2 3 0.1 0.2 0.3"/>
<position site="tip" refsite="anchor" kp="5" kv="0.3" gear="1 2 3 0.4 0.5 0.6"/>
<general joint="b" gaintype="affine" gainprm="1 2 3" ctrlrange="-0.1 0.1"/></actuator>"""


def loaded(actuators, integrator="Euler"):
    more = ALONE if integrator == "Euler" else ""  # MuJoCo's implicitfast has gyroscopic derivatives of single bodies
    model = mujoco.MjModel.from_xml_string(MODEL.format(integrator, more, actuators))
    robot = lw.Robot.from_mujoco(model)
    return model, mujoco.MjData(model), robot, MujocoCoordinates(robot, model)


def draw(model, data, rng):
    data.qpos[:] = rng.normal(size=model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.qvel[:] = rng.normal(size=model.nv)
    data.ctrl[:] = rng.normal(size=model.nu)


@pytest.mark.slow(every=5)
def test_hundred_time_steps_of_mujocos_integrators_equal_mujocos():
    for integrator, method in (("Euler", "mujoco_euler"), ("implicitfast", "mujoco_implicitfast")):
        model, data, robot, maps = loaded(SERVOS, integrator)
        draw(model, data, np.random.default_rng(0))
        u, q, v = data.ctrl.copy(), maps.q(data.qpos), maps.v(data.qpos, data.qvel)
        for _ in range(100):
            mujoco.mj_step(model, data)

        def controller(t, q, v, u, robot=robot):
            return actuator_servos(robot, u)

        result = robot.simulate(
            q,
            v,
            controller=controller,
            constants={"u": u},
            duration=0.2,
            dt=0.002,
            method=method,
        )
        assert result.q[-1] == pytest.approx(maps.q(data.qpos), abs=1e-12)
        assert result.v[-1] == pytest.approx(maps.v(data.qpos, data.qvel), abs=1e-11)


def test_forces_of_actuators_equal_mujocos():
    model, data, robot, maps = loaded(EVERY)
    rng = np.random.default_rng(1)
    for _ in range(10):
        draw(model, data, rng)
        mujoco.mj_forward(model, data)
        q, v = maps.q(data.qpos), maps.v(data.qpos, data.qvel)
        tau = actuator_torque(robot, q, v, data.ctrl)
        w = rng.normal(size=robot.nv)  # the power of both on the same motion
        assert tau @ w == pytest.approx(data.qfrc_actuator @ maps.qvel(q, w), rel=1e-12)


def test_mujocos_integrators_are_refused_for_robots_with_constraints():
    bar = lw.load("fourbar")
    with pytest.raises(ValueError, match="'mujoco_euler' is for robots without constraints; use 'semi_implicit_euler'"):
        bar.simulate(bar.neutral(), duration=0.1, method="mujoco_euler")
