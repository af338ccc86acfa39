"""Derivatives of the centroidal momentum and its rate, of the centre of mass, and of energies.

Along a column J of a joint, all bodies that it carries move together.  In axes that move with them, their twists vary
by Ψ̇ and their accelerations by Ψ̇ × V + Ψ̈ (`body_motion_derivatives`).  So their momentum h_C, and the force F_C
that moves them, vary by

    J ×* h_C + I_C Ψ̇,      J ×* F_C + I_C Ψ̈ + B_C Ψ̇      (B of `inverse_dynamics_derivatives`).

The centre of mass moves by δc = (I_C J)_f / m.  About it, a variation (n; f) of the total (N; f_total) has the moment
n − c × f − δc × f_total.

Source: Singh, Russell and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE Robotics and Automation Letters 7, 2022; Orin, Goswami and Lee, Centroidal dynamics of a humanoid robot,
Autonomous Robots 35, 2013.

Derivatives of the velocity and the acceleration of the centre of mass: for the whole robot in the world they are the
derivatives of the linear momentum divided by the mass (`centroidal_momentum_derivatives`).  For a subtree, or relative
to another frame, they follow by automatic differentiation (`tangent_autodiff`).  The derivative of the position is
`center_of_mass_jacobian`. The derivatives with respect to velocities and accelerations equal it.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3.

Gradients of the energies: let h_i be the momentum of body i and all behind it.  Velocity c of its joint adds S_c to
their twists.  In axes that rotate with the joint, coordinate c changes the twists by the parent's motion, V_p × S_c,
and by the change of the joint's own columns, ∂(S v)/∂q_c.  So

    ∂T/∂v_c = h_i · S_c,      ∂T/∂q_c = h_i · (V_p × S_c + ∂(S v)/∂q_c),

and ∂U/∂q are the joint forces that hold the robot at rest.

Source: any text of mechanics; the rate of a motion vector: Featherstone, Rigid Body Dynamics Algorithms, 2008, 2.10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import carriers
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives
from linkwork.dynamics.algorithms.inverse_dynamics import gravity_force
from linkwork.dynamics.algorithms.momentum.center_of_mass import (
    PART,
    center_of_mass_acceleration,
    center_of_mass_velocity,
    centers,
    composite_inertias,
    part_of,
    total_mass,
)
from linkwork.dynamics.algorithms.momentum.energy_and_power import loop_energy
from linkwork.dynamics.algorithms.passive_joint_forces import armature
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.model.body import WORLD
from linkwork.model.function_spec import PASSIVE, FunctionSpec, Output
from linkwork.model.loop_joints import loops_of
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, Rotation, Subspace, Vec3, by_rows, cross, cross_star
from linkwork.spatial.rigid_motion import MovingInertia

__all__ = ["ROWS", "kinetic_energy_derivatives", "potential_energy_derivatives"]


Scalars = Sequence[Any]
Matrix = list[list[Any]]


def centroidal_momentum_derivatives(tree: Tree, q: Scalars, v: Scalars) -> list[Matrix]:
    """Return ∂h/∂q and ∂h/∂v of the centroidal momentum h = A v (6 × nv each); ∂h/∂v is its matrix A."""
    share = 1.0 / total_mass(tree, "centroidal_momentum_derivatives")
    q, v = tree.split_q(q), tree.split_v(v)
    at = carriers(tree.with_gravity(Vec3.zero()), q, v, tree.split_v([0.0] * tree.nv))
    root, center = _roots(tree), centers(tree, *composite_inertias(tree, q))
    I_C = {i: at[i].Y @ body.inertia for i, _, body in tree.outward()}
    h = {i: I_C[i] @ at[i].V for i in I_C}
    # at[i].V is relative to the origin of the branch's first body, which moves at u
    u = {i: (body.S(q[i]) @ v[i]).linear for i, p, body in tree.outward() if p == WORLD}
    for i, p, _ in tree.inward():
        if p != WORLD:
            I_C[p], h[p] = I_C[p] + I_C[i], h[p] + h[i]
    total = sum((at[i].root @ (h[i].force + u[i] * I_C[i].mass) for i in u), Vec3.zero())
    by_q, by_v = ([Force.zero()] * tree.nv for _ in range(2))
    for i, _, _ in tree.inward():
        R, c = at[i].root, center[root[i]]
        rotated = R.inv_act(total)
        for column in at[i].columns:
            k, moved = column.number, I_C[i] @ column.J
            change = cross_star(column.J, h[i]) + I_C[i] @ column.turning
            change = Force(change.moment + moved.force.cross(u[root[i]] - rotated * share), change.force)
            by_q[k] += _about(R, c, change)
            by_v[k] += _about(R, c, moved)
    return [by_rows(by_q), by_rows(by_v)]


def centroidal_momentum_rate_derivatives(tree: Tree, q: Scalars, v: Scalars, a: Scalars) -> list[Matrix]:
    """Return ∂ḣ/∂q, ∂ḣ/∂v and ∂ḣ/∂a = A of the rate ḣ = A a + Ȧ v of the centroidal momentum (6 × nv each)."""
    share = 1.0 / total_mass(tree, "centroidal_momentum_rate_derivatives")
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    at = carriers(tree.with_gravity(Vec3.zero()), q, v, a)
    root, center = _roots(tree), centers(tree, *composite_inertias(tree, q))
    load: dict[int, MovingInertia] = {}
    F: dict[int, Force] = {}
    for i, _, body in tree.outward():
        inertia, V = at[i].Y @ body.inertia, at[i].V
        load[i] = MovingInertia.with_twist(inertia, V)
        F[i] = inertia @ at[i].A + cross_star(V, inertia @ V)
    for i, p, _ in tree.inward():
        if p != WORLD:
            load[p], F[p] = load[p] + load[i], F[p] + F[i]
    total = sum((at[i].root @ F[i].force for i, p, _ in tree.outward() if p == WORLD), Vec3.zero())
    by_q, by_v, by_a = ([Force.zero()] * tree.nv for _ in range(3))
    for i, _, _ in tree.inward():
        R, c, I_C, B_C = at[i].root, center[root[i]], load[i].inertia, load[i]
        rotated = R.inv_act(total)
        for column in at[i].columns:
            k, moved = column.number, I_C @ column.J
            change = cross_star(column.J, F[i]) + I_C @ column.speeding + B_C.coriolis(column.turning.angular) * 2.0
            change = Force(change.moment - moved.force.cross(rotated * share), change.force)
            by_q[k] += _about(R, c, change)
            by_v[k] += _about(R, c, I_C @ column.swinging + B_C.coriolis(column.J.angular) * 2.0)
            by_a[k] += _about(R, c, moved)
    return [by_rows(by_q), by_rows(by_v), by_rows(by_a)]


def _about(R: Rotation, c: Vec3, F: Force) -> Force:
    """Return a wrench F about the point c, rotated by R to the world's axes."""
    return Force(R @ (F.moment - c.cross(F.force)), R @ F.force)


