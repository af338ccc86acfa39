"""First calls: seconds in fresh processes, with an empty cache and with a full one.

`python -m benchmarks.first_calls [WORDS ...]` measures the rows whose names contain one of the words, by default all.
Each call runs in a new process after its preparation and after the import of all modules.  Processor time includes
threads and, until the end of the call, the child processes that compile the best code.
Peak memory is that of the process.  The cache is full when the best code is stored: the first process waits for it
after the measurement.  The results of both processes must be finite and the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.first_calls.first_call_rows import ROWS, FirstCall
from benchmarks.measurement.machine import machine
from linkwork.cli.output import Stream

__all__ = ["CallTime", "main", "measure_first_call"]

_PROGRAM = """
import importlib, json, os, pkgutil, resource, sys, time, warnings
import numpy as np
import linkwork as lw
for found in pkgutil.walk_packages(lw.__path__, "linkwork."):
    if not found.name.startswith(("linkwork.__main__", "linkwork.environments")):
        importlib.import_module(found.name)
warnings.simplefilter("ignore")

def processor_time():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = time.process_time() + children.ru_utime + children.ru_stime
    tasks = "/proc/self/task"
    for task in os.listdir(tasks) if os.path.isdir(tasks) else ():
        with open(f"{tasks}/{task}/children") as file:
            numbers = file.read().split()
        for number in numbers:
            try:
                with open(f"/proc/{number}/stat") as file:
                    used = file.read().rpartition(")")[2].split()[11:13]
            except OSError:  # it has ended meanwhile
                continue
            result += sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
    return result

rng = np.random.default_rng(0)
prepare, call = json.loads(sys.stdin.read())
before = os.environ.pop("LINKWORK_CACHE")
names = {"np": np, "lw": lw, "rng": rng}
os.environ["LINKWORK_CACHE"] = before + "/prepare"
exec(prepare, names)
os.environ.pop("LINKWORK_EFFORT", None)  # the benchmarks' robots come with an effort
os.environ["LINKWORK_CACHE"] = before + "/call"
wall, cpu = time.perf_counter(), processor_time()
exec(call, names)
wall = time.perf_counter() - wall
cpu = processor_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
result = np.asarray(names["result"], dtype=float)
assert np.isfinite(result).all(), "the result is not finite"
print(json.dumps([wall, cpu, peak, result.ravel().tolist()]))
sys.stdout.flush()
lw.wait_for_compiler()
"""


@dataclass(frozen=True, slots=True)
class CallTime:
    """Times of a first call [s], and the peak memory of its process [MB]."""

    wall: float
    processor: float
    memory: float
    result: tuple[float, ...]


def measure_first_call(row: FirstCall, cache: Path) -> CallTime:
    """Run a first call in a new process that uses the folder as its cache.  Raises RuntimeError if it fails."""
    environment = {key: value for key, value in os.environ.items() if key != "LINKWORK_EFFORT"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=json.dumps([row.prepare, row.call]),
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "LINKWORK_CACHE": str(cache)},
    )
    if done.returncode:
        raise RuntimeError(f"{row.name}: the process failed:\n{done.stderr}")
    wall, processor, memory, result = json.loads(done.stdout.splitlines()[-1])
    return CallTime(wall, processor, memory, tuple(result))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return the exit code, 1 if a result depends on the cache."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    parser.add_argument("words", nargs="*", help="measure the rows whose names contain one of these words")
    parser.add_argument("--repeat", type=int, default=1, help="processes per row and cache; the medians are shown")
    parser.add_argument("--json", help="a file for the measured values")
    chosen = parser.parse_args(arguments)
    rows = [row for row in ROWS if not chosen.words or any(word in row.name for word in chosen.words)]
    out = Stream(sys.stdout)
    out.line(f"{'first call':56} {'cold: wall':>10} {'cpu':>7} {'warm: wall':>10} {'cpu':>7} {'memory':>8}  goal")
    values, differing = [], []
    for row in rows:
        try:
            cold, warm = _measured(row, chosen.repeat)
        except RuntimeError as reason:
            out.line(f"{row.name:56} {str(reason).splitlines()[-1]}")
            differing.append(row.name)
            continue
        missed = "" if cold.wall <= row.goal and warm.wall <= 0.1 else "  missed"
        out.line(
            f"{row.name:56} {cold.wall:8.2f} s {cold.processor:6.2f} {warm.wall:9.3f} s {warm.processor:6.2f} "
            f"{cold.memory:5.0f} MB  {row.goal:.0f} s, 0.1 s{missed}"
        )
        values.append({"row": row.name, "goal": row.goal, "cold": asdict(cold), "warm": asdict(warm)})
        if cold.result != warm.result:
            differing.append(row.name)
            out.line(f"{row.name:56} the results with an empty and with a full cache differ")
    about = machine()
    out.line("; ".join(f"{name} {value}" for name, value in about.items()))
    if chosen.json:
        Path(chosen.json).write_text(json.dumps({"machine": about, "rows": values}, indent=1) + "\n", encoding="utf-8")
    return 1 if differing else 0


def _measured(row: FirstCall, repeat: int) -> tuple[CallTime, CallTime]:
    cold, warm = [], []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(measure_first_call(row, Path(folder)))
            warm.append(measure_first_call(row, Path(folder)))
    return _median(cold), _median(warm)


def _median(times: Sequence[CallTime]) -> CallTime:
    return CallTime(
        statistics.median(t.wall for t in times),
        statistics.median(t.processor for t in times),
        max(t.memory for t in times),
        times[0].result,
    )


if __name__ == "__main__":
    sys.exit(main())
