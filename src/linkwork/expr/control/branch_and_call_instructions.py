"""The choice as an instruction: one of two bodies runs, each where its side of the condition holds.

The call as an instruction: a body that stands in the code once, however often it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from linkwork.expr.control.closure_conversion import pulled, pushed
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import way_of
from linkwork.expr.scalar.multi_result import FunctionSpec, MultiResult, bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = ["CALL", "CHOICE", "Choice", "Subroutine"]


CHOICE = bundle_operation("choice")


@dataclass(frozen=True)
class Choice(MultiResult):
    """Two bodies of the same arguments, of which the first runs where a condition holds, and else the second.

    The arguments are the condition and what the bodies take, both all of it.
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

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        condition, *taken = arguments
        way = way_of(arguments)
        if np.all(condition):
            return self.yes.run(taken, *way)
        if not np.any(condition):
            return self.no.run(taken, *way)
        result = (body.run(taken, *way) for body in self.bodies)
        return [np.where(condition, a, b) for a, b in zip(*result, strict=True)]

    def pushed(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[FunctionSpec]
    ) -> list[FunctionSpec]:
        bodies, given, result = pushed(self.bodies, rows[1:])
        values = iter(Choice(*bodies)([*arguments, *given]))
        return [{key: next(values) for key in some} for some in result]

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        bodies, given, wanted = pulled(self.bodies, weights)
        values = Choice(*bodies)([*arguments, *given]) if wanted else ()
        gradient: list[Any] = [0.0] * len(arguments)
        for k, value in zip(wanted, values, strict=True):
            gradient[1 + k] = value
        return gradient


CALL = bundle_operation("call")


@dataclass(frozen=True)
class Subroutine(MultiResult):
    """A body that runs once on its arguments."""

    body: Region

    operation: ClassVar[Operation] = CALL

    @property
    def count(self) -> int:
        return len(self.body.results)

    def with_bodies(self, change: Callable[[Region], Region]) -> Subroutine:
        return replace(self, body=change(self.body))

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return self.body.run(arguments, *way_of(arguments))

    def pushed(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[FunctionSpec]
    ) -> list[FunctionSpec]:
        bodies, given, result = pushed([self.body], rows)
        values = iter(Subroutine(*bodies)([*arguments, *given]))
        return [{key: next(values) for key in some} for some in result]

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        bodies, given, wanted = pulled([self.body], weights)
        values = Subroutine(*bodies)([*arguments, *given]) if wanted else ()
        gradient: list[Any] = [0.0] * len(arguments)
        for k, value in zip(wanted, values, strict=True):
            gradient[k] = value
        return gradient