def _roots(tree: Tree) -> dict[int, int]:
    """Return, for each body, the first body of its branch."""
    result: dict[int, int] = {}
    for i, p, _ in tree.outward():
        result[i] = i if p == WORLD else result[p]
    return result


_FORCES, _RATES, _MATRIX = "N·m, N, N/m", "kg·m²/s, kg·m/s, kg/s", "kg·m², kg·m, kg"


def center_of_mass_velocity_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Matrix]:
    """Return ∂ċ/∂q and ∂ċ/∂v of the velocity ċ of the centre of mass (3 × nv each).

    ċ is relative to the frame ``relative_to``, in the axes of ``expressed_in``.
    """
    options = subtree, relative_to, expressed_in
    if options == _WHOLE:
        mass = part_of(tree, subtree, "center_of_mass_velocity_derivatives").mass
        return _linear(centroidal_momentum_derivatives(tree, q, v), mass)
    return derivatives(tree, lambda q, v: center_of_mass_velocity(tree, q, v, *options), q, v)


def center_of_mass_acceleration_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Matrix]:
    """Return ∂c̈/∂q, ∂c̈/∂v and ∂c̈/∂a of the acceleration c̈ of the centre of mass (3 × nv each).

    c̈ is relative to the frame ``relative_to``, in the axes of ``expressed_in``.
    """
    options = subtree, relative_to, expressed_in
    if options == _WHOLE:
        mass = part_of(tree, subtree, "center_of_mass_acceleration_derivatives").mass
        return _linear(centroidal_momentum_rate_derivatives(tree, q, v, a), mass)
    return derivatives(tree, lambda q, v, a: center_of_mass_acceleration(tree, q, v, a, *options), q, v, a)


