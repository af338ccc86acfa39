"""Texts of values in messages, and checks of arguments whose values have no usual form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork._util import messages
from linkwork._util.checked_arguments import _Signature
from linkwork._util.color_spaces import linear_from_srgb, srgb_from_linear
from linkwork._util.declared_kinds import _is_ragged, fits, is_meaningless
from linkwork._util.html_tables import html_table
from linkwork._util.pictures import check_output
from linkwork._util.plotting import Panels
from linkwork._util.unknown_names import _no_option
from linkwork._util.validation import bounds, finite_number, number, shown
from linkwork.errors import ArgumentError, ModelError, UnknownNameError
from linkwork.expr.scalar.symbol import Graph


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def test_text_of_a_value_in_messages_is_one_short_line_for_every_value() -> None:
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


def test_bounds_must_broadcast_and_lower_bounds_must_not_exceed_upper_bounds() -> None:
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
    symbol = Graph().input("x")
    assert finite_number("f", "x", symbol, least=2.5) is symbol
    with pytest.raises((TypeError, ValueError), match=r"f: x: expected a finite number >= 2.5, got"):
        finite_number("f", "x", symbol, least=2.5, symbols=False)
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


def test_arrays_of_axes_state_how_to_access_their_figure_and_model_errors_have_an_issue() -> None:
    panels = np.empty(2, dtype=object).view(Panels)
    with pytest.raises(AttributeError, match=r"no attribute 'savefig'; its figure has: panels.figure.savefig"):
        _ = panels.savefig
    with pytest.raises(ValueError, match="ModelError: expected at least one issue"):
        ModelError([])
    assert issubclass(ArgumentError, (TypeError, ValueError))


class Stream:
    """Names that can be read more than once, and have no length."""

    def __init__(self, *items: object) -> None:
        self.items = items

    def __iter__(self) -> Iterator[object]:
        return iter(self.items)


def test_validation_functions_accept_values_up_to_their_limits() -> None:
    for kind, value, expected in (
        (int, 2**63 - 1, True),
        (int, -(2**63) + 1, True),
        (int, 2**63, False),
        (int, -(2**63), False),
        (Iterable[str], Stream("a", "b"), True),
        (list[str], Stream("a", "b"), False),
        (Iterable[float], np.array([0.5]), True),
        (Iterable[float], np.array(0.5), False),
    ):
        assert fits(kind, value) is expected, (kind, value)
    assert _is_ragged([[1, 2], [3]]) and not _is_ragged([[1, 2], [3, 4]]) and not _is_ragged([[1, 2]])


def test_texts_and_lists_in_messages_are_shortened_beyond_their_limits() -> None:
    assert messages.printable("a" * 80) == "a" * 80 and messages.printable("a" * 81) == "a" * 77 + "..."
    names = [f"n{k}" for k in range(51)]
    assert messages.listed(names[:50]).endswith("'n49'") and messages.listed(names).endswith("'n49', ... and 1 more")
    assert "more" not in messages.nearest("zzzzz", names[:30])
    assert messages.nearest("zzzzz", names[:31]).endswith("and 19 more")
    long, longer = "ab" * 60, "ab" * 60 + "c"
    assert messages.nearest(long[:-1] + "x", [long]) == f"did you mean {long!r}?"
    assert messages.nearest("x", [longer]) == "the known names are too long to list"
    assert messages.did_you_mean(long, [longer]) and not messages.did_you_mean(longer, [long])

    @dataclass
    class Plain:
        """A value without the list of fields that results have."""

        lengths: list[int]
        gains: tuple[float, ...] = (0.5,)

    assert messages.short_repr(Plain([1] * 12)) == f"Plain(lengths={[1] * 12}, gains=(0.5,))"
    assert messages.short_repr(Plain([1] * 13)) == "Plain(lengths=<list of 13>, gains=(0.5,))"
    rows = [["a", str(k)] for k in range(201)]
    whole, cut = html_table(["x", "y"], rows[:200], "links"), html_table(["x", "y"], rows, "links")
    assert "and more" not in whole and "<td>199</td>" in whole
    assert "and more: 201 links in all" in cut and "<td>200</td>" not in cut


def test_calls_with_unknown_options_checks_and_files_are_refused(tmp_path: Path) -> None:
    def function(x: float) -> float:
        return x

    with pytest.raises(TypeError, match=r"function: no parameter named 'y' to check"):
        _Signature(function, {"x": lambda *_: None, "y": lambda *_: None}, False)
    assert str(_no_option("f", "a", ["self"])) == "f: no option named 'a'; it has no further options"
    path = tmp_path / "a.html"
    for output, kind, text in (
        ({"html": path, "glb": tmp_path / "a.glb"}, ValueError, "show: glb: expected one file, got html too"),
        ({"html": 3}, TypeError, "show: html: expected the path of a file, got 3"),
        ({"html": tmp_path / "none" / "a.html"}, FileNotFoundError, "show: html: no directory '.*none'; create it"),
    ):
        with pytest.raises(kind, match=text):
            check_output("show", output)
    assert check_output("show", {"html": path}) is None


def test_colors_convert_between_srgb_and_light_by_the_standards_formula() -> None:
    """IEC 61966-2-1: linear up to 0.04045 in sRGB, which is 0.0031308 in light, and a power of 2.4 above it."""
    colors: Any = np.array([[0.0, 0.02, 0.04], [0.041, 0.055, 0.06], [0.07, 0.5, 1.0]])
    expected = np.array([[c / 12.92 if c < 0.0405 else ((c + 0.055) / 1.055) ** 2.4 for c in row] for row in colors])
    assert linear_from_srgb(colors) == pytest.approx(expected, rel=1e-14)
    assert srgb_from_linear(linear_from_srgb(colors)) == pytest.approx(colors, rel=1e-12)
