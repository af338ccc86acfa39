"""Paths with parameters of the robot in each call: those of the edited robot, from one kernel, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.optimal import kernels as solving

TIGHT: dict[str, Any] = {"tolerance": 1e-11, "step_tolerance": 1e-11}
ARM = lw.load("double_pendulum").with_payload("payload", "tip", 0.0)
BALL = np.array([1.0, 0.0, 0.0, 0.0, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
STEP = 1e-4
X, Z = 1.0, -0.8  # where the tip is to be [m]


def lift(robot: lw.Robot) -> lw.TrajectoryProblem:
    """Torques squared, to a place of the tip."""
    problem = lw.TrajectoryProblem(robot, num_steps=5, duration=0.5).add("torque", "least_squares", scale=0.1)
    problem = problem.add("velocity", "least_squares", scale=0.2)
    problem = problem.add(lambda w: [w.point("tip")[0] - X, w.point("tip")[2] - Z], "equality", steps=-1, name="there")
    return problem.add(lw.optimal.TorqueLimits(upper=60.0), "inequality", name="motors")


def _refuses(*_: Any) -> Any:
    raise AssertionError("another kernel was made")


@pytest.mark.slow(every=5)
def test_optimal_paths_with_parameters_equal_those_of_the_edited_robot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch has the path of each robot; single problems, guesses and warm starts agree."""
    problem, start = lift(ARM), np.array([0.3, 0.4])
    many = {
        "inertia:payload": np.multiply.outer([0.0, 0.4, 0.8], BALL),
        "frame:tip": np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.0, 0.02, 0.0, -0.05], [0.0] * 5 + [0.04]]),
    }
    batch = problem.solve(start, parameters=many, **TIGHT)
    assert batch.success.all() and batch.cost[2] > 1.1 * batch.cost[0]
    plain = problem.solve(start, **TIGHT)
    assert abs(plain.cost - batch.cost[0]) < 1e-9 * plain.cost and np.abs(plain.q - batch.q[0]).max() < 1e-7
    second_parameters = {name: x[1] for name, x in many.items()}
    edited = ARM.with_parameters(second_parameters)
    fixed = lift(edited).solve(start, initial_guess=batch.q[1], **TIGHT)
    assert fixed.success and np.abs(fixed.q - batch.q[1]).max() < 1e-7
    assert np.abs(fixed.multipliers["there"] - batch.multipliers["there"][1]).max() < 1e-4
    assert np.abs(edited.pose(batch.q[1, -1], "tip")[[0, 2], 3] - [X, Z]).max() < 1e-9
    with monkeypatch.context() as patch:
        patch.setattr(solving, "_compiled", _refuses)
        alone = problem.solve(start, parameters=second_parameters, **TIGHT)
        assert np.array_equal(alone.q, batch.q[1]) and alone.cost == batch.cost[1]
        assert problem.solve(start, parameters=second_parameters, warm_start=plain, **TIGHT).success
        seeds = problem.solve(start, parameters=many, num_guesses=2, continue_all=True, **TIGHT)
        assert np.array_equal(seeds.attempts.q[:, 0], batch.q)
        assert np.allclose(seeds.residuals["there"], 0.0, atol=1e-9)
        again = problem.solve(start, warm_start=batch, parameters=many, **TIGHT)
        assert again.success.all() and (again.iterations < batch.iterations).all()


@pytest.mark.slow(every=5)
def test_derivatives_of_optimal_paths_by_parameters_equal_finite_differences() -> None:
    """A batch has derivatives for each problem, by its own parameters and by common ones."""
    problem, start = lift(ARM), np.array([0.3, 0.4])
    many = {"inertia:payload": np.multiply.outer([0.2, 0.8], BALL), "frame:tip": np.zeros(6)}
    batch = problem.solve(start, parameters=many, **TIGHT)
    assert batch.success.all()
    directions = {"inertia:payload": BALL, "frame:tip": np.array([0.3, 0.0, -0.2, 0.1, 0.0, 0.4])}
    for by, direction in directions.items():
        exact = batch.derivative(by).q @ direction
        assert exact.shape == (2, 5, 2) and np.abs(exact[0] - exact[1]).max() > 1e-3
        moved = [
            problem.solve(
                start, parameters=many | {by: many[by] + sign * STEP * direction}, warm_start=batch, **TIGHT
            ).q
            for sign in (1.0, -1.0)
        ]
        assert np.abs((moved[0] - moved[1]) / (2 * STEP) - exact).max() < 1e-6, by
    gravity = np.array([0.0, 0.0, -9.81])
    derivative = batch.derivative("gravity").q[0, ..., 2]
    heavy = {name: x[0] if x.ndim > 1 else x for name, x in many.items()}
    ends = [
        problem.solve(
            start, parameters=heavy | {"gravity": gravity + x * np.eye(3)[2]}, initial_guess=batch.q[0], **TIGHT
        ).q
        for x in (STEP, -STEP)
    ]
    assert np.abs((ends[0] - ends[1]) / (2 * STEP) - derivative).max() < 1e-6
    with pytest.raises(ValueError, match=r"'inertia' is already part of 'inertia:payload', which the problem"):
        batch.derivative("inertia")


