"""Functions of what a constraint knows the rates of: their rows and biases, by the chain rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.constraints.constraint import Rates
from linkwork.expr.autodiff.dual_numbers import Dual, parts, seeded
from linkwork.expr.autodiff.sparse_tangent import Directions

__all__ = ["chained", "timed"]

Scalars = Sequence[Any]


def chained(function: Callable[[list[Any]], Scalars], values: Scalars, velocity: Scalars, rates: Rates) -> Rates:
    """The rates of f(y): rows ∂f/∂y G, bias f″(ẏ, ẏ) + ∂f/∂y γ, with those of y given.

    The bias is the second derivative by time of f along y + ẏ t + γ t²/2.
    """
    moving = seeded(values, [Directions(dict(enumerate(row))) for row in rates.rows])
    tangents = [parts(x, moving[0].level)[1] for x in function(list(moving))]
    count = len(rates.rows[0]) if rates.rows else 0
    rows = [[t.get(k) if isinstance(t, Directions) else 0.0 for k in range(count)] for t in tangents]
    first = seeded(values, velocity)
    level = first[0].level
    second = seeded(first, [Dual(x, y, level) for x, y in zip(velocity, rates.bias, strict=True)])
    found = [parts(x, second[0].level)[1] for x in function(list(second))]
    return Rates(rows, [parts(x, level)[1] for x in found])


def timed(function: Callable[[Any], Scalars], time: Any) -> tuple[list[Any], list[Any]]:
    """The first and the second derivative of functions of time."""
    (first,) = seeded([time], [1.0])
    (second,) = seeded([first], [1.0])
    found = [parts(x, second.level)[1] for x in function(second)]
    pairs = [parts(x, first.level) for x in found]
    return [rate for rate, _ in pairs], [acceleration for _, acceleration in pairs]
