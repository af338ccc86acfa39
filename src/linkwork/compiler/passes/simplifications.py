"""Dead code: what no result depends on is left out.

Rules of differentiation have done their work when code is made: what they stand for takes their place.

Constant folding: an operation on constants is the constant that the interpreter gives.

Fused multiply-add: a product that only sums take becomes part of them, with one rounding instead of two.

An addition takes in at most one of its products.  A product of several uses is taken in by all of them or by none,
because otherwise it has to be computed all the same.  What only guards need is looked at by itself, so that outputs are
rounded the same with guards and without.

Sine and cosine of one argument are computed together: most of the work is the same for both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from linkwork.compiler.program import CONSTANT, COS_OF, FMA, FMS, FNMA, SIN_OF, SINCOS, Instruction
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.operations import BY_NAME

__all__ = ["dead_code", "drop_rules", "fold_constants", "fuse", "pair_sincos"]


L = TypeVar("L", bound=InstructionList)


def dead_code(program: L) -> L:
    return program.pruned()


def drop_rules(program: L) -> L:
    return program.without_rules()


def fold_constants(program: L) -> L:
    kept = list(program.instructions)
    with np.errstate(all="ignore"):
        for k, (operation, args, _) in enumerate(kept):
            if not args or operation.logical or operation is SINCOS or operation.arity < 0:
                continue
            if any(kept[a].operation is not CONSTANT for a in args):
                continue
            value = float(operation.value(*(np.float64(kept[a].value) for a in args)))
            if math.isfinite(value):
                kept[k] = Instruction(CONSTANT, (), value)
    return program.rebuilt(kept, program.results)


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
