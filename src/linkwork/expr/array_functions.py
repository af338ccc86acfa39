"""NumPy's functions of whole arrays on arrays of symbols: what is known, what it is, and what to use for what is not.

`MOVING` and `COMPOSED` are NumPy's own, which move elements, or are made of functions of elements; `OWN` are written
here over any scalar; `DELEGATED` are linkwork's linear algebra; `REFUSED` says why, and what to use instead.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import functions as f
from .arrays import SymbolArray, bare, filled, is_traced, wrapped
from .elementwise import ELEMENTWISE, maximum, minimum, not_known, over_elements, truth
from .numpy_protocol import ANSWERS

__all__ = ["COMPOSED", "DELEGATED", "MOVING", "OWN", "REFUSED", "called", "refusal"]

# On arrays of objects, NumPy moves elements, adds and multiplies them.
MOVING = frozenset(
    [
        "append",
        "array2string",
        "array_repr",
        "array_split",
        "array_str",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block",
        "broadcast_arrays",
        "broadcast_to",
        "column_stack",
        "concatenate",
        "copy",
        "copyto",
        "cross",
        "cumprod",
        "cumsum",
        "cumulative_prod",
        "cumulative_sum",
        "delete",
        "diag",
        "diagflat",
        "diagonal",
        "diff",
        "dot",
        "dsplit",
        "dstack",
        "einsum",
        "empty_like",
        "expand_dims",
        "fill_diagonal",
        "flip",
        "fliplr",
        "flipud",
        "full_like",
        "hsplit",
        "hstack",
        "inner",
        "insert",
        "kron",
        "linalg.cross",
        "linalg.diagonal",
        "linalg.matmul",
        "linalg.matrix_transpose",
        "linalg.multi_dot",
        "linalg.outer",
        "linalg.tensordot",
        "linalg.trace",
        "linalg.vecdot",
        "matrix_transpose",
        "meshgrid",
        "moveaxis",
        "ndim",
        "ones_like",
        "outer",
        "pad",
        "prod",
        "put_along_axis",
        "ravel",
        "repeat",
        "reshape",
        "resize",
        "roll",
        "rollaxis",
        "rot90",
        "shape",
        "size",
        "split",
        "squeeze",
        "stack",
        "swapaxes",
        "take",
        "take_along_axis",
        "tensordot",
        "tile",
        "trace",
        "transpose",
        "tril",
        "triu",
        "unstack",
        "vander",
        "vdot",
        "vsplit",
        "vstack",
        "zeros_like",
    ]
)

# NumPy's are made of functions of elements, which are asked one by one.
COMPOSED = frozenset(["all", "amax", "amin", "any", "max", "min", "ptp", "sum", "trapezoid", "convolve", "correlate"])

DELEGATED: Mapping[str, str] = {
    f"linalg.{name}": name
    for name in ("solve", "inv", "det", "slogdet", "cholesky", "qr", "eigh", "eigvalsh", "svd", "svdvals", "pinv")
}

_BY_VALUE = (
    "which numbers come first, or are asked for, depends on values, which are not known while a function is traced"
)
_CHOOSE = "np.where, np.minimum and np.maximum choose by value, linkwork.take looks up a computed index"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        [
            "argmax",
            "argmin",
            "argpartition",
            "argsort",
            "lexsort",
            "median",
            "nanargmax",
            "nanargmin",
            "nanmedian",
            "partition",
            "percentile",
            "quantile",
            "searchsorted",
            "sort",
            "sort_complex",
        ],
        f"{_BY_VALUE}; {_CHOOSE}",
    ),
    **dict.fromkeys(
        [
            "argwhere",
            "compress",
            "count_nonzero",
            "extract",
            "flatnonzero",
            "nonzero",
            "place",
            "putmask",
            "setdiff1d",
            "trim_zeros",
            "union1d",
            "unique",
            "unique_values",
            "intersect1d",
        ],
        "how many numbers there are would depend on values; np.where(condition, x, 0.0) keeps their places",
    ),
    **dict.fromkeys(["bincount", "digitize", "histogram", "histogram2d"], f"counting depends on values; {_CHOOSE}"),
    "interp": "linkwork.take looks up a table at an index that is computed, between whose numbers formulas go",
    "choose": "linkwork.take looks up a table at an index that is computed",
    **dict.fromkeys(
        ["array_equal", "array_equiv", "allclose"],
        "it is one truth value of all; np.all(np.isclose(a, b)) is a symbol for np.where",
    ),
    **dict.fromkeys(
        ["linalg.eig", "linalg.eigvals", "roots"], "results may be complex; np.linalg.eigh is of symmetric matrices"
    ),
    "linalg.lstsq": "linkwork.lstsq(A, b) gives the solution alone, as an array",
    **dict.fromkeys(["linalg.matrix_rank", "linalg.cond"], "np.linalg.svd gives singular values to compare"),
    **dict.fromkeys(["save", "savez", "savetxt"], "a symbol has no value while a function is traced"),
}


def refusal(name: str) -> TypeError:
    """The error for a function that is not known on symbols."""
    why = REFUSED.get(name)
    return not_known(name) if why is None else TypeError(f"np.{name}: not on symbols: {why}")


def name_of(function: Any) -> str:
    """What NumPy calls a function, with its module where that is not NumPy itself."""
    module = str(getattr(function, "__module__", "numpy")).removeprefix("numpy").strip(".")
    name = str(getattr(function, "__name__", function))
    return f"{module}.{name}" if module else name


def called(function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What a function of NumPy's gives where symbols are among its arguments."""
    name = name_of(function)
    own = OWN.get(name)
    if own is not None:
        return own(*arguments, **named)
    if name in MOVING:
        out = named.get("out")
        result = function(*map(bare, arguments), **{key: bare(x) for key, x in named.items()})
        if out is not None:
            return out
        if isinstance(result, np.ndarray) and result.dtype != object and not name.endswith("_like"):
            return filled((), [result])  # a batch: a single number, of no dimension
        return wrapped(result)
    if name in COMPOSED:
        implementation = getattr(function, "_implementation", function)
        return wrapped(implementation(*map(_array, arguments), **named))
    if name in DELEGATED:
        return _delegated(DELEGATED[name])(*arguments, **named)
    raise refusal(name)


def _delegated(name: str) -> Callable[..., Any]:
    """A function of linkwork's linear algebra."""
    return getattr(importlib.import_module("linkwork.expr.linalg.as_numpy"), name)  # type: ignore[no-any-return]


def _array(x: Any) -> Any:
    """A scalar of ours as an array of no dimension; a list with such in it as an array."""
    made = bare(x)
    if isinstance(made, (list, tuple)) and any(map(is_traced, made)):
        made = np.array(made, dtype=object)
    return made.view(SymbolArray) if isinstance(made, np.ndarray) and made.dtype == object else x


def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise TypeError("np.where: not on symbols without the two things to choose from: np.where(condition, x, y)")
    return _over(lambda which, x, y: f.where(truth(which), x, y), condition, *choices)


def _over(function: Callable[..., Any], *arguments: Any) -> Any:
    return over_elements(function, len(arguments))(*map(_array, arguments))


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **named: Any) -> Any:
    low, high = named.pop("min", a_min), named.pop("max", a_max)
    result = a if low is None else _over(maximum, a, low)
    result = result if high is None else _over(minimum, result, high)
    if out is None:
        return result
    out[...] = result
    return out


def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    total = np.sum(_array(a), axis=axis, keepdims=keepdims)
    return total / float(np.size(a) // max(np.size(total), 1))


def _variance(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: Any = False, **named: Any
) -> Any:
    a, ddof = _array(a), named.pop("correction", ddof)
    away = a - _mean(a, axis=axis, keepdims=True)
    total = np.sum(away * away, axis=axis, keepdims=keepdims)
    return total / (np.size(a) // max(np.size(total), 1) - ddof)


def _deviation(*arguments: Any, **named: Any) -> Any:
    return np.sqrt(_array(_variance(*arguments, **named)))


def _average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return _mean(a, axis)
    weighted = _array(a) * weights
    return np.sum(weighted, axis=axis) / np.sum(_array(np.broadcast_to(weights, np.shape(weighted))), axis=axis)


def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    magnitude = np.abs(_array(x))
    if ord is None or ord == 2:
        return _root(np.sum(magnitude * magnitude, axis=axis, keepdims=keepdims))
    if ord == math.inf:
        return np.max(magnitude, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return np.min(magnitude, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(_array(magnitude != 0.0), axis=axis, keepdims=keepdims)
    return np.sum(_array(magnitude**ord), axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _root(total: Any) -> Any:
    return np.sqrt(_array(total)) if isinstance(total, np.ndarray) else f.sqrt(total)


def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    x = _array(x)
    if ord is None or ord == "fro":
        return _vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, math.inf, -1, -math.inf):
        along = -2 if abs(ord) == 1 else -1
        sums = np.sum(np.abs(x), axis=along, keepdims=True)
        largest = (np.max if ord > 0 else np.min)(sums, axis=(-2, -1), keepdims=keepdims)
        return largest
    values = _delegated("svd")(x, compute_uv=False)
    if ord not in (2, -2, "nuc"):
        raise ValueError(f"np.linalg.norm: expected one of NumPy's orders for matrices, got {ord!r}")
    found = np.sum(values, axis=-1) if ord == "nuc" else (np.max if ord == 2 else np.min)(values, axis=-1)
    return found[..., None, None] if keepdims else found


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = _array(x)
    if axis is None:
        if ord is None or np.ndim(x) == 1:
            return _vector_norm(x, axis=None, keepdims=keepdims, ord=2 if ord is None else ord)
        return _matrix_norm(x, keepdims=keepdims, ord=ord)
    if isinstance(axis, tuple) and len(axis) == 2:
        moved = np.moveaxis(x, axis, (-2, -1))
        found = _matrix_norm(moved, ord="fro" if ord is None else ord)
        return np.expand_dims(found, axis) if keepdims else found
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


def _sinc(x: Any) -> Any:
    def sinc(x: Any) -> Any:
        y = math.pi * x
        away = f.not_(f.eq(y, 0.0))
        safe = f.where(away, y, 1.0)
        return f.where(away, f.div(f.sin(safe), safe), 1.0)

    return _over(sinc, x)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0.0) -> Any:
    result = default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist)), strict=True):
        result = _where(condition, choice, result)
    return result


def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    largest = float(np.finfo(float).max)
    high, low = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)

    def number(x: Any) -> Any:
        finite = f.where(f.eq(x, math.inf), high, f.where(f.eq(x, -math.inf), low, x))
        return f.where(f.eq(x, x), finite, nan)

    return _over(number, x)


def _polyval(p: Any, x: Any) -> Any:
    x, result = _array(x), None
    for coefficient in _array(np.asanyarray(p)):
        result = coefficient if result is None else result * x + coefficient
    return result


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    parts = np.arange(num) / max(num - 1 if endpoint else num, 1)
    start, stop = _array(start), _array(stop)
    shape = (num, *(1,) * max(np.ndim(start), np.ndim(stop)))
    return _array(start + (stop - start) * parts.reshape(shape))


def _matrix_power(a: Any, n: int) -> Any:
    a = _array(a)
    if n < 0:
        a, n = _delegated("inv")(a), -n
    result: Any = np.eye(a.shape[-1])
    for _ in range(n):
        result = result @ a
    return result


OWN: Mapping[str, Callable[..., Any]] = {
    "where": _where,
    "select": _select,
    "clip": _clip,
    "mean": _mean,
    "average": _average,
    "var": _variance,
    "std": _deviation,
    "round": _rounded,
    "around": _rounded,
    "isclose": _is_close,
    "nan_to_num": _nan_to_num,
    "sinc": _sinc,
    "linspace": _linspace,
    "polyval": _polyval,
    "real": lambda val: val,
    "linalg.norm": _norm,
    "linalg.vector_norm": _vector_norm,
    "linalg.matrix_norm": _matrix_norm,
    "linalg.matrix_power": _matrix_power,
}

ANSWERS.function, ANSWERS.refusal = called, refusal
