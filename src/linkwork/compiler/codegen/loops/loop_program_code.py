"""Code of a program with loops: ``@block`` for vectors of samples, ``@sample`` for one, and their memory.

Both are called like the functions of straight-line programs (see `straight_line`), with a frame in place of inputs,
workspace and results: arrays are packed into the frame of a vector, and results are unpacked from the frame.

A loop with a condition runs over a tile of samples (`refill_function`). A lane whose sample is done takes the next
sample immediately. The lanes work in a separate frame: carried values and captured inputs are copied there from the
frame of a sample, and carried values are copied back when the sample's loop ends. A batch therefore costs the mean
number of iterations of its samples, and not the largest number among adjacent samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import MAX_UNROLLED, IrFunction, IrModule
from linkwork.compiler.codegen.loops.basic_blocks import INLINE, Pointers
from linkwork.compiler.codegen.loops.driver_code import ControlCode
from linkwork.compiler.codegen.loops.execution_plan import BasicBlock, Control, FrameAllocator, Scope, samples_cost
from linkwork.compiler.codegen.loops.interrupt_checks import end_if_interrupted, period_of
from linkwork.compiler.codegen.quick.block_assembler import can_assemble, object_of_blocks
from linkwork.compiler.codegen.quick.machine_code import WrittenObject
from linkwork.compiler.codegen.runtimes import runtime_of
from linkwork.compiler.codegen.straight_line import end_sample
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.program import Program
from linkwork.expr.control.loop_instruction import OUT_OF_ITERATIONS, Loop

__all__ = ["ControlLayout", "block_texts", "quick_sample_texts", "sample_texts"]


_VECTORS = 32  # of a tile of samples whose loops share lanes
_VECTORS_OF_BLOCKS = 8  # of a tile of samples that long blocks of code process in sequence
_MIN_WORK = 64  # instructions of an iteration; the cost of moving a sample into a lane
_ONE_BY_ONE = 1024  # maximum elements of an output that are copied without a table
_CACHED = 1 << 18  # [bytes] of frames that should stay in the second-level cache


def _is_refilled(step: BasicBlock | Control) -> bool:
    """Return True for a loop with a condition whose idle SIMD lanes take further samples.

    Iterations of such a loop must be long, and longer than the copies of a sample's outer inputs and tables.
    """
    if not (isinstance(step, Control) and isinstance(step.bundle, Loop) and step.bundle.conditional):
        return False
    cost = samples_cost(step.bundle.body)
    return cost >= _MIN_WORK and cost - step.bundle.body.elements_in >= len(step.outside) + len(step.scopes[0].stored)


class ControlLayout:
    """The layout of a program with loops as code for a number of lanes."""

    def __init__(
        self, program: Program, scope: Scope, room: FrameAllocator, target: Target, real: FloatType, lanes: int
    ) -> None:
        self.program, self.scope = program, scope
        self.target, self.real, self.lanes = target, real, lanes
        self.width = real.bytes * lanes
        self.slot_of = list(scope.results)
        self.guards = sorted(set(self.slot_of[len(self.slot_of) - program.guards :])) if program.guards else []
        self.frame_bytes = -(-room.size * self.width // 64) * 64
        self.in_bytes = self.out_bytes = self.frame_bytes
        refilled = [k for k, step in enumerate(scope.steps) if lanes > 1 and _is_refilled(step)]
        most = _VECTORS if refilled else _VECTORS_OF_BLOCKS if lanes > 1 and not _short(scope) else 1
        self.vectors = max(1, min(most, _CACHED // max(self.frame_bytes, 1)))
        self.refilled = refilled if self.vectors > 1 else []  # the steps that are loops with refilled lanes
        self.bytes = self.frame_bytes * (self.vectors + bool(self.refilled))

    @property
    def cost(self) -> float:
        """Approximate number of instructions for a sample."""
        return samples_cost(self.program)

    def at(self, f: IrFunction, start: str) -> tuple[str, str, str]:
        """Return the frame's address ``start`` three times: for inputs, workspace and results.

        All of them are stored in slots of the frame.
        """
        return start, start, start


def block_texts(layout: ControlLayout, new_text: Callable[[], IrModule]) -> list[IrModule]:
    """Return the LLVM modules of ``@block(in, work, out, vectors)``, which runs the program on ``vectors`` frames.

    A frame is the memory of one vector of samples.  Frames are processed in sequence.
    """
    code = ControlCode(new_text, layout.target, layout.real, layout.lanes, "block")
    f = code.function("define void @.block(ptr %in, ptr %work, ptr %out, i64 %vectors)")
    inline = _short(layout.scope)
    steps = layout.scope.steps
    for group in _together(layout, inline):
        step = steps[group.start]
        if group.start in layout.refilled and isinstance(step, Control):
            name = refill_function(code, step, layout.frame_bytes, layout.vectors)
            f.do(f"call void {name}(ptr %in, i64 %vectors)")
            continue
        with f.loop("%vectors") as vector:
            frame = f.at("%in", f.let(f"mul i64 {vector}, {layout.frame_bytes}"))
            code.run(f, layout.scope, group, Pointers(frame), code.all_lanes, inline=inline)
    code.main.add(f)
    return [code.main, *code.further_texts]


def _together(layout: ControlLayout, inline: bool) -> Iterator[slice]:
    """Yield slices of the program's steps; all steps of a slice run for a vector before the next vector.

    A slice ends before and after each loop with refilled lanes.  If the steps are not inline, each step is a slice.
    """
    count, start = len(layout.scope.steps), 0
    for k in range(count):
        alone = not inline or k in layout.refilled
        if (alone or k + 1 == count or k + 1 in layout.refilled) and start <= k:
            yield slice(start, k + 1)
            start = k + 1


def sample_texts(layout: ControlLayout, new_text: Callable[[], IrModule]) -> list[IrModule]:
    """Return the modules of ``@sample(in..., out...)``: one sample on contiguous arrays.

    It returns 0, `NO_MEMORY` or `OFF`. An output may also be an input, since inputs are copied first.
    """
    code = ControlCode(new_text, layout.target, layout.real, 1, "sample")
    _write_sample(code, layout)
    return [code.main, *code.further_texts]


def quick_sample_texts(layout: ControlLayout, new_text: Callable[[], IrModule]) -> list[IrModule | WrittenObject]:
    """Return the modules of ``@sample``, which computes one sample, for fast compilation.

    Blocks of straight-line code are written without LLVM, where possible.
    """
    code = ControlCode(new_text, layout.target, layout.real, 1, "sample")
    code.assembled = [] if can_assemble(layout.target, layout.real) else None
    code.in_lanes = False
    _write_sample(code, layout)
    return [code.main, *code.further_texts, *(object_of_blocks(code.main, code.assembled) if code.assembled else ())]


def _write_sample(code: ControlCode, layout: ControlLayout) -> None:
    program, real = layout.program, layout.real
    outputs = [f"%out{j}" for j in range(len(program.outputs))]
    runtime = runtime_of(layout.target)
    arguments = [*(f"%in{j}" for j in range(len(program.inputs))), *outputs, *runtime.sample_arguments]
    f = code.function(f"define i32 @.sample({', '.join(f'ptr {x}' for x in arguments)})")
    size = layout.bytes + code.room(layout.scope, layout.bytes)
    runtime.state_memory(code.main, "sample", size)
    frame, taken = runtime.memory(f, size, "%memory")
    if taken:
        f.require(f.let(f"icmp ne ptr {taken}, null"), "none")
    start = 0
    for j, port in enumerate(program.inputs):
        _copied(f, real, f.at(frame, start * real.bytes), f"%in{j}", port.size)
        start += port.size
    code.run(f, layout.scope, slice(None), Pointers(frame), code.all_lanes, inline=_short(layout.scope))
    start = 0
    for out, port in zip(outputs, program.outputs, strict=True):
        slots = layout.slot_of[start : start + port.size]
        runs = _runs(slots)
        one_by_one = sum(count for *_, count in runs if count <= MAX_UNROLLED)
        if len(runs) > MAX_UNROLLED or one_by_one > _ONE_BY_ONE:
            _gathered(f, real, out, frame, slots)
            runs = []
        for first, slot, distance, count in runs:
            _copied(f, real, f.at(out, first * real.bytes), f.at(frame, slot * real.bytes), count, distance)
        start += port.size
    end_sample(f, layout, frame, taken)
    code.main.add(f)


def _short(scope: Scope) -> bool:
    """Return True if the straight-line code between loops is short enough for one function."""
    return sum(step.stop - step.start for step in scope.steps if isinstance(step, BasicBlock)) <= INLINE


def _runs(slots: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Split slots into runs of equal distance, as tuples (index of the first, first slot, distance, count)."""
    runs: list[tuple[int, int, int, int]] = []
    for k, slot in enumerate(slots):
        if runs:
            first, start, distance, count = runs[-1]
            if count == 1 or slot == start + distance * count:
                runs[-1] = first, start, slot - start if count == 1 else distance, count + 1
                continue
        runs.append((k, slot, 1, 1))
    return runs


