"""Articulated-body algorithm (ABA): forward dynamics, also by the mass matrix and with coupled joints; and impacts.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 7 and 6.  Velocity products are computed in frames
that move with each body's origin (see `linkwork.spatial.rigid_motion`).  A joint of several degrees of freedom is
eliminated one velocity at a time, like a chain of joints between massless bodies.

Coupled joints (`coupled_forward_dynamics`): a master and its followers share one acceleration a_k.  In the inward pass
it stays unknown up to the last common ancestor of their bodies, where it is eliminated like that of a joint.  Until
then the wrench that moves body i and its subtree is

    F_i = I_A A_i + p_A + Σ U_k a_k,     and k's own equation     U_k · A_i + Σ D_kh a_h = u_k,

summed over the unknowns that are open at i; U_k is the same in both, as M is symmetric.  A joint with S that moves with
a_k substitutes A_i = X A_p + ζ + S a_k, and adds its S · F_i to the equation.  The acceleration of any other joint is
eliminated immediately: without couplings this is the articulated-body algorithm.

Impact: only impulses act in an instant, and M (v⁺ − v) = Σ Jᵀ p.  This is forward dynamics at rest without gravity,
with impulses in place of wrenches and changes of velocity in place of accelerations.

Source: Featherstone, 2008, sections 3.2 (couplings) and 11.7 (impact).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork._util.lazy_imports import ImportedFunction
from linkwork.dynamics.algorithms.coulomb_friction import dry_friction, with_dry_friction
from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix, mass_solved
from linkwork.dynamics.algorithms.passive_joint_forces import added_force, armature
from linkwork.errors import SingularInertiaError
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.model.body import WORLD, Body
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

__all__ = ["ROWS", "articulated_bodies", "forward_dynamics", "impact", "inverse_resistance"]


Scalars = Sequence[Any]


def forward_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
    method: str = "articulated_bodies",
) -> list[Any]:
    """Return the accelerations a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)) (nv) under joint forces τ.

    M is the mass matrix, h the bias force, and w are external wrenches on frames with Jacobians J. ``passive`` adds
    the passive joint forces to τ, and armature to M. Under a friction law such as Coulomb's, joints at rest may stay
    at rest: see `coulomb_friction`.

    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    if passive:
        tau = [x + y for x, y in zip(tau, added_force(tree, q, v, friction), strict=True)]
        law = friction_law(friction)
        if law.sticks and not all(map(is_zero, dry_friction(tree, law)[1])):
            articulated_bodies(tree, q, v, tau, wrenches, armature=True)  # raises for joints without inertia
            forces = [x - y for x, y in zip(tau, bias_force(tree, q, v, wrenches), strict=True)]
            return with_dry_friction(tree, v, mass_matrix(tree, q, passive=True), forces, law)
    if method == "mass_matrix":
        h = bias_force(tree, q, v, wrenches)
        return mass_solved(tree, mass_matrix(tree, q, passive), [x - y for x, y in zip(tau, h, strict=True)])
    return articulated_bodies(tree, q, v, tau, wrenches, passive)


