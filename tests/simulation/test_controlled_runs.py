"""Controllers in simulations: saturation of actuators, sensors with any controller, steps of controllers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.expr import where
from linkwork.simulation import IMU, ControlOutput, ServoActuators, Simulation


@pytest.mark.slow(every=3)
def test_saturation_of_a_simulation_counts_the_steps_at_effort_limits(tmp_path: Path) -> None:
    robot: Any = lw.load("double_pendulum")
    for name, effort in zip(robot.v_names, (6.0, 2.0), strict=True):
        robot = robot.with_joint(robot.joint(name).with_effort_limit(effort))
    limits, goal = robot.effort_limits, {"target_q": np.array([1.0, -0.4])}

    def bang(t: Any, q: Any, v: Any) -> Any:  # beyond the robot's limits, and never at the elbow's
        return where(q < 0.05, 7.0, 0.1)

    pid = lw.control.PID(robot, 100.0, 10.0, 5.0, dt=2e-3)
    for controller, inputs, every in (
        (lw.control.PD(robot, 100.0, 5.0), goal, 1),
        (lw.control.PD(robot, 100.0, 5.0, effort_limits=(4.0, np.inf)), goal, 1),
        (pid, goal, 2),
        (bang, {}, 1),
    ):
        controller_limits = getattr(controller, "effort_limits", limits)
        q = np.array([[0.0, 0.0], [0.9, -0.4], [0.04, 0.5]])
        run = robot.simulate(
            q, controller=controller, constants=inputs, duration=0.2, record=["tau"], control_every=every
        )
        reached = np.abs(run.records["tau"][:, 1:]) >= controller_limits * (1.0 - 1e-4)
        assert np.allclose(run.saturation, reached.mean(axis=1), atol=1e-12), controller
        assert run.saturation.max() > 0.0 and run.saturation.min() < 1.0
        worst = int(np.argmax(run.saturation[0]))
        assert f"{robot.v_names[worst]!r} in {100.0 * run.saturation[0, worst]:.3g} %" in run.explain(0)
        run.save(tmp_path / "run.npz")
        assert np.array_equal(Simulation.load(tmp_path / "run.npz", robot=robot).saturation, run.saturation)
    assert "limits" not in robot.simulate([0.0, 0.0], duration=0.01).explain()
    pd = lw.control.PD(robot, 100.0, 5.0)
    assert robot.simulate(np.zeros((0, 2)), controller=pd, constants=goal, duration=0.01).saturation.shape == (0, 2)
    assert not robot.simulate([0.0, 0.0], controller=pd, constants=goal, duration=0.0).saturation.any()
    bang.effort_limits = 3.0  # type: ignore[attr-defined]  # no limits by velocity: those of the robot count
    assert robot.simulate([0.0, 0.0], controller=bang, duration=0.01).saturation.tolist() == [1.0, 1.0]


def test_saturation_of_a_simulation_counts_the_steps_at_servo_limits() -> None:
    """Servos have their own limits, also where the robot has none, with or without events and MuJoCo's steps."""
    robot: Any = lw.load("double_pendulum")
    goal = np.array([1.0, -0.4])

    def servo(t: Any, q: Any, v: Any) -> Any:
        return ServoActuators(goal, stiffness=(1e3, 20.0), damping=(50.0, 1.0), limit=[2.0 + t, np.inf])

    for limits, method in ((np.inf, None), (1.0, None), (np.inf, "mujoco_euler")):
        for name in robot.v_names:
            robot = robot.with_joint(robot.joint(name).with_effort_limit(limits))
        options = {} if method is None else {"method": method}
        run = robot.simulate([0.0, 0.0], controller=servo, duration=0.2, record=["tau"], **options)
        most = np.minimum(np.stack([2.0 + run.t[:-1], np.full(len(run.t) - 1, np.inf)], axis=1), limits)
        reached = np.abs(run.records["tau"][1:]) >= most * (1.0 - 1e-4)
        assert np.allclose(run.saturation, reached.mean(axis=0), atol=1e-12) and run.saturation[0] > 0.2
        assert (run.saturation[1] > 0.0) == (limits == 1.0)


def test_inputs_of_a_simulation_may_be_functions_of_time() -> None:
    """A function is sampled at the start of each step; a value of another kind is named in the error."""
    robot: Any = lw.load("double_pendulum")
    pd = lw.control.PD(robot, 20.0, 2.0, effort_limits=np.inf)
    t = 1e-3 * np.arange(50)
    target = np.stack([np.sin(t), 0.0 * t], axis=-1)
    options: dict[str, Any] = {"controller": pd, "duration": 0.05, "dt": 1e-3}
    runs = [
        robot.simulate(np.zeros((2, 2)), time_inputs={"target_q": x}, **options)
        for x in (target, lambda t: [np.sin(t), 0.0])
    ]
    assert np.array_equal(runs[0].q, runs[1].q)
    with pytest.raises(ValueError, match=r"time_inputs\['target_q'\]: expected an array of numbers; got <object"):
        robot.simulate([0.0, 0.0], time_inputs={"target_q": object()}, **options)


