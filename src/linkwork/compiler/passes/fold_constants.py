"""Constant folding: an operation on constants is the constant that the interpreter gives."""

from __future__ import annotations

import math

import numpy as np

from ..program import CONSTANT, SINCOS, Instruction, Program

__all__ = ["fold_constants"]


def fold_constants(program: Program) -> Program:
    kept = list(program.instructions)
    with np.errstate(all="ignore"):
        for k, (operation, args, _) in enumerate(kept):
            if not args or operation.logical or operation is SINCOS:
                continue
            if any(kept[a].operation is not CONSTANT for a in args):
                continue
            value = float(operation.value(*(np.float64(kept[a].value) for a in args)))
            if math.isfinite(value):
                kept[k] = Instruction(CONSTANT, (), value)
    return program.rebuilt(kept, program.results)
