"""Operational space, impedance, admittance and hybrid control: error dynamics of tasks, frames and contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.control import Admittance, ComputedTorque, HybridForcePosition, Impedance, OperationalSpace, WholeBody
from linkwork.errors import UnknownNameError
from linkwork.ik import JointTask, OrientationTask, PoseTask, PositionTask, PostureTask
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.simulation import ContactGround, ContactPoint

SIZES = (0.5, 0.4, 0.3, 0.2)
TIP = "tool"
Q = np.array([0.4, 0.9, -0.7, 0.5])


def _planar() -> Any:
    """Four links in the plane z = 0 of the world, where gravity is along −y."""
    rows = [
        {"a": a, "mass": 4.0 * a, "com": (-a / 2.0, 0.0, 0.0), "inertia": (1e-3, a**3 / 3.0, a**3 / 3.0)} for a in SIZES
    ]
    robot: Any = lw.Robot.from_dh("planar", rows, convention="standard", tool=(0.0, 0.0, 0.0))
    return robot.with_gravity((0.0, -9.81, 0.0))


PLANE = {"axes": "reference", "tolerance": (1e-6, 1e-6, np.inf)}  # x and y of the world


@pytest.mark.slow(every=5)
def test_operational_space_tasks_are_accelerated_by_priority() -> None:
    robot, rng = _planar(), np.random.default_rng(0)
    tip, turn = PositionTask(TIP, **PLANE), JointTask(robot.v_names[0], level=1)
    posture = PostureTask(level=2, target=Q)
    law = OperationalSpace(
        robot, [tip, turn, posture], {TIP: 90.0, turn.name: 40.0, "posture": 10.0}, effort_limits=np.inf
    )
    q, v = Q + 0.2 * rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
    aim = robot.pose(Q, TIP)[:3, 3]
    ahead, rate = rng.normal(size=(2, 3))
    targets = {TIP: aim, f"{TIP}_v": rate, f"{TIP}_a": ahead}
    tau = law(0.0, q, v, **targets, **{turn.name: 0.3})
    a = robot.forward_dynamics(q, v, tau)
    J = robot.jacobian(q, TIP)[:, 3:5]
    moved = np.einsum("sij,sj->si", J, a) + robot.bias_acceleration(q, v, TIP)[:, 3:5]
    speed = np.einsum("sij,sj->si", J, v)
    desired = ahead[:2] + 2.0 * np.sqrt(90.0) * (rate[:2] - speed) + 90.0 * (aim[:2] - robot.pose(q, TIP)[:, :2, 3])
    assert np.allclose(moved, desired, rtol=1e-9, atol=1e-8)
    assert np.allclose(a[:, 0], 40.0 * (0.3 - q[:, 0]) - 2.0 * np.sqrt(40.0) * v[:, 0], rtol=1e-8, atol=1e-8)
    # what comes later does not move what comes first: J M⁻¹ τ₀ = 0
    torque = law(0.0, q, v, **targets, **{turn.name: -2.0}, posture_q=rng.normal(size=4))
    change = np.einsum("sij,sjk,sk->si", J, robot.mass_matrix_inverse(q), torque - tau)
    assert np.abs(torque - tau).max() > 1.0 and np.abs(change).max() < 1e-9
    # tasks that conflict: the first is kept, and forces stay bounded
    both = OperationalSpace(robot, [tip, PositionTask(TIP, **PLANE, level=1, name="other")], 90.0, effort_limits=np.inf)
    tau = both(0.0, q, v, **targets, other=aim + 1.0)
    a = robot.forward_dynamics(q, v, tau)
    moved = np.einsum("sij,sj->si", J, a) + robot.bias_acceleration(q, v, TIP)[:, 3:5]
    assert np.allclose(moved, desired, rtol=1e-7, atol=1e-6) and np.abs(tau).max() < 1e4


@pytest.mark.slow(every=5)
def test_operational_space_control_errors_obey_the_stated_differential_equation() -> None:
    """ë + k_d ė + k_p e = 0 of errors themselves, by their second differences, in any axes, near and far, and while the
    target moves and turns."""
    arm: Any = lw.load("arm7")
    rng, h, kp, kd = np.random.default_rng(2), 2e-4, 90.0, 12.0
    q, v = arm.random_configuration(rng), rng.normal(size=7)
    tasks = [PoseTask("hand"), PoseTask("hand", axes="target"), PoseTask("hand", tolerance=(1e-6,) * 5 + (np.inf,))]
    tasks += [PositionTask("hand"), OrientationTask("hand"), PositionTask("hand", axes="reference")]
    spin, going, ahead = rng.normal(size=(3, 3))
    start = arm.pose(q, "hand") @ lw.pose((0.1, -0.05, 0.08), rpy=(0.4, -0.3, 0.5))

    def aim(t: float, moves: bool) -> Any:
        if not moves:
            return start
        turned = lw.pose(axis=spin, angle=t * float(np.linalg.norm(spin)))[:3, :3] @ start[:3, :3]
        return lw.pose(start[:3, 3] + t * going + 0.5 * t * t * ahead, rotation=turned)

    for task in tasks:
        kind, rows = type(task), len(task.component_names)
        for moves in (False, True) if kind is PositionTask or not task.exact else (False,):
            pick: Any = {PoseTask: lambda X: X, PositionTask: lambda X: X[:3, 3], OrientationTask: lambda X: X[:3, :3]}

            def left(t: float, a: Any, task: Any = task, moves: bool = moves, pick: Any = pick[kind]) -> Any:
                configuration = arm.integrate(q, t * v + 0.5 * t * t * a)
                return np.array(
                    task.errors(TaskState(arm.tree, list(configuration)), list(pick(aim(t, moves)).ravel())), float
                )

            def in_frame(t: float, a: Any, task: Any = task) -> Any:
                """The target's velocity, in the frame's axes or the world's."""
                R = arm.pose(arm.integrate(q, t * v + 0.5 * t * t * a), "hand")[:3, :3]
                R = R if task.axes == "frame" else np.eye(3)
                return np.concatenate([R.T @ spin, R.T @ (going + t * ahead)])

            axes = {PoseTask: slice(6), PositionTask: slice(3, 6), OrientationTask: slice(3)}[kind]
            law, a = OperationalSpace(arm, task, kp, kd, effort_limits=np.inf, max_condition=1e12), np.zeros(7)
            for _ in range(2):  # how the target's velocity is seen depends on how the frame turns
                led = {}
                if moves:
                    rate = (in_frame(h, a) - in_frame(-h, a)) / (2.0 * h)
                    led = {"hand_v": in_frame(0.0, a)[axes], "hand_a": rate[axes]}
                results = {"hand": pick[kind](aim(0.0, moves)), **led}
                a = arm.forward_dynamics(q, v, np.array(law.forces(0.0, q, v, None, results)[0], float), passive=True)
            answers = [a]
            if task == PoseTask("hand"):
                whole = WholeBody(arm, task, kp, kd, effort_limits=1e9, horizon=1e-4, regularization=(1e-9, 1e-9))
                answers.append(whole.answer(0.0, q, v, **results).acceleration)
            for torque in answers:
                e = [left(k * h, torque) for k in (-1, 0, 1)]
                residual = (e[2] - 2.0 * e[1] + e[0]) / h**2 + kd * (e[2] - e[0]) / (2.0 * h) + kp * e[1]
                finite = np.isfinite(task.tolerances)
                assert rows == len(residual) and np.abs(residual[finite]).max() < 1e-3, (task, moves, residual)


