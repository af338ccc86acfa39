"""Rules of differentiation have done their work when code is made: what they stand for takes their place."""

from __future__ import annotations

from typing import TypeVar

from ...expr.bundle import PART
from ...expr.region import Listing
from ...expr.rules import RULED
from ..program import Instruction

__all__ = ["drop_rules"]

L = TypeVar("L", bound=Listing)


def drop_rules(program: L) -> L:
    instructions = program.instructions
    if not any(i.operation is RULED for i in instructions):
        return program
    stands_for: list[int] = []
    kept: list[Instruction] = []
    for k, (operation, args, value) in enumerate(instructions):
        if operation is PART and instructions[args[0]].operation is RULED:
            stands_for.append(stands_for[instructions[args[0]].args[value]])
            kept.append(Instruction(operation, args, value))  # nothing refers to it any more
            continue
        stands_for.append(k)
        kept.append(Instruction(operation, tuple([stands_for[a] for a in args]), value))
    return program.rebuilt(kept, [stands_for[r] for r in program.results]).pruned()
