"""The loop over a batch of a short program: from arrays to registers, through the program, and back, in one function.

Nothing waits in memory between packing, the program and unpacking, and constants stay in registers, for what these take
is much of the time of a short program.  The operations are those of ``@block``, in the same order.  It is for whole
vectors of samples that are contiguous, and one behind the other where they have few numbers; the others go the ordinary
way (see `loops`).
"""

from __future__ import annotations

from collections.abc import Sequence

from .control.layout import ControlLayout
from .llvm import Instructions
from .packing import SIDE_BY_SIDE, pack_into_registers, some_not_finite, unpack_from_registers
from .straight import Layout, block_on_registers

__all__ = ["direct_function", "is_direct"]

_SHORT = 500  # instructions: what a longer program takes is its own, and compiling it twice takes long
_FEW = 64  # numbers that go in, and that come out


def is_direct(layout: Layout | ControlLayout) -> bool:
    """Whether there is such a function."""
    if isinstance(layout, ControlLayout) or layout.plan.segmented or len(layout.program.instructions) > _SHORT:
        return False
    program = layout.program
    return 0 < program.elements_in <= _FEW and 0 < sum(port.size for port in program.outputs) <= _FEW


def direct_function(layout: Layout, off_calls: int) -> Instructions:
    """``@direct``: the whole vectors of the samples from ``first`` to ``stop``; it returns the first sample left.

    Vectors for which a guard is greater than zero are counted so many bytes into ``data``.
    """
    real, lanes, program = layout.real, layout.lanes, layout.program
    signature = "define internal i64 @.direct(ptr %args, ptr %steps, i64 %first, i64 %stop, ptr %data, ptr %nan)"
    f = Instructions(signature, layout.target, real, lanes, unchanging=False)
    f.end = "ret i64 %first"
    inputs = range(len(program.inputs))
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
        many = f.let(f"and i64 {f.let('sub i64 %stop, %first')}, {-lanes}")
        stop = f.let(f"add i64 %first, {many}")
        with f.loop(stop, start="%first", step=lanes) as sample:
            arrays = [
                f.at(start, f.let(f"mul i64 {sample}, {step}")) for start, step in zip(starts, steps, strict=True)
            ]
            elements, totals = [], []
            for j in inputs:
                columns, sums = pack_into_registers(f, ports[j], arrays[j], steps[j], real, lanes)
                elements += columns
                totals += sums
            if totals:
                with f.when(some_not_finite(f, totals, real, lanes)):
                    f.store("i1", "true", "%nan")
            results = block_on_registers(f, layout, elements)
            start = 0
            for j, port in enumerate(program.outputs, len(program.inputs)):
                unpack_from_registers(f, port, arrays[j], steps[j], results[start : start + port.size], real, lanes)
                start += port.size
            if program.guards:
                with f.when(_some_off(f, results[start:])):
                    f.let(f"atomicrmw add ptr {f.at('%data', off_calls)}, i64 1 monotonic")
        f.do(f"ret i64 {stop}")
        f.label("other")
    return f


def _some_off(f: Instructions, guards: Sequence[str]) -> str:
    """Whether some guard is greater than zero, of some sample."""
    flags = [f.let(f"fcmp ogt {f.type} {guard}, {f.constant(0.0)}") for guard in dict.fromkeys(guards)]
    return f.let(f"icmp ne i{f.lanes} {f.bits(f.any_of(f.truth, flags))}, 0")
