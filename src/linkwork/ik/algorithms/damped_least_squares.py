"""Damped least-squares steps within bounds.

The step δ minimises ‖e + J δ‖² + μ ‖δ‖²; coordinates that are at a bound and would exceed it stay:

    δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ e = −(JᵀJ + μ 1)⁻¹ Jᵀ e,

by the smaller of the two matrices, with structural zeros skipped.  For many errors, as of limbs that share a trunk,
both matrices are denser than the system of their factors,

    [1  Jᵀ; J  −μ 1] (δ; y) = (0; −e),

of which the joints of each limb are eliminated first, then its errors, and the shared joints last.  A coordinate that
would exceed its bound is set to it, and the others compensate.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 10 and 16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.linalg.triangular_factors import SymmetricFactors
from linkwork.expr.scalar.functions import copysign, fabs, fmax, lt, where
from linkwork.ik.algorithms.target_distance_scaling import scaled_lengths
from linkwork.kinematics.algorithms.coordinates import LimitBox

__all__ = ["MIN_SPARSE_ROWS", "bounded_step", "damped_step", "newton_step", "shortened"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MIN_SPARSE_ROWS = 12  # number of rows from which the sparse system is used
_LEAST = 1e-14  # regularisation relative to the diagonal, for vanishing damping


def damped_step(rows: Rows, errors: Scalars, damping: Any) -> list[Any]:
    """Return the damped least-squares step δ for the Jacobian ``rows`` and ``errors``, without bounds."""
    count = len(rows[0]) if rows else 0
    used = [k for k in range(count) if any(not is_zero(row[k]) for row in rows)]
    if len(rows) >= MIN_SPARSE_ROWS:
        return _sparse_step(rows, errors, damping, used)
    if len(rows) <= len(used):
        A = [[dot(row, other) if j <= i else 0.0 for j, other in enumerate(rows)] for i, row in enumerate(rows)]
        multipliers = _solve(A, errors, damping)
        return [-dot(column, multipliers) for column in transposed(rows)]
    columns = [[row[k] for row in rows] for k in used]
    A = [[dot(a, b) if j <= i else 0.0 for j, b in enumerate(columns)] for i, a in enumerate(columns)]
    result = dict(zip(used, _solve(A, [dot(a, errors) for a in columns], damping), strict=True))
    return [-result[k] if k in result else 0.0 for k in range(count)]


def _sparse_step(rows: Rows, errors: Scalars, damping: Any, used: Sequence[int]) -> list[Any]:
    """Return the damped least-squares step δ as a part of the solution of [1 Jᵀ; J −μ 1] (δ; y) = (0; −e).

    ``used`` are the columns of J that are not zero.  In the elimination, pivots of δ are positive and those of y
    negative, in any order.
    """
    count = len(used)
    K: list[list[Any]] = [[1.0 if i == j else 0.0 for j in range(count)] for i in range(count)]
    for j, row in enumerate(rows):
        K.append([row[k] for k in used] + [0.0] * j + [-(damping + _LEAST * dot(row, row))])
    result = Semidefinite.of(K, more=0.0).once([0.0] * count + [-e for e in errors])
    step: list[Any] = [0.0] * len(rows[0])
    for k, x in zip(used, result, strict=False):
        step[k] = x
    return step


def _solve(A: list[list[Any]], b: Scalars, damping: Any) -> list[Any]:
    return Semidefinite.of(A, [damping] * len(A), _LEAST).once(b)


def bounded_step(
    rows: Rows,
    errors: Scalars,
    damping: Any,
    box: LimitBox,
    q: Scalars,
    rounds: int = 2,
    scale: Mapping[int, Any] = MappingProxyType({}),
) -> list[Any]:
    """Return the damped least-squares step δ for a Jacobian ``rows`` and ``errors``, within bounds.

    The step is computed ``rounds`` times.  After each round but the last, coordinates that exceed their bounds are
    fixed there.  ``scale`` maps indices of velocities to factors s; the damping of these velocities acts on δ/s.
    """
    rows = [scaled_lengths(row, scale) for row in rows] if scale else rows

    def solve(free: list[Any], step: list[Any]) -> list[Any]:
        rest = [e if is_zero(d) else e + d for e, row in zip(errors, rows, strict=True) for d in (dot(row, step),)]
        free_rows = [[x if is_zero(x) else x * a for x, a in zip(row, free, strict=True)] for row in rows]
        return damped_step(free_rows, rest, damping)

    return _within_bounds(solve, [-dot(column, errors) for column in transposed(rows)], box, q, rounds, scale)


def _within_bounds(
    solve: Callable[[list[Any], list[Any]], list[Any]],
    downhill: Scalars,
    box: LimitBox,
    q: Scalars,
    rounds: int,
    scale: Mapping[int, Any],
) -> list[Any]:
    """Return a step within bounds, computed ``rounds`` times with the coordinates fixed that exceed their bounds.

    ``solve(free, step)`` returns the step of the free coordinates (1 or 0), where the others already move by ``step``.
    ``downhill`` is the negative gradient.  Coordinates of ``scale`` are multiplied by their factors s at the end.
    """
    free = box.free(q, downhill)
    step: list[Any] = [0.0] * len(free)
    for round_ in range(rounds):
        result = solve(free, step)
        if round_ == rounds - 1:
            break
        for k in box.indices:
            if is_zero(result[k]):
                continue
            room = box.room(q, k, result[k])
            room = room / scale[k] if k in scale else room
            out = lt(room, fabs(result[k]))
            step[k] = where(out, copysign(room, result[k]), 0.0)
            free[k] = where(out, 0.0, free[k])
    step = [a if is_zero(b) else a + b for a, b in zip(step, result, strict=True)]
    return scaled_lengths(step, scale) if scale else step


def newton_step(
    H: Rows,
    slopes: Scalars,
    damping: Any,
    box: LimitBox,
    q: Scalars,
    rounds: int = 2,
    scale: Mapping[int, Any] = MappingProxyType({}),
) -> list[Any]:
    """Return the step that minimises gᵀδ + ½ δᵀ(H + μ 1) δ within bounds; ``slopes`` are g and ``damping`` is μ.

    It is a descent direction for any H.  ``scale`` maps indices of velocities to factors s; the damping of these
    velocities acts on δ/s.
    """
    if scale:
        H = [[x * scale[i] if i in scale else x for x in scaled_lengths(row, scale)] for i, row in enumerate(H)]
        slopes = scaled_lengths(slopes, scale)
    count = len(slopes)

    def solve(free: list[Any], step: list[Any]) -> list[Any]:
        A = [
            [(H[i][j] + (damping if i == j else 0.0)) * (free[i] * free[j]) for j in range(i + 1)] for i in range(count)
        ]
        b = [-a * (x + dot(row, step)) for a, x, row in zip(free, slopes, H, strict=True)]
        return SymmetricFactors(A, lambda _, pivot: 1.0 / fmax(fabs(pivot), damping)).solved(
            b
        )  # absolute pivots give a descent direction

    return _within_bounds(solve, [-x for x in slopes], box, q, rounds, scale)


def shortened(step: Scalars, longest: Scalars) -> list[Any]:
    """Scale a step down so that no entry exceeds its maximum in ``longest`` [rad, m]."""
    size: Any = 1.0
    for x, limit in zip(step, longest, strict=True):
        if not is_zero(x):
            size = fmax(size, fabs(x) * (1.0 / limit))
    return [x if is_zero(x) else x / size for x in step]