_WHOLE = (None, "world", "world")


def _linear(matrices: Sequence[Matrix], mass: float) -> list[Matrix]:
    """Return, for each matrix of momentum derivatives, the three rows of linear momentum divided by the mass."""
    return [[[x * (1.0 / mass) for x in row] for row in matrix[3:]] for matrix in matrices]


def kinetic_energy_derivatives(tree: Tree, q: Scalars, v: Scalars, passive: bool = False) -> list[list[Any]]:
    """Return the derivatives ∂T/∂q and ∂T/∂v = M v (nv each) of the kinetic energy T; ``passive`` includes armature."""
    rotors = [m * rate for m, rate in zip(armature(tree), v, strict=True)] if passive else [0.0] * tree.nv
    q, v = tree.split_q(q), tree.split_v(v)
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    V = {WORLD: Motion.zero()}
    carried: dict[int, Motion] = {}  # twist of the parent, in the body's coordinates
    h: dict[int, Force] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        carried[i] = X[i].inv() @ V[p]
        V[i] = carried[i] + S[i] @ v[i]
        h[i] = body.inertia @ V[i]
    by_q: dict[int, list[Any]] = {}
    by_v: dict[int, list[Any]] = {}
    for i, p, body in tree.inward():
        changes = [body.S_dot(q[i], unit) @ v[i] for unit in unit_vectors(len(S[i]))]
        turned = [cross(carried[i], S_c) + change for S_c, change in zip(S[i].columns, changes, strict=True)]
        by_q[i], by_v[i] = [V_c.dot(h[i]) for V_c in turned], S[i].T @ h[i]
        if p != WORLD:
            h[p] += X[i] @ h[i]
    return [tree.gathered(by_q), [x + y for x, y in zip(tree.gathered(by_v), rotors, strict=True)]]


def potential_energy_derivatives(tree: Tree, q: Scalars, passive: bool = False) -> list[Any]:
    """Return the gradient ∂U/∂q (nv) of the potential energy U; ``passive`` includes springs, also of loop joints."""
    result = gravity_force(tree, q, passive=passive)
    if not (passive and any(loop.resists for loop in loops_of(tree))):
        return result
    ((by_loops,),) = derivatives(tree, lambda q: [loop_energy(tree, q)], q)
    return [a + b for a, b in zip(result, by_loops, strict=True)]


ROWS = (
    FunctionSpec.of(
        centroidal_momentum_derivatives,
        "q v",
        (Output((6, "nv"), _RATES, "dh_dq"), Output((6, "nv"), _MATRIX, "dh_dv")),
        "Derivatives of the momentum about the centre of mass by configuration and velocities.",
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        centroidal_momentum_rate_derivatives,
        "q v a",
        (
            Output((6, "nv"), _FORCES, "dh_dot_dq"),
            Output((6, "nv"), _RATES, "dh_dot_dv"),
            Output((6, "nv"), _MATRIX, "dh_dot_da"),
        ),
        "Derivatives of the rate of the centroidal momentum by configuration, velocities and accelerations.",
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        center_of_mass_velocity_derivatives,
        "q v",
        (Output((3, "nv"), "1/s, m/s", "dc_dot_dq"), Output((3, "nv"), "1, m", "dc_dot_dv")),
        "Derivatives of the velocity of the centre of mass by configuration and velocities.",
        options=PART,
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        center_of_mass_acceleration_derivatives,
        "q v a",
        (
            Output((3, "nv"), "1/s², m/s²", "dc_ddot_dq"),
            Output((3, "nv"), "1/s, m/s", "dc_ddot_dv"),
            Output((3, "nv"), "1, m", "dc_ddot_da"),
        ),
        "Derivatives of the acceleration of the centre of mass by configuration, velocities and accelerations.",
        options=PART,
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        kinetic_energy_derivatives,
        "q v",
        (Output(("nv",), "N·m, N", "dT_dq"), Output(("nv",), "kg·m²/s, kg·m/s", "dT_dv")),
        "Derivatives of the kinetic energy by configuration and velocities.",
        options=(PASSIVE,),
        joint_space=True,
    ),
    FunctionSpec.of(
        potential_energy_derivatives,
        "q",
        Output(("nv",), "N·m, N"),
        "Derivative of the potential energy by the configuration.",
        optional=("gravity",),
        options=(PASSIVE,),
        joint_space=True,
    ),
)
