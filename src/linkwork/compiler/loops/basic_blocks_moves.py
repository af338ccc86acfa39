"""Numbers put in place by a table: of thousands of loads and stores in one piece of code, LLVM takes long for each."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.compiler.codegen.float_type import Real
from linkwork.compiler.codegen.llvm_instructions import Instructions

__all__ = ["MANY", "move_numbers"]

MANY = 512  # numbers that a table is worth


def move_numbers(
    f: Instructions,
    real: Real,
    name: str,
    moves: Sequence[tuple[int, int]],
    constants: Sequence[tuple[float, int]],
    frame: str,
    to_frame: str = "",
) -> None:
    """Copy numbers from place to place in a frame, or in another, and put constants into places; tables get names from
    ``name``."""
    other = to_frame or frame
    width = real.bytes * f.lanes
    if moves:
        table = _table(f, f"{name}.moves", "i32", [str(place * width) for move in moves for place in move])
        with f.loop(len(moves)) as k:
            entry = f.at(table, f.let(f"shl i64 {k}, 3"))
            start, to = _address(f, frame, f.at(entry, 0)), _address(f, other, f.at(entry, 4))
            f.put(f.get(start, 0), to, 0)
    if constants:
        numbers = _table(f, f"{name}.constants", real.name, [real.literal(number) for number, _ in constants])
        places = _table(f, f"{name}.places", "i32", [str(place * width) for _, place in constants])
        with f.loop(len(constants)) as k:
            number = f.load(real.name, f.at(numbers, f.let(f"shl i64 {k}, {real.shift}")), real.bytes)
            f.put(f.splat(number), _address(f, other, f.at(places, f.let(f"shl i64 {k}, 2"))), 0)


def _address(f: Instructions, frame: str, entry: str) -> str:
    return f.at(frame, f.let(f"zext i32 {f.load('i32', entry, 4)} to i64"))


def _table(f: Instructions, name: str, kind: str, entries: Sequence[str]) -> str:
    listed = ", ".join([f"{kind} {entry}" for entry in entries])
    f.declare(f"{name} = internal constant [{len(entries)} x {kind}] [{listed}], align 64")
    return name
