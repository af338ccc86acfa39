"""Derivatives of the solution of a quadratic program by its active set.

With the active rows W, x and their multipliers λ solve K (x, λ) = (−g, b), K = [[H, C_Wᵀ], [C_W, 0]].  So

    K (dx, dλ) = (−dg − dH x − dC_Wᵀλ, db − dC_W x).

In reverse, with K w = (x̄, λ̄) and w = (u, v): ḡ = −u, H̄ = −u xᵀ, C̄ = −λ uᵀ − v xᵀ, b̄ = v.  Systems with K are
solved with the tableau of the solution, and by proximal steps if H + E was factored.

Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, Academic Press 1983; Amos
and Kolter, OptNet: differentiable optimization as a layer in neural networks, ICML 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.custom_derivative import ImplicitDerivative, Solution, apply_rule
from linkwork.expr.control import fori_loop
from linkwork.expr.linalg.sparse_dot import dot, mirrored, rows_of, subtract_dot, transposed
from linkwork.expr.optimize.dual_active_set import packed_index
from linkwork.expr.optimize.proximal_qp import ConvexProgram, solve_program
from linkwork.expr.optimize.row_scaling import ProgramFactors, are_loops_better
from linkwork.expr.scalar.functions import eq, lt, not_, where

__all__ = ["Minimum"]

_REFINEMENT_STEPS = 3

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Shape:
    """Sizes of a convex program, which define the layout of its inputs in a flat list.

    The inputs are the lower triangle of H, g, A, the lower bounds, the upper bounds and the warm start.
    """

    n: int
    m: int
    bounded: tuple[int, ...]

    @property
    def rows(self) -> int:
        return self.m + len(self.bounded)

    def split(self, values: Scalars) -> tuple[list[list[Any]], Scalars, list[list[Any]], Scalars, Scalars, Scalars]:
        n, m, k = self.n, self.m, self.rows
        ends = [n * (n + 1) // 2, n, m * n, k, k, k]
        parts, start = [], 0
        for size in ends:
            parts.append(values[start : start + size])
            start += size
        return self.symmetric(parts[0]), parts[1], rows_of(parts[2], n, m), parts[3], parts[4], parts[5]

    def symmetric(self, lower: Scalars) -> list[list[Any]]:
        return mirrored([lower[packed_index(i, 0) :][: i + 1] for i in range(self.n)])

    def of_rows(self, A: Sequence[Scalars], x: Scalars) -> list[Any]:
        """Return C x, where C has the rows of A and the unit rows of bounded variables."""
        return [*(dot(row, x) for row in A), *(x[j] for j in self.bounded)]

    def of_columns(self, A: Sequence[Scalars], weights: Scalars) -> list[Any]:
        """Return Cᵀ · weights, where C has the rows of A and the unit rows of bounded variables."""
        columns = transposed(A) if A else [[]] * self.n
        result = [dot(column, weights[: self.m]) for column in columns]
        for j, weight in zip(self.bounded, weights[self.m :], strict=True):
            result[j] = result[j] + weight
        return result


@dataclass(frozen=True, slots=True)
class Minimum(ImplicitDerivative):
    """Rule for the solution of a convex program, differentiated with its active set.

    The results are x, the multipliers and the active sides of the rows, the status and the number of changes.
    """

    shape: _Shape
    tolerance: float
    max_iterations: int

    @staticmethod
    def of(program: ConvexProgram) -> Scalars:
        """Return the solution of a convex program as a flat list, with the derivative of this rule.

        The list has x, the multipliers, the active sides of the rows, the status and the number of changes.
        """
        shape = _Shape(len(program.g), len(program.A), tuple(program.bounded))
        lower = [program.H[i][j] for i in range(shape.n) for j in range(i + 1)]
        rows = [x for row in program.A for x in row]
        inputs = [*lower, *program.g, *rows, *program.lower, *program.upper, *program.warm]
        return apply_rule(Minimum(shape, program.tolerance, program.max_iterations), inputs)

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        H, g, A, lower, upper, warm = self.shape.split(inputs)
        program = ConvexProgram(
            H, [*g], A, [*self.shape.bounded], [*lower], [*upper], [*warm], self.tolerance, self.max_iterations
        )
        result, tableau, factors = solve_program(program)
        results = [*result.x, *result.multipliers, *result.sides, result.status, result.iterations]
        return results, [*tableau, *_flat(factors)]

    @property
    def size(self) -> int:
        return self.shape.n + self.shape.rows

    def residual_jvp(self, at: Solution, direction: Scalars) -> Scalars:
        dH, dg, dA, below, above, _ = self.shape.split(direction)
        x, multipliers, sides = self._split_results(at.results)
        pulled = _transposed_product(dA, multipliers, self.shape)
        p = [0.0 - (a + dot(row, x) + b) for a, row, b in zip(dg, dH, pulled, strict=True)]
        shifts = _row_changes(dA, x, self.shape)
        q = [where(lt(0.0, side), b, a) - shift for side, a, b, shift in zip(sides, below, above, shifts, strict=True)]
        return [*p, *q]

    def residual_vjp(self, at: Solution, multipliers: Scalars) -> Scalars:
        shape = self.shape
        x, forces, sides = self._split_results(at.results)
        u, v = multipliers[: shape.n], multipliers[shape.n :]
        H = _outer(u, x)
        A = [subtract_dot(0.0 - forces[i] * u[j], [v[i]], [x[j]]) for i in range(shape.m) for j in range(shape.n)]
        lower = [where(lt(side, 0.0), b, 0.0) for side, b in zip(sides, v, strict=True)]
        upper = [where(lt(0.0, side), b, 0.0) for side, b in zip(sides, v, strict=True)]
        return [*H, *(0.0 - b for b in u), *A, *lower, *upper, *[0.0] * shape.rows]

    def solve_jacobian(self, at: Solution, right: Scalars, transpose: bool) -> Scalars:
        """Return the (u, v) of K (u, v) = right, for the matrix K of the optimality conditions of the active rows.

        v has an element for each row, 0 for an inactive one.
        """
        n, m = self.shape.n, self.shape.m
        H, A = at.inputs[: n * (n + 1) // 2], at.inputs[n * (n + 3) // 2 :][: m * n]
        _, _, sides = self._split_results(at.results)
        return apply_rule(_ActiveSystem(self.shape, len(at.extra)), [*H, *A, *sides, *at.extra, *right])

    def _split_results(self, results: Scalars) -> tuple[Scalars, Scalars, Scalars]:
        """Return the solution x, the multipliers and the active sides, from the flat list of the rule's results."""
        n, k = self.shape.n, self.shape.rows
        return results[:n], results[n : n + k], results[n + k : n + 2 * k]


