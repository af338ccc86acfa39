"""Constraints within a step of a discrete method: impulses along Gᵀ at both ends of the step.

The impulse at the step's start lets the step end where the holonomic constraints hold, and lets its velocity obey the
others halfway; the impulse at its end leaves a velocity that all constraints allow,

    φ(q⁺, t + h) = 0,      G w + σ = 0 at (q ⊕ h w/2, t + h/2),      G⁺ v⁺ + σ⁺ = 0.

Around a symplectic step this is RATTLE: symplectic on the manifold that the constraints leave, and its own reverse if
the step is.  The rows that are not holonomic follow from the discrete Lagrange-d'Alembert principle.

The step's velocity w is found by Newton's method with the inertia and the rows of the start.  Where a mechanism is
singular to the step, as where it passes a dead point, that does not converge: there the impulse of the rows that all
but vanish is left out, and the step ends at the configuration nearest to where it leads.

Sources: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, section VII.1.4; Leyendecker, Marsden
and Ortiz, Variational integrators for constrained dynamical systems, ZAMM 88, 2008; Cortés and Martínez, Nonholonomic
integrators, Nonlinearity 14, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.mass_matrix_inverse import ArticulatedInverse, FactoredInverse
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond
from linkwork.expr.equations.root_finding import fixed_point, monotone_root
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_projection import project_configuration
from linkwork.mechanisms.algorithms.constraint_rows import constraint_error, rates_of, rates_of_some
from linkwork.mechanisms.algorithms.weighted_projection import largest
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics, Resisted

__all__ = ["FoundStep", "StepConstraints", "allowed_velocity", "monotone", "released_velocity", "with_energy"]

Scalars = Sequence[Any]

_FLAT = 1e-8  # part of its size, squared, below which a row exerts nothing (as where velocities are projected)
_SINGULAR = 1e-3  # the same where Newton's method fails
_STEPS = 40  # of Newton's method: each leaves a part of some h ‖v‖ of the error
_TOLERANCE = 1e-12  # of velocities
_BENT_STEPS = 60  # where forces bend
_FASTER, _SLOW = 1.05, 1e-6  # by how much a step may be faster than forces make it, and by how much [√J] anyway
_REGAINED, _LEAST = 100.0, 1e-12  # by which factor kinetic energy may be raised, and the least [J] that is set right
_GAINED, _NOISE = 2e-2, 1e-9  # part of its energy that a step that loses may gain; and that of U which is rounding
_ACCEPTED = 0.03  # [rad, m] that a step near a singular configuration may end from where its velocity leads
_CLOSED = 1e-6  # of a robot's length [m], and [rad]: what is assembled, where iterations come near slowly
_LEFT_OPEN = 1e-4  # of a robot's length [m], and [rad]: what it may leave open where no assembled one is so near


class FoundStep(NamedTuple):
    """The velocity w (nv) of a step, where it ends (nq), and whether it passed a singular configuration; None where
    there are no constraints, or where they move by themselves, and so do work.
    """

    w: list[Any]
    end: list[Any]
    passed: Any


@dataclass(frozen=True)
class StepConstraints:
    """The constraints of a tree in a step of h [s] that begins at q and t."""

    mechanics: DiscreteMechanics
    held: ConstrainedFactorization
    t: Any
    q: Scalars
    h: Any

    @staticmethod
    def at(
        mechanics: DiscreteMechanics, inverse: FactoredInverse | ArticulatedInverse, t: Any, q: Scalars, h: Any
    ) -> StepConstraints:
        """With the inverse of the inertia that a change of the step's velocity meets."""
        rates = rates_of(mechanics.tree, q, [0.0] * mechanics.tree.nv, t)
        return StepConstraints(mechanics, ConstrainedFactorization(inverse, rates, _FLAT), t, q, h)

    def violations(self, w: Scalars) -> list[Any]:
        """By row (nc): φ(q⁺)/h of holonomic constraints, G w + σ halfway of the others."""
        tree, h = self.mechanics.tree, self.h
        errors = iter(constraint_error(tree, self._led(w), [self.t + h]))
        result: list[Any] = []
        for constraint in tree.constraints:
            if constraint.holonomic:
                result += [next(errors) / h for _ in constraint.component_names]
            else:
                middle, u = self.mechanics.halfway(self.q, w, h)
                rates = rates_of_some(tree, [constraint], middle, [0.0] * tree.nv, self.t + 0.5 * h)
                drift = rates.drift or [0.0] * len(rates.rows)
                result += [dot(row, u) + s for row, s in zip(rates.rows, drift, strict=True)]
        return result

    def released(self, r: Scalars, e: Scalars) -> list[Any]:
        """r − Gᵀ λ (nv), with the λ for which G M⁻¹ (r − Gᵀ λ) = e: zero where e is, and r is an impulse of the
        constraints.
        """
        held = self.held
        y = held.inverse.inward(r)
        impulses = held.factors.solved([dot(UD, y) - x for UD, x in zip(held.UD, e, strict=True)])
        result = list(r)
        for row, x in zip(held.rates.rows, impulses, strict=True):
            result = [a - g * x for a, g in zip(result, row, strict=True)]
        return result

    def correction(self, left: Callable[[Scalars], Scalars], w: Scalars) -> list[Any]:
        """What Newton's method takes off w, where ``left`` are momenta (nv) that only constraints may exert."""
        return self.held.inverse.applied(self.released(left(w), self.violations(w)))

    def solved(self, left: Callable[[Scalars], Scalars], v: Scalars) -> FoundStep:
        """The velocity w of the step and where it ends; infinite where neither way to find them leads there."""

        def closer(w: Any) -> Any:
            return array([a - b for a, b in zip(w, self.correction(left, list(w)), strict=True)])

        result = fixed_point(closer, array(list(v)), max_iterations=_STEPS, tolerance=_TOLERANCE)
        return self.ended(left, v, list(result.value), result.status)

    def bent(self, left: Callable[[Scalars], Scalars], like: Callable[[Scalars], Scalars], v: Scalars) -> FoundStep:
        """The same where forces bend sharply with velocities, by the Jacobian of a function ``like`` ``left``."""
        rows = self.held.rates.rows
        result, status = monotone(
            lambda w: self.released(left(w), self.violations(w)),
            lambda w: self.released(like(w), [dot(row, w) for row in rows]),
            v,
        )
        return self.ended(left, v, result, status)

    def ended(self, left: Callable[[Scalars], Scalars], v: Scalars, w: Scalars, status: Any) -> FoundStep:
        """The same of a velocity that was found where the status is 0."""
        result, driven = lt(status, 0.5), any(not is_zero(s) for s in self.held.rates.drift)
        if not driven:  # constraints that move by themselves do work: no velocity is too fast for them
            result = and_(result, self._is_near(left, v, w))
        if not any(constraint.holonomic for constraint in self.mechanics.tree.constraints):
            w = [where(result, x, math.inf) for x in w]
            return FoundStep(w, self._led(w), None if driven else False)

        def straight(w: Any) -> tuple[Any, Any]:
            return w, array(self._led(list(w)))

        w, end = cond(result, straight, lambda _: self._past_singular(left, v), array(list(w)))
        return FoundStep(list(w), list(end), None if driven else not_(result))

    def _led(self, w: Scalars) -> list[Any]:
        """q ⊕ h w."""
        return self.mechanics.space.integrate(self.q, [self.h * x for x in w])

    def _is_near(self, left: Callable[[Scalars], Scalars], v: Scalars, w: Scalars) -> Any:
        """True where w is not much faster, by kinetic energy, than v and the forces of the step together make it.

        Constraints that v obeys do no work: a root that is much faster is one of the equations, and not of the motion.
        """
        inverse, mechanics = self.held.inverse, self.mechanics
        pushed = left(v)
        free = sqrt(fmax(dot(v, mechanics.momentum(self.q, v)), 0.0))
        gained = sqrt(fmax(dot(pushed, inverse.applied(pushed)), 0.0))
        middle, u = mechanics.halfway(self.q, w, self.h)
        size = sqrt(fmax(dot(u, mechanics.momentum(middle, u)), 0.0))
        return lt(size, _FASTER * (free + gained) + _SLOW)

    def _past_singular(self, left: Callable[[Scalars], Scalars], v: Scalars) -> tuple[Any, Any]:
        """A step of first order, without the impulse of rows that all but vanish, which ends at the nearest
        configuration that is assembled, or leaves a little open where there is none near.
        """
        held, tree = self.held, self.mechanics.tree
        firm = replace(self, held=ConstrainedFactorization(held.inverse, held.rates, _SINGULAR))
        drift = [dot(row, v) + s for row, s in zip(held.rates.rows, held.rates.drift, strict=True)]
        change = held.inverse.applied(firm.released(left(v), drift))
        w = [a - b for a, b in zip(v, change, strict=True)]
        there = self._led(w)
        now, length = [self.t + self.h], characteristic_length(tree)
        nearest = project_configuration(tree, there, now)[0]
        far, way = largest(self.mechanics.space.difference(there, nearest)), largest(w)
        left_open = largest(constraint_error(tree, nearest, now))
        closed = and_(lt(left_open, _CLOSED * length), lt(far, _ACCEPTED + self.h * way))
        fine = or_(closed, lt(largest(constraint_error(tree, there, now)), _LEFT_OPEN * length))
        end = [where(closed, a, b) for a, b in zip(nearest, there, strict=True)]
        return array([where(fine, x, math.inf) for x in w]), array(end)


