"""Trajectory problems: targets, batches, several guesses, conflicts, callbacks and refusals."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler import kernel_code
from linkwork.expr import exp, sin
from linkwork.optimal import problem_arrays
from linkwork.optimal.search_report import result_table

STEPS = 8


@pytest.fixture(scope="module")
def reaching():
    robot = lw.load("arm7")
    problem = lw.TrajectoryProblem(robot, num_steps=STEPS, duration=1.0)
    problem = problem.add("acceleration", "least_squares").add(
        lw.ik.PoseTask("hand"), "equality", steps=-1, name="reach"
    )
    rng = np.random.default_rng(0)
    q0 = rng.uniform(-1.0, 1.0, (4, 7))
    return robot, problem, q0, robot.pose(q0 + rng.uniform(-0.4, 0.4, (4, 7)), "hand")


@pytest.mark.slow(every=5)
def test_optimal_path_reaches_its_target_with_least_acceleration(reaching):
    robot, problem, q0, X = reaching
    result = problem.solve(q0[0], targets={"reach": X[0]})
    assert result.success and result.status == "solved" and result.feasible
    assert np.abs(robot.pose(result.q[-1], "hand") - X[0]).max() < 2e-6
    tau = 1.0 / STEPS
    D = (np.eye(STEPS) - np.eye(STEPS, k=-1)) / tau
    rates = np.diag([*[1.0] * (STEPS - 1), 2.0]) @ D  # the last configuration is half a step after the one before
    a = D @ rates @ (result.q - q0[0])
    assert abs(result.cost - 0.5 * (a * a).sum()) < 1e-9 * result.cost
    # the conditions of an optimum: the gradient by the path is what the hand is pulled with
    rows = (D @ rates).T @ a
    _, J = robot.ik_problem([lw.ik.PoseTask("hand", name="reach")]).residual_and_jacobian(result.q[-1], reach=X[0])
    rows[-1] += J.T @ result.multipliers["reach"][0]
    assert np.abs(rows).max() < 1e-3 * np.abs(result.multipliers["reach"]).max()


@pytest.mark.slow(every=5)
def test_trajectory_problems_of_a_batch_do_not_influence_each_other(reaching):
    _, problem, q0, X = reaching
    together = problem.solve(q0, targets={"reach": X})
    assert together.success.all() and together.q.shape == (4, STEPS, 7)
    for k in range(4):
        alone = problem.solve(q0[k], targets={"reach": X[k]})
        assert (alone.q == together.q[k]).all() and alone.iterations == together.iterations[k]
        assert (alone.multipliers["reach"] == together.multipliers["reach"][k]).all()


def test_trajectory_problem_with_several_guesses_returns_the_best_path_and_all_attempts(reaching):
    _, problem, q0, X = reaching
    result = problem.solve(q0[0], targets={"reach": X[0]}, num_guesses=5, seed=2)
    assert (
        result.attempts.q.shape == (5, STEPS, 7) and result.cost == result.attempts.cost[result.attempts.success].min()
    )
    again = problem.solve(q0[:2], targets={"reach": X[:2]}, num_guesses=5, seed=2)
    assert (again.q[0] == result.q).all() and again.residuals["reach"].shape == (2, 1, 6)


def test_guesses_of_a_trajectory_problem_stop_if_another_guess_is_solved(reaching):
    _, problem, q0, X = reaching
    result = problem.solve(q0[0], targets={"reach": X[0]}, num_guesses=8)
    every = problem.solve(q0[0], targets={"reach": X[0]}, num_guesses=8, continue_all=True)
    assert result.success and abs(result.cost / every.cost - 1.0) < 1e-6 and "superseded" not in every.attempts.status
    stopped = result.attempts.status == "superseded"
    first = result.attempts.iterations[result.attempts.success].min()
    assert stopped.any() and result.attempts.iterations.max() < 2 * first + 4 <= every.attempts.iterations.max()
    assert (result.attempts.q[~stopped] == every.attempts.q[~stopped]).all()
    # by iterations alone: the same one at a time, and beside problems that take longer
    watched = problem.solve(q0[0], targets={"reach": X[0]}, num_guesses=8, callback=lambda r: True)
    several = problem.solve(q0, targets={"reach": X}, num_guesses=8)
    assert len(set(several.attempts.iterations.max(axis=-1))) > 1
    for scalars_of_search in (watched.attempts._state["scalars"], several.attempts._state["scalars"][0]):
        assert (scalars_of_search == result.attempts._state["scalars"]).all()


def test_failed_guesses_of_a_trajectory_problem_are_replaced_by_new_guesses():
    """A free lane takes the next guess; without success the least violated path is reported as infeasible."""
    bar = lw.Robot.build(
        "bar",
        lw.Link("bar", mass=1.0),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="world", child="bar", lower=-3.0, upper=3.0),
    )
    for depth, status in ((1.0, "solved"), (0.1, "infeasible")):

        def narrow(w, depth=depth):
            q = w.q()[0]
            return 1.2 + sin(8.0 * q) - depth * exp(-20.0 * (q - 2.0) ** 2)

        problem = (
            lw.TrajectoryProblem(bar, num_steps=1)
            .add(narrow, "equality", name="narrow")
            .add("configuration", "least_squares")
        )
        every = problem.solve(initial_guess=[0.0], num_guesses=3, continue_all=True)
        result = problem.solve(initial_guess=[0.0], num_guesses=3)
        assert every.status == "infeasible" and result.status == status
        assert result.violations["narrow"] < every.violations["narrow"]
        q = np.linspace(-3.0, 3.0, 20001)
        least = np.abs(1.2 + np.sin(8.0 * q) - depth * np.exp(-20.0 * (q - 2.0) ** 2)).min()
        assert result.violations["narrow"] < least + 1e-3


def test_path_that_starts_at_its_goal_needs_few_iterations(reaching):
    robot, problem, q0, _ = reaching
    result = problem.solve(q0, targets={"reach": robot.pose(q0, "hand")})
    assert result.success.all() and (result.iterations <= 2).all() and np.abs(result.q - q0[:, None]).max() < 1e-12


@pytest.mark.slow(every=5)
def test_callbacks_of_a_trajectory_problem_do_not_change_the_result(reaching):
    _, problem, q0, X = reaching
    calls = []
    whole = problem.solve(q0[0], targets={"reach": X[0]})
    for solver in ("augmented", "ilqr"):
        calls.clear()
        interrupted = problem.solve(
            q0[0], targets={"reach": X[0]}, solver=solver, callback=lambda r: calls.append((r.iterations, r.status))
        )
        expected = [(k, "running") for k in range(1, interrupted.iterations)] + [(interrupted.iterations, "solved")]
        assert interrupted.success and calls == expected, (solver, calls)
        assert solver == "ilqr" or (interrupted.q == whole.q).all()
    stopped = problem.solve(q0[0], targets={"reach": X[0]}, callback=lambda r: False)
    assert stopped.iterations == 1 and stopped.status == "time_limit"
    late = problem.solve(q0[0], targets={"reach": X[0]}, time_limit=0.0)
    assert late.status == "time_limit" and "violated: 'reach'" in late.explain()
    warm = problem.solve(q0[0], targets={"reach": X[0]}, warm_start=whole)
    assert warm.iterations <= 2 and np.abs(warm.q - whole.q).max() < 1e-5
    assert problem.solve(q0[0], targets={"reach": X[0]}, max_iterations=2).status == "max_iterations"


def test_trajectory_problem_names_an_unreachable_target(reaching):
    _, problem, q0, X = reaching
    far = X[0].copy()
    far[:3, 3] += 5.0
    result = problem.solve(q0[0], targets={"reach": far})
    assert result.status == "infeasible" and result.conflicts == ("reach",)
    assert "these constraints cannot hold together: 'reach'" in result.explain() and not result.feasible
    assert result.message.endswith(", near this initial path; num_guesses= tries others")
    every = problem.solve(q0[0], targets={"reach": far}, num_guesses=2, continue_all=True)
    assert every.message.endswith(", from each of these initial paths")


def test_trajectory_result_plots_and_shows_a_path_of_a_batch(reaching):
    pytest.importorskip("matplotlib")
    _, problem, q0, X = reaching
    result = problem.solve(q0[:2], targets={"reach": X[:2]})
    axes = result.plot(index=1)
    assert len(axes) == 3 and (axes[0].lines[2].get_ydata() == result.q[1, :, 2]).all()
    html = result._repr_html_()
    assert "<iframe srcdoc=" in html and "the result with the index (0,) is shown" in html
    assert [axis.get_ylabel() for axis in axes] == ["q [rad]", "reach [rad, m]", "acceleration [rad/s²]"]


def test_invalid_trajectory_problems_are_refused(reaching):
    robot, problem, q0, X = reaching
    with pytest.raises(ValueError, match="steps: expected steps from -8 to 7, got 8"):
        problem.add("velocity", "least_squares", steps=8)
    with pytest.raises(ValueError, match="no feature is called 'accelerations'; use 'acceleration'"):
        problem.add("accelerations", "least_squares")
    with pytest.raises(
        ValueError, match="expected one of 'cost', 'least_squares', 'equality', 'inequality', got 'hard'"
    ):
        problem.add("velocity", "hard")
    with pytest.raises(KeyError, match="no feature with a target named 'raech'; did you mean 'reach'"):
        problem.solve(q0[0], targets={"raech": X[0]})
    with pytest.raises(ValueError, match="targets: 'reach' has no target: pass targets="):
        problem.solve(q0[0])
    for option in (
        "velocity",
        "num_guesses",
        "continue_all",
        "warm_start",
        "time_limit",
        "progress",
        "callback",
        "step_tolerance",
    ):
        assert f"``{option}``" in lw.TrajectoryProblem.solve.__doc__, option
    for option in ({"time_limit": 1.0}, {"progress": True}, {"callback": print}):
        with pytest.raises(ValueError, match=r"ipopt.*no time_limit, progress and callback"):
            problem.solve(q0[0], targets={"reach": X[0]}, solver="ipopt", **option)
    for options, said in (
        ({"foo": 1}, "no option named 'foo'"),
        ({"tolerence": 1e-6}, "no option named 'tolerence'; did you mean 'tolerance'"),
        ({"controls": 0.0}, "controls: not an option of solver='augmented'"),
        ({"seed": -1}, "seed: expected .*integer >= 0"),
        ({"seed": "x", "solver": "ilqr"}, "seed: expected .*integer >= 0"),
        ({"continue_all": "no"}, "continue_all: expected True or False"),
        ({"continue_all": True, "solver": "ipopt"}, "continue_all: not supported"),
        ({"second_order": "no", "solver": "ilqr"}, "second_order: expected True or False"),
        ({"passive": "no", "solver": "ilqr"}, "passive: expected True or False"),
        ({"initial_guess": q0[0], "controls": 0.0, "solver": "ilqr"}, "expected controls= or initial_guess="),
        ({"callback": "x"}, "callback: expected a function"),
        ({"tolerance": np.inf}, "tolerance: expected positive numbers"),
        ({"warm_start": "x"}, "warm_start: expected a result"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            problem.solve(q0[0], **{"targets": {"reach": X[0]}} | options)
    for options, error, said in (
        (
            {"initial_guess": np.zeros((5, 7))},
            ValueError,
            r"initial_guess: expected a path \(..., 8, 7\), or a configuration \(7,\)",
        ),
        ({"targets": ["reach"]}, TypeError, r"targets: expected a dict .*got \['reach'\]"),
        ({"targets": {"reach": X[:3]}}, ValueError, r"start \(4,\), .*targets: 'reach' \(3,\)"),
        ({"targets": {"reach": X[:3]}, "solver": "ilqr"}, ValueError, r"start \(4,\), targets: 'reach' \(3,\)"),
    ):
        with pytest.raises(error, match=said):
            problem.solve(q0, **{"targets": {"reach": X}} | options)
    with pytest.raises(TypeError, match=r"TrajectoryProblem: robot: expected a robot.*got 'arm7'"):
        lw.TrajectoryProblem("arm7", num_steps=3)
    with pytest.raises(ValueError, match=r"phases: 'a': expected \(first step.*got \(0.5, 3\)"):
        lw.TrajectoryProblem(robot, num_steps=3, phases={"a": (0.5, 3)})
    single_step = (
        lw.TrajectoryProblem(robot, num_steps=1).add("configuration", "least_squares").add("acceleration", "equality")
    )
    with pytest.raises(ValueError, match="'acceleration' needs 2 steps before step 0: pass start="):
        single_step.solve()
    with pytest.raises(ValueError, match="terms: expected at least one"):
        lw.TrajectoryProblem(robot, num_steps=3).solve(q0[0])
    with pytest.raises(ValueError, match="duration: expected a time > 0"):
        lw.TrajectoryProblem(robot, num_steps=3, duration=(2.0, 1.0))


def test_functions_added_to_a_trajectory_problem_name_their_terms(reaching):
    robot = reaching[0]

    def near(w):
        return w.q()[0] - 1.0

    problem = (
        lw.TrajectoryProblem(robot, num_steps=3).add(near, "least_squares").add(lambda w: w.q()[1], "least_squares")
    )
    assert [entry.name for entry in problem.terms] == ["near", "function"]
    with pytest.raises(TypeError, match="or a function of a window, got <class"):
        problem.add(lw.optimal.VelocityFeature, "least_squares")
    with pytest.raises(ValueError, match="order: expected an integer"):
        problem.add(near, "least_squares", order=4)
    with pytest.raises(ValueError, match=r"expected at most 1, as the feature depends on 2 earlier steps.*got 2"):
        problem.add("torque", "least_squares", order=2)
    with pytest.raises(ValueError, match=r"it reads 5 steps back.*expected at most 3 steps"):
        problem.add(lambda w: w.q(back=5), "least_squares")
    with pytest.raises(ValueError, match="steps: expected None, as a parameter belongs to the whole path"):
        problem.add_parameter("a").add("a", "least_squares", steps=[0, 1])


@pytest.mark.slow(every=5)
def test_weights_of_tasks_multiply_their_squared_residuals(reaching):
    robot, _, q0, X = reaching

    def path_for(task, **options):
        problem = lw.TrajectoryProblem(robot, num_steps=1, duration=1.0).add("velocity", "least_squares")
        return problem.add(task, "least_squares", name="near", **options).solve(q0[0], targets={"near": X[0, :3, 3]})

    plain = path_for(lw.ik.PositionTask("hand"), scale=[3.0, 3.0, 6.0])
    for task, scale in (
        (lw.ik.PositionTask("hand", weight=(3.0, 3.0, 6.0)), 1.0),
        (lw.ik.PositionTask("hand", weight=1.5), [2.0, 2.0, 4.0]),
        (lw.ik.Soft(lw.ik.PositionTask("hand"), (1.0, 1.0, 2.0)), 3.0),
    ):
        assert np.allclose(path_for(task, scale=scale).q, plain.q, atol=1e-9)
    problem = lw.TrajectoryProblem(robot, num_steps=3)
    with pytest.raises(
        ValueError, match=r"kind: expected 'least_squares' for a task with a weight, 2.0, got 'equality'"
    ):
        problem.add(lw.ik.PositionTask("hand", weight=2.0), "equality")
    with pytest.raises(ValueError, match="order: expected 0, as the task's ranges bound its errors"):
        problem.add(lw.ik.Within(lw.ik.PositionTask("hand"), -0.1, 0.1), "inequality", order=1)


def test_conflict_reports_of_trajectory_problems_name_motor_limits():
    """A mass has a target beyond its motor's reach: the motor is named, and one within reach is not."""
    rail = {"lower": -9.0, "upper": 9.0}
    robot = lw.Robot.build(
        "table",
        lw.Link("bridge", mass=1.0),
        lw.Link("tool", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="x", parent="world", child="bridge", effort=0.2, **rail),
        lw.Joint.of(lw.joints.Prismatic((0, 1, 0)), name="y", parent="bridge", child="tool", effort=5.0, **rail),
    )
    problem = lw.TrajectoryProblem(robot, num_steps=5, duration=0.5).add("torque", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=-1, target=[1.0, 0.1], name="there")
    for start in (np.zeros(2), np.zeros((2, 2))):
        result = problem.solve(start, solver="ilqr")
        conflicts = result.conflicts if start.ndim == 1 else result.conflicts[1]
        assert np.all(result.status == "infeasible") and conflicts == ("there", "control_limits of 'x'")
        said = result.explain() if start.ndim == 1 else result.explain(1)
        assert "'there' (by 0.9" in said and "control_limits of 'x'" in said


