"""Pickles of kernels: their sizes, the times to load them, and processes that share an empty cache.

`python -m benchmarks.first_calls.pickled_kernels [--processes N] [--repeats N]` prints one line for each figure.
Times are medians over processes or over series of calls.  Those of a first load are measured in new processes with a
full cache, after the import of the modules of kernels, and include the first call.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import linkwork as lw
from benchmarks.measurement.machine import machine
from benchmarks.measurement.robots import ROBOTS, NotInstalled
from linkwork.cli.output import Stream

__all__ = ["FirstLoad", "SharedCompilation", "first_load", "main", "pickled_sizes", "second_load", "shared_cache"]

_LOAD = """
import json, pickle, sys, time
import numpy as np
import linkwork as lw
lw.Kernel
start, cpu = time.perf_counter(), time.process_time()
kernel = pickle.loads(sys.stdin.buffer.read())
loaded = time.perf_counter()
kernel(*[np.full(port.shape, 0.3) for port in kernel.inputs])
print(json.dumps([loaded - start, time.perf_counter() - start, time.process_time() - cpu, kernel._code.cached]))
"""

_SHARED = """
import json, sys
import numpy as np
import linkwork as lw
from linkwork.compiler import code_parts, kernel_code
emitted, emit, store = [], code_parts._emitted, kernel_code.store_best

def emitting(source, backend, texts, stored):
    emitted.extend(f"{source.recipe.name} {part} {backend.target}" for part in texts)
    return emit(source, backend, texts, stored)

def storing(to, backend, code):
    emitted.append(f"best {to.name}")
    store(to, backend, code)

code_parts._emitted, kernel_code.store_best = emitting, storing
robot = lw.load("arm7")
q = np.linspace(0.1, 0.7, 7)
results = [robot.forward_dynamics(q, q, q), robot.compile("mass_matrix").jacobian("q")(np.stack([q] * 5))]
lw.wait_for_compiler()
print(json.dumps([emitted, [x.tolist() for x in results]]))
"""


@dataclass(frozen=True, slots=True)
class FirstLoad:
    """Times of the first load of a pickle in a new process [s]: loading, loading with a call, and processor time."""

    load: float
    load_and_call: float
    processor: float
    cached: bool  # True if no process compiled


@dataclass(frozen=True, slots=True)
class SharedCompilation:
    """Processes that started on an empty cache: compiled entries, the most compilations of one entry, and agreement."""

    processes: int
    entries: int
    most: int
    equal: bool
    wall: float  # [s]


def _kernels() -> dict[str, lw.Kernel]:
    """Return kernels of a Panda by name, or of the built-in arm of seven joints where no Panda is installed."""
    try:
        robot, frame = ROBOTS["panda"].load(), ROBOTS["panda"].hand
    except NotInstalled:
        robot, frame = lw.load("arm7"), "hand"
    dynamics = robot.compile("forward_dynamics")
    tip = lw.compile(lambda q: robot.pose(q, frame)[:3, 3], q=robot.configuration_space, name="tip")
    return {
        f"{robot.name}: pose": robot.compile(("pose", frame)),
        f"{robot.name}: forward dynamics": dynamics,
        f"{robot.name}: Jacobians of forward dynamics": dynamics.jacobian(),
        f"{robot.name}: function of a user": tip,
    }


def pickled_sizes(kernels: Mapping[str, lw.Kernel]) -> dict[str, int]:
    """Return the sizes of the kernels' pickles [bytes]."""
    return {name: len(pickle.dumps(kernel)) for name, kernel in kernels.items()}


def second_load(kernel: lw.Kernel, repeats: int = 9, loads: int = 1000) -> float:
    """Return the median processor time to load a pickle of a kernel that the process has [s]."""
    data = pickle.dumps(kernel)
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(loads):
            pickle.loads(data)
        times.append((time.process_time() - start) / loads)
    return statistics.median(times)


def first_load(kernel: lw.Kernel, repeats: int = 5) -> FirstLoad:
    """Return the median times of the first load in new processes, with a cache that has the kernel's code."""
    data, outcome = pickle.dumps(kernel), []
    kernel(*[np.full(port.shape, 0.3) for port in kernel.inputs])
    lw.wait_for_compiler()
    for _ in range(repeats):
        result = subprocess.run([sys.executable, "-c", _LOAD], input=data, capture_output=True, check=True)
        outcome.append(json.loads(result.stdout))
    load, load_and_call, processor = (statistics.median(row[k] for row in outcome) for k in range(3))
    return FirstLoad(load, load_and_call, processor, all(row[3] for row in outcome))


def shared_cache(processes: int = 8) -> SharedCompilation:
    """Return the compilations of processes that start on an empty cache at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LINKWORK_CACHE": os.path.join(folder, "cache")}
        environment.pop("LINKWORK_EFFORT", None)
        start = time.perf_counter()
        running = [
            subprocess.Popen([sys.executable, "-c", _SHARED], env=environment, stdout=subprocess.PIPE)
            for _ in range(processes)
        ]
        data = [json.loads(process.communicate()[0]) for process in running]
        wall = time.perf_counter() - start
    counts = Counter(name for names, _ in data for name in names)
    equal = len({json.dumps(results) for _, results in data}) == 1
    return SharedCompilation(processes, len(counts), max(counts.values()), equal, wall)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print all figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls.pickled_kernels", description=__doc__)
    parser.add_argument("--processes", type=int, default=8, help="processes on an empty cache (default 8)")
    parser.add_argument("--repeats", type=int, default=5, help="processes for each first load (default 5)")
    chosen = parser.parse_args(arguments)
    out = Stream(sys.stdout)
    about = machine()
    out.line(f"{about['cpu']}, {about['cores']} cores, load {about['load average']}, {about['date']}")
    kernels = _kernels()
    sizes = pickled_sizes(kernels)
    for name, kernel in kernels.items():
        first, again = first_load(kernel, chosen.repeats), second_load(kernel)
        out.line(
            f"{name}: {sizes[name]} bytes; loaded again {1e6 * again:.1f} µs; first load {1e3 * first.load:.1f} ms, "
            f"with a call {1e3 * first.load_and_call:.1f} ms ({1e3 * first.processor:.1f} ms of processor time), "
            f"{'from the cache' if first.cached else 'compiled'}"
        )
    shared = shared_cache(chosen.processes)
    out.line(
        f"{shared.processes} processes on an empty cache: {shared.entries} entries, each compiled at most "
        f"{shared.most} time, results {'equal to the bit' if shared.equal else 'different'}, {shared.wall:.0f} s"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
