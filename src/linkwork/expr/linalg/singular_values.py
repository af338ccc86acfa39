"""Singular values by one-sided Jacobi rotations after a QR, and the pseudoinverse.

A = Q R; rotations make the columns of Rᵀ orthogonal, Rᵀ V₁ = W, and after sorting, W = U₁ Σ is a QR, so that A = (Q V₁)
Σ U₁ᵀ with orthonormal factors for any rank.

Derivatives of the SVD, with P = Uᵀ dA V: dσ_i = P_ii, and with G_ij = ½/(σ_j − σ_i), H_ij = ½/(σ_i + σ_j) for i ≠ j,

    dU = U (G∘(P + Pᵀ) + H∘(P − Pᵀ)) + (1 − U Uᵀ) dA V Σ⁻¹,    dV = V (G∘(P + Pᵀ) − H∘(P − Pᵀ))

G is 0 for equal values, and H and Σ⁻¹ are 0 for zeros: see `vector_rotations`.

Derivative of the pseudoinverse P at constant rank: dP = −P dA P + P Pᵀ dAᵀ (1 − A P) + (1 − P A) dAᵀ Pᵀ P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.linalg.array_conversion import Computed, matrix, run_on_arrays
from linkwork.expr.linalg.householder_qr import Reflections
from linkwork.expr.linalg.jacobi_eigen import Matrices, rotate, rotation, sort, sweep_pairs
from linkwork.expr.linalg.sparse_dot import (
    Matrix,
    add_matrices,
    dot,
    flat,
    identity,
    negated,
    product,
    reciprocal_or_zero,
    rows_of,
    transposed,
)
from linkwork.expr.linalg.vector_rotations import SingularRotation
from linkwork.expr.scalar.functions import copysign, fabs, le
from linkwork.expr.scalar.precision import float_limits_of

__all__ = ["pinv", "svd", "svdvals"]


SWEEPS = (0, 0, 1, 5, 5, 6, 6, 7, 7, 8)
"""Number of sweeps down to rounding, by the number of columns; the last for all larger ones."""


class SVDResult(NamedTuple):
    """Result of `svd`."""

    U: Any
    S: Any
    Vh: Any


@public
def svd(A: Any) -> SVDResult:
    """Return U, s and Vᵀ of A = U diag(s) Vᵀ as numpy.linalg.svd with full_matrices=False; s descends.

    Signs are arbitrary, as in NumPy.  Derivatives are valid for simple nonzero singular values, and for sums over a
    whole group of equal values.  Singular vectors of equal values, or of zeros, are an arbitrary basis of their space;
    their derivatives leave out rotations within this space.
    """
    return SVDResult(*_decompose("svd", A, vectors=True))


@public
def svdvals(A: Any) -> Any:
    """Return the singular values of a matrix A, in descending order: see `svd`."""
    return _decompose("svdvals", A, vectors=False)[0]


def _decompose(caller: str, A: Any, vectors: bool) -> tuple[Any, ...]:
    matrices = matrix(caller, "A", A)
    m, n = matrices.shape[-2:]
    wide = m < n
    tall = matrices.swapaxes(-1, -2) if wide else matrices
    m, n = tall.shape[-2:]

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        result = apply_rule(Singular(m, n, vectors), [x for row in rows for x in row])
        s, u, vt = result[:n], result[n : n + m * n], result[n + m * n :]
        if not vectors:
            return [s], 0.0
        if wide:  # Aᵀ = U diag(s) Vᵀ
            u, vt = _transposed_elements(vt, n, n), _transposed_elements(u, m, n)
        return [u, s, vt], 0.0

    shapes = [(n, n), (n,), (n, m)] if wide else [(m, n), (n,), (n, n)]
    return run_on_arrays(caller, compute, [(tall, 2)], shapes if vectors else [(n,)])


def _transposed_elements(values: Sequence[Any], rows: int, columns: int) -> list[Any]:
    """Return the elements of a matrix's transpose."""
    return [values[i * columns + j] for j in range(columns) for i in range(rows)]


