"""Checks that compiled code computes correct numbers: single calls, batches, loops, float32, elementary functions.

The code is that of the bundled robot arm7, at states that are computed without random numbers.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.resources
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from linkwork import Kernel, load
from linkwork.expr import eq, lt, where, while_loop
from linkwork.installation.report import Check, Outcome, Verdict, outcome_of
from linkwork.kernels import compile, host

__all__ = ["FUNCTIONS", "NUMBER_CHECKS", "digest_of", "dynamics_kernel", "largest_errors", "states"]

_COUNT = 1003  # states of a batch: no multiple of the lanes
_REPORT = "report this table: a result is wrong on this machine"
# Digests of the batch's results on machines of the tests, with and without fused multiply-add.
DIGESTS = {True: "31ca98ddc4726bbb", False: "7dd8112c5d047927"}
_ULP = 0.9  # the bound of docs/mathematics.md


# Each function, of two arguments of which most ignore the second one.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda x, _: np.sin(x),
    "cos": lambda x, _: np.cos(x),
    "tan": lambda x, _: np.tan(x),
    "asin": lambda x, _: np.arcsin(x),
    "acos": lambda x, _: np.arccos(x),
    "atan": lambda x, _: np.arctan(x),
    "atan2": np.arctan2,
    "exp": lambda x, _: np.exp(x),
    "exp2": lambda x, _: np.exp2(x),
    "expm1": lambda x, _: np.expm1(x),
    "log": lambda x, _: np.log(x),
    "log1p": lambda x, _: np.log1p(x),
    "log2": lambda x, _: np.log2(x),
    "log10": lambda x, _: np.log10(x),
    "pow": lambda x, y: x**y,
    "cbrt": lambda x, _: np.cbrt(x),
    "hypot": np.hypot,
    "sinh": lambda x, _: np.sinh(x),
    "cosh": lambda x, _: np.cosh(x),
    "tanh": lambda x, _: np.tanh(x),
    "asinh": lambda x, _: np.arcsinh(x),
    "acosh": lambda x, _: np.arccosh(x),
    "atanh": lambda x, _: np.arctanh(x),
    "sqrt": lambda x, _: np.sqrt(x),
}
_TABLE = "elementary_values.json"


@cache
def dynamics_kernel() -> Kernel:
    """Return the kernel of inverse dynamics of arm7."""
    return load("arm7").compile("inverse_dynamics")


@cache
def states() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v and a of a batch, shape (1003, 7) each: multiples of the golden ratio, equal on all machines."""
    turns = np.arange(1, 3 * 7 * _COUNT + 1).reshape(3, _COUNT, 7) * 0.6180339887498949
    q, v, a = 4.0 * (turns - np.floor(turns)) - 2.0
    return q, v, a


def digest_of(result: np.ndarray) -> str:
    """Return a digest of the bits of an array."""
    return hashlib.sha256(np.ascontiguousarray(result, "<f8").tobytes()).hexdigest()[:16]


def _relative(result: np.ndarray, reference: np.ndarray) -> float:
    return float(np.abs(result - reference).max() / np.abs(reference).max())


def _single_call() -> Outcome:
    kernel, (q, v, a) = dynamics_kernel(), states()
    error = max(_relative(kernel(q[k], v[k], a[k]), kernel.interpret(q[k], v[k], a[k])) for k in range(5))
    return outcome_of(error < 1e-12, f"{error:.1e} of the interpreter's torques", "below 1e-12", _REPORT)


def _batch() -> Outcome:
    kernel, (q, v, a) = dynamics_kernel(), states()
    rows = np.array([kernel(*state) for state in zip(q, v, a, strict=True)])
    wrong = int((rows != kernel(q, v, a)).any(axis=1).sum())
    return outcome_of(wrong == 0, f"{wrong} of {_COUNT} states differ from single calls", "0: equal bits", _REPORT)


def _bits() -> Outcome:
    digest, fuses = digest_of(dynamics_kernel()(*states())), host().fma
    expected = f"{DIGESTS[fuses]}{'' if fuses else ' (without fused multiply-add)'}"
    return outcome_of(digest == DIGESTS[fuses], digest, expected, _REPORT)


def _float32() -> Outcome:
    kernel, values = dynamics_kernel(), states()
    single = kernel(*(x.astype(np.float32) for x in values))
    error = _relative(single, kernel(*values))
    right = single.dtype == np.float32 and error < 1e-5
    return outcome_of(right, f"{single.dtype}, {error:.1e} of float64", "float32, below 1e-5", _REPORT)


def _derivative() -> Outcome:
    kernel, values = dynamics_kernel(), [x[:20] for x in states()]
    error = _relative(kernel.jacobian("a")(*values), load("arm7").mass_matrix(values[0]))
    return outcome_of(error < 1e-13, f"{error:.1e} of the mass matrix", "below 1e-13", _REPORT)


