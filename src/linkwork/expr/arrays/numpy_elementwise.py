"""NumPy's elementwise functions on arrays of symbols, over any scalar.

A function with an entry in the table of operations calls that operation; the other functions are compositions defined
here.  NumPy calls `apply_ufunc`, for the functions themselves and for their reductions, accumulations and outer
products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import SymbolArray, object_array, plain_arrays
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_METHOD
from linkwork.expr.scalar.symbol_methods import ANSWERS

__all__ = [
    "ELEMENTWISE",
    "PLAIN",
    "apply_ufunc",
    "elementwise",
    "scalar_function",
    "truth_value",
    "unsupported_function",
]

# Functions that NumPy evaluates correctly with Python's operators on the elements.
PLAIN = frozenset({"add", "subtract", "multiply", "negative", "positive", "matmul", "vecdot", "matvec", "vecmat"})

_DEGREE = math.pi / 180.0


def truth_value(x: Any) -> Any:
    """Return the truth value of a number, as NumPy does: True if it is not zero."""
    return x if _is_truth(x) else f.not_(f.eq(x, 0.0))


def power(x: Any, y: Any) -> Any:
    """Return ``x`` to the power ``y``; integer powers are products."""
    plain = isinstance(x, (int, float)) and isinstance(y, (int, float))
    return f.pow(x, y) if plain else x**y


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two numbers, NaN if one is NaN."""
    return _extreme(x, y, lambda a, b: f.le(b, a), lambda a, b: f.lt(b, a))


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of two numbers, NaN if one is NaN."""
    return _extreme(x, y, f.le, f.lt)


def _extreme(x: Any, y: Any, may_come_first: Callable[[Any, Any], Any], comes_first: Callable[[Any, Any], Any]) -> Any:
    """Return the minimum or maximum of ``x`` and ``y``, by the order that is passed; NaN if either is NaN.

    ``comes_first(x, y)`` is the strict comparison, ``x > y`` for the maximum; ``may_come_first(x, y)`` is also true for
    equal scalars.  If one argument is a constant that is not NaN, one comparison is computed.
    """
    if isinstance(x, (int, float)) and x == x:
        return f.where(may_come_first(x, y), x, y)
    if isinstance(y, (int, float)) and y == y:
        return f.where(may_come_first(y, x), y, x)
    return f.where(f.eq(x, x), f.where(comes_first(x, y), x, y), x)


def trunc(x: Any) -> Any:
    """Return ``x`` without its fraction, an integer as a floating-point number: -1.5 becomes -1."""
    return f.copysign(f.floor(f.fabs(x)), x)


def rint(x: Any) -> Any:
    """Return the integer nearest to ``x``, the even one for a tie."""
    a = f.fabs(x)
    low = f.floor(a)
    fraction = a - low
    odd = f.lt(0.25, 0.5 * low - f.floor(0.5 * low))
    up = f.or_(f.lt(0.5, fraction), f.and_(f.eq(fraction, 0.5), odd))
    return f.copysign(f.where(up, low + 1.0, low), x)


def floor_divide(x: Any, y: Any) -> Any:
    """Return the largest integer <= ``x / y``; for y = 0 return ``x / y`` itself, which is infinite or NaN."""
    remainder, quotient = f.fmod(x, y), f.div(x, y)
    whole = rint(f.div(x - remainder, y))
    below = f.where(f.lt(remainder * f.copysign(1.0, y), 0.0), whole - 1.0, whole)
    return f.where(f.eq(y, 0.0), f.floor(quotient), f.copysign(below, quotient))


ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "absolute": f.fabs,
    "divide": f.div,
    "power": power,
    "float_power": power,
    "square": lambda x: x * x,
    "reciprocal": lambda x: f.div(1.0, x),
    "deg2rad": lambda x: x * _DEGREE,
    "radians": lambda x: x * _DEGREE,
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "degrees": lambda x: x * (180.0 / math.pi),
    "ceil": f.ceil,
    "trunc": trunc,
    "rint": rint,
    "floor_divide": floor_divide,
    "maximum": maximum,
    "minimum": minimum,
    "clip": lambda x, low, high: minimum(maximum(x, low), high),
    "heaviside": lambda x, at_zero: f.where(
        f.lt(x, 0.0), 0.0, f.where(f.lt(0.0, x), 1.0, f.where(f.eq(x, 0.0), at_zero, x))
    ),
    "greater": lambda x, y: f.lt(y, x),
    "greater_equal": lambda x, y: f.le(y, x),
    "not_equal": lambda x, y: f.not_(f.eq(x, y)),
    "logical_and": lambda x, y: f.and_(truth_value(x), truth_value(y)),
    "logical_or": lambda x, y: f.or_(truth_value(x), truth_value(y)),
    "logical_not": lambda x: f.not_(truth_value(x)),
    "logical_xor": lambda x, y: _differ(truth_value(x), truth_value(y)),
    "bitwise_and": lambda x, y: f.and_(_logical(x, "&"), _logical(y, "&")),
    "bitwise_or": lambda x, y: f.or_(_logical(x, "|"), _logical(y, "|")),
    "bitwise_xor": lambda x, y: _differ(_logical(x, "^"), _logical(y, "^")),
    "invert": lambda x: f.not_(_logical(x, "~")),
    "isnan": lambda x: f.not_(f.eq(x, x)),
    "isinf": lambda x: f.eq(f.fabs(x), math.inf),
    "isfinite": lambda x: f.lt(f.fabs(x), math.inf),
    "signbit": lambda x: f.lt(f.copysign(1.0, x), 0.0),
    "conjugate": lambda x: x,
}


def _differ(x: Any, y: Any) -> Any:
    return f.and_(f.or_(x, y), f.not_(f.and_(x, y)))


def _is_truth(x: Any) -> bool:
    """Return True if ``x`` is a truth value: a bool, a symbol of a comparison, or an array of truth values."""
    operation = getattr(x, "op", None)
    if operation is not None:
        return bool(operation.logical)
    return isinstance(x, (bool, np.bool_)) or (isinstance(x, np.ndarray) and x.dtype == bool)


def _logical(x: Any, sign: str) -> Any:
    """Return the truth value ``x`` itself.  Raises TypeError if it is a number.

    NumPy's bitwise operations on numbers have no counterpart on symbols.  ``sign`` is the operator, for the message.
    """
    if _is_truth(x):
        return x
    remedy = "; a power is x ** y" if sign == "^" else ""
    raise TypeError(f"{sign}: expected truth values, such as results of comparisons, got {x!r}{remedy}")


def scalar_function(name: str) -> Callable[..., Any] | None:
    """Return NumPy's elementwise function of this name for any scalar type, or None if unsupported."""
    elementwise = ELEMENTWISE.get(name)
    return BY_METHOD.get(name) if elementwise is None else elementwise


