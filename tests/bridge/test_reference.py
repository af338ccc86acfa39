"""docs/reference.md: the tables of functions as people read them, and a method for each.

`python -m pytest tests/bridge/test_reference.py --update-golden` writes them anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path

import linkwork as lw
from linkwork import algorithms
from linkwork.algorithms import JOINT, ROBOT
from linkwork.algorithms.row import QUANTITIES, Row, Shape

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
BEGIN = "## "
COLUMNS = "| method | takes | gives | units | |\n|---|---|---|---|---|\n"


def shaped(name: str, shape: Shape) -> str:
    return f"{name} ({', '.join(['...', *map(str, shape)])})".strip()


def line(row: Row) -> str:
    takes = [shaped(name, QUANTITIES[name].shape) for name in row.inputs]
    takes += [f"[{shaped(name, QUANTITIES[name].shape)}]" for name in row.optional]
    takes += [option.name if option.required else f"[{option.name}]" for option in row.options]
    gives = ", ".join(shaped(output.name, output.shape) for output in row.outputs)
    units = "; ".join(dict.fromkeys(output.units for output in row.outputs if output.units))
    return f"| `{row.name}` | {', '.join(takes)} | {gives} | {units} | {row.doc} |\n".replace("|  |", "| |")


def part(title: str, rows: Mapping[str, Row]) -> str:
    """The rows of a table by subject, the folder that their algorithms are in."""
    text, subject = f"{BEGIN}{title}\n", ""
    for row in rows.values():
        folder = row.compute.__module__.split(".")[2]
        if folder != subject:
            subject = folder
            says = (inspect.getdoc(getattr(algorithms, folder)) or "").split("\n")[0]
            text += f"\n{says}\n\n{COLUMNS}"
        text += line(row)
    return text


def reference() -> str:
    return f"{part('Of a robot', ROBOT)}\n{part('Of a joint', JOINT)}"


def test_the_page_has_the_tables(update_golden: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    head = text[: text.find(BEGIN)] if BEGIN in text else text
    if update_golden:
        PAGE.write_text(head + reference(), encoding="utf-8")
        return
    hint = "python -m pytest tests/bridge/test_reference.py --update-golden writes it anew"
    assert text[len(head) :] == reference(), hint


def test_every_row_has_a_method() -> None:
    for owner, rows in ((lw.Robot, ROBOT), (lw.Joint, JOINT)):
        for name, row in rows.items():
            method = getattr(owner, name)
            taken = inspect.signature(method).parameters
            assert inspect.getdoc(method), name
            assert [*taken][1 : 1 + len(row.inputs)] == [*row.inputs], name
            assert {*row.optional, *(option.name for option in row.options)} <= {*taken}, name
