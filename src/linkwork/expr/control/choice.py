"""The choice as an instruction: one of two bodies runs, each where its side of the condition holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..body import Body
from ..bundle import Bundle, Row, bundle_operation
from ..interpret import called, on_arrays
from ..operations import Operation

__all__ = ["CHOICE", "Choice"]

CHOICE = bundle_operation("choice")


@dataclass(frozen=True)
class Choice(Bundle):
    """Two bodies of the same arguments, of which the first runs where a condition holds, and else the second.

    The arguments are the condition and what the bodies take, both all of it.
    """

    yes: Body
    no: Body

    operation: ClassVar[Operation] = CHOICE

    @property
    def count(self) -> int:
        return len(self.yes.results)

    @property
    def bodies(self) -> tuple[Body, ...]:
        return self.yes, self.no

    def kinds(self, arguments: int) -> str:
        return "t" + "n" * (arguments - 1)

    def with_bodies(self, change: Callable[[Body], Body]) -> Choice:
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

    def pushed(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Row]) -> Sequence[Row]:
        from .derivatives import choice_pushed

        return choice_pushed(self, arguments, rows)

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        from .derivatives import choice_pulled

        return choice_pulled(self, arguments, weights)
