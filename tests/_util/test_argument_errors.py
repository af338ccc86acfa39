"""Errors that are converted to errors of an argument, and internal errors, which pass unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


def functions() -> dict[str, Any]:
    """Return functions whose code counts as linkwork's own."""
    space: dict[str, Any] = {"__name__": "linkwork.example"}
    exec(compile(SOURCE, "<linkwork>", "exec"), space)
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
