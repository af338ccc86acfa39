"""Numbers and ranges of which some ends are known: 0, 1 and infinity take no operation."""

from __future__ import annotations

import math
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fmax, fmin

__all__ = ["is_infinite", "is_one_number", "nearest", "scaled_bound", "times"]


def times(x: Any, a: Any) -> Any:
    """The product, where either may be known to be 0 and the second to be 1."""
    return 0.0 if is_zero(x) or is_zero(a) else (x if a.__class__ is float and a == 1.0 else x * a)


def is_infinite(bound: Any) -> bool:
    """Whether a bound is known to be infinite."""
    return bound.__class__ is float and math.isinf(bound)


def is_one_number(low: Any, high: Any) -> bool:
    """Whether a range is known to be a number."""
    return low is high or (low.__class__ is float and high.__class__ is float and bool(low == high))


def nearest(x: Any, low: Any, high: Any) -> Any:
    """The number of a range that is nearest."""
    if is_one_number(low, high):
        return low
    x = x if is_infinite(low) else fmax(x, low)
    return x if is_infinite(high) else fmin(x, high)


def scaled_bound(bound: Any, by: Any) -> Any:
    """A bound in other units: 0 and infinity stay what they are."""
    return bound if is_infinite(bound) or is_zero(bound) else bound * by