def _gathered(f: Instructions, real: FloatType, out: str, frame: str, slots: Sequence[int]) -> None:
    """Emit a copy of the frame's numbers at ``slots`` to adjacent positions at ``out``."""
    table = f"@.sample.from_{out[1:]}"
    offsets = ", ".join([f"i32 {slot * real.bytes}" for slot in slots])
    f.declare(f"{table} = internal constant [{len(slots)} x i32] [{offsets}]")
    with f.loop(len(slots)) as k:
        slot = f.load("i32", f.at(table, f.let(f"shl i64 {k}, 2")), 4)
        x = f.load(real.name, f.at(frame, f.let(f"zext i32 {slot} to i64")), real.bytes)
        f.store(real.name, x, f.at(out, f.let(f"shl i64 {k}, {real.shift}")), real.bytes)


def _copied(f: Instructions, real: FloatType, to: str, source: str, count: int, distance: int = 1) -> None:
    """Emit a copy of ``count`` numbers, ``distance`` apart at ``source``, to adjacent positions at ``to``."""
    if count > MAX_UNROLLED:
        with f.loop(count) as k:
            offset = f.let(f"shl i64 {k}, {real.shift}")
            taken = offset if distance == 1 else f.let(f"mul i64 {k}, {distance * real.bytes}")
            f.store(real.name, f.load(real.name, f.at(source, taken), real.bytes), f.at(to, offset), real.bytes)
        return
    for start in range(0, count * real.bytes, real.bytes):
        x = f.load(real.name, f.at(source, start * distance), real.bytes)
        f.store(real.name, x, f.at(to, start), real.bytes)


