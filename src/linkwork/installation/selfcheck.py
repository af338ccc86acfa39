"""The check of an installation: does linkwork compute correct numbers at the usual speed on this machine?"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter
from linkwork._util.thread_tasks import available_processors
from linkwork.installation.number_checks import NUMBER_CHECKS
from linkwork.installation.report import Check, InstallationReport, Outcome, Verdict, outcome_of
from linkwork.installation.system_checks import PROCESS_CHECKS, SPEED_CHECKS
from linkwork.kernels import host

__all__ = ["PACKAGE_CHECKS", "machine", "selfcheck"]

_INSTALL = "install it again: pip install --force-reinstall linkwork"


def selfcheck(*, progress: Any = False) -> InstallationReport:
    """Check the installation on this machine, in about ten seconds.

    The checks are: versions and files of the package; single calls, batches, float32, loops, derivatives, inverse
    kinematics and elementary functions, compared with exact values; the cache, other processes, threads, small stacks;
    clocks, SIMD lanes and times of calls. A check that raises an error has failed; ``measured`` is then the text of the
    error.

    ``progress`` is True for a bar, or a function of `Progress`.

    >>> import linkwork as lw
    >>> report = lw.selfcheck()
    >>> report.success
    True

    ``print(report)`` is the table that a report of an error needs; ``linkwork selfcheck`` prints it.
    """
    checks = (*PACKAGE_CHECKS, *NUMBER_CHECKS, *PROCESS_CHECKS, *SPEED_CHECKS)
    outcomes: dict[str, Outcome] = {}
    seconds: dict[str, float] = {}
    with Reporter("selfcheck", progress, "checks", len(checks)) as report:
        for check in checks:
            begin = time.perf_counter()
            try:
                outcomes[check.name] = check.run()
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                outcomes[check.name] = Outcome(Verdict.FAILED, text, "no error", "report this table")
            seconds[check.name] = time.perf_counter() - begin
            report.advance(1)
    return InstallationReport(machine(), outcomes, seconds)


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
