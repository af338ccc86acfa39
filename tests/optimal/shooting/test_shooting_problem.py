"""Optimal motions by forward dynamics: cart-poles, acrobots, and comparison with inverse dynamics."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork import Joint, Link
from linkwork.joints import Prismatic, Revolute

CART = lw.Robot.build(
    "cart_pole",
    Link("cart", mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0.1)),
    Link("pole", mass=0.2, com=(0, 0, -0.5), inertia=(1e-3, 1e-3, 1e-3)),
    Joint.of(Prismatic((1, 0, 0)), name="slide", parent="world", child="cart", lower=-0.4, upper=0.4, effort=7.0),
    Joint.of(Revolute((0, 1, 0)), name="hinge", parent="cart", child="pole"),
)
PENDULUM = lw.Robot.build(
    "pendulum",
    Link("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0)),
    Joint.of(Revolute((0, 1, 0)), name="hinge", parent="world", child="rod"),
)
UP = [0.0, np.pi]


def _swing(robot: lw.Robot, motor: str, steps: int, duration: float, up: list[float]) -> lw.TrajectoryProblem:
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=duration)
    problem = problem.add(lw.optimal.TorqueFeature([motor]), "least_squares", scale=0.1, name="effort")
    problem = problem.add("configuration", "equality", steps=-1, target=up, name="up")
    return problem.add("velocity", "equality", steps=-1, name="rest")


def _followed(robot: lw.Robot, u: np.ndarray, motor: int, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Roll out controls of a robot that hangs at rest."""
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    path = []
    for x in u[:, 0]:
        v = v + h * robot.forward_dynamics(q, v, np.eye(robot.nv)[motor] * x)
        q = q + h * v
        path.append(q)
    return np.array(path), v


@pytest.mark.slow(every=5)
def test_shooting_swings_a_cart_pole_up_within_limits_of_rail_and_motor() -> None:
    """Single and multiple shooting find the same optimum; limits of the rail and the motor are active."""
    problem = _swing(CART, "slide", 60, 3.0, UP).add("position limits", "inequality", name="rail")
    by_ilqr = problem.solve([0.0, 0.0], solver="ilqr", actuated=["slide"])
    by_shooting = problem.solve(
        [0.0, 0.0], solver="shooting", actuated=["slide"], initial_guess=by_ilqr.q + 0.02, controls=by_ilqr.controls
    )
    for result in (by_ilqr, by_shooting):
        assert result.success and result.status == "solved" and max(result.violations.values()) < 1e-8
        assert np.abs(result.controls).max() <= 7.0 and (np.abs(result.q[:, 0]) < 0.4 + 1e-8).all()
        q, v = _followed(CART, result.controls, 0, 0.05)
        assert np.abs(q - result.q).max() < 1e-8 and np.abs(q[-1] - UP).max() < 1e-7 and np.abs(v).max() < 1e-7
        assert abs(result.cost - 0.005 * (result.controls**2).sum()) < 1e-9
    assert abs(by_ilqr.cost - by_shooting.cost) < 1e-6 * by_ilqr.cost and np.abs(by_ilqr.q - by_shooting.q).max() < 1e-4
    pressed = by_ilqr.multipliers["rail"].max(axis=-1) > 1e-6
    assert (
        pressed.any()
        and (np.abs(by_ilqr.q[pressed, 0]) > 0.4 - 1e-6).all()
        and (by_ilqr.multipliers["rail"] >= 0.0).all()
    )
    many = problem.solve([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2]], solver="ilqr", actuated=["slide"])
    assert np.array_equal(many.controls[0], by_ilqr.controls) and many.status.tolist() == ["solved"] * 3
    few = {"solver": "ilqr", "actuated": ["slide"], "tolerance": {"up": 1e-6}, "max_iterations": 1}
    pushed = problem.solve([0.0, 0.0], velocity=[[0.1, 0.2]], num_guesses=2, **few)
    assert pushed._tolerances[1:].tolist() == [1e-6, 1e-9, 1e-9]
    assert all(np.allclose(x(0.0).v, [0.1, 0.2]) for x in (pushed.trajectory(0), pushed.attempts.trajectory((0, 1))))


