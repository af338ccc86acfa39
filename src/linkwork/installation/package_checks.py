"""Checks of what is installed: versions of the dependencies, and the files of the package."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.thread_pool import available_processors
from linkwork.installation.report import Check, Outcome, outcome_of
from linkwork.kernels import host

__all__ = ["PACKAGE_CHECKS", "machine"]

_INSTALL = "install it again: pip install --force-reinstall linkwork"


def machine() -> dict[str, Any]:
    """Return facts of this machine by name: versions, processor, settings."""
    settings = {name: value for name, value in sorted(os.environ.items()) if name.startswith("LINKWORK_")}
    free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    return {
        "linkwork": metadata.version("linkwork"),
        "python": f"{platform.python_version()} {platform.python_implementation()}{' without GIL' * free_threaded}",
        "numpy": np.__version__,
        "llvmlite": metadata.version("llvmlite"),
        "system": platform.platform(),
        "processor": f"{platform.machine()} {host().cpu}",
        "processors": available_processors(),
        "settings": " ".join(f"{name}={value}" for name, value in settings.items()) or "none",
    }


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _versions() -> Outcome:
    try:
        required = metadata.requires("linkwork") or []
        python = metadata.metadata("linkwork")["Requires-Python"] or ""
    except metadata.PackageNotFoundError:
        return outcome_of(False, "linkwork is not installed as a package", "an installed package", _INSTALL)
    versions = {"python": platform.python_version()}
    lowest = {"python": python.removeprefix(">=")}
    for line in required:
        match = re.fullmatch(r"([\w-]+)>=([\d.]+)", line)
        if match:  # requirements of extras have a marker
            name = match[1]
            lowest[name], versions[name] = match[2], metadata.version(name)
    old = [f"{name} {versions[name]}" for name in lowest if _parts(versions[name]) < _parts(lowest[name])]
    expected = ", ".join(f"{name} {version}" for name, version in lowest.items())
    measured = ", ".join(old) if old else f"{len(lowest)} versions"
    return outcome_of(not old, measured, f"at least {expected}", "install newer versions: pip install --upgrade ...")


def _files() -> Outcome:
    # scripts and pages are elsewhere after `pip install --target` and in packages of Linux distributions
    recorded = [(file, file.hash) for file in metadata.files("linkwork") or [] if file.parts[0] != ".."]
    files = [(file, expected) for file, expected in recorded if expected is not None]
    changed = []
    for file, expected in files:
        try:
            digest = hashlib.new(expected.mode, Path(str(file.locate())).read_bytes()).digest()
        except OSError:
            digest = b""
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected.value:
            changed.append(str(file))
    measured = f"{len(changed)} of {len(files)} differ" + (f": {changed[0]}" if changed else "")
    return outcome_of(not changed, measured, "as installed", _INSTALL)


PACKAGE_CHECKS = (Check("versions", _versions), Check("files", _files))
