"""Convex quadratic programs over any scalar.

docs/algorithms/quadratic_program.md has the equations and the design decisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.symbol_array import floats, map_samples
from linkwork.expr.control.numeric_loops import read_count
from linkwork.expr.linalg.array_conversion import array_of
from linkwork.expr.linalg.sparse_dot import mirrored, rows_of
from linkwork.expr.optimize.proximal_qp import ConvexProgram
from linkwork.expr.optimize.qp_derivative import Minimum

__all__ = [
    "ProgramOptions",
    "QuadraticSolution",
    "check_arrays",
    "checked_bound",
    "first_true",
    "options_of",
    "quadratic_program",
    "solve_arrays",
]

CALLER = "quadratic_program"
RANKS = {"H": 2, "g": 1, "A": 2, "lower": 1, "upper": 1, "x_lower": 1, "x_upper": 1, "warm_start": 1}


class QuadraticSolution(NamedTuple):
    """Solution of a quadratic program: x (..., n), multipliers, status, iterations and active set.

    ``multipliers`` (..., m) belong to the inequalities lower ≤ A x ≤ upper, and ``bound_multipliers`` (..., n) to the
    bounds x_lower ≤ x ≤ x_upper.  They satisfy H x + g + Aᵀ multipliers + bound_multipliers = 0, and are positive at
    an upper bound, negative at a lower one, and 0 if neither is active.  ``active`` (..., m + n), first for the rows
    of A, then for x, is 1 at an active upper bound, −1 at an active lower bound, else 0.  ``iterations`` is the number
    of changes of the active set.

    ``status`` is 0: solved; 1: out of iterations; 2: NaN or infinite data; 3: infeasible; 4: unbounded; 5: H is not
    positive semidefinite.  With status 3, the multipliers prove that no x is feasible: Aᵀ multipliers +
    bound_multipliers = 0 and Σ multiplier·bound < 0, summed over the rows of A and the elements of x.  The multipliers
    are all 0 if a lower bound is above its upper bound.  With status 4, x is a direction along which the objective
    decreases without limit.
    """

    x: Any
    multipliers: Any
    bound_multipliers: Any
    status: Any
    iterations: Any
    active: Any


class ProgramOptions(NamedTuple):
    """Options of a program that are fixed when it is compiled."""

    tolerance: float
    max_iterations: int | None


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
    """Minimize ½ xᵀHx + gᵀx with lower ≤ A x ≤ upper and x_lower ≤ x ≤ x_upper, over any scalar.

    H, g, ``warm_start``, ``tolerance``, ``max_iterations`` and results are as for `linkwork.quadratic_program`, which
    runs a compiled kernel if all arguments are numbers.  Raises ValueError for a lower bound of inf or an upper bound
    of -inf; a lower bound above the upper one gives status 3.
    """
    values = {"H": H, "g": g, "A": A, "lower": lower, "upper": upper}
    values |= {"x_lower": x_lower, "x_upper": x_upper, "warm_start": warm_start}
    arrays, n, m = check_arrays(values)
    for name, end in {"lower": math.inf, "upper": -math.inf, "x_lower": math.inf, "x_upper": -math.inf}.items():
        checked_bound(name, arrays.get(name), end)
    return solve_arrays(arrays, n, m, options_of(tolerance, max_iterations))


def options_of(tolerance: Any, max_iterations: Any) -> ProgramOptions:
    """Check the tolerance and the iteration limit of a quadratic program, and return its options.

    Raises ValueError for an invalid value.
    """
    if not (isinstance(tolerance, (int, float)) and 0.0 <= tolerance < 1.0):
        raise ValueError(
            f"{CALLER}: tolerance: expected a number >= 0 and < 1 that is known at trace time, got {tolerance!r}"
        )
    return ProgramOptions(
        float(tolerance), None if max_iterations is None else read_count(f"{CALLER}: max_iterations", max_iterations)
    )


def check_arrays(values: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], int, int]:
    """Return the arguments of a quadratic program as arrays by name, without those that are None, then n and m.

    n is the number of variables, and m the number of rows of A.  Raises ValueError and TypeError for invalid arrays.
    """
    arrays = {name: array_of(CALLER, name, value) for name, value in values.items() if value is not None}
    for name in ("H", "g"):
        if name not in arrays:
            raise TypeError(
                f"{CALLER}: {name}: expected an array, got None; pass zeros if the objective has no such term"
            )
    n = arrays["g"].shape[-1] if arrays["g"].ndim else -1
    m = 0
    if "A" in arrays:
        m = arrays["A"].shape[-2] if arrays["A"].ndim > 1 else -1
    elif "lower" in arrays or "upper" in arrays:
        raise TypeError(
            f"{CALLER}: A: expected the matrix of the rows with bounds lower and upper, got None; "
            "bounds of x are x_lower, x_upper"
        )
    sizes = {"H": (n, n), "g": (n,), "A": (m, n), "lower": (m,), "upper": (m,), "x_lower": (n,), "x_upper": (n,)}
    sizes["warm_start"] = (m + n,)
    for name, array in arrays.items():
        expected = sizes[name]
        if name in ("lower", "upper", "x_lower", "x_upper") and array.ndim == 0:
            arrays[name] = np.broadcast_to(array, expected)
        elif -1 in expected or array.shape[-len(expected) :] != expected:
            shape = ", ".join(["...", *("n" if size == -1 else str(size) for size in expected)])
            shape_text = f" for g of shape {arrays['g'].shape}" if name != "g" else ""
            raise ValueError(
                f"{CALLER}: {name}: expected an array of shape ({shape}){shape_text}, got shape {array.shape}"
            )
    return arrays, n, m


def checked_bound(name: str, bound: np.ndarray | None, end: float) -> Any:
    """Return a numeric bound, as a list if possible, which is faster than a small array.

    The result is None for an omitted bound and for symbols. Raises ValueError if an element equals ``end``, the
    infinite value that no x satisfies.
    """
    if bound is None or bound.dtype.char == "O":
        return None
    result = bound.tolist() if bound.ndim == 1 else bound
    if end in result if bound.ndim == 1 else (bound == end).any():
        raise ValueError(
            f"{CALLER}: {name}: expected numbers, or {-end} for no bound, got {end} at "
            f"{first_true(bound == end)}, which no x satisfies"
        )
    return result


def first_true(result: np.ndarray) -> Any:
    """Return the index of the first true element of an array: an integer for one dimension, else a list of integers."""
    index = np.argwhere(result)[0].tolist()
    return index if len(index) > 1 else index[0]


def solve_arrays(arrays: Mapping[str, np.ndarray], n: int, m: int, options: ProgramOptions) -> QuadraticSolution:
    """Solve a quadratic program with n variables and m rows, for the arrays by name that `check_arrays` returns."""
    names = list(arrays)

    def one(*elements: Sequence[Any]) -> list[list[Any]]:
        return _solved(n, m, dict(zip(names, elements, strict=True)), options)

    shapes = [(n,), (m,), (n,), (), (), (m + n,)]
    result = map_samples(one, list(arrays.values()), [RANKS[name] for name in names], shapes)
    return QuadraticSolution(*(floats(x) if isinstance(x, np.ndarray) else x for x in result))


def _solved(n: int, m: int, values: Mapping[str, Sequence[Any]], options: ProgramOptions) -> list[list[Any]]:
    """Return the solution of one program: a flat list of elements for each field of `QuadraticSolution`.

    ``values`` are the elements of the arguments, by name.
    """
    H = mirrored(rows_of(values["H"], n))
    rows = [list(values["A"][i * n : (i + 1) * n]) for i in range(m)]
    lower = [*values.get("lower", [-math.inf] * m), *values.get("x_lower", [-math.inf] * n)]
    upper = [*values.get("upper", [math.inf] * m), *values.get("x_upper", [math.inf] * n)]
    free = [_is(a, -math.inf) and _is(b, math.inf) for a, b in zip(lower, upper, strict=True)]
    bounded = [i for i in range(m + n) if not free[i]]
    warm = values.get("warm_start", [0.0] * (m + n))
    program = ConvexProgram(
        H,
        list(values["g"]),
        [rows[i] for i in bounded if i < m],
        [i - m for i in bounded if i >= m],
        [lower[i] for i in bounded],
        [upper[i] for i in bounded],
        [warm[i] for i in bounded],
        options.tolerance,
        12 * (m + 2 * n) + 60 if options.max_iterations is None else options.max_iterations,
    )
    result = Minimum.of(program)
    k = len(bounded)
    multipliers, active = [0.0] * (m + n), [0.0] * (m + n)
    for j, i in enumerate(bounded):
        multipliers[i], active[i] = result[n + j], result[n + k + j]
    return [list(result[:n]), multipliers[:m], multipliers[m:], [result[-2]], [result[-1]], active]


def _is(x: Any, value: float) -> bool:
    return isinstance(x, float) and x == value
