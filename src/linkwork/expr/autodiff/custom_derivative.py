"""Functions with a derivative of their own: a rule says what to compute, and how what is computed is differentiated.

`ruled` applies a rule to numbers of any kind.  On symbols the results are remembered together with their rule, so that
`tangent`, `jacobian` and `adjoint` ask the rule instead of going through the operations; the rule is dropped when
code is made.  So a linear solve is differentiated with the factors that are there, and a root without the iterations.

Numbers with another derivative than that of the way on which they were found: none, or that of other numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from linkwork.expr.scalar.multi_result import FunctionSpec, MultiResult, bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = ["RULED", "CustomDerivative", "Ruled", "moved_as", "ruled", "still"]


RULED = bundle_operation("ruled")


class CustomDerivative(ABC):
    """A function and its derivative, over any scalar.  Rules are immutable values: equal if they do the same."""

    __slots__ = ()

    @abstractmethod
    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """The results, and what else was computed on the way that derivatives can use (factors, say)."""

    @abstractmethod
    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        """The results' derivatives in a direction, some of whose numbers may be 0.0."""

    @abstractmethod
    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        """The gradient of Σ weights·results by the inputs; some of the weights may be 0.0."""


def ruled(rule: CustomDerivative, inputs: Sequence[Any]) -> list[Any]:
    """The results of a rule for numbers of any kind: floats, batches, symbols, dual numbers."""
    highest: Any = max(inputs, key=lambda x: getattr(x, "_precedence", 0), default=None)
    kind = getattr(highest, "_precedence", 0)
    if kind > 1:  # of dual numbers, the parts are computed by themselves
        return list(highest._bundled(_Unfolded(rule), inputs))
    results, extra = rule.compute(inputs)
    if not kind:
        return list(results)
    kinds = "".join("t" if x.__class__ is bool or (hasattr(x, "op") and x.op.logical) else "n" for x in extra)
    bundle = Ruled(rule, len(results), len(inputs), kinds)
    result = highest.graph.bundle(bundle, [*results, *inputs, *extra])
    # what is a number does not depend on the inputs
    return [symbol if hasattr(x, "_precedence") else x for symbol, x in zip(result, results, strict=True)]


@dataclass(frozen=True)
class Ruled(MultiResult):
    """Results that were computed already, with the rule by which they are differentiated.

    The arguments are the results, the inputs and what else was computed.
    """

    rule: CustomDerivative
    results: int
    inputs: int
    extra: str  # the kinds of what else was computed

    operation: ClassVar[Operation] = RULED

    @property
    def count(self) -> int:
        return self.results

    def kinds(self, arguments: int) -> str:
        return "n" * (arguments - len(self.extra)) + self.extra

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return arguments[: self.count]

    def pushed(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[FunctionSpec]
    ) -> Sequence[FunctionSpec]:
        end = self.count + self.inputs
        return _pushed(self.rule, arguments[self.count : end], results, arguments[end:], rows[self.count : end])

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        end = self.count + self.inputs
        result = self.rule.cotangent(arguments[self.count : end], results, arguments[end:], weights)
        return [*[0.0] * self.count, *result, *[0.0] * (len(arguments) - end)]


@dataclass(frozen=True, slots=True)
class _Unfolded:
    """A rule before it is computed: for dual numbers, whose values and derivatives go different ways."""

    rule: CustomDerivative

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return ruled(self.rule, arguments)

    def pushed(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[FunctionSpec]
    ) -> Sequence[FunctionSpec]:
        _, extra = self.rule.compute(arguments)
        return _pushed(self.rule, arguments, results, extra, rows)


def _pushed(
    rule: CustomDerivative,
    inputs: Sequence[Any],
    results: Sequence[Any],
    extra: Sequence[Any],
    rows: Sequence[FunctionSpec],
) -> list[FunctionSpec]:
    """A rule's derivatives, direction by direction."""
    result: list[dict[Any, Any]] = [{} for _ in results]
    for key in dict.fromkeys(key for row in rows for key in row):
        direction = [row.get(key, 0.0) for row in rows]
        for row, derivative in zip(result, rule.tangent(inputs, results, extra, direction), strict=True):
            if not (isinstance(derivative, float) and derivative == 0.0):
                row[key] = derivative
    return list(result)


Scalars = Sequence[Any]


@dataclass(frozen=True)
class _Still(CustomDerivative):
    """Numbers as they are, without a derivative."""

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs, []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        return [0.0] * len(results)

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        return [0.0] * len(inputs)


@dataclass(frozen=True)
class _MovedAs(CustomDerivative):
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