def test_printed_table_has_the_whole_names_of_features_in_aligned_columns():
    names = ("hind_left_foot: no force in the air", "torque")
    terms = [SimpleNamespace(name=name, kind=kind) for name, kind in zip(names, ("equality", "cost"), strict=True)]
    result = SimpleNamespace(
        cost=0.5,
        explain=lambda: "solved",
        problem=SimpleNamespace(terms=terms, _limits_left_out=lambda: ["torques"]),
        residuals={name: np.array([0.25]) for name in names},
        violations={names[0]: 0.25},
        multipliers={names[0]: np.array([-3.0])},
        _prepared=SimpleNamespace(program=SimpleNamespace(units=[1.0]), cost_unit=2.0),
    )
    _, head, *rows, _, left_out = result_table(result).splitlines()
    assert left_out == "limits of the robot that the problem leaves out: torques; add_limits(torques=True)"
    assert [row.rstrip()[: len(name)] for row, name in zip(rows, names, strict=True)] == [*names]
    assert {row.index(kind) for row, kind in zip(rows, ("equality", "cost"), strict=True)} == {head.index("kind")}
    assert len(rows[0]) == len(head) and rows[0].endswith(" 3")


def test_problems_know_the_limits_of_the_robot_that_they_leave_out():
    robot = lw.load("double_pendulum")
    assert np.isfinite(robot.velocity_limits).all() and np.isfinite(robot.effort_limits).all()
    assert np.isinf(robot.lower).all() and np.isinf(robot.acceleration_limits).all()
    problem = lw.TrajectoryProblem(robot, num_steps=4)
    assert problem._limits_left_out() == ["velocities", "torques"]
    assert problem.add_limits()._limits_left_out() == ["torques"]
    assert problem.add_limits(velocities=2.0, torques=True)._limits_left_out() == []


