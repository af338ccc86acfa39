"""About how much work a program with loops is: instructions, those in loops as often as they may run."""

from __future__ import annotations

from linkwork.compiler.outlined_calls import Rows
from linkwork.compiler.program import SINCOS
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.table_access import PUT
from linkwork.expr.linalg.frontal_elimination import FrontElimination
from linkwork.expr.scalar.block import Listing, bodies_of
from linkwork.expr.scalar.multi_result import PART, Bundle

__all__ = ["samples_cost"]

_USUAL = 16  # steps of a loop with a condition, if it may do more
_FUNCTION = 20  # instructions of an elementary function


def samples_cost(listing: Listing) -> float:
    """The instructions that a sample takes, where loops with a condition do the usual number of steps."""
    total = 0.0
    for instruction in listing.instructions:
        if instruction.operation is PART and listing.instructions[instruction.args[0]].operation is PUT:
            continue  # a number that stays where it is, as a rule
        total += 1.0
        if instruction.operation.lowering.kind == "vector" or instruction.operation is SINCOS:
            total += _FUNCTION
        bundle = instruction.value
        if isinstance(bundle, Loop):
            times = min(bundle.at_most, _USUAL) if bundle.conditional else bundle.at_most
            total += times * samples_cost(bundle.body)
        elif isinstance(bundle, Rows):
            total += sum(times * samples_cost(body) for body, times in bundle.runs)
        elif isinstance(bundle, FrontElimination):
            total += sum(bundle.operations.values())
        elif isinstance(bundle, Bundle):
            total += sum(map(samples_cost, bodies_of(bundle)))
    return total
