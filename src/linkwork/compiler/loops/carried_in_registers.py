"""Loops that hold what they carry in registers: else each step would wait for what the one before has just stored."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.loops.basic_blocks import PieceCode, Pointers
from linkwork.compiler.loops.execution_plan import Control, Piece, Scope
from linkwork.compiler.loops.in_place_tables import rows_of_tables, store, whether_nan
from linkwork.compiler.loops.interrupt_checks import end_if_interrupted, period_of
from linkwork.compiler.program import INPUT
from linkwork.expr.control.loop_instruction import DONE, NOT_A_NUMBER, Loop

__all__ = ["in_registers", "nan_flags", "while_in_registers"]

_REGISTERS = 12  # numbers that a loop carries in them


def in_registers(code: PieceCode, scope: Scope, loop: Loop) -> bool:
    """Whether what a loop carries stays in registers: a few numbers, of a body that is in its driver as a whole."""
    instructions = scope.listing.instructions
    bundles = (i for k, i in enumerate(instructions) if i.operation.arity < 0 and k not in scope.puts)
    tables = (a for i in bundles for a in i.args[1:])  # behind the index
    looked_up = {instructions[a].value for a in tables if instructions[a].operation is INPUT}
    return (
        0 < loop.carried - len(scope.stored) <= _REGISTERS
        and code.inline(scope)
        and all(isinstance(step, Piece) for step in scope.steps)
        and not scope.over
        and looked_up.isdisjoint(set(range(loop.carried)) - scope.stored)
    )


def while_in_registers(code: PieceCode, f: Instructions, step: Control, scope: Scope, going: str) -> None:
    """Steps as long as a condition holds, of lanes that ``going`` points to: all is stored at the end alone but tables,
    which are changed where they stand."""
    loop: Loop = step.bundle
    done, status = step.ending
    places = {j: step.results + j for j in range(loop.carried) if j not in scope.stored}
    numbers = [f.get("%frame", place) for place in places.values()]
    carried = [f.load(code.mask, going), f.constant(0.0), f.get("%frame", status), *numbers]
    period = period_of(loop)
    kinds = [code.mask, f.type, *[f.type] * (1 + len(places))]
    if period:
        kinds, carried = [*kinds, "i64"], [*carried, "0"]
    with f.repeat(kinds, carried) as leave:
        steps = [carried.pop()] if period else []
        mask, count, ending, *numbers = carried
        at = Pointers(held=dict(zip(places.values(), numbers, strict=True)))
        holds = f.bits(code.run(f, scope, slice(0, scope.head), at, mask, inline=True)(scope.listing.results[0]))
        last = f.select(f.lanes_of(code.without(f, mask, holds)), f.constant(DONE), ending)
        below = f.bits(f.let(f"fcmp olt {f.type} {count}, {f.constant(code.most_steps(loop))}"))
        mask = f.let(f"and {code.mask} {f.let(f'and {code.mask} {mask}, {holds}')}, {below}")
        f.require(f.let(f"icmp ne {code.mask} {mask}, 0"), leave)
        value = code.run_to_the_end(f, scope, slice(scope.head, None), at, mask, inline=True)
        found = {j: value(scope.listing.results[1 + j]) for j in places}
        stored = rows_of_tables(scope.listing, scope.tables, value)
        lanes = f.lanes_of(mask)
        for table, rows in stored:
            store(f, table, rows, "%frame", step.results, lanes)
        following = [f.let(f"fadd {f.type} {count}, {f.constant(1.0)}"), last, *found.values()]
        if code.lanes > 1:
            pairs = zip(following, (count, last, *numbers), strict=True)
            following = [x if x == y else f.select(lanes, x, y) for x, y in pairs]
        watched = [x for j, x in found.items() if j < loop.watched]
        for table, rows in stored:
            watched += whether_nan(f, table, rows) if min(table.numbers) < loop.watched else []
        if watched:
            bad = f.let(f"and {code.mask} {mask}, {f.bits(f.any_of(f.truth, nan_flags(f, watched)))}")
            following[1] = f.select(f.lanes_of(bad), f.constant(NOT_A_NUMBER), following[1])
            mask = f.let(f"xor {code.mask} {mask}, {bad}")
        for index in steps:
            end_if_interrupted(f, period, index, leave)
        carried[:] = [mask, *following, *[f.let(f"add i64 {index}, 1") for index in steps]]
    for place, x in zip((done, status, *places.values()), (count, last, *numbers), strict=True):
        f.put(x, "%frame", place)


def nan_flags(f: Instructions, numbers: Sequence[str]) -> list[str]:
    """Truth values of which one holds where a number is NaN."""
    flags = [f.let(f"fcmp uno {f.type} {x}, {y}") for x, y in zip(numbers[::2], numbers[1::2], strict=False)]
    if len(numbers) % 2:
        flags.append(f.let(f"fcmp uno {f.type} {numbers[-1]}, {numbers[-1]}"))
    return flags
