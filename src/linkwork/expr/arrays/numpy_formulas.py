"""NumPy's array functions written over any scalar: selection, statistics, norms and others."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.arrays.numpy_elementwise import ELEMENTWISE, elementwise, maximum, minimum, truth_value
from linkwork.expr.arrays.symbol_array import SymbolArray, is_traced, plain_arrays
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.linalg.sparse_dot import reciprocal_or_zero
from linkwork.expr.scalar import functions as f

__all__ = ["FORMULAS", "as_object_array", "linalg_function"]


def linalg_function(name: str) -> Callable[..., Any]:
    """Return the function ``name`` of linkwork's linear algebra, which accepts symbols."""
    return getattr(importlib.import_module("linkwork.expr.linalg.numpy_linalg"), name)  # type: ignore[no-any-return]


def as_object_array(x: Any) -> Any:
    """Return a scalar as a 0-dimensional object array, and a list with symbols as an object array."""
    array = plain_arrays(x)
    if isinstance(array, (list, tuple)) and any(map(is_traced, array)):
        array = np.array(array, dtype=object)
    return array.view(SymbolArray) if isinstance(array, np.ndarray) and array.dtype == object else x


def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise TypeError("np.where: on symbols, expected three arguments: np.where(condition, x, y)")
    return _over(lambda which, x, y: f.where(truth_value(which), x, y), condition, *choices)


def _over(function: Callable[..., Any], *arguments: Any) -> Any:
    return elementwise(function, len(arguments))(*map(as_object_array, arguments))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **named: Any) -> Any:
    low, high = named.pop("min", a_min), named.pop("max", a_max)
    result = a if low is None else _over(maximum, a, low)
    result = result if high is None else _over(minimum, result, high)
    if out is None:
        return result
    out[...] = result
    return out


def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    total = np.sum(as_object_array(a), axis=axis, keepdims=keepdims)
    return total / float(np.size(a) // max(np.size(total), 1))


def _variance(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, **named: Any
) -> Any:
    away, count = _deviations(a, axis, ddof, **named)
    return np.sum(away * away, axis=axis, keepdims=keepdims) / count


def _standard_deviation(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, **named: Any
) -> Any:
    """Return the standard deviation over an axis, as `numpy.std`; its derivative is 0 if all elements are equal."""
    away, count = _deviations(a, axis, ddof, **named)
    return _vector_norm(away, axis=axis, keepdims=keepdims) / f.sqrt(count)


def _deviations(a: Any, axis: Any, ddof: float, correction: float | None = None, **named: Any) -> tuple[Any, float]:
    """Return the differences of elements from their mean, and a variance's divisor: their number minus ``ddof``."""
    a = as_object_array(a)
    mean = _mean(a, axis=axis, keepdims=True)
    return a - mean, np.size(a) // max(np.size(mean), 1) - (ddof if correction is None else correction)


def _average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return _mean(a, axis)
    weighted = as_object_array(a) * weights
    return np.sum(weighted, axis=axis) / np.sum(
        as_object_array(np.broadcast_to(weights, np.shape(weighted))), axis=axis
    )


def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x, ord = as_object_array(x), 2 if ord is None else ord
    if ord == math.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(as_object_array(x != 0.0), axis=axis, keepdims=keepdims)
    powers = (x if ord % 2 == 0 else np.abs(x)) ** ord  # |x|² has no second derivative at 0
    total = np.sum(as_object_array(powers), axis=axis, keepdims=keepdims)
    return total if ord == 1 else _over(lambda x: apply_rule(_RootOfPowers(ord), [x])[0], total)


@dataclass(frozen=True, slots=True)
class _RootOfPowers(CustomDerivative):
    """Derivative rule of a p-norm, the sum of powers to the power 1/``ord``; its derivative at zero is zero."""

    ord: float

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        return [f.sqrt(inputs[0]) if self.ord == 2 else inputs[0] ** (1.0 / self.ord)], ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        zero = f.eq(results[0], 0.0)
        return [direction[0] * reciprocal_or_zero(self.ord * results[0] ** (self.ord - 1), zero)]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        return self.tangent(inputs, results, extra, weights)


def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    x = as_object_array(x)
    if ord is None or ord == "fro":
        return _vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, math.inf, -1, -math.inf):
        along = -2 if abs(ord) == 1 else -1
        sums = np.sum(np.abs(x), axis=along, keepdims=True)
        largest = (np.max if ord > 0 else np.min)(sums, axis=(-2, -1), keepdims=keepdims)
        return largest
    values = linalg_function("svd")(x, compute_uv=False)
    if ord not in (2, -2, "nuc"):
        raise ValueError(f"np.linalg.norm: expected one of NumPy's orders for matrices, got {ord!r}")
    result = np.sum(values, axis=-1) if ord == "nuc" else (np.max if ord == 2 else np.min)(values, axis=-1)
    return result[..., None, None] if keepdims else result


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_object_array(x)
    if axis is None:
        if ord is None or np.ndim(x) == 1:
            return _vector_norm(x, axis=None, keepdims=keepdims, ord=2 if ord is None else ord)
        return _matrix_norm(x, keepdims=keepdims, ord=ord)
    if isinstance(axis, tuple) and len(axis) == 2:
        moved = np.moveaxis(x, axis, (-2, -1))
        result = _matrix_norm(moved, ord="fro" if ord is None else ord)
        return np.expand_dims(result, axis) if keepdims else result
    return _vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)


