"""A scalar of 120 digits for functions over any scalar: differences of it are derivatives, exact to float64.

It is also the proof that a kind of number from outside takes part by ``_apply`` and ``_precedence`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

DIGITS = 120
STEP = mpmath.mpf(10) ** -30  # of central differences: their error is some 1e-60 relative to the third derivative

_FUNCTIONS: dict[str, Callable[..., Any]] = {  # than mpmath's function of the operation's name
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": mpmath.power,
    "abs": abs,
    "exp2": lambda a: mpmath.power(2, a),
    "log2": lambda a: mpmath.log(a, 2),
    "cbrt": lambda a: mpmath.sign(a) * mpmath.cbrt(abs(a)),
    "sinc": lambda a: mpmath.sinpi(a) / (mpmath.pi * a) if a else mpmath.mpf(1),
    "fmod": lambda a, b: mpmath.sign(a) * (abs(a) - abs(b) * mpmath.floor(abs(a) / abs(b))),
    "mod": lambda a, b: a - b * mpmath.floor(a / b),
    "nan_to_num": lambda a: a,
    "copysign": lambda a, b: abs(a) if b >= 0 else -abs(a),
    "fmin": min,
    "fmax": max,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "and_": lambda a, b: bool(a and b),
    "or_": lambda a, b: bool(a or b),
    "not_": lambda a: not a,
    "where": lambda c, a, b: a if c else b,
}


def exactly(name: str, *arguments: Any) -> Any:
    """An operation of the table on mpmath's numbers and truth values."""
    return (_FUNCTIONS.get(name) or getattr(mpmath, name))(*arguments)


class Precise:
    """A number of 120 digits."""

    __slots__ = ("value",)

    _precedence = 1

    def __init__(self, value: Any) -> None:
        kind = value.__class__
        self.value = value if kind is mpmath.mpf else value.value if kind is Precise else mpmath.mpf(value)

    def _apply(self, operation: Any, arguments: Sequence[Any]) -> Any:
        plain = [a.value if isinstance(a, Precise) else a for a in arguments]
        result = exactly(operation.name, *(a if isinstance(a, bool) else mpmath.mpf(a) for a in plain))
        return result if isinstance(result, bool) else Precise(result)

    def __neg__(self) -> Precise:
        return Precise(-self.value)

    def __pos__(self) -> Precise:
        return self

    def __abs__(self) -> Precise:
        return Precise(abs(self.value))

    def __pow__(self, exponent: float) -> Precise:
        return Precise(self.value**exponent)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return f"Precise({mpmath.nstr(self.value, 20)})"


def _install(name: str) -> None:
    operate = getattr(mpmath.mpf, name)

    def method(self: Precise, operand: Any) -> Any:
        if operand.__class__ is not Precise and not isinstance(operand, (mpmath.mpf, float, int)):
            return NotImplemented
        result = operate(self.value, Precise(operand).value)
        return result if result.__class__ is bool else Precise(result)

    setattr(Precise, name, method)


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "lt", "le", "gt", "ge"):
    _install(f"__{_name}__")


def precisely(function: Callable[[list[Any]], Sequence[Any]], inputs: Sequence[float]) -> list[mpmath.mpf]:
    """The values of a function of a list of scalars, to 120 digits."""
    with mpmath.workdps(DIGITS):
        return [Precise(x).value for x in function([Precise(x) for x in inputs])]


def differences(
    function: Callable[[list[Any]], Sequence[Any]], inputs: Sequence[float], direction: Sequence[float]
) -> list[mpmath.mpf]:
    """The derivative of a function of a list of scalars along a direction, by central differences at 120 digits."""
    with mpmath.workdps(DIGITS):
        ends = []
        for sign in (1, -1):
            point = [mpmath.mpf(x) + sign * STEP * mpmath.mpf(d) for x, d in zip(inputs, direction, strict=True)]
            ends.append([Precise(y).value for y in function([Precise(x) for x in point])])
        return [(a - b) / (2 * STEP) for a, b in zip(*ends, strict=True)]


def difference_jacobian(function: Callable[[list[Any]], Sequence[Any]], inputs: Sequence[float]) -> np.ndarray:
    """The Jacobian of a function of a list of scalars, by central differences at 120 digits."""
    units = np.eye(len(inputs))
    columns = [[float(x) for x in differences(function, inputs, unit)] for unit in units]
    return np.array(columns, dtype=float).T
