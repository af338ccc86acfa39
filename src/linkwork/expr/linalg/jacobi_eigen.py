"""Symmetric eigenvalues and eigenvectors by the cyclic Jacobi method, over any scalar.

The number of sweeps depends only on the size, and results are sorted by selections.

Derivatives: with P = Vᵀ dA V, dw_i = P_ii, and column j of dV is Σ_i v_i P_ij / (w_j − w_i) over all i whose eigenvalue
differs from w_j: see `vector_rotations`.

Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, sections 8.5 and 8.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.control import fori_loop
from linkwork.expr.linalg.array_conversion import Computed, run_on_arrays, square
from linkwork.expr.linalg.factorizations import METHODS
from linkwork.expr.linalg.sparse_dot import (
    identity,
    product,
    rows_of,
    select,
    transposed,
)
from linkwork.expr.linalg.triangular_factors import swap_if
from linkwork.expr.linalg.vector_rotations import EigenRotation, congruence, pulled_back
from linkwork.expr.scalar.functions import copysign, eq, fabs, lt, sqrt, where
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["Matrices", "eigh", "eigvalsh", "rotate", "rotation", "sort", "sweep_pairs"]


_SYMMETRIC = METHODS["sym"]
SWEEPS = (0, 0, 1, 5, 6, 7, 7, 8, 8, 9)
"""Number of sweeps down to rounding, by the number of rows; the last for all larger ones (tested up to 15)."""


class EighResult(NamedTuple):
    """Result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


@public
def eigh(A: Any) -> EighResult:
    """Return ascending eigenvalues w and orthonormal eigenvectors V of a symmetric A: A V = V diag(w).

    The lower triangle is read.  The sign of a vector is arbitrary, as in NumPy.  Eigenvectors of equal eigenvalues are
    an arbitrary basis of their space, and their derivatives leave out rotations within it; for nearly equal
    eigenvalues, derivatives of eigenvectors grow as the reciprocal of the gap.  Derivatives of simple eigenvalues are
    valid, even if other eigenvalues are equal.  For equal eigenvalues, only the derivatives of their sum are valid in
    all directions.
    """
    return EighResult(*_eigen("eigh", A, vectors=True))


@public
def eigvalsh(A: Any) -> Any:
    """Return the eigenvalues of a symmetric matrix A in ascending order: see `eigh`."""
    return _eigen("eigvalsh", A, vectors=False)[0]


def _eigen(caller: str, A: Any, vectors: bool) -> tuple[Any, ...]:
    matrices = square(caller, A)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], with_status: bool) -> Computed:
        result = apply_rule(Eigen(n, vectors), [rows[i][j] for i, j in _SYMMETRIC.reads(n)])
        return [result[:n], result[n:]], 0.0

    return run_on_arrays(caller, compute, [(matrices, 2)], [(n,), (n, n)][: 1 + vectors])


@dataclass(frozen=True, slots=True)
class Eigen(CustomDerivative):
    """Rule for the eigenvalues of a symmetric n × n matrix and, with ``vectors``, its eigenvectors.

    The inputs are the elements of the lower triangle, row by row.  The results are the n eigenvalues in ascending
    order, then the matrix V of eigenvectors, row by row.
    """

    n: int
    vectors: bool
    separable: ClassVar[bool] = False

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        n = self.n
        if not self.vectors:  # derivatives need the vectors as results of a rule, not of sweeps
            both = apply_rule(Eigen(n, True), inputs)
            return both[:n], both[n:]
        start: list[list[Any]] = [list(row) for row in identity(n)]  # rows become eigenvectors
        a, turned = sweep_pairs(_turn, (_SYMMETRIC.matrix(inputs, n), start), n, SWEEPS)
        values = [a[i][i] for i in range(n - 1, -1, -1)]  # sorted up to rounding
        turned.reverse()
        sort(values, turned)
        return [*values, *(row[i] for i in range(n) for row in turned)], ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        values, v = self._split(results, extra)
        moved = congruence(v, direction)
        result = [moved[i][i] for i in range(self.n)]
        if not self.vectors:
            return result
        return [*result, *(x for row in product(v, self._rotation(moved, values, v, inputs)) for x in row)]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        n = self.n
        values, v = self._split(results, extra)
        inner: list[list[Any]] = [[0.0] * n for _ in range(n)]
        if self.vectors:
            inner = self._rotation(product(transposed(v), rows_of(weights[n:], n)), values, v, inputs)
        for i in range(n):
            inner[i][i] = weights[i]
        return pulled_back(v, inner)

    def _split(self, results: Sequence[Any], extra: Sequence[Any]) -> tuple[Sequence[Any], list[list[Any]]]:
        """Return the eigenvalues, and the matrix V of eigenvectors as a list of rows."""
        return results[: self.n], rows_of(results[self.n :] if self.vectors else extra, self.n)

    def _rotation(
        self, moved: list[list[Any]], values: Sequence[Any], v: list[list[Any]], inputs: Sequence[Any]
    ) -> list[list[Any]]:
        """Return the element-wise product F∘M of M = ``moved`` with F_ij = 1/(w_j − w_i), as a list of rows.

        w are the eigenvalues ``values``; F_ij is 0 for equal eigenvalues.
        """
        flat = [x for rows in (moved, v) for row in rows for x in row]
        return rows_of(apply_rule(EigenRotation(self.n), [*flat, *values, *inputs]), self.n)