@pytest.mark.slow(every=5)
def test_operational_space_forces_are_bounded_at_singularities() -> None:
    """A hand is pulled out of reach and back, so that the arm is stretched: equal bits with and without a batch."""
    robot, h = _planar(), 2e-3
    tip = PositionTask(TIP, **PLANE)
    law = OperationalSpace(
        robot, [tip, PostureTask(level=1, target=Q)], {TIP: 100.0, "posture": 20.0}, effort_limits=200.0
    )
    steps = 1500
    t = h * np.arange(steps)
    first, start = robot.pose(Q, TIP)[:3, 3], Q
    reach = 1.0 + (1.8 / np.linalg.norm(first) - 1.0) * np.sin(np.pi * t / (steps * h)) ** 2
    aim = first * reach[:, None]
    many = start + 0.1 * np.random.default_rng(0).normal(size=(5, 4))
    many[0] = start

    def run(q: np.ndarray, aim: np.ndarray) -> Any:
        return robot.simulate(
            q, controller=law, duration=h * steps, dt=h, record_every=10, time_inputs={TIP: aim}, record=["tau"]
        )

    alone = run(start, aim)
    poisoned = np.repeat(aim[None], 5, axis=0)
    poisoned[3, 200:] = 1e200  # an environment that is asked for what no number can say
    batch_torque = run(many, poisoned)
    assert np.array_equal(batch_torque.q[0], alone.q) and np.array_equal(
        batch_torque.records["tau"][0], alone.records["tau"]
    )
    assert batch_torque.success[[0, 1, 2, 4]].all()
    J = robot.jacobian(alone.q, TIP)[:, 3:5]
    stretched = np.linalg.det(J @ np.swapaxes(J, 1, 2))
    assert stretched.min() < 1e-3  # of 0.08: it was there
    assert np.isfinite(alone.q).all() and np.abs(alone.v).max() < 20.0
    assert np.abs(robot.pose(alone.q[-1], TIP)[:2, 3] - aim[-1, :2]).max() < 5e-2
    # at the singularity itself, exactly
    flat = np.zeros(4)
    tau = OperationalSpace(robot, tip, effort_limits=np.inf)(0.0, flat, flat, **{TIP: [1.0, 0.5, 0.0]})
    assert np.isfinite(tau).all() and np.abs(tau).max() < 1e6


