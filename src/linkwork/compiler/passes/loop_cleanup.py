"""Loops carry, keep and take no more than what somebody needs; what a step leaves as it is comes from outside.

Loops that do the same become one: a gradient's sweep forward carries what the function's own loop carries.

Two loops of the same arguments whose steps carry on the same values are one loop that keeps what both keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import copysign
from typing import Any, TypeVar

from linkwork.compiler.program import Instruction
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.scalar.block import InstructionList, Region
from linkwork.expr.scalar.interpreter import INPUT
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.symbol import Graph

__all__ = ["merge_loops", "trim_loops"]


L = TypeVar("L", bound=InstructionList)


def trim_loops(program: L) -> L:
    if not any(i.operation is LOOP for i in program.instructions):
        return program
    program = program.pruned()
    instructions = list(program.instructions)
    used: dict[int, set[int]] = {}
    for operation, args, part in instructions:
        if operation is PART:
            used.setdefault(args[0], set()).add(part)
    aliases: dict[int, int] = {}  # parts of loops that are what went in
    for k in range(len(instructions) - 1, -1, -1):
        operation, args, loop = instructions[k]
        if operation is LOOP:
            _trim(instructions, k, loop, used.get(k, set()), aliases)
    if aliases:
        for k in sorted(aliases):  # what goes through several loops is what went into the first
            aliases[k] = aliases.get(aliases[k], aliases[k])
        moved = [Instruction(op, tuple([aliases.get(a, a) for a in args]), value) for op, args, value in instructions]
        return program.rebuilt(moved, [aliases.get(r, r) for r in program.results]).pruned()
    return program.rebuilt(instructions, program.results).pruned()


def _trim(instructions: list[Instruction], number: int, loop: Loop, used: set[int], aliases: dict[int, int]) -> None:
    body, args = loop.body, instructions[number].args
    n, head = loop.carried, int(loop.conditional)
    source = [_input(body, r) for r in body.results[head : head + n]]
    still = [k for k in range(n) if source[k] == k]
    kept = sorted({(part - n) % loop.kept for part in used if part >= n}) if loop.kept else []
    carried = _needed(loop, {part for part in used if part < n}, kept, set(still))
    taken = {_input(body, k) for k in body.needed(
        [*body.results[:head], *(body.results[head + k] for k in carried), *(body.results[head + n + j] for j in kept)]
    )}  # fmt: skip
    columns = [j for j in range(loop.inputs) if n + j in taken]
    outside = [j for j in range(len(args) - n - loop.max_iterations * loop.inputs) if n + loop.inputs + j in taken]
    frozen = [k for k in still if k in taken and k not in carried]
    state, stacked, others = loop.split(args)
    if (len(carried), len(columns), len(outside), len(kept)) == (n, loop.inputs, len(others), loop.kept):
        return
    order = [*carried, *(n + j for j in columns), *(n + loop.inputs + j for j in outside), *frozen]
    place = {old: new for new, old in enumerate(order)}
    listed = [
        Instruction(operation, some, place.get(value, 0) if operation is INPUT else value)
        for operation, some, value in body.instructions
    ]
    results = [*body.results[:head], *(body.results[head + k] for k in carried)]
    results += [body.results[head + n + j] for j in kept]
    trimmed = Region(len(order), tuple(listed), tuple(results), body.first).pruned()
    given = [state[k] for k in carried]
    for t in range(loop.max_iterations if columns else 0):
        given += [stacked[t * loop.inputs + j] for j in columns]
    given += [others[j] for j in outside] + [state[k] for k in frozen]
    carried_at, kept_at = ({old: new for new, old in enumerate(some)} for some in (carried, kept))
    watched = sum(1 for k in carried if k < loop.watched)
    change = replace(loop, body=trimmed, carried=len(carried), inputs=len(columns), kept=len(kept), watched=watched)
    instructions[number] = Instruction(LOOP, tuple(given), change)
    for k, (operation, some, part) in enumerate(instructions):
        if operation is PART and some[0] == number:
            if part < n and part in still and part not in carried:
                aliases[k] = state[part]
            elif part < n:
                instructions[k] = Instruction(PART, some, carried_at[part])
            elif loop.conditional:
                instructions[k] = Instruction(PART, some, part - n + len(carried))
            else:
                step, column = divmod(part - n, loop.kept)
                instructions[k] = Instruction(PART, some, len(carried) + step * len(kept) + kept_at[column])


def _input(body: Region, value: int) -> int | None:
    """The input that a value is."""
    operation, _, number = body.instructions[value]
    return int(number) if operation is INPUT else None


def _needed(loop: Loop, results: set[int], kept: Sequence[int], still: set[int]) -> list[int]:
    """What has to be carried on: for results, for what is kept, for the condition, and for one another.

    What the loop looks at for NaN stays, but for what never changes: that is looked at once, and ends the loop at once.
    """
    body, n, head = loop.body, loop.carried, int(loop.conditional)
    wanted = set(range(loop.watched)) | {k for k in results if k not in still}
    roots = [*body.results[:head], *(body.results[head + n + j] for j in kept)]
    while True:
        values = body.needed([*roots, *(body.results[head + k] for k in wanted)])
        found = {k for value in values if (k := _input(body, value)) is not None and k < n and k not in still}
        if found <= wanted:
            return sorted(wanted)
        wanted |= found


def merge_loops(program: L) -> L:
    """Only loops of known length keep anything; others that are equal are the same instruction already."""
    if not any(i.operation is LOOP for i in program.instructions):
        return program
    instructions = list(program.instructions)
    alike: dict[tuple[object, ...], list[int]] = {}
    for k, (operation, args, loop) in enumerate(instructions):
        if operation is LOOP and not loop.conditional:
            key = (args, loop.carried, loop.inputs, loop.max_iterations, loop.backward)
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
