"""The loop as an instruction: a body that runs again and again on what it carries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..body import Body
from ..bundle import Bundle, Row, bundle_operation
from ..interpret import called, on_arrays
from ..operations import Operation

__all__ = ["DONE", "LOOP", "NOT_A_NUMBER", "OUT_OF_ITERATIONS", "Loop"]

LOOP = bundle_operation("loop")
DONE, OUT_OF_ITERATIONS, NOT_A_NUMBER = 0.0, 1.0, 2.0  # how a loop with a condition has ended


@dataclass(frozen=True)
class Loop(Bundle):
    """A body that is run at most so many times.

    The arguments are what it carries at first, the stacked inputs (those of each step together, ``at_most`` steps) and
    what it takes from outside.  The body takes what is carried, the inputs of the step and what is from outside; it
    gives, if the loop is ``conditional``, whether this step is to be done, then what is carried on, and otherwise what
    is carried on and what is kept of this step.  The results are what is carried last, and all that was kept, or the
    number of steps done and the status.  A conditional loop ends where one of the first ``watched`` numbers that it
    carries is NaN.
    """

    body: Body
    carried: int
    inputs: int  # numbers of each step among the stacked inputs
    kept: int  # numbers of each step that are results
    at_most: int
    conditional: bool = False
    backward: bool = False  # from the last step's inputs and outputs to the first's
    watched: int = 0

    operation: ClassVar[Operation] = LOOP

    @property
    def count(self) -> int:
        return self.carried + (0 if self.conditional else self.at_most * self.kept) + 2 * self.conditional

    def with_bodies(self, change: Callable[[Body], Body]) -> Loop:
        return replace(self, body=change(self.body))

    def split(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """What is carried at first, the stacked inputs, and what comes from outside."""
        end = self.carried + self.at_most * self.inputs
        return arguments[: self.carried], arguments[self.carried : end], arguments[end:]

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        state, stacked, outside = self.split(arguments)
        arrays = any(isinstance(x, (np.ndarray, np.generic)) for x in arguments)
        apply, constant = (on_arrays, np.float64) if arrays else (called, float)

        def run(values: Sequence[Any], step: int) -> list[Any]:
            here = stacked[step * self.inputs : (step + 1) * self.inputs]
            return self.body.run([*values, *here, *outside], apply, constant)

        if not self.conditional:
            kept: list[Any] = [None] * self.at_most
            for t in reversed(range(self.at_most)) if self.backward else range(self.at_most):
                found = run(state, t)
                state, kept[t] = found[: self.carried], found[self.carried :]
            return [*state, *(x for row in kept for x in row)]
        return self._masked(list(state), run) if arrays else self._one_by_one(list(state), run)

    def _one_by_one(self, state: list[Any], run: Any) -> list[Any]:
        for done in range(self.at_most + 1):
            if any(x != x for x in state[: self.watched]):
                return [*state, float(done), NOT_A_NUMBER]
            more, *following = run(state, 0)
            if not more:
                return [*state, float(done), DONE]
            if done < self.at_most:
                state = following
        return [*state, float(self.at_most), OUT_OF_ITERATIONS]

    def _masked(self, state: list[Any], run: Any) -> list[Any]:
        """Samples side by side: one that has ended keeps what it has."""
        going: Any = np.True_
        done: Any = np.float64(0.0)
        status: Any = np.float64(OUT_OF_ITERATIONS)
        for step in range(self.at_most + 1):
            missing: Any = np.False_
            for x in state[: self.watched]:
                missing = missing | np.isnan(x)
            status = np.where(going & missing, NOT_A_NUMBER, status)
            going = going & ~missing
            more, *following = run(state, 0)
            status = np.where(going & ~np.asarray(more), DONE, status)
            going = going & more
            if step == self.at_most or not np.any(going):
                break
            state = [np.where(going, new, old) for new, old in zip(following, state, strict=True)]
            done = done + np.where(going, 1.0, 0.0)
        return [*state, done, status]

    def pushed(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Row]) -> Sequence[Row]:
        from .loop_derivatives import loop_pushed

        return loop_pushed(self, arguments, rows)

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        from .loop_derivatives import loop_pulled

        return loop_pulled(self, arguments, weights)
