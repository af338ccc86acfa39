"""The execution plan of a program with loops: steps, and slots in memory.

Values that outlive a block of straight-line code are stored in a *frame*: an array in which each slot has a number for
every lane; the inputs come first. A scope (the program, or a body inside it) is a list of steps that run in sequence:
blocks of straight-line code, and loops, branches and calls between them. The block before a loop, branch or call stores
its arguments.

`samples_cost` estimates the work of a program with loops: the number of instructions, in which a loop's instructions
count once for each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from linkwork._util.cached_properties import cached_property
from linkwork.compiler.codegen.loops.in_place_tables import InPlaceTable
from linkwork.compiler.outlined_calls import OUTLINED_CALLS, OutlinedCalls
from linkwork.compiler.program import CONSTANT, INPUT, SINCOS
from linkwork.expr.control.branch_and_call_instructions import CALL, CHOICE, Choice
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.control.table_access import PUT
from linkwork.expr.linalg.frontal_elimination import FRONT
from linkwork.expr.linalg.matrix_product import PRODUCT, MatrixInstruction
from linkwork.expr.linalg.sparse_factors import FACTORS, SOLUTION
from linkwork.expr.scalar.block import InstructionList, Region, bodies_of, once_per_list
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = [
    "CONTROL",
    "FRAME",
    "SLICE",
    "TABLE",
    "BasicBlock",
    "Column",
    "Control",
    "FrameAllocator",
    "Scope",
    "Slot",
    "samples_cost",
]


CONTROL = frozenset((LOOP, CHOICE, CALL, OUTLINED_CALLS, FRONT, PRODUCT, FACTORS, SOLUTION))
FRAME, SLICE, TABLE = "frame", "slice", "table"


class Slot(NamedTuple):
    """The position of a scalar in memory: in the frame (all intermediate values), or in a column of a loop's inputs."""

    area: str
    number: int
    column: int = 0


@dataclass
class Column:
    """The memory of one or more adjacent inputs of a loop: their position in the first iteration, and the stride.

    The stride leads to the next iteration.  A column of constants is a table with one number for each iteration, equal
    for all lanes.
    """

    start: Slot
    stride: int
    count: int
    table: tuple[float, ...] = ()
    rows: int = 0  # number of iterations that have inputs of their own, if not all: later ones read those of the last

    def is_followed_by(self, other: Column) -> bool:
        """Return True if the inputs of ``other`` directly follow the inputs of this column, in every iteration."""
        if self.table or other.table or self.rows or not self.stride == other.stride != 0:
            return False
        return other.start == self.start._replace(number=self.start.number + self.count)


@dataclass
class BasicBlock:
    """Straight-line code: the instructions from ``start`` to ``stop``, and the values that they store in the frame."""

    start: int
    stop: int
    stores: dict[int, int] = field(default_factory=dict)  # a value that it computes -> its slot
    copies: list[tuple[int, int]] = field(default_factory=list)  # any value, and a further slot, written at the end
    overwrites: dict[int, int] = field(default_factory=dict)  # a value -> the input whose slot it overwrites


@dataclass
class Control:
    """A step of the execution that is a loop, a branch, a call, a table of calls or a matrix instruction.

    It has the index of the instruction, the first slot of its results, and the scopes (planned instructions) inside it.
    """

    number: int
    bundle: Any
    results: int
    scopes: tuple[Scope, ...]
    columns: tuple[Column, ...] = ()  # of a loop: positions of the inputs of its iterations
    condition: int = 0  # of a choice: the condition's slot
    frame: int = 0  # of a call: where the callee's frame begins
    arguments: tuple[int, ...] = ()  # of outlined calls, products and solutions: the slots of values read in place
    outside: tuple[int, ...] = ()  # the slots of the frame that it reads and does not write

    @property
    def ending(self) -> tuple[int, int]:
        """The two slots of a loop with a condition that have its number of iterations and its status."""
        first = self.results + self.bundle.carried
        return first, first + 1


