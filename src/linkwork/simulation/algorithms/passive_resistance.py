"""Springs, dampers and dry friction of a robot in a step of h [s], as one list of rows that resist.

A row r (nv) is a velocity r v along which something resists: with stiffness K, damping D and dry friction F(r v).  The
rows of joints with coordinates are unit vectors, and stay on the diagonal of the mass matrix; a joint that follows
another adds to the row of its master, by its ratio.  The rows of joints that close loops and of force elements follow
from Jacobians.  Curved springs, as those of ball joints, have deflections φ whose rates φ̇ differ from the joint's
velocities, and φ̇ are their rows.  All methods take their implicit terms, the matrices Σ c rᵀr, from this list, with
coefficients

    c = h (d D + s) + h² K (k + e g),      s ≥ 0 the implicit damping of dry friction, g the share of `spring_steps`,

and with d, k and e of the method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from linkwork._util.cached_properties import cached_property
from linkwork.dynamics.algorithms.momentum.energy_and_power import loop_energy
from linkwork.dynamics.algorithms.passive_joint_forces import (
    ResistingRow,
    element_energy,
    element_rows,
    has_curved_springs,
    passive_force,
    spring_energy,
    spring_rows,
)
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.mechanisms.algorithms.loop_joint_functions import body_of, loop_rows, loops_of, with_loop_forces
from linkwork.model.body import Body, Drive
from linkwork.model.friction_laws import NO_FRICTION, DryFriction, FrictionLaw
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms.discrete_mechanics import Resisted

__all__ = [
    "DryRow",
    "JointResistance",
    "PassiveResistance",
    "Resistance",
    "curved_damper_rows",
    "has_friction",
    "has_rows",
    "joint_resistances",
    "opposed",
    "resisting_rows",
]

Scalars = Sequence[Any]


class JointResistance(NamedTuple):
    """Stiffness and damping along a coordinate of v, and the dry friction of its joint and of each follower.

    ``friction`` has pairs of a ratio of velocities and parameters.
    """

    stiffness: Any
    damping: Any
    friction: tuple[tuple[Any, DryFriction], ...] = ()


class Resistance(NamedTuple):
    """Implicit terms: a diagonal (nv), None if it is zero, and pairs (r, c) of rows with their coefficients."""

    diagonal: list[Any] | None
    rows: Resisted


class DryRow(NamedTuple):
    """A velocity with dry friction: its row (nv), its value at the start of the step, and pairs (ratio, parameters)."""

    row: list[Any]
    speed: Any
    friction: tuple[tuple[Any, DryFriction], ...]


def joint_resistances(tree: Tree) -> list[JointResistance]:
    """Return the resistance along each coordinate of v (nv), with that of the joints that follow."""
    result = [JointResistance(0.0, 0.0)] * tree.nv
    for body, joint_slice in zip(tree.bodies, tree.v_slices, strict=True):
        nv, ratio, acts = body.joint.nv, body.ratio, body.dynamics != "none"
        springs = () if has_curved_springs(body) else body.drive.stiffness
        each = zip(Drive.full(springs, nv, 0.0), body.damping, body.dry_friction, strict=True)
        for k, (stiffness, damping, dry) in zip(range(tree.nv)[joint_slice], each, strict=True):
            K, D, friction = result[k]
            D = D + ratio * ratio * damping if acts else D
            result[k] = JointResistance(K + ratio * ratio * stiffness, D, (*friction, (ratio, dry)))
    return result


def has_rows(tree: Tree) -> bool:
    """Return True if a tree has force elements, joints that close loops and resist, or curved springs."""
    curved = any(map(has_curved_springs, tree.bodies))
    return curved or bool(tree.force_elements) or any(loop.resists for loop in loops_of(tree))


def has_friction(tree: Tree, law: FrictionLaw) -> bool:
    """Return True if a joint of the tree, or one that closes a loop, has dry friction."""
    bodies = (*tree.bodies, *map(body_of, loops_of(tree)))
    return not all(law.vanishes(dry) for body in bodies for dry in body.dry_friction)


def resisting_rows(tree: Tree, q: Scalars) -> list[ResistingRow]:
    """Return the directions of velocity (nv) along which force elements, loop joints and curved springs resist.

    A spring is curved if the rates of its deflections differ from the joint's velocities, as of a ball joint.
    """
    split, curved_joints = tree.split_q(q), _curved_joints(tree)
    curved = [row for i, body, units in curved_joints for row in spring_rows(body, split[i], units)]
    return [*element_rows(tree, q), *loop_rows(tree, q), *curved]


def curved_damper_rows(tree: Tree) -> list[ResistingRow]:
    """Return the dampers of joints that have curved springs, as rows (nv): unit vectors with a damping coefficient."""
    each = ((body, zip(units, body.damping, strict=True)) for _, body, units in _curved_joints(tree))
    return [
        ResistingRow(unit, body.joint_name, k, 0.0, D)
        for body, unit_dampers in each
        for k, (unit, D) in enumerate(unit_dampers)
    ]


def _curved_joints(tree: Tree) -> list[tuple[int, Body, list[list[Any]]]]:
    """Return (index, body, unit vectors (nv) of its velocities) for each joint with curved springs."""
    rows = [[1.0 if j == k else 0.0 for j in range(tree.nv)] for k in range(tree.nv)]
    return [(i, body, rows[tree.v_slices[i]]) for i, _, body in tree.outward() if has_curved_springs(body)]


@dataclass(frozen=True)
class PassiveResistance:
    """Passive forces of a tree in a step of h [s], and their implicit terms.

    ``law`` is the law of dry friction, `NO_FRICTION` where a program solves for it. ``shares`` (nv), from 0 to 1, tell
    how far the step treats the joints' springs implicitly. ``owner_shares`` are those of force elements and loop
    joints, by name. ``inertias`` (nv) are lower bounds of the joints' inertias, and ``owner_inertias`` of the inertias
    of joints that close loops, for the implicit damping of dry friction. Without ``acts`` there are no passive forces.
    Dampers and friction are implicit in each half of a step if ``damped_apart``, else they follow the midpoint rule.
    """

    tree: Tree
    h: Any
    acts: bool
    law: FrictionLaw
    shares: Scalars
    owner_shares: Mapping[str, Any]
    inertias: Scalars
    owner_inertias: Mapping[str, Scalars]
    damped_apart: bool = True

    @cached_property
    def joints(self) -> list[JointResistance]:
        """Resistance along each coordinate of v (nv)."""
        return joint_resistances(self.tree) if self.acts else [JointResistance(0.0, 0.0)] * self.tree.nv

    def rows(self, q: Scalars) -> list[ResistingRow]:
        """Return the rows that are not unit vectors at a configuration q."""
        return resisting_rows(self.tree, q) if self.acts else []

    @cached_property
    def has_springs(self) -> bool:
        """True if something may have springs."""
        return (self.acts and has_rows(self.tree)) or not all(
            is_zero(resistance.stiffness) for resistance in self.joints
        )

    def forces(self, q: Scalars, v: Scalars, law: FrictionLaw | None = None) -> list[Any]:
        """Return all passive joint forces (nv), with dry friction by ``law``, by default the law of the simulation."""
        if not self.acts:
            return [0.0] * self.tree.nv
        law = self.law if law is None else law
        tree_forces = passive_force(self.tree, q, v, law)
        return with_loop_forces(self.tree, q, v, tree_forces, None, True, law) if self.tree.constraints else tree_forces

    def springs(self, q: Scalars) -> list[Any]:
        """Return the joint forces of springs (nv)."""
        return self.forces(q, [0.0] * self.tree.nv, NO_FRICTION)

    def energy(self, q: Scalars) -> Any:
        """Return the energy of all springs [J]."""
        tree, split = self.tree, self.tree.split_q(q)
        springs = (spring_energy(body, split[i]) for i, _, body in tree.outward())
        return sum(springs, element_energy(tree, q)) + loop_energy(tree, q)

    def dry_rows(self, q: Scalars, v: Scalars) -> list[DryRow]:
        """Return the velocities with dry friction, of joints, followers and joints that close loops."""
        n = self.tree.nv
        units = [
            DryRow([1.0 if j == k else 0.0 for j in range(n)], v[k], resistance.friction)
            for k, resistance in enumerate(self.joints)
        ]
        further_rows = [(row, ((1.0, row.friction),)) for row in self.rows(q) if row.friction is not None]
        return [*units, *(DryRow(row.row, dot(row.row, v), friction) for row, friction in further_rows)]

    @property
    def slides(self) -> bool:
        """True if something may have dry friction."""
        return self.acts and has_friction(self.tree, self.law)

    def _sliding(self, friction: tuple[tuple[Any, DryFriction], ...], x: Any, resolved: Any) -> tuple[Any, Any]:
        """Return the implicit damping s of dry friction at a speed x, and the force s x − F(x), F the friction force.

        ``resolved`` is the inertia that resists, divided by the time for which the forces act.
        """
        slope: Any = 0.0
        push: Any = 0.0
        acting = [(ratio, dry) for ratio, dry in friction if not (self.law.vanishes(dry) or is_zero(ratio))]
        for ratio, dry in acting:
            speed = ratio * x
            s = self.law.implicit_damping(speed, dry, resolved * (1.0 / (ratio * ratio * len(acting))))
            slope = slope + ratio * ratio * s
            push = push + ratio * (s * speed - self.law.resistance(speed, dry))
        return slope, push

    def _slopes(self, q: Scalars, v: Scalars, part: float) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
        """Return the results of `_sliding` for dry friction along each coordinate of v, and along each row.

        ``part`` is the fraction of the step in which the forces act.
        """
        per = 1.0 / (part * self.h)
        each = zip(self.joints, v, self.inertias, strict=True)
        units = [self._sliding(resistance.friction, x, m * per) for resistance, x, m in each]
        row_results = []
        for row in self.rows(q):
            friction = () if row.friction is None else ((1.0, row.friction),)
            m = self.owner_inertias[row.owner][row.component] if row.owner in self.owner_inertias else 0.0
            row_results.append(self._sliding(friction, dot(row.row, v) if friction else 0.0, m * per))
        return units, row_results

    def _weighed(
        self,
        q: Scalars,
        damping: float,
        stiffness: float,
        settling: float,
        slopes: tuple[Scalars, Scalars] | None = None,
    ) -> Resistance:
        """Return the implicit terms h (d D + s) + h² K (k + e g) at q, without rows that are zero.

        K is a stiffness, D a damping and g the spring's implicit share. The factors are d = ``damping``, k =
        ``stiffness`` and e = ``settling``. s are the ``slopes``, the implicit damping of dry friction along
        coordinates and along rows.
        """
        h = self.h

        def term(K: Any, D: Any, slope: Any, g: Any) -> Any:
            resists = (D * damping if damping else 0.0) + slope
            share = stiffness + settling * g if settling else stiffness
            return h * resists if is_zero(K) or is_zero(share) else h * (resists + h * (K * share))

        joint_slopes, row_slopes = ([0.0] * self.tree.nv, None) if slopes is None else slopes
        each = zip(self.joints, joint_slopes, self.shares, strict=True)
        diagonal = [term(K, D, slope, g) for (K, D, _), slope, g in each]
        rows = self.rows(q)
        terms = [
            (row.row, term(row.stiffness, row.damping, slope, self.owner_shares.get(row.owner, 0.0)))
            for row, slope in zip(rows, [0.0] * len(rows) if row_slopes is None else row_slopes, strict=True)
        ]
        resisted = [(row, c) for row, c in terms if not is_zero(c)]
        return Resistance(None if all(map(is_zero, diagonal)) else diagonal, resisted)

    def semi_implicit(self, q: Scalars, v: Scalars) -> tuple[Resistance, list[Any]]:
        """Return the implicit terms of a semi-implicit step from q and v, and the passive forces (nv) at its start.

        The terms are h (D + s) + h² K (1 + 3 g)/4, with the damping D, the implicit damping s of dry friction, the
        stiffness K and its implicit share g. The forces contain −g h K v.
        """
        units, row_results = self._slopes(q, v, 1.0)
        result = self._weighed(q, 1.0, 0.25, 0.75, ([s for s, _ in units], [s for s, _ in row_results]))
        forces = self.forces(q, v)
        each = zip(forces, self.joints, self.shares, v, strict=True)
        forces = [a if is_zero(g) or is_zero(K) else a - self.h * (g * K) * x for a, (K, _, _), g, x in each]
        for row in self.rows(q):
            g = self.owner_shares.get(row.owner, 0.0)
            if not (is_zero(g) or is_zero(row.stiffness)):
                pull = self.h * (g * row.stiffness) * dot(row.row, v)
                forces = [a if is_zero(r) else a - pull * r for a, r in zip(forces, row.row, strict=True)]
        return result, forces

    def within(self, q: Scalars, v: Scalars) -> Resistance:
        """Return the terms of half a step that resist a change of the step's velocity; the step starts at q and v.

        Springs follow the midpoint rule.
        """
        return self._weighed(q, 0.5, 0.25, 0.25, self._halves(q, v)[0] if self.damped_apart else None)

    def settled(self, q: Scalars) -> Callable[[Scalars], list[Any]]:
        """Return a function of the step's velocity w (nv): half the impulse that makes stiff springs implicit.

        With this impulse, springs that are too stiff for the step follow implicit Euler instead of the midpoint rule.
        q is the configuration at the start of the step.
        """
        return partial(opposed, self._weighed(q, 0.0, 0.0, 0.25))

    def slowed(self, q: Scalars, v: Scalars) -> Callable[[Scalars], list[Any]]:
        """Return a function of the step's velocity w (nv): the impulse of dampers and friction in its first half.

        Dampers act with the velocity w.  Dry friction is linearised around the velocity v at the start.
        """
        slopes, pushes = self._halves(q, v)
        resisted, sliding = self._weighed(q, 0.5, 0.0, 0.0, slopes), self._along(q, pushes)
        return lambda w: [a + b for a, b in zip(opposed(resisted, w), sliding, strict=True)]

    def after(self, q: Scalars, w: Scalars, end: Scalars) -> tuple[Resistance, list[Any]]:
        """Return the terms that resist the velocity at the end of a step, and the impulse that dry friction adds.

        The step leads from q to ``end`` (nq) with velocity w.  The impulse is (nv).
        """
        if not self.damped_apart:
            return self._weighed(end, 0.0, 0.0, 1.0), [0.0] * self.tree.nv
        slopes, pushes = self._halves(q, w)
        return self._weighed(end, 0.5, 0.0, 1.0, slopes), self._along(end, pushes)

    def _halves(self, q: Scalars, v: Scalars) -> tuple[tuple[Scalars, Scalars], tuple[Scalars, Scalars]]:
        """Return half of the implicit damping s of dry friction, and half of the forces s x − F(x), at q.

        Each is a pair: along the coordinates of v, and along the rows. x is the speed along them, and F the friction
        force.
        """
        units, rows = self._slopes(q, v, 0.5)
        (slopes, pushes), (row_slopes, pulls) = (
            zip(*[(0.5 * a, 0.5 * b) for a, b in pairs], strict=True) if pairs else ((), ()) for pairs in (units, rows)
        )
        return (slopes, row_slopes), (pushes, pulls)

    def _along(self, q: Scalars, forces: tuple[Scalars, Scalars]) -> list[Any]:
        """Return the impulse (nv) in a step of constant forces along the coordinates of v, and along the rows at q."""
        units, row_forces = forces
        result = [0.0 if is_zero(f) else self.h * f for f in units]
        for row, f in zip(self.rows(q), row_forces, strict=True):
            if not is_zero(f):
                result = [a if is_zero(r) else a + self.h * f * r for a, r in zip(result, row.row, strict=True)]
        return result


def opposed(resistance: Resistance, w: Scalars) -> list[Any]:
    """Return the impulse −(diag + Σ c rᵀr) w (nv) of resistance terms at velocity w: a diagonal, and rows r with c."""
    diagonal, rows = resistance
    result = [0.0] * len(w) if diagonal is None else [-c * x for c, x in zip(diagonal, w, strict=True)]
    for row, c in rows:
        push = c * dot(row, w)
        result = [a if is_zero(r) else a - push * r for a, r in zip(result, row, strict=True)]
    return result
