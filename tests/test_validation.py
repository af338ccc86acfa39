"""Shared checks of arguments, and the decorator of public functions, which converts errors."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest

import linkwork as lw
from linkwork import environments
from linkwork._util import validation as check
from linkwork._util.checked_arguments import public, public_constructor
from linkwork.errors import ArgumentError, UnknownNameError

NOT_NUMBERS = (None, True, "1", b"1", 1j, [1.0], np.ones(2), 10**400, object())


def _matrix() -> Any:
    with pytest.warns(PendingDeprecationWarning):
        return np.matrix([[1, 2]])


def test_validation_functions_return_valid_values_and_name_invalid_values() -> None:
    assert check.integer("f", "n", np.int64(3), least=1) == 3
    assert check.finite_number("f", "x", Fraction(1, 2)) == 0.5 and check.positive("f", "x", np.array(2.0)) == 2.0
    assert check.non_negative("f", "x", math.inf, infinite=True) == math.inf
    assert check.boolean("f", "x", np.True_) is True and check.names("f", "x", "one") == ("one",)
    assert (
        check.sequence_of("f", "x", (1, 2), check.integer) == (1, 2)
        and check.optional(check.name)("f", "x", None) is None
    )
    assert check.finite_array("f", "x", [[1, 2]], shape=("...", 2)).shape == (1, 2)
    assert check.seed("f", "seed", 10**30) == 10**30
    cases: list[tuple[Callable[[Any], Any], tuple[Any, ...], str]] = [
        (lambda x: check.integer("f", "x", x, least=1, most=9), (*NOT_NUMBERS, 1.0, 0, 10), "an integer from 1 to 9"),
        (lambda x: check.positive("f", "x", x, unit="s"), (*NOT_NUMBERS, 0, -1.0, math.nan, math.inf), r"> 0 \[s\]"),
        (lambda x: check.finite_number("f", "x", x, nonzero=True), (*NOT_NUMBERS, 0, -0.0), "number other than 0"),
        (
            lambda x: check.finite_number("f", "x", x, above=0.0, most=9.0, description="a length", unit="m"),
            (0, 9.5, math.nan), r"a length \[m\]",
        ),
        (lambda x: check.tolerance("f", "x", x), (*NOT_NUMBERS, -1, math.nan), "a finite number >= 0"),
        (lambda x: check.boolean("f", "x", x), (None, 0, 1, "yes", np.ones(2)), "True or False"),
        (lambda x: check.name("f", "x", x), (None, 3, b"a", " ", []), "a name"),
        (lambda x: check.one_of("f", "x", x, ("left", "right")), (None, "rihgt", ["left"]), "one of 'left', 'right'"),
        (lambda x: check.names("f", "x", x), (3, ["a", 3], {"a": 1}), "name"),
        (lambda x: check.seed("f", "x", x), (-1, 1.5, "a", _matrix()), "a numpy.random.Generator or an integer >= 0"),
        (lambda x: check.function("f", "x", x), (None, 3, "f"), "a function"),
        (lambda x: check.finite_array("f", "x", x, shape=(2,)), (None, "a", [1.0], [1, math.nan]), r"shape \(2,\)"),
        (lambda x: check.instance("f", "x", x, dict), (None, []), "an object of type dict"),
    ]  # fmt: skip
    for checked, wrong, expected in cases:
        for value in wrong:
            with pytest.raises((TypeError, ValueError), match=rf"^f: x(\[\d\])?: expected .*{expected}"):
                checked(value)
    with pytest.raises(ValueError, match=r"^f: x: expected a finite number >= 0 and <= 1, got 2"):
        check.finite_number("f", "x", 2, least=0.0, most=1.0)
    with pytest.raises(ValueError, match=r"did you mean 'right'"):
        check.one_of("f", "x", "rihgt", ("left", "right"))
    with pytest.raises(ValueError, match=r"f: lower: expected bounds <= upper"):
        check.bounds("f", [0.0, 2.0], 1.0)
    with pytest.raises(ValueError, match=r"up to 2147483647, got 9223372036854775808"):
        check.integer("f", "n", 2**63)
    for text in ("1", b"1", ["1"], np.array(["1"]), [None]):
        with pytest.raises((TypeError, ValueError), match=r"are not (real )?numbers"):
            check.floats(text)


def test_validation_functions_distinguish_the_floats_next_to_a_limit() -> None:
    """The numbers nearest to a limit: inside, and outside; infinity; shapes; lengths; and values in messages."""
    near, inf = math.nextafter, math.inf
    zero, tiny, row = [0.0, near(0.0, 1.0)], near(0.0, 1.0), partial(check.sequence_of, check=check.integer, least=2)
    cases: list[tuple[Callable[..., Any], dict[str, Any], list[Any], list[Any]]] = [
        (check.integer, {"least": 1, "most": 9}, [1, 9, np.int8(9)], [0, 10, -(10**40)]),
        (check.integer, {}, [check.MOST_COUNT, -(10**40)], [check.MOST_COUNT + 1]),
        (check.finite_number, {}, [-1e308, 1e308], [inf, -inf, 10**400]),
        (check.finite_number, {"least": 0.0, "most": 1.0}, [0.0, 1.0], [-tiny, near(1.0, 2.0)]),
        (check.finite_number, {"above": 1.0, "infinite": True}, [near(1.0, 2.0), inf], [1.0, -inf]),
        (check.finite_number, {"nonzero": True}, [tiny, -tiny], [0.0, -0.0, 0]),
        (check.positive, {}, [tiny], [0.0, -tiny, inf]),
        (check.positive, {"infinite": True}, [tiny, inf], [0.0]),
        (check.non_negative, {}, zero, [-tiny, inf]),
        (check.duration, {}, [*zero, inf], [-tiny]),
        (check.tolerance, {}, zero, [-tiny, inf]),
        (check.seed, {}, [0, np.random.default_rng(0)], [-1]),
        (check.seed, {"generator": False}, [0], [np.random.default_rng(0)]),
        (check.name, {"empty": True}, ["", " "], [b""]),
        (row, {}, [(1, 2), [1, 2, 3], range(2)], [(), (1,), {1: 2, 2: 3}, "ab", 3]),
        (check.finite_array, {"shape": ("...", 2)}, [[1, 2], [[1, 2]], np.ones((3, 1, 2))], [3.0, [1], [[1, 2, 3]]]),
        (check.finite_array, {"shape": (2, "n")}, [np.ones((2, 1)), np.ones((2, 0))], [np.ones((1, 2)), np.ones(2)]),
        (check.finite_array, {"infinite": True}, [[inf, -inf], []], [[math.nan], np.ma.masked_array([1.0])]),
        (check.finite_array, {}, [[Fraction(1, 2)], True * np.ones(1, bool)], [[inf], "1", {1: 2}, {1}, [[1], [1, 2]]]),
    ]  # fmt: skip
    for checked, options, inside, outside in cases:
        for value in inside:
            result = checked("f", "x", value, **options)
            assert result is value or np.array_equal(np.asarray(result), np.asarray(value, float)) or result == value
        for value in outside:
            with pytest.raises((TypeError, ValueError), match=r"^f: x: expected .* got "):
                checked("f", "x", value, **options)
    assert check.scalar_or_tuple("f", "x", [1, inf], each="y") == (1.0, inf)
    assert isinstance(check.scalar_or_tuple("f", "x", np.float64(1.0), each="y"), float)
    for value in ([[1.0]], [math.nan], "a"):
        with pytest.raises(ValueError, match="f: x: expected a number, or one for each joint, got"):
            check.scalar_or_tuple("f", "x", value, each="for each joint")
    assert check.bounds("f", [0.0, 2.0], [0.0, inf])[1].tolist() == [0.0, inf]
    with pytest.raises(ValueError, match="lower: expected bounds <= upper"):
        check.bounds("f", [near(1.0, 2.0)], [1.0])
    with pytest.raises(ValueError, match=r"^f: x: expected an array of finite numbers of shape \(2,\) \[m\], got "):
        check.finite_array("f", "x", [inf, 0.0], shape=(2,), unit="m")
    assert check.shown(10**40) == "an integer of 133 bits" and check.shown(10**40 - 1) == "9" * 40
    assert check.shown(np.ones(7)) == "ndarray of shape (7,) and type float64" and "1" in check.shown(np.ones(6))
    assert len(check.shown("a" * 10**6)) < 200 and check.shown([1]) == "[1]" and "..." in check.shown([1] * 1000)


def test_argument_error_is_a_value_error_and_a_type_error() -> None:
    error = pickle.loads(pickle.dumps(ArgumentError("f: x: expected a number")))
    assert isinstance(error, TypeError) and isinstance(error, ValueError) and str(error) == "f: x: expected a number"


@public(tolerance=check.non_negative)
def _measured(values: Any, flag: bool = False, kind: Literal["a", "b"] = "a", names: Sequence[str] = (),
              tolerance: float = 0.0, count: int = 1, apply: Callable[[Any], Any] | None = None) -> Any:  # fmt: skip
    if kind not in ("a", "b"):
        raise ValueError("_measured: kind: its own words")
    return np.linalg.norm(values) if apply is None else apply(values)


def test_argument_errors_name_the_checked_function_and_its_argument() -> None:
    assert _measured([3.0, 4.0]) == 5.0
    for arguments, expected in (
        ({"flag": 1}, "_measured: flag: expected True or False, got 1"),
        ({"kind": "c"}, "_measured: kind: its own words"),
        ({"names": [3]}, r"_measured: names: expected a sequence of strings, such as \['a', 'b'\], got \[3\]"),
        ({"tolerance": -1.0}, "_measured: tolerance: expected a finite number >= 0, got -1"),
        ({"tolerance": math.nan}, "_measured: tolerance: expected a finite number >= 0, got nan"),
        ({"count": 2**40}, "_measured: count: expected an integer up to 2147483647"),
        ({"count": 1.5}, "_measured: count: expected an integer, got 1.5"),
        ({"apply": 3}, "_measured: apply: expected a function or None, got 3"),
        ({"values": b"12"}, "_measured: values: expected"),
        ({"values": [[1.0], [1.0, 2.0]]}, "_measured: values: expected"),
    ):
        with pytest.raises((TypeError, ValueError), match=rf"^{expected}"):
            _measured(**{"values": [1.0], **arguments})


@public
def _frame_value(robot: Any, a: Any, frame: Any = "world", names: Any = (), points: Any = None) -> Any:
    if points is not None:
        raise ValueError(f"_frame_value: expected points (n, 3) [m], got {points!r}")
    if a == "an array":
        raise ValueError("expected an array")
    if names and a is None:
        raise ValueError("_frame_value: expected a number of names, got None")
    for name in (frame, *names):
        if name != "world":
            raise UnknownNameError("frame", name, ["world"])
    return a + 1.0


@public
def _summed(values: Any) -> float:
    return float(sum(x for x in values))


def test_number_passed_as_a_sequence_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"^_summed: values: expected a sequence, got 3$"):
        _summed(3)


def test_errors_of_inner_functions_are_raised_with_the_public_function_and_argument() -> None:
    """An unknown name is found in the arguments; words that are an argument's name by chance do not count."""
    for arguments, expected in (
        ({"frame": "wrold"}, r"_frame_value: frame: no frame named 'wrold'; did you mean 'world'\?"),
        ({"names": ("world", "hand")}, r"_frame_value: names: no frame named 'hand'"),
        ({"names": {"hand": 1.0}}, r"_frame_value: names: no frame named 'hand'"),
        ({"names": [3]}, r"_frame_value: names: no frame named 3"),
        ({"points": "x"}, r"_frame_value: points: expected points \(n, 3\) \[m\], got 'x'"),
        ({"a": "one"}, r"_frame_value: a: expected another value, got 'one'; .*str"),
        ({"a": None, "names": ("hand",)}, r"_frame_value: a: expected a number of names, got None"),
    ):
        with pytest.raises(ValueError, match=rf"^{expected}"):
            _frame_value(**{"robot": object, "a": 1.0, **arguments})
    with pytest.raises(
        ValueError, match=r"^_frame_value: a: expected an array|these arguments do not fit together: .*a ="
    ):
        _frame_value(object, "an array")
    with pytest.raises(KeyError, match="no frame named 'wrold'; did you mean 'world'") as caught:
        _frame_value(object, 1.0, "wrold")
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, ValueError) and error.where == "_frame_value: frame" and str(error) == str(caught.value)
    assert (error.kind, error.name, error.known) == ("frame", "wrold", ("world",))
    robot = lw.load("double_pendulum")
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("pose: frame: no frame named 'hnad'", lambda: robot.pose([0.0, 0.0], "hnad")),
        ("pose: q: no joint named 'hip'", lambda: robot.pose({"hip": 1.0}, "tip")),
        ("hybrid_dynamics: joints: expected", lambda: robot.hybrid_dynamics([0, 0], [0, 0], [0, 0], [0, 0], None)),
        ("jacobian: expressed_in: no frame named 'x'", lambda: robot.jacobian([0.0, 0.0], "tip", expressed_in="x")),
        ("AlignTask: task 'ray': weight", lambda: lw.ik.AlignTask("ray", weight=math.nan)),
        ("PoseTask: task 'tip': level: expected an integer", lambda: lw.ik.PoseTask("tip", level=0.5)),
        ("ik_problem: tasks: no frame named 'nil'", lambda: robot.ik_problem(lw.ik.PoseTask("nil"))),
        ("Scene.with_pose: name: no obstacle named 'x'", lambda: lw.Scene().with_pose("x", [0.0, 0.0, 0.0])),
    )
    for expected, call in calls:
        with pytest.raises(ValueError, match=rf"^{expected}"):
            call()


