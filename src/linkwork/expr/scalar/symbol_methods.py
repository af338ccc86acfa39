"""Methods of a symbol other than arithmetic: NumPy's protocols, truth values, and refused conversions.

NumPy calls a symbol, or an array of symbols, among the arguments of a NumPy function.  The modules that implement these
functions import symbols, so they register themselves in `ANSWERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["ANSWERS", "AS_AN_INDEX", "SymbolMethods"]


class SymbolMethods:
    """Methods of `Symbol` that build no nodes themselves."""

    __slots__ = ()

    def __mod__(self: Any, other: Any) -> Any:
        return np.remainder(self, other)

    def __rmod__(self: Any, other: Any) -> Any:
        return np.remainder(other, self)

    def __floordiv__(self: Any, other: Any) -> Any:
        return np.floor_divide(self, other)

    def __rfloordiv__(self: Any, other: Any) -> Any:
        return np.floor_divide(other, self)

    # -- truth values combine with NumPy's operators, which refuse numbers, as on arrays

    def __and__(self: Any, other: Any) -> Any:
        return _combined(np.bitwise_and, self, other)

    def __or__(self: Any, other: Any) -> Any:
        return _combined(np.bitwise_or, self, other)

    __rand__, __ror__ = __and__, __or__

    def __xor__(self: Any, other: Any) -> Any:
        return _combined(np.bitwise_xor, self, other)

    __rxor__ = __xor__

    def __invert__(self: Any) -> Any:
        return np.invert(self)

    # -- refused conversions

    def __bool__(self) -> bool:
        raise TypeError(
            "a symbol has no truth value while a function is traced: write where(condition, a, b) instead of if, "
            "np.minimum and np.maximum instead of min and max, a & b instead of a and b; make arrays of symbols by "
            "linkwork.expr.array([...]), as np.clip, np.maximum, np.where and comparisons fail with numpy.array([...])"
        )

    def __float__(self) -> float:
        raise TypeError(
            "a symbol has no numeric value while a function is traced: use NumPy's functions or those of linkwork.expr "
            "instead of functions of math, and np.zeros_like or linkwork.expr.array for arrays of symbols, without "
            "dtype= and conversions such as np.float32(x)"
        )

    __int__ = __complex__ = __float__

    def __index__(self) -> int:
        raise TypeError(f"{AS_AN_INDEX}; nor can it be a count: linkwork.while_loop repeats while a condition holds")

    # -- NumPy functions with a symbol among the arguments

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        return ANSWERS.ufunc(ufunc, method, inputs, how)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ANSWERS.function(func, args, kwargs)

    def conjugate(self) -> Any:
        """Return the symbol itself, which is real."""
        return self

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self  # a copy would not be a node of the trace


_TRUTHS = (SymbolMethods, bool, int, float, np.bool_)


def _combined(operation: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    return operation(x, y) if isinstance(y, _TRUTHS) else NotImplemented


AS_AN_INDEX = (
    "a symbol has no value while a function is traced, so it cannot be an index in brackets: "
    "linkwork.take(table, index) reads a table at a computed index, linkwork.put(table, index, value) changes one"
)


class NumpyAnswers:
    """Registered implementations of NumPy's functions on symbols.

    `numpy_elementwise.py` registers the ufuncs, `numpy_functions.py` all others: both are imported at first use.
    """

    ufunc: Callable[..., Any]
    function: Callable[..., Any]
    refusal: Callable[[str], Exception]

    def __getattr__(self, name: str) -> Any:
        import_module("linkwork.expr.arrays.numpy_functions")
        return object.__getattribute__(self, name)


ANSWERS = NumpyAnswers()
