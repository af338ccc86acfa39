"""Convex quadratic programs over any scalar.

docs/algorithms/quadratic_program.md has the equations and the choices.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..linalg.arrays import array_of
from ..arrays import over_samples
from .proximal import Given, solution

__all__ = ["QuadraticSolution", "quadratic_program"]


class QuadraticSolution(NamedTuple):
    """x (..., n), and how it was found.

    ``multipliers`` (..., m) of the rows and ``bound_multipliers`` (..., n) of the bounds satisfy
    H x + g + Aᵀ multipliers + bound_multipliers = 0; they are positive at an upper bound, negative at a lower one, and
    0 where neither is reached.  ``active`` (..., m + n), rows first, is 1 where an upper bound holds x, −1 where a
    lower one does, and else 0.  ``iterations`` counts how often that changed.

    ``status`` is 0, solved; 1, out of iterations; 2, something is not a number; 3, infeasible: the multipliers prove
    it, since Aᵀ multipliers + bound_multipliers = 0, but Σ multiplier·bound < 0 over all rows and bounds; 4, unbounded:
    x is a direction along which the objective falls for ever; 5, H is not positive semidefinite.
    """

    x: Any
    multipliers: Any
    bound_multipliers: Any
    status: Any
    iterations: Any
    active: Any


def quadratic_program(
    H: Any,
    g: Any,
    A: Any = None,
    lower: Any = None,
    upper: Any = None,
    *,
    x_lower: Any = None,
    x_upper: Any = None,
    definite: bool = False,
    warm_start: Any = None,
    tolerance: float = 1e-9,
    at_most: int | None = None,
) -> QuadraticSolution:
    """The x where ½ xᵀHx + gᵀx is least, with lower ≤ A x ≤ upper and x_lower ≤ x ≤ x_upper.

    H (..., n, n) is symmetric and positive semidefinite, and may be zero; its lower triangle is read.  Bounds that are
    left out, or infinite, are none; where both are equal, they are an equation.  ``definite`` says that H is positive
    definite, which saves about half.  ``warm_start`` is the ``active`` of a solution that may be near.  A row is kept
    within ``tolerance``, relative to its largest coefficient and its bound; ``at_most`` bounds the number of pivots.
    """
    arrays, ranks, names = [], [], []

    def take(name: str, value: Any, rank: int) -> None:
        if value is not None:
            arrays.append(array_of("quadratic_program", name, value))
            ranks.append(rank)
            names.append(name)

    for name, value, rank in (
        ("H", H, 2), ("g", g, 1), ("A", A, 2), ("lower", lower, 1), ("upper", upper, 1),
        ("x_lower", x_lower, 1), ("x_upper", x_upper, 1), ("warm_start", warm_start, 1),
    ):  # fmt: skip
        take(name, value, rank)
    n = arrays[1].shape[-1]
    m = 0 if A is None else arrays[names.index("A")].shape[-2]
    most = 10 * (m + 2 * n) + 50 if at_most is None else at_most

    def solved(*elements: Any) -> list[list[Any]]:
        given = dict(zip(names, elements, strict=True))
        return _solved(n, m, given, definite, tolerance, most)

    shapes = [(n,), (m,), (n,), (), (), (m + n,)]
    return QuadraticSolution(*over_samples(solved, arrays, ranks, shapes))


def _solved(n: int, m: int, given: dict[str, Any], definite: bool, tolerance: float, at_most: int) -> list[list[Any]]:
    H = [[given["H"][max(i, j) * n + min(i, j)] for j in range(n)] for i in range(n)]
    A = [given["A"][i * n : (i + 1) * n] for i in range(m)] if m else []
    below = given.get("lower", [-math.inf] * m)
    above = given.get("upper", [math.inf] * m)
    x_below = given.get("x_lower", [-math.inf] * n)
    x_above = given.get("x_upper", [math.inf] * n)
    bounded = [j for j in range(n) if not (_is(x_below[j], -math.inf) and _is(x_above[j], math.inf))]
    kept = [i for i in range(m) if not (_is(below[i], -math.inf) and _is(above[i], math.inf))]
    warm = given.get("warm_start", [0.0] * (m + n))
    warm = [warm[i] for i in (*kept, *(m + j for j in bounded))]
    found = solution(
        Given(
            H,
            list(given["g"]),
            [A[i] for i in kept],
            bounded,
            [*(below[i] for i in kept), *(x_below[j] for j in bounded)],
            [*(above[i] for i in kept), *(x_above[j] for j in bounded)],
            warm,
            definite,
            tolerance,
            at_most,
        )
    )
    multipliers, active = [0.0] * (m + n), [0.0] * (m + n)
    for place, i in enumerate((*kept, *(m + j for j in bounded))):
        multipliers[i], active[i] = found.multipliers[place], found.sides[place]
    return [found.x, multipliers[:m], multipliers[m:], [found.status], [found.iterations], active]


def _is(x: Any, value: float) -> bool:
    return isinstance(x, float) and x == value