def test_counts_and_seeds_may_be_any_integer_type() -> None:
    robot = lw.load("double_pendulum")
    for count in (np.int64(2), np.uint8(2)):
        assert lw.ik.PoseTask("tip", level=count).level == 2
        assert environments.VectorEnvironment("pendulum", count).num_envs == 2
        assert robot.simulate([0.0, 0.0], duration=0.004, dt=1e-3, record_every=count).t.shape == (3,)
    for seed in (np.int64(3), 10**30, np.random.default_rng(3)):
        assert robot.random_configuration(seed=seed).shape == (2,)
    for seed in (_matrix(), [1], -1, 1.5, "3"):  # NumPy crashes on the first
        with pytest.raises(ValueError, match=r"^mobility: seed: expected a numpy.random.Generator or an integer >= 0"):
            robot.mobility(seed=seed)


def test_errors_of_users_functions_propagate_unchanged() -> None:
    def own(values: Any) -> Any:
        return values.no_such_attribute

    with pytest.raises(AttributeError, match=r"no_such_attribute"):
        _measured([1.0], apply=own)
    with pytest.raises(TypeError, match=r"_measured: no option named 'other'; there are"):
        _measured([1.0], other=1)


def test_methods_called_on_a_subclass_are_reported_with_the_subclass_name() -> None:
    @public_constructor
    class Base:
        def __init__(self, size: float) -> None:
            self.size = size

    class Derived(Base):
        pass

    assert Derived(2.0).size == 2.0
    with pytest.raises(ValueError, match=r"^Derived: size: expected a number, got nan"):
        Derived(math.nan)


