"""Constant folding: an operation on constants is the constant that the interpreter gives."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from linkwork.compiler.program import CONSTANT, SINCOS, Instruction
from linkwork.expr.scalar.block import Listing

__all__ = ["fold_constants"]

L = TypeVar("L", bound=Listing)


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
