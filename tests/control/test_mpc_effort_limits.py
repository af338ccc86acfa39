"""Model-predictive control of weak motors: effort limits are bounds of the plan, and cut commands are reported."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.constant_forces import constant_force_step
from linkwork.compiler import kernel_code
from linkwork.control.mpc.shooting_mpc import ShootingPlanner

STEP = 0.05
SLIDE = lw.joints.Prismatic((1, 0, 0))
TWO = lw.load("double_pendulum")  # whose shoulder has 50 N·m
SWING = {"place": [2.5, -1.0]}


def _cart(effort: float = np.inf) -> lw.Robot:
    rail = lw.Joint.of(SLIDE, name="rail", parent="world", child="cart", effort=effort)
    return lw.Robot.build("cart", lw.Link("cart", mass=2.0), rail)


def _reach(robot: lw.Robot, num_steps: int = 20) -> lw.TrajectoryProblem:
    problem = lw.TrajectoryProblem(robot, num_steps=num_steps, duration=num_steps * STEP)
    problem = problem.add("configuration", "least_squares", scale=10.0, name="place").add(
        "velocity", "least_squares", scale=0.3
    )
    return problem.add("torque", "least_squares", scale=0.01)


def _moved(robot: lw.Robot, q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
    return constant_force_step(robot, q, v, tau, STEP)


@pytest.mark.parametrize("robot_limits", [False, True])
def test_mpc_plans_within_effort_limits(robot_limits: bool) -> None:
    """A weak motor of the robot, or of the controller: no command is cut."""
    robot = _cart(15.0 if robot_limits else 100.0)
    options = {} if robot_limits else {"effort_limits": 15.0}
    controller = _reach(robot).controller(max_iterations=40, first_max_iterations=200, **options)
    q, v, forces = np.zeros(1), np.zeros(1), []
    for _ in range(40):
        command = controller.step((q, v), {"place": [5.0]})
        q, v = _moved(robot, q, v, command.torque)
        plan = controller.plan
        assert command.status == "planned" and np.abs(plan.tau).max() < 15.0 + 1e-4
        assert np.abs(plan.q[1] - q).max() < 1e-6
        forces.append(command.torque[0])
    assert max(forces) > 14.9 and min(forces) < -14.9  # it takes all that there is


@pytest.mark.slow(every=5)
def test_mpc_search_with_effort_limits_is_compiled_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINKWORK_EFFORT", raising=False)
    robot = _cart(15.0)
    controller, same = (_reach(robot, 7).controller() for _ in range(2))
    early = same.step((np.zeros(1), np.zeros(1)), {"place": [50.0]})  # waits for the search or compiles it
    assert lw.wait_for_compiler(timeout=120.0)
    before = kernel_code.compilations()
    late = controller.step((np.zeros(1), np.zeros(1)), {"place": [50.0]})
    assert kernel_code.compilations() == before
    assert early.torque == late.torque == [15.0]


def test_inactive_effort_limits_do_not_change_mpc_commands() -> None:
    weak, strong = (_reach(_cart(effort)).controller() for effort in (15.0, np.inf))
    q, v = np.zeros(1), np.zeros(1)
    for _ in range(5):
        command, strong_command = (controller.step((q, v), {"place": [0.02]}) for controller in (weak, strong))
        assert np.array_equal(command.torque, strong_command.torque) and np.array_equal(command.K, strong_command.K)
        assert command.iterations == strong_command.iterations and 0.0 < np.abs(command.torque).max() < 15.0
        q, v = _moved(weak.robot, q, v, command.torque)


@pytest.mark.slow(every=5)
def test_effort_limits_of_mpc_apply_to_actuator_forces() -> None:
    """A swinging arm with centrifugal forces, until limits become inactive."""
    controller, status = _reach(TWO, 6).controller(), []
    q, v = np.array([0.1, 0.2]), np.zeros(2)
    for _ in range(12):
        command = controller.step((q, v), SWING)
        first = controller.plan.tau[0]
        limited = bool(controller._search["is_bounded"].any())
        status.append((command.status, limited))
        if command.status == "planned":
            assert np.allclose(command.torque, first, atol=1e-2 * 50.0)
        else:
            assert command.status == "saturated"
            assert np.abs(first).max() > 50.0 * (1.0 + 1e-2) and np.abs(command.torque).max() == 50.0
            assert command.explain() == f"success, saturated: {command.iterations} iterations"
        q, v = _moved(TWO, q, v, command.torque)
    assert status[0] == ("planned", True) and status[-1] == ("planned", False)


def test_mpc_reports_commands_clipped_at_effort_limits() -> None:
    """A search that ends too early asks for more than there is."""
    command = _reach(_cart(15.0)).controller(first_max_iterations=1).step(([0.0], [0.0]), {"place": [5.0]})
    assert command.status == "saturated" and command.torque.tolist() == [15.0]
    assert command.violation > 0.0  # the search knows


def test_mpc_environments_reach_effort_limits_independently(tmp_path: Path) -> None:
    """Each environment equals a separate one, whether it reaches limits or not; the state is saved and pickled."""
    problem, options = _reach(TWO, 6), {"max_iterations": 4}
    together = problem.controller(**options)
    alone = [problem.controller(**options) for _ in range(3)]
    q, v = np.array([[2.4, -1.0], [0.1, 0.2], [2.5, -1.1]]), np.zeros((3, 2))
    copy: Any = None
    for k in range(4):
        command = together.step((q, v), SWING)
        for index, controller in enumerate(alone):
            single = controller.step((q[index], v[index]), SWING)
            assert single.status == command.status[index] and np.array_equal(single.torque, command.torque[index])
            assert np.array_equal(single.K, command.K[index]) and single.cost == command.cost[index]
        if copy is not None:
            assert np.array_equal(copy.step((q, v), SWING).torque, command.torque)
        if k == 1:
            assert together._search["is_bounded"].tolist() == [0.0, 1.0, 0.0]
            together.save(tmp_path / "it.npz")
            copy = pickle.loads(pickle.dumps(problem.controller(**options)))
            copy.restore(tmp_path / "it.npz")
        q, v = _moved(TWO, q, v, command.torque)


@pytest.mark.slow(every=5)
def test_joints_without_motor_exert_no_force_in_mpc_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cart with a pole: the plan has no force at the hinge, and the cart moves as planned."""
    rail = lw.Joint.of(SLIDE, name="rail", parent="world", child="cart", effort=8.0)
    pole = lw.Link("pole", mass=0.2, com=(0, 0, -0.5), inertia=(1e-3, 1e-3, 1e-3))
    hinge = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="cart", child="pole")
    robot = lw.Robot.build("pole", lw.Link("cart", mass=1.0, com=(0, 0, 0)), pole, rail, hinge)
    controller = _reach(robot, 6).controller(actuators=["rail"], first_max_iterations=200, max_iterations=100)
    q, v = np.array([1.0, 0.2]), np.zeros(2)
    for _ in range(4):
        with monkeypatch.context() as patch:  # all code was made with the controller
            patch.setattr(kernel_code, "compiled", None)
            command, plan = controller.step((q, v)), controller.plan
        assert command.status == "planned" and command.torque[1] == 0.0
        assert np.abs(plan.tau[:, 1]).max() < 1e-5 and np.abs(plan.tau[:, 0]).max() < 8.0 + 1e-4
        q, v = _moved(robot, q, v, command.torque)
        assert np.abs(plan.q[1] - q).max() < 1e-3
    assert controller._search["is_bounded"].all()


