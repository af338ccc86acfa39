"""Cutting a long program into segments, each a function of its own.

A compiler takes more than twice as long for a function of twice the length, and code that does not fit into the
instruction cache is fetched anew for each vector of samples.  So a long program is cut where few values are alive;
what one segment computes and a later one needs waits in a workspace, and a segment runs over several vectors before
the next one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from linkwork.compiler.program import (
    CONSTANT,
    COS_OF,
    INPUT,
    SIN_OF,
    SINCOS,
    Instruction,
    Program,
)
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART

__all__ = ["MOST", "MOST_OF_FEW", "TAKEN_OUT", "WHOLE", "Plan", "Segment", "best_cut", "pairs_taken_apart", "plan"]


@dataclass(frozen=True, slots=True)
class Segment:
    """Instructions from ``start`` to ``stop``, and the values that it takes from and leaves in the workspace."""

    start: int
    stop: int
    taken: dict[int, int]  # value -> place in the workspace
    left: dict[int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A program in segments that run one after the other, and how many numbers their workspace holds."""

    program: Program
    segments: tuple[Segment, ...]
    places: int

    @property
    def segmented(self) -> bool:
        """Whether there are several."""
        return len(self.segments) > 1


TAKEN_OUT = (SIN_OF, COS_OF, PART)
L = TypeVar("L", bound=InstructionList)

WHOLE = 2000  # instructions of a program that is left whole
MOST, MOST_OF_FEW = 600, 2500  # of a segment of a longer one, and where what is alive fits into registers, nearly
_FEW = 64  # values alive
_MANY = 400  # values alive at a time that one function may have: they wait on the stack, 25 KiB of AVX-512's vectors


def plan(program: Program, whole: int = WHOLE, most: int | None = None) -> Plan:
    """Cut a program of more than ``whole`` instructions, or very many values alive, into segments of at most ``most``.

    Where many values are alive, registers do not hold them anyway, and short segments that keep them in the workspace
    are faster than one long function; where few are, each cut costs a little.
    """
    count, alive = len(program.instructions), program.alive()
    if count <= whole and max(alive) <= _MANY:
        return Plan(program, (Segment(0, count, {}, {}),), 0)
    program = pairs_taken_apart(program)
    if most is None:
        most = MOST if sum(alive) > _FEW * count or max(alive) > _MANY else MOST_OF_FEW
    return _with_workspace(program, _bounds(program, most))


def _leaf(instruction: Instruction) -> bool:
    """Inputs and constants are there in every segment."""
    return instruction.operation is INPUT or instruction.operation is CONSTANT


def pairs_taken_apart(program: L) -> L:
    """The sine and the cosine of a pair stand right after it, since a pair cannot wait in the workspace."""
    parts: dict[int, list[int]] = {}
    for k, (operation, args, _) in enumerate(program.instructions):
        if operation in TAKEN_OUT:
            parts.setdefault(args[0], []).append(k)
    order: list[int] = []
    for k, (operation, _, _) in enumerate(program.instructions):
        if operation is SINCOS or operation.arity < 0:
            order += [k, *parts.get(k, ())]
        elif operation not in TAKEN_OUT:
            order.append(k)
    return program.ordered(order)


def _bounds(program: Program, most: int) -> list[int]:
    """Where segments begin and end: in the last quarter of what is allowed, where the fewest values are alive."""
    instructions, alive = program.instructions, program.alive()
    count = len(instructions)
    bounds = [0]
    while count - bounds[-1] > most:
        window = range(bounds[-1] + most - most // 4, bounds[-1] + most + 1)
        bounds.append(best_cut(instructions, alive, window))
    return [*bounds, count] if bounds[-1] < count else bounds


def best_cut(instructions: Sequence[Instruction], alive: Sequence[int], window: range) -> int:
    """Where the fewest values are alive, but not between an instruction of several results and what takes them out."""
    allowed = [k for k in window if instructions[k].operation not in TAKEN_OUT]
    if allowed:
        return min(allowed, key=lambda k: (alive[k], -k))
    behind = range(window.stop, len(instructions))
    return next((k for k in behind if instructions[k].operation not in TAKEN_OUT), len(instructions))


def _with_workspace(program: Program, bounds: list[int]) -> Plan:
    """Give every value that outlives its segment a place, which is free again after the last segment that takes it."""
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
    place: dict[int, int] = {}
    free: list[int] = []
    places = 0
    for s in range(len(bounds) - 1):
        for value in sorted(leaving[s]):
            if not free:
                free.append(places)
                places += 1
            place[value] = free.pop()
        free += [place[value] for value in ending[s]]
    taken: list[dict[int, int]] = [{} for _ in bounds[1:]]
    for value, segments in users.items():
        for s in segments:
            taken[s][value] = place[value]
    cut = tuple(
        Segment(bounds[s], bounds[s + 1], taken[s], {value: place[value] for value in leaving[s]})
        for s in range(len(bounds) - 1)
    )
    return Plan(program, cut, places)
