"""Model-predictive control with robot parameters in each step: plans, forces, gains and braking depend on them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control.mpc.augmented_mpc import AugmentedPlanner
from linkwork.model.kernel_parameters import Parameter

ARM = lw.load("double_pendulum").with_payload("payload", "tip", 0.0)
BALL = np.array([1.0, 0.0, 0.0, 0.0, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
LOADS = np.multiply.outer([0.0, 0.5, 1.0], BALL)
POSITION = {"place": [1.0, -0.5]}
TRUNK, LEG, G = 4.0, 1.0, 9.81
UP = lw.joints.Prismatic((0, 0, 1))
HOPPER = lw.Robot.build(
    "hopper",
    lw.Link("trunk", mass=TRUNK),
    lw.Link("leg", mass=LEG),
    lw.Joint.of(UP, name="height", parent="world", child="trunk"),
    lw.Joint.of(UP, name="hip", parent="trunk", child="leg"),
).with_point("foot", "leg", (0, 0, 0))


def _reach(robot: lw.Robot, **options: Any) -> Any:
    problem = lw.TrajectoryProblem(robot, num_steps=6, duration=0.3).add(
        "configuration", "least_squares", scale=10.0, name="place"
    )
    problem = problem.add("torque", "least_squares", scale=0.05).add("velocity", "least_squares")
    return problem.controller(period=0.02, max_iterations=3, effort_limits=np.inf, **options)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("solver", ["augmented", "ilqr"])
def test_mpc_with_a_payload_parameter_equals_mpc_of_the_edited_robot(solver: str) -> None:
    """Each environment equals a controller of the robot with its load; further parameters are unchanged."""
    many = _reach(ARM, parameters="inertia:payload", solver=solver)
    alone = [_reach(ARM.with_parameters({"inertia:payload": x}), solver=solver) for x in LOADS]
    q, v = np.tile([0.1, 0.2], (3, 1)), np.zeros((3, 2))
    for _ in range(3):
        command = many.step((q, v), POSITION, parameters={"inertia:payload": LOADS})
        for k, controller in enumerate(alone):
            single = controller.step((q[k], v[k]), POSITION)
            assert single.status == command.status[k] == "planned"
            assert np.allclose(command.torque[k], single.torque, rtol=1e-6, atol=1e-6)
            assert np.allclose(command.K[k], single.K, rtol=1e-6, atol=1e-6)
        q = q + 0.01
    assert np.abs(command.torque[2] - command.torque[0]).max() > 1.0
    twin = pickle.loads(pickle.dumps(many))
    options = {"parameters": {"inertia:payload": LOADS}}
    assert np.array_equal(twin.step((q, v), POSITION, **options).torque, many.step((q, v), POSITION, **options).torque)
    # no plan: it brakes against what it carries
    many.reset()
    many.time_limit = 0.0
    braking = many.step((q, v + 0.5), POSITION, **options)
    for k, load in enumerate(LOADS):
        a = -(v[k] + 0.5) / many.fallback_braking_time
        expected = ARM.with_parameters({"inertia:payload": load}).inverse_dynamics(q[k], v[k] + 0.5, a)
        assert braking.status[k] == "braking" and np.allclose(braking.torque[k], expected, atol=1e-9)
    plain = many.step((q, v + 0.5), POSITION)
    assert np.allclose(plain.torque[2], ARM.inverse_dynamics(q[2], v[2] + 0.5, a), atol=1e-9)


def test_mpc_uses_the_problems_parameters_if_a_call_passes_none() -> None:
    """Also by environment; other names are refused, and axes that are not the state's."""
    parameters = {"inertia:payload": LOADS[1:], "gravity": [0.0, 0.0, -1.62]}
    both, said = _reach(ARM, parameters=parameters), _reach(ARM, parameters=[*parameters])
    state = np.tile([0.1, 0.2], (2, 1)), np.zeros((2, 2))
    default_command, explicit_command = both.step(state, POSITION), said.step(state, POSITION, parameters=parameters)
    assert np.array_equal(default_command.torque, explicit_command.torque) and np.array_equal(
        default_command.K, explicit_command.K
    )
    changed = both.step(state, POSITION, parameters={"gravity": [0.0, 0.0, -9.81]})
    assert np.abs(changed.torque - default_command.torque).max() > 1.0
    with pytest.raises(ValueError, match=r"step: parameters: .* 'gravity', 'inertia:payload', got 'damping': name it"):
        both.step(state, POSITION, parameters={"damping": [0.1, 0.1]})
    with pytest.raises(ValueError, match=r"step: parameters: gravity: expected the leading axes .* \(2,\), got \(3,\)"):
        both.step(state, POSITION, parameters={"gravity": np.zeros((3, 3))})
    with pytest.raises(lw.errors.UnknownNameError, match="gravitation"):
        _reach(ARM, parameters=["gravitation"])


@pytest.mark.parametrize("solver", ["augmented", "ilqr"])
def test_mpc_of_a_standing_leg_supports_the_trunks_current_mass(solver: str) -> None:
    standing, trunks = np.array([0.5, -0.5]), np.multiply.outer([TRUNK, 6.0], [1.0] + [0.0] * 9)
    problem = lw.TrajectoryProblem(HOPPER, num_steps=4, duration=0.2)
    problem = problem.add_contact("foot", friction=None, effort=0.0)
    problem = problem.add("acceleration", "least_squares", scale=0.1).add(
        "configuration", "least_squares", target=standing
    )
    if solver == "augmented":
        problem = problem.add(lw.optimal.TorqueFeature(["height"]), "equality", name="no motor")
    controller = problem.controller(actuators=["hip"], solver=solver, parameters={"inertia:trunk": trunks[1]})
    state = np.tile(standing, (2, 1)), np.zeros((2, 2))
    command = controller.step(state, parameters={"inertia:trunk": trunks})
    expected = np.array([[0.0, -TRUNK * G], [0.0, -6.0 * G]])
    assert (command.status == "planned").all() and np.allclose(command.torque, expected, atol=1e-5)
    assert np.allclose(controller.step(state).torque[:, 1], -6.0 * G, atol=1e-5)
    controller.reset()
    controller.time_limit = 0.0
    braking = controller.step(state, parameters={"inertia:trunk": trunks})
    assert (braking.status == "braking").all() and np.allclose(braking.torque, expected, atol=1e-9)


def test_mpc_planner_class_of_a_user_receives_the_parameters() -> None:
    """The maker receives the parameters, and ``numbers`` their values."""
    calls: list[Any] = []

    def making(problem: Any, names: Any, effort: Any, passive: bool, parameters: tuple[Parameter, ...]) -> Any:
        planner = AugmentedPlanner(problem, names, effort, passive, parameters)
        calls.append((parameters, names))
        return planner

    own_problem = _reach(ARM, parameters=["gravity"], solver=making)
    same = _reach(ARM, parameters=["gravity"])
    state, moon = (np.array([0.1, 0.2]), np.zeros(2)), {"gravity": [0.0, 0.0, -1.62]}
    assert np.array_equal(
        own_problem.step(state, POSITION, parameters=moon).torque, same.step(state, POSITION, parameters=moon).torque
    )
    assert [str(p) for p in calls[0][0]] == ["gravity"] and calls[0][1] == ["shoulder", "elbow"]
