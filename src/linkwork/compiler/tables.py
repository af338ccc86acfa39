"""Looking up a table at an index that is known only when code runs: the row of every lane by itself.

Tables of constants stand in the code.  Short tables of values are a chain of choices, long ones are read from memory:
where they stand anyway, or where they are put first.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence

from ..expr.bundle import Bundle
from ..expr.control.table import Take
from .llvm import Instructions

__all__ = ["Memory", "bundle"]

Memory = Callable[[int], "tuple[str, int] | None"]  # of a value: a pointer, and how many numbers further on

_CHOSEN = 16  # numbers of a table that is a chain of choices
_ON_STACK = 1 << 13  # bytes of a table that is put there


def bundle(
    f: Instructions, bundle: Bundle, args: Sequence[int], name: Callable[[int], str], memory: Memory
) -> list[str]:
    """The results of an instruction of several that is straight-line code; its arguments are named when needed."""
    if isinstance(bundle, Take):
        return _taken(f, bundle, args, name, memory)
    raise ValueError(f"no lowering for {bundle!r}")


def _taken(f: Instructions, take: Take, args: Sequence[int], name: Callable[[int], str], memory: Memory) -> list[str]:
    """A row of a table."""
    index, *values = args
    at = name(index)
    low = f.intrinsic_of("maxnum", f.intrinsic_of("floor", at), f.constant(0.0))  # NaN means the first row, for now
    row = f.intrinsic_of("minnum", low, f.constant(float(take.rows - 1)))
    if take.table:
        found = _read(f, row, _constants(f, take.table), take.columns, f.real.bytes, 0)
    else:
        start = _evenly([memory(value) for value in values], take.columns) if len(values) > _CHOSEN else None
        if start is None and _CHOSEN < len(values) <= _ON_STACK // f.align:
            start = f.room(len(values) * f.align, f.align), 0, take.columns
            for k, value in enumerate(values):
                f.put(name(value), start[0], k)
        if start is not None:
            table, first, distance = start
            found = _read(f, row, f.at(table, first * f.align), take.columns, f.align, f.real.bytes, distance)
        else:
            found = _chosen(f, row, [name(value) for value in values], take)
    unknown = f.let(f"fcmp uno {f.type} {at}, {at}")
    return [f.select(unknown, at, x) for x in found]


def _constants(f: Instructions, table: Sequence[float]) -> str:
    """A table of constants in the module."""
    digest = hashlib.sha256(b"".join(struct.pack("<d", x) for x in table)).hexdigest()[:16]
    entries = ", ".join(f"{f.real.name} {f.real.literal(x)}" for x in table)
    f.declare(f"@.table{digest} = internal constant [{len(table)} x {f.real.name}] [{entries}]")
    return f"@.table{digest}"


def _evenly(places: Sequence[tuple[str, int] | None], columns: int) -> tuple[str, int, int] | None:
    """Where a table begins and how far its rows are apart, if all stand in memory at equal distances."""
    first, following = places[0], places[columns] if len(places) > columns else places[0]
    if first is None or following is None:
        return None
    pointer, start = first
    distance = following[1] - start
    wanted = ((pointer, start + k // columns * distance + k % columns) for k in range(len(places)))
    return (pointer, start, distance) if all(one == other for one, other in zip(places, wanted, strict=True)) else None


def _chosen(f: Instructions, row: str, numbers: Sequence[str], take: Take) -> list[str]:
    """A row by choosing again and again."""
    found = list(numbers[: take.columns])
    for k in range(1, take.rows):
        above = f.let(f"fcmp oge {f.type} {row}, {f.constant(float(k))}")
        here = numbers[k * take.columns : (k + 1) * take.columns]
        found = [f.select(above, x, y) for x, y in zip(here, found, strict=True)]
    return found


def _read(
    f: Instructions, row: str, table: str, columns: int, each: int, lane_step: int, distance: int = 0
) -> list[str]:
    """A row of a table in memory, of numbers so many bytes apart, those of a lane so many further on than those of the
    one before; rows are so many numbers apart, if that is more than a row has."""
    number, kind = f"i{f.real.bits}", f.real.integers(f.lanes)
    whole = f.let(f"fptoui {f.type} {row} to {kind}")
    found = ["poison"] * columns
    for lane in range(f.lanes):
        k = whole if f.lanes == 1 else f.let(f"extractelement {kind} {whole}, i32 {lane}")
        k = k if number == "i64" else f.let(f"zext {number} {k} to i64")
        start = f.at(table, f.let(f"mul i64 {k}, {(distance or columns) * each}"))
        for column in range(columns):
            x = f.load(f.real.name, f.at(start, column * each + lane * lane_step), f.real.bytes)
            found[column] = (
                x if f.lanes == 1 else f.let(f"insertelement {f.type} {found[column]}, {f.real.name} {x}, i32 {lane}")
            )
    return found
