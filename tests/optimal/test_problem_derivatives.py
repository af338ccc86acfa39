"""Derivatives of optimal paths by their problem, against differences of paths."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError

STEP = 1e-5
TIGHT = {"tolerance": 1e-11, "step_tolerance": 1e-11}


@pytest.fixture(scope="module")
def swing():
    """A free duration, a limit that holds the path, and one that does not."""
    robot = lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=(0.5, 4.0))
    problem = problem.add("acceleration", "least_squares", scale=0.3).add("duration", "cost")
    problem = problem.add("configuration", "equality", steps=-1, name="end")
    problem = problem.add("velocity", "inequality", lower=-0.9, upper=0.9)
    problem = problem.add(lambda w: w.point(robot.frames[-1])[2] - 9.0, "inequality", name="ceiling")
    problem = problem.add(lambda w: w.point(robot.frames[-1])[0], "least_squares", name="near", steps=1)
    return robot, problem, np.array([0.2, -0.1]), np.array([0.9, 0.7])


@pytest.mark.slow(every=5)
def test_derivatives_of_optimal_paths_by_start_and_target_equal_finite_differences(swing):
    _, problem, start, end = swing
    result = problem.solve(start, targets={"end": end}, **TIGHT)
    assert result.success and np.abs(result.multipliers["velocity"]).max() > 1e-3
    assert np.abs(result.multipliers["ceiling"]).max() == 0.0

    def difference(by, k):
        moved = []
        for sign in (STEP, -STEP):
            step = sign * np.eye(2)[k]
            q0, q1 = (start + step, end) if by == "start" else (start, end + step)
            moved.append(problem.solve(q0, targets={"end": q1}, warm_start=result, **TIGHT))
        return (moved[0].q - moved[1].q) / (2 * STEP), (moved[0].duration - moved[1].duration) / (2 * STEP)

    for by in ("end", "start"):
        derivative = result.derivative(by)
        assert derivative.q.shape == (4, 2, 2)
        for k in range(2):
            q, duration = difference(by, k)
            assert np.abs(derivative.q[..., k] - q).max() < 1e-6
            assert abs(derivative.parameters["duration"][0, k] - duration) < 1e-6
    with pytest.raises(
        ValueError, match="expected one of 'acceleration', 'end', 'velocity', 'start', 'start velocity'"
    ):
        result.derivative("ends")
    with pytest.raises(UnknownNameError, match="no joint named 'hipp'"):
        result.derivative("placement:hipp")
    with pytest.raises(ValueError, match="warm_start: velocity: with free durations"):
        problem.solve(start, targets={"end": end}, velocity=[0.1, 0.0], warm_start=result)
    with pytest.raises(ValueError, match="'duration' is an unknown"):
        result.derivative("duration")


def test_derivatives_of_optimal_paths_by_robot_parameters_equal_finite_differences_in_batches():
    robot = lw.load("double_pendulum")
    joint, frame = robot.joints[1].name, robot.frames[-1]

    def problem_of(robot):
        problem = lw.TrajectoryProblem(robot, num_steps=2, duration=1.0).add("velocity", "least_squares")
        return problem.add(lambda w: w.point(frame)[0] - 0.1, "equality", name="reach")

    problem, starts = problem_of(robot), np.array([[0.3, 0.4], [-0.5, 0.8]])
    result = problem.solve(starts, **TIGHT)
    derivative = result.derivative(f"placement:{joint}").q
    alone = problem.solve(starts[1], **TIGHT).derivative(f"placement:{joint}").q
    assert derivative.shape[:3] == (2, 2, 2)
    assert np.abs(derivative[1] - alone).max() < 1e-12
    assert np.abs(derivative).max() > 0.1


@pytest.mark.slow(every=5)
def test_derivatives_of_optimal_paths_by_a_rotated_start_keep_the_velocity():
    """The body's axes turn from step to step."""
    joint = lw.Joint.of(lw.joints.Spherical(), name="free", parent="world", child="box")
    robot = lw.Robot.build("body", lw.Link("box", mass=2.0, inertia=(0.1, 0.2, 0.3)), joint)
    problem = lw.TrajectoryProblem(robot, num_steps=3, duration=1.0).add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1)

    displacements = STEP * np.concatenate([np.zeros((1, 3)), np.eye(3), -np.eye(3)])
    result = problem.solve(robot.integrate(robot.neutral(), displacements), velocity=[1.0, 0.7, -0.5], **TIGHT)
    moved = robot.difference(result.q[0], result.q[1:4]) - robot.difference(result.q[0], result.q[4:])
    exact = result.derivative("start").q[0]
    assert result.success.all() and np.abs(np.moveaxis(moved, 0, -1) / (2 * STEP) - exact).max() < 1e-8


