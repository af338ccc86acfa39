"""Workspace maps on clusters of local processes: speed, memory, and what is lost when processes are killed."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import linkwork as lw

__all__ = ["ClusterSpeed", "Disturbed", "LocalProcesses", "measure_cluster", "measure_disturbed"]

_BLOCK = 16_384  # samples of a block of a map
_START = 120.0  # [s] in which the processes of a cluster must have started


class LocalProcesses:
    """A Dask scheduler and workers, each a process of its own with one thread."""

    def __init__(self, workers: int, folder: Path) -> None:
        import socket

        with socket.socket() as opened:
            opened.bind(("127.0.0.1", 0))
            self._port = opened.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.workers, self._folder = workers, folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start()

    def start(self) -> None:
        """Start all processes, and wait until the workers have registered."""
        module = [sys.executable, "-W", "ignore", "-m"]
        scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port)]
        worker = ["distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-dashboard"]
        worker += ["--local-directory", str(self._folder), "--memory-limit", "0", "--no-nanny"]
        # Set as Dask's nannies set it for their workers: freed memory goes back to the system early.
        environment = {**os.environ, "LINKWORK_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "65536"}
        commands = [[*module, *scheduler, "--no-dashboard"], *[[*module, *worker]] * self.workers]
        silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes = [subprocess.Popen(command, env=environment, **silent) for command in commands]
        end = time.monotonic() + _START
        while True:
            with suppress(OSError, TimeoutError), self.client() as client:
                client.wait_for_workers(self.workers, timeout=10)
                return
            if time.monotonic() > end:
                raise TimeoutError("the local cluster did not start")

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Connect to the scheduler."""
        import distributed

        package: Any = distributed
        client = package.Client(self.address, timeout=5, set_as_default=False)
        try:
            yield client
        finally:
            client.close()

    def stop(self) -> None:
        """Kill all processes."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()

    def __enter__(self) -> LocalProcesses:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


@dataclass(frozen=True, slots=True)
class ClusterSpeed:
    """A map by one process and by a cluster of two: medians over rounds, and the memory of the workers."""

    robot: str
    samples: int
    alone: float  # [s]
    cluster: float  # [s]
    alone_processor: float  # [s] processor time of the process alone
    cluster_processor: float  # [s] processor time of both workers
    early_memory: float  # [bytes] of the larger worker after a fifth of the samples
    memory: float  # [bytes] of the larger worker, at most
    equal: bool

    @property
    def speedup(self) -> float:
        """Ratio of elapsed times, measured."""
        return self.alone / self.cluster

    @property
    def processor_speedup(self) -> float:
        """Twice the ratio of processor times: the speed-up if both workers have a processor for themselves."""
        return 2.0 * self.alone_processor / self.cluster_processor


def measure_cluster(samples: int, rounds: int, robot: str = "arm7", frame: str = "hand") -> ClusterSpeed:
    """Time a map with collision checks on one process, and on two worker processes of a Dask cluster, in turns."""
    arm = lw.load(robot)
    times: dict[str, list[float]] = {"alone": [], "cluster": [], "alone cpu": [], "cluster cpu": []}
    memory: list[tuple[float, float]] = []  # share of samples, bytes
    equal = True
    threads = lw.get_num_threads()
    lw.set_num_threads(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalProcesses(2, Path(folder)) as cluster,
        cluster.client() as client,
    ):
        warm: dict[str, Any] = {"samples": 4 * _BLOCK, "chunk": _BLOCK}
        arm.workspace_map(frame, workers=1, **warm)
        lw.wait_for_compiler()
        arm.workspace_map(frame, scheduler=client, **warm)
        client.run(lw.wait_for_compiler)
        for k in range(rounds):
            for alone in (True, False) if k % 2 == 0 else (False, True):
                wall, cpu = time.perf_counter(), time.process_time()
                if alone:
                    expected = arm.workspace_map(frame, workers=1, samples=samples)
                    times["alone cpu"].append(time.process_time() - cpu)
                    times["alone"].append(time.perf_counter() - wall)
                else:
                    before = sum(client.run(time.process_time).values())
                    result = arm.workspace_map(
                        frame,
                        scheduler=client,
                        samples=samples,
                        progress=lambda p: memory.append((p.done / p.total, max(client.run(_resident).values()))),
                    )
                    times["cluster"].append(time.perf_counter() - wall)
                    times["cluster cpu"].append(sum(client.run(time.process_time).values()) - before)
            equal = equal and result == expected
    lw.set_num_threads(threads)
    results = {name: statistics.median(values) for name, values in times.items()}
    early = max((x for share, x in memory if share <= 0.2), default=memory[0][1])
    last = max(x for _, x in memory)
    order = [results[name] for name in ("alone", "cluster", "alone cpu", "cluster cpu")]
    return ClusterSpeed(robot, samples, *order, early, last, equal)


def _resident() -> int:
    """Return the resident memory of this process [bytes]."""
    import psutil

    return int(psutil.Process().memory_info().rss)


@dataclass(slots=True)
class Disturbed:
    """A map on a cluster that loses a worker and then its scheduler with all workers."""

    samples: int
    reported: list[int] = field(default_factory=list)
    equal: bool = False

    @property
    def errors(self) -> float:
        """Number of samples that were lost or counted twice; at least 1 if the map differs in a bit."""
        twice = abs(sum(b - a for a, b in zip([0, *self.reported], self.reported, strict=False)) - self.samples)
        return float(twice if self.equal else max(twice, 1))


def measure_disturbed(chunks: int = 12, robot: str = "arm7", frame: str = "hand") -> Disturbed:
    """Kill a worker and the scheduler in the middle of a map, and compare the result with that of one process."""
    arm, result = lw.load(robot), Disturbed(chunks * _BLOCK)
    options: dict[str, Any] = {"samples": result.samples, "chunk": _BLOCK}
    started: list[threading.Thread] = []
    with tempfile.TemporaryDirectory() as folder, LocalProcesses(2, Path(folder)) as cluster:

        def restart() -> None:
            cluster.stop()
            cluster.start()

        def disturb(progress: lw.Progress) -> None:
            result.reported.append(int(progress.done))
            if progress.done == 2 * _BLOCK:
                cluster.processes[-1].kill()
            if progress.done == chunks // 2 * _BLOCK:
                started.append(threading.Thread(target=restart))
                started[0].start()

        path = Path(folder) / "map.npz"
        try:
            outcome = arm.workspace_map(frame, scheduler=cluster.address, path=path, progress=disturb, **options)
        finally:
            for thread in started:
                thread.join()
        result.equal = outcome == arm.workspace_map(frame, workers=1, **options)
    return result
