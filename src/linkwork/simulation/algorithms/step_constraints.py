"""RATTLE: constraints in a step of a discrete method, by impulses along Gᵀ at both ends of the step.

With the impulse at the step's start the step ends on the holonomic constraints, and its velocity satisfies the others
at the midpoint.  The impulse at its end makes the velocity satisfy all constraints:

    φ(q⁺, t + h) = 0,      G w + σ = 0 at (q ⊕ h w/2, t + h/2),      G⁺ v⁺ + σ⁺ = 0.

Around a symplectic step this is RATTLE: symplectic on the constraint manifold, and time-reversible if the step is.  The
rows that are not holonomic follow from the discrete Lagrange-d'Alembert principle.

Newton's method solves for the step's velocity w, with the inertia and the rows of the start.  Near a singular
configuration, such as a dead point, it does not converge.  There the impulse of rows that nearly vanish is left out,
and the step ends at the configuration nearest to its unconstrained end.

Sources: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, section VII.1.4; Leyendecker, Marsden
and Ortiz, Variational integrators for constrained dynamical systems, ZAMM 88, 2008; Cortés and Martínez, Nonholonomic
integrators, Nonlinearity 14, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond
from linkwork.expr.equations.root_finding import fixed_point, monotone_root, nearby_fixed_point
from linkwork.expr.linalg.semidefinite_solve import MORE
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fmax, lt, not_, or_, sqrt, where
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.mechanisms.algorithms.assembly_derivative import with_assembly_derivative
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import FLAT, NOISE, ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_projection import approached_configuration, project_configuration
from linkwork.mechanisms.algorithms.constraint_rows import (
    constraint_error,
    error_scales,
    position_rounding,
    rates_of_some,
)
from linkwork.mechanisms.algorithms.weighted_projection import MassMetric, largest
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics, Resisted
from linkwork.simulation.algorithms.shared_impulses import SharedImpulses

__all__ = [
    "ConstrainedStep",
    "StepConstraints",
    "monotone",
    "released_velocity",
    "step_rates",
]

Scalars = Sequence[Any]

_SINGULAR = 1e-3  # squared relative size below which a row has no impulse after Newton's method failed
_STEPS = 40  # maximum number of Newton iterations; each multiplies the error by about h ‖v‖
_TOLERANCE = 1e-14  # [rad, characteristic lengths] tolerance of displacements in a step, if positions do not round more
_BENT_STEPS, _BENT_TOLERANCE = 60, by_type(1e-18)  # iterations and tolerance if forces vary sharply with velocity
_FASTER = 1.05  # accepted factor of a step's speed over that from its forces
_SHORT = by_type(1e-9)  # [rad, characteristic lengths] displacement of a step that is accepted at any speed
_ACCEPTED = 0.03  # [rad, characteristic lengths] distance of a singular step's end from its unconstrained end
_CLOSED = 1e-6  # [rad, characteristic lengths] error of an assembled configuration
_LEFT_OPEN = 1e-4  # [rad, characteristic lengths] accepted error if no assembled one is near


class ConstrainedStep(NamedTuple):
    """Velocity w (nv) and end (nq) of a step, and True if it passed a singular configuration.

    ``passed`` is None without constraints, and for constraints that depend on time, which do work.
    """

    w: list[Any]
    end: list[Any]
    passed: Any


@dataclass(frozen=True)
class StepConstraints:
    """Constraints of a tree in a step of h [s] that starts at q and t."""

    shared: SharedImpulses
    factored: ConstrainedFactorization
    is_plain: bool  # nothing is added to the inertia
    t: Any
    q: Scalars
    h: Any
    passes: Any  # True if the step may pass a singular configuration
    stored: Callable[[Scalars], Any] | None = None  # energy [J] of springs at a configuration; None without springs

    @staticmethod
    def at(
        shared: SharedImpulses,
        t: Any,
        q: Scalars,
        h: Any,
        added: Scalars | None = None,
        resisted: Resisted = (),
        passes: Any = True,
        stored: Callable[[Scalars], Any] | None = None,
    ) -> StepConstraints:
        """Return the constraints of a step of h [s] that starts at q and t.

        ``added`` and ``resisted`` are part of the inertia that resists a change of the step's velocity.  The step is
        led past a singular configuration only if it ``passes``.  Springs have the energy ``stored(q)``.
        """
        factored = shared.factored(q, t, FLAT, added, resisted)
        return StepConstraints(shared, factored, _is_plain(added, resisted), t, q, h, passes, stored)

    @property
    def mechanics(self) -> DiscreteMechanics:
        """Momenta and inertia of the robot."""
        return self.shared.mechanics

    @property
    def rates(self) -> list[Any]:
        """Velocities (nv) that `step_rates` returns for the step."""
        return step_rates(self.mechanics.tree, self.h)

    def violations(self, w: Scalars) -> list[Any]:
        """Return the violation of each constraint row (nc) by a step with velocity w, as a velocity.

        It is φ(q⁺)/h for holonomic constraints, with the end q⁺ of the step, and G w + σ at the midpoint for the
        others.
        """
        tree, h = self.mechanics.tree, self.h
        errors = iter(constraint_error(tree, self._led(w), [self.t + h]))
        result: list[Any] = []
        for constraint in tree.constraints:
            if constraint.holonomic:
                result += [next(errors) / h for _ in constraint.component_names]
            else:
                middle, u = self.mechanics.halfway(self.q, w, h)
                rates = rates_of_some(tree, [constraint], middle, [0.0] * tree.nv, self.t + 0.5 * h)
                result += [dot(row, u) + s for row, s in zip(rates.rows, rates.drift, strict=True)]
        return result

    def released(self, r: Scalars, e: Scalars) -> list[Any]:
        """Return the momentum r − Gᵀ λ (nv) whose velocity satisfies G M⁻¹ (r − Gᵀ λ) = e, by constraint impulses λ.

        r is a momentum (nv) and e a velocity of the constraint rows G (nc); M is the mass matrix. The result is zero
        if e = 0 and r is an impulse of the constraints.
        """
        factored = self.factored
        y = factored.inverse.inward(r)
        impulses = factored.factors.solved([dot(UD, y) - x for UD, x in zip(factored.UD, e, strict=True)])
        result = list(r)
        for row, x in zip(factored.rates.rows, impulses, strict=True):
            result = [a - g * x for a, g in zip(result, row, strict=True)]
        return result

    def correction(self, left: Callable[[Scalars], Scalars], w: Scalars) -> list[Any]:
        """Return the Newton step for w (nv), to be subtracted.

        At the solution, the momentum ``left(w)`` (nv) is an impulse of the constraints, and they are satisfied.
        """
        return self.factored.inverse.applied(self.released(left(w), self.violations(w)))

    def solved(self, left: Callable[[Scalars], Scalars], v: Scalars) -> ConstrainedStep:
        """Return the step with a velocity w at which ``left(w)`` is an impulse of the constraints.

        v is the initial guess.  The result is infinite where Newton's method does not find w.
        """

        rates = self.rates
        per = [1.0 / x for x in rates]

        def closer(x: Any) -> Any:
            w = times(x, rates)
            return array([a - b * c for a, b, c in zip(x, self.correction(left, w), per, strict=True)])

        tree = self.mechanics.tree
        rounding = position_rounding(tree) / characteristic_length(tree)
        solve = nearby_fixed_point if rounding <= _TOLERANCE else fixed_point  # rounding leaves no room for its error
        tolerance = by_type(max(_TOLERANCE, rounding))
        result = solve(closer, array(times(v, per)), max_iterations=_STEPS, tolerance=tolerance)
        return self.ended(left, v, times(result.value, rates), result.status)

    def bent(
        self, left: Callable[[Scalars], Scalars], like: Callable[[Scalars], Scalars], v: Scalars
    ) -> ConstrainedStep:
        """Return the step as `solved` does, for forces that vary sharply with velocities.

        ``like(w)`` is a function similar to ``left(w)`` whose Jacobian is used.
        """
        rows = self.factored.rates.rows
        result, status = monotone(
            lambda w: self.released(left(w), self.violations(w)),
            lambda w: self.released(like(w), [dot(row, w) for row in rows]),
            v,
            self.rates,
        )
        return self.ended(left, v, result, status)

    def ended(self, left: Callable[[Scalars], Scalars], v: Scalars, w: Scalars, status: Any) -> ConstrainedStep:
        """Return the step with velocity w if ``status`` is 0 (solved), else a step past a singular configuration."""
        result, driven = lt(status, 0.5), any(not is_zero(s) for s in self.factored.rates.drift)
        if not driven:  # time-dependent constraints do work, so any speed is possible
            result = and_(result, self._is_near(left, v, w))
        if not any(constraint.holonomic for constraint in self.mechanics.tree.constraints):
            w = [where(result, x, math.inf) for x in w]
            return ConstrainedStep(w, self._led(w), None if driven else False)

        def straight(w: Any) -> tuple[Any, Any]:
            return array([where(result, x, math.inf) for x in w]), array(self._led(list(w)))

        stays = or_(result, not_(self.passes))
        w, end = cond(stays, straight, lambda _: self._past_singular(left, v), array(list(w)))
        return ConstrainedStep(list(w), list(end), None if driven else not_(stays))

    def _led(self, w: Scalars) -> list[Any]:
        """Return the end q ⊕ h w (nq) of a step with velocity w."""
        return self.mechanics.space.integrate(self.q, [self.h * x for x in w])

    def _is_near(self, left: Callable[[Scalars], Scalars], v: Scalars, w: Scalars) -> Any:
        """Return True if the kinetic energy of the root w is plausible after v and the impulse of the step's forces.

        Constraints that v satisfies do no work, so a root that is much faster is spurious.  The result is also True if
        the joints move little in the step.
        """
        inverse, mechanics = self.factored.inverse, self.mechanics
        pushed = left(v)
        free = sqrt(fmax(dot(v, mechanics.momentum(self.q, v)), 0.0))
        gained = sqrt(fmax(dot(pushed, inverse.applied(pushed)), 0.0))
        middle, u = mechanics.halfway(self.q, w, self.h)
        size = sqrt(fmax(dot(u, mechanics.momentum(middle, u)), 0.0))
        return or_(lt(size, _FASTER * (free + gained)), lt(largest(over(w, self.rates)), _SHORT))

    def _past_singular(self, left: Callable[[Scalars], Scalars], v: Scalars) -> tuple[Any, Any]:
        """Return velocity w (nv) and end configuration (nq) of a first-order step past a singular configuration.

        Constraint rows that nearly vanish have no impulse in this step. v (nv) is the step's velocity before the other
        rows' impulses, and ``left(v)`` (nv) is the momentum that these impulses balance, as in `correction`. The step
        ends at the assembled configuration nearest to q ⊕ h w. If none is near, or springs would gain more energy than
        the robot has on the way there, it ends at q ⊕ h w itself, provided that constraint errors are small there.
        Where they are large, it ends at a near assembled configuration at any energy; without one w is infinite.
        """
        factored, tree, shared = self.factored, self.mechanics.tree, self.shared
        drift = [dot(row, v) + s for row, s in zip(factored.rates.rows, factored.rates.drift, strict=True)]
        if self.is_plain:
            change = shared.released(self.q, self.t, left(v), drift, _SINGULAR)
        else:
            firm = replace(self, factored=ConstrainedFactorization(factored.inverse, factored.rates, _SINGULAR))
            change = factored.inverse.applied(firm.released(left(v), drift))
        w = [a - b for a, b in zip(v, change, strict=True)]
        straight_end = self._led(w)
        now, scales = self.t + self.h, error_scales(tree)
        nearest = self._nearest(straight_end, now)
        far = largest(over(self.mechanics.space.difference(straight_end, nearest), unit_steps(tree)))
        left_open, left_there = (largest(times(shared.error(at, now), scales)) for at in (nearest, straight_end))
        closed = and_(lt(left_open, _CLOSED), lt(far, _ACCEPTED + largest(over(w, self.rates))))
        is_closed = or_(closed, lt(left_there, _LEFT_OPEN))
        if self.stored is not None:
            closed = and_(closed, or_(self._can_reach(straight_end, nearest, w), not_(lt(left_there, _LEFT_OPEN))))
        end = [where(closed, a, b) for a, b in zip(nearest, straight_end, strict=True)]
        return array([where(is_closed, x, math.inf) for x in w]), array(end)

    def _can_reach(self, q: Scalars, end: Scalars, w: Scalars) -> Any:
        """Return True if the kinetic energy of w (nv) suffices for the rise of potential energy from q to ``end`` (nq).

        Beside a singular configuration, projection moves joints by the square root of the constraint error.
        """
        assert self.stored is not None
        before, after = (self.mechanics.potential(at) + self.stored(at) for at in (q, end))
        return not_(lt(0.5 * dot(w, self.mechanics.momentum(self.q, w)), after - before))

    def _nearest(self, q: Scalars, now: Any) -> list[Any]:
        """Return the assembled configuration (nq) nearest to q."""
        shared, tree = self.shared, self.mechanics.tree
        if not all(constraint.holonomic for constraint in tree.constraints):
            return project_configuration(tree, q, [now])[0]

        def short_step(at: Scalars, target: Scalars, more: Any) -> list[Any]:
            return shared.released(at, now, [0.0] * tree.nv, target, NOISE, MORE + more, exact=0.0)

        def linear(at: Scalars) -> tuple[Scalars, list[list[Any]], MassMetric]:
            system = shared.factored(at, now, NOISE)
            return shared.error(at, now), system.rates.rows, MassMetric(system)

        result = list(approached_configuration(tree, q, lambda at: shared.error(at, now), short_step).state[0])
        return with_assembly_derivative(tree, result, [], q, linear)[0] if shared.separate else result


def monotone(
    left: Callable[[Scalars], Scalars],
    like: Callable[[Scalars], Scalars] | None,
    v: Scalars,
    rates: Scalars,
    max_iterations: int = _BENT_STEPS,
    tolerance: float = _BENT_TOLERANCE,
) -> tuple[list[Any], Any]:
    """Return the root w of the monotone function ``left(w)``, by Newton's method from v, and status 0 if it converged.

    The Jacobian is that of the similar function ``like(w)``, if there is one.  ``rates`` are those of `step_rates`, and
    ``tolerance`` is in units of these.
    """

    def of(function: Callable[[Scalars], Scalars]) -> Callable[[Any], Any]:
        return lambda x: array(times(function(times(x, rates)), rates))

    result = monotone_root(
        of(left),
        array(over(v, rates)),
        max_iterations=max_iterations,
        tolerance=tolerance,
        like=None if like is None else of(like),
    )
    return times(result.value, rates), result.status


def step_rates(tree: Tree, h: Any) -> list[Any]:
    """Return the velocity of each coordinate (nv) that moves it by 1 rad or a characteristic length in a step."""
    return [x / h for x in unit_steps(tree)]


def times(x: Scalars, y: Scalars) -> list[Any]:
    """Return x y by element."""
    return [a * b for a, b in zip(x, y, strict=True)]


def over(x: Scalars, y: Scalars) -> list[Any]:
    """Return x / y by element."""
    return [a / b for a, b in zip(x, y, strict=True)]


def released_velocity(
    shared: SharedImpulses,
    t: Any,
    q: Scalars,
    momentum: Scalars,
    added: Scalars | None = None,
    resisted: Resisted = (),
) -> list[Any]:
    """Return the velocity (nv) that a momentum (nv) has at q after impulses that satisfy the constraints.

    ``added`` and ``resisted`` are part of M, as in `DiscreteMechanics.inverse`.
    """
    mechanics, constraints = shared.mechanics, shared.mechanics.tree.constraints
    if not constraints:
        return mechanics.inverse(q, added, resisted).applied(momentum)
    if _is_plain(added, resisted) and all(
        constraint.holonomic and not constraint.time_dependent for constraint in constraints
    ):
        no_forces = [0.0 for constraint in constraints for _ in constraint.component_names]
        return shared.released(q, t, momentum, no_forces, FLAT)
    factored = shared.factored(q, t, FLAT, added, resisted)
    y = factored.inverse.inward(momentum)
    left = [-s - dot(UD, y) for s, UD in zip(factored.rates.drift, factored.UD, strict=True)]
    return factored.moved(y, factored.factors.solved(left))


def _is_plain(added: Scalars | None, resisted: Resisted) -> bool:
    """Return True if the step adds no terms to the inertia."""
    return not resisted and (added is None or all(map(is_zero, added)))