@pytest.mark.slow(every=5)
def test_sensors_of_a_simulation_are_recorded_with_any_controller() -> None:
    robot: Any = lw.load("double_pendulum")
    control, goal = lw.control, {"target_q": np.array([0.5, 0.1])}
    spline = robot.spline([0.0, 0.2], [np.zeros(2), goal["target_q"]], boundary="clamped")
    pid = control.PID(robot, 10.0, 10.0, 5.0, dt=1e-3)
    soft = control.Admittance(pid, inertia=1.0, damping=20.0, stiffness=50.0, dt=1e-3)

    def reader(t: Any, q: Any, v: Any, imu: Any) -> Any:
        return imu[4:]

    for controller, inputs in (
        (pid, goal),
        (soft, goal | {"force": np.zeros(2)}),
        (control.OperationalSpace(robot, lw.ik.PositionTask("tip")), {"tip": np.array([0.1, 0.0, 0.0])}),
        (control.lqr_about_state(robot, [np.pi, 0.0]), {}),
        (control.lqr_about_trajectory(robot, spline), {}),
        (lambda t, q, v: 0.0 * q, {}),
        (reader, {}),
    ):
        for every in (1, 2) if not hasattr(controller, "dt") or controller.dt is None else (1,):
            sensors = {"imu": IMU("tip")}
            run = robot.simulate(
                [0.3, 0.2], controller=controller, constants=inputs, duration=0.01, sensors=sensors, control_every=every
            )
            assert run.success is True and np.abs(run.records["imu"]).max() > 1.0, controller


def test_controllers_own_time_step_must_equal_its_evaluation_period() -> None:
    robot: Any = lw.load("double_pendulum")
    up = [np.pi, 0.0]
    for controller, inputs in (
        (lw.control.lqr_about_state(robot, up, dt=0.02), {}),
        (lw.control.PID(robot, 1.0, 1.0, 1.0, dt=0.02), {"target_q": up}),
    ):
        with pytest.raises(ValueError, match=rf"0.001 s, got {type(controller).__name__} for 0.02 s; pass dt"):
            robot.simulate(up, controller=controller, constants=inputs, duration=0.1)
        for options in ({"dt": 0.02}, {"control_every": 20}):
            assert robot.simulate(up, controller=controller, constants=inputs, duration=0.1, **options).success


def test_simulation_reports_unstable_feedback_also_with_friction_and_effort_limits() -> None:
    """Friction at rest, and effort limits far from a target, hide feedback from deviations at the start."""
    arm: Any = lw.load("arm6")
    goal = {"target_q": np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])}
    with pytest.warns(lw.errors.SimulationWarning, match="at the end each step multiplies a deviation of 'wrist_3'"):
        arm.simulate(np.zeros(6), controller=lw.control.PD(arm, 100.0, 20.0), constants=goal, duration=0.5)
    calm = arm.simulate(np.zeros(6), controller=lw.control.PD(arm, 100.0, 2.0), constants=goal, duration=0.5)
    assert np.abs(calm.v[-1, 3:]).max() < 0.5  # friction calms the wrist: no warning


def test_partial_time_step_before_an_event_does_not_count_as_saturated():
    robot = lw.load("double_pendulum")
    law = lw.control.PD(robot, 1e5, 10.0, effort_limits=1.0)
    event = lw.simulation.Event("late", lambda t, q, v: t - 0.0034, stop=True)
    result = robot.simulate([0.3, 0.4], controller=law, duration=0.1, events=event, constants={"target_q": [1.0, 1.0]})
    assert np.array_equal(result.saturation, [1.0, 1.0])


def test_controllers_return_joint_forces_by_joint_as_arrays() -> None:
    robot: Any = lw.load("double_pendulum")
    first, second = robot.v_names

    class Integral:
        start = 0.0

        def __init__(self, by_joint: bool) -> None:
            self.by_joint = by_joint

        def __call__(self, t: Any, q: Any, v: Any, z: Any) -> Any:
            force = -3.0 * q[1] - z
            return ({second: force} if self.by_joint else lw.expr.array([0.0, force])), z + 1e-3 * q[1]

    def law(t: Any, q: Any, v: Any) -> Any:
        return ControlOutput({second: -3.0 * q[1]}, wrenches={robot.links[-1].name: [0, 0, 0, 0, 0, 1.0]})

    def law_of_arrays(t: Any, q: Any, v: Any) -> Any:
        return ControlOutput([0.0, -3.0 * q[1]], wrenches={robot.links[-1].name: [0, 0, 0, 0, 0, 1.0]})

    for every in (1, 4):
        for pair in ((Integral(True), Integral(False)), (law, law_of_arrays)):
            left, right = (robot.simulate([0.3, 0.4], controller=x, duration=0.02, control_every=every) for x in pair)
            assert np.array_equal(left.q, right.q) and np.array_equal(left.v, right.v) and left.success
    free = robot.simulate([0.3, 0.4], duration=0.02)
    assert np.array_equal(robot.simulate([0.3, 0.4], controller=lambda t, q, v: {}, duration=0.02).q, free.q)
    for command, error, words in (
        ({first + "x": 1.0}, UnknownNameError, rf"controller: tau: no joint named '{first}x'; did you mean '{first}'"),
        ({first: "one"}, ValueError, rf"controller: tau\['{first}'\]: expected a number"),
        ({first: np.ones(3)}, ValueError, r"controller: expected joint forces \(2,\)"),
    ):
        for every in (1, 4):
            with pytest.raises(error, match=words):
                robot.simulate([0.3, 0.4], controller=lambda t, q, v, x=command: x, duration=0.02, control_every=every)
