"""Constants of mechanics have no units of length, time or mass, so that motions do not depend on them."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "linkwork"
PAGE = SOURCE.parents[1] / "docs" / "decisions" / "simulation-one-scale.md"
ROOMS = ("constraints", "dynamics", "mechanisms", "simulation")
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*\b[^=#()\[\]{}\"']*=[^=#\[\]{}\"']*\d")
UNIT = re.compile(r"\[[^\]]*\b(m|s|kg|N|J|W|Pa|units)\b[^\]]*\]")


def constants():
    """Pairs of a constant's place (file, name) and its comment, of all constants of the rooms with a number."""
    for path in sorted(path for room in ROOMS for path in (SOURCE / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        comments = {
            token.start[0]: token.string
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type == tokenize.COMMENT
        }
        for number, line in enumerate(text.splitlines(), 1):
            if CONSTANT.match(line):
                yield (
                    (path.relative_to(SOURCE).as_posix(), line.split("=")[0].split(":")[0].strip()),
                    comments.get(number, ""),
                )


def test_constants_with_physical_units_are_listed_on_their_page_with_a_reason():
    row = re.compile(r"^\| `([\w/]+\.py)` \| `([^`]+)` \| [^|]+ \| [^|]+ \|$", re.MULTILINE)
    results = [position for position, comment in constants() if UNIT.search(comment)]
    assert results and sorted(results) == sorted(row.findall(PAGE.read_text(encoding="utf-8")))


def test_every_tolerance_constant_has_a_comment():
    assert not [
        position for position, comment in constants() if not comment and re.search("tol", position[1], re.IGNORECASE)
    ]
