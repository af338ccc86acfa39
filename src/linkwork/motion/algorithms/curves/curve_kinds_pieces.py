"""Pieces of a curve: which one a parameter is in, and polynomials, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.expr.control import take
from linkwork.expr.scalar.functions import le, where

__all__ = ["FAR", "piece_at", "polynomial", "row"]

FAR = 1e300  # where pieces begin that are not there


def piece_at(starts: Any, at: Any) -> tuple[Any, Any]:
    """Which piece a parameter is in, and where that one begins: the last that begins no later, or else the first.

    By bisection over a table of 2^k entries, those beyond the last piece being `FAR`: all lanes take the same steps.
    """
    place: Any = 0.0
    start: Any = starts[0]
    step = len(starts) // 2
    while step:
        there = take(starts, place + float(step))
        later = le(there, at)
        place, start = where(later, place + float(step), place), where(later, there, start)
        step //= 2
    return place, start


def row(table: Any, place: Any) -> Any:
    """The row of a table at a place, as an array of its numbers; samples of a batch stand behind."""
    found = np.asarray(table)[0] if len(table) == 1 else take(table, place)
    own = np.ndim(table) - 1
    more = np.ndim(found) - own
    return np.moveaxis(found, range(more, more + own), range(own)) if more else found


def polynomial(coefficients: Sequence[Any], u: Any) -> Any:
    """Σ c_k u^k, lowest first, by Horner's scheme."""
    found: Any = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        found = found * u + coefficients[k]
    return found
