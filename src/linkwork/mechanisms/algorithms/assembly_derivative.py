"""Derivative of an assembled configuration by the implicit function theorem, independent of the solver.

For φ(q, p) = 0 and the reference r to which q is closest,

    δq = δr − A (G δr + φ_p δp),      A = W⁻¹Gᵀ (G W⁻¹Gᵀ)⁺,

in tangent vectors.  The derivative is exact if the constraints and the fixed joints determine q.  Otherwise it is exact
for q = r, with an error that grows with the distance of q from r.  In reverse mode, for weights w and u = Aᵀw, the
derivative by r is w − Gᵀu and by p is −φ_pᵀu.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from linkwork._util.cached_properties import cached_property
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.expr.autodiff.graph_derivative import is_zero
from linkwork.expr.control.closure_conversion import Residual, close_over, inner_symbols
from linkwork.expr.linalg.sparse_dot import dot, rows_of, transposed
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.symbol import Symbol
from linkwork.mechanisms.algorithms.constraint_rows import AllRates
from linkwork.mechanisms.algorithms.weighted_projection import DiagonalMetric, LeastNormStep
from linkwork.model.tree import Tree

__all__ = ["with_assembly_derivative"]

Scalars = Sequence[Any]
Linear = Callable[[Scalars], tuple[Scalars, Sequence[Scalars], LeastNormStep]]


def with_assembly_derivative(
    tree: Tree, q: Scalars, diagnostics: Scalars, reference: Scalars, linear: Linear
) -> tuple[list[Any], list[Any]]:
    """Return q and the solver's ``diagnostics`` as symbols that have the derivative rule of an assembly.

    Scalars other than symbols are returned unchanged. The derivatives of diagnostics are zero. ``linear``(q) returns
    the constraint errors, their Jacobian G, and a solver for least-norm steps.
    """
    symbols = [x for x in (*q, *diagnostics, *reference) if not isinstance(x, float)]
    if not symbols or not all(x.__class__ is Symbol for x in symbols):
        return list(q), list(diagnostics)
    fresh = inner_symbols(symbols[0].graph, "the configuration that satisfies constraints", len(q))
    error, rows, nearest = linear(fresh)
    target = inner_symbols(symbols[0].graph, "the errors that a step removes", len(error))
    values = [*error, *(x for row in rows for x in row), *_blocks(tree, "q_dot_jacobian", fresh)]
    if isinstance(
        nearest, DiagonalMetric
    ):  # few functions are differentiated: only their derivatives have the code of these steps
        values += [*(x for row in nearest.rates.sizes for x in row), *nearest.inverse]
    else:
        values += nearest.step(target)
    body, outside = close_over([*fresh, *target], values)
    reference_symbols = inner_symbols(symbols[0].graph, "the reference of a configuration", len(q))
    rates, _ = close_over(reference_symbols, _blocks(tree, "velocity_from_rate_jacobian", reference_symbols))
    slices = tuple((tree.q_slices[i].start, tree.v_slices[i].start, b.joint.nq, b.joint.nv) for i, b in tree.stacked())
    rule = _AssemblyRule(body, rates, slices, len(error), len(diagnostics), isinstance(nearest, DiagonalMetric))
    result = apply_rule(rule, [*q, *diagnostics, *reference, *outside])
    return result[: len(q)], result[len(q) :]


def _blocks(tree: Tree, method: str, q: Scalars) -> list[Any]:
    """Return the elements, row by row, of the matrices that a method of each joint returns for its part of q."""
    result = [body.call_joint(method, q[tree.q_slices[i]]) for i, body in tree.stacked()]
    return [x for rows in result for row in rows for x in row]


@dataclass(frozen=True)
class _AssemblyRule(CustomDerivative):
    """Derivative rule of an assembled configuration q.

    Its inputs are q, the solver's diagnostics, the reference to which q is closest, and symbols of the surrounding
    graph that the constraint errors φ depend on. Its results are q and the diagnostics.
    """

    body: Region
    """φ, rows of G, the joints' ∂q̇/∂v, and A e, as functions of q, e (errors) and outer symbols.

    If ``is_diagonal``, in the place of A e: the squared elements of G without cancellation, and W⁻¹.
    """
    rates: Region  # the joints' ∂v/∂q̇ at the reference
    slices: tuple[tuple[int, int, int, int], ...]  # of joints: start in q, start in v, nq, nv
    errors: int  # number of errors
    diagnostics: int  # number of diagnostics
    is_diagonal: bool  # W is a diagonal matrix
    separable: ClassVar[bool] = False

    @property
    def nq(self) -> int:
        return sum(nq for _, _, nq, _ in self.slices)

    @property
    def nv(self) -> int:
        return sum(nv for _, _, _, nv in self.slices)

    @cached_property
    def _residual(self) -> Residual:
        """Constraint errors φ(q, ·) as a function with derivatives, also by symbols of the surrounding graph."""
        return Residual(self.body, self.nq, self.errors)

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs[: self.nq + self.diagnostics], []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        _, reference, outside = self._split(inputs)
        _, moved, changed = self._split(direction)
        q = results[: self.nq]
        if all(map(is_zero, (*moved, *changed))):
            return [0.0] * len(results)
        rows, steps, blocks = self._linear(q, outside)
        along = self._times(self.rates.run(reference), moved, of_v=False)
        open_ = [dot(row, along) for row in rows]
        if not all(map(is_zero, changed)):
            zeros = [0.0] * self.errors
            by_outside = self._residual.jvp.run([*q, *zeros, *outside, *zeros, *changed])
            open_ = [a + b for a, b in zip(open_, by_outside, strict=True)]
        result = [a - dot([step[k] for step in steps], open_) for k, a in enumerate(along)]
        return [*self._times(blocks, result, of_v=True), *[0.0] * self.diagnostics]

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        _, reference, outside = self._split(inputs)
        q, w = results[: self.nq], weights[: self.nq]
        if all(map(is_zero, w)):
            return [0.0] * len(inputs)
        rows, steps, blocks = self._linear(q, outside)
        of_v = self._times(blocks, w, of_v=True, across=True)
        forces = [0.0 - dot(step, of_v) for step in steps]
        by_rates = [x + dot([row[k] for row in rows], forces) for k, x in enumerate(of_v)]
        by_reference = self._times(self.rates.run(reference), by_rates, of_v=False, across=True)
        by_outside = self._residual.vjp.run([*q, *[0.0] * self.errors, *outside, *forces])[self.errors :]
        return [*[0.0] * len(results), *by_reference, *by_outside]

    def _split(self, values: Scalars) -> tuple[Scalars, Scalars, Scalars]:
        start = self.nq + self.diagnostics
        return values[:start], values[start : start + self.nq], values[start + self.nq :]

    def _linear(self, q: Scalars, outside: Scalars) -> tuple[list[Any], list[Any], Scalars]:
        """Return the rows of G, the columns of A, and the elements of the joints' matrices ∂q̇/∂v.

        G is the Jacobian of the errors φ by the tangent vector of q. A = W⁻¹Gᵀ (G W⁻¹Gᵀ)⁺ maps errors to the step of
        least W-norm that removes them when it is subtracted. ``outside`` are the values of the outer symbols.
        """
        nv, count = self.nv, self.errors
        units = [[float(i == k) for k in range(count)] for i in range(count)]
        if self.is_diagonal:
            values = self.body.run([*q, *[0.0] * count, *outside])[count:]
            rows, sizes = rows_of(values, nv, count), rows_of(values[-(count + 1) * nv :], nv, count)
            nearest = DiagonalMetric(AllRates(rows, [], [], sizes), values[-nv:])
            return rows, [nearest.step(unit) for unit in units], values[count * nv : -(count + 1) * nv]
        results = [self.body.run([*q, *unit, *outside])[count:] for unit in units]
        rows = [results[0][k * nv : (k + 1) * nv] for k in range(count)]
        return rows, [result[-nv:] for result in results], results[0][count * nv : -nv]

    def _times(self, blocks: Scalars, x: Scalars, *, of_v: bool, across: bool = False) -> list[Any]:
        """Multiply x by the joints' matrices, nq × nv if ``of_v`` else nv × nq, or by their transposes (``across``)."""
        result: list[Any] = [0.0] * (self.nq if of_v != across else self.nv)
        start = 0
        for q, v, nq, nv in self.slices:
            high, wide = (nq, nv) if of_v else (nv, nq)
            rows = [blocks[start + k * wide : start + (k + 1) * wide] for k in range(high)]
            start += high * wide
            from_, to = ((v, nv), (q, nq)) if of_v != across else ((q, nq), (v, nv))
            matrix = transposed(rows) if across else rows
            result[to[0] : to[0] + to[1]] = [dot(row, x[from_[0] : from_[0] + from_[1]]) for row in matrix]
        return result
