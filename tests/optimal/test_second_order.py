"""Second derivatives of all terms: Newton's equations, and swing-ups on which Gauss–Newton is slow."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.optimal.algorithms.path_nlp import PathPoint
from linkwork.optimal.algorithms.path_steps import Duals
from linkwork.optimal.kernels import sweeps_of
from linkwork.optimal.problem_arrays import prepared


def swing_up(steps, motors=("shoulder", "elbow")):
    """Return the problem of the double pendulum from hanging to standing at rest."""
    robot = lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=3.0).add("torque", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=-1, target=[np.pi, 0.0], name="upright")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    for name in robot.v_names:
        if name not in motors:
            problem = problem.add(lw.optimal.TorqueFeature([name]), "equality", name=f"no motor at {name!r}")
    return problem


def body_in_space(steps):
    """Return a problem of a floating body: no forces, and a fixed orientation."""
    robot = lw.Robot.build(
        "body",
        lw.Link("body", mass=1.0, inertia=(0.1, 0.2, 0.3)),
        lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="body"),
    )
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=0.4)
    problem = problem.add("acceleration", "least_squares").add(lw.optimal.TorqueFeature(), "equality", scale=0.1)
    return problem.add(lw.ik.OrientationTask("body"), "equality", target=np.eye(3), name="upright")


def evaluation(problem, rng):
    """Return the sweeps of second order on a random path, the path and multipliers."""
    prepared_problem, robot = prepared(problem, True), problem.robot
    start = robot.random_configuration(rng)
    arrays = prepared_problem.constants | prepared_problem.nominal_targets | {"start": start}
    program = replace(prepared_problem.program, second_order=True)
    q = robot.integrate(start, 0.2 * rng.normal(size=(program.steps, robot.nv)))
    everywhere, alone = (
        rng.normal(size=prepared_problem.state_shapes.get(name, shape))
        for name, shape in (("everywhere", (program.steps, 0)), ("alone", (0,)))
    )
    duals = Duals(everywhere, alone, np.full(len(program.hard), 7.0))
    return sweeps_of(program, arrays), PathPoint(q, np.zeros((program.steps, 0)), np.zeros(0)), duals


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("make", [swing_up, lambda steps: swing_up(steps, ("elbow",)), body_in_space])
def test_newton_equations_of_trajectory_problems_contain_all_second_derivatives(make):
    """For (H + μ) d = −g, the merit along d has the slope gᵀd and the second derivative dᵀH d."""
    sweeps, point, duals = evaluation(make(4), np.random.default_rng(0))
    floor, factors = 1.0, None
    while factors is None or not factors.positive:
        floor *= 10.0
        with np.errstate(all="ignore"):  # the elimination of indefinite equations overflows
            factors, merit, _ = sweeps.equations(point, duals, 0.0, floor, 1.0)
    d = sweeps.direction(factors, [])
    s = 3e-3 / np.abs(d).max()
    paths = (sweeps.moved(point, k * s * d, [], 1.0) for k in (-2.0, -1.0, 0.0, 1.0, 2.0))
    f = [float(sweeps.shares(path, duals).merit) for path in paths]
    slope = (f[0] - 8.0 * f[1] + 8.0 * f[3] - f[4]) / (12.0 * s)
    second = (-f[0] + 16.0 * f[1] - 30.0 * f[2] + 16.0 * f[3] - f[4]) / (12.0 * s * s)
    drop = float(factors.drop)
    assert float(merit) == pytest.approx(f[2], rel=1e-12)
    assert slope == pytest.approx(-drop, rel=1e-6)
    assert second == pytest.approx(drop - floor * float((d * d).sum()), rel=1e-5)


def test_infinite_second_derivatives_count_as_zero_curvature():
    """The power 1.5 of a distance has a derivative at zero, but no second one."""
    robot = lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=3, duration=1.0)
    problem = problem.add(lambda w: (w.q()[:1] ** 2) ** 0.75, "least_squares", name="power")
    sweeps, point, duals = evaluation(problem, np.random.default_rng(0))
    point = point._replace(q=np.zeros((3, 2)))
    with np.errstate(invalid="ignore"):
        assert np.isfinite(float(sweeps.equations(point, duals, 0.0, 1.0, 0.0)[0].drop))


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("motors", [("shoulder", "elbow"), ("elbow",)])
def test_trajectory_optimization_of_swing_ups_converges_from_random_guesses(motors):
    """Most converge soon after second derivatives are used: Gauss–Newton needs 600 iterations and more."""
    problem, rng = swing_up(40, motors), np.random.default_rng(0)
    t = np.linspace(0.0, 1.0, 41)[1:]
    waves = np.sin(np.multiply.outer(t, 0.5 * np.pi * np.arange(1, 6)))
    guesses = np.einsum("tk,nkj->ntj", waves, rng.normal(size=(60, 5, 2)))
    swings = problem.solve(np.zeros(2), initial_guess=guesses)
    assert (np.asarray(swings.status) == "solved").all()
    assert np.quantile(swings.iterations, 0.9) < 400
    k = int(np.argmax(swings.iterations))
    again = problem.solve(np.zeros(2), initial_guess=guesses[k], callback=lambda result: True)
    assert again.iterations == swings.iterations[k] > 100  # the same path, iteration by iteration
    np.testing.assert_array_equal(again.q, swings.q[k])
