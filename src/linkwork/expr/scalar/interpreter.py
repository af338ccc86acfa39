"""The interpreter: instructions run one after the other, on any kind of number, in any way that is asked.

What an expression or a program means, its value on a batch, its counterpart in CasADi, its derivative and its inlining
into another trace are one walk, `run`, with a different answer to what an operation does.  It is the plain meaning of
what is compiled, and everything that is compiled is checked against it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME, Operation
from linkwork.expr.scalar.symbol import Symbol

__all__ = [
    "CONSTANT",
    "INPUT",
    "Apply",
    "Constant",
    "Instruction",
    "check_trace",
    "evaluate",
    "listed",
    "reachable",
    "run",
    "way_of",
]

INPUT, CONSTANT = BY_NAME["input"], BY_NAME["constant"]


class Instruction(NamedTuple):
    """One value: an operation and the numbers of its arguments.

    ``value`` is a constant's number, an input's place among the elements of all inputs, one after the other, what an
    instruction of several results means (a `MultiResult`), or which part of one this is.
    """

    operation: Operation
    args: tuple[int, ...]
    value: Any = None


Apply = Callable[[Instruction, list[Any]], Any]
Constant = Callable[[float], Any]


def called(instruction: Instruction, arguments: list[Any]) -> Any:
    """What an operation does in the way of its arguments' kind of number."""
    bundle = instruction.value
    return instruction.operation(*arguments) if bundle is None else bundle(arguments)


def on_arrays(instruction: Instruction, arguments: list[Any]) -> Any:
    """What an operation does on NumPy arrays and float64 scalars: IEEE 754 throughout."""
    bundle = instruction.value
    return instruction.operation.value(*arguments) if bundle is None else bundle.on_numbers(arguments)


def way_of(arguments: Iterable[Any]) -> tuple[Apply, Constant]:
    """How `run` goes over plain numbers: as arrays do where some of these are NumPy's, else as floats."""
    if any(isinstance(x, (np.ndarray, np.generic)) for x in arguments):
        return on_arrays, np.float64
    return called, float


def run(
    instructions: Iterable[Instruction],
    inputs: Sequence[Any],
    apply: Apply = called,
    constant: Constant = float,
) -> list[Any]:
    """The value of every instruction, where the elements of all inputs have the given ones.

    ``apply`` is told the instruction and its arguments' values, ``constant`` makes a value of a number.
    """
    values: list[Any] = []
    for instruction in instructions:
        operation, args, value = instruction
        if operation is INPUT:
            values.append(inputs[value])
        elif operation is CONSTANT:
            values.append(constant(value))
        elif operation is PART:
            values.append(values[args[0]][value])
        else:
            values.append(apply(instruction, [values[a] for a in args]))
    return values


def reachable(outputs: Sequence[Any], ends: Iterable[Symbol] = ()) -> list[Symbol]:
    """The nodes that the outputs are made of, arguments first.  Numbers among the outputs are passed over.

    Of what the ``ends`` are made of is not asked.
    """
    roots = [s for s in outputs if isinstance(s, Symbol)]
    if not roots:
        return []
    graph = roots[0].graph
    if any(root.graph is not graph for root in roots):
        raise ValueError("the outputs belong to more than one trace")
    needed = bytearray(max(root.index for root in roots) + 1)
    for root in roots:
        needed[root.index] = 1
    nodes = graph.nodes
    stops = {end.index for end in ends if end.graph is graph}
    for index in range(len(needed) - 1, -1, -1):
        if needed[index] and index not in stops:
            for argument in nodes[index].args:
                needed[argument.index] = 1
    return [nodes[index] for index, flag in enumerate(needed) if flag]


def check_trace(nodes: Sequence[Symbol], inputs: Iterable[Symbol]) -> None:
    """Raise ValueError where an input belongs to another trace than the nodes."""
    for symbol in inputs if nodes else ():
        if symbol.graph is not nodes[0].graph:
            raise ValueError(f"symbols of two traces cannot be combined: {symbol!r} belongs to another one")


def listed(
    outputs: Sequence[Any], inputs: Iterable[Symbol], nodes: Sequence[Symbol] | None = None
) -> tuple[list[Instruction], list[int]]:
    """Expressions as instructions, and the number of each output's value.  An output may be a number, an input any
    node.  Where the `reachable` nodes are known they need not be looked for; instruction k is of node k then.

    Raises KeyError with the name of the first variable that is needed and not among the inputs.
    """
    places = {symbol: place for place, symbol in enumerate(inputs)}
    if nodes is None:
        nodes = reachable(outputs, places)
    ends = {symbol.index: place for symbol, place in places.items() if nodes and symbol.graph is nodes[0].graph}
    value_of = [0] * (nodes[-1].index + 1 if nodes else 0)  # of nodes, by their places in the graph
    instructions: list[Instruction] = []
    for k, node in enumerate(nodes):
        operation, index = node.op, node.index
        value_of[index] = k
        if index in ends:
            instructions.append(Instruction(INPUT, (), ends[index]))
        elif operation is CONSTANT:
            instructions.append(Instruction(CONSTANT, (), node.value))
        elif operation is INPUT:
            raise KeyError(node.value)
        else:
            value = node.value if operation.lowering.kind == "bundle" else None
            instructions.append(Instruction(operation, tuple([value_of[a.index] for a in node.args]), value))
    results = []
    numbers: dict[tuple[float, float], int] = {}
    for x in outputs:
        if isinstance(x, Symbol):
            results.append(value_of[x.index])
            continue
        key = float(x), math.copysign(1.0, x)  # 0.0 == -0.0: two numbers
        if key not in numbers:
            numbers[key] = len(instructions)
            instructions.append(Instruction(CONSTANT, (), float(x)))
        results.append(numbers[key])
    return instructions, results


def evaluate(outputs: Sequence[Any], values: Mapping[Symbol, Any]) -> list[Any]:
    """The outputs' values, where the inputs have the given ones (floats, or arrays that broadcast: a batch).

    Raises KeyError naming the first input that is needed and has no value, ValueError for values of another trace's.
    """
    check_trace([s for s in outputs if isinstance(s, Symbol)], values)
    try:
        instructions, results = listed(outputs, values)
    except KeyError as error:
        raise KeyError(f"no value given for the input {error.args[0]!r}") from None
    given = [np.float64(value) if np.ndim(value) == 0 else value for value in values.values()]
    with np.errstate(all="ignore"):
        known = run(instructions, given, on_arrays, np.float64)
    return [known[r] for r in results]
