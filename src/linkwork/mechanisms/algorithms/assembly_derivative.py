"""How a configuration that satisfies constraints is differentiated, whatever the way to it was.

With φ(q, p) = 0 kept, and the rest going along with the reference that q is nearest to,

    δq = δr − A (G δr + φ_p δp),      A = W⁻¹Gᵀ (G W⁻¹Gᵀ)⁺,

in tangent vectors.  Where constraints, and what is held of r, determine q that is exact; where they do not, it is so
where q is the reference itself, and near it up to a part that grows with the distance.  In reverse, of weights w and
with u = Aᵀw, it is w − Gᵀu by r and −φ_pᵀu by p.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.expr.autodiff.custom_derivative import CustomDerivative, ruled
from linkwork.expr.autodiff.graph_derivative import is_zero
from linkwork.expr.control.closure_conversion import Residual, closed, lent
from linkwork.expr.linalg.sparse_dot import dot, transposed
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.symbol import Symbol
from linkwork.mechanisms.algorithms.weighted_projection import Nearest
from linkwork.model.tree import Tree

__all__ = ["implied"]

Scalars = Sequence[Any]
Linear = Callable[[Scalars], tuple[Scalars, Sequence[Scalars], Nearest]]


def implied(tree: Tree, q: Scalars, told: Scalars, reference: Scalars, linear: Linear) -> tuple[list[Any], list[Any]]:
    """q, and what else was told of the way to it, which has no derivative, as numbers that know how they are
    differentiated; ``linear`` gives φ, G and least steps at a configuration.

    On anything but symbols they are as they are.
    """
    symbols = [x for x in (*q, *told, *reference) if not isinstance(x, float)]
    if not symbols or not all(x.__class__ is Symbol for x in symbols):
        return list(q), list(told)
    fresh = lent(symbols[0].graph, "the configuration that satisfies constraints", len(q))
    error, rows, nearest = linear(fresh)
    units = [[float(i == k) for k in range(len(error))] for i in range(len(error))]
    steps = [nearest.step(unit) for unit in units]  # the columns of A
    numbers = [*error, *(x for row in rows for x in row), *(x for step in steps for x in step)]
    body, outside = closed(fresh, [*numbers, *_blocks(tree, "q_dot_jacobian", fresh)])
    other = lent(symbols[0].graph, "the reference of a configuration", len(q))
    rates, _ = closed(other, _blocks(tree, "velocity_from_rate_jacobian", other))
    places = tuple((tree.q_slices[i].start, tree.v_slices[i].start, b.joint.nq, b.joint.nv) for i, b in tree.stacked())
    rule = _Implied(body, rates, places, len(error), len(told))
    result = ruled(rule, [*q, *told, *reference, *outside])
    return result[: len(q)], result[len(q) :]


def _blocks(tree: Tree, method: str, q: Scalars) -> list[Any]:
    """A matrix of each joint's, row by row."""
    result = [body.call_joint(method, q[tree.q_slices[i]]) for i, body in tree.stacked()]
    return [x for rows in result for row in rows for x in row]


@dataclass(frozen=True)
class _Implied(CustomDerivative):
    """Inputs are q, what was told, the reference and what else φ depends on; results q and what was told."""

    body: Region  # φ, the rows of G, the columns of A and the joints' q̇ by v, of q and what else there is
    rates: Region  # the joints' v by q̇, of the reference
    places: tuple[tuple[int, int, int, int], ...]  # of joints: where they stand in q and in v, and how many numbers
    errors: int
    told: int

    @property
    def nq(self) -> int:
        return sum(nq for _, _, nq, _ in self.places)

    @property
    def nv(self) -> int:
        return sum(nv for _, _, _, nv in self.places)

    @cached_property
    def _residual(self) -> Residual:
        """φ, of q and what else there is."""
        return Residual(self.body, self.nq, self.errors)

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs[: self.nq + self.told], []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        _, reference, outside = self._apart(inputs)
        _, moved, changed = self._apart(direction)
        q = results[: self.nq]
        if all(map(is_zero, (*moved, *changed))):
            return [0.0] * len(results)
        rows, steps, blocks = self._linear([*q, *outside])
        along = self._times(self.rates.run(reference), moved, of_v=False)
        open_ = [dot(row, along) for row in rows]
        if not all(map(is_zero, changed)):
            open_ = [a + b for a, b in zip(open_, self._residual.pushed.run([*q, *outside, *changed]), strict=True)]
        result = [a - dot([step[k] for step in steps], open_) for k, a in enumerate(along)]
        return [*self._times(blocks, result, of_v=True), *[0.0] * self.told]

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        _, reference, outside = self._apart(inputs)
        q, w = results[: self.nq], weights[: self.nq]
        if all(map(is_zero, w)):
            return [0.0] * len(inputs)
        rows, steps, blocks = self._linear([*q, *outside])
        of_v = self._times(blocks, w, of_v=True, across=True)
        forces = [0.0 - dot(step, of_v) for step in steps]
        by_rates = [x + dot([row[k] for row in rows], forces) for k, x in enumerate(of_v)]
        by_reference = self._times(self.rates.run(reference), by_rates, of_v=False, across=True)
        return [*[0.0] * len(results), *by_reference, *self._residual.pulled.run([*q, *outside, *forces])]

    def _apart(self, numbers: Scalars) -> tuple[Scalars, Scalars, Scalars]:
        start = self.nq + self.told
        return numbers[:start], numbers[start : start + self.nq], numbers[start + self.nq :]

    def _linear(self, at: Scalars) -> tuple[list[Any], list[Any], Scalars]:
        """The rows of G, the columns of A, and the joints' blocks."""
        result, nv = self.body.run(at)[self.errors :], self.nv
        parts = [result[k * nv : (k + 1) * nv] for k in range(2 * self.errors)]
        return parts[: self.errors], parts[self.errors :], result[2 * self.errors * nv :]

    def _times(self, blocks: Scalars, x: Scalars, *, of_v: bool, across: bool = False) -> list[Any]:
        """The product of joints' matrices, nq × nv ``of_v`` and else nv × nq, or of what they are across, with x."""
        result: list[Any] = [0.0] * (self.nq if of_v != across else self.nv)
        start = 0
        for q, v, nq, nv in self.places:
            high, wide = (nq, nv) if of_v else (nv, nq)
            rows = [blocks[start + k * wide : start + (k + 1) * wide] for k in range(high)]
            start += high * wide
            from_, to = ((v, nv), (q, nq)) if of_v != across else ((q, nq), (v, nv))
            lines = transposed(rows) if across else rows
            result[to[0] : to[0] + to[1]] = [dot(line, x[from_[0] : from_[0] + from_[1]]) for line in lines]
        return result
