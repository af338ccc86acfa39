"""Text of floats: XML Schema's double is read, other text is refused."""

from __future__ import annotations

import contextlib
import math
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork._util.file_access import Budget
from linkwork._util.messages import printable, quoted
from linkwork.errors import Findings, ModelError
from linkwork.formats.json_and_yaml import parse_json
from linkwork.formats.xml_text import BadNumber, parse_number, parse_number_list


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("-1.5", -1.5),
        ("+.5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.E-3", 0.001),
        (" \t\r\n007 \n", 7.0),
        ("1e-400", 0.0),
        ("4.9406564584124654e-324", 5e-324),
        ("1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
def test_valid_number_text_in_files_is_parsed_as_the_stated_float(text: str, value: float):
    assert parse_number(text) == value


def test_negative_zero_is_parsed_as_positive_zero():
    assert math.copysign(1.0, parse_number("-0.0")) == 1.0


NO_NUMBERS = [
    *("1,5", "1abc", "0x10", "1_0", "", " ", "\u0661\u0662", "1 2", "--1", "1e", "e5", ".", "1.2.3", "½", "1\xa0"),
    *("1e1.5", "True", "None", "𝟏", "1\u2003", "1f", "1d0", "+-1", "1e+", "infinite", "nano", "i"),
]


@pytest.mark.light
@pytest.mark.parametrize("text", NO_NUMBERS)
def test_text_in_files_that_is_not_a_number_is_refused(text: str):
    with pytest.raises(BadNumber, match=re.escape(repr(text.strip(" ")))) as caught:
        parse_number(text)
    assert caught.value.code == "NUMBER"
    with pytest.raises(BadNumber, match=re.escape(repr(text.strip(" ")))):
        parse_number(text, infinite=True)


def test_number_with_a_decimal_comma_in_a_file_is_refused_with_a_hint():
    with pytest.raises(BadNumber, match="expected a number, got '1,5'") as caught:
        parse_number("1,5")
    assert caught.value.hint == "the decimal separator is a point"


@pytest.mark.light
@pytest.mark.parametrize("text", ["nan", "NaN", "-NAN", "INF", "-Infinity", "+inf", "1e400", "-1e400", "9" * 400])
def test_nan_and_infinity_in_files_are_refused(text: str):
    with pytest.raises(BadNumber, match=r"expected a finite number|beyond the range of float64") as caught:
        parse_number(text)
    assert caught.value.code == "NOT_FINITE" and caught.value.is_word == (text.lstrip("+-")[0] not in "19")


def test_infinity_in_files_is_parsed_if_it_is_allowed():
    assert parse_number("inf", infinite=True) == math.inf
    assert parse_number(" -INF ", infinite=True) == -math.inf
    for text in ("nan", "1e400"):
        with pytest.raises(BadNumber, match=r"expected a finite number|beyond the range of float64"):
            parse_number(text, infinite=True)


def test_vectors_in_files_must_have_exactly_the_expected_length():
    assert parse_number_list(" 1\t2\n 3 ", 3) == (1.0, 2.0, 3.0)
    for text, code in {
        "1 2": "ARITY",
        "": "ARITY",
        "1 2 3 4": "ARITY",
        "1,2,3": "ARITY",
        "1 2 x": "NUMBER",
        "1 2 nan": "NUMBER",
        "1 -inf 2": "NUMBER",
        "1 2 1e400": "NOT_FINITE",
        "1\xa02 3 4": "NUMBER",
    }.items():
        with pytest.raises(BadNumber, match=r"expected|beyond the range") as caught:
            parse_number_list(text, 3)
        assert caught.value.code == code, text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_written_as_text_is_parsed_exactly(value: float):
    assert parse_number(repr(value)) == value
    assert parse_number(f"{value:.17e}") == value


@pytest.mark.slow(every=9)
@given(st.text())
def test_any_text_in_files_is_parsed_as_a_finite_number_or_refused(text: str):
    with contextlib.suppress(BadNumber):
        assert math.isfinite(parse_number(text))
    assert printable(text).isprintable()
    assert quoted(text).isprintable()


def test_messages_about_files_shorten_and_escape_their_text():
    assert printable("x" * 99) == "x" * 77 + "..."
    assert printable("a\nb") == "a\\nb"


def test_refusing_a_list_with_too_many_values_takes_little_memory() -> None:
    """A list of the words of a text would take fifty times the memory of the text."""
    small = Budget(max_elements=10)
    for text, read in (
        ("1 " * 200_000, lambda text: parse_number_list(text, 3)),
        ("[" + "1," * 200_000 + "1]", lambda text: parse_json(text, None, Findings(), small)),
    ):
        tracemalloc.start()
        try:
            with pytest.raises((BadNumber, ModelError), match=r"got 200000 in|more than 10 values"):
                read(text)
            assert tracemalloc.get_traced_memory()[1] < 3 * len(text)
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e5", "[-0.0, 1.5]", "[-0.0]"])
def test_negative_zeros_of_json_are_zeros(text: str) -> None:
    content = parse_json(text, None, Findings(), Budget()).content
    first = content[0] if isinstance(content, list) else content
    value = getattr(first, "content", first)
    assert value == 0.0 and math.copysign(1.0, value) == 1.0
