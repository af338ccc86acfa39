"""The steps of a program, and their form: what is equal in steps that differ in their operands alone."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...expr.operations import BY_NAME, Operation
from ..program import CONSTANT, Instruction

__all__ = ["OF_CONSTANT", "OF_VALUE", "Step", "steps_of"]

OF_VALUE, OF_CONSTANT = -1, -2  # in a form, operands that are not the step's own
_MOST = 800  # instructions of a step: a longer one is taken apart
_COMMUTATIVE = frozenset((BY_NAME["add"], BY_NAME["mul"]))


@dataclass(slots=True)
class Step:
    """Some instructions that follow each other.

    The form has for each instruction its operation and its arguments: which of the step's own instructions, or
    `OF_VALUE` or `OF_CONSTANT`, whose numbers in the program are the operands.
    """

    form: tuple[Operation | int, ...]
    operands: list[int]
    values: list[int]  # the numbers in the program of its instructions; -1 of one that is computed here once more


def steps_of(
    instructions: Sequence[Instruction], marks: Sequence[int], apart: Container[int] = frozenset()
) -> list[Step]:
    """The steps between marks, inputs and constants left out.

    The instructions ``apart`` take no values of others from outside of their step, but compute them again.
    """
    ends = sorted({*marks, len(instructions)})
    steps: list[Step] = []
    start = 0
    for end in ends:
        parts = max(1, -(-(end - start) // _MOST))
        bounds = [start + (end - start) * part // parts for part in range(parts + 1)]
        for first, stop in pairwise(bounds):
            step = _step(instructions, range(first, stop), apart)
            if step.values:
                steps.append(step)
        start = max(start, end)
    return steps


def _step(instructions: Sequence[Instruction], some: Iterable[int], apart: Container[int]) -> Step:
    form: list[Operation | int] = []
    operands: list[int] = []
    values: list[int] = []
    own: dict[int, int] = {}

    def add(k: int, number: int, again: bool) -> None:
        operation, args, _ = instructions[k]
        if not args:
            return
        for a in args:  # only numbers wait between steps: a truth value is computed again
            if a not in own and (instructions[a].operation.logical or (again and a not in apart)):
                add(a, -1, again)
        if operation in _COMMUTATIVE:
            a, b = args
            if own.get(a, -1) > own.get(b, -1):
                args = b, a
        form.append(operation)
        for a in args:
            place = own.get(a)
            if place is None:
                place = OF_CONSTANT if instructions[a].operation is CONSTANT else OF_VALUE
                operands.append(a)
            form.append(place)
        own[k] = len(values)
        values.append(number)

    for k in some:
        add(k, k, k in apart)
    return Step(tuple(form), operands, values)
