"""Fused multiply-add: a product that only sums take becomes part of them, with one rounding instead of two.

An addition takes in at most one of its products.  A product of several uses is taken in by all of them or by none,
because otherwise it has to be computed all the same.
"""

from __future__ import annotations

from ...expr.operations import BY_NAME
from ..program import FMA, FMS, FNMA, Instruction, Program

__all__ = ["fuse"]

_ADD, _SUB, _MUL = BY_NAME["add"], BY_NAME["sub"], BY_NAME["mul"]


def fuse(program: Program) -> Program:
    instructions = program.instructions
    uses = program.use_counts()
    sums_of: dict[int, list[int]] = {}  # product -> the sums that use it
    for k, (operation, args, _) in enumerate(instructions):
        if operation is _ADD or operation is _SUB:
            for a in args:
                if instructions[a].operation is _MUL:
                    sums_of.setdefault(a, []).append(k)
    taken: dict[int, int] = {}  # sum -> the product it takes in
    for wanted in (1, 2, 3, 4):
        for product, sums in sums_of.items():
            # every use is a sum, all distinct, and none has taken another product
            if uses[product] == wanted == len(sums) == len(set(sums)) and not any(s in taken for s in sums):
                for s in sums:
                    taken[s] = product
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
