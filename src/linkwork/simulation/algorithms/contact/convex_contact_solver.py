"""Convex contact solver: the velocities after a step minimise a strictly convex function, by Newton's method.

    ½ (w − v)ᵀ A (w − v) − pᵀ w + Σ ℓ(J w)

A is the mass matrix with implicit terms, p the impulse of all forces except contacts, and −∂ℓ/∂c the impulse of a
contact with velocity c = J w (`contact_terms`).  The solution is unique for any contacts, also for dependent ones.
Jᵀ G J of contacts with fixed bodies has the zeros of the mass matrix, so Newton's equations are as sparse.

A contact without a stiffness is as stiff as the step resolves: its impulse brings it to rest within a few steps,
whatever its mass.  Its compliance follows from its own inertia.  The lighter of two bodies would then be too soft for
the load of the heavier one, or for a squeeze.  So a contact has a yield speed (``bearing``), which it does not reach
under its own weight.  Beyond this speed it is stiffer by the factor `FIRMER`.  The program is first solved without this
factor, in its own loop.  This is the solution if no contact exceeds its yield speed.  Otherwise Newton's method
continues from there, in further rounds.

Source: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact, IEEE Transactions on
Robotics 39(2), 2023; De Saxcé and Feng, The bipotential method, Mathematical and Computer Modelling 28, 1998 (duality
of sliding and separation).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import while_loop
from linkwork.expr.linalg.factorizations import Symmetric
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.linalg.triangular_factors import Pivots
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, fmin, lt, or_, sqrt, where
from linkwork.simulation.algorithms.contact.contact_products import bent, bent_by_limbs, pull
from linkwork.simulation.algorithms.contact.contact_terms import (
    FIRMER,
    ContactAt,
    ContactTerms,
    Interval,
    impulse_of,
    interval_impulse,
    inverse_inertia_of,
    is_beyond,
    push_of,
    terms_of,
)
from linkwork.simulation.algorithms.contact.line_search import MovedContact, MovedInterval, step_length

__all__ = ["ContactProgram", "ProgramSolution"]

Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]

_AT_MOST = 100
_LEAST = 1e-13  # slip that counts as zero, relative to the change of speed by other forces in a step
_AGAIN = 12  # maximum number of rounds for the slips
_LEAST_FACTOR, _MOST_FACTOR = -4.0, 0.5  # bounds of the factor of Anderson's acceleration
_SAME = 1e-2  # change of slips that ends the rounds, relative to the change of the normal velocity in a step
_CLOSELY, _CLOSE = 60, 1e-8  # the same numbers for exact velocities
_FIRM = 1e2  # factor of the firmness beyond bearings from round to round, up to `FIRMER`
_FIRMED = 3  # number of these rounds
_ENOUGH = 1e-9  # relative gradient at which Newton's method ends
_ROUNDING = 4e-15  # part of the impulses of contacts and stiff intervals below which a gradient is rounding
_POSITIVE = Symmetric(positive=True)


class ProgramPoint(NamedTuple):
    """Velocity w (nv) in the iteration, with the values that are linear in it.

    ``rates`` are the velocities J w of the rows of contacts, and of intervals that are not elements of w.  ``momentum``
    is A (w − v) − p (nv).  A step updates them without evaluating them again.
    """

    w: Any
    rates: Any
    momentum: Any


class ProgramSolution(NamedTuple):
    """State of the rounds in which a contact program is solved: velocities, sliding speeds (slips), convergence."""

    at: ProgramPoint
    slips: Any  # slips of the next round
    used: Any  # slips with which the point was computed
    point_slips: Any  # slips at the point
    moved: Any  # excess of the difference of `point_slips` and `used` over its tolerance
    steps: Any  # Newton iterations
    left: Any  # square of the gradient
    enough: Any  # square at which it counts as solved
    firmer: Any  # factor of the firmness of contacts beyond their bearings


class _Newton(NamedTuple):
    at: ProgramPoint
    gradient: Any
    left: Any  # square of the gradient
    enough: Any  # square at which it counts as solved


@dataclass(frozen=True)
class ContactProgram:
    """Minimisation of ½ (w − v)ᵀ A (w − v) − pᵀ w + Σ ℓ(J w) for the velocities w after a step of h [s].

    A (nv × nv) is the mass matrix with implicit terms, v (nv) the velocity before the step, and ``push`` p (nv) the
    impulse of all other forces.  ℓ are the potentials of contacts and intervals.  ``bounces`` are separation
    velocities of bouncing contacts, 0 for others.  ``varied(w)`` computes the change of momentum to w, if that is
    cheaper to differentiate.
    """

    A: Rows
    v: Scalars
    push: Scalars
    contacts: Sequence[ContactAt]
    intervals: Sequence[Interval]
    h: Any
    bounces: Scalars | None = None
    varied: Callable[[Scalars], Scalars] | None = None
    firmer: Any = FIRMER  # factor of the firmness of contacts beyond their bearings
    aimed: Any = 0.0  # sum of x²/A of the impulses x that bring rows at rest to their targets at once

    @property
    def scale(self) -> list[Any]:
        """Reciprocals of the diagonal of the mass matrix A (nv), the weights of squared momenta in norms."""
        return [1.0 / row[k] for k, row in enumerate(self.A)]

    def sized(self, x: Scalars) -> Any:
        """Return Σ x²/A for a momentum x (nv) and the diagonal of A."""
        return sum((a * a * b for a, b in zip(x, self.scale, strict=True)), 0.0)

    def enough(self, terms: Sequence[ContactTerms], rates: Scalars) -> Any:
        """Return the squared norm of the gradient below which the program is solved, at row velocities ``rates``."""
        moving = sum((x * x * row[k] for k, (x, row) in enumerate(zip(self.v, self.A, strict=True))), 0.0)
        size = self.sized(self.push) + moving + self.aimed
        return _ENOUGH * _ENOUGH * size + _ROUNDING * _ROUNDING * self.stiff_size(terms, rates)

    def stiff_size(self, terms: Sequence[ContactTerms], rates: Scalars) -> Any:
        """Return the squared size of the impulses of stiff contacts and intervals, the scale of rounding errors.

        It is Σ x²/A over the impulses x, with the diagonal A of the mass matrix; errors of rows are independent.
        Intervals whose impulses are at a bound, such as of limits that are far away, leave no rounding error.
        """
        result: Any = 0.0
        for contact, term, c in zip(self.contacts, terms, self._by_contact(rates), strict=True):
            gamma, _ = impulse_of(contact, term, c)
            result = result + dot(gamma, gamma) * inverse_inertia_of(contact, self.A)
        for interval, c in self._by_interval(rates):
            row = [(k, x) for k, x in enumerate(interval.row) if not is_zero(x)]
            speed = fabs(interval.target) + sum((fabs(x * self.v[k]) for k, x in row), 0.0)
            stiffest, inverse = interval.stiffness * speed, sum((x * x * (1.0 / self.A[k][k]) for k, x in row), 0.0)
            acts = interval_impulse((interval.target - c) * interval.stiffness, interval.low, interval.high)[1]
            result = result + acts * (stiffest * stiffest * inverse)
        return result

    @property
    def rows(self) -> list[Scalars]:
        """Rows (nv) of the Jacobian J of all contact and interval velocities.

        Each contact has three rows, two tangents and the normal.  Then each interval has one.
        """
        return [
            *(row for contact in self.contacts for row in contact.J),
            *(interval.row for interval in self.intervals),
        ]

    def rates(self, w: Scalars) -> list[Any]:
        """Return the contact and interval velocities J w, one for each of `rows`, at velocity w (nv)."""
        return [dot(row, w) for row in self.rows]

    def point(self, w: Scalars) -> ProgramPoint:
        """Return the velocity w (nv) together with the quantities of `ProgramPoint` that are linear in w."""
        return ProgramPoint(array(list(w)), array(self._carried(self.rates(w))), array(self.change(w)))

    def rates_of(self, at: ProgramPoint) -> list[Any]:
        """Return the contact and interval velocities J w, one for each of `rows`, at a point."""
        carried = iter(at.rates)
        return [next(carried) if k is None else at.w[k] for k in self._elements]

    def _carried(self, rates: Scalars) -> list[Any]:
        """Return those row velocities that `ProgramPoint.rates` stores: all that are not elements of w."""
        return [x for x, k in zip(rates, self._elements, strict=True) if k is None]

    @property
    def _elements(self) -> list[int | None]:
        """For each row, the index in w of the velocity that equals row · w (most limits), or None."""
        elements = [interval.element for interval in self.intervals]
        return [*(None for contact in self.contacts for _ in contact.J), *elements]

    def slips(self, rates: Scalars) -> list[Any]:
        """Return the sliding speed of each contact, from the rows' velocities."""
        result = []
        for contact, c in zip(self.contacts, self._by_contact(rates), strict=True):
            least = _LEAST * contact.forced
            result.append(sqrt(c[0] * c[0] + c[1] * c[1] + (least * least + 1e-200)))
        return result

    def normal_change(self, contact: ContactAt) -> Any:
        """Return the order of the change of a contact's normal velocity by its impulse [m/s]."""
        return contact.forced + fabs(dot(contact.J[2], self.v))

    def _by_contact(self, rates: Scalars) -> list[Scalars]:
        return [rates[3 * k : 3 * k + 3] for k in range(len(self.contacts))]

    def _by_interval(self, rates: Scalars) -> list[tuple[Interval, Any]]:
        return list(zip(self.intervals, rates[3 * len(self.contacts) :], strict=True))

    def terms(self, slips: Scalars) -> list[ContactTerms]:
        """Return the compliances and target velocity of each contact, for one sliding speed [m/s] per contact."""
        bounces = [None] * len(slips) if self.bounces is None else self.bounces
        each = zip(self.contacts, slips, bounces, strict=True)
        return [terms_of(contact, self.A, slip, self.h, bounce, self.firmer) for contact, slip, bounce in each]

    def impulses(self, rates: Scalars, slips: Scalars) -> list[list[Any]]:
        """Return the impulse of each contact along two tangents and the normal [N·s]."""
        each = zip(self.contacts, self.terms(slips), self._by_contact(rates), strict=True)
        return [impulse_of(contact, term, c)[0] for contact, term, c in each]

    @property
    def has_bearings(self) -> bool:
        """True if any contact has a yield speed."""
        return any(contact.bearing is not None for contact in self.contacts)

    @property
    def unbounded(self) -> ContactProgram:
        """Program whose contacts have no yield speeds (bearings)."""
        return replace(self, contacts=[replace(contact, bearing=None) for contact in self.contacts])

    def pushes(self, rates: Scalars) -> list[Any]:
        """Return the impulse of each interval [N·s, N·m·s]."""
        return [push_of(interval, c)[0] for interval, c in self._by_interval(rates)]

    def solution(self, start: Scalars | None = None, closely: bool = False) -> ProgramSolution:
        """Return the solution of the program, whose slips are the sliding speeds of the solution itself.

        The slips agree to rounding if ``closely``, else to the accuracy that forces need.  The initial guess is
        ``start``, v by default.
        """
        point = self.point(self.v if start is None else start)
        first = array(self.slips(self.rates_of(point)))
        begin = ProgramSolution(point, first, first, first, 1e300, 0.0, 0.0, 0.0, 0.0)
        unbounded = self.unbounded
        if not self.contacts:
            return unbounded._round(begin, closely)
        most = _CLOSELY if closely else _AGAIN

        result = self._rounds(lambda state: unbounded._round(state, closely), begin, most)
        if not self.has_bearings:
            return result
        overloaded = self.is_overloaded(
            self.terms(list(result.used)), self.rates_of(result.at), list(result.point_slips)
        )
        begin = result._replace(moved=where(overloaded, 1e300, 0.0), firmer=where(overloaded, _FIRM, 0.0))
        return self._rounds(lambda state: self._firmer_round(state, closely), begin, most + _FIRMED)

    @staticmethod
    def _rounds(
        again: Callable[[ProgramSolution], ProgramSolution], begin: ProgramSolution, most: int
    ) -> ProgramSolution:
        """Repeat rounds until the slips no longer change, and return the last state."""
        result: ProgramSolution = while_loop(
            lambda state: lt(0.0, state.moved), again, begin, max_iterations=most
        ).state
        return result

    def _round(self, state: ProgramSolution, closely: bool) -> ProgramSolution:
        """Return the solution for the current slips (sliding speeds), and the slips of the next round."""
        accuracy = _CLOSE if closely else _SAME
        current = list(state.slips)
        solved, count = self._least(self.terms(current), state.at)
        at = solved.at
        slips_now = self.slips(self.rates_of(at))
        changes = zip(self.contacts, slips_now, current, strict=True)
        moved = sum((fmax(fabs(a - b) - accuracy * self.normal_change(contact), 0.0) for contact, a, b in changes), 0.0)
        following = _following_slips(slips_now, current, list(state.point_slips), list(state.used))
        steps = state.steps + count
        ended = solved.left, solved.enough, state.firmer
        return ProgramSolution(at, array(following), state.slips, array(slips_now), moved, steps, *ended)

    def _firmer_round(self, state: ProgramSolution, closely: bool) -> ProgramSolution:
        """Return the solution of a round in which contacts are stiffer by ``state.firmer`` beyond their yield speeds.

        It contains the factor of the next round. Rounds continue while the factor grows.
        """
        program = replace(self, firmer=state.firmer)
        result = program._round(state, closely)
        terms = program.terms(list(result.used))
        overloaded = program.is_overloaded(terms, program.rates_of(result.at), list(result.point_slips))
        firmer = where(overloaded, fmin(state.firmer * _FIRM, FIRMER), state.firmer)
        moved = where(eq(firmer, state.firmer), result.moved, fmax(result.moved, 1.0))
        return result._replace(moved=moved, firmer=firmer)

    def is_overloaded(self, terms: Sequence[ContactTerms], rates: Scalars, slips: Scalars) -> Any:
        """Return True if any contact exceeds its yield speed."""
        result: Any = False
        for contact, term, c, slip in zip(self.contacts, terms, self._by_contact(rates), slips, strict=True):
            result = or_(result, is_beyond(contact, term, c, slip))
        return result

    def jacobian(self, w: Scalars) -> list[list[Any]]:
        """Return the derivative (nv × nv) of the gradient with respect to w.

        It includes the change of the slips (sliding speeds) with w, which makes it unsymmetric.
        """
        rates = self.rates(w)
        slips = self.slips(rates)
        H = [list(row) for row in self.A]
        each = zip(self.contacts, self.terms(slips), slips, self._by_contact(rates), strict=True)
        for contact, term, slip, c in each:
            _, G = impulse_of(contact, term, c)
            pull = contact.friction / slip
            bent(H, contact.J, [[row[k] + pull * row[2] * c[k] for k in (0, 1)] + [row[2]] for row in G], whole=True)
        for interval, c in self._by_interval(rates):
            bent(H, [interval.row], [[push_of(interval, c)[1]]], whole=True)
        return H

    def _least(self, terms: Sequence[ContactTerms], start: ProgramPoint) -> tuple[_Newton, Any]:
        """Return the minimum for fixed compliances and targets of contacts, and the number of Newton iterations."""

        def step(state: _Newton) -> _Newton:
            w, row_rates, momentum = (list(x) for x in state.at)
            rates = self.rates_of(state.at)
            factors = _POSITIVE.factors(self.hessian(terms, rates), Pivots("contact_velocities"))
            direction = _POSITIVE.solved(factors, [-g for g in state.gradient])
            carried, moved = [dot(row, direction) for row in self.A], self.rates(direction)
            slope = dot(list(state.gradient), direction)
            masses = dot(momentum, direction), dot(direction, carried)
            length = step_length(slope, masses, *self._moved(terms, rates, moved))

            def along(x: Scalars, d: Scalars) -> Any:
                return array([a + length * b for a, b in zip(x, d, strict=True)])

            each = (w, direction), (row_rates, self._carried(moved)), (momentum, carried)
            return self._newton(terms, ProgramPoint(*(along(x, d) for x, d in each)))

        begin = self._newton(terms, start)
        result = while_loop(lambda s: lt(s.enough, s.left), step, begin, max_iterations=_AT_MOST)
        return result.state, result.iterations

    def _moved(
        self, terms: Sequence[ContactTerms], rates: Scalars, moved: Scalars
    ) -> tuple[list[MovedContact], list[MovedInterval]]:
        """Return contacts and intervals with their velocities ``rates``, and the changes ``moved`` of these."""
        contacts = zip(self.contacts, terms, self._by_contact(rates), self._by_contact(moved), strict=True)
        intervals = zip(*map(self._by_interval, (rates, moved)), strict=True)
        return list(map(MovedContact._make, contacts)), [
            MovedInterval(interval, c, d) for (interval, c), (_, d) in intervals
        ]

    def _newton(self, terms: Sequence[ContactTerms], at: ProgramPoint) -> _Newton:
        """Return a point with its gradient, and the tolerance of the gradient there."""
        rates = self.rates_of(at)
        gradient = self._pulled(list(at.momentum), terms, rates)
        return _Newton(at, array(gradient), self.sized(gradient), self.enough(terms, rates))

    def gradient(self, terms: Sequence[ContactTerms], w: Scalars) -> list[Any]:
        """Return the gradient (nv) of the minimised function at w."""
        return self.unbalanced(self.change(w), terms, w)

    def change(self, w: Scalars) -> list[Any]:
        """Return A (w − v) − p (nv), the change of momentum minus the impulses of all forces except contacts."""
        apart = [0.0 if x is y else x - y for x, y in zip(w, self.v, strict=True)]
        return [dot(row, apart) - p for row, p in zip(self.A, self.push, strict=True)]

    def momentum(self, w: Scalars) -> list[Any]:
        """Return A (w − v) − p (nv), the change of momentum minus the impulses of all forces except contacts.

        It equals `change`, but is computed by ``varied``, if there is one, which is cheaper to differentiate.
        """
        return self.change(w) if self.varied is None else list(self.varied(w))

    def unbalanced(self, momentum: Scalars, terms: Sequence[ContactTerms], w: Scalars) -> list[Any]:
        """Return a change of momentum (nv) minus the impulses Jᵀ γ of contacts and intervals at w."""
        return self._pulled(momentum, terms, self.rates(w))

    def _pulled(self, momentum: Scalars, terms: Sequence[ContactTerms], rates: Scalars) -> list[Any]:
        result = list(momentum)
        for contact, term, c in zip(self.contacts, terms, self._by_contact(rates), strict=True):
            gamma, _ = impulse_of(contact, term, c)
            pull(result, contact.J, gamma)
        for interval, c in self._by_interval(rates):
            pull(result, [interval.row], [push_of(interval, c)[0]])
        return result

    def hessian(self, terms: Sequence[ContactTerms], rates: Scalars) -> list[list[Any]]:
        """Return the lower triangle of the minimised function's Hessian (nv × nv).

        ``rates`` are the velocities J w of contacts and intervals, and ``terms`` the compliances of contacts.
        """
        H = [list(row[: i + 1]) for i, row in enumerate(self.A)]
        shared: dict[str | int, list[tuple[ContactAt, Any]]] = {}
        for k, (contact, term, c) in enumerate(zip(self.contacts, terms, self._by_contact(rates), strict=True)):
            link = k if contact.limb is None else contact.limb.link
            shared.setdefault(link, []).append((contact, impulse_of(contact, term, c)[1]))
        for contact, G in (touching[0] for touching in shared.values() if len(touching) == 1):
            bent(H, contact.J, G)
        bent_by_limbs(
            H,
            [
                [(contact.limb, G) for contact, G in touching if contact.limb]
                for touching in shared.values()
                if len(touching) > 1
            ],
        )
        for interval, c in self._by_interval(rates):
            bent(H, [interval.row], [[push_of(interval, c)[1]]])
        return H


def _following_slips(resulting: Scalars, used: Scalars, resulting_before: Scalars, used_before: Scalars) -> list[Any]:
    """Return the sliding speeds of the next round, by Anderson's acceleration of depth 1.

    A round with the speeds ``used`` yields the speeds ``resulting``; the last two arguments are those of the round
    before.  Source: Anderson, Iterative procedures for nonlinear integral equations, 1965.
    """
    error = [a - b for a, b in zip(resulting, used, strict=True)]
    change = [a - (b - c) for a, b, c in zip(error, resulting_before, used_before, strict=True)]
    apart = [a - b for a, b in zip(used, used_before, strict=True)]
    size = dot(change, change)
    usable = and_(lt(1e-28 * dot(used, used), dot(apart, apart)), lt(0.0, size))
    factor = where(usable, dot(error, change) / where(usable, size, 1.0), 0.0)
    factor = fmax(_LEAST_FACTOR, fmin(factor, _MOST_FACTOR))
    return [fmax(a - factor * (a - b), 0.0) for a, b in zip(resulting, resulting_before, strict=True)]
