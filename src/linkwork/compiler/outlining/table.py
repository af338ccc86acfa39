"""Steps as rows of a table: one body for those of a form, and places for the numbers that wait between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...expr.operations import Operation
from ...expr.region import Region
from ..program import CONSTANT, INPUT, Instruction
from ..rows import RowOfTable, Rows
from .steps import OF_CONSTANT, Step

__all__ = ["rows_of"]

_NOWHERE = -1  # the value that is left where nobody looks


def rows_of(
    instructions: Sequence[Instruction], steps: Sequence[Step], arguments: Sequence[int], results: Sequence[int]
) -> Rows:
    """Steps as rows.  Arguments are the numbers of inputs, results of values that steps compute, each there once."""
    groups: dict[tuple[Operation | int, ...], list[int]] = {}
    for s, step in enumerate(steps):
        groups.setdefault(step.form, []).append(s)
    wanted = _wanted(instructions, steps, results)
    bodies: list[Region] = []
    taken: list[list[int]] = [[]] * len(steps)
    constants: list[tuple[float, ...]] = [()] * len(steps)
    left: list[list[int]] = [[]] * len(steps)
    body_of = [0] * len(steps)
    for members in groups.values():
        alike = [steps[s] for s in members]
        columns = _Columns(instructions, alike)
        kept = sorted({k for step in alike for k, value in enumerate(step.values) if value in wanted})
        bodies.append(columns.body(alike[0], kept))
        for j, s in enumerate(members):
            body_of[s] = len(bodies) - 1
            taken[s] = [column[j] for column in columns.values]
            constants[s] = tuple([instructions[column[j]].value for column in columns.constants])
            left[s] = [v if v in wanted else _NOWHERE for v in (steps[s].values[k] for k in kept)]
    memory = _Memory(arguments, results, taken)
    rows = []
    for s in range(len(steps)):
        if left[s]:
            places = tuple(memory.keep(left[s]))
            rows.append(RowOfTable(body_of[s], tuple(memory.at(taken[s])), constants[s], places))
        memory.end(s)
    return Rows(tuple(bodies), tuple(rows), len(results), memory.size)


def _wanted(instructions: Sequence[Instruction], steps: Sequence[Step], results: Iterable[int]) -> set[int]:
    """The computed values that another step takes, or that are results."""
    wanted = set(results)
    for step in steps:
        wanted.update(step.operands)
    return {k for k in wanted if instructions[k].args}


class _Columns:
    """The operands of steps of one form, a column for each place in it, and equal columns one."""

    def __init__(self, instructions: Sequence[Instruction], steps: Sequence[Step]) -> None:
        self._instructions = instructions
        self.values: list[tuple[int, ...]] = []
        self.constants: list[tuple[int, ...]] = []
        self._of_place: list[tuple[int, tuple[int, ...]]] = []  # OF_CONSTANT or not, and the column
        known: dict[tuple[int, ...], None] = {}
        kinds = [code for code in steps[0].form if code.__class__ is int and code < 0]
        for kind, column in zip(kinds, zip(*(step.operands for step in steps), strict=True), strict=True):
            self._of_place.append((kind, column))
            if column in known:
                continue
            known[column] = None
            if kind != OF_CONSTANT:
                self.values.append(column)
            elif not self._equal(column):
                self.constants.append(column)

    def _equal(self, column: Sequence[int]) -> bool:
        """Whether a column of constants is one number; zeros of both signs are two."""
        return len({self._number(k) for k in column}) == 1

    def _number(self, k: int) -> tuple[float, float]:
        value = self._instructions[k].value
        return value, math.copysign(1.0, value)

    def body(self, step: Step, results: Sequence[int]) -> Region:
        """What steps of this form compute."""
        kept: list[Instruction] = []
        number: dict[tuple[int, ...], int] = {}
        for k, column in enumerate([*self.values, *self.constants]):
            number[column] = len(kept)
            kept.append(Instruction(INPUT, (), k))
        takes = len(kept)
        own: list[int] = []
        operands = iter(self._of_place)
        form = iter(step.form)
        for operation in form:
            assert isinstance(operation, Operation)
            args = []
            for _ in range(operation.arity):
                place = next(form)
                assert isinstance(place, int)
                if place >= 0:
                    args.append(own[place])
                    continue
                _, column = next(operands)
                if column not in number:
                    number[column] = len(kept)
                    kept.append(Instruction(CONSTANT, (), self._instructions[column[0]].value))
                args.append(number[column])
            own.append(len(kept))
            kept.append(Instruction(operation, tuple(args)))
        return Region(takes, tuple(kept), tuple([own[k] for k in results]))


class _Memory:
    """Hands out places: a value's is free again after the last step that takes it."""

    def __init__(self, arguments: Sequence[int], results: Sequence[int], taken: Sequence[Sequence[int]]) -> None:
        self._place = {value: k for k, value in enumerate(results)}
        self._given = {value: k - len(arguments) for k, value in enumerate(arguments)}
        self.size = len(results)
        self._free: list[int] = []
        last: dict[int, int] = {}
        for s, values in enumerate(taken):
            for value in values:
                last[value] = s
        self._ending: list[list[int]] = [[] for _ in taken]
        for value, s in last.items():
            if value not in self._place and value not in self._given:
                self._ending[s].append(value)

    def keep(self, values: Iterable[int]) -> list[int]:
        """The places where values are left."""
        for value in values:
            if value not in self._place:
                self._place[value] = self._free.pop() if self._free else self._more()
        return [self._place[value] for value in values]

    def at(self, values: Iterable[int]) -> list[int]:
        """The places where values stand."""
        return [self._given[value] if value in self._given else self._place[value] for value in values]

    def end(self, step: int) -> None:
        """What was taken for the last time leaves its place free."""
        self._free += [self._place[value] for value in self._ending[step]]

    def _more(self) -> int:
        self.size += 1
        return self.size - 1
