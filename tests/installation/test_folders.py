"""Folders with unusual names: robot files, kernels and the cache; and one cache that several machines share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.kernels import levels

NAMES = {
    "spaces and quotes": ["my robots", 'it\'s "quoted" & $HOME; #1 %20 [a]*?'],
    "other scripts": ["größe", "ロボット", "Ω 🤖 e\N{COMBINING ACUTE ACCENT}"],
    "a long path": ["long " * 40] * 3,
    "bytes outside of UTF-8": ["\udcff\udcfe"],
}
FORMATS = {"json": "save", "urdf": "to_urdf", "sdf": "to_sdf", "xml": "to_mjcf"}

# Prints torques and if the code of the single call was in the cache.
PROGRAM = """
import sys
import linkwork as lw
from linkwork.kernels import code_statistics
kernel = lw.load(sys.argv[1]).compile("inverse_dynamics")
q, v, a = ([0.1 * (k + shift) for k in range(kernel.inputs[0].size)] for shift in (1, 2, 3))
torques = [x.hex() for x in kernel(q, v, a).tolist()]
error = abs(kernel(q, v, a) - kernel.interpret(q, v, a)).max()
print(*torques, error < 1e-10, code_statistics(kernel).cached)
"""


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if sys.platform == "win32" and request.param in ("spaces and quotes", "bytes outside of UTF-8"):
        pytest.skip("Windows has no such names")
    result = tmp_path.joinpath(*NAMES[request.param])
    try:
        result.mkdir(parents=True)
    except OSError as error:  # of file systems with names in Unicode
        pytest.skip(f"the file system has no such names: {error}")
    return result


def started(cache: Path, robot: str, **environment: str) -> subprocess.Popen[str]:
    """Start the program in another process, whose cache is a folder."""
    settings = os.environ | {"LINKWORK_CACHE": str(cache), "PYTHONWARNINGS": "error", **environment}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, robot], env=settings, text=True, **streams)


def ended(process: subprocess.Popen[str]) -> tuple[list[str], str]:
    """Return the torques that a process printed, and if its code was cached."""
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    *torques, right, cached = output.split()
    assert right == "True"
    return torques, cached


@pytest.mark.slow(every=5)
def test_robot_files_and_the_cache_work_in_folders_with_unusual_names(folder: Path) -> None:
    robot, is_utf8 = lw.load("arm6"), str(folder).isprintable()
    expected = robot.inverse_dynamics(robot.neutral(), [0.1] * 6, [0.2] * 6)
    for ending, method in FORMATS.items():
        if ending == "xml":
            pytest.importorskip("mujoco")
        path = folder / f"robot 1.{ending}"
        getattr(robot, method)(path)
        if ending == "xml" and not is_utf8:
            with pytest.raises(ModelError, match="it reads no files whose path has bytes that are not UTF-8"):
                lw.load(path)
            continue
        loaded = lw.load(path)
        assert loaded.inverse_dynamics(loaded.neutral(), [0.1] * 6, [0.2] * 6) == pytest.approx(expected, rel=1e-9)
    results = [ended(started(folder / "cache", str(folder / "robot 1.json"))) for _ in range(2)]
    assert results[0][0] == results[1][0]
    assert [cached for _, cached in results] == ["False", "True"]


@pytest.mark.slow(every=5)
def test_processors_that_share_a_cache_at_the_same_time_load_their_own_code(tmp_path: Path) -> None:
    """A home directory of several machines: each level is another processor, whose code has a name of its own."""
    names = [*levels()]
    results = []
    for _ in range(2):
        processes = [started(tmp_path, "arm6", LINKWORK_SIMD=name) for name in names for _ in range(2)]
        results.append([ended(process) for process in processes])
    first, second = results
    assert [torques for torques, _ in first] == [torques for torques, _ in second]
    assert all(cached == "True" for _, cached in second)
    assert all(first[k][0] == first[k + 1][0] for k in range(0, len(first), 2))
