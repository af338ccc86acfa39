"""Terms of one step in an augmented Lagrangian: merit, gradient and Gauss–Newton blocks.

With the values c of a constraint, its scale s, multipliers λ and penalty ρ, its merit is

    ½ ρ Σ r²,     r = y − clip(y, s l, s u),     y = s c + λ/ρ,

with bounds l ≤ c ≤ u: 0 and 0 for an equality, −∞ and 0 for an inequality.  The next multipliers are f = ρ r.  The
gradient of the merit is s Jᵀ f, and where r is not zero, ρ s² JᵀJ approximates its Hessian.

Columns are the unknowns of steps t, t − 1, ..., t − depth, then the path's parameters.  A term that does not apply at a
step contributes zero, even if its value is NaN.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 10 and 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import eq, fabs, fmax, fmin, lt, where
from linkwork.optimal.algorithms.path_nlp import PathProgram, PathTerm
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features.feature import FeatureJacobian

__all__ = ["LocalShare", "LocalTerms", "TermRequest", "term_derivatives", "term_values"]

Scalars = Sequence[Any]


@dataclass(frozen=True)
class TermRequest:
    """A term with its weight, scales, target, bounds and multipliers in one step."""

    term: PathTerm
    weight: Any
    scales: Scalars
    target: Scalars
    lower: Scalars
    upper: Scalars
    multipliers: Scalars = ()
    penalty: Any = 1.0
    later: Any = 1.0  # 0 where components that depend on earlier steps do not apply

    def weight_of(self, row: int) -> Any:
        """Return the weight of a component; 0 if the component does not apply."""
        always = self.later.__class__ is float and self.later > 0.0
        return self.weight if always or row < self.term.feature.rows_without_past else self.weight * self.later


@dataclass
class LocalTerms:
    """Sum of the terms of one step: merit, gradient, and lower triangle of the Hessian, as dicts by column.

    Columns are the unknowns of the step, of the earlier steps that terms read, and the path's parameters.
    """

    gradient: dict[int, Any] = field(default_factory=dict)
    blocks: dict[tuple[int, int], Any] = field(default_factory=dict)
    merit: Any = 0.0
    active: Any = 0.0  # number of rows at a bound or beyond
    longest: int | None = None  # rows with more columns are stored as rows
    rows: list[tuple[dict[int, Any], Any, Any]] = field(default_factory=list)  # j, c and f that add c j jᵀ and f j

    def add(self, i: int, j: int, x: Any) -> None:
        """Add x to the entry (i, j) of the Hessian's lower triangle."""
        index = (i, j) if i >= j else (j, i)
        self.blocks[index] = self.blocks[index] + x if index in self.blocks else x


@dataclass(frozen=True)
class LocalShare:
    """Contribution of a term at one step: merit, cost, largest violation, residual and next multipliers.

    The merit is the term of the augmented Lagrangian. With multipliers λ, penalty ρ and next multipliers f, the
    residual is max |f − λ|/ρ. For an active component this is the scaled violation, and for an inactive component the
    remaining multiplier divided by ρ. The residual is zero if constraints are satisfied and complementary to their
    multipliers.
    """

    merit: Any
    cost: Any
    violation: Any
    residual: Any
    active: Any  # number of its rows at a bound or beyond
    forces: list[Any]


def _masked(weight: Any, x: Any) -> Any:
    """Return x where the term's weight is positive and 0 elsewhere, even if x is NaN."""
    if weight.__class__ is float:
        return x if weight else 0.0
    return where(lt(0.0, weight), x, 0.0)


def _excess(request: TermRequest, y: Any, row: int, scale: Any) -> tuple[Any, Any]:
    """Return y − clip(y) for a term's scaled bounds, and 1 where the component is active, else 0."""
    term = request.term
    if term.bounded:
        low, high = request.lower[row] * scale, request.upper[row] * scale
        excess = y - fmin(fmax(y, low), high)
        active = where(eq(excess, 0.0), where(eq(low, high), 1.0, 0.0), 1.0)
        return _masked(request.weight_of(row), excess), active
    if term.kind == "inequality":
        return where(lt(y, 0.0), 0.0, y), where(lt(0.0, y), 1.0, 0.0)  # NaN stays NaN
    return y, 1.0


def _shares(request: TermRequest, values: Scalars) -> tuple[LocalShare, list[tuple[Any, Any]]]:
    """Return the contribution of a term with these values, and derivatives of its merit with respect to each value.

    There is a pair of derivatives for each value: the first, and the second in the Gauss–Newton approximation. The
    merit is the term of the augmented Lagrangian.
    """
    term, rho = request.term, request.penalty
    merit: Any = 0.0
    cost: Any = 0.0
    violation: Any = 0.0
    residual: Any = 0.0
    active: Any = 0.0
    forces, rows = [], []
    for k, value in enumerate(values):
        weight = request.weight_of(k)
        c = _masked(weight, value)
        scale = weight * request.scales[k]
        if term.kind == "cost":
            merit = merit + scale * c
            rows.append((scale, 0.0))
        elif term.kind == "least_squares":
            r, is_active = _excess(request, scale * c, k, scale)
            merit = merit + 0.5 * r * r
            rows.append((scale * r, is_active * scale * scale))
            active = active + is_active if term.bounded else active
        else:
            shift = request.multipliers[k] / rho
            r, is_active = _excess(request, scale * c + shift, k, scale)
            f = rho * r
            merit = merit + 0.5 * f * r
            forces.append(f)
            rows.append((scale * f, is_active * rho * scale * scale))
            excess, _ = _excess(request, c, k, 1.0)
            violation = fmax(violation, fabs(excess))
            residual = fmax(residual, fabs(r - shift))
            active = active + is_active if term.bounded or term.kind == "inequality" else active
    cost = merit if not term.hard else 0.0
    return LocalShare(merit, cost, violation, residual, active, forces), rows


