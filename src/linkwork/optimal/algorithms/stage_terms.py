"""What the entries of a problem make of one step: gradient and Gauss–Newton blocks of an augmented Lagrangian.

With c the values of a constraint, s its scale, λ its multipliers and ρ its penalty, its share is

    ½ ρ Σ r²,     r = y − clip(y, s l, s u),     y = s c + λ/ρ,

with the bounds l ≤ c ≤ u: 0 and 0 of an equality, −∞ and 0 of an inequality.  f = ρ r are the multipliers that it would
have next.  Its gradient is s Jᵀ f, and where r is not zero, ρ s² JᵀJ stands for its second derivatives.

Columns are those of step t, of t − 1 ... t − depth, and the path's parameters.  What does not count in a step adds
nothing, whatever it is there.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 10 and 17.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import eq, fabs, fmax, fmin, lt, where
from linkwork.optimal.algorithms.path_nlp import PathEntry, PathProgram
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features.feature import FeatureRows

__all__ = ["EntryRequest", "LocalShare", "LocalTerms", "entry_terms", "entry_values"]

Scalars = Sequence[Any]


@dataclass(frozen=True)
class EntryRequest:
    """An entry with its numbers in one step."""

    entry: PathEntry
    weight: Any
    scales: Scalars
    target: Scalars
    lower: Scalars
    upper: Scalars
    multipliers: Scalars = ()
    penalty: Any = 1.0
    later: Any = 1.0  # 0 where rows that look at earlier steps do not count, though the others do

    def weight_of(self, row: int) -> Any:
        """Whether a row counts."""
        every = self.later.__class__ is float and self.later > 0.0
        return self.weight if every or row < self.entry.feature.early else self.weight * self.later


@dataclass
class LocalTerms:
    """The gradient and the lower triangle of second derivatives of one step, by column, and its share of the merit."""

    gradient: dict[int, Any] = field(default_factory=dict)
    blocks: dict[tuple[int, int], Any] = field(default_factory=dict)
    merit: Any = 0.0
    active: Any = 0.0  # rows at a bound or beyond
    longest: int | None = None  # rows of more columns than this stay rows
    rows: list[tuple[dict[int, Any], Any, Any]] = field(default_factory=list)  # j, c and f: c j jᵀ and f j are added

    def add(self, i: int, j: int, x: Any) -> None:
        """To an element of the second derivatives."""
        place = (i, j) if i >= j else (j, i)
        self.blocks[place] = self.blocks[place] + x if place in self.blocks else x


@dataclass(frozen=True)
class LocalShare:
    """What an entry adds in one step: to the merit and to the cost; what is violated at most; its next multipliers.

    The residual is max |f − λ|/ρ: the scaled violation of rows that hold, and what is left of multipliers of rows that
    do not.  Where it is zero, constraints are kept and complementary to their multipliers.
    """

    merit: Any
    cost: Any
    violation: Any
    residual: Any
    active: Any  # how many of its rows are at a bound or beyond
    forces: list[Any]


def _counts(weight: Any, x: Any) -> Any:
    """A number where the entry counts, else 0: also where it is none."""
    if weight.__class__ is float:
        return x if weight else 0.0
    return where(lt(0.0, weight), x, 0.0)


def _beyond(asked: EntryRequest, y: Any, row: int, scale: Any) -> tuple[Any, Any]:
    """y − clip(y) between an entry's scaled bounds, and whether it counts there, a factor."""
    entry = asked.entry
    if entry.bounded:
        low, high = asked.lower[row] * scale, asked.upper[row] * scale
        found = y - fmin(fmax(y, low), high)
        held = where(eq(found, 0.0), where(eq(low, high), 1.0, 0.0), 1.0)
        return _counts(asked.weight_of(row), found), held
    if entry.kind == "inequality":
        return where(lt(y, 0.0), 0.0, y), where(lt(0.0, y), 1.0, 0.0)  # what is no number stays none
    return y, 1.0


def _shares(asked: EntryRequest, values: Scalars) -> tuple[LocalShare, list[tuple[Any, Any]]]:
    """What values come to; by row its force, and the curvature that stands for its second derivatives."""
    entry, rho = asked.entry, asked.penalty
    merit: Any = 0.0
    cost: Any = 0.0
    violation: Any = 0.0
    residual: Any = 0.0
    active: Any = 0.0
    forces, rows = [], []
    for k, value in enumerate(values):
        weight = asked.weight_of(k)
        c = _counts(weight, value)
        scale = weight * asked.scales[k]
        if entry.kind == "cost":
            merit = merit + scale * c
            rows.append((scale, 0.0))
        elif entry.kind == "squares":
            r, held = _beyond(asked, scale * c, k, scale)
            merit = merit + 0.5 * r * r
            rows.append((scale * r, held * scale * scale))
            active = active + held if entry.bounded else active
        else:
            shift = asked.multipliers[k] / rho
            r, held = _beyond(asked, scale * c + shift, k, scale)
            f = rho * r
            merit = merit + 0.5 * f * r
            forces.append(f)
            rows.append((scale * f, held * rho * scale * scale))
            left, _ = _beyond(asked, c, k, 1.0)
            violation = fmax(violation, fabs(left))
            residual = fmax(residual, fabs(r - shift))
            active = active + held if entry.bounded or entry.kind == "inequality" else active
    cost = merit if not entry.hard else 0.0
    return LocalShare(merit, cost, violation, residual, active, forces), rows


