"""Accuracy of solvers of trajectory problems, against dense algebra and known optima."""

from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import sqrt
from linkwork.optimal.algorithms.block_banded import (
    WindowShare,
    eliminate,
    eliminate_wide,
    solve_border,
    substitute,
    substitute_wide,
)


@pytest.mark.parametrize(("depth", "many"), [(0, 0), (1, 2), (2, 1), (3, 3)])
def test_frontal_elimination_of_path_problems_equals_dense_equations(depth, many):
    rng, width, windows = np.random.default_rng(depth), 3, 6
    size, count = (depth + 1) * width + many, windows * width + many
    factors = rng.normal(size=(windows, size, size))
    blocks, sides = factors @ factors.transpose(0, 2, 1) + np.eye(size), rng.normal(size=(windows, size))
    lines, forces = rng.normal(size=(windows, 2, size)), rng.normal(size=(windows, 2))
    H, g = np.zeros((count, count)), np.zeros(count)
    for t in range(windows):
        steps = [np.arange(width) + (t - back) * width for back in range(depth + 1)]
        indices = np.concatenate([*steps, windows * width + np.arange(many)]).astype(int)
        inside = np.flatnonzero(indices >= 0)
        more = 2.0 * lines[t].T @ lines[t]
        more += 0.5 * np.diag(np.diag(more))
        H[np.ix_(indices[inside], indices[inside])] += (blocks[t] + more)[np.ix_(inside, inside)]
        np.add.at(g, indices[inside], (sides[t] + forces[t] @ lines[t])[inside])

    def added(as_rows, arrays):
        matrix, side, rows, pulls = arrays
        if not as_rows:
            more = sum(2.0 * np.outer(j, j) for j in rows)
            matrix, side = matrix + more + 0.5 * np.diag(np.diag(more)), side + pulls @ rows
        lower = {(i, j): matrix[i, j] for i in range(size) for j in range(i + 1)}
        listed = [(dict(enumerate(j)), 2.0, f) for j, f in zip(rows, pulls, strict=True)]
        return WindowShare(lower, dict(enumerate(side)), listed if as_rows else (), 1.5)

    padded = tuple(np.concatenate([x, *[x[-1:]] * depth]) for x in (blocks, sides, lines, forces))
    exact = np.linalg.solve(H, g)
    for wide, forward, backward in ((False, eliminate, substitute), (True, eliminate_wide, substitute_wide)):
        fronts = forward(width, depth, many, windows, partial(added, wide), padded, [0.0] * width)
        border, _ = solve_border(fronts.border, fronts.border_side)
        x = backward(width, depth, fronts, border)
        assert bool(fronts.positive) and np.abs(np.ravel(x).astype(float) - exact[: windows * width]).max() < 1e-10
        assert np.abs(np.array(border, dtype=float) - exact[windows * width :]).max(initial=0.0) < 1e-10
        drop = fronts.drop + sum(a * b for a, b in zip(fronts.border_side, border, strict=True))
        assert abs(drop - g @ exact) < 1e-9 * (g @ g)


@pytest.fixture(scope="module")
def slider():
    return lw.load("double_pendulum")


