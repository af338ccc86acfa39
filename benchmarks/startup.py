"""Time in a fresh process for `import linkwork`, and to the first result."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

__all__ = ["Startup", "measure_startup"]

_UNWANTED = ("jax", "torch", "scipy")

_PROGRAM = f"""
import json, sys, time
start = time.perf_counter()
import linkwork
imported = time.perf_counter()
robot = linkwork.load("arm7")
q = robot.neutral()
robot.inverse_dynamics(q, q, q)
answered = time.perf_counter()
unwanted = [name for name in {_UNWANTED} if name in sys.modules]
print(json.dumps([imported - start, answered - start, unwanted]))
"""


@dataclass(frozen=True, slots=True)
class Startup:
    """Medians over fresh processes [s], and the modules that should not be imported."""

    import_seconds: float
    first_answer_seconds: float  # import, load arm7, compile its inverse dynamics, call it
    unwanted: tuple[str, ...]


def measure_startup(processes: int) -> Startup:
    """Time fresh processes, after one that only warms the disk's cache."""
    runs = [_run() for _ in range(processes + 1)][1:]
    return Startup(
        statistics.median(r[0] for r in runs),
        statistics.median(r[1] for r in runs),
        tuple(sorted({name for r in runs for name in r[2]})),
    )


def _run() -> tuple[float, float, list[str]]:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a fresh process failed:\n{done.stderr}")
    imported, answered, unwanted = json.loads(done.stdout)
    return float(imported), float(answered), list(unwanted)
