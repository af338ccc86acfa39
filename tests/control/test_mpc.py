"""Model-predictive control: compared with regulators; warm starts, fallbacks, and refused arguments."""

from __future__ import annotations

import itertools
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.constant_forces import constant_force_motion, constant_force_step
from linkwork.control import ModelPredictiveController, finite_horizon_lqr
from linkwork.control.mpc.augmented_mpc import AugmentedPlanner

STEPS, TAU, MASS = 8, 0.1, 2.0


@pytest.fixture(scope="module")
def problem() -> Any:
    """Two masses on rails across, pulled to rest; speeds are limited."""
    rail = {"lower": -9.0, "upper": 9.0, "velocity": 2.0, "effort": 500.0}
    robot = lw.Robot.build(
        "table",
        lw.Link("bridge", mass=MASS),
        lw.Link("tool", mass=MASS),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="x", parent="world", child="bridge", **rail),
        lw.Joint.of(lw.joints.Prismatic((0, 1, 0)), name="y", parent="bridge", child="tool", **rail),
    )
    result = lw.TrajectoryProblem(robot, num_steps=STEPS, duration=STEPS * TAU)
    result = result.add("configuration", "least_squares", scale=3.0, name="place").add(
        "velocity", "least_squares", scale=0.5
    )
    result = result.add("acceleration", "least_squares", scale=0.2)
    return result.add_limits(positions=False)


def _moved(robot: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return constant_force_step(robot, q, v, tau, TAU, substeps=1)


def _regulator(last: float = 1.0) -> np.ndarray:
    """K of the first step for the same cost, by matrices: of a robot that is linear.

    Its positions are those of the middles of steps, and the last one that a share ``last`` of a step later.
    """
    M = np.diag([2.0 * MASS, MASS])
    identity, zeros = np.eye(2), np.zeros((2, 2))
    gaps = [*[TAU] * (STEPS - 1), last * TAU]
    A = np.array([np.block([[identity, gap * identity], [zeros, identity]]) for gap in gaps])
    B = np.array([np.vstack([gap * TAU * np.linalg.inv(M), TAU * np.linalg.inv(M)]) for gap in gaps])
    Q, R = np.diag([9.0, 9.0, 0.25, 0.25]), 0.04 * np.linalg.inv(M @ M)
    K = finite_horizon_lqr(A, B, Q, R, end=Q).K[0]
    return K @ np.block([[identity, 0.5 * TAU * identity], [zeros, identity]])


@pytest.mark.slow(every=5)
def test_mpc_of_a_linear_robot_equals_the_lqr(problem: Any) -> None:
    K, robot, of_path = _regulator(), problem.robot, _regulator(0.5)
    controller = problem.controller(max_iterations=4, Q=(9.0, 0.25), R=0.04 / np.array([2.0 * MASS, MASS]) ** 2)
    q, v = np.array([0.3, -0.2]), np.array([0.1, 0.2])
    for _ in range(10):
        command = controller.step((q, v))
        expected = -of_path @ np.concatenate([q, v])
        assert command.status == "planned" and command.violation < 1e-6
        assert np.abs(command.torque - expected).max() < 1e-6 * max(np.abs(expected).max(), 1.0)
        assert np.abs(command.K - K).max() < 1e-9 * np.abs(K).max()
        assert np.array_equal(command(q, v), command.torque)
        assert np.allclose(command(q + 0.01, v), command.torque - 0.01 * command.K[:, :2].sum(1))
        q, v = _moved(robot, q, v, command.torque)
    assert np.abs(q).max() < 0.05  # on its way


def test_mpc_respects_limits_and_follows_references(problem: Any) -> None:
    controller, robot = problem.controller(max_iterations=8), problem.robot
    q, v, fastest = np.zeros(2), np.zeros(2), 0.0
    for _ in range(60):
        command = controller.step((q, v), {"place": [4.0, -1.0]})
        q, v = _moved(robot, q, v, command.torque)
        fastest = max(fastest, float(np.abs(v).max()))
    assert np.abs(q - [4.0, -1.0]).max() < 1e-3 and 1.99 < fastest < 2.0 + 1e-3


def test_mpc_shifts_its_warm_start_in_time(problem: Any) -> None:
    controller = problem.controller()
    controller.step((np.array([3.0, -1.0]), np.array([1.9, 0.0])))
    planner, search = controller.planner, controller._search
    whole, half = planner.shifted(search, 1.0), planner.shifted(search, 0.5)
    assert np.array_equal(whole["q"][:, :-2], search["q"][:, 1:-1])
    assert np.array_equal(whole["everywhere"][:, :-1], search["everywhere"][:, 1:])
    assert np.abs(search["everywhere"]).max() > 0.0
    rates = np.diff(search["q"], axis=1)  # the last one that of half a step
    assert np.allclose(whole["q"][:, -1], search["q"][:, -1] + 2.0 * rates[:, -1])
    assert np.allclose(half["q"][:, :-2], search["q"][:, :-2] + 0.5 * rates[:, :-1])
    assert np.allclose(half["q"][:, -2:], search["q"][:, -2:] + rates[:, -1:])
    assert np.allclose(planner.shifted(half, 0.0)["q"], half["q"]) and search["q"] is controller._search["q"]
    # a path that is optimal, moved along itself, is what the next step finds
    path = controller.plan
    again = controller.step((path.q[1], path.v[1]))
    assert again.iterations == 3 and np.abs(controller.plan.q[0] - path.q[1]).max() == 0.0


def test_mpc_without_computing_time_continues_the_last_plan_and_then_brakes(
    problem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot, controller = problem.robot, problem.controller(time_limit=0.0, fallback_braking_time=0.25)
    q, v = np.array([0.5, 0.1]), np.array([0.2, -0.4])
    braking = robot.inverse_dynamics(q, v, -v / 0.25)
    command = controller.step((q, v))
    assert command.status == "braking" and command.iterations == 0 and not command.K.any()
    assert np.array_equal(command.torque, braking) and controller.plan is None
    controller.time_limit = None
    assert controller.step((q, v)).status == "planned"
    plan, controller.time_limit = controller.plan, 0.0
    for k in range(1, STEPS):
        beside = np.array([0.01, -0.02])
        command = controller.step((plan.q[k] + beside, plan.v[k]))
        assert command.status == "late" and np.array_equal(command.K, plan.K[k])
        assert np.allclose(command.torque, plan.tau[k] - plan.K[k][:, :2] @ beside, rtol=1e-9, atol=1e-9)
    for _ in range(2):
        command = controller.step((q, v))
        assert command.status == "braking" and np.array_equal(command.torque, braking)
    # in time again it plans from where it is, as one that never was late
    controller.time_limit = 1e9
    assert controller.step((q, v)).status == "planned"
    # with time for one iteration, it takes the plan of this one
    times = itertools.chain([0.0, 0.0, 0.0, 0.6], itertools.repeat(2.0))
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))
    controller.time_limit = 1.0
    command = controller.step((q + 0.5, v))
    assert command.status == "shortened" and command.iterations == 1 and np.isfinite(command.torque).all()


