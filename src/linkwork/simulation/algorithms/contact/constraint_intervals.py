"""Constraints in a step's convex program: their impulses as unbounded intervals, independent of the choice of rows.

A constraint has rows G with φ̇ = G w + σ.  It is nearly rigid: its impulse γ is that of the compliance

    R = ε G D⁻¹ Gᵀ + E = L C Lᵀ,      D = diag(A), its light elements increased,

with an E relative to the size of the rows without cancellation, so that rows and combinations of rows that are rounding
have no effect.  The rows L⁻¹ G are independent in R: each is an interval.  Rows in turned axes have the same impulses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.functions import fmax
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import FLAT
from linkwork.simulation.algorithms.contact.contact_terms import FIRM, Interval, per_settling

__all__ = ["TiedRows", "tied_rows"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]
_LIGHT = 1e-4  # smallest ratio of two inertias of a constraint, in units of w


@dataclass(frozen=True)
class TiedRows:
    """Rows of one constraint as intervals, with the factors that make them independent."""

    factors: Semidefinite
    intervals: list[Interval]

    def impulses(self, pushes: Scalars) -> list[Any]:
        """Return the impulses of the constraint's own rows from those of the intervals."""
        each = zip(pushes, self.factors.D_inv, strict=True)
        return self.factors.rest([push / inverse for push, inverse in each])


def tied_rows(rows: Rows, sizes: Rows, errors: Scalars, drifts: Scalars, A: Rows, units: Scalars, h: Any) -> TiedRows:
    """Return the impulses of a constraint with φ = ``errors`` and φ̇ = ``rows`` · w + ``drifts``.

    φ decays within a few steps.  A is the mass matrix, of which only the diagonal is used.  ``sizes`` are the squared
    elements of the rows without cancellation.  ``units`` (nv) are those of w.
    """
    inverse = _inverse_inertias(rows, A, units)
    eased = [[x if is_zero(x) else x * d for x, d in zip(row, inverse, strict=True)] for row in rows]
    lower = [[dot(eased[i], rows[j]) for j in range(i + 1)] for i in range(len(rows))]
    factors = Semidefinite.of(lower, [FLAT / FIRM * dot(inverse, row) for row in sizes], more=0.0)
    columns = [factors.half(column) for column in transposed(rows)]
    targets = factors.half([-s - x * per_settling(h) for x, s in zip(errors, drifts, strict=True)])
    each = zip(transposed(columns), targets, factors.D_inv, strict=True)
    bounds = -math.inf, math.inf
    return TiedRows(factors, [Interval(row, x, d * (1.0 / FIRM), *bounds, d * (x * x)) for row, x, d in each])


def _inverse_inertias(rows: Rows, A: Rows, units: Scalars) -> list[Any]:
    """Return the inverse inertias (nv) that the compliance of a constraint is relative to.

    They are those of the diagonal of A, at least `_LIGHT` times the heaviest one of the constraint, in units of w: a
    light part may carry the load of a heavy one.
    """
    moved = [k for k, column in enumerate(transposed(rows)) if not all(map(is_zero, column))]
    squares = [unit * unit for unit in units]
    heaviest: Any = reduce(fmax, (A[k][k] * squares[k] for k in moved), 0.0)
    return [1.0 / fmax(row[k], _LIGHT * heaviest * (1.0 / squares[k])) for k, row in enumerate(A)]
