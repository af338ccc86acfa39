"""Texts of values in messages, and checks of arguments whose values have no usual form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from linkwork._util.declared_kinds import is_meaningless
from linkwork._util.plotting import Panels
from linkwork._util.validation import bounds, finite_number, number, shown
from linkwork.errors import ArgumentError, ModelError, UnknownNameError


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_text_of_a_value_is_short_on_one_line_and_never_an_error() -> None:
    assert shown(Silent()) == "an object of type Silent"
    assert shown("a\nb") == "'a\\nb'" and shown(np.zeros((7, 1))) == "ndarray of shape (7, 1) and type float64"
    assert shown([1, 2]) == "[1, 2]" and shown(np.zeros(6)) == "array([0., 0., 0., 0., 0., 0.])"
    long = shown([0] * 1000)
    assert long.startswith("[0, 0, ") and long.endswith("... (list)") and len(long) <= 130
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    for name, kind in ((nested, "list"), (Silent(), "Silent")):
        assert str(UnknownNameError("frame", name, ["a"])) == f"no frame named an object of type {kind}; there are 'a'"


def test_bounds_are_arrays_that_broadcast_with_the_lower_below_the_upper() -> None:
    low, high = bounds("f", [0.0, 1.0], 1.0)
    assert low.tolist() == [0.0, 1.0] and high == 1.0
    assert bounds("f", -np.inf, np.inf)[0] == -np.inf
    for lower, upper, message in (
        ([0.0, 1.0], [1.0, 1.0, 1.0], r"f: lower and upper: shapes \(2,\) and \(3,\) do not broadcast"),
        ([0.0, 1.0 + 1e-15], 1.0, "f: lower: expected bounds <= upper, got"),
    ):
        with pytest.raises(ValueError, match=message):
            bounds("f", lower, upper)


def test_values_beyond_the_range_of_floats_and_texts_are_refused() -> None:
    assert number(np.float32(0.5)) == 0.5 and number(Fraction(1, 4)) == 0.25 and number(10**300) == 1e300
    with pytest.raises(ValueError, match="too large to convert to float"):
        number(10**400)
    for value in ("0.5", b"1", True):
        with pytest.raises(TypeError, match="strings, bytes and booleans are not numbers"):
            number(value)
    assert finite_number("f", "x", 2.5, least=2.5) == 2.5
    with pytest.raises(ValueError, match=r"f: x: expected a finite number >= 2.5, got 2.4"):
        finite_number("f", "x", 2.4, least=2.5)


@pytest.mark.light
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array(["a"]), True),
        (np.array([1j]), True),
        (np.array([b"a"]), True),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), True),
        (np.ma.masked_array([1.0, 2.0], mask=[True, False]), True),
        (np.array([1.0]), False),
        (np.array([1, 2]), False),
        (np.array([True]), False),
    ],
)
def test_arrays_of_texts_dates_and_complex_values_have_no_meaning_for_any_argument(
    value: np.ndarray, expected: bool
) -> None:
    assert is_meaningless(value) == expected


def test_arrays_of_axes_say_where_their_figure_is_and_errors_have_an_issue() -> None:
    panels = np.empty(2, dtype=object).view(Panels)
    with pytest.raises(AttributeError, match=r"no attribute 'savefig'; its figure has: panels.figure.savefig"):
        _ = panels.savefig
    with pytest.raises(ValueError, match="ModelError: expected at least one issue"):
        ModelError([])
    assert issubclass(ArgumentError, (TypeError, ValueError))