def test_mpc_of_several_environments_computes_each_independently(problem: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    q, v = 0.3 * rng.normal(size=(3, 2)), 0.1 * rng.normal(size=(3, 2))
    q[1] = 5.0  # it takes more iterations until its path is as slow as it has to be
    options = {"max_constraint_violation": 1e-3, "max_iterations": 2, "first_max_iterations": 1}
    statuses = []
    together, alone = problem.controller(**options), [problem.controller(**options) for _ in range(3)]
    copy: Any = None
    for t in range(4):
        command = together.step((q, v))
        if copy is not None:
            assert np.array_equal(copy.step((q, v)).torque, command.torque)
        for k in range(3):
            single_command = alone[k].step((q[k], v[k]))
            assert np.array_equal(single_command.torque, command.torque[k]) and np.array_equal(
                single_command.K, command.K[k]
            )
            assert single_command.status == command.status[k]
        if t == 1:  # what is carried, in a file and pickled
            together.save(tmp_path / "it.npz")
            copy = problem.controller(**options)
            copy.restore(tmp_path / "it.npz")
            twin = pickle.loads(pickle.dumps(together))
            assert np.array_equal(twin.step((q, v)).torque, pickle.loads(pickle.dumps(together)).step((q, v)).torque)
        statuses.append(command.status[1])
        assert (command.status[[0, 2]] == "planned").all()
        q, v = _moved(problem.robot, q, v, command.torque)
    assert command.torque.shape == (3, 2) and set(statuses) == {"planned", "failed"}


def test_mpc_accepts_a_reference_for_each_environment(problem: Any) -> None:
    rng = np.random.default_rng(1)
    q, aims = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 3, 2))
    together = problem.controller().step((q, 0.0 * q), {"place": aims})
    for k in np.ndindex(2, 3):
        alone = problem.controller().step((q[k], 0.0 * q[k]), {"place": aims[k]})
        assert np.array_equal(alone.torque, together.torque[k]) and alone.cost == together.cost[k]
    same = problem.controller().step((q, 0.0 * q), {"place": aims[0, 0]})
    assert np.array_equal(same.torque[0, 0], together.torque[0, 0]) and same.torque.shape == (2, 3, 2)
    with pytest.raises(ValueError, match=r"reference: expected the leading axes of the state, \(2, 3\), got \(4,\)"):
        problem.controller().step((q, 0.0 * q), {"place": np.zeros((4, 2))})


