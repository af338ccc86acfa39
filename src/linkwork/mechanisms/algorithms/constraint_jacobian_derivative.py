"""Derivatives of Gᵀλ and of G a + γ with respect to the state, for constant accelerations and constraint forces.

Constraints are evaluated on dual numbers with sparse tangents (`linkwork.expr.autodiff.dual_numbers`), so only
coordinates that a constraint depends on cause work.  Rows that are the powers of fixed wrenches on the motion of a
frame have a closed form.  Along a column c of a joint on the kinematic path, the joints before it rotate by −c ×
relative to the frame.  With V and A of the joints before it, V_m and A_m of the joint, and V_after of the joints
after it,

    by q:  ∂A = −c × A + A_m' + (−c × V) × V_m + V × V_m' + (V_m' − c × V) × V_after,
    by v:  ∂A = V × c + c × V_after + A_m',

where V_m' and A_m' are the derivatives of the joint's own columns and bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.constraints import Constraint
from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import bias_by_q, bias_by_v
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.joint_path import PathJoint, joint_path
from linkwork.mechanisms.algorithms.constraint_rows import rates_of_some
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Subspace, cross, cross_star

__all__ = ["ConstraintDerivatives", "constraint_derivatives"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


@dataclass(frozen=True, slots=True)
class ConstraintDerivatives:
    """Derivatives of Gᵀλ and of G a + γ with respect to q (in its tangent space) and v.

    G is the constraint Jacobian and γ the bias; the constraint forces λ and accelerations a are constant.
    """

    pulled_by_q: Matrix  # ∂(Gᵀλ)/∂q, nv × nv, for constant λ
    by_q: Matrix  # ∂(G a + γ)/∂q, nc × nv
    by_v: Matrix  # ∂(G a + γ)/∂v, nc × nv


def constraint_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    forces: Scalars,
    time: Any = 0.0,
    of: Sequence[str] = ("pulled_by_q", "by_q", "by_v"),
) -> ConstraintDerivatives:
    """Return the derivatives of Gᵀλ and G a + γ with respect to q and v, for constant a and constraint forces λ.

    G is the constraint Jacobian and γ the bias of the constraints. Only the fields of the result that are named in
    ``of`` are complete.
    """
    n, start = tree.nv, 0
    result = ConstraintDerivatives([[0.0] * n for _ in range(n)], [], [])
    for constraint in tree.constraints:
        end = start + len(constraint.component_names)
        vary = _by_directions if constraint.fixed_wrenches is None else _of_fixed_wrenches
        vary(result, tree, constraint, q, v, a, forces[start:end], time, of)
        start = end
    return result


def _by_directions(
    result: ConstraintDerivatives,
    tree: Tree,
    constraint: Constraint,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    forces: Scalars,
    time: Any,
    of: Sequence[str],
) -> None:
    n = tree.nv
    moving = seeded(
        [*q, *v], [*map(SparseTangent, tangent_rates(tree, q)), *(SparseTangent({n + k: 1.0}) for k in range(n))]
    )
    if not moving:
        result.by_q.extend([] for _ in forces)
        result.by_v.extend([] for _ in forces)
        return
    rates, level = rates_of_some(tree, [constraint], moving[: len(q)], moving[len(q) :], time), moving[0].level
    for row, column in zip(result.pulled_by_q, zip(*rates.rows, strict=True), strict=True):
        for k, x in enumerate(_changes(dot(column, forces), level, n)):
            row[k] = row[k] + x
    for row, bias in zip(rates.rows, rates.bias, strict=True):
        changes = _changes(dot(row, a) + bias, level, 2 * n)
        result.by_q.append(changes[:n])
        result.by_v.append(changes[n:])


def _changes(x: Any, level: int, count: int) -> list[Any]:
    tangent = parts(x, level)[1]
    return [0.0] * count if is_zero(tangent) else [tangent.get(k) for k in range(count)]


@dataclass(frozen=True, slots=True)
class _Step:
    """A joint on the kinematic path, with its motion and that of the joints before it."""

    joint: PathJoint
    V: Motion
    A: Motion
    V_before: Motion
    A_before: Motion


def _of_fixed_wrenches(
    result: ConstraintDerivatives,
    tree: Tree,
    constraint: Constraint,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    forces: Scalars,
    time: Any,
    of: Sequence[str],
) -> None:
    wrenches = constraint.fixed_wrenches or ()
    frame, relative_to = constraint.references.frames[:2]
    q, v, a, n = tree.split_q(q), tree.split_v(v), tree.split_v(a), tree.nv
    total = sum((W * x for W, x in zip(wrenches, forces, strict=True)), Force.zero())
    steps: list[_Step] = []
    V = A = Motion.zero()
    for path_joint in joint_path(tree, q, frame, relative_to, frame):
        (bias,) = path_joint.transformed(
            Subspace((tree.bodies[path_joint.body].bias(q[path_joint.body], v[path_joint.body]),))
        )
        V_m, A_m = path_joint.twist(v), path_joint.twist(a) + bias
        steps.append(_Step(path_joint, V_m, A_m, V, A))
        V, A = V + V_m, A + A_m + cross(V, V_m)
    by_q, by_v = ([Motion.zero()] * n for _ in range(2))
    for index, step in enumerate(steps):
        i = step.joint.body
        body, first = tree.bodies[i], tree.v_slices[i].start
        V_after = V - step.V_before - step.V
        for k, (c, along) in enumerate(zip(step.joint.columns, unit_vectors(body.joint.nv), strict=True), start=first):
            S_dot = Subspace(step.joint.transformed(body.S_dot(q[i], along)))
            if "by_q" in of:
                (bias_q,) = step.joint.transformed(Subspace((bias_by_q(body, q[i], v[i], along),)))
                V_own, A_own = S_dot @ v[i], S_dot @ a[i] + bias_q
                if not step.joint.outward:  # the joint's own columns rotate also
                    V_own, A_own = V_own - cross(c, step.V), A_own - cross(c, step.A)
                turned = -cross(c, step.V_before)
                by_q[k] += (
                    A_own - cross(c, step.A_before) + cross(turned, step.V) + cross(step.V_before, V_own)
                ) + cross(turned + V_own, V_after)
            if "by_v" in of:
                (bias_v,) = step.joint.transformed(Subspace((bias_by_v(body, q[i], v[i], along),)))
                by_v[k] += cross(step.V_before, c) + cross(c, V_after) + bias_v
            if "pulled_by_q" in of:
                push = cross_star(c, total)
                for before in steps[: index + (not step.joint.outward)]:
                    for m, C in enumerate(before.joint.columns, start=tree.v_slices[before.joint.body].start):
                        result.pulled_by_q[m][k] = result.pulled_by_q[m][k] + C.dot(push)
                for m, C in enumerate(S_dot.columns, start=first):
                    result.pulled_by_q[m][k] = result.pulled_by_q[m][k] + C.dot(total)
    for W in wrenches:
        result.by_q.append([change.dot(W) for change in by_q])
        result.by_v.append([change.dot(W) for change in by_v])