@pytest.mark.slow(every=5)
def test_optimal_path_of_a_four_bar_with_parameters_equals_that_of_the_edited_robot() -> None:
    """The position of a hinge and the mass of a link, in loops and constraint forces."""
    robot = lw.load("fourbar")
    start = robot.assemble(robot.neutral()).q
    hinge, link = "rocker_hinge", "rocker"

    def pose(robot: lw.Robot) -> lw.TrajectoryProblem:
        problem = lw.TrajectoryProblem(robot, num_steps=4, duration=0.8).add("torque", "least_squares", scale=0.1)
        problem = problem.add("velocity", "least_squares")
        return problem.add(lw.ik.JointTask("crank_hinge"), "equality", steps=-1, target=start[0] + 0.4, name="turned")

    nominal = robot.parameters([f"placement:{hinge}", f"inertia:{link}"])
    shift = np.array([0.0, 0.0, 0.0, 0.02, 0.0, 0.01])
    values = {f"placement:{hinge}": shift, f"inertia:{link}": 3.0 * nominal[f"inertia_{link}"]}
    problem = pose(robot)
    result = problem.solve(start, parameters=values, **TIGHT)
    edited = robot.with_parameters(values)
    assert result.success, result.explain()
    assert np.abs(edited.constraint_error(result.q)).max() < 1e-9 < np.abs(robot.constraint_error(result.q)).max()
    fixed = pose(edited).solve(start, initial_guess=result.q, **TIGHT)
    assert fixed.success and np.abs(fixed.q - result.q).max() < 1e-7
    exact = result.derivative(f"placement:{hinge}").q @ shift
    ends = [
        problem.solve(
            start, parameters=values | {f"placement:{hinge}": (1.0 + x) * shift}, warm_start=result, **TIGHT
        ).q
        for x in (1e-3, -1e-3)
    ]
    assert np.abs(exact).max() > 1e-3 and np.abs((ends[0] - ends[1]) / 2e-3 - exact).max() < 1e-6
    # forces of the loop are undetermined in one direction, and costs of forces are far smaller than those of angles
    assert np.abs(result.derivative("turned").q[-1, 0] - 1.0).max() < 1e-9


def test_optimized_contact_forces_follow_the_weight_parameter() -> None:
    """The ground force of a standing robot equals its weight."""
    up = lw.joints.Prismatic((0, 0, 1))
    robot = lw.Robot.build(
        "hopper",
        lw.Link("trunk", mass=4.0),
        lw.Link("leg", mass=1.0),
        lw.Joint.of(up, name="height", parent="world", child="trunk"),
        lw.Joint.of(up, name="hip", parent="trunk", child="leg"),
    ).with_point("foot", "leg", (0, 0, 0))
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=0.2)
    problem = problem.add_contact("foot", friction=None, effort=0.0)
    problem = problem.add(lw.optimal.TorqueFeature(["height"]), "equality", name="no motor")
    problem = problem.add("configuration", "least_squares", target=[0.5, -0.5]).add(
        "acceleration", "least_squares", scale=0.1
    )
    trunk = np.multiply.outer([4.0, 6.0], [1.0] + [0.0] * 9)
    batch = problem.solve([0.5, -0.5], parameters={"inertia:trunk": trunk}, **TIGHT)
    pushes = batch.variables["foot"][..., 2]
    assert batch.success.all() and np.allclose(pushes, 9.81 * np.array([[5.0], [7.0]]), rtol=1e-9)
    with pytest.raises(ValueError, match=r"parameters: point:foot: contact 'foot' .* pass 'frame:foot: contact'"):
        problem.solve([0.5, -0.5], parameters={"point:foot": [0.0, 0.0, 0.1]})


def test_ipopt_solver_accepts_parameters_of_the_robot() -> None:
    pytest.importorskip("casadi")
    problem, start = lift(ARM), np.array([0.3, 0.4])
    values = {"inertia:payload": 0.5 * BALL}
    ours = problem.solve(start, parameters=values, **TIGHT)
    theirs = problem.solve(start, parameters=values, solver="ipopt")
    assert theirs.success and np.isclose(ours.cost, theirs.cost, rtol=1e-7) and np.abs(ours.q - theirs.q).max() < 1e-4


def test_invalid_robot_parameters_of_trajectory_problems_are_refused() -> None:
    problem = lift(ARM)
    for wrong, said in (
        (
            {"inertia:payload": [1.0]},
            r"TrajectoryProblem.solve: parameters: inertia:payload: expected numbers \(\.\.\., 10\)",
        ),
        ({"gravity": [0.0, 0.0, np.nan]}, "finite"),
        ({"inertia:payload": np.stack([BALL, -BALL])}, r"inertia:payload\[1\]: not the inertia of a physical body"),
        ({"gravity": np.zeros((2, 3)), "frame:tip": np.zeros((3, 6))}, r"leading axes .* parameters: frame:tip \(3,\)"),
    ):
        with pytest.raises(ValueError, match=said):
            problem.solve([0.0, 0.0], parameters=wrong)
    with pytest.raises(TypeError, match="parameters: expected a dict"):
        problem.solve([0.0, 0.0], parameters=["gravity"])
    with pytest.raises(lw.errors.UnknownNameError, match="payload"):
        problem.solve([0.0, 0.0], parameters={"inertia:paylod": BALL})
