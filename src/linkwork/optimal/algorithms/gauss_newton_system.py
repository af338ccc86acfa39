"""All steps of a path at once: what terms come to, and the equations of a Gauss–Newton step, in scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import scan
from linkwork.expr.scalar.functions import fabs, fmax, lt, where
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.optimal.algorithms.block_banded import (
    Eliminated,
    WindowShare,
    eliminated,
    eliminated_wide,
    substituted,
    substituted_wide,
)
from linkwork.optimal.algorithms.path_nlp import PathPoint
from linkwork.optimal.algorithms.path_steps import Duals, PathSteps
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.stage_terms import LocalTerms, TermRequest, term_derivatives, term_values

__all__ = ["SMALL", "PathShares", "PathSweeps"]

SMALL = 0.1  # parameters and variables that change by less change little
LONGEST = 12  # columns of a row whose products are written out, where steps have many unknowns


class PathShares(NamedTuple):
    """What all terms come to on a path."""

    merit: Any
    cost: Any
    violations: Any  # (constraints,): the largest of each
    residuals: Any  # (constraints,): see `LocalShare`, scaled
    active: Any  # how many rows are at a bound or beyond
    everywhere: Any  # next multipliers, as `Duals` has them
    alone: Any


class PathSweeps(PathSteps):
    """A program with the numbers of a call, and what its terms come to."""

    # -- values

    def shares(self, point: PathPoint, duals: Duals) -> PathShares:
        """What terms come to on a path, without derivatives."""
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
        """What features are: those looked at in all steps (T, rows), and those with a step of their own."""
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

    def slopes(self, point: PathPoint) -> tuple[Any, list[Any]]:
        """By value, as `values` has them: the sum of its derivatives' sizes, a number where all of these are."""
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
        self, point: PathPoint, duals: Duals, damping: Any, least: Any, bent: Any
    ) -> tuple[Eliminated, Any, Any]:
        """The steps eliminated from H d = −g, with H's diagonal times 1 + damping; the merit; how many rows are active.

        ``bent`` is how much of own second derivatives terms with a step of their own have in H.
        """
        program = self.program
        size = (program.depth + 1) * program.width
        whole: dict[str, Any] = {}
        layout: list[Any] = []
        alone = [LocalTerms() for _ in program.alone]
        merit: Any = 0.0
        active: Any = 0.0
        for terms, (_, w, request) in zip(alone, self.alone(point, duals), strict=True):
            term_derivatives(program, w, request, terms, bent)
            merit, active = merit + terms.merit, active + terms.active
        if program.everywhere:

            def step(state: Any, inputs: Any) -> tuple[Any, Any]:
                terms = LocalTerms(longest=LONGEST if program.wide else None)
                for request in self.each(inputs, duals):
                    term_derivatives(program, self.window(inputs, point.p), request, terms)
                places = [place for place, x in terms.blocks.items() if x.__class__ is not float]
                columns = [i for i, x in terms.gradient.items() if x.__class__ is not float]
                if _on_numbers(point):  # which places are zero is no pattern there
                    count = size + program.many
                    places = [(i, j) for i in range(count) for j in range(i + 1)]
                    columns = list(range(count))
                lines = [list(line) for line, _, _ in terms.rows]
                layout[:] = [places, columns, lines]
                blocks = [terms.blocks.get(place, 0.0) for place in places]
                slopes = [terms.gradient.get(i, 0.0) for i in columns]
                rows = [x for line, c, f in terms.rows for x in (c, f, *line.values())]
                return state, array([terms.merit, terms.active, *slopes, *blocks, *rows])

            _, factors = scan(step, (), self.rows(point, duals))
            merit, active = sum(list(factors[:, 0]), merit), sum(list(factors[:, 1]), active)
            whole["found"] = factors
        T = program.steps
        for n, k in enumerate(program.alone):
            whole[f"at{n}"] = array([1.0 if t == program.terms[k].at else 0.0 for t in range(T)])
        stretched = 1.0 + damping

        def added(row: Any) -> WindowShare:
            blocks: dict[tuple[int, int], Any] = {}
            sides: dict[int, Any] = {}
            rows: list[tuple[dict[int, Any], Any, Any]] = []

            def put(place: tuple[int, int], x: Any) -> None:
                x = x * stretched if place[0] == place[1] else x
                blocks[place] = blocks[place] + x if place in blocks else x

            if "found" in row:
                places, columns, lines = layout
                numbers = iter(list(row["found"])[2:])
                for i in columns:
                    sides[i] = -next(numbers)
                for place in places:
                    put(place, next(numbers))
                for line in lines:
                    c, f = next(numbers), next(numbers)
                    rows.append(({i: next(numbers) for i in line}, c, -f))
            for n, terms in enumerate(alone):
                here = row[f"at{n}"]
                for i, x in terms.gradient.items():
                    sides[i] = sides[i] - here * x if i in sides else -(here * x)
                for place, x in terms.blocks.items():
                    put(place, here * x)
            return WindowShare(blocks, sides, rows, stretched)

        m = program.depth
        padded = {name: np.concatenate([x, *[x[-1:]] * m]) for name, x in whole.items()}
        method = eliminated_wide if program.wide else eliminated
        return method(program.width, m, program.many, T, added, padded, least), merit, active

    def direction(self, factors: Eliminated, border: Sequence[Any]) -> Any:
        """The step of all steps (T, width), with that of parameters."""
        method = substituted_wide if self.program.wide else substituted
        return method(self.program.width, self.program.depth, factors, border)

    def moved(self, point: PathPoint, direction: Any, border: Sequence[Any], share: Any) -> PathPoint:
        """The path a share of the way along: configurations on their manifolds."""
        program = self.program
        nv = program.tree.nv

        def step(state: Any, inputs: Any) -> tuple[Any, Any]:
            q, d = list(inputs["q"]), [where(lt(0.0, share), x, 0.0) for x in inputs["d"]]  # a way may be none
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

    def renewed(self, duals: Duals, everywhere: Any, alone: Any, new: Sequence[Any]) -> tuple[Any, Any]:
        """Multipliers: the new ones of constraints of which that is said."""
        program = self.program
        new_of = dict(zip(program.hard, new, strict=True))

        def columns(terms: Sequence[int]) -> list[Any]:
            return [new_of[k] for k in program.forces_of(terms) for _ in range(program.terms[k].count)]

        choices = columns(program.everywhere)

        def step(state: Any, inputs: Any) -> tuple[Any, Any]:
            return state, array([where(c, x, y) for c, x, y in zip(choices, *inputs, strict=True)])

        rows = scan(step, (), (everywhere, duals.everywhere))[1] if choices else duals.everywhere
        own = [where(c, x, y) for c, x, y in zip(columns(program.alone), alone, duals.alone, strict=True)]
        return rows, array(own) if own else duals.alone

    def lengths(self, point: PathPoint, direction: Any) -> tuple[Any, Any]:
        """The largest number of a way: of configurations, and of variables, of what they are."""
        nv, extra = self.program.tree.nv, self.program.extra

        def step(state: Any, inputs: Any) -> tuple[Any, None]:
            moved, changed = state
            d = list(inputs["d"])
            for x in d[:nv]:
                moved = fmax(moved, fabs(x))
            for x, u in zip(d[nv:], list(inputs["u"]) if extra else [], strict=True):
                changed = fmax(changed, fabs(x) / (fabs(u) + SMALL))
            return (moved, changed), None

        moved, changed = scan(step, (0.0, 0.0), {"d": direction, "u": point.u} if extra else {"d": direction})[0]
        return moved, changed


def _on_numbers(point: PathPoint) -> bool:
    return not any(hasattr(x, "_precedence") for x in np.ravel(point.q)[:1])
