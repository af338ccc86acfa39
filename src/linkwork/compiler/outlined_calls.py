"""Outlined calls: a table of calls of bodies, which run in sequence on values stored in slots.

A program with repeated steps is transformed to this form (see `linkwork.compiler.passes.outline`): the code
of a step exists once, and an entry of the table states which body runs next, the slots of its inputs, its constants,
and the slots of its results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from linkwork.errors import NotDifferentiableError
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import Apply, Constant, apply_operation, numeric_mode
from linkwork.expr.scalar.multi_result import MultiResult, bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = ["OUTLINED_CALLS", "OutlinedCall", "OutlinedCalls"]

_COMPILED_ONLY = "outlined calls exist only in optimized programs: differentiate the program as it was traced"

OUTLINED_CALLS = bundle_operation("outlined_calls")


class OutlinedCall(NamedTuple):
    """One call of a body; the body's inputs are values in slots, then constants.

    An argument's slot is its index minus the number of arguments, so it is negative.
    """

    body: int
    inputs: tuple[int, ...]
    constants: tuple[float, ...]
    outputs: tuple[int, ...]  # the slots of its results; none of them is an input slot


@dataclass(frozen=True)
class OutlinedCalls(MultiResult):
    """Bodies and the calls that run them. The first ``results`` slots hold the results at the end."""

    bodies: tuple[Region, ...]
    calls: tuple[OutlinedCall, ...]
    results: int
    slots: int

    operation: ClassVar[Operation] = OUTLINED_CALLS

    @property
    def count(self) -> int:
        return self.results

    @property
    def runs(self) -> list[tuple[Region, int]]:
        """Pairs of a body and the number of its calls."""
        counts = Counter(call.body for call in self.calls)
        return [(body, counts[k]) for k, body in enumerate(self.bodies)]

    def with_bodies(self, change: Callable[[Region], Region]) -> OutlinedCalls:
        return replace(self, bodies=tuple([change(body) for body in self.bodies]))

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the results for any kind of scalar; for symbols all steps are expanded."""
        return self.run(arguments, apply_operation, float)

    def evaluate(self, arguments: Sequence[Any]) -> list[Any]:
        return self.run(arguments, *numeric_mode(arguments))

    def run(self, arguments: Sequence[Any], apply: Apply, constant: Constant) -> list[Any]:
        """Return the results of the bodies' calls, which are evaluated one after the other on these arguments.

        ``apply`` receives an instruction and the values of its arguments; ``constant`` converts a number to a value.
        """
        memory: list[Any] = [None] * self.slots + list(arguments)
        for body, inputs, constants, outputs in self.calls:
            values = [memory[slot] for slot in inputs] + [constant(x) for x in constants]
            for slot, value in zip(outputs, self.bodies[body].run(values, apply, constant), strict=True):
                memory[slot] = value
        return memory[: self.results]

    def push_forward(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Any]) -> Sequence[Any]:
        raise NotDifferentiableError(_COMPILED_ONLY)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        raise NotDifferentiableError(_COMPILED_ONLY)
