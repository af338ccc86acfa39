"""The documents' and docstrings' examples run, and say what is printed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import linkwork

ROOT = Path(__file__).parents[1]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


DOCUMENTS = (
    "ARCHITECTURE",
    "building",
    "casadi",
    "compiler",
    "conventions",
    "expressions",
    "joints",
    "joints_of_your_own",
    "robots",
)


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{name}.md" for name in DOCUMENTS)])
def test_document(document: str) -> None:
    with np.printoptions():  # what a page sets is its own
        result = doctest.testfile(str(ROOT / document), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0


def test_docstrings() -> None:
    attempted = 0
    for module in pkgutil.walk_packages(linkwork.__path__, "linkwork."):
        if module.name.endswith("__main__"):
            continue
        result = doctest.testmod(importlib.import_module(module.name), optionflags=FLAGS)
        assert result.failed == 0, module.name
        attempted += result.attempted
    attempted += doctest.testmod(linkwork, optionflags=FLAGS).attempted
    assert attempted >= 5


def test_readme_states_the_two_commands() -> None:
    """The continuous integration runs these very lines."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if line.startswith("pip install")]
    assert commands == ["pip install . && linkwork demo", 'pip install ".[test]" && pytest']
