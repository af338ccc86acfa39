"""Partition of a long program into segments, each a function of its own.

A compiler takes more than twice as long for a function of twice the length.  Code that does not fit into the
instruction cache is fetched again for each vector of samples.  So a long program is cut where few values are live.
Values that a later segment needs are stored in a workspace.  A segment runs over several vectors before the next
segment runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter
from typing import TypeVar

from linkwork.compiler.program import (
    CONSTANT,
    EXTRACTED,
    INPUT,
    SINCOS,
    Instruction,
    Program,
)
from linkwork.expr.scalar.block import InstructionList

__all__ = [
    "MAX_SEGMENT",
    "MAX_SEGMENT_OF_FEW",
    "MAX_WHOLE",
    "Plan",
    "Segment",
    "best_cut",
    "plan",
    "with_pairs_split",
]


@dataclass(frozen=True, slots=True)
class Segment:
    """The instructions of a program from index ``start`` to ``stop``, compiled as one function.

    Values that it shares with other segments are read from and written to a workspace in memory.
    """

    start: int
    stop: int
    reads: dict[int, int]  # value -> slot in the workspace
    writes: dict[int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A program in segments that run in sequence, and the number of slots of their workspace."""

    program: Program
    segments: tuple[Segment, ...]
    slots: int

    @property
    def segmented(self) -> bool:
        """True if there are several segments."""
        return len(self.segments) > 1


L = TypeVar("L", bound=InstructionList)

MAX_WHOLE = 2000  # maximum instructions of a program that stays whole
MAX_SEGMENT, MAX_SEGMENT_OF_FEW = (
    600,
    2500,
)  # maximum instructions of a segment: in general, and if live values nearly fit registers
_FEW = 64  # live values
_MANY = 400  # maximum live values of one function: on the stack they take 25 KiB with AVX-512's vectors


def plan(program: Program, whole: int = MAX_WHOLE, most: int | None = None) -> Plan:
    """Cut a program into segments of at most ``most`` instructions.

    A program of up to ``whole`` instructions with few live values stays whole. Many live values do not fit into
    registers anyway, so short segments that store them in the workspace are faster than one long function.  With few
    live values, each cut costs a little.
    """
    count, alive = len(program.instructions), program.alive()
    if count <= whole and max(alive) <= _MANY:
        return Plan(program, (Segment(0, count, {}, {}),), 0)
    program = with_pairs_split(program)
    if most is None:
        most = MAX_SEGMENT if sum(alive) > _FEW * count or max(alive) > _MANY else MAX_SEGMENT_OF_FEW
    return _with_workspace(program, _bounds(program, most))


def _leaf(instruction: Instruction) -> bool:
    """Return True for inputs and constants, which are available in every segment."""
    return instruction.operation is INPUT or instruction.operation is CONSTANT


def with_pairs_split(program: L) -> L:
    """Return the program with the results of each multi-result instruction extracted right after the instruction.

    An example is sine and cosine of one angle.  The workspace between segments stores numbers, not such pairs.
    """
    if program.kinds.isdisjoint(EXTRACTED):
        return program
    instructions = program.instructions
    is_extracted = map(EXTRACTED.__contains__, map(itemgetter(0), instructions))
    last, follows = -1, True  # the instruction of several results before, and True if all follow their own
    extracted = [*compress(range(len(instructions)), is_extracted)]
    before = -2
    for k in extracted:
        if k != before + 1:
            last = k - 1
        if instructions[k][1][0] != last:
            follows = False
            break
        before = k
    if follows:
        return program
    parts: dict[int, list[int]] = {}
    for k in extracted:
        parts.setdefault(instructions[k][1][0], []).append(k)
    order: list[int] = []
    for k, (operation, _, _) in enumerate(instructions):
        if operation is SINCOS or operation.arity < 0:
            order += [k, *parts.get(k, ())]
        elif operation not in EXTRACTED:
            order.append(k)
    return program.ordered(order)


def _bounds(program: Program, most: int) -> list[int]:
    """Return the indices at which a program is cut into segments of at most ``most`` instructions.

    Each cut is in the last quarter of the allowed length, where the fewest values are live.
    """
    instructions, alive = program.instructions, program.alive()
    count = len(instructions)
    bounds = [0]
    while count - bounds[-1] > most:
        window = range(bounds[-1] + most - most // 4, bounds[-1] + most + 1)
        bounds.append(best_cut(instructions, alive, window))
    return [*bounds, count] if bounds[-1] < count else bounds


def best_cut(instructions: Sequence[Instruction], alive: Sequence[int], window: range) -> int:
    """Return the index in the window with the fewest live values, at which a program can be cut.

    An instruction of several results is not separated from the instructions that extract them.  If the window has only
    such positions, the index is the first possible position after the window.
    """
    allowed = [k for k in window if instructions[k].operation not in EXTRACTED]
    if allowed:
        return min(allowed, key=lambda k: (alive[k], -k))
    behind = range(window.stop, len(instructions))
    return next((k for k in behind if instructions[k].operation not in EXTRACTED), len(instructions))


def _with_workspace(program: Program, bounds: list[int]) -> Plan:
    """Assign a slot to every value that outlives its segment; the last segment that reads the value frees the slot."""
    segment_of = [s for s in range(len(bounds) - 1) for _ in range(bounds[s], bounds[s + 1])]
    users: dict[int, set[int]] = {}
    for k, instruction in enumerate(program.instructions):
        for a in instruction.args:
            if segment_of[a] != segment_of[k] and not _leaf(program.instructions[a]):
                users.setdefault(a, set()).add(segment_of[k])
    leaving: list[list[int]] = [[] for _ in bounds[1:]]
    ending: list[list[int]] = [[] for _ in bounds[1:]]
    for value, segments in users.items():
        leaving[segment_of[value]].append(value)
        ending[max(segments)].append(value)
    slot: dict[int, int] = {}
    free: list[int] = []
    slots = 0
    for s in range(len(bounds) - 1):
        for value in sorted(leaving[s]):
            if not free:
                free.append(slots)
                slots += 1
            slot[value] = free.pop()
        free += [slot[value] for value in ending[s]]
    reads: list[dict[int, int]] = [{} for _ in bounds[1:]]
    for value, segments in users.items():
        for s in segments:
            reads[s][value] = slot[value]
    cut = tuple(
        Segment(bounds[s], bounds[s + 1], reads[s], {value: slot[value] for value in leaving[s]})
        for s in range(len(bounds) - 1)
    )
    return Plan(program, cut, slots)
