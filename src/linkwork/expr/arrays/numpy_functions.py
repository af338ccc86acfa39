"""NumPy's functions of whole arrays on arrays of symbols: what is known, what it is, and what to use for what is not.

`MOVING` and `COMPOSED` are NumPy's own, which move elements, or are made of functions of elements; `OWN` are written
over any scalar in `numpy_formulas.py`; `DELEGATED` are linkwork's linear algebra; `REFUSED` says why, and what to use
instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.numpy_elementwise import not_known
from linkwork.expr.arrays.numpy_formulas import OWN, array_of, delegated
from linkwork.expr.arrays.symbol_array import bare, filled, wrapped
from linkwork.expr.scalar.symbol_methods import ANSWERS

__all__ = ["COMPOSED", "DELEGATED", "MOVING", "REFUSED", "called", "refusal"]

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
        return wrapped(implementation(*map(array_of, arguments), **named))
    if name in DELEGATED:
        return delegated(DELEGATED[name])(*arguments, **named)
    raise refusal(name)


ANSWERS.function, ANSWERS.refusal = called, refusal
