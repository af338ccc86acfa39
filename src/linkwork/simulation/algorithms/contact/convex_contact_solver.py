"""Convex contact solver: the velocities after a step minimise a strictly convex function, by Newton's method.

    ½ (w − v)ᵀ A (w − v) − pᵀ w + Σ ℓ(J w)

A is the mass matrix with implicit terms, p the impulse of all forces except contacts, and −∂ℓ/∂c the impulse of a
contact with velocity c = J w (`contact_terms`).  The solution is unique for any contacts, also for dependent ones.
Jᵀ G J of contacts with fixed bodies has the zeros of the mass matrix, so Newton's equations are as sparse.

A contact without a stiffness is as stiff as the step resolves: its impulse brings it to rest within a few steps,
whatever its mass.  Its compliance follows from its own inertia.  The lighter of two bodies would then be too soft for
the load of the heavier one, or for a squeeze.  So beyond its bearing, a speed that a contact which carries its own
weight does not reach, it is firmer by `FIRMER`.  The program is first solved without that, in its own loop.  This is
the solution if no contact is beyond its bearing.  Otherwise Newton's method continues from there, in further rounds.

Source: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact, IEEE Transactions on
Robotics 39(2), 2023; De Saxcé and Feng, The bipotential method, Mathematical and Computer Modelling 28, 1998 (duality
of sliding and separation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import while_loop
from linkwork.expr.linalg.factorizations import Symmetric
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.linalg.triangular_factors import Pivots
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.simulation.algorithms.contact.contact_terms import (
    FIRMER,
    ContactAt,
    ContactTerms,
    Interval,
    bent_by_limbs,
    impulse_of,
    is_beyond,
    push_of,
    terms_of,
)

__all__ = ["ContactProgram", "ProgramSolution"]

Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]

_AT_MOST = 100
_LEAST = 1e-13  # slip that counts as zero, relative to the change of speed by other forces in a step
_AGAIN = 6  # maximum number of rounds for the slips
_SAME = 1e-2  # change of slips that ends the rounds, relative to them and to the change by other forces in a step
_CLOSELY, _CLOSE = 60, 1e-8  # maximum number of rounds and change, relative to that by forces, for exact velocities
_FIRM = 1e2  # factor of the firmness beyond bearings from round to round, up to `FIRMER`
_FIRMED = 3  # number of these rounds
_SEARCHED = 12  # maximum number of iterations of a line search
_ENOUGH = 1e-9  # relative gradient at which Newton's method ends
_ROUNDING = 4e-15  # part of the impulses of contacts and stiff intervals below which a gradient is rounding
_POSITIVE = Symmetric(positive=True)
_SHORT = 1e-8  # relative slope along a step at which the line search ends


class ProgramPoint(NamedTuple):
    """Velocity w (nv) in the iteration, with the values that are linear in it.

    ``rates`` are the velocities J w of the rows of contacts and intervals, and ``momentum`` is A (w − v) − p (nv).  A
    step updates them without evaluating them again.
    """

    w: Any
    rates: Any
    momentum: Any


class ProgramSolution(NamedTuple):
    """State of the rounds in which a contact program is solved: velocities, sliding speeds (slips), convergence."""

    at: ProgramPoint
    slips: Any  # slips of the next round
    used: Any  # slips with which the point was computed
    made: Any  # slips at the point
    moved: Any  # excess of the difference of `made` and `used` over its tolerance
    steps: Any  # Newton iterations
    left: Any  # square of the gradient
    firmer: Any  # factor of the firmness of contacts beyond their bearings


class _Newton(NamedTuple):
    at: ProgramPoint
    gradient: Any
    left: Any  # square of the gradient
    enough: Any  # square at which it counts as solved


class _Search(NamedTuple):
    x: Any
    low: Any
    high: Any
    value: Any
    bend: Any


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
        """Return the square of the gradient at which the program counts as solved, for row velocities ``rates``."""
        size = self.sized(self.push) + self.sized([dot(row, self.v) for row in self.A]) + self.aimed
        return _ENOUGH * _ENOUGH * size + _ROUNDING * _ROUNDING * self.sized(self.stiff_impulses(terms, rates))

    def stiff_impulses(self, terms: Sequence[ContactTerms], rates: Scalars) -> list[Any]:
        """Return momenta (nv) whose rounding stays in the gradient: of contacts, and of acting intervals.

        Both are far stiffer than inertia.  Intervals whose impulses are at a bound, such as of limits that are far
        away, leave no rounding.  Contacts may bear more than all other impulses, where they squeeze a link.
        """
        result: list[Any] = [0.0] * len(self.v)
        for contact, term, c in zip(self.contacts, terms, self._by_contact(rates), strict=True):
            for line, force in zip(contact.J, impulse_of(contact, term, c)[0], strict=True):
                for k, x in enumerate(line):
                    if not is_zero(x):
                        result[k] = result[k] + fabs(x * force)
        for one, c in self._by_interval(rates):
            row = [(k, fabs(x)) for k, x in enumerate(one.row) if not is_zero(x)]
            size = push_of(one, c)[1] * (fabs(one.target) + sum((x * fabs(self.v[k]) for k, x in row), 0.0))
            for k, x in row:
                result[k] = result[k] + x * size
        return result

    @property
    def rows(self) -> list[Scalars]:
        """Rows (nv) of the Jacobian J of all contact and interval velocities.

        Each contact has three rows, two tangents and the normal.  Then each interval has one.
        """
        return [*(row for contact in self.contacts for row in contact.J), *(one.row for one in self.intervals)]

    def rates(self, w: Scalars) -> list[Any]:
        """Return the contact and interval velocities J w, one for each of `rows`, at velocity w (nv)."""
        return [dot(row, w) for row in self.rows]

    def point(self, w: Scalars) -> ProgramPoint:
        """Return the velocity w (nv), the velocities J w of contacts and intervals, and the change of momentum."""
        return ProgramPoint(array(list(w)), array(self.rates(w)), array(self.change(w)))

    def slips(self, rates: Scalars) -> list[Any]:
        """Return the sliding speed of each contact, from the rows' velocities."""
        result = []
        for one, c in zip(self.contacts, self._by_contact(rates), strict=True):
            least = _LEAST * one.forced
            result.append(sqrt(c[0] * c[0] + c[1] * c[1] + (least * least + 1e-200)))
        return result

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
        """True if any contact has a bearing."""
        return any(contact.bearing is not None for contact in self.contacts)

    @property
    def unbounded(self) -> ContactProgram:
        """Program whose contacts have no bearings."""
        return replace(self, contacts=[replace(contact, bearing=None) for contact in self.contacts])

    def pushes(self, rates: Scalars) -> list[Any]:
        """Return the impulse of each interval [N·s, N·m·s]."""
        return [push_of(one, c)[0] for one, c in self._by_interval(rates)]

    def solution(self, start: Scalars | None = None, closely: bool = False) -> ProgramSolution:
        """Return the solution of the program, with slips (sliding speeds) equal to those of the solution itself.

        The slips agree to rounding if ``closely``, else to the accuracy that forces need.  The initial guess is
        ``start``, v by default.
        """
        point = self.point(self.v if start is None else start)
        first = array(self.slips(list(point.rates)))
        begin = ProgramSolution(point, first, first, first, 1e300, 0.0, 0.0, 0.0)
        own = self.unbounded
        if not self.contacts:
            return own._round(begin, closely)
        most = _CLOSELY if closely else _AGAIN

        result = self._rounds(lambda state: own._round(state, closely), begin, most)
        if not self.has_bearings:
            return result
        overloaded = self.is_overloaded(self.terms(list(result.used)), list(result.at.rates), list(result.made))
        begin = result._replace(moved=where(overloaded, 1e300, 0.0), firmer=where(overloaded, _FIRM, 0.0))
        return self._rounds(lambda state: self._firmer_round(state, closely), begin, most + _FIRMED)

    @staticmethod
    def _rounds(
        again: Callable[[ProgramSolution], ProgramSolution], begin: ProgramSolution, most: int
    ) -> ProgramSolution:
        """Return the state after rounds until the slips no longer change."""
        result: ProgramSolution = while_loop(
            lambda state: lt(0.0, state.moved), again, begin, max_iterations=most
        ).state
        return result

    def _round(self, state: ProgramSolution, closely: bool) -> ProgramSolution:
        """Return the solution for the current slips (sliding speeds), and the slips of the next round."""
        relative, other = (0.0, _CLOSE) if closely else (_SAME, _SAME)
        current = list(state.slips)
        at, count, left = self._least(self.terms(current), state.at)
        made = self.slips(list(at.rates))
        changes = zip(self.contacts, made, current, strict=True)
        moved = sum((fmax(fabs(a - b) - relative * a - other * one.forced, 0.0) for one, a, b in changes), 0.0)
        before = zip(made, current, list(state.made), list(state.used), strict=True)
        following = [_secant(*some) for some in before] if closely else made
        steps = state.steps + count
        return ProgramSolution(at, array(following), state.slips, array(made), moved, steps, left, state.firmer)

    def _firmer_round(self, state: ProgramSolution, closely: bool) -> ProgramSolution:
        """Return the solution of a round with contacts that are firmer beyond their bearings by ``state.firmer``.

        It contains the factor of the next round.  Rounds continue while the factor grows.
        """
        program = replace(self, firmer=state.firmer)
        result = program._round(state, closely)
        terms = program.terms(list(result.used))
        overloaded = program.is_overloaded(terms, list(result.at.rates), list(result.made))
        firmer = where(overloaded, fmin(state.firmer * _FIRM, FIRMER), state.firmer)
        moved = where(eq(firmer, state.firmer), result.moved, fmax(result.moved, 1.0))
        return result._replace(moved=moved, firmer=firmer)

    def is_overloaded(self, terms: Sequence[ContactTerms], rates: Scalars, slips: Scalars) -> Any:
        """Return True if any contact is beyond its bearing."""
        result: Any = False
        for contact, term, c, slip in zip(self.contacts, terms, self._by_contact(rates), slips, strict=True):
            result = or_(result, is_beyond(contact, term, c, slip))
        return result

    def jacobian(self, w: Scalars) -> list[list[Any]]:
        """Return the derivative (nv × nv) of the gradient by w.

        It includes the change of the slips (sliding speeds) with w, which makes it unsymmetric.
        """
        rates = self.rates(w)
        slips = self.slips(rates)
        H = [list(row) for row in self.A]
        each = zip(self.contacts, self.terms(slips), slips, self._by_contact(rates), strict=True)
        for contact, term, slip, c in each:
            _, G = impulse_of(contact, term, c)
            pull = contact.friction / slip
            _bent(H, contact.J, [[row[k] + pull * row[2] * c[k] for k in (0, 1)] + [row[2]] for row in G], whole=True)
        for one, c in self._by_interval(rates):
            _bent(H, [one.row], [[push_of(one, c)[1]]], whole=True)
        return H

    def _least(self, terms: Sequence[ContactTerms], start: ProgramPoint) -> tuple[ProgramPoint, Any, Any]:
        """Return the minimum for fixed compliances and targets of contacts, by Newton's method from ``start``.

        Returns the point, the number of iterations and the squared gradient.
        """

        def step(state: _Newton) -> _Newton:
            w, rates, momentum = (list(x) for x in state.at)
            factors = _POSITIVE.factors(self.hessian(terms, rates), Pivots("contact_velocities"))
            direction = _POSITIVE.solved(factors, [-g for g in state.gradient])
            carried, moved = [dot(row, direction) for row in self.A], self.rates(direction)
            slope = dot(list(state.gradient), direction)
            length = self._length(terms, slope, (dot(momentum, direction), dot(direction, carried)), rates, moved)

            def along(x: Scalars, d: Scalars) -> list[Any]:
                return [a + length * b for a, b in zip(x, d, strict=True)]

            after = along(w, direction), along(rates, moved), along(momentum, carried)
            gradient = self._pulled(after[2], terms, after[1])
            enough = self.enough(terms, after[1])
            return _Newton(ProgramPoint(*map(array, after)), array(gradient), self.sized(gradient), enough)

        first = self._pulled(list(start.momentum), terms, list(start.rates))
        begin = _Newton(start, array(first), self.sized(first), self.enough(terms, list(start.rates)))
        result = while_loop(lambda s: lt(s.enough, s.left), step, begin, max_iterations=_AT_MOST)
        return result.state.at, result.iterations, result.state.left

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
            _pulled(result, contact.J, gamma)
        for one, c in self._by_interval(rates):
            _pulled(result, [one.row], [push_of(one, c)[0]])
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
        for contact, G in (some[0] for some in shared.values() if len(some) == 1):
            _bent(H, contact.J, G)
        bent_by_limbs(H, [[(one.limb, G) for one, G in some if one.limb] for some in shared.values() if len(some) > 1])
        for one, c in self._by_interval(rates):
            _bent(H, [one.row], [[push_of(one, c)[1]]])
        return H

    def _length(
        self, terms: Sequence[ContactTerms], begin: Any, masses: tuple[Any, Any], rates: Scalars, moved: Scalars
    ) -> Any:
        """Return the step length that minimises the function: the root of its slope, by bracketed Newton's method.

        The slope is ``begin`` at 0.  Its inertial part is the first of ``masses`` there, and grows by the second.  Rows
        have the velocities ``rates``, and change by ``moved`` over the step.
        """
        first, second = masses
        touching = list(zip(self.contacts, terms, self._by_contact(rates), self._by_contact(moved), strict=True))
        alone = [(one, c, d) for (one, c), (_, d) in zip(*map(self._by_interval, (rates, moved)), strict=True)]

        def slope(x: Any) -> tuple[Any, Any]:
            value, bend = first + x * second, second
            for contact, term, c, d in touching:
                gamma, G = impulse_of(contact, term, [a + x * b for a, b in zip(c, d, strict=True)])
                value = value - dot(gamma, d)
                bend = bend + dot(d, [dot(row, d) for row in G])
            for one, c, d in alone:
                push, stiff = push_of(one, c + x * d)
                value, bend = value - push * d, bend + stiff * d * d
            return value, bend

        value, bend = slope(1.0)
        small = _SHORT * fabs(begin) + 1e-300

        def going(s: _Search) -> Any:
            return lt(small, fabs(s.value))

        kinks = [(one.target - c) / where(eq(d, 0.0), 1e-300, d) for one, c, d in alone if one.is_firm]

        def closer(s: _Search) -> _Search:
            low, high = where(lt(s.value, 0.0), s.x, s.low), where(lt(s.value, 0.0), s.high, s.x)
            newton = s.x - s.value / s.bend
            end = fmin(high, 1e3)
            inside = and_(lt(low, newton), not_(lt(end, newton)))
            x = middle = 0.5 * (low + fmin(high, fmax(2.0 * low, 2.0)))
            if kinks:  # Newton's steps may oscillate between the sides of a kink
                margin = 1e-6 * (end - low)
                inside = and_(inside, lt(margin, where(lt(s.value, 0.0), high - newton, newton - low)))
                nearest: Any = math.inf
                for kink in kinks:
                    far = fabs(kink - middle)
                    nearer = and_(and_(lt(low, kink), lt(kink, high)), lt(far, nearest))
                    x, nearest = where(nearer, kink, x), where(nearer, far, nearest)
            x = where(inside, newton, x)
            value, bend = slope(x)
            return _Search(x, low, high, value, bend)

        most = _SEARCHED + 2 * len(kinks)
        return while_loop(going, closer, _Search(1.0, 0.0, 1e300, value, bend), max_iterations=most).state.x


