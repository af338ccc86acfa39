"""Packing of a block of samples from strided arrays into vectors, and unpacking of its results, in LLVM IR.

Contiguous samples are moved in strips and transposed in registers.  The number of elements of a strip is a power of
two, and its samples are as many as there are lanes. Adjacent samples of up to three elements are moved as whole
vectors. Other samples (strides inside a sample, the last block of a batch) are moved one element at a time into the
same vectors, so the arithmetic is the same for every sample. Unused lanes in the last block repeat its last sample, and
nothing is read or written beyond an array's end. Elements that a program does not use are also checked for NaN, but are
not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule, transpose
from linkwork.compiler.codegen.nontemporal_stores import is_streamed, unpack_streamed
from linkwork.compiler.port import Port
from linkwork.compiler.program import Program

__all__ = [
    "SIDE_BY_SIDE",
    "pack_into_registers",
    "packing",
    "packing_functions",
    "some_beyond",
    "unpack_from_registers",
]

_STRAIGHT = 16  # elements of a sample that are moved without a loop
SIDE_BY_SIDE = 3  # maximum elements of samples that are moved as whole vectors if adjacent


class Packed(Protocol):
    """A layout of vectors in memory: the positions of results, ``slot_of``, in units of vectors of ``width`` bytes."""

    program: Program
    real: FloatType
    lanes: int
    width: int
    slot_of: list[int]


def packing_functions(text: IrModule, layout: Packed) -> None:
    """Add LLVM functions that pack input samples into vectors and unpack results; ports of equal shape share them.

    Also add ``@slots{j}``, a table of the positions of the results of output j.  Vectors of one lane are moved one
    element at a time.
    """
    real, lanes, start = layout.real, layout.lanes, 0
    for j, (port, unused) in enumerate(zip(layout.program.inputs, layout.program.unused, strict=True)):
        text.add(_pack_slowly(port, real, lanes))
        if lanes == 1:
            continue
        text.add(_pack(packing("pack", port, j if unused else None), port, real, lanes, unused))
        if 0 < port.size <= SIDE_BY_SIDE:
            text.add(_pack_side_by_side(port, real, lanes))
    for j, port in enumerate(layout.program.outputs):
        table = ", ".join(f"i64 {layout.width * s}" for s in layout.slot_of[start : start + port.size])
        text.declare(f"@.slots{j} = internal constant [{port.size} x i64] [{table}]")
        start += port.size
        text.add(_unpack_slowly(port, real))
        if lanes == 1:
            continue
        text.add(_unpack(port, real, lanes))
        if 0 < port.size <= SIDE_BY_SIDE:
            text.add(_unpack_side_by_side(port, real, lanes))
        if is_streamed(port):
            text.add(_unpack(port, real, lanes, streamed=True))


def packing(operation: str, port: Port, index: int | None = None) -> str:
    """Return the name of the LLVM function that packs or unpacks an array with the shape of this port.

    ``operation`` is the first part of the name; if it ends with "slowly", the function is for arrays of any strides.
    With an ``index``, the function belongs to one port alone, and the index is the name's suffix.
    """
    shape = "x".join(map(str, port.shape)) if operation.endswith("slowly") else str(port.size)
    return f"@.{operation}.{shape}{'' if index is None else f'.of{index}'}"


def _pack(name: str, port: Port, real: FloatType, lanes: int, unused: frozenset[int]) -> IrFunction:
    """Return the LLVM function that packs contiguous samples of an input: a vector of samples for each used element."""
    f = IrFunction(f"define internal void {name}(ptr %buffer, ptr %array, i64 %step, ptr %nan)")
    width, rows = real.bytes * lanes, _rows(f, "%array", "%step", lanes)
    magnitudes: list[str] = []

    def strip(first: str | int, count: int) -> str:
        """Emit the packing of ``count`` elements from ``first`` on; return the sum of their magnitudes.

        The sum shows whether the elements are finite.
        """
        columns, total = _strip(f, rows, first, count, real, lanes)
        buffer = f.at("%buffer", f.let(f"mul i64 {first}, {width}"))
        for k, column in enumerate(columns):
            if isinstance(first, str) or first + k not in unused:
                f.store(real.vector(lanes), column, f.at(buffer, width * k), width)
        return total

    many, strips, columns = _split(port.size, lanes)
    if many:
        with f.loop(many, step=lanes) as first:
            with f.when(some_beyond(f, [strip(first, lanes)], real, lanes)):
                f.store("i1", "true", "%nan")
    for start, count in strips:
        magnitudes.append(strip(start, count))
    for k in columns:
        column = _alone(f, rows, k, real, lanes)
        if k not in unused:
            f.store(real.vector(lanes), column, f.at("%buffer", width * k), width)
        magnitudes.append(f.magnitudes(real.vector(lanes), [column]))
    if magnitudes:
        with f.when(some_beyond(f, magnitudes, real, lanes)):
            f.store("i1", "true", "%nan")
    return f


def _unpack(port: Port, real: FloatType, lanes: int, streamed: bool = False) -> IrFunction:
    """Return the LLVM function that writes vectors of samples to a contiguous output.

    A table has the position of each element's vector.
    """
    name = packing("unpack_streamed" if streamed else "unpack", port)
    f = IrFunction(f"define internal void {name}(ptr %buffer, ptr %array, i64 %step, ptr %slots)")
    vector, width = real.vector(lanes), real.bytes * lanes
    rows = _rows(f, "%array", "%step", lanes)

    def load(number: str | int) -> str:
        slot = f.let(f"load i64, ptr {f.at('%slots', f.let(f'shl i64 {number}, 3'))}, align 8, !invariant.load !0")
        return f.load(vector, f.at("%buffer", slot), width)

    def columns_from(first: str | int, count: int) -> list[str]:
        return [load(f.let(f"add i64 {first}, {k}")) for k in range(count)]

    if streamed:
        strip = lambda first: transpose(f, columns_from(first, lanes), real, lanes)  # noqa: E731
        unpack_streamed(f, port, real, lanes, rows, strip)
        return f
    many, strips, single = _split(port.size, lanes)
    if many:
        with f.loop(many, step=lanes) as first:
            _put_strip(f, rows, first, columns_from(first, lanes), real, lanes)
    for start, count in strips:
        _put_strip(f, rows, start, columns_from(start, count), real, lanes)
    for k in single:
        _put_alone(f, rows, k, load(k), real, lanes)
    return f


def pack_into_registers(
    f: IrFunction, port: Port, array: str, step: str, real: FloatType, lanes: int
) -> tuple[list[str], list[str]]:
    """Emit loads of an input for ``lanes`` samples; return a vector for each element, and sums of magnitudes.

    The sums show whether the elements are finite. Samples of few elements must be adjacent.
    """
    if 0 < port.size <= SIDE_BY_SIDE:
        columns, loaded = _side_by_side(f, port, array, real, lanes)
        return columns, [f.magnitudes(real.vector(lanes), loaded)]
    rows = _rows(f, array, step, lanes)
    _, strips, single = _split(port.size, lanes, loops=False)
    result, totals = [""] * port.size, []
    for start, count in strips:
        result[start : start + count], total = _strip(f, rows, start, count, real, lanes)
        totals.append(total)
    for k in single:
        result[k] = _alone(f, rows, k, real, lanes)
        totals.append(f.magnitudes(real.vector(lanes), [result[k]]))
    return result, totals


def unpack_from_registers(
    f: IrFunction, port: Port, array: str, step: str, columns: Sequence[str], real: FloatType, lanes: int
) -> None:
    """Emit the writes of results, a vector of samples for each element, to ``lanes`` samples of an output array."""
    if 0 < port.size <= SIDE_BY_SIDE:
        _put_side_by_side(f, port, array, columns, real, lanes)
        return
    rows = _rows(f, array, step, lanes)
    _, strips, single = _split(port.size, lanes, loops=False)
    for start, count in strips:
        _put_strip(f, rows, start, columns[start : start + count], real, lanes)
    for k in single:
        _put_alone(f, rows, k, columns[k], real, lanes)


def _strip(
    f: IrFunction, rows: list[str], first: str | int, count: int, real: FloatType, lanes: int
) -> tuple[list[str], str]:
    """Emit loads of ``count`` adjacent elements of all samples; return a vector for each, and the sum of magnitudes."""
    offset = f.let(f"shl i64 {first}, {real.shift}") if isinstance(first, str) else real.bytes * first
    rows = [f.at(row, offset) for row in rows]
    half = count // 2 if count == lanes > 2 else count  # halves are concatenated after loading
    columns, joined = [], []
    for start in range(0, count, half):
        loaded = [f.load(real.vector(half), f.at(row, real.bytes * start), real.bytes) for row in rows]
        transposed = [_joined(f, loaded[k::half], real, half) for k in range(half)]
        columns += transpose(f, transposed, real, lanes)
        joined += transposed
    return columns, f.magnitudes(real.vector(lanes), joined)


def _alone(f: IrFunction, rows: list[str], k: int, real: FloatType, lanes: int) -> str:
    """Emit loads of element ``k`` of all samples, and return them as a vector."""
    column = "poison"
    for lane, row in enumerate(rows):
        x = f.load(real.name, f.at(row, real.bytes * k), real.bytes)
        column = f.let(f"insertelement {real.vector(lanes)} {column}, {real.name} {x}, i32 {lane}")
    return column


def _put_strip(
    f: IrFunction, rows: list[str], first: str | int, columns: Sequence[str], real: FloatType, lanes: int
) -> None:
    """Emit the writes of adjacent elements of all samples; ``columns`` has a vector of samples for each element."""
    count = len(columns)
    offset = f.let(f"shl i64 {first}, {real.shift}") if isinstance(first, str) else real.bytes * first
    for k, joined in enumerate(transpose(f, list(columns), real, lanes)):
        for row, part in zip(rows[k::count], _parted(f, joined, real, lanes, count), strict=True):
            f.store(real.vector(count), part, f.at(row, offset), real.bytes)


def _put_alone(f: IrFunction, rows: list[str], k: int, column: str, real: FloatType, lanes: int) -> None:
    """Emit the writes of element ``k`` of all samples from the vector ``column``."""
    for lane, row in enumerate(rows):
        x = f.let(f"extractelement {real.vector(lanes)} {column}, i32 {lane}")
        f.store(real.name, x, f.at(row, real.bytes * k), real.bytes)


def _side_by_side(f: IrFunction, port: Port, array: str, real: FloatType, lanes: int) -> tuple[list[str], list[str]]:
    """Emit loads of adjacent samples; return a vector of samples for each element, and the vectors as loaded."""
    kind, width, size = real.vector(lanes), real.bytes * lanes, port.size
    loaded = [f.load(kind, f.at(array, width * k), real.bytes) for k in range(size)]
    sources = [[divmod(lane * size + k, lanes) for lane in range(lanes)] for k in range(size)]
    return [_picked(f, loaded, picked_sources, real, lanes) for picked_sources in sources], loaded


def _put_side_by_side(
    f: IrFunction, port: Port, array: str, columns: Sequence[str], real: FloatType, lanes: int
) -> None:
    """Emit the writes of adjacent samples; ``columns`` has a vector of samples for each element."""
    width, size = real.bytes * lanes, port.size
    for k in range(size):
        sources = [divmod(lanes * k + lane, size)[::-1] for lane in range(lanes)]
        x = _picked(f, columns, sources, real, lanes)
        f.store(real.vector(lanes), x, f.at(array, width * k), real.bytes)


def _pack_side_by_side(port: Port, real: FloatType, lanes: int) -> IrFunction:
    """Return the function that packs adjacent samples into vectors."""
    name = packing("pack_side_by_side", port)
    f = IrFunction(f"define internal void {name}(ptr %buffer, ptr %array, i64 %step, ptr %nan)")
    columns, loaded = _side_by_side(f, port, "%array", real, lanes)
    for k, column in enumerate(columns):
        f.store(real.vector(lanes), column, f.at("%buffer", real.bytes * lanes * k), real.bytes * lanes)
    with f.when(some_beyond(f, [f.magnitudes(real.vector(lanes), loaded)], real, lanes)):
        f.store("i1", "true", "%nan")
    return f


def _unpack_side_by_side(port: Port, real: FloatType, lanes: int) -> IrFunction:
    """Return the function that unpacks vectors to adjacent samples."""
    name = packing("unpack_side_by_side", port)
    f = IrFunction(f"define internal void {name}(ptr %buffer, ptr %array, i64 %step, ptr %slots)")
    slots = [f.let(f"load i64, ptr {f.at('%slots', 8 * k)}, align 8, !invariant.load !0") for k in range(port.size)]
    columns = [f.load(real.vector(lanes), f.at("%buffer", slot), real.bytes * lanes) for slot in slots]
    _put_side_by_side(f, port, "%array", columns, real, lanes)
    return f


def _pack_slowly(port: Port, real: FloatType, lanes: int) -> IrFunction:
    """Return the LLVM function that packs ``count`` samples of any strides; the last sample fills unused lanes."""
    f = _slow_function(packing("pack_slowly", port), "%nan")
    last = f.let("sub i64 %count, 1")
    with f.loop(port.size) as element:
        offset = _strided(f, port, element)
        row = f.at("%buffer", f.let(f"mul i64 {element}, {real.bytes * lanes}"))
        with f.loop(lanes) as lane:
            inside = f.let(f"icmp slt i64 {lane}, {last}")
            sample = f.let(f"select i1 {inside}, i64 {lane}, i64 {last}")
            x = f.load(real.name, f.at(f.at("%array", f.let(f"mul i64 {sample}, %step")), offset), real.bytes)
            f.store(real.name, x, f.at(row, f.let(f"shl i64 {lane}, {real.shift}")), real.bytes)
            with f.when(f.not_finite(real, 1, [x])):
                f.store("i1", "true", "%nan")
    return f


def _unpack_slowly(port: Port, real: FloatType) -> IrFunction:
    """Return the LLVM function that writes results to ``count`` samples of any strides, one element at a time."""
    f = _slow_function(packing("unpack_slowly", port), "%slots")
    with f.loop(port.size) as element:
        offset = _strided(f, port, element)
        slot = f.load("i64", f.at("%slots", f.let(f"shl i64 {element}, 3")))
        row = f.at("%buffer", slot)
        with f.loop("%count") as lane:
            x = f.load(real.name, f.at(row, f.let(f"shl i64 {lane}, {real.shift}")), real.bytes)
            f.store(real.name, x, f.at(f.at("%array", f.let(f"mul i64 {lane}, %step")), offset), real.bytes)
    return f


def _slow_function(name: str, last: str) -> IrFunction:
    arguments = f"ptr %buffer, ptr %array, i64 %step, i64 %count, ptr %strides, ptr {last}"
    return IrFunction(f"define internal void {name}({arguments})", "#1")


def _strided(f: IrFunction, port: Port, element: str) -> str:
    """Return the byte offset of an element (by its row-major index) in a sample."""
    remaining, total = element, "0"
    for d in range(len(port.shape) - 1, -1, -1):
        index = f.let(f"urem i64 {remaining}, {max(port.shape[d], 1)}")
        remaining = f.let(f"udiv i64 {remaining}, {max(port.shape[d], 1)}")
        stride = f.load("i64", f.at("%strides", 8 * d))
        total = f.let(f"add i64 {total}, {f.let(f'mul i64 {index}, {stride}')}")
    return total


def _rows(f: IrFunction, array: str, step: str, lanes: int) -> list[str]:
    """Return the addresses of ``lanes`` samples of an array that are ``step`` bytes apart."""
    return [f.at(array, f.let(f"mul i64 {step}, {lane}")) for lane in range(lanes)]


def _split(size: int, lanes: int, *, loops: bool = True) -> tuple[int, list[tuple[int, int]], list[int]]:
    """Return the division of a sample's ``size`` elements into strips of at most ``lanes`` elements.

    The first result is the number of leading elements that a run-time loop over strips of ``lanes`` elements copies.
    The second has pairs (first element, size) of further strips, the third the elements that are copied one by one. If
    possible, the remainder is a strip that overlaps the strip before it.
    """
    whole = size - size % lanes
    many = whole if loops and whole > max(4 * lanes, _STRAIGHT) else 0
    strips, start = [(k, lanes) for k in range(many, whole, lanes)], whole
    while size - start > 1:
        left = size - start
        above = 1 << (left - 1).bit_length()  # the next power of two
        if above <= size:
            return many, [*strips, (size - above, above)], []
        strips.append((start, above // 2))
        start += above // 2
    return many, strips, list(range(start, size))


def _joined(f: IrFunction, parts: list[str], real: FloatType, count: int) -> str:
    """Return the concatenation of vectors of ``count`` elements each."""
    while len(parts) > 1:
        kind, mask = real.vector(count), ", ".join(f"i32 {k}" for k in range(2 * count))
        parts = [
            f.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * count} x i32> <{mask}>")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        count *= 2
    return parts[0]


def _parted(f: IrFunction, vector: str, real: FloatType, lanes: int, count: int) -> list[str]:
    """Split a vector into vectors of ``count`` elements each."""
    if count == lanes:
        return [vector]
    kind = real.vector(lanes)
    masks = (", ".join(f"i32 {k}" for k in range(first, first + count)) for first in range(0, lanes, count))
    return [f.let(f"shufflevector {kind} {vector}, {kind} poison, <{count} x i32> <{mask}>") for mask in masks]


def _picked(
    f: IrFunction, vectors: Sequence[str], sources: Sequence[tuple[int, int]], real: FloatType, lanes: int
) -> str:
    """Emit a vector composed of lanes of several vectors, and return its name.

    ``sources`` has a pair (vector, lane) for each lane of the result.
    """
    kind, result, first = real.vector(lanes), vectors[0], True
    for number, next_vector in enumerate(vectors[1:], 1):
        current_lanes = [source_lane if first else lane for lane, (_, source_lane) in enumerate(sources)]
        chosen = [
            f"i32 {lanes + source_lane}" if vector == number else f"i32 {current}" if vector < number else "i32 poison"
            for (vector, source_lane), current in zip(sources, current_lanes, strict=True)
        ]
        result = f.let(f"shufflevector {kind} {result}, {kind} {next_vector}, <{lanes} x i32> <{', '.join(chosen)}>")
        first = False
    return result


def some_beyond(f: IrFunction, magnitudes: Sequence[str], real: FloatType, lanes: int) -> str:
    """Return an i1: true if a value in any lane may be infinite, NaN or very large.

    ``magnitudes`` are sums of the values' magnitudes: see `IrFunction.not_finite`.
    """
    bits = f.let(f"bitcast <{lanes} x i1> {f.beyond(real, lanes, magnitudes)} to i{lanes}")
    return f.let(f"icmp ne i{lanes} {bits}, 0")
