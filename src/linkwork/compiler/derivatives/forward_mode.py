"""Forward: directional derivatives, and the rows of Jacobians."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from linkwork.compiler.derivatives.program_replay import Replay
from linkwork.compiler.derivatives.tangent_spaces import Tangent
from linkwork.expr.autodiff.graph_derivative import forward, is_zero

__all__ = ["directional", "rows_of"]


def directional(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], directions: Mapping[str, Sequence[Any]]
) -> list[list[Any]]:
    """The derivatives of some outputs along a tangent vector for each of some inputs, by its name."""
    symbols, seeds = [], []
    for tangent in by:
        numbers = replay.inputs[tangent.port.name]
        symbols += numbers
        moved = tangent.moved(numbers, directions[tangent.port.name])
        seeds += [{} if is_zero(x) else {0: x} for x in moved]
    found = _measured(replay, of, forward(_elements(replay, of), symbols, seeds))
    return [[row.get(0, 0.0) for row in rows] for rows in found]


def rows_of(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
    """The Jacobians' rows of each output, sparse: the directions of all inputs are counted one after the other."""
    symbols, seeds = [], []
    starts = list(accumulate((tangent.size for tangent in by), initial=0))
    for tangent, start in zip(by, starts, strict=False):
        numbers = replay.inputs[tangent.port.name]
        symbols += numbers
        seeds += [{start + k: x for k, x in row.items()} for row in tangent.columns(numbers)]
    return _measured(replay, of, forward(_elements(replay, of), symbols, seeds))


def _elements(replay: Replay, of: Sequence[Tangent]) -> list[Any]:
    return [x for tangent in of for x in replay.outputs[tangent.port.name]]


def _measured(replay: Replay, of: Sequence[Tangent], rows: Sequence[Any]) -> list[list[dict[int, Any]]]:
    """The rows of all outputs' numbers, taken apart and in tangent coordinates."""
    found, start = [], 0
    for tangent in of:
        end = start + tangent.port.size
        found.append(tangent.measured(replay.outputs[tangent.port.name], rows[start:end]))
        start = end
    return found
