"""Time in a fresh process for `import linkwork`, and to the first results with code from the cache."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

__all__ = ["Startup", "measure_startup"]

_UNWANTED = ("jax", "torch", "scipy")

_PROGRAM = f"""
import json, sys, time
import numpy
start, used = time.perf_counter(), time.process_time()
import linkwork
imported = time.perf_counter()
robot = linkwork.load("arm7")
q = robot.neutral()
robot.pose(q, "hand")
used = time.process_time() - used
modules = sum(name.partition(".")[0] == "linkwork" for name in sys.modules)
robot.inverse_dynamics(q, q, q)
answered = time.perf_counter()
unwanted = [name for name in {_UNWANTED} if name in sys.modules]
print(json.dumps([imported - start, answered - start, used, modules, unwanted]))
"""


@dataclass(frozen=True, slots=True)
class Startup:
    """Medians over fresh processes after the import of NumPy [s], and the modules that should not be imported."""

    import_seconds: float
    first_answer_seconds: float  # import, load arm7, call its inverse dynamics
    pose_seconds: float  # processor time: import, load arm7, call its pose
    pose_modules: int  # modules of linkwork that this imports
    unwanted: tuple[str, ...]


def measure_startup(processes: int) -> Startup:
    """Time fresh processes, after one that only warms the disk's cache."""
    runs = [_run() for _ in range(processes + 1)][1:]
    return Startup(
        statistics.median(r[0] for r in runs),
        statistics.median(r[1] for r in runs),
        statistics.median(r[2] for r in runs),
        max(r[3] for r in runs),
        tuple(sorted({name for r in runs for name in r[4]})),
    )


def _run() -> tuple[float, float, float, int, list[str]]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # its threads wait on a processor for 0.1 s
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    imported, answered, used, modules, unwanted = json.loads(done.stdout)
    return float(imported), float(answered), float(used), int(modules), list(unwanted)
