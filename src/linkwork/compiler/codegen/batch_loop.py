"""The loop over a batch of samples, in LLVM IR.

``@range`` processes a few vectors of samples at a time: it packs them (see `packing`), calls ``@block`` and unpacks the
results. ``@loop`` has the signature of NumPy's inner loops: (char **args, npy_intp *dimensions, npy_intp *steps, void
*data), where the core dimensions' strides follow the outer ones; ``data`` is a `State`. A large batch is shared between
threads (see `shared_batch`). A sample's result does not depend on any of this.

The processor's floating-point flags are preserved (see `save_flags`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linkwork.compiler.codegen.float_type import DOUBLE, vector
from linkwork.compiler.codegen.llvm_ir import MAX_UNROLLED, IrFunction, IrModule
from linkwork.compiler.codegen.loops.loop_program_code import ControlLayout
from linkwork.compiler.codegen.nontemporal_stores import STREAMED, is_streamed
from linkwork.compiler.codegen.packing import SIDE_BY_SIDE, packing, packing_functions
from linkwork.compiler.codegen.register_loop import direct_function, is_direct
from linkwork.compiler.codegen.runtimes import NO_MEMORY, OFF, runtime_of
from linkwork.compiler.codegen.shared_batch import (
    begin_notes,
    has_failed,
    note_failure,
    range_memory,
    sharing_functions,
)
from linkwork.compiler.codegen.straight_line import (
    Layout,
    guards_exceeded,
    sample_declaration,
)
from linkwork.compiler.port import Port
from linkwork.compiler.runtime.loop_state import FEW, Call, State

__all__ = ["SampleLayout", "few_function", "loop_function"]

_MIN_THREAD_WORK = 80_000.0  # [ns] of work for a thread, whose start takes some 10 000
_CHECK_INTERVAL = 1_000_000.0  # [ns] of work between two checks of the time for signals
_SHARED = 8  # elements of an input from which on equal inputs of all samples are detected


class SampleLayout:
    """Memory layout of code that computes a batch one sample at a time: one sample's inputs, then its results."""

    def __init__(self, layout: Layout | ControlLayout) -> None:
        self.program, self.target, self.real, self.cost = layout.program, layout.target, layout.real, layout.cost
        self.lanes = self.vectors = 1
        self.width = self.real.bytes
        inputs, outputs = (sum(port.size for port in ports) for ports in (self.program.inputs, self.program.outputs))
        self.slot_of, self.guards = [*range(outputs)], list[int]()
        self.in_bytes, self.out_bytes = (-(-count * self.width // 64) * 64 for count in (inputs, outputs))
        self.bytes = self.in_bytes + self.out_bytes

    def at(self, f: IrFunction, start: str) -> tuple[str, str, str]:
        """Return the addresses of inputs, workspace and results in a block of memory that begins at ``start``."""
        return start, start, f.at(start, self.in_bytes)


AnyLayout = Layout | ControlLayout | SampleLayout


def loop_function(text: IrModule, layout: AnyLayout) -> None:
    """Add ``@loop`` and the functions that it calls.

    Other modules define ``@block`` and, for few samples, ``@sample``.
    """
    packing_functions(text, layout)
    if is_direct(layout):
        assert isinstance(layout, Layout)
        text.add(direct_function(layout))
    text.add(_range(layout))
    runtime = runtime_of(layout.target)
    runtime.state_memory(text, "loop", layout.bytes)
    f = IrFunction(f"define {runtime.result} @.loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data)")
    with _loop_frame(f, layout) as (n, arrays, scalar):
        if not isinstance(layout, SampleLayout):
            f.declare("declare void @.block(ptr, ptr, ptr, i64)")
        with f.when(scalar):
            arrays.sample_by_sample(n)
        with f.unless(scalar):
            streamed = _streamed(f, layout, n)
            thread_count, long = "1", f.let(f"icmp ugt i64 {n}, {_samples_in(_CHECK_INTERVAL, layout)}")
            if runtime.threads:
                allowed = f.load("i64", f.load("ptr", f.at("%data", State.threads.offset)))
                useful = f.let(f"udiv i64 {n}, {_samples_in(_MIN_THREAD_WORK, layout)}")
                fewer = f.let(f"icmp ult i64 {useful}, {allowed}")
                thread_count = f.let(f"select i1 {fewer}, i64 {useful}, i64 {allowed}")
                long = f.any_of("i1", [long, f.let(f"icmp ugt i64 {thread_count}, 1")])
            with f.when(long):
                samples = f"i64 {n}, i64 {thread_count}"
                f.do(f"call void @.spread(ptr %args, ptr %steps, {samples}, ptr %data, ptr %nan, i1 {streamed})")
            with f.unless(long):
                whole = f"i64 0, i64 {n}, ptr %data, ptr %nan, i1 {streamed}"
                with range_memory(f, layout.bytes, "%data", runtime) as start:
                    f.do(f"call void @.range(ptr %args, ptr %steps, {whole}, ptr {start})")
        _end_of_batch(f, layout, n)
    tile = layout.lanes * layout.vectors
    longest = _samples_in(_CHECK_INTERVAL, layout)
    for function in (*runtime.functions(), *sharing_functions(tile, longest, layout.bytes, runtime), f):
        text.add(function)


def few_function(text: IrModule, layout: Layout | ControlLayout) -> None:
    """Add ``@few``, the loop for calls with few samples, which uses only the code for one sample.

    It passes all other calls to the function in the kernel's `State`, which compiles ``@loop``. Another module defines
    ``@sample``.
    """
    f = IrFunction("define void @.few(ptr %args, ptr %dimensions, ptr %steps, ptr %data)")
    with _loop_frame(f, layout) as (n, arrays, scalar):
        with f.unless(scalar):
            state = State.double_loop if layout.real is DOUBLE else State.float_loop
            loop = f.load("ptr", f.at("%data", state.offset))
            f.do(f"call void {loop}(ptr %args, ptr %dimensions, ptr %steps, ptr %data)")
        with f.when(scalar):
            arrays.sample_by_sample(n)
            _end_of_batch(f, layout, n)
    for function in (*runtime_of(layout.target).functions(), f):
        text.add(function)


@contextmanager
def _loop_frame(f: IrFunction, layout: AnyLayout) -> Iterator[tuple[str, _Arrays, str]]:
    """Emit the beginning and the end of a function that is called with a batch.

    Yields the number of samples, their arrays, and a flag that is true if the scalar code computes the samples.  If the
    work was ended, the code in the ``with`` statement is not run.
    """
    runtime = runtime_of(layout.target)
    f.declare(sample_declaration(layout.program, runtime.sample_arguments))
    begin_notes(f)
    n = f.load("i64", "%dimensions")
    arrays = _Arrays(f, layout)
    end = runtime.begin_call(f, layout.target)
    yield n, arrays, f.all_of([f.let(f"icmp slt i64 {n}, {FEW}"), *arrays.whole, *arrays.apart()])
    f.do("br label %end")
    f.label("end")
    end()


def _end_of_batch(f: IrFunction, layout: AnyLayout, n: str) -> None:
    """Emit the checks after ``n`` samples, for signals and for inputs that were not finite."""
    runtime = runtime_of(layout.target)
    runtime.end_batch(f, n, _samples_in(_CHECK_INTERVAL, layout))
    with f.when(f.load("i1", "%nan")):
        runtime.count(f, Call.not_finite_calls)
    with f.when(has_failed(f)):
        runtime.failed(f)


class _Arrays:
    """The arrays of a batch: address, step between samples, address of strides, and whether samples are contiguous."""

    def __init__(self, f: IrFunction, layout: AnyLayout) -> None:
        self.f, self.layout = f, layout
        self.inputs, self.outputs = layout.program.inputs, layout.program.outputs
        self.unused_inputs = [j if unused else None for j, unused in enumerate(layout.program.unused)]
        self.start, self.steps, self.strides, self.whole = [], [], [], []
        ports = [*self.inputs, *self.outputs]
        core = len(ports)
        for j, port in enumerate(ports):
            self.start.append(f.load("ptr", f.at("%args", 8 * j)))
            self.steps.append(f.load("i64", f.at("%steps", 8 * j)))
            self.strides.append(f.at("%steps", 8 * core))
            core += len(port.shape)
            expected, flags = layout.real.bytes, []
            for d in range(len(port.shape) - 1, -1, -1):
                if port.shape[d] > 1:
                    stride = f.load("i64", f.at(self.strides[-1], 8 * d))
                    flags.append(f.let(f"icmp eq i64 {stride}, {expected}"))
                expected *= port.shape[d]
            self.whole.append(f.all_of(flags))

    def apart(self) -> list[str]:
        """Emit comparisons of each input's address with each output's; return the flags, true if they differ.

        NumPy copies operands that overlap, except an array that is both input and output. A block reads all its samples
        before it writes results, but the scalar code may read an element after it has written a result.
        """
        f, many = self.f, len(self.inputs)
        return [f.let(f"icmp ne ptr {x}, {y}") for x in self.start[:many] for y in self.start[many:]]

    def pack(self, first: str, left: str, buffer: str, again: str) -> None:
        """Emit the packing of a vector of samples from index ``first``; ``left`` samples remain.

        If ``again`` is true, the buffer was packed before, and already has the inputs that are equal for all samples.
        """
        f, offset = self.f, 0
        for j, port in enumerate(self.inputs):
            into = f.at(buffer, offset)
            if port.size < _SHARED:
                self._move("pack", j, port, first, left, into, "%nan")
            else:
                same = f.let(f"icmp eq i64 {self.steps[j]}, 0")
                with f.unless(f.all_of([again, same])):
                    self._move("pack", j, port, first, left, into, "%nan")
            offset += self.layout.width * port.size

    def unpack(self, first: str, left: str, buffer: str) -> None:
        """Emit the unpacking of the results of a vector of samples."""
        for j, port in enumerate(self.outputs):
            self._move("unpack", len(self.inputs) + j, port, first, left, buffer, f"@.slots{j}")

    def _move(self, operation: str, j: int, port: Port, first: str, left: str, buffer: str, last: str) -> None:
        """Emit a call that packs or unpacks array ``j`` of a vector of samples.

        ``operation`` names what is done, and ``last`` is the last argument of the called function.
        """
        f, lanes = self.f, self.layout.lanes
        array = f.at(self.start[j], f.let(f"mul i64 {first}, {self.steps[j]}"))
        if lanes > 1:
            full = f.let(f"icmp sge i64 {left}, {lanes}")
            at_once = f.all_of([full, self.whole[j]])
            with f.when(at_once):
                self._move_at_once(operation, j, port, buffer, array, last)
            with f.unless(at_once):
                count = f.let(f"select i1 {full}, i64 {lanes}, i64 {left}")
                self._move_slowly(operation, j, port, buffer, array, count, last)
        else:
            self._move_slowly(operation, j, port, buffer, array, "1", last)

    def _move_at_once(self, operation: str, j: int, port: Port, buffer: str, array: str, last: str) -> None:
        """Emit a call that packs or unpacks a whole vector of contiguous samples of one array."""
        f = self.f
        arguments = f"(ptr {buffer}, ptr {array}, i64 {self.steps[j]}, ptr {last})"
        own_index = self.unused_inputs[j] if operation == "pack" else None
        if 0 < port.size <= SIDE_BY_SIDE:
            adjacent = f.let(f"icmp eq i64 {self.steps[j]}, {port.size * self.layout.real.bytes}")
            with f.when(adjacent):
                f.do(f"call void {packing(f'{operation}_side_by_side', port)}{arguments}")
            with f.unless(adjacent):
                f.do(f"call void {packing(operation, port, own_index)}{arguments}")
        elif operation == "unpack" and is_streamed(port):
            with f.when("%streamed"):
                f.do(f"call void {packing('unpack_streamed', port)}{arguments}")
            with f.unless("%streamed"):
                f.do(f"call void {packing(operation, port)}{arguments}")
        else:
            f.do(f"call void {packing(operation, port, own_index)}{arguments}")

    def _move_slowly(self, operation: str, j: int, port: Port, buffer: str, array: str, count: str, last: str) -> None:
        """Emit a call that packs or unpacks ``count`` samples of one array, with any strides."""
        self.f.do(
            f"call void {packing(f'{operation}_slowly', port)}(ptr {buffer}, ptr {array}, i64 {self.steps[j]}, "
            f"i64 {count}, ptr {self.strides[j]}, ptr {last})"
        )

    def sample_by_sample(self, n: str) -> None:
        """Emit a loop that calls ``@sample``, the code without vectors, for each of ``n`` contiguous samples."""
        f, real = self.f, self.layout.real
        lent = runtime_of(self.layout.target).lent(f, self.layout.bytes)
        with f.loop(n) as sample:
            at = [f.at(a, f.let(f"mul i64 {sample}, {s}")) for a, s in zip(self.start, self.steps, strict=True)]
            status = f.let(f"call i32 @.sample({', '.join(f'ptr {a}' for a in (*at, *lent))})")
            _count_status(f, self.layout, status)
            arrays: list[tuple[str, int]] = []
            for port, array in zip(self.inputs, at, strict=False):
                if port.size > MAX_UNROLLED:
                    with f.loop(port.size) as element:
                        address = f.at(array, f.let(f"shl i64 {element}, {real.shift}"))
                        x = f.load(real.name, address, real.bytes)
                        with f.when(f.not_finite(real, 1, [x])):
                            f.store("i1", "true", "%nan")
                    continue
                arrays.append((array, port.size))
            if any(size for _, size in arrays):
                with f.when(f.any_not_finite(real, arrays)):
                    f.store("i1", "true", "%nan")


def _range(layout: AnyLayout) -> IrFunction:
    """Return the LLVM function ``@range``, which processes the samples from ``first`` to ``stop``.

    ``memory`` has the bytes of the layout (see `range_memory`).
    """
    lanes = layout.lanes
    f = IrFunction(
        "define internal void @.range(ptr %args, ptr %steps, i64 %first, i64 %stop, ptr %data, ptr %nan, i1 %streamed, "
        "ptr %memory)",
        "noinline #0",
    )
    into, work, out = layout.at(f, "%memory")
    first = "%first"
    if is_direct(layout):
        arguments = "ptr %args, ptr %steps, i64 %first, i64 %stop, ptr %data, ptr %nan"
        first = f.let(f"call i64 @.direct({arguments})")
    arrays = _Arrays(f, layout)
    block = f"call void @.block(ptr {into}, ptr {work}, ptr {out}, i64"
    with f.loop("%stop", start=first, step=lanes * layout.vectors) as sample:
        left = f.let(f"sub i64 %stop, {sample}")
        again = f.let(f"icmp ne i64 {sample}, {first}")
        if isinstance(layout, SampleLayout):
            arrays.pack(sample, left, into, again)
            positions = [*_array_positions(f, layout, into, out), *runtime_of(layout.target).lent(f, layout.bytes)]
            status = f.let(f"call i32 @.sample({', '.join(f'ptr {x}' for x in positions)})")
            _count_status(f, layout, status)
            arrays.unpack(sample, left, out)
        elif layout.vectors == 1:
            arrays.pack(sample, left, into, again)
            f.do(f"{block} 1)")
            arrays.unpack(sample, left, out)
            _count_guards(f, layout, out)
        else:
            less = f.let(f"icmp slt i64 {left}, {lanes * layout.vectors}")
            count = f.let(f"select i1 {less}, i64 {left}, i64 {lanes * layout.vectors}")
            with f.loop(count, step=lanes) as k:
                buffer = f.at(into, f.let(f"mul i64 {f.let(f'udiv i64 {k}, {lanes}')}, {layout.in_bytes}"))
                arrays.pack(f.let(f"add i64 {sample}, {k}"), f.let(f"sub i64 {left}, {k}"), buffer, again)
            vectors = f.let(f"udiv i64 {f.let(f'add i64 {count}, {lanes - 1}')}, {lanes}")
            f.do(f"{block} {vectors})")
            with f.loop(count, step=lanes) as k:
                buffer = f.at(out, f.let(f"mul i64 {f.let(f'udiv i64 {k}, {lanes}')}, {layout.out_bytes}"))
                arrays.unpack(f.let(f"add i64 {sample}, {k}"), f.let(f"sub i64 {left}, {k}"), buffer)
                _count_guards(f, layout, buffer)
    if any(is_streamed(port) for port in layout.program.outputs):
        with f.when("%streamed"):
            f.do("fence seq_cst")  # non-temporal stores are not ordered with other stores
    return f


def _streamed(f: IrFunction, layout: AnyLayout, n: str) -> str:
    """Emit a comparison of the number ``n`` of samples; the flag is true if their results exceed the caches."""
    per_sample = layout.real.bytes * sum(port.size for port in layout.program.outputs)
    return f.let(f"icmp uge i64 {n}, {STREAMED // max(per_sample, 1)}")


def _samples_in(time: float, layout: AnyLayout) -> int:
    """Return the estimated number of samples that are computed in ``time`` [ns].

    A machine instruction, which works on all lanes of a vector, counts as 0.3 ns.
    """
    sample = 0.3 * (layout.cost + 20) / layout.lanes
    return max(int(time / sample), layout.lanes * layout.vectors, 1)


def _array_positions(f: IrFunction, layout: SampleLayout, into: str, out: str) -> list[str]:
    """Return the addresses of the arrays of one sample: inputs in sequence at ``into``, outputs at ``out``."""
    positions = []
    for start, ports in ((into, layout.program.inputs), (out, layout.program.outputs)):
        offset = 0
        for port in ports:
            positions.append(f.at(start, offset))
            offset += port.size * layout.width
    return positions


def _count_status(f: IrFunction, layout: AnyLayout, status: str) -> None:
    """Emit code that counts calls of ``@sample`` that failed (no memory) or in which a guard is greater than zero.

    ``status`` is the value that ``@sample`` returned.
    """
    for meaning, note in ((NO_MEMORY, note_failure), (OFF, runtime_of(layout.target).off)):
        if meaning != OFF or layout.program.guards:
            with f.when(f.let(f"icmp eq i32 {status}, {meaning}")):
                note(f)


def _count_guards(f: IrFunction, layout: AnyLayout, results: str) -> None:
    """Emit code that increments a counter if a guard is greater than zero in any sample of the vector.

    A guard is a hidden result of the program; a value greater than zero asks the caller to check the arguments.
    """
    if layout.guards:
        lanes = layout.lanes
        mask = vector("i1", lanes)
        off = f.any_of(mask, guards_exceeded(f, layout, results))
        bits = f.let(f"bitcast {mask} {off} to i{lanes}")
        with f.when(f.let(f"icmp ne i{lanes} {bits}, 0")):
            runtime_of(layout.target).off(f)
