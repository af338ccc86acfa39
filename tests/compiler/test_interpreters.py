"""Kernels in a subinterpreter of Python."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

PROGRAM = '''
import importlib.util
name = "_interpreters" if importlib.util.find_spec("_interpreters") else "_xxsubinterpreters"
interpreters = importlib.import_module(name)
CODE = """
import warnings
warnings.simplefilter("ignore")  # NumPy says that it does not support this
import numpy as np
import linkwork as lw
from linkwork.compiler.runtime.cpython import in_main_interpreter
assert not in_main_interpreter()
single = np.linspace(0.0, 1.0, 120, dtype=np.float32).reshape(40, 3)
called, listed, raw = (lw.compile(lambda x: k * x, x=3) for k in (2.0, 3.0, 4.0))
assert np.array_equal(called(single), 2.0 * single) and called(single).dtype == np.float32
assert np.array_equal(listed(list(single)), 3.0 * single)
assert np.array_equal(raw.ufunc(single), 4.0 * single) and raw.ufunc(single).dtype == np.float32
robot = lw.load("double_pendulum")
assert robot.gravity_force(single[:, :2]).dtype == np.float32
print("done", flush=True)
"""
try:
    interpreters.run_string(interpreters.create("legacy") if name == "_interpreters" else interpreters.create(), CODE)
except ImportError as error:
    print("done", error)
'''


@pytest.mark.slow(every=5)
@pytest.mark.skipif(
    not any(map(importlib.util.find_spec, ("_interpreters", "_xxsubinterpreters"))), reason="only one interpreter here"
)
def test_float32_kernels_run_in_a_subinterpreter() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("done") and "Error" not in ran.stderr, ran.stderr
