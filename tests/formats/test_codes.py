"""The codes of issues: those in the source are those in the page on robot files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import linkwork
from linkwork.errors import NOTED

PAGE = Path(__file__).parents[2] / "docs" / "robot_files.md"
SAID_BY = {
    "FileSearchError",
    "Issue",
    "BadNumber",
    "_error",
    "_fail",
    "_try",
    "add",
    "bad_number",
    "error",
    "fail",
    "note",
    "warn",
}


def codes(folder: Path) -> Iterator[str]:
    """The codes that calls which make issues are given."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in SAID_BY:
                for part in (x for argument in node.args for x in ast.walk(argument)):
                    if isinstance(part, ast.Constant) and re.fullmatch(r"[A-Z][A-Z0-9_]{3,}", str(part.value)):
                        yield str(part.value)


def test_every_issue_code_of_readers_is_explained_on_its_page() -> None:
    source = Path(linkwork.__file__).parent
    said = {code for room in ("_util", "formats", "model", "robot/construction") for code in codes(source / room)}
    table = re.findall(r"^\| `([A-Z_0-9]+)` \| ([EWN, ]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(said) > 50 and [code for code, _ in table] == sorted(said)
    assert {code for code, kinds in table if kinds == "N"} == NOTED
