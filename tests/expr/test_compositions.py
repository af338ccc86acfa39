"""Exact values of elementwise functions, remainders, and the conventions of derivatives at kinks."""

from __future__ import annotations

import fractions
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.knobs import LEVELS, every_level
from compiler.support import SPECIAL
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.trace.trace import compile, trace
from linkwork.expr import adjoint, jacobian
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar import functions as c

every_type = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def sample_values(function: Callable[..., Any], name: str, *arguments: str) -> Any:
    return trace(lambda **x: np.array(function(*x.values()), dtype=object), name, dict.fromkeys(arguments, ()))


@pytest.mark.costly
@every_level
@every_type
def test_integer_powers_and_roots_of_floats_are_exact(level: str, dtype: Any) -> None:
    """The true values are numbers of the type."""
    program = sample_values(
        lambda x, n: [
            np.log2(np.exp2(n)),
            np.log10(np.power(10.0, n)),
            np.exp2(n),
            np.power(10.0, n),
            np.cbrt(x * x * x),
        ],
        "exact",
        *("x", "n"),
    )
    largest = 22 if dtype is np.float64 else 10  # 10^n is exact up to this n
    n = np.arange(-20, largest + 1).astype(dtype)
    x = np.linspace(-200, 200, len(n)).round().astype(dtype)
    actual = Kernel(program, backend=CPUBackend(LEVELS[level]))(x, n).T
    whole = n >= 0
    assert np.array_equal(actual[0], n)
    assert np.array_equal(actual[1], n)
    assert np.array_equal(actual[2], np.ldexp(dtype(1.0), n.astype(int)))
    assert actual[3][whole].tolist() == [10.0**k for k in range(largest + 1)]
    assert np.array_equal(actual[4], x)


def test_linspace_degrees_and_sinc_have_exact_values() -> None:
    kernel = compile(lambda x: (np.linspace(0.1, x, 7), np.rad2deg(x), np.sinc(np.round(x))), x=())
    x = np.random.default_rng(0).uniform(-9.0, 9.0, 200)
    lines, degrees, zeros = kernel(x)
    assert np.array_equal(lines[:, -1], x) and np.array_equal(lines[:, 0], np.full(200, 0.1))
    assert np.array_equal(degrees, np.rad2deg(x))
    assert np.array_equal(zeros, np.round(x) == 0.0)


def remainders(x: Any, y: Any) -> list[Any]:
    return [c.fmod(x, y), np.remainder(x, y), c.remainder(x, y), np.floor_divide(x, y)]


@pytest.mark.costly
@every_level
@every_type
def test_remainders_of_floats_are_exact(level: str, dtype: Any) -> None:
    """The reference divides integers of any length."""
    rng = np.random.default_rng(1)
    top = 290.0 if dtype is np.float64 else 36.0
    size = 10.0 ** rng.uniform(-top, top, 500)
    times = rng.integers(1, 60, 500) + rng.choice([0.0, 0.5], 500)  # ends on a multiple, or half way
    largest, smallest = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal)
    x = np.concatenate([size, size * times, 10.0 ** rng.uniform(-top, top, 500), [1e9, largest]])
    y = np.concatenate([size * 10.0 ** rng.uniform(-9.0, 0.0, 500), size, size, [7.0, smallest]])
    signs = rng.choice([-1.0, 1.0], (2, len(x)))
    x, y = (signs * np.array([x, y])).astype(dtype)
    actual = Kernel(sample_values(remainders, "rests", "x", "y"), backend=CPUBackend(LEVELS[level]))(x, y)
    for a, b, (cs, numpys, nearest, whole) in zip(x.tolist(), y.tolist(), actual.astype(np.float64), strict=True):
        p, q = fractions.Fraction(a), fractions.Fraction(b)
        exact = p // q
        assert cs == math.fmod(a, b)
        assert numpys == dtype(float(p % q)), (a, b)
        assert nearest == float(p - q * round(p / q)), (a, b)
        if abs(exact) < largest:
            assert abs(fractions.Fraction(whole) - exact) <= abs(exact) * fractions.Fraction(
                2.0 * float(np.finfo(dtype).eps)
            )


def test_remainders_of_special_values_equal_numpys() -> None:
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))

    def nearest(a: float, b: float) -> float:
        return math.remainder(a, b) if math.isfinite(a) and b == b and b else math.nan

    with np.errstate(all="ignore"):
        expected = [np.fmod(x, y), np.remainder(x, y), [*map(nearest, x, y)], np.floor_divide(x, y)]
    kernel = Kernel(sample_values(remainders, "rests", "x", "y"))
    for actual in (kernel(x, y), kernel.interpret(x, y)):
        for column, true in zip(actual.T, np.array(expected), strict=True):
            number = ~np.isnan(true)
            assert np.allclose(column, true, rtol=4e-16, atol=0.0, equal_nan=True)
            assert np.array_equal(np.signbit(column)[number], np.signbit(true)[number])
    assert c.remainder(7.5, -2.0) == math.remainder(7.5, -2.0)


@pytest.mark.costly
@every_level
@every_type
def test_nan_to_num_equals_numpys(level: str, dtype: Any) -> None:
    program = sample_values(lambda x: [np.nan_to_num(x), np.nan_to_num(x, nan=7.0, neginf=-8.0)], "finite", "x")
    x = np.array([1.5, -0.0, np.inf, -np.inf, np.nan], dtype)
    actual = Kernel(program, backend=CPUBackend(LEVELS[level]))(x).T
    assert np.array_equal(actual, [np.nan_to_num(x), np.nan_to_num(x, nan=7.0, neginf=-8.0)])