_IDLE = 4  # lanes for each idle one before lanes are refilled, which costs more than an idle iteration


def refill_function(code: ControlCode, step: Control, frame_bytes: int, vectors: int) -> str:
    """Write an LLVM function ``(frames, vectors)`` that runs a loop for all samples of the frames; return its name.

    A frame is the memory of one vector of samples. A lane whose sample has ended takes the next sample. One more frame,
    after the maximum number of frames, is the working memory.
    """
    loop: Loop = step.bundle
    (scope,) = step.scopes
    carried = range(step.results, step.results + loop.carried)
    into, back = code.name("taken"), code.name("given")
    code.main.add(_take_function(code, into, [*carried, *step.outside]))
    code.main.add(_give_function(code, back, range(step.results, step.results + loop.carried + 2)))
    name = code.name("refill")
    f = code.function(f"define internal void {name}(ptr %frames, i64 %vectors)")
    last_frame = f.at("%frames", vectors * frame_bytes)
    work = _Lanes(code, f, step, last_frame, frame_bytes)
    at, inline = Pointers(last_frame), code.inline(scope)
    with f.loop(code.lanes) as lane:
        work.take(lane, into)
    f.store(code.mask, "0", work.active)
    work.begin(code.all_lanes)
    period, steps = period_of(loop, code.target, vectors * code.lanes), ["0"]
    with f.repeat(["i64"] if period else [], steps if period else None) as leave:
        if period:
            end_if_interrupted(f, period, steps[0], leave)
        code.head(f, step, work.active, at, inline)
        active = f.load(code.mask, work.active)
        idle = code.without(f, f.load(code.mask, work.busy), active)
        enough = work.enough(idle, active)
        with f.when(enough):
            work.exchange(idle, into, back)
            f.require(f.let(f"icmp ne {code.mask} {f.load(code.mask, work.busy)}, 0"), leave)
        with f.unless(enough):  # new samples start with the condition
            code.step(f, step, work.active, at, inline)
        if period:
            steps[0] = f.let(f"add i64 {steps[0]}, 1")
    code.main.add(f)
    return name


