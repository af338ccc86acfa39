"""Overhead of Dask over a loop of NumPy calls: the same chunks, the same sums, one thread.

`python -m benchmarks.clusters.dask_overhead` prints processor times of an arm's inverse dynamics,
in chunks of 10⁵ samples.  Both sides compute the joint torques of the same arrays in memory, chunk by chunk, and add
them up; the sums are compared.  They are timed in turns, and the overhead is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.measurement.robots import ROBOTS

__all__ = ["Overhead", "measure_overhead"]


@dataclass(frozen=True, slots=True)
class Overhead:
    """Median processor times of one pass over all chunks [s], and Dask's overhead as a share of the loop's time."""

    robot: str
    chunk: int  # samples
    chunks: int
    loop: float
    dask: float
    overhead: float


def measure_overhead(robot: str = "panda", chunk: int = 100_000, chunks: int = 50, rounds: int = 9) -> Overhead:
    """Measure Dask's single-threaded scheduler beside a loop of NumPy calls.

    Raises AssertionError if the results differ in a bit, and NotInstalled for a robot that is not on this machine.
    """
    import dask.array as da

    arm = ROBOTS[robot].load()
    rng = np.random.default_rng(0)
    q = arm.random_configuration(rng, size=chunk)
    v, a = rng.normal(size=(2, chunk, arm.nv))
    # blocks that a function returns, as from a file or a generator; `from_array` would copy them
    lazy = [da.map_blocks(partial(_stored, x), chunks=((chunk,) * chunks, x.shape[1:]), dtype=float) for x in (q, v, a)]
    summed = {"axis": 0, "keepdims": True, "dtype": float, "chunks": ((1,) * chunks, (arm.nv,))}

    def looped() -> np.ndarray:
        return np.concatenate([arm.inverse_dynamics(q, v, a).sum(axis=0, keepdims=True) for _ in range(chunks)])

    def with_dask() -> np.ndarray:
        torque = arm.inverse_dynamics(*lazy)
        return np.asarray(torque.map_blocks(np.sum, **summed).compute(scheduler="synchronous"))

    threads = lw.get_num_threads()
    lw.set_num_threads(1)
    try:
        assert looped().tobytes() == with_dask().tobytes()
        pairs = []
        for k in range(rounds):
            calls: list[Callable[[], Any]] = [looped, with_dask]
            times = {call: _processor_time(call) for call in (calls if k % 2 == 0 else calls[::-1])}
            pairs.append((times[looped], times[with_dask]))
    finally:
        lw.set_num_threads(threads)
    loop, dasks = (statistics.median(x) for x in zip(*pairs, strict=True))
    return Overhead(robot, chunk, chunks, loop, dasks, statistics.median(y / x for x, y in pairs) - 1.0)


def _stored(block: np.ndarray) -> np.ndarray:
    return block


def _processor_time(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    """Print the overhead, or write it as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clusters.dask_overhead", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--robots", nargs="+", default=["panda"], choices=list(ROBOTS), metavar="NAME")
    parser.add_argument("--chunks", nargs="+", type=int, default=[10_000, 100_000], help="samples in a chunk")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    arguments = parser.parse_args()
    results = [
        measure_overhead(robot, chunk, max(5_000_000 // chunk, 1), arguments.rounds)
        for robot in arguments.robots
        for chunk in arguments.chunks
    ]
    for overhead in results:
        print(
            f"{overhead.robot}: {overhead.chunks} chunks of {overhead.chunk}: loop {overhead.loop:.4f} s, "
            f"Dask {overhead.dask:.4f} s, overhead {100.0 * overhead.overhead:.1f} %"
        )
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([asdict(overhead) for overhead in results], file, indent=1)


if __name__ == "__main__":
    main()
