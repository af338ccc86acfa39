"""Methods of a symbol besides arithmetic: NumPy's protocols, truth values, and the conversions that it refuses.

NumPy asks a symbol, or an array of symbols, when it stands among the arguments of a NumPy function.  Symbols stand
below the modules that answer, so these put their answers into the table `ANSWERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.expr.scalar import functions as f

__all__ = ["ANSWERS", "AS_AN_INDEX", "SymbolMethods"]


class SymbolMethods:
    """The part of `Symbol` that makes no nodes itself."""

    __slots__ = ()

    def __mod__(self: Any, other: Any) -> Any:
        return np.remainder(self, other)

    def __rmod__(self: Any, other: Any) -> Any:
        return np.remainder(other, self)

    def __floordiv__(self: Any, other: Any) -> Any:
        return np.floor_divide(self, other)

    def __rfloordiv__(self: Any, other: Any) -> Any:
        return np.floor_divide(other, self)

    # -- truth values are joined by NumPy's signs

    def __and__(self, other: Any) -> Any:
        return f.and_(self, other) if isinstance(other, _TRUTHS) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return f.or_(self, other) if isinstance(other, _TRUTHS) else NotImplemented

    __rand__, __ror__ = __and__, __or__

    def __xor__(self, other: Any) -> Any:
        return f.and_(self | other, f.not_(self & other)) if isinstance(other, _TRUTHS) else NotImplemented

    __rxor__ = __xor__

    def __invert__(self) -> Any:
        return f.not_(self)

    # -- what is refused

    def __bool__(self) -> bool:
        raise TypeError(
            "a symbol has no truth value while a function is traced: write where(condition, a, b) instead of if, "
            "np.minimum and np.maximum instead of min and max, a & b instead of a and b; what numpy.array makes of "
            "symbols is compared with linkwork.expr.lt, le and eq, or made with linkwork.expr.array"
        )

    def __float__(self) -> float:
        raise TypeError(
            "a symbol has no numeric value while a function is traced: use NumPy's functions or those of linkwork.expr "
            "instead of those of math, and np.zeros_like or linkwork.expr.array for arrays that symbols are written to"
        )

    __int__ = __complex__ = __float__

    def __index__(self) -> int:
        raise TypeError(
            f"{AS_AN_INDEX}; nor can it say how many there are: linkwork.while_loop goes on until it is done"
        )

    # -- NumPy, where a symbol is among the arguments

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        return ANSWERS.ufunc(ufunc, method, inputs, how)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ANSWERS.function(func, args, kwargs)

    def conjugate(self) -> Any:
        """Itself, as of every real number."""
        return self

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self  # a node of its trace, which another would not be


_TRUTHS = (SymbolMethods, bool, int, float, np.bool_)


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
