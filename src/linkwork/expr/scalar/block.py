"""Lists of instructions in static single assignment form: base of programs and loop bodies.

Instruction k defines value k from earlier values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import accumulate
from typing import Any, Self

from linkwork.expr.autodiff.custom_derivative import RULE
from linkwork.expr.scalar.interpreter import INPUT, Apply, Constant, Instruction, apply_operation, instructions_of, run
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["InstructionList", "Region", "bodies_of", "once_per_list"]


class InstructionList(ABC):
    """Instructions and the indices of the results; the last ``guards`` results are guards."""

    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    guards: int
    first: int

    @property
    @abstractmethod
    def elements_in(self) -> int:
        """Number of scalar inputs."""

    def rebuilt(self, instructions: Sequence[Instruction], results: Sequence[int]) -> Self:
        """Return the list with other instructions and results, and the same inputs and outputs, for passes."""
        return replace(self, instructions=tuple(instructions), results=tuple(results))  # type: ignore[type-var]

    def needed(self, results: Iterable[int]) -> set[int]:
        """Return the indices of the instructions that these values depend on, including their own."""
        needed = set(results)
        for k in range(len(self.instructions) - 1, -1, -1):
            if k in needed:
                needed.update(self.instructions[k].args)
        return needed

    def pruned(self) -> Self:
        """Return the list without instructions that no result depends on."""
        needed = self.needed(self.results)
        return self if len(needed) == len(self.instructions) else self.ordered(sorted(needed))

    def ordered(self, order: Iterable[int]) -> Self:
        """Return the list with these instructions in this order; arguments must precede their uses."""
        number: dict[int, int] = {}
        kept: list[Instruction] = []
        for k in order:
            operation, args, value = self.instructions[k]
            number[k] = len(kept)
            kept.append(Instruction(operation, tuple([number[a] for a in args]), value))
        return self.rebuilt(kept, [number[r] for r in self.results])

    def without_rules(self) -> Self:
        """Return the list with derivative rules replaced by their results."""
        instructions = self.instructions
        if not any(i.operation is RULE for i in instructions):
            return self
        stands_for: list[int] = []
        kept: list[Instruction] = []
        for k, (operation, args, value) in enumerate(instructions):
            if operation is PART and instructions[args[0]].operation is RULE:
                stands_for.append(stands_for[instructions[args[0]].args[value]])
                kept.append(Instruction(operation, args, value))  # no longer used; removed by `pruned`
                continue
            stands_for.append(k)
            kept.append(Instruction(operation, tuple([stands_for[a] for a in args]), value))
        results = tuple([stands_for[r] for r in self.results])
        return replace(self, instructions=tuple(kept), results=results).pruned()  # type: ignore[type-var]

    def alive(self) -> list[int]:
        """Count the live values, computed and still needed, before each instruction and after the last.

        Inputs, constants and the parts of bundles do not count; a result is stored when it is computed.
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

    def run(self, elements: Sequence[Any], apply: Apply = apply_operation, constant: Constant = float) -> list[Any]:
        """Evaluate the results for these values of all scalar inputs.

        The values may be of any scalar type: symbols inline the list into their trace, dual numbers differentiate it.
        ``apply`` and ``constant`` are those of `linkwork.expr.scalar.interpreter.run`.
        """
        values = run(self.instructions, elements, apply, constant)
        return [values[r] for r in self.results]


@dataclass(frozen=True)
class Region(InstructionList):
    """Body of an instruction with several results: a function of ``takes`` scalars."""

    takes: int
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    first: int = 0  # number of leading results that are computed before the others: a loop's condition

    guards = 0

    @property
    def elements_in(self) -> int:
        return self.takes

    @staticmethod
    def of(outputs: Sequence[Any], inputs: Sequence[Symbol], first: int = 0) -> Region:
        """Build the body that computes expressions from these symbols, which may be any nodes.

        Raises KeyError if the expressions depend on other inputs.
        """
        instructions, results = instructions_of(outputs, inputs)
        return Region(len(inputs), tuple(instructions), tuple(results), first)

    def taking(self, indices: Sequence[int], takes: int) -> Region:
        """Return the body with ``takes`` inputs, of which its own are those at ``indices``."""
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
    """Return the bodies that a bundle runs, in order."""
    result: list[Region] = []

    def look(body: Region) -> Region:
        result.append(body)
        return body

    bundle.with_bodies(look)
    return result


def once_per_list(function: Callable[[InstructionList], float]) -> Callable[[InstructionList], float]:
    """Return the function of a list of instructions with its results stored with each list, which is immutable."""
    name = f"_{function.__name__} stored"

    @wraps(function)
    def stored(listing: InstructionList) -> float:
        result = listing.__dict__.get(name)
        if result is None:
            result = listing.__dict__[name] = function(listing)
        return float(result)

    return stored
