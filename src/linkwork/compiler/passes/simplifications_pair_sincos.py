"""Sine and cosine of one argument are computed together: most of the work is the same for both."""

from __future__ import annotations

from typing import TypeVar

from linkwork.compiler.program import COS_OF, SIN_OF, SINCOS, Instruction
from linkwork.expr.scalar.block import Listing

__all__ = ["pair_sincos"]

L = TypeVar("L", bound=Listing)


def pair_sincos(program: L) -> L:
    number: list[int] = []
    kept: list[Instruction] = []
    pairs: dict[int, int] = {}
    for operation, args, value in program.instructions:
        args = tuple([number[a] for a in args])
        if operation.name in ("sin", "cos"):
            if args[0] not in pairs:
                pairs[args[0]] = len(kept)
                kept.append(Instruction(SINCOS, args))
            operation, args = (SIN_OF if operation.name == "sin" else COS_OF), (pairs[args[0]],)
        number.append(len(kept))
        kept.append(Instruction(operation, args, value))
    return program.rebuilt(kept, [number[r] for r in program.results])