@pytest.mark.slow(every=5)
def test_impedance_control_acts_as_a_spring_at_a_frame() -> None:
    robot, rng = _planar(), np.random.default_rng(1)
    q, v = Q + 0.1, rng.normal(size=4)
    target = robot.pose(Q, TIP)
    K, D = (50.0, 300.0), (5.0, 30.0)
    soft = Impedance(robot, TIP, stiffness=K, damping=D, effort_limits=np.inf)
    # at rest, force against displacement: F = K dx holds it
    J = robot.jacobian(q, TIP)
    e = lw.pose_difference(robot.pose(q, TIP), target)
    push = -np.repeat(K, 3) * e
    a = robot.forward_dynamics(q, np.zeros(4), soft(0.0, q, np.zeros(4), target=target) + J.T @ push)
    assert np.abs(a).max() < 1e-9
    # with an inertia, along axes that the arm can move, it is that of a body on which all acts
    shaped = Impedance(robot, TIP, stiffness=K, damping=D, inertia=(0.5, 2.0), effort_limits=np.inf, max_condition=1e12)
    wrench = np.array([0.0, 0.0, 1.0, 4.0, -3.0, 0.0])
    tau = shaped(0.0, q, v, target=target, wrench=wrench)
    a = robot.forward_dynamics(q, v, tau + J.T @ wrench)
    moved = J @ a + robot.bias_acceleration(q, v, TIP)
    force = (np.repeat(K, 3) * e - np.repeat(D, 3) * (J @ v) + wrench) / np.repeat((0.5, 2.0), 3)
    assert np.allclose(moved[2:5], force[2:5], rtol=1e-5, atol=1e-5)
    # the arm's own inertia, at rest, gives the law without one, whatever is measured
    arm: Any = lw.load("arm7")
    x = np.array([0.1, 0.5, 0.0, -1.5, 0.0, 1.8, 0.0])
    J = arm.jacobian(x, "hand")
    frame_inertia = np.linalg.inv(J @ arm.mass_matrix_inverse(x) @ J.T)
    aim = {"target": lw.pose((0.02, -0.01, 0.03)) @ arm.pose(x, "hand"), "target_v": 0.1 * np.arange(6.0)}
    aim["target_a"] = np.linspace(-1.0, 1.0, 6)
    how: Any = {"stiffness": K, "damping": D, "effort_limits": np.inf, "max_condition": 1e12}
    tau = Impedance(arm, "hand", **how)(0.0, x, 0.0 * x, **aim)
    again = Impedance(arm, "hand", inertia=0.5 * (frame_inertia + frame_inertia.T), **how)(
        0.0, x, 0.0 * x, wrench=wrench, **aim
    )
    assert np.abs(again - tau).max() < 1e-9 * np.abs(tau).max()


