"""Trajectory problems are immutable values; equal problems share what is derived from them."""

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control.mpc.mpc import ModelPredictiveController
from linkwork.optimal import constraint_scaling, problem_arrays

ROD = lw.load("double_pendulum")
END = np.array([0.4, 0.2])

EDITS: tuple[Callable[[lw.TrajectoryProblem], lw.TrajectoryProblem], ...] = (
    lambda p: p.add("acceleration", "least_squares"),
    lambda p: p.add("torque", "least_squares", scale=0.1),
    lambda p: p.add_limits(velocities=3.0),
    lambda p: p.add_variable("slack", 1, lower=0.0),
    lambda p: p.add_parameter("length", 2, upper=1.0),
    lambda p: p.add_contact("tip", "late", friction=None),
)


def _state(problem: lw.TrajectoryProblem) -> tuple[Any, ...]:
    return repr(problem), problem.robot, {**problem.variables}, {**problem.parameters}, problem.contacts, problem.terms


def _posed() -> lw.TrajectoryProblem:
    return lw.TrajectoryProblem(ROD, num_steps=4, duration=0.4, phases={"late": (2, 4)})


def test_edits_of_a_trajectory_problem_return_new_problems() -> None:
    problem = _posed().add("configuration", "equality", steps=-1, target=END, name="end")
    before = _state(problem)
    for edit in EDITS:
        new = edit(problem)
        assert new is not problem and _state(problem) == before and _state(new) != before
        assert type(new) is lw.TrajectoryProblem
        assert new.terms[: len(problem.terms)] == problem.terms
    long, short = EDITS[0](problem).solve([0.0, 0.0]), EDITS[1](problem).solve([0.0, 0.0])
    assert long.success and short.success and [*long.residuals] != [*short.residuals]


def test_trajectory_problems_and_their_terms_cannot_be_modified() -> None:
    target, ends = END.copy(), np.array([END, END])
    problem = _posed().add("configuration", "equality", steps=-1, target=target, name="end")
    problem = problem.add("velocity", "least_squares", lower=-1.0, upper=1.0)
    problem = problem.add("configuration", "least_squares", steps="late", target=lw.optimal.PerStep(ends), name="late")
    problem = problem.add_variable("slack", 1, upper=2.0)
    with pytest.raises(AttributeError, match=r"num_steps: a problem does not change.*problem = problem.add\("):
        problem.num_steps = 5  # type: ignore[misc]
    with pytest.raises(AttributeError, match="robot: a problem does not change"):
        del problem.robot
    with pytest.raises(TypeError, match="does not support item assignment"):
        problem.variables["more"] = problem.variables["slack"]  # type: ignore[index]
    for x in (
        problem.terms[0].target,
        problem.terms[1].lower,
        problem.terms[1].scale,
        problem.variables["slack"].upper,
    ):
        with pytest.raises(ValueError, match="read-only"):
            x[:] = 0.0
    target[:], ends[:] = 9.0, 9.0
    assert (problem.terms[0].target == END).all() and (problem.terms[2].target.values == END).all()


def test_trajectory_problems_can_be_copied_and_pickled() -> None:
    problem = _posed().add("acceleration", "least_squares").add_variable("slack", 1, upper=2.0)
    problem = problem.add("configuration", "equality", steps=-1, target=END, name="end")
    q = problem.solve([0.0, 0.0]).q
    for copied in (copy.copy(problem), pickle.loads(pickle.dumps(problem))):
        assert repr(copied) == repr(problem) and np.array_equal(copied.solve([0.0, 0.0]).q, q)
        assert len(copied.add_limits().terms) > len(copied.terms) == len(problem.terms)


def test_repeated_limits_are_added_to_a_trajectory_problem_once() -> None:
    """Limits of the same kind with other values are added; the tighter limits apply."""
    problem = _posed().add_limits()
    names = [term.name for term in problem.terms]
    assert [term.name for term in problem.add_limits(torques=2.0).terms] == [*names, "torque limits"]
    assert len(problem.add_limits(torques=2.0).add_limits(torques=2.0).terms) == len(names) + 1
    assert problem.add_limits(velocities=0.5).terms[-1].name == "velocity limits 2"
    late = _posed().add("velocity limits", "inequality", steps="late")
    assert late.add_limits().terms[-1].name == "velocity limits 2"


def test_trajectory_problem_solve_has_explicit_documented_options() -> None:
    solve = inspect.signature(lw.TrajectoryProblem.solve).parameters
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in solve.values())
    for name in [*solve][2:]:
        assert f"``{name}``" in lw.TrajectoryProblem.solve.__doc__, name
    mine = [*inspect.signature(lw.TrajectoryProblem.controller).parameters.values()][1:]
    theirs = [*inspect.signature(ModelPredictiveController).parameters.values()][1:]
    assert [(parameter.name, parameter.default) for parameter in mine] == [
        (parameter.name, parameter.default) for parameter in theirs
    ]


