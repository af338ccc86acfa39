"""Kernels and maps on several processes: `python -m benchmarks.clusters.distributed`.

Clusters are real processes on this machine.  Kernels that pickle: size, loads, and eight processes on an empty cache.
Dask: a map of a workspace on a cluster of two processes beside one process, memory of the workers, a worker and a
scheduler that are killed, and the overhead over a loop of a kernel.  Samples per second are beside Pinocchio in a loop.

Ratios of elapsed times need a quiet machine; ``load average`` is printed with them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.clusters.map_clusters import measure_cluster, measure_disturbed
from benchmarks.first_calls.pickled_kernels import first_load, pickled_sizes, second_load, shared_cache
from benchmarks.measurement.machine import machine
from benchmarks.measurement.robots import ROBOTS, NotInstalled
from benchmarks.measurement.seconds import shown_time
from benchmarks.tables.report import target_table
from benchmarks.tables.targets import Target
from benchmarks.tables.verdicts import Verdict
from linkwork.cli.output import Stream, Terminal

__all__ = ["distributed_verdicts", "main"]

_UNWANTED = ("dask", "distributed", "xarray", "ray", "pandas", "zarr")
_MIB = 1 << 20


def distributed_verdicts(parts: Sequence[str], samples: int, rounds: int) -> Iterator[Verdict]:
    """Yield the rows of the table; ``samples`` and ``rounds`` are of the maps."""
    for name in parts:
        yield from PARTS[name](samples, rounds)


def _row(
    subject: str, ours: str, value: float | None, shown: str, target: Target, bound: str, peer: str = "-"
) -> Verdict:
    return Verdict("-", subject, ours, peer, value, shown, target, bound)


# -- kernels that pickle


def _panda() -> lw.Kernel:
    """Return a kernel of the Panda, or of a built-in arm where its file is not installed."""
    try:
        robot = ROBOTS["panda"].load()
    except NotInstalled:
        robot = lw.load("arm7")
    return robot.compile("inverse_dynamics")


def _pickling(samples: int, rounds: int) -> Iterator[Verdict]:
    kernel = _panda()
    (size,) = pickled_sizes({kernel.name: kernel}).values()
    yield _row("kernel, pickled", f"{size} bytes", size, f"{size / 1024:.1f} KiB", Target(20480), "<= 20 KiB")
    second = second_load(kernel)
    yield _row("second load", kernel.name, second, shown_time(second), Target(10e-6), "<= 10 µs")
    first = first_load(kernel, max(rounds, 5))
    value = first.processor if first.cached else float("inf")
    shown = "with the first call" if first.cached else "compiled again"
    yield _row("first load, full cache", shown, value, shown_time(first.processor), Target(0.030), "<= 30 ms")
    shared = shared_cache()
    shown = f"{shared.entries} entries by {shared.processes} processes"
    value = float(shared.most - 1) if shared.equal else float("inf")
    yield _row("8 processes, empty cache", shown, value, f"{shared.most - 1} twice", Target(0.0), "compiled once")


# -- Dask


def _clusters(samples: int, rounds: int) -> Iterator[Verdict]:
    result = measure_cluster(samples, rounds)
    ours, peer = f"{result.cluster:.3g} s", f"{result.alone:.3g} s"
    about = f"map of {samples:.0e} samples"
    yield _row(
        f"{about}, 2 processes", ours, result.speedup, f"{result.speedup:.2f}", Target(1.9, True), ">= 1.9 ×", peer
    )
    ours, peer = (f"{x:.3g} s cpu" for x in (result.cluster_processor, result.alone_processor))
    value = result.processor_speedup
    yield _row("the same by processor times", ours, value, f"{value:.2f}", Target(1.9, True), ">= 1.9 ×", peer)
    early, last = (f"{x / _MIB:.0f} MiB" for x in (result.early_memory, result.memory))
    value = result.memory / 2**30
    yield _row("memory of a worker", f"{early} at first", value, last, Target(0.5), "<= 0.5 GiB")
    yield _row("equal to the bit", str(result.equal), float(not result.equal), str(result.equal), Target(0.0), "True")


def _disturbed(samples: int, rounds: int) -> Iterator[Verdict]:
    result = measure_disturbed()
    shown = f"{result.errors:.0f} of {result.samples} samples"
    yield _row(
        "worker and scheduler killed", f"{len(result.reported)} chunks", result.errors, shown, Target(0.0), "none lost"
    )


def _overhead(samples: int, rounds: int) -> Iterator[Verdict]:
    from benchmarks.clusters.dask_overhead import measure_overhead

    try:
        result = measure_overhead("panda")
    except NotInstalled:
        result = measure_overhead("arm7")
    ours, peer = f"{result.dask:.3g} s cpu", f"{result.loop:.3g} s cpu"
    shown = f"{100.0 * result.overhead:.1f} %"
    yield _row(f"Dask, chunks of {result.chunk:.0e}", ours, result.overhead, shown, Target(0.1), "<= 10 %", peer)


# -- throughput and import


def _throughput(samples: int, rounds: int) -> Iterator[Verdict]:
    """Yield samples per second and core of the measures of a map, without collisions, beside Pinocchio in a loop."""
    from linkwork.workspace.block_evaluation import BlockEvaluator, with_unit
    from linkwork.workspace.map_job import BLOCK, read_job

    robot, entry = ROBOTS["panda"].load(), ROBOTS["panda"]
    options: dict[str, Any] = {"samples": 64 * BLOCK, "seed": 0, "voxel_size": 0.05, "relative_to": "world"}
    options |= {"approach_axis": "z", "part": "position", "collision": False, "margin": 0.0}
    job = with_unit(read_job(robot, entry.hand, None, position_limits=None, configuration=None, **options))
    evaluator = BlockEvaluator(job)
    threads = lw.get_num_threads()
    lw.set_num_threads(1)
    evaluator.counts(0, 2)
    lw.wait_for_compiler()
    evaluator.counts(0, 2)
    times = []
    for k in range(max(rounds, 5)):
        begin = time.process_time()
        evaluator.counts(8 * k, 8 * k + 8)
        times.append((time.process_time() - begin) / (8 * BLOCK))
    lw.set_num_threads(threads)
    ours, peer = statistics.median(times), _pinocchio_loop(entry, evaluator.configurations(0)[:2000])
    value = None if peer is None else peer / ours
    shown = "-" if value is None else f"{value:.0f} ×"
    peer_rate = "-" if peer is None else f"{1.0 / peer:.3g} /s"
    yield _row(
        "samples per core, no collisions",
        f"{1.0 / ours:.3g} /s",
        value,
        shown,
        Target(10.0, True),
        ">= 10 ×",
        peer_rate,
    )


def _pinocchio_loop(entry: Any, q: np.ndarray) -> float | None:
    """Return the time of pose, Jacobian and singular values of a sample with Pinocchio and NumPy [s]."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model = pin.buildModelFromUrdf(str(entry.path))
    data, frame = model.createData(), model.getFrameId(entry.hand)
    times = []
    for _ in range(5):
        begin = time.process_time()
        for x in q:
            J = pin.computeFrameJacobian(model, data, x, frame, pin.LOCAL_WORLD_ALIGNED)
            pin.updateFramePlacement(model, data, frame)
            data.oMf[frame].translation.copy()
            np.linalg.svd(J[:3], compute_uv=False)
        times.append((time.process_time() - begin) / len(q))
    return statistics.median(times)


