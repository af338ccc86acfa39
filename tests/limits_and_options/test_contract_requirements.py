"""Requirements of contracts on trials of arrays: each refusal with its words, and the errors of formulas."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkwork.constraints import constraint_contract
from linkwork.control import controller_contract
from linkwork.ik import task_contract
from linkwork.optimal import feature_contract


def constraint(**options: Any) -> SimpleNamespace:
    """Return a trial of a constraint with two rows between two frames and a joint, which can be renamed."""

    def with_names(frames: dict[str, str], joints: Any = None) -> SimpleNamespace:
        names = [frames.get(name, name) for name in ("hand", "elsewhere")]
        return SimpleNamespace(references=SimpleNamespace(frames=names, joints=[(joints or {}).get("hinge", "hinge")]))

    fields = {"name": "rod", "component_names": ("a", "b"), "row_units": ("m", "rad"), "with_names": with_names}
    fields["references"] = with_names({}).references
    value = SimpleNamespace(**{**fields, **options})
    return SimpleNamespace(constraint=value, bare=SimpleNamespace(frames=("hand", "foot")))


def task(**options: Any) -> SimpleNamespace:
    fields = {"name": "reach", "component_names": ("a", "b"), "row_units": ("m", "1"), "tolerances": (1e-6, 1e-6)}
    return SimpleNamespace(task=SimpleNamespace(**{"ranges": ((0.0, 0.0), (-1.0, 2.0)), **fields, **options}))


def law(**options: Any) -> SimpleNamespace:
    fields = {
        "input_shapes": {"target": (4, 4), "gain": ()},
        "required_inputs": ("target",),
        "pose_inputs": ("target",),
    }
    return SimpleNamespace(law=SimpleNamespace(**{"start": np.zeros(2), **fields, **options}))


def feature(**options: Any) -> SimpleNamespace:
    fields = {"name": "speed", "component_names": ("a", "b"), "row_units": ("m", "m")}
    value = SimpleNamespace(**{"rows_without_past": 0, "depth": 0, **fields, **options})
    return SimpleNamespace(feature=value, bound=value, robot=SimpleNamespace(name="arm"))


STUCK = constraint().constraint.references
STATIC_NAMES = {
    "constraint": (
        constraint,
        constraint_contract._names,
        (
            ({"name": ""}, "name: expected a string, got ''"),
            ({"name": 3}, "name: expected a string, got 3"),
            ({"component_names": ()}, r"component_names: expected distinct strings, got \(\)"),
            ({"component_names": ("a", "a")}, "component_names: expected distinct strings"),
            ({"component_names": ("a", "")}, "component_names: expected distinct strings"),
            ({"component_names": ("a", 1)}, "component_names: expected distinct strings"),
            ({"row_units": ("m",)}, "row_units: expected 'm', 'rad' or '1' for each of 2 rows"),
            ({"row_units": ("m", "N")}, "row_units: expected 'm', 'rad' or '1' for each of 2 rows"),
            (
                {"with_names": lambda frames, joints=None: SimpleNamespace(references=STUCK)},
                "with_names: frame 'hand' is not renamed",
            ),
            (
                {"with_names": lambda frames, joints=None: constraint().constraint.with_names(frames)},
                r"with_names: joint 'hinge' is not renamed: references are \['hinge'\]",
            ),
        ),
    ),
    "task": (
        task,
        task_contract._names,
        (
            ({"name": ""}, "name: expected a string, got ''; end __post_init__ with self.settle"),
            ({"component_names": ("a", "a")}, "component_names: expected distinct strings"),
            ({"component_names": ("a", 2)}, "component_names: expected distinct strings"),
            ({"row_units": ("m",)}, "row_units: expected 2 entries, as component_names has, got 1"),
            ({"ranges": ((0.0, 0.0),) * 3}, "ranges: expected 2 entries, as component_names has, got 3"),
            ({"tolerances": ()}, "tolerances: expected 2 entries, as component_names has, got 0"),
            ({"row_units": ("m", "N")}, "row_units: expected one of .*, got 'N'"),
            ({"ranges": ((0.0, 0.0), (1.0, 0.9))}, r"ranges: expected lower <= upper, got \(1.0, 0.9\)"),
            ({"ranges": ((0.0, 0.0), (np.nan, 0.9))}, "ranges: expected lower <= upper"),
        ),
    ),
    "controller": (
        law,
        controller_contract._declarations,
        (
            ({"input_shapes": {"target": (4, 4), "q": ()}}, "input_shapes: 'q': expected names other than"),
            ({"input_shapes": {"target": (4, 4), "2": ()}}, "input_shapes: '2': expected names other than"),
            ({"input_shapes": {"target": [4, 4]}}, "input_shapes: 'target': expected a tuple of positive integers"),
            ({"input_shapes": {"target": (4, 0)}}, r"expected a tuple of positive integers, got \(4, 0\)"),
            ({"required_inputs": ("goal",)}, "required_inputs: 'goal' is not one of input_shapes: target, gain"),
            ({"pose_inputs": ("goal",)}, "pose_inputs: 'goal' is not one of input_shapes"),
            ({"pose_inputs": ("gain",)}, r"pose_inputs: 'gain': expected shape \(4, 4\), got \(\)"),
            ({"start": 1.0}, "start: expected a finite array, got 1.0"),
            ({"start": np.array([1.0, np.inf])}, "start: expected a finite array"),
        ),
    ),
    "feature": (
        feature,
        feature_contract._names,
        (
            ({"component_names": (), "row_units": ()}, "component_names: expected at least one for robot 'arm'"),
            ({"component_names": ("a", "a")}, "component_names: expected distinct strings"),
            ({"component_names": ("a", 1)}, "component_names: expected distinct strings"),
            ({"row_units": ("m",)}, "row_units: expected 2 strings"),
            ({"row_units": ("m", 1)}, "row_units: expected 2 strings"),
        ),
    ),
    "rows of a feature without past": (
        feature,
        lambda trial: list(feature_contract._rows_without_past(trial)),
        (
            ({"rows_without_past": 3}, "rows_without_past: expected an integer from 0 to 2, got 3"),
            ({"rows_without_past": -1}, "rows_without_past: expected an integer from 0 to 2, got -1"),
        ),
    ),
}


@pytest.mark.light
@pytest.mark.parametrize("kind", STATIC_NAMES)
def test_invalid_names_units_and_sizes_of_checked_objects_are_refused(kind: str) -> None:
    trial, requirement, cases = STATIC_NAMES[kind]
    assert not any(requirement(trial()))
    for options, words in cases:
        with pytest.raises(ValueError, match=words):
            requirement(trial(**options))


def velocity_trial(**options: Any) -> SimpleNamespace:
    """Return a trial of a velocity constraint A(t) v + b(t) with two rows, and the robot's rows and drift of it."""
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(2, 3)), rng.normal(size=2)
    q, v = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))

    def value(q: Any, v: Any, time: float) -> np.ndarray:
        result: np.ndarray = (1.0 + q[0]) * A @ v + b * np.exp(time)
        return result

    fields = {
        "states": [(q[0], v[0], 0.3), (q[1], v[1], 0.7)],
        "bare": SimpleNamespace(nv=3),
        "count": 2,
        "value": value,
        "rows": lambda q, time: (1.0 + q[0]) * A,
        "own": lambda name, q, time: b * np.exp(time),
        "shifted": lambda q, v, time: (q, q, time + constraint_contract._STEP, time - constraint_contract._STEP),
        "constraint": SimpleNamespace(holonomic=False, time_dependent=True),
    }
    return SimpleNamespace(**{**fields, **options})


