"""How a step varies: dy = A dx + B du, as a product of sparse factors.

A step that moves velocities first, and with them the configuration,

    dv⁺ = P dq + Q dv + W du,      dq⁺ = D dq + h E dv⁺,

is the product of two matrices, most of whose elements are zero or one.  A quadratic form goes through them one after
the other, FᵀVF, with no product that is structurally zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, product, transposed

__all__ = ["LinearStep", "congruent"]

Scalars = Sequence[Any]
Matrix = Sequence[Scalars]


@dataclass(frozen=True, slots=True)
class LinearStep:
    """y changes by F₁ F₂ … (dx; du): the factors, the last of which has a column for each of x and u."""

    factors: tuple[Matrix, ...]
    more: Matrix = ()  # how what else a step makes varies, by (x, u)

    def changed(self, changes: Scalars) -> list[Any]:
        """F (dx; du)."""
        found = list(changes)
        for factor in reversed(self.factors):
            found = [dot(row, found) for row in factor]
        return found

    def rows(self) -> list[list[Any]]:
        """The product of the factors."""
        found = [list(row) for row in self.factors[0]]
        for factor in self.factors[1:]:
            found = product(found, factor)
        return found

    def gradient(self, v: Scalars) -> list[Any]:
        """Fᵀ v."""
        found = list(v)
        for factor in self.factors:
            found = [dot(column, found) for column in transposed(factor)]
        return found

    def hessian(self, V: Matrix) -> list[list[Any]]:
        """FᵀV F, of a symmetric V of which the whole is given: all of it."""
        found = [list(row) for row in V]
        for factor in self.factors:
            found = congruent(found, factor)
        return found


def congruent(V: Matrix, F: Matrix) -> list[list[Any]]:
    """FᵀV F of a symmetric matrix; elements across the diagonal are the same numbers."""
    columns = transposed(F)
    products = [[dot(row, column) for row in V] for column in columns]
    found: list[list[Any]] = [[0.0] * len(columns) for _ in columns]
    for i, column in enumerate(columns):
        for j in range(i + 1):
            found[i][j] = found[j][i] = dot(column, products[j])
    return found
