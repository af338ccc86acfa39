"""The centroidal momentum matrix, its rate, and the locked inertia: what joints' unit velocities do to the momentum.

A joint that moves at unit velocity along S gives all that it carries, a composite body of inertia I, the momentum I S.
About the centre of mass, at c from the body's origin, and in the world's axes that is a column of the matrix:

    A_k = R (n − c × f; f)   with (n; f) = I S_k,      h = A v,      ḣ = A a + Ȧ v.

The rate takes each term apart: (n; f) changes as `Carried.rate` says, and c as the masses move relative to the origin.

Sources: Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, Autonomous Robots 35, 2013; Wensing and Orin,
Improved computation of the humanoid centroidal dynamics, Int. J. Humanoid Robotics 13, 2016 (by composite bodies).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.coriolis_matrix import joint_motions
from linkwork.dynamics.algorithms.momentum.composite_inertias import centers, composite_inertias, only_root, total_mass
from linkwork.model.body import WORLD
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Rotation, Vec3, by_rows
from linkwork.spatial.moving_inertia import MovingInertia

__all__ = ["ROWS", "centroidal_momentum_matrix", "centroidal_momentum_matrix_rate", "locked_inertia"]

Scalars = Sequence[Any]


def centroidal_momentum_matrix(tree: Tree, q: Scalars) -> list[list[Any]]:
    """A (6 × nv): the momentum about the centre of mass, in the world's axes, is A v."""
    total_mass(tree, "centroidal_momentum_matrix")
    q = tree.split_q(q)
    X, composite = composite_inertias(tree, q)
    c, R = centers(tree, X, composite), {WORLD: Rotation.identity()}
    columns = [Force.zero()] * tree.nv
    for i, p, body in tree.outward():
        R[i] = R[p] @ X[i].rotation
        for k, column in enumerate(body.S(q[i]).columns, start=tree.v_slices[i].start):
            h = composite[i] @ column
            columns[k] += Force(R[i] @ (h.moment - c[i].cross(h.force)), R[i] @ h.force)
    return by_rows(columns)


def centroidal_momentum_matrix_rate(tree: Tree, q: Scalars, v: Scalars) -> list[list[Any]]:
    """Ȧ (6 × nv), the rate of the centroidal momentum matrix at velocity v."""
    mass = total_mass(tree, "centroidal_momentum_matrix_rate")
    q, v = tree.split_q(q), tree.split_v(v)
    motion, root, share = joint_motions(tree, q, v), only_root(tree), 1.0 / mass
    composite = {i: MovingInertia.of(body.inertia, motion[i].omega) for i, _, body in tree.outward()}
    composite[WORLD] = MovingInertia.of(tree.fixed_inertia, Vec3.zero())
    for i, p, _ in tree.inward():
        composite[p] += composite[i].seen(motion[i].X, motion[i].departure)
    c = {WORLD: composite[WORLD].inertia.moment * share}  # of the centre of mass from each body's origin
    c_dot = {WORLD: composite[WORLD].moment_rate * share}
    R = {WORLD: Rotation.identity()}
    columns = [Force.zero()] * tree.nv
    for i, p, _ in tree.outward():
        X = motion[i].X
        if i == root:
            c[i], c_dot[i] = composite[i].inertia.moment * share, composite[i].moment_rate * share
        else:
            c[i], c_dot[i] = X.inv().point(c[p]), X.rotation.inv_act(c_dot[p] - motion[i].departure)
        R[i] = R[p] @ X.rotation
        for k, (S, S_dot) in enumerate(zip(motion[i].S.columns, motion[i].S_dot, strict=True), tree.v_slices[i].start):
            load = composite[i].carried(S, S_dot)
            rate = load.rate
            n = rate.moment - c_dot[i].cross(load.momentum.force) - c[i].cross(rate.force)
            columns[k] += Force(R[i] @ n, R[i] @ rate.force)
    return by_rows(columns)


def locked_inertia(tree: Tree, q: Scalars) -> list[list[Any]]:
    """The spatial inertia (6 × 6) about the centre of mass, in the world's axes, were all joints locked."""
    mass = total_mass(tree, "locked_inertia")
    q = tree.split_q(q)
    X, composite = composite_inertias(tree, q)
    c = centers(tree, X, composite)
    J = tree.fixed_inertia.shifted(-c[WORLD]).about
    for i, p, _ in tree.outward():
        if p == WORLD:
            J += X[i].rotation @ composite[i].shifted(-c[i]).about
    angular = [[*row, 0.0, 0.0, 0.0] for row in (J.x, J.y, J.z)]
    return [*angular, *([mass if j == i else 0.0 for j in range(6)] for i in range(3, 6))]


_MATRIX = Output((6, "nv"), "kg·m², kg·m, kg")

ROWS = (
    Row.of(
        centroidal_momentum_matrix,
        "q",
        _MATRIX,
        "Matrix that maps velocities to the centroidal momentum.",
        weighed=True,
    ),
    Row.of(
        centroidal_momentum_matrix_rate,
        "q v",
        Output((6, "nv"), "kg·m²/s, kg·m/s, kg/s"),
        "Rate of the centroidal momentum matrix.",
        weighed=True,
    ),
    Row.of(
        locked_inertia,
        "q",
        Output((6, 6), "kg·m², kg"),
        "Inertia about the centre of mass, all joints locked.",
        weighed=True,
    ),
)
