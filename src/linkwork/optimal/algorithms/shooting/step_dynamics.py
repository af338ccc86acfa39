"""Discrete-time dynamics of shooting: a step of a state x on a manifold by a control u, and its linearisation.

    y = f(x, u),      dy = A dx + B du,

with tangent vectors dx, dy.  A class defines the step.  The step's derivatives are computed by automatic
differentiation, or in closed form.  The linearisation is a product of sparse factors.  A step that changes velocities
first, and then the configuration,

    dv⁺ = P dq + Q dv + W du,      dq⁺ = D dq + h E dv⁺,

is the product of two matrices, most of whose entries are zero or one.  A quadratic form FᵀVF is computed factor by
factor, without products that are structurally zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.matrix_product import large_product
from linkwork.expr.linalg.sparse_dot import add_matrices, dot, is_zero, mirrored, product, transposed
from linkwork.expr.scalar.functions import fabs

__all__ = ["Dynamics", "LinearStep", "congruent", "second_derivatives", "value_and_jacobian"]


Scalars = Sequence[Any]
Rates = list[dict[Any, Any]]

_LARGE = 8000  # multiplications of a congruence from which on its dense rows are products in loops


class Dynamics(ABC):
    """Discrete-time dynamics: a step y = f(x, u) of a state x on a manifold by a control u, over any scalar."""

    state_size: int  # number of values of x
    size: int  # of a tangent vector of x
    controls: int
    more: int = 0  # number of further outputs of a step, such as forces

    @abstractmethod
    def step(self, x: Scalars, u: Scalars) -> list[Any]:
        """Return the state y = f(x, u) to which a step leads."""

    def outputs_of_step(self, x: Scalars, u: Scalars) -> list[Any]:
        """Return the next state y, followed by the further outputs of the step, such as contact forces."""
        return self.step(x, u)

    def at(self, data: Scalars) -> Dynamics:
        """Return the dynamics of one step; ``data`` are the inputs of the step."""
        return self

    def moved(self, x: Scalars, change: Scalars) -> list[Any]:
        """Return x ⊕ δ, the state reached from x by moving along the tangent vector δ = ``change``."""
        return [a + b for a, b in zip(x, change, strict=True)]

    def state_difference(self, x: Scalars, y: Scalars) -> list[Any]:
        """Return y ⊖ x, the tangent vector at x that leads to y."""
        return [b - a for a, b in zip(x, y, strict=True)]

    def size_of(self, change: Scalars) -> Any:
        """Return the size of a tangent vector, the sum of the absolute values of its components in their units."""
        return sum((fabs(x) for x in change), 0.0)

    def rates(self, x: Scalars) -> Rates:
        """Return the derivatives of each value of the state x with respect to a tangent vector at x.

        There is a dict for each value, from the index of a tangent component to the derivative.
        """
        return [{k: 1.0} for k in range(self.state_size)]

    def tangent(self, y: Scalars, rates: Scalars) -> list[Any]:
        """Return the tangent vector at y along which the values of y change at the ``rates``."""
        return list(rates)

    def linear(self, x: Scalars, u: Scalars) -> tuple[list[Any], LinearStep]:
        """Return the outputs of a step and their linearisation."""
        y, rows = value_and_jacobian(lambda x, u: self.step(x, u), x, u, self.rates(x))
        columns = [self.tangent(y, [row.get(k, 0.0) for row in rows]) for k in range(self.size + self.controls)]
        return y, LinearStep(([list(row) for row in zip(*columns, strict=True)],))

    def curvature(self, x: Scalars, u: Scalars, gradients: Sequence[Scalars]) -> list[list[list[Any]]]:
        """Return second derivatives of the step y = f(x, u), weighted by w, as a Hessian H_k for each factor F_k.

        The linear step is dy = F₁ F₂ … (dx; du). H_k is the Hessian with respect to the vector that F_k multiplies, or
        empty. Their sum Σ Gᵀ H_k G with G = F_{k+1} F_{k+2} … is the Hessian of Σ wᵢ (f(x ⊕ δ, u + ε) ⊖ f(x, u))ᵢ with
        respect to (δ, ε). ``gradients`` are the vectors that `LinearStep.gradients` returns for w, without the last
        one; the first is w.
        """
        return [*([] for _ in gradients[1:]), self.whole_curvature(x, u, gradients[0])]

    def whole_curvature(self, x: Scalars, u: Scalars, weights: Scalars) -> list[list[Any]]:
        """Return the Hessian of Σ wᵢ (f(x ⊕ δ, u + ε) ⊖ f(x, u))ᵢ with respect to (δ, ε), by automatic differentiation.

        f is `step`, and ``weights`` are w.
        """
        y = self.step(x, u)
        n, m = self.size, self.controls

        def weighted_step(change: Scalars) -> Any:
            end = self.step(self.moved(x, change[:n]), [a + b for a, b in zip(u, change[n:], strict=True)])
            total: Any = 0.0
            for w, d in zip(weights, self.state_difference(y, end), strict=True):
                total = total + w * d
            return total

        return second_derivatives(weighted_step, n + m)


def value_and_jacobian(
    compute: Callable[[list[Any], list[Any]], Sequence[Any]], x: Scalars, u: Scalars, rates: Rates
) -> tuple[list[Any], list[dict[Any, Any]]]:
    """Return the values compute(x, u) and the derivatives of each value, as a dict by column.

    Columns are the components of the tangent vector of x, then of u. ``rates`` are the derivatives of each value of x
    with respect to the tangent vector.
    """
    size = 1 + max((key for row in rates for key in row), default=-1)
    rows = [SparseTangent(row) for row in rates] + [SparseTangent({size + k: 1.0}) for k in range(len(u))]
    moving = seeded([*x, *u], rows)
    if not moving:
        return list(compute([], [])), []
    outputs = [parts(value, moving[0].level) for value in compute(moving[: len(x)], moving[len(x) :])]
    tangents = [tangent if isinstance(tangent, SparseTangent) else SparseTangent({}) for _, tangent in outputs]
    return [value for value, _ in outputs], [dict(tangent.row) for tangent in tangents]


def second_derivatives(compute: Callable[[Scalars], Any], count: int) -> list[list[Any]]:
    """Return the Hessian of a scalar compute(δ) at δ = 0, with ``count`` components of δ."""
    units: Rates = [{k: 1.0} for k in range(count)]

    def gradient(change: Scalars, _: Scalars) -> list[Any]:
        _, (row,) = value_and_jacobian(lambda at, _: [compute(at)], change, (), units)
        return [row.get(k, 0.0) for k in range(count)]

    _, rows = value_and_jacobian(gradient, [0.0] * count, (), units)
    return [[rows[max(i, j)].get(min(i, j), 0.0) for j in range(count)] for i in range(count)]


Matrix = Sequence[Scalars]


@dataclass(frozen=True, slots=True)
class LinearStep:
    """Linearisation dy = F₁ F₂ … (dx; du) of a step, as factors F₁, F₂, ...

    The last factor has a column for each component of dx and of du.
    """

    factors: tuple[Matrix, ...]
    more: Matrix = ()  # derivatives of further outputs by (x, u)

    def changed(self, changes: Scalars) -> list[Any]:
        """Return the product F (dx; du) with F = F₁ F₂ …; ``changes`` is (dx; du)."""
        result = list(changes)
        for factor in reversed(self.factors):
            result = [dot(row, result) for row in factor]
        return result

    def rows(self) -> list[list[Any]]:
        """Return F = F₁ F₂ …, the Jacobian of the next state with respect to the state and the control."""
        return reduce(product, self.factors[1:], [list(row) for row in self.factors[0]])

    def gradient(self, v: Scalars) -> list[Any]:
        """Return Fᵀ v, the gradient in state and control, from the gradient v in the next state.

        F = F₁ F₂ … is the Jacobian of the step.
        """
        return self.gradients(v)[-1]

    def gradients(self, v: Scalars) -> list[list[Any]]:
        """Return the gradients v, F₁ᵀ v, F₂ᵀ F₁ᵀ v, … of a function of the next state.

        v is its gradient in the next state. The others are its gradients in the vectors that the factors F₁, F₂, … of
        the step multiply.
        """
        result = [list(v)]
        for factor in self.factors:
            result.append([dot(column, result[-1]) for column in transposed(factor)])
        return result

    def hessian(self, V: Matrix, curvature: Sequence[Matrix] = ()) -> list[list[Any]]:
        """Return FᵀV F, the Hessian in state and control, from the symmetric Hessian V in the next state.

        F = F₁ F₂ … is the Jacobian of the step.  V and the result are full matrices.  ``curvature`` are the parts that
        `Dynamics.curvature` returns; the second derivatives of the step are added to the result.
        """
        result = [list(row) for row in V]
        for k, factor in enumerate(self.factors):
            result = congruent(result, factor)
            if curvature and curvature[k]:
                result = [
                    [x if is_zero(y) else y if is_zero(x) else x + y for x, y in zip(*rows, strict=True)]
                    for rows in zip(result, curvature[k], strict=True)
                ]
        return result


def congruent(V: Matrix, F: Matrix) -> list[list[Any]]:
    """Return FᵀV F for a symmetric V; the result is exactly symmetric.

    If many rows of F are mostly nonzero, large matrix products are used for these rows.
    """
    dense = [k for k, row in enumerate(F) if 2 * sum(map(is_zero, row)) < len(row)]
    if len(F) * len(dense) * len(F[0]) > _LARGE:
        return _congruent_in_parts(V, F, dense)
    columns = _nonzero_columns(F)
    products = [[_dot(column, row) for row in V] for column in columns]
    product: list[list[Any]] = [[0.0] * len(columns) for _ in columns]
    for i, column in enumerate(columns):
        for j in range(i + 1):
            product[i][j] = product[j][i] = _dot(column, products[j])
    return product


def _congruent_in_parts(V: Matrix, F: Matrix, dense: Sequence[int]) -> list[list[Any]]:
    """Return FᵀV F for a symmetric V, with large matrix products for the rows of F with indices ``dense``.

    All other rows are multiplied by explicit operations. The sum of the products is symmetric, so most of the half
    above the diagonal is not computed.
    """
    sparse = [k for k in range(len(F)) if k not in set(dense)]
    rows, columns = [F[k] for k in dense], _nonzero_columns([F[k] for k in sparse])
    width = max((i + 1 for i, column in enumerate(columns) if column), default=0)  # of the nonzero columns
    product = _product_of_both(V, rows, columns, dense, dense, sparse)
    inner = _lower_product(transposed(rows), product)
    if width:
        narrow = [row[:width] for row in rows]
        product = _product_of_both(V, narrow, columns[:width], sparse, dense, sparse)
        for i, column in enumerate(columns[:width]):
            for j in range(i + 1):
                inner[i][j] = inner[i][j] + _dot(column, [line[j] for line in product])
    return mirrored(inner)


def _product_of_both(
    V: Matrix,
    rows: Matrix,
    columns: Sequence[NonzeroColumn],
    of: Sequence[int],
    dense: Sequence[int],
    sparse: Sequence[int],
) -> list[list[Any]]:
    """Return rows of V F, as a large product for dense rows of F plus explicit operations for sparse rows.

    ``of`` are the indices of the result's rows. ``dense`` and ``sparse`` are indices of rows of F. ``rows`` are the
    dense rows, and ``columns`` the nonzero entries of the sparse rows, by column.
    """
    product = large_product([[V[i][k] for k in dense] for i in of], rows)
    if not any(columns):
        return product
    shares = [[_dot(column, [V[i][k] for k in sparse]) for column in columns] for i in of]
    return add_matrices(product, shares)


def _lower_product(left: Matrix, right: Matrix) -> list[list[Any]]:
    """Return the product of two matrices, if it is square and only its lower triangle is needed.

    Some blocks above the diagonal are not computed.
    """
    half = len(left) // 2 // 8 * 8
    above = large_product(left[:half], [row[:half] for row in right]) if half else []
    return [*above, *large_product(left[half:], right)]


NonzeroColumn = list[tuple[int, Any]]  # row and value of each element that may be nonzero


def _nonzero_columns(F: Matrix) -> list[NonzeroColumn]:
    return [[(k, x) for k, x in enumerate(column) if not is_zero(x)] for column in zip(*F, strict=True)]


def _dot(column: NonzeroColumn, values: Scalars) -> Any:
    """Return the scalar product of a sparse ``column`` and a vector of ``values``."""
    total: Any = 0.0
    for k, x in column:
        y = values[k]
        if not is_zero(y):
            total = x * y if is_zero(total) else total + x * y
    return total
