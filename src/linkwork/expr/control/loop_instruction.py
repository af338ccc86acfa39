"""The loop as an instruction: a body that runs again and again on what it carries.

Its derivative forward is a loop that carries derivatives too; in reverse, one that runs backward over what the first
has found.  Which of the numbers carried have a derivative at all is found by going round until nothing is added.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3, 4 and 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from linkwork.errors import NotDifferentiableError
from linkwork.expr.autodiff.graph_derivative import adjoint, is_zero
from linkwork.expr.control.closure_conversion import Differentiated, keys_of
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import on_arrays, reachable, way_of
from linkwork.expr.scalar.multi_result import FunctionSpec, MultiResult, bundle_operation
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["DONE", "LOOP", "NOT_A_NUMBER", "OUT_OF_ITERATIONS", "Loop"]

LOOP = bundle_operation("loop")
DONE, OUT_OF_ITERATIONS, NOT_A_NUMBER = 0.0, 1.0, 2.0  # how a loop with a condition has ended
_MOST_KEPT = 1 << 22  # numbers of all steps together
_SHORT = 1000  # steps: where all is known, a longer loop waits until code runs nevertheless


@dataclass(frozen=True)
class Loop(MultiResult):
    """A body that is run at most so many times.

    The arguments are what it carries at first, the stacked inputs (those of each step together, ``max_iterations``
    steps) and what it takes from outside.  The body takes what is carried, the inputs of the step and what is from
    outside; it gives, if the loop is ``conditional``, whether this step is to be done, then what is carried on, and
    otherwise what is carried on and what is kept of this step.  The results are what is carried last, and all that was
    kept, or the number of steps done and the status.  A conditional loop ends where one of the first ``watched``
    numbers that it carries is NaN.
    """

    body: Region
    carried: int
    inputs: int  # numbers of each step among the stacked inputs
    kept: int  # numbers of each step that are results
    max_iterations: int
    conditional: bool = False
    backward: bool = False  # from the last step's inputs and outputs to the first's
    watched: int = 0

    operation: ClassVar[Operation] = LOOP

    def __post_init__(self) -> None:
        if self.max_iterations * self.kept > _MOST_KEPT:
            each = (
                f"{self.max_iterations} steps that keep {self.kept} number{'s' * (self.kept > 1)} each, of every sample"
            )
            raise ValueError(
                f"a loop of {each}: there is room for {_MOST_KEPT} in all; scan(..., segments=k) keeps the states of "
                f"one segment at a time for a gradient, and fewer outputs are kept by steps that return None"
            )

    @property
    def count(self) -> int:
        return self.carried + (0 if self.conditional else self.max_iterations * self.kept) + 2 * self.conditional

    def with_bodies(self, change: Callable[[Region], Region]) -> Loop:
        return replace(self, body=change(self.body))

    def split(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """What is carried at first, the stacked inputs, and what comes from outside."""
        end = self.carried + self.max_iterations * self.inputs
        return arguments[: self.carried], arguments[self.carried : end], arguments[end:]

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        state, stacked, outside = self.split(arguments)
        apply, constant = way_of(arguments)

        def run(values: Sequence[Any], step: int) -> list[Any]:
            here = stacked[step * self.inputs : (step + 1) * self.inputs]
            return self.body.run([*values, *here, *outside], apply, constant)

        if not self.conditional:
            kept: list[Any] = [None] * self.max_iterations
            for t in reversed(range(self.max_iterations)) if self.backward else range(self.max_iterations):
                result = run(state, t)
                state, kept[t] = result[: self.carried], result[self.carried :]
            return [*state, *(x for row in kept for x in row)]
        return (self._masked if apply is on_arrays else self._one_by_one)(list(state), run)

    def _one_by_one(self, state: list[Any], run: Any) -> list[Any]:
        for done in range(self.max_iterations + 1):
            if any(x != x for x in state[: self.watched]):
                return [*state, float(done), NOT_A_NUMBER]
            more, *following = run(state, 0)
            if not more:
                return [*state, float(done), DONE]
            if done < self.max_iterations:
                state = following
        return [*state, float(self.max_iterations), OUT_OF_ITERATIONS]

    def _masked(self, state: list[Any], run: Any) -> list[Any]:
        """Samples side by side: one that has ended keeps what it has."""
        going: Any = np.True_
        done: Any = np.float64(0.0)
        status: Any = np.float64(OUT_OF_ITERATIONS)
        for step in range(self.max_iterations + 1):
            missing: Any = np.False_
            for x in state[: self.watched]:
                missing = missing | np.isnan(x)
            status = np.where(going & missing, NOT_A_NUMBER, status)
            going = going & ~missing
            more, *following = run(state, 0)
            status = np.where(going & ~np.asarray(more), DONE, status)
            going = going & more
            if step == self.max_iterations or not np.any(going):
                break
            state = [np.where(going, new, old) for new, old in zip(following, state, strict=True)]
            done = done + np.where(going, 1.0, 0.0)
        return [*state, done, status]

    def pushed(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[FunctionSpec]
    ) -> list[FunctionSpec]:
        n, m, steps = self.carried, self.inputs, self.max_iterations
        state, stacked, outside = self.split(arguments)
        state_rows, stacked_rows, outside_rows = self.split(rows)
        columns = [keys_of(stacked_rows[j::m]) for j in range(m)]
        others = [list(row) for row in outside_rows]
        carried = [list(row) for row in state_rows]
        head = int(self.conditional)
        while True:
            one = Differentiated(self.body)
            found, fresh = one.pushed(one.results[head:], [*carried, *columns, *others])
            grown = [list(dict.fromkeys((*keys, *row))) for keys, row in zip(carried, found[:n], strict=True)]
            if grown == carried:
                break
            carried = grown
        x, s, c = one.inputs[:n], one.inputs[n : n + m], one.inputs[n + m :]
        ends = _ends([sum(map(len, carried)), sum(map(len, columns)), sum(map(len, others))])
        dx, ds, dc = (fresh[a:b] for a, b in ends)
        following = [found[k].get(key, 0.0) for k, keys in enumerate(carried) for key in keys]
        kept = [list(row) for row in found[n:]]
        kept_values = [row[key] for row, keys in zip(found[n:], kept, strict=True) for key in keys]
        found_results = [*one.results[: head + n], *following, *one.results[head + n :], *kept_values]
        body = Region.of(found_results, [*x, *dx, *s, *ds, *c, *dc], head)
        both = replace(self, body=body, carried=n + len(dx), inputs=m + len(ds), kept=self.kept + len(kept_values))
        given = [*state, *(row.get(key, 0.0) for row, keys in zip(state_rows, carried, strict=True) for key in keys)]
        for t in range(steps if m else 0):
            given += stacked[t * m : (t + 1) * m]
            given += [stacked_rows[t * m + j].get(key, 0.0) for j in range(m) for key in columns[j]]
        given += [*outside, *(row[key] for row in outside_rows for key in row)]
        values = _derived(both, given, arguments)
        derivatives = iter(values[n : both.carried])
        result: list[FunctionSpec] = [{key: next(derivatives) for key in keys} for keys in carried]
        if self.conditional:
            return [*result, {}, {}]
        for t in range(steps if self.kept else 0):
            here = iter(values[both.carried + t * both.kept + self.kept : both.carried + (t + 1) * both.kept])
            result += [{key: next(here) for key in keys} for keys in kept]
        return result

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        if self.conditional:
            raise NotDifferentiableError(
                "while_loop: there is no gradient in reverse through a loop of unknown length: write scan or "
                "fori_loop, "
                "whose length is known, or root, whose derivative needs no iterations; forward derivatives (tangent) "
                "there are"
            )
        n, m, kept, steps = self.carried, self.inputs, self.kept, self.max_iterations
        _, stacked, outside = self.split(arguments)
        columns = [j for j in range(kept) if not all(map(is_zero, weights[n + j :: kept]))]
        carried = [k for k in range(n) if not is_zero(weights[k])]
        while True:
            one = Differentiated(self.body)
            lent = one.more(len(carried))
            given = one.more(len(columns))
            asked = [one.results[k] for k in (*carried, *(n + j for j in columns))]
            result = adjoint(asked, one.inputs, [*lent, *given])
            grown = [k for k in range(n) if k in carried or not is_zero(result[k])]
            if grown == carried:
                break
            carried = grown
        to_inputs = [j for j in range(m) if not is_zero(result[n + j])]
        to_outside = [j for j in range(len(outside)) if not is_zero(result[n + m + j])]
        sums = one.more(len(to_outside))
        found_results = [result[k] for k in carried]
        found_results += [total + result[n + m + j] for total, j in zip(sums, to_outside, strict=True)]
        found_results += [result[n + j] for j in to_inputs]
        needed = set(reachable(found_results))
        x, s, c = (
            [j for j, symbol in enumerate(part) if symbol in needed]
            for part in (one.inputs[:n], one.inputs[n : n + m], one.inputs[n + m :])
        )
        taken: list[Symbol] = [one.inputs[j] for j in x] + [one.inputs[n + j] for j in s] + given
        body = Region.of(found_results, [*lent, *sums, *taken, *(one.inputs[n + m + j] for j in c)])
        back = Loop(body, len(lent) + len(sums), len(taken), len(to_inputs), steps, backward=not self.backward)
        history = self._history(arguments, x)
        rows: list[Any] = []
        for t in range(steps if taken else 0):
            rows += history[t * len(x) : (t + 1) * len(x)]
            rows += [stacked[t * m + j] for j in s]
            rows += [weights[n + t * kept + j] for j in columns]
        start = [weights[k] for k in carried] + [0.0] * len(sums)
        values = _derived(back, [*start, *rows, *(outside[j] for j in c)], arguments)
        gradient: list[Any] = [0.0] * len(arguments)
        for value, k in zip(values, carried, strict=False):
            gradient[k] = value
        for value, j in zip(values[len(carried) : back.carried], to_outside, strict=True):
            gradient[n + steps * m + j] = value
        for t in range(steps if to_inputs else 0):
            first = back.carried + t * back.kept
            for value, j in zip(values[first : first + back.kept], to_inputs, strict=True):
                gradient[n + t * m + j] = value
        return gradient

    def _history(self, arguments: Sequence[Any], wanted: Sequence[int]) -> Sequence[Any]:
        """Some of the numbers carried, as every step finds them, step by step."""
        if not wanted:
            return []
        one = Differentiated(self.body)
        body = Region.of([*one.results[: self.carried], *(one.inputs[k] for k in wanted)], one.inputs)
        return replace(self, body=body, kept=len(wanted))(arguments)[self.carried :]


def _derived(loop: Loop, given: Sequence[Any], arguments: Sequence[Any]) -> Sequence[Any]:
    """The results of a loop that differentiates another one of these arguments."""
    graph = None
    if loop.max_iterations > _SHORT and all(isinstance(x, (int, float)) for x in given):
        graph = next((x.graph for x in arguments if x.__class__ is Symbol), None)
    return loop(given) if graph is None else graph.bundle(loop, given)


def _ends(sizes: Sequence[int]) -> list[tuple[int, int]]:
    ends, start = [], 0
    for size in sizes:
        ends.append((start, start + size))
        start += size
    return ends
