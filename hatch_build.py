"""The package's page on an index: the README with absolute links, and the addresses of the project.

Whoever publishes names the address: ``LINKWORK_URL=https://host/linkwork python -m build``.  Links and pictures of
the repository then point there.  Without an address links become text and pictures are left out.
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

HOME = "LINKWORK_URL"
RELATIVE = re.compile(r"(!?)\[([^\]]+)\]\((?!https?://)([^)]*)\)")


def urls(home: str) -> dict[str, str]:
    """Return the addresses that the page lists, by their labels."""
    if not home:
        return {}
    pages = {"Documentation": "docs/README.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
    return {"Homepage": home, "Source": home} | {name: f"{home}/{file}" for name, file in pages.items()}


def page(readme: str, home: str) -> str:
    """Return the README with absolute links; links within the page become text."""

    def link(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        if home and not target.startswith("#"):
            return f"{picture}[{text}]({home}/{target})"
        return "" if picture else text

    return RELATIVE.sub(link, readme)


class PackagePage(MetadataHookInterface):
    """Metadata hook of hatchling that fills in the page and the addresses."""

    def update(self, metadata: dict) -> None:
        """Fill in the fields that pyproject.toml declares dynamic."""
        home = os.environ.get(HOME, "").rstrip("/")
        if home and not home.startswith("https://"):
            raise ValueError(f"{HOME}: expected an address that begins with https://, got {home!r}")
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": page(readme, home)}
        metadata["urls"] = urls(home)