def test_path_of_least_acceleration_equals_the_solution_of_normal_equations(slider):
    """The reference is NumPy."""
    steps, tau = 10, 0.1
    problem = lw.TrajectoryProblem(slider, num_steps=steps, duration=steps * tau)
    problem = problem.add("acceleration", "least_squares").add("configuration", "equality", steps=-1, name="end")
    problem = problem.add("velocity", "equality", steps=-1, name="rest")
    start, end, v0 = np.array([0.1, -0.2]), np.array([0.7, 0.4]), np.array([0.3, -0.1])
    result = problem.solve(start, velocity=v0, targets={"end": end}, tolerance=1e-10, step_tolerance=1e-10)
    D = (np.eye(steps) - np.eye(steps, k=-1)) / tau
    rates = np.diag([*np.ones(steps - 1), 2.0]) @ D  # the last configuration is half a step after the one before
    A, past = D @ rates, np.zeros((steps, 2))
    past[0] = -(start + 0.5 * tau * v0) / tau  # of velocities
    past = D @ past
    past[0] -= v0 / tau
    C = np.array([np.eye(steps)[-1], rates[-1]])
    K = np.block([[A.T @ A, C.T], [C, np.zeros((2, 2))]])
    exact = np.linalg.solve(K, np.concatenate([-A.T @ past, [end, np.zeros(2)]]))
    assert result.success and np.abs(result.q - exact[:steps]).max() < 1e-9
    begin = result.trajectory()(0.0)
    assert np.allclose(begin.q, start) and np.allclose(begin.v, v0)
    several = problem.solve(start, velocity=np.array([0.0 * v0, v0]), targets={"end": end}, num_guesses=2)
    assert np.allclose(several.trajectory(1)(0.0).v, v0) and np.allclose(several.attempts.trajectory((1, 1))(0.0).v, v0)
    scale = np.abs(exact[steps:]).max()
    assert np.abs(result.multipliers["end"][0] - exact[steps]).max() < 1e-4 * scale
    assert np.abs(result.multipliers["rest"][0] - exact[steps + 1]).max() < 1e-4 * scale


def test_trajectory_problem_of_one_step_equals_inverse_kinematics():
    robot = lw.load("arm6")
    frame, q = robot.frames[-1], robot.random_configuration(seed=3)
    problem = lw.TrajectoryProblem(robot, num_steps=1).add(lw.ik.PoseTask(frame), "equality", name="reach")
    near = q + 0.1
    result = problem.solve(
        initial_guess=near, targets={"reach": robot.pose(q, frame)}, step_tolerance=1e-9, tolerance=1e-9
    )
    by_ik = robot.ik_problem([lw.ik.PoseTask(frame, name="reach")], position_limits=False).solve(
        near, reach=robot.pose(q, frame)
    )
    assert result.success and np.abs(result.q[0] - q).max() < 1e-6 and np.abs(result.q[0] - by_ik.q).max() < 1e-5


def test_variables_of_each_step_and_path_parameters_may_have_bounds(slider):
    """Variables, parameters and durations of phases are optimized."""
    problem = lw.TrajectoryProblem(
        slider, num_steps=6, duration={"go": (0.2, 2.0), "hold": 0.5}, phases={"go": (0, 3), "hold": (3, 6)}
    )
    problem = problem.add_variable("push", 1, lower=-0.5, upper=0.2, steps="go").add_parameter(
        "size", 2, lower=(-1.0, 0.25), upper=1.0
    )
    problem = problem.add(lambda w: w.variables("push")[0] - 1.0, "least_squares", name="much", steps="go")
    problem = problem.add(lambda w: w.parameter("size") - np.array([0.3, 0.0]), "least_squares", name="sized", steps=-1)
    problem = problem.add("acceleration", "least_squares", steps="go", scale=0.1).add("duration of go", "cost")
    problem = problem.add("configuration", "equality", steps=3, name="there", target=(0.3, 0.2))
    problem = problem.add("velocity", "least_squares", steps="hold")
    result = problem.solve(np.zeros(2))
    assert result.success and np.abs(result.variables["push"][:3, 0] - 0.2).max() < 1e-5
    assert np.abs(result.variables["push"][3:]).max() == 0.0
    assert np.abs(result.parameters["size"] - [0.3, 0.25]).max() < 1e-5
    go = result.parameters["duration of go"][0]
    assert 0.2 <= go <= 2.0 and abs(result.duration - go - 0.5) < 1e-12
    assert np.abs(result.steps - np.repeat([go / 3, 0.5 / 3], 3)).max() < 1e-12
    assert abs(result.times[-1] - result.duration) < 1e-12
    assert np.abs(result.q[3] - [0.3, 0.2]).max() < 1e-6 and "times" not in str(result)


