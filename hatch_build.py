"""What a package's page shows: the README, without links that lead nowhere there, and where the project is.

Where that is, whoever publishes says: ``LINKWORK_URL=https://host/linkwork python -m build``.  Links into the
repository then lead there, and the page has those of `urls`; without it they become text, and there are none.
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

HOME = "LINKWORK_URL"
RELATIVE = re.compile(r"\[([^\]]+)\]\((?!https?://)([^)]*)\)")


def urls(home: str) -> dict[str, str]:
    """The links beside a package's page."""
    if not home:
        return {}
    pages = {"Documentation": "docs/README.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
    return {"Homepage": home, "Source": home} | {name: f"{home}/{file}" for name, file in pages.items()}


def page(readme: str, home: str) -> str:
    """The README with links that lead somewhere from a package's page; those within the page become their text."""

    def link(found: re.Match[str]) -> str:
        text, target = found.groups()
        return f"[{text}]({home}/{target})" if home and not target.startswith("#") else text

    return RELATIVE.sub(link, readme)


class PackagePage(MetadataHookInterface):
    """Hatch's hook."""

    def update(self, metadata: dict) -> None:
        """Fill in what pyproject.toml calls dynamic."""
        home = os.environ.get(HOME, "").rstrip("/")
        if home and not home.startswith("https://"):
            raise ValueError(f"{HOME}: expected an address that begins with https://, got {home!r}")
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": page(readme, home)}
        metadata["urls"] = urls(home)
