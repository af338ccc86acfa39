"""Tables changed in place: a loop-carried table that iterations change only by `put` stays at one place in memory.

An iteration reads the table as it was before the iteration, so all writes are stored at its end, in order. A lane
without a write, because its index is out of range or because it has ended, stores to an unused position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkwork.compiler.codegen.float_type import vector
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.table_lookup import CHOSEN, TableAddress, lane_of, offsets, row_of
from linkwork.compiler.program import INPUT
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.table_access import PUT
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART

__all__ = ["InPlaceTable", "in_place_tables", "nan_values", "store", "written_rows"]


@dataclass(frozen=True)
class InPlaceTable:
    """A loop-carried table that stays in one place in memory, and the instructions that write its rows, in order.

    It has the indices of the table's elements among the loop's carried values.
    """

    indices: frozenset[int]
    puts: tuple[int, ...]
    rows: int
    columns: tuple[int, ...]  # indices of the first row's elements among the carried values
    distance: int  # from one row to the next
    spare: int = 0  # slot of a row that is never read

    @property
    def span(self) -> int:
        """Number of slots from the first to the last element of a row, including slots of other values between them."""
        return max(self.columns) - min(self.columns) + 1


def in_place_tables(listing: InstructionList, loop: Loop) -> list[InPlaceTable]:
    """Return the loop-carried tables that iterations change only row by row, so that they can stay in place."""
    instructions, results = listing.instructions, listing.results[listing.first :]
    carried: dict[int, dict[int, int]] = {}  # of each put: element of its table -> index of the carried value
    uses: dict[int, int] = {}  # of each put: number of uses of its elements
    for j, r in enumerate(results):
        operation, args, part = instructions[r]
        if operation is PART and instructions[args[0]].operation is PUT:
            uses[args[0]] = uses.get(args[0], 0) + 1
            if j < loop.carried:
                carried.setdefault(args[0], {})[part] = j
    for instruction in instructions:
        for a in instruction.args if carried else ():
            operation, args, _ = instructions[a]
            if operation is PART and instructions[args[0]].operation is PUT:
                uses[args[0]] = uses.get(args[0], 0) + 1
    result = []
    for last, elements in carried.items():
        bundle = instructions[last].value
        if CHOSEN < bundle.count == len(elements) == uses[last]:
            puts = _chain(listing, last, elements, uses)
            address = TableAddress.of([("", elements[k]) for k in range(bundle.count)], bundle.columns)
            mixed = min(elements.values()) < loop.watched <= max(elements.values())
            if puts and address is not None and not mixed:
                indices = frozenset(elements.values())
                result.append(InPlaceTable(indices, puts, bundle.rows, address.columns, address.distance))
    return result


def _chain(listing: InstructionList, last: int, elements: dict[int, int], uses: dict[int, int]) -> tuple[int, ...]:
    """Return the writes that turn the carried table into the table of the next iteration, in order.

    Return () if another instruction changes the table or reads it between the writes.
    """
    instructions = listing.instructions
    puts = [last]
    while True:
        bundle = instructions[last].value
        _, _, table = bundle.split(instructions[last].args)
        before = [instructions[a] for a in table]
        if all(i.operation is INPUT and i.value == elements[k] for k, i in enumerate(before)):
            return tuple(reversed(puts))
        if any(i.operation is not PART or i.args != before[0].args or i.value != k for k, i in enumerate(before)):
            return ()
        last = before[0].args[0]
        if instructions[last].value != bundle or instructions[last].operation is not PUT or uses[last] != bundle.count:
            return ()
        puts.append(last)


def _inside(f: Instructions, index: str, rows: int, lanes: str) -> str:
    """Return the mask of the lanes among ``lanes`` in which 0 ≤ index < ``rows``."""
    flags = [f.let(f"fcmp oge {f.type} {index}, {f.constant(0.0)}")]
    flags.append(f.let(f"fcmp olt {f.type} {index}, {f.constant(float(rows))}"))
    total, *remaining = [*([lanes] if lanes else []), *flags]
    for flag in remaining:
        total = f.let(f"and {f.truth} {total}, {flag}")
    return total


WrittenRows = Sequence[tuple[str, Sequence[str]]]  # of each put: the names of index and row


def _rows_to_put(listing: InstructionList, table: InPlaceTable, name: Callable[[int], str]) -> WrittenRows:
    """Return the names of the index and elements of each row that an iteration writes to a table.

    The values are named while all arguments of the writes are available.
    """
    result = []
    for put in table.puts:
        index, row, _ = listing.instructions[put].value.split(listing.instructions[put].args)
        result.append((name(index), [name(x) for x in row]))
    return result


def written_rows(
    listing: InstructionList, tables: Sequence[InPlaceTable], value: Callable[[int], str]
) -> list[tuple[InPlaceTable, WrittenRows]]:
    """Return the rows that an iteration writes to each in-place table, as names of index and elements.

    The values are named before any table is changed.
    """
    return [(table, _rows_to_put(listing, table, value)) for table in tables]


def store(f: Instructions, table: InPlaceTable, rows: WrittenRows, frame: str, base: int, lanes: str = "") -> None:
    """Emit the writes of ``rows`` to a table in the frame, in the lanes of the mask ``lanes`` ("" for all).

    The loop's carried values, among them the table, begin at slot ``base``.
    """
    kind, first = vector("i32", f.lanes), base + min(table.columns)
    spare = offsets(f, f.constant(0.0), 0, f.real.bytes, table.spare * f.align)
    for index, row in rows:
        to = offsets(f, row_of(f, index, table.rows), table.distance * f.align, f.real.bytes, first * f.align)
        to = f.let(f"select {f.truth} {_inside(f, index, table.rows, lanes)}, {kind} {to}, {kind} {spare}")
        for lane in range(f.lanes):
            start = f.at(frame, f.let(f"zext i32 {lane_of(f, 'i32', to, lane)} to i64"))
            for column, x in zip(table.columns, row, strict=True):
                behind = (column - min(table.columns)) * f.align
                f.store(f.real.name, lane_of(f, f.real.name, x, lane), f.at(start, behind), f.real.bytes)


def nan_values(f: Instructions, table: InPlaceTable, rows: WrittenRows) -> list[str]:
    """Return the elements of written rows, with 0 in place of elements that the check for NaN ignores.

    The check ignores an element in lanes in which its row does not exist or a later write replaces it.
    """
    result = []
    for k, (index, row) in enumerate(rows):
        counted = _inside(f, index, table.rows, "")
        for later, _ in rows[k + 1 :]:
            lines = [f.intrinsic_of("floor", x) for x in (index, later)]
            apart = f.let(f"fcmp une {f.type} {lines[0]}, {lines[1]}")
            counted = f.let(f"and {f.truth} {counted}, {apart}")
        result += [f.select(counted, x, f.constant(0.0)) for x in row]
    return result
