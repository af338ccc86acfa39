"""Rules that state their derivative forward alone: in reverse it is the transpose of that, found by tracing it once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from linkwork.expr.autodiff.custom_derivative import CustomDerivative
from linkwork.expr.autodiff.graph_derivative import adjoint, is_zero
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.symbol import Graph

__all__ = ["Transposed"]


class Transposed(CustomDerivative):
    """A rule whose `tangent` is a formula, linear in the direction, that can be traced; it computes no truth values for
    its derivatives.
    """

    __slots__ = ()

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        used = tuple(k for k, weight in enumerate(weights) if not is_zero(weight))
        if not used:
            return [0.0] * len(inputs)
        body = _pulled(self, len(inputs), len(results), len(extra), used)
        return body.run([*inputs, *results, *extra, *(weights[k] for k in used)])


@lru_cache(maxsize=256)
def _pulled(rule: Transposed, inputs: int, results: int, extra: int, used: tuple[int, ...]) -> Region:
    """The gradient by the inputs, of those, the results, what else was computed, and the weights that are used."""
    graph = Graph()
    at, result, more, direction = (graph.inputs("x", (n,)) for n in (inputs, results, extra, inputs))
    weights = graph.inputs("w", (len(used),))
    rates = rule.tangent(at, result, more, direction)
    gradient = adjoint([rates[k] for k in used], direction, weights)
    return Region.of(gradient, [*at, *result, *more, *weights])