def test_argument_values_that_once_gave_meaningless_results_are_refused() -> None:
    """Values that gave results without meaning: each is refused, with the argument's name."""
    robot, line = lw.load("double_pendulum"), lw.motion.Trajectory.polynomial([0.0, 1.0], [[[0.0, 1.0]]])
    mass = np.ones(10)
    calls: dict[str, Callable[[Any], Any]] = {
        "base_parameters: tolerance": lambda x: robot.base_parameters(tolerance=x),
        "physical_consistency: tolerance": lambda x: robot.physical_consistency(tolerance=x),
        "Trajectory.concatenate: tolerance": lambda x: line.concatenate(line.shifted(1.0), tolerance=x),
        "Trajectory.satisfies_limits: tolerance": lambda x: line.satisfies_limits(velocity=2.0, tolerance=x),
        "is_physical: tolerance": lambda x: lw.parameters.is_physical(mass, tolerance=x),
        "explain: tolerance": lambda x: lw.parameters.explain(mass, tolerance=x),
        "hold: step": lambda x: lw.control.lqr_about_state(robot, [0.0, 0.0], dt=x),
        "Distance: length": lambda x: lw.constraints.Distance("a", "b", x),
        "profile: velocity": lambda x: lw.motion.profile(0.0, 1.0, velocity=x, acceleration=1.0, jerk=1.0),
        "TrajectoryProblem: duration": lambda x: lw.TrajectoryProblem(robot, num_steps=2, duration=x),
        "simulate: seed": lambda x: robot.simulate([0.0, 0.0], duration=0.01, seed=x),
    }
    for title, call in calls.items():
        for value in (math.nan, -1.0, b"1", "1"):
            with pytest.raises((TypeError, ValueError), match=rf"{title.partition(': ')[2]}|expected"):
                call(value)
    for seed in (object(), _matrix(), 1.5):
        with pytest.raises(ValueError, match=r"seed: expected an integer"):
            robot.simulate([0.0, 0.0], duration=0.01, seed=seed)
    for options in ({"constants": {"nobody": 1.0}}, {"time_inputs": {"nobody": np.zeros(10)}}):
        with pytest.raises(
            ValueError, match=rf"simulate: {next(iter(options))}: expected a controller that takes nobody"
        ):
            robot.simulate([0.0, 0.0], duration=0.01, **options)
    with pytest.raises(ValueError, match=r"start and end: expected start <= end, got 2 and -1 s"):
        lw.motion.Trajectory.by_coordinate([[0.0, 1.0]], [[[0.0, 1.0]]], start=2.0, end=-1.0)
    with pytest.raises(ValueError, match=r"linearize: dt: expected .* got -0.1"):
        robot.linearize([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], dt=-0.1)
    with pytest.raises((TypeError, ValueError), match=r"expected_in|expressed_in: expected"):
        robot.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], expressed_in=3)


