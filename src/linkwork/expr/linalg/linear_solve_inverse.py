"""The inverse: X = A⁻¹, dX = −X dA X, and in reverse Ā = −Xᵀ X̄ Xᵀ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import Rule, ruled
from linkwork.expr.linalg.array_conversion import Found, applied, square
from linkwork.expr.linalg.factorizations import Method, method
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import gathered, identity, negated, product, rows_of, transposed

__all__ = ["inv"]


@public
def inv(A: Any, *, assume: str = "gen", status: bool = False) -> Any:
    """The inverse of a square matrix.  To multiply by it, `solve` takes fewer operations and rounds less.

    ``assume`` and ``status`` are as for `solve`.
    """
    matrices, way = square("inv", A), method("inv", assume)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], told: bool) -> Found:
        found = ruled(Inverse(way, n, told), [rows[i][j] for i, j in way.reads(n)])
        return [found[: n * n]], found[-1] if told else 0.0

    found = applied("inv", compute, [(matrices, 2)], [(n, n)], status, positive=way.positive)
    return found if status else found[0]


@dataclass(frozen=True, slots=True)
class Inverse(Rule):
    """A⁻¹, by the elements that the method reads."""

    method: Method
    n: int
    told: bool

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        pivots = Pivots("inv", positive=self.method.positive, told=self.told)
        factors = self.method.factors(self.method.matrix(inputs, self.n), pivots)
        columns = [self.method.solved(factors, column) for column in identity(self.n)]
        if self.method.symmetric:  # one half of it, and the other half is the same
            columns = [[columns[min(i, j)][max(i, j)] for j in range(self.n)] for i in range(self.n)]
        flat = [column[i] for i in range(self.n) for column in columns]
        return [*flat, pivots.status] if self.told else flat, ()

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        inverse = rows_of(results, self.n)
        moved = product(product(inverse, self.method.matrix(direction, self.n)), inverse)
        return [*(x for row in negated(moved) for x in row), *[0.0] * self.told]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        turned = transposed(rows_of(results, self.n))
        pulled = negated(product(product(turned, rows_of(weights, self.n)), turned))
        return gathered(pulled, self.method.reads(self.n), self.method.symmetric)
