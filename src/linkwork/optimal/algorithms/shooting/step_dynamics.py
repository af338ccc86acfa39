"""What is steered: a state x on a manifold, which a control u makes another one in a step of time.

    y = f(x, u),      dy = A dx + B du,

the changes being tangent vectors.  A kind states the step; how it varies follows by differentiation over any scalar, or
is given in closed form.

How a step varies: dy = A dx + B du, as a product of sparse factors.

A step that moves velocities first, and with them the configuration,

    dv⁺ = P dq + Q dv + W du,      dq⁺ = D dq + h E dv⁺,

is the product of two matrices, most of whose elements are zero or one.  A quadratic form goes through them one after
the other, FᵀVF, with no product that is structurally zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.linalg.sparse_dot import dot, product, transposed

__all__ = ["Dynamics", "LinearStep", "Stepped", "varied"]


Scalars = Sequence[Any]
Rates = list[dict[Any, Any]]


class Dynamics(ABC):
    """A step of time, over any scalar."""

    numbers: int  # of x
    size: int  # of a tangent vector of x
    controls: int
    more: int = 0  # how many numbers a step makes besides y: forces, say

    @abstractmethod
    def step(self, x: Scalars, u: Scalars) -> list[Any]:
        """y."""

    def led(self, x: Scalars, u: Scalars) -> list[Any]:
        """y, and what else a step makes."""
        return self.step(x, u)

    def at(self, data: Scalars) -> Dynamics:
        """The dynamics of a step, with the numbers that are given for it."""
        return self

    def moved(self, x: Scalars, change: Scalars) -> list[Any]:
        """x ⊕ δ."""
        return [a + b for a, b in zip(x, change, strict=True)]

    def apart(self, x: Scalars, y: Scalars) -> list[Any]:
        """y ⊖ x, the tangent vector at x that leads to y."""
        return [b - a for a, b in zip(x, y, strict=True)]

    def rates(self, x: Scalars) -> Rates:
        """By number of x: how fast it changes, by the tangent vectors that change it."""
        return [{k: 1.0} for k in range(self.numbers)]

    def tangent(self, y: Scalars, rates: Scalars) -> list[Any]:
        """The tangent vector at y along which its numbers change at these rates."""
        return list(rates)

    def linear(self, x: Scalars, u: Scalars) -> tuple[list[Any], LinearStep]:
        """y and what else a step makes, and how they vary."""
        y, rows = varied(lambda x, u: self.step(x, u), x, u, self.rates(x))
        columns = [self.tangent(y, [row.get(k, 0.0) for row in rows]) for k in range(self.size + self.controls)]
        return y, LinearStep(([list(row) for row in zip(*columns, strict=True)],))

    def curvature(self, x: Scalars, u: Scalars, weights: Scalars) -> list[list[Any]]:
        """Second derivatives of Σ wᵢ (f(x ⊕ δ, u + ε) ⊖ f(x, u))ᵢ by (δ, ε), with the weights held."""
        y = self.step(x, u)
        n, m = self.size, self.controls

        def bent(change: Scalars, _: Scalars) -> list[Any]:
            def weighed(change: Scalars, _: Scalars) -> list[Any]:
                there = self.step(self.moved(x, change[:n]), [a + b for a, b in zip(u, change[n:], strict=True)])
                total: Any = 0.0
                for w, d in zip(weights, self.apart(y, there), strict=True):
                    total = total + w * d
                return [total]

            _, (row,) = varied(weighed, change, (), [{k: 1.0} for k in range(n + m)])
            return [row.get(k, 0.0) for k in range(n + m)]

        _, rows = varied(bent, [0.0] * (n + m), (), [{k: 1.0} for k in range(n + m)])
        return [[rows[max(i, j)].get(min(i, j), 0.0) for j in range(n + m)] for i in range(n + m)]


@dataclass(frozen=True)
class Stepped(Dynamics):
    """A user's own step of a state of plain numbers: ``of(x, u)`` gives the next state."""

    of: Callable[[Any, Any], Any]
    numbers: int
    controls: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.numbers

    def step(self, x: Scalars, u: Scalars) -> list[Any]:
        return list(self.of(list(x), list(u)))


def varied(
    compute: Callable[[list[Any], list[Any]], Sequence[Any]], x: Scalars, u: Scalars, rates: Rates
) -> tuple[list[Any], list[dict[Any, Any]]]:
    """compute(x, u), and how each of its numbers changes: by the tangent vectors of x, then those of u."""
    size = 1 + max((key for row in rates for key in row), default=-1)
    rows = [SparseTangent(row) for row in rates] + [SparseTangent({size + k: 1.0}) for k in range(len(u))]
    moving = seeded([*x, *u], rows)
    if not moving:
        return list(compute([], [])), []
    outputs = [parts(value, moving[0].level) for value in compute(moving[: len(x)], moving[len(x) :])]
    tangents = [tangent if isinstance(tangent, SparseTangent) else SparseTangent({}) for _, tangent in outputs]
    return [value for value, _ in outputs], [dict(tangent.row) for tangent in tangents]


Matrix = Sequence[Scalars]


@dataclass(frozen=True, slots=True)
class LinearStep:
    """y changes by F₁ F₂ … (dx; du): the factors, the last of which has a column for each of x and u."""

    factors: tuple[Matrix, ...]
    more: Matrix = ()  # how what else a step makes varies, by (x, u)

    def changed(self, changes: Scalars) -> list[Any]:
        """F (dx; du)."""
        result = list(changes)
        for factor in reversed(self.factors):
            result = [dot(row, result) for row in factor]
        return result

    def rows(self) -> list[list[Any]]:
        """The product of the factors."""
        result = [list(row) for row in self.factors[0]]
        for factor in self.factors[1:]:
            result = product(result, factor)
        return result

    def gradient(self, v: Scalars) -> list[Any]:
        """Fᵀ v."""
        result = list(v)
        for factor in self.factors:
            result = [dot(column, result) for column in transposed(factor)]
        return result

    def hessian(self, V: Matrix) -> list[list[Any]]:
        """FᵀV F, of a symmetric V of which the whole is given: all of it."""
        result = [list(row) for row in V]
        for factor in self.factors:
            result = congruent(result, factor)
        return result


def congruent(V: Matrix, F: Matrix) -> list[list[Any]]:
    """FᵀV F of a symmetric matrix; elements across the diagonal are the same numbers."""
    columns = transposed(F)
    products = [[dot(row, column) for row in V] for column in columns]
    product: list[list[Any]] = [[0.0] * len(columns) for _ in columns]
    for i, column in enumerate(columns):
        for j in range(i + 1):
            product[i][j] = product[j][i] = dot(column, products[j])
    return product
