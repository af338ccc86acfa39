"""Least squares with and without damping, over any scalar.

Solutions are differentiated with their existing factors.  x minimises ‖A x − b‖² + λ² ‖x‖²: with N = AᵀA + λ² 1, N x =
Aᵀb; with K = AAᵀ + λ² 1, equivalently x = Aᵀy with K y = b.  The smaller of the two is factored.  With r = b − A x, g =
N⁻¹x̄ and μ = K⁻¹A x̄:

    tall: dx = N⁻¹(dAᵀr + Aᵀ(db − dA x) − 2λ dλ x),    b̄ = A g, Ā = r gᵀ − b̄ xᵀ, λ̄ = −2λ g·x
    wide: dy = K⁻¹(db − dA x − A dAᵀy − 2λ dλ y), dx = dAᵀy + Aᵀdy,    b̄ = μ, Ā = y (x̄ − Aᵀμ)ᵀ − μ xᵀ, λ̄ = −2λ μ·y
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.linalg.array_conversion import Computed, array_of, matrix, right_side, run_on_arrays
from linkwork.expr.linalg.factorizations import METHODS, Triangular
from linkwork.expr.linalg.householder_qr import Reflections, upper_factor
from linkwork.expr.linalg.sparse_dot import dot, rows_of, subtract_dot, transposed
from linkwork.expr.linalg.triangular_factors import Pivots

__all__ = ["lstsq"]


@public
def lstsq(A: Any, b: Any, *, damping: Any = 0.0, status: bool = False) -> Any:
    """Return the x that minimises ‖A x − b‖² + damping² ‖x‖².

    Without damping and with fewer rows than columns, the result is the shortest x with A x = b.

    A has the shape (..., m, n), b (..., m) or (..., m, k), as for `solve`.  ``damping`` is a number, or one for each
    sample.  Unless ``damping`` is the constant 0, the smaller of AᵀA + damping² 1 and AAᵀ + damping² 1 is factored, by
    LᵀDL.  If it is the constant 0, A or Aᵀ is factored by QR and must have full rank; otherwise use `pinv`.

    With ``status`` the result is (x, status): 0, or one more than the index of the first failed pivot.  Without
    ``status``, a failed pivot raises SingularMatrixError for floats.
    """
    matrices = matrix("lstsq", "A", A)
    m, n = matrices.shape[-2:]
    columns, vector = right_side("lstsq", matrices, b, m)
    k = columns.shape[-1]
    damped = not (isinstance(damping, (int, float)) and damping == 0.0)
    damping = array_of("lstsq", "damping", np.asarray(damping))

    def compute(rows: list[list[Any]], right: list[list[Any]], factor: Any, with_status: bool) -> Computed:
        inputs = [*(x for row in rows for x in row), *(x for row in right for x in row), factor]
        result = apply_rule(LeastSquares(m, n, k, damped, with_status), inputs)
        return [result[: n * k]], result[-1] if with_status else 0.0

    shape = (n,) if vector else (n, k)
    result = run_on_arrays(
        "lstsq", compute, [(matrices, 2), (columns, 2), (damping, 0)], [shape], status, positive=damped
    )
    return result if status else result[0]


@dataclass(frozen=True, slots=True)
class LeastSquares(CustomDerivative):
    """Rule for the least-squares solution x of A x = b with damping.

    The inputs are the elements of A and b, row by row, and the damping.  The results are the elements of x.
    """

    m: int
    n: int
    k: int
    damped: bool
    with_status: bool
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        a, right, damping = self._split(inputs)
        pivots = Pivots("lstsq", positive=self.damped, with_status=self.with_status)
        b = self._by_rows(right)
        x, y, factors = self._damped(a, b, damping, pivots) if self.damped else self._by_qr(a, b, pivots)
        results = [column[i] for i in range(self.n) for column in x]
        return [*results, pivots.status] if self.with_status else results, [
            *(value for c in y for value in c),
            *factors,
        ]

    def _damped(
        self, a: list[list[Any]], b: list[list[Any]], damping: Any, pivots: Pivots
    ) -> tuple[list[list[Any]], list[list[Any]], list[Any]]:
        columns = self._by_columns(a)
        sides = columns if self._tall else a
        gram = [[dot(first, second) for second in sides[: i + 1]] for i, first in enumerate(sides)]
        for i, row in enumerate(gram):
            row[i] = row[i] + damping * damping
            row += [0.0] * (len(sides) - i - 1)
        factors = METHODS["pos"].factors(gram, pivots)
        if self._tall:
            return [self._gram_solved(factors, [dot(c, column) for c in columns]) for column in b], [], factors
        y = [self._gram_solved(factors, column) for column in b]
        return [[dot(c, column) for c in columns] for column in y], y, factors

    def _by_qr(
        self, a: list[list[Any]], b: list[list[Any]], pivots: Pivots
    ) -> tuple[list[list[Any]], list[list[Any]], list[Any]]:
        size = min(self.m, self.n)
        rows = a if self._tall else self._by_columns(a)
        reflections = Reflections(rows, size)
        factors = _UPPER.factors(upper_factor(rows, size), pivots)  # of a rule, for derivatives of derivatives
        if self._tall:
            return [_UPPER.solved(factors, reflections.apply_transpose(column)[:size]) for column in b], [], factors
        halves = [_UPPER.solved_transposed(factors, column) for column in b]
        return [reflections.apply(h) for h in halves], [_UPPER.solved(factors, h) for h in halves], factors

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        a, right, damping = self._split(inputs)
        da, moved_right, moved_damping = self._split(direction)
        columns, moved = self._by_columns(a), self._by_columns(da)
        stretch = 2.0 * damping * moved_damping
        result = []
        for x, b, db, y in zip(
            self._x(results), self._by_rows(right), self._by_rows(moved_right), self._y(extra), strict=True
        ):
            lacking = [subtract_dot(change, row, x) for change, row in zip(db, da, strict=True)]  # db − dA x
            if self._tall:
                left = [subtract_dot(value, row, x) for value, row in zip(b, a, strict=True)]
                side = [dot(dc, left) + dot(c, lacking) for dc, c in zip(moved, columns, strict=True)]
                result.append(
                    self._gram_solved(self._factors(extra), [s - stretch * z for s, z in zip(side, x, strict=True)])
                )
                continue
            turned = [dot(dc, y) for dc in moved]  # dAᵀy
            side = [subtract_dot(c, row, turned) - stretch * z for c, row, z in zip(lacking, a, y, strict=True)]
            dy = self._gram_solved(self._factors(extra), side)
            result.append([t + dot(c, dy) for t, c in zip(turned, columns, strict=True)])
        return [*(column[i] for i in range(self.n) for column in result), *[0.0] * self.with_status]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        a, right, damping = self._split(inputs)
        columns = self._by_columns(a)
        pulled: list[list[Any]] = [[0.0] * self.n for _ in range(self.m)]
        pulled_b, pulled_damping = [], 0.0
        for x, weight, b, y in zip(
            self._x(results), self._x(weights), self._by_rows(right), self._y(extra), strict=True
        ):
            if self._tall:
                g = self._gram_solved(self._factors(extra), weight)
                mu = [dot(row, g) for row in a]
                residual = [subtract_dot(value, row, x) for value, row in zip(b, a, strict=True)]
                adjoint, share = g, dot(g, x)
            else:
                mu = self._gram_solved(self._factors(extra), [dot(row, weight) for row in a])
                residual, adjoint = y, [subtract_dot(w, c, mu) for w, c in zip(weight, columns, strict=True)]
                share = dot(mu, y)
            for i, row in enumerate(pulled):
                for j in range(self.n):
                    row[j] = subtract_dot(row[j] + residual[i] * adjoint[j], (mu[i],), (x[j],))
            pulled_b.append(mu)
            pulled_damping = subtract_dot(pulled_damping, (2.0 * damping,), (share,))
        flat_b = [column[i] for i in range(self.m) for column in pulled_b]
        return [*(value for row in pulled for value in row), *flat_b, pulled_damping]

    @property
    def _tall(self) -> bool:
        return self.m >= self.n

    def _gram_solved(self, factors: Sequence[Any], column: Sequence[Any]) -> list[Any]:
        """Return (AᵀA + damping² 1)⁻¹ · column, or (AAᵀ + damping² 1)⁻¹ · column if A has fewer rows than columns."""
        if self.damped:
            return METHODS["pos"].solved(factors, column)
        return _UPPER.solved(factors, _UPPER.solved_transposed(factors, column))

    def _split(self, values: Sequence[Any]) -> tuple[list[list[Any]], list[list[Any]], Any]:
        """Return the rows of A, the rows of b and the damping from the rule's inputs, or from their derivatives."""
        count = self.m * self.n
        return rows_of(values, self.n, self.m), rows_of(values[count:], self.k, self.m), values[-1]

    def _by_columns(self, a: list[list[Any]]) -> list[list[Any]]:
        return transposed(a) if a else [[] for _ in range(self.n)]

    def _by_rows(self, right: list[list[Any]]) -> list[list[Any]]:
        return transposed(right) if right else [[] for _ in range(self.k)]

    def _x(self, results: Sequence[Any]) -> list[list[Any]]:
        return [[results[i * self.k + c] for i in range(self.n)] for c in range(self.k)]

    def _y(self, extra: Sequence[Any]) -> list[list[Any]]:
        size = 0 if self._tall else self.m
        return [list(extra[c * size : (c + 1) * size]) for c in range(self.k)]

    def _factors(self, extra: Sequence[Any]) -> Sequence[Any]:
        return extra[0 if self._tall else self.m * self.k :]


_UPPER = Triangular(lower=False)
