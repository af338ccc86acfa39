"""Simplification passes: dead code, constant folding, fused multiply-add, paired sines and cosines, loops.

- `dead_code` removes instructions that no result depends on.
- `drop_rules` replaces rules of differentiation by their values.
- `fold_constants` evaluates operations on constants with the interpreter.
- `fuse` turns a product that is used only by sums into fused multiply-adds, with one rounding instead of two.  A sum
  absorbs at most one of its products.  A product with several uses is absorbed by all of them or by none of them: if
  one use remains, the product must be computed anyway.  Instructions that only guards need are fused separately, so
  that outputs are rounded the same with and without guards.
- `pair_sincos` computes sine and cosine of one argument together: most of the work is the same for both.
- `trim_loops` removes carried values, outputs and inputs of loops that nothing uses; a value that no iteration changes
  becomes an input.
- `merge_loops` merges loops with the same arguments whose iterations carry the same values.  A gradient's forward
  sweep, for instance, repeats the function's own loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import copysign
from typing import Any, NamedTuple, TypeVar

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
    if CONSTANT not in program.kinds:
        return program
    instructions = program.instructions
    is_constant = [instruction[0] is CONSTANT for instruction in instructions]
    folded: dict[int, Instruction] = {}
    with np.errstate(all="ignore"):
        for k, (operation, args, _) in enumerate(instructions):
            if not args or not is_constant[args[0]]:
                continue
            if operation.logical or operation is SINCOS or operation.arity < 0:
                continue
            if not all(is_constant[a] for a in args):
                continue
            operands = [np.float64(folded.get(a, instructions[a]).value) for a in args]
            value = float(operation.value(*operands))
            if math.isfinite(value):
                folded[k], is_constant[k] = Instruction(CONSTANT, (), value), True
    if not folded:
        return program
    rewritten = list(instructions)
    for k, instruction in folded.items():
        rewritten[k] = instruction
    return program.rebuilt(rewritten, program.results)


_ADD, _SUB, _MUL, _SIN, _COS = (BY_NAME[name] for name in ("add", "sub", "mul", "sin", "cos"))


def fuse(program: L) -> L:
    instructions = program.instructions
    split = len(program.results) - program.guards
    for_guards: set[int] = set()
    unguarded: Sequence[int] = range(len(instructions))
    if program.guards:
        for_guards = set(unguarded) - program.needed(program.results[:split])
        unguarded = [k for k in unguarded if k not in for_guards]
    absorbed = _absorbed_products(instructions, unguarded, program.results[:split])
    absorbed |= _absorbed_products(instructions, sorted(for_guards), program.results[split:])
    fused = list(instructions)
    for s, product in absorbed.items():
        operation, (left, right), _ = instructions[s]
        factors = instructions[product].args
        if operation is _ADD:
            fused[s] = Instruction(FMA, (*factors, left if right == product else right))
        elif left == product:
            fused[s] = Instruction(FMS, (*factors, right))
        else:
            fused[s] = Instruction(FNMA, (*factors, left))
    return program.rebuilt(fused, program.results)


def _absorbed_products(
    instructions: Sequence[Instruction], part: Sequence[int], results: Sequence[int]
) -> dict[int, int]:
    """Return, for each sum that is to be fused with one of its products, the index of this product.

    ``part`` are the indices of the instructions to consider, ``results`` the indices of values that are needed as
    results.
    """
    uses = [0] * len(instructions)
    for r in results:
        uses[r] += 1
    sums_of: dict[int, list[int]] = {}  # product -> the sums that use it
    for k in part:
        operation, args, _ = instructions[k]
        for a in args:
            uses[a] += 1
        if operation is _ADD or operation is _SUB:
            for a in args:
                if instructions[a][0] is _MUL:
                    sums_of.setdefault(a, []).append(k)
    by_count: dict[int, list[tuple[int, list[int]]]] = {1: [], 2: [], 3: [], 4: []}
    for product, sums in sums_of.items():
        count = len(sums)
        if uses[product] == count <= 4 and (count == 1 or count == len(set(sums))):  # every use is a sum, all distinct
            by_count[count].append((product, sums))
    absorbed: dict[int, int] = {}
    for products in by_count.values():
        for product, sums in products:
            if absorbed.keys().isdisjoint(sums):  # none has absorbed another product
                for s in sums:
                    absorbed[s] = product
    return absorbed


def pair_sincos(program: L) -> L:
    if _SIN not in program.kinds and _COS not in program.kinds:
        return program
    number: list[int] = []
    rewritten: list[Instruction] = []
    pairs: dict[int, int] = {}
    new, add, numbered = tuple.__new__, rewritten.append, number.__getitem__
    for instruction in program.instructions:
        operation, args, value = instruction
        if operation is _SIN or operation is _COS:
            angle = number[args[0]]
            if angle not in pairs:
                pairs[angle] = len(rewritten)
                add(Instruction(SINCOS, (angle,)))
            instruction = Instruction(SIN_OF if operation is _SIN else COS_OF, (pairs[angle],))
        elif args and pairs:
            instruction = new(Instruction, (operation, tuple(map(numbered, args)), value))
        number.append(len(rewritten))
        add(instruction)
    return program.rebuilt(rewritten, [number[r] for r in program.results])


def trim_loops(program: L) -> L:
    if LOOP not in program.kinds:
        return program
    program = program.pruned()
    instructions = list(program.instructions)
    loops = [k for k in program.bundles if instructions[k][0] is LOOP]
    parts: dict[int, list[int]] = {k: [] for k in loops}  # of each loop
    for k, (operation, args, _) in enumerate(instructions):
        if operation is PART and args[0] in parts:
            parts[args[0]].append(k)
    aliases: dict[int, int] = {}  # results of loops that equal an argument
    needed = set(program.results)
    for k in range(len(instructions) - 1, -1, -1):  # a loop is trimmed after all that read it
        if k in needed:
            if k in parts:
                used_parts = [part for part in parts[k] if part in needed]
                _trim(instructions, k, used_parts, aliases)
                needed.update(aliases[part] for part in used_parts if part in aliases)
            needed.update(instructions[k].args)
    if aliases:
        for k in sorted(aliases):  # a value that passes through several loops is the argument of the first
            aliases[k] = aliases.get(aliases[k], aliases[k])
        moved = [Instruction(op, tuple([aliases.get(a, a) for a in args]), value) for op, args, value in instructions]
        return program.rebuilt(moved, [aliases.get(r, r) for r in program.results]).pruned()
    if all(instructions[k] is program.instructions[k] for k in loops):
        return program
    return program.rebuilt(instructions, program.results).pruned()


def _trim(instructions: list[Instruction], number: int, parts: Sequence[int], aliases: dict[int, int]) -> None:
    """Trim the loop at an index; ``parts`` are the indices of its used results."""
    _, args, loop = instructions[number]
    needs = _needs(loop, {instructions[k].value for k in parts})
    carried, columns, outside, kept_outputs, frozen, unchanged, stores = needs
    body, n, head = loop.body, loop.carried, int(loop.conditional)
    inputs = _inputs_of(body)
    outer_count = len(loop.split(args)[2])
    if (len(carried), len(columns), len(outside), len(kept_outputs)) == (n, loop.inputs, outer_count, loop.outputs):
        return
    order = [*carried, *(n + j for j in columns), *(n + loop.inputs + j for j in outside), *frozen]
    index = {old: new for new, old in enumerate(order)}
    listed = list(body.instructions)
    for k, old in inputs:
        listed[k] = Instruction(INPUT, (), index[old]) if old in index else Instruction(CONSTANT, (), 0.0)
    results = [*body.results[:head], *(body.results[head + k] for k in carried)]
    results += [body.results[head + n + j] for j in kept_outputs]
    trimmed = Region(len(order), tuple(listed), tuple(results), body.first)
    if len(results) < len(body.results):  # otherwise only inputs are unused
        trimmed = trim_loops(trimmed.pruned())  # loops inside have fewer results that are used
    arguments = _arguments(loop, args, needs)
    carried_at, kept_at = ({old: new for new, old in enumerate(indices)} for indices in (carried, kept_outputs))
    watched = sum(1 for k in carried if k < loop.watched)
    sizes = {
        "carried": len(carried),
        "inputs": len(columns),
        "outputs": len(kept_outputs),
        "watched": watched,
        "stores": stores,
    }
    change = replace(loop, body=trimmed, **sizes)
    instructions[number] = Instruction(LOOP, tuple(arguments), change)
    for k in parts:
        _, loop_index, part = instructions[k]
        if part < n and part in unchanged and part not in carried:
            aliases[k] = args[part]
        elif part < n:
            instructions[k] = Instruction(PART, loop_index, carried_at[part])
        elif loop.conditional:
            instructions[k] = Instruction(PART, loop_index, part - n + len(carried))
        else:
            step, column = divmod(part - n, loop.outputs)
            instructions[k] = Instruction(PART, loop_index, len(carried) + step * len(kept_outputs) + kept_at[column])


class _Needs(NamedTuple):
    """Indices of the carried values, columns of inputs, outer values and outputs that results of a loop need.

    ``unchanged`` are carried values that never change; ``frozen`` are those that only the body needs, as inputs.
    """

    carried: list[int]
    columns: list[int]
    outside: list[int]
    outputs: list[int]
    frozen: list[int]
    unchanged: list[int]
    stores: int


def _needs(loop: Loop, used: set[int]) -> _Needs:
    """Return the carried values, inputs and outputs that the ``used`` results of a loop need."""
    body, n, head = loop.body, loop.carried, int(loop.conditional)
    inputs = _inputs_of(body)
    source = [_input(body, r) for r in body.results[head : head + n]]
    unchanged = [k for k in range(n) if source[k] == k]
    stores = loop.stores if n in used else 0
    used_outputs = {(part - n) % loop.outputs for part in used if part >= n} if loop.outputs else set()
    outputs = sorted({*used_outputs, *range(stores)})
    carried, taken = _needed_state(loop, inputs, {part for part in used if part < n}, outputs, set(unchanged))
    columns = [j for j in range(loop.inputs) if j < sum(loop.reads) or n + j in taken]
    outside = [j for j in range(body.takes - n - loop.inputs) if n + loop.inputs + j in taken]
    frozen = [k for k in unchanged if k in taken and k not in carried]
    return _Needs(carried, columns, outside, outputs, frozen, unchanged, stores)


def _arguments(loop: Loop, args: Sequence[int], needs: _Needs) -> list[int]:
    """Return the arguments of a loop reduced to the values that its results need."""
    state, stacked, outer = loop.split(args)
    read, first = sum(loop.reads), len(loop.reads)
    result = [*(state[k] for k in needs.carried), *stacked[:first]]
    for t in range(loop.max_iterations if len(needs.columns) > read else 0):
        result += [stacked[first + t * loop.own_inputs + j - read] for j in needs.columns[read:]]
    return result + [outer[j] for j in needs.outside] + [state[k] for k in needs.frozen]


def _needed(body: Region, roots: Iterable[int]) -> bytearray:
    """Mark the instructions of a body that ``roots`` need; of an inner loop, those that its used results need."""
    if LOOP not in body.kinds:
        return body.flags(roots)
    flags = bytearray(len(body.instructions))
    for k in roots:
        flags[k] = 1
    used: dict[int, set[int]] = {}
    for k in range(len(flags) - 1, -1, -1):
        if flags[k]:
            operation, args, value = body.instructions[k]
            if operation is PART:
                used.setdefault(args[0], set()).add(value)
            for a in _arguments(value, args, _needs(value, used.get(k, set()))) if operation is LOOP else args:
                flags[a] = 1
    return flags


def _input(body: Region, value: int) -> int | None:
    """Return the index of an input if a value is an input, else None."""
    operation, _, number = body.instructions[value]
    return int(number) if operation is INPUT else None


def _inputs_of(body: Region) -> list[tuple[int, int]]:
    """Return the index of each instruction that is an input, and the index of that input."""
    return [(k, value) for k, (operation, _, value) in enumerate(body.instructions) if operation is INPUT]


def _needed_state(
    loop: Loop, inputs: Sequence[tuple[int, int]], results: set[int], outputs: Sequence[int], unchanged: set[int]
) -> tuple[list[int], set[int]]:
    """Return the indices of the carried values that are needed, and of the inputs that are needed.

    Carried values are needed for results, for the loop's outputs, for its condition, for the check for NaN, and for one
    another. Carried values that never change are left out: they are checked once at the start.
    """
    body, n, head = loop.body, loop.carried, int(loop.conditional)
    carried = set(range(loop.watched)) | {k for k in results if k not in unchanged}
    roots = [*body.results[:head], *(body.results[head + n + j] for j in outputs)]
    flags = _needed(body, [*roots, *(body.results[head + k] for k in carried)])
    while True:
        taken = {number for k, number in inputs if flags[k]}
        result = {k for k in taken if k < n and k not in unchanged}
        if result <= carried:
            return sorted(carried), taken
        if LOOP in body.kinds:
            flags = _needed(body, [*roots, *(body.results[head + k] for k in carried | result)])
        else:
            body.extend_flags(flags, [body.results[head + k] for k in result - carried])
        carried |= result


def merge_loops(program: L) -> L:
    """Merge loops of known length with equal arguments.

    Only loops of known length have outputs of each iteration; equal loops of other kinds are already one instruction.
    """
    if LOOP not in program.kinds:
        return program
    instructions = list(program.instructions)
    alike: dict[tuple[object, ...], list[int]] = {}
    for k in program.bundles:
        operation, args, loop = instructions[k]
        if operation is LOOP and not (loop.conditional or loop.stores or loop.reads):
            key = (args, loop.carried, loop.inputs, loop.max_iterations, loop.backward)
            alike.setdefault(key, []).append(k)
    if all(len(indices) == 1 for indices in alike.values()):
        return program
    for indices in alike.values():
        for first in indices:
            for second in indices:
                if first < second and LOOP is instructions[first].operation is instructions[second].operation:
                    _merge(instructions, first, second)
    return program.rebuilt(instructions, program.results)


def _merge(instructions: list[Instruction], at: int, repeated: int) -> None:
    """Replace the loops at two indices by a single loop that does the work of both, if possible."""
    first, second = instructions[at].value, instructions[repeated].value
    both = _both(first, second)
    if both is None:
        return
    carried, more = first.carried, both.outputs
    instructions[at] = Instruction(LOOP, instructions[at].args, both)
    for k, (operation, args, part) in enumerate(instructions):
        if operation is PART and args[0] in (at, repeated):
            loop, start = (first, 0) if args[0] == at else (second, first.outputs)
            if part >= carried:
                step, column = divmod(part - carried, loop.outputs)
                part = carried + step * more + start + column
            instructions[k] = Instruction(PART, (at,), part)


def _both(first: Loop, second: Loop) -> Loop | None:
    """Return a loop with the outputs of two loops, or None if the loops do not carry the same values."""
    inputs = Graph().inputs("x", (first.body.takes,))
    first_results, second_results = (loop.body.run(inputs) for loop in (first, second))
    if not all(map(_same, first_results[: first.carried], second_results[: first.carried])):
        return None
    body = Region.of([*first_results, *second_results[first.carried :]], inputs)
    return replace(first, body=body, outputs=first.outputs + second.outputs)


def _same(x: Any, y: Any) -> bool:
    """Return True for one symbol, or for equal numbers with the same sign; NaN equals nothing."""
    return x is y or (isinstance(x, float) and isinstance(y, float) and x == y and copysign(1.0, x) == copysign(1.0, y))