def test_options_of_other_trajectory_solvers_are_refused() -> None:
    problem = _posed().add("configuration", "least_squares")
    for option, value in (
        ("dynamics", "forward"),
        ("passive", False),
        ("control_limits", False),
        ("actuated", "hinge"),
    ):
        with pytest.raises(
            TypeError, match=f"{option}: not an option of solver='augmented'; its options are callback, "
        ):
            problem.solve([0.0, 0.0], **{option: value})
    with pytest.raises(ValueError, match="solver: expected one of 'augmented', 'ipopt', 'ilqr', 'shooting', got 'sqp'"):
        problem.solve([0.0, 0.0], solver="sqp")


def _reaching(
    robot: lw.Robot = ROD,
    *,
    duration: float = 0.4,
    kind: str = "inequality",
    weight: float = 0.1,
    end: Any = END,
    steps: Any = -1,
    speed: float = 3.0,
    lower: Any = None,
    guess: float = 0.3,
    upper: float = 1.0,
    pull: float = 0.5,
) -> lw.TrajectoryProblem:
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=duration)
    problem = problem.add("acceleration", "least_squares", scale=weight)
    problem = problem.add_variable("slack", 1, initial_guess=guess).add_parameter("length", 1, upper=upper)
    problem = problem.add("slack", "least_squares", lower=lower, upper=None if lower is None else 1.0)
    problem = problem.add("length", "least_squares", scale=pull)
    problem = problem.add(lw.ik.JointTask(robot.joints[0].name), "equality", steps=steps, target=end[0], name="end")
    return problem.add(lw.optimal.VelocityLimits(upper=speed), kind, name="speed")


def test_automatic_scales_of_a_trajectory_problem_are_equal_for_batches_and_single_paths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Features that cannot be computed for arrays are computed for one configuration after another."""
    problem = problem_arrays.prepared(_reaching(), True)
    arguments: list[Any] = []
    monkeypatch.setattr(
        problem_arrays, "scale_factors", lambda *arguments_of_call: arguments.append(arguments_of_call) or np.ones(1)
    )
    problem._scale_factors({**problem.constants, **problem.nominal_targets}, np.zeros(1), np.zeros(1))
    together = constraint_scaling.scale_factors(*arguments[0])
    jacobian, calls = constraint_scaling._jacobian, []

    def refuse_arrays(program: Any, window: Any, request: Any, lead: tuple[int, ...] = ()) -> np.ndarray:
        calls.append(lead)
        if lead:
            raise TypeError("a feature that accepts numbers only")
        return jacobian(program, window, request)

    monkeypatch.setattr(constraint_scaling, "_jacobian", refuse_arrays)
    assert np.allclose(constraint_scaling.scale_factors(*arguments[0]), together, rtol=1e-12, atol=0.0)
    assert (4,) in calls and calls.count(()) == 4 * calls.count((4,)) and not (together == 1.0).all()


def test_automatic_scales_are_computed_once_for_equal_trajectory_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuilt problem reuses the scales, and a changed value has its own."""
    derived: list[Any] = []
    monkeypatch.setattr(problem_arrays, "_SCALE_FACTORS", problem_arrays.LazyCache(512))
    derive = problem_arrays.scale_factors
    monkeypatch.setattr(
        problem_arrays,
        "scale_factors",
        lambda *arguments_of_call: derived.append(arguments_of_call) or derive(*arguments_of_call),
    )

    def scales(problem: lw.TrajectoryProblem, started: bool = True) -> np.ndarray:
        count = len(derived)
        derived_scales = problem_arrays.prepared(problem, started).scaled_constants["scales"]
        news.append(len(derived) - count)
        return derived_scales

    news: list[int] = []
    first = scales(_reaching())
    assert np.array_equal(first, scales(_reaching())) and news == [1, 0]
    heavy = ROD.with_payload("load", "tip", 1.0)
    changes: tuple[dict[str, Any], ...] = (
        {"duration": 0.5}, {"kind": "least_squares"}, {"weight": 0.2}, {"end": END + 0.1}, {"steps": -2},
        {"speed": 2.0}, {"lower": 0.1}, {"guess": 0.2}, {"upper": 0.9}, {"pull": 0.4}, {"robot": heavy},
    )  # fmt: skip
    for change in changes:
        news.clear()
        mine = scales(_reaching(**change))
        assert news == [1], change
        assert np.array_equal(mine, scales(_reaching(**change))) and news == [1, 0], change
    news.clear()
    scales(_reaching(), started=False)
    assert news == [1]
    assert not np.array_equal(first, scales(_reaching(weight=0.2))) and not np.array_equal(
        first, scales(_reaching(duration=0.5))
    )


def test_rebuilt_trajectory_problem_has_the_same_result() -> None:
    first, second = (_reaching().solve([0.0, 0.0]) for _ in range(2))
    assert first.success and np.array_equal(first.q, second.q) and first.iterations == second.iterations


