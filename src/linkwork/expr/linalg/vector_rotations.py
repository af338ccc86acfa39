"""Rotations of eigenvectors and singular vectors, from which derivatives of decompositions follow.

Vectors of equal values are an arbitrary basis of their space.  Here a derivative leaves out rotations within such a
space.  The basis of the space remains orthonormal, but no longer diagonalises the matrix: the diagonalised matrix has a
derivative with nonzero elements between equal values.  Derivatives of the rotations use these elements.  Thus
derivatives of a simple value and of its vector, and derivatives of sums over a whole group of equal values, are valid
to any order.

Values that differ by rounding count as equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative import ImplicitDerivative, Solution, apply_rule
from linkwork.expr.linalg.factorizations import METHODS
from linkwork.expr.linalg.sparse_dot import (
    Matrix,
    add_matrices,
    flat,
    gather_elements,
    is_zero,
    negated,
    product,
    reciprocal_or_zero,
    rows_of,
    select,
    transposed,
)
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax

__all__ = ["EigenRotation", "SingularRotation", "congruence", "gap_inverse", "pulled_back"]

_SYMMETRIC = METHODS["sym"]
Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class EigenRotation(ImplicitDerivative):
    """Derivative rule for the solution Ω of Ω W − W Ω = M, from which derivatives of eigenvectors follow.

    W = VᵀAV, with the eigenvectors V of A, is diagonal; Ω is 0 between equal eigenvalues. The inputs are M, V, the
    eigenvalues, and A's lower triangle; the results are the elements of Ω.
    """

    n: int

    def depends(self, result: int) -> bool:
        return result % (self.n + 1) > 0  # elements beside the diagonal, by rotations within the space of equal values

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        moved, _, values = self._split(inputs)
        size = _largest(values)
        return [
            0.0 if i == j or is_zero(x) else x * gap_inverse(values[j] - values[i], size)
            for i, row in enumerate(moved)
            for j, x in enumerate(row)
        ], ()

    @property
    def size(self) -> int:
        return self.n * self.n

    def residual_jvp(self, at: Solution, direction: Sequence[Any]) -> Sequence[Any]:
        omega = rows_of(at.results, self.n)
        change, _, moved_values = self._split(direction)
        _, v, values = self._split(at.inputs)
        dW = self._within(values, congruence(v, direction[-len(_SYMMETRIC.reads(self.n)) :]), moved_values)
        commuted = add_matrices(product(dW, omega), negated(product(omega, dW)))
        return [x for row in add_matrices(change, commuted) for x in row]

    def residual_vjp(self, at: Solution, multipliers: Sequence[Any]) -> Sequence[Any]:
        omega, weights = transposed(rows_of(at.results, self.n)), rows_of(multipliers, self.n)
        _, v, values = self._split(at.inputs)
        by_W = add_matrices(product(weights, omega), negated(product(omega, weights)))
        of_A = pulled_back(v, self._within(values, by_W, [0.0] * self.n))
        return [*multipliers, *[0.0] * self.size, *(by_W[i][i] for i in range(self.n)), *of_A]

    def solve_jacobian(self, at: Solution, right: Sequence[Any], transpose: bool) -> Sequence[Any]:
        return apply_rule(self, [*right, *at.inputs[self.size :]])

    def _split(self, inputs: Sequence[Any]) -> tuple[list[list[Any]], list[list[Any]], Sequence[Any]]:
        return rows_of(inputs, self.n), rows_of(inputs[self.size :], self.n), inputs[2 * self.size :][: self.n]

    def _within(self, values: Sequence[Any], rows: list[list[Any]], diagonal: Sequence[Any]) -> list[list[Any]]:
        """Return a copy of a matrix with other elements on the diagonal, and with 0 between different eigenvalues."""
        size = _largest(values)
        return [
            [
                diagonal[i] if i == j else select(is_rounding(values[j] - values[i], size), x, 0.0)
                for j, x in enumerate(row)
            ]
            for i, row in enumerate(rows)
        ]


def _largest(values: Sequence[Any]) -> Any:
    """Return the largest magnitude of values in ascending order: that of the first or the last value."""
    return fmax(fabs(values[0]), fabs(values[-1])) if values else 0.0


def congruence(v: list[list[Any]], lower: Sequence[Any]) -> list[list[Any]]:
    """Return VᵀMV for a symmetric matrix M with this lower triangle."""
    return product(product(transposed(v), _SYMMETRIC.matrix(lower, len(v))), v)


def pulled_back(v: list[list[Any]], weights: list[list[Any]]) -> list[Any]:
    """Return the gradient of Σ weights·(VᵀMV) with respect to the lower triangle of M."""
    return gather_elements(product(product(v, weights), transposed(v)), _SYMMETRIC.reads(len(v)), symmetric=True)


@dataclass(frozen=True, slots=True)
class SingularRotation(ImplicitDerivative):
    """Derivative rule for the solution Ω, Ψ, N of Ω S − S Ψ = R, N S = K, for derivatives of singular vectors.

    S = UᵀAV is the diagonal matrix of singular values of an m × n matrix A with n <= m. Ω and Ψ are skew, and between
    equal singular values Ψ = −Ω. The inputs are R and K, U, V, the singular values, and A; the results are the elements
    of Ω, Ψ and N. If m = n, there are no K and N. With ``adjoint`` the rule solves the transposed equations: from
    weights of Ω, Ψ and N it computes the weights of R and K.
    """

    m: int
    n: int
    adjoint: bool = False

    def depends(self, result: int) -> bool:
        square = self.n * self.n
        return result >= (1 + (not self.adjoint)) * square or result % square % (self.n + 1) > 0

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        n, (*right, _, _, (s,), _) = self.n, self._inputs(inputs)
        even = [[0.0 if i == j else 0.5 * gap_inverse(s[j] - s[i], s[0]) for j in range(n)] for i in range(n)]
        odd = [[0.0 if i == j else 0.5 * gap_inverse(s[j] + s[i], s[0]) for j in range(n)] for i in range(n)]
        if self.adjoint:
            a, b = _skew(right[0]), _skew(right[1])
            result = [add_matrices(_times(even, add_matrices(a, b)), _times(odd, add_matrices(a, negated(b))))]
        else:
            a, b = _times(even, add_matrices(right[0], transposed(right[0]))), _times(odd, _skew(right[0]))
            result = [add_matrices(a, b), add_matrices(a, negated(b))]
        if self.n < self.m:
            result.append(_times(right[-1], [[gap_inverse(x, s[0]) for x in s]] * self.m))
        return flat(*result), ()

    @property
    def size(self) -> int:
        return sum(rows * columns for rows, columns in self._shapes(not self.adjoint))

    def residual_jvp(self, at: Solution, direction: Scalars) -> Scalars:
        (*_, u, v, (s,), _), (*change, _, _, (ds,), dA) = self._inputs(at.inputs), self._inputs(direction)
        right = product(dA, v)
        inside = product(transposed(u), right)
        E = _within(s, inside, ds)
        L = self._beside(u, s, right)
        x = _matrices(at.results, self._shapes(not self.adjoint))
        if self.adjoint:
            Z, *J = x
            terms = [[negated(product(Z, transposed(E)))], [product(transposed(E), Z)], []]
            if J:
                terms[1].append(product(transposed(L), J[0]))
                terms[2] += [product(L, transposed(Z)), negated(product(J[0], transposed(E)))]
        else:
            omega, psi, *N = x
            terms = [[negated(product(omega, E)), product(E, psi)], []]
            if N:
                terms[0].append(product(transposed(N[0]), L))
                terms[1] += [negated(product(N[0], E)), product(L, psi)]
        return flat(*(add_matrices(M, *more) for M, more in zip(change, terms, strict=False)))

    def residual_vjp(self, at: Solution, multipliers: Scalars) -> Scalars:
        *_, u, v, (s,), _ = self._inputs(at.inputs)
        weights = _matrices(multipliers, self._shapes(self.adjoint))
        x = _matrices(at.results, self._shapes(not self.adjoint))
        (Z, *J), (omega, psi, *N) = (x, weights) if self.adjoint else (weights, x)
        by_E = add_matrices(negated(product(transposed(omega), Z)), product(Z, transposed(psi)))
        pulled = product(u, _within(s, by_E, [0.0] * self.n))
        if N:
            by_E = add_matrices(by_E, negated(product(transposed(N[0]), J[0])))
            by_L = add_matrices(product(N[0], Z), product(J[0], transposed(psi)))
            pulled = add_matrices(product(u, _within(s, by_E, [0.0] * self.n)), self._beside(u, s, by_L))
        by_s = [by_E[i][i] for i in range(self.n)]
        return [*multipliers, *[0.0] * ((self.m + self.n) * self.n), *by_s, *flat(product(pulled, transposed(v)))]

    def solve_jacobian(self, at: Solution, right: Scalars, transpose: bool) -> Scalars:
        rule = SingularRotation(self.m, self.n, self.adjoint != transpose)
        return apply_rule(rule, [*right, *at.inputs[-self._others :]])

    @property
    def _others(self) -> int:
        """Number of inputs of the rule after R and K: the elements of U, V, the singular values and A."""
        return self.n * (2 * self.m + self.n + 1)

    def _shapes(self, pair: bool) -> list[tuple[int, int]]:
        """Return the shapes of R and K with ``pair``, else of Ω, Ψ and N."""
        return [*[(self.n, self.n)] * (1 + pair), *[(self.m, self.n)] * (self.n < self.m)]

    def _inputs(self, values: Scalars) -> list[Matrix]:
        m, n = self.m, self.n
        return _matrices(values, [*self._shapes(self.adjoint), (m, n), (n, n), (1, n), (m, n)])

    def _beside(self, u: Matrix, s: Scalars, rows: Matrix) -> Matrix:
        """Return (1 − U Uᵀ) M in the columns of M at singular values of zero, and 0 in the other columns."""
        if self.n == self.m:
            return []
        are_zero = [is_rounding(x, s[0]) for x in s]
        remainder = add_matrices(rows, negated(product(u, product(transposed(u), rows))))
        return [[select(zero, x, 0.0) for zero, x in zip(are_zero, row, strict=True)] for row in remainder]


def _within(s: Scalars, rows: Matrix, diagonal: Scalars) -> Matrix:
    """Return a matrix with only its elements between equal singular values, and with another diagonal.

    Between values that are not zero, the matrix is made symmetric.
    """
    are_zero = [is_rounding(x, s[0]) for x in s]

    def element(i: int, j: int) -> Any:
        mean = select(is_rounding(s[j] - s[i], s[0]), 0.5 * (rows[i][j] + rows[j][i]), 0.0)
        return diagonal[i] if i == j else select(and_(are_zero[i], are_zero[j]), rows[i][j], mean)

    return [[element(i, j) for j in range(len(s))] for i in range(len(s))]


def _matrices(values: Scalars, shapes: Sequence[tuple[int, int]]) -> list[Matrix]:
    """Return consecutive values as matrices of these shapes."""
    result, start = [], 0
    for rows, columns in shapes:
        result.append(rows_of(values[start : start + rows * columns], columns, rows))
        start += rows * columns
    return result


def _skew(rows: Matrix) -> Matrix:
    """Return M − Mᵀ for a square matrix M, a list of rows."""
    return add_matrices(rows, negated(transposed(rows)))


def _times(left: Matrix, right: Matrix) -> Matrix:
    """Return the product of two matrices, element by element."""
    return [[x * y for x, y in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


_ROUNDING = 2.0**-8  # factor of a gap that is rounding if the product vanishes beside the largest value


def gap_inverse(x: Any, scale: Any) -> Any:
    """Return 1/x, or 0 if x is zero up to rounding errors of values of magnitude ``scale``.

    Equal eigenvalues do not contribute to each other's derivatives.
    """
    return 0.0 if is_zero(x) else reciprocal_or_zero(x, is_rounding(x, scale))


def is_rounding(x: Any, scale: Any) -> Any:
    """Return the condition that x is zero up to rounding errors of values of magnitude ``scale``."""
    return eq(scale + _ROUNDING * x, scale)
