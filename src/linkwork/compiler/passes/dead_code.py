"""Dead code: what no result depends on is left out."""

from __future__ import annotations

from ..program import Instruction, Program

__all__ = ["dead_code"]


def dead_code(program: Program) -> Program:
    needed = bytearray(len(program.instructions))
    for r in program.results:
        needed[r] = 1
    for k in range(len(needed) - 1, -1, -1):
        if needed[k]:
            for a in program.instructions[k].args:
                needed[a] = 1
    number: dict[int, int] = {}
    kept: list[Instruction] = []
    for k, instruction in enumerate(program.instructions):
        if needed[k]:
            number[k] = len(kept)
            args = tuple([number[a] for a in instruction.args])
            kept.append(Instruction(instruction.operation, args, instruction.value))
    return program.rebuilt(kept, [number[r] for r in program.results])
