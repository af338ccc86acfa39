"""The program: scalar instructions in static single assignment, with named arrays in and out.

Instruction k defines value k from values defined before it.  Most operations are rows of the table in
`linkwork.expr.operations`; the few below exist only after the compiler's passes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..expr.interpret import reachable
from ..expr.operations import BY_NAME, Lowering, Operation
from ..expr.symbol import Symbol

__all__ = ["COS_OF", "FMA", "FMS", "FNMA", "SINCOS", "SIN_OF", "Instruction", "Port", "Program", "arithmetic"]


def _own(name: str, arity: int, value: Any, lowering: str) -> Operation:
    return Operation(name, arity, value, value, None, Lowering("compiler", lowering))


# A product and a sum with one rounding on the machine (and two in the interpreter).
FMA = _own("fma", 3, lambda a, b, c: a * b + c, "fma")
FMS = _own("fms", 3, lambda a, b, c: a * b - c, "fms")
FNMA = _own("fnma", 3, lambda a, b, c: c - a * b, "fnma")
# Sine and cosine of one argument together, and the two parts of that pair.
SINCOS = _own("sincos", 1, lambda x: (np.sin(x), np.cos(x)), "sincos")
SIN_OF = _own("sin_of", 1, lambda pair: pair[0], "first")
COS_OF = _own("cos_of", 1, lambda pair: pair[1], "second")

INPUT, CONSTANT = BY_NAME["input"], BY_NAME["constant"]


@dataclass(frozen=True, slots=True)
class Port:
    """A named array of float64 that goes in or comes out."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.shape))})"


class Instruction(NamedTuple):
    """One value: an operation and the numbers of its arguments.

    ``value`` is a constant's number, or an input's place among the elements of all inputs, one after the other.
    """

    operation: Operation
    args: tuple[int, ...]
    value: Any = None


