"""Table lookup at a run-time index, which may differ between lanes.

Tables of constants are part of the code. A short table of computed values becomes a chain of selections; a long table
is read from memory, and stored there first if necessary. A table with a replaced row becomes a selection for each
element, except for tables that loops carry, which are changed in place (see
`linkwork.compiler.codegen.loops.in_place_tables`).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from linkwork.compiler.codegen.float_type import FloatType, splat, vector
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.expr.control.table_access import Put, Take
from linkwork.expr.scalar.multi_result import MultiResult

__all__ = ["CHOSEN", "Memory", "TableAddress", "bundle", "lane_of", "offsets", "row_of"]

Memory = Callable[[int], "tuple[str, int] | None"]  # position of a value: a pointer, and an index in units of elements

CHOSEN = 16  # maximum elements of a table that is a chain of choices
_WIDE = 32  # minimum elements of a row of constants that lanes may load together
_TOGETHER = 4  # minimum elements of a row that lanes may load as vectors
_ON_STACK = 1 << 13  # [bytes] maximum table that is stored on the stack


class TableAddress(NamedTuple):
    """The position of a table in memory: pointer, indices of the first row's elements, and distance of rows."""

    pointer: str
    columns: tuple[int, ...]
    distance: int

    @staticmethod
    def of(positions: Sequence[tuple[str, int] | None], columns: int) -> TableAddress | None:
        """Return the address of a table whose elements have these positions in memory, row by row.

        The result is None unless all elements are in memory and the rows have equal distances.
        """
        first, following = positions[:columns], positions[columns : columns + 1] or positions[:1]
        if any(position is None for position in (*first, *following)):
            return None
        pointer, distance = positions[0][0], following[0][1] - positions[0][1]  # type: ignore[index]
        starts = tuple([position[1] for position in first])  # type: ignore[index]
        expected = ((pointer, starts[k % columns] + k // columns * distance) for k in range(len(positions)))
        result = all(
            position == expected_position for position, expected_position in zip(positions, expected, strict=True)
        )
        return TableAddress(pointer, starts, distance) if result else None


def bundle(
    f: Instructions, bundle: MultiResult, args: Sequence[int], name: Callable[[int], str], memory: Memory
) -> list[str]:
    """Emit the read of a table's row, or the replacement of a row, and return the resulting elements.

    ``args`` are the indices of the instruction's arguments; ``name(index)`` returns the name of an argument's value.
    Raises ValueError for other instructions of several results.
    """
    if isinstance(bundle, Take):
        return _take(f, bundle, args, name, memory)
    if isinstance(bundle, Put):
        return _put(f, bundle, [name(a) for a in args])
    raise ValueError(f"no lowering for {bundle!r}")


def row_of(f: Instructions, index: str, rows: int) -> str:
    """Emit the index of the table row nearest to ``index``, from 0 to ``rows`` - 1; 0 for NaN.  Return its name."""
    low = f.intrinsic_of("maxnum", f.intrinsic_of("floor", index), f.constant(0.0))
    return f.intrinsic_of("minnum", low, f.constant(float(rows - 1)))


def offsets(f: Instructions, row: str, each: int, lane_step: int, first: int = 0) -> str:
    """Return the byte offset of each lane's row; a row begins ``each`` bytes after the row before.

    Lane i adds ``first`` + i ``lane_step`` bytes.
    """
    kind = vector("i32", f.lanes)
    start = f.let(f"mul {kind} {f.let(f'fptosi {f.type} {row} to {kind}')}, {splat('i32', str(each), f.lanes)}")
    steps = [first + lane * lane_step for lane in range(f.lanes)]
    listed = f"<{', '.join(f'i32 {step}' for step in steps)}>" if f.lanes > 1 else str(first)
    return f.let(f"add {kind} {start}, {listed}") if any(steps) else start


def lane_of(f: Instructions, kind: str, values: str, lane: int) -> str:
    """Emit the extraction of one lane from a vector whose elements have the type ``kind``; return its name."""
    return values if f.lanes == 1 else f.let(f"extractelement {vector(kind, f.lanes)} {values}, i32 {lane}")


def _take(f: Instructions, take: Take, args: Sequence[int], name: Callable[[int], str], memory: Memory) -> list[str]:
    """Emit the read of a table's row, whose index is known only at run time; return a vector for each element."""
    index, *values = args
    at = name(index)
    row = row_of(f, at, take.rows)
    if take.table:
        result = _constant_row(f, row, take)
    else:
        address = TableAddress.of([memory(value) for value in values], take.columns) if len(values) > CHOSEN else None
        if address is None and CHOSEN < len(values) <= _ON_STACK // f.align:
            address = TableAddress(
                f.stack_memory(len(values) * f.align, f.align), tuple(range(take.columns)), take.columns
            )
            for k, value in enumerate(values):
                f.put(name(value), address.pointer, k)
        if address is not None:
            result = _loaded_row(f, row, address)
        else:
            result = _choose_row(f, row, [name(value) for value in values], take)
    unknown = f.let(f"fcmp uno {f.type} {at}, {at}")
    return [f.select(unknown, at, x) for x in result]


def _put(f: Instructions, put: Put, elements: Sequence[str]) -> list[str]:
    """Emit the replacement of a table's row, whose index is known only at run time; return the new table's elements."""
    index, row, table = put.split(elements)
    line = f.intrinsic_of("floor", index)
    is_replaced = [f.let(f"fcmp oeq {f.type} {line}, {f.constant(float(k))}") for k in range(put.rows)]
    return [f.select(is_replaced[k // put.columns], row[k % put.columns], old) for k, old in enumerate(table)]


def _constant_row(f: Instructions, row: str, take: Take) -> list[str]:
    """Emit the read of a row of a table of constants; return a vector for each element.

    If all lanes select the same row, each element is loaded only once.
    """
    size, table = f.real.bytes, _constants(f, take.table)
    columns = [size * k for k in range(take.columns)]
    start = offsets(f, row, take.columns * size, 0)
    if f.lanes == 1 or take.columns < _WIDE:
        return _read(f, start, table, columns)
    kinds = [f.type] * take.columns
    differs, first = _differing(f, start)
    with f.instead(differs, kinds, ["poison"] * take.columns) as lane_by_lane:
        lane_by_lane[:] = _read(f, start, table, columns)
    with f.instead(f.let(f"xor i1 {differs}, true"), kinds, lane_by_lane) as result:
        at = f.at(table, f.let(f"zext i32 {first} to i64"))
        result[:] = [f.splat(f.load(f.real.name, f.at(at, column), size)) for column in columns]
    return result


def _differing(f: Instructions, start: str) -> tuple[str, str]:
    """Return a flag that is true if lanes select different rows, and the offset of the first lane's row."""
    first, kind = lane_of(f, "i32", start, 0), vector("i32", f.lanes)
    every = f.let(f"shufflevector {kind} {start}, {kind} poison, <{f.lanes} x i32> zeroinitializer")
    return f.let(f"icmp ne i{f.lanes} {f.bits(f.let(f'icmp ne {kind} {start}, {every}'))}, 0"), first


def _constants(f: Instructions, table: Sequence[float]) -> str:
    """Declare a table of constants in the module and return its name."""
    digest, entries = _listed(f.real, struct.pack(f"<{len(table)}d", *table))
    f.declare(f"@.table{digest} = internal constant [{len(table)} x {f.real.name}] [{entries}]")
    return f"@.table{digest}"


@lru_cache(maxsize=32)
def _listed(real: FloatType, elements: bytes) -> tuple[str, str]:
    """Return a digest of a table of doubles, and its elements as LLVM IR text.

    All entries of a kernel share the text.
    """
    return hashlib.sha256(elements).hexdigest()[:16], real.listed(np.frombuffer(elements, "<f8"))


def _choose_row(f: Instructions, row: str, elements: Sequence[str], take: Take) -> list[str]:
    """Emit the read of a table's row without memory: each element is selected by comparisons of ``row`` in sequence."""
    result = list(elements[: take.columns])
    for k in range(1, take.rows):
        above = f.let(f"fcmp oge {f.type} {row}, {f.constant(float(k))}")
        next_row = elements[k * take.columns : (k + 1) * take.columns]
        result = [f.select(above, x, y) for x, y in zip(next_row, result, strict=True)]
    return result


def _loaded_row(f: Instructions, row: str, address: TableAddress) -> list[str]:
    """Emit the read of a row from a table in memory that stores a vector of samples for each element.

    The row is loaded as vectors if all lanes select the same row (as for one time or one scene for all samples),
    otherwise lane by lane.
    """
    each, columns = address.distance * f.align, [position * f.align for position in address.columns]
    if f.lanes == 1 or len(columns) < _TOGETHER:
        return _read(f, offsets(f, row, each, f.real.bytes), address.pointer, columns)
    start = offsets(f, row, each, 0)
    differs, first = _differing(f, start)
    kinds, kind = [f.type] * len(columns), vector("i32", f.lanes)
    with f.instead(differs, kinds, ["poison"] * len(columns)) as lane_by_lane:
        steps = ", ".join(f"i32 {lane * f.real.bytes}" for lane in range(f.lanes))
        where = f.let(f"add {kind} {start}, <{steps}>")
        lane_by_lane[:] = _read(f, where, address.pointer, columns)
    with f.instead(f.let(f"xor i1 {differs}, true"), kinds, lane_by_lane) as result:
        at = f.at(address.pointer, f.let(f"zext i32 {first} to i64"))
        result[:] = [f.let(f"load {f.type}, ptr {f.at(at, column)}, align {f.align}") for column in columns]
    return result


def _read(f: Instructions, where: str, table: str, columns: Sequence[int]) -> list[str]:
    """Emit the read of a row of a table in memory, lane by lane; return a vector for each element.

    ``where`` has the byte offset of each lane's row from the pointer ``table``; ``columns`` are the byte offsets of
    the elements from there.
    """
    result = ["poison"] * len(columns)
    for lane in range(f.lanes):
        start = f.at(table, f.let(f"zext i32 {lane_of(f, 'i32', where, lane)} to i64"))
        for k, column in enumerate(columns):
            x = f.load(f.real.name, f.at(start, column), f.real.bytes)
            result[k] = (
                x if f.lanes == 1 else f.let(f"insertelement {f.type} {result[k]}, {f.real.name} {x}, i32 {lane}")
            )
    return result
