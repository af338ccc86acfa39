"""Scaled convex quadratic programs: each row has unit length in the metric of the inverse Hessian.

With H = L Lᵀ and y_i = L⁻¹ c_i / σ_i, σ_i = |L⁻¹ c_i|, the matrix of the dual program is Y Yᵀ, and its diagonal is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.control import scan
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.sparse_dot import dot, is_zero, rows_of, subtract_dot, transposed
from linkwork.expr.scalar.float_limits import FloatLimits
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, sqrt, where

__all__ = ["ProgramFactors", "are_loops_better", "factor_program"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_MIN_PIVOT = 1e3  # in machine epsilons, relative to the diagonal: a smaller pivot is a rounding error
_ADDED = 1e-3  # replaces such a pivot, relative to the diagonal
_BLOCK, _PARTS = 4, 3  # rows multiplied together; parts of rows, each multiplied by itself and those before
_UNROLLED = 2000  # products; more are a loop over rows, which compiles faster


@dataclass(frozen=True, slots=True)
class ProgramFactors:
    """Cholesky factor L of H + E, and the rows c_i of a program scaled with it.

    ``D_inv`` are the reciprocals of L's diagonal, and ``E`` is the diagonal that is added to H.  ``Y`` has the rows
    L⁻¹ c_i / σ_i of unit length, and ``scales`` are 1/σ_i.
    """

    n: int
    L: list[list[Any]]
    D_inv: list[Any]
    E: list[Any]
    convex: Any  # a truth value
    columns: list[list[Any]]  # of L⁻¹, scaled to unit length, if loops are better than substitution
    lengths: list[Any]
    Y: list[list[Any]]
    scales: list[Any]
    sizes: list[Any]  # largest coefficients of the rows
    in_loops: bool

    def forward(self, b: Scalars) -> list[Any]:
        """Return L⁻¹ b for the Cholesky factor L of H + E, by forward substitution."""
        if self.columns:
            return self.of_columns(self.columns, [x * size for x, size in zip(b, self.lengths, strict=True)])
        return _forward(self.L, self.D_inv, b)

    def backward(self, b: Scalars) -> list[Any]:
        """Return L⁻ᵀ b for the Cholesky factor L of H + E, by back substitution."""
        if self.columns:
            result = self.of_rows(self.columns, b)
            return [x * size for x, size in zip(result, self.lengths, strict=True)]
        x = list(b)
        for i in range(self.n - 1, -1, -1):
            x[i] = subtract_dot(x[i], [self.L[j][i] for j in range(i + 1, self.n)], x[i + 1 :]) * self.D_inv[i]
        return x

    def of_rows(self, rows: Rows, x: Scalars) -> list[Any]:
        """Return the product of a matrix, a list of rows, and the vector x."""
        result = map_rows(lambda row: [dot(row, x)], rows, in_loops=self.in_loops)
        return [value for (value,) in result]

    def of_columns(self, rows: Rows, weights: Scalars) -> list[Any]:
        """Return the sum of ``rows``, each multiplied by its weight."""
        if not self.in_loops or len(rows) < 2:
            return [dot([row[j] for row in rows], weights) for j in range(self.n)]

        def step(total: Any, value: Any) -> tuple[Any, None]:
            row, weight = value[:-1], value[-1]
            return object_array((self.n,), [t + weight * x for t, x in zip(total, row, strict=True)]), None

        table = np.array([[*row, weight] for row, weight in zip(rows, weights, strict=True)], dtype=object)
        return list(scan(step, object_array((self.n,), [0.0] * self.n), table)[0])

    def gram(self) -> list[list[Any]]:
        """Return the lower triangle of Y Yᵀ, row by row; the diagonal is 1, or 0 for zero rows."""
        k = len(self.Y)
        if not self.in_loops:
            return [[dot(first, second) for second in self.Y[: i + 1]] for i, first in enumerate(self.Y)]
        result: list[list[Any]] = []
        part = max(_BLOCK, -(-k // _PARTS // _BLOCK) * _BLOCK)
        for start in range(0, k, part):
            stop = min(start + part, k)
            ends = [(i, min(i + _BLOCK, stop)) for i in range(start, stop, _BLOCK)]
            blocks = [[x for row in self.Y[i:j] for x in row] for i, j in ends]
            blocks[-1] += [0.0] * (len(blocks[0]) - len(blocks[-1]))

            def products(elements: Scalars, stop: int = stop) -> list[Any]:
                block = rows_of(elements, self.n, len(elements) // self.n)
                columns = map_rows(lambda y: [dot(row, y) for row in block], self.Y[:stop], in_loops=True, alike=True)
                return [x for row in transposed(columns) for x in row]

            for values in map_rows(products, blocks, in_loops=True, alike=True):
                result += rows_of(values, stop, len(values) // stop)
            del result[stop:]
        return [row[: i + 1] for i, row in enumerate(result)]


def are_loops_better(n: int, k: int) -> bool:
    """Return True if a program of n variables and k rows needs so many products that loops over rows are better."""
    return max(k, n) * n * (n + k) > 2 * _UNROLLED


def factor_program(H: Rows, g: Scalars, rows: Rows, bounded: Sequence[int], limits: FloatLimits) -> ProgramFactors:
    """Factor H + E and scale the rows, including the unit rows of bounded variables.

    ``limits`` are the limits of the float type.
    """
    n, k = len(H), len(rows) + len(bounded)
    in_loops = are_loops_better(n, k)
    L, D_inv, E, convex = _cholesky(H, g, limits)

    def scaled(row: Scalars) -> list[Any]:
        y = _forward(L, D_inv, row)
        square = dot(y, y)
        is_nonzero = lt(0.0, square)
        length = where(is_nonzero, sqrt(where(is_nonzero, square, 1.0)), 1.0)
        scale = 1.0 / length
        size: Any = 0.0
        for x in row:
            size = size if is_zero(x) else fmax(size, fabs(x))
        return [*(x if is_zero(x) else x * scale for x in y), scale, size, length]

    result = map_rows(scaled, rows, in_loops=in_loops)
    of_units: list[list[Any]] = []
    if in_loops and n * n > _UNROLLED:
        _, table = scan(lambda state, row: (state, object_array((n + 3,), scaled(list(row)))), (), np.eye(n))
        of_units = [list(row) for row in table]
        result += [of_units[j] for j in bounded]
    else:
        units = [np.eye(n)[j].tolist() for j in bounded]
        result += map_rows(scaled, units, in_loops=in_loops, alike=True)
    return ProgramFactors(
        n,
        L,
        D_inv,
        E,
        convex,
        [row[:n] for row in of_units],
        [row[n + 2] for row in of_units],
        [row[:n] for row in result],
        [row[n] for row in result],
        [row[n + 1] for row in result],
        in_loops,
    )


def _cholesky(H: Rows, g: Scalars, limits: FloatLimits) -> tuple[list[list[Any]], list[Any], list[Any], Any]:
    """Return the Cholesky factor L of H + E, the reciprocals of its diagonal, E, and True if H is convex.

    L is returned below its diagonal. E is a diagonal matrix, and 0 for pivots that exceed rounding. So H + E is
    positive definite if H is positive semidefinite. The last result is True unless a pivot is negative by more than
    rounding.
    """
    n, unit = len(H), limits.epsilon
    largest: Any = 0.0
    slope: Any = 0.0
    for i in range(n):
        largest, slope = fmax(largest, H[i][i]), fmax(slope, fabs(g[i]))
    is_zero_matrix = le(largest, 0.0)
    added = where(is_zero_matrix, 1e-5 * where(lt(0.0, slope), slope, 1.0), _ADDED * largest)
    L: list[list[Any]] = []
    D_inv: list[Any] = []
    E: list[Any] = []
    convex: Any = True
    growth: Any = 1.0  # of rounding errors by small pivots
    for i in range(n):
        row: list[Any] = []
        for j in range(i):
            row.append(subtract_dot(H[i][j], row, L[j][:j]) * D_inv[j])
        pivot = subtract_dot(H[i][i], row, row)
        size = fabs(H[i][i])
        is_regular = lt(_MIN_PIVOT * unit * growth * size, pivot)
        missing = le(size, _MIN_PIVOT * unit * largest)
        E.append(where(is_regular, 0.0, where(missing, added, _ADDED * size)))
        convex = and_(convex, le(-limits.flat * size, pivot))
        D_inv.append(1.0 / sqrt(where(is_regular, pivot, E[i])))
        growth = growth + where(is_regular, sqrt(size) * D_inv[i], 0.0)
        L.append(row)
    return L, D_inv, E, convex


def _forward(L: Rows, D_inv: Scalars, b: Scalars) -> list[Any]:
    x: list[Any] = []
    for i, value in enumerate(b):
        x.append(subtract_dot(value, L[i], x) * D_inv[i])
    return x
