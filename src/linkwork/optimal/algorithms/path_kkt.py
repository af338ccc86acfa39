"""KKT conditions of a path for each step, and their derivatives, for the sensitivity of an optimum.

With the multipliers μ of constraints, an optimum has

    g = ∇f + Σ μ ∇c = 0,    c = 0 for active constraints,

where f are costs and half the squares.  The conditions hold for every problem nearby, so a change dθ of an input θ
changes the optimum by dx and the multipliers by dμ:

    (H  Jᵀ; J  0) (dx; dμ) = −(∂g/∂θ; ∂c/∂θ) dθ,

with the exact Hessian H of f + μᵀ c and the Jacobian J of active constraints.

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
    """KKT conditions of a trajectory problem, for the numerical inputs of one call."""

    sweeps: PathSweeps

    @property
    def size(self) -> int:
        """Number of unknowns of a window (a step with the earlier steps that features read), plus parameters."""
        program = self.sweeps.program
        return (program.depth + 1) * program.width + program.many

    def gradients(self, point: PathPoint, duals: Duals) -> dict[str, Any]:
        """Return the gradients g of the Lagrangian and the values c of the features, as a dict.

        "first" and "second" are g and c of the terms of all steps, with an entry for each step. "first0" and "second0"
        are g and c of the first term of a single step, and so on.
        """
        return self._all(point, duals, self._gradient_terms)

    def hessians(self, point: PathPoint, duals: Duals) -> dict[str, Any]:
        """Return the Hessians H of the Lagrangian and the Jacobians J of the features, as a dict.

        "first" and "second" are H and J of the terms of all steps, with an entry for each step. "first0" and "second0"
        are H and J of the first term of a single step, and so on. H is stored as a lower triangle, row by row. H and J
        have the columns of a window.
        """
        return self._all(point, duals, self._hessian_terms)

    def rows(self, point: PathPoint) -> dict[str, Any]:
        """Return the values and Jacobians of all constraints, as a dict of as few arrays as possible.

        "values" (T, rows) and "jacobian" (T, rows · unknowns of a window) belong to the constraints of all steps, one
        after the other, each Jacobian row by row.  "values_alone" (rows) and "jacobian_alone" (rows · unknowns of a
        window) belong to the constraints of single steps.
        """
        sweeps, program = self.sweeps, self.sweeps.program
        hard = set(program.hard)

        def flat(constraints: Sequence[tuple[PathWindow, TermRequest]]) -> tuple[Any, Any]:
            values: list[Any] = []
            lines: list[dict[int, Any]] = []
            for w, request in constraints:
                rows = request.term.feature.exact_jacobian(w, request.target)
                values += rows.values
                lines += [columns_of(program, w, rows, k) for k in range(len(rows.values))]
            return array(values), array([line.get(i, 0.0) for line in lines for i in range(self.size)])

        def step(state: Any, inputs: Any) -> tuple[Any, Any]:
            w = sweeps.window(inputs, point.p)
            terms = zip(program.everywhere, sweeps.each(inputs, None), strict=True)
            return state, flat([(w, request) for k, request in terms if k in hard])

        outputs: dict[str, Any] = {}
        if program.force_count(program.everywhere):
            _, (outputs["values"], outputs["jacobian"]) = scan(step, (), sweeps.rows(point, None))
        if program.force_count(program.alone):
            alone = zip(program.alone, sweeps.alone(point, None), strict=True)
            outputs_alone = flat([(w, request) for k, (_, w, request) in alone if k in hard])
            outputs["values_alone"], outputs["jacobian_alone"] = outputs_alone
        return outputs

    def _all(self, point: PathPoint, duals: Duals, evaluate: Any) -> dict[str, Any]:
        sweeps, program = self.sweeps, self.sweeps.program
        outputs: dict[str, Any] = {}
        if program.everywhere:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                w = sweeps.window(inputs, point.p)
                first, second = evaluate(w, sweeps.each(inputs, duals))
                return state, (array(first), array(second))

            _, (outputs["first"], outputs["second"]) = scan(step, (), sweeps.rows(point, duals))
        for n, (_, w, request) in enumerate(sweeps.alone(point, duals)):
            first, second = evaluate(w, [request])
            outputs[f"first{n}"], outputs[f"second{n}"] = array(first), array(second)
        return outputs

    def _gradient_terms(self, w: PathWindow, terms: Sequence[TermRequest]) -> tuple[list[Any], list[Any]]:
        gradient: list[Any] = [0.0] * self.size
        values: list[Any] = []
        for request in terms:
            jacobian = request.term.feature.exact_jacobian(w, request.target)
            values += jacobian.values
            for k, factor in enumerate(_gradient_factors(request, jacobian.values)):
                for i, x in columns_of(self.sweeps.program, w, jacobian, k).items():
                    gradient[i] = gradient[i] + _masked(request, factor * x)
        return gradient, values

    def _hessian_terms(self, w: PathWindow, terms: Sequence[TermRequest]) -> tuple[list[Any], list[Any]]:
        program: PathProgram = self.sweeps.program
        H: list[list[Any]] = [[0.0] * (i + 1) for i in range(self.size)]
        J: list[Any] = []
        for request in terms:
            jacobian = request.term.feature.exact_jacobian(w, request.target)
            factors = _gradient_factors(request, jacobian.values)
            for (i, j), x in second_derivatives(program, w, request, factors).items():
                H[i][j] = H[i][j] + _masked(request, x)
            for k, value in enumerate(jacobian.values):
                line = columns_of(program, w, jacobian, k)
                if request.term.kind == "least_squares":
                    weight = request.weight_of(k) * request.scales[k]
                    square = weight * weight * _is_active(request, value, k)
                    for i, x in line.items():
                        for j, y in line.items():
                            if j <= i:
                                H[i][j] = H[i][j] + _masked(request, square * x * y)
                J += [_masked(request, line.get(i, 0.0)) for i in range(self.size)]
        return [x for row in H for x in row], J


def _masked(request: TermRequest, x: Any) -> Any:
    if is_zero(x) or request.weight.__class__ is float:
        return x
    return where(lt(0.0, request.weight), x, 0.0)


def _gradient_factors(request: TermRequest, values: Sequence[Any]) -> list[Any]:
    """Return ∂L/∂c for each component c of a term, by which its gradient enters the gradient of the Lagrangian L.

    ``values`` are the components.
    """
    factors = []
    for k, value in enumerate(values):
        weight = request.weight_of(k) * request.scales[k]
        if request.term.kind == "cost":
            factors.append(weight)
        elif request.term.kind == "least_squares":
            excess = value
            if request.term.bounded:
                excess = value - fmin(fmax(value, request.lower[k]), request.upper[k])
            factors.append(weight * weight * excess)
        else:
            factors.append(weight * request.multipliers[k])
    return factors


def _is_active(request: TermRequest, value: Any, k: int) -> Any:
    """Return 1 if component k of a least-squares term contributes, and 0 if its value is within its bounds."""
    if not request.term.bounded:
        return 1.0
    inside = lt(request.lower[k], value)
    return where(inside, where(lt(value, request.upper[k]), 0.0, 1.0), 1.0)
