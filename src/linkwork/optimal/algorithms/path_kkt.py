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
from linkwork.optimal.algorithms.stage_terms import TermRequest, columns_of, second_derivatives

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
        """g and c of every step: of what is looked at in all of them, and of each term with a step of its own."""
        return self._all(point, duals, self._slope)

    def bends(self, point: PathPoint, duals: Duals) -> dict[str, Any]:
        """H, the lower triangle row by row, and J, by the columns of windows."""
        return self._all(point, duals, self._bend)

    def rows(self, point: PathPoint) -> dict[str, Any]:
        """Values and derivatives of constraints by number: "values0" (T, rows), (rows,) of one with a step of its
        own, and "rows0" (..., rows · columns of a window).
        """
        sweeps, program = self.sweeps, self.sweeps.program
        outputs: dict[str, Any] = {}
        hard = {k: n for n, k in enumerate(program.hard)}

        def put(n: int, w: PathWindow, request: TermRequest) -> None:
            rows = request.term.feature.exact_jacobian(w, request.target)
            lines = [columns_of(program, w, rows, k) for k in range(len(rows.values))]
            outputs[f"values{n}"] = array(rows.values)
            outputs[f"rows{n}"] = array([line.get(i, 0.0) for line in lines for i in range(self.size)])

        if some := [k for k in program.everywhere if k in hard]:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                w = sweeps.window(inputs, point.p)
                terms = zip(program.everywhere, sweeps.each(inputs, None), strict=True)
                for k, request in terms:
                    if k in hard:
                        put(hard[k], w, request)
                return state, tuple(outputs[f"{name}{hard[k]}"] for k in some for name in ("values", "rows"))

            _, each = scan(step, (), sweeps.rows(point, None))
            names = [f"{name}{hard[k]}" for k in some for name in ("values", "rows")]
            outputs |= dict(zip(names, each, strict=True))
        for k, (_, w, request) in zip(program.alone, sweeps.alone(point, None), strict=True):
            if k in hard:
                put(hard[k], w, request)
        return outputs

    def _all(self, point: PathPoint, duals: Duals, of: Any) -> dict[str, Any]:
        sweeps, program = self.sweeps, self.sweeps.program
        outputs: dict[str, Any] = {}
        if program.everywhere:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                w = sweeps.window(inputs, point.p)
                first, second = of(w, sweeps.each(inputs, duals))
                return state, (array(first), array(second))

            _, (outputs["first"], outputs["second"]) = scan(step, (), sweeps.rows(point, duals))
        for n, (_, w, request) in enumerate(sweeps.alone(point, duals)):
            first, second = of(w, [request])
            outputs[f"first{n}"], outputs[f"second{n}"] = array(first), array(second)
        return outputs

    def _slope(self, w: PathWindow, terms: Sequence[TermRequest]) -> tuple[list[Any], list[Any]]:
        gradient: list[Any] = [0.0] * self.size
        values: list[Any] = []
        for request in terms:
            jacobian = request.term.feature.exact_jacobian(w, request.target)
            values += jacobian.values
            for k, pull in enumerate(_pulls(request, jacobian.values)):
                for i, x in columns_of(self.sweeps.program, w, jacobian, k).items():
                    gradient[i] = gradient[i] + _where_it_counts(request, pull * x)
        return gradient, values

    def _bend(self, w: PathWindow, terms: Sequence[TermRequest]) -> tuple[list[Any], list[Any]]:
        program: PathProgram = self.sweeps.program
        H: list[list[Any]] = [[0.0] * (i + 1) for i in range(self.size)]
        J: list[Any] = []
        for request in terms:
            jacobian = request.term.feature.exact_jacobian(w, request.target)
            pulls = _pulls(request, jacobian.values)
            for (i, j), x in second_derivatives(program, w, request, pulls).items():
                H[i][j] = H[i][j] + _where_it_counts(request, x)
            for k, value in enumerate(jacobian.values):
                line = columns_of(program, w, jacobian, k)
                if request.term.kind == "least_squares":
                    weight = request.weight_of(k) * request.scales[k]
                    square = weight * weight * _held(request, value, k)
                    for i, x in line.items():
                        for j, y in line.items():
                            if j <= i:
                                H[i][j] = H[i][j] + _where_it_counts(request, square * x * y)
                J += [_where_it_counts(request, line.get(i, 0.0)) for i in range(self.size)]
        return [x for row in H for x in row], J


def _where_it_counts(request: TermRequest, x: Any) -> Any:
    if is_zero(x) or request.weight.__class__ is float:
        return x
    return where(lt(0.0, request.weight), x, 0.0)


def _pulls(request: TermRequest, values: Sequence[Any]) -> list[Any]:
    """What the Lagrangian's gradient has of each row's."""
    pulls = []
    for k, value in enumerate(values):
        weight = request.weight_of(k) * request.scales[k]
        if request.term.kind == "cost":
            pulls.append(weight)
        elif request.term.kind == "least_squares":
            beyond = value
            if request.term.bounded:
                beyond = value - fmin(fmax(value, request.lower[k]), request.upper[k])
            pulls.append(weight * weight * beyond)
        else:
            pulls.append(weight * request.multipliers[k])
    return pulls


def _held(request: TermRequest, value: Any, k: int) -> Any:
    """1 where a square counts, and 0 where it is within its bounds."""
    if not request.term.bounded:
        return 1.0
    inside = lt(request.lower[k], value)
    return where(inside, where(lt(value, request.upper[k]), 0.0, 1.0), 1.0)
