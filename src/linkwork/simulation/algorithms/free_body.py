"""How bodies that hang on nothing go on by themselves, in methods of first order.

A step of theirs is a push and a flight.  The push changes the velocity u, in the axes of the step's start, which do not
turn meanwhile, so impulses act on the momentum that is there.  In flight the centre of mass goes straight and the
body turns by R = exp(h Ω), so that, in its own axes,

    I ω⁺ = Rᵀ I ω,     Ω = I⁻¹ exp(−h Ω/2) I ω,

and its momentum in the world is the same to rounding.  Ω, the angular velocity halfway, makes the flight the same
backward: energy does not drift.  What carries further bodies turns by h ω, and their gyroscopic forces are in the push.

Source: Simo and Wong, Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy and
momentum, International Journal for Numerical Methods in Engineering 31, 1991; Hairer, Lubich and Wanner, Geometric
Numerical Integration, 2nd ed. 2006, chapter VII.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.factorizations import Symmetric
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.linalg.triangular_factors import Pivots
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves.curve_space import CurveSpace, JointSlice
from linkwork.spatial import Inertia, Quaternion, Vec3

__all__ = ["FreeBody", "flown", "free_bodies", "pushed_rates"]

Scalars = Sequence[Any]

_POSITIVE = Symmetric(positive=True)
_AGAIN = 2  # times that Ω is found anew: what is left is as (h ω)⁴


@dataclass(frozen=True, slots=True)
class FreeBody:
    """A body that no joint holds, by the place of its numbers, and its inertia in the joint's frame: nothing where it
    carries others.
    """

    place: JointSlice
    inertia: Inertia | None

    def flown(self, q: Scalars, u: Scalars, h: Any) -> tuple[list[Any], list[Any]]:
        """Its q and v after a flight of h [s] with u, in the axes of its start."""
        spin, way = Vec3.of(u[:3]), Vec3.of(u[3:6])
        if self.inertia is None:
            turned = Quaternion.exp(spin * h).rotation().inv_act(way)
            return self.place.integrate(q, [h * x for x in u], True), [*spin, *turned]
        c = self.inertia.moment * (1.0 / self.inertia.mass)
        Omega, after = self._turning(self.inertia.shifted(-c).about, spin, h)
        R = Quaternion.exp(Omega * h).rotation()
        along = way + spin.cross(c)  # of the centre of mass
        moved = along * h + c - R @ c
        return self.place.integrate(q, [*(Omega * h), *moved], True), [*after, *(R.inv_act(along) - after.cross(c))]

    @staticmethod
    def _turning(about: Any, spin: Vec3, h: Any) -> tuple[Vec3, Vec3]:
        """Ω, and the angular velocity at the end, of inertia ``about`` the centre of mass."""
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


def free_bodies(tree: Tree) -> list[FreeBody]:
    """Those of a tree whose velocities are twists."""
    carrying = {p for _, p, _ in tree.outward()}
    bodies = {body.joint_name: (i, body) for i, body in tree.stacked() if body.parent == WORLD}
    result = []
    for place in CurveSpace.of(tree).joints:
        i, body = bodies.get(place.name, (WORLD, None))
        if body is not None and place.has_twist:
            result.append(FreeBody(place, None if i in carrying else body.rotor @ body.inertia))
    return result


def pushed_rates(tree: Tree, v: Scalars) -> list[Any]:
    """The v at which bodies are pushed: without what flight is made of."""
    seen = list(v)
    for body in free_bodies(tree):
        begin = body.place.v + (3 if body.inertia is None else 0)
        end = body.place.v + 6
        seen[begin:end] = [0.0] * (end - begin)
    return seen


def flown(tree: Tree, q: Scalars, u: Scalars, h: Any) -> tuple[list[Any], list[Any]]:
    """q and v after a step of h [s] with u, of free bodies in the axes of its start."""
    space, v = CurveSpace.of(tree), list(u)
    end = space.integrate(q, [h * x for x in u])
    for body in free_bodies(tree):
        place = body.place
        end[place.in_q], v[place.in_v] = body.flown(q[place.in_q], u[place.in_v], h)
    return end, v