def _take_function(code: ControlCode, name: str, slots: Sequence[int]) -> IrFunction:
    """Return the function that copies slots of one sample into one lane of a frame.

    Whole vectors are loaded and stored, since a load of a vector shortly after the store of one of its numbers is slow.
    """
    f = code.function(f"define internal void {name}(ptr noalias %from, ptr noalias %to, {code.mask} %lane)")
    f.attributes = "noinline #0"
    lane = f.lanes_of("%lane")

    def copy(offset: str | int) -> None:
        number = f.load(code.real.name, f.at("%from", offset), code.real.bytes)
        f.put_in(lane, f.splat(number), f.at("%to", offset), 0)

    _each(f, name, [slot * code.width for slot in slots], copy)
    return f


def _give_function(code: ControlCode, name: str, slots: Sequence[int]) -> IrFunction:
    """Return the LLVM function that copies slots of one lane of the working frame to the frame of its sample."""
    f = code.function(f"define internal void {name}(ptr noalias %from, ptr noalias %to)")
    f.attributes = "noinline #0"
    real = code.real

    def copy(offset: str | int) -> None:
        f.store(real.name, f.load(real.name, f.at("%from", offset), real.bytes), f.at("%to", offset), real.bytes)

    _each(f, name, [slot * code.width for slot in slots], copy)
    return f


def _each(f: IrFunction, name: str, offsets: Sequence[int], copy: Callable[[str | int], None]) -> None:
    """Emit ``copy(offset)`` for each offset, or a loop over a table of offsets if there are many."""
    if len(offsets) <= MAX_UNROLLED:
        for offset in offsets:
            copy(offset)
        return
    table = f"{name}.places"
    f.declare(f"{table} = internal constant [{len(offsets)} x i64] [{', '.join(f'i64 {x}' for x in offsets)}]")
    with f.loop(len(offsets)) as k:
        copy(f.load("i64", f.at(table, f.let(f"shl i64 {k}, 3"))))


