"""A program: scalar instructions in static single assignment, with named input and output arrays, and its verifier.

Instruction k defines value k from values defined before it. Most operations are entries of the table in
`linkwork.expr.scalar.operations`; the few defined here exist only after the compiler's passes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.compiler.operation_counts import WhileLoop, arithmetic, counted, while_loops
from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.compiler.port import Port
from linkwork.expr.control.branch_and_call_instructions import Choice
from linkwork.expr.control.closure_conversion import InnerName
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.block import InstructionList, Region, bodies_of
from linkwork.expr.scalar.interpreter import CONSTANT, INPUT, Instruction, apply_on_arrays, instructions_of, reachable
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.operations import Lowering, Operation
from linkwork.expr.scalar.symbol import Symbol

__all__ = [
    "CONSTANT",
    "COS_OF",
    "EXTRACTED",
    "FMA",
    "FMS",
    "FNMA",
    "INPUT",
    "SINCOS",
    "SIN_OF",
    "Instruction",
    "InvalidProgramError",
    "Port",
    "Program",
    "WhileLoop",
    "arithmetic",
    "verify",
]

_NAMED = 3  # largest number of arguments that a message names
_NUMERIC = ("n", "nn", "nnn")  # kinds of the arguments of most operations
_KINDS = {"n": "number", "t": "truth", "p": "pair", "b": "bundle"}


class InvalidProgramError(AssertionError):
    """A program breaks a rule of programs, because of a defect in the pass that produced it."""


def verify_instructions(listing: InstructionList, name: str, done: set[Region]) -> None:
    """Raise InvalidProgramError unless every value is defined before use, with the right arity and kind.

    Kinds are number, truth value and the pair that `sincos` returns.  Bodies of loops, branches and calls are verified
    too, except bodies in ``done``, to which verified bodies are added.
    """
    gives: list[str] = []
    numeric: set[int] = set()  # indices of the values so far that are numbers
    for k, instruction in enumerate(listing.instructions):
        operation, args, value = instruction
        takes_numbers = operation.kinds in _NUMERIC and len(args) == operation.arity and numeric.issuperset(args)
        if not takes_numbers:
            _verify_arguments(listing, name, k, gives)
        gives.append(operation.gives)
        if operation.gives == "n":
            numeric.add(k)
        if operation.arity < 0:
            _verify_bodies(value, len(args), _where(name, k, instruction), done)
    for k, r in enumerate(listing.results):
        kind = "t" if k < listing.first else "n"
        if not 0 <= r < len(gives) or gives[r] != kind:
            raise InvalidProgramError(f"{name}: result {r} is not a {_KINDS[kind]}")


def _verify_arguments(listing: InstructionList, name: str, k: int, gives: Sequence[str]) -> None:
    """Verify the arguments and the value of instruction k; ``gives`` are the kinds of the values before it."""
    instruction = listing.instructions[k]
    operation, args, value = instruction
    bundle = value if operation.arity < 0 else None
    if len(args) != operation.arity and bundle is None:
        _refuse(name, k, instruction, f"expected {operation.arity} arguments, got {len(args)}")
    if args and not (min(args) >= 0 and max(args) < k):
        _refuse(name, k, instruction, "an argument is not defined before it")
    if operation is INPUT and not (isinstance(value, int) and 0 <= value < listing.elements_in):
        _refuse(name, k, instruction, f"no input element {value}")
    if operation is PART and not 0 <= value < listing.instructions[args[0]].value.count:
        _refuse(name, k, instruction, f"result {value} does not exist")
    if operation is CONSTANT and not isinstance(value, float):
        _refuse(name, k, instruction, f"a constant must be a float, got {value!r}")
    got = "".join([gives[a] for a in args])
    required = operation.kinds if bundle is None else bundle.kinds(len(args))
    if got != required:
        expected, result = (tuple(_KINDS[kind] for kind in kinds) for kinds in (required, got))
        _refuse(name, k, instruction, f"expected arguments {expected}, got {result}")


def _refuse(name: str, k: int, instruction: Instruction, why: str) -> NoReturn:
    raise InvalidProgramError(f"{_where(name, k, instruction)}: {why}")


def _where(name: str, k: int, instruction: Instruction) -> str:
    args = (
        map(str, instruction.args) if len(instruction.args) <= _NAMED else [*map(str, instruction.args[:_NAMED]), "..."]
    )
    return f"{name}: value {k} = {instruction.operation.name}({', '.join(args)})"


def _verify_bodies(bundle: MultiResult, arguments: int, where: str, done: set[Region]) -> None:
    """Verify that bodies accept the bundle's arguments and return its results; equal bodies are verified once."""
    bodies = bodies_of(bundle)
    if isinstance(bundle, OutlinedCalls):
        _verify_calls(bundle, arguments, where, done)
        return
    takes, gives = arguments, bundle.count
    if isinstance(bundle, Loop):
        takes += bundle.inputs - len(bundle.reads) - bundle.max_iterations * bundle.own_inputs
        gives = bundle.conditional + bundle.carried + bundle.outputs
        if bundle.conditional and (bundle.inputs or bundle.outputs):
            raise InvalidProgramError(
                f"{where}: a loop with a condition has neither inputs nor outputs of each iteration"
            )
    elif isinstance(bundle, Choice):
        takes -= 1
    for j, body in enumerate(bodies):
        if (body.takes, len(body.results)) != (takes, gives):
            result = f"{body.takes} -> {len(body.results)}"
            raise InvalidProgramError(f"{where}: expected a body of {takes} -> {gives} values, got {result}")
        _verify_once(body, f"{where}: body {j}", done)