def _turn(state: Matrices, p: int, q: int) -> None:
    """Rotate rows and columns p and q so that element p, q of a symmetric matrix becomes zero.

    The diagonal element p is the larger one afterwards.  ``state`` is the matrix, and the eigenvectors as rows, which
    are rotated too.  Both are changed in place.
    """
    a, turned = state
    difference = a[p][p] - a[q][q]
    c, s, change = rotation(difference, -a[p][q])
    a[p][p], a[q][q] = swap_if(lt(difference, 0.0), a[p][p] + change, a[q][q] - change)
    a[p][q] = a[q][p] = 0.0
    indices = [i for i in range(len(a)) if i not in (p, q)]
    x, y = [a[p][i] for i in indices], [a[q][i] for i in indices]
    rotate(c, s, x, y)
    for i, first, second in zip(indices, x, y, strict=True):
        a[p][i] = a[i][p] = first
        a[q][i] = a[i][q] = second
    rotate(c, s, turned[p], turned[q])


_UNROLLED = 5  # rows: for more, a loop is as fast as unrolled sweeps, and compiles in a third of the time
Matrices = tuple[list[list[Any]], ...]


def sweep_pairs(turn: Callable[[Matrices, int, int], None], state: Matrices, n: int, sweeps: Sequence[int]) -> Matrices:
    """Return the matrices of ``state`` after Jacobi sweeps, each of which rotates every pair of rows p, q once.

    ``turn`` rotates one pair of rows in place.  ``sweeps[n]`` is the number of sweeps for n rows; its last entry
    applies to all larger n.  On symbols, sweeps of many rows are a loop with the code of one sweep.
    """

    def sweep(inside: Matrices) -> Matrices:
        for p in range(n - 1):
            for q in range(p + 1, n):
                turn(inside, p, q)
        return inside

    count = sweeps[min(n, len(sweeps) - 1)]
    flat = [x for rows in state for row in rows for x in row]
    if n > _UNROLLED and any(x.__class__ is Symbol for x in flat):
        form = [(len(rows), len(rows[0])) for rows in state]

        def step(k: Any, elements: Any) -> Any:
            inside = iter(elements.tolist())
            rows = tuple([[next(inside) for _ in range(width)] for _ in range(height)] for height, width in form)
            return object_array((len(flat),), [x for part in sweep(rows) for row in part for x in row])

        last = iter(fori_loop(0, count, step, object_array((len(flat),), flat)).tolist())
        return tuple([[next(last) for _ in range(width)] for _ in range(height)] for height, width in form)
    for _ in range(count):
        state = sweep(state)
    return state


def rotation(difference: Any, off: Any) -> tuple[Any, Any, Any]:
    """Return the rotation (c, s) that diagonalises [[a, off], [off, a + difference]], smaller eigenvalue first.

    The third result is the amount by which the rotation increases the second diagonal element and decreases the first.
    If the difference is negative, the rotation then also exchanges both elements, so that the smaller eigenvalue is
    first. Ordered eigenvalues make sweeps converge fast if some are equal.
    """
    is_diagonal = eq(off, 0.0)
    ratio = difference / where(is_diagonal, 1.0, 2.0 * off)
    t = where(is_diagonal, 0.0, copysign(1.0, ratio) / (fabs(ratio) + sqrt(1.0 + ratio * ratio)))
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    swap = lt(difference, 0.0)
    return select(swap, s, c), select(swap, -c, s), t * off


def rotate(c: Any, s: Any, x: list[Any], y: list[Any]) -> None:
    """Replace x, y by c x − s y, s x + c y, element by element."""
    for k in range(len(x)):
        x[k], y[k] = c * x[k] - s * y[k], s * x[k] + c * y[k]


def sort(keys: list[Any], *rows: list[list[Any]]) -> None:
    """Sort ``keys`` in ascending order, and reorder lists of rows in the same order; all are changed.

    n passes exchange neighbours, so the code has no branches that depend on the values.
    """
    n = len(keys)
    for start in range(n):
        for i in range(start % 2, n - 1, 2):
            swap = lt(keys[i + 1], keys[i])
            keys[i], keys[i + 1] = select(swap, keys[i + 1], keys[i]), select(swap, keys[i], keys[i + 1])
            for result in rows:
                result[i], result[i + 1] = (
                    [select(swap, y, x) for x, y in zip(result[i], result[i + 1], strict=True)],
                    [select(swap, x, y) for x, y in zip(result[i], result[i + 1], strict=True)],
                )
