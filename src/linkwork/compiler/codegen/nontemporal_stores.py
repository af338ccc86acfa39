"""Results that are more than caches hold, written past them, in LLVM IR.

A processor reads a line of memory before it writes to it, unless the line is written whole and past the caches.  A
sample begins anywhere in a line.  So strips of it (see `packing`) are laid out on the stack as far into a line as they
will be in memory, and lines that are complete go out whole.  The first 64 bytes of a sample and the last go the
ordinary way, since others may write to their lines.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.compiler.codegen.float_type import Real
from linkwork.compiler.codegen.llvm_ir import Function
from linkwork.compiler.program import Port

__all__ = ["STREAMED", "is_streamed", "unpack_streamed"]

STREAMED = 1 << 24  # bytes of a call's results from which on they are written past the caches
_LONG = 128  # numbers of an output's sample from which on it may be
_LINE = 64  # bytes
_LINES = 4  # that wait on the stack
_PITCH = _LINE * (_LINES + 2)  # bytes for a sample: the line before, lines, and what is begun

Strip = Callable[[str | int], list[str]]  # the vectors of so many numbers as there are lanes, one for each sample


def is_streamed(port: Port) -> bool:
    """Whether there is a function that writes an output past the caches."""
    return port.size >= _LONG


def unpack_streamed(f: Function, port: Port, real: Real, lanes: int, rows: list[str], strip: Strip) -> None:
    """The body of a function that writes a block's samples to ``rows``; ``strip`` gives them from a number on."""
    kind, width, numbers = real.vector(lanes), real.bytes * lanes, _LINE // real.bytes
    line_kind, lines = real.vector(numbers), port.size // numbers
    room = f.room(_PITCH * lanes, _LINE)
    kept = [f.at(room, _PITCH * lane + _LINE) for lane in range(lanes)]
    past = [f.let(f"and i64 {f.let(f'ptrtoint ptr {row} to i64')}, {_LINE - 1}") for row in rows]
    begun = [f.at(row, f.let(f"sub i64 0, {offset}")) for row, offset in zip(rows, past, strict=True)]
    shifted = [f.at(line, offset) for line, offset in zip(kept, past, strict=True)]

    def several(line: str, many: int) -> None:
        """So many lines of each sample, from the one on in which its number ``line · numbers`` stands."""
        first = f.let(f"mul i64 {line}, {numbers}")
        for k in range(many * _LINE // width):
            for place, part in zip(shifted, strip(f.let(f"add i64 {first}, {k * lanes}")), strict=True):
                f.store(kind, part, f.at(place, width * k), real.bytes)
        offset = f.let(f"mul i64 {line}, {_LINE}")
        for place, row in zip(kept, begun, strict=True):
            whole = [f.load(line_kind, f.at(place, _LINE * k), _LINE) for k in range(many + 1)]
            to = f.at(row, offset)
            for k, x in enumerate(whole[:many]):
                f.do(f"store {line_kind} {x}, ptr {f.at(to, _LINE * k)}, align {_LINE}, !nontemporal !1")
            for k, x in enumerate(whole[-2:]):
                f.store(line_kind, x, f.at(place, _LINE * (k - 1)), _LINE)

    for k in range(_LINE // width):
        for row, place, part in zip(rows, shifted, strip(k * lanes), strict=True):
            f.store(kind, part, f.at(row, width * k), real.bytes)
            f.store(kind, part, f.at(place, width * k - _LINE), real.bytes)
    whole = 1 + (lines - 1) // _LINES * _LINES
    with f.loop(whole, start=1, step=_LINES) as line:
        several(line, _LINES)
    if lines > whole:
        several(str(whole), lines - whole)
    for row, place in zip(rows, shifted, strict=True):
        x = f.load(line_kind, f.at(place, -_LINE), real.bytes)
        f.store(line_kind, x, f.at(row, _LINE * (lines - 1)), real.bytes)
    for number in range(lines * numbers, port.size, lanes):
        number = min(number, port.size - lanes)
        for row, part in zip(rows, strip(number), strict=True):
            f.store(kind, part, f.at(row, real.bytes * number), real.bytes)
