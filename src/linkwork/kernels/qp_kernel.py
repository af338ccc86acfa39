"""Convex quadratic programs: part of the traced function on symbols, and a kernel for each problem size on numbers."""

from __future__ import annotations

import math
from operator import gt, is_
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.thread_safety import BoundedCache
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.expr.optimize.convex_qp import (
    ProgramOptions,
    QuadraticSolution,
    check_arrays,
    checked_bound,
    first_true,
    options_of,
    solve_arrays,
)
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache

__all__ = ["quadratic_program"]

_NAMES = ("H", "g", "A", "lower", "upper", "x_lower", "x_upper", "warm_start")
_CAPACITY = 64  # kernels
_KERNELS = LazyCache[Kernel](_CAPACITY)
_CALLS: BoundedCache[Any, Kernel] = BoundedCache(_CAPACITY)  # by types and shapes of arguments that are valid
_RANKS = {"H": 2, "A": 2}  # 1 for the others


@public
def quadratic_program(
    H: Any,
    g: Any,
    A: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    x_lower: Any = None,
    x_upper: Any = None,
    warm_start: Any = None,
    tolerance: float = 1e-9,
    max_iterations: int | None = None,
) -> QuadraticSolution:
    """Minimize ½ xᵀHx + gᵀx subject to lower ≤ A x ≤ upper and x_lower ≤ x ≤ x_upper.

    H (..., n, n) is symmetric and positive semidefinite, and may be zero; only its lower triangle is read. g is (...,
    n), A (..., m, n); bounds of constraints are (..., m) and of x (..., n), or one number for all. Omitted and infinite
    bounds are absent; a lower bound equal to the upper one is an equality constraint. Leading dimensions are a batch
    and broadcast. The solution has the ``status`` of each sample, 0 where it is solved: see `QuadraticSolution`.

    ``warm_start`` (..., m + n) is the ``active`` of a solution of a similar problem. ``tolerance`` is the maximum
    violation of a constraint or bound, relative to its bound and largest coefficient, and of H x + g + Aᵀλ relative to
    its terms; it is at least 16 times the rounding of the type. ``max_iterations`` limits the changes of the active
    set.

    On symbols the solution becomes part of the compiled function, and dual numbers are differentiated. On numbers, a
    kernel of these sizes is compiled at the first call.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> result = lw.quadratic_program(np.eye(2), [-3.0, -1.0], [[1.0, 1.0]], upper=[2.0], x_lower=0.0)
    >>> result.x, result.multipliers, float(result.status)
    (array([2., 0.]), array([1.]), 0.0)

    Raises ValueError for arrays of other shapes, for batches that do not broadcast, for lower bounds above upper ones,
    and for a lower bound of inf or an upper bound of -inf.
    """
    values = (H, g, A, lower, upper, x_lower, x_upper, warm_start)
    arguments = [x for x in values if x is not None]
    try:
        key = (*[x if x is None else (x.shape, x.dtype.char) for x in values], tolerance, max_iterations)
        kernel = _CALLS.get(key)
    except (AttributeError, TypeError):
        key, kernel = None, None
    if kernel is None:
        arrays, n, m = check_arrays(dict(zip(_NAMES, values, strict=True)))
        options = options_of(tolerance, max_iterations)
        _refuse_batches(arrays)
        _refuse_bounds(*map(arrays.get, ("lower", "upper", "x_lower", "x_upper")))
        if any(map(is_traced, arrays.values())) or not n:
            return solve_arrays(arrays, n, m, options)
        if not m:
            for name in ("A", "lower", "upper"):
                arrays.pop(name, None)
        kernel = _KERNELS.get((n, m, tuple(arrays), options), lambda: _compiled(tuple(arrays), n, m, options))
        is_plain = len(arguments) == len(arrays) and all(map(is_, arguments, arrays.values()))
        if key is not None and is_plain:
            _CALLS.keep(key, kernel)
        arguments = list(arrays.values())
    else:
        _refuse_bounds(lower, upper, x_lower, x_upper)
    return QuadraticSolution(*kernel(*arguments))


def _compiled(names: tuple[str, ...], n: int, m: int, options: ProgramOptions) -> Kernel:
    sizes = {"H": (n, n), "A": (m, n), "lower": (m,), "upper": (m,), "warm_start": (m + n,)}

    def function(**arrays: Any) -> tuple[Any, ...]:
        return tuple(solve_arrays(arrays, n, m, options))

    return compile(function, name="quadratic_program", **{name: sizes.get(name, (n,)) for name in names})


def _refuse_batches(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError if leading dimensions do not broadcast."""
    try:
        np.broadcast_shapes(*(x.shape[: x.ndim - _RANKS.get(name, 1)] for name, x in arrays.items()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise ValueError(f"quadratic_program: expected leading dimensions that broadcast, got {shapes}") from None


def _refuse_bounds(lower: Any, upper: Any, x_lower: Any, x_upper: Any) -> None:
    """Raise ValueError if lower bounds exceed upper ones."""
    if lower is not None or upper is not None:
        _refuse_range("lower", lower, "upper", upper)
    if x_lower is not None or x_upper is not None:
        _refuse_range("x_lower", x_lower, "x_upper", x_upper)


def _refuse_range(low: str, below: np.ndarray | None, high: str, above: np.ndarray | None) -> None:
    lower, upper = checked_bound(low, below, math.inf), checked_bound(high, above, -math.inf)
    if below is None or above is None or lower is None or upper is None:
        return
    if below.ndim == above.ndim == 1 and not any(map(gt, lower, upper)):
        return
    crossing = np.greater(below, above)
    if crossing.any():
        lower, upper = (np.broadcast_to(x, crossing.shape)[crossing][0] for x in (below, above))
        raise ValueError(
            f"quadratic_program: {low}: expected at most {high}, got {lower} > {upper} at {first_true(crossing)}"
        )
