"""Outlining: steps of a long program that are alike become one body, which runs as rows of a table say.

Code gets shorter by as much as steps repeat, so it is compiled sooner, and fits into the processor's caches.  Against
that, all that goes from one step to another waits in memory, and constants that differ are read from a table.
Measured (cold: to trace, compile and call it once and with a batch; a state of a batch, AVX-512, one thread):

    straight line, outlined             instructions   cold [s]      state [µs]
    inverse dynamics, chain of 100             13226   0.6   0.3     0.29  0.42
    inverse dynamics, tree of 63               16098   0.9   0.2     0.46  0.43
    inverse dynamics, chain of 200             26626   1.2   0.5     0.85  0.98
    forward dynamics, tree of 63               33512   1.6   0.5     0.89  0.78
    forward dynamics, chain of 100             34353   1.6   0.7     0.64  0.73
    inverse dynamics, tree of 255              65634   3.3   0.6     3.7   2.3
    forward dynamics, chain of 200             69308   3.3   1.1     1.8   1.7
    forward dynamics, tree of 255             137020   6.7   1.8     6.7   3.7
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from linkwork.compiler.outlined_calls import ROWS
from linkwork.compiler.passes.outlining.sign_normalization import signs_moved
from linkwork.compiler.passes.outlining.step_patterns import steps_of
from linkwork.compiler.passes.outlining.step_table import rows_of
from linkwork.compiler.program import INPUT, Instruction, Program
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART

__all__ = ["outline"]

L = TypeVar("L", bound=InstructionList)

_LEAST = 25_000  # instructions of a program that is looked at: a straight line takes more than a second to compile
_LEAST_OF_SHORT = (
    80_000  # the same where steps are short: a chain's mass matrix of 25 751 takes 1.7 times as long in rows
)
_SHORT = 30  # instructions of a step, on average
_LEFT = 0.5  # what is left of the instructions, at most: otherwise steps do not repeat enough


def outline(program: L) -> L:
    if not isinstance(program, Program) or not program.marks or len(program.instructions) < _LEAST:
        return program
    late = _late(program.instructions)
    if not any(late):
        return _outlined(program)  # type: ignore[return-value]
    if len(late) - sum(late) < _LEAST:
        return program
    taken = _taken(program, late)
    before = _before(program, late, taken)
    after = _outlined(before)
    return program if after is before else _joined(program, after, taken, late)  # type: ignore[return-value]


def _late(instructions: Sequence[Instruction]) -> bytearray:
    """Which instructions wait for one of several results: all others can be outlined, and come first then."""
    late = bytearray(len(instructions))
    if any(i.operation.arity < 0 for i in instructions):
        for k, (operation, args, _) in enumerate(instructions):
            late[k] = operation.arity < 0 or any(late[a] for a in args)
    return late


def _taken(program: Program, late: Sequence[int]) -> tuple[list[int], int]:
    """The numbers that late instructions and results take of others, and how many of these guards alone need, the last
    ones.  What they take of truth values is computed again from the numbers that these are made of."""
    instructions, results = program.instructions, program.results
    counted = program.needed(results[: len(results) - program.guards]) if program.guards else range(len(instructions))
    takers = [(k in counted, args) for k, (_, args, _) in enumerate(instructions) if late[k]]
    takers += [(r in counted, (r,)) for r in results]
    found: dict[bool, dict[int, None]] = {True: {}, False: {}}
    for counts, args in takers:
        found[counts].update((k, None) for a in args if not late[a] for k in _numbers(instructions, a))
    for_guards = [k for k in found[False] if k not in found[True]]
    return [*found[True], *for_guards], len(for_guards)


def _numbers(instructions: Sequence[Instruction], k: int) -> Iterator[int]:
    """A computed number; of a truth value the computed numbers that it is made of."""
    waiting = [k]
    while waiting:
        operation, args, _ = instructions[k := waiting.pop()]
        if operation.gives == "t":
            waiting += args
        elif args:
            yield k


def _before(program: Program, late: Sequence[int], taken: tuple[list[int], int]) -> Program:
    """The instructions that are not late, as a program that gives what is taken."""
    order = [k for k, is_late in enumerate(late) if not is_late]
    marks = tuple([bisect_left(order, mark) for mark in program.marks])
    results, guards = taken
    return replace(replace(program, results=tuple(results)).ordered(order), guards=guards, marks=marks)


def _joined(program: Program, before: Program, taken: tuple[list[int], int], late: Sequence[int]) -> Program:
    """The late instructions after the others."""
    kept = list(before.instructions)
    number = dict(zip(taken[0], before.results, strict=True))

    for k, (operation, args, value) in enumerate(program.instructions):
        if k not in number and (late[k] or not args or (operation.gives == "t" and all(a in number for a in args))):
            number[k] = len(kept)
            kept.append(Instruction(operation, tuple([number[a] for a in args]), value))
    return program.rebuilt(kept, [number[r] for r in program.results]).pruned()


def _outlined(program: Program) -> Program:
    instructions, results, marks = signs_moved(program.instructions, program.results, program.marks)
    steps = steps_of(instructions, marks, _for_guards(program.rebuilt(instructions, results)))
    taken = {k for step in steps for k in step.operands if instructions[k].operation is INPUT}
    arguments = sorted(taken, key=lambda k: instructions[k].value)
    computed = list(dict.fromkeys(r for r in results if instructions[r].args))
    rows = rows_of(instructions, steps, arguments, computed)
    count = len(program.instructions)
    if sum(len(body.instructions) for body in rows.bodies) > _LEFT * count:
        return program
    if count < min(_SHORT * len(rows.rows), _LEAST_OF_SHORT):
        return program
    kept = [instructions[k] for k in arguments]
    number = {value: k for k, value in enumerate(arguments)}
    kept.append(Instruction(ROWS, tuple(range(len(arguments))), rows))
    for part, value in enumerate(computed):
        number[value] = len(kept)
        kept.append(Instruction(PART, (len(arguments),), part))
    for r in results:
        if r not in number:
            number[r] = len(kept)
            kept.append(instructions[r])
    return program.rebuilt(kept, [number[r] for r in results])


def _for_guards(program: Program) -> set[int]:
    """The instructions that guards alone need: so that what is rounded how does not depend on guards."""
    if not program.guards:
        return set()
    return set(range(len(program.instructions))) - program.needed(program.results[: -program.guards])
