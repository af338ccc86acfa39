"""Checks for signals, and releases of the GIL, inside long loops.

Code of a loop calls the function `SYMBOL`, which returns true if the loop must end.  There are so many iterations
between two calls that their cost is negligible. A loop that takes at most `BUDGET` instructions has no such call. The
function is not part of a kernel's code: a process loads it once, and stores the address of the process's `Interrupts`
beside it.
"""

from __future__ import annotations

from linkwork.compiler.codegen.interrupt_functions import attend_function
from linkwork.compiler.codegen.llvm_ir import IrFunction, IrModule
from linkwork.compiler.codegen.runtimes import runtime_of
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.compiler.runtime.interrupts import ADDRESS, SYMBOL
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.linalg.matrix_product import MatrixInstruction
from linkwork.expr.scalar.block import InstructionList, bodies_of, once_per_list
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = ["BUDGET", "attention_text", "end_if_interrupted", "period_of"]

BUDGET = 1 << 18  # instructions between two checks, for one sample or vector: some 80 microseconds
_DECLARATION = f"declare i1 @{SYMBOL}()"


def attention_text(target: Target) -> str:
    """Return the LLVM IR of the function that long loops call to check for signals.

    After it is loaded, the address of `Interrupts` is stored in its variable `ADDRESS`.
    """
    f = IrFunction(f"define i1 @{SYMBOL}()", "noinline #0", end="ret i1 %ended")
    f.needs.append(attend_function(target.system))
    f.declare(f"@{ADDRESS} = global ptr null")
    f.do(f"%ended = call i1 @.attend(ptr {f.load('ptr', f'@{ADDRESS}')})")
    text = IrModule(SYMBOL)
    text.add(f)
    return f'target triple = "{target.triple}"\n{text}\nattributes #0 = {{ nounwind }}\n'


def period_of(loop: Loop, target: Target, times: int = 1) -> int:
    """Return the number of iterations between two checks for signals, a power of two; 0 for a short loop.

    ``times`` is how often the whole loop is run. If a target's caller has no signals, there are no checks.
    """
    step = max(_longest(loop.body), 1.0)
    if not runtime_of(target).attends or loop.max_iterations * times * step <= BUDGET:
        return 0
    return 1 << max(int(BUDGET / step).bit_length() - 1, 0)


def end_if_interrupted(f: IrFunction, period: int, count: str, leave: str) -> None:
    """Emit a check for signals, done at every ``period``-th ``count``; branch to ``leave`` if the work has to end."""
    f.declare(_DECLARATION)
    if period == 1:
        f.refuse(f.let(f"call i1 @{SYMBOL}()"), leave)
        return
    turn = f.let(f"and i64 {count}, {period - 1}")
    with f.when(f.let(f"icmp eq i64 {turn}, {period - 1}")):
        f.refuse(f.let(f"call i1 @{SYMBOL}()"), leave)


@once_per_list
def _longest(listing: InstructionList) -> float:
    """Return the maximum number of instructions between two checks for signals, in a run of ``listing``.

    A loop with its own checks counts as `BUDGET`.
    """
    total = float(len(listing.instructions))
    for instruction in listing.instructions:
        if instruction.operation is PART or instruction.operation.lowering.kind != "bundle":
            continue
        bundle = instruction.value
        if isinstance(bundle, Loop):
            total += min(bundle.max_iterations * _longest(bundle.body), float(BUDGET))
        elif isinstance(bundle, OutlinedCalls):
            total += sum(times * _longest(body) for body, times in bundle.runs)
        elif isinstance(bundle, MatrixInstruction):
            total += sum(bundle.operations.values())
        elif isinstance(bundle, MultiResult):
            total += sum(map(_longest, bodies_of(bundle)))
    return total