def articulated_bodies(
    tree: Tree, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches = (), armature: bool = False
) -> list[Any]:
    """Return the accelerations (nv) under joint forces τ by articulated-body inertias.

    ``armature`` adds the joints' armature. Where joints follow others, they share an acceleration: see
    `coupled_forward_dynamics`.
    """
    if tree.has_couplings:
        return coupled_forward_dynamics(tree, q, v, tau, wrenches, armature)
    q, v, tau = tree.split_q(q), tree.split_v(v), tree.split_v(tau)
    outside = external_forces(tree, q, wrenches)
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    omega: dict[int, Vec3] = {WORLD: Vec3.zero()}
    zeta: dict[int, Motion] = {}
    I_A: dict[int, ArticulatedInertia] = {}
    p_A: dict[int, Force] = {}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        carried = RigidMotion.spinning(omega[p]).through(X[i], S[i] @ v[i], body.bias(q[i], v[i]))
        omega[i], zeta[i] = carried.angular_velocity, carried.spatial_rate
        I_A[i] = ArticulatedInertia.of(body.inertia)
        p_A[i] = RigidMotion.spinning(omega[i]).wrench(body.inertia)
        if i in outside:
            p_A[i] -= outside[i]

    U: dict[int, list[Force]] = {}
    D_inv: dict[int, list[Any]] = {}
    u: dict[int, list[Any]] = {}
    for i, p, body in tree.inward():
        U[i], D_inv[i], u[i] = [], [], []
        I_a, p_a = I_A[i], p_A[i]
        rotors = body.armature if armature else [0.0] * len(S[i])
        for column, torque, rotor in zip(*map(reversed, (S[i].columns, tau[i], rotors)), strict=True):
            U_k = I_a @ column
            D_k = inverse_resistance(column.dot(U_k) + rotor, body, I_A[i], column)
            u_k = torque - column.dot(p_a)
            I_a = I_a.freed(column, U_k, D_k, alone=is_zero(rotor))
            p_a += U_k * (D_k * u_k)
            U[i].append(U_k)
            D_inv[i].append(D_k)
            u[i].append(u_k)
        if p != WORLD:
            I_A[p] += X[i] @ I_a
            p_A[p] += X[i] @ (p_a + I_a @ zeta[i])

    A = {WORLD: Motion(Vec3.zero(), -tree.gravity)}
    a: dict[int, list[Any]] = {}
    for i, p, _ in tree.outward():
        A[i] = X[i].inv() @ A[p] + zeta[i]
        a[i] = []
        for column, U_k, D_k, u_k in zip(S[i].columns, *map(reversed, (U[i], D_inv[i], u[i])), strict=True):
            rate = D_k * (u_k - A[i].dot(U_k))
            A[i] += column * rate
            a[i].append(rate)
    return tree.gathered(a)


def inverse_resistance(D: Any, body: Body, I: ArticulatedInertia, motion: Motion) -> Any:
    """Return 1/D, where D is the inertia that resists a joint's ``motion`` while the joint's later motions are free.

    I is the inertia while these are fixed. Raises SingularInertiaError where D is zero: because no inertia is moved,
    or because the joint's motions depend on each other.
    """
    rounding = _rounding(body, motion)
    if isinstance(D, float) and isinstance(rounding, float) and rounding >= D:
        alone = motion.dot(I @ motion)
        raise SingularInertiaError(body.joint_name, motions=isinstance(alone, float) and alone > rounding)
    return 1.0 / D


def _rounding(body: Body, motion: Motion) -> Any:
    """Return the rounding error of the inertia by which a body resists a motion; 0 for a body without inertia."""
    about, mass = body.inertia.about, body.inertia.mass
    turned, shifted = abs(about.xx) + abs(about.yy) + abs(about.zz), abs(mass)
    terms = ((turned, motion.angular), (shifted, motion.linear))
    return 1e-15 * sum((x * along.dot(along) for x, along in terms if not is_zero(x)), 0.0)


def impact(tree: Tree, q: Scalars, v: Scalars, impulses: Wrenches = (), passive: bool = False) -> list[Any]:
    """Return the velocities v⁺ = v + M⁻¹ Σ Jᵀ p (nv) after impulses; ``passive`` adds armature to M."""
    zero_velocity = [0.0] * tree.nv
    steps = articulated_bodies(tree.with_gravity(Vec3.zero()), q, zero_velocity, zero_velocity, impulses, passive)
    return [x + step for x, step in zip(v, steps, strict=True)]


