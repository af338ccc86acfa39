"""Controls as variables of each step, tied to the motion by an equality: LQ problems, and a quadrotor."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def _cart(mass: float, steps: int, duration: float, effort: float) -> lw.TrajectoryProblem:
    """Cart on a rail with the cost ½ Σ (effort u)² of its force u."""
    rail = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart")
    cart = lw.Robot.build("cart", lw.Link("cart", mass=mass), rail)
    problem = lw.TrajectoryProblem(cart, num_steps=steps, duration=duration).add_variable("u", 1)
    problem = problem.add(lambda w: w.torque() - w.variables("u"), "equality", name="tie")
    return problem.add("u", "least_squares", scale=effort, name="effort")


def _riccati(mass: float, steps: int, duration: float, weights: tuple[float, float, float], terminal: float) -> float:
    """Least cost from q = 1 at rest, by the Riccati recursion of v' = v + τ u/m and q' = q + g v'.

    The time g from a configuration to the next is τ, and half of it in the last step.
    """
    tau = duration / steps
    Q, R = np.diag(np.square(weights[:2])), weights[2] ** 2
    P = Q + terminal**2 * np.eye(2)  # of the state after the last step
    for k in range(steps):
        gap = tau if k else 0.5 * tau
        A, B = np.array([[1.0, gap], [0.0, 1.0]]), np.array([[gap * tau], [tau]]) / mass
        gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = A.T @ P @ (A - B @ gain) + (Q if k + 1 < steps else 0.0)
    return 0.5 * float(P[0, 0])


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("steps", [20, 50])
def test_linear_quadratic_problems_have_the_cost_of_the_riccati_equation(steps: int) -> None:
    for mass, weights, terminal in (
        (1.0, (1.0, 0.1, 1.0), 0.0),
        (3.0, (1.0, 0.1, 10.0), 5.0),
        (0.1, (10.0, 1.0, 0.3), 0.0),
        (1.0, (0.0, 0.0, 0.1), 1.0),
        (10.0, (0.0, 0.0, 1.0), 100.0),
    ):
        problem = _cart(mass, steps, 3.0, weights[2])
        for name, scale in (("configuration", weights[0]), ("velocity", weights[1])):
            if scale:
                problem = problem.add(name, "least_squares", scale=scale, name=name)
            if terminal:
                problem = problem.add(name, "least_squares", steps=-1, scale=terminal, name=f"last {name}")
        targets = {term.name: np.zeros(1) for term in problem.terms if "configuration" in term.name}
        result = problem.solve([1.0], targets=targets)
        known = _riccati(mass, steps, 3.0, weights, terminal)
        assert result.success, (mass, weights, result.message)
        assert abs(result.cost - known) < 1e-6 * known, (mass, weights, terminal)


@pytest.mark.slow(every=5)
def test_optimal_motion_of_least_effort_between_two_rests_equals_the_closed_form() -> None:
    far, duration = 0.7, 2.0
    for steps in (20, 100, 400):
        for mass, effort in ((1.0, 1.0), (1.0, 0.01), (10.0, 0.1)):
            problem = _cart(mass, steps, duration, effort)
            problem = problem.add("configuration", "equality", steps=-1, name="arrive", target=[far])
            problem = problem.add("velocity", "equality", steps=-1, name="rest")
            result = problem.solve([0.0])
            tau = duration / steps
            known = 6.0 * (effort * mass * far) ** 2 / (tau**4 * steps * (steps**2 - 1))
            assert result.success and result.iterations < 40, result.message
            assert abs(result.cost - known) < 1e-6 * known, (steps, mass, effort)


def _quadrotor(steps: int = 24) -> lw.TrajectoryProblem:
    """Fly from rest through a gate to rest, with the thrusts of four rotors as variables."""
    arm, drag, hover = 0.2, 0.02, 0.25 * 9.81
    base = lw.Joint.of(lw.joints.Floating(), name="base", parent="world", child="body")
    robot = lw.Robot.build("quadrotor", lw.Link("body", mass=1.0, inertia=np.diag([0.01, 0.01, 0.02])), base)

    def dynamics(w: lw.optimal.WindowQuery) -> np.ndarray:
        u, tau = w.variables("thrust"), w.torque()
        moments = arm * (u[1] - u[3]), arm * (u[2] - u[0]), drag * (u[0] - u[1] + u[2] - u[3])
        return tau - np.array([*moments, 0.0, 0.0, u[0] + u[1] + u[2] + u[3]])

    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=2.0)
    problem = problem.add_variable("thrust", 4, lower=0.0, upper=6.0, initial_guess=hover)
    problem = problem.add("thrust", "least_squares", scale=0.1, name="effort").add(
        dynamics, "equality", name="dynamics"
    )
    gate = lw.ik.PositionTask("body")
    problem = problem.add(gate, "equality", steps=steps // 2, target=[1.0, 0.5, 0.5], name="gate")
    goal = lw.pose((2.0, 0.0, 0.2))
    problem = problem.add(lw.ik.PoseTask("body"), "equality", steps=-1, target=goal, name="goal")
    return problem.add("velocity", "equality", steps=-1, name="rest")


@pytest.mark.slow(every=9)
def test_quadrotor_flies_through_a_gate_with_the_cost_computed_by_ipopt() -> None:
    pytest.importorskip("casadi")
    problem = _quadrotor()
    start = problem.robot.neutral()
    shift = np.zeros((3, problem.num_steps, 6))
    shift[..., 3:] = np.linspace(0.0, 1.0, problem.num_steps)[:, None] * np.array([2.0, 0.0, 0.2])
    shift[1:, :, 3:] += np.sin(np.linspace(0.0, np.pi, problem.num_steps))[:, None] * [
        [[0.3, 0.5, 0.2]],
        [[0.1, -0.4, 0.3]],
    ]
    result = problem.solve(start, initial_guess=problem.robot.integrate(start, shift))
    known = problem.solve(start, initial_guess=problem.robot.integrate(start, shift[0]), solver="ipopt")
    assert result.success.all() and known.success
    assert np.allclose(result.cost, known.cost, rtol=1e-6)


def test_ipopt_solver_names_the_feature_that_it_cannot_compute() -> None:
    pytest.importorskip("casadi")
    arm = lw.load("arm6")
    scene = lw.Scene().with_shape("ball", lw.shapes.Sphere(0.1), pose=lw.pose((0.5, 0.5, 0.5)))
    problem = lw.TrajectoryProblem(arm, num_steps=3, duration=1.0).add("acceleration", "least_squares")
    problem = problem.add(lw.optimal.Clearance(scene), "inequality", lower=0.02, name="room")
    with pytest.raises(ValueError, match=r"solver: expected a solver for the feature 'room', got 'ipopt'.*augmented"):
        problem.solve(arm.neutral(), solver="ipopt")