def test_admittance_control_yields_to_a_measured_force_as_stated() -> None:
    """M ẍ + D ẋ + K x = F, which the robot under computed torque follows."""
    robot, h = _planar(), 1e-3
    law = Admittance(
        ComputedTorque(robot, 400.0, effort_limits=np.inf), inertia=1.0, damping=12.0, stiffness=30.0, dt=h
    )
    force = np.array([3.0, 0.0, -2.0, 1.0])
    how = {"duration": 3.0, "dt": h, "record_every": 100}
    run = robot.simulate(Q, controller=law, constants={"target_q": Q, "force": force}, passive=False, **how)
    s = np.sqrt(36.0 - 30.0)  # of two real roots, −6 ± s
    t = run.t[:, None]
    x = force / 30.0 * (1.0 - ((6.0 + s) * np.exp((s - 6.0) * t) - (6.0 - s) * np.exp(-(s + 6.0) * t)) / (2.0 * s))
    assert np.abs(run.q - Q - x).max() < 2e-3 and np.abs(run.q[-1] - Q - force / 30.0).max() < 1e-4
    at_frame = Admittance(
        Impedance(robot, TIP, stiffness=100.0, damping=10.0), inertia=1.0, damping=1.0, stiffness=0.0, dt=h
    )
    _, carried = at_frame(0.0, Q, 0.0 * Q, at_frame.start, target=robot.pose(Q, TIP), force=np.ones(6))
    assert np.allclose(carried[6:], h / (1.0 + h)) and np.allclose(carried[:6], h * carried[6:])


@pytest.mark.slow(every=5)
def test_hybrid_control_applies_the_desired_force_to_a_wall() -> None:
    """12 N along x while the tip moves up along the wall, without a measurement."""
    robot, h = _planar(), 1e-3
    start = robot.pose(Q, TIP)
    wall = ContactGround((ContactPoint(TIP),), friction=0.0, normal=(-1.0, 0.0, 0.0), height=float(-start[0, 3]))
    law = HybridForcePosition(robot, TIP, "x", motion_axes=["y", "rz"], stiffness=200.0, effort_limits=np.inf)
    aim = start.copy()
    aim[1, 3] += 0.1
    run = robot.simulate(
        Q,
        controller=law,
        duration=1.5,
        dt=h,
        record_every=100,
        contacts=wall,
        constants={"target": aim, "force": [12.0]},
        passive=False,
    )
    pressed = run.records["contact_forces"][:, 0]
    assert np.abs(pressed[3:, 0] + 12.0).max() < 0.1, pressed
    end = robot.pose(run.q[-1], TIP)
    assert np.abs(end[1, 3] - aim[1, 3]) < 1e-3 and np.abs(end[:2, :2] - aim[:2, :2]).max() < 1e-2
    # measured, what is missing is asked for, and summed up
    law = HybridForcePosition(
        robot, TIP, "x", motion_axes="y", force_gain=0.5, integral_gain=2.0, dt=h, effort_limits=np.inf
    )
    inputs = {"target": start, "force": [12.0], "wrench": [0, 0, 0, 10.0, 0, 0]}
    tau, carried = law(0.0, Q, 0.0 * Q, law.start, **inputs)
    assert np.allclose(carried, h * 2.0 * 2.0)
    assert np.allclose(tau - robot.gravity_force(Q), robot.jacobian(Q, TIP)[3] * 13.0)
    # without contact the integral grows until a motor is at its limit, and no further; it falls at once
    limits = np.abs(robot.gravity_force(Q)) + 8.0
    law = HybridForcePosition(robot, TIP, "x", motion_axes="y", integral_gain=2.0, dt=0.1, effort_limits=limits)
    carried, inputs["wrench"] = law.start, np.zeros(6)
    for _ in range(40):
        carried = law(0.0, Q, 0.0 * Q, carried, **inputs)[1]
    expected = robot.gravity_force(Q) + robot.jacobian(Q, TIP)[3] * (12.0 + carried + np.array([[-2.4], [0.0]]))
    assert (np.abs(expected) > limits).any(axis=1).tolist() == [False, True] and 0.0 < carried[0] < 50.0
    inputs["wrench"] = np.array([0, 0, 0, 20.0, 0, 0])
    assert np.isclose(law(0.0, Q, 0.0 * Q, carried, **inputs)[1][0] - carried[0], -0.1 * 2.0 * 8.0)


