"""The language of the project: `helpers/language.py` lists nothing in the source, the tests and the pages' headings."""

from __future__ import annotations

import functools

from helpers.language import ROOT, findings

# Rooms of the source whose variables are nouns; the list only grows.
ROOMS = [
    "dynamics",
    "environments",
    "expr",
    "identify",
    "ik",
    "interop",
    "joints",
    "kinematics",
    "motion",
    "robots",
    "spatial",
    "workspace",
]
# Public names that are no nouns, by file: they stay, as users may write them.
PUBLIC_NAMES = {
    ("ik/algorithms/task_stack.py", "own"),
    ("ik/tasks/modifiers.py", "own"),
    ("ik/tasks/task.py", "own"),
}


@functools.cache
def findings_in_source() -> list[str]:
    return [*findings(ROOT / "src")]


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    assert [x for x in findings_in_source() if ": docstring: " in x] == []


def test_names_and_messages_of_the_source_use_the_terms_of_the_field() -> None:
    assert [x for x in findings_in_source() if ": docstring: " not in x and ": variable: " not in x] == []


def test_variable_names_in_selected_packages_are_nouns() -> None:
    rooms = tuple(f"src/linkwork/{name}/" for name in ROOMS)
    public = {(f"src/linkwork/{file}", repr(name)) for file, name in PUBLIC_NAMES}
    lines = (x for x in findings_in_source() if x.startswith(rooms))
    assert [x for x in lines if (x.split(":")[0], x.split()[-1]) not in public] == []


def test_names_and_docstrings_of_tests_use_the_terms_of_the_field() -> None:
    assert [*findings(ROOT / "tests")] == []


def test_headings_of_documentation_pages_are_nouns() -> None:
    pages = (ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
    assert [x for x in findings(*pages) if ": heading: " in x] == []