def _imports(samples: int, rounds: int) -> Iterator[Verdict]:
    program = f"""import json, sys, time
begin = time.process_time()
import linkwork
robot = linkwork.load("arm7")
robot.inverse_dynamics(*[robot.neutral()] * 3)
print(json.dumps([time.process_time() - begin, [name for name in {_UNWANTED} if name in sys.modules]]))"""
    results = []
    for _ in range(max(rounds, 5)):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        results.append(json.loads(done.stdout))
    seconds = statistics.median(x[0] for x in results)
    names = sorted({name for x in results for name in x[1]})
    shown = ", ".join(names) or "none"
    yield _row("imported with linkwork", f"{seconds:.2f} s cpu", float(len(names)), shown, Target(0.0), "none")


Part = Callable[[int, int], Iterator[Verdict]]
PARTS: dict[str, Part] = {
    "imports": _imports,
    "pickling": _pickling,
    "throughput": _throughput,
    "overhead": _overhead,
    "killed": _disturbed,
    "clusters": _clusters,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and return 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clusters.distributed", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="parts to measure")
    parser.add_argument("--samples", type=float, default=1e7, help="samples of the maps on clusters (default: 1e7)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the maps on clusters (default: 3)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    options = parser.parse_args(arguments)
    terminal = Terminal(Stream(sys.stdout), Stream(sys.stderr))
    rows = []
    for row in distributed_verdicts(options.parts, int(options.samples), options.rounds):
        rows.append(row)
        terminal.log.line(f"{row.label}: {row.ours}, {row.shown}: {row.verdict}")
    about = machine()
    terminal.out.lines([*target_table(rows), "", *(f"{name}: {value}" for name, value in about.items())])
    if options.json:
        content = {"machine": about, "rows": [{**asdict(row), "verdict": row.verdict} for row in rows]}
        Path(options.json).write_text(json.dumps(content, indent=1), encoding="utf-8")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
