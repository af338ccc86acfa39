"""Interpreter of instructions on any scalar type.

Evaluation of an expression or a program on a batch, translation to CasADi, differentiation and inlining into another
trace all use one traversal, `run`, with different implementations of the operations.  The interpreter is the reference
that compiled code is checked against.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.validation import integer
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME, Operation
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = [
    "CONSTANT",
    "INPUT",
    "Apply",
    "Constant",
    "Instruction",
    "check_trace",
    "evaluate",
    "instructions",
    "instructions_of",
    "numeric_mode",
    "reachable",
    "run",
]

INPUT, CONSTANT = BY_NAME["input"], BY_NAME["constant"]


class Instruction(NamedTuple):
    """One value of an instruction list: an operation and the indices of its arguments.

    ``value`` is the number of a constant, or the index of an input among all scalar inputs.  For an operation with
    several results, ``value`` is the `MultiResult`; for the extraction of one result it is the index of that result.
    """

    operation: Operation
    args: tuple[int, ...]
    value: Any = None


Apply = Callable[[Instruction, list[Any]], Any]
Constant = Callable[[float], Any]


def apply_operation(instruction: Instruction, arguments: list[Any]) -> Any:
    """Apply an instruction to arguments of any scalar type."""
    bundle = instruction.value
    return instruction.operation(*arguments) if bundle is None else bundle(arguments)


def apply_on_arrays(instruction: Instruction, arguments: list[Any]) -> Any:
    """Apply an instruction to NumPy arrays and float64 scalars, with IEEE 754 semantics."""
    bundle = instruction.value
    return instruction.operation.value(*arguments) if bundle is None else bundle.evaluate(arguments)


def numeric_mode(arguments: Iterable[Any]) -> tuple[Apply, Constant]:
    """Return the arguments ``apply`` and ``constant`` of `run` that evaluate instructions on numbers.

    They use NumPy's functions if an argument is a NumPy array or scalar, and functions of floats otherwise.
    """
    if any(isinstance(x, (np.ndarray, np.generic)) for x in arguments):
        return apply_on_arrays, np.float64
    return apply_operation, float


def run(
    instructions: Iterable[Instruction],
    inputs: Sequence[Any],
    apply: Apply = apply_operation,
    constant: Constant = float,
) -> list[Any]:
    """Return the values of all instructions, for the values ``inputs`` of all scalar inputs.

    ``apply`` receives an instruction and the values of its arguments; ``constant`` converts a number to a value.
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
    """Return the nodes of a trace on which the outputs depend, each after its arguments; numbers are skipped.

    The traversal stops at the nodes in ``ends``.
    """
    roots = [s for s in outputs if isinstance(s, Symbol)]
    if not roots:
        return []
    graph = roots[0].graph
    if any(root.graph is not graph for root in roots):
        raise ValueError("the outputs belong to more than one trace")
    stops = {end.index for end in ends if end.graph is graph}
    nodes_by_index = {
        root.index: root for root in roots
    }  # a body is a small part of its trace: no other nodes are visited
    waiting = list(nodes_by_index.values())
    while waiting:
        node = waiting.pop()
        if node.index not in stops:
            for argument in node.args:
                if argument.index not in nodes_by_index:
                    nodes_by_index[argument.index] = argument
                    waiting.append(argument)
    return [nodes_by_index[index] for index in sorted(nodes_by_index)]


def check_trace(nodes: Sequence[Symbol], inputs: Iterable[Symbol]) -> None:
    """Raise ValueError if an input belongs to another trace than the nodes."""
    for symbol in inputs if nodes else ():
        if symbol.graph is not nodes[0].graph:
            raise ValueError(f"symbols of two traces cannot be combined: {symbol!r} belongs to another trace")


def instructions(function: Callable[[Sequence[Any]], Iterable[Any]], size: int) -> tuple[list[Instruction], list[int]]:
    """Trace a function of ``size`` scalars; return its instructions and results, to translate it to another language.

    Each instruction is (operation, args, value).  ``operation.name`` is a name such as "mul", and ``args`` are indices
    of earlier instructions.  ``value`` is the number of a "constant", or the index of an "input".  The results are
    indices of instructions.

    >>> from linkwork.kernels import instructions
    >>> traced, results = instructions(lambda x: [2.0 * x[0]], 1)
    >>> [(operation.name, args, value) for operation, args, value in traced], results
    ([('input', (), 0), ('constant', (), 2.0), ('mul', (1, 0), None)], [2])
    """
    graph = Graph("function")
    inputs = graph.inputs("x", (integer("instructions", "size", size, least=0),))
    try:
        return instructions_of(list(function(inputs)), inputs)
    finally:
        graph.clear()


def instructions_of(
    outputs: Sequence[Any], inputs: Iterable[Symbol], nodes: Sequence[Symbol] | None = None
) -> tuple[list[Instruction], list[int]]:
    """Return the instructions that compute ``outputs`` from ``inputs``, and the index of each output's value.

    An output may be a number; an input may be any node.  The `reachable` nodes may be passed if they are known;
    instruction k is then that of node k.  Raises KeyError with the name of the first variable that is needed and is
    not among the inputs.
    """
    position = {symbol: k for k, symbol in enumerate(inputs)}
    if nodes is None:
        nodes = reachable(outputs, position)
    ends = {symbol.index: k for symbol, k in position.items() if nodes and symbol.graph is nodes[0].graph}
    value_of = [0] * (nodes[-1].index + 1 if nodes else 0)  # index of the instruction, by the node's index
    instructions: list[Instruction] = []
    new, add = tuple.__new__, instructions.append
    for k, node in enumerate(nodes):
        operation, index = node.op, node.index
        value_of[index] = k
        if index in ends:
            add(new(Instruction, (INPUT, (), ends[index])))
            continue
        args = node.args
        if len(args) == 2 and operation.arity == 2:  # most nodes
            first, second = args
            add(new(Instruction, (operation, (value_of[first.index], value_of[second.index]), None)))
        elif operation is CONSTANT:
            add(new(Instruction, (CONSTANT, (), node.value)))
        elif operation is INPUT:
            raise KeyError(node.value)
        else:
            value = node.value if operation is PART or operation.arity < 0 else None
            add(new(Instruction, (operation, tuple([value_of[a.index] for a in args]), value)))
    results = []
    indices_of_constants: dict[tuple[float, float], int] = {}
    for x in outputs:
        if isinstance(x, Symbol):
            results.append(value_of[x.index])
            continue
        key = float(x), math.copysign(1.0, x)  # 0.0 == -0.0, but they are different constants
        if key not in indices_of_constants:
            indices_of_constants[key] = len(instructions)
            instructions.append(Instruction(CONSTANT, (), float(x)))
        results.append(indices_of_constants[key])
    return instructions, results


def evaluate(outputs: Sequence[Any], values: Mapping[Symbol, Any]) -> list[Any]:
    """Return the values of outputs for these values of the inputs: floats, or arrays that broadcast (a batch).

    Raises KeyError with the name of the first input without a value, and ValueError for inputs of another trace.
    """
    check_trace([s for s in outputs if isinstance(s, Symbol)], values)
    try:
        instructions, results = instructions_of(outputs, values)
    except KeyError as error:
        raise KeyError(f"expected a value for the input {error.args[0]!r}, got none") from None
    arrays = [np.float64(value) if np.ndim(value) == 0 else value for value in values.values()]
    with np.errstate(all="ignore"):
        known = run(instructions, arrays, apply_on_arrays, np.float64)
    return [known[r] for r in results]