def test_invalid_arguments_of_cartesian_controllers_are_refused() -> None:
    robot = _planar()
    floating: Any = lw.load("quadruped", floating_base=True)
    with pytest.raises(ValueError, match=r"without an actuator.*WholeBody"):
        OperationalSpace(floating, PositionTask("trunk"))
    with pytest.raises(ValueError, match="actuators that determine all motions that the constraints allow"):
        OperationalSpace(lw.load("bicycle"), PostureTask())
    with pytest.raises(ValueError, match=r"stiffness of task 'tool': expected a number >= 0, got -1"):
        OperationalSpace(robot, PositionTask(TIP), -1.0)
    with pytest.raises(UnknownNameError, match="stiffness: no task named 'hand'"):
        OperationalSpace(robot, PositionTask(TIP), {"hand": 1.0})
    with pytest.raises(UnknownNameError, match="Impedance: frame: no frame named 'hand'"):
        Impedance(robot, "hand", stiffness=1.0, damping=1.0)
    with pytest.raises(UnknownNameError, match="no axis of force_axes named 'w'"):
        HybridForcePosition(robot, TIP, "w")
    with pytest.raises(ValueError, match="expected axes that are not motion_axes, got 'x' in both"):
        HybridForcePosition(robot, TIP, "x", motion_axes=["x", "y"])
    with pytest.raises(ValueError, match="nullspace_damping: not available with the posture task"):
        OperationalSpace(robot, [PositionTask(TIP), PostureTask(level=1)], nullspace_damping=1.0)
    for law, name in (
        (Impedance(robot, TIP, stiffness=1.0, damping=1.0), "target"),
        (OperationalSpace(robot, PoseTask(TIP)), TIP),
    ):
        with pytest.raises(ValueError, match=f"{name}: expected poses, 4 x 4 matrices with a rotation"):
            law(0.0, Q, 0.0 * Q, **{name: np.zeros((4, 4))})
        with pytest.raises(ValueError, match=f"{name}: expected poses"):
            robot.simulate(Q, controller=law, duration=0.01, constants={name: np.ones((4, 4))})
    with pytest.raises(ValueError, match="max_condition: expected a finite number > 1"):
        OperationalSpace(robot, PositionTask(TIP), max_condition=0.5)


@pytest.mark.slow(every=5)
def test_task_controllers_approach_unreachable_targets_within_effort_limits() -> None:
    """Effort limits scale the pull without changing its direction, so the arm stretches and rests."""
    robot = _planar()
    for name, effort in zip(robot.v_names, (60.0, 25.0, 12.0, 5.0), strict=True):
        robot = robot.with_joint(robot.joint(name).with_effort_limit(effort))
    tip, posture = PositionTask(TIP, **PLANE), PostureTask(level=1, target=Q)
    law = OperationalSpace(robot, [tip, posture], {TIP: 100.0, "posture": 10.0})
    wide = OperationalSpace(robot, [tip, posture], {TIP: 100.0, "posture": 10.0}, effort_limits=1e9)
    free = OperationalSpace(robot, [tip, posture], {TIP: 100.0, "posture": 10.0}, effort_limits=np.inf)
    rng = np.random.default_rng(3)
    q, v = Q + 0.3 * rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    aim = np.array([2.0, 1.5, 0.0])
    assert np.allclose(wide(0.0, q, v, **{TIP: aim}), free(0.0, q, v, **{TIP: aim}), rtol=1e-9, atol=1e-9)
    assert (np.abs(law(0.0, q, v, **{TIP: aim})) <= robot.effort_limits * (1.0 + 1e-12)).all()
    run = robot.simulate(Q, np.zeros(4), controller=lambda t, q, v: law(t, q, v, **{TIP: aim}), duration=12.0, dt=2e-3)
    position = robot.pose(run.q[-1], TIP)[:2, 3]
    assert np.abs(run.v[-500:]).max() < 1e-2
    assert np.linalg.norm(position) > 0.9 * sum(SIZES)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ["arm6", "arm7"])
