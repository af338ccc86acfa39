"""Least-norm steps onto constraints: δ = W⁻¹Gᵀ(G W⁻¹Gᵀ)⁺ b minimises ½ δᵀWδ subject to G δ = b.

W is diagonal or the mass matrix.  A component with inverse weight zero is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from linkwork._util.cached_properties import cached_property
from linkwork.expr.linalg.semidefinite_solve import MORE, Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, fmax
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import NOISE, ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_rows import AllRates
from linkwork.model.tree import Tree

__all__ = ["DiagonalMetric", "LeastNormStep", "MassMetric", "largest", "of_errors"]

Scalars = Sequence[Any]


class LeastNormStep(Protocol):
    """Solver for steps δ of least norm, in a metric W, with G δ = b for the constraint rows G."""

    def step(self, target: Scalars) -> list[Any]:
        """Return the least-norm step δ with G δ = ``target``, for the constraint rows G."""

    def short_step(self, target: Scalars, more: Any) -> list[Any]:
        """Return a step that is shorter than the least-norm one and removes only a part of ``target``.

        The diagonal of G W⁻¹ Gᵀ is increased by the relative amount ``more``, with the constraint rows G and the
        metric W.
        """


@dataclass(frozen=True)
class DiagonalMetric:
    """Least-norm steps in a diagonal metric W; ``inverse`` are the elements of W⁻¹."""

    rates: AllRates
    inverse: Scalars
    floor: Any = 0.0  # added to the diagonal of G W⁻¹ Gᵀ to shorten steps

    @cached_property
    def rows(self) -> list[list[Any]]:
        """The matrix G W⁻¹ as a list of rows, with the constraint Jacobian G and the metric W."""
        return [
            [0.0 if is_zero(w) else x * w for x, w in zip(row, self.inverse, strict=True)] for row in self.rates.rows
        ]

    @cached_property
    def factors(self) -> Semidefinite:
        """Factors of G W⁻¹ Gᵀ, with the constraint Jacobian G and the metric W."""
        return self._damped(MORE)

    def _damped(self, more: Any) -> Semidefinite:
        G, weighted = self.rates.rows, self.rows
        lower = [[dot(weighted[i], G[j]) for j in range(i + 1)] for i in range(len(G))]
        noise = [w * NOISE for w in self.inverse]
        return Semidefinite.of(lower, [dot(sizes, noise) + self.floor for sizes in self.rates.sizes], more)

    def step(self, target: Scalars) -> list[Any]:
        return self.pulled(self.factors.solved(target))

    def short_step(self, target: Scalars, more: Any) -> list[Any]:
        return self.pulled(self._damped(MORE + more).once(target))

    def pulled(self, forces: Scalars) -> list[Any]:
        """Return W⁻¹Gᵀ λ, the step that constraint forces λ cause in the metric W; G are the constraint rows."""
        return [dot(column, forces) for column in zip(*self.rows, strict=True)] or [0.0] * len(self.inverse)


@dataclass(frozen=True)
class MassMetric:
    """Least-norm steps in the metric of the mass matrix."""

    system: ConstrainedFactorization

    def step(self, target: Scalars) -> list[Any]:
        return self._moved(self.system.factors.solved(target))

    def short_step(self, target: Scalars, more: Any) -> list[Any]:
        return self._moved(self.system.damped(MORE + more).once(target))

    def _moved(self, forces: Scalars) -> list[Any]:
        return self.system.moved([0.0] * self.system.inverse.count, forces)


def of_errors(tree: Tree, rates: AllRates) -> AllRates:
    """Return Jacobian, bias and drift of the holonomic constraints only, from the ``rates`` of all constraints."""
    holonomic = [c.holonomic for c in tree.constraints for _ in c.component_names]
    if all(holonomic):
        return rates
    indices = [k for k, has_error in enumerate(holonomic) if has_error]
    return AllRates(*([part[k] for k in indices] for part in (rates.rows, rates.bias, rates.drift, rates.sizes)))


def largest(values: Scalars) -> Any:
    """Return max |x|."""
    result: Any = 0.0
    for x in values:
        if not is_zero(x):
            result = fabs(x) if is_zero(result) else fmax(result, fabs(x))
    return result
