"""Polynomials and constants: the errors that their comments state, and the sums of split constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import mpmath
import numpy as np
import pytest

from linkwork.compiler.codegen.vector_math import argument_reduction as reduction
from linkwork.compiler.codegen.vector_math import exponential_and_logarithm as powers
from linkwork.compiler.codegen.vector_math import float32_functions as single
from linkwork.compiler.codegen.vector_math import inverse_functions as inverse
from linkwork.compiler.codegen.vector_math import piecewise
from linkwork.compiler.codegen.vector_math import sincos as circular
from linkwork.compiler.codegen.vector_math import sincos_float32 as circular32

EIGHTH_32 = (math.pi / 4 * (1 + 2.0**-9)) ** 2
EIGHTH = (math.pi / 4) ** 2 * (1 + 2.0**-19)
HALF_LOG = math.log(2) / 2
ARTANH = ((math.sqrt(2) - 1) / (math.sqrt(2) + 1)) ** 2
TAN = math.tan(math.pi / 8) ** 2

root = mpmath.sqrt
Function = Callable[[mpmath.mpf, mpmath.mpf], mpmath.mpf]  # of the variable and of the polynomial's value there


def artanh(z: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log((1 + root(z)) / (1 - root(z))) / root(z)


# a polynomial, the range of its variable, the function made with it, the true one, and the bound on the relative error
CASES: dict[str, tuple[Sequence[float], float, Function, Callable[[mpmath.mpf], mpmath.mpf], float]] = {
    "sin": (circular.SIN, EIGHTH, lambda z, p: 1 - z * p, lambda z: mpmath.sin(root(z)) / root(z), -57.7),
    "cos": (circular.COS, EIGHTH, lambda z, p: 1 - z / 2 + z * z * p, lambda z: mpmath.cos(root(z)), -63.8),
    "sin32": (circular32.SIN, EIGHTH_32, lambda z, p: 1 - z * p, lambda z: mpmath.sin(root(z)) / root(z), -27.8),
    "cos32": (circular32.COS, EIGHTH_32, lambda z, p: 1 - z / 2 + z * z * p, lambda z: mpmath.cos(root(z)), -32.9),
    "sin of tan32": (single.SIN, EIGHTH_32, lambda z, p: 1 + z * p, lambda z: mpmath.sin(root(z)) / root(z), -37.4),
    "cos of tan32": (single.COS, EIGHTH_32, lambda z, p: 1 + z * p, lambda z: mpmath.cos(root(z)), -33.8),
    "log": (powers.R, ARTANH, lambda z, p: 2 + z * p, artanh, -59.4),
    "log32": (single.R, ARTANH, lambda z, p: 2 + z * p, artanh, -44.9),
    "pow": (powers.P, ARTANH, lambda z, p: 2 + 2 * z / 3 + 2 * z**2 / 5 + z**3 * p, artanh, -80.0),
    "atan": (inverse.ATAN, TAN, lambda z, p: 1 + z * p, lambda z: mpmath.atan(root(z)) / root(z), -59.2),
    "atan32": (single.ATAN, TAN, lambda z, p: 1 + z * p, lambda z: mpmath.atan(root(z)) / root(z), -40.1),
    "asin": (inverse.ASIN, 0.25, lambda z, p: 1 + z * p, lambda z: mpmath.asin(root(z)) / root(z), -59.3),
    "asin32": (single.ASIN, 0.25, lambda z, p: 1 + z * p, lambda z: mpmath.asin(root(z)) / root(z), -39.8),
    "sinh": (
        powers.SINH,
        1.0,
        lambda z, p: 1 + z * p,
        lambda z: mpmath.sinh(root(z)) / root(z),
        -61.7,
    ),
    "exp": (powers.Q, HALF_LOG, lambda r, p: 1 + r * p, lambda r: mpmath.expm1(r) / r, -60.5),
    "exp32": (single.Q, HALF_LOG, lambda r, p: 1 + r * p, lambda r: mpmath.expm1(r) / r, -37.4),
}


@pytest.mark.parametrize("name", CASES)
def test_polynomial_coefficients_of_vector_functions_have_the_stated_errors(name: str) -> None:
    coefficients, end, approximation, true, bound = CASES[name]
    # e^r is approximated on both sides of 0, with the error relative to r
    start = -end if name.startswith("exp") else 0.0
    nodes = start + (end - start) * (1 - np.cos(np.linspace(0, np.pi, 202))) / 2
    with mpmath.workprec(200):
        worst = mpmath.mpf(0)
        for x in map(mpmath.mpf, nodes[1:-1].tolist()):
            value, exact = approximation(x, sum(c * x**i for i, c in enumerate(coefficients))), true(x)
            scale = 1 if name.startswith("exp") else exact if not name.startswith(("log", "pow")) else 2
            worst = max(worst, abs(value - exact) / scale)
        assert mpmath.log(worst, 2) < bound
        assert mpmath.log(worst, 2) > bound - 1.5  # nor are the statements idle


def test_initial_guess_of_the_cube_root_has_the_stated_error() -> None:
    m = np.linspace(0.5**0.5, 2.0**0.5, 1001)
    error = np.abs(np.polyval(piecewise.CBRT[::-1], m) / np.cbrt(m) - 1.0).max()
    assert -13.8 < np.log2(error) < -13.7


def test_constants_split_into_several_floats_sum_to_their_value() -> None:
    with mpmath.workprec(300):
        third, fifth = map(mpmath.mpf, powers._TWO_THIRDS), map(mpmath.mpf, powers._TWO_FIFTHS)
        sums = {
            (powers.LN2_HIGH, powers.LN2_LOW): mpmath.log(2),
            powers.LN2: mpmath.log(2),
            circular.PI: mpmath.pi,
            powers.BASE_2[1]: 1 / mpmath.log(2),
            powers.BASE_10[0]: mpmath.log10(2),
            powers.BASE_10[1]: 1 / mpmath.log(10),
            inverse._EIGHTH: mpmath.pi / 4,
            inverse._QUARTER: mpmath.pi / 2,
            inverse._HALF: mpmath.pi,
        }
        for parts, true in sums.items():
            assert abs(sum(map(mpmath.mpf, parts)) - true) < mpmath.ldexp(true, -95)
        assert abs(sum(third) - mpmath.mpf(2) / 3) < mpmath.ldexp(1, -106)
        assert abs(sum(fifth) - mpmath.mpf(2) / 5) < mpmath.ldexp(1, -106)
    for high in (powers.LN2_HIGH, powers.BASE_10[0][0]):
        assert math.ldexp(high, 42).is_integer()  # its products with 11 bits are exact
    assert 3 * inverse._EIGHTH[0] == math.fsum([inverse._EIGHTH[0]] * 3)
    assert (math.ldexp(inverse._EIGHTH[0], 51)).is_integer()


def test_half_pi_split_into_float32_values_sums_to_half_pi() -> None:
    with mpmath.workprec(300):
        for ends in (circular32._ENDS_FMA, circular32._ENDS_PLAIN):
            parts = reduction.half_pi_parts(ends)
            assert abs(sum(map(mpmath.mpf, parts)) - mpmath.pi / 2) < mpmath.ldexp(1, -85)
    first, second, _ = reduction.half_pi_parts(circular32._ENDS_FMA)
    assert np.float32(first) == first and np.float32(second) == second