def _is_close(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    def close(x: Any, y: Any) -> Any:
        near = f.le(f.fabs(x - y), atol + rtol * f.fabs(y))
        same = f.or_(f.eq(x, y), f.and_(near, f.lt(f.fabs(y), math.inf)))
        return f.or_(same, f.and_(f.not_(f.eq(x, x)), f.not_(f.eq(y, y)))) if equal_nan else same

    return _over(close, a, b)


def _rounded(a: Any, decimals: int = 0, out: Any = None) -> Any:
    scale = 10.0**decimals
    return _over(lambda x: ELEMENTWISE["rint"](x * scale) / scale, a)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0.0) -> Any:
    result = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist)), strict=True):
        result = _where(condition, choice, result)
    return result


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    def number(x: Any) -> Any:
        result = f.nan_to_num(f.copysign(math.inf, x))  # has no derivative
        for value, chosen in ((math.inf, posinf), (-math.inf, neginf)):
            result = result if chosen is None else f.where(f.eq(x, value), chosen, result)
        return f.where(f.lt(f.fabs(x), math.inf), x, f.where(f.eq(x, x), result, nan))

    return _over(number, x)


def _polyval(p: Any, x: Any) -> Any:
    x, result = as_object_array(x), None
    for coefficient in as_object_array(np.asanyarray(p)):
        result = coefficient if result is None else result * x + coefficient
    return result


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    parts = np.arange(num) / max(num - 1 if endpoint else num, 1)
    start, stop = as_object_array(start), as_object_array(stop)
    shape = (num, *(1,) * max(np.ndim(start), np.ndim(stop)))
    result = as_object_array(start + (stop - start) * parts.reshape(shape))
    if endpoint and num > 1:
        result[-1] = stop
    return result


def _matrix_power(a: Any, n: int) -> Any:
    a = as_object_array(a)
    if n < 0:
        a, n = linalg_function("inv")(a), -n
    result: Any = np.eye(a.shape[-1])
    for _ in range(n):
        result = result @ a
    return result


FORMULAS: Mapping[str, Callable[..., Any]] = {
    "where": _where,
    "select": _select,
    "clip": _clip,
    "mean": _mean,
    "average": _average,
    "var": _variance,
    "std": _standard_deviation,
    "round": _rounded,
    "around": _rounded,
    "isclose": _is_close,
    "nan_to_num": _nan_to_num,
    "sinc": lambda x: _over(f.sinc, x),
    "linspace": _linspace,
    "polyval": _polyval,
    "real": lambda val: val,
    "linalg.norm": _norm,
    "linalg.vector_norm": _vector_norm,
    "linalg.matrix_norm": _matrix_norm,
    "linalg.matrix_power": _matrix_power,
}
