"""Kernels in worker processes: equal bits, and one thread by default, logged once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkwork.compiler.runtime import threads as runtime_threads
from linkwork.compiler.runtime.threads import worker_of

SCRIPT = """
import json, logging, multiprocessing, sys
import numpy as np
import linkwork as lw


class Notes(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


notes = Notes()
logging.getLogger("linkwork").addHandler(notes)
logging.getLogger("linkwork").setLevel(logging.INFO)


def computed(kernels, q):
    results = [kernels[0](q), kernels[1](q[0]), kernels[2](q, q, q)]
    return lw.get_num_threads(), [np.asarray(x).tolist() for x in results]


def work(kernels, q):
    threads, results = computed(kernels, q)
    return threads, [text for text in notes.texts if "worker" in text], results


def main():
    arm = lw.load("arm7")
    q = np.linspace(0.1, 0.7, 21).reshape(3, 7)
    kernels = [
        arm.compile(("pose", "hand")),
        lw.compile(lambda q: arm.pose(q, "hand")[:3, 3], q=arm.configuration_space, name="tip").jacobian("q"),
        arm.compile("inverse_dynamics"),
    ]
    found = {"here": work(kernels, q)}
    for method in sys.argv[1].split():
        with multiprocessing.get_context(method).Pool(1) as pool:
            found[method] = pool.apply(work, (kernels, q))
    for library in sys.argv[2].split():
        found[library] = globals()[library](kernels, q)
    print(json.dumps(found))


def loky(kernels, q):
    import joblib

    return joblib.Parallel(n_jobs=2)(joblib.delayed(computed)(kernels, q) for _ in range(2))[1]


def ray(kernels, q):
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        return ray.get(ray.remote(computed).remote(kernels, q))
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
"""


def results_in_workers(tmp_path: Path, methods: str, libraries: str, **variables: str) -> dict[str, Any]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "LINKWORK_EFFORT": "0", "RAY_AUTH_MODE": "disabled", **variables}
    if not variables:
        environment.pop("LINKWORK_NUM_THREADS", None)
    command = [sys.executable, str(script), methods, libraries]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout.splitlines()[-1]))


START_METHODS = " ".join(["fork", "spawn", "forkserver"] if hasattr(os, "fork") else ["spawn"])


@pytest.mark.slow(every=5)
def test_worker_processes_of_all_start_methods_compute_equal_results_on_one_thread(tmp_path: Path) -> None:
    by_method = results_in_workers(tmp_path, START_METHODS, "")
    _, said, expected = by_method.pop("here")
    assert not said and len(by_method) == len(START_METHODS.split())
    for threads, said, results in by_method.values():
        assert threads == 1 and results == expected
        assert said == [
            "this process is a worker of multiprocessing: batches use one thread; set_num_threads(n) or "
            "LINKWORK_NUM_THREADS=n sets another number"
        ]


@pytest.mark.slow
@pytest.mark.parametrize("library", ["loky", "ray"])
def test_worker_processes_of_joblib_and_ray_compute_on_one_thread(library: str, tmp_path: Path) -> None:
    pytest.importorskip({"loky": "joblib"}.get(library, library))
    results = results_in_workers(tmp_path, "", library)
    assert results[library] == [1, results["here"][2]]


@pytest.mark.slow
def test_environment_variable_sets_the_threads_of_worker_processes(tmp_path: Path) -> None:
    results = results_in_workers(tmp_path, "fork" if hasattr(os, "fork") else "spawn", "", LINKWORK_NUM_THREADS="3")
    assert [(threads, said) for threads, said, _ in results.values()] == [(3, []), (3, [])]


def test_worker_processes_are_recognized_by_their_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    class Process:
        _inheriting = False

    class Loky:
        __module__ = "joblib.externals.loky.backend.process"

    def module(parent: Any = None, current: Any = None) -> SimpleNamespace:
        return SimpleNamespace(parent_process=lambda: parent, current_process=lambda: current or Process())

    starting = Process()
    starting._inheriting = True
    cases: list[tuple[str | None, dict[str, Any]]] = [
        (None, {}),
        (None, {"multiprocessing.process": module(), "distributed.worker": SimpleNamespace(_global_workers=[])}),
        (None, {"ray._private.worker": SimpleNamespace(global_worker=SimpleNamespace(mode=0))}),
        ("multiprocessing", {"multiprocessing.process": module(parent=Process())}),
        ("multiprocessing", {"multiprocessing.process": module(current=starting)}),
        ("loky", {"multiprocessing.process": module(parent=Process(), current=Loky())}),
        ("Dask", {"distributed.worker": SimpleNamespace(_global_workers=[1])}),
        ("Ray", {"ray._private.worker": SimpleNamespace(global_worker=SimpleNamespace(mode=1))}),
    ]
    for expected, modules in cases:
        monkeypatch.setattr(runtime_threads, "sys", SimpleNamespace(modules=modules))
        assert worker_of() == expected
