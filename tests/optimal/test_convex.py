"""Masses on rails with bounded forces: convex problems, on which solvers equal a bounded least-squares program.

What cannot be met is called infeasible with Farkas multipliers, which are checked here on matrices made by hand.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.optimal import infeasibility_proof
from linkwork.optimal.infeasibility_proof import conflict_of

lsq_linear = pytest.importorskip("scipy.optimize").lsq_linear
AXES = np.eye(3)


def gantry(masses, efforts):
    """Slides on each other, along x, y and z: each carries those after it, so joint k moves their whole mass."""
    parts = []
    for k, (mass, effort) in enumerate(zip(masses, efforts, strict=True)):
        slide = lw.joints.Prismatic(tuple(AXES[k]))
        parent = f"body{k - 1}" if k else "world"
        parts += [
            lw.Link(f"body{k}", mass=mass),
            lw.Joint.of(slide, name=f"slide{k}", parent=parent, child=f"body{k}", effort=effort),
        ]
    return lw.Robot.build("gantry", *parts, gravity=(0, 0, 0))


def differences(steps, step):
    """Accelerations of positions after a start at rest at zero; the last position is half a step after the others."""
    D = (np.eye(steps) - np.eye(steps, k=-1)) / step
    return D @ np.diag([*np.ones(steps - 1), 2.0]) @ D


def least(steps, step, mass, effort, scale, target):
    """The least of ½ Σ (q − target)² + ½ Σ (scale τ)² within |τ| ≤ effort."""
    A = np.linalg.inv(differences(steps, step)) / mass
    both = np.vstack([A, scale * np.eye(steps)])
    right = np.r_[np.full(steps, target), np.zeros(steps)]
    return lsq_linear(both, right, (-effort, effort), method="bvls", tol=1e-14, max_iter=1000).cost


def drawn(rng, count):
    masses, efforts = rng.uniform(0.5, 3.0, count), rng.uniform(1.0, 5.0, count)
    return gantry(masses, efforts), np.cumsum(masses[::-1])[::-1], efforts


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_trajectory_solvers_find_the_minimum_of_convex_problems(count):
    rng = np.random.default_rng(count)
    robot, masses, efforts = drawn(rng, count)
    for steps, scale in ((16, 0.001), (20, 0.01), (40, 0.01), (30, 1.0)):
        step = 4.0 / steps
        targets = rng.uniform(-6.0, 6.0, (3, count))
        problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=4.0).add("torque", "least_squares", scale=scale)
        problem = problem.add("configuration", "least_squares", target=np.zeros(count), name="near").add_limits(
            torques=True
        )
        known = [
            sum(least(steps, step, m, f, scale, x) for m, f, x in zip(masses, efforts, target, strict=True))
            for target in targets
        ]
        for solver in ("augmented", "ipopt", "ilqr") if scale == 1.0 else ("augmented",):
            result = problem.solve(np.zeros(count), targets={"near": targets}, solver=solver)
            assert result.success.all(), (solver, steps, scale, str(result))
            assert np.allclose(result.cost, known, rtol=1e-6), (solver, steps, scale, result.cost, known)
            assert max(x.max() for x in result.violations.values()) < 1e-6


@pytest.mark.parametrize("count", [1, 3])
def test_targets_beyond_the_motors_are_reported_infeasible_with_a_certificate(count):
    rng = np.random.default_rng(10 + count)
    robot, masses, efforts = drawn(rng, count)
    steps, step = 12, 0.1
    J = np.linalg.inv(differences(steps, step))  # positions by accelerations
    reach = (efforts / masses) * J[-1].sum()
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=steps * step).add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1, target=np.zeros(count), name="there").add_limits(
        torques=True
    )
    share = np.array([0.9, 1.1, 3.0])
    result = problem.solve(np.zeros(count), targets={"there": share[:, None] * reach})
    assert result.status.tolist() == ["solved", "infeasible", "infeasible"]
    for n in (1, 2):
        assert set(result.conflicts[n]) == {"there", "torque limits"}
        goal_multiplier, torque = (result.multipliers[name][n] for name in ("there", "torque limits"))
        below, above = torque[:, 0::2], torque[:, 1::2]  # two rows a motor
        assert (torque >= 0.0).all() and max(np.abs(goal_multiplier).max(), torque.max()) == 1.0
        # no step changes Σ multiplier · c, which is positive where constraints ask for no more than zero
        pull = (differences(steps, step).T @ (above - below)) * masses
        pull[-1] += goal_multiplier[0]
        assert np.abs(pull).max() < 1e-6
        assert -(goal_multiplier[0] @ (share[n] * reach)) - (torque.sum(axis=0) @ np.repeat(efforts, 2)) > 1e-6


def test_feasible_initial_path_prevents_the_report_of_a_conflict():
    """An interrupted search claims no conflict, since its first path satisfies all constraints."""
    robot, _, _ = drawn(np.random.default_rng(0), 1)
    problem = lw.TrajectoryProblem(robot, num_steps=40, duration=4.0).add("torque", "least_squares", scale=1e-3)
    problem = problem.add("configuration", "least_squares", target=[6.0]).add_limits(torques=True)
    result = problem.solve([0.0], max_iterations=10)
    assert result.status == "max_iterations" and result.conflicts == ("torque limits",)
    assert "violated: 'torque limits'" in result.explain()


@pytest.mark.slow(every=3)
def test_minimum_time_of_a_slide_equals_that_of_full_force():
    """Motion from rest to rest, half of the distance at either limit of the motor: T = 2 √(d m / F)."""
    for steps, mass, effort, far in ((20, 2.0, 3.0, 1.0), (30, 1.0, 10.0, 5.0), (40, 1.0, 10.0, 5.0)):
        robot = gantry([mass], [effort])
        problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=(0.1, 10.0))
        problem = problem.add(lambda w: w.parameter("duration"), "cost", steps=-1, name="time")
        problem = problem.add("configuration", "equality", steps=-1, target=[far]).add("velocity", "equality", steps=-1)
        problem = problem.add_limits(torques=True)
        for tolerance in (1e-6, 1e-9):
            result = problem.solve([0.0], tolerance=tolerance, step_tolerance=tolerance)
            assert result.status == "solved" and max(result.violations.values()) <= tolerance
            assert np.isclose(result.duration, 2.0 * np.sqrt(far * mass / effort), rtol=1e-6)


def test_both_constraints_of_a_conflict_have_multipliers():
    robot = gantry([1.0], [3.0])
    problem = lw.TrajectoryProblem(robot, num_steps=20, duration=1.0).add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1, target=[5.0], name="goal")
    problem = problem.add("velocity", "inequality", lower=-1.0, upper=1.0, name="slow")
    result = problem.solve([0.0])
    assert result.status == "infeasible" and result.conflicts == ("goal", "slow")
    assert np.isclose(result.multipliers["goal"][0, 0], -1.0)
    slow = result.multipliers["slow"][:, 0]
    assert np.allclose(
        slow, [*[0.05] * 19, 0.025]
    )  # so many seconds until the next position are so many m for each m/s


def test_diverging_trajectory_problems_are_not_reported_as_solved():
    """The inverse of a length is least at infinity: where floats are 2 apart, a zero step proves no minimum."""
    problem = lw.TrajectoryProblem(gantry([1.0], [3.0]), num_steps=4)
    problem = problem.add(lambda w: 1.0 / w.q()[0] ** 2, "least_squares", name="far")
    result = problem.solve(initial_guess=[1e16])
    assert (
        result.status == "not_converged"
        and not result.success
        and "floating-point numbers are 2 apart" in result.explain()
    )
    resting = lw.TrajectoryProblem(gantry([1.0], [3.0]), num_steps=4).add("torque", "least_squares")
    for solver in ("augmented", "ilqr", "shooting", "ipopt"):
        result = resting.solve([1e16], solver=solver)
        assert result.status == "not_converged" and "floating-point numbers are 2 apart" in result.explain(), solver
        assert resting.solve([1e6], solver=solver).status == "solved"


def test_multipliers_that_do_not_prove_infeasibility_report_no_conflict():
    zeros, single = np.zeros((3, 2)), np.array([0.0, -4.0])
    for everywhere, alone, names in (
        (zeros, 0.0 * single, {"a": 1.0}),
        (zeros + np.nan, single, {"a": 1.0}),
        (zeros, np.array([-4.0, np.inf]), {"a": 1.0}),
        (zeros, np.array([-4.0, np.nan]), {"a": 1.0}),
        (zeros, single, {}),
    ):
        assert conflict_of(1.0, everywhere, alone, names) is None
    proof = conflict_of(1.0, zeros, single, {"a": 1.0})
    assert proof is not None and proof.alone.tolist() == [0.0, -1.0] and not proof.everywhere.any()


@pytest.mark.slow(every=3)
def test_trajectory_solver_reaches_tight_tolerances():
    """Swing-ups converge quadratically with second derivatives, although torques are strongly nonlinear.

    The last bits of the initial guesses depend on NumPy's vector code: some searches end with a violation that grows
    with the multiplier of another constraint, and a step that is longer than the one before.
    """
    robot, steps = lw.load("double_pendulum"), 40
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=3.0).add("torque", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=-1, target=[np.pi, 0.0], name="upright")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    waves = np.sin(np.multiply.outer(np.arange(1, steps + 1) / steps, 0.5 * np.pi * np.arange(1, 6)))
    guess = np.einsum("tk,nkj->ntj", waves, np.random.default_rng(1).normal(size=(40, 5, 2)))
    result = problem.solve(np.zeros(2), initial_guess=guess, tolerance=1e-10, step_tolerance=1e-10)
    assert result.success.all() and max(x.max() for x in result.violations.values()) <= 1e-10


def test_trajectory_solver_minimizes_costs_proportional_to_slack_variables():
    """Linear costs of slacks have no curvature: only constraints end a step.  The reference is IPOPT."""
    problem = lw.TrajectoryProblem(gantry([1.0], [9.0]), num_steps=20, duration=2.0).add(
        "acceleration", "least_squares", scale=0.1
    )
    problem = problem.add("configuration", "equality", steps=-1, target=[1.0]).add_variable(
        "slack", 1, lower=0.0, upper=1.0
    )
    problem = problem.add(lambda w: w.v("slide0") - 0.5 - w.variables("slack")[0], "inequality", name="slow, or slack")
    problem = problem.add(lambda w: w.variables("slack")[0], "cost", scale=0.02, name="price")
    ours, theirs = problem.solve([0.0]), problem.solve([0.0], solver="ipopt")
    assert ours.status == theirs.status == "solved" and np.isclose(ours.cost, theirs.cost, rtol=1e-6)
    assert np.abs(ours.variables["slack"] - theirs.variables["slack"]).max() < 1e-4


def test_constraints_of_trajectory_problems_are_satisfied_up_to_their_own_tolerance():
    search = SimpleNamespace(tolerances=[0.1, 0.2])
    for natural, times, holds in (
        ([0.1, -0.2], 1.0, True),
        ([0.1 * (1.0 + 1e-12), 0.0], 1.0, False),
        ([0.0, -0.2 * (1.0 + 1e-12)], 1.0, False),
        ([0.2, 0.4], 2.0, True),
    ):
        rows = SimpleNamespace(natural=np.array(natural), term=np.array([0, 1]))
        assert infeasibility_proof._Search.satisfied(search, rows, *([times] if times != 1.0 else [])) == holds, natural


def test_parameters_at_a_bound_are_free_only_if_a_decrease_of_violations_leaves_it():
    bounds = {"floor": np.array([0.0, 0.0, -9.0, -9.0]), "ceiling": np.array([9.0, 9.0, 1.0, 1.0])}
    search = SimpleNamespace(program=SimpleNamespace(many=4), inputs=bounds)
    gradient = np.array([1.0, -1.0, 2.0, 1.0, -1.0, -1.0, 1.0])
    for point, free in (
        ({}, [True] * 4),
        ({"p": np.array([0.0, 0.0, 1.0, 1.0])}, [False, True, False, True]),
        ({"p": np.array([0.5, 0.5, 0.5, 0.5])}, [True] * 4),
    ):
        assert infeasibility_proof._Search._free(search, point, gradient).tolist() == [True] * 3 + free