@dataclass(frozen=True, slots=True)
class _ActiveSystem(ImplicitDerivative):
    """Derivative rule for the solution (u, v) of the linear equations K (u, v) = (p, q).

    K is the symmetric matrix [[H, C_Wᵀ], [C_W, 0]], where C_W are the active rows of a quadratic program with the
    Hessian H. The inputs are the lower triangle of H, A, the active sides, the tableau and the factors of the program's
    solution, p and q.
    """

    shape: _Shape
    extra: int

    def _split(self, inputs: Scalars) -> tuple[list[list[Any]], list[list[Any]], Scalars, Scalars, Scalars, Scalars]:
        shape = self.shape
        n, k = shape.n, shape.rows
        parts, start = [], 0
        for size in (n * (n + 1) // 2, shape.m * n, k, self.extra, n, k):
            parts.append(inputs[start : start + size])
            start += size
        return shape.symmetric(parts[0]), rows_of(parts[1], n, shape.m), parts[2], parts[3], parts[4], parts[5]

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        H, A, sides, extra, p, q = self._split(inputs)
        shape = self.shape
        n, k = shape.n, shape.rows
        tableau = extra[: k * (k + 1) // 2]
        factors = _factors(shape, extra[k * (k + 1) // 2 :])
        active = [not_(eq(side, 0.0)) for side in sides]

        def step(_: Any, state: Any) -> Any:
            u, v = state
            weights = [x * scale for x, scale in zip(v, factors.scales, strict=True)]
            pulled = shape.of_columns(A, weights)
            left = [a - dot(row, u) - b for a, row, b in zip(p, H, pulled, strict=True)]
            z = factors.forward(left)
            gaps = [
                where(x, dot(y, z) - (b - c) * scale, 0.0)
                for x, y, b, c, scale in zip(active, factors.Y, q, shape.of_rows(A, u), factors.scales, strict=True)
            ]
            moved = [
                where(x, 0.0 - dot([tableau[packed_index(i, j)] for j in range(k)], gaps), 0.0)
                for i, x in enumerate(active)
            ]
            back = [a - b for a, b in zip(z, factors.of_columns(factors.Y, moved), strict=True)]
            u = [a + b for a, b in zip(u, factors.backward(back), strict=True)]
            return object_array((n,), u), object_array((k,), [a + b for a, b in zip(v, moved, strict=True)])

        start = object_array((n,), [0.0] * n), object_array((k,), [0.0] * k)
        u, v = fori_loop(0, _REFINEMENT_STEPS, step, start)
        return [*u, *(x * scale for x, scale in zip(v, factors.scales, strict=True))], []

    @property
    def size(self) -> int:
        return self.shape.n + self.shape.rows

    def residual_jvp(self, at: Solution, direction: Scalars) -> Scalars:
        shape = self.shape
        dH, dA, _, _, dp, dq = self._split(direction)
        u, v = at.results[: shape.n], at.results[shape.n :]
        pulled = _transposed_product(dA, v, shape)
        p = [a - dot(row, u) - b for a, row, b in zip(dp, dH, pulled, strict=True)]
        return [*p, *(a - b for a, b in zip(dq, _row_changes(dA, u, shape), strict=True))]

    def residual_vjp(self, at: Solution, multipliers: Scalars) -> Scalars:
        n, m = self.shape.n, self.shape.m
        u, v = at.results[:n], at.results[n:]
        a, b = multipliers[:n], multipliers[n:]
        H = _outer(a, u)
        A = [0.0 - v[i] * a[j] - b[i] * u[j] for i in range(m) for j in range(n)]
        return [*H, *A, *[0.0] * (self.shape.rows + self.extra), *multipliers]

    def solve_jacobian(self, at: Solution, right: Scalars, transpose: bool) -> Scalars:
        return apply_rule(self, [*at.inputs[: len(at.inputs) - self.size], *right])


def _transposed_product(dA: Sequence[Scalars], weights: Scalars, shape: _Shape) -> list[Any]:
    """Return the product dAᵀ · weights; weights beyond the rows of A are not used."""
    return [dot(column, weights[: shape.m]) for column in transposed(dA)] if dA else [0.0] * shape.n


def _row_changes(dA: Sequence[Scalars], x: Scalars, shape: _Shape) -> list[Any]:
    """Return dC x, with dA for the rows of A and zeros for bounded variables, whose rows are constant."""
    return [dot(row, x) for row in dA] + [0.0] * len(shape.bounded)


def _outer(u: Scalars, x: Scalars) -> list[Any]:
    """Return −u xᵀ as a gradient with respect to the lower triangle of a symmetric matrix."""
    return [0.0 - u[i] * x[j] - (u[j] * x[i] if i != j else 0.0) for i in range(len(u)) for j in range(i + 1)]


def _flat(factors: ProgramFactors) -> list[Any]:
    """Return the matrix factors of a quadratic program as a flat list of scalars."""
    lower = [x for row in factors.L for x in row]
    columns = [x for row in factors.columns for x in row]
    Y = [x for row in factors.Y for x in row]
    return [*factors.scales, *factors.D_inv, *lower, *Y, *columns, *factors.lengths]


def _factors(shape: _Shape, elements: Scalars) -> ProgramFactors:
    """Return the matrix factors of a quadratic program, from the flat list that `_flat` returns."""
    n, k = shape.n, shape.rows
    remaining = iter(elements)

    def take(count: int) -> list[Any]:
        return [next(remaining) for _ in range(count)]

    scales, D_inv = take(k), take(n)
    L = [take(i) for i in range(n)]
    Y = [take(n) for _ in range(k)]
    left = [*remaining]
    columns = rows_of(left, n) if left else []
    lengths = left[n * n :]
    return ProgramFactors(n, L, D_inv, [], True, columns, lengths, Y, scales, [], are_loops_better(n, k))
