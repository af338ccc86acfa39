"""Exact values of elementary functions, by mpmath, for the installation check.

``python -m installation.elementary_table`` in the folder `tests` writes the table of the package again.
"""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path

import mpmath
import numpy as np

from linkwork.installation.number_checks import FUNCTIONS

POINTS = 12  # of each function
DIGITS = 30  # of each exact value

REAL = (1e-3, 20.0, True)  # the domain of functions that are not listed
# Domains that go through each formula of a function: the lower and upper end of magnitudes, and if signs are drawn.
DOMAINS: dict[str, tuple[float, float, bool]] = {
    "acosh": (1.0, 50.0, False),
    "acos": (1e-3, 1.0, True),
    "asin": (1e-3, 1.0, True),
    "atanh": (1e-3, 1.0, True),
    "exp": (1e-3, 600.0, True),
    "exp2": (1e-3, 900.0, True),
    "expm1": (1e-3, 30.0, True),
    "log": (1e-5, 1e5, False),
    "log10": (1e-5, 1e5, False),
    "log1p": (1e-3, 1e3, False),
    "log2": (1e-5, 1e5, False),
    "pow": (1e-2, 1e2, False),
    "sqrt": (1e-5, 1e5, False),
}


def digits(name: str, x: float, y: float) -> str:
    """Return the value of a function as the table has it."""
    with mpmath.workdps(60):
        return str(mpmath.nstr(exact(name, x, y), DIGITS, strip_zeros=False))


def exact(name: str, x: float, y: float) -> mpmath.mpf:
    """Return the value of a function, with mpmath's precision."""
    a, b = mpmath.mpf(x), mpmath.mpf(y)
    special = {
        "atan2": lambda: mpmath.atan2(a, b),
        "exp2": lambda: mpmath.power(2, a),
        "hypot": lambda: mpmath.hypot(a, b),
        "log2": lambda: mpmath.log(a, 2),
        "pow": lambda: mpmath.power(a, b),
        "cbrt": lambda: mpmath.sign(a) * mpmath.cbrt(abs(a)),
    }
    return special[name]() if name in special else getattr(mpmath, name)(a)


def table() -> dict[str, list[list[str]]]:
    """Return the rows of each function: both arguments as hexadecimal floats, and the exact value in decimal."""
    rng = np.random.default_rng(49)
    result = {}
    for name in FUNCTIONS:
        lower, upper, signed = DOMAINS.get(name, REAL)
        rows = []
        for _ in range(POINTS):
            x, y = np.exp(rng.uniform(np.log(lower), np.log(upper), size=2))  # other bits on other systems
            if signed:
                x, y = (x, y) * rng.choice([-1.0, 1.0], size=2)
            rows.append([float(x).hex(), float(y).hex(), digits(name, float(x), float(y))])
        result[name] = rows
    return result


def text() -> str:
    """Return the table as it stands in the package."""
    return json.dumps(table(), indent=1) + "\n"


if __name__ == "__main__":
    Path(str(importlib.resources.files("linkwork.installation") / "elementary_values.json")).write_text(
        text(), encoding="utf-8"
    )
