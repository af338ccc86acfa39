"""Inverse joint kinematics by Gauss-Newton least squares, for types without a closed form.

The iteration finds the configuration whose pose is nearest to a given pose X, over any scalar. A step is φ = S⁺ ξ,
with the pose error ξ; it is shortened if it does not reduce |ξ|. The iteration starts at zero. If that does not reach
X, it also starts at further configurations, always the same ones. The nearest result is returned; of nearly equal
ones, the first. An angle whose revolutions do not change the transform is reduced to half a revolution. The
configuration therefore does not jump between equivalent ones if X is slightly out of reach.

At the result Sᵀξ = 0: ξ lies in the span of the wrenches that the joint transmits. These wrenches do no work on ξ only
if ξ = 0. Where ξ is not 0, Gauss-Newton steps φ converge slowly, so the iteration ends with Newton steps A⁻¹ φ, A =
−∂φ/∂q. After convergence, one Newton step is added for each order of derivatives with respect to X.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.autodiff.dual_numbers import SparseTangent, order_of, parts, seeded, value_of
from linkwork.expr.control import while_loop
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, floor, fmin, le, lt, not_, or_, sqrt, where
from linkwork.spatial import Motion, Pose

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["least_squares", "nearest_configuration", "pose_error"]

Scalars = Sequence[Any]

_DEPENDENT = by_type(1e-24)  # squared relative norm below which a column's orthogonal component is rounding
_LAST_STEP = by_type(1e-22)  # squared step at which an iteration ends
_REACHED = by_type(1e-12)  # |ξ|² below which the pose counts as reached
_NUM_STARTS = 9
_SAME = by_type(1e-18)  # squared relative difference of transforms that counts as rounding
_NEARER = 1e-3  # relative decrease of |ξ|² from which a later result replaces an earlier one
_MAX_ITERATIONS = 25  # from each initial guess
_MAX_NEWTON_STEPS = 20
_NEAR = 1e-12  # squared Newton step below which its matrix is that of the result
_MIN_DECREASE = 1e-6  # relative decrease of |ξ|² below which the iteration ends


def least_squares(columns: Sequence[Scalars], x: Scalars) -> list[Any]:
    """Return the v that minimises |Σ v_k columns[k] − x|, by Gram-Schmidt orthogonalisation.

    v_k is zero for a column that depends on earlier ones.  x is orthogonalised as one more column.
    """
    before: list[tuple[list[Any], Any]] = []  # orthogonal columns and their inverse squared norms
    R: list[list[Any]] = []
    remainder, along = list(x), []
    for column in columns:
        component, size, ratios = list(column), _dot(column, column), []
        for earlier, inverse in before:
            ratio = _dot(component, earlier) * inverse
            component = [a - b * ratio for a, b in zip(component, earlier, strict=True)]
            ratios.append(ratio)
        square = _dot(component, component)
        free = lt(size * _DEPENDENT, square)
        inverse = where(free, 1.0 / where(free, square, 1.0), 0.0)
        part = _dot(remainder, component) * inverse
        remainder = [a - b * part for a, b in zip(remainder, component, strict=True)]
        before.append((component, inverse))
        R.append(ratios)
        along.append(part)
    for k in range(len(columns) - 1, -1, -1):
        for i, ratio in enumerate(R[k]):
            along[i] = along[i] - ratio * along[k]
    return along


def pose_error(reached: Pose, X: Pose) -> Motion:
    """Return the difference from the pose ``reached`` to the pose X, in the reached frame.

    It is a rotation vector [rad] and a translation [m].
    """
    return Pose.identity().difference(reached.inv() @ X)


def nearest_configuration(joint: JointType, X: Pose) -> list[Any]:
    """Return the joint's configuration whose transform is nearest to the pose X.

    It is the result of nonlinear least squares from several initial guesses.
    """
    if joint.nq == 0:
        return []
    fixed, n = Pose.of_elements(stop_gradient([value_of(x) for x in X.elements()])), joint.nv
    unit = [float(k == i) for i in range(n) for k in range(n)]
    state = while_loop(
        lambda state: and_(lt(state[-1], _MAX_NEWTON_STEPS - 0.5), lt(_LAST_STEP, state[-2])),
        lambda state: _newton_step(joint, state, fixed),
        (*_search(joint, fixed), *unit, 1.0, 1.0, 0.0),
        max_iterations=_MAX_NEWTON_STEPS,
    ).state
    q, is_near = _reduced(joint, state[: joint.nq]), lt(state[-2], _NEAR)
    A = _select(is_near, state[joint.nq : -3], unit)
    for _ in range(1 + max(map(order_of, X.elements()))):  # one step for each order of derivatives
        step = _newton(A, joint.velocity_from_twist(q, pose_error(joint.X(q), X)))
        value = stop_gradient([value_of(x) for x in step])  # of an unfinished search only derivatives are added
        q = joint.integrate(q, _select(is_near, step, [x - y for x, y in zip(step, value, strict=True)]))
    return list(q)


def _reduced(joint: JointType, q: Scalars) -> list[Any]:
    """Return q with angles of at most half a revolution, where whole revolutions do not change the transform."""
    if not _counts_revolutions(joint):
        return list(q)
    result, turn, general = list(q), 2.0 * math.pi, _starts(joint)[1]
    pose = joint.X(general)
    p = pose.translation
    for k, unit in enumerate(joint.q_units):
        if unit == "rad":
            turned = joint.X([x + turn if i == k else x for i, x in enumerate(general)])
            error = pose_error(turned, pose)
            same = and_(
                le(error.angular.dot(error.angular), _SAME), le(error.linear.dot(error.linear), _SAME * p.dot(p))
            )
            result[k] = where(same, q[k] - turn * floor(q[k] * (1.0 / turn) + 0.5), q[k])
    return result


def _newton_step(joint: JointType, state: Scalars, X: Pose) -> tuple[Any, ...]:
    """Return the search state after a Newton step A⁻¹ φ, φ the Gauss-Newton step and A = −∂φ/∂q.

    The state consists of q, the elements of A column by column, a step factor ≤ 1, the squared length of the last
    step, and the number of steps. A step that increases the pose error |ξ| is not taken, and the step factor is
    reduced.
    """
    q, n, part = state[: joint.nq], joint.nv, state[-3]
    moving = seeded(q, [SparseTangent(dict(enumerate(row))) for row in joint.q_dot_jacobian(q)])
    rates = [parts(x, moving[0].level) for x in joint.velocity_from_twist(moving, pose_error(joint.X(moving), X))]
    A = [-tangent.get(k) if tangent.__class__ is SparseTangent else 0.0 for k in range(n) for _, tangent in rates]
    phi, xi = [value for value, _ in rates], pose_error(joint.X(q), X).elements()
    step = _newton(A, phi)
    falls = lt(0.0, _dot(joint.twist(q, step).elements(), xi))
    step = [part * x for x in _shortened(joint, _select(falls, step, phi), X)]
    moved = joint.integrate(q, step)
    error = pose_error(joint.X(moved), X).elements()
    is_farther = lt(_dot(xi, xi), _dot(error, error))
    part = where(is_farther, 0.25 * part, fmin(4.0 * part, 1.0))
    return *_select(is_farther, q, moved), *A, part, _dot(step, step), state[-1] + 1.0


def _newton(A: Scalars, phi: Scalars) -> list[Any]:
    """Return A⁻¹ φ, with A by columns."""
    n = len(phi)
    return least_squares([A[k * n : (k + 1) * n] for k in range(n)], phi)


def _step(joint: JointType, q: Scalars, xi: Motion, X: Pose) -> list[Any]:
    """Return the Gauss-Newton step φ = S⁺ ξ for a pose error ξ."""
    return _shortened(joint, joint.velocity_from_twist(q, xi), X)


def _shortened(joint: JointType, phi: Scalars, X: Pose) -> list[Any]:
    """Return a step, scaled down to length 1 if it is longer; components in metres count divided by √(1 + |p|²).

    p is the position of the pose X.
    """
    p = X.translation
    per = 1.0 / sqrt(1.0 + p.dot(p))
    relative = [x * per if unit.startswith("m") else x for x, unit in zip(phi, joint.v_units, strict=True)]
    size = _dot(relative, relative)
    long = lt(1.0, size)
    scale = where(long, 1.0 / sqrt(where(long, size, 1.0)), 1.0)
    return [a * scale for a in phi]


def _search(joint: JointType, X: Pose) -> list[Any]:
    starts = _starts(joint)
    angles = [k for k, unit in enumerate(joint.q_units) if unit == "rad"] if _counts_revolutions(joint) else []
    turning = angles[0] if len(angles) == 1 else None  # the best angle ± 1 and 2 revolutions is tried as well
    count = float(len(starts) + (0 if turning is None else 4))

    def start(k: Any, best: Scalars) -> tuple[Any, ...]:
        result = list(starts[-1])
        for number in range(len(starts) - 2, -1, -1):
            is_active = lt(k, number + 0.5)
            result = [where(is_active, a, b) for a, b in zip(starts[number], result, strict=True)]
        if turning is None:
            return tuple(result)
        k = k - float(len(starts))
        turns = where(lt(k, 1.5), where(lt(k, 0.5), 1.0, -1.0), where(lt(k, 2.5), 2.0, -2.0)) * (2.0 * math.pi)
        turned = [x + turns if i == turning else x for i, x in enumerate(best)]
        return _select(lt(-0.5, k), turned, result)

    def more(state: Any) -> Any:
        *_, k, _ = state
        return lt(k, count - 0.5)

    def step(state: Any) -> Any:
        q, phi, part, size, best, least, is_best, k, n = state
        moved = joint.integrate(q, [part * x for x in phi])
        xi = pose_error(joint.X(moved), X)
        its_size = _dot(xi.elements(), xi.elements())
        nearer = lt(its_size, size)
        q = _select(nearer, moved, q)
        phi, before = _select(nearer, _step(joint, moved, xi, X), phi), size
        part = where(nearer, fmin(4.0 * part, 1.0), 0.25 * part)
        size = where(nearer, its_size, size)
        is_best = or_(is_best, lt(size, (1.0 - _NEARER) * least))
        is_nearest = and_(is_best, lt(size, least))
        best, least = _select(is_nearest, q, best), where(is_nearest, size, least)
        slow = and_(nearer, lt(before * (1.0 - _MIN_DECREASE), its_size))
        ended = or_(slow, lt(part * part * _dot(phi, phi), _LAST_STEP))
        over = or_(ended, lt(_MAX_ITERATIONS - 1.5, n))
        k = where(over, where(lt(least, _REACHED), count, k + 1.0), k)
        q, phi = _select(over, start(k, best), q), _select(over, (0.0,) * len(phi), phi)
        part, size, n = where(over, 1.0, part), where(over, _FAR, size), where(over, 0.0, n + 1.0)
        return q, phi, part, size, best, least, and_(is_best, not_(over)), k, n

    first = tuple(starts[0])
    state = first, (0.0,) * joint.nv, 1.0, _FAR, first, _FAR, False, 0.0, 0.0
    result = while_loop(more, step, state, max_iterations=_MAX_ITERATIONS * int(count))
    return list(result.state[4])


_FAR = by_type(1e300)


def _starts(joint: JointType) -> list[list[float]]:
    try:
        return _cached_starts(joint)
    except TypeError:  # it cannot be hashed
        return _cached_starts.__wrapped__(joint)


@lru_cache(maxsize=512)
def _cached_starts(joint: JointType) -> list[list[float]]:
    """Return the initial guesses of a joint's configuration: zero and random ones.

    Angles that count revolutions vary over several revolutions.
    """
    free = np.full(joint.nq, np.inf).tolist()
    drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_NUM_STARTS - 1,))
    if _counts_revolutions(joint):
        drawn[_NUM_STARTS // 2 :] *= 3.0
    return [[float(x) for x in joint.zero()], *drawn.tolist()]


def _counts_revolutions(joint: JointType) -> bool:
    """Return True if angles of the joint count revolutions.

    They do if q has as many coordinates as v, and none that together have unit length.
    """
    return joint.nq == joint.nv and not joint.unit_length


def _select(condition: Any, first: Scalars, second: Scalars) -> tuple[Any, ...]:
    return tuple(where(condition, a, b) for a, b in zip(first, second, strict=True))


def _dot(a: Scalars, b: Scalars) -> Any:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)