@pytest.mark.slow(every=5)
def test_derivatives_of_optimal_paths_by_step_targets_and_durations_equal_finite_differences():
    """A path that follows configurations, starts with a velocity, and has phases of fixed durations."""
    robot = lw.load("double_pendulum")
    targets, start, rate = (
        np.array([[0.3, -0.8], [0.4, -0.7], [0.45, -0.6]]),
        np.array([0.2, -0.1]),
        np.array([0.3, 0.5]),
    )

    def solved(points=targets, through=(0.5, -0.4), first=0.3, warm_start=None):
        phases = {"first": (0, 2), "second": (2, 4)}
        problem = lw.TrajectoryProblem(robot, num_steps=4, duration={"first": first, "second": 0.5}, phases=phases)
        problem = problem.add("torque", "least_squares", scale=0.05).add("velocity", "least_squares", scale=0.2)
        follow = lw.optimal.PerStep(points)
        problem = problem.add(
            "configuration", "least_squares", steps=[0, 1, 3], name="follow", target=follow, scale=3.0
        )
        problem = problem.add(
            "configuration", "equality", steps=2, target=lw.optimal.PerStep([through]), name="through"
        )
        return problem.solve(start, velocity=rate, warm_start=warm_start, **TIGHT)

    result = solved()
    assert result.success and result.derivative("through").q.shape == (4, 2, 2)
    first, last = np.eye(6)[[0, 5]].reshape(2, 3, 2)
    for by, k, call in (
        ("follow", 0, lambda h: {"points": targets + h * first}),
        ("follow", 5, lambda h: {"points": targets + h * last}),
        ("through", 1, lambda h: {"through": (0.5, -0.4 + h)}),
        ("duration of first", 0, lambda h: {"first": 0.3 + h}),
    ):
        more, fewer = (solved(**call(sign * STEP), warm_start=result).q for sign in (1.0, -1.0))
        exact = result.derivative(by).q[..., k]
        assert np.abs(exact).max() > 1e-2 and np.abs((more - fewer) / (2 * STEP) - exact).max() < 1e-6, by


@pytest.mark.slow(every=3)
def test_derivatives_of_optimal_paths_by_gravity_and_start_velocity_equal_finite_differences():
    robot, gravity = lw.load("double_pendulum"), np.array([0.3, 0.0, -9.81])
    start, v, end = np.array([0.1, -0.3]), np.array([0.5, 0.2]), [0.9, 0.2]

    def path_for(gravity=gravity, v=v):
        problem = lw.TrajectoryProblem(robot.with_parameters({"gravity": gravity}), num_steps=4, duration=0.4)
        problem = problem.add("torque", "least_squares", scale=0.1).add("velocity", "least_squares", scale=0.3)
        problem = problem.add("configuration", "equality", steps=-1, target=end, name="there")
        return problem.solve(start, velocity=v, **TIGHT)

    for by, directions in (("gravity", np.array([[0.6, 0.0, 0.8]])), ("start velocity", np.eye(2))):
        derivative = path_for().derivative(by).q
        assert derivative.shape == (4, 2, directions.shape[1]) and np.abs(derivative).max() > 1e-4
        for direction in directions:
            a, b = (
                path_for(gravity + x * direction) if by == "gravity" else path_for(v=v + x * direction)
                for x in (10 * STEP, -10 * STEP)
            )
            assert np.abs(derivative @ direction - (a.q - b.q) / (20 * STEP)).max() < 1e-6
    with pytest.raises(ValueError, match=r"which are 4: "):
        path_for().derivative("inertia:*")


@pytest.mark.slow(every=5)
def test_derivatives_of_unsolved_trajectory_problems_raise_an_error():
    robot, start = lw.load("double_pendulum"), np.array([0.1, -0.3])
    problem = lw.TrajectoryProblem(robot, num_steps=3, duration=0.3).add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1, name="start")
    problem = problem.add("velocity", "inequality", lower=-9.0, upper=9.0, name="slow")
    ends = np.array([[0.4, 0.2], [9.0, 9.0]])
    both = problem.solve(start, targets={"start": ends}, **TIGHT)
    assert both.status.tolist() == ["solved", "infeasible"]
    derivative, alone = both.derivative("duration").q, problem.solve(start, targets={"start": ends[0]}, **TIGHT)
    assert np.isfinite(derivative[0]).all() and np.isnan(derivative[1]).all()
    assert np.allclose(derivative[0], alone.derivative("duration").q)
    with pytest.raises(ValueError, match="expected a solved path, got infeasible"):
        problem.solve(start, targets={"start": ends[1]}).derivative("duration")
    with pytest.raises(ValueError, match="'start' is the name of a feature and of another input"):
        alone.derivative("start")
    motion = problem.solve(start, targets={"start": ends[0]}, solver="ilqr", control_limits=False)
    with pytest.raises(ValueError, match="'start' is the name of a feature and of another input"):
        motion.derivative("start")


@pytest.mark.slow(every=5)
def test_trajectory_problems_with_different_phases_have_their_own_derivatives():
    """Two problems differ only in the steps of their phases."""
    robot, start, end = lw.load("double_pendulum"), np.array([0.2, -0.1]), np.array([0.9, 0.7])

    def solved(steps, first, warm_start=None):
        phases = {"first": (0, steps), "second": (steps, 4)}
        problem = lw.TrajectoryProblem(robot, num_steps=4, duration={"first": first, "second": 0.5}, phases=phases)
        problem = problem.add("acceleration", "least_squares").add("velocity", "least_squares", scale=0.2)
        problem = problem.add("configuration", "equality", steps=-1, target=end)
        return problem.solve(start, velocity=[0.3, 0.5], warm_start=warm_start, **TIGHT)

    for steps in (1, 3):
        result = solved(steps, 0.3)
        more, fewer = (solved(steps, 0.3 + sign * STEP, result).q for sign in (1.0, -1.0))
        exact = result.derivative("duration of first").q[..., 0]
        assert np.abs(exact).max() > 1e-2 and np.abs((more - fewer) / (2 * STEP) - exact).max() < 1e-6, steps
