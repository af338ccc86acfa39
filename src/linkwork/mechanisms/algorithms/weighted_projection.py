"""Least steps that a robot's constraints ask for.

Of all δ with G δ = b the least in ½ δᵀWδ is δ = W⁻¹Gᵀ(G W⁻¹Gᵀ)⁺ b; W is diagonal here, or the mass matrix.  A number
whose inverse weight is zero stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from linkwork.expr.linalg.semidefinite_solve import MORE, Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, fmax
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import Held
from linkwork.mechanisms.algorithms.constraint_rows import AllRates
from linkwork.model.tree import Tree

__all__ = ["MassMetric", "Nearest", "Weighed", "largest", "of_errors"]

Scalars = Sequence[Any]

_NOISE = 1e-18  # part of its size below which a row is rounding


class Nearest(Protocol):
    """The rows of constraints, and how steps are measured."""

    def step(self, wanted: Scalars) -> list[Any]:
        """The least δ with G δ = wanted."""

    def short_step(self, wanted: Scalars, more: Any) -> list[Any]:
        """The same where the diagonal of G W⁻¹ Gᵀ has so much of itself more: shorter, most so where it is singular."""


@dataclass(frozen=True)
class Weighed:
    """Steps that are measured number by number; ``inverse`` are the inverse weights."""

    rates: AllRates
    inverse: Scalars
    floor: Any = 0.0  # added to the diagonal of G W⁻¹ Gᵀ: shorter steps

    @cached_property
    def rows(self) -> list[list[Any]]:
        """G W⁻¹."""
        return [
            [0.0 if is_zero(w) else x * w for x, w in zip(row, self.inverse, strict=True)] for row in self.rates.rows
        ]

    @cached_property
    def factors(self) -> Semidefinite:
        """Of G W⁻¹ Gᵀ."""
        return self._damped(MORE)

    def _damped(self, more: Any) -> Semidefinite:
        G, weighed = self.rates.rows, self.rows
        lower = [[dot(weighed[i], G[j]) for j in range(i + 1)] for i in range(len(G))]
        noise = [w * _NOISE for w in self.inverse]
        return Semidefinite.of(lower, [dot(sizes, noise) + self.floor for sizes in self.rates.sizes], more)

    def step(self, wanted: Scalars) -> list[Any]:
        return self.pulled(self.factors.solved(wanted))

    def short_step(self, wanted: Scalars, more: Any) -> list[Any]:
        return self.pulled(self._damped(MORE + more).once(wanted))

    def pulled(self, forces: Scalars) -> list[Any]:
        """W⁻¹Gᵀ λ."""
        return [dot(column, forces) for column in zip(*self.rows, strict=True)] or [0.0] * len(self.inverse)


@dataclass(frozen=True)
class MassMetric:
    """Steps that are measured by the mass matrix."""

    held: Held

    def step(self, wanted: Scalars) -> list[Any]:
        return self._moved(self.held.factors.solved(wanted))

    def short_step(self, wanted: Scalars, more: Any) -> list[Any]:
        return self._moved(self.held.damped(MORE + more).once(wanted))

    def _moved(self, forces: Scalars) -> list[Any]:
        return self.held.moved([0.0] * self.held.inverse.count, forces)


def of_errors(tree: Tree, rates: AllRates) -> AllRates:
    """The rows of those constraints that have an error."""
    holonomic = [c.holonomic for c in tree.constraints for _ in c.component_names]
    if all(holonomic):
        return rates
    kept = [k for k, has_error in enumerate(holonomic) if has_error]
    return AllRates(*([part[k] for k in kept] for part in (rates.rows, rates.bias, rates.drift, rates.sizes)))


def largest(numbers: Scalars) -> Any:
    """max |x|."""
    result: Any = 0.0
    for x in numbers:
        if not is_zero(x):
            result = fabs(x) if is_zero(result) else fmax(result, fabs(x))
    return result
