"""Loops carry, keep and take no more than what somebody needs; what a step leaves as it is comes from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from linkwork.compiler.program import Instruction
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.scalar.block import Listing, Region
from linkwork.expr.scalar.interpreter import INPUT
from linkwork.expr.scalar.multi_result import PART

__all__ = ["trim_loops"]

L = TypeVar("L", bound=Listing)


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
    outside = [j for j in range(len(args) - n - loop.at_most * loop.inputs) if n + loop.inputs + j in taken]
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
    for t in range(loop.at_most if columns else 0):
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
