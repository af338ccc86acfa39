"""The check of an installation: all checks pass here, and each finds a fault that a test plants."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from installation import elementary_table
from linkwork._util import own_code
from linkwork.compiler.cache import disk_cache
from linkwork.compiler.codegen.vector_math import exponential_and_logarithm as powers
from linkwork.compiler.codegen.vector_math import vector_function
from linkwork.installation import Verdict, number_checks, selfcheck, system_checks
from linkwork.installation.report import Check, InstallationReport, Outcome

CHECKS = {
    check.name: check
    for checks in (
        selfcheck.PACKAGE_CHECKS,
        number_checks.NUMBER_CHECKS,
        system_checks.PROCESS_CHECKS,
        system_checks.SPEED_CHECKS,
    )
    for check in checks
}
TIMED = ("clock", "time of a call", "time of a state")  # another program can delay them
Patch = pytest.MonkeyPatch


@pytest.mark.slow(every=5)
def test_selfcheck_reports_no_fault_on_this_machine() -> None:
    steps: list[lw.Progress] = []
    report = lw.selfcheck(progress=steps.append)
    assert [*report.outcomes] == [*CHECKS]
    assert report.success
    usual = {"ok", "differs"} if os.environ.get("LINKWORK_SIMD") or os.environ.get("LINKWORK_CACHE") else {"ok"}
    assert {outcome.verdict.value for name, outcome in report.outcomes.items() if name not in TIMED} <= usual
    assert steps[-1].done == steps[-1].total == len(CHECKS)
    data = json.loads(json.dumps(report.as_dict()))
    assert data["machine"]["numpy"] == np.__version__ and data["checks"]["bits"]["verdict"] == "ok"
    assert all(name in str(report) for name in CHECKS)


def test_invalid_progress_option_of_selfcheck_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^selfcheck: progress: expected True, False or a function"):
        lw.selfcheck(progress=3)


# Faults: the check that finds each, what it says, and a function that plants it.


def wrong_constant(patch: Patch) -> None:
    patch.setenv("LINKWORK_CACHE", "off")  # code with the wrong constant is not stored
    vector_function.cache_clear()
    patch.setattr(powers, "SINH", (powers.SINH[0] * (1.0 + 1e-12), *powers.SINH[1:]))
    functions = {"sinh": number_checks.FUNCTIONS["sinh"]}  # a new program, which is compiled with the constant
    patch.setattr(number_checks, "FUNCTIONS", functions)


def wrong_last_row(patch: Patch) -> None:
    kernel = number_checks.dynamics_kernel()

    def call(*arrays: np.ndarray) -> np.ndarray:
        result = kernel(*arrays).copy()
        if result.ndim == 2:
            result[-1] = np.nextafter(result[-1], np.inf)
        return result

    patch.setattr(number_checks, "dynamics_kernel", lambda: call)


def double_precision_of_float32(patch: Patch) -> None:
    kernel = number_checks.dynamics_kernel()
    patch.setattr(number_checks, "dynamics_kernel", lambda: lambda *arrays: kernel(*map(np.float64, arrays)))


def slow_clock(patch: Patch) -> None:
    clock = time.perf_counter
    patch.setattr(time, "perf_counter", lambda: 0.8 * clock())


def coarse_clock(patch: Patch) -> None:
    clock = time.perf_counter
    patch.setattr(time, "perf_counter", lambda: round(50.0 * clock()) / 50.0)


def slow_kernel(patch: Patch) -> None:
    kernel = number_checks.dynamics_kernel()

    def call(*arrays: np.ndarray, **options: Any) -> Any:
        for _ in range(30):
            result = kernel(*arrays, **options)
        return result

    patch.setattr(system_checks, "dynamics_kernel", lambda: call)


def no_fused_multiply_add(patch: Patch) -> None:
    patch.setattr(system_checks, "host", lambda: SimpleNamespace(fma=False))


def one_lane(patch: Patch) -> None:
    patch.setattr(system_checks, "code_statistics", lambda kernel: SimpleNamespace(lanes=1))


def read_only_cache(patch: Patch) -> None:
    patch.setenv("LINKWORK_CACHE", "/proc/linkwork")  # no process can write there


def no_cache(patch: Patch) -> None:
    patch.setenv("LINKWORK_CACHE", "off")


def broken_interpreter(patch: Patch) -> None:
    patch.setattr(sys, "executable", "/bin/false")


def hanging_process(patch: Patch) -> None:
    patch.setattr(system_checks, "_PROGRAM", "import time; time.sleep(1000.0)")
    patch.setattr(system_checks, "_SECONDS", 0.2)


def hanging_fork(patch: Patch) -> None:
    system_checks.dynamics_kernel()  # the limit of time is that of the process alone
    patch.setattr(system_checks, "_forked", lambda connection: time.sleep(1000.0))
    patch.setattr(system_checks, "_SECONDS", 0.2)


def one_thread(patch: Patch) -> None:
    patch.setattr(system_checks, "get_num_threads", lambda: 1)
    patch.setattr(system_checks, "available_processors", lambda: 8)


def old_library(patch: Patch) -> None:
    version = metadata.version
    patch.setattr(metadata, "version", lambda name: "1.26.4" if name == "numpy" else version(name))


def changed_file(patch: Patch) -> None:
    files = [file for file in metadata.files("linkwork") or [] if file.hash is not None and file.parts[0] != ".."]
    files[0].hash = SimpleNamespace(mode="sha256", value="AAAA")
    patch.setattr(metadata, "files", lambda name: files)


FAULTS: dict[str, tuple[str, Callable[[Patch], None], Verdict, str]] = {
    "a wrong constant": ("elementary functions", wrong_constant, Verdict.FAILED, "sinh"),
    "a wrong last row": ("batch", wrong_last_row, Verdict.FAILED, "1 of 1003 states"),
    "other bits": ("bits", wrong_last_row, Verdict.FAILED, ""),
    "float32 that is float64": ("float32", double_precision_of_float32, Verdict.FAILED, "float64"),
    "a slow clock": ("clock", slow_clock, Verdict.DIFFERS, "clocks within 2"),
    "a coarse clock": ("clock", coarse_clock, Verdict.DIFFERS, "of 100 readings"),
    "a slow call": ("time of a call", slow_kernel, Verdict.DIFFERS, "ns"),
    "a slow batch": ("time of a state", slow_kernel, Verdict.DIFFERS, "ns"),
    "no FMA": ("fused multiply-add", no_fused_multiply_add, Verdict.DIFFERS, "not used"),
    "one lane": ("SIMD lanes", one_lane, Verdict.DIFFERS, "1"),
    "a read-only cache": ("cache", read_only_cache, Verdict.DIFFERS, "/proc: "),
    "no cache": ("cache", no_cache, Verdict.DIFFERS, "switched off"),
    "a broken interpreter": ("second process", broken_interpreter, Verdict.FAILED, "exit code 1"),
    "a process that hangs": ("second process", hanging_process, Verdict.FAILED, "not ended after 0.2 s"),
    "a forked process that hangs": ("fork", hanging_fork, Verdict.FAILED, "not ended after 0.2 s"),
    "one thread": ("threads", one_thread, Verdict.DIFFERS, "1 for 8 processors"),
    "an old library": ("versions", old_library, Verdict.FAILED, "numpy 1.26.4"),
    "a changed file": ("files", changed_file, Verdict.FAILED, "1 of "),
}


@pytest.mark.light
@pytest.mark.parametrize("fault", FAULTS)
def test_selfcheck_reports_a_planted_fault(fault: str, monkeypatch: Patch) -> None:
    name, plant, verdict, text = FAULTS[fault]
    if sys.platform == "win32" and fault in ("a read-only cache", "a broken interpreter"):
        pytest.skip("the fault has paths of Linux")
    if fault == "a forked process that hangs" and "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system has no fork")
    monkeypatch.setattr(own_code, "_replaced", {})
    plant(monkeypatch)
    outcome = CHECKS[name].run()
    vector_function.cache_clear()
    assert outcome.verdict is verdict and text in outcome.measured and outcome.remedy, outcome


@pytest.mark.slow(every=3)
def test_selfcheck_reports_a_cache_that_loses_its_entries(monkeypatch: Patch, tmp_path: Any) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(disk_cache.Cache, "store", lambda *arguments: None)
    outcome = CHECKS["second process"].run()
    assert outcome.verdict is Verdict.DIFFERS and outcome.measured == "equal bits, compiled again"


def test_selfcheck_without_a_cache_does_not_report_the_second_process(monkeypatch: Patch) -> None:
    no_cache(monkeypatch)
    outcome = CHECKS["second process"].run()
    assert outcome.verdict is Verdict.OK and outcome.measured == "equal bits, without a cache" and not outcome.remedy


def test_selfcheck_ignores_missing_files_outside_of_the_package(monkeypatch: Patch) -> None:
    files = [file for file in metadata.files("linkwork") or [] if file.parts[0] != ".."]
    script = metadata.PackagePath("../../../bin/no-such-script")
    script.hash, script.dist = SimpleNamespace(mode="sha256", value="AAAA"), files[0].dist  # type: ignore[attr-defined]
    monkeypatch.setattr(metadata, "files", lambda name: [script, *files])
    assert CHECKS["files"].run().verdict is Verdict.OK


@pytest.mark.parametrize("step", [0.015625, 1e-3, 1e-7])
def test_selfcheck_measures_calls_that_take_less_than_a_step_of_the_clock(step: float, monkeypatch: Patch) -> None:
    now = 0.0

    def read() -> float:
        nonlocal now
        now += 2e-6
        return now // step * step

    def function() -> None:
        nonlocal now
        now += 7e-4

    monkeypatch.setattr(time, "thread_time", read)
    assert system_checks._least(function) == pytest.approx(7e-4, rel=0.1)


def test_selfcheck_reports_a_thread_clock_that_does_not_advance(monkeypatch: Patch) -> None:
    monkeypatch.setattr(time, "thread_time", lambda: 3.0)
    with pytest.raises(RuntimeError, match=r"^time\.thread_time\(\) has not changed in 1\.0 s$"):
        system_checks._least(lambda: None)


@pytest.mark.skipif(sys.platform != "linux", reason="the number of the rounding mode is that of glibc")
def test_selfcheck_reports_a_different_rounding_mode() -> None:
    library = ctypes.CDLL(None)
    upward = 0x800 if platform.machine() == "x86_64" else 0x400000
    assert library.fesetround(upward) == 0
    try:
        outcome = CHECKS["rounding"].run()
    finally:
        library.fesetround(0)
    assert outcome.verdict is Verdict.FAILED and CHECKS["rounding"].run().verdict is Verdict.OK


def test_errors_of_a_selfcheck_are_failures_of_its_report(monkeypatch: Patch) -> None:
    def fails() -> Outcome:
        raise OSError("no such device")

    for name in ("NUMBER_CHECKS", "PROCESS_CHECKS", "SPEED_CHECKS"):
        monkeypatch.setattr(selfcheck, name, ())
    monkeypatch.setattr(selfcheck, "PACKAGE_CHECKS", (Check("devices", fails),))
    report = lw.selfcheck()
    assert isinstance(report, InstallationReport) and not report.success
    assert report.outcomes["devices"].measured == "OSError: no such device"
    assert "1 failed" in str(report)


def test_selfcheck_table_of_exact_values_equals_mpmath() -> None:
    path = os.path.join(os.path.dirname(number_checks.__file__), "elementary_values.json")
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    assert [*table] == [*number_checks.FUNCTIONS]
    for name, rows in table.items():
        lower, upper, signed = elementary_table.DOMAINS.get(name, elementary_table.REAL)
        points = np.array([[float.fromhex(number) for number in row[:2]] for row in rows])
        assert len({*points[:, 0]}) == elementary_table.POINTS and (signed or points.min() > 0.0)
        assert lower <= np.abs(points).min() and np.abs(points).max() <= upper
        assert [elementary_table.digits(name, *point) for point in points.tolist()] == [row[2] for row in rows]
    x, y, exact = (
        np.array(
            [[float.fromhex(row[k]) if k < 2 else float(Fraction(row[k])) for row in rows] for rows in table.values()]
        )
        for k in range(3)
    )
    np.testing.assert_allclose(number_checks._values(x, y), exact, rtol=1e-14, atol=0.0)


def test_facts_of_the_machine_have_the_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("LINKWORK_")]:
        monkeypatch.delenv(name)
    assert selfcheck.machine()["settings"] == "none"
    monkeypatch.setenv("LINKWORK_THREADS", "2")
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    assert selfcheck.machine()["settings"] == "LINKWORK_CACHE=off LINKWORK_THREADS=2"
