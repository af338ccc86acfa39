"""The call as an instruction: a body that stands in the code once, however often it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..bundle import Bundle, Row, bundle_operation
from ..derivative import adjoint, is_zero
from ..interpret import called, on_arrays
from ..operations import Operation
from ..region import Region
from .differentiated import Differentiated

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

    @property
    def bodies(self) -> tuple[Region, ...]:
        return (self.body,)

    def with_bodies(self, change: Callable[[Region], Region]) -> Subroutine:
        return replace(self, body=change(self.body))

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        arrays = any(isinstance(x, (np.ndarray, np.generic)) for x in arguments)
        return self.body.run(arguments, *((on_arrays, np.float64) if arrays else (called, float)))

    def pushed(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Row]) -> list[Row]:
        keys = [list(row) for row in rows]
        one = Differentiated(self.body)
        found, fresh = one.pushed(one.results, keys)
        body = Region.of([x for row in found for x in row.values()], [*one.inputs, *fresh])
        given = [row[key] for row, some in zip(rows, keys, strict=True) for key in some]
        values = iter(Subroutine(body)([*arguments, *given]))
        return [{key: next(values) for key in row} for row in found]

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        used = [k for k, weight in enumerate(weights) if not is_zero(weight)]
        one = Differentiated(self.body)
        fresh = one.more(len(used))
        found = adjoint([one.results[k] for k in used], one.inputs, fresh)
        wanted = [k for k, x in enumerate(found) if not is_zero(x)]
        if not wanted:
            return [0.0] * len(arguments)
        body = Region.of([found[k] for k in wanted], [*one.inputs, *fresh])
        values = dict(zip(wanted, Subroutine(body)([*arguments, *(weights[k] for k in used)]), strict=True))
        return [values.get(k, 0.0) for k in range(len(arguments))]
