"""Steps of a program and their forms: steps that differ only in their operands have the same form."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import pairwise

from linkwork.compiler.program import CONSTANT, Instruction
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["OF_CONSTANT", "OF_VALUE", "Form", "Step", "steps_of"]

OF_VALUE, OF_CONSTANT = -1, -2  # operands in a form that are not the step's own values
_MAX_LENGTH = 800  # instructions of a step; a longer one is split
_COMMUTATIVE = frozenset((BY_NAME["add"], BY_NAME["mul"]))
_NUMBER, _CONSTANT, _TRUTH = 0, 1, 2  # kinds of an instruction's result

Form = tuple[Operation | int, ...]


@dataclass(slots=True)
class Step:
    """A sequence of consecutive instructions.

    The form has, for each instruction, its operation and its arguments.  An argument is the index of an instruction of
    the step, or `OF_VALUE` or `OF_CONSTANT` for an operand; ``operands`` has the operands' indices in the program.
    """

    form: Form
    operands: list[int]
    values: list[int]  # indices of its instructions in the program; -1 for one that is computed again


def steps_of(
    instructions: Sequence[Instruction], marks: Sequence[int], isolated: Container[int] = frozenset()
) -> list[Step]:
    """Return the steps of a program, which are separated by ``marks`` (indices), without inputs and constants.

    A step with ``isolated`` instructions uses no values that other instructions compute outside of the step; it
    computes them again.
    """
    reader = _Reader(instructions, isolated)
    ends = sorted({*marks, len(instructions)})
    steps: list[Step] = []
    start = 0
    for end in ends:
        parts = max(1, -(-(end - start) // _MAX_LENGTH))
        bounds = [start + (end - start) * part // parts for part in range(parts + 1)]
        for first, stop in pairwise(bounds):
            step = reader.step(first, stop)
            if step.values:
                steps.append(step)
        start = max(start, end)
    return steps


class _Reader:
    """Builder of `Step`s from ranges of a program's instructions, read in sequence."""

    def __init__(self, instructions: Sequence[Instruction], isolated: Container[int]) -> None:
        self._instructions, self._isolated = instructions, isolated
        self._gives = bytearray(len(instructions))
        for k, (operation, args, _) in enumerate(instructions):
            if not args:
                self._gives[k] = _CONSTANT if operation is CONSTANT else _NUMBER
            elif operation.gives == "t":
                self._gives[k] = _TRUTH

    def step(self, first: int, stop: int) -> Step:
        """Return the repeated step that consists of the instructions first <= k < stop."""
        instructions, gives, isolated = self._instructions, self._gives, self._isolated
        form: list[Operation | int] = []
        operands: list[int] = []
        values: list[int] = []
        entries: dict[int, int] = {}
        for k in range(first, stop):
            operation, args, _ = instructions[k]
            if not args:
                continue
            is_isolated = k in isolated
            for a in args:  # only numbers are stored between steps: a truth value is computed again
                if a not in entries and (gives[a] == _TRUTH or (is_isolated and a not in isolated)):
                    self._again(a, is_isolated, form, operands, values, entries)
            self._write(operation, args, form, operands, entries)
            entries[k] = len(values)
            values.append(k)
        return Step(tuple(form), operands, values)

    def _again(
        self,
        k: int,
        deep: bool,
        form: list[Operation | int],
        operands: list[int],
        values: list[int],
        entries: dict[int, int],
    ) -> None:
        """Add a copy of instruction k, which belongs to another step, to this step.

        Truth values on which the instruction depends are copied too; with ``deep``, everything on which it depends.
        """
        operation, args, _ = self._instructions[k]
        if not args:
            return
        for a in args:
            if a not in entries and (self._gives[a] == _TRUTH or (deep and a not in self._isolated)):
                self._again(a, deep, form, operands, values, entries)
        self._write(operation, args, form, operands, entries)
        entries[k] = len(values)
        values.append(-1)

    def _write(
        self,
        operation: Operation,
        args: tuple[int, ...],
        form: list[Operation | int],
        operands: list[int],
        entries: dict[int, int],
    ) -> None:
        if operation in _COMMUTATIVE:
            a, b = args
            if entries.get(a, -1) > entries.get(b, -1):
                args = b, a
        form.append(operation)
        for a in args:
            entry = entries.get(a)
            if entry is None:
                entry = OF_CONSTANT if self._gives[a] == _CONSTANT else OF_VALUE
                operands.append(a)
            form.append(entry)
