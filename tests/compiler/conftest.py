"""Fixture of a folder for the cache of machine code."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwork.compiler.cache import disk_cache as cache


@pytest.fixture
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Set the cache's folder, which does not exist yet, in a process that has shown no warning yet."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(cache, "_warned", set())
    monkeypatch.setenv("LINKWORK_CACHE", str(folder))
    for name in ("LINKWORK_CACHE_SIZE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder
