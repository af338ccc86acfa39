"""NumPy's array functions on arrays of symbols: the supported ones, and remedies for the others.

`MOVING` and `COMPOSED` are NumPy's own implementations, which move elements or combine elementwise functions;
`FORMULAS` are written over any scalar in `numpy_formulas.py`; `DELEGATED` are linkwork's linear algebra; `REFUSED`
contains reasons and remedies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.numpy_elementwise import unsupported_function
from linkwork.expr.arrays.numpy_formulas import FORMULAS, as_object_array, linalg_function
from linkwork.expr.arrays.symbol_array import as_symbol_arrays, object_array, plain_arrays
from linkwork.expr.scalar.symbol_methods import ANSWERS

__all__ = ["COMPOSED", "DELEGATED", "MOVING", "REFUSED", "apply_function", "refusal"]

# On object arrays, NumPy moves elements, adds and multiplies them.
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

# NumPy composes these of elementwise functions.
COMPOSED = frozenset(["all", "amax", "amin", "any", "max", "min", "ptp", "sum", "trapezoid", "convolve", "correlate"])

DELEGATED: Mapping[str, str] = {
    f"linalg.{name}": name
    for name in ("solve", "inv", "det", "slogdet", "cholesky", "qr", "eigh", "eigvalsh", "svd", "svdvals", "pinv")
}

_BY_VALUE = "the order of the elements depends on values, which are not known while a function is traced"
_CHOOSE = "np.where, np.minimum and np.maximum select by value, linkwork.take reads a computed index"
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
        "the number of elements would depend on values; np.where(condition, x, 0.0) keeps the shape",
    ),
    **dict.fromkeys(["bincount", "digitize", "histogram", "histogram2d"], f"counting depends on values; {_CHOOSE}"),
    "interp": (
        'linkwork.motion.spline(xp, fp[:, None], "linear")(x, outside="hold").q[0] interpolates a table; '
        "linkwork.take reads one at a computed index"
    ),
    "choose": "linkwork.take reads a table at a computed index",
    **dict.fromkeys(
        ["array_equal", "array_equiv", "allclose"],
        "the result is a single bool; np.all(np.isclose(a, b)) is a symbol for np.where",
    ),
    **dict.fromkeys(
        ["linalg.eig", "linalg.eigvals", "roots"], "results may be complex; np.linalg.eigh supports symmetric matrices"
    ),
    "linalg.lstsq": "linkwork.lstsq(A, b) returns only the solution, as an array",
    **dict.fromkeys(["linalg.matrix_rank", "linalg.cond"], "np.linalg.svd returns singular values to compare"),
    **dict.fromkeys(["save", "savez", "savetxt"], "a symbol has no value while a function is traced"),
}


def refusal(name: str) -> TypeError:
    """Return the error for a function that is not supported on symbols."""
    why = REFUSED.get(name)
    return unsupported_function(name) if why is None else TypeError(f"np.{name}: not supported on symbols: {why}")


def name_of(function: Any) -> str:
    """Return NumPy's name of a function, with its module unless that is NumPy itself."""
    module = str(getattr(function, "__module__", "numpy")).removeprefix("numpy").strip(".")
    name = str(getattr(function, "__name__", function))
    return f"{module}.{name}" if module else name


def apply_function(function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Apply a NumPy function to arguments with symbols."""
    name = name_of(function)
    formula = FORMULAS.get(name)
    if formula is not None:
        return formula(*arguments, **named)
    if name in MOVING:
        out = named.get("out")
        result = function(*map(plain_arrays, arguments), **{key: plain_arrays(x) for key, x in named.items()})
        if out is not None:
            return out
        if isinstance(result, np.ndarray) and result.dtype != object and not name.endswith("_like"):
            return object_array((), [result])  # a batch: one number, in a 0-dimensional array
        return as_symbol_arrays(result)
    if name in COMPOSED:
        implementation = getattr(function, "_implementation", function)
        return as_symbol_arrays(implementation(*map(as_object_array, arguments), **named))
    if name in DELEGATED:
        return linalg_function(DELEGATED[name])(*arguments, **named)
    raise refusal(name)


ANSWERS.function, ANSWERS.refusal = apply_function, refusal
