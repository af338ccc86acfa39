"""Momentum of the whole robot, centroidal momentum matrix, locked inertia and zero-moment point.

    h = Σ X_i I_i V_i      (angular; linear),

each body's momentum in its own frame, propagated inward from body to body.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.13; Orin, Goswami and Lee, Centroidal dynamics of
a humanoid robot, Autonomous Robots 35, 2013.

Centroidal momentum matrix and its rate: a joint with unit velocity along S gives the composite body that it carries, of
inertia I, the momentum I S.  About the centre of mass, at c from the body's origin, and in the world's axes this is a
column of the matrix:

    A_k = R (n − c × f; f)   with (n; f) = I S_k,      h = A v,      ḣ = A a + Ȧ v.

In the rate (n; f) changes by `JointMomentum.rate`, and c by the motion of the masses relative to the origin.

Sources: Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, Autonomous Robots 35, 2013; Wensing and Orin,
Improved computation of the humanoid centroidal dynamics, Int. J. Humanoid Robotics 13, 2016 (by composite bodies).

Rate of the centroidal momentum, the sum of the wrenches that move all bodies about the centre of mass:

    ḣ = Σ X_i F_i = A(q) a + Ȧ(q, v) v,

with the wrench F_i = I_i A_i + V_i ×* I_i V_i of body i.  External wrenches and the weight have the same sum.

Source: Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot, Autonomous Robots 35, 2013.

Zero-moment point: the point of the ground where a support needs only a force and a moment about the vertical.
Accelerations and weight require the wrench (n; f) at the world's origin, f = Σ m (c̈ − g).  In the plane through the
origin that is normal to gravity g, the moment n − p × f has no component in the plane at

    p = (g × n) / (g · f).

Source: Vukobratović and Borovac, Zero-moment point: thirty five years of its life, Int. J. Humanoid Robotics 1, 2004.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.inverse_dynamics import carried_wrenches
from linkwork.dynamics.algorithms.mass_matrix import joint_motions
from linkwork.dynamics.algorithms.momentum.center_of_mass import centers, composite_inertias, only_root, total_mass
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.model.body import WORLD
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, RigidMotion, Rotation, Vec3, by_rows
from linkwork.spatial.rigid_motion import MovingInertia

__all__ = ["ROWS", "centroidal_momentum", "centroidal_momentum_matrix", "momentum"]


Scalars = Sequence[Any]


def momentum(tree: Tree, q: Scalars, v: Scalars) -> Force:
    """Return the momentum (angular about the world's origin; linear), in the world's axes."""
    q, v = tree.split_q(q), tree.split_v(v)
    X = {i: body.X(q[i]) for i, _, body in tree.outward()}
    h = _moved(tree, X, q, v)
    return sum((X[i] @ h[i] for i in h if tree.bodies[i].parent == WORLD), Force.zero())


def centroidal_momentum(tree: Tree, q: Scalars, v: Scalars) -> Force:
    """Return the momentum (angular about the centre of mass; linear), in the world's axes."""
    total_mass(tree, "centroidal_momentum")
    q, v = tree.split_q(q), tree.split_v(v)
    X, composite = composite_inertias(tree, q)
    c, h = centers(tree, X, composite), _moved(tree, X, q, v)
    total = Force.zero()
    for i in h:
        if tree.bodies[i].parent == WORLD:
            R = X[i].rotation
            total += Force(R @ (h[i].moment - c[i].cross(h[i].force)), R @ h[i].force)
    return total


def _moved(tree: Tree, X: dict[int, Pose], q: Scalars, v: Scalars) -> dict[int, Force]:
    """Return, for each body, the momentum of the body and all bodies behind it, about its origin, in its axes."""
    V = {WORLD: Motion.zero()}
    h: dict[int, Force] = {}
    for i, p, body in tree.outward():
        V[i] = X[i].inv() @ V[p] + body.S(q[i]) @ v[i]
        h[i] = body.inertia @ V[i]
    for i, p, _ in tree.inward():
        if p != WORLD:
            h[p] += X[i] @ h[i]
    return h


_MOMENTUM = Output((6,), "kg·m²/s, kg·m/s")


def centroidal_momentum_matrix(tree: Tree, q: Scalars) -> list[list[Any]]:
    """Return A (6 × nv): A v is the momentum about the centre of mass, in the world's axes."""
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
    """Return Ȧ (6 × nv), the rate of the centroidal momentum matrix at velocity v."""
    mass = total_mass(tree, "centroidal_momentum_matrix_rate")
    q, v = tree.split_q(q), tree.split_v(v)
    motion, root, share = joint_motions(tree, q, v), only_root(tree), 1.0 / mass
    composite = {i: MovingInertia.of(body.inertia, motion[i].omega) for i, _, body in tree.outward()}
    composite[WORLD] = MovingInertia.of(tree.fixed_inertia, Vec3.zero())
    for i, p, _ in tree.inward():
        composite[p] += composite[i].transformed(motion[i].X, motion[i].departure)
    c = {WORLD: composite[WORLD].inertia.moment * share}  # the centre of mass from each body's origin
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
            load = composite[i].joint_momentum(S, S_dot)
            rate = load.rate
            n = rate.moment - c_dot[i].cross(load.momentum.force) - c[i].cross(rate.force)
            columns[k] += Force(R[i] @ n, R[i] @ rate.force)
    return by_rows(columns)


def locked_inertia(tree: Tree, q: Scalars) -> list[list[Any]]:
    """Return the spatial inertia (6 × 6) about the centre of mass, in the world's axes, with all joints locked."""
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


def centroidal_momentum_rate(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> Force:
    """Return the rate ḣ of the momentum (angular about the centre of mass; linear), in the world's axes."""
    total_mass(tree, "centroidal_momentum_rate")
    X, _, F = carried_wrenches(tree.with_gravity(Vec3.zero()), q, v, a)
    c = centers(tree, *composite_inertias(tree, tree.split_q(q)))
    total = Force.zero()
    for i, p, _ in tree.inward():
        if p == WORLD:
            R = X[i].rotation
            total += Force(R @ (F[i].moment - c[i].cross(F[i].force)), R @ F[i].force)
        else:
            F[p] += X[i] @ F[i]
    return total


def zero_moment_point(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> list[Any]:
    """Return the zero moment point (3) in the world [m].

    It is infinite where the ground bears less than 1e-12 of the robot's weight, as in free fall.
    """
    tree.require_inertias("zero_moment_point")
    q, v, a, g = tree.split_q(q), tree.split_v(v), tree.split_v(a), tree.gravity
    motion: dict[int, RigidMotion] = {WORLD: RigidMotion.of_fixed_base(g)}
    X: dict[int, Pose] = {}
    F: dict[int, Force] = {WORLD: motion[WORLD].wrench(tree.fixed_inertia)}
    mass = tree.fixed_inertia.mass
    for i, p, body in tree.outward():
        X[i], S = body.X(q[i]), body.S(q[i])
        motion[i] = motion[p].through(X[i], S @ v[i], S @ a[i] + body.bias(q[i], v[i]))
        F[i] = motion[i].wrench(body.inertia)
        mass += body.inertia.mass
    for i, p, _ in tree.inward():
        F[p] += X[i] @ F[i]
    pressed, moment = g.dot(F[WORLD].force), g.cross(F[WORLD].moment)
    supported = lt(mass * g.dot(g), fabs(pressed) * by_type(1e12))
    return [where(supported, x / where(supported, pressed, 1.0), math.inf) for x in moment]


ROWS = (
    FunctionSpec.of(momentum, "q v", _MOMENTUM, "Momentum about the world's origin.", joint_space=True),
    FunctionSpec.of(
        centroidal_momentum, "q v", _MOMENTUM, "Momentum about the centre of mass.", needs_body_inertia=True
    ),
    FunctionSpec.of(
        centroidal_momentum_matrix,
        "q",
        _MATRIX,
        "Matrix that maps velocities to the centroidal momentum.",
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        centroidal_momentum_matrix_rate,
        "q v",
        Output((6, "nv"), "kg·m²/s, kg·m/s, kg/s"),
        "Rate of the centroidal momentum matrix.",
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        locked_inertia,
        "q",
        Output((6, 6), "kg·m², kg"),
        "Inertia about the centre of mass with all joints locked.",
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        centroidal_momentum_rate,
        "q v a",
        Output((6,), "N·m, N"),
        "Rate of the momentum about the centre of mass.",
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        zero_moment_point,
        "q v a",
        Output((3,), "m"),
        "Point of the ground about which gravity and inertia have no tipping moment.",
        optional=("gravity",),
        needs_body_inertia=True,
    ),
)
