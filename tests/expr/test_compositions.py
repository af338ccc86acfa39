"""Functions made of the table's operations: as accurate as they say, and C's at the special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from compiler.support import SPECIAL
from linkwork.compiler.trace.trace import compile
from linkwork.expr.scalar import functions as c

EPS = 2.0**-52
RNG = np.random.default_rng(0)
SIGNS = RNG.choice([-1.0, 1.0], 3000)
ALL_SIZES = SIGNS * 10.0 ** RNG.uniform(-300.0, 300.0, 3000)
USUAL = SIGNS * 10.0 ** RNG.uniform(-9.0, 9.0, 3000)
BESIDE_ONE = 10.0 ** RNG.uniform(-15.5, 0.0, 3000)

CASES = {
    "log1p": (np.concatenate([abs(ALL_SIZES), abs(USUAL), BESIDE_ONE - 1.0, -BESIDE_ONE / 1.1]), 2.0),
    "expm1": (np.concatenate([SIGNS * 10.0 ** RNG.uniform(-300.0, 2.8, 3000), RNG.uniform(-40.0, 2.0, 3000)]), 2.0),
    "asinh": (np.concatenate([ALL_SIZES, USUAL]), 3.0),
    "acosh": (1.0 + np.concatenate([BESIDE_ONE, abs(USUAL), abs(ALL_SIZES)]), 3.0),
    "atanh": (np.concatenate([RNG.uniform(-1.0, 1.0, 3000), SIGNS * BESIDE_ONE / 1.001, 1.0 - BESIDE_ONE]), 3.0),
}


@pytest.mark.parametrize("name", CASES)
def test_accuracy(name: str) -> None:
    x, bound = CASES[name]
    kernel = compile(getattr(c, name), x=())
    with mpmath.workprec(400):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(a))) for a in x]
        for found in (kernel(x), kernel.interpret(x)):
            errors = [abs((float(b) - e) / e) if e else abs(b) for b, e in zip(found, exact, strict=True)]
            assert max(errors) < bound * EPS


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("log1p", np.log1p),
        ("expm1", np.expm1),
        ("asinh", np.arcsinh),
        ("acosh", np.arccosh),
        ("atanh", np.arctanh),
        ("ceil", np.ceil),
    ],
)
def test_special_values(name: str, reference: Callable[..., Any]) -> None:
    x = np.concatenate([SPECIAL, np.nextafter(SPECIAL, 0.0), np.nextafter(SPECIAL, 1.0)])
    with np.errstate(all="ignore"):
        expected = reference(x)
    kernel = compile(getattr(c, name), x=())
    for found in (kernel(x), kernel.interpret(x), np.array([getattr(c, name)(float(a)) for a in x])):
        assert np.allclose(found, expected, rtol=2e-15, atol=0.0, equal_nan=True)
        number = ~np.isnan(expected)
        assert np.array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize(("name", "reference", "limit"), [("fmod", math.fmod, 53), ("remainder", math.remainder, 54)])
def test_remainders_are_exact(name: str, reference: Callable[..., float], limit: int) -> None:
    rng = np.random.default_rng(1)
    size = 10.0 ** rng.uniform(-290.0, 290.0, 20000)
    whole = rng.integers(1, 1 << 53, 20000) * 2.0 ** rng.integers(-1074, 900, 20000)
    times = rng.integers(1, 60, 20000) + rng.choice([0.0, 0.5], 20000)  # ends on a multiple, or half way
    signs = rng.choice([-1.0, 1.0], 20000)
    grid_x, grid_y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    x = np.concatenate([grid_x, signs * size * 10.0 ** rng.uniform(-2.0, 16.2, 20000), signs * whole * times])
    y = np.concatenate([grid_y, size, whole])
    x, y = np.concatenate([x, np.nextafter(x, 0.0)]), np.concatenate([y, -y])

    def value(a: float, b: float) -> float:
        try:
            return reference(a, b)
        except ValueError:
            return math.nan

    expected = np.array([value(float(a), float(b)) for a, b in zip(x, y, strict=True)])
    with np.errstate(all="ignore"):
        expected[abs(x / y) >= 2.0**limit] = np.nan
    kernel = compile(getattr(c, name), x=(), y=())
    for found in (kernel(x, y), kernel.interpret(x, y)):
        assert np.array_equal(found, expected, equal_nan=True)
        number = ~np.isnan(expected)
        assert np.array_equal(np.signbit(found)[number], np.signbit(expected)[number])
    assert getattr(c, name)(7.5, -2.0) == reference(7.5, -2.0)