# The first derivatives at kinks, at steps and at extreme arguments, as docs/expressions.md states them.
KINKS: list[tuple[Callable[..., Any], tuple[float, ...], list[float]]] = [
    (np.abs, (0.0,), [0.0]),
    (np.sign, (0.0,), [0.0]),
    (np.floor, (1.0,), [0.0]),
    (np.rint, (0.5,), [0.0]),
    (np.copysign, (0.0, -2.0), [0.0, 0.0]),
    (np.copysign, (3.0, -0.0), [-1.0, 0.0]),
    (np.hypot, (0.0, 0.0), [0.0, 0.0]),
    (np.arctan2, (0.0, 0.0), [0.0, 0.0]),
    (np.arctan2, (0.0, 2.0**-1000), [2.0**1000, 0.0]),
    (np.arctan2, (0.0, 2.0**1000), [2.0**-1000, 0.0]),
    (np.arctan2, (1.0, math.inf), [0.0, 0.0]),
    (np.arctan, (-math.inf,), [0.0]),
    (np.power, (0.0, 0.0), [0.0, 0.0]),
    (np.power, (0.0, 1.0), [1.0, 0.0]),
    (np.power, (-2.0, 2.0), [-4.0, 0.0]),
    (np.maximum, (2.0, 2.0), [0.0, 1.0]),
    (np.minimum, (2.0, 2.0), [0.0, 1.0]),
    (np.fmax, (2.0, 2.0), [1.0, 0.0]),
    (np.fmin, (2.0, math.nan), [1.0, 0.0]),
    (np.fmax, (math.nan, 2.0), [0.0, 1.0]),
    (np.fmod, (-6.0, 3.0), [1.0, 2.0]),
    (np.remainder, (6.0, 3.0), [1.0, -2.0]),
    (np.floor_divide, (6.0, 3.0), [0.0, 0.0]),
    (np.nan_to_num, (math.inf,), [0.0]),
    (lambda x: np.nan_to_num(1.0 / x), (0.0,), [0.0]),
]


@pytest.mark.parametrize(("function", "x", "expected"), KINKS)
def test_derivatives_of_functions_at_kinks_follow_the_documented_conventions(
    function: Callable[..., Any], x: tuple[float, ...], expected: list[float]
) -> None:
    """Forward, reverse and dual numbers agree."""

    def both(*symbols: Any) -> list[Any]:
        y = function(*symbols)
        return [*jacobian([y], symbols)[0], *adjoint([y], symbols, [1.0])]

    actual = Kernel(sample_values(both, "kink", *("x", "y")[: len(x)])).interpret(*x)
    assert np.array_equal(actual, expected * 2), actual


def test_dual_numbers_of_functions_at_kinks_follow_the_documented_conventions() -> None:
    for function, x, expected in ((c.hypot, (0.0, 0.0), 0.0), (c.asinh, (0.0,), 1.0), (c.mod, (0.0, 3.0), 1.0)):
        moving = seeded([*x], [1.0, 0.0][: len(x)])
        assert parts(function(*moving))[1] == expected


def test_powers_with_variable_exponents_have_exact_derivatives() -> None:
    """First to third derivative of xⁿ by x, and the mixed one, at x = 0 and elsewhere."""

    def derivatives(x: Any, n: Any) -> list[Any]:
        first = jacobian([np.power(x, n)], [x])[0][0]
        second, mixed = jacobian([first], [x, n])[0]
        return [first, second, jacobian([second], [x])[0][0], mixed]

    kernel = Kernel(sample_values(derivatives, "power", "x", "n"))
    for n, expected in enumerate([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 6], [0, 0, 0]]):
        assert kernel(0.0, float(n))[:3].tolist() == expected
    assert np.allclose(kernel(2.0, 0.0), [0.0, 0.0, 0.0, 0.5])
    assert np.allclose(kernel(2.0, 3.0), [12.0, 12.0, 6.0, 4.0 * (1.0 + 3.0 * math.log(2.0))])


def test_derivatives_of_the_standard_deviation_are_exact() -> None:
    """The derivative by an element is 0 for equal elements, which is a kink, else NumPy's formula."""

    def derivatives(x: Any) -> Any:
        y = np.std(x)
        first, reverse = jacobian([y], x)[0], adjoint([y], x, [1.0])
        return y, first, reverse, jacobian([reverse[0]], x)[0]

    kernel = compile(derivatives, x=3)
    assert all(not np.any(part) for part in kernel(np.full(3, 0.5)))
    x = np.array([0.0, -1.0, 3.0])
    value, first, reverse, second = kernel(x)
    slope = (x - x.mean()) / (3.0 * np.std(x))
    np.testing.assert_allclose(value, np.std(x), rtol=1e-15)
    np.testing.assert_allclose([first, reverse], [slope, slope], rtol=1e-14)
    expected = (np.eye(3)[0] - 1.0 / 3.0) / (3.0 * np.std(x)) - slope[0] * slope / np.std(x)
    np.testing.assert_allclose(second, expected, rtol=1e-13)
