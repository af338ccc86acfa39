"""Store forwarding: a read of a table after a write returns the written value, or the table's earlier value.

Then only the loop that carries the table needs the whole new table, and changes it in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from linkwork.compiler.program import CONSTANT, Instruction
from linkwork.expr.control.table_access import PUT, TAKE, Take
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME

__all__ = ["look_through_puts"]

L = TypeVar("L", bound=InstructionList)


def look_through_puts(program: L) -> L:
    """Replace reads of a written table by reads of the table before the write and selections."""
    if PUT not in program.kinds:
        return program
    unique = _UniqueInstructions()
    number: list[int] = []  # new index of each instruction's value
    result: dict[int, list[int]] = {}  # the results of reads
    for k, (operation, args, value) in enumerate(program.instructions):
        arguments = [number[a] for a in args]
        if operation is PART and args[0] in result:
            number.append(result[args[0]][value])
            continue
        if operation is TAKE and not value.table:
            result[k] = unique.read_row(value, arguments)
            number.append(arguments[0])
            continue
        if operation.arity > 0 and operation is not PART:
            arguments = [unique.entry(a) for a in arguments]
        number.append(unique.add(Instruction(operation, tuple(arguments), value)))
    return program.rebuilt(unique.instructions, [number[r] for r in program.results]).pruned()


class _UniqueInstructions:
    """A list of instructions without duplicates."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self._indices: dict[Any, int] = {}

    def add(self, instruction: Instruction) -> int:
        operation, args, value = instruction
        if operation is CONSTANT:
            key: Any = CONSTANT, value.hex()
        elif operation.arity < 0 or not args:
            key = len(self.instructions)
        else:
            key = instruction
        if key not in self._indices:
            self._indices[key] = len(self.instructions)
            self.instructions.append(instruction)
        return self._indices[key]

    def _of(self, name: str, *args: int) -> int:
        return self.add(Instruction(BY_NAME[name], args))

    def _constant(self, number: float) -> int:
        return self.add(Instruction(CONSTANT, (), number))

    def _put(self, value: int) -> tuple[int, int] | None:
        """Return the write of whose table a value is an element, and the element's index; None for other values."""
        operation, args, part = self.instructions[value]
        return (args[0], part) if operation is PART and self.instructions[args[0]].operation is PUT else None

    def entry(self, value: int) -> int:
        """Return an element of a table, by selections between written elements and the table before all writes."""
        puts: list[tuple[int, int]] = []
        while (result := self._put(value)) is not None:
            puts.append(result)
            put, part = result
            _, _, table = self.instructions[put].value.split(self.instructions[put].args)
            value = table[part]
        for put, part in reversed(puts):
            _, args, bundle = self.instructions[put]
            index, row, _ = bundle.split(args)
            line, column = divmod(part, bundle.columns)
            is_line = self._of("eq", self._of("floor", index), self._constant(float(line)))
            value = self._of("where", is_line, row[column], value)
        return value

    def read_row(self, take: Take, args: Sequence[int]) -> list[int]:
        """Return a row of a table, by selections between written rows and the table before all writes."""
        index, *table = args
        puts: list[tuple[int, list[int]]] = []
        while (result := self._write_of(table, take)) is not None:
            put, columns = result
            puts.append(result)
            _, _, before = self.instructions[put].value.split(self.instructions[put].args)
            wide = self.instructions[put].value.columns
            table = [before[line * wide + column] for line in range(take.rows) for column in columns]
        fixed: tuple[float, ...] = ()
        if puts and all(self.instructions[a].operation is CONSTANT for a in table):
            fixed, table = tuple([self.instructions[a].value for a in table]), []
        whole = self.add(Instruction(TAKE, (index, *table), Take(take.rows, take.columns, fixed)))
        values = [self.add(Instruction(PART, (whole,), k)) for k in range(take.columns)]
        for put, columns in reversed(puts):
            _, arguments, bundle = self.instructions[put]
            written, row, _ = bundle.split(arguments)
            is_line = self._of("eq", self._nearest(index, take.rows), self._of("floor", written))
            values = [self._of("where", is_line, row[c], old) for c, old in zip(columns, values, strict=True)]
        return values

    def _write_of(self, table: Sequence[int], take: Take) -> tuple[int, list[int]] | None:
        """Return the `put` that produced a table, with the columns that ``take`` reads; None if no `put` did."""
        first = self._put(table[0])
        if first is None or self.instructions[first[0]].value.rows != take.rows:
            return None
        put, wide = first[0], self.instructions[first[0]].value.columns
        parts = [self._put(value) for value in table]
        columns = [-1 if part is None else part[1] for part in parts[: take.columns]]
        expected = ((put, line * wide + column) for line in range(take.rows) for column in columns)
        return (put, columns) if all(a == b for a, b in zip(parts, expected, strict=True)) else None

    def _nearest(self, index: int, rows: int) -> int:
        """Return a value: the number of the existing row nearest to an index.

        The value is NaN, which equals no row, if the index is NaN.
        """
        zero, last, row = self._constant(0.0), self._constant(rows - 1.0), self._of("floor", index)
        row = self._of("where", self._of("lt", row, zero), zero, row)
        return self._of("where", self._of("lt", last, row), last, row)
