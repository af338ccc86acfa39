"""Curve of an optimal motion: order of its error at starts, ends and borders, limits between steps, step forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.constant_forces import constant_force_motion, constant_force_step

TIGHT: dict[str, Any] = {"tolerance": 1e-9, "step_tolerance": 1e-9}
UNEQUAL = ((0.4,), (0.32, 0.08), (0.08, 0.32))  # durations of phases of as many steps


def _bar(joint: Any) -> lw.Robot:
    bar = lw.Link("bar", mass=1.3, inertia=np.diag([0.02, 0.05, 0.06]), com=(0.1, 0.05, -0.3))
    return lw.Robot.build("bar", bar, lw.Joint.of(joint, name="joint", parent="world", child="bar"))


def _phased(robot: lw.Robot, durations: tuple[float, ...], count: int) -> lw.TrajectoryProblem:
    """A problem whose phases have ``count`` steps each."""
    steps = count * len(durations)
    if len(durations) == 1:
        return lw.TrajectoryProblem(robot, num_steps=steps, duration=durations[0])
    phases = {f"phase {k}": (k * count, (k + 1) * count) for k in range(len(durations))}
    return lw.TrajectoryProblem(
        robot, num_steps=steps, duration=dict(zip(phases, durations, strict=True)), phases=phases
    )


@pytest.mark.slow(every=3)
def test_trajectory_of_a_free_fall_is_exact() -> None:
    """The acceleration is constant, for any initial velocity, steps and solver."""
    robot = lw.Robot.build(
        "mass",
        lw.Link("mass", mass=2.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass"),
    )
    t = np.linspace(0.0, 1.0, 1001)
    for durations, options in (
        ((1.0,), {}),
        ((0.8, 0.2), {}),
        ((0.2, 0.8), {}),
        ((1.0,), {"solver": "ilqr", "control_limits": 0.0}),
        ((1.0,), {"solver": "ilqr", "control_limits": 0.0, "integrator": "runge_kutta_4"}),
        ((1.0,), {"solver": "shooting", "dynamics": "inverse", "control_limits": 0.0}),
    ):
        problem = _phased(robot, durations, 10).add("torque", "equality" if not options else "least_squares")
        for v in (0.0, 3.0):
            result = problem.solve([0.5], velocity=[v], **options)
            states = result.trajectory()(t)
            exact = 0.5 + v * t - 0.5 * 9.81 * t * t
            assert np.abs(states.q[:, 0] - exact).max() < 1e-8 and np.abs(states.v[:, 0] - (v - 9.81 * t)).max() < 1e-7
            assert abs(result.q[-1, 0] - exact[-1]) < 1e-8 and result.times[-1] == pytest.approx(1.0)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["pendulum", "spherical", "floating"])
def test_trajectories_of_free_motions_have_errors_of_second_order(name: str) -> None:
    """Everywhere on the curve, and its velocity at start, border and end, with equal steps and with steps 4 : 1."""
    joints = lw.joints
    kinds = {"pendulum": joints.Revolute((0, 1, 0)), "spherical": joints.Spherical(), "floating": joints.Floating()}
    robot = _bar(kinds[name])
    start, v = robot.random_configuration(seed=3), np.linspace(0.7, -0.4, robot.nv)
    count = 2000
    exact = robot.simulate(start, v, duration=0.4, dt=0.4 / count, method="rk4", passive=False)
    k = np.arange(0, count + 1, 5)
    for durations in UNEQUAL:
        errors = []
        at = np.array([0, round(durations[0] / 0.4 * count), count])
        for steps in (10, 20):
            problem = _phased(robot, durations, steps).add("torque", "equality")
            result = problem.solve(start, velocity=v, **TIGHT)
            assert result.success
            curve = result.trajectory()
            everywhere = robot.difference(exact.q[k], curve(k * 0.4 / count).q)
            errors.append([np.abs(everywhere).max(), *np.abs(exact.v[at] - curve(at * 0.4 / count).v).max(axis=-1)])
            assert np.abs(robot.difference(curve(0.4).q, result.q[-1])).max() < 1e-12
        first, second = np.array(errors)
        assert first[1] < 1e-12 and (first[[0, 2, 3]] > 3.3 * second[[0, 2, 3]]).all(), (durations, errors)


@pytest.mark.slow(every=5)
def test_limits_of_optimal_trajectories_hold_between_time_steps() -> None:
    """Positions, velocities and accelerations at 10⁴ times: from rest, and from one velocity to another."""
    robot = lw.load("arm6")
    rng, t = np.random.default_rng(0), np.linspace(0.0, 1.5, 10_001)
    start, goal = 0.3 * rng.uniform(-1, 1, (2, 4, robot.nq))
    far = np.abs(goal - start).max(axis=1)
    for durations in ((1.5,), (0.5, 1.0)):
        problem = _phased(robot, durations, 10).add("acceleration", "least_squares", scale=0.1)
        problem = problem.add("configuration", "equality", steps=-1, name="goal").add("velocity", "equality", steps=-1)
        v, a = 1.4 * far.max() / 1.5, 7.5 * far.max() / 1.5**2
        problem = problem.add_limits(velocities=v, accelerations=a)
        rates = np.zeros((4, robot.nv))
        rates[2:] = 0.1 * v * rng.uniform(-1, 1, (2, robot.nv))
        result = problem.solve(start, velocity=rates, targets={"goal": goal}, tolerance=1e-11)
        assert result.success.all(), result
        worst = np.zeros(2)
        for n in range(4):
            curve = result.trajectory(n)
            states = curve(t)
            assert np.abs(states.v[0] - rates[n]).max() < 1e-12 and np.abs(states.q[-1] - goal[n]).max() < 1e-9
            assert np.abs(states.v).max() < v + 1e-9 and np.abs(states.a).max() < a + 1e-9
            assert (states.q < robot.upper + 1e-9).all() and (states.q > robot.lower - 1e-9).all()
            bounds = [np.abs(curve.extremes(order)).max() for order in (1, 2)]
            assert (np.array(bounds) < np.array([v, a]) + 1e-9).all()
            worst = np.maximum(worst, bounds)
        assert worst[0] > 0.999 * v or worst[1] > 0.999 * a  # some limit is active


@pytest.mark.slow(every=5)
def test_forces_of_optimal_trajectories_move_a_simulated_robot_along_its_path() -> None:
    """Forces are constant in each step: the error of a simulation is of second order."""
    robot, start, v = lw.load("double_pendulum"), np.array([0.3, -0.5]), np.array([1.0, -0.6])
    for options in ({}, {"solver": "shooting", "dynamics": "inverse", "integrator": "stormer_verlet"}):
        errors = []
        for steps in (20, 40):
            problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=1.0)
            problem = problem.add("acceleration", "least_squares").add("torque", "least_squares", scale=1e-4)
            problem = problem.add("configuration", "equality", steps=-1, target=[0.9, -0.4])
            result = problem.add("velocity", "equality", steps=-1, target=[0.5, 0.2]).solve(
                start, velocity=v, **options
            )
            assert result.success
            forces = result.residuals["torque"]
            q, rates = constant_force_motion(robot, start, v, forces, 1.0 / steps)
            planned = result.trajectory()(np.arange(1, steps + 1) / steps)
            errors.append([np.abs(q - planned.q).max(), np.abs(rates - planned.v).max()])
        assert (np.array(errors[0]) > 3.5 * np.array(errors[1])).all() and max(errors[0]) < 0.05, errors


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("kind", ["arm6", "cart_pole", "double_pendulum"])
def test_robots_with_friction_follow_optimal_forces_by_forward_dynamics(kind: str) -> None:
    """All solvers find a motion whose forces move the robot along it, with an error of first order."""
    robot, start, goal, motors = _rubbing(kind)
    errors = []
    for steps in (20, 40) if kind == "arm6" else (40, 80):
        problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=1.0)
        problem = problem.add(lw.optimal.TorqueFeature(motors), "least_squares", scale=0.03, name="effort")
        problem = problem.add("velocity", "least_squares", scale=0.1).add("velocity", "equality", steps=-1, name="rest")
        problem = problem.add("configuration", "equality", steps=-1, target=goal)
        options: dict[str, Any] = {"actuated": motors, "control_limits": False}
        path = np.linspace(start, goal, steps + 1)[1:]
        by_shooting = problem.solve(start, solver="shooting", initial_guess=path, **options)
        by_ilqr = [problem.solve(start, solver="ilqr", initial_guess=path, **options)]
        by_ilqr += [problem.solve(start, solver="shooting", dynamics="inverse", initial_guess=path, **options)]
        assert by_shooting.success and all(result.success for result in by_ilqr), [
            result.explain() for result in (by_shooting, *by_ilqr)
        ]
        assert abs(by_ilqr[0].cost / by_shooting.cost - 1.0) < 0.05
        forces = np.zeros((steps, robot.nv))
        forces[:, robot.v_index(motors)] = by_shooting.controls
        moved = robot.simulate(
            start, duration=1.0, dt=1.0 / steps / 40, controller=lambda t, q, v, tau: tau,
            time_inputs={"tau": np.repeat(forces, 40, axis=0)}, record_every=40 * steps,
        )  # fmt: skip
        errors.append(np.abs(moved.q[-1] - by_shooting.q[-1]).max())
    assert errors[0] > 1.2 * errors[1] and errors[0] < (0.15 if kind == "arm6" else 0.01), errors


def _rubbing(kind: str) -> tuple[lw.Robot, np.ndarray, np.ndarray, list[str]]:
    """A robot with damping and friction, a start, a goal, and the joints with motors."""
    if kind == "cart_pole":
        slide = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart")
        pivot = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="pivot", parent="cart", child="pole", damping=0.02)
        pole = lw.Link("pole", mass=0.2, com=(0, 0, 0.4), inertia=(0.01, 0.01, 1e-3))
        slide, pivot = slide.with_damping(0.5).with_friction(0.2), pivot.with_friction(0.01)
        robot = lw.Robot.build("cart_pole", lw.Link("cart", mass=1.0), pole, slide, pivot)
        return robot, np.array([0.0, np.pi]), np.array([0.5, np.pi]), ["slide"]
    robot = lw.load(kind)
    if kind == "arm6":
        return robot, robot.neutral(), np.array([0.8, -0.5, 0.6, 0.4, -0.7, 1.0]), [x.name for x in robot.joints]
    for joint in robot.joints:
        robot = robot.with_joint(joint.with_damping(0.1).with_friction(0.05).with_armature(0.01))
    return robot, np.zeros(2), np.array([0.8, -0.5]), [x.name for x in robot.joints]


@pytest.mark.slow(every=5)
def test_mpc_command_predicts_the_state_after_a_period() -> None:
    """The error of a command for a period is of third order: that of a motion is of second order."""
    robot, q, v = lw.load("double_pendulum"), np.array([0.3, -0.5]), np.array([1.5, -2.0])
    errors = []
    for steps in (10, 20):
        step = 0.5 / steps
        problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=0.5).add("acceleration", "least_squares")
        problem = problem.add("configuration", "equality", steps=-1, target=[0.6, -0.6])
        controller = problem.controller(first_max_iterations=100)
        command = controller.step((q, v))
        assert command.status == "planned"
        reached = constant_force_step(robot, q, v, command.torque, step)
        plan = controller.plan
        errors.append([np.abs(reached[0] - plan.q[1]).max(), np.abs(reached[1] - plan.v[1]).max()])
    assert (np.array(errors[0]) > 6.0 * np.array(errors[1])).all(), errors


@pytest.mark.slow(every=3)
def test_optimal_path_without_a_prescribed_start_has_its_full_duration() -> None:
    """Its first two configurations are control points of the beginning: times, velocities and accelerations agree."""
    robot = lw.Robot.build(
        "mass",
        lw.Link("mass", mass=2.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass"),
    )
    halves = {"a": (0, 6), "b": (6, 9)}
    for duration, phases in ((0.7, None), ({"a": 0.4, "b": 0.3}, halves)):
        problem = lw.TrajectoryProblem(robot, num_steps=9, duration=duration, phases=phases)
        problem = problem.add("torque", "equality").add(
            "configuration", "equality", steps=0, target=[0.2], name="begin"
        )
        problem = problem.add("configuration", "equality", steps=-1, target=[0.1], name="end")
        result = problem.solve(initial_guess=[0.0], **TIGHT)
        assert result.success and result.duration == pytest.approx(0.7) and result.times[-1] == pytest.approx(0.7)
        t = np.linspace(0.0, 0.7, 101)
        rate = (0.1 - 0.2) / 0.7 + 0.5 * 9.81 * 0.7
        assert np.abs(result.trajectory()(t).q[:, 0] - (0.2 + rate * t - 0.5 * 9.81 * t * t)).max() < 1e-8
        assert result.residuals["torque"].shape == (7, 1) and result.times[0] == 0.0
    rates = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=8, duration=0.5)
    rates = rates.add("acceleration", "least_squares").add(lw.ik.PositionTask("tip"), "least_squares", order=1)
    rates = rates.add(lw.optimal.EnergyFeature("kinetic"), "least_squares", steps=slice(1, None))
    for k, q in ((0, [0.1, -0.3]), (-1, [0.9, 0.4])):
        rates = rates.add("configuration", "equality", steps=k, target=q, name=f"there {k}")
    result, arm = rates.solve(initial_guess=[0.1, -0.3], **TIGHT), rates.robot
    for t in (0.0, 0.5):
        x, k = result.trajectory()(t), 0 if t == 0.0 else -1
        velocity_of_tip = arm.jacobian(x.q, "tip", expressed_in="world")[3:] @ x.v
        assert (
            result.success
            and np.abs(result.residuals["tip"][k] - velocity_of_tip).max() < 0.02 * np.abs(velocity_of_tip).max()
        )
        assert result.residuals["kinetic energy"][k, 0] == pytest.approx(arm.kinetic_energy(x.q, x.v), rel=1e-9)
    two = lw.TrajectoryProblem(robot, num_steps=2, duration=0.5).add("velocity", "equality", target=[0.8])
    line = two.add("configuration", "equality", steps=0).solve(initial_guess=[0.0], **TIGHT)
    assert line.success and np.allclose(line.trajectory()(0.25).q, 0.2, atol=1e-8) and line.times.tolist() == [0.0, 0.5]


@pytest.mark.slow(every=3)
def test_motions_that_need_forces_on_unactuated_joints_are_reported() -> None:
    """Joint motors cannot lift a floating base; a problem without this constraint warns."""
    robot = lw.load("double_pendulum", floating_base=True)
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=0.4).add("acceleration", "least_squares", scale=0.1)
    with pytest.warns(lw.errors.LimitWarning, match=r"nothing exerts the forces that move 'floating_base'.*Unactuated"):
        assert problem.solve(robot.neutral()).success
    falling = problem.add(lw.optimal.UnactuatedFeature(), "equality")
    result = falling.solve(robot.neutral())  # without a warning, which would be an error here
    assert result.success and result.q[-1, robot.q_names.index("floating_base.z")] < -0.3
