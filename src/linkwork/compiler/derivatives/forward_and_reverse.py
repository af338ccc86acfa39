"""Forward and reverse differentiation of a program, which is replayed on the symbols of a new trace.

Forward mode gives directional derivatives and Jacobian rows.  Reverse mode gives gradients and single Jacobian rows.

All Jacobian rows may depend on the results y = s(x) of a rule, such as a linear solve, that are fewer than the rows.
Then reverse mode differentiates the rule once for each of its results instead of once for each row.  For a row f(x, y),

    df/dx = ∂f/∂x + Σ ∂f/∂y_k dy_k/dx.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from linkwork.compiler.derivatives.tangent_spaces import Tangent
from linkwork.compiler.port import Port
from linkwork.compiler.program import Instruction, Program
from linkwork.expr.autodiff.custom_derivative import RULE
from linkwork.expr.autodiff.graph_derivative import adjoint, forward, is_zero
from linkwork.expr.autodiff.masked_terms import scaled, summed
from linkwork.expr.scalar.interpreter import reachable, run
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["Replay", "directional", "gradients", "gradients_by_coordinates", "rows_forward"]


def directional(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], directions: Mapping[str, Sequence[Any]]
) -> list[list[Any]]:
    """Return the directional derivatives of the outputs ``of``, a list of elements for each output.

    ``directions`` has a tangent vector for each of the inputs ``by``, by input name.
    """
    symbols, seeds = [], []
    for tangent in by:
        coordinates = replay.inputs[tangent.port.name]
        symbols += coordinates
        moved = tangent.moved(coordinates, directions[tangent.port.name])
        seeds += [{} if is_zero(x) else {0: x} for x in moved]
    result = _in_tangent_coordinates(replay, of, forward(_elements(replay, of), symbols, seeds))
    return [[row.get(0, 0.0) for row in rows] for rows in result]


def rows_forward(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
    """Return the sparse Jacobian rows of each output by forward mode.

    Columns are the tangent directions of all inputs in sequence.
    """
    symbols, seeds = [], []
    starts = list(accumulate((tangent.size for tangent in by), initial=0))
    for tangent, start in zip(by, starts, strict=False):
        coordinates = replay.inputs[tangent.port.name]
        symbols += coordinates
        seeds += [{start + k: x for k, x in row.items()} for row in tangent.columns(coordinates)]
    return _in_tangent_coordinates(replay, of, forward(_elements(replay, of), symbols, seeds))


def _elements(replay: Replay, of: Sequence[Tangent]) -> list[Any]:
    return [x for tangent in of for x in replay.outputs[tangent.port.name]]


def _in_tangent_coordinates(replay: Replay, of: Sequence[Tangent], rows: Sequence[Any]) -> list[list[dict[int, Any]]]:
    """Convert the sparse Jacobian rows of outputs from coordinates to tangent coordinates; return them by output.

    ``rows`` has one row for each coordinate of all outputs in sequence.
    """
    result, start = [], 0
    for tangent in of:
        end = start + tangent.port.size
        result.append(tangent.in_tangent_coordinates(replay.outputs[tangent.port.name], rows[start:end]))
        start = end
    return result


_MIN_RATIO = 1.5  # of rows to a rule's results, from which on the results are visited once
SparseRow = dict[int, Any]


def gradients_by_coordinates(
    replay: Replay,
    of: Sequence[Tangent],
    by: Sequence[Tangent],
    weights: Mapping[str, Sequence[Any]],
    more: Sequence[Symbol] = (),
) -> list[list[Any]]:
    """Return the gradients of Σ weights · outputs with respect to the coordinates of each input.

    The last gradient is with respect to the symbols ``more``.
    """
    outputs: list[Any] = []
    seeds: list[Any] = []
    for tangent in of:
        coordinates = replay.outputs[tangent.port.name]
        for x, weight in zip(
            coordinates, tangent.coordinate_weights(coordinates, weights[tangent.port.name]), strict=True
        ):
            if not is_zero(weight):
                outputs.append(x)
                seeds.append(weight)
    return _adjoint(replay, by, outputs, seeds, more)


def _adjoint(
    replay: Replay, by: Sequence[Tangent], outputs: Sequence[Any], weights: Sequence[Any], more: Sequence[Symbol] = ()
) -> list[list[Any]]:
    symbols = [x for tangent in by for x in replay.inputs[tangent.port.name]]
    result = iter(adjoint(outputs, [*symbols, *more], weights))
    return [[next(result) for _ in range(size)] for size in (*(tangent.port.size for tangent in by), len(more))]


def gradients(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Mapping[str, Sequence[Any]]
) -> list[list[Any]]:
    """Return the gradients of Σ weights · outputs with respect to the inputs' tangent vectors."""
    *result, _ = gradients_by_coordinates(replay, of, by, weights)
    return _by_tangents(by, _columns(replay, by), result)


