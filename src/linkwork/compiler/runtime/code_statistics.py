"""Statistics of a kernel's code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.kernel import Kernel, source_and_code
from linkwork.compiler.operation_counts import listings
from linkwork.compiler.prepared_code import make_ready
from linkwork.compiler.program import FMA, FMS, FNMA
from linkwork.expr.scalar.multi_result import PART

__all__ = ["CodeStatistics", "code_statistics"]


@dataclass(frozen=True, slots=True)
class CodeStatistics:
    """Size, contents and origin of a kernel's float64 code."""

    instructions: int  # after all passes, each counted once even in loops; without inputs and constants
    fused: int  # instructions that are a product and a sum in one
    max_live_values: int  # largest number of values that are live at the same time
    segments: int  # functions of straight-line code, or blocks of it between loops
    lanes: int
    code_bytes: int
    trace_seconds: float
    seconds: float  # from the traced program to the kernel: to compile it, or to load its code from the cache
    cached: bool  # True if its code came from the cache on disk
    compile_seconds: float  # to trace and compile, possibly in the process that filled the cache


def code_statistics(kernel: Kernel) -> CodeStatistics:
    """Compile all of a kernel's code, trace it if it came from the cache, and return its statistics."""
    make_ready(kernel)
    (source, code), program = source_and_code(kernel), kernel.program
    operations = Counter(i.operation for listing in listings(program) for i in listing.instructions)
    return CodeStatistics(
        instructions=sum(count for operation, count in operations.items() if operation.arity and operation is not PART),
        fused=sum(operations[operation] for operation in (FMA, FMS, FNMA)),
        max_live_values=max(max(listing.alive()) for listing in listings(program)),
        segments=source.backend.segments(program),
        lanes=source.backend.lanes(DOUBLE),
        code_bytes=sum(size for (_, real), size in code.sizes.items() if real is DOUBLE),
        trace_seconds=source.trace_seconds,
        seconds=kernel.compile_time,
        cached=code.cached,
        compile_seconds=code.compile_seconds,
    )
