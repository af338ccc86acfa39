"""Symmetric equations of many unknowns, of which the first are eliminated: one instruction, whose code is loops.

What is written out operation by operation grows as n³, and takes long to compile from some thirty unknowns on.  Here a
front of any size is the same few loops (`compiler/loops/frontal_elimination_code.py`), which work where its numbers
stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from linkwork.expr.control.branch_and_call_instructions import Subroutine
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.expr.scalar.multi_result import MultiResult, SparseRow, bundle_operation
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Graph

__all__ = ["FRONT", "AddedRow", "Front", "FrontElimination", "eliminate_front"]

FRONT = bundle_operation("front")


class AddedRow(NamedTuple):
    """What a row j of least squares adds to equations A x = b: c j jᵀ to A and f j to b."""

    weight: Any  # c
    side: Any  # f
    numbers: Sequence[Any]  # j (n,)


class Front(NamedTuple):
    """What `eliminate_front` makes of equations."""

    eliminated: list[list[Any]]  # rows of U, from its diagonal on, of which the reciprocals stand there, then y
    rest: list[list[Any]]  # the upper triangle of what is left, with its right side
    positive: Any  # 1 where all pivots were positive, else 0


@dataclass(frozen=True)
class FrontElimination(MultiResult):
    """Equations A x = b of ``size`` unknowns, to which rows are ``added``; the first ``pivots`` are eliminated.

    The arguments are how much eliminated rows count, by how much the diagonal of what is added is stretched, the
    weight, the side and the numbers of each row, and then the upper triangle of A row by row, each with its b.  The
    results are what stands in the place of the triangle, and whether all pivots were positive, 1 or 0.
    """

    size: int
    pivots: int
    added: int
    least: float  # of what a diagonal element was: a pivot below is none, and 1 is taken in its place

    operation: ClassVar[Operation] = FRONT

    @property
    def columns(self) -> int:
        """Unknowns and the right side."""
        return self.size + 1

    @property
    def triangle(self) -> int:
        """How many numbers the equations have."""
        return self.size * (self.size + 3) // 2

    @property
    def given(self) -> int:
        """How many numbers come before them."""
        return 2 + self.added * (self.size + 2)

    @property
    def count(self) -> int:
        return self.triangle + 1

    @property
    def operations(self) -> Mapping[str, int]:
        """How often each operation is done."""
        n, k, r = self.size, self.pivots, self.added
        products = r * n * (n + 1) // 2 + r * n
        products += sum((k - max(k - i, 0)) * (n + 1 - i) for i in range(n))
        return Counter(mul=products + r * n + k * (n + 1), add=products, sqrt=k, div=k, lt=k, where=2 * k)

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return self.written_out(arguments)

    def written_out(self, arguments: Sequence[Any]) -> list[Any]:
        """The same, operation by operation."""
        n, counts, stretch = self.size, arguments[0], arguments[1]
        numbers = iter(arguments[self.given :])
        U = [[next(numbers) for _ in range(self.columns - i)] for i in range(n)]
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
            fine = lt(self.least * before[p], row[0])
            positive = where(fine, positive, 0.0)
            row[0] = 1.0 / sqrt(where(fine, row[0], 1.0))
            factor = row[0] * counts
            row[1:] = [x * factor for x in row[1:]]
            for i in range(p + 1, n):
                pull = row[i - p]
                U[i] = [x - pull * y for x, y in zip(U[i], row[i - p :], strict=True)]
        return [*(x for row in U for x in row), positive]

    @cached_property
    def _body(self) -> Subroutine:
        """The operations as something that is called, which knows its derivatives."""
        inputs = Graph().inputs("x", (self.given + self.triangle,))
        return Subroutine(Region.of(self.written_out(inputs), inputs))

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> list[SparseRow]:
        return self._body.push_forward(arguments, results, rows)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        return self._body.pull_back(arguments, results, weights)


def eliminate_front(
    rows: Sequence[Sequence[Any]],
    pivots: int,
    *,
    added: Sequence[AddedRow] = (),
    stretch: Any = 1.0,
    counts: Any = 1.0,
    least: float = 0.0,
) -> Front:
    """Add to symmetric equations, and eliminate the first unknowns of them by Cholesky's factors:

        A + Σ c j jᵀ = (A₁₁ A₁₂; A₂₁ A₂₂),   A₁₁ = U₁₁ᵀ U₁₁,   (U₁₂ y) = U₁₁⁻ᵀ (A₁₂ b₁),

    of which A₂₂ − U₁₂ᵀ U₁₂ and b₂ − U₁₂ᵀ y are left.  ``rows`` are A's upper triangle, of each row the numbers from the
    diagonal on and its b.  The diagonal of Σ c j jᵀ is times ``stretch``; rows of U besides its diagonal are times
    ``counts``, which is 0 where what is eliminated is to change nothing.  A pivot that is not above ``least`` times
    what its diagonal element was is none: 1 is taken.

    Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, section 4.2 (the outer-product form).
    """
    n = len(rows)
    bundle = FrontElimination(n, pivots, len(added), least)
    given = [counts, stretch, *(x for row in added for x in (row.weight, row.side, *row.numbers))]
    *result, positive = bundle([*given, *(x for row in rows for x in row)])
    numbers = iter(result)
    lines = [[next(numbers) for _ in range(n + 1 - i)] for i in range(n)]
    return Front(lines[:pivots], lines[pivots:], positive)
