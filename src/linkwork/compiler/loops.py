"""The loop around a block of samples: from NumPy's strided arrays to vectors and back, in LLVM IR.

A block takes as many samples as a vector has lanes.  Its inputs are brought into vectors, and its outputs out of
them, by transposing squares of lanes x lanes numbers.  What does not fit (strides inside a sample, the last block of a
batch) goes one number at a time through the same vectors, so every sample meets the same arithmetic; lanes left over
in the last block repeat its last sample, and nothing is read or written beyond an array's end.

The function made here has the form of NumPy's inner loops: (char **args, npy_intp *dimensions, npy_intp *steps,
void *data), the core dimensions' strides following the outer ones.  ``data`` points to a counter that grows by one
whenever some input was NaN.  The processor's floating-point flags are left as they were found, since NumPy makes
warnings of them, and a branch of ``where`` that is not chosen may well divide by zero.
"""

from __future__ import annotations

from .ir import MOST_UNROLLED, Function
from .llvm import Text, slots
from .program import Port, Program
from .target import Target

__all__ = ["loop_function"]

_FEW = 3  # fewer samples than this take the scalar code
_ON_STACK = 1 << 18  # a thread's stack is not asked for more bytes than this


def loop_function(text: Text, program: Program, target: Target) -> None:
    """Add ``@loop`` and what it needs to the module; ``@block`` and ``@sample`` are there already."""
    lanes = target.lanes
    inputs, outputs = program.inputs, program.outputs
    places, slot_of = slots(program)
    start = 0
    for j, port in enumerate(inputs):
        text.functions += [str(_pack(j, port, lanes)), str(_pack_slowly(j, port, lanes))]
    for j, port in enumerate(outputs):
        table = ", ".join(f"i64 {8 * lanes * s}" for s in slot_of[start : start + port.size])
        if port.size:
            text.declare(f"@slots{j} = internal constant [{port.size} x i64] [{table}]")
        start += port.size
        text.functions += [str(_unpack(j, port, lanes)), str(_unpack_slowly(j, port, lanes))]

    f = Function("define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data)")
    in_bytes = 64 * lanes * (sum(port.size for port in inputs) // 8 + 1)
    memory, taken = _memory(f, text, in_bytes + 8 * lanes * len(places))
    vectors_in, vectors_out = memory, f.at(memory, in_bytes)
    f.do("%nan = alloca i1, align 8")
    f.store("i1", "false", "%nan")
    flags = _save_flags(f, text, target)
    n = f.load("i64", "%dimensions")
    arrays, steps, strides, whole = _arguments(f, [*inputs, *outputs])
    few = f.let(f"icmp slt i64 {n}, {_FEW}")
    direct = f.all_of([few, *whole, *_apart(f, arrays[: len(inputs)], arrays[len(inputs) :])])
    with f.when(direct):
        _sample_by_sample(f, n, inputs, arrays, steps)
    with f.unless(direct), f.loop(n, step=lanes) as first:
        left = f.let(f"sub i64 {n}, {first}")
        full = f.let(f"icmp sge i64 {left}, {lanes}")
        count = f.let(f"select i1 {full}, i64 {lanes}, i64 {left}")
        place = 0
        for j in range(len(arrays)):
            if j == len(inputs):
                f.do(f"call void @block(ptr {vectors_in}, ptr {vectors_out})")
            array = f.at(arrays[j], f.let(f"mul i64 {first}, {steps[j]}"))
            fast = f.all_of([full, whole[j]])
            if j < len(inputs):
                buffer = f.at(vectors_in, place)
                place += 8 * lanes * inputs[j].size
                name, slow = f"pack{j}", f"pack_slowly{j}"
            else:
                buffer = vectors_out
                name, slow = f"unpack{j - len(inputs)}", f"unpack_slowly{j - len(inputs)}"
            with f.when(fast):
                f.do(f"call void @{name}(ptr {buffer}, ptr {array}, i64 {steps[j]}, ptr %nan)")
            with f.unless(fast):
                f.do(
                    f"call void @{slow}(ptr {buffer}, ptr {array}, i64 {steps[j]}, i64 {count}, ptr {strides[j]}, "
                    f"ptr %nan)"
                )
        if len(arrays) == len(inputs):
            f.do(f"call void @block(ptr {vectors_in}, ptr {vectors_out})")
    with f.when(f.load("i1", "%nan")):
        f.let("atomicrmw add ptr %data, i64 1 monotonic")
    _restore_flags(f, target, flags)
    if taken:
        f.do(f"call void @free(ptr {taken})")
    text.functions.append(str(f))


def _memory(f: Function, text: Text, size: int) -> tuple[str, str]:
    """Memory for a block's vectors, on the stack or, if large, from the heap: its address, and what to free or ""."""
    if size <= _ON_STACK:
        return f.let(f"alloca [{size} x i8], align 64"), ""
    text.declare("declare ptr @malloc(i64)", "declare void @free(ptr)")
    taken = f.let(f"call ptr @malloc(i64 {size + 63})")
    minus = f.let(f"sub i64 0, {f.let(f'ptrtoint ptr {taken} to i64')}")
    return f.at(taken, f.let(f"and i64 {minus}, 63")), taken


def _save_flags(f: Function, text: Text, target: Target) -> str:
    """Keep the processor's floating-point flags; on processors not known here they are let be."""
    if target.triple.startswith("x86_64"):
        text.declare("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)")
        kept = f.let("alloca i32, align 4")
        f.do(f"call void @llvm.x86.sse.stmxcsr(ptr {kept})")
        return kept
    if target.triple.startswith(("aarch64", "arm64")):
        text.declare("declare i64 @llvm.aarch64.get.fpsr()", "declare void @llvm.aarch64.set.fpsr(i64)")
        return f.let("call i64 @llvm.aarch64.get.fpsr()")
    return ""


def _restore_flags(f: Function, target: Target, kept: str) -> None:
    if target.triple.startswith("x86_64"):
        f.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {kept})")
    elif kept:
        f.do(f"call void @llvm.aarch64.set.fpsr(i64 {kept})")