def rows_reverse(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent]) -> list[list[SparseRow]]:
    """Return the sparse Jacobian rows of each output by reverse mode.

    Columns are the tangent directions of all inputs in sequence.
    """
    columns, between = _columns(replay, by), _bottleneck(replay, of)

    def row(result: Sequence[Sequence[Any]]) -> SparseRow:
        flat = [x for part in _by_tangents(by, columns, result) for x in part]
        return {j: x for j, x in enumerate(flat) if not is_zero(x)}

    @cache
    def row_between(k: int) -> SparseRow:
        *result, _ = _adjoint(replay, by, [between[k]], [1.0])
        return row(result)

    rows = []
    for tangent in of:
        rows_of_output = []
        for k in range(tangent.size):
            unit = [1.0 if j == k else 0.0 for j in range(tangent.size)]
            *result, weights = gradients_by_coordinates(replay, [tangent], by, {tangent.port.name: unit}, between)
            shares = [(w, row_between(i)) for i, w in enumerate(weights) if not is_zero(w)]
            rows_of_output.append(_summed(row(result), shares))
        rows.append(rows_of_output)
    return rows


def _bottleneck(replay: Replay, of: Sequence[Tangent]) -> list[Symbol]:
    """Return the results of one rule of differentiation through which all Jacobian rows are computed; or [].

    A rule qualifies if it has clearly fewer results than the Jacobian has rows. The rule with the most arguments is
    chosen.
    """
    outputs = [x for tangent in of for x in replay.outputs[tangent.port.name]]
    rows = sum(tangent.size for tangent in of)
    parts: dict[int, list[Symbol]] = {}
    rules: dict[int, Symbol] = {}
    for node in reachable(outputs):
        if node.op is PART and node.args[0].op is RULE:
            parts.setdefault(node.args[0].index, []).append(node)
            rules[node.args[0].index] = node.args[0]
    few = [k for k, symbols in parts.items() if len(symbols) > 1 and _MIN_RATIO * len(symbols) <= rows]
    return parts[max(few, key=lambda k: len(rules[k].args))] if few else []


def _summed(row: SparseRow, shares: Sequence[tuple[Any, SparseRow]]) -> SparseRow:
    """Return a sparse row plus Σ weight · row over the pairs (weight, sparse row) of ``shares``."""
    total: SparseRow = {}
    for weight, further_row in shares:
        for j, x in further_row.items():
            term = scaled(weight, x)
            total[j] = summed(total[j], term) if j in total else term
    return {
        j: summed(row[j], total[j]) if j in row and j in total else row.get(j, total.get(j)) for j in {**row, **total}
    }


def _columns(replay: Replay, by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
    return [tangent.columns(replay.inputs[tangent.port.name]) for tangent in by]


def _by_tangents(
    by: Sequence[Tangent], columns: Sequence[Sequence[Mapping[int, Any]]], result: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    return [tangent.gradient(N, g) for tangent, N, g in zip(by, columns, result, strict=True)]


class Replay:
    """A program traced again: its inputs and outputs as expressions of a new graph, which can be differentiated.

    Guards, the program's hidden results for checks of arguments, are left out.
    """

    def __init__(self, program: Program) -> None:
        self.graph = Graph(f"a derivative of {program.name}")
        self.inputs: dict[str, list[Symbol]] = {}
        for port in program.inputs:
            self.inputs[port.name] = self.graph.inputs(port.name, port.shape)
        elements = [symbol for symbols in self.inputs.values() for symbol in symbols]
        values = run(_marking(program, self.graph), elements)
        self.outputs: dict[str, list[Any]] = {}
        start = 0
        for port in program.outputs:
            self.outputs[port.name] = [values[r] for r in program.results[start : start + port.size]]
            start += port.size
        self.ports = list(program.inputs)

    def fresh(self, ports: Sequence[Port]) -> dict[str, list[Symbol]]:
        """Add an input to the graph for each port, and return the inputs' elements by name."""
        result = {port.name: self.graph.inputs(port.name, port.shape) for port in ports}
        self.inputs |= result
        self.ports += ports
        return result

    def program(self, name: str, outputs: Sequence[tuple[Port, Sequence[Any]]]) -> Program:
        """Return a program with these outputs, expressions of this graph, as functions of all inputs of this graph."""
        return Program.of(name, [(port, self.inputs[port.name]) for port in self.ports], outputs)


def _marking(program: Program, graph: Graph) -> Iterator[Instruction]:
    """Yield a program's instructions, and repeat its marks in ``graph``.

    A mark is the border between two steps of a program.
    """
    marks = frozenset(program.marks)
    for k, instruction in enumerate(program.instructions):
        if k in marks:
            graph.marks.append(len(graph.nodes))
        yield instruction
