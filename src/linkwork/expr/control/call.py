"""The call as an instruction: a body that stands in the code once, however often it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..body import Body
from ..bundle import Bundle, Row, bundle_operation
from ..interpret import called, on_arrays
from ..operations import Operation

__all__ = ["CALL", "Call"]

CALL = bundle_operation("call")


@dataclass(frozen=True)
class Call(Bundle):
    """A body that runs once on its arguments."""

    body: Body

    operation: ClassVar[Operation] = CALL

    @property
    def count(self) -> int:
        return len(self.body.results)

    @property
    def bodies(self) -> tuple[Body, ...]:
        return (self.body,)

    def with_bodies(self, change: Callable[[Body], Body]) -> Call:
        return replace(self, body=change(self.body))

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        arrays = any(isinstance(x, (np.ndarray, np.generic)) for x in arguments)
        return self.body.run(arguments, *((on_arrays, np.float64) if arrays else (called, float)))

    def pushed(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Row]) -> Sequence[Row]:
        from .derivatives import call_pushed

        return call_pushed(self, arguments, rows)

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        from .derivatives import call_pulled

        return call_pulled(self, arguments, weights)