@pytest.mark.slow(every=5)
def test_shooting_swings_an_acrobot_up_by_its_second_motor() -> None:
    """Only its second joint has a motor."""
    robot = lw.load("double_pendulum")
    motor = robot.joints[1].name
    problem = _swing(robot, motor, 80, 3.2, [np.pi, 0.0]).add("velocity", "least_squares", scale=0.1, name="slow")
    result = problem.solve([0.0, 0.0], solver="ilqr", actuated=[motor], control_limits=20.0, max_iterations=500)
    assert result.success, result.explain()
    q, v = _followed(robot, result.controls, 1, 0.04)
    assert np.abs(q[-1] - [np.pi, 0.0]).max() < 1e-6 and np.abs(v).max() < 1e-6


def test_forward_dynamics_shooting_gives_the_optimum_of_inverse_dynamics() -> None:
    """A pendulum has the same equations in both, so the same optimum and end multipliers."""
    problem = _swing(PENDULUM, "hinge", 25, 1.0, [2.0])
    inverse = problem.solve([0.0], tolerance=1e-9, step_tolerance=1e-9)
    forward = problem.solve([0.0], solver="ilqr", control_limits=False, second_order=True)
    assert inverse.success and forward.success
    assert abs(inverse.cost - forward.cost) < 1e-8 * forward.cost and np.abs(inverse.q - forward.q).max() < 1e-6
    assert np.abs(inverse.residuals["effort"] - forward.residuals["effort"]).max() < 1e-5
    assert np.abs(inverse.multipliers["rest"] - forward.multipliers["rest"]).max() < 1e-4
    # in pieces of an iteration it is the same to the bit; without time, and where it is told to stop, it is over
    iterations: list[int] = []
    interrupted = problem.solve(
        [0.0],
        solver="ilqr",
        control_limits=False,
        second_order=True,
        callback=lambda x: iterations.append(x.iterations),
    )
    assert np.array_equal(interrupted.q, forward.q) and np.array_equal(interrupted.gains, forward.gains)
    assert iterations == list(range(1, forward.iterations + 1))
    for late in ({"time_limit": 1e-9}, {"callback": lambda x: x.iterations < 3}):
        limited = problem.solve([0.0], solver="ilqr", control_limits=False, second_order=True, **late)
        assert limited.status == "time_limit" and limited.iterations == (1 if "time_limit" in late else 3)


def test_shooting_with_several_guesses_returns_the_best_motion() -> None:
    """The first guess gives the motion of a call without guesses."""
    problem = _swing(PENDULUM, "hinge", 25, 1.0, [2.0])
    options = {"solver": "shooting", "control_limits": 9.0}
    starts = np.array([[0.0], [0.4]])
    alone, result = (
        problem.solve(starts[1], **options),
        problem.solve(starts, num_guesses=3, continue_all=True, **options),
    )
    assert result.success.all() and result.attempts.q.shape == (2, 3, 25, 1) and result.gains.shape == (2, 25, 1, 2)
    assert np.array_equal(result.attempts.controls[1, 0], alone.controls)
    for k, guess in enumerate(result._best_guess):
        solved = result.attempts.success[k]
        assert result.cost[k] == result.attempts.cost[k, solved].min() == result.attempts.cost[k, guess]
        assert np.array_equal(result.controls[k], result.attempts.controls[k, guess])
    some_starts = problem.solve(starts, num_guesses=3, **options)
    assert some_starts.success.all() and (some_starts.attempts.iterations <= result.attempts.iterations).all()
    with pytest.raises(ValueError, match="num_guesses: expected an integer"):
        problem.solve(starts, num_guesses=0, **options)


def test_every_solver_names_an_inequality_that_returns_nan() -> None:
    """The logarithm of a negative coordinate is NaN: solvers name the feature and the step."""
    problem = lw.TrajectoryProblem(PENDULUM, num_steps=4, duration=0.4).add("velocity", "least_squares")

    def low(w: lw.optimal.Window) -> object:
        return np.log(w.q()[0])

    problem = problem.add(low, "inequality")
    for solver in ("augmented", "ilqr"):
        result = problem.solve([-0.9], solver=solver)
        assert not result.success and result.status == "not_finite", solver
        assert "'low'" in result.explain() and "step 0" in result.explain()
    with pytest.raises(ValueError, match="expected a solved path, got not_finite"):
        result.derivative("start")


