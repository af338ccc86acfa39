"""Frontal elimination: partial elimination of symmetric equations, as one instruction with loops.

Code written out operation by operation grows as n³, and takes long to compile from some thirty unknowns on.  Here a
front of any size is the same few loops (`compiler/codegen/loops/frontal_elimination_code.py`), which work in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from linkwork.expr.linalg.matrix_product import WrittenOutInstruction
from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.expr.scalar.multi_result import bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = ["FRONT", "AddedRow", "Front", "FrontElimination", "eliminate_front"]

FRONT = bundle_operation("front")


class AddedRow(NamedTuple):
    """Row j of a least-squares problem, which adds c j jᵀ to A and f j to b of the normal equations A x = b."""

    weight: Any  # c
    side: Any  # f
    elements: Sequence[Any]  # j (n,)


class Front(NamedTuple):
    """Result of `eliminate_front`."""

    eliminated: list[list[Any]]  # rows of U from the diagonal on, with its reciprocals there, then y
    remainder: list[list[Any]]  # the remaining upper triangle, with its right side
    positive: Any  # 1 if all pivots were positive, else 0


@dataclass(frozen=True)
class FrontElimination(WrittenOutInstruction):
    """Instruction that adds least-squares rows to equations A x = b and eliminates the first ``pivots`` unknowns.

    A has ``size`` unknowns, and there are ``added`` rows.  The arguments are ``counts`` and ``stretch`` of
    `eliminate_front`; then weight, right side and elements of each added row; then the upper triangle of A, row by
    row, each row followed by its element of b.  The results are the triangle after elimination, in the same order, and
    1 if all pivots were positive, else 0.
    """

    size: int
    pivots: int
    added: int
    least: float  # relative to the original diagonal element: a pivot below fails and is replaced by 1

    operation: ClassVar[Operation] = FRONT

    @property
    def columns(self) -> int:
        """Number of columns of A and b together."""
        return self.size + 1

    @property
    def triangle(self) -> int:
        """Number of elements of the upper triangle of A and of b together."""
        return self.size * (self.size + 3) // 2

    @property
    def offset(self) -> int:
        """Number of arguments before the elements of A and b."""
        return 2 + self.added * (self.size + 2)

    @property
    def taken(self) -> int:
        return self.offset + self.triangle

    @property
    def count(self) -> int:
        return self.triangle + 1

    @property
    def operations(self) -> Mapping[str, int]:
        n, k, r = self.size, self.pivots, self.added
        products = r * n * (n + 1) // 2 + r * n
        products += sum((k - max(k - i, 0)) * (n + 1 - i) for i in range(n))
        return Counter(mul=products + r * n + k * (n + 1), add=products, sqrt=k, div=k, lt=k, where=2 * k)

    def written_out(self, arguments: Sequence[Any]) -> list[Any]:
        n, counts, stretch = self.size, arguments[0], arguments[1]
        elements = iter(arguments[self.offset :])
        U = [[next(elements) for _ in range(self.columns - i)] for i in range(n)]
        for r in range(self.added):
            weight, side, *j = arguments[2 + r * (n + 2) : 2 + (r + 1) * (n + 2)]
            for i in range(n):
                pull = weight * j[i]
                U[i][0] = U[i][0] + stretch * (pull * j[i])
                for k in range(i + 1, n):
                    U[i][k - i] = U[i][k - i] + pull * j[k]
                U[i][n - i] = U[i][n - i] + side * j[i]
        positive: Any = 1.0
        before = [row[0] for row in U[: self.pivots]]
        for p in range(self.pivots):
            row = U[p]
            is_regular = lt(self.least * before[p], row[0])
            positive = where(is_regular, positive, 0.0)
            row[0] = 1.0 / sqrt(where(is_regular, row[0], 1.0))
            factor = row[0] * counts
            row[1:] = [x * factor for x in row[1:]]
            for i in range(p + 1, n):
                pull = row[i - p]
                U[i] = [x - pull * y for x, y in zip(U[i], row[i - p :], strict=True)]
        return [*(x for row in U for x in row), positive]


def eliminate_front(
    rows: Sequence[Sequence[Any]],
    pivots: int,
    *,
    added: Sequence[AddedRow] = (),
    stretch: Any = 1.0,
    counts: Any = 1.0,
    least: float = 0.0,
) -> Front:
    """Add least-squares rows to symmetric equations A x = b, and eliminate the first unknowns by Cholesky.

    ``rows`` are A's upper triangle: each row from the diagonal on, then its element of b. Each of the ``added`` rows j,
    with weight c and right side f, adds c j jᵀ to A and f j to b. ``pivots`` is the number of unknowns to eliminate:

        A + Σ c j jᵀ = (A₁₁ A₁₂; A₂₁ A₂₂),   A₁₁ = U₁₁ᵀ U₁₁,   (U₁₂ y) = U₁₁⁻ᵀ (A₁₂ b₁)

    The equations that remain have the matrix A₂₂ − U₁₂ᵀ U₁₂ and the right side b₂ − U₁₂ᵀ y. The diagonal of Σ c j jᵀ is
    multiplied by ``stretch``. The elements of U beyond the diagonal are multiplied by ``counts``, which is 1, or 0 if
    the elimination must not change the remaining equations. A pivot that does not exceed ``least`` times its original
    diagonal element fails, and is replaced by 1.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, section 4.2 (the outer-product form).
    """
    n = len(rows)
    bundle = FrontElimination(n, pivots, len(added), least)
    inputs = [counts, stretch, *(x for row in added for x in (row.weight, row.side, *row.elements))]
    *result, positive = bundle([*inputs, *(x for row in rows for x in row)])
    elements = iter(result)
    lines = [[next(elements) for _ in range(n + 1 - i)] for i in range(n)]
    return Front(lines[:pivots], lines[pivots:], positive)
