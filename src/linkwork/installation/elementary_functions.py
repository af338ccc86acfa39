"""Elementary functions of compiled code, compared with exact values that the package has as a table."""

from __future__ import annotations

import importlib.resources
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from linkwork.kernels import compile

__all__ = ["FUNCTIONS", "largest_errors"]

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