def _apart(f: Function, inputs: list[str], outputs: list[str]) -> list[str]:
    """Whether no output is an input as well.

    NumPy copies operands that overlap, except for one array that is both: a block has read its samples before it
    writes them, but the scalar code reads a sample's numbers where it needs them.
    """
    return [f.let(f"icmp ne ptr {x}, {y}") for x in inputs for y in outputs]


def _arguments(f: Function, ports: list[Port]) -> tuple[list[str], list[str], list[str], list[str]]:
    """Of each array: its address, the step between samples, where its strides are, whether a sample is contiguous."""
    arrays, steps, strides, whole = [], [], [], []
    core = len(ports)
    for j, port in enumerate(ports):
        arrays.append(f.load("ptr", f.at("%args", 8 * j)))
        steps.append(f.load("i64", f.at("%steps", 8 * j)))
        strides.append(f.at("%steps", 8 * core))
        core += len(port.shape)
        expected, flags = 8, []
        for d in range(len(port.shape) - 1, -1, -1):
            if port.shape[d] > 1:
                stride = f.load("i64", f.at(strides[-1], 8 * d))
                flags.append(f.let(f"icmp eq i64 {stride}, {expected}"))
            expected *= port.shape[d]
        whole.append(f.all_of(flags))
    return arrays, steps, strides, whole


def _sample_by_sample(f: Function, n: str, inputs: tuple[Port, ...], arrays: list[str], steps: list[str]) -> None:
    """The scalar code on contiguous samples."""
    with f.loop(n) as sample:
        at = [f.at(a, f.let(f"mul i64 {sample}, {s}")) for a, s in zip(arrays, steps, strict=True)]
        f.do(f"call void @sample({', '.join(f'ptr {a}' for a in at)})")
        flags = []
        for port, array in zip(inputs, at, strict=False):
            if port.size > MOST_UNROLLED:
                with f.loop(port.size) as element:
                    x = f.load("double", f.at(array, f.let(f"shl i64 {element}, 3")))
                    with f.when(f.let(f"fcmp uno double {x}, {x}")):
                        f.store("i1", "true", "%nan")
                continue
            for e in range(0, port.size, 2):
                pair = [f.load("double", f.at(array, 8 * min(k, port.size - 1))) for k in (e, e + 1)]
                flags.append(f.let(f"fcmp uno double {pair[0]}, {pair[1]}"))
        if flags:
            with f.when(f.any_of("i1", flags)):
                f.store("i1", "true", "%nan")


def _pack(j: int, port: Port, lanes: int) -> Function:
    """``@pack{j}``: a block's samples of a contiguous input into vectors, one for each of its numbers."""
    f = Function(f"define internal void @pack{j}(ptr %buffer, ptr %array, i64 %step, ptr %nan)")
    vector, truth = f"<{lanes} x double>", f"<{lanes} x i1>"
    rows = _rows(f, lanes)
    seen: list[str] = []

    def square(first: str | int) -> list[str]:
        offset = f.let(f"shl i64 {first}, 3") if isinstance(first, str) else 8 * first
        taken = [f.load(vector, f.at(row, offset)) for row in rows]
        buffer = f.at("%buffer", f.let(f"mul i64 {first}, {8 * lanes}"))
        for k, column in enumerate(_transpose(f, taken, lanes)):
            f.store(vector, column, f.at(buffer, 8 * lanes * k), 8 * lanes)
        return [f.let(f"fcmp uno {vector} {taken[k]}, {taken[k + 1]}") for k in range(0, lanes, 2)]

    many, squares, columns = _split(port.size, lanes)
    if many:
        with f.loop(many, step=lanes) as first, f.when(_some(f, square(first), lanes)):
            f.store("i1", "true", "%nan")
    for place in squares:
        seen += square(place)
    for k in columns:
        column = "poison"
        for lane, row in enumerate(rows):
            x = f.load("double", f.at(row, 8 * k))
            column = f.let(f"insertelement {vector} {column}, double {x}, i32 {lane}")
        f.store(vector, column, f.at("%buffer", 8 * lanes * k), 8 * lanes)
        seen.append(f.let(f"fcmp uno {vector} {column}, {column}"))
    if seen:
        with f.when(_some(f, [f.any_of(truth, seen)], lanes)):
            f.store("i1", "true", "%nan")
    return f


