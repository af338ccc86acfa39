"""Forward or reverse: what a Jacobian takes, from which values depend on which inputs, and which outputs on them.

Forward, an operation is done once for each direction that its arguments depend on; in reverse, once for each output
that depends on its value.  Both are counted on the program as it stands, with a bit for each direction and output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from linkwork.compiler.program import INPUT, Instruction, Program
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar.block import bodies_of
from linkwork.expr.scalar.multi_result import PART

__all__ = ["Estimate", "estimate", "moved_by", "pushes", "totals"]

_SUMS = ("add", "sub", "neg")  # whose partial derivatives are 1 and -1


class Estimate(NamedTuple):
    """Products and sums that a Jacobian takes beside the program's own operations, roughly."""

    forward: int
    reverse: int


def estimate(program: Program, directions: Mapping[int, int], outputs: Sequence[int]) -> Estimate:
    """For sets of directions (bits) by the places of inputs that they move, and a set of outputs for each result."""
    instructions = program.instructions
    moved = moved_by(instructions, directions)
    wanted = [0] * len(instructions)
    for result, bits in zip(program.results, outputs, strict=False):
        wanted[result] |= bits
    forward = reverse = 0
    for k in range(len(instructions) - 1, -1, -1):
        operation, args, _ = instructions[k]
        if not (moved[k] and wanted[k]):
            continue
        active = [a for a in args if moved[a]]
        if not active:
            continue
        times, linear = _times(instructions[k]), operation.name in _SUMS or operation is PART
        counts = [moved[a].bit_count() for a in active]
        forward += times * (sum(counts) * (1 if linear else 2) - moved[k].bit_count())
        own = wanted[k].bit_count()
        for a in active:
            reverse += times * ((0 if linear else own) + (wanted[a] & wanted[k]).bit_count())
            wanted[a] |= wanted[k]
    return Estimate(forward, reverse)


def totals(moved: Sequence[int], count: int) -> list[int]:
    """How many values each of so many directions moves."""
    width = count // 8 + 1
    bits = np.frombuffer(b"".join(one.to_bytes(width, "little") for one in moved), np.uint8).reshape(-1, width)
    counts: list[int] = np.unpackbits(bits, axis=1, bitorder="little").sum(axis=0, dtype=int)[:count].tolist()
    return counts


def pushes(
    instructions: Sequence[Instruction], results: Sequence[int], moved: Sequence[int], wanted: Sequence[int]
) -> int:
    """How many derivatives are pushed forward where each result is wanted along a set of directions."""
    needed, count = [0] * len(instructions), 0
    for result, bits in zip(results, wanted, strict=True):
        needed[result] |= bits
    for k in range(len(instructions) - 1, -1, -1):
        bits = needed[k] & moved[k]
        if bits:
            count += bits.bit_count() * _times(instructions[k])
            for a in instructions[k].args:
                needed[a] |= bits
    return count


def moved_by(instructions: Sequence[Instruction], directions: Mapping[int, int]) -> list[int]:
    """The directions that each value depends on."""
    moved: list[int] = []
    for operation, args, value in instructions:
        if operation is INPUT:
            moved.append(directions.get(value, 0))
            continue
        bits = 0
        if operation.partials is not None or operation.arity < 0 or operation is PART or operation.name == "where":
            for a in args:
                bits |= moved[a]
        moved.append(bits)
    return moved


def _times(instruction: Instruction) -> int:
    """How many operations an instruction stands for: more than one where it has bodies."""
    operation, _, value = instruction
    if operation.arity >= 0:
        return 1
    runs = value.at_most if isinstance(value, Loop) else 1
    return runs * sum(len(body.instructions) for body in bodies_of(value)) or 1
