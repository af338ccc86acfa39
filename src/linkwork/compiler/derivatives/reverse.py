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
        for x, weight in zip(numbers, tangent.weighed(numbers, weights[tangent.port.name]), strict=True):
            if not is_zero(weight):
                outputs.append(x)
                given.append(weight)
    symbols = [x for tangent in by for x in replay.inputs[tangent.port.name]]
    found = iter(adjoint(outputs, symbols, given))
    return [[next(found) for _ in range(tangent.port.size)] for tangent in by]


def gradients(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Mapping[str, Sequence[Any]]
) -> list[list[Any]]:
    """The same by the inputs' tangent vectors."""
    return _by_tangents(by, _columns(replay, by), by_numbers(replay, of, by, weights))


def rows_of(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
    """The Jacobians' rows of each output, sparse: the directions of all inputs are counted one after the other."""
    found, columns = [], _columns(replay, by)
    for tangent in of:
        rows = []
        for k in range(tangent.size):
            unit = [1.0 if j == k else 0.0 for j in range(tangent.size)]
            gradient = _by_tangents(by, columns, by_numbers(replay, [tangent], by, {tangent.port.name: unit}))
            flat = [x for part in gradient for x in part]
            rows.append({j: x for j, x in enumerate(flat) if not is_zero(x)})
        found.append(rows)
    return found


def _columns(replay: Replay, by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
    return [tangent.columns(replay.inputs[tangent.port.name]) for tangent in by]


def _by_tangents(
    by: Sequence[Tangent], columns: Sequence[Sequence[Mapping[int, Any]]], found: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    return [tangent.gradient(N, g) for tangent, N, g in zip(by, columns, found, strict=True)]
