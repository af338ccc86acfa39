"""What people may want to know of a kernel's code."""

from __future__ import annotations

from dataclasses import dataclass

from .kernel import Kernel, made_from, make_ready
from .program import FMA, FMS, FNMA
from .real import DOUBLE
from .segments import plan

__all__ = ["CodeFacts", "code_facts"]


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """Of a kernel's code for float64: how much there is of what, and where it came from."""

    instructions: int  # after all passes; inputs and constants left out
    fused: int  # instructions that are a product and a sum
    most_alive: int  # values that are computed already and needed still, where there are most of them
    segments: int
    lanes: int
    code_bytes: int
    trace_seconds: float
    seconds: float  # to make the kernel of what was traced: to compile it, or to find its code in the cache
    cached: bool  # whether its code came from the cache on disk
    compile_seconds: float  # to trace and compile, perhaps in the process that filled the cache


def code_facts(kernel: Kernel) -> CodeFacts:
    """The facts of a kernel, all of whose code is compiled for them, and traced where it came from the cache."""
    make_ready(kernel)
    (source, code), program = made_from(kernel), kernel.program
    operations = program.operations
    return CodeFacts(
        instructions=sum(operations.values()),
        fused=sum(operations.get(operation.name, 0) for operation in (FMA, FMS, FNMA)),
        most_alive=max(program.alive()),
        segments=len(plan(program).segments),
        lanes=source.target.lanes_of(DOUBLE),
        code_bytes=sum(size for (_, real), size in code.sizes.items() if real is DOUBLE),
        trace_seconds=source.trace_seconds,
        seconds=kernel.compile_time,
        cached=code.cached,
        compile_seconds=code.compile_seconds,
    )
