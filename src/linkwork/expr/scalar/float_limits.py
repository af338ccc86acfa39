"""Limits and tolerances of the float types in which functions are computed: one table for all code.

A trace does not know the float type of its code.  Formulas therefore mark their tolerances and bounds with `by_type`,
and code in float32 has their counterparts.  A product or sum of marked numbers has no mark.  For arithmetic on limits,
`precision.float_limits_of` selects a row of the table at run time.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from linkwork._util.lazy_dataclass import dataclass

__all__ = ["FLOAT32", "FLOAT64", "MODERATE", "FloatLimits", "by_type", "in_float32"]


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """Numbers that depend on the float type; in a trace, each is a scalar that is known at run time only."""

    epsilon: Any  # distance from 1 to the next number
    smallest_divisor: Any  # sizes below it count as zero
    negligible: Any  # relative size of rounding errors of a matrix product, with a margin
    flat: Any  # relative size of rounding errors of a solved linear system, with a margin
    largest_input: Any  # larger inputs are checked as if they were not finite


FLOAT64 = FloatLimits(2.0**-52, 1e-300, 1e-8, 1e-6, 1e100)
FLOAT32 = FloatLimits(2.0**-23, 1e-36, 1e-5, 1e-3, 1e15)
MODERATE = 2.0**64  # numbers up to it, and their reciprocals, have products in the range of both types


def by_type(number: float) -> float:
    """Return a number for float64, rounded to 5 digits, that code in float32 replaces by its counterpart.

    A tolerance is a power of float64's rounding unit; its counterpart is the same power of float32's rounding unit.  A
    number below 1e-100 or above 1e100 is a bound near an end of the range; its counterpart is as near to that end of
    float32's range.
    """
    (bits,) = _BITS.unpack(_NUMBER.pack(number))
    marked: float = _NUMBER.unpack(_BITS.pack(((bits - _MARK) & ~_LAST) + _MARK))[0]  # at most as large
    return marked


def in_float32(number: float) -> float:
    """Return a constant for code in float32: the counterpart of a number that `by_type` marked, else the number."""
    if _BITS.unpack(_NUMBER.pack(number))[0] & _LAST != _MARK:
        return number
    size = abs(number)
    power = _ROUNDING_POWER if 1e-100 < size < 1e100 else _RANGE_POWER
    return math.copysign(size**power, number)


_NUMBER, _BITS = struct.Struct("<d"), struct.Struct("<Q")
_LAST = 2**36 - 1  # last bits of the significand, which are equal in all marked numbers; others have them by 1 in 7e10
_MARK = 0x9B2E17B5D
_ROUNDING_POWER = math.log(FLOAT32.epsilon, FLOAT64.epsilon)
_RANGE_POWER = math.log(FLOAT32.smallest_divisor, FLOAT64.smallest_divisor)
