"""Minus signs put where they depend on no constant's sign, so that steps which differ in constants alone look alike.

A trace has positive constants: ``-2*x + y`` is ``y - 2*x`` there, and a minus sign that no sum takes in goes on to what
is made of the value.  Here signs go back into constants.  Each value that can be had with either sign, by the sign of a
constant that it is made of, is given the one that the last sum it is a term of takes as it is.  Every number is the
same as before but for its sign, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.compiler.program import CONSTANT, Instruction
from linkwork.expr.scalar.operations import BY_NAME

__all__ = ["signs_moved"]

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
