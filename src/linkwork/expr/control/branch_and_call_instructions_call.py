"""The call as an instruction: a body that stands in the code once, however often it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from linkwork.expr.control.closure_conversion_differentiated import pulled, pushed
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import way_of
from linkwork.expr.scalar.multi_result import Bundle, Row, bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = ["CALL", "Subroutine"]

CALL = bundle_operation("call")


@dataclass(frozen=True)
class Subroutine(Bundle):
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

    def pushed(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Row]) -> list[Row]:
        bodies, given, found = pushed([self.body], rows)
        values = iter(Subroutine(*bodies)([*arguments, *given]))
        return [{key: next(values) for key in some} for some in found]

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        bodies, given, wanted = pulled([self.body], weights)
        values = Subroutine(*bodies)([*arguments, *given]) if wanted else ()
        gradient: list[Any] = [0.0] * len(arguments)
        for k, value in zip(wanted, values, strict=True):
            gradient[k] = value
        return gradient
