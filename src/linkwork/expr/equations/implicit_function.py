"""What an equation of traced operations determines: the iteration that solves it, differentiated by the equation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.expr.autodiff.custom_derivative import ruled
from linkwork.expr.autodiff.implicit_derivative import ImplicitDerivative, Solution
from linkwork.expr.control.closure_conversion import Residual
from linkwork.expr.control.loop_instruction import NOT_A_NUMBER
from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.factorizations import METHODS
from linkwork.expr.linalg.linear_solve import Solve
from linkwork.expr.linalg.sparse_dot import dot, negated, rows_of, transposed
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, le, lt, not_, or_, where

__all__ = ["SINGULAR", "Correction", "Implicit", "corrected", "iterated", "solved"]

SINGULAR = 3.0  # a status, besides those of loops
_NEAR = 1e-4  # steps below this that do not get smaller are rounding
_ROUNDING = 1e-10  # of those that shrink fast: below this what is no half is rounding
_SMALL = 1e-8  # steps below this are taken whole: what is found along them is rounding
_LEFT = 0.5  # of what a step begins with: what may be left along it, on either side
_HALVINGS = 40

Correction = tuple[Sequence[Any], Any]  # what to take off, and 0 or the status with which it ends


def solved(rows: Sequence[Sequence[Any]], column: Sequence[Any]) -> tuple[list[Any], Any]:
    """The solution of linear equations, and whether there was none: 0, or more."""
    n = len(column)
    result = ruled(Solve("root", METHODS["gen"], n, 1, told=True), [*(x for row in rows for x in row), *column])
    return result[:n], result[n]


def corrected(values: Sequence[Any], rows: Sequence[Sequence[Any]] | None) -> Correction:
    """What to take off x, where the residual has these values and the Jacobian these rows, if it is asked for one."""
    total = _added(values)
    wrong = where(eq(total, total), 0.0, NOT_A_NUMBER)
    if rows is None:
        return [-r for r in values], wrong
    result, status = solved(rows, values)
    return result, where(and_(eq(wrong, 0.0), lt(0.0, status)), SINGULAR, wrong)


def iterated(
    correction: Callable[[Sequence[Any]], Correction],
    start: Sequence[Any],
    most: int,
    tolerance: float,
    residual: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
) -> tuple[list[Any], Any, Any]:
    """The last x, the number of steps, and the status.

    With a ``residual`` steps are cut short where it says that they lead too far.
    """

    def more(state: Any) -> Any:
        _, moved, before, _ = state
        less = lt(moved, before)
        if residual is not None:  # whose steps shrink fast, until they are rounding
            less = and_(less, or_(lt(_ROUNDING, moved), lt(2.0 * moved, before)))
        return and_(lt(tolerance, moved), or_(lt(_NEAR, moved), less))

    def step(state: Any) -> Any:
        x, before, _, _ = state
        change, status = correction(x)
        fine = and_(eq(status, 0.0), lt(_added([fabs(d) for d in change]), math.inf))
        moved: Any = 0.0
        for a, d in zip(x, change, strict=True):
            moved = fmax(moved, fabs(d) / (1.0 + fabs(a)))
        if residual is not None:
            share = _share(residual, x, change, and_(fine, lt(_SMALL, moved)))
            change = [share * d for d in change]
            moved = where(lt(share, 1.0), fmax(moved, 2.0 * _NEAR), moved)  # which does not end it
        x = tuple(where(fine, a - d, a) for a, d in zip(x, change, strict=True))
        status = where(or_(fine, lt(0.0, status)), status, NOT_A_NUMBER)
        return x, where(fine, moved, 0.0), before, status

    result = while_loop(more, step, (tuple(start), math.inf, math.inf, 0.0), max_iterations=most)
    x, _, _, wrong = result.state
    return list(x), result.iterations, where(eq(wrong, 0.0), result.status, wrong)


def _share(
    residual: Callable[[Sequence[Any]], Sequence[Any]], x: Sequence[Any], change: Sequence[Any], asked: Any
) -> Any:
    """How much of a step is taken where it is ``asked``: all of it, or as far as g(s) = δᵀ r(x − s δ) is near zero.

    Of r that grows with x, as the gradient of a convex function does, g falls from g(0) > 0 along each of Newton's
    steps, and its zero is where that function is least: so whatever bends r, no step leads farther away.  Where g does
    not begin above zero the step is taken whole.
    """

    def left(share: Any) -> Any:
        return dot(change, residual([a - share * d for a, d in zip(x, change, strict=True)]))

    first = dot(change, residual(x))
    first = where(and_(asked, lt(0.0, first)), first, 0.0)
    most = _LEFT * first

    def beyond(g: Any) -> Any:
        return not_(le(-most, g))  # what is no number is too far, too

    def more(state: Any) -> Any:
        share, g, _, _ = state
        return or_(beyond(g), and_(lt(share, 1.0), lt(most, g)))

    def halved(state: Any) -> Any:
        share, g, low, high = state
        far = beyond(g)
        low, high = where(far, low, share), where(far, share, high)
        share = 0.5 * (low + high)
        return share, left(share), low, high

    whole = where(lt(0.0, first), left(1.0), 0.0)
    return while_loop(more, halved, (1.0, whole, 0.0, 1.0), max_iterations=_HALVINGS).state[0]


@dataclass(frozen=True)
class Implicit(ImplicitDerivative):
    """x with r(x, p) = 0, from a start: inputs are the start, p, and what else ``like`` takes, results x, the number of
    steps and the status.
    """

    body: Region  # r of x and p
    unknowns: int
    max_iterations: int
    tolerance: float
    plain: bool  # r is how much further a step goes, and is added to x
    searched: bool = False  # whether steps are cut short where r says that they lead too far
    like: Region | None = None  # what varies by x nearly as r does, of x and numbers of its own

    @property
    def size(self) -> int:
        return self.unknowns

    @property
    def ignored(self) -> int:
        return self.unknowns

    @cached_property
    def _residual(self) -> Residual:
        return Residual(self.body, self.size, self.size)

    @cached_property
    def _alike(self) -> Residual:
        """``like``."""
        assert self.like is not None
        return Residual(self.like, self.size, self.size)

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        n = self.size
        given, others = self._given(inputs), inputs[self.body.elements_in :]

        def residual(x: Sequence[Any]) -> Sequence[Any]:
            return self.body.run([*x, *given])

        def correction(x: Sequence[Any]) -> Correction:
            if self.plain:
                return corrected(residual(x), None)
            if self.like is not None:
                return corrected(residual(x), rows_of(self._alike.linear.run([*x, *others])[n:], n))
            result = self._residual.linear.run([*x, *given])
            return corrected(result[:n], rows_of(result[n:], n))

        searched = residual if self.searched else None
        x, done, status = iterated(correction, inputs[:n], self.max_iterations, self.tolerance, searched)
        return [*x, done, status], []

    def pushed(self, at: Solution, direction: Sequence[Any]) -> Sequence[Any]:
        return [-x for x in self._residual.pushed.run([*self._at(at), *self._given(direction)])]

    def pulled(self, at: Solution, multipliers: Sequence[Any]) -> Sequence[Any]:
        result = self._residual.pulled.run([*self._at(at), *multipliers])
        return [*[0.0] * self.size, *negated([result])[0], *[0.0] * (len(at.inputs) - self.body.elements_in)]

    def solved(self, at: Solution, right: Sequence[Any], transpose: bool) -> Sequence[Any]:
        J = rows_of(self._residual.linear.run(self._at(at))[self.size :], self.size)
        return solved(transposed(J) if transpose else J, right)[0]

    def _given(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """p, of what goes in."""
        return inputs[self.size : self.body.elements_in]

    def _at(self, at: Solution) -> list[Any]:
        """x and p."""
        return [*at.results[: self.size], *self._given(at.inputs)]


def _added(numbers: Sequence[Any]) -> Any:
    total: Any = 0.0
    for x in numbers:
        total = total + x
    return total
