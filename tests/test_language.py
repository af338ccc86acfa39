"""The language of the project: `helpers/language.py` lists nothing in source, tests, benchmarks, tools and pages."""

from __future__ import annotations

import functools

import pytest

from helpers.language import CLAUSE_AS_OBJECT, ROOT, findings

# Public names that are no nouns, by file: they stay, as users may write them.
PUBLIC_NAMES = {
    ("constraints/frame_constraints.py", "other"),
    ("constraints/loop_joint.py", "rest"),
    ("control/whole_body.py", "found"),
    ("force_elements/bushing.py", "rest"),
    ("ik/algorithms/task_stack.py", "own"),
    ("ik/tasks/modifiers.py", "own"),
    ("ik/tasks/task.py", "own"),
    ("model/body.py", "rest"),
    ("optimal/features/clearance_feature.py", "kept"),
    ("optimal/features/clearance_feature.py", "own"),
    ("robot/constraint_methods.py", "rest"),
    ("robot/joint/joint.py", "rest"),
    ("robot/joint/joint_editing.py", "rest"),
    ("robot/parameter_methods.py", "rest"),
}


@functools.cache
def findings_in_source() -> list[str]:
    return [*findings(ROOT / "src")]


def test_first_lines_that_announce_a_clause_are_listed() -> None:
    assert CLAUSE_AS_OBJECT.match("Return how far a step may move.")
    assert CLAUSE_AS_OBJECT.match("Yield which elements are nonzero.")
    assert not CLAUSE_AS_OBJECT.match("Return the distance by which a step may move.")


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    assert [x for x in findings_in_source() if ": docstring: " in x] == []


def test_names_and_messages_of_the_source_use_the_terms_of_the_field() -> None:
    assert [x for x in findings_in_source() if ": docstring: " not in x and ": variable: " not in x] == []


def test_variable_names_in_the_source_are_nouns() -> None:
    public = {(f"src/linkwork/{file}", repr(name)) for file, name in PUBLIC_NAMES}
    lines = (x for x in findings_in_source() if ": variable: " in x)
    assert [x for x in lines if (x.split(":")[0], x.split()[-1]) not in public] == []


@pytest.mark.parametrize("folder", ["benchmarks", "docs", "tests", "tools"])
def test_names_and_docstrings_beside_the_source_use_the_terms_of_the_field(folder: str) -> None:
    assert [x for x in findings(ROOT / folder) if ": heading: " not in x] == []


def test_headings_of_documentation_pages_are_nouns() -> None:
    pages = (ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
    assert [x for x in findings(*pages) if ": heading: " in x] == []
