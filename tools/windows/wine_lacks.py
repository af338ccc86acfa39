"""Tests that Wine cannot run, each with the reason: a pytest plugin of `tools/windows/run`.

A test that fails on Windows itself has no place here.
"""

from __future__ import annotations

import fnmatch

import pytest

LACKS: dict[str, str] = {
    "tests/compiler/test_trace.py::test_compiled_functions_that_return_other_values_than_floats*": (
        "crealf, by which NumPy converts complex64"
    ),
}
"""Patterns of node ids, with what Wine lacks."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that `LACKS` names."""
    for item in items:
        for pattern, reason in LACKS.items():
            if fnmatch.fnmatch(item.nodeid, pattern):
                item.add_marker(pytest.mark.skip(reason=f"Wine: {reason}"))