@pytest.mark.slow(every=5)
def test_loop_forces_and_motors_together_produce_the_motion_planned_by_mpc() -> None:
    """A four-bar with a weak motor at its crank: the loop and the motor exert the forces of the planned motion."""
    robot = lw.load("fourbar")
    start, free = robot.assemble(robot.neutral()).q, robot.without_constraints()
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=4 * STEP).add(
        "acceleration", "least_squares", scale=0.1
    )
    turned = lw.ik.JointTask("crank_hinge")
    problem = problem.add(turned, "least_squares", scale=20.0, target=start[0] + 0.3, name="turned")
    for effort in (np.inf, 0.3):
        controller = problem.controller(actuators=["crank_hinge"], effort_limits=effort, first_max_iterations=200)
        command, plan = controller.step((start, np.zeros(3))), controller.plan
        assert command.status == "planned" and command.torque[0] > 0.3 * (1.0 - 1e-3)
        assert np.abs(plan.tau).max() < effort * (1.0 + 1e-6) and not plan.tau[:, 1:].any()
        q, v = plan.q[0] + 0.5 * STEP * plan.v[0], 0.5 * (plan.v[0] + plan.v[1])  # in the middle of the step
        left = free.inverse_dynamics(q, v, (plan.v[1] - plan.v[0]) / STEP) - plan.tau[0]
        G = robot.constraint_jacobian(q)
        assert np.abs(left - G.T @ np.linalg.lstsq(G.T, left, rcond=1e-9)[0]).max() < 1e-6


