"""What NumPy asks a symbol, or an array of symbols, among its arguments; the answers are put here by who has them.

Symbols stand below the functions that are made of them, so they ask for these by this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ANSWERS", "AS_AN_INDEX", "NumpyAnswers"]

AS_AN_INDEX = (
    "a symbol has no value while a function is traced, so it cannot stand in brackets: linkwork.take(table, index) "
    "looks up a table at an index that is computed, linkwork.put(table, index, value) changes one"
)


class NumpyAnswers:
    """The answers: `numpy_elementwise.py` has those for functions of elements, `numpy_functions.py` all others."""

    ufunc: Callable[..., Any]
    function: Callable[..., Any]
    refusal: Callable[[str], Exception]


ANSWERS = NumpyAnswers()