class _Lanes:
    """Code that records which sample each SIMD lane computes, and which lanes have a sample."""

    def __init__(self, code: ControlCode, f: Instructions, step: Control, last_frame: str, frame_bytes: int) -> None:
        self.code, self.f, self.step, self.last_frame, self.frame_bytes = code, f, step, last_frame, frame_bytes
        self.sample = f.let(f"alloca [{code.lanes} x ptr], align 8")  # of each lane: the sample's address in its frame
        self.active, self.busy, self.fresh = (f.let(f"alloca {code.mask}, align 8") for _ in range(3))
        self.next, self.idle = (f.let(f"alloca {kind}, align 8") for kind in ("i64", code.mask))
        f.store("i64", "0", self.next)
        f.store(code.mask, code.all_lanes, self.busy)
        self.total = f.let(f"mul i64 %vectors, {code.lanes}")

    def take(self, lane: str, into: str) -> None:
        """Emit the assignment of the next sample to a lane."""
        f, code = self.f, self.code
        sample = f.load("i64", self.next)
        f.store("i64", f.let(f"add i64 {sample}, 1"), self.next)
        frame = f.let(f"mul i64 {f.let(f'udiv i64 {sample}, {code.lanes}')}, {self.frame_bytes}")
        offset = f.let(f"mul i64 {f.let(f'urem i64 {sample}, {code.lanes}')}, {code.real.bytes}")
        address = f.at(f.at("%frames", frame), offset)
        f.store("ptr", address, f.at(self.sample, f.let(f"shl i64 {lane}, 3")))
        bit = f.let(f"shl {code.mask} 1, {f.let(f'trunc i64 {lane} to {code.mask}')}")
        f.do(f"call void {into}(ptr {address}, ptr {self.last_frame}, {code.mask} {bit})")

    def begin(self, fresh: str) -> None:
        """Emit the initial status of the loop for the lanes of the mask ``fresh``, which have a new sample."""
        f = self.f
        done, status = self.step.ending
        lanes = f.lanes_of(fresh)
        for slot, value in ((done, 0.0), (status, OUT_OF_ITERATIONS)):
            f.put_in(lanes, f.constant(value), self.last_frame, slot)
        mask = self.code.mask
        active = f.load(mask, self.active)
        f.store(mask, fresh, self.active)
        self.code.end_where_any_nan(f, self.step, self.active, self.last_frame)
        f.store(mask, f.let(f"or {mask} {f.load(mask, self.active)}, {active}"), self.active)

    def enough(self, idle: str, active: str) -> str:
        """Return a flag that is true if enough lanes are idle to give them new samples, or no lane is active."""
        f, mask = self.f, self.code.mask
        f.declare(f"declare {mask} @llvm.ctpop.{mask}({mask})")
        count = f.let(f"call {mask} @llvm.ctpop.{mask}({mask} {idle})")
        many = f.let(f"icmp uge {mask} {count}, {max(self.code.lanes // _IDLE, 1)}")
        nobody = f.let(f"icmp eq {mask} {active}, 0")
        return f.any_of("i1", [many, nobody])

    def exchange(self, idle: str, into: str, back: str) -> None:
        """Emit code that copies results out of idle lanes and, while samples remain, new samples into these lanes."""
        f, code = self.f, self.code
        mask = code.mask
        f.declare(f"declare {mask} @llvm.cttz.{mask}({mask}, i1)")
        f.store(mask, idle, self.idle)
        f.store(mask, "0", self.fresh)
        with f.repeat() as done:
            left = f.load(mask, self.idle)
            f.require(f.let(f"icmp ne {mask} {left}, 0"), done)
            number = f.let(f"call {mask} @llvm.cttz.{mask}({mask} {left}, i1 true)")
            bit = f.let(f"shl {mask} 1, {number}")
            f.store(mask, f.let(f"xor {mask} {left}, {bit}"), self.idle)
            lane = f.let(f"zext {mask} {number} to i64")
            address = f.load("ptr", f.at(self.sample, f.let(f"shl i64 {lane}, 3")))
            column = f.at(self.last_frame, f.let(f"mul i64 {lane}, {code.real.bytes}"))
            f.do(f"call void {back}(ptr {column}, ptr {address})")
            more = f.let(f"icmp ult i64 {f.load('i64', self.next)}, {self.total}")
            with f.when(more):
                self.take(lane, into)
                f.store(mask, f.let(f"or {mask} {f.load(mask, self.fresh)}, {bit}"), self.fresh)
            with f.unless(more):
                f.store(mask, f.let(f"xor {mask} {f.load(mask, self.busy)}, {bit}"), self.busy)
        self.begin(f.load(mask, self.fresh))