@dataclass(frozen=True, slots=True)
class Singular(CustomDerivative):
    """Rule for the singular values of an m × n matrix with n <= m and, with ``vectors``, for U and Vᵀ."""

    m: int
    n: int
    vectors: bool
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        m, n = self.m, self.n
        if not self.vectors:  # derivatives need the vectors as results of a rule, not of sweeps
            whole = apply_rule(Singular(m, n, True), inputs)
            return whole[:n], whole[n:]
        first = Reflections(rows_of(inputs, n, m), n)
        start: list[list[Any]] = [list(row) for row in identity(n)]  # the columns of V₁
        # the rows of R are the columns of Rᵀ, and become those of W
        columns, turned = sweep_pairs(_turn, (first.upper(n), start), n, SWEEPS)
        keys = [-dot(x, x) for x in columns]
        sort(keys, columns, turned)
        second = Reflections(transposed(columns), n)
        diagonal = [row[i] for i, row in enumerate(second.upper(n))]
        values = [fabs(x) for x in diagonal]
        signs = [copysign(1.0, x) for x in diagonal]
        u = [first.apply(column) for column in turned]  # by columns
        vt = [[sign * x for x in column] for sign, column in zip(signs, second.orthonormal(n), strict=True)]
        return [*values, *(u[j][i] for i in range(m) for j in range(n)), *(x for row in vt for x in row)], ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        n = self.n
        s, u, v = self._split(results, extra)
        moved = rows_of(direction, n, self.m)
        right = product(moved, v)  # dA V
        p = product(transposed(u), right)
        result = [p[i][i] for i in range(n)]
        if not self.vectors:
            return result
        beside = [add_matrices(right, negated(product(u, p)))] if n < self.m else []
        rates = apply_rule(SingularRotation(self.m, n), [*flat(p, *beside, u, v, [s]), *inputs])
        du = product(u, rows_of(rates, n))
        if beside:
            du = add_matrices(du, rows_of(rates[2 * n * n :], n, self.m))
        return [*result, *flat(du, transposed(product(v, rows_of(rates[n * n :], n))))]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        n, m = self.n, self.m
        s, u, v = self._split(results, extra)
        inner: list[list[Any]] = [[0.0] * n for _ in range(n)]
        beside: list[list[list[Any]]] = []
        if self.vectors:
            by_u, by_v = rows_of(weights[n:], n, m), transposed(rows_of(weights[n + m * n :], n))
            turned = [product(transposed(u), by_u), product(transposed(v), by_v), *[by_u] * (n < m)]
            rule = SingularRotation(m, n, adjoint=True)
            rates = apply_rule(rule, [*flat(*turned, u, v, [s]), *inputs])
            inner = rows_of(rates, n)
            if n < m:
                beside = [rows_of(rates[n * n :], n, m)]
                inner = add_matrices(inner, negated(product(transposed(u), beside[0])))
        for i in range(n):
            inner[i][i] = inner[i][i] + weights[i]
        return flat(product(add_matrices(product(u, inner), *beside), transposed(v)))

    def _split(
        self, results: Sequence[Any], extra: Sequence[Any]
    ) -> tuple[Sequence[Any], list[list[Any]], list[list[Any]]]:
        """Return the singular values, the matrix U and the matrix V, each matrix as a list of rows."""
        flat = results[self.n :] if self.vectors else extra
        return results[: self.n], rows_of(flat, self.n, self.m), transposed(rows_of(flat[self.m * self.n :], self.n))


def _turn(state: Matrices, p: int, q: int) -> None:
    """Rotate columns p and q of a matrix so that they are orthogonal and column p is the longer one.

    ``state`` is the transpose of the matrix, and the singular vectors as rows, which are rotated too. Both are changed
    in place.
    """
    columns, turned = state
    x, y = columns[p], columns[q]
    c, s, _ = rotation(dot(x, x) - dot(y, y), -dot(x, y))
    rotate(c, s, x, y)
    rotate(c, s, turned[p], turned[q])