def term_values(w: PathWindow, request: TermRequest) -> LocalShare:
    """Return a term's merit, cost, violation and multipliers at one step, without derivatives.

    ``w`` is the window of the step: the configurations and variables that the term reads.
    """
    return _shares(request, request.term.feature.values(w, request.target))[0]


def columns_of(program: PathProgram, w: PathWindow, jacobian: FeatureJacobian, row: int) -> dict[int, Any]:
    """Return the entries of a row of a feature's Jacobian that may be nonzero, as a dict by column.

    Columns are the unknowns of the program's step, of the earlier steps that its features read, and the path's
    parameters.
    """
    width, start = program.width, (program.depth + 1) * program.width
    line = {back * width + k: x for back, block in enumerate(jacobian.rows) for k, x in enumerate(block[row])}
    line |= {start + k: x for k, x in enumerate(jacobian.parameters[row])}
    for block, age in zip(jacobian.rows, w.ages, strict=False):  # the past depends on free durations
        if not is_zero(age):
            for k, rates in enumerate(w.retreat):
                line[start + k] = line[start + k] - age * dot(list(block[row])[: len(rates)], rates)
    return {k: x for k, x in line.items() if not is_zero(x)}


def term_derivatives(
    program: PathProgram, w: PathWindow, request: TermRequest, terms: LocalTerms, curvature: Any = None
) -> None:
    """Add a term's merit, gradient and Gauss–Newton matrix to the sums of its step, ``terms``.

    Second derivatives of the term's values are added as well: completely for costs, and multiplied by ``curvature`` for
    other terms (not at all if ``curvature`` is None).
    """
    jacobian = request.term.feature.exact_jacobian(w, request.target)
    share, rows = _shares(request, jacobian.values)
    terms.merit, terms.active = terms.merit + share.merit, terms.active + share.active
    lines = [columns_of(program, w, jacobian, k) for k in range(len(rows))]
    for line, force, stiffness in _merged(lines, rows):
        line = {i: x if x.__class__ is float else _masked(request.weight, x) for i, x in line.items()}
        if terms.longest is not None and len(line) > terms.longest and not is_zero(stiffness):
            terms.rows.append((line, stiffness, force))
            continue
        for i, x in line.items():
            terms.gradient[i] = terms.gradient[i] + x * force if i in terms.gradient else x * force
        if is_zero(stiffness):
            continue
        weighted = {i: x * stiffness for i, x in line.items()}
        for i, x in line.items():
            for j, y in weighted.items():
                if j <= i:
                    terms.add(i, j, x * y)
    if request.term.kind == "cost" or curvature is not None:
        fraction = 1.0 if request.term.kind == "cost" else curvature
        counts = request.weight * fraction  # second derivatives may be infinite where first ones are not
        for (i, j), x in second_derivatives(program, w, request, [fraction * force for force, _ in rows]).items():
            terms.add(i, j, _masked(counts, x))


def _merged(lines: list[dict[int, Any]], rows: list[tuple[Any, Any]]) -> list[tuple[dict[int, Any], Any, Any]]:
    """Merge rows of a Jacobian that are equal up to the sign, such as those of the two bounds of a quantity.

    ``rows`` has a pair for each row of the Jacobian, the first and second derivative of the merit; they are added. The
    result has triples (row, first derivative, second derivative).
    """
    groups: dict[Any, tuple[dict[int, Any], Any, Any]] = {}
    for line, (force, curvature) in zip(lines, rows, strict=True):
        key, opposite = (tuple((i, sign * x) for i, x in line.items()) for sign in (1.0, -1.0))
        if opposite in groups:
            first, f, c = groups[opposite]
            groups[opposite] = first, f - force, c + curvature
        elif key in groups:
            first, f, c = groups[key]
            groups[key] = first, f + force, c + curvature
        else:
            groups[key] = line, force, curvature
    return list(groups.values())


def second_derivatives(
    program: PathProgram, w: PathWindow, request: TermRequest, weights: Scalars
) -> dict[tuple[int, int], Any]:
    """Return the Hessian of Σ weight · value of a term, as a dict of its lower triangle by (row, column)."""
    feature, width = request.term.feature, program.width
    size, start = (feature.depth + 1) * width, (program.depth + 1) * width

    def gradient(window: Any) -> list[Any]:
        jacobian = feature.exact_jacobian(window, request.target)
        total: list[Any] = [0.0] * (size + program.many)
        for k, weight in enumerate(weights):
            line = [x for block in jacobian.rows for x in block[k]] + list(jacobian.parameters[k])
            total = [a if is_zero(x) else a + weight * x for a, x in zip(total, line, strict=True)]
        return total

    jacobian = w.derived(gradient, feature.depth)
    full = [
        [x for block in jacobian.rows for x in block[i]] + list(jacobian.parameters[i])
        for i in range(len(jacobian.values))
    ]
    columns = [*range(size), *range(start, start + program.many)]
    hessian: dict[tuple[int, int], Any] = {}
    for i, a in enumerate(columns):
        for j, b in enumerate(columns[: i + 1]):
            x, y = full[i][j], full[j][i]
            if not (is_zero(x) and is_zero(y)):
                hessian[a, b] = 0.5 * (x + y)
    return hessian