def test_trajectory_solver_names_a_feature_that_returns_nan_with_its_step(slider):
    problem = lw.TrajectoryProblem(slider, num_steps=4).add("acceleration", "least_squares")
    problem = problem.add(lambda w: sqrt(w.q("elbow") - 3.0), "least_squares", name="odd", steps=2)
    result = problem.solve(np.zeros(2))
    assert result.status == "not_finite" and result.message == "'odd' is nan in step 2, component 'odd'"
    # where it does not count, it may be what it likes
    problem = lw.TrajectoryProblem(slider, num_steps=4).add("acceleration", "least_squares")
    problem = problem.add(lambda w: sqrt(w.q("elbow") - 0.5), "least_squares", name="odd", steps=[3])
    problem = problem.add("configuration", "equality", steps=[2, 3], target=(0.0, 0.9), name="up")
    guess = np.array([[0.0, 0.0], [0.0, 0.3], [0.0, 0.6], [0.0, 0.9]])
    assert problem.solve(np.zeros(2), initial_guess=guess).success


@pytest.mark.slow(every=5)
def test_trajectory_solver_names_features_with_derivatives_that_are_not_finite(slider):
    """The length of a zero vector has a value, and no derivative: no constraint is blamed."""
    for step, at in ((0, slice(0, 2)), (2, 2)):
        problem = lw.TrajectoryProblem(slider, num_steps=3).add("acceleration", "least_squares")
        problem = problem.add("configuration", "equality", steps=-1, name="harmless")
        problem = problem.add(lambda w: sqrt(w.v()[0] ** 2 + w.v()[1] ** 2), "least_squares", name="speed", steps=at)
        for solver, n in (("augmented", 0), ("augmented", 2), ("ilqr", 0), ("ilqr", 2)):
            result = problem.solve(np.zeros((n, 2) if n else 2), solver=solver, initial_guess=np.zeros(2))
            said = result.explain(n - 1 if n else ())
            assert np.all(result.status == "not_finite"), (solver, result.status)
            assert said.startswith(f"not_finite: the derivative of 'speed' in step {step}, component 'speed'. "), (
                solver,
                said,
            )
            assert np.max(result.violations["harmless"]) == 0.0 and not np.any(result.success)
            assert all(not x for x in (result.conflicts if n else [result.conflicts]))


def test_trajectory_solver_names_two_conflicting_constraints(slider):
    problem = lw.TrajectoryProblem(slider, num_steps=3).add("acceleration", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=2, target=(0.5, 0.0), name="here")
    problem = problem.add("configuration", "equality", steps=2, target=(0.9, 0.0), name="there")
    problem = problem.add("velocity", "inequality", upper=9.0, lower=-9.0)
    result = problem.solve(np.zeros(2))
    assert result.status == "infeasible" and set(result.conflicts) == {"here", "there"}
    assert abs(result.violations["here"] - 0.2) < 1e-3 and list(result.residuals)[-1] == "acceleration"


@pytest.mark.slow(every=3)
def test_optimal_paths_do_not_depend_on_units_and_scales_of_constraints(slider):
    """Motor limits in N·m and mN·m, by scales and by values; and costs of another size."""

    def reaching(motors, most, scale, cost):
        problem = lw.TrajectoryProblem(slider, num_steps=12, duration=0.6).add(
            "acceleration", "least_squares", scale=cost
        )
        problem = problem.add("configuration", "equality", steps=-1, target=(2.0, -1.0), name="there")
        problem = problem.add("velocity", "equality", steps=-1, name="rest")
        return problem.add(motors, "inequality", lower=-most, upper=most, scale=scale, name="motors")

    results = [
        reaching("torque", 21.0, scale, cost).solve(np.zeros(2))
        for scale, cost in ((1.0, 1.0), (1e-3, 1.0), (1e3, 1.0), (1.0, 1e3))
    ]
    results.append(reaching(lambda w: [1e3 * x for x in w.torque()], 21e3, 1.0, 1.0).solve(np.zeros(2)))
    for x, unit, cost in zip(results, (1.0, 1.0, 1.0, 1.0, 1e3), (1.0, 1.0, 1.0, 1e6, 1.0), strict=True):
        assert x.success and abs(np.abs(x.residuals["motors"]).max() - 21.0 * unit) < 1e-6 * unit
        assert abs(x.cost / cost / results[0].cost - 1.0) < 1e-7 and abs(x.iterations - results[0].iterations) <= 3
        off = x.multipliers["motors"] * unit / cost - results[0].multipliers["motors"]
        assert np.abs(off).max() < 1e-5 * np.abs(results[0].multipliers["motors"]).max()
