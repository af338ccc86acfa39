"""Damping and dry friction of joints along a segment of a path, linearized about a known motion.

Each joint has a resistance R(v) that rises with its own velocity v = q' ṡ.  Around x_0 = ṡ² of a known motion

    R(x) ≈ R(x_0) + R'(x_0) (x − x_0),

at the nodes of the segment, which adds to B and C of A u + B x + C.  Where the polynomial through these values
approximates the resistance badly, such as near rest, the range of R on the segment narrows the limits instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.passive_joint_forces import resisting_force
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, sqrt, where
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.timing.segment_constraints import (
    NODES,
    PathLimits,
    PathValues,
    control_points,
    polynomial_at,
)

__all__ = ["SegmentResistance", "excess_with_resistance", "fitting_share", "segment_resistance", "with_resistance"]

_ERROR = 1e-8  # of a limit: larger differences of R from its polynomial at the ends of a segment count as rough
_ROOM = 0.8  # of the joint force between rest and a limit: so much of it the first resistance takes at most
_SLOWEST = 1e-150  # ṡ² at which the slope of R is not evaluated
_TINY, _UNLIMITED = 1e-300, 1e20

Rows = Sequence[Sequence[Any]]


class SegmentResistance(NamedTuple):
    """Resistance R(v) of each joint (nv) [N·m, N], damping and friction, on a segment, for known speeds ṡ at both ends.

    ``values`` and ``slopes`` (k, nv) are R and dR/d(ṡ²) at the k nodes of the segment. Where a polynomial through these
    values is a bad approximation, both are 0. Then ``least`` and ``most`` (nv) are the range of R on the segment;
    otherwise they are 0. ``errors`` (nv) are the errors of the polynomial. All entries of a joint without resistance
    are the float 0.
    """

    values: list[list[Any]]
    slopes: list[list[Any]]
    least: list[Any]
    most: list[Any]
    errors: list[Any]


def segment_resistance(tree: Tree, rates: Rows, x0: Any, x1: Any, sizes: Sequence[Any]) -> SegmentResistance:
    """Return each joint's damping and friction on a segment of a cubic path, for ṡ² = x0 and x1 at its ends.

    ṡ² is linear in between. ``rates`` (3, nv) are q' = dq/ds at three nodes of the segment. ``sizes`` (nv) are the
    magnitudes of the joint force limits.
    """
    nv, nodes = len(sizes), NODES[5]
    corners = [control_points([row[j] for row in rates]) for j in range(nv)]
    at_nodes = [[polynomial_at(t, [row[j] for row in rates]) for j in range(nv)] for t in nodes]
    squares = [x0 + t * (x1 - x0) for t in nodes]
    values, slopes = [], []
    for rate, x in zip(at_nodes, squares, strict=True):
        w = sqrt(fmax(x, 0.0))
        R, by_v = _resistance(tree, [p * w for p in rate])
        per = where(lt(_SLOWEST, x), 0.5 / where(lt(_SLOWEST, x), w, 1.0), 0.0)
        values.append(R)
        slopes.append([0.0 if is_zero(d) else d * p * per for d, p in zip(by_v, rate, strict=True)])
    w0, w1 = sqrt(fmax(x0, 0.0)), sqrt(fmax(x1, 0.0))
    slow, fast = fmin(w0, w1), fmax(w0, w1)
    lowest = [_by_sign(reduce(fmin, points), slow, fast) for points in corners]
    highest = [_by_sign(reduce(fmax, points), fast, slow) for points in corners]
    least, most = (_resistance(tree, v)[0] for v in (lowest, highest))
    ends = [_resistance(tree, [points[k] * w for points in corners])[0] for k, w in ((0, w0), (-1, w1))]
    errors: list[Any] = [0.0] * nv
    for j, size in enumerate(sizes):
        column = [row[j] for row in values]
        if all(is_zero(x) for x in column):
            least[j] = most[j] = 0.0
            continue
        errors[j] = fmax(*(fabs(end[j] - polynomial_at(t, column)) for t, end in zip((0.0, 1.0), ends, strict=True)))
        smooth = le(errors[j], _ERROR * size)
        errors[j] = where(smooth, errors[j], 0.0)
        least[j], most[j] = where(smooth, 0.0, least[j]), where(smooth, 0.0, most[j])
        for row in (*values, *slopes):
            row[j] = where(smooth, row[j], 0.0)
    return SegmentResistance(values, slopes, least, most, errors)


def fitting_share(tree: Tree, rates: Rows, at_rest: Rows, limits: PathLimits, x0: Any, x1: Any) -> Any:
    """Return the factor ≤ 1 by which ṡ² must be reduced, so that joint forces are within limits on a segment.

    The joint forces are the forces ``at_rest`` (k, nv) at the nodes of the segment, plus damping and friction. x0 and
    x1 are ṡ² at both ends of the segment; the factor is 1 if they are feasible. ``rates`` are dq/ds at the nodes.
    """
    fast = sqrt(fmax(fmax(x0, x1), 0.0))
    corners = [control_points([row[j] for row in rates]) for j in range(len(limits.lower))]
    most = _resistance(tree, [fmax(reduce(fmax, points), 0.0) * fast for points in corners])[0]
    least = _resistance(tree, [fmin(reduce(fmin, points), 0.0) * fast for points in corners])[0]
    share: Any = 1.0 + 0.0 * fast
    for j, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
        points = control_points([row[j] for row in at_rest])
        for room, need in ((high - reduce(fmax, points), most[j]), (reduce(fmin, points) - low, -least[j])):
            if not is_zero(need):
                share = fmin(share, where(lt(_ROOM * room, need), fmax(_ROOM * room, 0.0) / fmax(need, _TINY), 1.0))
    return share * share


def with_resistance(
    along: PathValues, limits: PathLimits, resistance: SegmentResistance, x0: Any, x1: Any
) -> tuple[PathValues, PathLimits, Any]:
    """Return values and limits of joint forces on a segment, including resistance; and 1 if rest is permitted, else −1.

    The resistance, damping and friction, is linear in x = ṡ², with x0 and x1 at both ends of the segment. Where it
    would exceed the limits at rest, a resistance in proportion to x replaces it.
    """
    second, at_rest = [[*row] for row in along.second], [[*row] for row in along.at_rest]
    lower, upper = list(limits.lower), list(limits.upper)
    squares = [x0 + t * (x1 - x0) for t in NODES[len(second)]]
    may_rest = 0.0 * x0 + 1.0
    for j in range(len(lower)):
        lower[j], upper[j] = lower[j] - resistance.least[j], upper[j] - resistance.most[j]
        if not all(is_zero(row[j]) for row in resistance.values):
            start = [
                row[j] + R[j] - S[j] * x
                for row, R, S, x in zip(at_rest, resistance.values, resistance.slopes, squares, strict=True)
            ]
            fits = _within(start, lower[j], upper[j])
            for k, (R, S, x) in enumerate(zip(resistance.values, resistance.slopes, squares, strict=True)):
                at_rest[k][j] = where(fits, start[k], at_rest[k][j])
                second[k][j] = second[k][j] + where(fits, S[j], R[j] / fmax(x, _TINY))
        may_rest = where(_within([row[j] for row in at_rest], lower[j], upper[j]), may_rest, -1.0)
    return along._replace(second=second, at_rest=at_rest), limits._replace(lower=lower, upper=upper), may_rest


def excess_with_resistance(
    along: PathValues, limits: PathLimits, resistance: SegmentResistance, step: Any, x0: Any, u: Any
) -> list[Any]:
    """Return the excess (nv) of joint forces over their limits on a segment with a known ``resistance``."""
    result = []
    for j, (low, high) in enumerate(zip(limits.lower, limits.upper, strict=True)):
        points = control_points(
            [
                a[j] * u + b[j] * (x0 + (2.0 * t * step) * u) + c[j] + R[j]
                for t, a, b, c, R in zip(
                    NODES[len(along.first)], along.first, along.second, along.at_rest, resistance.values, strict=True
                )
            ]
        )
        over = fmax(
            reduce(fmax, points) + resistance.most[j] - high, low - (reduce(fmin, points) + resistance.least[j])
        )
        result.append(fmax(over, 0.0) + resistance.errors[j])
    return result


def _resistance(tree: Tree, v: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return each joint's resistance R(v), damping and friction, [N·m, N] and its derivative dR/dv (nv).

    The resistance of a joint depends on its own velocity only.
    """
    moving = seeded(v, [1.0] * len(v))
    pairs = [parts(x, moving[0].level) for x in resisting_force(tree, moving)]
    return tuple([0.0 if is_zero(x) else -x for x in part] for part in zip(*pairs, strict=True))  # type: ignore[return-value]


def _by_sign(rate: Any, forward: Any, backward: Any) -> Any:
    """Return ``rate`` times ``forward`` if the rate is positive, else ``rate`` times ``backward``."""
    return rate * where(lt(rate, 0.0), backward, forward)


def _within(values: Sequence[Any], low: Any, high: Any) -> Any:
    """Return True if the polynomial through values at the nodes is within limits, by its control points."""
    points = control_points(values)
    return and_(le(low, reduce(fmin, points)), not_(lt(high, reduce(fmax, points))))
