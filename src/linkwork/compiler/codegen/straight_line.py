"""The straight-line code of a program: ``@block`` for vectors of samples, ``@sample`` for one sample.

``@block(in, work, out, vectors)`` takes its inputs from aligned vectors, one for each number, and leaves each distinct
result in one, those of guards too.  A long program is several functions, each of which runs over a few vectors before
the next one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, islice
from typing import Protocol

from linkwork.compiler.codegen.code_segments import Plan
from linkwork.compiler.codegen.float_type import Real
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import Function, Text
from linkwork.compiler.codegen.table_lookup import bundle
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Program
from linkwork.expr.scalar.multi_result import PART

__all__ = [
    "NO_MEMORY",
    "OFF",
    "ON_STACK",
    "Layout",
    "block_function",
    "block_on_registers",
    "guards_exceeded",
    "memory",
    "sample_declaration",
    "sample_function",
    "segment_function",
]

NO_MEMORY, OFF = 1, 2  # what ``@sample`` says where it computed nothing, and where a guard is greater than zero

_SIDE_BY_SIDE = 4  # zeros that are written together
_CLEARED = 64  # zeros for which an output array is cleared before other numbers are written to it
_REPEATED = 2048  # numbers of an output array that stand in it already, from which on they are copied by a table
_VECTORS = 8  # that a segment runs over before the next one does
_CACHED = 1 << 18  # bytes of vectors that should stay in the second-level cache meanwhile
ON_STACK = 1 << 14  # a thread's stack is not asked for more bytes than this: it may have 128 KiB in all


Place = tuple[str, int]  # a pointer's name, and how many numbers further on


class Layout:
    """How a program is laid out as code of so many lanes: its segments, and where its vectors stand in memory."""

    def __init__(self, plan: Plan, target: Target, real: Real, lanes: int) -> None:
        self.plan, self.program = plan, plan.program
        self.target, self.real, self.lanes = target, real, lanes
        self.width = real.bytes * lanes  # bytes of a number in all lanes
        place: dict[int, int] = {}
        self.slot_of = [place.setdefault(r, len(place)) for r in self.program.results]
        self.results = list(place)  # the distinct values among the results; `slot_of` says for each result which it is
        self.guards = sorted(set(self.slot_of[len(self.slot_of) - self.program.guards :]))  # the slots of guards
        self.in_bytes = self._whole(sum(port.size for port in self.program.inputs))
        self.work_bytes = self._whole(self.plan.places)
        self.out_bytes = self._whole(len(self.results))
        of_one = self.in_bytes + self.work_bytes + self.out_bytes
        self.vectors = max(1, min(_VECTORS, _CACHED // max(of_one, 1))) if plan.segmented and lanes > 1 else 1
        self.bytes = of_one * self.vectors

    @cached_property
    def zeros(self) -> list[tuple[str, int, int]]:
        """What `_zeros` finds."""
        return [*_zeros(self.program)]

    @cached_property
    def repeated(self) -> dict[str, list[tuple[int, int]]]:
        """What `_repeated` finds."""
        return _repeated(_written(self))

    @cached_property
    def sinks(self) -> dict[int, list[Place]]:
        """What `_array_sinks` finds."""
        return _array_sinks(self)

    @property
    def cost(self) -> float:
        """About how many instructions a sample takes."""
        return len(self.program.instructions)

    def _whole(self, numbers: int) -> int:
        return -(-numbers * self.width // 64) * 64

    def at(self, f: Function, start: str) -> tuple[str, str, str]:
        """The addresses of inputs, workspace and results in memory of ``bytes`` bytes."""
        return (
            start,
            f.at(start, self.in_bytes * self.vectors),
            f.at(start, (self.in_bytes + self.work_bytes) * self.vectors),
        )


def block_function(text: Text, layout: Layout) -> None:
    """``@block`` of a program that is left whole, or the one that calls segments, which are other modules'."""
    signature = f"define void @.block({_block_arguments(layout)}, i64 %vectors)"
    if not layout.plan.segmented:
        _block_segment(text, layout, 0, signature)
        return
    f = Function(signature)
    sizes = (layout.in_bytes, layout.work_bytes, layout.out_bytes)
    for k in range(len(layout.plan.segments)):
        f.declare(f"declare void @.block.{k}(ptr, ptr, ptr)")
        with f.loop("%vectors") as vector:
            places = [
                f.at(pointer, f.let(f"mul i64 {vector}, {size}"))
                for pointer, size in zip(("%in", "%work", "%out"), sizes, strict=True)
            ]
            f.do(f"call void @.block.{k}({', '.join(f'ptr {place}' for place in places)})")
    text.add(f)


