"""Numbers with another derivative than that of the way on which they were found: none, or that of other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative import Rule, ruled

__all__ = ["moved_as", "still"]

Scalars = Sequence[Any]


@dataclass(frozen=True)
class _Still(Rule):
    """Numbers as they are, without a derivative."""

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs, []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        return [0.0] * len(results)

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        return [0.0] * len(inputs)


@dataclass(frozen=True)
class _MovedAs(Rule):
    """The first half of numbers, with the derivative of the others."""

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs[: len(inputs) // 2], []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        return direction[len(results) :]

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        return [*([0.0] * len(results)), *weights]


def still(numbers: Scalars) -> list[Any]:
    """The same numbers, without derivatives."""
    return ruled(_Still(), numbers)


def moved_as(numbers: Scalars, others: Scalars) -> list[Any]:
    """Numbers that are found elsewhere, with the derivatives of others."""
    return ruled(_MovedAs(), [*numbers, *others])
