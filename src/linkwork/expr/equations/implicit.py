"""What is given by an equation: a rule of differentiation, and the iteration that solves it.

From r(x, p) = 0 follows dx = −J⁻¹ ∂r/∂p dp, with J = ∂r/∂x at the solution; in reverse, with Jᵀλ = x̄, p̄ = −(∂r/∂p)ᵀλ.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..control.differentiated import Differentiated
from ..control.loop import NOT_A_NUMBER
from ..control.loops import while_loop
from ..derivative import adjoint, jacobian, tangent
from ..functions import and_, eq, fabs, fmax, lt, or_, where
from ..linalg.methods import METHODS
from ..linalg.solving import Solve
from ..linalg.sums import is_zero, negated, rows_of, transposed
from ..region import Region
from ..rules import Rule, ruled

__all__ = ["SINGULAR", "Correction", "Implicit", "corrected", "iterated", "solved"]

SINGULAR = 3.0  # a status, besides those of loops
_NEAR = 1e-4  # steps below this that do not get smaller are rounding

Correction = tuple[Sequence[Any], Any]  # what to take off, and 0 or the status with which it ends


def solved(rows: Sequence[Sequence[Any]], column: Sequence[Any]) -> tuple[list[Any], Any]:
    """The solution of linear equations, and whether there was none: 0, or more."""
    n = len(column)
    found = ruled(Solve("root", METHODS["gen"], n, 1, told=True), [*(x for row in rows for x in row), *column])
    return found[:n], found[n]


def corrected(values: Sequence[Any], rows: Sequence[Sequence[Any]] | None) -> Correction:
    """What to take off x, where the residual has these values and the Jacobian these rows, if it is asked for one."""
    total = _added(values)
    wrong = where(eq(total, total), 0.0, NOT_A_NUMBER)
    if rows is None:
        return [-r for r in values], wrong
    found, status = solved(rows, values)
    return found, where(and_(eq(wrong, 0.0), lt(0.0, status)), SINGULAR, wrong)


def iterated(
    correction: Callable[[Sequence[Any]], Correction], start: Sequence[Any], most: int, tolerance: float
) -> tuple[list[Any], Any, Any]:
    """The last x, the number of steps, and the status."""

    def more(state: Any) -> Any:
        _, moved, before, _ = state
        return and_(lt(tolerance, moved), or_(lt(_NEAR, moved), lt(moved, before)))

    def step(state: Any) -> Any:
        x, before, _, _ = state
        change, status = correction(x)
        fine = and_(eq(status, 0.0), lt(_added([fabs(d) for d in change]), math.inf))
        moved: Any = 0.0
        for a, d in zip(x, change, strict=True):
            moved = fmax(moved, fabs(d) / (1.0 + fabs(a)))
        x = tuple(where(fine, a - d, a) for a, d in zip(x, change, strict=True))
        status = where(or_(fine, lt(0.0, status)), status, NOT_A_NUMBER)
        return x, where(fine, moved, 0.0), before, status

    found = while_loop(more, step, (tuple(start), math.inf, math.inf, 0.0), at_most=most)
    x, _, _, wrong = found.state
    return list(x), found.iterations, where(eq(wrong, 0.0), found.status, wrong)


@dataclass(frozen=True)
class Implicit(Rule):
    """x with r(x, p) = 0, from a start: inputs are the start and p, results x, the number of steps and the status."""

    body: Region  # r of x and p
    unknowns: int
    at_most: int
    tolerance: float
    plain: bool  # r is how much further a step goes, and is added to x

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        n = self.unknowns
        given = inputs[n:]

        def correction(x: Sequence[Any]) -> Correction:
            if self.plain:
                return corrected(self.body.run([*x, *given]), None)
            found = self._linear.run([*x, *given])
            return corrected(found[:n], rows_of(found[n:], n))

        x, done, status = iterated(correction, inputs[:n], self.at_most, self.tolerance)
        return [*x, done, status], []

    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        n = self.unknowns
        if all(map(is_zero, direction[n:])):
            return [0.0] * len(results)
        at = [*results[:n], *inputs[n:]]
        change = self._pushed.run([*at, *direction[n:]])
        return [*solved(self._jacobian(at), [-x for x in change])[0], 0.0, 0.0]

    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        n = self.unknowns
        if all(map(is_zero, weights[:n])):
            return [0.0] * len(inputs)
        at = [*results[:n], *inputs[n:]]
        pulled, _ = solved(transposed(self._jacobian(at)), weights[:n])
        return [*[0.0] * n, *negated([self._pulled.run([*at, *pulled])])[0]]

    def _jacobian(self, at: Sequence[Any]) -> list[list[Any]]:
        n = self.unknowns
        return rows_of(self._linear.run(at)[n:], n)

    @cached_property
    def _linear(self) -> Region:
        """The residual and its Jacobian by x, row by row."""
        one = Differentiated(self.body)
        rows = jacobian(one.results, one.inputs[: self.unknowns])
        return Region.of([*one.results, *(x for row in rows for x in row)], one.inputs)

    @cached_property
    def _pushed(self) -> Region:
        """The residual's change where x stays, by that of p, which is taken last."""
        one = Differentiated(self.body)
        fresh = one.more(len(one.inputs) - self.unknowns)
        return Region.of(tangent(one.results, one.inputs[self.unknowns :], fresh), [*one.inputs, *fresh])

    @cached_property
    def _pulled(self) -> Region:
        """The gradient by p of the residual's product with numbers that are taken last."""
        one = Differentiated(self.body)
        fresh = one.more(self.unknowns)
        return Region.of(adjoint(one.results, one.inputs[self.unknowns :], fresh), [*one.inputs, *fresh])


def _added(numbers: Sequence[Any]) -> Any:
    total: Any = 0.0
    for x in numbers:
        total = total + x
    return total
