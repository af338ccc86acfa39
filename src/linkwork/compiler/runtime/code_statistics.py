"""What people may want to know of a kernel's code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.kernel import Kernel, made_from, make_ready
from linkwork.compiler.operation_counts import listings
from linkwork.compiler.program import FMA, FMS, FNMA
from linkwork.expr.scalar.multi_result import PART

__all__ = ["CodeStatistics", "code_facts"]


@dataclass(frozen=True, slots=True)
class CodeStatistics:
    """Of a kernel's code for float64: how much there is of what, and where it came from."""

    instructions: int  # after all passes, each once, however often it runs; inputs and constants left out
    fused: int  # instructions that are a product and a sum
    most_alive: int  # values that are computed already and needed still, where there are most of them
    segments: int  # functions of straight-line code, or pieces of it between loops
    lanes: int
    code_bytes: int
    trace_seconds: float
    seconds: float  # to make the kernel of what was traced: to compile it, or to find its code in the cache
    cached: bool  # whether its code came from the cache on disk
    compile_seconds: float  # to trace and compile, perhaps in the process that filled the cache


def code_facts(kernel: Kernel) -> CodeStatistics:
    """The facts of a kernel, all of whose code is compiled for them, and traced where it came from the cache."""
    make_ready(kernel)
    (source, code), program = made_from(kernel), kernel.program
    operations = Counter(i.operation for listing in listings(program) for i in listing.instructions)
    return CodeStatistics(
        instructions=sum(count for operation, count in operations.items() if operation.arity and operation is not PART),
        fused=sum(operations[operation] for operation in (FMA, FMS, FNMA)),
        most_alive=max(max(listing.alive()) for listing in listings(program)),
        segments=source.backend.pieces(program),
        lanes=source.backend.lanes(DOUBLE),
        code_bytes=sum(size for (_, real), size in code.sizes.items() if real is DOUBLE),
        trace_seconds=source.trace_seconds,
        seconds=kernel.compile_time,
        cached=code.cached,
        compile_seconds=code.compile_seconds,
    )