def _collatz(n: Any) -> Any:
    """Return the number of steps to 1: n / 2 for even n, 3 n + 1 for odd n."""

    def step(state: Any) -> Any:
        number, count = state
        half = np.floor(number / 2)
        return where(eq(2 * half, number), half, 3 * number + 1), count + 1

    return while_loop(lambda state: lt(1.0, state[0]), step, (n, 0.0), max_iterations=500)[1]


def _loop() -> Outcome:
    starts = np.arange(1.0, 98.0)
    counts = compile(_collatz, name="collatz", n=())(starts)
    expected = []
    for number in map(int, starts):
        steps = 0
        while number != 1:
            number, steps = (3 * number + 1 if number % 2 else number // 2), steps + 1
        expected.append(steps)
    wrong = int((counts != expected).sum())
    return outcome_of(wrong == 0, f"{wrong} of {starts.size} loops with a wrong length", "0", _REPORT)


def _inverse_kinematics() -> Outcome:
    robot, q = load("arm7"), states()[0][:20]
    target = robot.pose(q, "hand")
    solution = robot.inverse_kinematics(target, "hand")
    error = float(np.abs(robot.pose(solution.q, "hand") - target)[solution.success].max(initial=0.0))
    count = int(solution.success.sum())
    return outcome_of(
        count >= 19 and error < 1e-5, f"{count} of 20 poses, error {error:.1e}", "19, below 1e-5", _REPORT
    )


def _elementary_functions() -> Outcome:
    errors = largest_errors()
    worst = max(errors, key=lambda name: errors[name])
    measured = f"{errors[worst]:.2f} ulp ({worst}), {len(errors)} functions"
    return outcome_of(errors[worst] <= _ULP, measured, f"at most {_ULP} ulp", _REPORT)


def _gradual_underflow() -> Outcome:
    tiny, half = np.full(9, 2.0**-1050), 2.0**-1051
    is_gradual = all(bool(np.all(result == half)) for result in (tiny * 0.5, compile(_half, name="half", x=())(tiny)))
    remedy = "a library of this process sets the processor to flush subnormal numbers to zero; import it after linkwork"
    return outcome_of(is_gradual, "kept" if is_gradual else "flushed to zero", "kept", remedy, Verdict.DIFFERS)


def _half(x: Any) -> Any:
    return x * 0.5


def _rounding() -> Outcome:
    unit = ctypes.c_double(1.0).value  # not known when the code is compiled
    ulp = 2.0**-52
    values = [
        unit + 0.5 * ulp,
        unit + 0.75 * ulp,
        -unit - 0.5 * ulp,
        -unit - 0.75 * ulp,
        unit / 3.0 * 3.0,
        math.sqrt(2.0),
    ]
    nearest = values == [1.0, 1.0 + ulp, -1.0, -1.0 - ulp, 1.0, float.fromhex("0x1.6a09e667f3bcdp+0")]
    remedy = "a library of this process has changed the rounding of the processor: results differ in the last bits"
    return outcome_of(nearest, "to nearest" if nearest else "not to nearest", "to nearest", remedy)


NUMBER_CHECKS = (
    Check("rounding", _rounding),
    Check("subnormal numbers", _gradual_underflow),
    Check("single call", _single_call),
    Check("batch", _batch),
    Check("bits", _bits),
    Check("float32", _float32),
    Check("derivative", _derivative),
    Check("loop", _loop),
    Check("inverse kinematics", _inverse_kinematics),
    Check("elementary functions", _elementary_functions),
)


def largest_errors() -> dict[str, float]:
    """Return the largest error of each function at the points of the table [ulp of the exact value].

    A batch of all points is evaluated by one kernel, so that vector code computes the values.
    """
    table = json.loads(importlib.resources.files(__package__).joinpath(_TABLE).read_text(encoding="utf-8"))
    names, count = [*FUNCTIONS], len(FUNCTIONS)
    x, y = (np.array([[float.fromhex(row[k]) for row in table[name]] for name in names]).T for k in (0, 1))
    kernel = compile(_values, name="elementary_functions", x=(count,), y=(count,))
    values = kernel(np.ascontiguousarray(x), np.ascontiguousarray(y)).T
    return {
        name: max(_ulps(value, Fraction(row[2])) for value, row in zip(values[k].tolist(), table[name], strict=True))
        for k, name in enumerate(names)
    }


def _values(x: Any, y: Any) -> Any:
    return [function(x[k], y[k]) for k, function in enumerate(FUNCTIONS.values())]


def _ulps(value: float, exact: Fraction) -> float:
    """Return the error of a value in units in the last place of the exact one; infinite for NaN."""
    if not math.isfinite(value):
        return math.inf
    return float(abs(Fraction(value) - exact) / Fraction(math.ulp(float(exact))))
