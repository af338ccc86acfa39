"""Convex quadratic programs over any scalar.

docs/algorithms/quadratic_program.md has the equations and the choices.
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

__all__ = ["ProgramOptions", "QuadraticSolution", "check_arrays", "options_of", "quadratic_program", "solve_arrays"]

WHO = "quadratic_program"
RANKS = {"H": 2, "g": 1, "A": 2, "lower": 1, "upper": 1, "x_lower": 1, "x_upper": 1, "warm_start": 1}


class QuadraticSolution(NamedTuple):
    """x (..., n) of a quadratic program, and how it was found.

    ``multipliers`` (..., m) of the rows and ``bound_multipliers`` (..., n) of the bounds satisfy
    H x + g + Aᵀ multipliers + bound_multipliers = 0; they are positive at an upper bound, negative at a lower one, and
    0 where neither is reached.  ``active`` (..., m + n), rows first, is 1 where an upper bound holds x, −1 where a
    lower one does, and else 0.  ``iterations`` counts how often that changed.

    ``status`` is 0: solved; 1: out of iterations; 2: something was not a number; 3: infeasible, which the multipliers
    prove, as Aᵀ multipliers + bound_multipliers = 0 while Σ multiplier·bound < 0 over all rows and bounds (all are 0
    where a lower bound is above its upper one); 4: unbounded, and x is a direction along which the objective falls for
    ever; 5: H is not positive semidefinite.
    """

    x: Any
    multipliers: Any
    bound_multipliers: Any
    status: Any
    iterations: Any
    active: Any


class ProgramOptions(NamedTuple):
    """What is known when a program is compiled."""

    tolerance: float
    max_iterations: int | None


@public
def quadratic_program(
    H: Any,
    g: Any,
    A: Any = None,
    lower: Any = None,
    upper: Any = None,
    *,
    x_lower: Any = None,
    x_upper: Any = None,
    warm_start: Any = None,
    tolerance: float = 1e-9,
    max_iterations: int | None = None,
) -> QuadraticSolution:
    """The x where ½ xᵀHx + gᵀx is least, of those with lower ≤ A x ≤ upper and x_lower ≤ x ≤ x_upper, on any scalar.

    As `linkwork.quadratic_program`, which runs compiled code where all are numbers.
    """
    given = {"H": H, "g": g, "A": A, "lower": lower, "upper": upper}
    given |= {"x_lower": x_lower, "x_upper": x_upper, "warm_start": warm_start}
    arrays, n, m = check_arrays(given)
    return solve_arrays(arrays, n, m, options_of(tolerance, max_iterations))


def options_of(tolerance: Any, max_iterations: Any) -> ProgramOptions:
    """Raises ValueError for what is none."""
    if not (isinstance(tolerance, (int, float)) and 0.0 <= tolerance < 1.0):
        raise ValueError(f"{WHO}: tolerance: expected a number from 0 to 1, known in advance, got {tolerance!r}")
    return ProgramOptions(
        float(tolerance), None if max_iterations is None else read_count(f"{WHO}: max_iterations", max_iterations)
    )


def check_arrays(given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], int, int]:
    """The arrays that are there, by name, and how many variables and rows.  Raises ValueError, TypeError."""
    arrays = {name: array_of(WHO, name, value) for name, value in given.items() if value is not None}
    for name in ("H", "g"):
        if name not in arrays:
            raise TypeError(f"{WHO}: {name}: expected an array, got None; a program without it has zeros there")
    n = arrays["g"].shape[-1] if arrays["g"].ndim else -1
    m = 0
    if "A" in arrays:
        m = arrays["A"].shape[-2] if arrays["A"].ndim > 1 else -1
    elif "lower" in arrays or "upper" in arrays:
        raise TypeError(
            f"{WHO}: A: expected the rows that lower and upper are of, got None; bounds of x are x_lower, x_upper"
        )
    sizes = {"H": (n, n), "g": (n,), "A": (m, n), "lower": (m,), "upper": (m,), "x_lower": (n,), "x_upper": (n,)}
    sizes["warm_start"] = (m + n,)
    for name, array in arrays.items():
        expected = sizes[name]
        if name in ("lower", "upper", "x_lower", "x_upper") and array.ndim == 0:
            arrays[name] = np.broadcast_to(array, expected)
        elif -1 in expected or array.shape[-len(expected) :] != expected:
            shape = ", ".join(["...", *("n" if size == -1 else str(size) for size in expected)])
            of = f", for g of the shape {arrays['g'].shape}" if name != "g" else ""
            raise ValueError(f"{WHO}: {name}: expected the shape ({shape}){of}, got {array.shape}")
    return arrays, n, m


def solve_arrays(arrays: Mapping[str, np.ndarray], n: int, m: int, options: ProgramOptions) -> QuadraticSolution:
    """The solution, of arrays that have been looked at."""
    names = list(arrays)

    def one(*elements: Sequence[Any]) -> list[list[Any]]:
        return _solved(n, m, dict(zip(names, elements, strict=True)), options)

    shapes = [(n,), (m,), (n,), (), (), (m + n,)]
    result = map_samples(one, list(arrays.values()), [RANKS[name] for name in names], shapes)
    return QuadraticSolution(*(floats(x) if isinstance(x, np.ndarray) else x for x in result))


def _solved(n: int, m: int, given: Mapping[str, Sequence[Any]], options: ProgramOptions) -> list[list[Any]]:
    """Of one sample: the solution's numbers."""
    H = mirrored(rows_of(given["H"], n))
    rows = [list(given["A"][i * n : (i + 1) * n]) for i in range(m)]
    lower = [*given.get("lower", [-math.inf] * m), *given.get("x_lower", [-math.inf] * n)]
    upper = [*given.get("upper", [math.inf] * m), *given.get("x_upper", [math.inf] * n)]
    free = [_is(a, -math.inf) and _is(b, math.inf) for a, b in zip(lower, upper, strict=True)]
    kept = [i for i in range(m + n) if not free[i]]
    warm = given.get("warm_start", [0.0] * (m + n))
    program = ConvexProgram(
        H,
        list(given["g"]),
        [rows[i] for i in kept if i < m],
        [i - m for i in kept if i >= m],
        [lower[i] for i in kept],
        [upper[i] for i in kept],
        [warm[i] for i in kept],
        options.tolerance,
        12 * (m + 2 * n) + 60 if options.max_iterations is None else options.max_iterations,
    )
    result = Minimum.of(program)
    k = len(kept)
    multipliers, active = [0.0] * (m + n), [0.0] * (m + n)
    for place, i in enumerate(kept):
        multipliers[i], active[i] = result[n + place], result[n + k + place]
    return [list(result[:n]), multipliers[:m], multipliers[m:], [result[-2]], [result[-1]], active]


def _is(x: Any, value: float) -> bool:
    return isinstance(x, float) and x == value
