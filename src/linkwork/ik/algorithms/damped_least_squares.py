"""Damped least-squares steps within bounds.

The step δ of least ‖e + J δ‖² + μ ‖δ‖², in which coordinates that are at a bound, and would go beyond, stay:

    δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ e = −(JᵀJ + μ 1)⁻¹ Jᵀ e,

by the smaller of the two matrices, whose zeros are not computed with.  Of many rows, as limbs have that share a trunk,
both are larger than what both are made of,

    [1  Jᵀ; J  −μ 1] (δ; y) = (0; −e),

of which a limb's own joints are eliminated first, then its rows, and what all limbs share last.  What would go beyond
its bound goes there, and the others make up for it.

Sources: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 10 and 16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, mirrored, transposed
from linkwork.expr.linalg.triangular_factors import SymmetricFactors
from linkwork.expr.scalar.functions import copysign, fabs, fmax, lt, where
from linkwork.ik.algorithms.target_distance_scaling import multiplied
from linkwork.kinematics.algorithms.coordinates import LimitBox

__all__ = ["MANY", "bounded_step", "damped_step", "full", "newton_step", "shortened"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MANY = 12  # rows: from there on, limbs are told apart
_LEAST = 1e-14  # of the diagonal: what keeps a matrix regular where the damping vanishes


def damped_step(rows: Rows, errors: Scalars, damping: Any) -> list[Any]:
    """δ, without bounds."""
    count = len(rows[0]) if rows else 0
    used = [k for k in range(count) if any(not is_zero(row[k]) for row in rows)]
    if len(rows) >= MANY:
        return _of_limbs(rows, errors, damping, used)
    if len(rows) <= len(used):
        A = [[dot(row, other) if j <= i else 0.0 for j, other in enumerate(rows)] for i, row in enumerate(rows)]
        forces = _solved(A, errors, damping)
        return [-dot(column, forces) for column in transposed(rows)]
    columns = [[row[k] for row in rows] for k in used]
    A = [[dot(a, b) if j <= i else 0.0 for j, b in enumerate(columns)] for i, a in enumerate(columns)]
    result = dict(zip(used, _solved(A, [dot(a, errors) for a in columns], damping), strict=True))
    return [-result[k] if k in result else 0.0 for k in range(count)]


def _of_limbs(rows: Rows, errors: Scalars, damping: Any, used: Sequence[int]) -> list[Any]:
    """δ by the sparse matrix of both; pivots of δ are positive, those of y negative, in any order."""
    count = len(used)
    K: list[list[Any]] = [[1.0 if i == j else 0.0 for j in range(count)] for i in range(count)]
    for j, row in enumerate(rows):
        K.append([row[k] for k in used] + [0.0] * j + [-(damping + _LEAST * dot(row, row))])
    result = Semidefinite.of(K, more=0.0).once([0.0] * count + [-e for e in errors])
    step: list[Any] = [0.0] * len(rows[0])
    for k, x in zip(used, result, strict=False):
        step[k] = x
    return step


def _solved(A: list[list[Any]], b: Scalars, damping: Any) -> list[Any]:
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
    """δ within bounds.  Coordinates that lead beyond theirs are found in some rounds, and in the last one cut.

    Of velocities with a ``scale`` s, it is δ/s that is damped.
    """
    rows = [multiplied(row, scale) for row in rows] if scale else rows

    def solve(free: list[Any], step: list[Any]) -> list[Any]:
        rest = [e if is_zero(d) else e + d for e, row in zip(errors, rows, strict=True) for d in (dot(row, step),)]
        left = [[x if is_zero(x) else x * a for x, a in zip(row, free, strict=True)] for row in rows]
        return damped_step(left, rest, damping)

    return _within_bounds(solve, [-dot(column, errors) for column in transposed(rows)], box, q, rounds, scale)


def _within_bounds(
    solve: Callable[[list[Any], list[Any]], list[Any]],
    downhill: Scalars,
    box: LimitBox,
    q: Scalars,
    rounds: int,
    scale: Mapping[int, Any],
) -> list[Any]:
    """s δ of steps that ``solve`` finds of those that are free, 1 or 0, where the others go so far already."""
    free = box.free(q, downhill)
    step: list[Any] = [0.0] * len(free)
    for turn in range(rounds):
        result = solve(free, step)
        if turn == rounds - 1:
            break
        for k in box.numbers:
            if is_zero(result[k]):
                continue
            room = box.room(q, k, result[k])
            room = room / scale[k] if k in scale else room
            out = lt(room, fabs(result[k]))
            step[k] = where(out, copysign(room, result[k]), 0.0)
            free[k] = where(out, 0.0, free[k])
    step = [a if is_zero(b) else a + b for a, b in zip(step, result, strict=True)]
    return multiplied(step, scale) if scale else step


def full(lower: Scalars, count: int) -> list[list[Any]]:
    """A symmetric matrix of its lower triangle, row by row."""
    return mirrored([lower[i * (i + 1) // 2 :][: i + 1] for i in range(count)])


def newton_step(
    H: Rows,
    slopes: Scalars,
    damping: Any,
    box: LimitBox,
    q: Scalars,
    rounds: int = 2,
    scale: Mapping[int, Any] = MappingProxyType({}),
) -> list[Any]:
    """The step of least gᵀδ + ½ δᵀ(H + μ 1) δ within bounds; downhill, whatever H is.

    Of velocities with a ``scale`` s, it is δ/s that is damped.
    """
    if scale:
        H = [[x * scale[i] if i in scale else x for x in multiplied(row, scale)] for i, row in enumerate(H)]
        slopes = multiplied(slopes, scale)
    count = len(slopes)

    def solve(free: list[Any], step: list[Any]) -> list[Any]:
        A = [
            [(H[i][j] + (damping if i == j else 0.0)) * (free[i] * free[j]) for j in range(i + 1)] for i in range(count)
        ]
        b = [-a * (x + dot(row, step)) for a, x, row in zip(free, slopes, H, strict=True)]
        return SymmetricFactors(A, lambda _, pivot: 1.0 / fmax(fabs(pivot), damping)).solved(b)  # downhill always

    return _within_bounds(solve, [-x for x in slopes], box, q, rounds, scale)


def shortened(step: Scalars, longest: Scalars) -> list[Any]:
    """The step, its largest part no longer than that may be [rad, m]."""
    size: Any = 1.0
    for x, most in zip(step, longest, strict=True):
        if not is_zero(x):
            size = fmax(size, fabs(x) * (1.0 / most))
    return [x if is_zero(x) else x / size for x in step]
