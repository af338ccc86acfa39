"""Loops that do the same become one: a gradient's sweep forward carries what the function's own loop carries.

Two loops of the same arguments whose steps carry on the same values are one loop that keeps what both keep.
"""

from __future__ import annotations

from dataclasses import replace
from math import copysign
from typing import Any, TypeVar

from linkwork.compiler.program import Instruction
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.scalar.block import Listing, Region
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.symbol import Graph

__all__ = ["merge_loops"]

L = TypeVar("L", bound=Listing)


def merge_loops(program: L) -> L:
    """Only loops of known length keep anything; others that are equal are the same instruction already."""
    if not any(i.operation is LOOP for i in program.instructions):
        return program
    instructions = list(program.instructions)
    alike: dict[tuple[object, ...], list[int]] = {}
    for k, (operation, args, loop) in enumerate(instructions):
        if operation is LOOP and not loop.conditional:
            key = (args, loop.carried, loop.inputs, loop.at_most, loop.backward)
            alike.setdefault(key, []).append(k)
    for numbers in alike.values():
        for one in numbers:
            for other in numbers:
                if one < other and LOOP is instructions[one].operation is instructions[other].operation:
                    _merge(instructions, one, other)
    return program.rebuilt(instructions, program.results)


def _merge(instructions: list[Instruction], one: int, other: int) -> None:
    """Let the first of two loops do the work of both, if it can."""
    first, second = instructions[one].value, instructions[other].value
    both = _both(first, second)
    if both is None:
        return
    carried, more = first.carried, both.kept
    instructions[one] = Instruction(LOOP, instructions[one].args, both)
    for k, (operation, args, part) in enumerate(instructions):
        if operation is PART and args[0] in (one, other):
            loop, start = (first, 0) if args[0] == one else (second, first.kept)
            if part >= carried:
                step, place = divmod(part - carried, loop.kept)
                part = carried + step * more + start + place
            instructions[k] = Instruction(PART, (one,), part)


def _both(first: Loop, second: Loop) -> Loop | None:
    """The loop that keeps what two keep, or None where they do not carry on the same values."""
    inputs = Graph().inputs("x", (first.body.takes,))
    one, other = (loop.body.run(inputs) for loop in (first, second))
    if not all(map(_same, one[: first.carried], other[: first.carried])):
        return None
    body = Region.of([*one, *other[first.carried :]], inputs)
    return replace(first, body=body, kept=first.kept + second.kept)


def _same(x: Any, y: Any) -> bool:
    """Whether these are one symbol, or numbers of the same bits; a NaN is taken for another one."""
    return x is y or (isinstance(x, float) and isinstance(y, float) and x == y and copysign(1.0, x) == copysign(1.0, y))
