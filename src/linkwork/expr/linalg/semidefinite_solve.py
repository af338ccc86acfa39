"""Sparse symmetric positive semidefinite equations by the proximal point algorithm, over any scalar.

For consistent equations with dependent rows, the result is the solution of least norm.

A small diagonal, A + E with E = μ diag(A) + floor, makes the matrix regular; the iteration

    x ← x + (A + E)⁻¹ (b − A x)

from zero converges to the solution of least xᵀE x in few steps, since k steps reduce the error in the eigenvector of a
relative eigenvalue σ by the factor (μ/(μ + σ))ᵏ.  No digits are lost if A is singular: the errors that (A + E)⁻¹
magnifies are in A's null space.  After a step d the residual of b is E d, so no product with A is needed.  In float32 μ
is as small as rounding errors, so functions that use this solver are computed in float64.

Sources: Rockafellar, Monotone operators and the proximal point algorithm, SIAM J. Control Optim. 14 (5), 1976;
Carpentier, Budhiraja and Mansard, Proximal and sparse resolution of constrained dynamic equations, RSS 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from linkwork.expr.control.loops import scan
from linkwork.expr.linalg.sparse_dot import is_zero, mirrored, reciprocal_or_zero
from linkwork.expr.linalg.sparse_factors import SparseFactorization, SparseFactors, column_pattern
from linkwork.expr.scalar.functions import eq
from linkwork.expr.scalar.precision import require_float64
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["MORE", "Semidefinite"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MORE = 1e-9  # μ
STEPS = 3
_FEW = 60  # elements of L below the diagonal from which on steps may be a loop
_MANY = 12_000  # products from which on a factorization in a trace is one instruction; with fewer it is no faster


@dataclass(frozen=True, slots=True)
class Semidefinite:
    """Symmetric positive semidefinite matrix A with the factors L D Lᵀ of A + E, where E is a small diagonal.

    An unknown whose row of A is zero has the solution zero.
    """

    A: list[list[Any]]
    E: list[Any]  # on the diagonal
    order: list[int]  # elimination order of the rows
    L: list[dict[int, Any]]  # below the diagonal, by column: row -> element, indexed by elimination order
    D_inv: list[Any]
    large: SparseFactors | None = None  # instead of L, of a matrix with many products

    @staticmethod
    def of(A: Rows, floor: Scalars | None = None, more: Any = MORE, order: Sequence[int] | None = None) -> Semidefinite:
        """Factor A + E, where E = more · diag(A) + diag(floor) is a diagonal that makes the matrix positive definite.

        A is passed as its lower triangle.  ``floor`` is zero by default.

        ``order`` is the elimination order, by default that of minimum degree.
        """
        require_float64(x for row in A for x in row)
        full = mirrored(A)
        order = _order(full) if order is None else list(order)
        E = [row[k] * more + (0.0 if floor is None else floor[k]) for k, row in enumerate(full)]
        sparse = _large_factors(full, E, order)
        if sparse is not None:
            return Semidefinite(full, E, order, [], sparse.D_inv, sparse)
        position = {row: k for k, row in enumerate(order)}
        left = [
            {position[j]: full[i][j] for j in order if position[j] <= position[i] and not is_zero(full[i][j])}
            for i in order
        ]
        for k, row in enumerate(order):
            left[k][k] = full[row][row] + E[row]
        below: list[dict[int, Any]] = []
        D_inv: list[Any] = []
        for k in range(len(order)):
            inverse = reciprocal_or_zero(left[k][k], eq(left[k][k], 0.0))
            column = {i: left[i][k] for i in range(k + 1, len(order)) if k in left[i]}
            L = {i: x * inverse for i, x in column.items()}
            for i, factor in L.items():
                for j, x in column.items():
                    if j <= i:
                        left[i][j] = left[i].get(j, 0.0) - factor * x
            below.append(L)
            D_inv.append(inverse)
        return Semidefinite(full, E, order, below, D_inv)

    def solved(self, b: Scalars, steps: int = STEPS, *, in_loop: bool = False, exact: Any = 1.0) -> list[Any]:
        """Return the x of A x = b after ``steps`` steps of the proximal point algorithm.

        With ``in_loop``, the steps on a large matrix become one loop in a trace: less code, with the same results.  The
        steps after the first are multiplied by ``exact``: if it is 0, the result is that of `once`.
        """
        if in_loop and sum(map(len, self.L)) >= _FEW and any(x.__class__ is Symbol for x in b):

            def again(state: tuple[Scalars, Scalars], _: Any) -> tuple[tuple[Scalars, Scalars], None]:
                step = self.once(state[0])
                return (tuple(self._left(step)), tuple(x + d for x, d in zip(state[1], step, strict=True))), None

            (_, total), _ = scan(again, (tuple(b), (0.0,) * len(b)), length=steps)
            return list(total)
        step = x = self.once(b)
        for _ in range(steps - 1):
            step = self.once(self._left(step))
            x = [a + exact * d for a, d in zip(x, step, strict=True)]
        return x

    def solved_nearly(self, b: Scalars, removals: int = 2, *, least: bool = False) -> list[Any]:
        """Return an approximate x of A x = P b in closed form; P removes the component of b outside the range of A.

        E = μ diag(A) is the small diagonal that makes A + E regular. With ρ = E (A + E)⁻¹, n = ``removals`` and c = n +
        1,

            x = (A + E)⁻¹ (1 + cρ + c(c + 1)/2 ρ²) (1 − ρ)ⁿ b

        with an error of the order ρ³. The factor (1 − ρ)ⁿ removes the component outside the range, which (A + E)⁻¹
        would magnify by 1/μ. Two removals also remove its rounding errors; a b in the range of A needs none. With
        ``least``, a term in ρ³ cancels the null-space component of x, as the method `least` does.
        """
        remainder, c = list(b), removals + 1
        for _ in range(removals):
            remainder = [y - r for y, r in zip(remainder, self._left(self.once(remainder)), strict=True)]
        step = x = self.once(remainder)
        factors = [c, c * (c + 1) // 2]
        for k in [*factors, -1 - sum(factors)] if least else factors:
            step = self.once(self._left(step))
            x = [y if is_zero(d) else y + d if k == 1 else y + float(k) * d for y, d in zip(x, step, strict=True)]
        return x

    def _left(self, step: Scalars) -> list[Any]:
        """Return E · step, the residual of A x = b after a step of the proximal point algorithm."""
        return [0.0 if is_zero(e) or is_zero(d) else e * d for e, d in zip(self.E, step, strict=True)]

    def least(self, x: Scalars, steps: int = 2) -> list[Any]:
        """Return x without its component in A's null space, where the rounding errors of a solution are magnified.

        (A + E)⁻¹ E preserves that component and nearly removes all other components; it is applied ``steps`` times.
        """
        remainder = list(x)
        for _ in range(steps):
            remainder = self.once(self._left(remainder))
        return [a - b for a, b in zip(x, remainder, strict=True)]

    def once(self, b: Scalars) -> list[Any]:
        """Return (A + E)⁻¹ b, a single step of the proximal point algorithm from zero."""
        if self.large is not None:
            return self.large.solved(b)
        return self.rest(self.half(b))

    def half(self, b: Scalars) -> list[Any]:
        """Return L⁻¹ b, the first half of a solve, with its elements in elimination order.

        For two vectors b and c with the halves h_b and h_c, bᵀ (A + E)⁻¹ c = h_bᵀ D⁻¹ h_c.
        """
        if self.large is not None:
            y = self.large.solved(b, backward=False)
            return [y[row] for row in self.order]
        y = [b[row] for row in self.order]
        for k, column in enumerate(self.L):
            for i, factor in column.items():
                y[i] = y[i] - factor * y[k]
        return y

    def rest(self, y: Scalars) -> list[Any]:
        """Return (A + E)⁻¹ b from y = L⁻¹ b, which `half` returns: the second half of a solve."""
        if self.large is not None:
            return self.large.solved(self._in_rows(y), forward=False)
        y = [a * d for a, d in zip(y, self.D_inv, strict=True)]
        for k in range(len(y) - 1, -1, -1):
            for i, factor in self.L[k].items():
                y[k] = y[k] - factor * y[i]
        return self._in_rows(y)

    def _in_rows(self, y: Scalars) -> list[Any]:
        """Return values in the order of A's rows, from values in elimination order."""
        result: list[Any] = [0.0] * len(self.E)
        for row, a in zip(self.order, y, strict=True):
            result[row] = a
        return result


