"""What a program with loops is made of when it runs: steps, and places in memory.

All that outlives a piece of straight-line code stands in a *frame*: one number of all lanes after the other, the inputs
first.  A scope (the program, or a body inside it) is a list of steps, which run one after the other: pieces of
straight-line code, and loops, choices and calls between them, whose arguments the piece before has put in place.

About how much work a program with loops is: instructions, those in loops as often as they may run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from linkwork.compiler.loops.in_place_tables import Stored
from linkwork.compiler.outlined_calls import OUTLINED_CALLS, OutlinedCalls
from linkwork.compiler.program import CONSTANT, INPUT, SINCOS
from linkwork.expr.control.branch_and_call_instructions import CALL, CHOICE
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.control.table_access import PUT
from linkwork.expr.linalg.frontal_elimination import FRONT, FrontElimination
from linkwork.expr.scalar.block import InstructionList, Region, bodies_of
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = [
    "CONTROL",
    "FRAME",
    "SLICE",
    "TABLE",
    "Column",
    "Control",
    "Memory",
    "Piece",
    "Scope",
    "Spot",
    "samples_cost",
]


CONTROL = frozenset((LOOP, CHOICE, CALL, OUTLINED_CALLS, FRONT))
FRAME, SLICE, TABLE = "frame", "slice", "table"


class Spot(NamedTuple):
    """Where a number stands: in the frame, or among the inputs of a loop's step, in a column."""

    area: str
    number: int
    column: int = 0


@dataclass
class Column:
    """Inputs of a loop's steps that stand side by side: where those of the first step begin, and how much further on
    those of the next.  Constants are a table, of one number for all lanes each.
    """

    start: Spot
    stride: int
    count: int
    table: tuple[float, ...] = ()

    def goes_on_with(self, other: Column) -> bool:
        """Whether another column stands right behind, in every step."""
        if self.table or other.table or not self.stride == other.stride != 0:
            return False
        return other.start == self.start._replace(number=self.start.number + self.count)


@dataclass
class Piece:
    """Straight-line code: the instructions from ``start`` to ``stop``, and what it leaves where in the frame."""

    start: int
    stop: int
    left: dict[int, int] = field(default_factory=dict)  # a value that it computes -> its place
    placed: list[tuple[int, int]] = field(default_factory=list)  # any value, and a further place, filled at the end
    over: dict[int, int] = field(default_factory=dict)  # a value -> the input whose place it takes


@dataclass
class Control:
    """A loop, a choice, a call, rows or a front: the instruction's number, its results' first place, and its bodies."""

    number: int
    bundle: Any
    results: int
    scopes: tuple[Scope, ...]
    columns: tuple[Column, ...] = ()  # of a loop: where the inputs of its steps stand
    condition: int = 0  # of a choice: the condition's place
    frame: int = 0  # of a call: where the frame of what is called begins
    arguments: tuple[int, ...] = ()  # of rows: the places of what they take from outside
    outside: tuple[int, ...] = ()  # the places in the frame that it reads and does not write

    @property
    def ending(self) -> tuple[int, int]:
        """Of a loop with a condition: the places of how many steps were done, and of how it ended."""
        first = self.results + self.bundle.carried
        return first, first + 1


@dataclass
class Scope:
    """A listing with the places of its inputs, of the values that wait in the frame, and its steps."""

    listing: InstructionList
    inputs: Sequence[Spot]
    columns: int = 0  # of inputs of a loop's steps
    places: dict[int, int] = field(default_factory=dict)  # value -> place in the frame
    steps: list[Piece | Control] = field(default_factory=list)
    head: int = 0  # how many of the steps come before it is known whether the others are to be done
    results: tuple[int, ...] = ()  # of the program: the places of its results
    over: frozenset[int] = frozenset()  # of what a loop carries, what is put where it stood as soon as it is there
    mask: int = 0  # the place of which lanes do the step, where some is
    tables: tuple[Stored, ...] = ()  # of what a loop carries, what is changed where it stands

    @cached_property
    def stored(self) -> frozenset[int]:
        """What the loop carries, by number, that is in such tables."""
        return frozenset(j for table in self.tables for j in table.numbers)

    @cached_property
    def puts(self) -> frozenset[int]:
        """The instructions that put something into such tables."""
        return frozenset(k for table in self.tables for k in table.puts)

    @cached_property
    def counts(self) -> list[bool]:
        """Which instructions are work: all but inputs, constants, and the parts of tables that stand somewhere."""
        parts = (i.operation is PART and i.args[0] in self.puts for i in self.listing.instructions)
        leaves = (i.operation is INPUT or i.operation is CONSTANT for i in self.listing.instructions)
        return [not (part or leaf) for part, leaf in zip(parts, leaves, strict=True)]

    @cached_property
    def work(self) -> int:
        """How many instructions are work."""
        return sum(self.counts)

    @property
    def last(self) -> Piece:
        """The last step, which sees all results."""
        step = self.steps[-1]
        assert isinstance(step, Piece)
        return step


class Memory:
    """Hands out places; what is called from code that works in it works in a part of it, the same for every call."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.called: dict[Region, tuple[Scope, int]] = {}  # its scope, and where its frame begins in this one

    def take(self, count: int) -> int:
        self.size += count
        return self.size - count


_USUAL = 16  # steps of a loop with a condition, if it may do more
_FUNCTION = 20  # instructions of an elementary function


def samples_cost(listing: InstructionList) -> float:
    """The instructions that a sample takes, where loops with a condition do the usual number of steps."""
    total = 0.0
    for instruction in listing.instructions:
        if instruction.operation is PART and listing.instructions[instruction.args[0]].operation is PUT:
            continue  # a number that stays where it is, as a rule
        total += 1.0
        if instruction.operation.lowering.kind == "vector" or instruction.operation is SINCOS:
            total += _FUNCTION
        bundle = instruction.value
        if isinstance(bundle, Loop):
            times = min(bundle.max_iterations, _USUAL) if bundle.conditional else bundle.max_iterations
            total += times * samples_cost(bundle.body)
        elif isinstance(bundle, OutlinedCalls):
            total += sum(times * samples_cost(body) for body, times in bundle.runs)
        elif isinstance(bundle, FrontElimination):
            total += sum(bundle.operations.values())
        elif isinstance(bundle, MultiResult):
            total += sum(map(samples_cost, bodies_of(bundle)))
    return total
