"""IPOPT through CasADi on the same problems: equal optima, multipliers and parameters, also on manifolds."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("casadi")


def both(problem, *start, **options):
    """Return the results of the augmented solver and of IPOPT."""
    results = [problem.solve(*start, **options, solver=solver, max_iterations=500) for solver in ("augmented", "ipopt")]
    assert [x.status for x in results] == ["solved", "solved"]
    return results


def test_augmented_lagrangian_and_ipopt_find_the_same_optimal_path():
    """Squares, a range, an equality at a step, an inequality, targets of steps, constraint forces."""
    robot = lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=8, duration=0.8)
    problem = problem.add("torque", "least_squares", scale=0.1)
    problem = problem.add("acceleration", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=-1, target=[0.6, 0.3], name="there")
    problem = problem.add("velocity", "equality", lower=-3.0, upper=1.75, name="slow")
    problem = problem.add(lambda w: w.point("tip")[2] + 1.66, "inequality", steps=slice(2, 6), name="below")
    targets = lw.optimal.PerStep(np.linspace([0.0, 0.0], [0.3, -0.3], 8))
    problem = problem.add("configuration", "least_squares", scale=2.0, name="near", target=targets)
    line = np.linspace([-0.5, 0.1], [0.6, 0.3], 9)[1:]
    ours, theirs = both(problem, [-0.5, 0.1], initial_guess=line, tolerance=1e-9, step_tolerance=1e-9)
    assert np.allclose(ours.q, theirs.q, atol=1e-6) and np.isclose(ours.cost, theirs.cost, rtol=1e-8)
    for name in ("there", "slow", "below"):
        assert np.abs(ours.multipliers[name]).max() > 1e-2
        assert np.allclose(ours.multipliers[name], theirs.multipliers[name], atol=1e-4)
        assert theirs.violations[name] < 1e-8


@pytest.mark.slow(every=3)
def test_augmented_lagrangian_and_ipopt_agree_on_manifolds_with_parameters():
    """A body that turns freely, variables of each step, and a bounded parameter, for a batch."""
    ball = lw.Robot.build(
        "ball",
        lw.Link("ball", lw.shapes.Sphere(0.1), mass=1.0),
        lw.Joint.of(lw.joints.Spherical(), name="socket", parent="world", child="ball"),
    )
    problem = lw.TrajectoryProblem(ball, num_steps=4, duration=1.0)
    problem = problem.add_parameter("share", lower=0.2, upper=0.9, initial_guess=0.5)
    problem = problem.add_variable("push", 3)
    problem = problem.add("velocity", "least_squares")
    problem = problem.add(lambda w: w.variables("push") - w.a(), "equality", name="push")
    problem = problem.add(lambda w: w.parameter("share") - 1.5, "least_squares", steps=-1, name="much")
    turn = lw.ik.OrientationTask("ball")
    problem = problem.add(turn, "equality", steps=-1, name="turned")
    R = np.array([lw.pose(rpy=(0.4, -0.3, x))[:3, :3] for x in (0.5, 2.0)])
    ours, theirs = both_of_batch(problem, R)
    assert np.allclose(ball.difference(ours.q, theirs.q), 0.0, atol=1e-5)
    assert np.allclose(theirs.parameters["share"], 0.9) and np.allclose(ours.cost, theirs.cost, rtol=1e-5)
    assert np.allclose(theirs.variables["push"], ours.variables["push"], atol=1e-3)


def both_of_batch(problem, R):
    results = [
        problem.solve([1.0, 0.0, 0.0, 0.0], targets={"turned": R}, solver=solver) for solver in ("augmented", "ipopt")
    ]
    assert all(x.success.all() for x in results)
    return results


def test_unknown_trajectory_solvers_are_refused_and_ipopt_names_conflicts():
    problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=3).add("acceleration", "least_squares")
    with pytest.raises(ValueError, match=r"solver: expected one of 'augmented', 'ipopt'.*got 'simplex'"):
        problem.solve([0.0, 0.0], solver="simplex")
    never = problem.add("velocity", "equality", steps=-1, target=[1.0, 0.0], name="fast")
    never = never.add("velocity", "equality", steps=-1, name="at rest")
    result = never.solve([0.0, 0.0], solver="ipopt")
    assert result.status == "infeasible" and set(result.conflicts) == {"fast", "at rest"}
    assert abs(result.violations["fast"] + result.violations["at rest"] - 1.0) < 1e-3
