"""Errors name the wrong argument if several hold the same value, or another function raised them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import unknown_names
from linkwork._util.checked_arguments import public
from linkwork._util.unknown_names import unknown_name_error
from linkwork.errors import ArgumentError, UnderactuatedError, UnknownNameError
from linkwork.expr import cond, scan
from linkwork.expr.optimize import quadratic_program

ARM = lw.load("double_pendulum")
LOOP = lw.load("fourbar")
ZEROS = np.zeros(2)


class Names:
    """Names in an object that is neither a list nor an iterator."""

    def __iter__(self) -> Iterator[str]:
        return iter(["x"])


@public
def lookup(names: Any, gains: Any = None, points: np.ndarray | None = None, texts: str = "") -> None:
    """Look for the first of some names among none."""
    raise UnknownNameError("joint", next(iter(names)), [])


def test_error_of_an_unknown_name_names_the_argument_that_contains_it() -> None:
    """Numbers and letters of other arguments, which are equal by chance, are not taken for it."""
    for names in (
        *(["a"], {"a"}, np.array(["a"]), {"a": 1.0}, ("a",), [1.0], {1.0, 2.0}, np.ones(3), (x for x in (1.0, 2.0))),
        *(np.full(2, np.nan), np.array(["2020-01-01"], dtype="datetime64[s]"), np.zeros(2, [("a", float)]), b"\x01"),
        *(np.ma.masked_array([1.0], mask=True), np.array([None, "x"], dtype=object), [None], [(1.0, 2.0)]),
    ):
        with pytest.raises(UnknownNameError, match=r"^lookup: names: no joint named "):
            lookup(names, gains={"elbow": 1.0, "hand": 2.0}, points=np.ones((2, 3)), texts="a hand")
    with pytest.raises(UnknownNameError, match=r"^lookup: no joint named 'x'"):  # nothing tells
        lookup(Names(), gains=[1.0])
    with pytest.raises(UnknownNameError, match=r"^lookup: names: no joint named 'x'"):
        lookup(iter(["x"]), gains=[1.0])


def test_unknown_joint_names_in_arguments_with_an_alias_are_reported() -> None:
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("assemble: q_init: no joint named 'hip'", lambda: LOOP.assemble({"hip": 1.0})),
        (
            "assemble: weights: no joint or coordinate of v named 'hip'",
            lambda: LOOP.assemble(LOOP.neutral(), weights={"hip": 1.0}),
        ),
        ("plan: goal: no joint named 'hip'", lambda: ARM.plan(ZEROS, {"hip": 1.0})),
        ("joint_wrenches: actuators: no joint or coordinate of v named None", lambda: _wrenches(ARM, (None, None))),
        (
            "PD: actuators: no joint or coordinate of v named nan",
            lambda: lw.control.PD(ARM, 1.0, 1.0, actuators=[np.nan]),
        ),
    )
    for expected, call in calls:
        with pytest.raises(UnknownNameError, match=rf"^{expected}"):
            call()
    with pytest.raises(UnknownNameError, match="vectors= accepts directions in its axes"):
        ARM.direction_vector(ZEROS, ["tip"])


def _wrenches(robot: lw.Robot, actuators: Any) -> np.ndarray:
    zeros = np.zeros(robot.nv)
    result: np.ndarray = robot.joint_wrenches(np.zeros(robot.nq), zeros, zeros, actuators=actuators)
    return result


def test_errors_of_inner_functions_name_the_argument_of_the_public_call() -> None:
    program = lw.compile(lambda x, y: x + y, x=2, y=())
    line = lw.motion.spline([0.0, 1.0], [[0.0], [1.0]])
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("cond: pred: expected a truth value", lambda: cond("yes", lambda: 1.0, lambda: 0.0)),
        ("cond: false_fun: expected a function of 0 operands", lambda: cond(False, lambda: 1.0, lambda x: x)),
        ("scan: f: ", lambda: scan(int, 0.0, length=3)),
        ("compile: function: expected a function", lambda: lw.compile({3: "x"})),
        ("drive_mechanism: q_init: .*expected an array", lambda: LOOP.drive_mechanism({"crank_hinge": [0.0, 0.1]}, [])),
        ("equilibrium: time: expected a finite number", lambda: LOOP.equilibrium(LOOP.neutral(), time=np.zeros(2))),
        ("inverse_kinematics: X_target: ", lambda: ARM.inverse_kinematics(np.ones(2), "tip", locked=np.array([]))),
        ("distance_field: shapes: ", lambda: lw.distance_field([[]], 0.1)),
        ("Coupling: joints: weight of 3: expected a number", lambda: lw.constraints.Coupling({3: "x"})),  # type: ignore[call-overload]
        ("time_optimal: .*widen velocity, acceleration, ", lambda: _timed(line, 1e30)),
        ("Kernel.interpret: arrays: ", lambda: program.interpret((None, None), 1.0)),
        ("Kernel.call_python: arrays: ", lambda: program.call_python([], 1.0)),
        *(
            (f"quadratic_program: {name}: expected", partial(_program, solve, **{name: x}))
            for solve in (lw.quadratic_program, quadratic_program)
            for name in ("g", "x_lower", "x_upper", "warm_start")
            for x in ((None, None), {"a": 1.0}, len, lambda: 1.0)
        ),
    )
    for expected, call in calls:
        with pytest.raises((ValueError, TypeError), match=rf"^{expected}"):
            call()
    at_rest, pushed = np.zeros(LOOP.nv), np.ones(LOOP.nv)
    with pytest.raises(UnderactuatedError, match=r"^loop_joint_wrenches: actuators none cannot induce"):
        LOOP.loop_joint_wrenches(LOOP.neutral(), at_rest, pushed, actuators=[])


def _program(solve: Callable[..., Any], **more: Any) -> Any:
    return solve(**{"H": np.eye(2), "g": [1.0, 1.0], **more})


def _timed(path: Any, speed: float) -> Any:
    return lw.motion.time_optimal(path, velocity=1.0, acceleration=1.0, end_speed=speed)


def test_paths_that_are_not_files_are_refused_by_functions_that_write_files(tmp_path: Path) -> None:
    for path in ("", str(tmp_path)):
        for overwrite in (False, True):
            with pytest.raises(ValueError, match=r"^save_loops: path: expected the path of a regular file, got "):
                LOOP.save_loops(path, overwrite=overwrite)


def test_numpy_booleans_are_accepted_as_python_booleans() -> None:
    assert ARM.simulate(ZEROS, duration=0.002, passive=np.True_).t.shape[0] > 1
    assert lw.load("double_pendulum", strict=np.False_).nq == 2
    with pytest.raises(ArgumentError, match="load: strict: expected True or False, got 1"):
        lw.load("double_pendulum", strict=1)  # type: ignore[arg-type]


def test_ik_task_with_very_many_components_is_constructed_in_linear_time() -> None:
    """A count of units for each row would need 10^10 comparisons."""
    task = lw.ik.ClearanceTask(links=tuple(f"link {k}" for k in range(100_000)))
    assert len(task.tolerances) == 100_000


def test_unknown_name_is_attributed_to_the_argument_with_that_value():
    """A name out of an array or a file: the argument with that value, not one of the same type, nor an equal number."""

    def function(first, second): ...

    parameters = [*inspect.signature(function).parameters.values()]
    for name, value in (("knee", "hip"), (1.0, 2.0), (1.0, True), (1.0, 1)):
        values = [("first", parameters[0], value), ("second", parameters[1], type(name)(str(name)))]
        error = unknown_name_error(UnknownNameError("joint", name, ["elbow"]), function, "f", values)
        assert error.where == "f: second", (name, value)


def test_rank_of_an_array_that_contains_a_name_as_a_row_or_as_an_element_is_that_of_an_item() -> None:
    for name, array, contained in (
        (np.array([3.0, 4.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), True),
        (np.array([2.0, 4.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), False),
        (4.0, np.array([[1.0, 2.0], [3.0, 4.0]]), True),
        (4.0, np.array(4.0), True),
        (5.0, np.array(4.0), False),
    ):
        rank = unknown_names._depth(name, unknown_names._is_equal, array, 3)
        assert rank == (unknown_names._ITEM if contained else unknown_names._NOT_FOUND), (name, array)
