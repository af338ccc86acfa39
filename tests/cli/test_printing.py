"""Output, tables, progress and timing."""

from __future__ import annotations

import io
import os
import timeit
from types import SimpleNamespace

import pytest

from linkwork._util.progress import ProgressBar
from linkwork.cli.function_timings import Call, Effort, seconds_per_call
from linkwork.cli.output import Stream, escaped, finite, label, number_list, table, width


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def ascii_stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="ascii")


def test_characters_that_the_output_cannot_encode_are_written_in_ascii():
    stream = ascii_stream()
    Stream(stream).line("└─ 10 µs ×2 ä 手 \udc80")
    stream.flush()
    assert stream.buffer.getvalue() == rb"`- 10 us x2 \xe4 \u624b \udc80" + os.linesep.encode()


def test_printing_to_a_closed_output_stream_has_no_effect():
    output = Stream(None)
    output.line("x")
    output.flush()
    assert not output.is_terminal


def test_json_output_of_commands_is_ascii_and_valid():
    stream = io.StringIO()
    Stream(stream).json({"name": "ä\x1b\udc80"})
    assert stream.getvalue().isascii() and "\x1b" not in stream.getvalue()
    with pytest.raises(ValueError, match="not JSON compliant"):
        Stream(stream).json(float("nan"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("elbow", "elbow"),
        ("ä手 x", "ä手 x"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb", "a\\nb"),
        ("\u200e\ue000", "\\u200e\\ue000"),
    ],
)
def test_control_characters_in_printed_text_are_escaped(text, shown):
    assert escaped(text) == shown


def test_long_labels_in_printed_tables_are_shortened():
    assert len(label("x" * 1000)) == 60


def test_printed_table_columns_align_for_wide_characters():
    lines = table(["name", "n"], [["手", "1"], ["arm", "22"], ["e\u0301", "3"]])
    assert {width(line) for line in lines} == {8}


def test_infinite_values_are_printed_as_a_dash():
    inf = float("inf")
    assert number_list([0.1]) == "0.1"
    assert number_list([-0.0, 1.0]) == "(0, 1)"
    assert number_list([inf, inf]) == number_list([-inf]) == "-"
    assert number_list([1.0, inf]) == "(1, inf)"
    assert finite([1.0, -inf]) == [1.0, None]


def test_progress_bar_in_a_terminal_is_one_line_that_is_erased_at_the_end():
    screen = Screen()
    with ProgressBar(Stream(screen), "work", 4) as progress:
        for _ in range(4):
            progress.advance(1)
    text = screen.getvalue()
    assert "\n" not in text
    assert "█" * 30 + " 100 %" in text
    assert text.endswith("\r") and text.split("\r")[-2].isspace()


@pytest.mark.parametrize("terminal", ["dumb", None])
def test_progress_is_printed_at_every_quarter_if_output_is_no_terminal(monkeypatch, terminal):
    stream = Screen() if terminal else io.StringIO()
    monkeypatch.setenv("TERM", terminal or "xterm")
    with ProgressBar(Stream(stream), "work", 1000) as progress:
        for _ in range(1000):
            progress.advance(1)
    assert stream.getvalue().splitlines() == [f"work: {n} % of 1000" for n in (25, 50, 75, 100)]


def test_measured_seconds_per_call_ignore_a_disturbed_round(monkeypatch):
    """A simulated clock that only the calls move."""
    clock = SimpleNamespace(now=0.0, calls=0)

    def work(seconds):
        clock.calls += 1
        clock.now += seconds * (30.0 if clock.calls > 4000 else 1.0)

    monkeypatch.setattr(timeit.Timer.__init__, "__defaults__", ("pass", "pass", lambda: clock.now, None))
    result = seconds_per_call(Call("f(x)", {"f": work, "x": 1e-6}), Effort(rounds=3, at_least=0.9e-3))
    assert result == pytest.approx(1e-6)
