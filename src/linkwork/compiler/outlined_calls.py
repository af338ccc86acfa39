"""Bodies that run one after the other, each as often as rows of a table say, on numbers that wait in places.

It is what a program becomes whose steps repeat (see `passes.outline`): the code of a step is there once, and a row says
which step comes next, where it takes its numbers from, which constants it has, and where it leaves its results.
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

__all__ = ["ROWS", "OutlinedCall", "Rows"]

ROWS = bundle_operation("rows")


class OutlinedCall(NamedTuple):
    """One run of a body, whose inputs are numbers from places and then constants.

    An argument's place is its number less the number of arguments, so it is negative.
    """

    body: int
    taken: tuple[int, ...]
    constants: tuple[float, ...]
    left: tuple[int, ...]  # the places of its results; none of them is one that it takes from


@dataclass(frozen=True)
class Rows(MultiResult):
    """Bodies and the rows that run them.  What is in the first so many places at the end are the results."""

    bodies: tuple[Region, ...]
    rows: tuple[OutlinedCall, ...]
    results: int
    places: int

    operation: ClassVar[Operation] = ROWS

    @property
    def count(self) -> int:
        return self.results

    @property
    def runs(self) -> list[tuple[Region, int]]:
        """Each body, and how often it runs."""
        often = Counter(row.body for row in self.rows)
        return [(body, often[k]) for k, body in enumerate(self.bodies)]

    def with_bodies(self, change: Callable[[Region], Region]) -> Rows:
        return replace(self, bodies=tuple([change(body) for body in self.bodies]))

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """The results for any kind of number: of symbols, with all steps written out."""
        return self.run(arguments, apply_operation, float)

    def evaluate(self, arguments: Sequence[Any]) -> list[Any]:
        return self.run(arguments, *numeric_mode(arguments))

    def run(self, arguments: Sequence[Any], apply: Apply, constant: Constant) -> list[Any]:
        """The results, row by row; ``apply`` and ``constant`` are those of `linkwork.expr.scalar.interpreter.run`."""
        memory: list[Any] = [None] * self.places + list(arguments)
        for body, taken, constants, left in self.rows:
            inputs = [memory[place] for place in taken] + [constant(x) for x in constants]
            for place, value in zip(left, self.bodies[body].run(inputs, apply, constant), strict=True):
                memory[place] = value
        return memory[: self.results]

    def push_forward(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Any]) -> Sequence[Any]:
        raise NotDifferentiableError("steps in rows exist only where code is made: symbols have them written out")

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        raise NotDifferentiableError("steps in rows exist only where code is made: symbols have them written out")
