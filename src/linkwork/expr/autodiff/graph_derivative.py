"""Differentiation as a transformation of the expression graph: derivatives are expressions again, of any order.

`tangent` (forward) and `adjoint` (reverse) follow the chain rule with the partial derivatives of the operation table;
`jacobian` is forward and sparse: it never touches a derivative that is structurally zero.  A zero from an unchosen
branch of ``where`` stays zero even where that branch's own derivative is infinite there.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3 and 7.

Derivatives in reverse, where the scalars know what they are made of: those of few results by many inputs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from linkwork._util.checked_arguments import public
from linkwork.expr.scalar.functions import and_, not_, or_, where
from linkwork.expr.scalar.interpreter import (
    CONSTANT,
    INPUT,
    Instruction,
    check_trace,
    listed,
    reachable,
    run,
)
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["adjoint", "forward", "gradients", "independent", "is_zero", "jacobian", "tangent"]


_WHERE, _NOT = BY_NAME["where"], BY_NAME["not_"]
T = TypeVar("T")


def tangent(outputs: Sequence[Any], inputs: Sequence[Symbol], direction: Sequence[Any]) -> list[Any]:
    """The directional derivative: J·direction, where J is the Jacobian of the outputs by the inputs."""
    rows = forward(outputs, inputs, [{} if is_zero(d) else {0: d} for d in direction])
    return [row.get(0, 0.0) for row in rows]


@public
def jacobian(outputs: Sequence[Any], inputs: Sequence[Symbol]) -> list[list[Any]]:
    """The Jacobian's rows, one for each output; structural zeros are the number 0.0."""
    rows = forward(outputs, inputs, [{k: 1.0} for k in range(len(inputs))])
    return [[row.get(k, 0.0) for k in range(len(inputs))] for row in rows]


def adjoint(outputs: Sequence[Any], inputs: Sequence[Symbol], weights: Sequence[Any]) -> list[Any]:
    """The gradient of Σ weights·outputs by the inputs: Jᵀ·weights, at a small multiple of the outputs' cost."""
    sums: dict[int, _Weight] = {}
    for output, weight in zip(outputs, weights, strict=True):
        if isinstance(output, Symbol):
            _add(sums, output, (weight, None))
    nodes = reachable(outputs, inputs)
    check_trace(nodes, inputs)
    ends = {s.index for s in inputs}
    parts: dict[int, dict[int, Any]] = {}  # of bundles: the weights of their parts
    for node in _step_by_step(nodes[::-1], nodes[::-1]):
        if node.index in ends:
            continue
        if node.index in parts:
            for argument, weight in _pull_back_bundle(node, parts[node.index]):
                _add(sums, argument, (weight, None))
        elif node.index in sums and node.op is PART:
            parts.setdefault(node.args[0].index, {})[node.value] = _switched(*sums[node.index])
        elif node.index in sums:
            for argument, share in _pull_back(node, *sums[node.index]):
                _add(sums, argument, share)
    return [_switched(*sums.get(s.index, (0.0, None))) for s in inputs]


def _step_by_step(nodes: Sequence[Symbol], items: Iterable[T]) -> Iterator[T]:
    """The items, the first ones of which belong to nodes in order, forward or backward.

    Where the nodes come to another step of the trace (`Graph.marks`), a step begins of what is made meanwhile.
    """
    rest = iter(items)
    if nodes and nodes[0].graph.marks:
        graph = nodes[0].graph
        marks = sorted(graph.marks)
        step = -1
        for node, item in zip(nodes, rest, strict=False):
            of = bisect_right(marks, node.index)
            if of != step:
                graph.marks.append(len(graph.nodes))
                step = of
            yield item
        graph.marks.append(len(graph.nodes))
    yield from rest


_Row = dict[int, Any]  # of derivatives, sparse: direction -> value


def forward(outputs: Sequence[Any], inputs: Sequence[Symbol], seeds: Sequence[_Row]) -> list[_Row]:
    """Push rows of derivatives from the inputs to the outputs: a run on pairs of a scalar and its row."""
    nodes = reachable(outputs, inputs)
    check_trace(nodes, inputs)
    given = set(inputs)
    others = [node for node in nodes if node.op is INPUT and node not in given]
    instructions, results = listed(outputs, [*inputs, *others])
    pairs = [*zip(inputs, seeds, strict=True), *((node, {}) for node in others)]
    values = run(_step_by_step(nodes, instructions), pairs, _pushed, lambda number: (number, {}))
    return [values[r][1] for r in results]


