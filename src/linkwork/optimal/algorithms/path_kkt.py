"""The conditions of an optimum in one step, and how they vary: for what moves where a problem changes.

With the multipliers μ of constraints, an optimum has

    g = ∇f + Σ μ ∇c = 0,    c = 0 of what holds it,

where f are costs and half the squares.  As these hold for every problem nearby, what changes by θ moves it by

    (H  Jᵀ; J  0) (dx; dμ) = −(∂g/∂θ; ∂c/∂θ) dθ,

with the exact second derivatives H of f + μᵀ c and the rows J of constraints that hold it.

Source: Fiacco, Introduction to Sensitivity and Stability Analysis in Nonlinear Programming, 1983.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fmax, fmin, lt, where
from linkwork.optimal.algorithms.gauss_newton_system import PathSweeps
from linkwork.optimal.algorithms.path_nlp import PathPoint, PathProgram
from linkwork.optimal.algorithms.path_steps import Duals
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.stage_terms import EntryRequest, columns_of, second_derivatives

__all__ = ["PathConditions"]


@dataclass(frozen=True)
class PathConditions:
    """The conditions of a program with the numbers of a call."""

    sweeps: PathSweeps

    @property
    def size(self) -> int:
        """Columns of a window."""
        program = self.sweeps.program
        return (program.depth + 1) * program.width + program.many

    def slopes(self, point: PathPoint, duals: Duals) -> dict[str, Any]:
        """g and c of every step: of what is looked at in all of them, and of each entry with a step of its own."""
        return self._all(point, duals, self._slope)

    def bends(self, point: PathPoint, duals: Duals) -> dict[str, Any]:
        """H, the lower triangle row by row, and J, by the columns of windows."""
        return self._all(point, duals, self._bend)

    def rows(self, point: PathPoint) -> dict[str, Any]:
        """Values and derivatives of constraints by number: "values0" (T, rows), (rows,) of one with a step of its
        own, and "rows0" (..., rows · columns of a window)."""
        sweeps, program = self.sweeps, self.sweeps.program
        found: dict[str, Any] = {}
        hard = {k: n for n, k in enumerate(program.hard)}

        def put(n: int, w: PathWindow, asked: EntryRequest) -> None:
            rows = asked.entry.feature.exact_jacobian(w, asked.target)
            lines = [columns_of(program, w, rows, k) for k in range(len(rows.values))]
            found[f"values{n}"] = array(rows.values)
            found[f"rows{n}"] = array([line.get(i, 0.0) for line in lines for i in range(self.size)])

        if some := [k for k in program.everywhere if k in hard]:

            def step(state: Any, given: Any) -> tuple[Any, Any]:
                w = sweeps.window(given, point.p)
                entries = zip(program.everywhere, sweeps.each(given, None), strict=True)
                for k, asked in entries:
                    if k in hard:
                        put(hard[k], w, asked)
                return state, tuple(found[f"{name}{hard[k]}"] for k in some for name in ("values", "rows"))

            _, each = scan(step, (), sweeps.rows(point, None))
            names = [f"{name}{hard[k]}" for k in some for name in ("values", "rows")]
            found |= dict(zip(names, each, strict=True))
        for k, (_, w, asked) in zip(program.alone, sweeps.alone(point, None), strict=True):
            if k in hard:
                put(hard[k], w, asked)
        return found

    def _all(self, point: PathPoint, duals: Duals, of: Any) -> dict[str, Any]:
        sweeps, program = self.sweeps, self.sweeps.program
        found: dict[str, Any] = {}
        if program.everywhere:

            def step(state: Any, given: Any) -> tuple[Any, Any]:
                w = sweeps.window(given, point.p)
                first, second = of(w, sweeps.each(given, duals))
                return state, (array(first), array(second))

            _, (found["first"], found["second"]) = scan(step, (), sweeps.rows(point, duals))
        for n, (_, w, asked) in enumerate(sweeps.alone(point, duals)):
            first, second = of(w, [asked])
            found[f"first{n}"], found[f"second{n}"] = array(first), array(second)
        return found

    def _slope(self, w: PathWindow, entries: Sequence[EntryRequest]) -> tuple[list[Any], list[Any]]:
        gradient: list[Any] = [0.0] * self.size
        values: list[Any] = []
        for asked in entries:
            found = asked.entry.feature.exact_jacobian(w, asked.target)
            values += found.values
            for k, pull in enumerate(_pulls(asked, found.values)):
                for i, x in columns_of(self.sweeps.program, w, found, k).items():
                    gradient[i] = gradient[i] + _where_it_counts(asked, pull * x)
        return gradient, values

    def _bend(self, w: PathWindow, entries: Sequence[EntryRequest]) -> tuple[list[Any], list[Any]]:
        program: PathProgram = self.sweeps.program
        H: list[list[Any]] = [[0.0] * (i + 1) for i in range(self.size)]
        J: list[Any] = []
        for asked in entries:
            found = asked.entry.feature.exact_jacobian(w, asked.target)
            pulls = _pulls(asked, found.values)
            for (i, j), x in second_derivatives(program, w, asked, pulls).items():
                H[i][j] = H[i][j] + _where_it_counts(asked, x)
            for k, value in enumerate(found.values):
                line = columns_of(program, w, found, k)
                if asked.entry.kind == "squares":
                    weight = asked.weight_of(k) * asked.scales[k]
                    square = weight * weight * _held(asked, value, k)
                    for i, x in line.items():
                        for j, y in line.items():
                            if j <= i:
                                H[i][j] = H[i][j] + _where_it_counts(asked, square * x * y)
                J += [_where_it_counts(asked, line.get(i, 0.0)) for i in range(self.size)]
        return [x for row in H for x in row], J


def _where_it_counts(asked: EntryRequest, x: Any) -> Any:
    if is_zero(x) or asked.weight.__class__ is float:
        return x
    return where(lt(0.0, asked.weight), x, 0.0)


def _pulls(asked: EntryRequest, values: Sequence[Any]) -> list[Any]:
    """What the Lagrangian's gradient has of each row's."""
    found = []
    for k, value in enumerate(values):
        weight = asked.weight_of(k) * asked.scales[k]
        if asked.entry.kind == "cost":
            found.append(weight)
        elif asked.entry.kind == "squares":
            beyond = value
            if asked.entry.bounded:
                beyond = value - fmin(fmax(value, asked.lower[k]), asked.upper[k])
            found.append(weight * weight * beyond)
        else:
            found.append(weight * asked.multipliers[k])
    return found


def _held(asked: EntryRequest, value: Any, k: int) -> Any:
    """1 where a square counts, and 0 where it is within its bounds."""
    if not asked.entry.bounded:
        return 1.0
    inside = lt(asked.lower[k], value)
    return where(inside, where(lt(value, asked.upper[k]), 0.0, 1.0), 1.0)
