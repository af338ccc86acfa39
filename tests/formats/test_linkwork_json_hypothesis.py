"""Randomly changed saved robots: reading gives a robot of finite values or a `ModelError`."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fuzz.files import scalars_of
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from helpers.examples import examples
from linkwork.errors import MOST_ISSUES, ModelError
from linkwork.formats import parse_robot, robot_text
from linkwork.model.tree import Tree

SAVED = (Path(__file__).parent / "saved" / "version_1.json").read_text(encoding="utf-8")
SMALL = robot_text(lw.load("fourbar").tree)
FILES = sorted((Path(__file__).parent / "files_that_broke_readers").glob("*.json"))
VALUES: list[Any] = [
    *(None, True, False, 0, -0.0, 1, -1, 3, 0.5, 1e9, 1e20, -1e20, 1e21, 1e61, 1e300, 5e-324),
    *("", " ", "world", "tip", "revolute", "box", "sphere", "motor", "loop", "x" * 300, "../a", "é"),
    *([], {}, [0, 0, 0], [1, 0, 0], [[]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], {"name": "a"}, {"xyz": [1, 2, 3]}),
    *([1e20] * 3, [1e60] * 6, [0.0] * 6, [None, None], ["world", "tip"], {"type": "half_space"}),
]


def positions(value: Any) -> list[tuple[Any, Any]]:
    """Each place of a document, as a list or an object and the index or key there."""
    result, stack = [], [value]
    while stack:
        inside = stack.pop()
        keys = [*inside] if isinstance(inside, dict) else [*range(len(inside))]
        result += [(inside, key) for key in keys]
        stack += [inside[key] for key in keys if isinstance(inside[key], (dict, list))]
    return result


def changed(draw: Any, text: str) -> str:
    """A document with a few changes: entries deleted, copied from elsewhere, repeated, renamed or replaced."""
    document = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        known = positions(document)
        inside, key = known[draw(st.integers(0, len(known) - 1))]
        position, name = known[draw(st.integers(0, len(known) - 1))]
        match draw(st.sampled_from(("value", "value", "delete", "copy", "repeat", "rename", "reverse"))):
            case "delete":
                del inside[key]
            case "copy":
                inside[key] = json.loads(json.dumps(position[name]))
            case "repeat" if isinstance(inside, list):
                inside.insert(key, json.loads(json.dumps(inside[key])))
            case "rename" if isinstance(inside, dict):
                inside[name if isinstance(name, str) else "name"] = inside.pop(key)
            case "reverse" if isinstance(inside[key], list):
                inside[key] = inside[key][::-1]
            case _:
                inside[key] = json.loads(json.dumps(draw(st.sampled_from(VALUES))))
    return json.dumps(document)


def check(text: str | bytes) -> Tree | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree, issues = parse_robot(text), ()
        except ModelError as error:
            tree, issues = None, error.issues
        if tree is not None:
            assert all(map(math.isfinite, scalars_of(tree)))
            assert parse_robot(robot_text(tree)) == tree
    assert len(issues) <= MOST_ISSUES and bool(issues) == (tree is None)
    assert all(issue.code and len(str(issue)) < 5000 for issue in issues)
    return tree


def test_saved_robot_files_that_once_crashed_the_reader_are_read_or_refused() -> None:
    for path in FILES:
        check(path.read_bytes())


@given(st.data())
@settings(max_examples=examples(60))
def test_randomly_changed_saved_robots_are_read_or_refused(data: st.DataObject) -> None:
    check(changed(data.draw, SMALL))


@pytest.mark.slow
@given(st.data())
@settings(max_examples=600, deadline=None)
def test_randomly_changed_saved_robots_with_every_kind_of_content_are_read_or_refused(data: st.DataObject) -> None:
    check(changed(data.draw, SAVED))


@given(st.binary(max_size=200))
def test_random_bytes_are_not_read_as_a_saved_robot(data: bytes) -> None:
    assert check(data) is None
    assert check(b'{"linkwork": 1, "name": ' + data) is None
