"""Outlining: equal steps of a long program become one body, which runs once for each row of a table.

Code gets shorter by as much as steps repeat, so it is compiled sooner and fits into the processor's caches.  On the
other hand, values that go from step to step wait in memory, and constants that differ are read from a table.
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

Signs are normalised first (`signs_moved`), so that steps that differ only in constants look alike.  A trace has
positive constants: ``-2*x + y`` is ``y - 2*x`` there, and a minus sign that no sum takes in goes on to the users of
the value.  Here signs go back into constants.  A value that can have either sign, by the sign of one of its
constants, gets the sign that the last sum with it uses.  Every number is the same as before but for its sign, to the
bit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from linkwork.compiler.outlined_calls import ROWS
from linkwork.compiler.passes.outlining.step_patterns import steps_of
from linkwork.compiler.passes.outlining.step_table import rows_of
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Program
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME

__all__ = ["outline", "signs_moved"]


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
    ones.  What they take of truth values is computed again from the numbers that these are made of.
    """
    instructions, results = program.instructions, program.results
    counted = program.needed(results[: len(results) - program.guards]) if program.guards else range(len(instructions))
    takers = [(k in counted, args) for k, (_, args, _) in enumerate(instructions) if late[k]]
    takers += [(r in counted, (r,)) for r in results]
    result: dict[bool, dict[int, None]] = {True: {}, False: {}}
    for counts, args in takers:
        result[counts].update((k, None) for a in args if not late[a] for k in _numbers(instructions, a))
    for_guards = [k for k in result[False] if k not in result[True]]
    return [*result[True], *for_guards], len(for_guards)


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


_ADD, _SUB, _MUL, _DIV, _NEG = (BY_NAME[name] for name in ("add", "sub", "mul", "div", "neg"))


def signs_moved(
    instructions: Sequence[Instruction], results: Sequence[int], marks: Sequence[int]
) -> tuple[list[Instruction], list[int], list[int]]:
    """Instructions, results and marks after signs have moved."""
    return _Moved(instructions, _wanted(instructions, results)).written(results, marks)


def _wanted(instructions: Sequence[Instruction], results: Sequence[int]) -> list[int]:
    """The sign that each value is to have, times what it is."""
    either = bytearray(len(instructions))  # whether a value can be had with either sign
    for k, (operation, args, _) in enumerate(instructions):
        if operation is _MUL or operation is _ADD or operation is _SUB or operation is _DIV:
            if either[args[0]] or either[args[1]]:
                either[k] = 1
        elif operation is CONSTANT or operation is _NEG:
            either[k] = 1
    wanted = [0] * len(instructions)  # 0: nothing has asked yet
    for r in results:
        wanted[r] = 1
    for k in range(len(instructions) - 1, -1, -1):
        operation, args, _ = instructions[k]
        if not args:
            continue
        sign = wanted[k]
        if not sign or not either[k]:
            sign = wanted[k] = 1
        if operation is _ADD or operation is _SUB:
            a, b = args
            if either[a] and not wanted[a]:
                wanted[a] = sign
            if either[b] and not wanted[b]:
                wanted[b] = sign if operation is _ADD else -sign
        elif operation is _MUL or operation is _DIV:
            a, b = args
            if instructions[a].operation is CONSTANT or instructions[b].operation is CONSTANT:
                wanted[a], wanted[b] = wanted[a] or 1, wanted[b] or 1  # the constant takes the sign
            elif either[a] and not wanted[a]:
                wanted[b] = wanted[b] or 1
                wanted[a] = sign * (wanted[b] if either[b] else 1)
            elif either[b] and not wanted[b]:
                wanted[b] = sign * (wanted[a] if either[a] else 1)
        elif operation is _NEG:
            wanted[args[0]] = wanted[args[0]] or -sign
        else:
            for a in args:
                wanted[a] = wanted[a] or 1
    return wanted


class _Moved:
    """The instructions again, with the signs that are wanted."""

    def __init__(self, instructions: Sequence[Instruction], wanted: Sequence[int]) -> None:
        self._instructions, self._wanted = instructions, wanted
        self._kept: list[Instruction] = []
        self._number: list[int] = []
        self._sign: list[int] = []  # what the kept value is to be multiplied by
        self._negated: dict[int, int] = {}

    def written(self, results: Sequence[int], marks: Sequence[int]) -> tuple[list[Instruction], list[int], list[int]]:
        begun: list[int] = []
        for k, (operation, args, value) in enumerate(self._instructions):
            begun.append(len(self._kept))
            if not args:
                self._is(self._new(operation, (), value), 1)
            elif operation is _ADD or operation is _SUB:
                self._sum(self._wanted[k], args[0], args[1], 1 if operation is _ADD else -1)
            elif operation is _MUL or operation is _DIV:
                sign = self._sign[args[0]] * self._sign[args[1]]
                left, right = self._number[args[0]], self._number[args[1]]
                if sign != self._wanted[k]:
                    if self._instructions[args[0]].operation is CONSTANT:
                        left, sign = self._minus(args[0]), -sign
                    elif self._instructions[args[1]].operation is CONSTANT:
                        right, sign = self._minus(args[1]), -sign
                self._is(self._new(operation, (left, right)), sign)
            elif operation is _NEG:
                self._is(self._number[args[0]], -self._sign[args[0]])
            else:
                self._is(self._new(operation, tuple([self._plain(a) for a in args]), value), 1)
        begun.append(len(self._kept))
        moved = [self._plain(r) for r in results]
        return self._kept, moved, [begun[mark] for mark in marks]

    def _new(self, operation: object, args: tuple[int, ...], value: object = None) -> int:
        self._kept.append(Instruction(operation, args, value))  # type: ignore[arg-type]
        return len(self._kept) - 1

    def _is(self, number: int, sign: int) -> None:
        self._number.append(number)
        self._sign.append(sign)

    def _sum(self, wanted: int, a: int, b: int, of_second: int) -> None:
        first, second = wanted * self._sign[a], wanted * self._sign[b] * of_second
        left, right = self._number[a], self._number[b]
        if first < 0 and self._instructions[a].operation is CONSTANT:
            left, first = self._minus(a), 1
        if second < 0 and self._instructions[b].operation is CONSTANT:
            right, second = self._minus(b), 1
        if first < 0 and second < 0:
            self._is(self._new(_ADD, (left, right)), -wanted)
        elif first < 0:
            self._is(self._new(_SUB, (right, left)), wanted)
        else:
            self._is(self._new(_ADD if second > 0 else _SUB, (left, right)), wanted)

    def _minus(self, constant: int) -> int:
        """The constant with the other sign."""
        if constant not in self._negated:
            self._negated[constant] = self._new(CONSTANT, (), -self._instructions[constant].value)
        return self._negated[constant]

    def _plain(self, k: int) -> int:
        """The value itself."""
        number = self._number[k]
        return number if self._sign[k] > 0 else self._new(_NEG, (number,))
