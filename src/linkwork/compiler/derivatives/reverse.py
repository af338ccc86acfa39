"""Reverse: gradients, and the rows of Jacobians one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...expr.derivative import adjoint, is_zero
from .replay import Replay
from .tangents import Tangent

__all__ = ["by_numbers", "gradients", "rows_of"]


def by_numbers(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Mapping[str, Sequence[Any]]
) -> list[list[Any]]:
    """The gradients of Σ weights · outputs by the numbers of each input."""
    outputs: list[Any] = []
    given: list[Any] = []
    for tangent in of:
        numbers = replay.outputs[tangent.port.name]
        outputs += numbers
        given += tangent.weighed(numbers, weights[tangent.port.name])
    symbols = [x for tangent in by for x in replay.inputs[tangent.port.name]]
    found = iter(adjoint(outputs, symbols, given))
    return [[next(found) for _ in range(tangent.port.size)] for tangent in by]


def gradients(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Mapping[str, Sequence[Any]]
) -> list[list[Any]]:
    """The same by the inputs' tangent vectors."""
    found = by_numbers(replay, of, by, weights)
    return [tangent.gradient(replay.inputs[tangent.port.name], g) for tangent, g in zip(by, found, strict=True)]


def rows_of(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
    """The Jacobians' rows of each output, sparse: the directions of all inputs are counted one after the other."""
    found = []
    for tangent in of:
        rows = []
        for k in range(tangent.size):
            unit = [1.0 if j == k else 0.0 for j in range(tangent.size)]
            flat = [x for part in gradients(replay, [tangent], by, {tangent.port.name: unit}) for x in part]
            rows.append({j: x for j, x in enumerate(flat) if not is_zero(x)})
        found.append(rows)
    return found