def test_tolerances_of_trajectory_problems_are_checked_without_constraints() -> None:
    robot = lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=8, duration=1.0).add("torque", "least_squares", scale=0.1)
    for solver in ("augmented", "ilqr"):
        for tolerance in (0.0, -1.0, np.inf):
            with pytest.raises(ValueError, match=f"solve: tolerance: expected positive numbers, got {tolerance}"):
                problem.solve([0.1, 0.2], solver=solver, tolerance=tolerance)


@pytest.mark.slow(every=9)
def test_trajectory_costs_without_a_minimum_are_reported_as_unbounded() -> None:
    """Terms of kind "cost" that are linear in the path or in its forces, and one that a limit bounds."""
    robot = lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=8, duration=1.0)
    cases = ("augmented", "acceleration"), ("augmented", "torque"), ("ilqr", "acceleration"), ("shooting", "torque")
    for solver, feature in cases:
        options = {} if solver == "augmented" else {"passive": False, "control_limits": np.inf}
        result = problem.add(feature, "cost").solve([0.1, 0.2], solver=solver, **options)
        assert result.status == "unbounded" and f"after {result.iterations} iterations" in result.message
        assert result.iterations <= 200 and repr(feature) in result.message
    within = problem.add("torque", "cost").solve([0.1, 0.2], solver="shooting", passive=False, control_limits=50.0)
    assert within.status == "not_finite" and "diverged" in within.message  # the cost is at least -800
    logarithm, bounded = lambda w: -lw.expr.log(1.0 + w.q()[0] ** 2), lambda w: -1.0 + 1.0 / (1.0 + w.q()[0] ** 2)
    assert problem.add(logarithm, "cost").solve([0.1, 0.2]).status == "unbounded"
    assert problem.add(bounded, "cost").solve([0.1, 0.2]).status == "stalled"  # without a minimum
    limited = problem.add("velocity", "cost").add("velocity", "inequality", lower=-30.0, upper=30.0, name="bound")
    result = limited.solve([0.1, 0.2])
    assert result.success and np.allclose(result.residuals["bound"], -30.0, atol=1e-5)
    far = problem.add(lambda w: w.q()[0], "cost").add("configuration", "least_squares", scale=300.0**-0.5)
    result = far.solve([0.1, 0.2])
    assert result.success and result.iterations > 200 and np.allclose(result.q[:, 0], -300.0)
    bound = problem.add("configuration", "cost").add("configuration", "inequality", lower=-300.0, upper=300.0)
    result = bound.solve([0.1, 0.2])
    assert result.success and result.iterations > 200 and np.allclose(result.q, -300.0)
    single = problem.add(lambda w: -w.q()[0], "cost").add("configuration", "inequality", lower=-3.0, upper=3.0)
    result = single.solve([0.1, 0.2])
    assert result.success and result.iterations < 50 and np.allclose(result.q[:, 0], 3.0)


def test_optimal_path_of_a_robot_that_may_stay_at_rest_is_exactly_at_rest() -> None:
    problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=8, duration=1.0)
    problem = problem.add("velocity", "equality", steps=-1).add(
        "configuration", "equality", steps=-1, target=[0.3, 0.4]
    )
    result = problem.solve([[0.3, 0.4], [0.1, 0.2]])
    assert result.success.all() and np.array_equal(result.q[0], np.broadcast_to([0.3, 0.4], (8, 2)))


@pytest.mark.slow(every=9)
def test_trajectory_searches_leave_the_ridge_of_a_symmetric_hill() -> None:
    """The straight path across the middle of a hill is stationary; paths around either side are less steep."""
    rails = [
        lw.Joint.of(lw.joints.Prismatic(axis), name=name, parent=parent, child=child)
        for axis, name, parent, child in (((1, 0, 0), "x", "base", "bridge"), ((0, 1, 0), "y", "bridge", "tool"))
    ]
    robot: Any = lw.Robot.build(
        "table", lw.Link("base"), lw.Link("bridge", mass=1.0), lw.Link("tool", mass=1.0), *rails, gravity=(0, 0, 0)
    )

    def hill(window: Any) -> Any:
        x, y = window.q()
        return 3.0 / (1.0 + 30.0 * ((x - 0.5) * (x - 0.5) + y * y))

    problem = lw.TrajectoryProblem(robot, num_steps=20, duration=1.0).add("torque", "least_squares", scale=0.1)
    problem = problem.add("configuration", "least_squares", steps=-1, target=[1.0, 0.0], scale=10.0, name="goal")
    problem = problem.add(hill, "least_squares")
    for solver in ("augmented", "ilqr"):
        result = problem.solve([0.0, 0.0], solver=solver)
        around = np.stack([np.linspace(0.0, 1.0, 20), 0.3 * np.sin(np.linspace(0.0, np.pi, 20))], axis=-1)
        around_the_hill = problem.solve([0.0, 0.0], solver=solver, initial_guess=around)
        assert result.success and abs(result.cost / around_the_hill.cost - 1.0) < 1e-6, solver
