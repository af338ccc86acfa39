"""Gauss–Newton system of a path: values of the terms, and the equations of a step, by scans over time steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.control.stored_scans import scan_storing
from linkwork.expr.scalar.functions import fabs, fmax, lt, where
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.optimal.algorithms.block_banded import (
    Eliminated,
    WindowShare,
    eliminate,
    eliminate_wide,
    substitute,
    substitute_wide,
)
from linkwork.optimal.algorithms.path_nlp import PathPoint
from linkwork.optimal.algorithms.path_steps import Duals, PathSteps
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.stage_terms import LocalTerms, TermRequest, term_derivatives, term_values

__all__ = ["SMALL", "PathShares", "PathSweeps"]

SMALL = 0.1  # magnitude that is added to parameters and variables for relative changes
LONGEST = 12  # columns of a row whose products are unrolled, for steps with many unknowns


class PathShares(NamedTuple):
    """Sums over a path's terms: merit and cost; for each constraint, its violation, residual and next multipliers.

    The merit is the augmented Lagrangian.
    """

    merit: Any
    cost: Any
    violations: Any  # (constraints,): the largest of each
    residuals: Any  # (constraints,): see `LocalShare`, scaled
    active: Any  # number of rows at a bound or beyond
    everywhere: Any  # next multipliers, in the form of `Duals`
    alone: Any


class PathSweeps(PathSteps):
    """Evaluation of a problem along a path: merit and violations of its terms, and the Gauss–Newton step."""

    # -- values

    def shares(self, point: PathPoint, duals: Duals) -> PathShares:
        """Return merit, cost, violations and next multipliers of a path's terms, without derivatives.

        The merit is the augmented Lagrangian; the current multipliers are ``duals``.
        """
        program = self.program
        at = {k: n for n, k in enumerate(program.hard)}
        merit: Any = 0.0
        cost: Any = 0.0
        active: Any = 0.0
        violations: list[Any] = [0.0] * len(program.hard)
        residuals: list[Any] = [0.0] * len(program.hard)
        everywhere: Any = np.zeros((program.steps, 0))
        if program.everywhere:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                w = self.window(inputs, point.p)
                share = [term_values(w, request) for request in self.each(inputs, duals)]
                constraints = [x for k, x in zip(program.everywhere, share, strict=True) if k in at]
                worst = [y for x in constraints for y in (x.violation, x.residual)]
                sums = [sum((getattr(x, name) for x in share), 0.0) for name in ("merit", "cost", "active")]
                forces = [f for x in share for f in x.forces]
                return state, (array([*sums, *worst]), array(forces))

            _, (sums, everywhere) = scan(step, (), self.rows(point, duals))
            hard = [k for k in program.everywhere if k in at]

            def together(state: Any, row: Any) -> tuple[Any, None]:
                added = [x + y for x, y in zip(state[:3], row[:3], strict=True)]
                return array([*added, *(fmax(x, y) for x, y in zip(state[3:], row[3:], strict=True))]), None

            whole, _ = scan(together, array([0.0] * (3 + 2 * len(hard))), sums)
            merit, cost, active = whole[0], whole[1], whole[2]
            for n, k in enumerate(hard):
                violations[at[k]], residuals[at[k]] = whole[3 + 2 * n], whole[4 + 2 * n]
        forces: list[Any] = []
        for k, (_, w, request) in zip(program.alone, self.alone(point, duals), strict=True):
            share = term_values(w, request)
            merit, cost, active = merit + share.merit, cost + share.cost, active + share.active
            forces += share.forces
            if k in at:
                violations[at[k]] = fmax(violations[at[k]], share.violation)
                residuals[at[k]] = fmax(residuals[at[k]], share.residual)
        return PathShares(merit, cost, array(violations), array(residuals), active, everywhere, array(forces))

    def values(self, point: PathPoint) -> tuple[Any, list[Any]]:
        """Return the features' values on a path.

        They are an array (T, components) for terms of all steps, and a list for terms of single steps.
        """
        program = self.program
        everywhere: Any = np.zeros((program.steps, 0))
        if program.everywhere:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                w = self.window(inputs, point.p)
                return state, array([x for a in self.each(inputs, None) for x in a.term.feature.values(w, a.target)])

            _, everywhere = scan(step, (), self.rows(point, None))
        alone = [x for _, w, a in self.alone(point, None) for x in a.term.feature.values(w, a.target)]
        return everywhere, alone

    # -- derivatives

    def derivative_sizes(self, point: PathPoint) -> tuple[Any, list[Any]]:
        """Return Σ |∂c/∂unknown| for each feature value c, in the shapes of `values`.

        The sum is finite if and only if all derivatives of the value are finite.
        """
        program = self.program

        def sizes(w: PathWindow, request: TermRequest) -> list[Any]:
            jacobian = request.term.feature.jacobian(w, request.target)
            rows = zip(*jacobian.rows, jacobian.parameters, strict=True)  # by value
            return [sum((fabs(x) for part in row for x in part), 0.0) for row in rows]

        everywhere: Any = np.zeros((program.steps, 0))
        if program.everywhere:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                w = self.window(inputs, point.p)
                return state, array([x for request in self.each(inputs, None) for x in sizes(w, request)])

            _, everywhere = scan(step, (), self.rows(point, None))
        return everywhere, [x for _, w, request in self.alone(point, None) for x in sizes(w, request)]

    def equations(
        self, point: PathPoint, duals: Duals, damping: Any, floor: Any, curvature: Any
    ) -> tuple[Eliminated, Any, Any]:
        """Return the factors of the Newton equations H d = −g, the merit, and the number of active components.

        H is the Gauss–Newton matrix of the merit, g its gradient, and d the step of all unknowns. The factors result
        from the elimination of all steps. H's diagonal is multiplied by 1 + ``damping``, and ``floor`` is added to it,
        for unknowns in their units.

        Second derivatives of terms of single steps, multiplied by ``curvature`` (0 to 1), are added to H. In a program
        of second order, second derivatives of terms of all steps are added, too. A component of an inequality or of a
        bounded term is active if it is at a bound or beyond it.
        """
        program = self.program
        size = (program.depth + 1) * program.width
        whole: dict[str, Any] = {}
        local: Any = None
        layout: list[Any] = []
        alone = [LocalTerms() for _ in program.alone]
        merit: Any = 0.0
        active: Any = 0.0
        for terms, (_, w, request) in zip(alone, self.alone(point, duals), strict=True):
            term_derivatives(program, w, request, terms, curvature)
            merit, active = merit + terms.merit, active + terms.active
        if program.everywhere:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                terms = LocalTerms(longest=LONGEST if program.wide else None)
                for request in self.each(inputs, duals):
                    curvature_of = curvature if program.second_order and request.term.feature.has_curvature else None
                    term_derivatives(program, self.window(inputs, point.p), request, terms, curvature_of)
                indices = [index for index, x in terms.blocks.items() if x.__class__ is not float]
                columns = [i for i, x in terms.gradient.items() if x.__class__ is not float]
                if _is_numeric(point):  # zeros of values are no sparsity pattern
                    count = size + program.many
                    indices = [(i, j) for i in range(count) for j in range(i + 1)]
                    columns = list(range(count))
                lines = [list(line) for line, _, _ in terms.rows]
                layout[:] = [indices, columns, lines]
                blocks = [terms.blocks.get(index, 0.0) for index in indices]
                slopes = [terms.gradient.get(i, 0.0) for i in columns]
                rows = [x for line, c, f in terms.rows for x in (c, f, *line.values())]
                return state, (array([*slopes, *blocks, *rows]), array([terms.merit, terms.active]))

            _, (local, sums) = scan_storing(step, (), self.rows(point, duals))
            merit, active = sum(list(sums[:, 0]), merit), sum(list(sums[:, 1]), active)
        T = program.steps
        for n, k in enumerate(program.alone):
            whole[f"at{n}"] = array([1.0 if t == program.terms[k].at else 0.0 for t in range(T)])
        stretched = 1.0 + damping

        def added(row: Any, local: Any = None) -> WindowShare:
            blocks: dict[tuple[int, int], Any] = {}
            sides: dict[int, Any] = {}
            rows: list[tuple[dict[int, Any], Any, Any]] = []

            def put(index: tuple[int, int], x: Any) -> None:
                x = x * stretched if index[0] == index[1] else x
                blocks[index] = blocks[index] + x if index in blocks else x

            if local is not None:
                indices, columns, lines = layout
                elements = iter(list(local))
                for i in columns:
                    sides[i] = -next(elements)
                for index in indices:
                    put(index, next(elements))
                for line in lines:
                    c, f = next(elements), next(elements)
                    rows.append(({i: next(elements) for i in line}, c, -f))
            for n, terms in enumerate(alone):
                on = row[f"at{n}"]
                for i, x in terms.gradient.items():
                    sides[i] = sides[i] - on * x if i in sides else -(on * x)
                for index, x in terms.blocks.items():
                    put(index, on * x)
            return WindowShare(blocks, sides, rows, stretched)

        floors = [floor if unit == 1.0 else floor / (unit * unit) for unit in (*program.units, *program.variable_units)]
        m = program.depth
        padded = {name: np.concatenate([x, *[x[-1:]] * m]) for name, x in whole.items()}
        method = eliminate_wide if program.wide else eliminate
        return method(program.width, m, program.many, T, added, padded, floors, local), merit, active

    def direction(self, factors: Eliminated, border: Sequence[Any]) -> Any:
        """Return the Newton direction of every step (T, width), by back substitution.

        ``factors`` are the result of the elimination, and ``border`` is the Newton direction of the path's parameters.
        """
        method = substitute_wide if self.program.wide else substitute
        return method(self.program.width, self.program.depth, factors, border)

    def moved(self, point: PathPoint, direction: Any, border: Sequence[Any], share: Any) -> PathPoint:
        """Return the path after the fraction ``share`` of a Newton step.

        ``direction`` (T, width) is the Newton step of the unknowns of each time step, and ``border`` that of the path's
        parameters. Configurations stay on their manifolds.
        """
        program = self.program
        nv = program.tree.nv

        def step(state: Any, inputs: Any) -> tuple[Any, Any]:
            q, d = list(inputs["q"]), [where(lt(0.0, share), x, 0.0) for x in inputs["d"]]  # the direction may be NaN
            out: dict[str, Any] = {"q": array(integrate(program.tree, q, [share * x for x in d[:nv]]))}
            if program.extra:
                out["u"] = array([x + share * y for x, y in zip(list(inputs["u"]), d[nv:], strict=True)])
            return state, out

        inputs: dict[str, Any] = {"q": point.q, "d": direction}
        if program.extra:
            inputs["u"] = point.u
        _, path = scan(step, (), inputs)
        p = [x + where(lt(0.0, share), share * y, 0.0) for x, y in zip(list(point.p), border, strict=True)]
        return PathPoint(path["q"], path["u"] if program.extra else point.u, array(p))

    def with_new_multipliers(self, duals: Duals, everywhere: Any, alone: Any, new: Sequence[Any]) -> tuple[Any, Any]:
        """Return the multipliers ``duals``, replaced by new multipliers for selected constraints.

        ``everywhere`` and ``alone`` are the new multipliers, of constraints of all steps and of single steps. ``new``
        has a flag for each constraint: True where new multipliers replace the old ones.
        """
        program = self.program
        new_of = dict(zip(program.hard, new, strict=True))

        def columns(terms: Sequence[int]) -> list[Any]:
            return [new_of[k] for k in program.forces_of(terms) for _ in range(program.terms[k].count)]

        choices = columns(program.everywhere)

        def step(state: Any, inputs: Any) -> tuple[Any, Any]:
            return state, array([where(c, x, y) for c, x, y in zip(choices, *inputs, strict=True)])

        rows = scan(step, (), (everywhere, duals.everywhere))[1] if choices else duals.everywhere
        of_single = [where(c, x, y) for c, x, y in zip(columns(program.alone), alone, duals.alone, strict=True)]
        return rows, array(of_single) if of_single else duals.alone

    def lengths(self, point: PathPoint, direction: Any) -> tuple[Any, Any]:
        """Return the largest change of a coordinate along a direction, in `PathProgram.units`, and that of a variable.

        The change of a variable u is relative to its size: |du| / (|u| + 0.1 of its unit).
        """
        nv, extra = self.program.tree.nv, self.program.extra

        def step(state: Any, inputs: Any) -> tuple[Any, None]:
            displacement, change = state
            d = list(inputs["d"])
            for x, unit in zip(d[:nv], self.program.units, strict=True):
                displacement = fmax(displacement, fabs(x) if unit == 1.0 else fabs(x) / unit)
            for x, u, unit in zip(d[nv:], list(inputs["u"]) if extra else [], self.program.variable_units, strict=True):
                change = fmax(change, fabs(x) / (fabs(u) + SMALL * unit))
            return (displacement, change), None

        displacement, change = scan(step, (0.0, 0.0), {"d": direction, "u": point.u} if extra else {"d": direction})[0]
        return displacement, change


def _is_numeric(point: PathPoint) -> bool:
    return not any(hasattr(x, "_precedence") for x in np.ravel(point.q)[:1])
