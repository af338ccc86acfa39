"""The language of the project: `helpers/language.py` lists nothing in the source and in the headings of pages."""

from __future__ import annotations

import functools

from helpers.language import ROOT, findings


@functools.cache
def findings_in_source() -> list[str]:
    return [*findings(ROOT / "src")]


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    assert [x for x in findings_in_source() if ": docstring: " in x] == []


def test_names_and_messages_use_the_terms_of_the_field() -> None:
    assert [x for x in findings_in_source() if ": docstring: " not in x and ": variable: " not in x] == []


def test_headings_are_nouns() -> None:
    pages = (ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
    assert [x for x in findings(*pages) if ": heading: " in x] == []
