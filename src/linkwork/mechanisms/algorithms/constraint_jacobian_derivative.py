"""How the rows of constraints vary with a robot's state, at given accelerations and forces.

Only the numbers that constraints touch have a row in anything of this: what constraints compute runs on numbers that
carry sparse rows of derivatives (`linkwork.expr.autodiff.sparse_tangent`).  Rows that are the powers of fixed wrenches
on the motion of a frame have a closed form: along a column c of a joint on the way, all before it turn by −c × as the
frame sees them, so with V and A what those before the joint do, V_m, A_m what it does itself and V_after what those
after it do,

    by q:  ∂A = −c × A + A_m' + (−c × V) × V_m + V × V_m' + (V_m' − c × V) × V_after,
    by v:  ∂A = V × c + c × V_after + A_m',

where V_m' and A_m' are what the joint's own columns and bias vary by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.constraints import Constraint
from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import bias_by_q, bias_by_v
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.joint_path import PathJoint, joint_path
from linkwork.mechanisms.algorithms.constraint_rows import rates_of_some
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Subspace, cross, cross_star

__all__ = ["VariedRows", "varied_rows"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


@dataclass(frozen=True, slots=True)
class VariedRows:
    """Derivatives by q are in its tangent space."""

    pulled_by_q: Matrix  # ∂(Gᵀλ)/∂q, nv × nv, while λ stays
    by_q: Matrix  # ∂(G a + γ)/∂q, nc × nv
    by_v: Matrix  # ∂(G a + γ)/∂v, nc × nv


def varied_rows(tree: Tree, q: Scalars, v: Scalars, a: Scalars, forces: Scalars, time: Any = 0.0) -> VariedRows:
    """At accelerations a and forces λ, which stay."""
    n, start = tree.nv, 0
    result = VariedRows([[0.0] * n for _ in range(n)], [], [])
    for constraint in tree.constraints:
        end = start + len(constraint.component_names)
        vary = _by_directions if constraint.fixed_wrenches is None else _of_fixed_wrenches
        vary(result, tree, constraint, q, v, a, forces[start:end], time)
        start = end
    return result


def _by_directions(
    result: VariedRows,
    tree: Tree,
    constraint: Constraint,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    forces: Scalars,
    time: Any,
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
    """A joint on the way: what it does, and what those before it do."""

    way: PathJoint
    V: Motion
    A: Motion
    V_before: Motion
    A_before: Motion


def _of_fixed_wrenches(
    result: VariedRows,
    tree: Tree,
    constraint: Constraint,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    forces: Scalars,
    time: Any,
) -> None:
    wrenches = constraint.fixed_wrenches or ()
    frame, relative_to = constraint.references.frames[:2]
    q, v, a, n = tree.split_q(q), tree.split_v(v), tree.split_v(a), tree.nv
    total = sum((W * x for W, x in zip(wrenches, forces, strict=True)), Force.zero())
    steps: list[_Step] = []
    V = A = Motion.zero()
    for passed in joint_path(tree, q, frame, relative_to, frame):
        (bias,) = passed.transformed(Subspace((tree.bodies[passed.body].bias(q[passed.body], v[passed.body]),)))
        V_m, A_m = passed.twist(v), passed.twist(a) + bias
        steps.append(_Step(passed, V_m, A_m, V, A))
        V, A = V + V_m, A + A_m + cross(V, V_m)
    by_q, by_v = ([Motion.zero()] * n for _ in range(2))
    for place, step in enumerate(steps):
        i = step.way.body
        body, first = tree.bodies[i], tree.v_slices[i].start
        V_after = V - step.V_before - step.V
        for k, (c, along) in enumerate(zip(step.way.columns, unit_vectors(body.joint.nv), strict=True), start=first):
            own = Subspace(step.way.transformed(body.S_dot(q[i], along)))
            (bias_q, bias_v) = step.way.transformed(
                Subspace((bias_by_q(body, q[i], v[i], along), bias_by_v(body, q[i], v[i], along)))
            )
            V_own, A_own = own @ v[i], own @ a[i] + bias_q
            if not step.way.outward:  # the joint's columns turn too
                V_own, A_own = V_own - cross(c, step.V), A_own - cross(c, step.A)
            turned = -cross(c, step.V_before)
            by_q[k] += (A_own - cross(c, step.A_before) + cross(turned, step.V) + cross(step.V_before, V_own)) + cross(
                turned + V_own, V_after
            )
            by_v[k] += cross(step.V_before, c) + cross(c, V_after) + bias_v
            push = cross_star(c, total)
            for before in steps[: place + (not step.way.outward)]:
                for m, C in enumerate(before.way.columns, start=tree.v_slices[before.way.body].start):
                    result.pulled_by_q[m][k] = result.pulled_by_q[m][k] + C.dot(push)
            for m, C in enumerate(own.columns, start=first):
                result.pulled_by_q[m][k] = result.pulled_by_q[m][k] + C.dot(total)
    for W in wrenches:
        result.by_q.append([change.dot(W) for change in by_q])
        result.by_v.append([change.dot(W) for change in by_v])
