"""Straight-line code of a program: ``@block`` for vectors of samples, ``@sample`` for one sample.

``@block(in, work, out, vectors)`` reads its inputs from aligned vectors, one for each element, and writes each distinct
result, guards included, to a vector. A long program consists of several functions; each runs over a few vectors before
the next function runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, Protocol

from linkwork._util.cached_properties import cached_property
from linkwork.compiler.codegen.code_segments import Plan
from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule
from linkwork.compiler.codegen.quick.block_assembler import BlockAssembler, NotSupported
from linkwork.compiler.codegen.runtimes import NO_MEMORY, OFF, runtime_of
from linkwork.compiler.codegen.table_lookup import bundle
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Program
from linkwork.expr.scalar.multi_result import PART

__all__ = [
    "Layout",
    "assembled_segment",
    "block_function",
    "block_on_registers",
    "guards_exceeded",
    "sample_declaration",
    "sample_function",
    "segment_function",
]

_MIN_ZEROS = 4  # consecutive zeros that are written together
_CLEARED = 64  # zeros from which on an output array is cleared before other elements are written
_REPEATED = 2048  # repeated elements of an output array from which on they are copied by a table
_VECTORS = 8  # vectors that a segment runs over before the next one does
_CACHED = 1 << 18  # [bytes] of vectors that should stay in the second-level cache meanwhile


Position = tuple[str, int]  # a pointer's name, and an index in units of elements


class Layout:
    """The layout of a program's code for a number of lanes: segments, and vectors in memory."""

    def __init__(self, plan: Plan, target: Target, real: FloatType, lanes: int) -> None:
        self.plan, self.program = plan, plan.program
        self.target, self.real, self.lanes = target, real, lanes
        self.width = real.bytes * lanes  # [bytes] of an element in all lanes
        position: dict[int, int] = {}
        self.slot_of = [position.setdefault(r, len(position)) for r in self.program.results]
        self.results = list(position)  # the distinct values among the results; `slot_of` has the index of each result
        self.guards = sorted(set(self.slot_of[len(self.slot_of) - self.program.guards :]))  # the slots of guards
        self.in_bytes = self._whole(sum(port.size for port in self.program.inputs))
        self.work_bytes = self._whole(self.plan.slots)
        self.out_bytes = self._whole(len(self.results))
        per_vector = self.in_bytes + self.work_bytes + self.out_bytes
        self.vectors = max(1, min(_VECTORS, _CACHED // max(per_vector, 1))) if plan.segmented and lanes > 1 else 1
        self.bytes = per_vector * self.vectors

    @cached_property
    def zeros(self) -> list[tuple[str, int, int]]:
        """Blocks of constant zeros of output arrays that are written together, as (array pointer, begin, end).

        A block has consecutive zeros; or, if an array has many zeros, all elements from the first zero to the last.
        """
        return [*_zeros(self.program)]

    @cached_property
    def repeated(self) -> dict[str, list[tuple[int, int]]]:
        """Copies of repeated values within output arrays: pairs (from, to) of elements, by array pointer."""
        return _repeated(_written(self))

    @cached_property
    def sinks(self) -> dict[int, list[Position]]:
        """For each value, the elements of output arrays that it is written to: see `_array_sinks`."""
        return _array_sinks(self)

    @property
    def cost(self) -> float:
        """Approximate number of instructions for a sample."""
        return len(self.program.instructions)

    def _whole(self, count: int) -> int:
        return -(-count * self.width // 64) * 64

    def at(self, f: IrFunction, start: str) -> tuple[str, str, str]:
        """Return the addresses of inputs, workspace and results in a block of memory that begins at ``start``.

        The block has `bytes` bytes.
        """
        return (
            start,
            f.at(start, self.in_bytes * self.vectors),
            f.at(start, (self.in_bytes + self.work_bytes) * self.vectors),
        )


def block_function(text: IrModule, layout: Layout) -> None:
    """Add ``@block``: the code of a short program, or calls of segments, which are in other modules."""
    signature = f"define void @.block({_block_arguments(layout)}, i64 %vectors)"
    if not layout.plan.segmented:
        _block_segment(text, layout, 0, signature)
        return
    f = IrFunction(signature)
    sizes = (layout.in_bytes, layout.work_bytes, layout.out_bytes)
    for k in range(len(layout.plan.segments)):
        f.declare(f"declare void @.block.{k}(ptr, ptr, ptr)")
        with f.loop("%vectors") as vector:
            positions = [
                f.at(pointer, f.let(f"mul i64 {vector}, {size}"))
                for pointer, size in zip(("%in", "%work", "%out"), sizes, strict=True)
            ]
            f.do(f"call void @.block.{k}({', '.join(f'ptr {position}' for position in positions)})")
    text.add(f)


def segment_function(text: IrModule, layout: Layout, k: int) -> None:
    """Add the code of a segment, for one vector or one sample, as a function that other modules can call."""
    if layout.lanes > 1:
        _block_segment(text, layout, k, f"define void @.block.{k}({_block_arguments(layout)})")
        return
    out = ", ".join(f"ptr noalias {pointer}" for pointer in _out_arguments(layout))
    signature = f"define void @.sample.{k}({_working_arguments(layout)}, {out})"
    f = Instructions(signature, layout.target, layout.real, 1, unchanging=True)
    _write(f, layout, k, _in_order, layout.sinks)
    text.add(f)


def assembled_segment(layout: Layout, k: int) -> tuple[str, BlockAssembler]:
    """Return the name of a segment's function for one sample, and the function, written without LLVM.

    Raises NotSupported for a segment that needs LLVM.
    """
    f = BlockAssembler(["%in", "%work", *_out_arguments(layout)], real=layout.real)
    _write(f, layout, k, _in_order, layout.sinks)
    return f"@.sample.{k}", f


def sample_function(text: IrModule, layout: Layout) -> None:
    """Add the function ``@sample(in..., out...)``, which evaluates one sample on contiguous arrays, to the IR module.

    It returns 0, `NO_MEMORY` if memory could not be allocated, or `OFF` if a guard is greater than zero. In a program
    of several segments, an output may also be an input, since inputs are copied first.
    """
    outputs = [f"%out{j}" for j in range(len(layout.program.outputs))]
    runtime = runtime_of(layout.target)
    runtime.state_memory(text, "sample", layout.bytes if layout.plan.segmented else 0)
    if not layout.plan.segmented:
        attributed = [f"ptr noalias readonly %in{j}" for j in range(len(layout.program.inputs))]
        attributed += [f"ptr noalias {out}" for out in outputs]
        positions = [(f"%in{j}", e) for j, port in enumerate(layout.program.inputs) for e in range(port.size)]
        attributed += [f"ptr {x}" for x in runtime.sample_arguments]
        signature = f"define i32 @.sample({', '.join(attributed)})"
        sample = Instructions(signature, layout.target, layout.real, 1, unchanging=False)
        _zero(sample, layout)
        name = _write(sample, layout, 0, lambda number: positions[number], layout.sinks)
        _repeat(text, sample, layout)
        sample.end = f"ret i32 {sample.status([name(layout.results[slot]) for slot in layout.guards], OFF)}"
        text.add(sample)
        return
    arguments = [*(f"%in{j}" for j in range(len(layout.program.inputs))), *outputs, *runtime.sample_arguments]
    f = IrFunction(f"define i32 @.sample({', '.join(f'ptr {x}' for x in arguments)})")
    start, taken = runtime.memory(f, layout.bytes, "%memory")
    if taken:
        f.require(f.let(f"icmp ne ptr {taken}, null"), "none")
    into, work, guards = layout.at(f, start)
    pointers = [into, work, *outputs, *([guards] if layout.guards else [])]
    position, real = 0, layout.real
    for j, port in enumerate(layout.program.inputs):
        row = f.at(into, position * real.bytes)
        position += port.size
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


def end_sample(f: IrFunction, layout: LaidOut, guards: str, taken: str) -> None:
    """Emit the end of ``@sample``: free allocated memory and return the status.

    The status is `OFF` if a guard is greater than zero, otherwise 0.

    ``guards`` points to the values of the guards, ``taken`` to the allocated memory. The label "none" is the branch
    target of a failed allocation, for which `NO_MEMORY` is returned.
    """
    status = "0"
    if layout.guards:
        off = f.any_of("i1", guards_exceeded(f, layout, guards))
        status = f.let(f"select i1 {off}, i32 {OFF}, i32 0")
    f.end = f"ret i32 {status}"
    if taken:
        runtime_of(layout.target).release(f, taken)
        f.do(f.end)
        f.label("none")
        f.end = f"ret i32 {NO_MEMORY}"


def sample_declaration(program: Program, arguments: Sequence[str] = ()) -> str:
    """Return the declaration of ``@sample`` for other modules; ``arguments`` are the arguments after the arrays."""
    count = len(program.inputs) + len(program.outputs) + len(arguments)
    return f"declare i32 @.sample({', '.join(['ptr'] * count)})"


class LaidOut(Protocol):
    """Attributes of the layouts of all kinds of programs."""

    guards: list[int]  # the slots of guards
    lanes: int
    width: int
    real: FloatType
    target: Target


def guards_exceeded(f: IrFunction, layout: LaidOut, results: str) -> list[str]:
    """Return a mask for each guard among a vector's results: the lanes in which it is greater than zero."""
    real, lanes = layout.real, layout.lanes
    values = [f.load(real.vector(lanes), f.at(results, layout.width * slot), layout.width) for slot in layout.guards]
    return [f.let(f"fcmp ogt {real.vector(lanes)} {value}, {real.literal(0.0, lanes)}") for value in values]


def _working_arguments(layout: Layout) -> str:
    """Return the declarations of a segment's arguments ``%in`` (packed inputs) and ``%work`` (workspace).

    The arguments' attributes allow LLVM to load values again from this memory, instead of spilling them.
    """
    into, work = (f"align 64 dereferenceable({size})" for size in (layout.in_bytes or 1, layout.work_bytes or 1))
    return f"ptr noalias readonly {into} %in, ptr noalias {work} %work"


def _block_arguments(layout: Layout) -> str:
    return f"{_working_arguments(layout)}, ptr noalias align 64 %out"


def _block_segment(text: IrModule, layout: Layout, k: int, signature: str) -> None:
    sinks: dict[int, list[Position]] = {}
    for slot, value in enumerate(layout.results):
        sinks.setdefault(value, []).append(("%out", slot))
    f = Instructions(signature, layout.target, layout.real, layout.lanes, unchanging=True)
    _write(f, layout, k, _in_order, sinks)
    text.add(f)


def block_on_registers(f: Instructions, layout: Layout, elements: Sequence[str]) -> list[str]:
    """Emit an unsegmented program on named elements of its inputs; return the results, guards included."""
    name = _write(f, layout, 0, _in_order, {}, elements)
    return [name(r) for r in layout.program.results]


def _in_order(number: int) -> Position:
    """Return the position of an input element in the packed inputs, which have all elements in sequence."""
    return "%in", number


def _out_arguments(layout: Layout) -> list[str]:
    """Return the arguments of a segment's results for one sample: output arrays, and guards if any."""
    return [*(f"%out{j}" for j in range(len(layout.program.outputs))), *(["%guards"] if layout.guards else [])]


def _array_sinks(layout: Layout) -> dict[int, list[Position]]:
    """Map every value to the elements of output arrays that it is written to.

    Elements that `_zero` and `_repeat` write are left out.
    """
    sinks: dict[int, list[Position]] = {}
    copied = {(pointer, to) for pointer, copies in layout.repeated.items() for _, to in copies}
    for value, position in _written(layout):
        if position not in copied:
            sinks.setdefault(value, []).append(position)
    if layout.plan.segmented:
        for slot in layout.guards:
            sinks.setdefault(layout.results[slot], []).append(("%guards", slot))
    return sinks


def _zero(f: IrFunction, layout: Layout) -> None:
    """Emit zeros of output arrays in blocks, before all other code, since LLVM is slow on thousands of stores."""
    for pointer, start, stop in layout.zeros:
        position, size = f.at(pointer, start * layout.real.bytes), (stop - start) * layout.real.bytes
        runtime_of(layout.target).clear(f, position, size, layout.real.bytes)


def _written(layout: Layout) -> Iterator[tuple[int, Position]]:
    """Yield each result with its position in the output arrays, except those that `_zero` writes."""
    program = layout.program
    positions = ((f"%out{j}", e) for j, port in enumerate(program.outputs) for e in range(port.size))
    zeroed = {(pointer, e) for pointer, start, stop in layout.zeros for e in range(start, stop)}
    for value, position in zip(program.results, positions, strict=False):
        if not (position in zeroed and _is_zero(program.instructions[value])):
            yield value, position


def _repeat(text: IrModule, f: IrFunction, layout: Layout) -> None:
    """Emit a loop over a table that copies values that occur many times in an output array."""
    real = layout.real
    for pointer, copies in layout.repeated.items():
        table = f"@.copies.{pointer[1:]}"
        listed = ", ".join(f"i64 {position * real.bytes}" for copy in copies for position in copy)
        text.declare(f"{table} = internal constant [{2 * len(copies)} x i64] [{listed}]")
        with f.loop(len(copies)) as k:
            entry = f.at(table, f.let(f"shl i64 {k}, 4"))
            start, to = f.load("i64", entry, 8), f.load("i64", f.at(entry, 8), 8)
            f.store(real.name, f.load(real.name, f.at(pointer, start), real.bytes), f.at(pointer, to), real.bytes)


def _repeated(written: Iterable[tuple[int, Position]]) -> dict[str, list[tuple[int, int]]]:
    """Return the copies within output arrays with many repeated values, as pairs of elements (from, to)."""
    first: dict[tuple[str, int], int] = {}
    result: dict[str, list[tuple[int, int]]] = {}
    for value, (pointer, e) in written:
        start = first.setdefault((pointer, value), e)
        if start != e:
            result.setdefault(pointer, []).append((start, e))
    return {pointer: copies for pointer, copies in result.items() if len(copies) >= _REPEATED}


def _zeros(program: Program) -> Iterator[tuple[str, int, int]]:
    """Yield the blocks of zeros of outputs that are written together: pointer, begin and end.

    A block has consecutive constant zeros; or, if an array has many, all elements from the first zero to the last.
    """
    results = iter(program.results)
    for j, port in enumerate(program.outputs):
        zeros = [e for e, value in enumerate(islice(results, port.size)) if _is_zero(program.instructions[value])]
        if len(zeros) >= _CLEARED:
            yield f"%out{j}", zeros[0], zeros[-1] + 1
            continue
        for _, run in groupby(enumerate(zeros), lambda numbered: numbered[1] - numbered[0]):
            positions = [e for _, e in run]
            if len(positions) >= _MIN_ZEROS:
                yield f"%out{j}", positions[0], positions[-1] + 1


def _is_zero(instruction: Instruction) -> bool:
    return instruction.operation is CONSTANT and str(instruction.value) == "0.0"


def _write(
    f: Any,
    layout: Layout,
    k: int,
    source: Callable[[int], Position],
    sinks: Mapping[int, Sequence[Position]],
    elements: Sequence[str] = (),
) -> Callable[[int], str]:
    """Emit the instructions of a segment, and return a function that names a value.

    ``f`` is the current function, or a `BlockAssembler`.  Inputs and values of other segments are loaded at first use,
    unless the inputs' elements are named.
    """
    segment, instructions = layout.plan.segments[k], layout.program.instructions
    names: dict[int, str] = {}
    parts: dict[int, list[str]] = {}  # results of instructions of several results

    def name(value: int) -> str:
        """Return the name of a value that was computed or can be loaded."""
        if value not in names:
            operation, _, number = instructions[value]
            if operation is CONSTANT:
                names[value] = f.constant(number)
            elif operation is INPUT:
                names[value] = elements[number] if elements else f.get(*source(number))
            else:
                names[value] = f.fetch(operation, segment.reads[value])
        return names[value]

    def memory(value: int) -> Position | None:
        operation, _, number = instructions[value]
        return source(number) if operation is INPUT and not elements else None

    for value in range(segment.start, segment.stop):
        operation, args, _ = instructions[value]
        if operation is PART:
            names[value] = parts[args[0]][instructions[value].value]
        elif operation.arity < 0:
            if isinstance(f, BlockAssembler):
                raise NotSupported
            parts[value] = bundle(f, instructions[value].value, args, name, memory)
        elif operation is not CONSTANT and operation is not INPUT:
            names[value] = f.operation(operation, [name(a) for a in args])
        for pointer, position in sinks.get(value, ()):
            f.put(name(value), pointer, position)
        if value in segment.writes:
            f.keep(operation, name(value), segment.writes[value])
    return name
