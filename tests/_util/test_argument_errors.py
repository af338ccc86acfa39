"""Errors that are converted to errors of an argument, and internal errors, which pass unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import argument_errors
from linkwork._util.checked_arguments import public
from linkwork.errors import ArgumentError

SOURCE = """
TABLE = {"known": 1.0}

def looked_up(q, name="known", options=None):
    if options is not None:
        return options["step"]
    return TABLE[name]

def with_a_table(q, scene):
    return TABLE["distances", scene]
"""


INNER = """
from linkwork.errors import UnknownNameError

def inner(speed=None, knots=None):
    if speed is not None:
        raise ValueError(f"inner: speed: expected a number, got {speed}")
    if knots is not None:
        raise ValueError(f"inner: knots: expected an array, got {knots}")
    raise ValueError("inner: expected limits")

def outer(q, speed=None):
    inner(speed)

def passing(times):
    inner(knots=times)

def of_another(q, speed):
    raise ValueError(f"simulate: speed: expected a number, got {speed}")

def typed(q: float, name: str):
    raise TypeError(f"typed: expected a name, got {name!r}")

def labelled(q: str):
    raise TypeError(f"labelled: 'x': expected a name, got {q!r}")

def own_name(q, names):
    raise ValueError(f"elbow: q: expected a number, got {q}")

def unknown(q, names):
    raise UnknownNameError("joint", "no" + names[0], ["elbow"], where="unknown")
"""


def functions() -> dict[str, Any]:
    """Return functions whose code counts as linkwork's own."""
    space: dict[str, Any] = {"__name__": "linkwork.example"}
    exec(compile(SOURCE + INNER, "<linkwork>", "exec"), space)
    return {name: public(value) for name, value in space.items() if callable(value)}


def test_key_error_inside_a_function_is_not_reported_as_an_error_of_an_argument() -> None:
    functions_by_name = functions()
    for scene in ("room", 3, (1, 2), np.ones(3)):
        kind = TypeError if isinstance(scene, np.ndarray) else KeyError
        with pytest.raises(kind, match=r"distances|do not fit together") as caught:
            functions_by_name["with_a_table"](np.zeros(2), scene)
        assert kind is TypeError or caught.value.args == (("distances", scene),)


def test_key_error_caused_by_an_argument_is_reported_with_the_arguments_name() -> None:
    functions_by_name = functions()
    assert functions_by_name["looked_up"](1.0) == 1.0
    with pytest.raises(ValueError, match="looked_up: name: expected another value, got 'other'"):
        functions_by_name["looked_up"](np.zeros(2), "other")
    with pytest.raises((ValueError, ArgumentError), match=r"looked_up: .*options"):
        functions_by_name["looked_up"](np.zeros(2), "known", {"size": 1.0})


def test_missing_argument_messages_are_rewritten_only_for_the_called_function() -> None:
    def one(a: Any, b: Any) -> None: ...

    def two(a: Any, b: Any) -> None: ...

    missing = f"{two.__qualname__}() missing 1 required positional argument: 'b'"
    counted = f"{two.__qualname__}() takes 2 positional arguments but 3 were given"
    for text in (missing, counted):
        assert [argument_errors._calls_of(x, text) for x in (two, one, "two", 3)] == [True, False, False, False]
    for text in (missing.replace("'b'", "'c'"), counted.replace("takes 2", "takes 4"), "b: expected a number"):
        assert not argument_errors._calls_of(two, text), text


@pytest.mark.light
@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("outer", (np.zeros(2), -1), "outer: speed: expected a number, got -1"),
        ("outer", (np.zeros(2),), "outer: expected limits"),
        ("passing", (3,), "passing: times: inner: knots: expected an array, got 3"),  # passing has no argument knots
        ("of_another", (np.zeros(2), -1), "of_another: speed: expected a number, got -1"),
        ("typed", (1.0, None), "typed: name: expected a name, got None"),
        ("labelled", (np.zeros((2, 30)),), "labelled: q: 'x': expected a name, got ndarray of shape (2, 30)"),
        ("unknown", (1.0, ["x"]), "unknown: no joint named 'nox'; there are 'elbow'"),
        ("inner", (3,), "inner: speed: expected a number, got 3"),
        ("own_name", (3, ["elbow"]), "own_name: elbow: q: expected a number, got 3"),  # the user's own name
        ("own_name", (3, {"elbow": 1.0}), "own_name: elbow: q: expected a number, got 3"),
        ("own_name", (3, [lw.Link("elbow")]), "own_name: elbow: q: expected a number, got 3"),
        ("own_name", (3, "wrist"), "own_name: q: expected a number, got 3"),
    ],
)
def test_errors_name_the_called_function_and_no_inner_function(name: str, arguments: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        functions()[name](*arguments)
    assert str(caught.value).removesuffix(" and type float64") == message