def segment_function(text: Text, layout: Layout, k: int) -> None:
    """A segment's code, for one vector or one sample, as a function that other modules can call."""
    if layout.lanes > 1:
        _block_segment(text, layout, k, f"define void @.block.{k}({_block_arguments(layout)})")
        return
    out = ", ".join(f"ptr noalias {pointer}" for pointer in _out_arguments(layout))
    signature = f"define void @.sample.{k}({_working_arguments(layout)}, {out})"
    f = Instructions(signature, layout.target, layout.real, 1, unchanging=True)
    _write(f, layout, k, _in_order, layout.sinks)
    text.add(f)


def sample_function(text: Text, layout: Layout) -> None:
    """``@sample(in..., out...)``: one sample, from and to contiguous arrays; it returns 0, `NO_MEMORY` or `OFF`.

    Of a program in segments, an output may be an input as well, since inputs are copied first.
    """
    outputs = [f"%out{j}" for j in range(len(layout.program.outputs))]
    if not layout.plan.segmented:
        attributed = [f"ptr noalias readonly %in{j}" for j in range(len(layout.program.inputs))]
        attributed += [f"ptr noalias {out}" for out in outputs]
        places = [(f"%in{j}", e) for j, port in enumerate(layout.program.inputs) for e in range(port.size)]
        signature = f"define i32 @.sample({', '.join(attributed)})"
        one = Instructions(signature, layout.target, layout.real, 1, unchanging=False)
        _zero(one, layout)
        name = _write(one, layout, 0, lambda number: places[number], layout.sinks)
        _repeat(text, one, layout)
        one.end = f"ret i32 {one.status([name(layout.results[slot]) for slot in layout.guards], OFF)}"
        text.add(one)
        return
    arguments = [f"ptr %in{j}" for j in range(len(layout.program.inputs))] + [f"ptr {out}" for out in outputs]
    f = Function(f"define i32 @.sample({', '.join(arguments)})")
    start, taken = memory(f, layout.bytes)
    if taken:
        f.require(f.let(f"icmp ne ptr {taken}, null"), "none")
    into, work, guards = layout.at(f, start)
    pointers = [into, work, *outputs, *([guards] if layout.guards else [])]
    place, real = 0, layout.real
    for j, port in enumerate(layout.program.inputs):
        row = f.at(into, place * real.bytes)
        place += port.size
        with f.loop(port.size) as element:
            offset = f.let(f"shl i64 {element}, {real.shift}")
            f.store(real.name, f.load(real.name, f.at(f"%in{j}", offset), real.bytes), f.at(row, offset), real.bytes)
    _zero(f, layout)
    for k in range(len(layout.plan.segments)):
        f.declare(f"declare void @.sample.{k}({', '.join(['ptr'] * len(pointers))})")
        f.do(f"call void @.sample.{k}({', '.join(f'ptr {pointer}' for pointer in pointers)})")
    _repeat(text, f, layout)
    end_sample(f, layout, guards, taken)
    text.add(f)


def end_sample(f: Function, layout: LaidOut, guards: str, taken: str) -> None:
    """The end of ``@sample``, whose guards stand there: give back the memory that was taken, and say how it went.

    The label "none" is where it goes that got no memory.
    """
    status = "0"
    if layout.guards:
        off = f.any_of("i1", guards_exceeded(f, layout, guards))
        status = f.let(f"select i1 {off}, i32 {OFF}, i32 0")
    f.end = f"ret i32 {status}"
    if taken:
        f.do(f"call void @free(ptr {taken})")
        f.do(f.end)
        f.label("none")
        f.end = f"ret i32 {NO_MEMORY}"


