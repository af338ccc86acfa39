"""Free-floating bodies in steps of first order: an impulse, and a free flight that conserves momentum.

The impulse changes the velocity u in the axes of the step's start, which do not rotate meanwhile.  In the flight the
centre of mass moves straight and the body rotates by R = exp(h Ω), so that, in its own axes,

    I ω⁺ = Rᵀ I ω,     Ω = I⁻¹ exp(−h Ω/2) I ω,

and its momentum in the world is conserved to rounding.  Ω is the angular velocity at the midpoint, so the flight is
time-reversible and energy does not drift.  A body that carries others rotates by h ω, and its gyroscopic forces are in
the impulse, or in `inertial_forces`.  Armature is a mass at the frame's origin, and inertia about it.

Source: Simo and Wong, Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy and
momentum, International Journal for Numerical Methods in Engineering 31, 1991; Hairer, Lubich and Wanner, Geometric
Numerical Integration, 2nd ed. 2006, chapter VII.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.passive_joint_forces import armature as armature_of
from linkwork.dynamics.algorithms.passive_joint_forces import gyroscopic_force
from linkwork.expr.linalg.factorizations import Symmetric
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.linalg.triangular_factors import Pivots
from linkwork.model.body import WORLD, Body
from linkwork.model.friction_laws import same
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves.curve_space import CurveSpace, JointSlice
from linkwork.spatial import Inertia, Quaternion, Vec3
from linkwork.spatial.vectors import Symmetric3

__all__ = ["FreeBody", "flown", "free_bodies", "pushed_rates", "rotor_force"]

Scalars = Sequence[Any]

_POSITIVE = Symmetric(positive=True)
_AGAIN = 2  # fixed-point iterations for Ω, with an error of order (h ω)⁴


@dataclass(frozen=True, slots=True)
class FreeBody:
    """Floating body: the slices of its joint in q and v, and its inertia in the joint's frame.

    ``inertia`` is None if the body carries others.
    """

    joint_slice: JointSlice
    inertia: Inertia | None

    def flown(self, q: Scalars, u: Scalars, h: Any) -> tuple[list[Any], list[Any]]:
        """Return q and v after a free flight of h [s]; its velocity u is in the axes of the body at the start."""
        spin, velocity = Vec3.of(u[:3]), Vec3.of(u[3:6])
        if self.inertia is None:
            turned = Quaternion.exp(spin * h).rotation().inv_act(velocity)
            return self.joint_slice.integrate(q, [h * x for x in u], True), [*spin, *turned]
        c = self.inertia.moment * (1.0 / self.inertia.mass)
        Omega, after = self._turning(self.inertia.shifted(-c).about, spin, h)
        R = Quaternion.exp(Omega * h).rotation()
        along = velocity + spin.cross(c)  # velocity of the centre of mass
        moved = along * h + c - R @ c
        return self.joint_slice.integrate(q, [*(Omega * h), *moved], True), [
            *after,
            *(R.inv_act(along) - after.cross(c)),
        ]

    @staticmethod
    def _turning(about: Any, spin: Vec3, h: Any) -> tuple[Vec3, Vec3]:
        """Return the mean angular velocity Ω of a flight and the angular velocity at its end.

        ``about`` is the inertia about the centre of mass, and ``spin`` the angular velocity at the start.
        """
        moments, products = (about.xx, about.yy, about.zz), (about.xy, about.xz, about.yz)
        if all(map(is_zero, products)) and all(x.__class__ is float and x == about.xx for x in moments):
            return spin, spin
        rows = [[*row][: k + 1] for k, row in enumerate((about.x, about.y, about.z))]
        factors, L = _POSITIVE.factors(rows, Pivots("flight")), about @ spin

        def turned(turn: Vec3) -> Vec3:
            return Vec3.of(_POSITIVE.solved(factors, [*Quaternion.exp(-turn).rotation() @ L]))

        Omega = spin
        for _ in range(_AGAIN + 1):
            Omega = turned(Omega * (0.5 * h))
        return Omega, turned(Omega * h)


def free_bodies(tree: Tree, flying: bool = True, armature: bool = False) -> list[FreeBody]:
    """Return the floating bodies of a tree, whose velocities are twists.

    With ``flying=False``, a body that carries no others is treated like a body that carries others.  With ``armature``,
    a body's inertia includes its joint's armature.  If the armature is not equal in all directions, the body is treated
    like a body that carries others.
    """
    carrying = {p for _, p, _ in tree.outward()}
    bodies = {body.joint_name: (i, body) for i, body in tree.stacked() if body.parent == WORLD}
    result = []
    for joint_slice in CurveSpace.of(tree).joints:
        i, body = bodies.get(joint_slice.name, (WORLD, None))
        if body is not None and joint_slice.has_twist:
            inertia = _with_armature(body, armature) if flying and i not in carrying else None
            result.append(FreeBody(joint_slice, inertia))
    return result


def _with_armature(body: Body, armature: bool) -> Inertia | None:
    """Return the inertia of a body in its joint's frame, with the joint's armature as a mass at the frame's origin.

    The result is None for armature that is known not to act as a mass.
    """
    inertia, (x, y, z, *masses) = body.rotor @ body.inertia, body.armature
    if not armature or all(map(is_zero, body.armature)):
        return inertia
    if not all(same(m, masses[0]) for m in masses):
        return None
    about = inertia.about + Symmetric3.diagonal(x, y, z)
    return Inertia(inertia.mass + masses[0], inertia.moment, about)


def rotor_force(tree: Tree, q: Scalars, v: Scalars, flying: bool = True) -> list[Any]:
    """Return the gyroscopic force of the joints' armature (nv) in a step.

    It is zero for free bodies, whose free flight in the step includes it. For bodies that carry others it is in the
    axes of the step's start.
    """
    result = gyroscopic_force(tree, q, v)
    for body in free_bodies(tree, flying, armature=True):
        begin, end = body.joint_slice.v, body.joint_slice.v + 6
        if body.inertia is not None:
            result[begin:end] = [0.0] * 6
            continue
        rotors = armature_of(tree)[begin + 3 : end]
        turned = Vec3.of(v[begin : begin + 3]).cross(Vec3.of(v[begin + 3 : end]))
        for k, m, x in zip(range(begin + 3, end), rotors, turned, strict=True):
            result[k] = result[k] if is_zero(m) else result[k] - m * x
    return result


def pushed_rates(tree: Tree, v: Scalars, flying: bool = True, armature: bool = False) -> list[Any]:
    """Return v (nv) with zeros for the velocities of free bodies, whose free flight includes gyroscopic terms.

    For a free body that carries others, only the linear velocity is zero. ``flying`` and ``armature`` are those of
    `free_bodies`.
    """
    result = list(v)
    for body in free_bodies(tree, flying, armature):
        begin = body.joint_slice.v + (3 if body.inertia is None else 0)
        end = body.joint_slice.v + 6
        result[begin:end] = [0.0] * (end - begin)
    return result


def flown(
    tree: Tree, q: Scalars, u: Scalars, h: Any, flying: bool = True, armature: bool = False
) -> tuple[list[Any], list[Any]]:
    """Return q and v after a step of h [s] with velocity u (nv), in which free bodies fly.

    The velocities u of free bodies are in their axes at the start of the step.  ``flying`` and ``armature`` are those
    of `free_bodies`.
    """
    space, v = CurveSpace.of(tree), list(u)
    end = space.integrate(q, [h * x for x in u])
    for body in free_bodies(tree, flying, armature):
        joint_slice = body.joint_slice
        end[joint_slice.in_q], v[joint_slice.in_v] = body.flown(q[joint_slice.in_q], u[joint_slice.in_v], h)
    return end, v
