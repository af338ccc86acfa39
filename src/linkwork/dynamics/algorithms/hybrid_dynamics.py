"""Hybrid dynamics by articulated bodies: accelerations of some joints and forces of the others are prescribed.

A joint with prescribed acceleration propagates its body's inertia rigidly to the parent; a joint with prescribed force
is eliminated, as in forward dynamics.  The outward pass computes the unknown of each joint.

Where joints follow others the mass matrix is used, with prescribed accelerations in P and free ones in F:

    M_FF a_F = τ_F − h_F − M_FP a_P,      τ_P = M_PF a_F + M_PP a_P + h_P.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, sections 9.2 and 9.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.coulomb_friction import dry_friction, starting_friction, with_dry_friction
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.forward_dynamics import inverse_resistance
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force, inverse_dynamics
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix, mass_solved, owners
from linkwork.dynamics.algorithms.passive_joint_forces import added_force, armature
from linkwork.expr.linalg.sparse_dot import dot, is_zero, subtract_dot
from linkwork.model.body import WORLD
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, friction_law
from linkwork.model.function_spec import FRICTION, PASSIVE, FunctionSpec, Option, Output
from linkwork.model.tree import Tree
from linkwork.spatial import (
    ArticulatedInertia,
    Force,
    Inertia,
    Motion,
    Pose,
    RigidMotion,
    Subspace,
    Vec3,
)

__all__ = ["ROWS", "hybrid_dynamics", "prescribed_joints"]

Scalars = Sequence[Any]


def hybrid_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    tau: Scalars,
    joints: str | Sequence[str],
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any]]:
    """Return all accelerations a and joint forces τ (nv each): τ is computed for the named joints, a for the others.

    The named joints have the prescribed accelerations ``a``, the others the prescribed forces ``tau``.

    ``passive`` includes armature and passive joint forces, which are not part of τ. Under a friction law such as
    Coulomb's, joints with prescribed force may stay at rest: see `coulomb_friction`. ``time`` only matters for robots
    with constraints.
    """
    prescribed = prescribed_joints(tree, joints)
    fixed = [i in prescribed for i in owners(tree)]
    if all(fixed):
        return list(a), inverse_dynamics(tree, q, v, a, wrenches, passive, friction)
    law = friction_law(friction)
    dry = passive and law.sticks
    exerted = added_force(tree, q, v, friction) if passive else [0.0] * tree.nv
    rotors = armature(tree) if passive else [0.0] * tree.nv
    driven = [x + y for x, y in zip(tau, exerted, strict=True)] if passive else tau
    bounds = dry_friction(tree, law)[1] if dry else []
    sticking = dry and not all(is_zero(f) or is_fixed for f, is_fixed in zip(bounds, fixed, strict=True))
    if tree.has_couplings or sticking:
        rates, forces = _by_mass_matrix(tree, q, v, a, driven, fixed, wrenches, passive, law if sticking else None)
    else:
        rates, forces = _by_articulated_bodies(tree, q, v, a, driven, prescribed, wrenches, rotors)
        forces = [force + rotor * rate for force, rotor, rate in zip(forces, rotors, rates, strict=True)]
    if dry:
        exerted = [x + y for x, y in zip(exerted, starting_friction(tree, v, rates, law), strict=True)]
    result = zip(fixed, a, rates, tau, forces, exerted, strict=True)
    pairs = [(x, F - projected) if known else (rate, u) for known, x, rate, u, F, projected in result]
    return [rate for rate, _ in pairs], [force for _, force in pairs]


def _by_articulated_bodies(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    tau: Scalars,
    prescribed: set[int],
    wrenches: Wrenches,
    rotors: Sequence[float],
) -> tuple[list[Any], list[Any]]:
    """Return the accelerations and the forces of all joints by articulated bodies (nv each).

    The forces are computed for joints with prescribed accelerations, the accelerations for the others.
    """
    q, v, a, tau = tree.split_q(q), tree.split_v(v), tree.split_v(a), tree.split_v(tau)
    outside = external_forces(tree, q, wrenches)
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    omega: dict[int, Vec3] = {WORLD: Vec3.zero()}
    zeta: dict[int, Motion] = {}
    I_A: dict[int, Inertia | ArticulatedInertia] = {}  # rigid while no joint after the body is free
    p_A: dict[int, Force] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        carried = RigidMotion.spinning(omega[p]).through(X[i], S[i] @ v[i], body.bias(q[i], v[i]))
        omega[i], zeta[i] = carried.angular_velocity, carried.spatial_rate
        if i in prescribed:
            zeta[i] += S[i] @ a[i]
        I_A[i] = body.inertia
        p_A[i] = RigidMotion.spinning(omega[i]).wrench(body.inertia)
        if i in outside:
            p_A[i] -= outside[i]

    freed: dict[int, list[tuple[Motion, Force, Any, Any]]] = {}
    for i, p, body in tree.inward():
        I_a, p_a = I_A[i], p_A[i]
        freed[i] = []
        free = [] if i in prescribed else list(zip(S[i].columns, tau[i], rotors[tree.v_slices[i]], strict=True))
        for column, torque, rotor in reversed(free):
            felt = _articulated(I_a)
            U = felt @ column
            D_inv = inverse_resistance(column.dot(U) + rotor, body, _articulated(I_A[i]), column)
            u = torque - column.dot(p_a)
            I_a = felt.freed(column, U, D_inv, alone=is_zero(rotor))
            p_a += U * (D_inv * u)
            freed[i].insert(0, (column, U, D_inv, u))
        if p != WORLD:
            I_A[p] = _sum(I_A[p], X[i] @ I_a)
            p_A[p] += X[i] @ (p_a + I_a @ zeta[i])

    A = {WORLD: Motion(Vec3.zero(), -tree.gravity)}
    rates: dict[int, list[Any]] = {}
    forces: dict[int, list[Any]] = {}
    for i, p, _ in tree.outward():
        A[i] = X[i].inv() @ A[p] + zeta[i]
        rates[i], forces[i] = [], []
        for column, U, D_inv, u in freed[i]:
            rate = D_inv * (u - A[i].dot(U))
            A[i] += column * rate
            rates[i].append(rate)
        if i in prescribed:
            rates[i], forces[i] = list(a[i]), S[i].T @ (I_A[i] @ A[i] + p_A[i])
        else:
            forces[i] = list(tau[i])
    return tree.gathered(rates), tree.gathered(forces)


def _articulated(inertia: Inertia | ArticulatedInertia) -> ArticulatedInertia:
    return inertia if isinstance(inertia, ArticulatedInertia) else ArticulatedInertia.of(inertia)


def _sum(first: Inertia | ArticulatedInertia, second: Inertia | ArticulatedInertia) -> Inertia | ArticulatedInertia:
    if isinstance(first, Inertia) and isinstance(second, Inertia):
        return first + second
    return _articulated(first) + _articulated(second)


def _by_mass_matrix(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    tau: Scalars,
    fixed: Sequence[bool],
    wrenches: Wrenches,
    passive: bool,
    sticking: FrictionLaw | None,
) -> tuple[list[Any], list[Any]]:
    """Return the accelerations a and the forces M a + h; ``sticking`` is a friction law with which joints may stick."""
    M, h = mass_matrix(tree, q, passive), bias_force(tree, q, v, wrenches)
    known = [k for k, is_fixed in enumerate(fixed) if is_fixed]
    free = [k for k, is_fixed in enumerate(fixed) if not is_fixed]
    a_P = [a[k] for k in known]
    rates = list(a)
    for k in free:
        rates[k] = subtract_dot(tau[k] - h[k], [M[k][j] for j in known], a_P)
    if sticking is not None:  # the prescribed joints have the equation a = a, and count as moving
        each = enumerate(M)
        equations = [[float(i == j) if fixed[i] or fixed[j] else x for j, x in enumerate(row)] for i, row in each]
        moving = [1.0 if is_fixed else x for x, is_fixed in zip(v, fixed, strict=True)]
        rates = with_dry_friction(tree, moving, equations, rates, sticking)
    else:
        result = mass_solved(tree, [[M[k][j] for j in free] for k in free], [rates[k] for k in free], free)
        for k, rate in zip(free, result, strict=True):
            rates[k] = rate
    return rates, [dot(row, rates) + x for row, x in zip(M, h, strict=True)]


def prescribed_joints(tree: Tree, joints: str | Sequence[str]) -> set[int]:
    """Return the indices of the bodies of the named joints. Raises ValueError for a joint that follows another."""
    result = set()
    for name in (joints,) if isinstance(joints, str) else joints:
        index = tree.joint_index(name)
        coupling = tree.bodies[index].coupling
        if coupling is not None:
            raise ValueError(
                f"hybrid_dynamics: joints: joint {name!r} has no acceleration of its own: it follows joint "
                f"{coupling.joint!r}; name that joint"
            )
        result.add(index)
    return result


ROWS = (
    FunctionSpec.of(
        hybrid_dynamics,
        "q v a tau",
        (Output(("nv",), "rad/s², m/s²", "a"), Output(("nv",), "N·m, N", "tau")),
        "Accelerations and forces, with prescribed accelerations of some joints and forces of the others.",
        optional=("gravity", "time"),
        options=(Option("joints", required=True, names="joint", counted="nj"), PASSIVE, FRICTION),
        takes_wrenches=True,
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