def _verify_calls(outlined: OutlinedCalls, arguments: int, where: str, done: set[Region]) -> None:
    """Verify that every call reads slots that have a value and writes its results to other slots."""
    filled = set(range(-arguments, 0))
    for k, (body, inputs, constants, outputs) in enumerate(outlined.calls):
        region = outlined.bodies[body]
        if (region.takes, len(region.results)) != (len(inputs) + len(constants), len(outputs)):
            result = f"{len(inputs)} and {len(constants)} constants -> {len(outputs)}"
            raise InvalidProgramError(
                f"{where}: call {k}: expected {region.takes} -> {len(region.results)}, got {result}"
            )
        if not filled.issuperset(inputs):
            raise InvalidProgramError(f"{where}: call {k}: the slots {sorted({*inputs} - filled)} have no value")
        if {*inputs} & {*outputs} or not all(0 <= slot < outlined.slots for slot in outputs):
            raise InvalidProgramError(f"{where}: call {k}: it cannot write its results to the slots {outputs}")
        filled.update(outputs)
    if not filled.issuperset(range(outlined.results)):
        raise InvalidProgramError(f"{where}: no call writes some of the results")
    for k, region in enumerate(outlined.bodies):
        _verify_once(region, f"{where}: body {k}", done)


def _verify_once(body: Region, name: str, done: set[Region]) -> None:
    if body not in done:
        done.add(body)
        verify_instructions(body, name, done)


def _own(name: str, lowering: str, value: Any, kinds: str, gives: str = "n", composition: Any = None) -> Operation:
    """Return an operation for the compiler only, which is not in the table of operations.

    ``composition`` computes it from operations of the table; the default is ``value``.
    """
    code = Lowering("compiler", lowering)
    return Operation(name, len(kinds), value, value, None, code, kinds, gives, composition=composition or value)


