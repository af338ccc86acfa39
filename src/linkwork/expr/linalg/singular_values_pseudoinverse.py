"""The pseudoinverse, by singular values.

While the rank stays the same, dP = −P dA P + P Pᵀ dAᵀ (1 − A P) + (1 − P A) dAᵀ Pᵀ P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import Rule, ruled
from linkwork.expr.linalg.array_conversion import Found, applied, matrix
from linkwork.expr.linalg.singular_values import Singular
from linkwork.expr.linalg.sparse_dot import (
    added,
    dot,
    identity,
    negated,
    product,
    reciprocal_or_zero,
    rows_of,
    transposed,
)
from linkwork.expr.scalar.functions import le

__all__ = ["pinv"]

Matrix = list[list[Any]]


@public
def pinv(A: Any, *, rtol: float | None = None) -> Any:
    """The pseudoinverse of a matrix: singular values of at most ``rtol`` times the largest count as zero.

    ``rtol`` is 10 max(m, n) times the rounding unit of float64 unless it is given; kernels that are called with float32
    need a larger one.  The derivative is that at constant rank.  Where a matrix has full rank or there is damping,
    `lstsq` takes a fraction of the operations.
    """
    matrices = matrix("pinv", "A", A)
    m, n = matrices.shape[-2:]
    if rtol is None:
        kind = np.float64 if matrices.dtype == object else matrices.dtype
        rtol = 10.0 * max(m, n) * float(np.finfo(kind).eps)
    elif not (isinstance(rtol, (int, float)) and 0.0 <= rtol < 1.0):
        raise ValueError(f"pinv: rtol: expected a number of at least 0 and less than 1, got {rtol!r}")
    bound = float(rtol)

    def compute(rows: Matrix, told: bool) -> Found:
        return [ruled(Pseudoinverse(m, n, bound), [x for row in rows for x in row])], 0.0

    return applied("pinv", compute, [(matrices, 2)], [(n, m)])[0]


@dataclass(frozen=True, slots=True)
class Pseudoinverse(Rule):
    """P of a matrix of m rows and n columns."""

    m: int
    n: int
    rtol: float

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        a = rows_of(inputs, self.n, self.m)
        wide = self.m < self.n
        if wide:
            a = transposed(a) if a else [[] for _ in range(self.n)]
        k = min(self.m, self.n)
        found, _ = Singular(max(self.m, self.n), k, True).compute([x for row in a for x in row])
        s, u, vt = found[:k], rows_of(found[k:], k, len(a)), rows_of(found[k + len(a) * k :], k)
        inverse = [reciprocal_or_zero(x, le(x, self.rtol * s[0])) for x in s]
        scaled = [[x * y for x, y in zip(row, inverse, strict=True)] for row in transposed(vt)]  # V Σ⁻¹
        p = [[dot(row, other) for other in u] for row in scaled]
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
        return [x for row in added(first, second, third) for x in row]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        p, left, right = self._parts(inputs, results)
        weight = rows_of(weights, self.m, self.n)
        turned, back = transposed(p), transposed(weight)
        first = negated(product(product(turned, weight), turned))
        second = product(left, product(back, product(p, turned)))
        third = product(product(turned, product(p, back)), right)
        return [x for row in added(first, second, third) for x in row]

    def _parts(self, inputs: Sequence[Any], results: Sequence[Any]) -> tuple[Matrix, Matrix, Matrix]:
        """P, 1 − A P and 1 − P A."""
        a, p = rows_of(inputs, self.n, self.m), rows_of(results, self.m, self.n)
        return p, _rest(product(a, p)), _rest(product(p, a))


def _rest(rows: Matrix) -> Matrix:
    """1 less a matrix."""
    return [[one - x for one, x in zip(*pair, strict=True)] for pair in zip(identity(len(rows)), rows, strict=True)]