def test_empty_batches_of_trajectory_problems_have_empty_results(reaching):
    _, problem, q0, X = reaching
    result = problem.solve(q0[:0], targets={"reach": X[:0]})
    assert result.q.shape == (0, STEPS, 7) and result.residuals["reach"].shape == (0, 1, 6) and result.conflicts == []
    assert result.violations["reach"].shape == (0,) and str(result) == "an empty batch"


@pytest.mark.slow(every=5)
def test_compilation_does_not_count_for_the_time_limit_of_a_trajectory_problem(monkeypatch):
    """The clock of the test advances only by compilation, by more than the limit."""
    now, compile_parts = [0.0], kernel_code.compiled

    def compiled(*arguments):
        now[0] += 10.0
        return compile_parts(*arguments)

    monkeypatch.setattr(kernel_code, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(kernel_code, "compiled", compiled)
    for steps, solver in ((3, "augmented"), (4, "ilqr")):
        problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=steps, duration=1.3)
        problem = problem.add("acceleration", "least_squares").add("velocity", "equality", steps=-1, name="at rest")
        before = now[0]
        result = problem.solve([0.1, 0.2], solver=solver, time_limit=5.0)
        assert result.status == "solved" and now[0] > before + 5.0, solver

    def takes_long(*_):
        with kernel_code.waiting():  # as kernels that it calls
            now[0] += 10.0
        return False

    monkeypatch.setattr(problem_arrays, "has_curvature", takes_long)
    deadline, before = kernel_code.Deadline(5.0), now[0]
    assert problem_arrays.prepared(problem, True).second_order_kernel and now[0] > before + 5.0
    assert deadline.left == 5.0