def _secant(resulting: Any, used: Any, resulting_before: Any, used_before: Any) -> Any:
    """Return the secant estimate of the slip that reproduces itself in a round.

    A round with the slip ``used`` yields the slip ``resulting``; the other two are those of the round before.
    """
    apart = used - used_before
    far = lt(1e-14 * used, fabs(apart))
    slope = where(far, (resulting - resulting_before) / where(far, apart, 1.0), 0.0)
    slope = fmax(-0.5, fmin(slope, 0.8))
    return fmax((resulting - slope * used) / (1.0 - slope), 0.0)


def _pulled(gradient: list[Any], J: Rows, gamma: Scalars) -> None:
    """Subtract Jᵀ γ from the gradient."""
    for row, force in zip(J, gamma, strict=True):
        for k, x in enumerate(row):
            if not is_zero(x):
                gradient[k] = gradient[k] - x * force


def _bent(H: list[list[Any]], J: Rows, G: Rows, whole: bool = False) -> None:
    """Add Jᵀ G J to H, to its lower triangle or the whole matrix."""
    columns = [k for k in range(len(H)) if not all(is_zero(row[k]) for row in J)]
    for j in columns:
        bent = [dot(row, [other[j] for other in J]) for row in G]
        for i in columns:
            if whole or j <= i:
                H[i][j] = H[i][j] + dot(bent, [row[i] for row in J])
