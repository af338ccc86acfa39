"""Outlining: equal steps of a long program become one body, which runs once for each call in a table.

Code shrinks by the factor of repetition, so it compiles faster and fits into the processor's caches. In exchange,
values that pass between steps are stored in memory, and constants that differ are read from a table. Measured times,
with straight-line code and with outlined code.  "cold" is the time to trace, compile, and call the function once and
with a batch; "state" is the time for one state of a batch (AVX-512, one thread):

straight line, outlined             instructions   cold [s]      state [µs]
inverse dynamics, chain of 100             13226   0.6   0.3     0.29  0.42
inverse dynamics, tree of 63               16098   0.9   0.2     0.46  0.43
inverse dynamics, chain of 200             26626   1.2   0.5     0.85  0.98
forward dynamics, tree of 63               33512   1.6   0.5     0.89  0.78
forward dynamics, chain of 100             34353   1.6   0.7     0.64  0.73
inverse dynamics, tree of 255              65634   3.3   0.6     3.7   2.3
forward dynamics, chain of 200             69308   3.3   1.1     1.8   1.7
forward dynamics, tree of 255             137020   6.7   1.8     6.7   3.7

Signs are normalized first (`signs_moved`), so that steps that differ only in constants become equal. A trace has
positive constants: ``-2*x + y`` is ``y - 2*x`` there, and a minus sign that no sum absorbs moves on to the users of the
value. Here signs move back into constants. If the sign of a value can be changed by the sign of one of its constants,
the value gets the sign with which the last sum uses it. Apart from signs, every value is unchanged to the bit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from linkwork.compiler.outlined_calls import OUTLINED_CALLS
from linkwork.compiler.passes.step_patterns import steps_of
from linkwork.compiler.passes.step_table import fewest_instructions, outlined_calls
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Program
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME

__all__ = ["outline", "signs_moved"]


L = TypeVar("L", bound=InstructionList)
_MIN_INSTRUCTIONS = 25_000  # from here on straight-line code takes more than a second to compile
_MIN_OF_SHORT = 80_000  # with short steps: a chain's mass matrix of 25 751 is 1.7 times slower when outlined
_SHORT = 30  # average instructions of a short step
_MAX_REMAINING = 0.5  # maximum fraction of instructions after outlining, otherwise steps repeat too little


def outline(program: L) -> L:
    if not isinstance(program, Program) or not program.marks or len(program.instructions) < _MIN_INSTRUCTIONS:
        return program
    late = _late(program.instructions)
    if not any(late):
        return _outlined(program)  # type: ignore[return-value]
    if len(late) - sum(late) < _MIN_INSTRUCTIONS:
        return program
    used = _used_values(program, late)
    before = _before(program, late, used)
    after = _outlined(before)
    return program if after is before else _joined(program, after, used, late)  # type: ignore[return-value]


def _late(instructions: Sequence[Instruction]) -> bytearray:
    """Mark the instructions of several results, and all that depend on one of them.

    The other instructions can be outlined, and then come first.
    """
    late = bytearray(len(instructions))
    if any(i.operation.arity < 0 for i in instructions):
        for k, (operation, args, _) in enumerate(instructions):
            late[k] = operation.arity < 0 or any(late[a] for a in args)
    return late


def _used_values(program: Program, late: Sequence[int]) -> tuple[list[int], int]:
    """Return the values that instructions before the late ones compute and that late instructions or results use.

    The second result is the number of values that only guards need; these values are last. Truth values are replaced by
    the numbers that they are computed from.
    """
    instructions, results = program.instructions, program.results
    counted = program.needed(results[: len(results) - program.guards]) if program.guards else range(len(instructions))
    takers = [(k in counted, args) for k, (_, args, _) in enumerate(instructions) if late[k]]
    takers += [(r in counted, (r,)) for r in results]
    result: dict[bool, dict[int, None]] = {True: {}, False: {}}
    for counts, args in takers:
        result[counts].update((k, None) for a in args if not late[a] for k in _computed_sources(instructions, a))
    for_guards = [k for k in result[False] if k not in result[True]]
    return [*result[True], *for_guards], len(for_guards)


def _computed_sources(instructions: Sequence[Instruction], k: int) -> Iterator[int]:
    """Yield a computed number, or the computed numbers that a truth value is computed from."""
    waiting = [k]
    while waiting:
        operation, args, _ = instructions[k := waiting.pop()]
        if operation.gives == "t":
            waiting += args
        elif args:
            yield k


def _before(program: Program, late: Sequence[int], used: tuple[list[int], int]) -> Program:
    """Return the instructions that are not late as a program, with the values ``used`` later as results."""
    order = [k for k, is_late in enumerate(late) if not is_late]
    marks = tuple([bisect_left(order, mark) for mark in program.marks])
    results, guards = used
    return replace(replace(program, results=tuple(results)).ordered(order), guards=guards, marks=marks)


def _joined(program: Program, before: Program, used: tuple[list[int], int], late: Sequence[int]) -> Program:
    """Return a program of the outlined instructions followed by the late ones."""
    rewritten = list(before.instructions)
    number = dict(zip(used[0], before.results, strict=True))

    for k, (operation, args, value) in enumerate(program.instructions):
        if k not in number and (late[k] or not args or (operation.gives == "t" and all(a in number for a in args))):
            number[k] = len(rewritten)
            rewritten.append(Instruction(operation, tuple([number[a] for a in args]), value))
    return program.rebuilt(rewritten, [number[r] for r in program.results]).pruned()


def _outlined(program: Program) -> Program:
    instructions, results, marks = signs_moved(program.instructions, program.results, program.marks)
    steps = steps_of(instructions, marks, _for_guards(program.rebuilt(instructions, results)))
    used = {k for step in steps for k in step.operands if instructions[k].operation is INPUT}
    arguments = sorted(used, key=lambda k: instructions[k].value)
    computed = list(dict.fromkeys(r for r in results if instructions[r].args))
    count = len(program.instructions)
    if fewest_instructions(instructions, steps, computed) > _MAX_REMAINING * count:
        return program
    outlined = outlined_calls(instructions, steps, arguments, computed)
    if sum(len(body.instructions) for body in outlined.bodies) > _MAX_REMAINING * count:
        return program
    if count < min(_SHORT * len(outlined.calls), _MIN_OF_SHORT):
        return program
    rewritten = [instructions[k] for k in arguments]
    number = {value: k for k, value in enumerate(arguments)}
    rewritten.append(Instruction(OUTLINED_CALLS, tuple(range(len(arguments))), outlined))
    for part, value in enumerate(computed):
        number[value] = len(rewritten)
        rewritten.append(Instruction(PART, (len(arguments),), part))
    for r in results:
        if r not in number:
            number[r] = len(rewritten)
            rewritten.append(instructions[r])
    return program.rebuilt(rewritten, [number[r] for r in results])


def _for_guards(program: Program) -> set[int]:
    """Return the instructions that only guards need.

    These instructions are isolated in steps, so that the rounding of other results does not depend on guards.
    """
    if not program.guards:
        return set()
    return set(range(len(program.instructions))) - program.needed(program.results[: -program.guards])


_ADD, _SUB, _MUL, _DIV, _NEG = (BY_NAME[name] for name in ("add", "sub", "mul", "div", "neg"))


def signs_moved(
    instructions: Sequence[Instruction], results: Sequence[int], marks: Sequence[int]
) -> tuple[list[Instruction], list[int], list[int]]:
    """Return instructions, results and marks after the normalization of signs."""
    return _SignRewriter(instructions, _chosen_signs(instructions, results)).written(results, marks)


def _chosen_signs(instructions: Sequence[Instruction], results: Sequence[int]) -> list[int]:
    """Return the sign that each value should have, relative to its present one."""
    either = bytearray(len(instructions))  # 1: the value is available with either sign
    for k, (operation, args, _) in enumerate(instructions):
        if operation is _MUL or operation is _ADD or operation is _SUB or operation is _DIV:
            if either[args[0]] or either[args[1]]:
                either[k] = 1
        elif operation is CONSTANT or operation is _NEG:
            either[k] = 1
    chosen = [0] * len(instructions)  # 0: no preference yet
    for r in results:
        chosen[r] = 1
    for k in range(len(instructions) - 1, -1, -1):
        operation, args, _ = instructions[k]
        if not args:
            continue
        sign = chosen[k]
        if not sign or not either[k]:
            sign = chosen[k] = 1
        if operation is _ADD or operation is _SUB:
            a, b = args
            if either[a] and not chosen[a]:
                chosen[a] = sign
            if either[b] and not chosen[b]:
                chosen[b] = sign if operation is _ADD else -sign
        elif operation is _MUL or operation is _DIV:
            a, b = args
            if instructions[a].operation is CONSTANT or instructions[b].operation is CONSTANT:
                chosen[a], chosen[b] = chosen[a] or 1, chosen[b] or 1  # the constant takes the sign
            elif either[a] and not chosen[a]:
                chosen[b] = chosen[b] or 1
                chosen[a] = sign * (chosen[b] if either[b] else 1)
            elif either[b] and not chosen[b]:
                chosen[b] = sign * (chosen[a] if either[a] else 1)
        elif operation is _NEG:
            chosen[args[0]] = chosen[args[0]] or -sign
        else:
            for a in args:
                chosen[a] = chosen[a] or 1
    return chosen


class _SignRewriter:
    """Rewrites instructions with the chosen signs."""

    def __init__(self, instructions: Sequence[Instruction], chosen: Sequence[int]) -> None:
        self._instructions, self._chosen = instructions, chosen
        self._rewritten: list[Instruction] = []
        self._number: list[int] = []
        self._sign: list[int] = []  # factor from the new value to the original one
        self._negated: dict[int, int] = {}

    def written(self, results: Sequence[int], marks: Sequence[int]) -> tuple[list[Instruction], list[int], list[int]]:
        begun: list[int] = []
        for k, (operation, args, value) in enumerate(self._instructions):
            begun.append(len(self._rewritten))
            if not args:
                self._define(self._new(operation, (), value), 1)
            elif operation is _ADD or operation is _SUB:
                self._sum(self._chosen[k], args[0], args[1], 1 if operation is _ADD else -1)
            elif operation is _MUL or operation is _DIV:
                sign = self._sign[args[0]] * self._sign[args[1]]
                left, right = self._number[args[0]], self._number[args[1]]
                if sign != self._chosen[k]:
                    if self._instructions[args[0]].operation is CONSTANT:
                        left, sign = self._minus(args[0]), -sign
                    elif self._instructions[args[1]].operation is CONSTANT:
                        right, sign = self._minus(args[1]), -sign
                self._define(self._new(operation, (left, right)), sign)
            elif operation is _NEG:
                self._define(self._number[args[0]], -self._sign[args[0]])
            else:
                self._define(self._new(operation, tuple([self._plain(a) for a in args]), value), 1)
        begun.append(len(self._rewritten))
        moved = [self._plain(r) for r in results]
        return self._rewritten, moved, [begun[mark] for mark in marks]

    def _new(self, operation: object, args: tuple[int, ...], value: object = None) -> int:
        self._rewritten.append(Instruction(operation, args, value))  # type: ignore[arg-type]
        return len(self._rewritten) - 1

    def _define(self, number: int, sign: int) -> None:
        self._number.append(number)
        self._sign.append(sign)

    def _sum(self, chosen: int, a: int, b: int, of_second: int) -> None:
        first, second = chosen * self._sign[a], chosen * self._sign[b] * of_second
        left, right = self._number[a], self._number[b]
        if first < 0 and self._instructions[a].operation is CONSTANT:
            left, first = self._minus(a), 1
        if second < 0 and self._instructions[b].operation is CONSTANT:
            right, second = self._minus(b), 1
        if first < 0 and second < 0:
            self._define(self._new(_ADD, (left, right)), -chosen)
        elif first < 0:
            self._define(self._new(_SUB, (right, left)), chosen)
        else:
            self._define(self._new(_ADD if second > 0 else _SUB, (left, right)), chosen)

    def _minus(self, constant: int) -> int:
        """Return the negated constant."""
        if constant not in self._negated:
            self._negated[constant] = self._new(CONSTANT, (), -self._instructions[constant].value)
        return self._negated[constant]

    def _plain(self, k: int) -> int:
        """Return the value with its original sign."""
        number = self._number[k]
        return number if self._sign[k] > 0 else self._new(_NEG, (number,))
