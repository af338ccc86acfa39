"""Errors of joints of all types, e = q_d ⊖ q, their rates, and motions of targets in the joints' own axes.

The velocities v of a joint and v_d of its target are in different axes, such as those of two rotated bodies:

    ė = A v + B v_d,     A = ∂ė/∂v,     B = ∂ė/∂v_d.

For a single velocity and for plain coordinates, A = −1 and B = 1.  The velocity v' with A v' + B v_d = 0 follows the
target: with it the error is constant.  It is the target's velocity in the joint's axes, R v_d for a spherical joint,
with the rotation R from the target's axes.  Its rate follows from the derivative of this equation, and the acceleration
a for a given ë from that of ė:

    A v̇' = −B a_d − Ȧ v' − Ḃ v_d,      A a = ë − B a_d − Ȧ v − Ḃ v_d.

The rates of e depend on q and q_d by e alone, so tasks evaluate them at q_d = 0, with q ⊖ q_d = −e.

A force f' with f'ᵀ v' = fᵀ v_d for all v_d has the same power in the joint's axes: f' = −Aᵀ B⁻ᵀ f.  All derivatives are
those of the joint's ``difference``, by dual numbers.

Source: Bullo and Murray, Tracking for fully actuated mechanical systems, Automatica 35, 1999 (transport of velocities).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import dot, transposed
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.joints.base.pose_inversion import least_squares
from linkwork.model.body import Body
from linkwork.model.tree import Tree

__all__ = ["JointErrors", "error_acceleration", "has_plain_errors", "settling_acceleration"]

Scalars = Sequence[Any]


class JointErrors:
    """Errors e = q_d ⊖ q of a robot's joints at configurations q and q_d (nq).

    Results (nv) belong to the joints with an index in ``acting``; other joints are not evaluated.  Targets move with
    the velocity ``v_d`` and the acceleration ``a_d`` (nv).
    """

    def __init__(self, tree: Tree, q: Scalars, q_d: Scalars, acting: Collection[int]) -> None:
        self.tree, used = tree, set(acting)
        q, q_d = tree.split_q(q), tree.split_q(q_d)
        self.joints = {
            i: _JointError(body, list(q[i]), list(q_d[i]))
            for i, body in tree.stacked()
            if body.joint.nv and used.intersection(range(tree.nv)[tree.v_slices[i]])
        }

    def errors(self) -> list[Any]:
        """Return the joint errors e = q_d ⊖ q (nv)."""
        return self._each(lambda joint: joint.errors())

    def rates(self, v: Scalars, v_d: Scalars) -> list[Any]:
        """Return the rates ė (nv) of the joint errors e = q_d ⊖ q, for joint velocities v and target velocities v_d."""
        return self._each(lambda joint, v, v_d: joint.rates(v, v_d), v, v_d)

    def followed_velocity(self, v_d: Scalars) -> list[Any]:
        """Return v' (nv), the target's velocity ``v_d`` in the joints' axes: at v = v', the error q_d ⊖ q is constant.

        It is equal to v_d if ė = v_d − v.
        """
        return self._each(lambda joint, v_d: joint.followed(v_d), v_d)

    def followed_acceleration(self, v: Scalars, v_d: Scalars, a_d: Scalars) -> list[Any]:
        """Return the rate (nv) of `followed_velocity`, the target's velocity in the joints' axes.

        v are the joint velocities, v_d and a_d the velocities and accelerations of the targets (nv each).
        """
        return self._each(lambda joint, *x: joint.acceleration(*x, None), v, v_d, a_d)

    def acceleration(self, v: Scalars, v_d: Scalars, a_d: Scalars, pull: Scalars) -> list[Any]:
        """Return the joint accelerations (nv) at which the errors e = q_d ⊖ q have ë = −``pull``.

        v are the joint velocities, v_d and a_d the velocities and accelerations of the targets (nv each).
        """
        return self._each(lambda joint, *x: joint.acceleration(*x), v, v_d, a_d, pull)

    def followed_force(self, f: Scalars) -> list[Any]:
        """Return the joint forces (nv) in the joints' axes that have the power of the forces f in the targets' axes."""
        return self._each(lambda joint, f: joint.force(f), f)

    def _each(self, compute: Callable[..., list[Any]], *vectors: Scalars) -> list[Any]:
        result: list[Any] = [0.0] * self.tree.nv
        each = [self.tree.split_v(list(x)) for x in vectors]
        for i, joint in self.joints.items():
            result[self.tree.v_slices[i]] = compute(joint, *(list(x[i]) for x in each))
        return result


class _JointError:
    """Error e = q_d ⊖ q of one joint from its target q_d, with its rates."""

    def __init__(self, body: Body, q: list[Any], q_d: list[Any]) -> None:
        self.body, self.q, self.q_d, self.is_plain = body, q, q_d, has_plain_errors(body)
        self._jacobians: tuple[list[list[Any]], list[list[Any]]] | None = None

    def errors(self) -> list[Any]:
        return _call(self.body, "difference", self.q, self.q_d)

    def rates(self, v: Scalars, v_d: Scalars) -> list[Any]:
        if self.is_plain:
            return [a - b for a, b in zip(v_d, v, strict=True)]
        return _error_rates(self.body, self.q, self.q_d, v, v_d)

    def followed(self, v_d: Scalars) -> list[Any]:
        A, B = self.jacobians()
        return list(v_d) if self.is_plain else _solved(A, [-dot(row, v_d) for row in B])

    def acceleration(self, v: Scalars, v_d: Scalars, a_d: Scalars, pull: Scalars | None) -> list[Any]:
        """Return the joint's acceleration at which its error has ë = −``pull``.

        With ``pull`` None, return the rate of the velocity that follows the target.
        """
        if self.is_plain:
            return list(a_d) if pull is None else [a + b for a, b in zip(a_d, pull, strict=True)]
        A, B = self.jacobians()
        desired = self.followed(v_d) if pull is None else v
        q, q_d = moving = _moving(self.body, (self.q, v), (self.q_d, v_d))
        changes = _tangents(moving, _error_rates(self.body, q, q_d, desired, v_d))
        right = [-dot(row, a_d) - change for row, change in zip(B, changes, strict=True)]
        return _solved(A, right if pull is None else [a - b for a, b in zip(right, pull, strict=True)])

    def force(self, f: Scalars) -> list[Any]:
        if self.is_plain:
            return list(f)
        A, B = self.jacobians()
        y = least_squares(B, f)
        return [-dot(column, y) for column in transposed(A)]

    def jacobians(self) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return ∂ė/∂v and ∂ė/∂v_d, for the error e of the joint, its velocity v and the target's velocity v_d.

        Both are empty lists for plain errors, ė = v_d − v.
        """
        if self._jacobians is None and not self.is_plain:
            n, joint = self.body.joint.nv, self.body.joint
            maps = [(x, joint.q_dot_jacobian(x)) for x in (self.q, self.q_d)]
            tangents = [
                SparseTangent({k + n * side: x for k, x in enumerate(row)})
                for side, (_, rows) in enumerate(maps)
                for row in rows
            ]
            moving = seeded([*self.q, *self.q_d], tangents)
            e = _call(self.body, "difference", moving[: joint.nq], moving[joint.nq :])
            rates = [parts(x, moving[0].level)[1] for x in e]
            rows = [[x.get(k) if isinstance(x, SparseTangent) else 0.0 for k in range(2 * n)] for x in rates]
            self._jacobians = [row[:n] for row in rows], [row[n:] for row in rows]
        return self._jacobians or ([], [])


