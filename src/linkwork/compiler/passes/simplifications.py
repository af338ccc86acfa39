"""Simplification passes: dead code, constant folding, fused multiply-add, paired sines and cosines, trimmed loops.

- `dead_code` removes instructions that no result depends on.
- `drop_rules` replaces rules of differentiation by their values.
- `fold_constants` evaluates operations on constants with the interpreter.
- `fuse` turns a product that only sums use into fused multiply-adds, with one rounding instead of two.  A sum takes
  in at most one of its products.  A product of several uses is taken in by all of them or by none, because otherwise
  it has to be computed all the same.  Instructions that only guards need are treated apart, so that outputs are
  rounded the same with guards and without.
- `pair_sincos` computes sine and cosine of one argument together: most of the work is the same for both.
- `trim_loops` removes carried values, kept values and inputs of loops that nothing uses; a value that no step changes
  becomes an input.
- `merge_loops` makes one loop of loops with the same arguments whose steps carry on the same values.  A gradient's
  forward sweep, for instance, repeats the function's own loop.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import copysign
from typing import Any, TypeVar

import numpy as np

from linkwork.compiler.program import CONSTANT, COS_OF, FMA, FMS, FNMA, SIN_OF, SINCOS, Instruction
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.scalar.block import InstructionList, Region
from linkwork.expr.scalar.interpreter import INPUT
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph

__all__ = ["dead_code", "drop_rules", "fold_constants", "fuse", "merge_loops", "pair_sincos", "trim_loops"]


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
        result = {k for value in values if (k := _input(body, value)) is not None and k < n and k not in still}
        if result <= wanted:
            return sorted(wanted)
        wanted |= result


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