def test_arms_under_task_control_come_to_rest_at_reachable_and_unreachable_targets(name: str) -> None:
    """Targets within and out of reach, alone and with a rotation, with and without limits and friction: all come to
    rest, those within reach at the target."""
    arm: Any = lw.load(name)
    frame = "hand" if "hand" in arm.frames else [*arm.frames][-1]
    positions = np.array([0.5, 1.0, 1.5, 2.0, 3.0])[:, None] * np.array([0.6, 0.3, 0.74])
    start = np.tile(0.5 * (arm.lower + arm.upper) + 0.05, (5, 1))
    for task, targets in (
        (PositionTask(frame), positions),
        (PoseTask(frame), np.array([lw.pose(x) for x in positions])),
    ):
        for limits, passive in ((None, False), (np.inf, False), (None, True)):
            law = OperationalSpace(arm, task, effort_limits=limits, passive=passive)
            run = arm.simulate(
                start,
                controller=law,
                duration=15.0,
                constants={frame: targets},
                passive=passive,
                record_every=500,
                joint_limit_mode="ignored",
            )
            assert run.success.all(), (name, task, limits, passive, run.status)
            assert np.abs(run.v[:, -1]).max() < 0.1, (name, task, limits, passive, np.abs(run.v[:, -1]).max(axis=1))
            if isinstance(task, PositionTask):
                errors = np.linalg.norm(arm.pose(run.q[:2, -1], frame)[:, :3, 3] - positions[:2], axis=1)
                assert errors.max() < 1e-2, (name, limits, passive, errors)


def _kinds_of_tasks() -> list[Any]:
    """Tasks with targets: frames in all axes with all or some components, directions, points, functions."""
    free, inf = (1e-6, 1e-6, np.inf), np.inf
    result: list[Any] = []
    for axes in ("frame", "reference", "target", "shoulder", "forearm_distal"):
        for kind in (PositionTask, OrientationTask, PoseTask):
            if (kind, axes) == (PositionTask, "target"):
                continue
            result += [kind("hand", axes=axes, tolerance=(*free, *free) if kind is PoseTask else free)]
            result += [kind("hand", axes=axes)] * (axes != "frame" or kind is PositionTask)  # else led is a twist
    result += [PoseTask("hand", relative_to="shoulder", axes="target", tolerance=(*(1e-6,) * 5, inf))]
    result += [
        lw.ik.AlignTask("hand.z", name="aim"),
        lw.ik.LookAtTask("hand.z", name="look"),
        lw.ik.CenterOfMassTask(relative_to="shoulder"),
    ]
    result += [lw.ik.DistanceTask("hand", "shoulder", name="far")]
    return [*result, lw.ik.FunctionTask("bent", lambda k, x: np.cos(x) * k.point("hand") - x, shape=(3,))]


@pytest.mark.slow(every=9)
def test_all_operational_space_tasks_obey_the_stated_equation_of_their_errors(drawn: Any) -> None:
    """ë + k_d ė + k_p e = 0, for targets and axes that move: by differences along the motion that forces cause."""
    arm: Any = lw.load("arm7")
    for task in drawn(_kinds_of_tasks()):
        left, size = _left_of_equation(arm, OperationalSpace(arm, task, 40.0, 14.0, effort_limits=np.inf))
        assert np.abs(left).max() < 1e-4 * (1.0 + size), (task, left)