def monotone(
    left: Callable[[Scalars], Scalars], like: Callable[[Scalars], Scalars], v: Scalars
) -> tuple[list[Any], Any]:
    """The w with left(w) = 0, sought from v by the Jacobian of a function ``like`` it, and 0 where it was found."""

    def of(function: Callable[[Scalars], Scalars]) -> Callable[[Any], Any]:
        return lambda w: array(list(function(list(w))))

    result = monotone_root(of(left), array(list(v)), max_iterations=_BENT_STEPS, tolerance=1e-15, like=of(like))
    return list(result.value), result.status


def allowed_velocity(mechanics: DiscreteMechanics, t: Any, q: Scalars, v: Scalars) -> tuple[list[Any], list[Any]]:
    """The velocity nearest to v (nv) that the constraints allow, and the impulse of each of their rows (nc)."""
    rates = rates_of(mechanics.tree, q, [0.0] * mechanics.tree.nv, t)
    held, still = ConstrainedFactorization(mechanics.inverse(q), rates, _FLAT), [0.0] * mechanics.tree.nv
    left = [dot(row, v) + s for row, s in zip(rates.rows, rates.drift, strict=True)]
    impulses = held.factors.solved([-x for x in left])
    return [a + b for a, b in zip(v, held.moved(still, impulses), strict=True)], held.factors.least(impulses)


