"""Errors while a function is traced name the user's line, and side effects are reported."""

from __future__ import annotations

import functools
import math
import re
import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.trace.trace import trace
from linkwork.errors import TraceWarning, UnknownNameError
from linkwork.expr import where

STORED: list[Any] = []
ARM = lw.load("arm7")


def branches(q: Any) -> Any:
    return q if q[0] > 0.0 else -q


def uses_math(q: Any) -> Any:
    return math.sin(q[0])


def indexes_a_list(q: Any) -> Any:
    return [1.0, 2.0][q[0]]


def indexes_a_table(q: Any) -> Any:
    return np.arange(3.0)[q[0]]


def indexes_by_truth(q: Any) -> Any:
    return np.arange(3.0)[q < 0.0]


def writes(q: Any) -> Any:
    array = np.zeros(3)
    array[0] = q[0]
    return array


def adds_to(q: Any) -> Any:
    array = np.zeros(3)
    array += q
    return array


def sorts(q: Any) -> Any:
    return np.sort(q)


def plain(q: Any) -> Any:
    return np.sin(np.array([q[0], 1.0]))


def asks_too_much(q: Any) -> Any:
    return ARM.pose(q, "hand")


def without_end(q: Any) -> Any:
    return without_end(where(q < 0.0, q, q - 1.0))


REFUSED: dict[Any, tuple[type[Exception], str]] = {
    branches: (TypeError, "no truth value"),
    uses_math: (TypeError, "no numeric value"),
    indexes_a_list: (TypeError, "linkwork.take"),
    indexes_a_table: (TypeError, "linkwork.take"),
    indexes_by_truth: (TypeError, "linkwork.take"),
    writes: (TypeError, "np.zeros_like"),
    adds_to: (TypeError, r"write a = a \+ b"),
    sorts: (TypeError, "np.sort: not supported on symbols"),
    plain: (TypeError, "linkwork.expr.array"),
    asks_too_much: (ValueError, r"got shape \(3,\)"),
    without_end: (RecursionError, "^f: infinite recursion while tracing.*linkwork.while_loop"),
}


@pytest.mark.light
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_errors_during_a_trace_name_the_users_line_of_code(function: Any) -> None:
    kind, text = REFUSED[function]
    with pytest.raises(kind, match=f"(?s){text}") as caught:
        trace(lambda q: function(q), "f", {"q": 3})
    location = re.search(r"at (.*):(\d+), in (\w+): (.*)", str(caught.value))
    assert location, caught.value
    assert location[1] == __file__ and location[3] == function.__name__
    with open(__file__, encoding="utf-8") as file:
        assert file.read().splitlines()[int(location[2]) - 1].strip() == location[4]


def test_users_exceptions_during_a_trace_keep_their_message_and_get_a_note() -> None:
    def fails(q: Any) -> Any:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        trace(fails, "f", {"q": 3})
    assert "in fails" in caught.value.__notes__[0]
    with pytest.raises(UnknownNameError, match="no frame named 'hend'; did you mean 'hand'") as unknown:
        trace(lambda q: ARM.pose(q, "hend"), "f", {"q": 7})
    assert unknown.value.__notes__


def test_lines_of_a_standard_library_without_folders_are_not_the_users() -> None:
    """An embedded Python has such a library."""
    scope: dict[str, Any] = {"__name__": "dataclasses"}
    exec(compile("import math\ndef replace(q):\n    return math.sin(q[0])", "dataclasses.py", "exec"), scope)
    with pytest.raises(TypeError, match="no numeric value") as caught:
        trace(lambda q: scope["replace"](q), "f", {"q": 3})
    assert __file__ in str(caught.value) and "dataclasses.py" not in str(caught.value)


def test_errors_after_a_trace_name_the_traced_function() -> None:
    def wrong(q: Any) -> Any:
        return q[0] < 1.0, q

    def adds(q: Any) -> Any:
        return (q[0] < 1.0) + q

    line = wrong.__code__.co_firstlineno
    with pytest.raises(TypeError, match=rf"(?s)has a truth value.*in wrong \(.*test_trace_errors.py:{line}\)"):
        trace(wrong, "wrong", {"q": 3})
    line = adds.__code__.co_firstlineno
    with pytest.raises(TypeError, match=rf"(?s)expected arguments.*in adds \(.*test_trace_errors.py:{line}\)"):
        trace(adds, "adds", {"q": 3})


def test_error_for_a_symbol_that_leaks_between_traces_names_both_functions() -> None:
    stored: list[Any] = []

    def leaks(q: Any) -> Any:
        stored.append(q[0])
        return q

    with pytest.warns(TraceWarning):
        trace(leaks, "leaks", {"q": 3})
    with pytest.raises(ValueError, match=r"(?s)two traces.*of the trace of uses \(.*of the trace of leaks \(.*at .*: "):
        trace(lambda q: stored[0] + q, "uses", {"q": 3})
    with pytest.raises(ValueError, match=r"uses: output holds <symbol q\[0\]>, which is of the trace of leaks \("):
        trace(lambda q: stored[0], "uses", {"q": 3})


class Controller:
    """A controller that stores values of a call."""

    def __init__(self) -> None:
        self.last: Any = None
        self.log: list[float] = []

    def keeps(self, q: Any) -> Any:
        self.last = q
        return q

    def counts(self, q: Any) -> Any:
        self.log.append(1.0)
        return q

    def __call__(self, q: Any) -> Any:
        return self.keeps(q)


def keeps_globally(q: Any) -> Any:
    STORED.append(1.0)
    return q


def test_side_effects_of_traced_functions_are_reported_with_variable_and_line() -> None:
    last: Any = None
    values: dict[str, Any] = {}
    constants: set[Any] = set()

    def rebinds(q: Any) -> Any:
        nonlocal last
        last = q[0]
        return q

    def fills(q: Any) -> Any:
        values["q"] = q
        constants.add(2.0)
        return q

    def helps(q: Any) -> Any:
        return keeps_globally(q)

    expected = {
        "STORED, by another function": (helps, keeps_globally.__code__.co_firstlineno + 1, "has grown"),
        "last": (rebinds, rebinds.__code__.co_firstlineno + 2, "holds symbols"),
        "values": (fills, fills.__code__.co_firstlineno + 1, "holds symbols"),
        "STORED": (keeps_globally, keeps_globally.__code__.co_firstlineno + 1, "has grown"),
        "self.last": (Controller().keeps, None, "holds symbols"),
        "self.log": (functools.partial(Controller().counts), None, "has grown"),
    }
    for variable, (function, line, effect) in expected.items():
        with pytest.warns(TraceWarning) as caught:
            trace(function, "f", {"q": 3})
        messages = [str(warning.message) for warning in caught]
        assert any(message.startswith(f"f: {variable.partition(',')[0]} {effect}") for message in messages), messages
        assert line is None or any(f"test_trace_errors.py:{line})" in message for message in messages), messages
    assert any(message.startswith("f: constants has grown") for message in _messages(fills))
    assert any("holds symbols" in message for message in _messages(Controller()))


def _messages(function: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for variable in getattr(function, "__closure__", None) or ():
            if isinstance(variable.cell_contents, (set, dict)):
                variable.cell_contents.clear()
        trace(function, "f", {"q": 3})
    return [str(warning.message) for warning in caught]


def test_reading_outer_variables_in_a_traced_function_is_not_reported() -> None:
    table, robot, cell = [1.0, 2.0, 3.0], ARM, {"k": 2.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(lambda q: np.array(table) * q[:3] * cell["k"] + robot.gravity_force(q)[:3], "f", {"q": 7})
