"""RATTLE with semi-implicit joint forces, the step of the default method for robots with constraints.

With `discrete_mechanics` and impulses of the constraints at both ends,

    p + h f(q, v) + h/2 τ − h/2 ∂U/∂q − Gᵀλ = (M + h/2 D) w − h/2 ∂T/∂q − h/2 s(q ⊕ h w/2),      φ(q ⊕ h w) = 0,
    (M⁺ + h/2 D) v⁺ = M w + h/2 ∂T/∂q + h/2 s + h/2 τ − h/2 ∂U/∂q⁺ − G⁺ᵀμ,      G⁺ v⁺ + σ⁺ = 0,

with constant joint forces τ, springs s by the midpoint rule, forces f of the state at the step's start, and dampers and
dry friction D that are implicit in each half of the step.  Without f and D the method is of second order.  The
velocity is then scaled to the energy of the step (`with_energy`), unless there are forces f: a symplectic method bounds
the energy error only while its steps resolve the motion, which they do not near a singular configuration.

A program of bounded impulses (contacts, limits, servos, dry friction that sticks) acts on the velocity with which the
robot moves.  It starts from the velocity w₀ that the forces of both halves cause at the start, with G w₀ = G w,

    (M + h/2 D) w₀ = M w + h/2 s + h/2 τ − h/2 ∂U/∂q − Gᵀλ,

and adds impulses that change it to u.  Where some impulse is not zero the robot moves with u from q, under inertia and
constraints alone: that is symplectic Euler's step in place of Verlet's, and keeps a body that rests where it is.  Then
v⁺ is scaled to the kinetic energy with which this motion begins.  Impacts, impulses that brake w₀ by
more than twice the change by other forces, add no energy.  Where no impulse acts the step is that without a program.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, chapters II.5 and VII.1.4; Jay,
Symplectic partitioned Runge-Kutta methods for constrained Hamiltonian systems, SIAM J. Numer. Anal. 33, 1996.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, transposed
from linkwork.expr.scalar.functions import and_, fabs, fmax, lt, where
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import FLAT
from linkwork.mechanisms.algorithms.constraint_rows import error_scales
from linkwork.mechanisms.algorithms.weighted_projection import largest
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms.contact.contact_terms import FIRM, Interval, per_settling
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics
from linkwork.simulation.algorithms.ode_system import MotionSystem, State
from linkwork.simulation.algorithms.passive_resistance import PassiveResistance, Resistance, opposed
from linkwork.simulation.algorithms.shared_impulses import SharedImpulses
from linkwork.simulation.algorithms.step_constraints import (
    ConstrainedStep,
    StepConstraints,
    released_velocity,
    times,
)
from linkwork.simulation.algorithms.step_energy import ProgramEnergy, is_free, with_energy

__all__ = ["RattleStep"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_STRIKES = 0.5  # change of speed by other forces in an impact, relative to that by the impulses, at most
_OPENED = 1e-5  # [rad, characteristic lengths] largest constraint error after a step that is not divided
_CONTRADICTED = 1e-4  # the same after the shortest part of a step, beyond which constraints contradict the limits
_BRAKES = 1e-9  # work of impulses up to which they brake, relative to that of its positive and negative parts


_LIGHT = 1e-4  # smallest ratio of two inertias of a constraint, in units of w


@dataclass(frozen=True)
class RattleStep:
    """Step of h [s] of a system with constraints, from q and v at time t.

    Its result is infinite where its equations are not solved.
    """

    system: MotionSystem
    t: Any
    q: Scalars
    v: Scalars
    h: Any

    @property
    def mechanics(self) -> DiscreteMechanics:
        """Momenta and inertia of the robot."""
        assert self.system.mechanics is not None
        return self.system.mechanics

    @property
    def resistance(self) -> PassiveResistance:
        """Passive forces and their implicit terms."""
        assert self.system.resistance is not None
        return self.system.resistance

    @cached_property
    def shared(self) -> SharedImpulses:
        """Impulses of the constraints at the configurations of the step."""
        return SharedImpulses(self.mechanics, self.system.is_differentiated)

    @cached_property
    def _constant(self) -> list[Any]:
        assert self.system.step_forces is not None
        return [0.5 * self.h * x for x in self.system.step_forces.constant]

    @cached_property
    def _of_state(self) -> Scalars:
        assert self.system.step_forces is not None
        return self.system.step_forces.of_state(self.t, self.q, self.v)

    @cached_property
    def _carried(self) -> list[Any]:
        return self.mechanics.momentum(self.q, self.v)

    def _kick(self, at: Scalars) -> list[Any]:
        """Return half of the impulse (nv) of constant forces and of gravity at a configuration."""
        return [a - 0.5 * self.h * g for a, g in zip(self._constant, self.mechanics.weight(at), strict=True)]

    def _pulled(self, w: Scalars) -> list[Any]:
        """Return half of the impulse (nv) of springs in the step with velocity w."""
        if not self.resistance.has_springs:
            return [0.0] * len(w)
        pulls = self.resistance.springs(self.mechanics.halfway(self.q, w, self.h)[0])
        each = zip(pulls, self.resistance.settled(self.q)(w), strict=True)
        return [0.5 * self.h * s + a for s, a in each]

    @cached_property
    def unbounded(self) -> ConstrainedStep:
        """Motion in a step without contacts, limits and other bounded impulses: its velocity w and its end."""
        q, v, h = self.q, self.v, self.h
        first = [a + h * f for a, f in zip(self._kick(q), self._of_state, strict=True)]
        slowed = self.resistance.slowed(q, v)

        def left(w: Scalars) -> list[Any]:
            leaving = self.mechanics.leaving_momentum(q, w, h)
            each = zip(leaving, self._carried, first, self._pulled(w), slowed(w), strict=True)
            return [a - b - c - s - d for a, b, c, s, d in each]

        springs = self.resistance.energy if self.resistance.has_springs else None
        how = *self.resistance.within(q, v), self.system.passes, springs
        constraints = StepConstraints.at(self.shared, self.t, q, h, *how)
        return constraints.solved(left, v)

    def ended(self) -> State:
        """Return q and v at the end of the step without the program, which has contacts, limits and sticking joints."""
        momentum, resistance = self._arriving(self.unbounded, None)
        v = released_velocity(self.shared, self.t + self.h, self.unbounded.end, momentum, *resistance)
        return self.unbounded.end, self._with_energy(self.unbounded, v, momentum, resistance)

    def _arriving(self, result: ConstrainedStep, acts: Any) -> tuple[list[Any], Resistance]:
        """Return the momentum (nv) at the end before the constraints' impulses, and the terms of resistance at the end.

        Forces of the second half are left out where a program ``acts``.
        """
        q, w, end, h = self.q, result.w, result.end, self.h
        momentum = self.mechanics.arriving_momentum(q, w, h)
        resistance, sliding = self.resistance.after(q, w, end)
        each = zip(self._kick(end), self._pulled(w), sliding, strict=True)
        later = [a + b + s for a, b, s in each]
        if acts is not None:  # the terms resist changes from w
            later = [where(acts, -a, b) for a, b in zip(opposed(resistance, w), later, strict=True)]
        return [a + b for a, b in zip(momentum, later, strict=True)], resistance

    def _with_energy(
        self,
        result: ConstrainedStep,
        v: Scalars,
        momentum: Scalars,
        resistance: Resistance,
        program: ProgramEnergy | None = None,
    ) -> list[Any]:
        """Return v (nv) at the end of a step, scaled to the energy of the step."""
        mechanics, w, h = self.mechanics, result.w, self.h
        moved = mechanics.halfway(self.q, w, h)[1]
        each = zip(self.v, self._carried, w, self._of_state, moved, self._constant, strict=True)
        energies = [0.5 * (x * p + h * ((x + y) * f)) + 2.0 * (u * c) for x, p, y, f, u, c in each]

        def stored(tree: Tree, q: Scalars) -> Any:
            return replace(self.resistance, tree=tree).energy(q)

        springs = stored if self.resistance.has_springs else None
        # the work of forces of a state is only as accurate as the step, and a free robot keeps its momentum
        always = all(map(is_zero, self._of_state)) and not is_free(mechanics.tree)
        if is_free(mechanics.tree):
            program = None
        last = opposed(resistance, v)
        carried = [a + b for a, b in zip(momentum, last, strict=True)]
        losses = self._losses(result, v, last) if resistance.diagonal is not None or resistance.rows else None
        how = always, springs, program, self.system.passes
        return with_energy(mechanics.tree, self.q, result, v, carried, energies, losses, *how)

    def _losses(self, result: ConstrainedStep, v: Scalars, last: Scalars) -> list[Any]:
        """Return minus the work (nv) of all impulses that resist, in both halves of a step to v at its end.

        An impulse acts with the mean of the velocities before and after it.  ``last`` (nv) is the impulse of implicit
        terms at the end.
        """
        w, resistance = result.w, self.resistance
        settled, slowed = resistance.settled(self.q)(w), resistance.slowed(self.q, self.v)(w)
        each = zip(self.v, w, v, settled, slowed, resistance.after(self.q, w, result.end)[1], last, strict=True)
        return [-0.5 * ((x + y) * (s + a) + (y + z) * (s + b + c)) for x, y, z, s, a, b, c in each]

    # -- steps with a program

    @cached_property
    def resisted(self) -> tuple[Resistance, list[Any]]:
        """Terms that resist the program's impulses, and the impulse (nv) of dry friction in addition to them.

        The program solves for bounded impulses, those of contacts, limits and sticking joints.
        """
        return self.resistance.after(self.q, self.unbounded.w, self.q)

    @cached_property
    def driven(self) -> list[Any]:
        """Velocity w₀ (nv) that a step has before the program adds impulses of contacts, limits and sticking joints."""
        w = self.unbounded.w
        terms, sliding = self.resisted
        each = zip(self.mechanics.momentum(self.q, w), self._kick(self.q), self._pulled(w), sliding, strict=True)
        factored = self.shared.factored(self.q, self.t, FLAT, *terms)
        y = factored.inverse.inward([a + b + c + d for a, b, c, d in each])
        deviations = [dot(row, w) - dot(UD, y) for row, UD in zip(factored.rates.rows, factored.UD, strict=True)]
        return factored.moved(y, factored.factors.solved(deviations))

    def change(self, u: Scalars) -> list[Any]:
        """Return the change of momentum (nv) by the program's impulses, if the velocity after them is u.

        The program solves for bounded impulses, those of contacts, limits and sticking joints.
        """
        apart = [a - b for a, b in zip(u, self.driven, strict=True)]
        moved = self.mechanics.momentum(self.q, apart)
        return [a - b for a, b in zip(moved, opposed(self.resisted[0], apart), strict=True)]

    def mobilities(self, row: Scalars) -> tuple[Any, Any]:
        """Return the inverse inertia of a velocity ``row`` · w without the constraints, and with them."""
        factored = self.shared.factored(self.q, self.t, FLAT)
        y = factored.inverse.inward(row)
        free = dot(factored.inverse.weighed(y), y)
        impulses = factored.factors.solved([dot(UD, y) for UD in factored.UD])
        for U, x in zip(factored.U, impulses, strict=True):
            y = [a - u * x for a, u in zip(y, U, strict=True)]
        return free, dot(factored.inverse.weighed(y), y)

    def intervals(self, A: Rows) -> list[_TiedRows]:
        """Return the impulses of each constraint as intervals, which preserve the velocities of its rows.

        They are the velocities G w₀ at the start of the program, with the constraint rows G.
        """
        rates, result, start = self.shared.factored(self.q, self.t, FLAT).rates, [], 0
        units = unit_steps(self.mechanics.tree)
        for constraint in self.mechanics.tree.constraints:
            component_rows = slice(start, start + len(constraint.component_names))
            rows = rates.rows[component_rows]
            targets = [-dot(row, self.driven) for row in rows]
            result.append(_tied_rows(rows, rates.sizes[component_rows], [0.0] * len(rows), targets, A, units, self.h))
            start = component_rows.stop
        return result

    def moved(self, u: Scalars, acts: Any) -> tuple[list[Any], list[Any], ProgramEnergy]:
        """Return the velocity and the end (nq) of a step's motion, and its energy, for the program's velocity u (nv).

        ``acts`` is True where some impulse of the program is not zero; elsewhere the result is the step without the
        program.  The velocity is infinite where the program opens a loop.
        """
        w, end, _ = self.unbounded
        led = self.mechanics.space.integrate(self.q, [self.h * x for x in u])  # limits hold, even beyond singularities
        moved, end_configuration = (
            [where(acts, a, b) for a, b in zip(*vectors, strict=True)] for vectors in ((u, w), (led, end))
        )
        if self.system.passes is not True:
            left_open = largest(times(self.shared.error(led, self.t + self.h), error_scales(self.mechanics.tree)))
            unresolved = and_(acts, lt(where(self.system.passes, _CONTRADICTED, _OPENED), left_open))
            moved = [where(unresolved, math.inf, x) for x in moved]
        return moved, end_configuration, self._program_energy(u, acts)

    def bounded(self, w: Scalars, end: Scalars, energy: ProgramEnergy) -> tuple[list[Any], list[Any], list[Any]]:
        """Return q and v at the end of a step with a program, and the impulses of the constraints (nc).

        The arguments are the results of `moved`.  The impulses of `intervals` are not included.
        """
        acts, shared, h = energy.acts, self.shared, self.h
        result = ConstrainedStep([*w], [*end], self.unbounded.passed)
        momentum, resistance = self._arriving(result, acts)
        factored = shared.factored(result.end, self.t + h, FLAT, *resistance)
        y = factored.inverse.inward(momentum)
        impulses = factored.factors.solved(
            [-s - dot(UD, y) for s, UD in zip(factored.rates.drift, factored.UD, strict=True)]
        )
        v = factored.moved(y, impulses)
        total = [a + b for a, b in zip(self._impulses(acts), factored.factors.least(impulses), strict=True)]
        return result.end, self._with_energy(result, v, momentum, resistance, energy), total

    def _program_energy(self, u: Scalars, acts: Any) -> ProgramEnergy:
        """Return the kinetic energy after the program's impulses, of motion with u along the constraints at the start.

        ``acts`` is True where some impulse of the program is not zero.
        """
        change, (w, _, _) = self.change(u), self.unbounded
        added = self.mechanics.momentum(self.q, [a - b for a, b in zip(u, w, strict=True)])
        leaving = [a + b for a, b in zip(self.mechanics.leaving_momentum(self.q, w, self.h), added, strict=True)]
        zeros = [0.0 for constraint in self.mechanics.tree.constraints for _ in constraint.component_names]
        tangent = self.shared.released(self.q, self.t, leaving, zeros, FLAT)
        kicks = [a - b for a, b in zip(u, self.driven, strict=True)]
        forced = dot([a - b for a, b in zip(self.v, self.driven, strict=True)], change)
        gained = [(a + b) * c for a, b, c in zip(self.driven, u, change, strict=True)]
        brakes = lt(sum(gained, 0.0), _BRAKES * sum(map(fabs, gained), 0.0))
        strikes = and_(brakes, lt(fabs(forced), _STRIKES * dot(kicks, change)))
        return ProgramEnergy(acts, strikes, [0.5 * (a * b) for a, b in zip(tangent, leaving, strict=True)])

    def _impulses(self, acts: Any) -> list[Any]:
        """Return the constraint impulses (nc) at the start: of the first half step, plus the second if ``acts``."""
        factored = self.shared.factored(self.q, self.t, FLAT)
        w, leaving = self.unbounded.w, self.mechanics.leaving_momentum(self.q, self.unbounded.w, self.h)
        slowed = self.resistance.slowed(self.q, self.v)(w)
        each = zip(leaving, self._carried, self._kick(self.q), self._of_state, self._pulled(w), slowed, strict=True)
        first = [a - b - c - self.h * f - s - d for a, b, c, f, s, d in each]
        terms, sliding = self.resisted
        apart = [a - b for a, b in zip(self.driven, w, strict=True)]
        resisted, moved = opposed(terms, self.driven), self.mechanics.momentum(self.q, apart)
        again = zip(moved, resisted, self._kick(self.q), self._pulled(w), sliding, strict=True)
        second = [a - b - c - s - d for a, b, c, s, d in again]
        y = factored.inverse.inward([a + where(acts, b, 0.0) for a, b in zip(first, second, strict=True)])
        return factored.factors.least(factored.factors.solved([dot(UD, y) for UD in factored.UD]))


@dataclass(frozen=True)
class _TiedRows:
    """Rows of one constraint as intervals, with the factors that make them independent."""

    factors: Semidefinite
    intervals: list[Interval]

    def impulses(self, pushes: Scalars) -> list[Any]:
        """Return the impulses of the constraint's rows from the impulses of the intervals."""
        each = zip(pushes, self.factors.D_inv, strict=True)
        return self.factors.rest([push / inverse for push, inverse in each])


