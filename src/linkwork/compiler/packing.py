"""Between strided arrays and vectors: packing a block of samples, and unpacking its results, in LLVM IR.

The numbers of contiguous samples go in strips: so many numbers, a power of two, of as many samples as there are lanes,
transposed in registers.  What does not fit (strides inside a sample, the last block of a batch) goes one number at a
time through the same vectors, so every sample meets the same arithmetic.  Lanes left over in the last block repeat its
last sample, and nothing is read or written beyond an array's end.
"""

from __future__ import annotations

from .control.layout import ControlLayout
from .ir import Function, Text
from .program import Port
from .real import Real
from .straight import Layout
from .streaming import is_streamed, unpack_streamed

__all__ = ["packing", "packing_functions"]


def packing_functions(text: Text, layout: Layout | ControlLayout) -> None:
    """The functions that pack inputs and unpack outputs, shared by ports of equal shape, and ``@slots{j}``, a table
    that says where the results of output j stand."""
    real, lanes, start = layout.real, layout.lanes, 0
    for port in layout.program.inputs:
        text.add(_pack(port, real, lanes))
        text.add(_pack_slowly(port, real, lanes))
    for j, port in enumerate(layout.program.outputs):
        table = ", ".join(f"i64 {layout.width * s}" for s in layout.slot_of[start : start + port.size])
        text.declare(f"@.slots{j} = internal constant [{port.size} x i64] [{table}]")
        start += port.size
        text.add(_unpack(port, real, lanes))
        if is_streamed(port):
            text.add(_unpack(port, real, lanes, streamed=True))
        text.add(_unpack_slowly(port, real, lanes))


def packing(what: str, port: Port) -> str:
    """The name of the function that packs or unpacks arrays of a port's shape, fast or slowly."""
    return f"@.{what}.{'x'.join(map(str, port.shape)) if what.endswith('slowly') else port.size}"


def _pack(port: Port, real: Real, lanes: int) -> Function:
    """A block's samples of a contiguous input into vectors, one for each of its numbers."""
    f = Function(f"define internal void {packing('pack', port)}(ptr %buffer, ptr %array, i64 %step, ptr %nan)")
    vector, width = real.vector(lanes), real.bytes * lanes
    rows = _rows(f, lanes)
    seen: list[str] = []

    def strip(first: str | int, numbers: int) -> str:
        """Packs so many numbers, and gives the sum of them all, to see whether they are finite."""
        offset = f.let(f"shl i64 {first}, {real.shift}") if isinstance(first, str) else real.bytes * first
        taken = [f.load(real.vector(numbers), f.at(row, offset), real.bytes) for row in rows]
        joined = [_joined(f, taken[k::numbers], real, numbers) for k in range(numbers)]
        total = f.added(vector, joined)
        buffer = f.at("%buffer", f.let(f"mul i64 {first}, {width}"))
        for k, column in enumerate(_transpose(f, joined, real, lanes)):
            f.store(vector, column, f.at(buffer, width * k), width)
        return total

    many, strips, columns = _split(port.size, lanes)
    if many:
        with f.loop(many, step=lanes) as first:
            with f.when(_some(f, [f.not_finite(real, lanes, [strip(first, lanes)])], lanes)):
                f.store("i1", "true", "%nan")
    for place, numbers in strips:
        seen.append(strip(place, numbers))
    for k in columns:
        column = "poison"
        for lane, row in enumerate(rows):
            x = f.load(real.name, f.at(row, real.bytes * k), real.bytes)
            column = f.let(f"insertelement {vector} {column}, {real.name} {x}, i32 {lane}")
        f.store(vector, column, f.at("%buffer", width * k), width)
        seen.append(column)
    if seen:
        with f.when(_some(f, [f.not_finite(real, lanes, seen)], lanes)):
            f.store("i1", "true", "%nan")
    return f


def _unpack(port: Port, real: Real, lanes: int, streamed: bool = False) -> Function:
    """A block's vectors to the samples of a contiguous output; a table says where each stands."""
    name = packing("unpack_streamed" if streamed else "unpack", port)
    f = Function(f"define internal void {name}(ptr %buffer, ptr %array, i64 %step, ptr %slots)")
    vector, width = real.vector(lanes), real.bytes * lanes
    rows = _rows(f, lanes)

    def taken(number: str | int) -> str:
        slot = f.let(f"load i64, ptr {f.at('%slots', f.let(f'shl i64 {number}, 3'))}, align 8, !invariant.load !0")
        return f.load(vector, f.at("%buffer", slot), width)

    def columns(first: str | int, numbers: int) -> list[str]:
        found = [taken(f.let(f"add i64 {first}, {k}")) for k in range(numbers)]
        return _transpose(f, found, real, lanes)

    def strip(first: str | int, numbers: int) -> None:
        offset = f.let(f"shl i64 {first}, {real.shift}") if isinstance(first, str) else real.bytes * first
        for k, joined in enumerate(columns(first, numbers)):
            for row, part in zip(rows[k::numbers], _parted(f, joined, real, lanes, numbers), strict=True):
                f.store(real.vector(numbers), part, f.at(row, offset), real.bytes)

    if streamed:
        unpack_streamed(f, port, real, lanes, rows, lambda first: columns(first, lanes))
        return f
    many, strips, single = _split(port.size, lanes)
    if many:
        with f.loop(many, step=lanes) as first:
            strip(first, lanes)
    for place, numbers in strips:
        strip(place, numbers)
    for k in single:
        column = taken(k)
        for lane, row in enumerate(rows):
            x = f.let(f"extractelement {vector} {column}, i32 {lane}")
            f.store(real.name, x, f.at(row, real.bytes * k), real.bytes)
    return f