def _pushed(instruction: Instruction, arguments: list[tuple[Any, _Row]]) -> Any:
    """An operation's result, and its row by the chain rule; of a bundle, those of each result."""
    operation, bundle = instruction.operation, instruction.value
    values, rows = zip(*arguments, strict=True) if arguments else ((), ())
    if bundle is not None:
        results = bundle(values)
        found = bundle.pushed(values, results, rows) if any(rows) else [{}] * len(results)
        return list(zip(results, found, strict=True))
    result = operation(*values)
    row: _Row = {}
    if operation is _WHERE:
        _, row_a, row_b = rows
        row = {k: where(values[0], row_a.get(k, 0.0), row_b.get(k, 0.0)) for k in {**row_a, **row_b}}
    elif operation.partials is not None and any(rows):
        for partial, argument in zip(operation.partials(*values, result), rows, strict=True):
            if not is_zero(partial):
                for k, d in argument.items():
                    row[k] = row.get(k, 0.0) + partial * d
    return result, {k: d for k, d in row.items() if not is_zero(d)}


def _partials(node: Symbol) -> tuple[Any, ...]:
    assert node.op.partials is not None
    arguments = [a.value if a.op is CONSTANT else a for a in node.args]
    return node.op.partials(*arguments, node)


# A weight in the reverse sweep, and the condition under which it counts (None: always).  A weight that `where` switches
# off is chosen away at the end, not multiplied by zero on its way: 0 · ∞ does not arise.
_Weight = tuple[Any, Symbol | None]


def _pull_back(node: Symbol, weight: Any, on: Symbol | None) -> list[tuple[Symbol, _Weight]]:
    """The arguments' shares of a node's weight."""
    if node.op is _WHERE:
        condition, a, b = node.args
        return [(a, (weight, _all(on, condition))), (b, (weight, _all(on, not_(condition))))]
    if node.op.partials is None:
        return []
    return [(a, (partial * weight, on)) for a, partial in zip(node.args, _partials(node), strict=True)]


def _pull_back_bundle(node: Symbol, weights: Mapping[int, Any]) -> list[tuple[Symbol, Any]]:
    """The arguments' shares of the weights of a bundle's parts."""
    bundle = node.value
    results = node.graph.bundle(bundle, node.args)
    arguments = [a.value if a.op is CONSTANT else a for a in node.args]
    result = bundle.pulled(arguments, results, [weights.get(k, 0.0) for k in range(bundle.count)])
    return list(zip(node.args, result, strict=True))


def _add(sums: dict[int, _Weight], node: Symbol, share: _Weight) -> None:
    if is_zero(share[0]):
        return
    if node.index not in sums:
        sums[node.index] = share
        return
    (a, on_a), (b, on_b) = sums[node.index], share
    if on_a is on_b:
        total = a + b, on_a
    elif on_a is None or on_b is None:
        total = _switched(a, on_a) + _switched(b, on_b), None
    elif on_b.op is _NOT and on_b.args[0] is on_a:
        total = where(on_a, a, b), None
    elif on_a.op is _NOT and on_a.args[0] is on_b:
        total = where(on_b, b, a), None
    else:
        total = _switched(a, on_a) + _switched(b, on_b), or_(on_a, on_b)
    sums[node.index] = total


def _switched(weight: Any, on: Symbol | None) -> Any:
    return weight if on is None else where(on, weight, 0.0)


def _all(on: Symbol | None, condition: Symbol) -> Symbol:
    return condition if on is None else and_(on, condition)


def is_zero(x: Any) -> bool:
    if isinstance(x, Symbol):
        return x.op is CONSTANT and x.value == 0.0
    return bool(x == 0.0)


def independent(inputs: Sequence[Any]) -> bool:
    """Whether `gradients` can be asked for: these are the variables of a trace, each there once."""
    return all(isinstance(x, Symbol) and x.op is INPUT for x in inputs) and len({id(x) for x in inputs}) == len(inputs)


def gradients(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[list[Any]]:
    """The derivatives of each output by all inputs, at a small multiple of the outputs' cost for each output."""
    return [adjoint([x], inputs, [1.0]) if isinstance(x, Symbol) else [0.0] * len(inputs) for x in outputs]