def released_velocity(
    mechanics: DiscreteMechanics,
    t: Any,
    q: Scalars,
    momentum: Scalars,
    added: Scalars | None = None,
    resisted: Resisted = (),
) -> list[Any]:
    """The velocity (nv) that the constraints leave of a momentum at q, where M is more by what is ``added`` and
    ``resisted``, as in `DiscreteMechanics.inverse`.
    """
    inverse, tree = mechanics.inverse(q, added, resisted), mechanics.tree
    if not tree.constraints:
        return inverse.applied(momentum)
    rates = rates_of(tree, q, [0.0] * tree.nv, t)
    held, y = ConstrainedFactorization(inverse, rates, _FLAT), inverse.inward(momentum)
    return held.moved(y, held.forces(y, [-x for x in rates.drift]))


def with_energy(
    mechanics: DiscreteMechanics,
    q: Scalars,
    result: FoundStep,
    v: Scalars,
    momentum: Scalars,
    energy: Any,
    added: Scalars | None = None,
    resisted: Resisted = (),
    always: bool = True,
) -> list[Any]:
    """v (nv) at the end of a step from q, left of a momentum by constraints, with the energy that the step should have.

    ``energy`` [J] is the kinetic energy of the start with the work of all forces but gravity.  Constraints that do not
    move by themselves do no work, so that is known, and the velocity is scaled to it: ``always``, or else where the
    step passed a singular configuration, in which the tangent space turns within it.  Where something resists
    (``added`` and ``resisted``, which were more than M), no energy above that is left.
    """
    if result.passed is None or (result.passed is False and not always):
        return list(v)
    work, size = _work_of_gravity(mechanics, q, result)
    wanted = energy + work
    left = 0.5 * dot(v, momentum)
    if added is not None:
        left = left - 0.5 * dot(added, [x * x for x in v])
    for row, c in resisted:
        left = left - 0.5 * c * dot(row, v) ** 2
    loses = added is not None or bool(resisted)
    floor = _LEAST + _NOISE * size
    share = sqrt(fmin(fmax(wanted / fmax(left, floor), _LEAST), _REGAINED))
    wrong = lt(floor, left)
    if loses:
        wrong = and_(wrong, lt(_GAINED * left, left - wanted))
    elif not always:
        wrong = and_(wrong, result.passed)
    return [where(wrong, share * x, x) for x in v]


def is_free(tree: Tree) -> bool:
    """Whether a tree with constraints moves as a whole, held by nothing: its momentum is then kept."""
    roots = [body for _, p, body in tree.outward() if p == WORLD]
    names = {name for one in tree.constraints for name in one.references.frames}
    names |= {tree.point(name).frame for one in tree.constraints for name in one.references.points}
    held = any(tree.frame(name).body == WORLD for name in names)
    return len(roots) == 1 and len(roots[0].joint.S(roots[0].joint.zero()).columns) > 1 and not held


def _work_of_gravity(mechanics: DiscreteMechanics, q: Scalars, result: FoundStep) -> tuple[Any, Any]:
    """The work [J] of gravity in a step from q, and the size [J] of the numbers that it is a difference of."""
    before, after = mechanics.potential(q), mechanics.potential(result.end)
    return before - after, fabs(before) + fabs(after)
