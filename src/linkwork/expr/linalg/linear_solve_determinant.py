"""The determinant, and its logarithm: d log|A| = tr(A⁻¹ dA)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import Rule, ruled
from linkwork.expr.linalg.array_conversion import Found, applied, square
from linkwork.expr.linalg.factorizations import Method, method
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import chosen, dot, gathered, identity, is_zero
from linkwork.expr.scalar.functions import eq, fabs, log, sign, where

__all__ = ["det", "slogdet"]


@public
def det(A: Any, *, assume: str = "gen") -> Any:
    """The determinant of a square matrix; ``assume`` is as for `solve`.

    Of three rows and fewer it is written out.  Of more it is the product of the pivots, 0 where one is zero, and then
    has no derivative: that is no number.
    """
    matrices, way = square("det", A), method("det", assume)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], told: bool) -> Found:
        if n <= 3 and assume == "gen":
            return [[_written_out(rows)]], 0.0
        return [ruled(Determinant(way, n, False), [rows[i][j] for i, j in way.reads(n)])], 0.0

    return applied("det", compute, [(matrices, 2)], [()])[0]


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


@public
def slogdet(A: Any, *, assume: str = "gen") -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its absolute value: as numpy.linalg.slogdet.

    Of a singular matrix they are 0 and -inf, without a derivative: that is no number.  ``assume`` is as for `solve`.
    """
    matrices, way = square("slogdet", A), method("slogdet", assume)
    n = matrices.shape[-1]

    def compute(rows: list[list[Any]], told: bool) -> Found:
        found = ruled(Determinant(way, n, True), [rows[i][j] for i, j in way.reads(n)])
        return [found[:1], found[1:]], 0.0

    return SlogdetResult(*applied("slogdet", compute, [(matrices, 2)], [(), ()]))


@dataclass(frozen=True, slots=True)
class Determinant(Rule):
    """The determinant; or its sign, and the logarithm of its size."""

    method: Method
    n: int
    logarithm: bool

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        pivots = Pivots("det", zero=True)
        factors = self.method.factors(self.method.matrix(inputs, self.n), pivots)
        whole: Any = 1.0
        size: Any = 0.0
        for pivot in pivots.seen:
            whole = whole * (sign(pivot) if self.logarithm else pivot)
            if self.logarithm:
                size = size + log(fabs(pivot))
        for exchange in self.method.exchanges(factors, self.n):
            whole = chosen(exchange, -whole, whole)
        return [whole, size] if self.logarithm else [whole], factors

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        moved = self.method.matrix(direction, self.n)
        trace = dot(
            [x for column in self._inverse_columns(extra) for x in column], [x for row in moved for x in row]
        )  # the columns of A⁻¹ beside the rows of dA
        scale = self._scale(results)
        return [0.0, scale * trace] if self.logarithm else [scale * trace]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        weight = weights[-1] * self._scale(results)
        pulled = [[weight * x for x in column] for column in self._inverse_columns(extra)]
        return gathered(pulled, self.method.reads(self.n), self.method.symmetric)

    def _inverse_columns(self, factors: Sequence[Any]) -> list[list[Any]]:
        return [self.method.solved(factors, column) for column in identity(self.n)]

    def _scale(self, results: Sequence[Any]) -> Any:
        """What the trace is multiplied by; no number where the matrix is singular."""
        return where(eq(results[0], 0.0), math.nan, 1.0 if self.logarithm else results[0])


def _written_out(rows: list[list[Any]]) -> Any:
    """The determinant of up to three rows, by its first row."""
    if not rows:
        return 1.0
    total: Any = 0.0
    for j, x in enumerate(rows[0]):
        if not is_zero(x):
            minor = x * _written_out([row[:j] + row[j + 1 :] for row in rows[1:]])
            total = total - minor if j % 2 else total + minor
    return total