# A product and a sum with one rounding on the machine (and two in the interpreter).
FMA = _own("fma", "fma", lambda a, b, c: a * b + c, "nnn")
FMS = _own("fms", "fms", lambda a, b, c: a * b - c, "nnn")
FNMA = _own("fnma", "fnma", lambda a, b, c: c - a * b, "nnn")
# Sine and cosine of one argument together, and the two components of that pair.
SINCOS = _own("sincos", "sincos", lambda x: (np.sin(x), np.cos(x)), "n", "p", lambda x: (f.sin(x), f.cos(x)))
SIN_OF = _own("sin_of", "first", lambda pair: pair[0], "p")
COS_OF = _own("cos_of", "second", lambda pair: pair[1], "p")
EXTRACTED = (SIN_OF, COS_OF, PART)  # operations that only select one of several results


@dataclass(frozen=True)
class Program(InstructionList):
    """Instructions with named input and output arrays.

    ``results`` has the index of the value of each element of all outputs, in order, then the indices of the guards. A
    guard is a hidden result: compiled code reports if it is greater than zero (see
    `linkwork.compiler.runtime.loop_state.State`), and the caller then checks the arguments. NaN is not greater than
    zero.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    guards: int = 0  # number of guards: the last of the results
    marks: tuple[int, ...] = ()  # of a traced program: first instructions of steps that may be repeated
    in_double: bool = False  # computed in float64 for arguments of any type

    first = 0

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<Program {self.name}: {inputs} -> {outputs}, {len(self.instructions)} instructions>"

    @staticmethod
    def of(
        name: str,
        inputs: Sequence[tuple[Port, Sequence[Symbol]]],
        outputs: Sequence[tuple[Port, Sequence[Any]]],
        guards: Sequence[Any] = (),
    ) -> Program:
        """Build the program that computes expressions of input symbols.

        Each port comes with its elements in row-major order. Elements of outputs may be constants.  Raises TypeError if
        a truth value is used as a number, or a number as a truth value.
        """
        elements = [*(x for _, values in outputs for x in values), *guards]
        symbols = [symbol for _, symbols in inputs for symbol in symbols]
        nodes = reachable(elements, symbols)
        marks = nodes[0].graph.marks if nodes else []
        in_double = any(x.graph.in_double for x in (*symbols[:1], *nodes[:1]))
        indices = [node.index for node in nodes] if marks else []
        begun = sorted({bisect_left(indices, mark) for mark in marks})
        try:
            instructions, results = instructions_of(elements, symbols, nodes)
        except KeyError as error:
            raise ValueError(f"{name}: {_unknown(error.args[0])}") from None
        ports_in, ports_out = tuple(p for p, _ in inputs), tuple(p for p, _ in outputs)
        marked = tuple(begun)
        program = Program(
            name, ports_in, ports_out, tuple(instructions), tuple(results), len(guards), marked, in_double
        )
        if nodes and _mixes_kinds(nodes[0].graph.nodes):
            _refuse_mixed_kinds(program)
        return program

    @cached_property
    def elements_in(self) -> int:
        """Number of scalars in all inputs."""
        return sum(port.size for port in self.inputs)

    def rebuilt(self, instructions: Sequence[Instruction], results: Sequence[int]) -> Program:
        """Return a copy with other instructions and results, and without marks, whose indices no longer apply."""
        return replace(self, instructions=tuple(instructions), results=tuple(results), marks=())

    def pruned(self) -> Program:
        """Return the program without the instructions that no result depends on; marks are adjusted."""
        order = sorted(self.needed(self.results))
        return replace(self.ordered(order), marks=tuple([bisect_left(order, mark) for mark in self.marks]))

    @cached_property
    def unguarded(self) -> Program:
        """The program without its guards."""
        if not self.guards:
            return self
        return replace(self, results=self.results[: -self.guards], guards=0).pruned()

    @cached_property
    def unused(self) -> list[frozenset[int]]:
        """For each input, the indices of its elements that no result depends on."""
        used = {i.value for i in self.instructions if i.operation is INPUT}
        result, start = [], 0
        for port in self.inputs:
            result.append(frozenset(k for k in range(port.size) if start + k not in used))
            start += port.size
        return result

    @property
    def operations(self) -> Mapping[str, int]:
        """Number of executions of each operation that the outputs need, without inputs and constants.

        Operations in a loop count once for each iteration. For a loop with a condition no iteration is counted; `count`
        assumes a number of iterations.
        """
        return self.count()

    def count(self, iterations: int | Sequence[int] = 0) -> Mapping[str, int]:
        """Return the number of executions of each operation, if loops with a condition run ``iterations`` times.

        ``iterations`` is one integer for all of `while_loops`, or a list with one for each. Of the two branches of a
        `cond`, the more expensive one counts. Raises ValueError for a list of the wrong length, or for more iterations
        than a loop's maximum.
        """
        return counted(self.unguarded, iterations)

    @property
    def while_loops(self) -> list[WhileLoop]:
        """The loops with a condition, in the order of the program; inner loops follow their outer loop."""
        return while_loops(self.unguarded)

    @property
    def arithmetic(self) -> int:
        """Number of multiplications, additions and subtractions: a machine-independent measure of work.

        A fused product and sum counts as two.
        """
        return arithmetic(self.operations)

    def interpret(self, *arrays: Any) -> tuple[np.ndarray, ...]:
        """Evaluate the program one operation at a time: the reference for compiled code.

        Arrays have shape (..., *port shape); leading dimensions broadcast, as for the compiled kernel.
        """
        leading = []
        arrays = tuple(port.array(self.name, x) for x, port in zip(arrays, self.inputs, strict=True))
        for x, port in zip(arrays, self.inputs, strict=True):
            leading.append(x.shape[: x.ndim - len(port.shape)])
        batch = np.broadcast_shapes(*leading)
        columns: list[Any] = []
        for x, port in zip(arrays, self.inputs, strict=True):
            full = np.broadcast_to(x, (*batch, *port.shape))
            columns += map(np.asarray, np.moveaxis(full.reshape(*batch, port.size), -1, 0))
        with np.errstate(all="ignore"):
            result = self.unguarded.run(columns, apply_on_arrays, np.float64)
        outputs, start = [], 0
        for port in self.outputs:
            parts = [np.broadcast_to(x, batch) for x in result[start : start + port.size]]
            stacked = np.stack(parts, axis=-1) if parts else np.zeros((*batch, 0))
            outputs.append(np.array(stacked, dtype=np.float64).reshape((*batch, *port.shape)))
            start += port.size
        return tuple(outputs)


def _mixes_kinds(nodes: Sequence[Symbol]) -> bool:
    """Return True if an argument of a node is a number instead of a truth value, or vice versa."""
    truths = {node for node in nodes if node.op.gives == "t"}
    for node in nodes:
        args, kinds = node.args, node.op.kinds
        if args and (not truths.isdisjoint(args) or "t" in kinds):
            kinds = kinds if node.op.arity >= 0 else node.value.kinds(len(args))
            if any((x in truths) is not (kind == "t") for x, kind in zip(args, kinds, strict=True)):
                return True
    return False


def _refuse_mixed_kinds(program: Program) -> None:
    try:
        verify_instructions(program, program.name, set())
    except InvalidProgramError as error:
        remedy = "x != 0.0 converts a number to a truth value, and where(condition, 1.0, 0.0) a truth value to a number"
        raise TypeError(f"{error}; {remedy}") from None


def _unknown(symbol: str) -> str:
    if isinstance(symbol, InnerName):
        return f"{symbol} is used outside of its loop or call, where it has no value: return it from the loop or call"
    return f"the symbol {symbol!r} is used but is not among the inputs"


def verify(program: Program) -> None:
    """Raise InvalidProgramError unless every value is defined before use, with the right arity and kind.

    Kinds are number, truth value and the pair that `sincos` returns. Bodies of loops, branches and calls are verified
    too.
    """
    verify_instructions(program, program.name, set())
    if len(program.results) != sum(port.size for port in program.outputs) + program.guards:
        raise InvalidProgramError(f"{program.name}: the results do not fill the outputs and {program.guards} guards")