def settling_acceleration(
    body: Body, e: Scalars, v: Scalars, v_d: Scalars, a_d: Scalars, gains: tuple[float, float]
) -> list[Any]:
    """Return the acceleration of one joint at which its error e = q ⊖ q_d settles: ë + k_d ė + k_p e = 0.

    v is the joint's velocity; v_d and a_d are the velocity and acceleration of the target q_d. ``gains`` are (k_p,
    k_d).
    """
    at = _from_zero(body, e)
    pull = [gains[1] * rate - gains[0] * x for rate, x in zip(at.rates(v, v_d), e, strict=True)]
    return at.acceleration(v, v_d, a_d, pull)


def error_acceleration(body: Body, e: Scalars, v: Scalars, a: Scalars) -> list[Any]:
    """Return ë of the error e = q ⊖ q_d of one joint from a target q_d at rest.

    v and a are the joint's velocity and acceleration.
    """
    at, zero_velocity = _from_zero(body, e), [0.0] * body.joint.nv
    q, q_d = moving = _moving(body, (at.q, v), (at.q_d, zero_velocity))
    changes = _tangents(moving, _error_rates(body, q, q_d, v, zero_velocity))
    return [-dot(row, a) - change for row, change in zip(at.jacobians()[0], changes, strict=True)]


def _from_zero(body: Body, e: Scalars) -> _JointError:
    zero = _call(body, "zero")
    return _JointError(body, _call(body, "integrate", zero, e), zero)


def has_plain_errors(body: Body) -> bool:
    """Return True if the error e = q_d ⊖ q of a body's joint has the rate ė = v_d − v.

    This holds for a single velocity, and for velocities that are the rates of coordinates.
    """
    return body.joint.nv < 2 or is_plain(body.joint)


def _call(body: Body, method: str, *arguments: Scalars) -> list[Any]:
    result: list[Any] = body.call_joint(method, *arguments)
    return result


def _moving(body: Body, *motions: tuple[Scalars, Scalars]) -> tuple[list[Any], list[Any]]:
    """Return two configurations of a joint as dual numbers, each moving with its velocity."""
    values = [x for q, _ in motions for x in q]
    moving = seeded(values, [x for q, v in motions for x in _call(body, "q_dot", q, v)])
    return moving[: body.joint.nq], moving[body.joint.nq :]


def _tangents(moving: Sequence[Sequence[Any]], values: Scalars) -> list[Any]:
    level = moving[0][0].level
    return [parts(x, level)[1] for x in values]


def _error_rates(body: Body, q: Scalars, q_d: Scalars, v: Scalars, v_d: Scalars) -> list[Any]:
    moving = _moving(body, (q, v), (q_d, v_d))
    return _tangents(moving, _call(body, "difference", *moving))


def _solved(A: Sequence[Scalars], b: Scalars) -> list[Any]:
    return least_squares(transposed(A), b)
