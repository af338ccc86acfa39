"""Derivatives of the centroidal momentum and its rate, by what each joint carries.

Along a column J of a joint, all that it carries turns and moves together, and in axes that go along its twists vary by
Ψ̇ and its accelerations by Ψ̇ × V + Ψ̈ (`variations`).  So its momentum h_C, and the force F_C that moves it, vary by

    J ×* h_C + I_C Ψ̇,      J ×* F_C + I_C Ψ̈ + B_C Ψ̇.

About the centre of mass, which moves by δc = (I_C J)_f / m, a variation (n; f) of what is (N; f_total) in all counts as
n − c × f − δc × f_total.

Source: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE Robotics and Automation Letters 7, 2022; Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot,
Autonomous Robots 35, 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers
from linkwork.dynamics.algorithms.momentum.composite_inertias import centers, composite_inertias, total_mass
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Rotation, Vec3, by_rows, cross_star
from linkwork.spatial.moving_inertia import MovingInertia

__all__ = ["ROWS", "centroidal_momentum_derivatives", "centroidal_momentum_rate_derivatives"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def centroidal_momentum_derivatives(tree: Tree, q: Scalars, v: Scalars) -> list[Matrix]:
    """∂h/∂q and ∂h/∂v = A, the centroidal momentum matrix."""
    share = 1.0 / total_mass(tree, "centroidal_momentum_derivatives")
    q, v = tree.split_q(q), tree.split_v(v)
    at = carriers(tree.under(Vec3.zero()), q, v, tree.split_v([0.0] * tree.nv))
    root, center = _roots(tree), centers(tree, *composite_inertias(tree, q))
    I_C = {i: at[i].Y @ body.inertia for i, _, body in tree.outward()}
    h = {i: I_C[i] @ at[i].V for i in I_C}
    # at[i].V is seen from where the branch's first body is, which itself moves at u
    u = {i: (body.S(q[i]) @ v[i]).linear for i, p, body in tree.outward() if p == WORLD}
    for i, p, _ in tree.inward():
        if p != WORLD:
            I_C[p], h[p] = I_C[p] + I_C[i], h[p] + h[i]
    total = sum((at[i].root @ (h[i].force + u[i] * I_C[i].mass) for i in u), Vec3.zero())
    by_q, by_v = ([Force.zero()] * tree.nv for _ in range(2))
    for i, _, _ in tree.inward():
        R, c = at[i].root, center[root[i]]
        seen = R.inv_act(total)
        for column in at[i].columns:
            k, moved = column.number, I_C[i] @ column.J
            change = cross_star(column.J, h[i]) + I_C[i] @ column.turning
            change = Force(change.moment + moved.force.cross(u[root[i]] - seen * share), change.force)
            by_q[k] += _about(R, c, change)
            by_v[k] += _about(R, c, moved)
    return [by_rows(by_q), by_rows(by_v)]


def centroidal_momentum_rate_derivatives(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> list[Matrix]:
    """∂ḣ/∂q, ∂ḣ/∂v and ∂ḣ/∂a = A, of ḣ = A a + Ȧ v."""
    share = 1.0 / total_mass(tree, "centroidal_momentum_rate_derivatives")
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    at = carriers(tree.under(Vec3.zero()), q, v, a)
    root, center = _roots(tree), centers(tree, *composite_inertias(tree, q))
    load: dict[int, MovingInertia] = {}
    F: dict[int, Force] = {}
    for i, _, body in tree.outward():
        inertia, V = at[i].Y @ body.inertia, at[i].V
        load[i] = MovingInertia.moving(inertia, V)
        F[i] = inertia @ at[i].A + cross_star(V, inertia @ V)
    for i, p, _ in tree.inward():
        if p != WORLD:
            load[p], F[p] = load[p] + load[i], F[p] + F[i]
    total = sum((at[i].root @ F[i].force for i, p, _ in tree.outward() if p == WORLD), Vec3.zero())
    by_q, by_v, by_a = ([Force.zero()] * tree.nv for _ in range(3))
    for i, _, _ in tree.inward():
        R, c, I_C, B_C = at[i].root, center[root[i]], load[i].inertia, load[i]
        seen = R.inv_act(total)
        for column in at[i].columns:
            k, moved = column.number, I_C @ column.J
            change = cross_star(column.J, F[i]) + I_C @ column.speeding + B_C.turned(column.turning.angular) * 2.0
            change = Force(change.moment - moved.force.cross(seen * share), change.force)
            by_q[k] += _about(R, c, change)
            by_v[k] += _about(R, c, I_C @ column.swinging + B_C.turned(column.J.angular) * 2.0)
            by_a[k] += _about(R, c, moved)
    return [by_rows(by_q), by_rows(by_v), by_rows(by_a)]


def _about(R: Rotation, c: Vec3, F: Force) -> Force:
    """A force about the point c, in the world's axes."""
    return Force(R @ (F.moment - c.cross(F.force)), R @ F.force)


def _roots(tree: Tree) -> dict[int, int]:
    """The first body of each body's branch."""
    found: dict[int, int] = {}
    for i, p, _ in tree.outward():
        found[i] = i if p == WORLD else found[p]
    return found


_FORCES, _RATES, _MATRIX = "N·m, N, N/m", "kg·m²/s, kg·m/s, kg/s", "kg·m², kg·m, kg"

ROWS = (
    Row.of(
        centroidal_momentum_derivatives,
        "q v",
        (Output((6, "nv"), _RATES, "dh_dq"), Output((6, "nv"), _MATRIX, "dh_dv")),
        "How the momentum about the centre of mass changes with configuration and velocities.",
        weighed=True,
    ),
    Row.of(
        centroidal_momentum_rate_derivatives,
        "q v a",
        (
            Output((6, "nv"), _FORCES, "dh_dot_dq"),
            Output((6, "nv"), _RATES, "dh_dot_dv"),
            Output((6, "nv"), _MATRIX, "dh_dot_da"),
        ),
        "How the rate of the centroidal momentum changes with configuration, velocities and accelerations.",
        weighed=True,
    ),
)
