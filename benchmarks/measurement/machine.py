"""The machine and the versions that figures belong to."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

import linkwork as lw
from benchmarks.peers.pinocchio_peer import pinocchio_version
from linkwork.compiler.codegen.target import host

__all__ = ["machine", "named"]


def machine() -> dict[str, object]:
    """Return the properties of the machine and software that figures depend on, by name."""
    target = host()
    load = os.getloadavg() if hasattr(os, "getloadavg") else None
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "code for": f"{target.cpu}, {target.lanes} lanes",
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load average": None if load is None else [round(x, 2) for x in load],
        "python": platform.python_version(),
        "linkwork": lw.__version__,
        "numpy": np.__version__,
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
        "pinocchio": pinocchio_version(),
    }


def named(about: Mapping[str, Any]) -> str:
    """Return the text below a table: processor, target of the code, number of cores."""
    return (
        f"{about['cpu']} (code for {about['code for']} of float64), {about['cores']} cores shared with other programs"
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
