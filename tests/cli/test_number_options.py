"""Options whose values are numbers: each accepts its smallest value and refuses the number before it."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any

import pytest

from linkwork.cli import main

SMALLEST: dict[str, dict[str, float]] = {  # by command; integers for options that take integers
    "demo": {"--samples": 1},
    "view": {"--ghosts": 0, "--time": -math.inf, "--port": 0},
    "check": {"--max-vertices": 1, "--tolerance": 0.0, "--samples": 0, "--seed": 0},
    "check-scene": {"--max-vertices": 1},
    "compare": {"--tolerance": 0.0, "--samples": 0, "--seed": 0},
    "ik": {"--position-tolerance": 0.0, "--orientation-tolerance": 0.0, "--max-iterations": 1, "--time-limit": 0.0},
    "bench-ik": {"--poses": 1, "--seed": 0, "--tolerance": 1e-10},
    "convert": {"--max-vertices": 1},
    "distances": {"--max-vertices": 1, "--samples": 1, "--seed": 0},
    "plan": {
        "--max-vertices": 1,
        "--margin": 0.0,
        "--max-iterations": 0,
        "--resolution": 1e-6,
        "--seed": 0,
        "--time-limit": 0.0,
        "--acceleration": 1e-9,
    },
    "map": {
        "--max-vertices": 1,
        "--samples": 1,
        "--voxel-size": 1e-6,
        "--margin": 0.0,
        "--seed": 0,
        "--workers": 1,
        "--chunk": 1,
    },
    "simulate": {
        "--duration": 0.0,
        "--dt": 1e-9,
        "--record-every": 1,
        "--kp": 0.0,
        "--kd": 0.0,
        "--height": -math.inf,
        "--friction": 0.0,
        "--seed": 0,
    },
    "bench": {"--batch": 1},
    "precompile": {"--max-vertices": 1},
}


def readers(command: str) -> dict[str, Any]:
    """Return the functions that read the values of the options of a command, by option."""
    parser = main._parser(command)
    (commands,) = (x for x in parser._actions if isinstance(x, argparse._SubParsersAction))
    return {
        (x.option_strings or [x.dest])[-1]: x.type for x in commands.choices[command]._actions if x.type is not None
    }


def refusal(read: Any, text: str) -> str:
    """Return the message with which a text is refused, "" if it is accepted."""
    try:
        read(text)
    except argparse.ArgumentTypeError as error:
        return str(error)
    return ""


@pytest.mark.light
@pytest.mark.parametrize("command", main.COMMANDS)
def test_number_options_accept_their_smallest_value_and_refuse_the_number_before_it(command: str) -> None:
    known = {name: read for name, read in readers(command).items() if "expected a" in refusal(read, "nan")}
    smallest = SMALLEST.get(command, {})
    assert {*known} - {"--argument"} == {*smallest}
    for name, least in smallest.items():
        read = known[name]
        if isinstance(least, int):
            assert read(str(least)) == least and f"an integer >= {least}" in refusal(read, str(least - 1)), name
            assert "an integer" in refusal(read, "1.5"), name
            continue
        expected = "a finite number" if least == -math.inf else f"a number >= {least:g}"
        assert read("-1e308" if least == -math.inf else repr(least)) == max(least, -1e308), name
        for text in (repr(math.nextafter(least, -math.inf)), "-inf", "inf", "nan", "x"):
            assert expected in refusal(read, text), (name, text)


@pytest.mark.light
@pytest.mark.parametrize("command", main.COMMANDS)
def test_help_of_options_states_the_defaults_of_the_parser(command: str) -> None:
    (commands,) = (x for x in main._parser(command)._actions if isinstance(x, argparse._SubParsersAction))
    for option in commands.choices[command]._actions:
        stated = re.search(r"\(default: (-?[\d.e-]+)\b", option.help or "")
        if stated and option.default is not None:
            assert float(stated[1]) == float(option.default), (option.option_strings, option.help)


def test_option_values_have_units_of_their_kind() -> None:
    simulated, planned, mapped = readers("simulate"), readers("plan"), readers("map")
    assert simulated["--duration"]("100ms") == simulated["--duration"]("0.1") == 0.1
    assert simulated["--dt"]("2ms") == 0.002 and planned["--time-limit"]("2min") == 120.0
    assert planned["--time-limit"]("0.5h") == 1800.0 and simulated["--height"]("-5cm") == -0.05
    assert mapped["--voxel-size"]("20mm") == 0.02
    for read, text, expected in (
        (simulated["--duration"], "100mm", "expected a number in s, got '100mm'"),
        (simulated["--friction"], "1m", "expected a number without a unit, got '1m'"),
        (simulated["--duration"], "-1ms", "expected a number >= 0, got '-1ms'"),
    ):
        with pytest.raises(argparse.ArgumentTypeError, match=re.escape(expected)):
            read(text)