def coupled_forward_dynamics(
    tree: Tree, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches = (), passive: bool = False
) -> list[Any]:
    """Return the accelerations a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)) (nv) of a tree with coupled joints.

    ``passive`` adds armature to M; passive joint forces are part of τ already.

    Raises SingularInertiaError naming the joint where a joint and its followers move no inertia at all, or a joint's
    motions depend on each other everywhere.
    """
    q, v = tree.split_q(q), tree.split_v(v)
    outside = external_forces(tree, q, wrenches)
    velocity_indices = [range(tree.nv)[columns] for columns in tree.v_slices]
    top = _tops(tree)
    X: dict[int, Pose] = {}
    S: dict[int, Subspace] = {}
    omega: dict[int, Vec3] = {WORLD: Vec3.zero()}
    zeta: dict[int, Motion] = {}
    load = {WORLD: _Load(ArticulatedInertia.of(Inertia.zero()), Force.zero())}
    for i, p, body in tree.outward():
        X[i], S[i] = body.X(q[i]), body.S(q[i])
        carried = RigidMotion.spinning(omega[p]).through(X[i], S[i] @ v[i], body.bias(q[i], v[i]))
        omega[i], zeta[i] = carried.angular_velocity, carried.spatial_rate
        load[i] = _Load(ArticulatedInertia.of(body.inertia), RigidMotion.spinning(omega[i]).wrench(body.inertia))
        if i in outside:
            load[i].p -= outside[i]

    unknowns = _Unknowns(tree, tau, armature(tree) if passive else [0.0] * tree.nv)
    closed: dict[int, list[int]] = {i: [k for k in top if top[k] == i] for i in load}
    for i, p, body in tree.inward():
        for k in closed[i]:
            unknowns.eliminate(k, load[i], Motion.zero())
        whole = load[i].I
        for k, column in zip(reversed(velocity_indices[i]), reversed(S[i].columns), strict=True):
            unknowns.engage(k, load[i], column)
            unknowns.alone[k].append((whole, column))
            unknowns.rounding[k] += _rounding(body, column)
            if k not in top:
                unknowns.eliminate(k, load[i], column)
        unknowns.carry(load[i], X[i], zeta[i], load[p])
    for k in closed[WORLD]:
        unknowns.eliminate(k, load[WORLD], Motion.zero())

    A = {WORLD: Motion(Vec3.zero(), -tree.gravity)}
    for k in reversed(closed[WORLD]):
        unknowns.solve(k, A[WORLD])
    for i, p, _ in tree.outward():
        A[i] = X[i].inv() @ A[p] + zeta[i]
        for k, column in zip(velocity_indices[i], S[i].columns, strict=True):
            if k not in top:
                unknowns.solve(k, A[i])
            A[i] += column * unknowns.a[k]
        for k in reversed(closed[i]):
            unknowns.solve(k, A[i])
    return unknowns.a


@dataclass(slots=True)
class _Load:
    """Wrench F = I A + p + Σ U_k a_k that moves a body and all bodies behind it.

    A is the body's acceleration, and a_k are accelerations of joints that are not eliminated yet.
    """

    I: ArticulatedInertia
    p: Force
    U: dict[int, Force] = field(default_factory=dict)  # by the unknowns that are open at the body


