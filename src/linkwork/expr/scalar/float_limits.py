"""Limits and tolerances of the float types in which functions are computed: one table for all code.

A trace does not know the float type of its code, so `precision.limits_of` selects a row of the table at run time.
"""

from __future__ import annotations

from typing import Any

from linkwork._util.lazy_dataclass import dataclass

__all__ = ["FLOAT32", "FLOAT64", "MODERATE", "FloatLimits"]


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