def test_errors_of_rows_and_drifts_of_velocity_constraints_are_those_of_their_velocity() -> None:
    trial = velocity_trial()
    for requirement in (constraint_contract._rows, constraint_contract._drift):
        assert max(requirement(trial)) < 1e-12 and len(requirement(trial)) >= 2
    rows, drift, value = trial.rows, trial.own, trial.value
    wrong_rows = velocity_trial(rows=lambda q, time: rows(q, time) * [1.0, 1.0, 1.01])
    assert max(constraint_contract._rows(wrong_rows)) > 1e-3
    nonlinear = velocity_trial(value=lambda q, v, time: value(q, v, time) + 0.01 * v[0] * v[1])
    errors = constraint_contract._rows(nonlinear)  # right for unit vectors, not for their sum
    assert max(errors[::2]) < 1e-12 and max(errors[1::2]) > 1e-4
    wrong_drift = velocity_trial(own=lambda name, q, time: 1.01 * drift(name, q, time))
    assert min(constraint_contract._drift(wrong_drift)) > 1e-3
    holonomic = SimpleNamespace(holonomic=True, time_dependent=False)
    with pytest.raises(ValueError, match="time_dependent: is False, but the constraint changes with time"):
        constraint_contract._drift(velocity_trial(constraint=holonomic))
    holonomic.time_dependent = True  # the drift is the rate of the error b exp(t)
    assert max(constraint_contract._drift(velocity_trial(constraint=holonomic))) < 1e-6
    for result, words in (
        (np.ones(3), "velocity: expected 2 values, one for each of component_names, got 3"),
        (np.array([1.0, np.nan]), r"velocity: expected finite values, got \[ 1. nan\] at q = \["),
    ):
        with pytest.raises(ValueError, match=words):
            constraint_contract._values(velocity_trial(value=lambda q, v, time, result=result: result))