def _pack_slowly(port: Port, real: Real, lanes: int) -> Function:
    """``count`` samples of any strides, one number at a time; the last fills the lanes left."""
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


def _unpack_slowly(port: Port, real: Real, lanes: int) -> Function:
    """To ``count`` samples of any strides, one number at a time."""
    f = _slow_function(packing("unpack_slowly", port), "%slots")
    with f.loop(port.size) as element:
        offset = _strided(f, port, element)
        slot = f.load("i64", f.at("%slots", f.let(f"shl i64 {element}, 3")))
        row = f.at("%buffer", slot)
        with f.loop("%count") as lane:
            x = f.load(real.name, f.at(row, f.let(f"shl i64 {lane}, {real.shift}")), real.bytes)
            f.store(real.name, x, f.at(f.at("%array", f.let(f"mul i64 {lane}, %step")), offset), real.bytes)
    return f


def _slow_function(name: str, last: str) -> Function:
    arguments = f"ptr %buffer, ptr %array, i64 %step, i64 %count, ptr %strides, ptr {last}"
    return Function(f"define internal void {name}({arguments})", "#1")


def _strided(f: Function, port: Port, element: str) -> str:
    """How many bytes into a sample its element (counted in row-major order) stands."""
    rest, total = element, "0"
    for d in range(len(port.shape) - 1, -1, -1):
        index = f.let(f"urem i64 {rest}, {max(port.shape[d], 1)}")
        rest = f.let(f"udiv i64 {rest}, {max(port.shape[d], 1)}")
        stride = f.load("i64", f.at("%strides", 8 * d))
        total = f.let(f"add i64 {total}, {f.let(f'mul i64 {index}, {stride}')}")
    return total


def _rows(f: Function, lanes: int) -> list[str]:
    """The addresses of a block's samples."""
    return [f.at("%array", f.let(f"mul i64 %step, {lane}")) for lane in range(lanes)]


def _split(size: int, lanes: int) -> tuple[int, list[tuple[int, int]], list[int]]:
    """How to cut ``size`` numbers: how many go by a loop over whole strips, where other strips begin and how many
    numbers they have, and which numbers go alone.

    Where there is room, what is left is a strip that overlaps the one before it.
    """
    whole = size - size % lanes
    many = whole if whole > 4 * lanes else 0
    strips, place = [(k, lanes) for k in range(many, whole, lanes)], whole
    while size - place > 1:
        left = size - place
        above = 1 << (left - 1).bit_length()  # the power of two from here on up
        if above <= size:
            return many, [*strips, (size - above, above)], []
        strips.append((place, above // 2))
        place += above // 2
    return many, strips, list(range(place, size))


def _joined(f: Function, parts: list[str], real: Real, numbers: int) -> str:
    """One vector of several, each of so many numbers."""
    while len(parts) > 1:
        kind, mask = real.vector(numbers), ", ".join(f"i32 {k}" for k in range(2 * numbers))
        parts = [
            f.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * numbers} x i32> <{mask}>")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        numbers *= 2
    return parts[0]


def _parted(f: Function, vector: str, real: Real, lanes: int, numbers: int) -> list[str]:
    """The vectors of so many numbers that make up one."""
    if numbers == lanes:
        return [vector]
    kind = real.vector(lanes)
    masks = (", ".join(f"i32 {k}" for k in range(first, first + numbers)) for first in range(0, lanes, numbers))
    return [f.let(f"shufflevector {kind} {vector}, {kind} poison, <{numbers} x i32> <{mask}>") for mask in masks]


def _transpose(f: Function, vectors: list[str], real: Real, lanes: int) -> list[str]:
    """Transpose squares of numbers side by side in as many vectors as a square has rows: exchange halves, quarters ...

    The squares fill the lanes of the vectors.
    """
    kind, d, rows = real.vector(lanes), 1, len(vectors)
    while d < rows:
        low = [k if not k & d else lanes + k - d for k in range(lanes)]
        high = [k + d if not k & d else lanes + k for k in range(lanes)]
        after = list(vectors)
        for i in range(rows):
            if not i & d:
                for place, chosen in ((i, low), (i + d, high)):
                    mask = ", ".join(f"i32 {k}" for k in chosen)
                    pair = f"{kind} {vectors[i]}, {kind} {vectors[i + d]}"
                    after[place] = f.let(f"shufflevector {pair}, <{lanes} x i32> <{mask}>")
        vectors, d = after, 2 * d
    return vectors


def _some(f: Function, flags: list[str], lanes: int) -> str:
    """Whether any lane of any flag is set."""
    bits = f.let(f"bitcast <{lanes} x i1> {f.any_of(f'<{lanes} x i1>', flags)} to i{lanes}")
    return f.let(f"icmp ne i{lanes} {bits}, 0")