def unsupported_function(name: str) -> TypeError:
    """Return the error for a NumPy function that is not supported."""
    return TypeError(
        f"np.{name}: not supported on symbols, while a function is traced; docs/compiler.md lists the functions"
    )


def elementwise(function: Callable[..., Any], count: int) -> Any:
    """Return a function of ``count`` scalars as a function of arrays that broadcast, as NumPy's ufuncs do.

    A function of two scalars can also reduce over several axes.
    """
    return np.frompyfunc(function, count, 1, identity=None) if count == 2 else np.frompyfunc(function, count, 1)


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], how: dict[str, Any]) -> Any:
    """Return the result of a NumPy ufunc, or of its ``reduce``, ``accumulate`` or ``outer``, on arrays of symbols.

    ``method`` is the name of the method ("__call__" for the ufunc), and ``how`` has its keyword arguments.
    """
    name, out = ufunc.__name__, how.pop("out", None)
    if how.pop("where", True) is not True:
        raise TypeError(f"np.{name}: where= is not supported on symbols: use np.where(condition, new, old)")
    for ignored in ("dtype", "casting", "order", "subok"):
        how.pop(ignored, None)
    if method not in ("__call__", "reduce", "accumulate", "outer"):
        raise TypeError(f"np.{name}.{method}: not supported on symbols")
    if (
        all(x.__class__ not in _ARRAY_TYPES for x in inputs)
        and method == "__call__"
        and name in _OPERATORS
        and out is None
    ):
        return _OPERATORS[name](*(x.item() if isinstance(x, np.generic) else x for x in inputs))
    of_python = ufunc.types == [f"{'O' * ufunc.nin}->{'O' * ufunc.nout}"]
    if not of_python and getattr(np, name, None) is not ufunc and (name != "clip" or ufunc.signature is not None):
        raise TypeError(f"{name}: this ufunc is compiled and does not accept symbols during tracing")
    arrays = [plain_arrays(x) for x in inputs]
    if method == "reduce" and name == "add":
        arrays = [_as_summands(arrays[0])]
    if name in PLAIN or of_python:  # NumPy calls the elements
        result = getattr(ufunc, method)(*arrays, **how)
    else:
        result = _by_elements(ufunc, name, method, arrays, how)
    if out is not None:
        return _write_to(name, out[0] if isinstance(out, tuple) else out, result)
    if isinstance(result, np.ndarray):
        if result.dtype == object:
            return result.view(SymbolArray)
        return object_array((), [result])  # a batch: one number, in a 0-dimensional array
    return result


_ARRAY_TYPES = (SymbolArray, np.ndarray)
_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negative": lambda x: -x,
}


def _by_elements(ufunc: np.ufunc, name: str, method: str, arrays: Sequence[Any], how: dict[str, Any]) -> Any:
    if name == "divide" and method == "__call__":
        try:
            return ufunc(*arrays)
        except ZeroDivisionError:  # Python floats; the IEEE result is computed below
            pass
    function = scalar_function(name)
    if function is None:
        raise unsupported_function(name)
    with np.errstate(all="ignore"):
        return getattr(elementwise(function, ufunc.nin), method)(*arrays, **how)


def _as_summands(values: Any) -> Any:
    """Return the array to be summed; if it has symbols, truth values are converted to 1 or 0."""
    values = np.asarray(values)
    if values.dtype == object and any(map(_is_truth, values.ravel().tolist())):
        return elementwise(lambda x: f.where(truth_value(x), 1.0, 0.0), 1)(values)
    return values


def _write_to(name: str, out: Any, result: Any) -> Any:
    """Write the result to ``out``.  Raises TypeError if ``out`` cannot store symbols."""
    if not (isinstance(out, np.ndarray) and out.dtype == object):
        kind = f"an array of {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise TypeError(
            f"np.{name}: symbols cannot be written to {kind}: write a = a + b instead of a += b, or create the "
            f"array with np.zeros_like of an array of symbols"
        )
    if out.ndim:
        out.view(np.ndarray)[...] = result
    else:  # one element, which may be a batch
        out.view(np.ndarray).reshape(1)[0] = result
    return out


ANSWERS.ufunc = apply_ufunc