def entry_values(w: PathWindow, asked: EntryRequest) -> LocalShare:
    """An entry's share in a window, without derivatives."""
    return _shares(asked, asked.entry.feature.values(w, asked.target))[0]


def columns_of(program: PathProgram, w: PathWindow, found: FeatureRows, row: int) -> dict[int, Any]:
    """A row by column of the program's windows, without what is structurally zero."""
    width, start = program.width, (program.depth + 1) * program.width
    line = {back * width + k: x for back, block in enumerate(found.rows) for k, x in enumerate(block[row])}
    line |= {start + k: x for k, x in enumerate(found.parameters[row])}
    for block, age in zip(found.rows, w.ages, strict=False):  # free durations say where it was before the start
        if not is_zero(age):
            for k, way in enumerate(w.retreat):
                line[start + k] = line[start + k] - age * dot(list(block[row])[: len(way)], way)
    return {k: x for k, x in line.items() if not is_zero(x)}


def entry_terms(program: PathProgram, w: PathWindow, asked: EntryRequest, terms: LocalTerms, bent: Any = None) -> None:
    """Adds an entry's share to the terms of a step, and so much of its values' own second derivatives as is said."""
    found = asked.entry.feature.exact_jacobian(w, asked.target)
    share, rows = _shares(asked, found.values)
    terms.merit, terms.active = terms.merit + share.merit, terms.active + share.active
    lines = [columns_of(program, w, found, k) for k in range(len(rows))]
    for line, force, curvature in _together(lines, rows):
        line = {i: x if x.__class__ is float else _counts(asked.weight, x) for i, x in line.items()}
        if terms.longest is not None and len(line) > terms.longest and not is_zero(curvature):
            terms.rows.append((line, curvature, force))
            continue
        for i, x in line.items():
            terms.gradient[i] = terms.gradient[i] + x * force if i in terms.gradient else x * force
        if is_zero(curvature):
            continue
        weighed = {i: x * curvature for i, x in line.items()}
        for i, x in line.items():
            for j, y in weighed.items():
                if j <= i:
                    terms.add(i, j, x * y)
    if asked.entry.kind == "cost" or bent is not None:
        much = 1.0 if asked.entry.kind == "cost" else bent
        for (i, j), x in second_derivatives(program, w, asked, [much * pull for pull, _ in rows]).items():
            terms.add(i, j, _counts(asked.weight, x))


def _together(lines: list[dict[int, Any]], rows: list[tuple[Any, Any]]) -> list[tuple[dict[int, Any], Any, Any]]:
    """Rows with their forces and curvatures, of those that are equal but for the sign, as of two bounds, one."""
    found: dict[Any, tuple[dict[int, Any], Any, Any]] = {}
    for line, (force, curvature) in zip(lines, rows, strict=True):
        key, opposite = (tuple((i, sign * x) for i, x in line.items()) for sign in (1.0, -1.0))
        if opposite in found:
            first, f, c = found[opposite]
            found[opposite] = first, f - force, c + curvature
        elif key in found:
            first, f, c = found[key]
            found[key] = first, f + force, c + curvature
        else:
            found[key] = line, force, curvature
    return list(found.values())


def second_derivatives(
    program: PathProgram, w: PathWindow, asked: EntryRequest, pulls: Scalars
) -> dict[tuple[int, int], Any]:
    """Those of the sum of an entry's values, each times its pull: the lower triangle, by column."""
    feature, width = asked.entry.feature, program.width
    size, start = (feature.depth + 1) * width, (program.depth + 1) * width

    def pulled(window: Any) -> list[Any]:
        found = feature.exact_jacobian(window, asked.target)
        total: list[Any] = [0.0] * (size + program.many)
        for k, pull in enumerate(pulls):
            line = [x for block in found.rows for x in block[k]] + list(found.parameters[k])
            total = [a if is_zero(x) else a + pull * x for a, x in zip(total, line, strict=True)]
        return total

    found = w.derived(pulled, feature.depth)
    full = [[x for block in found.rows for x in block[i]] + list(found.parameters[i]) for i in range(len(found.values))]
    places = [*range(size), *range(start, start + program.many)]
    bent: dict[tuple[int, int], Any] = {}
    for i, a in enumerate(places):
        for j, b in enumerate(places[: i + 1]):
            x, y = full[i][j], full[j][i]
            if not (is_zero(x) and is_zero(y)):
                bent[a, b] = 0.5 * (x + y)
    return bent