class _Unknowns:
    """Joint accelerations a_k that are not eliminated yet, each with its equation U_k · A + Σ D_kh a_h = u_k.

    A is the acceleration of the body up to which the inward pass has come.
    """

    def __init__(self, tree: Tree, tau: Scalars, rotors: Sequence[float]) -> None:
        self.moved: list[list[Body]] = [[] for _ in range(tree.nv)]
        for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
            for k in range(tree.nv)[columns]:
                self.moved[k].append(body)
        self.alone: list[list[tuple[ArticulatedInertia, Motion]]] = [[] for _ in range(tree.nv)]  # inertia and motion
        self.rounding: list[Any] = [0.0] * tree.nv
        self.u: list[Any] = list(tau)
        self.D: dict[tuple[int, int], Any] = {(k, k): rotor for k, rotor in enumerate(rotors) if not is_zero(rotor)}
        self.rotors = rotors
        self.closed: dict[int, tuple[Force, Any, dict[int, Any]]] = {}  # U_k, 1 / D_kk and D_kh when k was eliminated
        self.a: list[Any] = [0.0] * tree.nv

    def add(self, k: int, h: int, value: Any) -> None:
        key = (k, h) if k < h else (h, k)
        self.D[key] = self.D[key] + value if key in self.D else value

    def engage(self, k: int, load: _Load, S: Motion) -> None:
        """Add one velocity component of a joint to the equation of a_k: its motion S moves the load with a_k."""
        U = load.I @ S
        self.u[k] = self.u[k] - S.dot(load.p)
        self.add(k, k, S.dot(U))
        for h, U_h in load.U.items():
            along = S.dot(U_h)
            self.add(k, h, along + along if h == k else along)
        load.U[k] = load.U[k] + U if k in load.U else U

    def eliminate(self, k: int, load: _Load, S: Motion) -> None:
        """Eliminate a_k from the load by its equation; the load does not resist S afterwards."""
        U = load.U.pop(k, Force.zero())
        D_inv, couplings = self.inverse(k), {h: self.D.pop((k, h) if k < h else (h, k), 0.0) for h in load.U}
        self.closed[k] = U, D_inv, couplings
        for h, D_kh in couplings.items():
            scaled = D_kh * D_inv
            load.U[h] = load.U[h] - U * scaled
            self.u[h] = self.u[h] - scaled * self.u[k]
            for g, D_kg in couplings.items():
                if g <= h:
                    self.add(g, h, -(scaled * D_kg))
        load.I = load.I.freed(S, U, D_inv, alone=is_zero(self.rotors[k]))
        load.p = load.p + U * (D_inv * self.u[k])

    def carry(self, load: _Load, X: Pose, zeta: Motion, parent: _Load) -> None:
        """Add the load of a body to the load of its parent.

        X is the body's pose in the parent. Its acceleration is A = X⁻¹ A_parent + ζ, ``zeta``, plus the joint's own
        acceleration.
        """
        parent.I = parent.I + X @ load.I
        parent.p = parent.p + X @ (load.p + load.I @ zeta)
        for k, U in load.U.items():
            self.u[k] = self.u[k] - zeta.dot(U)
            parent.U[k] = parent.U[k] + X @ U if k in parent.U else X @ U

    def solve(self, k: int, A: Motion) -> None:
        """Compute a_k by its equation, from the acceleration A and the unknowns that were open at its elimination."""
        U, D_inv, couplings = self.closed[k]
        remainder = self.u[k] - A.dot(U)
        for h, D_kh in couplings.items():
            remainder = remainder - D_kh * self.a[h]
        self.a[k] = D_inv * remainder

    def inverse(self, k: int) -> Any:
        D = self.D.pop((k, k))
        rounding = self.rounding[k]
        if isinstance(D, float) and isinstance(rounding, float) and rounding >= D:
            alone = sum(S.dot(I @ S) for I, S in self.alone[k])
            name = next(body.joint_name for body in self.moved[k] if body.coupling is None)
            raise SingularInertiaError(name, motions=isinstance(alone, float) and alone > rounding)
        return 1.0 / D


def _tops(tree: Tree) -> dict[int, int]:
    """Return, for each velocity that joints share, the last common ancestor of the bodies that move with it.

    It may be the world.
    """
    parents: dict[int, list[int]] = {}
    for i, p, _ in tree.outward():
        for k in range(tree.nv)[tree.v_slices[i]]:
            parents.setdefault(k, []).append(p)
    tops = {}
    for k, bodies in parents.items():
        while len(set(bodies)) > 1:
            highest = max(bodies)
            bodies = [tree.bodies[i].parent if i == highest else i for i in bodies]
        if len(bodies) > 1:
            tops[k] = bodies[0]
    return tops


# with default options, in place of differentiation of its operations
_IMPLICIT = ImportedFunction("linkwork.dynamics.algorithms.derivatives.forward_dynamics_derivatives.ImplicitDynamics")

ROWS = (
    FunctionSpec.of(
        forward_dynamics,
        "q v tau",
        Output(("nv",), "rad/s², m/s²"),
        "Accelerations under given joint forces.",
        optional=("gravity",),
        options=(PASSIVE, FRICTION, Option("method", "articulated_bodies", ("articulated_bodies", "mass_matrix"))),
        takes_wrenches=True,
        joint_space=True,
        requires_regular_coordinates=True,
        derivative_rule=_IMPLICIT,
    ),
    FunctionSpec.of(
        impact,
        "q v",
        Output(("nv",), "rad/s, m/s"),
        "Velocities after impulses.",
        options=(PASSIVE,),
        takes_wrenches=True,
        wrench_argument="impulses",
        joint_space=True,
        requires_regular_coordinates=True,
    ),
)