@pytest.mark.slow(every=9)
def test_conflicts_of_more_than_64_constraints_are_named():
    """NumPy's limit on dimensions does not limit the number of constraints."""
    problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=2, duration=1.0)
    problem = problem.add("acceleration", "least_squares")
    for size in range(1, 36):
        problem = problem.add(lambda w, size=size: np.array([w.q()[0]] * size) - 3.0, "inequality", name=f"low {size}")
    problem = problem.add("configuration", "equality", steps=-1, target=[0.5, 0.0], name="there")
    problem = problem.add("configuration", "equality", steps=-1, target=[0.0, 0.0], name="here")
    result = problem.solve([0.0, 0.0], max_iterations=50)
    assert result.status == "infeasible" and set(result.conflicts) == {"there", "here"}


def test_target_of_a_function_term_is_subtracted_from_its_values():
    rod = lw.load("double_pendulum")

    def height(w):
        return w.point("tip")[2]

    def both(w):
        return [w.q("shoulder") * w.q("elbow"), w.q("elbow")]

    problem = lw.TrajectoryProblem(rod, num_steps=8, duration=0.8).add("acceleration", "least_squares")
    steps, ends = [5, 6], np.array([[0.3, 0.4], [0.2, 0.5]])
    added = problem.add(height, "equality", steps=-1, target=-1.2, name="height")
    added = added.add(both, "least_squares", steps=steps, target=lw.optimal.PerStep(ends), scale=3.0)
    by_hand = problem.add(lambda w: height(w) + 1.2, "equality", steps=-1)
    for step, end in zip(steps, ends, strict=True):
        by_hand = by_hand.add(lambda w, end=end: np.array(both(w)) - end, "least_squares", steps=step, scale=3.0)
    result, expected = added.solve([0.3, 0.5]), by_hand.solve([0.3, 0.5])
    assert result.success and np.abs(result.q - expected.q).max() < 1e-7
    assert abs(rod.pose(result.q[-1], "tip")[2, 3] + 1.2) < 1e-8
    batch = added.solve([0.3, 0.5], targets={"height": [-1.2, -1.1]})
    assert np.abs(rod.pose(batch.q[:, -1], "tip")[:, 2, 3] - [-1.2, -1.1]).max() < 1e-8
    change = (batch.q[1] - batch.q[0]) / 0.1
    assert np.abs(result.derivative("height").q[..., 0] - change).max() < 0.2 * np.abs(change).max()
    with pytest.raises(ValueError, match="target: expected None, as a constant does not change"):
        problem.add(height, "cost", target=0.4)
    with pytest.raises(ValueError, match=r"target: expected numbers of shape \(2\), got shape \(3,\)"):
        problem.add(both, "equality", target=[1.0, 2.0, 3.0])
