"""Elementwise functions, special points, and exact values and derivatives by mpmath."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

LARGEST, SMALLEST, SUBNORMAL = np.finfo(np.float64).max, 2.0**-1022, 5e-324
EPS = 2.0**-52

_POSITIVE = [
    *(SUBNORMAL, 1e-310, SMALLEST, 1e-300, 1e-160, 1e-20, 2.0**-53, 1e-8, 2.0**-20, 1e-3),
    *(0.25, 1.0 / 3.0, 0.5, 1.0 - EPS, 1.0, 1.0 + EPS, 1.5, math.pi / 2, 2.0, 2.5, 3.0, math.pi, 8.0, 10.0),
    *(20.0, 27.0, 100.0, 700.0, 710.0, 1000.0, 1e5, 2.0**31, 1e10, 1e15, 2.0**52 + 0.5, 2.0**53, 1e22, 1e30),
    *(1e160, 1e300, LARGEST),
]
SAMPLES = np.array([0.0, -0.0, *_POSITIVE, *(-x for x in _POSITIVE)])
PAIRS = np.array(
    [
        (x, y)
        for x in (0.0, -0.0, 1e-300, 0.5, 1.0, 2.0, 3.0, 7.5, 1e9, -1e-300, -0.5, -1.0, -2.0, -3.0, -7.5, -1e9)
        for y in (0.0, -0.0, 1e-300, 0.25, 1.0, 2.0, 2.5, 7.0, 1e9, -1e-300, -0.25, -1.0, -2.0, -2.5, -7.0, -1e9)
    ]
)
ENDS = np.array([math.inf, -math.inf, math.nan])


@dataclass(frozen=True)
class Case:
    """A function of NumPy of one or two numbers, the same in mpmath, and where it has kinks or steps.

    ``exact`` returns None outside of the domain.  ``kinks`` says whether the derivatives do not exist at a point.
    """

    name: str
    function: Callable[..., Any]
    exact: Callable[..., Any]
    kinks: Callable[..., bool] = lambda *x: False
    arguments: int = 1
    absolute: float = 0.0  # allowed error of the value

    @property
    def points(self) -> np.ndarray:
        return SAMPLES[:, np.newaxis] if self.arguments == 1 else PAIRS

    def value(self, *x: float) -> float | None:
        """Return the value, or None if it is not a real number."""
        if self.arguments == 2 and 0.0 in x:  # mpmath has no signed zeros
            with np.errstate(all="ignore"):
                result = float(self.function(*x))
            return None if math.isnan(result) else result
        with mpmath.workprec(3000):
            exact = self.exact(*map(mpmath.mpf, x))
        return None if exact is None else rounded(exact)

    def derivative(self, orders: tuple[int, ...], *x: float) -> float | None:
        """Return a partial derivative by central differences of high precision, whose errors are below 1e-30.

        Return None if a step leaves the domain.
        """
        sizes = [abs(math.frexp(a)[1]) if a else 1200 for a in x]
        with mpmath.workprec(600 + 4 * max(sizes) + 120 * sum(orders)):
            at = [mpmath.mpf(a) for a in x]
            steps = [min(abs(a), 1) * mpmath.ldexp(1, -100) if a else mpmath.ldexp(1, -1200) for a in at]
            difference = _difference(self.exact, at, steps, orders)
            return None if difference is None else rounded(difference)


def _difference(function: Callable[..., Any], at: list[Any], steps: list[Any], orders: tuple[int, ...]) -> Any:
    for k, order in enumerate(orders):
        if order:
            lower = (*orders[:k], order - 1, *orders[k + 1 :])
            shifted = ([*at[:k], at[k] + sign * steps[k], *at[k + 1 :]] for sign in (1, -1))
            up, down = (_difference(function, point, steps, lower) for point in shifted)
            return None if up is None or down is None else (up - down) / (2 * steps[k])
    return function(*at)


def rounded(x: Any) -> float:
    """Return the nearest float; infinity beyond the largest."""
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def _inside(condition: Callable[..., bool], function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *x: function(*x) if condition(*x) else None


def _nearest(x: Any) -> Any:
    """Return the nearest integer, the even one for a tie."""
    low = mpmath.floor(x)
    fraction = x - low
    half = mpmath.mpf(1) / 2
    return low if fraction < half or (fraction == half and low % 2 == 0) else low + 1


def _fmod(x: Any, y: Any) -> Any:
    remainder = abs(x) - abs(y) * mpmath.floor(abs(x) / abs(y))
    return remainder if x > 0 else -remainder


def _exact_quotient(x: Any, y: Any) -> bool:
    return bool(y != 0 and abs(x / y) < 2**53)


def _floor_divide(x: Any, y: Any) -> Any:
    return mpmath.floor(x / y)


def _modulo(x: Any, y: Any) -> Any:
    return x - y * mpmath.floor(x / y)


def _power(x: Any, y: Any) -> Any:
    if y == 0:
        return mpmath.mpf(1)
    if x == 0:
        return mpmath.mpf(0) if y > 0 else None
    if x < 0:
        return (-x) ** y * (-1 if int(y) % 2 else 1) if y == int(y) else None
    return x**y


def _cbrt(x: Any) -> Any:
    return mpmath.cbrt(x) if x >= 0 else -mpmath.cbrt(-x)


def _sinc(x: Any) -> Any:
    return mpmath.sinpi(x) / (mpmath.pi * x) if x else mpmath.mpf(1)


def _whole(x: float) -> bool:
    return x == math.floor(x)


def _tie(x: float) -> bool:
    return abs(x) < 2.0**53 and (2.0 * x) % 2.0 == 1.0


def _multiple(x: float, y: float) -> bool:
    return not y or math.fmod(x, y) == 0.0 or abs(x) >= 2.0**53 * abs(y)


_positive, _not_negative = (lambda x: x > 0), (lambda x: x >= 0)
_not_zero = lambda x: x != 0  # noqa: E731
_at_zero = lambda x: x == 0.0  # noqa: E731

UNARY_POINTS = [
    Case("negative", np.negative, lambda x: -x),
    Case("square", np.square, lambda x: x * x),
    Case("absolute", np.abs, abs, _at_zero),
    Case("sign", np.sign, mpmath.sign, _at_zero),
    Case("sqrt", np.sqrt, _inside(_not_negative, mpmath.sqrt), _at_zero),
    Case("cbrt", np.cbrt, _cbrt, _at_zero),
    Case("reciprocal", np.reciprocal, _inside(_not_zero, lambda x: 1 / x)),
    Case("exp", np.exp, mpmath.exp),
    Case("exp2", np.exp2, lambda x: mpmath.mpf(2) ** x),
    Case("expm1", np.expm1, mpmath.expm1),
    Case("log", np.log, _inside(_positive, mpmath.log)),
    Case("log2", np.log2, _inside(_positive, lambda x: mpmath.log(x) / mpmath.log(2))),
    Case("log10", np.log10, _inside(_positive, mpmath.log10)),
    Case("log1p", np.log1p, _inside(lambda x: x > -1, mpmath.log1p)),
    Case("sin", np.sin, mpmath.sin),
    Case("cos", np.cos, mpmath.cos),
    Case("tan", np.tan, mpmath.tan),
    Case("arcsin", np.arcsin, _inside(lambda x: abs(x) <= 1, mpmath.asin), lambda x: abs(x) == 1.0),
    Case("arccos", np.arccos, _inside(lambda x: abs(x) <= 1, mpmath.acos), lambda x: abs(x) == 1.0),
    Case("arctan", np.arctan, mpmath.atan),
    Case("sinh", np.sinh, mpmath.sinh),
    Case("cosh", np.cosh, mpmath.cosh),
    Case("tanh", np.tanh, mpmath.tanh),
    Case("arcsinh", np.arcsinh, mpmath.asinh),
    Case("arccosh", np.arccosh, _inside(lambda x: x >= 1, mpmath.acosh), lambda x: x == 1.0),
    Case("arctanh", np.arctanh, _inside(lambda x: abs(x) < 1, mpmath.atanh)),
    Case("sinc", np.sinc, _inside(lambda x: abs(x) < 1e308 / mpmath.pi, _sinc), absolute=EPS),
    Case("deg2rad", np.deg2rad, lambda x: x * mpmath.pi / 180),
    Case("rad2deg", np.rad2deg, lambda x: x * 180 / mpmath.pi),
    Case("floor", np.floor, mpmath.floor, _whole),
    Case("ceil", np.ceil, mpmath.ceil, _whole),
    Case("trunc", np.trunc, lambda x: mpmath.floor(x) if x >= 0 else mpmath.ceil(x), _whole),
    Case("rint", np.rint, _nearest, _tie),
    Case("x**2", lambda x: x**2, lambda x: x**2),
    Case("x**3", lambda x: x**3, lambda x: x**3),
    Case("x**-1", lambda x: x**-1, _inside(_not_zero, lambda x: 1 / x)),
    Case("x**0.5", lambda x: x**0.5, _inside(_not_negative, mpmath.sqrt), _at_zero),
    Case("x**2.5", lambda x: x**2.5, _inside(_not_negative, lambda x: x**2 * mpmath.sqrt(x)), _at_zero),
]


def _angle(y: Any, x: Any) -> Any:
    return None if x == 0 and y == 0 else mpmath.atan2(y, x)


_near = lambda x, y: x == y  # noqa: E731
_TINY = 1e-150  # below, inverse squares and so second derivatives are beyond the largest float
TWO = [
    Case("add", np.add, lambda x, y: x + y, arguments=2),
    Case("subtract", np.subtract, lambda x, y: x - y, arguments=2),
    Case("multiply", np.multiply, lambda x, y: x * y, arguments=2),
    Case("divide", np.divide, _inside(lambda x, y: y != 0, lambda x, y: x / y), arguments=2),
    Case("power", np.power, _power, lambda x, y: x < _TINY, arguments=2),
    Case("hypot", np.hypot, mpmath.hypot, lambda x, y: x == 0.0 and y == 0.0, arguments=2),
    Case("arctan2", np.arctan2, _angle, lambda y, x: y == 0.0 > x or math.hypot(x, y) < _TINY, arguments=2),
    Case("maximum", np.maximum, max, _near, arguments=2),
    Case("minimum", np.minimum, min, _near, arguments=2),
    Case("fmax", np.fmax, max, _near, arguments=2),
    Case("fmin", np.fmin, min, _near, arguments=2),
    Case("copysign", np.copysign, lambda x, y: abs(x) if y >= 0 else -abs(x), lambda x, y: x * y == 0.0, arguments=2),
    Case("fmod", np.fmod, _inside(_exact_quotient, _fmod), _multiple, arguments=2),
    Case("remainder", np.remainder, _inside(_exact_quotient, _modulo), _multiple, arguments=2),
    Case("floor_divide", np.floor_divide, _inside(lambda x, y: y != 0, _floor_divide), _multiple, arguments=2),
]
CASES = [*UNARY_POINTS, *TWO]


@functools.cache
def orders_of(arguments: int) -> tuple[tuple[int, ...], ...]:
    """Return the partial derivatives that are compared: to the third order, and to the second by two numbers."""
    return ((1,), (2,), (3,)) if arguments == 1 else ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