def _large_factors(A: Rows, E: Scalars, order: Sequence[int]) -> SparseFactors | None:
    """Return the sparse factors of A + E, computed by one instruction of a trace.

    The result is None if the factorization has few products, or outside of a trace.
    """
    if len(order) < len(A) or not any(x.__class__ is Symbol for row in A for x in row):
        return None
    position = {row: k for k, row in enumerate(order)}
    columns = [[j for j in order if position[j] > k and not is_zero(A[j][i])] for k, i in enumerate(order)]
    starts, rows = column_pattern(order, columns)
    if sum(n * (n + 1) // 2 for n in (b - a for a, b in pairwise(starts))) < _MANY:
        return None
    factorization = SparseFactorization(tuple(order), starts, rows)
    diagonal = [row[k] + E[k] for k, row in enumerate(A)]
    below = [A[rows[e]][order[k]] for k, elements in factorization.columns() for e in elements]
    return SparseFactors(factorization, list(factorization([*diagonal, *below])))


def _order(A: Rows) -> list[int]:
    """Return the minimum degree ordering of the rows with a nonzero diagonal."""
    near = {i: {j for j, x in enumerate(row) if j != i and not is_zero(x)} for i, row in enumerate(A)}
    near = {i: neighbours for i, neighbours in near.items() if not is_zero(A[i][i])}
    result = []
    while near:
        i = min(near, key=lambda row: (len(near[row]), row))
        neighbours = near.pop(i)
        for j in neighbours:
            if j in near:
                near[j] = (near[j] | neighbours) - {i, j}
        result.append(i)
    return result
