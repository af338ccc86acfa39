"""Forward dynamics of a tree in which joints follow others: articulated bodies with shared accelerations.

A master and its followers have one acceleration a_k.  On the way inward it stays unknown until the last body that all
of them hang from, where it is eliminated as a joint's is.  Meanwhile the wrench that moves body i and all that hangs on
it is

    F_i = I_A A_i + p_A + Σ U_k a_k,     and k's own equation     U_k · A_i + Σ D_kh a_h = u_k,

summed over the unknowns that are open at i; the same U_k stands in both, as M is symmetric.  A joint with S that moves
with a_k puts A_i = X A_p + ζ + S a_k in, and adds its S · F_i to the equation.  Any other joint's acceleration is
eliminated at once: without couplings this is the articulated-body algorithm.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 7, with the couplings of section 3.2 put in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.passive_joint_forces import armature
from linkwork.errors import SingularInertiaError
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.model.body import WORLD, Body
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

__all__ = ["coupled_forward_dynamics"]

Scalars = Sequence[Any]


def coupled_forward_dynamics(
    tree: Tree, q: Scalars, v: Scalars, tau: Scalars, wrenches: Wrenches = (), passive: bool = False
) -> list[Any]:
    """a = M(q)⁻¹ (τ + Σ Jᵀ w − h(q, v)): the joint accelerations (nv) under the joint forces τ.

    With ``passive`` the joints' armature is part of M; what they exert by themselves is part of τ already.

    Raises SingularInertiaError naming the joint where a joint and its followers move no inertia at all, or a joint's
    motions depend on each other everywhere.
    """
    q, v = tree.split_q(q), tree.split_v(v)
    outside = external_forces(tree, q, wrenches)
    numbers = [range(tree.nv)[place] for place in tree.v_slices]
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
    for i, p, _ in tree.inward():
        for k in closed[i]:
            unknowns.eliminate(k, load[i], Motion.zero())
        whole = load[i].I
        for k, column in zip(reversed(numbers[i]), reversed(S[i].columns), strict=True):
            unknowns.engage(k, load[i], column)
            unknowns.alone[k].append((whole, column))
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
        for k, column in zip(numbers[i], S[i].columns, strict=True):
            if k not in top:
                unknowns.solve(k, A[i])
            A[i] += column * unknowns.a[k]
        for k in reversed(closed[i]):
            unknowns.solve(k, A[i])
    return unknowns.a


@dataclass(slots=True)
class _Load:
    """What body i carries: F_i = I A_i + p + Σ U_k a_k."""

    I: ArticulatedInertia
    p: Force
    U: dict[int, Force] = field(default_factory=dict)  # by the unknowns that are open here


class _Unknowns:
    """The accelerations, each with its equation U_k · A + Σ D_kh a_h = u_k."""

    def __init__(self, tree: Tree, tau: Scalars, rotors: Sequence[float]) -> None:
        self.moved: list[list[Body]] = [[] for _ in range(tree.nv)]
        for body, place in zip(tree.bodies, tree.v_slices, strict=True):
            for k in range(tree.nv)[place]:
                self.moved[k].append(body)
        self.alone: list[list[tuple[ArticulatedInertia, Motion]]] = [[] for _ in range(tree.nv)]  # what each moves
        self.u: list[Any] = list(tau)
        self.D: dict[tuple[int, int], Any] = {(k, k): rotor for k, rotor in enumerate(rotors) if not is_zero(rotor)}
        self.rotors = rotors
        self.closed: dict[int, tuple[Force, Any, dict[int, Any]]] = {}  # U_k, 1 / D_kk and D_kh when k was eliminated
        self.a: list[Any] = [0.0] * tree.nv

    def add(self, k: int, h: int, value: Any) -> None:
        key = (k, h) if k < h else (h, k)
        self.D[key] = self.D[key] + value if key in self.D else value

    def engage(self, k: int, load: _Load, S: Motion) -> None:
        """A column S of a joint moves the load with a_k."""
        U = load.I @ S
        self.u[k] = self.u[k] - S.dot(load.p)
        self.add(k, k, S.dot(U))
        for h, U_h in load.U.items():
            along = S.dot(U_h)
            self.add(k, h, along + along if h == k else along)
        load.U[k] = load.U[k] + U if k in load.U else U

    def eliminate(self, k: int, load: _Load, S: Motion) -> None:
        """a_k is what makes its equation true, whatever the load's A and the other unknowns; nothing resists S then."""
        U = load.U.pop(k, Force.zero())
        D_inv, others = self.inverse(k), {h: self.D.pop((k, h) if k < h else (h, k), 0.0) for h in load.U}
        self.closed[k] = U, D_inv, others
        for h, D_kh in others.items():
            scaled = D_kh * D_inv
            load.U[h] = load.U[h] - U * scaled
            self.u[h] = self.u[h] - scaled * self.u[k]
            for g, D_kg in others.items():
                if g <= h:
                    self.add(g, h, -(scaled * D_kg))
        load.I = load.I.freed(S, U, D_inv, alone=is_zero(self.rotors[k]))
        load.p = load.p + U * (D_inv * self.u[k])

    def carry(self, load: _Load, X: Pose, zeta: Motion, parent: _Load) -> None:
        """What the parent feels of a load, where A = X⁻¹ A_parent + ζ."""
        parent.I = parent.I + X @ load.I
        parent.p = parent.p + X @ (load.p + load.I @ zeta)
        for k, U in load.U.items():
            self.u[k] = self.u[k] - zeta.dot(U)
            parent.U[k] = parent.U[k] + X @ U if k in parent.U else X @ U

    def solve(self, k: int, A: Motion) -> None:
        """a_k, once A and the unknowns that stayed open are known."""
        U, D_inv, others = self.closed[k]
        rest = self.u[k] - A.dot(U)
        for h, D_kh in others.items():
            rest = rest - D_kh * self.a[h]
        self.a[k] = D_inv * rest

    def inverse(self, k: int) -> Any:
        D = self.D.pop((k, k))
        rounding = 1e-15 * sum(abs(body.inertia.about.xx) + abs(body.inertia.mass) for body in self.moved[k])
        if isinstance(D, float) and isinstance(rounding, float) and rounding >= D:
            alone = sum(S.dot(I @ S) for I, S in self.alone[k])
            name = next(body.joint_name for body in self.moved[k] if body.coupling is None)
            raise SingularInertiaError(name, motions=isinstance(alone, float) and alone > rounding)
        return 1.0 / D


def _tops(tree: Tree) -> dict[int, int]:
    """By the numbers of v that several joints share: the last body that all of them hang from, or the world."""
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
