"""Values that are invalid for nearly all arguments, for the fuzzers."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["GARBAGE", "NOT_A_NUMBER", "TELLING"]


def _matrix() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix([[1.0, 2.0], [3.0, 4.0]])


def _nested() -> list[Any]:
    result: list[Any] = [1.0]
    for _ in range(2000):
        result = [result]
    return result


def _list_of_itself() -> list[Any]:
    result: list[Any] = [1.0, 2.0]
    result.append(result)
    return result


def _array_of_itself() -> np.ndarray:
    result = np.empty(2, dtype=object)
    result[0], result[1] = 1.0, result
    return result


class Featureless:
    """An object without any behaviour."""


class Unhelpful:
    """An object whose truth, length, text and comparisons raise."""

    def __bool__(self) -> bool:
        raise ValueError("no truth value")

    def __len__(self) -> int:
        raise ValueError("no length")

    def __eq__(self, counterpart: object) -> bool:
        raise ValueError("no comparison")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "<unhelpful>"


GARBAGE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "bytes": lambda: b"\x00" * 8,
    "text": lambda: "no such thing",
    "empty text": lambda: "",
    "long text": lambda: "x" * 100_000,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "-1": lambda: -1,
    "-0.5": lambda: -0.5,
    "0": lambda: 0,
    "1e300": lambda: 1e300,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "2**63": lambda: 2**63,
    "complex": lambda: 1.0 + 2.0j,
    "object": Featureless,
    "unhelpful": Unhelpful,
    "[]": list,
    "[[]]": lambda: [[]],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "tuple of None": lambda: (None, None),
    "dict": lambda: {"no such name": 1.0},
    "dict of numbers": lambda: {3: "x"},
    "set": lambda: {1.0, 2.0},
    "set of texts": lambda: {"a", "b"},
    "matrix": _matrix,
    "objects": lambda: np.array([None, "x"], dtype=object),
    "texts": lambda: np.array(["a", "b"]),
    "dates": lambda: np.array(["2020-01-01"], dtype="datetime64[s]"),
    "masked": lambda: np.ma.masked_array([1.0, 2.0], mask=True),
    "records": lambda: np.zeros(2, [("a", float)]),
    "array (7,)": lambda: np.ones(7),
    "array (0,)": lambda: np.ones(0),
    "array (2, 3, 5)": lambda: np.ones((2, 3, 5)),
    "array of NaN (2,)": lambda: np.full(2, np.nan),
    "endless": itertools.count,
    "nested": _nested,
    "own list": _list_of_itself,
    "own array": _array_of_itself,
    "array of NaN (4, 4)": lambda: np.full((4, 4), np.nan),
    "array of 1e300 (2,)": lambda: np.full(2, 1e300),
    "generator": lambda: (x for x in (1.0, 2.0)),
    "function": lambda: lambda *arguments, **named: None,
    "function of one": lambda: lambda x: x,
    "type": lambda: int,
    "slice": lambda: slice(None),
    "Ellipsis": lambda: ...,
    "fraction": lambda: Fraction(1, 3),
    "module": lambda: np,
}
NOT_A_NUMBER = ("NaN", "array of NaN (2,)", "array of NaN (4, 4)")
TELLING = (  # the kinds that find most, for a sweep that has not the time for all
    *("NaN", "inf", "-1", "0", "1e300", "None", "object", "bytes", "text", "array (0,)", "array (2, 3, 5)", "complex"),
    *("True", "10**30", "set", "generator"),
)
