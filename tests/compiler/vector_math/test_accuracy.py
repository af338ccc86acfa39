"""Errors of the float64 functions in units in the last place, against mpmath, over all ranges of arguments.

float32 functions are tested against those of float64.
"""

from __future__ import annotations

import functools

import mpmath
import numpy as np
import pytest
from benchmarks.compiler.vector_arguments import arguments, true_values

from compiler.vector_math.support import (
    CODES,
    FIRST,
    Variant,
    compiled,
    error_in_ulp,
    every_code,
    every_variant,
)

SAMPLES = 150
BOUND = {"hypot": 0.51, "expm1": 0.9}  # where results are normal; 0.85 for all others
RANGES = [(code, name) for code in CODES for name in arguments(code, 64, 4)]


@functools.cache
def exact(code: str, name: str) -> list[tuple[mpmath.mpf, ...]]:
    return true_values(code, arguments(code, 64, SAMPLES)[name])


@every_variant
@pytest.mark.parametrize(("code", "name"), RANGES)
def test_vector_functions_are_accurate_to_one_unit_in_the_last_place(variant: Variant, code: str, name: str) -> None:
    x = arguments(code, 64, SAMPLES)[name]
    bound = 0.85 if name == "subnormal" else BOUND.get(code, 0.85)
    for k, got in enumerate(compiled(code, 64, variant).functions[8](*x)):
        for row, value, true in zip(zip(*x, strict=True), got, exact(code, name), strict=True):
            assert error_in_ulp(value, true[k]) < bound, row


@every_variant
@every_code
def test_float32_vector_functions_are_close_to_float64_functions(variant: Variant, code: str) -> None:
    for name, x in arguments(code, 32, 3000).items():
        wide = compiled(code, 64, variant).functions[8](*(a.astype(np.float64) for a in x))
        for got, true in zip(compiled(code, 32, variant).functions[16](*x), wide, strict=True):
            with np.errstate(over="ignore"):
                rounded = true.astype(np.float32)
            endless = np.isinf(rounded)
            assert np.array_equal(got[endless], rounded[endless]), name
            spacing = np.ldexp(1.0, np.maximum(np.frexp(true)[1] - 24, -149))
            error = np.where(endless, 0.0, np.abs(got - true) / spacing)
            assert error.max() < (0.9 if code == "sincos" else 0.505), (name, [a[error.argmax()] for a in x])


def test_error_in_ulp_measures_errors_in_units_in_the_last_place() -> None:
    assert error_in_ulp(1.0 + 2.0**-52, mpmath.mpf(1)) == 1.0
    assert error_in_ulp(5e-324, mpmath.ldexp(1, -1075)) == 0.5
    assert error_in_ulp(np.inf, mpmath.ldexp(1, 1024)) == 0.0
    assert error_in_ulp(np.inf, mpmath.ldexp(1, 1023)) == np.inf
    assert error_in_ulp(0.25, mpmath.mpf(0.25) + mpmath.ldexp(1, -26), 32) == 0.5
    assert FIRST.plain is False
