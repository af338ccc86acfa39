"""Differentiation of expression graphs: derivatives are expressions again, of any order.

`tangent` (forward) and `adjoint` (reverse) apply the chain rule with the partial derivatives of the operation table;
`jacobian` is forward and sparse: it computes no derivative that is structurally zero.  A branch of ``where`` that is
not selected contributes zero, even where its own derivative is infinite (`masked_terms`).

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3 and 7.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from linkwork._util.checked_arguments import public
from linkwork.expr.autodiff.custom_derivative import CustomDerivative
from linkwork.expr.autodiff.masked_terms import (
    chosen,
    pull_back,
    push_forward,
    scaled,
    selected,
    summed,
)
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import (
    CONSTANT,
    INPUT,
    Instruction,
    check_trace,
    instructions_of,
    reachable,
    run,
)
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["TransposedTangent", "adjoint", "are_independent", "forward", "gradients", "is_zero", "jacobian", "tangent"]


T = TypeVar("T")


def tangent(outputs: Sequence[Any], inputs: Sequence[Symbol], direction: Sequence[Any]) -> list[Any]:
    """Return the directional derivative J·direction; J is the Jacobian of the outputs with respect to the inputs."""
    rows = forward(outputs, inputs, [{} if is_zero(d) else {0: d} for d in direction])
    return [row.get(0, 0.0) for row in rows]


@public
def jacobian(outputs: Sequence[Any], inputs: Sequence[Symbol]) -> list[list[Any]]:
    """Return the Jacobian of ``outputs`` with respect to ``inputs`` as a list of rows; structural zeros are 0.0."""
    rows = forward(outputs, inputs, [{k: 1.0} for k in range(len(inputs))])
    return [[row.get(k, 0.0) for k in range(len(inputs))] for row in rows]


def adjoint(outputs: Sequence[Any], inputs: Sequence[Symbol], weights: Sequence[Any]) -> list[Any]:
    """Return the gradient of Σ weights·outputs with respect to the inputs, Jᵀ·weights.

    Its cost is a small multiple of the cost of the outputs.
    """
    sums: dict[int, Any] = {}
    for output, weight in zip(outputs, weights, strict=True):
        if isinstance(output, Symbol):
            _add(sums, output, weight)
    nodes = reachable(outputs, inputs)
    check_trace(nodes, inputs)
    ends = {s.index for s in inputs}
    parts: dict[int, dict[int, Any]] = {}  # by bundle: weights of its parts
    for node in _step_by_step(nodes[::-1], nodes[::-1]):
        if node.index in ends:
            continue
        if node.index in parts:
            for argument, weight in _pull_back_bundle(node, parts[node.index]):
                _add(sums, argument, weight)
        elif node.index in sums and node.op is PART:
            parts.setdefault(node.args[0].index, {})[node.value] = sums[node.index]
        elif node.index in sums:
            for argument, weight in _pull_back(node, sums[node.index]):
                _add(sums, argument, weight)
    return [sums.get(s.index, 0.0) for s in inputs]


def _step_by_step(nodes: Sequence[Symbol], items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and mark derivative nodes built for them with the steps of the original nodes.

    The first items belong to ``nodes``, one item to each node, in the order of the trace or in reverse order.  When the
    next node belongs to another step of the trace (`Graph.marks`), a new step begins for the derivative nodes.
    """
    remaining = iter(items)
    if nodes and nodes[0].graph.marks:
        graph = nodes[0].graph
        marks = sorted(graph.marks)
        step = -1
        for node, item in zip(nodes, remaining, strict=False):
            step_index = bisect_right(marks, node.index)
            if step_index != step:
                graph.marks.append(len(graph.nodes))
                step = step_index
            yield item
        graph.marks.append(len(graph.nodes))
    yield from remaining


_Row = dict[int, Any]  # sparse derivatives: direction -> value


def forward(outputs: Sequence[Any], inputs: Sequence[Symbol], seeds: Sequence[_Row]) -> list[_Row]:
    """Return the sparse derivatives of each output by forward mode, as a dict from direction to derivative.

    ``seeds`` has the same for each input, its derivatives by direction; inputs that are not listed have none.
    """
    nodes = reachable(outputs, inputs)
    check_trace(nodes, inputs)
    known_inputs = set(inputs)
    more_inputs = [node for node in nodes if node.op is INPUT and node not in known_inputs]
    instructions, results = instructions_of(outputs, [*inputs, *more_inputs])
    pairs = [*zip(inputs, seeds, strict=True), *((node, {}) for node in more_inputs)]
    used = _differentiated(instructions, results)
    order = iter([k for k, (op, _, _) in enumerate(instructions) if not (op is INPUT or op is CONSTANT or op is PART)])

    def push(instruction: Instruction, arguments: list[tuple[Any, _Row]]) -> Any:
        return _push_instruction(instruction, arguments if next(order) in used else [(x, {}) for x, _ in arguments])

    values = run(_step_by_step(nodes, instructions), pairs, push, lambda number: (number, {}))
    return [values[r][1] for r in results]


def _differentiated(instructions: Sequence[Instruction], results: Sequence[int]) -> set[int]:
    """Return the indices of the instructions whose derivatives are needed for the results' derivatives.

    The instructions by which a rule computes its results are excluded.
    """
    visited = set(results)
    for k in range(len(instructions) - 1, -1, -1):
        if k in visited:
            _, args, bundle = instructions[k]
            several = isinstance(bundle, MultiResult)
            visited.update(args[j] for j in bundle.differentiated(len(args))) if several else visited.update(args)
    return visited