def test_mpc_accepts_a_users_planner(problem: Any) -> None:
    class Slow(AugmentedPlanner):
        def iterate(self, search: Any, q: Any, v: Any, inputs: Any, iterations: int) -> Any:
            counts.append(iterations)
            return super().iterate(search, q, v, inputs, iterations)

    counts: list[int] = []
    state = (np.array([0.5, 0.1]), np.zeros(2))
    controller, slow_controller = problem.controller(), problem.controller(solver=Slow(problem))
    assert np.array_equal(controller.step(state).torque, slow_controller.step(state).torque)
    assert np.array_equal(controller.step(state).torque, slow_controller.step(state).torque) and counts == [50, 3]
    # what makes one is told of motors as linkwork's own are
    calls: list[Any] = []

    def making(problem: Any, names: Any, effort: Any, passive: bool) -> Any:
        calls.extend([names, effort, passive])
        return Slow(problem)

    problem.controller(solver=making, actuators=["y"], effort_limits=4.0, passive=True)
    assert calls[0] == ["y"] and calls[1].tolist() == [4.0, 4.0] and calls[2] is True


@pytest.mark.slow(every=3)
def test_mpc_can_plan_by_iterative_lqr(problem: Any) -> None:
    robot = problem.robot
    free = lw.TrajectoryProblem(robot, num_steps=STEPS, duration=STEPS * TAU).add(
        "configuration", "least_squares", scale=3.0, name="place"
    )
    free = free.add("velocity", "least_squares", scale=0.5).add("acceleration", "least_squares", scale=0.2)
    R = 0.04 / np.array([2.0 * MASS, MASS]) ** 2
    controller, K = free.controller(solver="ilqr", Q=(9.0, 0.25), R=R), _regulator(0.5)
    q, v = np.array([[0.3, -0.2], [0.1, 0.4]]), np.array([[0.1, 0.2], [0.0, -0.3]])
    alone = free.controller(solver="ilqr", Q=(9.0, 0.25), R=R)
    for _ in range(3):
        command = controller.step((q, v))
        expected = -np.concatenate([q, v], axis=1) @ K.T
        assert (command.status == "planned").all() and np.abs(command.torque - expected).max() < 1e-6 * np.abs(
            expected
        ).max()
        assert np.array_equal(alone.step((q[1], v[1])).torque, command.torque[1])
        q, v = _moved(robot, q, v, command.torque)


def test_failed_iterative_lqr_of_one_mpc_environment_restarts_without_affecting_others(
    problem: Any, tmp_path: Path
) -> None:
    """One of two environments exceeds a limit: it has no plan and restarts."""
    hasty = lw.TrajectoryProblem(problem.robot, num_steps=STEPS, duration=STEPS * TAU).add(
        "configuration", "least_squares", scale=3.0
    )
    hasty = hasty.add("velocity", "least_squares", scale=0.5).add("velocity limits", "inequality")
    options = {"solver": "ilqr", "max_constraint_violation": 1e-3, "effort_limits": 5.0, "first_max_iterations": 5}
    controller, alone = hasty.controller(**options), hasty.controller(**options)
    q, v = np.zeros((2, 2)), np.array([[9.0, 0.0], [0.5, 0.3]])
    for _ in range(2):
        command = controller.step((q, v))
        assert command.status.tolist()[0] in ("braking", "failed") and command.status[1] == "planned"
        assert np.abs(command.torque).max() <= 5.0 and np.isfinite(command.torque).all()
        assert np.array_equal(alone.step((q[1], v[1])).torque, command.torque[1])
    controller.save(tmp_path / "it.npz")
    copy = hasty.controller(**options)
    copy.restore(tmp_path / "it.npz")
    expected = controller.step((q, v)).torque
    assert np.array_equal(copy.step((q, v)).torque, expected)
    assert pickle.loads(pickle.dumps(copy.planner))._options["control_limits"][1].tolist() == [5.0, 5.0]


