"""From poses and twists to a joint's numbers, where its type states no closed form: least squares, over any scalar.

The configuration nearest to a pose is found by Gauss and Newton's steps on the manifold, φ = S⁺ ξ with ξ what is left
to the pose, made shorter where they lead no nearer.  They start at zero and, where that does not lead to the pose
itself, at other configurations, always the same ones; the nearest that was found counts.

Where it ends Sᵀξ = 0: what is left lies in the span of the wrenches that the joint bears, so these do no work on it
only where nothing is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.expr.autodiff.custom_derivative import still
from linkwork.expr.autodiff.dual_numbers import order_of, value_of
from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import and_, fmin, lt, or_, sqrt, where
from linkwork.spatial import Motion, Pose

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["least_squares", "left_over", "nearest"]

Scalars = Sequence[Any]

_DEPENDENT = 1e-24  # the square of the part of its size below which what others leave of a motion is rounding
_FOUND = 1e-12  # the square of what may be left where a pose is taken for one that the joint can take
_STARTS = 5
_STEPS = 25  # from each
_GAINED = 1e-6  # the part of what is left, squared, that a step takes off at least where another one follows


def least_squares(columns: Sequence[Scalars], x: Scalars) -> list[Any]:
    """The v with the least |Σ columns_k v_k − x|, zero for a column that depends on those before it.

    By Gram and Schmidt's method, x being taken along as one more column.
    """
    before: list[tuple[list[Any], Any]] = []  # orthogonal columns, and one over their squares
    R: list[list[Any]] = []
    rest, along = list(x), []
    for column in columns:
        own, size, ratios = list(column), _dot(column, column), []
        for other, inverse in before:
            ratio = _dot(own, other) * inverse
            own = [a - b * ratio for a, b in zip(own, other, strict=True)]
            ratios.append(ratio)
        square = _dot(own, own)
        free = lt(size * _DEPENDENT, square)
        inverse = where(free, 1.0 / where(free, square, 1.0), 0.0)
        part = _dot(rest, own) * inverse
        rest = [a - b * part for a, b in zip(rest, own, strict=True)]
        before.append((own, inverse))
        R.append(ratios)
        along.append(part)
    for k in range(len(columns) - 1, -1, -1):
        for i, ratio in enumerate(R[k]):
            along[i] = along[i] - ratio * along[k]
    return along


def left_over(reached: Pose, X: Pose) -> Motion:
    """ξ: what is left to a pose, in the coordinates of the frame that was reached: (rotation vector; position)."""
    return Pose.identity().difference(reached.inv() @ X)


def nearest(joint: JointType, X: Pose) -> list[Any]:
    """The configuration whose transform is nearest to X."""
    if joint.nq == 0:
        return []
    fixed = still([value_of(x) for x in X.elements()])
    q = _searched(joint, Pose.of_elements(fixed))
    for _ in range(1 + max(map(order_of, X.elements()))):  # one an order of derivatives
        q = joint.integrate(q, _step(joint, q, left_over(joint.X(q), X)))
    return list(q)


def _step(joint: JointType, q: Scalars, xi: Motion) -> list[Any]:
    """S⁺ ξ, of at most unit length."""
    phi = joint.velocity_from_twist(q, xi)
    size = _dot(phi, phi)
    long = lt(1.0, size)
    scale = where(long, 1.0 / sqrt(where(long, size, 1.0)), 1.0)
    return [a * scale for a in phi]


def _searched(joint: JointType, X: Pose) -> list[Any]:
    starts = _starts(joint)
    angles = [k for k, unit in enumerate(joint.q_units) if unit == "rad"] if _counts(joint) else []
    turning = angles[0] if len(angles) == 1 else None  # whole turns from the best are tried too
    count = float(len(starts) + (0 if turning is None else 4))

    def start(k: Any, best: Scalars) -> tuple[Any, ...]:
        result = list(starts[-1])
        for number in range(len(starts) - 2, -1, -1):
            here = lt(k, number + 0.5)
            result = [where(here, a, b) for a, b in zip(starts[number], result, strict=True)]
        if turning is None:
            return tuple(result)
        k = k - float(len(starts))
        turns = where(lt(k, 1.5), where(lt(k, 0.5), 1.0, -1.0), where(lt(k, 2.5), 2.0, -2.0)) * (2.0 * math.pi)
        turned = [x + turns if i == turning else x for i, x in enumerate(best)]
        return _chosen(lt(-0.5, k), turned, result)

    def more(state: Any) -> Any:
        *_, k, _ = state
        return lt(k, count - 0.5)

    def step(state: Any) -> Any:
        q, phi, part, size, best, least, k, n = state
        there = joint.integrate(q, [part * x for x in phi])
        xi = left_over(joint.X(there), X)
        its_size = _dot(xi.elements(), xi.elements())
        nearer = lt(its_size, size)
        q = _chosen(nearer, there, q)
        phi, before = _chosen(nearer, _step(joint, there, xi), phi), size
        part = where(nearer, fmin(4.0 * part, 1.0), 0.25 * part)
        size = where(nearer, its_size, size)
        best, least = _chosen(lt(size, least), q, best), fmin(size, least)
        ended = or_(and_(nearer, lt(before * (1.0 - _GAINED), its_size)), lt(part * part * _dot(phi, phi), 1e-22))
        over = or_(ended, lt(_STEPS - 1.5, n))
        k = where(over, where(lt(least, _FOUND), count, k + 1.0), k)
        q, phi = _chosen(over, start(k, best), q), _chosen(over, (0.0,) * len(phi), phi)
        part, size, n = where(over, 1.0, part), where(over, _FAR, size), where(over, 0.0, n + 1.0)
        return q, phi, part, size, best, least, k, n

    first = tuple(starts[0])
    state = first, (0.0,) * joint.nv, 1.0, _FAR, first, _FAR, 0.0, 0.0
    result = while_loop(more, step, state, max_iterations=_STEPS * int(count))
    return list(result.state[4])


_FAR = 1e300


def _starts(joint: JointType) -> list[list[float]]:
    try:
        return _starting(joint)
    except TypeError:  # it cannot be hashed
        return _starting.__wrapped__(joint)


@lru_cache(maxsize=512)
def _starting(joint: JointType) -> list[list[float]]:
    """Zero and others; half of those that count angles some turns away."""
    free = np.full(joint.nq, np.inf).tolist()
    drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_STARTS - 1,))
    if _counts(joint):
        drawn[_STARTS // 2 :] *= 3.0
    return [[float(x) for x in joint.zero()], *drawn.tolist()]


def _counts(joint: JointType) -> bool:
    """Whether its angles are its configuration's numbers, and count turns."""
    return joint.nq == joint.nv and not joint.unit_length


def _chosen(condition: Any, first: Scalars, second: Scalars) -> tuple[Any, ...]:
    return tuple(where(condition, a, b) for a, b in zip(first, second, strict=True))


def _dot(a: Scalars, b: Scalars) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)
