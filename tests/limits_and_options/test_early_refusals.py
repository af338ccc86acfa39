"""Refusals of arguments before anything is compiled: terms of problems, trajectories, goals and constraints."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import Constraint
from linkwork.motion import spline
from linkwork.optimal.problem_terms import _bounds, make_variable, unused_name
from linkwork.planning.goals import read_goals

ARM = lw.load("arm7")
CURVE = spline([0.0, 1.0], [[0.0], [1.0]], "linear")
ROWS: Any = SimpleNamespace(component_names=("left", "right"), ranges=((0.0, 0.0),) * 2)
PROBLEM: Any = SimpleNamespace(
    _names={"reach": 0, "reach 2": 0}, variables={"foot": 0}, parameters={"length": 0}, num_steps=5, phases={}
)


def refused(error: type[Exception], words: str, call: Any) -> None:
    with pytest.raises(error, match=words):
        call()


def test_invalid_bounds_and_names_of_terms_are_refused() -> None:
    for kind, lower, upper, words in (
        ("cost", 0.0, None, "add: lower and upper: expected None, as a cost has no bounds"),
        ("cost", None, 1.0, "add: lower and upper: expected None, as a cost has no bounds"),
        ("inequality", 1.0, 0.9, "add: lower: expected at most upper, got 1.0 > 0.9"),
        ("inequality", [0.0, 1.0], [0.0, 0.9], r"add: lower: expected at most upper, got \[0.0, 1.0\] > \[0.0, 0.9\]"),
    ):
        refused(ValueError, words, lambda args=(kind, lower, upper): _bounds("add", ROWS, *args))
    low, high = _bounds("add", ROWS, "inequality", [0.0, 1.0], 1.0)
    assert low is not None and high is not None and low.tolist() == [0.0, 1.0] and high.tolist() == [1.0, 1.0]
    assert unused_name("add", PROBLEM, SimpleNamespace(name="reach"), None) == "reach 3"  # type: ignore[arg-type]
    assert unused_name("add", PROBLEM, ROWS, "left") == "left"
    refused(
        ValueError,
        "a feature named 'reach' exists: pass another name=",
        lambda: unused_name("add", PROBLEM, ROWS, "reach"),
    )
    refused(TypeError, "add: name: expected a string, got 3", lambda: unused_name("add", PROBLEM, ROWS, 3))  # type: ignore[arg-type]
    for name, options, error, words in (
        ("foot", (), ValueError, "TrajectoryProblem.add_parameter: a variable or parameter named 'foot' exists"),
        ("length", (), ValueError, "a variable or parameter named 'length' exists: pass another name"),
        ("", (), TypeError, "TrajectoryProblem.add_parameter: name: expected a name, got ''"),
        (3, (), TypeError, "expected a name, got 3"),
        ("width", (1.0, 0.9), ValueError, "add_parameter: 'width': lower: expected at most upper, got 1.0 > 0.9"),
    ):
        low_and_high = options or (None, None)
        refused(
            error, words, lambda name=name, x=low_and_high: make_variable("add_parameter", PROBLEM, name, 1, *x, 0.0)
        )
    variable = make_variable("add_parameter", PROBLEM, "width", 2, [0.0, 1.0], 1.0, 3.0)
    assert variable.initial_guess.tolist() == [1.0, 1.0] and variable.lower.tolist() == [0.0, 1.0]


def test_operations_on_trajectories_without_time_length_or_robot_are_refused() -> None:
    untimed = ARM.spline([0.0, 1.0], np.array([ARM.neutral(), ARM.neutral() + 0.1]), "linear")
    untimed = type(untimed)(untimed.sections, ARM, is_timed=False)
    timed = ARM.spline([1.0, 2.0], np.array([ARM.neutral() + 0.1, ARM.neutral() + 0.2]), "linear")
    resting = spline([0.0, 1.0], [[0.5], [0.5]], "linear")
    for words, call in (
        ("concatenate: ", lambda: untimed.concatenate(timed)),
        ("concatenate: ", lambda: timed.concatenate(untimed)),
        ("limit_margins: ", lambda: untimed.limit_margins(velocity=1.0)),
        ("limit_margins: ", lambda: untimed.limit_margins(jerk=1.0)),
        ("expected weights .* or a frame, not both", lambda: timed.path_length(weights=[1.0] * 7, frame="hand")),
        ("frame: the trajectory has no robot, so it moves no frame", lambda: CURVE.path_length(frame="hand")),
        (r"weights: expected an array of shape \(1,\)", lambda: CURVE.path_length(weights=[1.0, 2.0])),
        (r"weights: expected an array of shape \(1,\) of numbers >= 0", lambda: CURVE.path_length(weights=[-1.0])),
        ("the trajectory has no length: it rests all the time", lambda: resting.at_constant_speed(1.0)),
    ):
        refused(ValueError, words, call)
    assert CURVE.path_length(weights=[4.0]) == pytest.approx(2.0)


def test_goals_of_other_forms_are_refused_with_the_remedy() -> None:
    X = lw.pose((0.4, 0.1, 0.3), rpy=(0.3, -0.4, 0.5))
    task = lw.ik.PoseTask("hand")
    for goal, frame, error, words in (
        (
            task,
            None,
            ValueError,
            "goal: expected configurations, poses .*got PoseTask; a pose or a position needs frame",
        ),
        ([task], "hand", ValueError, r"goal\[0\]: expected configurations, poses"),
        (
            X[:3, :3],
            "hand",
            ValueError,
            r"expected a pose \(4, 4\) or a position \(3,\) of frame 'hand', got a rotation",
        ),
        (
            np.zeros((2, 2, 7)),
            None,
            ValueError,
            r"expected one configuration or several \(n, 7\), got shape \(2, 2, 7\)",
        ),
        (
            np.zeros(3),
            None,
            ValueError,
            r"expected a configuration \(7,\), got shape \(3,\); a position .* needs frame=",
        ),
        (
            np.zeros(5),
            "hand",
            ValueError,
            r"expected a pose \(4, 4\) of frame 'hand', a position \(3,\), .*shape \(5,\)",
        ),
        (X, None, ValueError, r"expected configurations, got shape \(4, 4\); a pose needs frame="),
    ):
        refused(error, words, lambda goal=goal, frame=frame: read_goals(ARM, goal, frame, 0))
    several = read_goals(ARM, np.array([X, X]), "hand", 0)
    assert [spec.label for spec in several] == ["goal[0]", "goal[1]"] and several[1].poses["hand"].shape == (1, 4, 4)
    points = read_goals(ARM, np.zeros((2, 3)), "hand", 0)
    assert [spec.poses["hand"].shape for spec in points] == [(1, 3)] * 2
    assert repr(lw.planning.PoseRegion("hand", X, [0.0] * 6, [0.0] * 6)) == "<PoseRegion of 'hand'>"


def test_constraint_classes_without_a_method_name_it() -> None:
    class Bare(Constraint):
        name = "bare"
        references = lw.constraints.PointOnPlane("hand", "world.y").references

    bare = Bare()
    for words, call in (
        (
            r"Bare: expected a class that defines the names of its rows \(`component_names`\)",
            lambda: bare.component_names,
        ),
        (r"the units of its rows \(`row_units`\)", lambda: bare.row_units),
        (r"its error \(`error`\)", lambda: bare.error(None)),  # type: ignore[arg-type]
        (r"its velocity \(`velocity`\)", lambda: bare.velocity(None)),  # type: ignore[arg-type]
        ("constraint 'bare': Bare needs a method `with_names`", lambda: bare.with_names({"hand": "tip"})),
    ):
        refused(TypeError, words, call)
    assert bare.with_names({"elsewhere": "tip"}) is bare