def test_iterative_lqr_of_mpc_plans_with_the_available_motors() -> None:
    """A cart with a pole has one motor: the plan uses it, and the cart moves as planned."""
    cart = lw.Robot.build(
        "cart",
        lw.Link("cart", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1)),
        lw.Link("pole", mass=0.2, com=(0, 0, -0.5), inertia=(1e-3, 1e-3, 1e-3)),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart", effort=50.0),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="cart", child="pole"),
    )
    free = (
        lw.TrajectoryProblem(cart, num_steps=6, duration=0.3)
        .add("configuration", "least_squares")
        .add("velocity", "least_squares")
    )
    controller = free.controller(solver="ilqr", actuators=["slide"], effort_limits=2.0)
    q, v = np.array([0.3, 0.2]), np.zeros(2)
    command, search = controller.step((q, v)), controller._search
    assert command.status == "planned" and command.K.shape == (1, 4) and search["u"].shape == (1, 6, 1)
    assert 0.1 < np.abs(search["u"]).max() <= 2.0
    forces = np.pad(search["u"][0], ((0, 0), (0, 1)))
    assert np.array_equal(controller.plan.tau, forces)
    moved = constant_force_motion(cart, q, v, forces, 0.05)
    assert np.abs(controller.plan.q[1:] - moved[0]).max() < 1e-3


def test_refused_arguments_leave_the_mpc_plan_unchanged(problem: Any) -> None:
    controller, twin = problem.controller(), problem.controller()
    q, v = np.array([0.5, 0.1]), np.array([0.2, -0.4])
    for controller_ in (controller, twin):
        controller_.step((q, v))
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (([np.nan, 0.0], v), None, {}, r"state: q: .*got nan at 0"),
        ((q, [0.0, np.inf]), None, {}, r"state: v: .*got inf at 1"),
        ((q[:1], v), None, {}, r"state: q: expected .* of shape \(..., 2\), got shape \(1,\)"),
        ((q, np.tile(v, (3, 1))), None, {}, "with the same leading axes"),
        ((np.tile(q, (3, 1)), np.tile(v, (3, 1))), None, {}, r"as in the steps before, got \(3, 2\)"),
        (q, None, {}, r"expected a pair \(q, v\)"),
        ((q, v), {"place": [np.nan, 0.0]}, {}, "place.*expected finite numbers"),
        ((q, v), None, {"elapsed": -1.0}, "elapsed: expected a time >= 0"),
    ]
    for state, reference, options, message in cases:
        with pytest.raises(ValueError, match=message):
            controller.step(state, reference, **options)
    with pytest.raises(KeyError, match="place"):
        controller.step((q, v), {"plce": [0.0, 0.0]})
    assert np.array_equal(controller.step((q, v)).torque, twin.step((q, v)).torque)
    for options, message in (
        ({"max_iterations": 0}, "max_iterations: expected an integer"),
        ({"period": 0.0}, "period: expected a time > 0"),
        ({"solver": "quick"}, "solver: expected one of 'augmented'"),
        ({"effort_limits": -1.0}, "effort_limits: expected numbers >= 0"),
        ({"effort_limits": "x"}, "effort_limits: expected numbers >= 0"),
        ({"max_constraint_violation": "x"}, "max_constraint_violation: expected a number > 0, got 'x'"),
        ({"max_constraint_violation": np.nan}, "max_constraint_violation: expected a number > 0, got nan"),
        ({"R": -1.0}, "R: expected one symmetric, positive definite matrix"),
        ({"R": 0.0}, "R: expected one symmetric, positive definite matrix"),
        ({"Q": (-1.0, 1.0)}, "Q: expected one symmetric, positive semidefinite matrix"),
    ):
        with pytest.raises(ValueError, match=message):
            problem.controller(**options)
    for options, said in (
        ({"parameters": 3}, "controller: parameters: expected strings"),
        ({"solver": lambda *problem: None}, "controller: solver: expected the name of a solver, a planner, or"),
        ({"iteration": 3}, "controller: no option named 'iteration'"),
    ):
        with pytest.raises(TypeError, match=said):
            problem.controller(**options)
    halves = {"a": (0, 2), "b": (2, 4)}
    for duration, phases in (((0.1, 1.0), None), ({"a": 0.1, "b": 0.2}, halves)):
        free = lw.TrajectoryProblem(problem.robot, num_steps=4, duration=duration, phases=phases).add(
            "velocity", "least_squares"
        )
        for solver in ("augmented", "ilqr"):
            with pytest.raises(ValueError, match=r"problem: expected one fixed duration"):
                free.controller(solver=solver)
    assert isinstance(controller, ModelPredictiveController)
