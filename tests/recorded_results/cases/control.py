"""Controllers, regulators, linear models and predictive control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import control, ik
from linkwork.control import TVLQRController
from linkwork.simulation import IMU, ContactGround, ContactPoint, Encoder
from recorded_results.case import case
from recorded_results.robots import arm, crane, hopper, inside


def _state() -> tuple[Any, Any]:
    return inside(arm(), 1, 41, 0.6)[0], np.array([0.4, -0.7, 0.9])


@case()
def linear_model_of_an_arm_with_dampers_and_gravity(_: Any) -> Any:
    q, v = _state()
    robot = arm()
    model = control.linear_model(
        robot,
        q,
        v,
        tau=[1.3, -0.7, 0.4],
        inputs=["lift", "turn"],
        outputs=["q:bend", "pose:tool", "twist:elbow", "acceleration:tool", "a:turn", "imu", "coder"],
        sensors={"imu": IMU("tool"), "coder": Encoder(["lift"], of="velocity")},
    )
    sampled = model.discretized(0.013, input_delay=[0.02, 0.005])
    return {
        "model": [model.A, model.B, model.C, model.D, np.sort(np.abs(model.poles()))],
        "names": [list(model.state_names), list(model.input_names), list(model.output_names), str(model)],
        "sampled": [sampled.A, sampled.B, sampled.C, sampled.D, list(sampled.state_names), str(sampled)],
        "response": np.abs(model.frequency_response([0.3, 4.0])),
    }


@case(1e-7)
def regulators_of_every_kind(folder: Path) -> Any:
    rng = np.random.default_rng(7)
    A, B, N = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)), 0.1 * rng.normal(size=(4, 2))
    Q, R = np.diag([1.3, 0.7, 2.1, 0.4]), np.array([[0.9, 0.2], [0.2, 0.6]])
    continuous, discrete = control.lqr(A, B, Q, R, N), control.lqr(0.5 * A, B, Q, R, N, discrete=True)
    large = control.lqr(*(rng.normal(size=(14, k)) for k in (14, 3)), np.eye(14), np.eye(3))
    steps = control.finite_horizon_lqr(0.4 * A, B, Q, R, N, end=3.0 * Q, num_steps=5)
    robot, q = crane(), [0.3, 0.4]
    forces = robot.gravity_force(q)
    about = control.lqr_about_state(robot, q, Q=(11.0, 1.3), R=0.2, tau=forces, dt=0.02, effort_limits=[15.0, 5.0])
    path = robot.spline([0.0, 0.2, 0.5], [[0.1, 0.2], [0.3, -0.2], [0.2, 0.1]], boundary="clamped")
    along = control.lqr_about_trajectory(robot, path, Q=(50.0, 2.0), R=[0.3, 0.7], dt=0.05, end=3.0 * np.eye(4))
    along.save(folder / "lqr.npz")
    again = TVLQRController.load(folder / "lqr.npz", robot=robot)
    bar = lw.load("fourbar")
    x = bar.drive_mechanism({"crank_hinge": [0.7]}).q[0]
    resting = bar.equilibrium(x).q
    closed = control.lqr_about_state(bar, resting, Q=(7.0, 1.1), R=0.4, actuators="crank_hinge")
    return {
        "continuous": [continuous.K, continuous.X],
        "discrete": [discrete.K, discrete.X],
        "large": large.K,
        "finite": [steps.K, steps.X],
        "about": [about.K, about.X, about.A, about.B, about([0.35, 0.3], [0.2, -0.4]), about([2.0, 3.0], [0.2, -0.4])],
        "along": [along.K, along.X, along(0.23, [0.3, -0.1], [0.2, 0.5]), along(0.9, [0.3, -0.1], [0.2, 0.5])],
        "parts": [
            along.gains(0.11),
            along.feedforward(0.31),
            along.deviation(0.3, [0.2, 0.4], [0.1, 0.2]),
            along.times,
        ],
        "again": [again(0.23, [0.3, -0.1], [0.2, 0.5]), str(again), str(about)],
        "closed": [resting, closed.K, closed(resting + 0.01, np.array([0.1, 0.2, 0.3]))],
    }


@case()
def joint_controllers_of_every_kind(_: Any) -> Any:
    robot, (q, v) = arm(), _state()
    goal: dict[str, Any] = {
        "target_q": np.add(q, [0.2, -0.1, 0.3]),
        "target_v": [0.1, 0.2, -0.3],
        "target_a": [0.5, -0.4, 0.6],
    }
    limits = {"turn": 30.0, "lift": 9.0, "bend": 4.0}
    kp, kd = [40.0, 30.0, 20.0], [7.0, 5.0, 3.0]
    pd = control.PD(robot, kp, kd, feedforward="gravity", effort_limits=limits)
    dynamics = control.PD(robot, kp[:2], kd[:2], feedforward="dynamics", actuators=["turn", "bend"], passive=False)
    clamped = control.PID(robot, kp, 9.0, kd, dt=0.01, effort_limits=limits, feedforward="gravity")
    tracking = control.PID(
        robot, kp, 9.0, kd, dt=0.01, anti_windup="back_calculation", tracking_time=0.2, effort_limits=limits
    )
    computed = control.ComputedTorque(robot, kp, kd, effort_limits=np.inf)
    damped = control.ComputedTorque(robot, kp)
    soft = control.JointImpedance(robot, kp, kd, inertia=[0.9, 0.7, 0.3], effort_limits=np.inf)
    plain_impedance = control.JointImpedance(robot, kp, kd)
    floating = control.GravityCompensation(robot, [0.7, 0.4, 0.2])
    shifted = control.Admittance(computed, inertia=[1.1, 0.8, 0.6], damping=12.0, stiffness=40.0, dt=0.01)
    integral = np.array([0.02, -0.01, 0.03])
    return {
        "pd": pd(0.1, q, v, **goal),
        "dynamics": dynamics(0.1, q, v, **goal),
        "pid": clamped(0.1, q, v, integral, **goal),
        "tracking": tracking(0.1, q, v, integral, **goal),
        "computed": [computed(0.1, q, v, **goal), damped(0.1, q, v, **goal)],
        "impedance": [soft(0.1, q, v, **goal, force=[0.4, -0.3, 0.2]), plain_impedance(0.1, q, v, **goal)],
        "gravity": floating(0.1, q, v),
        "admittance": shifted(0.1, q, v, np.linspace(0.01, 0.06, 6), **goal, force=[0.4, -0.3, 0.2]),
        "texts": [str(x) for x in (pd, dynamics, clamped, tracking, computed, soft, floating, shifted)],
    }


@case(1e-7)
def cartesian_controllers_of_every_kind(_: Any) -> Any:
    robot, (q, v) = arm(), _state()
    X = lw.pose((0.03, -0.02, 0.05), rpy=(0.1, -0.2, 0.1)) @ robot.pose(q, "tool")
    moving: dict[str, Any] = {
        "target": X,
        "target_v": [0.1, 0.2, -0.1, 0.3, 0.1, -0.2],
        "target_a": [0.2, 0.1, 0.3, -0.1, 0.4, 0.2],
    }
    wrench = [0.3, -0.2, 0.1, 1.1, -0.7, 0.9]
    soft = control.Impedance(
        robot,
        "tool",
        stiffness=(20.0, 300.0),
        damping=(2.0, 30.0),
        axes="tool",
        nullspace_damping=0.4,
        effort_limits=np.inf,
    )
    shaped = control.Impedance(
        robot,
        "tool",
        stiffness=(20.0, 300.0),
        damping=(2.0, 30.0),
        inertia=[0.1, 0.2, 0.15, 2.0, 1.5, 1.7],
        max_condition=50.0,
    )
    press = control.HybridForcePosition(
        robot,
        "tool",
        "z",
        motion_axes=["x", "y"],
        stiffness=120.0,
        damping=17.0,
        force_damping=11.0,
        force_gain=0.6,
        integral_gain=2.0,
        dt=0.01,
        axes="tool",
        nullspace_damping=0.3,
        max_condition=80.0,
    )
    position, resting = ik.PositionTask("tool"), ik.PostureTask(level=1)
    space = control.OperationalSpace(
        robot,
        [position, resting],
        stiffness={"tool": 90.0, "posture": 12.0},
        damping={"tool": 15.0, "posture": 4.0},
        max_condition=60.0,
    )
    plain = control.Impedance(robot, "tool", stiffness=(15.0, 200.0), damping=(2.0, 30.0))
    at_hand = control.Admittance(plain, inertia=[0.2, 0.3, 0.25, 1.3, 1.1, 0.9], damping=20.0, stiffness=50.0, dt=0.01)
    return {
        "soft": soft(0.1, q, v, **moving),
        "shaped": shaped(0.1, q, v, **moving, wrench=wrench),
        "press": press(0.1, q, v, np.array([0.07]), target=X, force=[-3.0], wrench=wrench),
        "space": space(0.1, q, v, tool=X[:3, 3], tool_v=[0.1, 0.2, -0.1], posture_q=[0.2, 0.1, -0.3]),
        "admittance": at_hand(0.1, q, v, np.linspace(0.01, 0.12, 12), **moving, force=wrench),
    }


@case(1e-5)
def whole_body_control_on_a_slope(_: Any) -> Any:
    robot = hopper()
    q = robot.neutral()
    q[4:7], q[7] = (0.02, -0.01, 0.36), 0.02
    v = 0.1 * np.array([0.3, -0.4, 0.2, 0.7, 0.5, -0.6, 0.4])
    points = [ContactPoint("foot", offset) for offset in ((0.09, 0.02, 0.0), (-0.07, 0.06, 0.0), (0.01, -0.08, 0.01))]
    ground = ContactGround(points, friction=0.6, normal=(0.05, 0.1, 0.99), height=-0.01)
    law = control.WholeBody(
        robot,
        [ik.JointTask("slide"), ik.OrientationTask("trunk", weight=0.7)],
        stiffness={"slide": 40.0, "trunk": 20.0},
        damping={"slide": 9.0, "trunk": 6.0},
        contacts=ground,
        contact_damping=14.0,
        horizon=0.06,
        regularization=(2e-3, 3e-4),
        dt=0.002,
    )
    answer = law.answer(0.1, q, v, slide=0.05, trunk=np.eye(3), contact=[1.0, 1.0, 0.8])
    return {"tau": answer.tau, "a": answer.acceleration, "forces": answer.contact_forces, "found": answer.found}


@case(1e-5)
def predictive_control_of_a_crane(folder: Path) -> Any:
    robot = crane()
    problem = lw.TrajectoryProblem(robot, num_steps=8, duration=0.8).add(
        "configuration", "least_squares", scale=5.0, name="place"
    )
    problem = problem.add("velocity", "least_squares", scale=0.5).add("torque", "least_squares", scale=0.05)
    mpc = problem.controller(
        period=0.05,
        max_iterations=3,
        first_max_iterations=60,
        actuators="rail",
        Q=(60.0, 1.5),
        R=0.02,
        fallback_braking_time=0.2,
        effort_limits={"rail": 14.0, "hinge": 0.0},
    )
    commands = [mpc.step(([0.1, 0.2], [0.3, -0.1]), {"place": [0.7, 0.0]})]
    mpc.save(folder / "mpc.npz")
    commands += [mpc.step(([0.11, 0.21], [0.3, 0.1]), {"place": [0.7, 0.1]}, elapsed=0.03)]
    command, plan = commands[-1], mpc.plan
    mpc.time_limit = 0.0
    late = [mpc.step(([0.12, 0.2], [0.3, 0.1]), {"place": [0.7, 0.1]}, elapsed=x) for x in (0.05, 0.9)]
    mpc.restore(folder / "mpc.npz")
    return {
        "torques": [x.torque for x in commands],
        "status": [str(x.status) for x in [*commands, *late]],
        "plan": [plan.q, plan.v, plan.tau, plan.K],
        "costs": [x.cost for x in commands],
        "late": [x.torque for x in late],
        "between": command([0.13, 0.19], [0.31, 0.12]),
        "restored": mpc.plan.q,
        "texts": [x.explain() for x in late],
    }
