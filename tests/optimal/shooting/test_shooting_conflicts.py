"""Conflicts by forward dynamics: multipliers prove each claimed conflict, checked on explicit matrices."""

import numpy as np
import pytest

import linkwork as lw

STEPS, STEP = 12, 0.1


def rail(mass=2.0, effort=3.0):
    return lw.Robot.build(
        "rail",
        lw.Link("cart", mass=mass),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="cart", effort=effort),
        gravity=(0, 0, 0),
    )


def moved():
    """Positions and velocities by forces on a mass of 1, (T, T) each, from rest; the last step ends at its position."""
    V = STEP * np.tril(np.ones((STEPS, STEPS)))
    return STEP * np.tril(np.ones((STEPS, STEPS))) @ np.diag([*np.ones(STEPS - 1), 0.5]) @ V, V


@pytest.mark.costly
@pytest.mark.parametrize("solver", ["ilqr", "shooting"])
def test_shooting_returns_an_infeasibility_certificate_for_a_target_beyond_the_motor(solver):
    mass, effort = 2.0, 3.0
    problem = lw.TrajectoryProblem(rail(mass, effort), num_steps=STEPS, duration=STEPS * STEP).add(
        "torque", "least_squares"
    )
    problem = problem.add("configuration", "equality", steps=-1, target=[0.0], name="there")
    problem = problem.add("velocity", "inequality", lower=-0.9, upper=0.9, name="slow")
    Q, V = moved()[0] / mass, moved()[1] / mass
    u = np.full(STEPS, effort)
    for t in range(STEPS):  # the greatest forces that keep the limit of velocity: the farthest place
        u[t] = min(effort, (0.9 - V[t, :t] @ u[:t]) / V[t, t])
    far = Q[-1] @ u
    share = np.array([0.9, 1.1, 3.0])
    result = problem.solve(np.zeros(1), solver=solver, targets={"there": share[:, None] * far})
    assert result.status.tolist() == ["solved", "infeasible", "infeasible"]
    for n in (1, 2):
        assert set(result.conflicts[n]) >= {"there", "slow"}
        goal_multiplier, speed_multiplier = result.multipliers["there"][n, 0, 0], result.multipliers["slow"][n, :, 0]
        assert max(abs(goal_multiplier), np.abs(speed_multiplier).max()) == 1.0
        assert np.sign(goal_multiplier) == -1.0 and (speed_multiplier >= 0.0).all()
        # the least of Σ multiplier · c over all forces within limits is above what the constraints allow
        pull = goal_multiplier * Q[-1] + speed_multiplier @ V
        least = -effort * np.abs(pull).sum()
        assert least - goal_multiplier * share[n] * far - 0.9 * speed_multiplier.sum() > 1e-3, (solver, n)


def test_shooting_solvers_name_both_sides_of_a_conflict():
    problem = lw.TrajectoryProblem(rail(1.0, np.inf), num_steps=20, duration=1.0).add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1, target=[5.0], name="goal")
    problem = problem.add("velocity", "inequality", lower=-1.0, upper=1.0, name="slow")
    for options in ({"solver": "ilqr"}, {"solver": "shooting"}, {"solver": "ilqr", "num_guesses": 3}):
        result = problem.solve([0.0], **options)
        assert result.status == "infeasible" and result.conflicts == ("goal", "slow"), options
        assert np.isclose(result.multipliers["goal"][0, 0], -1.0)
        slow = result.multipliers["slow"][:, 0]
        assert np.allclose(
            slow, [*[0.05] * 19, 0.025]
        )  # so many seconds until the next position: so many m for each m/s


@pytest.mark.slow(every=3)
def test_interrupted_shooting_searches_do_not_claim_a_conflict():
    """Swing-ups that a longer search solves, after any number of iterations."""
    robot, steps = lw.load("double_pendulum"), 30
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=2.0).add("torque", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=-1, target=[np.pi, 0.0], name="upright")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    sizes = np.repeat([3.0, 20.0], 12)[:, None, None]  # [N·m] the large ones turn joints by whole turns in a step
    controls = sizes * np.random.default_rng(1).normal(size=(24, steps, 2))
    statuses = set()
    for max_iterations in (1, 3, 10, 30, 300):
        result = problem.solve(
            np.zeros(2), solver="ilqr", controls=controls, max_iterations=max_iterations, control_limits=60.0
        )
        statuses |= set(result.status)
        assert "infeasible" not in result.status, max_iterations
    assert "solved" in statuses and "max_iterations" in statuses


def test_feasible_initial_motion_prevents_the_report_of_a_conflict():
    """Standing still satisfies the limit, beyond which the least-squares target lies."""
    problem = lw.TrajectoryProblem(rail(), num_steps=20, duration=1.0).add(
        "configuration", "least_squares", target=[9.0], scale=100.0
    )
    problem = problem.add("velocity", "inequality", lower=-0.1, upper=0.1, name="slow")
    result = problem.solve([0.0], solver="ilqr", max_iterations=2, control_limits=False)
    assert result.status == "max_iterations" and result.conflicts == ("slow",)
