"""Controllers in joint space: error dynamics, saturation, robots with fewer motors, refused arguments."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import linkage
from linkwork.control import PD, PID, ComputedTorque, GravityCompensation, JointImpedance, OperationalSpace
from linkwork.errors import UnknownNameError
from mechanisms.mechanisms import KINDS, mechanism, mechanisms
from oracles.trees import TREES, robot_of


def test_computed_torque_control_errors_obey_a_linear_differential_equation() -> None:
    rng = np.random.default_rng(0)
    # with a motor a joint
    robot: Any = lw.load("double_pendulum")
    law = ComputedTorque(robot, kp=[30.0, 50.0], kd=[7.0, 11.0], effort_limits=np.inf, passive=True)
    q, v, aim, rate, ahead = rng.normal(size=(5, 4, 2))
    tau = law(0.0, q, v, target_q=aim, target_v=rate, target_a=ahead)
    a = robot.forward_dynamics(q, v, tau, passive=True)
    assert np.allclose(a, ahead + [7.0, 11.0] * (rate - v) + [30.0, 50.0] * (aim - q), rtol=1e-9, atol=1e-9)
    # by tasks of operational space, for all joints and for one
    for task, name, rows in ((lw.ik.PostureTask(), "posture_q", slice(2)), (lw.ik.JointTask("elbow"), "elbow", [1])):
        inputs = {f"{name.removesuffix('_q')}{key}": x[:, rows] for key, x in (("_v", rate), ("_a", ahead))}
        inputs[name] = aim[:, rows] if name == "posture_q" else aim[:, 1]
        tau = OperationalSpace(robot, task, 30.0, 7.0, effort_limits=np.inf)(0.0, q, v, **inputs)
        a = robot.forward_dynamics(q, v, tau, passive=True)
        assert np.allclose(a[:, rows], (ahead + 7.0 * (rate - v) + 30.0 * (aim - q))[:, rows], rtol=1e-9, atol=1e-9)
    alone = {"t": 0.0, "q": q[1], "v": v[1], "target_q": aim[1]}
    assert np.array_equal(pickle.loads(pickle.dumps(law))(**alone), law(**alone))
    # with joints that follow others: their masters' motors
    geared = robot_of(TREES["rerooted_coupled"])
    law = ComputedTorque(geared, kp=30.0, kd=7.0, effort_limits=np.inf)
    at = geared.random_configuration(rng)
    turning, aimed = rng.normal(size=(2, geared.nv))
    tau = law(0.0, at, turning, target_q=geared.integrate(at, aimed))
    tau += geared.passive_force(at, 30.0 / 7.0 * aimed) - geared.passive_force(at, turning)  # resistances at v_r
    a = geared.forward_dynamics(at, turning, tau, passive=True)
    assert np.allclose(a, 30.0 * aimed - 7.0 * turning, rtol=1e-8, atol=1e-8)
    # by one alone, which is named
    elbow = robot.v_names[1]
    law = ComputedTorque(robot, kp={elbow: 50.0}, actuators=elbow, effort_limits=np.inf)
    tau = law(0.0, q, v, target_q=aim)
    assert not tau[:, 0].any()
    a = robot.forward_dynamics(q, v, tau)
    assert np.allclose(a[:, 1], 50.0 * (aim - q)[:, 1] - 2.0 * np.sqrt(50.0) * v[:, 1], rtol=1e-9, atol=1e-9)
    # of a loop, its crank's
    loop: Any = lw.load("fourbar")
    crank = loop.v_names[0]
    law = ComputedTorque(loop, kp=40.0, actuators=crank, effort_limits=np.inf)
    q = loop.assemble().q
    v = loop.explicit_velocity(q, np.full(loop.nv, 0.7), [crank])
    tau = law(0.0, q, v, target_q=q + 0.2)
    assert not tau[1:].any()
    a = loop.constrained_forward_dynamics(q, v, tau).a
    assert np.isclose(a[0], 40.0 * 0.2 - 2.0 * np.sqrt(40.0) * 0.7, rtol=1e-9)


def _arm(effort: float | None = None) -> Any:
    """Three joints about axes across each other, of links that weigh 6, 5 and 3 kg."""
    limits = {} if effort is None else {"effort": effort}
    rows = [
        {"d": 0.4, "alpha": np.pi / 2.0, "mass": 6.0, "com": (0.0, -0.1, 0.0), "inertia": (0.1, 0.05, 0.1), **limits},
        {"a": 0.5, "mass": 5.0, "com": (-0.2, 0.0, 0.0), "inertia": (0.02, 0.15, 0.15), **limits},
        {"a": 0.4, "mass": 3.0, "com": (-0.15, 0.0, 0.0), "inertia": (0.01, 0.06, 0.06), **limits},
    ]
    return lw.Robot.from_dh("arm", rows, convention="standard")


def test_joint_control_with_feedforward_follows_a_sinusoid() -> None:
    """Three joints, 200 and 20, 0.5 Hz at 1 kHz: below half a degree with it, and far off without."""
    robot = _arm()
    h, count = 1e-3, 2000
    t = h * np.arange(count)[:, None]
    w, size = 2.0 * np.pi * 0.5, np.array([0.5, 0.4, 0.6])
    q, v, a = size * np.sin(w * t), size * w * np.cos(w * t), -size * w * w * np.sin(w * t)
    left = {}
    for how in ("dynamics", "none"):
        law = PD(robot, kp=200.0, kd=20.0, feedforward=how, effort_limits=np.inf)
        signals = {"target_q": q, "target_v": v, "target_a": a}
        run = robot.simulate(q[0], v[0], controller=law, duration=h * count, dt=h, time_inputs=signals)
        left[how] = np.degrees(np.sqrt(np.mean((run.q[:-1] - q) ** 2)))
    assert left["dynamics"] < 0.5 and 3.0 < left["none"] < 15.0, left


def test_integrators_of_pid_controllers_do_not_wind_up_at_effort_limits() -> None:
    """A step that motors cannot follow at once: both anti-windup options overshoot less and reach the target."""
    robot, h = _arm(30.0), 2e-3
    aim = np.array([1.5, 0.3, 0.4])
    over, left = {}, {}
    for how in ("none", "clamping", "back_calculation"):
        law = PID(robot, kp=60.0, ki=60.0, kd=25.0, dt=h, anti_windup=how, effort_limits=[10.0, 60.0, 30.0])
        run = robot.simulate(
            np.array([0.0, 0.3, 0.4]), controller=law, duration=20.0, dt=h, record_every=5, constants={"target_q": aim}
        )
        over[how], left[how] = float((run.q[:, 0] - aim[0]).max()), np.abs(run.q[-1] - aim).max()
        assert run.controller_state.shape == (3,)
    assert max(left["clamping"], left["back_calculation"]) < 5e-3, left
    assert max(over["clamping"], over["back_calculation"]) < 0.5 * over["none"], over


def test_joint_controllers_accept_gains_by_joint_name_and_leave_the_floating_base_free() -> None:
    robot: Any = lw.load("quadruped", floating_base=True)
    q, rng = robot.neutral(), np.random.default_rng(0)
    legs = [joint.name for joint in robot.joints if joint.nv == 1]
    pd = PD(robot, kp=dict.fromkeys(legs, 20.0), kd=0.5)
    aim = robot.integrate(q, rng.normal(size=robot.nv))
    tau = pd(0.0, q, rng.normal(size=robot.nv), target_q=aim)
    assert not tau[:6].any() and tau[6:].all() and (np.abs(tau) <= robot.effort_limits).all()
    # what holds it in the world's axes is what legs exert, and the base falls freely
    floats = GravityCompensation(robot)
    a = robot.forward_dynamics(q, np.zeros(18), floats(0.0, q, np.zeros(18)))
    assert np.abs(a[6:]).max() < 1e-9


def test_invalid_arguments_of_joint_controllers_are_refused() -> None:
    robot: Any = lw.load("double_pendulum")
    with pytest.raises(ValueError, match=r"PD: kp: .*got -1 for"):
        PD(robot, kp=[1.0, -1.0], kd=1.0)
    with pytest.raises(ValueError, match=r"PD: kd: .*got shape \(3,\)"):
        PD(robot, kp=1.0, kd=[1.0] * 3)
    with pytest.raises(UnknownNameError, match="PD: kp: no joint or coordinate of v named 'knee'"):
        PD(robot, kp={"knee": 1.0}, kd=1.0)
    with pytest.raises(ValueError, match="got no value for"):
        PD(robot, kp={robot.v_names[0]: 1.0}, kd=1.0)
    with pytest.raises(UnknownNameError, match="anti_windup of PID named 'clamp'; did you mean 'clamping'"):
        PID(robot, 1.0, 1.0, 1.0, dt=1e-3, anti_windup="clamp")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="PID: dt"):
        PID(robot, 1.0, 1.0, 1.0, dt=0.0)
    law = PD(robot, kp=1.0, kd=1.0)
    with pytest.raises(TypeError, match=r"missing inputs: expected target_q \(2,\)"):
        law(0.0, np.zeros(2), np.zeros(2))
    with pytest.raises(UnknownNameError, match="target_q"):
        robot.simulate(robot.neutral(), controller=law, duration=0.01, constants={"target": np.zeros(2)})
    with pytest.raises(ValueError, match=r"target_q: expected shape \(2,\), got \(3,\)"):
        robot.simulate(robot.neutral(), controller=law, duration=0.01, constants={"target_q": np.zeros(3)})


def test_joint_impedance_control_realises_the_desired_inertia() -> None:
    """External forces move joints as masses on springs: in one state, over time, and with one of two joints driven."""
    robot, rng = _arm(), np.random.default_rng(3)
    M_d = np.diag([2.0, 1.0, 0.5]) + 0.2
    K, D = np.array([80.0, 60.0, 40.0]), np.array([10.0, 8.0, 6.0])
    q, v, aim, rate, ahead, push = rng.normal(size=(6, 4, 3))
    targets = {"target_q": aim, "target_v": rate, "target_a": ahead}
    law = JointImpedance(robot, K, D, inertia=M_d, effort_limits=np.inf)
    a = robot.forward_dynamics(q, v, law(0.0, q, v, force=push, **targets) + push)
    assert np.allclose((a - ahead) @ M_d, K * (aim - q) + D * (rate - v) + push, rtol=1e-9, atol=1e-9)
    # with the robot's own inertia it is the law without
    impedance = JointImpedance(robot, K, D, effort_limits=np.inf)
    same = JointImpedance(robot, K, D, inertia=robot.mass_matrix(q[0]), effort_limits=np.inf)
    tau = impedance(0.0, q[0], v[0], **{name: x[0] for name, x in targets.items()})
    again = same(0.0, q[0], v[0], force=push[0], **{name: x[0] for name, x in targets.items()})
    assert np.abs(again - tau).max() < 1e-12 * np.abs(tau).max()
    # by time, the closed form of two real roots, under a push that a payload makes
    h, f = 1e-3, np.array([4.0, -3.0, 2.0])
    law = JointImpedance(robot, 32.0, 24.0, inertia=2.0, effort_limits=np.inf)
    start, pushed = np.array([0.3, 0.4, -0.5]), {"target_q": np.array([0.3, 0.4, -0.5]), "force": f}

    def both(t, q, v, target_q, force):
        return law(t, q, v, target_q=target_q, force=force) + force

    run = robot.simulate(start, controller=both, duration=2.0, dt=h, record_every=100, constants=pushed, passive=False)
    s = np.sqrt(36.0 - 16.0)  # of two real roots, −6 ± s
    t = run.t[:, None]
    x = f / 32.0 * (1.0 - ((6.0 + s) * np.exp((s - 6.0) * t) - (6.0 - s) * np.exp(-(s + 6.0) * t)) / (2.0 * s))
    assert np.abs(run.q - start - x).max() < 3e-4
    # one motor of two, and what pushes the other joint too
    two: Any = lw.load("double_pendulum")
    elbow = two.v_names[1]
    law = JointImpedance(two, 30.0, 4.0, inertia=0.7, actuators=elbow, effort_limits=np.inf)
    q, v, push = rng.normal(size=(3, 2))
    tau = law(0.0, q, v, target_q=np.zeros(2), force=push)
    a = two.forward_dynamics(q, v, tau + push)
    assert tau[0] == 0.0 and np.isclose(0.7 * a[1], -30.0 * q[1] - 4.0 * v[1] + push[1], rtol=1e-9)
    for text, wrong in (
        ("inertia: expected positive numbers", lambda: JointImpedance(robot, K, D, inertia=0.0)),
        ("got an asymmetry of", lambda: JointImpedance(robot, K, D, inertia=M_d + np.eye(3, k=1))),
        ("got a matrix with the eigenvalue -1", lambda: JointImpedance(robot, K, D, inertia=-np.eye(3))),
        (r"got shape \(2, 2\)", lambda: JointImpedance(robot, K, D, inertia=np.eye(2))),
        (
            "not supported for a robot with constraints",
            lambda: JointImpedance(lw.load("fourbar"), 1.0, 1.0, inertia=1.0),
        ),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()


@pytest.mark.slow(every=5)
def test_lqr_controllers_can_be_controllers_of_simulations() -> None:
    """Controllers of `track` and `hold`, in kernels and on arrays: before, in and after the motion, with few motors."""
    robot: Any = lw.load("double_pendulum")
    trajectory = robot.spline([0.0, 0.1], [np.zeros(2), np.array([0.5, -0.3])], boundary="clamped")
    along = lw.control.lqr_about_trajectory(robot, trajectory, Q=(100.0, 1.0), R=0.01)
    regulator = lw.control.lqr_about_state(robot, [np.pi, 0.0], actuators=robot.v_names[1])
    kernel = lw.compile(lambda t, q, v: np.concatenate([along(t, q, v), regulator(q, v)]), t=(), q=2, v=2)
    rng = np.random.default_rng(0)
    t = np.array([-0.1, 0.0, 0.0123, 0.0999, 0.1, 0.3])
    q, v = rng.normal(size=(2, len(t), 2))
    expected = np.concatenate([along(t, q, v), regulator(q, v)], axis=-1)
    assert np.allclose(kernel(t, q, v), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.slow(every=5)
def test_controllers_of_robots_with_losses_follow_references_by_default() -> None:
    """Springs, damping and friction count in laws as in simulations, also if a step does not resolve friction."""
    for name in ("arm6", "arm7", "arm7_gripper"):
        robot: Any = lw.load(name)
        robot = robot.with_joint_dynamics(stiffness=np.full(robot.nv, 0.5), rest=np.full(robot.nv, 0.1))
        start = np.clip(robot.neutral(), robot.lower + 0.01, robot.upper - 0.02)
        goal = np.clip(start + 0.4 * np.sin(np.arange(robot.nv) + 1.0), robot.lower + 0.01, robot.upper - 0.02)
        reference = robot.spline([0.0, 1.0], [start, goal], boundary="clamped")
        law = ComputedTorque(robot, kp=100.0)
        run = robot.simulate(start, controller=law, time_inputs={"target": reference}, duration=1.3, record_every=100)
        assert np.abs(run.q - reference(run.t, outside="hold").q).max() < 3e-3, name
        assert np.abs(run.q[-1] - goal).max() < 3e-4, name
        holding_torque = GravityCompensation(robot)(0.0, goal, 0.0 * goal)
        assert np.allclose(
            holding_torque, robot.inverse_dynamics(goal, 0.0 * goal, 0.0 * goal, passive=True), atol=1e-12
        )
    # what no task controls comes to rest by the arm's own friction
    arm = lw.load("arm7")
    q, spin = 0.5 * (arm.lower + arm.upper), np.ones(7)
    hold = lw.control.HybridForcePosition(arm, "hand", force_axes="z", force_damping=40.0)
    inputs = {"target": arm.pose(q, "hand"), "force": np.zeros(1)}
    run = arm.simulate(q, spin, controller=hold, constants=inputs, duration=4.0, record_every=1000)
    assert np.abs(run.v[-1]).max() < 0.1
    V = arm.jacobian(q, "hand") @ spin
    a = arm.forward_dynamics(q, spin, hold(0.0, q, spin, **inputs), passive=True)
    measured = arm.jacobian(q, "hand") @ a + arm.bias_acceleration(q, spin, "hand", expressed_in="world")
    assert np.isclose(measured[5], -40.0 * V[5], rtol=1e-6) and np.isclose(measured[3], -20.0 * V[3], rtol=1e-6)


def test_cartesian_impedance_control_realises_the_desired_mass() -> None:
    """M A = F − D V at the target, whatever the velocity and the wrench."""
    arm: Any = lw.load("arm6")
    rng = np.random.default_rng(0)
    root, D = rng.normal(size=(6, 6)), rng.uniform(5.0, 9.0, 6)
    M = 3.0 * np.eye(6) + 0.1 * (root @ root.T)
    law = lw.control.Impedance(arm, "tool", stiffness=50.0, damping=D, inertia=M, effort_limits=np.inf)
    q, v, F = np.linspace(-0.7, 0.8, 6), rng.normal(size=6), rng.normal(size=6)
    tau, J = law(0.0, q, v, target=arm.pose(q, "tool"), wrench=F), arm.jacobian(q, "tool")
    a = arm.forward_dynamics(q, v, tau + J.T @ F, passive=True)
    result = M @ arm.acceleration(q, v, a, "tool", expressed_in=law.axes)
    np.testing.assert_allclose(result, F - D * (J @ v), rtol=0.0, atol=1e-9)


@pytest.mark.slow(every=5)
def test_controllers_of_a_frame_exert_no_force_on_joints_without_actuators() -> None:
    robot: Any = lw.load("arm7_gripper")
    arm = list(robot.v_names[:7])
    q = np.r_[0.1, 0.5, 0.0, -1.5, 0.0, 1.8, 0.0, 0.01, 0.01]
    v = np.r_[0.3 * np.sin(np.arange(7.0)), 0.02, -0.03]
    X, J, V = robot.pose(q, "hand"), robot.jacobian(q, "hand"), robot.jacobian(q, "hand") @ v
    drift = robot.bias_acceleration(q, v, "hand", expressed_in="world")
    stiff: dict[str, Any] = {"stiffness": (20.0, 400.0), "damping": (2.0, 40.0), "inertia": (0.1, 2.0)}
    soft = lw.control.Impedance(robot, "hand", **stiff, actuators=arm, effort_limits=np.inf)
    tau = soft(0.0, q, v, target=lw.pose((0.01, 0.0, 0.02)) @ X, wrench=np.zeros(6))
    A = J @ robot.forward_dynamics(q, v, tau, passive=True) + drift
    pull = np.r_[0.0, 0.0, 0.0, 2.0, 0.0, 4.0] - np.repeat([20.0, 20.0], 3) * V
    assert not tau[7:].any() and np.allclose(A, pull, atol=1e-9)
    press = lw.control.HybridForcePosition(robot, "hand", "z", actuators=arm, effort_limits=np.inf)
    tau = press(0.0, q, v, target=X, force=[0.0])
    A = J @ robot.forward_dynamics(q, v, tau, passive=True) + drift
    assert not tau[7:].any() and np.allclose(A, -20.0 * V, atol=1e-6)
    for make in (
        lambda: lw.control.Impedance(robot, "hand", **stiff, actuators=arm[:6]),
        lambda: lw.control.OperationalSpace(robot, lw.ik.PoseTask("hand"), actuators=arm),
    ):
        with pytest.raises(ValueError, match=r"'(wrist_roll|left_finger_slide)' without an actuator: use .*WholeBody"):
            make()


@pytest.mark.slow(every=9)
def test_joint_controllers_drive_loops_with_every_joint_type_to_their_target(drawn: Any) -> None:
    """Joints with several velocities are actuated as a whole, in loops and in the targets of an admittance."""
    for kind in drawn(list(KINDS.values())):
        mechanism_robot = mechanism(kind)
        robot, q = lw.Robot(mechanism_robot.tree), np.array(mechanism_robot.q)
        zeros = np.zeros(robot.nv)
        inner = ComputedTorque(robot, kp=30.0, effort_limits=np.inf)
        soft = lw.control.Admittance(inner, inertia=1.0, damping=2.0, stiffness=3.0, dt=1e-3)
        for tau in (
            GravityCompensation(robot, effort_limits=np.inf)(0.0, q, zeros),
            soft(0.0, q, zeros, soft.start, target_q=q, force=zeros)[0],
        ):
            a = robot.constrained_forward_dynamics(q, zeros, tau, passive=True).a
            assert np.abs(a).max() < 1e-6 * (1.0 + np.abs(tau).max()), mechanism_robot


def test_whole_body_control_compensates_losses_in_loop_joints() -> None:
    robot = linkage()
    loop = robot.constraints[0]
    robot = robot.without_constraints(loop.name).with_loop("pin", "end", "tip", loop.joint, damping=0.1, stiffness=5.0)
    q = robot.assemble().q
    v = 0.5 * robot.project(q, np.ones(robot.nv))[1]
    answer = lw.control.WholeBody(robot, lw.ik.PostureTask(), effort_limits=np.inf).answer(0.0, q, v, posture_q=q)
    a = robot.constrained_forward_dynamics(q, v, answer.tau, passive=True).a
    assert answer.found and np.allclose(a, answer.acceleration, atol=1e-6 * (1.0 + np.abs(a).max()))


def test_joint_controllers_evaluate_prescribed_joints_at_the_current_time() -> None:
    robot: Any = lw.load("double_pendulum")
    driven, free = robot.v_names
    robot = robot.with_constraints(lw.constraints.Prescribed(driven, lambda t: 0.2 + 0.3 * lw.expr.sin(t)))
    q, v = robot.project([0.3, -0.2], [0.1, 0.4], time=1.0)
    for actuators in (free, None):
        law = ComputedTorque(robot, kp=30.0, actuators=actuators, effort_limits=np.inf)
        tau = law(1.0, q, v, target_q=q + 0.1)
        a = robot.constrained_forward_dynamics(q, v, tau, time=1.0).a
        assert np.isclose(a[1], 3.0 - 2.0 * np.sqrt(30.0) * v[1], rtol=1e-9) and abs(tau[0]) < 1e-9
    answer = lw.control.WholeBody(robot, lw.ik.PostureTask(), effort_limits=np.inf).answer(1.0, q, v, posture_q=q)
    a = robot.constrained_forward_dynamics(q, v, answer.tau, time=1.0).a
    assert np.allclose(a, answer.acceleration, atol=1e-6) and np.isclose(a[0], -0.3 * np.sin(1.0))


@pytest.mark.slow(every=5)
def test_redundant_actuators_of_a_mechanism_give_accelerations_that_satisfy_the_control_law() -> None:
    """Motions that constraints and actuators leave free follow from no force, as those of a bicycle that falls."""
    coupled_robot = mechanisms()["couplings and a floating body"]
    loops, bicycle = lw.Robot(coupled_robot.tree), lw.load("bicycle")
    for robot, q in ((loops, np.array(coupled_robot.q)), (bicycle, bicycle.assemble().q)):
        v = robot.project(q, np.sin(np.arange(robot.nv) + 1.0))[1]
        law = ComputedTorque(robot, kp=30.0, kd=7.0, effort_limits=np.inf, passive=False)
        for rate in (v, 0.0 * v):
            tau = law(0.0, q, rate, target_q=robot.integrate(q, 1e-4 * v))
            a = robot.constrained_forward_dynamics(q, rate, tau).a
            expected = (30.0 * 1e-4 * v - 7.0 * rate)[law.acting]
            error = np.abs(a[law.acting] - expected) / (1.0 + np.abs(expected).max())
            independent = [1] if robot is bicycle and rate.any() else slice(None)  # its wheels roll on one ground
            assert error[independent].max() < 1e-9
        idle = np.setdiff1d(np.arange(robot.nv), law.acting)
        assert not tau[idle].any() and np.abs(tau).max() < 1e3


def test_target_of_a_controller_as_an_array_is_refused_with_its_name():
    arm = lw.load("double_pendulum")
    law = lw.control.PD(arm, kp=1.0, kd=1.0)
    with pytest.raises(
        lw.errors.UnknownNameError, match="input of PD named 'target'; use target_q for an array; a traj"
    ):
        arm.simulate([0.0, 0.0], controller=law, duration=0.01, constants={"target": [0.1, 0.2]})
