"""Pages of algorithms: quoted source lines exist, in the same order."""

from __future__ import annotations

import re
from pathlib import Path

import linkwork

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [*sorted((DOCS / "algorithms").glob("*.md")), DOCS / "identification.md"]
SHOWN = re.compile(r"^```python\n# (\S+/\S+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_source_lines_quoted_on_documentation_pages_are_in_the_source() -> None:
    """A block that begins with a file's name quotes its lines; "..." replaces omitted lines."""
    shown = 0
    for page in PAGES:
        for file, block in SHOWN.findall(page.read_text(encoding="utf-8")):
            source = [line.strip() for line in (Path(linkwork.__file__).parent / file).read_text("utf-8").splitlines()]
            at = 0
            for line in filter(None, map(str.strip, block.splitlines())):
                if line != "...":
                    assert line in source[at:], f"{page.name}: {file} has no line {line!r} after those before it"
                    at = source.index(line, at) + 1
                    shown += 1
    assert shown > 100
