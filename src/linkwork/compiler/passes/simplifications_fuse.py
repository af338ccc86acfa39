"""Fused multiply-add: a product that only sums take becomes part of them, with one rounding instead of two.

An addition takes in at most one of its products.  A product of several uses is taken in by all of them or by none,
because otherwise it has to be computed all the same.  What only guards need is looked at by itself, so that outputs are
rounded the same with guards and without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from linkwork.compiler.program import FMA, FMS, FNMA, Instruction
from linkwork.expr.scalar.block import Listing
from linkwork.expr.scalar.operations import BY_NAME

__all__ = ["fuse"]

L = TypeVar("L", bound=Listing)

_ADD, _SUB, _MUL = BY_NAME["add"], BY_NAME["sub"], BY_NAME["mul"]


def fuse(program: L) -> L:
    instructions = program.instructions
    split = len(program.results) - program.guards
    for_guards = set(range(len(instructions))) if program.guards else set()
    for_guards -= program.needed(program.results[:split])
    others = [k for k in range(len(instructions)) if k not in for_guards]
    taken = _taken(instructions, others, program.results[:split])
    taken |= _taken(instructions, sorted(for_guards), program.results[split:])
    kept = list(instructions)
    for s, product in taken.items():
        operation, (left, right), _ = instructions[s]
        factors = instructions[product].args
        if operation is _ADD:
            kept[s] = Instruction(FMA, (*factors, left if right == product else right))
        elif left == product:
            kept[s] = Instruction(FMS, (*factors, right))
        else:
            kept[s] = Instruction(FNMA, (*factors, left))
    return program.rebuilt(kept, program.results)


def _taken(instructions: Sequence[Instruction], part: Sequence[int], results: Sequence[int]) -> dict[int, int]:
    """For the sums of a part of a program, which has these results, the product that each takes in."""
    uses = Counter(results)
    sums_of: dict[int, list[int]] = {}  # product -> the sums that use it
    for k in part:
        operation, args, _ = instructions[k]
        uses.update(args)
        if operation is _ADD or operation is _SUB:
            for a in args:
                if instructions[a].operation is _MUL:
                    sums_of.setdefault(a, []).append(k)
    taken: dict[int, int] = {}
    for wanted in (1, 2, 3, 4):
        for product, sums in sums_of.items():
            # every use is a sum, all distinct, and none has taken another product
            if uses[product] == wanted == len(sums) == len(set(sums)) and not any(s in taken for s in sums):
                for s in sums:
                    taken[s] = product
    return taken
