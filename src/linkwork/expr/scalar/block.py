"""Listings of instructions in static single assignment: what programs and the bodies of loops have in common.

Instruction k defines value k from values defined before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Self

from linkwork.expr.autodiff.custom_derivative import RULED
from linkwork.expr.scalar.interpreter import INPUT, Apply, Constant, Instruction, called, listed, run
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["InstructionList", "Region", "bodies_of"]


class InstructionList(ABC):
    """Instructions, and which of their values are results; the last so many of the results are guards."""

    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    guards: int
    first: int

    @property
    @abstractmethod
    def elements_in(self) -> int:
        """How many numbers go in."""

    def rebuilt(self, instructions: Sequence[Instruction], results: Sequence[int]) -> Self:
        """The same inputs and outputs, other instructions: what passes return."""
        return replace(self, instructions=tuple(instructions), results=tuple(results))  # type: ignore[type-var]

    def needed(self, results: Iterable[int]) -> set[int]:
        """The numbers of the instructions that these values depend on, themselves included."""
        needed = set(results)
        for k in range(len(self.instructions) - 1, -1, -1):
            if k in needed:
                needed.update(self.instructions[k].args)
        return needed

    def pruned(self) -> Self:
        """The listing without the instructions that no result depends on."""
        return self.ordered(sorted(self.needed(self.results)))

    def ordered(self, order: Iterable[int]) -> Self:
        """The instructions with these numbers, arguments before what is made of them."""
        number: dict[int, int] = {}
        kept: list[Instruction] = []
        for k in order:
            operation, args, value = self.instructions[k]
            number[k] = len(kept)
            kept.append(Instruction(operation, tuple([number[a] for a in args]), value))
        return self.rebuilt(kept, [number[r] for r in self.results])

    def without_rules(self) -> Self:
        """The listing with the results of rules in the place of the rules."""
        instructions = self.instructions
        if not any(i.operation is RULED for i in instructions):
            return self
        stands_for: list[int] = []
        kept: list[Instruction] = []
        for k, (operation, args, value) in enumerate(instructions):
            if operation is PART and instructions[args[0]].operation is RULED:
                stands_for.append(stands_for[instructions[args[0]].args[value]])
                kept.append(Instruction(operation, args, value))  # nothing refers to it any more
                continue
            stands_for.append(k)
            kept.append(Instruction(operation, tuple([stands_for[a] for a in args]), value))
        results = tuple([stands_for[r] for r in self.results])
        return replace(self, instructions=tuple(kept), results=results).pruned()  # type: ignore[type-var]

    def alive(self) -> list[int]:
        """How many values are alive before each instruction, and after the last: computed already and needed still.

        Inputs and constants are there anyway, and so are the parts of bundles; a result is stored when it is computed.
        """
        last = list(range(len(self.instructions)))
        for k, instruction in enumerate(self.instructions):
            for a in instruction.args:
                last[a] = k
        change = [0] * (len(last) + 2)
        for k, instruction in enumerate(self.instructions):
            if instruction.operation.arity > 0 and instruction.operation is not PART and last[k] > k:
                change[k + 1] += 1
                change[last[k] + 1] -= 1
        return list(accumulate(change[:-1]))

    def run(self, elements: Sequence[Any], apply: Apply = called, constant: Constant = float) -> list[Any]:
        """The values of the results, where the elements of all inputs, one after the other, have the given ones.

        On any kind of number: on symbols, this takes the listing into their trace; on dual numbers it differentiates.
        ``apply`` and ``constant`` are those of `linkwork.expr.scalar.interpreter.run`.
        """
        values = run(self.instructions, elements, apply, constant)
        return [values[r] for r in self.results]


@dataclass(frozen=True)
class Region(InstructionList):
    """The inside of a bundle: a function of so many numbers."""

    takes: int
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    first: int = 0  # how many of the results, the first ones, are computed before all else: a loop's condition

    guards = 0

    @property
    def elements_in(self) -> int:
        return self.takes

    @staticmethod
    def of(outputs: Sequence[Any], inputs: Sequence[Symbol], first: int = 0) -> Region:
        """The body of expressions of these symbols, which need not be inputs.  Raises KeyError for others."""
        instructions, results = listed(outputs, inputs)
        return Region(len(inputs), tuple(instructions), tuple(results), first)

    def taking(self, places: Sequence[int], takes: int) -> Region:
        """The same of more inputs, among which its own have these places."""
        moved = [
            Instruction(operation, args, places[value] if operation is INPUT else value)
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
    """The bodies that a bundle runs, in order."""
    result: list[Region] = []

    def look(body: Region) -> Region:
        result.append(body)
        return body

    bundle.with_bodies(look)
    return result