def test_closed_forms_of_rates_have_one_row_bias_and_size_for_each_error() -> None:
    G, bias = np.array([[1.0, -2.0, 0.5], [0.3, 0.7, -1.1]]), np.array([0.4, -0.9])
    of_robot = {"constraint_bias": bias, "constraint_drift": np.zeros(2), "constraint_error": np.array([0.1, 0.2])}

    def trial(**rates: Any) -> SimpleNamespace:
        fields = SimpleNamespace(**{"rows": G, "bias": bias, "drift": None, "sizes": None, **rates})
        return velocity_trial(
            rows=lambda q, time: G,
            own=lambda name, *_, time: of_robot[name],
            state=lambda *_: None,
            value=lambda *_: of_robot["constraint_error"],
            constraint=SimpleNamespace(holonomic=True, rates=lambda state: fields),
        )

    assert max(constraint_contract._closed(trial(sizes=np.ones((2, 3))))) == 0.0
    for change in ({"rows": 1.01 * G}, {"bias": -bias}, {"drift": [0.0, 0.01]}):
        assert max(constraint_contract._closed(trial(**change))) > 1e-3
    for change, words in (
        ({"rows": G[:1]}, "rates: expected 2 rows and biases, got 1 and 2"),
        ({"bias": bias[:1]}, "rates: expected 2 rows and biases, got 2 and 1"),
        ({"sizes": np.ones((2, 2))}, "rates: sizes: expected one value for each element of rows"),
    ):
        with pytest.raises(ValueError, match=words):
            constraint_contract._closed(trial(**change))


def test_errors_of_tasks_of_velocity_and_of_drifts_are_those_of_their_values() -> None:
    q = np.array([[0.3, -0.7], [1.1, 0.2]])

    def trial(result: Any, J: Any, drift: Any = None, moves: bool = True, **options: Any) -> SimpleNamespace:
        state = lambda q, time=0.0: SimpleNamespace(time=time, at=lambda t: SimpleNamespace(time=t))  # noqa: E731
        errors = lambda state, target: [np.sin(2.0 * state.time) if moves else 0.0, 1.0]  # noqa: E731
        fields = {"component_names": ("a", "b"), "of_velocity": False, "drift": lambda state, target: drift}
        return SimpleNamespace(
            task=SimpleNamespace(**{**fields, "errors": errors, **options}),
            robot=SimpleNamespace(nv=2),
            rows=lambda q: (np.array(result), np.array(J)),
            errors=lambda q: np.array([1.0, 2.0]),
            state=state,
            target_values=[],
            q=q,
        )

    J = [[1.0, 2.0], [3.0, 4.0]]
    assert task_contract._errors(trial([1.0, 2.0], J)) == [0.0, 0.0]
    assert min(task_contract._errors(trial([1.0, 2.01], J))) > 1e-3
    for wrong, words in (
        (([1.0, 2.0], [[1.0, 2.0]]), r"rows: expected a Jacobian of shape \(2, 2\), got \(1, 2\)"),
        (([1.0, np.inf], J), r"errors, rows: expected finite numbers, got \[ 1. inf\] at q = \[0.3, -0.7\]"),
        (([1.0, 2.0], [[1.0, np.nan], [3.0, 4.0]]), "errors, rows: expected finite numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            task_contract._errors(trial(*wrong))
    assert task_contract._jacobian(trial([], J, of_velocity=True)) == [2.0, 2.0]  # errors at rest have to be zero
    rate = 2.0 * np.cos(0.6)
    assert max(task_contract._drift(trial([], J, [rate, 0.0]))) < 1e-8
    assert min(task_contract._drift(trial([], J, [1.01 * rate, 0.0]))) > 1e-3
    assert min(task_contract._drift(trial([], J))) == pytest.approx(rate)  # it changes with time without a drift
    assert task_contract._drift(trial([], J, moves=False)) == [0.0, 0.0]
    assert task_contract._drift(trial([], J, [0.5, 0.5], of_velocity=True)) == []
    for drift in (None, [0.5]):
        with pytest.raises(ValueError, match="drift: expected one value per error for a velocity task, got"):
            task_contract._drift(trial([], J, drift, of_velocity=True))
