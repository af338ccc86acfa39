"""Problems with known optima: closed forms, dense solves, or the calculus of variations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import linkwork as lw
from linkwork.expr import sin, sqrt

CLOSE = {"tolerance": 1e-10, "step_tolerance": 1e-10}
ACROSS, UP = lw.joints.Prismatic((1, 0, 0)), lw.joints.Prismatic((0, 0, 1))


def sledge(**limits):
    """One coordinate: a mass on a rail."""
    return lw.Robot.build(
        "sledge",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(ACROSS, name="rail", parent="world", child="mass", **limits),
    )


def bead(**limits):
    """Two coordinates, x and z."""
    return lw.Robot.build(
        "bead",
        lw.Link("slide"),
        lw.Link("mass", mass=1.0),
        lw.Joint.of(ACROSS, name="x", parent="world", child="slide", **limits),
        lw.Joint.of(UP, name="z", parent="slide", child="mass", **limits),
    )


def differences(steps, tau, order):
    """The matrix of k-th differences by time of what stays at rest before its first step; it ends half a step later."""
    D = (np.eye(steps) - np.eye(steps, k=-1)) / tau
    first = D.copy()
    first[-1] *= 2.0
    return np.linalg.matrix_power(D, order - 1) @ first


def test_optimal_double_integrator_equals_the_closed_form():
    """Motion from rest to rest with the least squares of acceleration: linear in time."""
    T, duration, far = 20, 2.0, 0.7
    tau = duration / T
    problem = lw.TrajectoryProblem(sledge(), num_steps=T, duration=duration)
    problem = problem.add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1, name="arrive")
    problem = problem.add("velocity", "equality", steps=-1, name="rest")
    result = problem.solve(start=[0.0], targets={"arrive": [far]}, **CLOSE)
    assert result.status == "solved"
    n = T * (T**2 - 1) / 12
    a = far / (tau**2 * n) * (np.arange(T, 0, -1) - (T + 1) / 2)
    q = tau**2 * np.cumsum(np.cumsum(a))
    assert np.allclose(result.q[:, 0], q, atol=1e-9)
    assert np.isclose(result.cost, 6 * far**2 / (tau**4 * T * (T**2 - 1)), rtol=1e-8)
    # multipliers say what the cost's derivative by the constraints' right sides is
    arrive, stop = (float(np.ravel(result.multipliers[name])[-1]) for name in ("arrive", "rest"))
    b = np.array([far, 0.0])
    A = np.array([tau**2 * (np.arange(T, 0, -1) - 0.5), np.full(T, tau)])
    assert np.allclose([arrive, stop], -np.linalg.solve(A @ A.T, b), rtol=1e-6)


def test_optimal_free_duration_equals_the_closed_form():
    """The cost is time plus squares of acceleration, which are proportional to 1/duration⁴."""
    T, scale = 20, 0.1
    problem = lw.TrajectoryProblem(sledge(), num_steps=T, duration=(0.5, 5.0))
    problem = problem.add(lambda w: w.parameter("duration"), "cost", steps=-1, name="time")
    problem = problem.add("acceleration", "least_squares", scale=scale)
    problem = problem.add("configuration", "equality", steps=-1, target=[1.0], name="there")
    problem = problem.add("velocity", "equality", steps=-1)
    result = problem.solve([0.0], **CLOSE)
    exact = (24 * scale**2 * T**3 / (T**2 - 1)) ** 0.2
    assert result.status == "solved" and np.isclose(result.duration, exact, rtol=1e-7)
    assert np.isclose(result.cost, 1.25 * exact, rtol=1e-8)


@pytest.mark.slow(every=5)
def test_optimized_parameters_end_exactly_at_their_bounds():
    """Parameters that would pass their bounds end exactly at them, and the remaining ones continue."""
    cases = (
        (lambda k: [k[0] - 1.0, k[1] - 0.1], [0.4, 0.1]),
        (lambda k: [k[0] - 1.0, k[0] + k[1] - 0.5], [0.4, 0.1]),
        (lambda k: [k[0] - 1.0, k[1] - 1.0, k[0] + k[2] - 0.5], [0.4, 0.4, 0.1]),
    )
    for ask, best in cases:
        for guess in (0.0, -0.7):
            problem = lw.TrajectoryProblem(sledge(), num_steps=2, duration=0.2).add("acceleration", "least_squares")
            problem = problem.add_parameter("k", len(best), lower=-1.0, upper=0.4, initial_guess=guess)
            problem = problem.add(lambda w, ask=ask: ask(w.parameter("k")), "least_squares", steps=-1)
            result = problem.solve([0.0], **CLOSE)
            assert result.status == "solved" and np.allclose(result.parameters["k"], best, atol=1e-8), (best, guess)
    # of two durations one ends at its bound, and what others do where a target moves knows of it
    problem = lw.TrajectoryProblem(
        sledge(), num_steps=4, duration={"a": (0.2, 3.0), "b": (0.2, 0.5)}, phases={"a": (0, 2), "b": (2, 4)}
    )
    problem = problem.add("acceleration", "least_squares", scale=0.1).add("duration of a", "cost")
    problem = problem.add("configuration", "equality", steps=-1, name="there").add("velocity", "equality", steps=-1)
    result, *moved = (problem.solve([0.0], targets={"there": [1.0 + x]}, **CLOSE) for x in (0.0, 1e-5, -1e-5))
    assert result.status == "solved" and result.parameters["duration of b"][0] == 0.5
    derivative = result.derivative("there")
    for name, rate in derivative.parameters.items():
        assert np.allclose(rate[:, 0], (moved[0].parameters[name] - moved[1].parameters[name]) / 2e-5, atol=1e-6)
    assert np.allclose(derivative.q[..., 0], (moved[0].q - moved[1].q) / 2e-5, atol=1e-6)


@pytest.mark.slow(every=5)
def test_least_time_within_acceleration_and_velocity_limits_equals_the_closed_form():
    """The slower of two joints determines the time, in both directions."""

    def fastest(**limits):
        problem = lw.TrajectoryProblem(bead(), num_steps=20, duration=(0.2, 8.0)).add("duration", "cost", scale=0.1)
        problem = problem.add("configuration", "equality", steps=-1, target=[1.0, 0.3], name="there")
        problem = problem.add("velocity", "equality", steps=-1, name="rest")
        return problem.add_limits(positions=False, accelerations=2.0, **limits).solve([0.0, 0.0])

    result = fastest(velocities=False)
    assert result.success and abs(result.duration - 2.0 * np.sqrt(0.5)) < 1e-5
    result = fastest(velocities=1.0)
    assert result.success and 1.5 - 1e-5 < result.duration < 1.5 + 2.0 / 20**2  # that of a trapezoid, but for its steps


def test_optimal_free_duration_from_a_velocity_is_the_best_of_all_durations():
    """Problems with fixed durations cost more; from rest the result is unchanged."""
    start, rate = [0.2], [0.8]

    def reaching(duration):
        problem = lw.TrajectoryProblem(sledge(), num_steps=8, duration=duration).add(
            "acceleration", "least_squares", scale=0.1
        )
        problem = problem.add("jerk", "least_squares", scale=0.01).add(
            "configuration", "equality", steps=-1, target=[1.0], name="there"
        )
        return problem.add("velocity", "equality", steps=-1)

    free = reaching((0.2, 8.0)).add("duration", "cost")
    result = free.solve(start, velocity=rate, **CLOSE)
    assert result.success
    h = 1e-4
    fixed_durations = [reaching(result.duration + x).solve(start, velocity=rate, **CLOSE) for x in (-h, 0.0, h)]
    assert np.abs(fixed_durations[1].q - result.q).max() < 1e-8
    costs = [x.cost + x.duration for x in fixed_durations]
    assert abs(costs[1] - result.cost) < 1e-9 and min(costs[0], costs[2]) > costs[1]
    assert abs(costs[2] - costs[0]) / (2 * h) < 1e-5
    from_rest = free.solve(start, velocity=[0.0], **CLOSE), free.solve(start, **CLOSE)
    assert np.abs(from_rest[0].q - from_rest[1].q).max() < 1e-9


def test_least_jerk_paths_equal_the_dense_solution():
    """The limit is 10 s³ - 15 s⁴ + 6 s⁵ (Flash and Hogan, 1985)."""
    errors = []
    for T in (20, 80):
        tau = 1.0 / T
        problem = lw.TrajectoryProblem(sledge(), num_steps=T, duration=1.0)
        problem = problem.add("jerk", "least_squares", scale=1e-2)
        problem = problem.add("configuration", "equality", steps=-1, name="arrive", target=[1.0])
        problem = problem.add("velocity", "equality", steps=-1)
        problem = problem.add("acceleration", "equality", steps=-1)
        result = problem.solve(start=[0.0], **CLOSE)
        assert result.status == "solved"
        J = differences(T, tau, 3)
        A = np.array([np.eye(T)[-1], differences(T, tau, 1)[-1], differences(T, tau, 2)[-1]])
        B = np.linalg.solve(J.T, A.T).T  # by jerks, of which the squares are least: JᵀJ itself is nearly singular
        exact = np.linalg.solve(J, B.T @ np.linalg.solve(B @ B.T, [1.0, 0.0, 0.0]))
        assert np.allclose(result.q[:, 0], exact, atol=1e-7)
        s = result.times
        errors.append(np.abs(result.q[:, 0] - (10 * s**3 - 15 * s**4 + 6 * s**5)).max())
    assert errors[1] < 0.3 * errors[0] < 0.1


@pytest.mark.slow(every=5)
def test_optimal_phases_of_unequal_steps_have_errors_of_second_order():
    """A pendulum without a motor, through phases with steps 4 : 1, also at the border."""
    length, end, errors = 0.5, 0.5, []
    hinge = lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="rod")
    rod = lw.Link("rod", mass=1.0, com=(0.0, 0.0, -length), inertia=(0.0, 0.0, 0.0))
    robot = lw.Robot.build("pendulum", rod, hinge)
    for count in (5, 10):
        phases = {"slow": (0, count), "fast": (count, 2 * count)}
        swing = solve_ivp(
            lambda t, x: [x[1], -9.81 / length * np.sin(x[0])],
            (0.0, end),
            (1.0, 2.0),
            rtol=1e-12,
            atol=1e-12,
            dense_output=True,
        ).sol
        problem = lw.TrajectoryProblem(
            robot, num_steps=2 * count, duration={"slow": 0.8 * end, "fast": 0.2 * end}, phases=phases
        )
        result = problem.add("torque", "equality").solve([1.0], velocity=[2.0], **CLOSE)
        assert result.status == "solved"
        t = np.array([0.2, 0.8, 1.0]) * end
        states = result.trajectory()(t)
        errors.append(np.abs(np.stack([states.q[:, 0], states.v[:, 0]]) - swing(t)))
    assert (errors[1] < 0.28 * errors[0]).all() and errors[0].max() < 0.1, errors


def test_linear_quadratic_paths_equal_the_dense_solution():
    """Squares of configurations, velocities and accelerations: linear equations."""
    T, tau = 16, 0.1
    rng = np.random.default_rng(0)
    targets, scales = rng.normal(size=(T, 2)), rng.uniform(0.5, 2.0, 3)
    problem = lw.TrajectoryProblem(bead(), num_steps=T, duration=T * tau)
    problem = problem.add("acceleration", "least_squares", scale=0.01 * scales[0])
    problem = problem.add("velocity", "least_squares", scale=0.1 * scales[1])
    problem = problem.add(
        "configuration", "least_squares", scale=scales[2], name="track", target=lw.optimal.PerStep(targets)
    )
    result = problem.solve(start=[0.0, 0.0])
    parts = 0.01 * scales[0] * differences(T, tau, 2), 0.1 * scales[1] * differences(T, tau, 1), scales[2] * np.eye(T)
    A = np.vstack(parts)
    exact = np.linalg.lstsq(A, np.vstack([np.zeros((2 * T, 2)), scales[2] * targets]), rcond=None)[0]
    assert result.status == "solved" and np.allclose(result.q, exact, atol=1e-8)


@pytest.mark.slow(every=5)
@pytest.mark.filterwarnings("ignore:.*nothing exerts the forces")  # accelerations are the cost
def test_optimal_path_of_a_free_body_rotates_in_the_shorter_direction():
    """About one axis, as the double integrator of its angle: before, at and beyond half a turn."""
    joint = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="box")
    robot = lw.Robot.build("body", lw.Link("box", mass=2.0, inertia=(0.1, 0.2, 0.3)), joint)
    T, tau = 8, 0.1
    problem = lw.TrajectoryProblem(robot, num_steps=T, duration=T * tau).add("acceleration", "least_squares")
    problem = problem.add(lw.ik.PoseTask("box"), "equality", steps=-1, name="there").add(
        "velocity", "equality", steps=-1, name="rest"
    )
    angles = np.pi + np.array([-1.0, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1.0])
    for axis in ([1.0, 0.0, 0.0], [0.0, 0.6, 0.8]):
        turned = np.cos(angles / 2)[:, None], np.sin(angles / 2)[:, None] * axis, np.zeros((len(angles), 3))
        goals = robot.pose(np.concatenate(turned, axis=1), "box")
        result = problem.solve(robot.neutral(), targets={"there": goals}, **CLOSE)
        assert result.success.all() and np.abs(robot.pose(result.q[:, -1], "box") - goals).max() < 1e-9
        turn = np.minimum(angles, 2 * np.pi - angles)
        assert np.allclose(result.cost, 6 * turn**2 / (tau**4 * T * (T**2 - 1)), rtol=1e-6)


def test_least_energy_motion_below_a_ceiling_equals_the_solution_of_bryson_and_denham():
    """Up with velocity 1, down with -1 at time 1, below 1/9: the cost is 4/(9 · 1/9)."""
    costs = []
    for T in (24, 48):
        tau = 1.0 / T
        problem = lw.TrajectoryProblem(sledge(upper=1.0 / 9.0), num_steps=T, duration=1.0)
        problem = problem.add("acceleration", "least_squares", scale=np.sqrt(tau))
        problem = problem.add("configuration", "equality", steps=-1, name="arrive")
        problem = problem.add("velocity", "equality", steps=-1, target=[-1.0])
        problem = problem.add_limits(velocities=False)
        result = problem.solve(start=[0.0], velocity=[1.0], **CLOSE)
        assert result.status == "solved" and result.q.max() < 1.0 / 9.0 + 1e-8
        costs.append(result.cost)
    assert abs((4.0 * costs[1] - costs[0]) / 3.0 - 4.0) < 5e-3  # what the two tend to


def test_optimal_brachistochrone_is_a_cycloid():
    """A bead without friction between two points in the least time."""
    R, g, end, T = 0.5, 9.81, 2.5, 40

    def along(w):
        """x is that of the cycloid at as many angles; how deep the bead is there is to be found."""
        return w.q()[0] - R * (w.time - sin(w.time))

    def seconds(w):
        """Return the time of a straight piece: its length by the mean velocity, each from the energy, √(2 g depth)."""
        (x, z), (x0, z0) = w.q(), w.q(back=1)
        speed, before = (sqrt(1e-9 - 2.0 * g * depth) for depth in (z, z0))
        return 2.0 * sqrt((x - x0) ** 2 + (z - z0) ** 2 + 1e-12) / (speed + before)

    problem = lw.TrajectoryProblem(bead(), num_steps=T, duration=end)
    problem = problem.add(seconds, "cost", name="time")
    problem = problem.add(along, "equality", name="along")
    problem = problem.add(lambda w: w.q()[1] + 1e-4, "inequality", name="below")
    problem = problem.add(lambda w: w.q()[1] + R * (1.0 - np.cos(end)), "equality", steps=-1, name="arrive")
    line = np.linspace(0.0, 1.0, T + 1)[1:, None] * [R * (end - np.sin(end)), -R * (1.0 - np.cos(end))]
    result = problem.solve(start=[0.0, 0.0], initial_guess=line)
    assert result.status == "solved"
    angle = result.times
    assert np.abs(result.q[:, 1] + R * (1.0 - np.cos(angle))).max() < 2e-3
    assert abs(result.cost - end * np.sqrt(R / g)) < 1e-3 * result.cost
