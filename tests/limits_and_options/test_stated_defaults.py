"""Defaults that the tables of pages state are those of public functions and classes with an option of that name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.public_interface import public_classes, public_modules

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
UNITS = {"": 1.0, "s": 1.0, "m": 1.0, "ms": 1e-3, "µs": 1e-6, "mm": 1e-3, "%": 1e-2}
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(
    r"`?(-?\d+(?:\.\d+)?(?:e-?\d+)?)?\s?·?\s?(?:10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?`? ?(ms|µs|mm|s|m|%)?(?:,.*|;.*| \(.*)?"
)


def defaults() -> dict[str, list[Any]]:
    """Return the defaults of all public options, by the name of the option."""
    functions = [x for module in public_modules().values() for x in vars(module).values() if inspect.isroutine(x)]
    for cls in public_classes():
        functions += [cls, *(value for name, value in inspect.getmembers(cls, callable) if not name.startswith("_"))]
    results: dict[str, list[Any]] = {}
    for function in functions:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # of built-in types
            continue
        for parameter in parameters:
            if parameter.default is not parameter.empty:
                results.setdefault(parameter.name, []).append(parameter.default)
    return results


def stated() -> Iterator[tuple[str, str, str]]:
    """Yield page, option and default of each row of a table with a column of defaults."""
    for page in PAGES:
        column: int | None = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if not line.startswith("|"):
                column = None
                continue
            cells = [x.strip() for x in re.split(r"(?<!\\)\|", line)[1:-1]]
            if column is None:
                column = next((k for k, x in enumerate(cells) if x.lower().startswith("default")), -1)
            elif 0 <= column < len(cells):
                options, values = re.findall(r"`(\w+)=?`", cells[0]), cells[column].split(", ")
                for option, value in zip(options, values if len(values) == len(options) else [], strict=False):
                    yield page.name, option, value


def value_of(text: str) -> Any:
    """Return the number, text or truth value that a cell states; None for other cells, such as an explanation."""
    if re.fullmatch(r"`?(True|False)`?", text):
        return "True" in text
    quoted = re.match(r'`"(\w+)"`', text)
    if quoted:
        return quoted[1]
    match = NUMBER.fullmatch(text)
    if not match or not (match[1] or match[2]):
        return None
    power = 10.0 ** int(match[2].translate(RAISED)) if match[2] else 1.0
    return float(match[1] or 1.0) * power * UNITS[match[3] or ""]


def test_defaults_in_tables_of_documentation_pages_equal_those_of_the_code():
    known, wrong, compared = defaults(), [], 0
    for page, option, text in stated():
        value = value_of(text)
        if value is None or option not in known or all(x is None for x in known[option]):
            continue  # an explanation, a variable of the environment, or a default that depends on other options
        compared += 1
        if isinstance(value, float):
            candidates = [x for x in known[option] if isinstance(x, int | float) and not isinstance(x, bool)]
            fits = any(abs(x - value) <= 1e-9 * abs(value) for x in candidates) or None in known[option]
        else:
            fits = value in known[option]
        if not fits:
            wrong.append((page, option, text, known[option]))
    assert compared >= 40 and not wrong


def test_table_cells_with_defaults_are_read_as_python_values():
    for text, value in (
        ("1 ms", 1e-3),
        ("2·10⁻³ s", 2e-3),
        ("10⁻⁶", 1e-6),
        ('`"connect"`', "connect"),
        ("`True`", True),
        ("500", 500.0),
        ("none", None),
        ("", None),
        ("those of the robot", None),
    ):
        assert value_of(text) == value, text
