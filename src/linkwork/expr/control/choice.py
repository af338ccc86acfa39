"""The choice as an instruction: one of two bodies runs, each where its side of the condition holds."""

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

__all__ = ["CHOICE", "Choice"]

CHOICE = bundle_operation("choice")


@dataclass(frozen=True)
class Choice(Bundle):
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
        if not any(isinstance(x, (np.ndarray, np.generic)) for x in arguments):
            return (self.yes if condition else self.no).run(taken, called, float)
        if np.all(condition):
            return self.yes.run(taken, on_arrays, np.float64)
        if not np.any(condition):
            return self.no.run(taken, on_arrays, np.float64)
        found = (body.run(taken, on_arrays, np.float64) for body in self.bodies)
        return [np.where(condition, a, b) for a, b in zip(*found, strict=True)]

    def pushed(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Row]) -> list[Row]:
        condition, *taken = arguments
        keys = [list(row) for row in rows[1:]]
        opened = [Differentiated(body) for body in self.bodies]
        pushed = [one.pushed(one.results, keys) for one in opened]
        found = [list(dict.fromkeys((*a, *b))) for a, b in zip(*(rows for rows, _ in pushed), strict=True)]
        bodies = [
            Region.of([row.get(key, 0.0) for row, some in zip(results, found, strict=True) for key in some],
                    [*one.inputs, *fresh])
            for one, (results, fresh) in zip(opened, pushed, strict=True)
        ]  # fmt: skip
        given = [row[key] for row, some in zip(rows[1:], keys, strict=True) for key in some]
        values = iter(Choice(*bodies)([condition, *taken, *given]))
        return [{key: next(values) for key in some} for some in found]

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        condition, *taken = arguments
        used = [k for k, weight in enumerate(weights) if not is_zero(weight)]
        found, inputs = [], []
        for body in self.bodies:
            one = Differentiated(body)
            fresh = one.more(len(used))
            found.append(adjoint([one.results[k] for k in used], one.inputs, fresh))
            inputs.append([*one.inputs, *fresh])
        wanted = [k for k in range(len(taken)) if not all(is_zero(some[k]) for some in found)]
        if not wanted:
            return [0.0] * len(arguments)
        bodies = [Region.of([some[k] for k in wanted], given) for some, given in zip(found, inputs, strict=True)]
        values = dict(zip(wanted, Choice(*bodies)([condition, *taken, *(weights[k] for k in used)]), strict=True))
        return [0.0, *(values.get(k, 0.0) for k in range(len(taken)))]
