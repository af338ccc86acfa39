"""Forward and reverse differentiation of a program, which is replayed on the symbols of a new trace.

Forward mode gives directional derivatives and Jacobian rows.  Reverse mode gives gradients and single Jacobian rows.

Rows may depend on the results of a rule (what a step solves, say) that are fewer than the rows.  Then reverse mode
visits those results once instead of once for each row: with y = s(x) of the rule and a row f(x, y),

    df/dx = ∂f/∂x + Σ ∂f/∂y_k dy_k/dx.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from linkwork.compiler.derivatives.tangent_spaces import Tangent
from linkwork.compiler.program import Instruction, Port, Program
from linkwork.expr.autodiff.custom_derivative import RULE
from linkwork.expr.autodiff.graph_derivative import adjoint, forward, is_zero
from linkwork.expr.scalar.functions import where
from linkwork.expr.scalar.interpreter import CONSTANT, reachable, run
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["Replay", "by_numbers", "directional", "gradients", "rows_forward"]


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
    result = _measured(replay, of, forward(_elements(replay, of), symbols, seeds))
    return [[row.get(0, 0.0) for row in rows] for rows in result]


def rows_forward(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
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
    result, start = [], 0
    for tangent in of:
        end = start + tangent.port.size
        result.append(tangent.measured(replay.outputs[tangent.port.name], rows[start:end]))
        start = end
    return result


_MORE = 1.5  # times as many rows as numbers, from which these are gone through once
_WHERE = BY_NAME["where"]
FunctionSpec = dict[int, Any]


def by_numbers(
    replay: Replay,
    of: Sequence[Tangent],
    by: Sequence[Tangent],
    weights: Mapping[str, Sequence[Any]],
    more: Sequence[Symbol] = (),
) -> list[list[Any]]:
    """The gradients of Σ weights · outputs by the numbers of each input, and last by ``more`` that are given then."""
    outputs: list[Any] = []
    given: list[Any] = []
    for tangent in of:
        numbers = replay.outputs[tangent.port.name]
        for x, weight in zip(numbers, tangent.weighed(numbers, weights[tangent.port.name]), strict=True):
            if not is_zero(weight):
                outputs.append(x)
                given.append(weight)
    return _pulled(replay, by, outputs, given, more)


def _pulled(
    replay: Replay, by: Sequence[Tangent], outputs: Sequence[Any], weights: Sequence[Any], more: Sequence[Symbol] = ()
) -> list[list[Any]]:
    symbols = [x for tangent in by for x in replay.inputs[tangent.port.name]]
    result = iter(adjoint(outputs, [*symbols, *more], weights))
    return [[next(result) for _ in range(size)] for size in (*(tangent.port.size for tangent in by), len(more))]


def gradients(
    replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent], weights: Mapping[str, Sequence[Any]]
) -> list[list[Any]]:
    """The same by the inputs' tangent vectors."""
    *result, _ = by_numbers(replay, of, by, weights)
    return _by_tangents(by, _columns(replay, by), result)


def rows_reverse(replay: Replay, of: Sequence[Tangent], by: Sequence[Tangent]) -> list[list[FunctionSpec]]:
    """The Jacobians' rows of each output, sparse: the directions of all inputs are counted one after the other."""
    columns, between = _columns(replay, by), _narrowest(replay, of)

    def row(result: Sequence[Sequence[Any]]) -> FunctionSpec:
        flat = [x for part in _by_tangents(by, columns, result) for x in part]
        return {j: x for j, x in enumerate(flat) if not is_zero(x)}

    @cache
    def row_between(k: int) -> FunctionSpec:
        *result, _ = _pulled(replay, by, [between[k]], [1.0])
        return row(result)

    rows = []
    for tangent in of:
        own = []
        for k in range(tangent.size):
            unit = [1.0 if j == k else 0.0 for j in range(tangent.size)]
            *result, weights = by_numbers(replay, [tangent], by, {tangent.port.name: unit}, between)
            shares = [(w, row_between(i)) for i, w in enumerate(weights) if not is_zero(w)]
            own.append(_summed(row(result), shares))
        rows.append(own)
    return rows


def _narrowest(replay: Replay, of: Sequence[Tangent]) -> list[Symbol]:
    """The numbers that come out of a rule, of those with fewer than rows the one into which most goes; none where there
    is no such rule.
    """
    outputs = [x for tangent in of for x in replay.outputs[tangent.port.name]]
    rows = sum(tangent.size for tangent in of)
    parts: dict[int, list[Symbol]] = {}
    rules: dict[int, Symbol] = {}
    for node in reachable(outputs):
        if node.op is PART and node.args[0].op is RULE:
            parts.setdefault(node.args[0].index, []).append(node)
            rules[node.args[0].index] = node.args[0]
    few = [k for k, some in parts.items() if len(some) > 1 and _MORE * len(some) <= rows]
    return parts[max(few, key=lambda k: len(rules[k].args))] if few else []


def _summed(row: FunctionSpec, shares: Sequence[tuple[Any, FunctionSpec]]) -> FunctionSpec:
    """A row and others, each times a weight.  What a condition switches off is chosen away after the sum, as `adjoint`
    does: so nothing that is not finite there is multiplied by zero.
    """
    sums: dict[Symbol | None, FunctionSpec] = {None: dict(row)}
    for weight, other in shares:
        on = _condition(weight)
        factor, result = weight if on is None else weight.args[1], sums.setdefault(on, {})
        for j, x in other.items():
            term = factor * x
            result[j] = result[j] + term if j in result else term
    total = sums.pop(None)
    for on, result in sums.items():
        for j, x in result.items():
            term = where(on, x, 0.0)
            total[j] = total[j] + term if j in total else term
    return total


def _condition(weight: Any) -> Symbol | None:
    """Under which a weight is anything but zero, where it is such a choice."""
    if not (isinstance(weight, Symbol) and weight.op is _WHERE):
        return None
    condition, _, other = weight.args
    return condition if other.op is CONSTANT and other.value == 0.0 else None


def _columns(replay: Replay, by: Sequence[Tangent]) -> list[list[dict[int, Any]]]:
    return [tangent.columns(replay.inputs[tangent.port.name]) for tangent in by]


def _by_tangents(
    by: Sequence[Tangent], columns: Sequence[Sequence[Mapping[int, Any]]], result: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    return [tangent.gradient(N, g) for tangent, N, g in zip(by, columns, result, strict=True)]


class Replay:
    """A program's inputs and outputs as expressions of a graph of its own; guards are left out."""

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
        """Further inputs, by name."""
        result = {port.name: self.graph.inputs(port.name, port.shape) for port in ports}
        self.inputs |= result
        self.ports += ports
        return result

    def program(self, name: str, outputs: Sequence[tuple[Port, Sequence[Any]]]) -> Program:
        """The program of expressions of this graph."""
        return Program.of(name, [(port, self.inputs[port.name]) for port in self.ports], outputs)


def _marking(program: Program, graph: Graph) -> Iterator[Instruction]:
    """The instructions; where a step begins among them, one begins in the graph."""
    marks = frozenset(program.marks)
    for k, instruction in enumerate(program.instructions):
        if k in marks:
            graph.marks.append(len(graph.nodes))
        yield instruction
