"""The straight-line code of a program: ``@block`` for vectors of samples, ``@sample`` for one sample.

``@block(in, work, out, vectors)`` takes its inputs from aligned vectors, one for each number, and leaves each distinct
result in one.  A long program is several functions, each of which runs over a few vectors before the next one does.
"""

from __future__ import annotations

from .ir import Function
from .llvm import Instructions, Text, slots
from .program import CONSTANT, INPUT, Program
from .real import Real
from .segments import plan
from .target import Target

__all__ = ["Layout", "block_function", "memory", "sample_function", "segment_function"]

MOST_INSTRUCTIONS = 4000  # of a segment
MOST_SCALAR = 20_000  # a longer program has no code for one sample: a vector of equal samples takes about as long
_VECTORS = 8  # that a segment runs over before the next one does
_CACHED = 1 << 18  # bytes of vectors that should stay in the second-level cache meanwhile
_ON_STACK = 1 << 18  # a thread's stack is not asked for more bytes than this


class Layout:
    """How a program is laid out as code of so many lanes: its segments, and where its vectors stand in memory."""

    def __init__(self, program: Program, target: Target, real: Real, lanes: int) -> None:
        self.plan = plan(program, MOST_INSTRUCTIONS)
        self.program, self.target, self.real, self.lanes = self.plan.program, target, real, lanes
        self.width = real.bytes * lanes  # bytes of a number in all lanes
        self.results, self.slot_of = slots(self.program)
        self.in_bytes = self._whole(sum(port.size for port in program.inputs))
        self.work_bytes = self._whole(self.plan.places)
        self.out_bytes = self._whole(len(self.results))
        of_one = self.in_bytes + self.work_bytes + self.out_bytes
        self.vectors = max(1, min(_VECTORS, _CACHED // max(of_one, 1))) if self.segmented else 1
        self.bytes = of_one * self.vectors

    def _whole(self, numbers: int) -> int:
        return -(-numbers * self.width // 64) * 64

    @property
    def segmented(self) -> bool:
        return len(self.plan.segments) > 1

    @property
    def name(self) -> str:
        """What the function of this code is called."""
        return "block" if self.lanes > 1 else "one"

    def at(self, f: Function, start: str) -> tuple[str, str, str]:
        """The addresses of inputs, workspace and results in memory of ``bytes`` bytes."""
        return (
            start,
            f.at(start, self.in_bytes * self.vectors),
            f.at(start, (self.in_bytes + self.work_bytes) * self.vectors),
        )


_ARGUMENTS = "ptr noalias readonly align 64 %in, ptr noalias align 64 %work, ptr noalias align 64 %out"


def segment_function(text: Text, layout: Layout, k: int) -> None:
    """A segment's code for one vector; of a program of one segment it is all of ``@block``."""
    segment = layout.plan.segments[k]
    signature = f"define void @{layout.name}.{k}({_ARGUMENTS})"
    if not layout.segmented:
        signature = f"define internal void @{layout.name}({_ARGUMENTS}, i64 %vectors)"
    code = Instructions(text, layout.target, layout.real, layout.lanes)
    out: dict[int, list[int]] = {}
    for slot, value in enumerate(layout.results):
        out.setdefault(value, []).append(slot)
    names: dict[int, str] = {}
    instructions = layout.program.instructions

    def name(value: int) -> str:
        """A value's name, once it is there."""
        if value not in names:
            operation, _, number = instructions[value]
            names[value] = f"%v{value}"
            if operation is CONSTANT:
                names[value] = code.constant(number)
            elif operation is INPUT:
                code.load(names[value], code.address(f"%i{value}", "%in", number))
            else:
                code.fetch(operation, names[value], code.address(f"%t{value}", "%work", segment.taken[value]))
        return names[value]

    for value in range(segment.start, segment.stop):
        operation, args, _ = instructions[value]
        if operation is not CONSTANT and operation is not INPUT:
            code.emit(f"%v{value}", operation, [name(a) for a in args])
            names[value] = f"%v{value}"
        for slot in out.get(value, ()):
            code.store(name(value), code.address(f"%o{slot}", "%out", slot))
        if value in segment.left:
            code.keep(operation, name(value), code.address(f"%w{value}", "%work", segment.left[value]))
    _define(text, signature, code.lines)


def block_function(text: Text, layout: Layout) -> None:
    """``@block`` of a program in segments, which are other modules' or are there already."""
    f = Function(f"define internal void @{layout.name}({_ARGUMENTS}, i64 %vectors)")
    for k in range(len(layout.plan.segments)):
        with f.loop("%vectors") as vector:
            places = [
                f.at(pointer, f.let(f"mul i64 {vector}, {size}"))
                for pointer, size in (
                    ("%in", layout.in_bytes),
                    ("%work", layout.work_bytes),
                    ("%out", layout.out_bytes),
                )
            ]
            f.do(f"call void @{layout.name}.{k}({', '.join(f'ptr {place}' for place in places)})")
    text.functions.append(str(f))


def sample_function(text: Text, layout: Layout) -> None:
    """``@sample(in..., out...)``: one sample, from and to contiguous arrays; not zero where there is no memory for it.

    An output may be an input as well if the layout is in segments, since inputs are copied first.
    """
    arguments = [f"ptr %in{j}" for j in range(len(layout.program.inputs))]
    arguments += [f"ptr %out{j}" for j in range(len(layout.program.outputs))]
    if layout.segmented:
        _sample_by_segments(text, layout, f"define i32 @sample({', '.join(arguments)})")
    else:
        attributed = [a.replace("ptr", "ptr noalias readonly" if "%in" in a else "ptr noalias") for a in arguments]
        _sample_at_once(text, layout, f"define i32 @sample({', '.join(attributed)})")


def _sample_at_once(text: Text, layout: Layout, signature: str) -> None:
    """The operations, straight from and to the arrays."""
    code, program = Instructions(text, layout.target, layout.real, 1), layout.program
    source = [(j, e) for j, port in enumerate(program.inputs) for e in range(port.size)]
    sink: dict[int, list[tuple[int, int]]] = {}
    place = 0
    for j, port in enumerate(program.outputs):
        for e in range(port.size):
            sink.setdefault(program.results[place], []).append((j, e))
            place += 1
    names: list[str] = []
    for value, (operation, args, number) in enumerate(program.instructions):
        name = f"%v{value}"
        if operation is CONSTANT:
            name = code.constant(number)
        elif operation is INPUT:
            j, e = source[number]
            code.load(name, code.address(f"%i{value}", f"%in{j}", e))
        else:
            code.emit(name, operation, [names[a] for a in args])
        names.append(name)
        for j, e in sink.get(value, ()):
            code.store(name, code.address(f"%o{j}.{e}", f"%out{j}", e))
    _define(text, signature, code.lines, "ret i32 0")


def _sample_by_segments(text: Text, layout: Layout, signature: str) -> None:
    """A vector whose lanes are the same sample, through the segments."""
    program, real, lanes = layout.program, layout.real, layout.lanes
    f = Function(signature, end="ret i32 0")
    start, taken = memory(f, text, layout.in_bytes + layout.work_bytes + layout.out_bytes)
    if taken:
        f.require(f.let(f"icmp ne ptr {taken}, null"), "none")
    work = f.at(start, layout.in_bytes)
    out = f.at(work, layout.work_bytes)
    place = 0
    for j, port in enumerate(program.inputs):
        row = f.at(start, place * layout.width)
        place += port.size
        with f.loop(port.size) as element:
            x = f.load(real.name, f.at(f"%in{j}", f.let(f"shl i64 {element}, {real.shift}")), real.bytes)
            with f.loop(lanes) as lane:
                number = f.let(f"add i64 {f.let(f'mul i64 {element}, {lanes}')}, {lane}")
                f.store(real.name, x, f.at(row, f.let(f"shl i64 {number}, {real.shift}")), real.bytes)
    f.do(f"call void @{layout.name}(ptr {start}, ptr {work}, ptr {out}, i64 1)")
    place = 0
    for j, port in enumerate(program.outputs):
        if port.size:
            table = ", ".join(f"i64 {layout.width * s}" for s in layout.slot_of[place : place + port.size])
            text.declare(f"@places{j} = internal constant [{port.size} x i64] [{table}]")
            with f.loop(port.size) as element:
                slot = f.load("i64", f.at(f"@places{j}", f.let(f"shl i64 {element}, 3")))
                x = f.load(real.name, f.at(out, slot), real.bytes)
                f.store(real.name, x, f.at(f"%out{j}", f.let(f"shl i64 {element}, {real.shift}")), real.bytes)
        place += port.size
    if taken:
        f.do(f"call void @free(ptr {taken})")
        f.do("ret i32 0")
        f.label("none")
        f.do("ret i32 1")
        f.label("never")
    text.functions.append(str(f))


def memory(f: Function, text: Text, size: int) -> tuple[str, str]:
    """Aligned memory, on the stack or, if large, from the heap: its address, and what to free or ""."""
    if size <= _ON_STACK:
        return f.let(f"alloca [{size} x i8], align 64"), ""
    text.declare("declare ptr @malloc(i64)", "declare void @free(ptr)")
    taken = f.let(f"call ptr @malloc(i64 {size + 63})")
    minus = f.let(f"sub i64 0, {f.let(f'ptrtoint ptr {taken} to i64')}")
    return f.at(taken, f.let(f"and i64 {minus}, 63")), taken


def _define(text: Text, signature: str, lines: list[str], end: str = "ret void") -> None:
    body = "\n  ".join([*lines, end])
    text.functions.append(f"{signature} #0 {{\n  {body}\n}}\n")
