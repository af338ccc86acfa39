"""The batch loop of a short program: from arrays to registers, through the program, and back, in one function.

Values are not stored in memory between packing, the program and unpacking, and constants stay in registers; for a short
program, memory accesses would take much of the time. The operations and their order are the same as in ``@block``. The
loop handles whole vectors of contiguous samples, which must be adjacent if they have few elements; `batch_loop`
processes other samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.packing import (
    SIDE_BY_SIDE,
    pack_into_registers,
    some_beyond,
    unpack_from_registers,
)
from linkwork.compiler.codegen.runtimes import runtime_of
from linkwork.compiler.codegen.straight_line import Layout, block_on_registers

__all__ = ["TWICE", "direct_function", "is_direct"]

_SHORT = 500  # instructions; a longer program gains nothing, and compiling it twice takes long
TWICE = range(50, 160)  # instructions for which two interleaved vectors hide latency; shorter ones wait for memory
_FEW = 64  # maximum elements of all inputs, and of all outputs


def is_direct(layout: Any) -> bool:
    """Return True if a program has a `direct_function`: it is short, without loops, and has few inputs and outputs."""
    if not isinstance(layout, Layout) or layout.plan.segmented or len(layout.program.instructions) > _SHORT:
        return False
    program = layout.program
    return 0 < program.elements_in <= _FEW and 0 < sum(port.size for port in program.outputs) <= _FEW


def direct_function(layout: Layout) -> Instructions:
    """Return the LLVM function ``@direct``, which processes the whole vectors from ``first`` to ``stop``.

    ``@direct`` returns the first remaining sample. Vectors for which a guard is greater than zero are counted.
    """
    real, lanes, program = layout.real, layout.lanes, layout.program
    signature = "define internal i64 @.direct(ptr %args, ptr %steps, i64 %first, i64 %stop, ptr %data, ptr %nan)"
    f = Instructions(signature, layout.target, real, lanes, unchanging=False)
    f.end = "ret i64 %first"
    ports = [*program.inputs, *program.outputs]
    steps = [f.load("i64", f.at("%steps", 8 * j)) for j in range(len(ports))]
    usual, core = [], len(ports)
    for port, step in zip(ports, steps, strict=True):
        expected = real.bytes
        for d in range(len(port.shape) - 1, -1, -1):
            if port.shape[d] > 1:
                usual.append(f.let(f"icmp eq i64 {f.load('i64', f.at('%steps', 8 * (core + d)))}, {expected}"))
            expected *= port.shape[d]
        core += len(port.shape)
        if 0 < port.size <= SIDE_BY_SIDE:
            usual.append(f.let(f"icmp eq i64 {step}, {port.size * real.bytes}"))
    with f.when(f.all_of(usual)):
        starts = [f.load("ptr", f.at("%args", 8 * j)) for j in range(len(ports))]
        count, stop = f.let("sub i64 %stop, %first"), "%first"
        for vectors in (2, 1) if len(program.instructions) in TWICE else (1,):
            start, many = stop, f.let(f"and i64 {count}, {-lanes * vectors}")
            stop = f.let(f"add i64 %first, {many}")
            with f.loop(stop, start=start, step=lanes * vectors) as sample:
                samples = [sample, *(f.let(f"add i64 {sample}, {lanes * k}") for k in range(1, vectors))]
                arrays = [
                    [f.at(a, f.let(f"mul i64 {sample}, {step}")) for a, step in zip(starts, steps, strict=True)]
                    for sample in samples
                ]
                packed = [_packed(f, layout, pointers, steps) for pointers in arrays]
                totals = [total for _, sums in packed for total in sums]
                if totals:
                    with f.when(some_beyond(f, totals, real, lanes)):
                        f.store("i1", "true", "%nan")
                results = [block_on_registers(f, layout, elements) for elements, _ in packed]
                for pointers, result in zip(arrays, results, strict=True):
                    first_result = 0
                    for j, port in enumerate(program.outputs, len(program.inputs)):
                        columns = result[first_result : first_result + port.size]
                        unpack_from_registers(f, port, pointers[j], steps[j], columns, real, lanes)
                        first_result += port.size
                    if program.guards:
                        with f.when(_some_off(f, result[first_result:])):
                            runtime_of(layout.target).off(f)
        f.do(f"ret i64 {stop}")
        f.label("other")
    return f


def _packed(
    f: Instructions, layout: Layout, arrays: Sequence[str], steps: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Emit loads of all inputs for a vector of samples; return a vector for each element, and sums of magnitudes."""
    elements, totals = [], []
    for port, array, step in zip(layout.program.inputs, arrays, steps, strict=False):
        columns, sums = pack_into_registers(f, port, array, step, layout.real, layout.lanes)
        elements += columns
        totals += sums
    return elements, totals


def _some_off(f: Instructions, guards: Sequence[str]) -> str:
    """Return a flag that is true if any guard is greater than zero in any sample of the vector."""
    flags = [f.let(f"fcmp ogt {f.type} {guard}, {f.constant(0.0)}") for guard in dict.fromkeys(guards)]
    return f.let(f"icmp ne i{f.lanes} {f.bits(f.any_of(f.truth, flags))}, 0")
