"""Python numbers among the operands of traced operations."""

from __future__ import annotations

import math
from typing import Any

from linkwork.expr.scalar.float_limits import MODERATE, in_float32

__all__ = ["are_same", "is_moderate", "number_of", "whole_power"]


def number_of(x: Any) -> float | None:
    """Return ``x`` as a float, or None if it is not a number (an array, another library's scalar)."""
    if x.__class__ is float:
        return x
    if isinstance(x, (int, float)):
        return float(x)
    if getattr(x, "ndim", None) == 0 and hasattr(x, "dtype") and x.dtype.kind in "fiub":
        return float(x)
    return None


def is_moderate(number: float) -> bool:
    """Return True for a number that is equal in all float types, and far from the ends of their range."""
    return 1.0 / MODERATE <= abs(number) <= MODERATE and in_float32(number) == number


def are_same(a: float, b: float) -> bool:
    """Return True for equal numbers with the same sign, which tells 0.0 from -0.0."""
    return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


def whole_power(x: Any, n: int) -> Any:
    """Return xⁿ by repeated squaring."""
    if n < 0:
        return 1.0 / whole_power(x, -n)
    result: Any = 1.0
    square: Any = x
    while n:
        if n & 1:
            result = square * result
        n >>= 1
        if n:
            square = square * square
    return result