def sample_declaration(program: Program) -> str:
    """How other modules know ``@sample``."""
    return f"declare i32 @.sample({', '.join(['ptr'] * (len(program.inputs) + len(program.outputs)))})"


class LaidOut(Protocol):
    """What layouts of all kinds of programs know."""

    guards: list[int]  # the slots of guards
    lanes: int
    width: int
    real: Real


def guards_exceeded(f: Function, layout: LaidOut, results: str) -> list[str]:
    """Whether each guard among the results of a vector is greater than zero: of every lane."""
    real, lanes = layout.real, layout.lanes
    values = [f.load(real.vector(lanes), f.at(results, layout.width * slot), layout.width) for slot in layout.guards]
    return [f.let(f"fcmp ogt {real.vector(lanes)} {value}, {real.literal(0.0, lanes)}") for value in values]


def _working_arguments(layout: Layout) -> str:
    """What a segment loads it may load again instead of keeping it in a register: it stores nothing there."""
    into, work = (f"align 64 dereferenceable({size})" for size in (layout.in_bytes or 1, layout.work_bytes or 1))
    return f"ptr noalias readonly {into} %in, ptr noalias {work} %work"


def _block_arguments(layout: Layout) -> str:
    return f"{_working_arguments(layout)}, ptr noalias align 64 %out"


def _block_segment(text: Text, layout: Layout, k: int, signature: str) -> None:
    sinks: dict[int, list[Place]] = {}
    for slot, value in enumerate(layout.results):
        sinks.setdefault(value, []).append(("%out", slot))
    f = Instructions(signature, layout.target, layout.real, layout.lanes, unchanging=True)
    _write(f, layout, k, _in_order, sinks)
    text.add(f)


def block_on_registers(f: Instructions, layout: Layout, elements: Sequence[str]) -> list[str]:
    """The results of a program that is left whole, guards too, of elements of its inputs that are there by name."""
    name = _write(f, layout, 0, _in_order, {}, elements)
    return [name(r) for r in layout.program.results]


def _in_order(number: int) -> Place:
    """Where an input's number stands that has been packed."""
    return "%in", number


def _out_arguments(layout: Layout) -> list[str]:
    """Where a segment's results for one sample go: the output arrays and, if there are any, the guards."""
    return [*(f"%out{j}" for j in range(len(layout.program.outputs))), *(["%guards"] if layout.guards else [])]


def _array_sinks(layout: Layout) -> dict[int, list[Place]]:
    """For every value the elements of output arrays that it is the result for, but for those that `_zero` writes and
    those that `_repeat` does.
    """
    sinks: dict[int, list[Place]] = {}
    copied = {(pointer, to) for pointer, copies in layout.repeated.items() for _, to in copies}
    for value, place in _written(layout):
        if place not in copied:
            sinks.setdefault(value, []).append(place)
    if layout.plan.segmented:
        for slot in layout.guards:
            sinks.setdefault(layout.results[slot], []).append(("%guards", slot))
    return sinks


def _zero(f: Function, layout: Layout) -> None:
    """Write zeros to output arrays before all else: of thousands of stores, LLVM takes long for each."""
    for pointer, start, stop in layout.zeros:
        place, size = f.at(pointer, start * layout.real.bytes), (stop - start) * layout.real.bytes
        f.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        f.do(f"call void @llvm.memset.p0.i64(ptr align {layout.real.bytes} {place}, i8 0, i64 {size}, i1 false)")


def _written(layout: Layout) -> Iterator[tuple[int, Place]]:
    """Each result with where it stands in the output arrays, but for those that `_zero` writes."""
    program = layout.program
    places = ((f"%out{j}", e) for j, port in enumerate(program.outputs) for e in range(port.size))
    zeroed = {(pointer, e) for pointer, start, stop in layout.zeros for e in range(start, stop)}
    for value, place in zip(program.results, places, strict=False):
        if not (place in zeroed and _is_zero(program.instructions[value])):
            yield value, place