@public
def pinv(A: Any, *, rtol: float | None = None) -> Any:
    """Return the pseudoinverse of A; singular values of at most ``rtol`` times the largest count as zero.

    The default of ``rtol`` is 10 max(m, n) times the rounding unit of the type of the numbers.  The derivative assumes
    constant rank.  For full rank or with damping, `lstsq` needs only a fraction of the operations.
    """
    matrices = matrix("pinv", "A", A)
    m, n = matrices.shape[-2:]
    if rtol is None:
        rtol = None if matrices.dtype == object else _default_rtol(m, n, float(np.finfo(matrices.dtype).eps))
    elif not (isinstance(rtol, (int, float)) and 0.0 <= rtol < 1.0):
        raise ValueError(f"pinv: rtol: expected a number >= 0 and < 1, got {rtol!r}")

    def compute(rows: Matrix, with_status: bool) -> Computed:
        return [apply_rule(Pseudoinverse(m, n, rtol), [x for row in rows for x in row])], 0.0

    return run_on_arrays("pinv", compute, [(matrices, 2)], [(n, m)])[0]


@dataclass(frozen=True, slots=True)
class Pseudoinverse(CustomDerivative):
    """Derivative rule for the pseudoinverse P of an m × n matrix A."""

    m: int
    n: int
    rtol: float | None
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        a = rows_of(inputs, self.n, self.m)
        wide = self.m < self.n
        if wide:
            a = transposed(a) if a else [[] for _ in range(self.n)]
        k = min(self.m, self.n)
        result, _ = Singular(max(self.m, self.n), k, True).compute([x for row in a for x in row])
        s, u, vt = result[:k], rows_of(result[k:], k, len(a)), rows_of(result[k + len(a) * k :], k)
        rtol = _default_rtol(self.m, self.n, float_limits_of(inputs).epsilon) if self.rtol is None else self.rtol
        inverse = [reciprocal_or_zero(x, le(x, rtol * s[0])) for x in s]
        scaled = [[x * y for x, y in zip(row, inverse, strict=True)] for row in transposed(vt)]  # V Σ⁻¹
        p = [[dot(row, row_of_u) for row_of_u in u] for row in scaled]
        return [x for row in (transposed(p) if wide and p else p) for x in row], ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        p, left, right = self._parts(inputs, results)
        da = rows_of(direction, self.n, self.m)
        turned, dat = transposed(p), transposed(da)
        first = negated(product(product(p, da), p))
        second = product(product(product(p, turned), dat), left)
        third = product(product(right, dat), product(turned, p))
        return [x for row in add_matrices(first, second, third) for x in row]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        p, left, right = self._parts(inputs, results)
        weight = rows_of(weights, self.m, self.n)
        turned, back = transposed(p), transposed(weight)
        first = negated(product(product(turned, weight), turned))
        second = product(left, product(back, product(p, turned)))
        third = product(product(turned, product(p, back)), right)
        return [x for row in add_matrices(first, second, third) for x in row]

    def _parts(self, inputs: Sequence[Any], results: Sequence[Any]) -> tuple[Matrix, Matrix, Matrix]:
        """Return the pseudoinverse P of A, and the projections 1 − A P and 1 − P A."""
        a, p = rows_of(inputs, self.n, self.m), rows_of(results, self.m, self.n)
        return p, _rest(product(a, p)), _rest(product(p, a))


def _default_rtol(m: int, n: int, epsilon: Any) -> Any:
    return 10.0 * max(m, n) * epsilon


def _rest(rows: Matrix) -> Matrix:
    """Return 1 − M for a square matrix M with these rows."""
    return [[unit - x for unit, x in zip(*pair, strict=True)] for pair in zip(identity(len(rows)), rows, strict=True)]
