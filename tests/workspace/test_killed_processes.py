"""Maps on real processes that are killed: a program, its workers, workers of a Dask cluster, and its scheduler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.workspace import WorkspaceMap, dask_cluster, local_workers
from linkwork.workspace.map_job import BLOCK

OPTIONS = {"samples": 12 * BLOCK, "voxel_size": 0.1, "chunk": BLOCK}
LONGEST = 300.0  # [s] that a test waits for another process on a busy machine


@pytest.fixture(scope="module")
def expected():
    return lw.load("arm7").workspace_map("hand", workers=1, **OPTIONS)


def wait_for(condition):
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, "the other process did nothing"
        time.sleep(0.02)


@pytest.mark.slow(every=5)
def test_workspace_map_interrupted_by_a_killed_program_continues(expected, tmp_path):
    path, folder = tmp_path / "map.npz", tmp_path / "map.npz.chunks"
    program = f"""import linkwork as lw
lw.load("arm7").workspace_map("hand", workers=2, path={str(path)!r}, **{OPTIONS})
"""  # not guarded by __name__
    process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        wait_for(lambda: len([*folder.glob("chunk-*.npz")]) >= 3 or process.poll() is not None)
    finally:
        process.kill()
        process.wait()
    assert not path.exists() and process.returncode == -signal.SIGKILL
    stored = len([*folder.glob("chunk-*.npz")])
    reports = []
    result = lw.load("arm7").workspace_map("hand", workers=1, path=path, progress=reports.append, **OPTIONS)
    assert result == expected == WorkspaceMap.load(path)
    assert reports[0].done >= BLOCK and len(reports) == 12 and 3 <= stored < 12 and not folder.exists()


@pytest.mark.slow(every=9)
def test_killed_workers_of_a_workspace_map_are_replaced(expected, monkeypatch):
    started = []
    start = local_workers._Pool._start

    def recorded(self):
        process = start(self)
        started.append(process)
        return process

    monkeypatch.setattr(local_workers._Pool, "_start", recorded)

    def kill_one(progress):
        if progress.done == 2 * BLOCK:
            started[0].kill()

    assert lw.load("arm7").workspace_map("hand", workers=2, progress=kill_one, **OPTIONS) == expected
    assert len(started) >= 3 and all(process.poll() is not None for process in started)

    def killed(self):
        process = recorded(self)
        process.kill()
        process.wait()
        return process

    monkeypatch.setattr(local_workers._Pool, "_start", killed)
    with pytest.raises(RuntimeError, match="a worker process ended early 3 times, at last by SIGKILL"):
        lw.load("arm7").workspace_map("hand", workers=2, **OPTIONS)


class Cluster:
    """A scheduler at a fixed address, and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        import socket

        with socket.socket() as opened:
            opened.bind(("127.0.0.1", 0))
            self.port = opened.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start()

    def start(self) -> None:
        environment = {**os.environ, "LINKWORK_NUM_THREADS": "1"}
        module = [sys.executable, "-W", "ignore", "-m"]
        commands = [
            [*module, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-show"]
        ]
        commands[0] += ["--no-dashboard"]
        worker = ["distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        commands += [[*module, *worker, "--local-directory", str(self.folder), "--death-timeout", "60"]] * 2
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
        self.processes = [subprocess.Popen(command, **options) for command in commands]

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@pytest.mark.slow(every=9)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_workspace_map_on_a_cluster_continues_after_losing_a_worker_and_the_scheduler(expected, tmp_path):
    pytest.importorskip("distributed")
    cluster = Cluster(tmp_path)
    threads: list[threading.Thread] = []

    def restart() -> None:
        cluster.stop()
        cluster.start()

    def disturb(progress):
        if progress.done == 2 * BLOCK:
            cluster.processes[1].kill()
        if progress.done == 6 * BLOCK:
            threads.append(threading.Thread(target=restart))
            threads[0].start()

    try:
        deadline = time.monotonic() + LONGEST
        while True:  # until the scheduler listens
            try:
                from distributed import Client

                Client(cluster.address, timeout=5, set_as_default=False).close()
                break
            except OSError:
                assert time.monotonic() < deadline
        path = tmp_path / "map.npz"
        reports = []
        result = lw.load("arm7").workspace_map(
            "hand",
            scheduler=cluster.address,
            path=path,
            progress=lambda p: (reports.append(p.done), disturb(p)),
            **OPTIONS,
        )
        threads[0].join()
        assert result == expected == WorkspaceMap.load(path)
        assert reports == [k * BLOCK for k in range(1, 13)]  # nothing twice
    finally:
        for thread in threads:
            thread.join()
        cluster.stop()


def test_error_of_a_missing_dask_scheduler_names_its_address(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_cluster, "_CONNECT", 0.2)
    with pytest.raises(ConnectionError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        lw.load("arm7").workspace_map("hand", scheduler="tcp://127.0.0.1:9", samples=100)