@dataclass
class Scope:
    """A list of instructions planned for execution: its steps, and the slots of its inputs and stored values.

    Slots are positions in the frame, the array of intermediate values.
    """

    listing: InstructionList
    inputs: Sequence[Slot]
    columns: int = 0  # number of columns of a loop's inputs
    slots: dict[int, int] = field(default_factory=dict)  # value -> slot in the frame
    steps: list[BasicBlock | Control] = field(default_factory=list)
    head: int = 0  # number of steps that compute a loop's condition
    results: tuple[int, ...] = ()  # of the program: the slots of its results
    overwritten: frozenset[int] = frozenset()  # a loop's carried values that are stored as soon as they are computed
    mask: int = 0  # slot of the mask of active lanes, if there is one
    tables: tuple[InPlaceTable, ...] = ()  # tables of a loop's carried values that are changed in place

    @cached_property
    def stored(self) -> frozenset[int]:
        """Indices of the loop's carried values that are elements of tables changed in place."""
        return frozenset(j for table in self.tables for j in table.indices)

    @cached_property
    def puts(self) -> frozenset[int]:
        """Indices of the instructions that write to tables changed in place."""
        return frozenset(k for table in self.tables for k in table.puts)

    @cached_property
    def counts(self) -> list[bool]:
        """For each instruction, True unless it is an input, a constant or an element of a table changed in place."""
        instructions, puts = self.listing.instructions, self.puts
        result = [not (operation is INPUT or operation is CONSTANT) for operation, _, _ in instructions]
        if puts:
            for k, (operation, args, _) in enumerate(instructions):
                if operation is PART and args[0] in puts:
                    result[k] = False
        return result

    @cached_property
    def work(self) -> int:
        """Number of instructions that cost time (see `counts`)."""
        return sum(self.counts)

    @property
    def last(self) -> BasicBlock:
        """The last step: straight-line code, after which all results of the scope are available."""
        step = self.steps[-1]
        assert isinstance(step, BasicBlock)
        return step


class FrameAllocator:
    """Allocates slots of the frame, the array of a program's intermediate values.

    A called subroutine uses a part of its caller's frame, the same for every call.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.called: dict[Region, tuple[Scope, int]] = {}  # scope and start of its frame in this one

    def take(self, count: int) -> int:
        self.size += count
        return self.size - count


_TYPICAL = 16  # iterations of a loop with a condition, unless its maximum is less
_TAKEN = 0.125  # share of samples that take the longer branch: branches are for rare work, `where` for frequent work
_FUNCTION = 20  # instructions of an elementary function


@once_per_list
def samples_cost(listing: InstructionList) -> float:
    """Return the approximate number of machine instructions for a sample.

    A loop with a condition counts with a typical number of iterations.  Of two branches, the shorter one and a fraction
    of the longer one count.  An elementary function counts as several instructions.
    """
    instructions, has_puts = listing.instructions, PUT in listing.kinds
    count = len(instructions)
    long = {operation for operation in listing.kinds if operation.lowering.kind == "vector" or operation is SINCOS}
    if has_puts:  # elements that are usually not moved
        count -= sum(operation is PART and instructions[args[0]][0] is PUT for operation, args, _ in instructions)
    total = float(count)
    if long:
        total += _FUNCTION * sum(map(long.__contains__, map(itemgetter(0), instructions)))
    for k in listing.bundles:
        bundle = instructions[k].value
        if isinstance(bundle, Loop):
            times = min(bundle.max_iterations, _TYPICAL) if bundle.conditional else bundle.max_iterations
            total += times * samples_cost(bundle.body)
        elif isinstance(bundle, OutlinedCalls):
            total += sum(times * samples_cost(body) for body, times in bundle.runs)
        elif isinstance(bundle, Choice):
            each = sorted(map(samples_cost, bodies_of(bundle)))
            total += each[0] + _TAKEN * (each[-1] - each[0])
        elif isinstance(bundle, MatrixInstruction):
            total += sum(bundle.operations.values())
        elif isinstance(bundle, MultiResult):
            total += sum(map(samples_cost, bodies_of(bundle)))
    return total