@dataclass(frozen=True)
class Program:
    """A straight-line program.

    ``results`` names the value of each element of all outputs, one after the other, and then those of the guards.  A
    guard is a result that callers do not see: where it is greater than zero, compiled code says so (see `loops.State`),
    and whoever called may look what is wrong with the arguments.  NaN is not greater.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    guards: int = 0  # how many of the results, the last ones, are guards

    @staticmethod
    def of(
        name: str,
        inputs: Sequence[tuple[Port, Sequence[Symbol]]],
        outputs: Sequence[tuple[Port, Sequence[Any]]],
        guards: Sequence[Any] = (),
    ) -> Program:
        """The program of expressions: each port with its elements in row-major order (outputs may be numbers)."""
        places: dict[Symbol, int] = {}
        for _, symbols in inputs:
            for symbol in symbols:
                places[symbol] = len(places)
        elements = [*(x for _, values in outputs for x in values), *guards]
        instructions: list[Instruction] = []
        number: dict[int, int] = {}
        for node in reachable(elements):
            number[node.index] = len(instructions)
            if node.op is INPUT:
                if node not in places:
                    raise ValueError(f"{name}: the symbol {node.value!r} is used but is not among the inputs")
                instructions.append(Instruction(INPUT, (), places[node]))
            elif node.op is CONSTANT:
                instructions.append(Instruction(CONSTANT, (), node.value))
            else:
                instructions.append(Instruction(node.op, tuple([number[a.index] for a in node.args])))
        constants: dict[tuple[float, float], int] = {}
        results = []
        for x in elements:
            if isinstance(x, Symbol):
                results.append(number[x.index])
                continue
            value = float(x)
            key = (value, math.copysign(1.0, value))
            if key not in constants:
                constants[key] = len(instructions)
                instructions.append(Instruction(CONSTANT, (), value))
            results.append(constants[key])
        ports_in, ports_out = tuple(p for p, _ in inputs), tuple(p for p, _ in outputs)
        return Program(name, ports_in, ports_out, tuple(instructions), tuple(results), len(guards))

    def rebuilt(self, instructions: Sequence[Instruction], results: Sequence[int]) -> Program:
        """The same ports, other instructions: what passes return."""
        return replace(self, instructions=tuple(instructions), results=tuple(results))

    def needed(self, results: Iterable[int]) -> set[int]:
        """The numbers of the instructions that these values depend on, themselves included."""
        needed = set(results)
        for k in range(len(self.instructions) - 1, -1, -1):
            if k in needed:
                needed.update(self.instructions[k].args)
        return needed

    def pruned(self) -> Program:
        """The program without the instructions that no result depends on."""
        needed = self.needed(self.results)
        number: dict[int, int] = {}
        kept: list[Instruction] = []
        for k, (operation, args, value) in enumerate(self.instructions):
            if k in needed:
                number[k] = len(kept)
                kept.append(Instruction(operation, tuple([number[a] for a in args]), value))
        return self.rebuilt(kept, [number[r] for r in self.results])

    @cached_property
    def unguarded(self) -> Program:
        """The program of the outputs alone."""
        if not self.guards:
            return self
        return replace(self, results=self.results[: -self.guards], guards=0).pruned()

    @property
    def operations(self) -> Mapping[str, int]:
        """How often each operation occurs (leaves left out), of those that outputs need."""
        counts = Counter(i.operation.name for i in self.unguarded.instructions if i.operation.arity)
        return dict(sorted(counts.items()))

    @property
    def arithmetic(self) -> int:
        """Multiplications, additions and subtractions: a measure of work that depends on no machine.

        A fused product and sum counts as two.
        """
        return arithmetic(self.operations)

    def alive(self) -> list[int]:
        """How many values are alive before each instruction, and after the last: computed already and needed still.

        Inputs and constants are there anyway, and a result is stored when it is computed.
        """
        last = list(range(len(self.instructions)))
        for k, instruction in enumerate(self.instructions):
            for a in instruction.args:
                last[a] = k
        change = [0] * (len(last) + 2)
        for k, instruction in enumerate(self.instructions):
            if instruction.operation.arity and last[k] > k:
                change[k + 1] += 1
                change[last[k] + 1] -= 1
        return list(accumulate(change[:-1]))

    def use_counts(self) -> list[int]:
        """How often each value is used, as an argument or a result."""
        uses = [0] * len(self.instructions)
        for instruction in self.instructions:
            for a in instruction.args:
                uses[a] += 1
        for r in self.results:
            uses[r] += 1
        return uses

    def interpret(self, *arrays: Any) -> tuple[np.ndarray, ...]:
        """The outputs for arrays of shape (..., *port shape), one operation at a time: the compiled code's reference.

        Leading dimensions broadcast, as for the compiled kernel.
        """
        leading = []
        for x, port in zip(arrays, self.inputs, strict=True):
            shape = np.shape(x)
            leading.append(shape[: max(len(shape) - len(port.shape), 0)])
            if shape != leading[-1] + port.shape:
                raise ValueError(f"{self.name}: expected {port.name} of shape (..., *{port.shape}), got {shape}")
        batch = np.broadcast_shapes(*leading)
        columns: list[Any] = []
        for x, port in zip(arrays, self.inputs, strict=True):
            full = np.broadcast_to(np.asarray(x, dtype=np.float64), (*batch, *port.shape))
            columns += list(np.moveaxis(full.reshape(*batch, port.size), -1, 0))
        values: list[Any] = []
        with np.errstate(all="ignore"):
            for operation, args, value in self.unguarded.instructions:
                if operation is INPUT:
                    values.append(np.asarray(columns[value]))
                elif operation is CONSTANT:
                    values.append(np.float64(value))
                else:
                    values.append(operation.value(*(values[a] for a in args)))
        outputs, start = [], 0
        for port in self.outputs:
            parts = [np.broadcast_to(values[r], batch) for r in self.unguarded.results[start : start + port.size]]
            stacked = np.stack(parts, axis=-1) if parts else np.zeros((*batch, 0))
            outputs.append(np.array(stacked, dtype=np.float64).reshape((*batch, *port.shape)))
            start += port.size
        return tuple(outputs)


def arithmetic(operations: Mapping[str, int]) -> int:
    """Multiplications, additions and subtractions among operations of these kinds; a fused pair counts as two."""
    return sum(_ARITHMETIC.get(name, 0) * count for name, count in operations.items())


_ARITHMETIC = {"mul": 1, "add": 1, "sub": 1, "fma": 2, "fms": 2, "fnma": 2}