def test_mpc_accepts_problems_that_constrain_motorless_joints_themselves() -> None:
    robot = _cart(np.inf)
    problem = _reach(robot)
    assert problem.controller().planner._plain.prepared.problem is problem
    ball = lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="head")
    head = lw.Robot.build("head", lw.Link("head", mass=1.0, inertia=(0.1, 0.1, 0.1)), ball)
    turning = _reach(head)
    with pytest.raises(
        ValueError, match=r"actuators: 'ball.wy' is one of several velocities of a joint: name the whole joint"
    ):
        turning.controller(actuators=["ball.wy"])


def _sled(friction: float) -> tuple[Any, lw.TrajectoryProblem]:
    rail = lw.Joint.of(
        lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="sled", damping=5.0, friction=friction
    )
    robot: Any = lw.Robot.build("sled", rail, lw.Link("sled", mass=0.05))
    problem = lw.TrajectoryProblem(robot, num_steps=8, duration=0.4).add("torque", "least_squares", scale=1e-3)
    problem = problem.add("configuration", "least_squares", scale=10.0, target=[0.3], name="goal")
    return robot, problem


def test_mpc_plans_of_damped_joints_begin_where_half_a_step_ends_as_the_resistances_slow_it() -> None:
    planner: Any = SimpleNamespace(robot=_sled(0.5)[0], step=0.05, _options={"passive": True})
    q, half = np.array([[0.1], [0.2], [0.3]]), 0.025
    for v, resistance in ((0.7, 5.0 * 0.7 + 0.5), (-0.02, 5.0 * 0.02 + 0.5), (0.0, 0.0)):
        slowed = v / (1.0 + half * resistance / (0.05 * abs(v))) if v else 0.0
        first = ShootingPlanner._first(planner, q, np.full((3, 1), v))
        assert np.allclose(first + half * v, q + half * slowed, rtol=0.0, atol=1e-15)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_mpc_torques_of_strongly_damped_joints_do_not_chatter(friction: float) -> None:
    """A light sled with damping stops in 10 ms, and plans have steps of 50 ms."""
    robot, problem = _sled(friction)
    controller, state = problem.controller(solver="ilqr", period=0.05), (np.array([0.0]), np.array([0.0]))
    speeds = []
    for _ in range(24):
        tau = controller.step(state).torque
        run = robot.simulate(*state, controller=lambda t, q, v, tau: tau, constants={"tau": tau}, duration=0.05)
        state = run.q[-1], run.v[-1]
        speeds.append(float(run.v[-1, 0]))
    assert np.abs(speeds[12:]).max() < 1e-3 * max(speeds) and abs(state[0][0] - 0.3) < 0.02