def test_invalid_initial_states_of_environment_tasks_are_refused() -> None:
    robot = lw.load("double_pendulum")
    for start in ((np.array([math.nan, 0.0]), np.zeros(2)), (np.zeros(2), np.zeros(3))):
        task = environments.ControlTask(
            robot,
            lambda rng, start=start: start,
            lambda q, v, goal: q,
            lambda q, v, tau, goal: 0.0,
            ("shoulder",),
            (1.0,),
        )
        with pytest.raises(ValueError, match=r"VectorEnvironment: task: start: [qv]: expected"):
            environments.VectorEnvironment(task, 2).reset(seed=0)


def test_absurdly_large_sizes_are_refused_before_memory_is_allocated() -> None:
    robot, line = lw.load("double_pendulum"), lw.motion.Trajectory.polynomial([0.0, 1.0], [[[0.0, 1.0]]])
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("compile: x: expected at most 4194304 elements", lambda: lw.compile(lambda x: x, x=10**30)),
        ("compile: x: expected at most 4194304 elements", lambda: lw.compile(lambda x: x, x=(10**5, 10**5))),
        ("simulate: duration: expected at most 1e.10 steps", lambda: robot.simulate([0.0, 0.0], duration=2**63)),
        ("simulate: duration: expected at most 8589934592 values", lambda: robot.simulate([0, 0], duration=5e6)),
        ("sampled: num_samples: expected an integer from 2 to 1000000000", lambda: line.sampled(num_samples=2 * 10**9)),
        ("sampled: dt: expected at most 1000000000 samples", lambda: line.sampled(dt=1e-300)),
        ("expected an integer up to 2147483647", lambda: robot.base_parameters(samples=10**12)),
    )
    for expected, call in calls:
        with pytest.raises(ValueError, match=expected):
            call()
