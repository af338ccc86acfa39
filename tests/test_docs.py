"""The documents' and docstrings' examples run, and say what is printed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import linkwork

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


# All but the index and the pages that are tables alone, which are held to what they list by tests of their own.
DOCUMENTS = sorted({path.stem for path in (ROOT / "docs").glob("*.md")} - {"README", "mathematics", "reference"})


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


def test_every_page_is_in_the_index() -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"README"}
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert {target.removesuffix(".md") for target in LINK.findall(index)} == pages


def test_links_lead_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if not target.startswith(("http", "#")):
                assert (page.parent / target.partition("#")[0]).is_file(), (page.name, target)


def test_a_package_page_has_no_relative_links() -> None:
    """The long description is the README with the substitutions that pyproject.toml lists."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any(not target.startswith("http") for target in LINK.findall(shown))
    for rule in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(rule["pattern"], rule["replacement"], shown)
    assert [target for target in LINK.findall(shown) if not target.startswith(("https://", "http://"))] == []
    assert "docs/howto.md" in shown


def test_help_says_where_things_are() -> None:
    text = linkwork.__doc__ or ""
    assert [name for name in linkwork.__all__ if f"`{name}" not in text] == []
    assert [path.name for path in (ROOT / "docs").glob("*.md") if path.name not in text] == []
    for cited in re.findall(r"`(Robot|Kernel|Joint)\.(\w+)`", text):
        assert hasattr(getattr(linkwork, cited[0]), cited[1])


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {linkwork.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
