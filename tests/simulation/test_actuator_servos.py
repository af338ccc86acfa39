"""Actuators of a robot as servos of a simulation."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import Actuator
from linkwork.errors import UnknownNameError
from linkwork.simulation import ServoActuators, actuator_servos

ARM = lw.load("arm7").with_gravity((0, 0, 0))


def torque(robot, q, v, controls):
    """τ (nv) of the actuators, joint by joint, by their own formula."""
    tau = np.zeros(robot.nv)
    for actuator, u in zip(robot.actuators, controls, strict=True):
        ((joint, (gear,)),) = actuator.joints
        k = robot.joint(joint).v_slice.start
        tau[k] += gear * actuator.force(u, actuator.offset + gear * q[k], gear * v[k])
    return tau


def test_servos_exert_the_forces_of_their_actuators():
    robot = ARM.with_actuators(
        Actuator.motor("m", "shoulder_pan", gear=50.0, control_range=(-0.5, 0.5)),
        Actuator.position("p", "elbow", stiffness=40.0, damping=3.0, gear=2.0, force_range=(-20.0, 20.0)),
        Actuator.velocity("w", "wrist_roll", damping=1.0, gear=-3.0),
        Actuator("a", {"wrist_flex": 1.5}, gain=(2.0, 0.0, 0.0), bias=(0.3, -4.0, -0.2), offset=0.4),
        Actuator.motor("second", "wrist_roll", gear=0.5),
    )
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = rng.uniform(-0.5, 0.5, (2, 7))
        u = rng.uniform(-1.0, 1.0, 5)
        forces = actuator_servos(robot, u).of(robot)
        assert np.array(forces.now(robot, q, v), float) == pytest.approx(torque(robot, q, v, u), abs=1e-10)


@pytest.mark.slow(every=5)
def test_position_actuator_moves_its_joint_as_a_servo():
    servo = Actuator.position("servo", "elbow", stiffness=1e4, damping=200.0)
    robot = ARM.with_actuators(servo)
    by_actuator = robot.simulate(
        robot.neutral(),
        controller=lambda t, q, v, u: actuator_servos(robot, u),
        duration=0.5,
        constants={"u": np.array([-0.5])},
    )
    k = robot.joint("elbow").v_slice.start
    aim, stiffness, damping, limit = np.zeros(7), np.zeros(7), np.zeros(7), np.zeros(7)
    aim[k], stiffness[k], damping[k], limit[k] = -0.5, 1e4, 200.0, robot.effort_limits[k]
    by_servos = robot.simulate(
        robot.neutral(),
        controller=lambda t, q, v: ServoActuators(aim, stiffness=stiffness, damping=damping, limit=limit),
        duration=0.5,
    )
    assert by_actuator.q == pytest.approx(by_servos.q, abs=1e-9)
    assert by_actuator.q[-1, k] == pytest.approx(-0.5, abs=1e-2)


def test_servo_force_limits_are_the_tighter_of_force_range_and_joint_limit():
    k = ARM.joint("elbow").v_slice.start
    effort = float(ARM.effort_limits[k])
    for gear, bound in ((2.0, 1.0), (2.0, effort)):
        robot = ARM.with_actuators(Actuator.motor("m", "elbow", gear=gear, force_range=(-bound, bound)))
        servos = actuator_servos(robot, {"m": 1e6})
        assert servos.limit[k] == min(gear * bound, effort)
    assert np.count_nonzero(servos.limit) == 1


@pytest.mark.parametrize(
    ("actuators", "message"),
    [
        ([Actuator("a", frame="hand", wrench=(0, 0, 0, 1, 0, 0))], "acts on frame 'hand'"),
        ([Actuator("a", {"elbow": 1.0, "wrist_roll": 1.0})], "several velocities together"),
        ([Actuator("a", {"elbow": 1.0}, gain=(1.0, 2.0, 0.0))], "its gain depends on its length"),
        ([Actuator("a", {"elbow": 1.0}, bias=(0.0, 1.0, 0.0))], "stiffness or damping is negative"),
        ([Actuator.motor("a", "elbow", force_range=(-1.0, 2.0))], "expected symmetric bounds"),
        (
            [Actuator.motor("a", "elbow"), Actuator.motor("b", "elbow", force_range=(-1.0, 1.0))],
            "another actuator acts on joint 'elbow'",
        ),
    ],
)
def test_actuators_that_are_no_servos_are_refused_as_servos(actuators, message):
    robot = ARM.with_actuators(*actuators)
    with pytest.raises(ValueError, match=message):
        actuator_servos(robot, np.zeros(len(actuators)))


def test_servos_on_floating_and_coupled_joints_are_refused():
    free = lw.load("quadruped", floating_base=True)
    free = free.with_actuators(Actuator.motor("a", "floating_base", gear=(0, 0, 0, 0, 0, 1.0)))
    with pytest.raises(ValueError, match="joint 'floating_base' floats"):
        actuator_servos(free, [1.0])
    gripper = lw.load("arm7_gripper").with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)})
    with pytest.raises(ValueError, match="follows another joint"):
        actuator_servos(gripper.with_actuators(Actuator.motor("a", "right_finger_slide")), [1.0])


def test_controls_of_servos_are_checked_by_name_and_shape():
    robot = ARM.with_actuators(Actuator.motor("m", "elbow"))
    with pytest.raises(UnknownNameError, match="no actuator named 'n'"):
        actuator_servos(robot, {"n": 1.0})
    with pytest.raises(ValueError, match=r"controls: expected shape \(1,\), got 2 values"):
        actuator_servos(robot, [1.0, 2.0])
    for name in ("stiffness", "damping", "limit"):
        ServoActuators(np.zeros(7), **{name: np.zeros(7)}).of(robot)
        with pytest.raises(ValueError, match=f"{name}: expected numbers >= 0, got -1e-300"):
            ServoActuators(np.zeros(7), **{name: np.full(7, -1e-300)}).of(robot)


@pytest.mark.slow(every=5)
def test_time_steps_with_servos_of_any_gain_are_exact():
    """A wheel with a servo is a linear equation for each step: solved for all inertias, steps and gains."""
    gains = np.concatenate([10.0 ** np.arange(15), np.linspace(3e5, 1e6, 8)])
    n = len(gains)

    def controller(t, q, v, K, D, target, limit):
        return ServoActuators(target, stiffness=K, damping=D, limit=limit)

    for I in (1e-6, 0.02, 1.0):
        wheel = lw.Robot.build(
            "wheel",
            lw.Link("wheel", mass=1.0, inertia=(I, I, I)),
            lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="axle", parent="world", child="wheel"),
        )
        for h in (1e-3, 1e-2, 1e-1):
            for D, v0, limit in ((0.0, 0.3, 1e300), (1e4, 0.0, 1e300), (1.0, 0.3, 50.0)):
                constants = {"K": gains[:, None], "D": np.full((n, 1), D), "target": [0.7], "limit": limit}
                start = np.full((n, 1), 0.2), np.full((n, 1), v0)
                run = wheel.simulate(*start, duration=20 * h, dt=h, controller=controller, constants=constants)
                plausible = (gains * h < 1e7) | (limit < 1e3)
                assert run.success[plausible].all(), (I, h, D, gains[~run.success])
                q, v = (x[:, 0].copy() for x in start)
                for _ in range(20):
                    v = (I * v + h * gains * (0.7 - q)) / (I + h * h * gains + h * D)
                    q += h * v
                if limit > 1e3:
                    assert np.abs(run.q[:, -1, 0] - q)[run.success].max() < 1e-9, (I, h, D)
    arm = lw.load("arm7")
    q = np.tile(0.5 * (arm.lower + arm.upper), (10, 1))
    constants = {"K": 10.0 ** np.arange(2, 12)[:, None] * np.ones(7), "D": np.zeros(7), "limit": arm.effort_limits}
    for offset in (0.0, 0.3):
        run = arm.simulate(
            q, duration=0.5, dt=0.01, controller=controller, constants={**constants, "target": q[0] + offset}
        )
        assert run.success.all(), (offset, run.status)
