"""Branch and call as instructions with bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from linkwork.expr.autodiff.masked_terms import terms_of_body
from linkwork.expr.control.closure_conversion import forward_bodies, reverse_bodies, rows_of_body
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import numeric_mode
from linkwork.expr.scalar.multi_result import MultiResult, SparseRow, bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = ["CALL", "CHOICE", "Choice", "Subroutine"]


CHOICE = bundle_operation("choice")


@dataclass(frozen=True)
class Choice(MultiResult):
    """Branch: the first of two bodies runs where a condition is true, the second elsewhere.

    The arguments are the condition and the inputs of the bodies, which both accept all of them.
    """

    yes: Region
    no: Region

    operation: ClassVar[Operation] = CHOICE

    @property
    def count(self) -> int:
        return len(self.yes.results)

    @property
    def bodies(self) -> tuple[Region, ...]:
        return self.yes, self.no

    def kinds(self, arguments: int) -> str:
        return "t" + "n" * (arguments - 1)

    def with_bodies(self, change: Callable[[Region], Region]) -> Choice:
        return replace(self, yes=change(self.yes), no=change(self.no))

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        condition, *inputs = arguments
        mode = numeric_mode(arguments)
        if np.all(condition):
            return self.yes.run(inputs, *mode)
        if not np.any(condition):
            return self.no.run(inputs, *mode)
        result = (body.run(inputs, *mode) for body in self.bodies)
        return [np.where(condition, a, b) for a, b in zip(*result, strict=True)]

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> list[SparseRow]:
        bodies, inputs, keys = forward_bodies(self.bodies, rows[1:])
        return rows_of_body(iter(Choice(*bodies)([*arguments, *inputs])), keys)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        bodies, inputs, indices = reverse_bodies(self.bodies, weights)
        values = Choice(*bodies)([*arguments, *inputs]) if indices else ()
        gradient: list[Any] = [0.0] * len(arguments)
        for k, term in zip(indices, terms_of_body(iter(values), indices.values()), strict=True):
            gradient[1 + k] = term
        return gradient


CALL = bundle_operation("call")


@dataclass(frozen=True)
class Subroutine(MultiResult):
    """Call instruction: a list of instructions that runs once on the call's arguments.

    Its code is stored once, however often it is called.
    """

    body: Region

    operation: ClassVar[Operation] = CALL

    @property
    def count(self) -> int:
        return len(self.body.results)

    def with_bodies(self, change: Callable[[Region], Region]) -> Subroutine:
        return replace(self, body=change(self.body))

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return self.body.run(arguments, *numeric_mode(arguments))

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> list[SparseRow]:
        bodies, inputs, keys = forward_bodies([self.body], rows)
        return rows_of_body(iter(Subroutine(*bodies)([*arguments, *inputs])), keys)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        bodies, inputs, indices = reverse_bodies([self.body], weights)
        values = Subroutine(*bodies)([*arguments, *inputs]) if indices else ()
        gradient: list[Any] = [0.0] * len(arguments)
        for k, term in zip(indices, terms_of_body(iter(values), indices.values()), strict=True):
            gradient[k] = term
        return gradient