def _push_instruction(instruction: Instruction, arguments: list[tuple[Any, _Row]]) -> Any:
    """Return the result of an operation and the sparse derivatives of the result.

    Each of the ``arguments`` is a pair of a value and its derivatives by direction, and so is the result.  For an
    operation with several results this is a list of such pairs.
    """
    operation, bundle = instruction.operation, instruction.value
    values, rows = zip(*arguments, strict=True) if arguments else ((), ())
    if bundle is not None:
        results = bundle(values)
        derivatives = push_forward(bundle, values, results, rows) if any(rows) else [{}] * len(results)
        return list(zip(results, derivatives, strict=True))
    result = operation(*values)
    row: _Row = {}
    if operation.partials is not None and any(rows):
        partials = operation.partials(*values, result)
        if operation.selects:
            rows_of_operands = {**rows[-2], **rows[-1]}
            row = {k: chosen(partials, [argument.get(k, 0.0) for argument in rows[-2:]]) for k in rows_of_operands}
            partials = ()
        for partial, argument in zip(partials, rows, strict=False):
            if not is_zero(partial):
                for k, d in argument.items():
                    term = scaled(d, partial, bounded=operation.bounded)
                    row[k] = summed(row[k], term) if k in row else term
    return result, {k: d for k, d in row.items() if not is_zero(d)}


def _pull_back(node: Symbol, weight: Any) -> list[tuple[Symbol, Any]]:
    """Return the terms that a node adds to the gradient with respect to its arguments (reverse mode).

    ``weight`` is the gradient with respect to the node.  Each term is a pair (argument, weight).
    """
    if node.op.partials is None:
        return []
    product = selected if node.op.selects else scaled
    partials = node.op.partials(*_values(node.args), node)
    return [(a, product(weight, partial)) for a, partial in zip(node.args, partials, strict=True)]


def _values(arguments: Sequence[Symbol]) -> list[Any]:
    """Return the numbers of arguments that are constants, and the other arguments unchanged."""
    return [a.value if a.op is CONSTANT else a for a in arguments]


def _pull_back_bundle(node: Symbol, weights: Mapping[int, Any]) -> list[tuple[Symbol, Any]]:
    """Return the terms that an operation with several results adds to the gradient of its arguments (reverse mode).

    ``weights`` are the gradients with respect to its results, by index.  Each term is a pair (argument, weight).
    """
    bundle = node.value
    results = node.graph.bundle(bundle, node.args)
    all_weights = [weights.get(k, 0.0) for k in range(bundle.count)]
    arguments = _values(node.args)
    result = pull_back(lambda weights_of_group: bundle.pull_back(arguments, results, weights_of_group), all_weights)
    return list(zip(node.args, result, strict=True))


def _add(sums: dict[int, Any], node: Symbol, weight: Any) -> None:
    if not is_zero(weight):
        sums[node.index] = summed(sums[node.index], weight) if node.index in sums else weight


def is_zero(x: Any) -> bool:
    if isinstance(x, Symbol):
        return x.op is CONSTANT and x.value == 0.0
    return bool(x == 0.0)


def are_independent(inputs: Sequence[Any]) -> bool:
    """Return True if the inputs are distinct variables of a trace, as `gradients` requires."""
    return all(isinstance(x, Symbol) and x.op is INPUT for x in inputs) and len({id(x) for x in inputs}) == len(inputs)


def gradients(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[list[Any]]:
    """Return the gradient of each output with respect to all inputs.

    The cost of each gradient is a small multiple of the cost of its output.
    """
    return [adjoint([x], inputs, [1.0]) if isinstance(x, Symbol) else [0.0] * len(inputs) for x in outputs]


class TransposedTangent(CustomDerivative):
    """Base class of rules that define only `tangent`; `cotangent` follows by differentiating the tangent.

    The tangent is traced once and transposed, so it must be traceable and linear in the direction.  The intermediate
    values must be numbers.
    """

    __slots__ = ()

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        used = tuple(k for k, weight in enumerate(weights) if not is_zero(weight))
        if not used:
            return [0.0] * len(inputs)
        body = _transpose(self, len(inputs), len(results), len(extra), used)
        return body.run([*inputs, *results, *extra, *(weights[k] for k in used)])


@lru_cache(maxsize=256)
def _transpose(rule: TransposedTangent, inputs: int, results: int, extra: int, used: tuple[int, ...]) -> Region:
    """Return a body that computes a rule's gradient with respect to its inputs, from a trace of the rule's tangent.

    ``inputs``, ``results`` and ``extra`` are counts, and ``used`` are the indices of the results with a nonzero
    weight.  The body's inputs are the rule's inputs, results and intermediate values, and these weights.
    """
    graph = Graph()
    at, result, more, direction = (graph.inputs("x", (n,)) for n in (inputs, results, extra, inputs))
    weights = graph.inputs("w", (len(used),))
    rates = rule.tangent(at, result, more, direction)
    gradient = adjoint([rates[k] for k in used], direction, weights)
    return Region.of(gradient, [*at, *result, *more, *weights])