def _unpack(j: int, port: Port, lanes: int) -> Function:
    """``@unpack{j}``: a block's vectors to the samples of a contiguous output; a table says where each stands."""
    f = Function(f"define internal void @unpack{j}(ptr %buffer, ptr %array, i64 %step, ptr %nan)")
    vector = f"<{lanes} x double>"
    rows = _rows(f, lanes)

    def taken(number: str | int) -> str:
        slot = f.load("i64", f.at(f"@slots{j}", f.let(f"shl i64 {number}, 3")))
        return f.load(vector, f.at("%buffer", slot), 8 * lanes)

    def square(first: str | int) -> None:
        offset = f.let(f"shl i64 {first}, 3")
        columns = [taken(f.let(f"add i64 {first}, {k}")) for k in range(lanes)]
        for row, numbers in zip(rows, _transpose(f, columns, lanes), strict=True):
            f.store(vector, numbers, f.at(row, offset))

    many, squares, single = _split(port.size, lanes)
    if many:
        with f.loop(many, step=lanes) as first:
            square(first)
    for place in squares:
        square(place)
    for k in single:
        column = taken(k)
        for lane, row in enumerate(rows):
            x = f.let(f"extractelement {vector} {column}, i32 {lane}")
            f.store("double", x, f.at(row, 8 * k))
    return f


def _pack_slowly(j: int, port: Port, lanes: int) -> Function:
    """``@pack_slowly{j}``: ``count`` samples of any strides, one number at a time; the last fills the lanes left."""
    f = _slow_function(f"pack_slowly{j}")
    last = f.let("sub i64 %count, 1")
    with f.loop(port.size) as element:
        offset = _strided(f, port, element)
        row = f.at("%buffer", f.let(f"mul i64 {element}, {8 * lanes}"))
        with f.loop(lanes) as lane:
            inside = f.let(f"icmp slt i64 {lane}, {last}")
            sample = f.let(f"select i1 {inside}, i64 {lane}, i64 {last}")
            x = f.load("double", f.at(f.at("%array", f.let(f"mul i64 {sample}, %step")), offset))
            f.store("double", x, f.at(row, f.let(f"shl i64 {lane}, 3")))
            with f.when(f.let(f"fcmp uno double {x}, {x}")):
                f.store("i1", "true", "%nan")
    return f


def _unpack_slowly(j: int, port: Port, lanes: int) -> Function:
    """``@unpack_slowly{j}``: to ``count`` samples of any strides, one number at a time."""
    f = _slow_function(f"unpack_slowly{j}")
    with f.loop(port.size) as element:
        offset = _strided(f, port, element)
        slot = f.load("i64", f.at(f"@slots{j}", f.let(f"shl i64 {element}, 3"))) if port.size else "0"
        row = f.at("%buffer", slot)
        with f.loop("%count") as lane:
            x = f.load("double", f.at(row, f.let(f"shl i64 {lane}, 3")))
            f.store("double", x, f.at(f.at("%array", f.let(f"mul i64 {lane}, %step")), offset))
    return f


def _slow_function(name: str) -> Function:
    arguments = "ptr %buffer, ptr %array, i64 %step, i64 %count, ptr %strides, ptr %nan"
    return Function(f"define internal void @{name}({arguments})", "#1")


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


def _split(size: int, lanes: int) -> tuple[int, list[int], list[int]]:
    """How to cut ``size`` numbers: how many go by a loop over squares, where other squares begin, which go one by one.

    A rest of more than half a square is a square that overlaps the one before it.
    """
    whole = size - size % lanes
    many = whole if whole > 4 * lanes else 0
    squares, rest = list(range(many, whole, lanes)), list(range(whole, size))
    if whole and len(rest) > lanes // 2:
        return many, [*squares, size - lanes], []
    return many, squares, rest


def _transpose(f: Function, vectors: list[str], lanes: int) -> list[str]:
    """Transpose a square of numbers held in as many vectors: exchange halves, quarters, ... (log₂ lanes steps)."""
    kind, d = f"<{lanes} x double>", 1
    while d < lanes:
        low = [k if not k & d else lanes + k - d for k in range(lanes)]
        high = [k + d if not k & d else lanes + k for k in range(lanes)]
        after = list(vectors)
        for i in range(lanes):
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