def test_features_of_windows_are_evaluated_on_time_steps_of_the_integrator() -> None:
    """A window of Runge–Kutta steps contains the previous step, and no step before the start."""
    problem = lw.TrajectoryProblem(PENDULUM, num_steps=4, duration=0.4).add("velocity", "least_squares")
    problem = problem.add(lw.ik.PostureTask(), "least_squares", order=1, name="way", target=[0.0])
    result = problem.solve([0.5], solver="ilqr", integrator="runge_kutta_4")
    path = np.concatenate([[[0.5]], result.q])
    assert np.abs(result.residuals["way"] - np.diff(path, axis=0) / 0.1).max() < 1e-9
    problem = problem.add(lw.ik.PostureTask(), "least_squares", order=2, name="bend", target=[0.0])
    assert problem.solve([0.5], solver="ilqr").success
    with pytest.raises(ValueError, match="'bend': forward dynamics does not provide an earlier step"):
        problem.solve([0.5], solver="ilqr", integrator="runge_kutta_4")


def test_shooting_warns_that_explicit_steps_ignore_dry_friction() -> None:
    """Explicit steps of a joint with dry friction omit passive forces: a warning says so, unless requested."""
    robot = PENDULUM.with_joint_dynamics(friction=0.2)
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=0.4).add("velocity", "least_squares")
    options = {"solver": "ilqr", "integrator": "runge_kutta_4"}
    with pytest.warns(lw.errors.LimitWarning, match="'runge_kutta_4' leave out armature, springs, damping and frict"):
        result = problem.solve([0.5], **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(result.q, problem.solve([0.5], passive=False, **options).q)


def test_unsupported_options_of_forward_dynamics_shooting_are_refused() -> None:
    problem = lw.TrajectoryProblem(PENDULUM, num_steps=5, duration=0.5).add("jerk", "least_squares")
    with pytest.raises(ValueError, match="'jerk': forward dynamics"):
        problem.solve([0.0], solver="ilqr")
    free = lw.TrajectoryProblem(PENDULUM, num_steps=5, duration=(0.5, 1.0)).add("velocity", "least_squares")
    with pytest.raises(ValueError, match="free durations"):
        free.solve([0.0], solver="shooting")
    fine = lw.TrajectoryProblem(PENDULUM, num_steps=5, duration=0.5).add("velocity", "least_squares")
    with pytest.raises(ValueError, match="start: expected the initial configuration"):
        fine.solve(solver="ilqr")
    with pytest.raises(lw.errors.UnknownNameError, match="actuated: no joint named 'hnge'"):
        fine.solve([0.0], solver="ilqr", actuated=["hnge"])
    for wrong in ((1.0, -1.0), (np.inf, np.inf), "x", np.nan):
        with pytest.raises(ValueError, match="control_limits: expected"):
            fine.solve([0.0], solver="ilqr", control_limits=wrong)
    for options in ({}, {"solver": "ilqr"}):
        with pytest.raises(ValueError, match="guess: no named configuration named 'x'"):
            fine.solve([0.0], initial_guess="x", **options)
        with pytest.raises(ValueError, match="velocity: expected"):
            fine.solve([0.0], velocity="x", **options)
    cone, sole = lw.optimal.FrictionCone, lw.optimal.SurfaceCone
    for make, contact, said in ((cone, "friction", np.nan), (cone, "cone", "typo"), (cone, "normal", (0.0, 0.0, 2.0)),
                                (sole, "friction", -1.0), (sole, "half", (0.1, 0.0))):  # fmt: skip
        with pytest.raises(ValueError, match=f"{contact}: expected"):
            make(lw.optimal.PathContact("foot", "foot"), **{contact: said})
    with pytest.raises(ValueError, match="integrator"):
        fine.solve([0.0], solver="ilqr", integrator="euler")
    with pytest.raises(ValueError, match=r"solver: expected one of .*'ilqr'.* got 'ilq'"):
        fine.solve([0.0], solver="ilq")


@pytest.mark.slow(every=9)
def test_shooting_with_costs_twelve_decades_apart_ends_at_a_minimum():
    """Damping relative to a stiff cost hides the decrease of small costs: no minimum is reported with it."""
    problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=15, duration=1.0)
    problem = problem.add("torque", "least_squares", scale=0.1).add("velocity", "least_squares", scale=0.1)
    problem = problem.add("configuration", "least_squares", steps=-1, scale=1e5, target=[1.2, -0.5])
    options = {"solver": "ilqr", "control_limits": False, "max_iterations": 1500}
    known = problem.solve([0.0, 0.0], dynamics="inverse", **options)
    result = problem.solve([0.0, 0.0], **options)
    assert known.success and result.success and result.cost == pytest.approx(known.cost, rel=1e-6)
