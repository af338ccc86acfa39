"""The machine and the versions that figures belong to."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

import linkwork as lw
from linkwork.cli.peer import pinocchio_version
from linkwork.compiler.target import host

__all__ = ["machine"]


def machine() -> dict[str, object]:
    """What figures depend on, by name."""
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


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
