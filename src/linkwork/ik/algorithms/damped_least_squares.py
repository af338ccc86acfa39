"""Damped least-squares steps within bounds.

The step δ minimises ‖e + J δ‖² + μ ‖δ‖²; a coordinate that is at a bound and would exceed it does not move:

    δ = −Jᵀ (J Jᵀ + μ 1)⁻¹ e = −(JᵀJ + μ 1)⁻¹ Jᵀ e,

with the smaller of the two matrices, without structural zeros.  For many errors, such as those of limbs that share a
trunk, both matrices are denser than the system

    [1  Jᵀ; J  −μ 1] (δ; y) = (0; −e),

in which the joints of each limb are eliminated first, then its errors, and the shared joints last.  A coordinate that
would exceed its bound is set to the bound, and the others compensate.

Steps of length coordinates (prismatic joints and bases) are scaled with the distance of the target.  Angles have a
natural unit, the radian.  Lengths have none: a target may be a link away or a kilometre.  Where position errors exceed
a characteristic length L, steps of these coordinates are therefore computed for δ' = δ/s with

    s = max(3 L, |e| min(|e|/L, 10))   [m/rad].

With damping μ ‖δ'‖² and entries of δ' up to 0.4 rad, one step of a linear problem then covers nearly the whole
distance, and a search is the same in all units.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., 2006, chapters 10 and 16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.linalg.triangular_factors import SymmetricFactors
from linkwork.expr.scalar.functions import copysign, fabs, fmax, fmin, lt, sqrt, where
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.coordinates import LimitBox, characteristic_length
from linkwork.model.tree import Tree

__all__ = [
    "MIN_SPARSE_ROWS",
    "bounded_step",
    "damped_step",
    "length_dofs",
    "length_scale",
    "longest_steps",
    "newton_step",
    "scaled_lengths",
    "shortened",
]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MIN_SPARSE_ROWS = 12  # number of rows from which the sparse system is used
_LEAST = 1e-14  # regularisation relative to the diagonal, for vanishing damping
_MIN_SCALE = 3.0  # minimum of s relative to L
_MAX_SCALE = 10.0  # maximum of s relative to the distance
_LONGEST = 0.4  # [rad] maximum of δ'


def length_dofs(stack: Stack) -> list[int]:
    """Return the indices in v of the coordinates that are lengths and not locked."""
    return [k for k, unit in enumerate(_units(stack.tree)) if not unit.startswith("rad") and k not in stack.locked_dofs]


def length_scale(stack: Stack, beyond: Scalars, weights: Scalars) -> Any:
    """Return the factor s [m/rad] by which steps of length coordinates are enlarged, from the remaining errors.

    The remaining errors are the entries of ``beyond`` (errors outside their ranges) that are lengths and have a
    positive weight.
    """
    lengths = [
        x * where(lt(0.0, w), 1.0, 0.0)
        for x, w, unit in zip(beyond, weights, stack.units, strict=True)
        if unit != "rad"
    ]
    lengths = [x for x in lengths if not is_zero(x)]
    length = characteristic_length(stack.tree)
    if not lengths:
        return _MIN_SCALE * length
    distance = sqrt(dot(lengths, lengths))
    return fmax(_MIN_SCALE * length, distance * fmin(distance * (1.0 / length), _MAX_SCALE))


def longest_steps(units: Sequence[float], scale: Mapping[int, Any]) -> list[Any]:
    """Return the largest permitted step of each velocity coordinate [rad, m].

    It is its entry of ``units``, or for a coordinate in ``scale`` (a length) `_LONGEST` times its factor.
    """
    return [_LONGEST * scale[k] if k in scale else unit for k, unit in enumerate(units)]


def scaled_lengths(vector: Scalars, scale: Mapping[int, Any]) -> list[Any]:
    """Return a vector (nv) whose entries k of ``scale`` are multiplied by scale[k]."""
    return [x if k not in scale or is_zero(x) else x * scale[k] for k, x in enumerate(vector)]


def _units(tree: Tree) -> list[str]:
    return [unit for _, body in tree.stacked() for unit in body.joint.v_units]


def damped_step(rows: Rows, errors: Scalars, damping: Any) -> list[Any]:
    """Return the damped least-squares step δ for the Jacobian ``rows`` and ``errors``, without bounds."""
    count = len(rows[0]) if rows else 0
    used = [k for k in range(count) if any(not is_zero(row[k]) for row in rows)]
    if len(rows) >= MIN_SPARSE_ROWS:
        return _sparse_step(rows, errors, damping, used)
    if len(rows) <= len(used):
        A = [[dot(a, b) if j <= i else 0.0 for j, b in enumerate(rows)] for i, a in enumerate(rows)]
        multipliers = _solve(A, errors, damping)
        return [-dot(column, multipliers) for column in transposed(rows)]
    columns = [[row[k] for row in rows] for k in used]
    A = [[dot(a, b) if j <= i else 0.0 for j, b in enumerate(columns)] for i, a in enumerate(columns)]
    result = dict(zip(used, _solve(A, [dot(a, errors) for a in columns], damping), strict=True))
    return [-result[k] if k in result else 0.0 for k in range(count)]


def _sparse_step(rows: Rows, errors: Scalars, damping: Any, used: Sequence[int]) -> list[Any]:
    """Return the damped least-squares step δ as a part of the solution of [1 Jᵀ; J −μ 1] (δ; y) = (0; −e).

    ``used`` are the columns of J that are not zero.  In any order of elimination, pivots of δ are positive, and pivots
    of y are negative.
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

    The step is computed ``rounds`` times.  After each round except the last, coordinates that exceed their bounds are
    fixed at these bounds.  ``scale`` maps indices of velocities to factors s; the damping of these velocities acts on
    δ/s.
    """
    rows = [scaled_lengths(row, scale) for row in rows] if scale else rows

    def solve(free: list[Any], step: list[Any]) -> list[Any]:
        left = [e if is_zero(d) else e + d for e, row in zip(errors, rows, strict=True) for d in (dot(row, step),)]
        free_rows = [[x if is_zero(x) else x * a for x, a in zip(row, free, strict=True)] for row in rows]
        return damped_step(free_rows, left, damping)

    return _within_bounds(solve, [-dot(column, errors) for column in transposed(rows)], box, q, rounds, scale)


def _within_bounds(
    solve: Callable[[list[Any], list[Any]], list[Any]],
    downhill: Scalars,
    box: LimitBox,
    q: Scalars,
    rounds: int,
    scale: Mapping[int, Any],
) -> list[Any]:
    """Return a step within bounds; in each of ``rounds`` rounds, coordinates that exceed a bound are fixed at it.

    ``solve(free, step)`` returns the step of the coordinates with 1 in ``free``, while those with 0 move by ``step``.
    ``downhill`` is the negative gradient. Coordinates of ``scale`` are multiplied by their factors s at the end.
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
    scale: Mapping[int, Any] = MappingProxyType({}),
) -> list[Any]:
    """Return the step δ that minimises gᵀδ + ½ δᵀ(H + μ 1) δ within bounds, with the gradient g = ``slopes``.

    ``damping`` is μ. The step is a descent direction for any H. ``scale`` maps indices of velocities to factors s; the
    damping of these velocities acts on δ/s.
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
        # absolute pivots give a descent direction
        return SymmetricFactors(A, lambda _, pivot: 1.0 / fmax(fabs(pivot), damping)).solved(b)

    return _within_bounds(solve, [-x for x in slopes], box, q, 2, scale)


def shortened(step: Scalars, longest: Scalars) -> list[Any]:
    """Scale a step down so that no entry exceeds its maximum in ``longest`` [rad, m]."""
    size: Any = 1.0
    for x, limit in zip(step, longest, strict=True):
        if not is_zero(x):
            size = fmax(size, fabs(x) * (1.0 / limit))
    return [x if is_zero(x) else x / size for x in step]
