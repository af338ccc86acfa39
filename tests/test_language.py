"""The language of the project: what `helpers/language.py` lists, with exceptions by folder that only shrink."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from helpers.language import ROOT, findings

# Findings of names and messages by folder.  First lines of docstrings have no exceptions.
EXCEPTIONS: dict[str, int] = {
    "src": 1,
    "src/linkwork/_util": 11,
    "src/linkwork/collision": 2,
    "src/linkwork/constraints": 2,
    "src/linkwork/mechanisms": 8,
    "src/linkwork/model": 1,
    "src/linkwork/motion": 1,
    "src/linkwork/parts": 2,
    "src/linkwork/shapes": 1,
    "src/linkwork/spatial": 2,
}


def _folder(finding: str) -> str:
    parts = Path(finding.partition(":")[0]).parts
    return "/".join(parts[:3] if parts[:2] == ("src", "linkwork") and len(parts) > 3 else parts[:1])


def test_docstrings_begin_with_what_they_name() -> None:
    assert [x for x in findings(ROOT / "src") if ": docstring: " in x] == []


def test_names_and_messages_use_the_terms_of_the_field() -> None:
    """A folder with fewer findings than its exceptions fails, too: lower its number here."""
    listed = [x for x in findings(ROOT / "src") if ": docstring: " not in x]
    assert dict(Counter(map(_folder, listed))) == EXCEPTIONS, "\n".join(listed)


def test_headings_are_nouns() -> None:
    pages = (ROOT / "docs", ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
    assert [x for x in findings(*pages) if ": heading: " in x] == []
