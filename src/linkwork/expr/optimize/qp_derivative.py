"""The solution of a quadratic program as a rule: how it varies, by the rows that are held.

With W held, x and their multipliers λ solve K (x, λ) = (−g, b), K = [[H, C_Wᵀ], [C_W, 0]]; so

    K (dx, dλ) = (−dg − dH x − dC_Wᵀλ, db − dC_W x),

and in reverse, with K w = (x̄, λ̄) and w = (u, v): ḡ = −u, H̄ = −u xᵀ, C̄ = −λ uᵀ − v xᵀ, b̄ = v.  K is solved with the
tableau that is there, and proximal steps where H + E was factored.

Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, Academic Press 1983;
Amos and Kolter, OptNet: differentiable optimization as a layer in neural networks, ICML 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, ruled
from linkwork.expr.control import fori_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero, less, mirrored, rows_of, transposed
from linkwork.expr.optimize.dual_active_set import triangle
from linkwork.expr.optimize.proximal_qp import ConvexProgram, solution
from linkwork.expr.optimize.row_scaling import Factored, are_loops_better
from linkwork.expr.scalar.functions import eq, lt, not_, where

__all__ = ["Minimum"]

_STEPS = 3

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Shape:
    """How numbers of a program stand one after the other: the lower triangle of H, g, A, lower and upper bounds, and
    what is to be held first."""

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
        return mirrored([lower[triangle(i, 0) :][: i + 1] for i in range(self.n)])

    def of_rows(self, A: Sequence[Scalars], x: Scalars) -> list[Any]:
        """C x."""
        return [*(dot(row, x) for row in A), *(x[j] for j in self.bounded)]

    def of_columns(self, A: Sequence[Scalars], weights: Scalars) -> list[Any]:
        """Cᵀ w."""
        columns = transposed(A) if A else [[]] * self.n
        found = [dot(column, weights[: self.m]) for column in columns]
        for j, weight in zip(self.bounded, weights[self.m :], strict=True):
            found[j] = found[j] + weight
        return found


@dataclass(frozen=True, slots=True)
class Minimum(CustomDerivative):
    """x, a multiplier and the side of each row that is given, the status and the number of changes."""

    shape: _Shape
    tolerance: float
    max_iterations: int

    @staticmethod
    def of(program: ConvexProgram) -> Scalars:
        """x, multipliers, sides, status and changes of a program, differentiated by this rule."""
        shape = _Shape(len(program.g), len(program.A), tuple(program.bounded))
        lower = [program.H[i][j] for i in range(shape.n) for j in range(i + 1)]
        rows = [x for row in program.A for x in row]
        inputs = [*lower, *program.g, *rows, *program.lower, *program.upper, *program.warm]
        return ruled(Minimum(shape, program.tolerance, program.max_iterations), inputs)

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        H, g, A, lower, upper, warm = self.shape.split(inputs)
        program = ConvexProgram(
            H, [*g], A, [*self.shape.bounded], [*lower], [*upper], [*warm], self.tolerance, self.max_iterations
        )
        found, tableau, factors = solution(program)
        results = [*found.x, *found.multipliers, *found.sides, found.status, found.iterations]
        return results, [*tableau, *_flat(factors)]

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        shape = self.shape
        n, k = shape.n, shape.rows
        dH, dg, dA, below, above, _ = shape.split(direction)
        x, multipliers, sides = results[:n], results[n : n + k], results[n + k : n + 2 * k]
        pulled = [dot(column, multipliers[: shape.m]) for column in transposed(dA)] if dA else [0.0] * n
        p = [0.0 - (a + dot(row, x) + b) for a, row, b in zip(dg, dH, pulled, strict=True)]
        shifts = [dot(row, x) for row in dA] + [0.0] * len(shape.bounded)
        q = [where(lt(0.0, side), b, a) - shift for side, a, b, shift in zip(sides, below, above, shifts, strict=True)]
        found = self._varied(inputs, sides, extra, p, q)
        return [*found, *[0.0] * (k + 2)]

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        shape = self.shape
        n, k = shape.n, shape.rows
        x, multipliers, sides = results[:n], results[n : n + k], results[n + k : n + 2 * k]
        if all(map(is_zero, weights[: n + k])):
            return [0.0] * len(inputs)
        found = self._varied(inputs, sides, extra, weights[:n], weights[n : n + k])
        u, v = found[:n], found[n:]
        H = [0.0 - u[i] * x[j] - (u[j] * x[i] if i != j else 0.0) for i in range(n) for j in range(i + 1)]
        A = [less(0.0 - multipliers[i] * u[j], [v[i]], [x[j]]) for i in range(shape.m) for j in range(n)]
        lower = [where(lt(side, 0.0), b, 0.0) for side, b in zip(sides, v, strict=True)]
        upper = [where(lt(0.0, side), b, 0.0) for side, b in zip(sides, v, strict=True)]
        return [*H, *(0.0 - b for b in u), *A, *lower, *upper, *[0.0] * k]

    def _varied(self, inputs: Scalars, sides: Scalars, extra: Scalars, p: Scalars, q: Scalars) -> Scalars:
        """(u, v) with K (u, v) = (p, q), v being 0 of rows that are not held."""
        shape = self.shape
        H, A = inputs[: shape.n * (shape.n + 1) // 2], inputs[shape.n * (shape.n + 3) // 2 :][: shape.m * shape.n]
        return ruled(_Held(shape, len(extra)), [*H, *A, *sides, *extra, *p, *q])


@dataclass(frozen=True, slots=True)
class _Held(CustomDerivative):
    """(u, v) with K (u, v) = (p, q): inputs are H and A, which rows are held, factors, p and q."""

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
        held = [not_(eq(side, 0.0)) for side in sides]

        def step(_: Any, state: Any) -> Any:
            u, v = state
            weights = [x * scale for x, scale in zip(v, factors.scales, strict=True)]
            pulled = shape.of_columns(A, weights)
            left = [a - dot(row, u) - b for a, row, b in zip(p, H, pulled, strict=True)]
            z = factors.forward(left)
            gaps = [
                where(x, dot(y, z) - (b - c) * scale, 0.0)
                for x, y, b, c, scale in zip(held, factors.Y, q, shape.of_rows(A, u), factors.scales, strict=True)
            ]
            moved = [
                where(x, 0.0 - dot([tableau[triangle(i, j)] for j in range(k)], gaps), 0.0) for i, x in enumerate(held)
            ]
            back = [a - b for a, b in zip(z, factors.of_columns(factors.Y, moved), strict=True)]
            u = [a + b for a, b in zip(u, factors.backward(back), strict=True)]
            return filled((n,), u), filled((k,), [a + b for a, b in zip(v, moved, strict=True)])

        start = filled((n,), [0.0] * n), filled((k,), [0.0] * k)
        u, v = fori_loop(0, _STEPS, step, start)
        return [*u, *(x * scale for x, scale in zip(v, factors.scales, strict=True))], []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        shape = self.shape
        n = shape.n
        dH, dA, _, _, dp, dq = self._split(direction)
        u, v = results[:n], results[n:]
        pulled = [dot(column, v[: shape.m]) for column in transposed(dA)] if dA else [0.0] * n
        p = [a - dot(row, u) - b for a, row, b in zip(dp, dH, pulled, strict=True)]
        shifts = [dot(row, u) for row in dA] + [0.0] * len(shape.bounded)
        return self._again(inputs, p, [a - b for a, b in zip(dq, shifts, strict=True)])

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        shape = self.shape
        n = shape.n
        u, v = results[:n], results[n:]
        w = self._again(inputs, weights[:n], weights[n:])
        a, b = w[:n], w[n:]
        H = [0.0 - a[i] * u[j] - (a[j] * u[i] if i != j else 0.0) for i in range(n) for j in range(i + 1)]
        A = [0.0 - v[i] * a[j] - b[i] * u[j] for i in range(shape.m) for j in range(n)]
        return [*H, *A, *[0.0] * (shape.rows + self.extra), *a, *b]

    def _again(self, inputs: Scalars, p: Scalars, q: Scalars) -> Scalars:
        """The solution with other right sides."""
        return ruled(self, [*inputs[: len(inputs) - self.shape.n - self.shape.rows], *p, *q])


def _flat(factors: Factored) -> list[Any]:
    """Factors as numbers."""
    lower = [x for row in factors.L for x in row]
    columns = [x for row in factors.columns for x in row]
    Y = [x for row in factors.Y for x in row]
    return [*factors.scales, *factors.D_inv, *lower, *Y, *columns, *factors.lengths]


def _factors(shape: _Shape, numbers: Scalars) -> Factored:
    """And factors of them."""
    n, k = shape.n, shape.rows
    rest = iter(numbers)

    def take(count: int) -> list[Any]:
        return [next(rest) for _ in range(count)]

    scales, D_inv = take(k), take(n)
    L = [take(i) for i in range(n)]
    Y = [take(n) for _ in range(k)]
    left = [*rest]
    columns = rows_of(left, n) if left else []
    lengths = left[n * n :]
    return Factored(n, L, D_inv, [], True, columns, lengths, Y, scales, [], are_loops_better(n, k))