def _repeat(text: Text, f: Function, layout: Layout) -> None:
    """Copy what stands in an output array many times, by a table."""
    real = layout.real
    for pointer, copies in layout.repeated.items():
        table = f"@.copies.{pointer[1:]}"
        listed = ", ".join(f"i64 {place * real.bytes}" for copy in copies for place in copy)
        text.declare(f"{table} = internal constant [{2 * len(copies)} x i64] [{listed}]")
        with f.loop(len(copies)) as k:
            entry = f.at(table, f.let(f"shl i64 {k}, 4"))
            start, to = f.load("i64", entry, 8), f.load("i64", f.at(entry, 8), 8)
            f.store(real.name, f.load(real.name, f.at(pointer, start), real.bytes), f.at(pointer, to), real.bytes)


def _repeated(written: Iterable[tuple[int, Place]]) -> dict[str, list[tuple[int, int]]]:
    """Where an output array has many numbers again: from which to which element each is copied."""
    first: dict[tuple[str, int], int] = {}
    result: dict[str, list[tuple[int, int]]] = {}
    for value, (pointer, e) in written:
        start = first.setdefault((pointer, value), e)
        if start != e:
            result.setdefault(pointer, []).append((start, e))
    return {pointer: copies for pointer, copies in result.items() if len(copies) >= _REPEATED}


def _zeros(program: Program) -> Iterator[tuple[str, int, int]]:
    """Where zeros are written together: an output's pointer, and from which to which element.

    Those are zeros in a row whatever the inputs are; or, where an array has many, all from the first one to the last.
    """
    results = iter(program.results)
    for j, port in enumerate(program.outputs):
        zeros = [e for e, value in enumerate(islice(results, port.size)) if _is_zero(program.instructions[value])]
        if len(zeros) >= _CLEARED:
            yield f"%out{j}", zeros[0], zeros[-1] + 1
            continue
        for _, run in groupby(enumerate(zeros), lambda numbered: numbered[1] - numbered[0]):
            places = [e for _, e in run]
            if len(places) >= _SIDE_BY_SIDE:
                yield f"%out{j}", places[0], places[-1] + 1


def _is_zero(instruction: Instruction) -> bool:
    return instruction.operation is CONSTANT and str(instruction.value) == "0.0"


def _write(
    f: Instructions,
    layout: Layout,
    k: int,
    source: Callable[[int], Place],
    sinks: Mapping[int, Sequence[Place]],
    elements: Sequence[str] = (),
) -> Callable[[int], str]:
    """The instructions of a segment.  Inputs and values of other segments are loaded where they are first used, unless
    the inputs' elements are there by name.

    Returned is what gives a value its name.
    """
    segment, instructions = layout.plan.segments[k], layout.program.instructions
    names: dict[int, str] = {}
    parts: dict[int, list[str]] = {}  # of instructions of several results

    def name(value: int) -> str:
        """A value's name, once it is there."""
        if value not in names:
            operation, _, number = instructions[value]
            if operation is CONSTANT:
                names[value] = f.constant(number)
            elif operation is INPUT:
                names[value] = elements[number] if elements else f.get(*source(number))
            else:
                names[value] = f.fetch(operation, segment.taken[value])
        return names[value]

    def memory(value: int) -> Place | None:
        operation, _, number = instructions[value]
        return source(number) if operation is INPUT and not elements else None

    for value in range(segment.start, segment.stop):
        operation, args, _ = instructions[value]
        if operation is PART:
            names[value] = parts[args[0]][instructions[value].value]
        elif operation.arity < 0:
            parts[value] = bundle(f, instructions[value].value, args, name, memory)
        elif operation is not CONSTANT and operation is not INPUT:
            names[value] = f.operation(operation, [name(a) for a in args])
        for pointer, place in sinks.get(value, ()):
            f.put(name(value), pointer, place)
        if value in segment.left:
            f.keep(operation, name(value), segment.left[value])
    return name


def memory(f: Function, size: int) -> tuple[str, str]:
    """Aligned memory, on the stack or, if large, from the heap: its address, and what to free or ""."""
    if size <= ON_STACK:
        return f.let(f"alloca [{size} x i8], align 64"), ""
    f.declare("declare ptr @malloc(i64)", "declare void @free(ptr)")
    taken = f.let(f"call ptr @malloc(i64 {size + 63})")
    minus = f.let(f"sub i64 0, {f.let(f'ptrtoint ptr {taken} to i64')}")
    return f.at(taken, f.let(f"and i64 {minus}, 63")), taken
