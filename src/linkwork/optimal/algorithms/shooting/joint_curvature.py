"""Second derivatives of the configuration of a joint after a step, (q ⊕ δ) ⊕ h (v + ε), by (δ, ε).

They are those of w · δq⁺ with q⁺ ⊕ δq⁺ = (q ⊕ δ) ⊕ h (v + ε), where q⁺ is the configuration at δ = ε = 0.

A joint with a constant motion subspace moves with a constant twist: its configurations are a Lie group, and ⊕ is its
exponential.  Then

    exp(δq⁺) = exp(A δ) exp(ψ(ε)),      ψ(ε) = J ε + O(ε²),      δq⁺ = A δ + ψ(ε) + ½ [A δ, J ε] + …

does not depend on q.  The second derivatives by δ are zero, the mixed ones follow from the first derivatives A and J,
and those by ε are the symmetric part of the derivative of Jᵀw.

Source: Sola, Deray and Atchuthan, A micro Lie theory for state estimation in robotics, 2018, section II.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import joint_bracket
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.model.body import Body
from linkwork.optimal.algorithms.shooting.step_dynamics import Rates, second_derivatives, value_and_jacobian

__all__ = ["joint_curvature"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def joint_curvature(body: Body, q: Scalars, v: Scalars, h: Any, weights: Scalars) -> Matrix:
    """Return the second derivatives of w · δq⁺ by (δ, ε), with constant ``weights`` w.

    ``body`` is the body of the joint, ``v`` the velocity of the step, and ``h`` its duration.
    """
    if body.joint.has_fixed_subspaces:
        return _of_group(body, v, h, weights)
    n = len(v)
    there = body.call_joint("integrate", q, [x * h for x in v])

    def displaced(change: Scalars) -> Any:
        here = body.call_joint("integrate", q, change[:n])
        end = body.call_joint("integrate", here, [(x + y) * h for x, y in zip(v, change[n:], strict=True)])
        return dot(weights, body.call_joint("difference", there, end))

    return second_derivatives(displaced, 2 * n)


def _of_group(body: Body, v: Scalars, h: Any, weights: Scalars) -> Matrix:
    n = len(v)
    q = body.call_joint("zero")
    rates: Rates = [dict(enumerate(row)) for row in body.call_joint("q_dot_jacobian", q)]
    units: Rates = [{k: 1.0} for k in range(n)]

    def there(q: Scalars, v: Scalars) -> Scalars:
        return body.call_joint("integrate", q, [x * h for x in v])  # type: ignore[no-any-return]

    def columns_by_v(v: Scalars) -> Matrix:
        end, rows = value_and_jacobian(lambda v, _: there(q, v), v, (), units)
        return _as_velocities(body, end, rows, n)

    def slopes(v: Scalars, _: Scalars) -> Scalars:
        return [dot(weights, column) for column in columns_by_v(v)]

    _, bent = value_and_jacobian(slopes, v, (), units)
    J = columns_by_v(v)
    A = _as_velocities(body, *value_and_jacobian(lambda q, _: there(q, v), q, (), rates), n)
    # w · [e_k, e_l] / 2, where the bracket of the group is that of `bracket` with the other sign
    half = [
        [dot(weights, [-0.5 * x for x in column]) for column in transposed(joint_bracket(body, q, unit))]
        for unit in unit_vectors(n)
    ]
    along = [[dot(row, column) for column in J] for row in half]
    mixed = [[dot(column, others) for others in transposed(along)] for column in A]
    H: Matrix = [[0.0] * (2 * n) for _ in range(2 * n)]
    for i in range(n):
        for j in range(n):
            H[i][n + j] = H[n + j][i] = mixed[i][j]
            a, b = bent[i].get(j, 0.0), bent[j].get(i, 0.0)
            H[n + i][n + j] = 0.0 if is_zero(a) and is_zero(b) else 0.5 * (a + b)
    return H


def _as_velocities(body: Body, q: Scalars, rates: Sequence[dict[Any, Any]], n: int) -> Matrix:
    """Return the velocity of the joint along each of ``n`` directions; ``rates`` are those of the elements of q."""
    return [body.call_joint("velocity_from_rate", q, [row.get(k, 0.0) for row in rates]) for k in range(n)]
