"""Derivatives of optimal motions by forward dynamics, against differences of motions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import Joint, Link
from linkwork.joints import Prismatic, Revolute, Spherical

TIGHT: dict[str, Any] = {"tolerance": 1e-11, "step_tolerance": 1e-11, "max_iterations": 400}
STEP = 1e-5
ARM = lw.load("double_pendulum")
START, RATE, END = np.array([0.1, -0.3]), np.array([0.2, 0.1]), np.array([0.9, 0.2])


def agree(result: Any, by: str, direction: np.ndarray, solved: Callable[[float], Any], h: float = STEP) -> np.ndarray:
    """Compare derivatives of a motion and its forces with central differences; return that of q."""
    derivative = result.derivative(by)
    more, fewer = solved(h), solved(-h)
    assert np.all(more.success) and np.all(fewer.success), (by, more, fewer)
    robot = result.problem.robot
    q = (robot.difference(result.q, more.q) - robot.difference(result.q, fewer.q)) / (2 * h)
    size = 1.0 + np.abs(q).max()
    assert np.abs(derivative.q @ direction - q).max() < 1e-6 * size, by
    pairs = {"velocities": derivative.velocities, "controls": derivative.controls}
    for name, exact in pairs.items():
        rate = (getattr(more, name) - getattr(fewer, name)) / (2 * h)
        assert np.abs(exact @ direction - rate).max() < 1e-6 * (1.0 + np.abs(rate).max()), (by, name)
    for name, exact in derivative.variables.items():
        rate = (more.variables[name] - fewer.variables[name]) / (2 * h)
        assert np.abs(exact @ direction - rate).max() < 1e-6 * (1.0 + np.abs(rate).max()), (by, name)
    return np.asarray(derivative.q @ direction)


def lift(duration: float = 0.6, robot: lw.Robot = ARM, speed: float = 1.95) -> lw.TrajectoryProblem:
    """Within a speed, that holds it, and to a place."""
    problem = lw.TrajectoryProblem(robot, num_steps=8, duration=duration).add("torque", "least_squares", scale=0.1)
    problem = problem.add("velocity", "least_squares", scale=0.3).add(
        "configuration", "equality", steps=-1, name="there"
    )
    return problem.add("velocity", "inequality", lower=-speed, upper=speed, name="speed")


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(
    "options",
    [
        {"solver": "ilqr", "control_limits": 12.0},
        {"solver": "shooting", "control_limits": 12.0, "dynamics": "inverse"},
        {"solver": "ilqr", "integrator": "runge_kutta_4", "control_limits": False},
    ],
)
def test_derivatives_of_optimal_motions_equal_finite_differences(options: dict[str, Any]) -> None:
    """At limits of motors and speeds: by targets, start, velocity, duration and parameters of the robot."""
    speed = 1.95 if options["control_limits"] else 1.7
    problem, gravity = lift(speed=speed), np.array([0.0, 0.0, -9.81])

    def solved(problem: Any = problem, start: Any = START, rate: Any = RATE, end: Any = END, **more: Any) -> Any:
        return problem.solve(start, velocity=rate, targets={"there": end}, **options | TIGHT | more)

    optimum = solved()
    assert optimum.success and np.abs(optimum.multipliers["speed"]).max() > 1e-2
    if options["control_limits"]:
        assert (np.abs(np.abs(optimum.controls) - 12.0) < 1e-9).any()
    direction, warm = np.array([0.6, 0.8]), {"warm_start": optimum}
    agree(optimum, "there", direction, lambda h: solved(end=END + h * direction, **warm))
    agree(optimum, "start", direction, lambda h: solved(start=START + h * direction, **warm))
    agree(optimum, "start velocity", direction, lambda h: solved(rate=RATE + h * direction, **warm))
    agree(optimum, "duration", np.ones(1), lambda h: solved(lift(0.6 + h, speed=speed), initial_guess=optimum.q))
    heavy = np.array([1.0, 0.0, 2.0])
    moved = agree(
        optimum, "gravity", heavy, lambda h: solved(parameters={"gravity": gravity + h * heavy}, **warm), h=1e-3
    )
    assert np.abs(moved).max() > 1e-4


@pytest.mark.slow(every=5)
def test_derivatives_of_a_batch_of_optimal_motions_equal_derivatives_of_each_motion() -> None:
    """Each motion has its own parameters; of several guesses the best counts, and unsolved motions have NaN."""
    balls = np.multiply.outer([0.2, 0.6], [1.0, 0.0, 0.0, 0.0, 1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
    carrying = ARM.with_payload("payload", "tip", 0.0)
    problem = lift(robot=carrying)
    options = {"targets": {"there": END}, "velocity": RATE, "solver": "ilqr", "control_limits": False, **TIGHT}

    def solved(loads: np.ndarray = balls, **more: Any) -> Any:
        return problem.solve(START, parameters={"inertia:payload": loads}, **options | more)

    both = solved()
    ball = balls[0] / 0.2
    moved = agree(both, "inertia:payload", ball, lambda h: solved(balls + h * ball, warm_start=both), h=1e-4)
    assert moved.shape == (2, 8, 2) and np.abs(moved[0] - moved[1]).max() > 1e-3
    alone = solved(balls[1])
    assert np.abs(alone.derivative("inertia:payload").q - both.derivative("inertia:payload").q[1]).max() < 1e-9
    seeds = solved(num_guesses=2, continue_all=True)
    k = np.flatnonzero(np.abs(seeds.q - both.q).max(axis=(1, 2)) < 1e-6)
    assert len(k) and np.abs(seeds.derivative("there").q - both.derivative("there").q)[k].max() < 1e-5
    far = problem.solve(np.stack([START, START]), **options | {"targets": {"there": np.array([END, END + 3.0])}})
    assert far.success.tolist() == [True, False]
    derivative = far.derivative("there").q
    assert np.isfinite(derivative[0]).all() and np.isnan(derivative[1]).all()
    with pytest.raises(ValueError, match="expected a solved path, got"):
        problem.solve(START, **options | {"max_iterations": 1}).derivative("there")
    with pytest.raises(
        ValueError, match=r"expected one of 'torque', .*'there', .*'start', 'start velocity', 'duration'"
    ):
        both.derivative("end")


def test_derivatives_of_optimal_motions_by_targets_of_each_step_equal_finite_differences() -> None:
    path_targets = np.linspace([0.2, -0.2], [0.7, 0.1], 4)
    problem = lw.TrajectoryProblem(ARM, num_steps=4, duration=0.4).add("torque", "least_squares", scale=0.1)
    problem = problem.add(
        "configuration", "least_squares", scale=5.0, name="follow", target=lw.optimal.PerStep(path_targets)
    )

    def solved(points: np.ndarray = path_targets, **more: Any) -> Any:
        return problem.solve(START, targets={"follow": lw.optimal.PerStep(points)}, solver="ilqr", **TIGHT | more)

    optimum, direction = solved(), np.random.default_rng(0).normal(size=(4, 2))
    assert optimum.derivative("follow").q.shape == (4, 2, 8)
    agree(optimum, "follow", direction.ravel(), lambda h: solved(path_targets + h * direction, warm_start=optimum))


@pytest.mark.slow(every=5)
def test_derivatives_of_an_optimal_landing_leg_equal_finite_differences() -> None:
    """Contacts by phases: flight, impact, standing about to slip; forces have derivatives, too."""
    leg = lw.Robot.build(
        "leg",
        Link("cart", mass=0.5),
        Link("body", mass=3.0),
        Link("rod", mass=0.5, com=(0, 0, -0.3), inertia=(5e-3, 5e-3, 1e-3)),
        Joint.of(Prismatic((1, 0, 0)), name="x", parent="world", child="cart"),
        Joint.of(Prismatic((0, 0, 1)), name="z", parent="cart", child="body"),
        Joint.of(Revolute((0, 1, 0)), name="hip", parent="body", child="rod"),
    ).with_frame("foot", "rod", (0, 0, -0.6))
    problem = lw.TrajectoryProblem(leg, num_steps=8, duration=0.4, phases={"stance": (3, 8)})
    problem = problem.add_contact("foot", steps="stance", friction=0.08)
    problem = problem.add(lw.optimal.TorqueFeature(["hip"]), "least_squares", scale=0.1)
    problem = problem.add(lw.optimal.TorqueFeature(["x", "z"]), "equality")
    problem = problem.add("configuration", "least_squares", steps=-1, scale=5.0, target=[0.4, 0.5, 0.0], name="there")
    start, gravity = np.array([0.0, 0.6, 0.3]), np.array([0.0, 0.0, -9.81])

    def solved(start: np.ndarray = start, **more: Any) -> Any:
        options = {"solver": "ilqr", "actuated": ["hip"], "control_limits": False, **TIGHT}
        return problem.solve(start, velocity=[0.7, 0.0, 0.2], **options | more)

    optimum = solved()
    force = optimum.variables["foot"]
    assert optimum.success and not force[:3].any() and np.abs(force[3:]).max() > 1.0
    assert np.abs(optimum.multipliers["foot: friction"]).max() > 1e-3
    direction = np.array([0.2, 0.5, -0.4])
    agree(optimum, "start", direction, lambda h: solved(start + h * direction, warm_start=optimum))
    agree(
        optimum,
        "there",
        direction,
        lambda h: solved(targets={"there": np.array([0.4, 0.5, 0.0]) + h * direction}, warm_start=optimum),
    )
    heavy = np.array([0.3, 0.0, 1.0])
    agree(
        optimum,
        "gravity",
        heavy,
        lambda h: solved(parameters={"gravity": gravity + h * heavy}, warm_start=optimum),
        h=1e-4,
    )


@pytest.mark.slow(every=9)
def test_derivatives_of_optimal_motions_of_a_four_bar_and_a_ball_joint_equal_differences() -> None:
    """A four-bar closed all along, driven by its crank; and a body with a spherical joint."""
    robot = lw.load("fourbar")
    start = robot.assemble(robot.neutral()).q
    problem = lw.TrajectoryProblem(robot, num_steps=5, duration=0.5)
    problem = problem.add(lw.optimal.TorqueFeature(["crank_hinge"]), "least_squares", scale=0.1)
    problem = problem.add(
        lw.ik.JointTask("crank_hinge"), "least_squares", steps=-1, scale=10.0, target=start[0] + 0.3, name="turned"
    )

    def solved(**more: Any) -> Any:
        return problem.solve(start, solver="ilqr", actuated=["crank_hinge"], control_limits=False, **TIGHT | more)

    optimum = solved()
    assert optimum.success and np.abs(robot.constraint_error(optimum.q)).max() < 1e-9
    agree(optimum, "turned", np.ones(1), lambda h: solved(targets={"turned": start[0] + 0.3 + h}, warm_start=optimum))
    heavy, gravity = np.eye(3)[2], np.array([0.0, 0.0, -9.81])
    agree(
        optimum,
        "gravity",
        heavy,
        lambda h: solved(parameters={"gravity": gravity + h * heavy}, warm_start=optimum),
        h=1e-4,
    )

    body = lw.Robot.build(
        "body",
        Link("box", mass=2.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.3)),
        Joint.of(Spherical(), name="free", parent="world", child="box"),
    )
    turning = lw.TrajectoryProblem(body, num_steps=4, duration=0.8).add("torque", "least_squares")
    first, aim = body.neutral(), body.integrate(body.neutral(), np.array([0.7, -0.4, 0.9]))
    turning = turning.add("configuration", "least_squares", steps=-1, scale=8.0, target=aim, name="there")

    def turned(start: Any = first, end: Any = aim, **more: Any) -> Any:
        options = {"solver": "ilqr", "velocity": [0.5, 0.2, -0.3], "targets": {"there": end}}
        return turning.solve(start, actuated=["free"], control_limits=False, **options | TIGHT | more)

    optimum, direction = turned(), np.array([0.3, -0.8, 0.5])
    agree(optimum, "there", direction, lambda h: turned(end=body.integrate(aim, h * direction), warm_start=optimum))
    agree(optimum, "start", direction, lambda h: turned(body.integrate(first, h * direction), warm_start=optimum))