def _left_of_equation(arm: Any, law: OperationalSpace) -> tuple[np.ndarray, float]:
    """ë + 14 ė + 40 e of the errors that are not free, and the size of ë."""
    (task,) = law.tasks
    name, target_of = law._target_name(task), task.target_of
    rng, zero = np.random.default_rng(0), np.zeros(7)
    q, v = arm.random_configuration(seed=3), 0.5 * rng.normal(size=7)
    w, u, x = rng.normal(size=(3, 2, 3))
    near = Rotation.from_rotvec(0.3 * rng.normal(size=3))
    start, hand = arm.pose(q, "hand", relative_to=getattr(task, "relative_to", "world")), arm.pose(q, "hand")
    assert target_of is not None

    def target(s: float) -> Any:
        turned = (near * Rotation.from_rotvec(w[0] * s + 0.5 * w[1] * s * s)).as_matrix()
        moved = x[0] + u[0] * s + 0.5 * u[1] * s * s
        kinds = {"rotation": turned @ start[:3, :3], "direction": turned @ start[:3, 2]}
        kinds["pose"] = lw.pose(start[:3, 3] + 0.1 * moved, rotation=turned @ start[:3, :3])
        if task.name == "center_of_mass":
            at_zero = law._motions(q.tolist(), zero.tolist(), law.tasks, {name: zero[:3]})[1].errors
            return np.array(at_zero, dtype=float) + 0.02 * moved
        if task.name == "look":  # the lead determines motions across the line of sight only
            line = 2.0 * start[:3, 2] + 0.3 * x[0]
            return start[:3, 3] + line + s * np.cross(u[0], line + start[:3, 3] - hand[:3, 3])
        kinds["place"] = 0.1 * moved + start[:3, 3]
        return kinds.get(target_of.kind, 0.3 * (moved if target_of.shape else moved[0]))

    def state(s: float, a: Any = zero) -> tuple[Any, Any]:
        q_s, v_s = q + s * v + 0.5 * s * s * a, v + s * a
        motion = law._motions(q_s.tolist(), v_s.tolist(), law.tasks, {name: target(s)})[1]
        return np.array(motion.errors, dtype=float), np.array(motion.rates[0], dtype=float)

    def rate(f: Any, s: float = 0.0, h: float = 2e-3) -> Any:
        values = [(f(s + k) - f(s - k)) / (2.0 * k) for k in (h, 0.5 * h)]
        return (4.0 * values[1] - values[0]) / 3.0

    def lead(s: float) -> Any:  # J v at which errors do not change
        return state(s)[1] - rate(lambda r: state(r)[0], s)

    inputs = {name: target(0.0), f"{task.name}_v": lead(0.0), f"{task.name}_a": rate(lead, h=1e-2)}
    tau, _ = law.forces(0.0, q.tolist(), v.tolist(), None, inputs)  # not compiled
    a = arm.forward_dynamics(q, v, np.array(tau, dtype=float), passive=True)
    errors, h = state(0.0)[0], 1e-3
    near_zero, farther = (
        (state(k, a)[0] - 2.0 * errors + state(-k, a)[0]) / k**2 for k in (h, 2.0 * h)
    )  # fmt: skip
    second = (4.0 * near_zero - farther) / 3.0
    left = second + 14.0 * rate(lambda s: state(s)[0]) + 40.0 * errors
    return left[np.isfinite(task.tolerances)], float(np.abs(second).max())


def test_impedance_control_without_desired_inertia_solves_no_system_for_friction() -> None:
    """The forces of damping and friction cancel in the law, so it costs as much as one without them."""
    robot: Any = lw.load("arm7").with_joint_dynamics(stiffness=np.full(7, 0.5), rest=np.full(7, 0.1))
    q, v = 0.3 * np.ones(7), 0.1 * np.sin(np.arange(7.0))
    X, J = robot.pose(q, "hand"), robot.jacobian(q, "hand")
    work = []
    for passive in (True, False):
        law = Impedance(robot, "hand", stiffness=10.0, damping=2.0, effort_limits=np.inf, passive=passive)
        kernel = lw.compile(lambda q, v, law=law: law(0.0, q, v, target=X), q=(7,), v=(7,))
        springs = robot.inverse_dynamics(q, 0.0 * v, 0.0 * v, passive=passive) - robot.gravity_force(q)
        assert np.allclose(kernel(q, v), robot.bias_force(q, v) + springs - J.T @ (2.0 * (J @ v)), atol=1e-12)
        work.append(len(kernel.program.instructions))
    assert work[0] <= work[1] + 6 * robot.nv  # products and sums of damping and springs, and their constants
