"""Non-temporal stores of results that exceed the caches, in LLVM IR.

A processor reads a cache line before it writes to it, unless the whole line is written past the caches. A sample may
begin anywhere in a line. So strips of the sample (see `packing`) are placed on the stack, at the offset within a line
that they have in memory, and complete lines are written as a whole. The first and the last 64 bytes of a sample are
written by ordinary stores, since other samples may write to the same lines.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_ir import IrFunction
from linkwork.compiler.port import Port

__all__ = ["STREAMED", "is_streamed", "unpack_streamed"]

STREAMED = 1 << 24  # [bytes] of a call's results from which on they are written past the caches
_LONG = 128  # minimum elements of an output's sample
_LINE = 64  # [bytes] cache line
_LINES = 4  # on the stack
_PITCH = _LINE * (_LINES + 2)  # [bytes] for a sample: the previous line, lines, and the incomplete one

Strip = Callable[[str | int], list[str]]  # vectors of as many elements as lanes, one for each sample


def is_streamed(port: Port) -> bool:
    """Return True if an output of this shape can be written by non-temporal stores, which bypass the caches."""
    return port.size >= _LONG


def unpack_streamed(f: IrFunction, port: Port, real: FloatType, lanes: int, rows: list[str], strip: Strip) -> None:
    """Emit non-temporal stores of an output's elements to the addresses ``rows`` of a block's samples.

    ``strip(k)`` returns a vector for each sample: its elements from element k on.
    """
    kind, width, per_line = real.vector(lanes), real.bytes * lanes, _LINE // real.bytes
    line_kind, lines = real.vector(per_line), port.size // per_line
    memory = f.stack_memory(_PITCH * lanes, _LINE)
    lines_of = [f.at(memory, _PITCH * lane + _LINE) for lane in range(lanes)]
    offsets_in_line = [f.let(f"and i64 {f.let(f'ptrtoint ptr {row} to i64')}, {_LINE - 1}") for row in rows]
    aligned_rows = [f.at(row, f.let(f"sub i64 0, {offset}")) for row, offset in zip(rows, offsets_in_line, strict=True)]
    shifted = [f.at(line, offset) for line, offset in zip(lines_of, offsets_in_line, strict=True)]

    def write_lines(line: str, many: int) -> None:
        """Emit the writes of ``many`` cache lines of each sample, from the line with index ``line`` on."""
        first = f.let(f"mul i64 {line}, {per_line}")
        for k in range(many * _LINE // width):
            for target, part in zip(shifted, strip(f.let(f"add i64 {first}, {k * lanes}")), strict=True):
                f.store(kind, part, f.at(target, width * k), real.bytes)
        offset = f.let(f"mul i64 {line}, {_LINE}")
        for target, row in zip(lines_of, aligned_rows, strict=True):
            whole = [f.load(line_kind, f.at(target, _LINE * k), _LINE) for k in range(many + 1)]
            to = f.at(row, offset)
            for k, x in enumerate(whole[:many]):
                f.do(f"store {line_kind} {x}, ptr {f.at(to, _LINE * k)}, align {_LINE}, !nontemporal !1")
            for k, x in enumerate(whole[-2:]):
                f.store(line_kind, x, f.at(target, _LINE * (k - 1)), _LINE)

    for k in range(_LINE // width):
        for row, target, part in zip(rows, shifted, strip(k * lanes), strict=True):
            f.store(kind, part, f.at(row, width * k), real.bytes)
            f.store(kind, part, f.at(target, width * k - _LINE), real.bytes)
    whole = 1 + (lines - 1) // _LINES * _LINES
    with f.loop(whole, start=1, step=_LINES) as line:
        write_lines(line, _LINES)
    if lines > whole:
        write_lines(str(whole), lines - whole)
    for row, target in zip(rows, shifted, strict=True):
        x = f.load(line_kind, f.at(target, -_LINE), real.bytes)
        f.store(line_kind, x, f.at(row, _LINE * (lines - 1)), real.bytes)
    for number in range(lines * per_line, port.size, lanes):
        number = min(number, port.size - lanes)
        for row, part in zip(rows, strip(number), strict=True):
            f.store(kind, part, f.at(row, real.bytes * number), real.bytes)