def _tied_rows(rows: Rows, sizes: Rows, errors: Scalars, drifts: Scalars, A: Rows, units: Scalars, h: Any) -> _TiedRows:
    """Return the impulses of a constraint with φ = ``errors`` and φ̇ = ``rows`` · w + ``drifts``.

    The constraint is nearly rigid. Its impulse γ follows from the compliance

        R = ε G D⁻¹ Gᵀ + E = L C Lᵀ,      D = diag(A), its light elements increased,

    with the rows G. E is relative to the size of the rows without cancellation, so that rows and combinations of rows
    that are rounding errors have no effect. The rows L⁻¹ G are independent in R: each is an interval.

    φ decays within a few steps. A is the mass matrix, of which only the diagonal is used. ``sizes`` are the squared
    elements of the rows without cancellation. ``units`` (nv) are the units of w.
    """
    inverse = _inverse_inertias(rows, A, units)
    eased = [[x if is_zero(x) else x * d for x, d in zip(row, inverse, strict=True)] for row in rows]
    lower = [[dot(eased[i], rows[j]) for j in range(i + 1)] for i in range(len(rows))]
    factors = Semidefinite.of(lower, [FLAT / FIRM * dot(inverse, row) for row in sizes], more=0.0)
    columns = [factors.half(column) for column in transposed(rows)]
    targets = factors.half([-s - x * per_settling(h) for x, s in zip(errors, drifts, strict=True)])
    each = zip(transposed(columns), targets, factors.D_inv, strict=True)
    bounds = -math.inf, math.inf
    return _TiedRows(factors, [Interval(row, x, d * (1.0 / FIRM), *bounds, d * (x * x)) for row, x, d in each])


def _inverse_inertias(rows: Rows, A: Rows, units: Scalars) -> list[Any]:
    """Return the inverse inertias (nv) that the compliance of a constraint is relative to.

    They are those of the diagonal of A, at least `_LIGHT` times the heaviest one of the constraint, in units of w: a
    light part may carry the load of a heavy one.
    """
    moved = [k for k, column in enumerate(transposed(rows)) if not all(map(is_zero, column))]
    squares = [unit * unit for unit in units]
    heaviest: Any = reduce(fmax, (A[k][k] * squares[k] for k in moved), 0.0)
    return [1.0 / fmax(row[k], _LIGHT * heaviest * (1.0 / squares[k])) for k, row in enumerate(A)]
