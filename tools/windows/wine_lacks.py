"""Tests that do not run under Wine, each with the reason: a pytest plugin of `tools/windows/run`.

A test that fails on Windows itself has no place here, but one that needs a library that Windows has not.
"""

from __future__ import annotations

import fnmatch
import os
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import pytest

_EXPONENTIAL = "cexp, by which NumPy computes exponentials of complex numbers"
LACKS: dict[str, str] = {
    "tests/compiler/test_trace.py::test_compiled_functions_that_return_other_values_than_floats*": (
        "crealf, by which NumPy converts complex64"
    ),
    "tests/compiler/vector_math/test_special_values.py::*equal_numpys*-log2-*": (
        "a right log2 of -0.0 (+inf), which is NumPy's"
    ),
    "tests/compiler/vector_math/test_special_values.py::*equal_numpys*-cbrt-32-*": (
        "a right cbrtf of 6.98e12 (NaN), which is NumPy's in arrays"
    ),
    **dict.fromkeys(
        (
            "tests/compiler/test_casadi.py::test_operations_converted_to_casadi_equal_the_interpreter*exp2*",
            "tests/compiler/test_casadi.py::test_operations_converted_to_casadi_equal_the_interpreter*cos*",
        ),
        "an accurate pow and cos of arguments from 4.5e15 on, which CasADi calls (1e-5; linkwork's equal mpmath's)",
    ),
    "tests/interop/test_recipes.py::test_scripts_of_the_cluster_page_run*processes*": (
        "pools of two processes that get arrays: one that calls np.add alone waits for ever"
    ),
    **dict.fromkeys(
        (
            "tests/mechanisms/test_minimal_coordinates.py::test_rolling_coin_in_minimal_coordinates_is_stable_*",
            "tests/constraints/test_rolling.py::test_upright_rolling_discs_are_stable_above_the_critical_speed",
        ),
        "cimag, which NumPy calls",
    ),
    **dict.fromkeys(
        (
            "tests/ik/test_subproblems.py::*",
            "tests/constraints/test_curves.py::test_pin_of_a_geneva_wheel_moves_along_its_slot",
            "tests/constraints/test_loop_joints.py::test_springs_of_angles_that_close_loops_pull_*",
            "tests/mechanisms/test_branches.py::test_four_bar_has_two_assembly_branches",
            "tests/mechanisms/test_branches.py::test_driven_motion_of_a_crank_continues_through_full_turns",
            "tests/mechanisms/test_driven_output.py::test_forces_of_rollers_and_gears_are_in_results_*",
            "tests/planning/test_executed_paths.py::test_planned_straight_edges_rotate_in_the_shorter_direction",
        ),
        _EXPONENTIAL,
    ),
}
"""Patterns of node ids, with what Wine lacks."""
_NOT_INSTALLED = "a reference of tests that is not installed there"
LIBRARIES = {
    "scipy": "crealf, which SciPy calls when it is imported; it is not installed",
    "pinocchio": "a wheel of Pinocchio, which Windows has not either",
    "example_robot_data": "a wheel of example_robot_data, which Windows has not either",
    "resource": "limits of memory of a process, which Windows has not by this module either",
    **dict.fromkeys(("mujoco", "ruckig", "pxr", "dask", "stable-baselines3"), _NOT_INSTALLED),
    **dict.fromkeys(("matplotlib", "viser", "playwright", "joblib", "zarr"), _NOT_INSTALLED),
    **dict.fromkeys(("hatchling", "psutil", "PIL"), _NOT_INSTALLED),
}
"""Libraries that are not installed, with the reasons: tests and files that import them are skipped."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that `LACKS` names."""
    for item in items:
        for pattern, reason in LACKS.items():
            if fnmatch.fnmatch(item.nodeid, pattern):
                item.add_marker(pytest.mark.skip(reason=f"Wine: {reason}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Skip a test that imports one of `LIBRARIES`, or makes a symbolic link where links are not seen as such."""
    try:
        if _has_symbolic_links():
            return (yield)
        with mock.patch.object(os, "symlink", _no_symlink):  # pytest itself makes links before
            return (yield)
    except ImportError as error:
        reason = _reason(str(error))
        if reason is None:
            raise
        pytest.skip(f"Wine: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escape what no encoding has in the text of a failure, or pytest-xdist would end the run there."""
    report = yield
    text = str(report.longrepr) if report.failed else ""
    if any("\ud800" <= character <= "\udfff" for character in text):
        report.longrepr = text.encode("utf-8", "backslashreplace").decode()
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a file that imports one of `LIBRARIES`."""
    report = yield
    text = str(report.longrepr) if report.failed else ""
    reason = _reason(text) if "ModuleNotFoundError" in text or "ImportError" in text else None
    if reason is not None:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Wine: {reason}")
    return report


@cache
def _has_symbolic_links() -> bool:
    """Return False if the system makes symbolic links that look like files."""
    with tempfile.TemporaryDirectory() as folder:
        file, link = Path(folder, "file"), Path(folder, "link")
        file.touch()
        try:
            os.symlink(file, link)
        except OSError:
            return True  # an error that the test itself shows
        return link.is_symlink()


def _no_symlink(*_: Any, **__: Any) -> NoReturn:
    pytest.skip("Wine: symbolic links, which look like files and folders")


def _reason(message: str) -> str | None:
    """Return the reason why Wine cannot run a library that an error message names, or None."""
    return next(
        (why for name, why in LIBRARIES.items() if f"'{name}" in message or f" {name}, which is not" in message), None
    )
