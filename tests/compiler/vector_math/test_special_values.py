"""Special values: vector functions equal NumPy's element by element, with the signs of zeros."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.vector_math.support import (
    CODES,
    LANES,
    TWO_ARGUMENTS,
    Variant,
    both_precisions,
    compiled,
    every_variant,
    real,
)
from linkwork.expr.scalar import functions

VALUES = {code: getattr(functions, code).operation.value for code in CODES if code != "sincos"}
SPECIAL = [0.0, 1.0, np.inf, 2.0, 3.0, 0.5, 2.5, 7.0, 1e17, 1e30, 5e-324, 1.5e-45, 1e-300, 1e-38, 1.7e308, 3.4e38]
EDGES = [2.0**k + d for k in (22, 23, 24, 51, 52, 53) for d in (-1, -0.5, 0, 1, 2)]
NEXT = [1 - 2.0**-53, 1 + 2.0**-52, 1 - 2.0**-24, 1 + 2.0**-23]


def arguments(code: str, bits: int) -> tuple[np.ndarray, ...]:
    sizes = np.array([*SPECIAL, *EDGES, *NEXT])
    with np.errstate(over="ignore"):
        values = np.unique(np.concatenate([sizes, -sizes]).astype(real(bits)))
    values = np.concatenate([values, np.array([-0.0, np.nan, -np.nan], dtype=real(bits))])
    if code not in TWO_ARGUMENTS:
        return (values,)
    return tuple(a.ravel() for a in np.meshgrid(values, values))


@every_variant
@both_precisions
@pytest.mark.parametrize("code", VALUES)
@pytest.mark.parametrize("lanes", LANES)
def test_vector_functions_of_special_values_equal_numpys(variant: Variant, bits: int, code: str, lanes: int) -> None:
    x = arguments(code, bits)
    (got,) = compiled(code, bits, variant).functions[lanes](*x)
    with np.errstate(all="ignore"):
        true = VALUES[code](*x)
    assert np.array_equal(np.isnan(got), np.isnan(true))
    number = ~np.isnan(true)
    assert np.array_equal(np.signbit(got[number]), np.signbit(true[number]))
    simple = number & (np.isinf(true) | (true == 0))
    assert np.array_equal(got[simple], true[simple])
    finite = number & np.isfinite(true)
    assert np.isfinite(got[finite]).all()
    with np.errstate(over="ignore"):
        spacing = np.spacing(np.abs(true[finite]))
    errors = np.abs(got[finite].astype(np.longdouble) - true[finite]) / spacing
    assert errors.max() <= 4  # what NumPy's own functions may miss


@pytest.mark.parametrize(
    ("code", "x", "result"),
    [
        ("pow", (np.nan, 0.0), 1.0),
        ("pow", (1.0, np.nan), 1.0),
        ("pow", (-1.0, np.inf), 1.0),
        ("pow", (-1.0, -np.inf), 1.0),
        ("pow", (-8.0, 1 / 3), np.nan),
        ("pow", (-0.0, -3.0), -np.inf),
        ("pow", (-0.0, -2.0), np.inf),
        ("pow", (-np.inf, 3.0), -np.inf),
        ("pow", (-np.inf, -3.0), -0.0),
        ("pow", (-np.inf, 0.5), np.inf),
        ("pow", (0.5, -np.inf), np.inf),
        ("pow", (-2.0, 2.0**53 + 2), np.inf),
        ("pow", (-2.0, 3.0), -8.0),
        ("hypot", (-np.inf, np.nan), np.inf),
        ("hypot", (np.nan, np.inf), np.inf),
        ("hypot", (np.nan, 0.0), np.nan),
        ("hypot", (3.0, -4.0), 5.0),
        ("atan2", (0.0, -0.0), np.pi),
        ("atan2", (-0.0, -0.0), -np.pi),
        ("atan2", (-0.0, 0.0), -0.0),
        ("atan2", (np.inf, -np.inf), 3 * np.pi / 4),
        ("atan2", (-1.0, np.inf), -0.0),
        ("exp", (-np.inf,), 0.0),
        ("log", (-0.0,), -np.inf),
        ("log", (-1.0,), np.nan),
        ("acos", (1.0,), 0.0),
        ("acos", (-1.0,), np.pi),
        ("tanh", (-np.inf,), -1.0),
        ("cosh", (-np.inf,), np.inf),
        ("exp2", (-1074.0,), 5e-324),
        ("exp2", (1023.0,), 2.0**1023),
        ("expm1", (-np.inf,), -1.0),
        ("log1p", (-1.0,), -np.inf),
        ("log2", (5e-324,), -1074.0),
        ("log10", (1000.0,), 3.0),
        ("cbrt", (-27.0,), -3.0),
        ("asinh", (-np.inf,), -np.inf),
        ("acosh", (1.0,), 0.0),
        ("acosh", (-(2.0**60),), np.nan),
        ("atanh", (-1.0,), -np.inf),
        ("sinc", (3.0,), -0.0),
        ("fmod", (-6.0, 3.0), -0.0),
        ("fmod", (1.7e308, 5e-324), 0.0),
        ("fmod", (1e308, 11.0), 8.0),
        ("mod", (-6.0, 3.0), 0.0),
        ("mod", (6.0, -3.0), -0.0),
        ("mod", (-1.0, np.inf), np.inf),
        ("nan_to_num", (-np.inf,), -np.finfo(np.float64).max),
    ],
)
@every_variant
def test_vector_functions_are_exact_in_listed_special_cases(
    variant: Variant, code: str, x: tuple[float, ...], result: float
) -> None:
    (got,) = compiled(code, 64, variant).functions[4](*(np.array([v]) for v in x))
    assert np.array_equal(got, [result], equal_nan=True)
    assert np.isnan(result) or np.signbit(got[0]) == np.signbit(result)
