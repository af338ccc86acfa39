"""Lists of instructions in static single assignment form: base of programs and loop bodies.

Instruction k defines value k from earlier values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import accumulate, compress
from operator import itemgetter
from typing import Any, Self

from linkwork._util.cached_properties import cached_property
from linkwork.expr.autodiff.custom_derivative import RULE
from linkwork.expr.scalar.interpreter import INPUT, Apply, Constant, Instruction, apply_operation, instructions_of, run
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["InstructionList", "Region", "bodies_of", "instruction_count", "once_per_list"]


class InstructionList(ABC):
    """List of instructions in static single assignment form, with the indices of its results.

    The last ``guards`` results are guards: conditions that a program checks and does not output.
    """

    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    guards: int
    first: int

    @property
    @abstractmethod
    def elements_in(self) -> int:
        """Number of scalar inputs of the instruction list."""

    def rebuilt(self, instructions: Sequence[Instruction], results: Sequence[int]) -> Self:
        """Return the list with its instructions and the indices of its results replaced, as compiler passes do.

        Inputs and outputs stay the same.
        """
        return replace(self, instructions=tuple(instructions), results=tuple(results))  # type: ignore[type-var]

    @cached_property
    def kinds(self) -> frozenset[Operation]:
        """Set of the operations that occur in the instruction list."""
        return frozenset(map(itemgetter(0), self.instructions))

    @property
    def has_bodies(self) -> bool:
        """True if the list may contain loops, branches, calls or other instructions with several results."""
        return any(operation.arity < 0 for operation in self.kinds)

    @cached_property
    def bundles(self) -> tuple[int, ...]:
        """The indices of the instructions of several results."""
        several = {operation for operation in self.kinds if operation.arity < 0}
        if not several:
            return ()
        has_several = map(several.__contains__, map(itemgetter(0), self.instructions))
        return tuple(compress(range(len(self.instructions)), has_several))

    def flags(self, results: Iterable[int]) -> bytearray:
        """Return a flag for each instruction: 1 if one of the ``results`` depends on it, or is its value.

        ``results`` are indices of instructions.
        """
        instructions = self.instructions
        flags = bytearray(len(instructions))
        for r in results:
            flags[r] = 1
        for k in range(len(instructions) - 1, -1, -1):
            if flags[k]:
                for a in instructions[k][1]:
                    flags[a] = 1
        return flags

    def extend_flags(self, flags: bytearray, results: Iterable[int]) -> None:
        """Set flags of the instructions with the indices ``results``, and of all that they depend on, to 1.

        ``flags`` is an array that the method `flags` returned.
        """
        instructions = self.instructions
        waiting = [r for r in results if not flags[r]]
        for r in waiting:
            flags[r] = 1
        while waiting:
            for a in instructions[waiting.pop()][1]:
                if not flags[a]:
                    flags[a] = 1
                    waiting.append(a)

    def needed(self, results: Iterable[int]) -> set[int]:
        """Return the indices ``results`` of instructions, and the indices of all instructions that they depend on."""
        return set(compress(range(len(self.instructions)), self.flags(results)))

    def pruned(self) -> Self:
        """Return the list without instructions that no result depends on."""
        flags = self.flags(self.results)
        return self if all(flags) else self.ordered(compress(range(len(flags)), flags))

    def ordered(self, order: Iterable[int]) -> Self:
        """Return the list with only these instructions, in this order; each must follow its arguments."""
        instructions = self.instructions
        number = [-1] * len(instructions)
        ordered_instructions: list[Instruction] = []
        new, add, numbered = tuple.__new__, ordered_instructions.append, number.__getitem__
        for index, k in enumerate(order):
            instruction = instructions[k]
            number[k] = index
            operation, args, value = instruction
            if args:
                instruction = new(Instruction, (operation, tuple(map(numbered, args)), value))
            add(instruction)
        return self.rebuilt(ordered_instructions, [number[r] for r in self.results])

    def without_rules(self) -> Self:
        """Return the list without instructions that store derivative rules; the values of their results stay.

        Each use of a rule's result becomes a use of the instruction that computes its value.
        """
        instructions = self.instructions
        if RULE not in self.kinds:
            return self
        stands_for: list[int] = []
        plain_instructions: list[Instruction] = []
        for k, (operation, args, value) in enumerate(instructions):
            if operation is PART and instructions[args[0]].operation is RULE:
                stands_for.append(stands_for[instructions[args[0]].args[value]])
                plain_instructions.append(Instruction(operation, args, value))  # no longer used; removed by `pruned`
                continue
            stands_for.append(k)
            plain_instructions.append(Instruction(operation, tuple([stands_for[a] for a in args]), value))
        results = tuple([stands_for[r] for r in self.results])
        return replace(self, instructions=tuple(plain_instructions), results=results).pruned()  # type: ignore[type-var]

    def alive(self) -> list[int]:
        """Return the number of live values before each instruction and after the last.

        A value is live when it is computed and still needed.  Inputs, constants and the parts of bundles are not
        counted.  A result is stored when it is computed, so it is not live after the last instruction that uses it.
        """
        last = list(range(len(self.instructions)))
        for k, (_, args, _) in enumerate(self.instructions):
            for a in args:
                last[a] = k
        change = [0] * (len(last) + 2)
        counted = {operation for operation in self.kinds if operation.arity > 0 and operation is not PART}
        counts = map(counted.__contains__, map(itemgetter(0), self.instructions))
        for k in compress(range(len(last)), counts):
            if last[k] > k:
                change[k + 1] += 1
                change[last[k] + 1] -= 1
        return list(accumulate(change[:-1]))

    def run(self, elements: Sequence[Any], apply: Apply = apply_operation, constant: Constant = float) -> list[Any]:
        """Return the list's results for ``elements``, the values of all scalar inputs.

        The values may be of any scalar type: symbols inline the list into their trace, dual numbers differentiate it.
        ``apply`` receives an instruction and the values of its arguments; ``constant`` converts a number to a value.
        """
        values = run(self.instructions, elements, apply, constant)
        return [values[r] for r in self.results]


@dataclass(frozen=True)
class Region(InstructionList):
    """Body of a loop, branch or call: a function of ``takes`` scalars, as a list of instructions."""

    takes: int
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    first: int = 0  # number of leading results that are computed before the others: a loop's condition

    guards = 0

    @property
    def elements_in(self) -> int:
        return self.takes

    @staticmethod
    def of(
        outputs: Sequence[Any], inputs: Sequence[Symbol], first: int = 0, nodes: Sequence[Symbol] | None = None
    ) -> Region:
        """Return the body (a list of instructions) that computes ``outputs`` from ``inputs``, any nodes of a trace.

        ``nodes`` are the `reachable` ones, if they are known.  Raises KeyError if the outputs depend on other symbols.
        """
        instructions, results = instructions_of(outputs, inputs, nodes)
        return Region(len(inputs), tuple(instructions), tuple(results), first)

    def taking(self, indices: Sequence[int], takes: int) -> Region:
        """Return the body with ``takes`` inputs, where its present input k becomes the input ``indices[k]``."""
        moved = [
            Instruction(operation, args, indices[value] if operation is INPUT else value)
            for operation, args, value in self.instructions
        ]
        return replace(self, takes=takes, instructions=tuple(moved))

    def __hash__(self) -> int:
        result: int | None = self.__dict__.get("_hashed")
        if result is None:
            result = hash((self.takes, self.instructions, self.results, self.first))
            object.__setattr__(self, "_hashed", result)
        return result


def bodies_of(bundle: MultiResult) -> list[Region]:
    """Return the bodies that a loop, branch or call runs, in order; () for any other instruction."""
    result: list[Region] = []

    def look(body: Region) -> Region:
        result.append(body)
        return body

    bundle.with_bodies(look)
    return result


def once_per_list(function: Callable[[InstructionList], float]) -> Callable[[InstructionList], float]:
    """Return a function of a list of instructions that stores its result in each list, since lists are immutable."""
    name = f"_{function.__name__} stored"

    @wraps(function)
    def stored(listing: InstructionList) -> float:
        result = listing.__dict__.get(name)
        if result is None:
            result = listing.__dict__[name] = function(listing)
        return float(result)

    return stored


@once_per_list
def instruction_count(listing: InstructionList) -> float:
    """Return the number of instructions, including instructions in bodies of loops and in other regions."""
    bundles = (i[2] for i in listing.instructions if i[0].arity < 0) if listing.has_bodies else ()
    inside = (body for bundle in bundles if isinstance(bundle, MultiResult) for body in bodies_of(bundle))
    return len(listing.instructions) + sum(map(instruction_count, inside))
