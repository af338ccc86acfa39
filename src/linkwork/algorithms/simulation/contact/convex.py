"""A step with contacts: the velocities that make a strictly convex function least, by Newton's method.

    ½ (w − v)ᵀ A (w − v) − pᵀ w + Σ ℓ(J w)

A is the mass matrix with what is implicit, p the impulse of all forces but contacts', and −∂ℓ/∂c the impulse of a
contact whose velocity is c = J w (`cone`).  It has one answer for any contacts, also where they depend on each other.
J G Jᵀ of contacts with what does not move has the mass matrix's own zeros, so Newton's equations are as sparse.

A contact is as stiff as the step can tell unless it is said to be softer: its impulse then brings it to rest within a
few steps, whatever it weighs.

Source: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact, IEEE Transactions on
Robotics 39(2), 2023; De Saxcé and Feng, The bipotential method, Mathematical and Computer Modelling 28, 1998 (what
makes sliding and parting dual).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....expr.arrays import array
from ....expr.control import while_loop
from ....expr.functions import and_, fabs, fmax, fmin, lt, not_, sqrt, where
from ....expr.linalg.methods import Symmetric
from ....expr.linalg.pivots import Pivots
from ....expr.linalg.sums import dot, is_zero
from .cone import cone_impulse, interval_impulse

__all__ = ["ContactAt", "ConvexStep", "Interval", "contact_velocities", "limit"]

Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]

_RIGID = 1.0 / (4.0 * math.pi**2)  # of the step: within which a contact that is not said to be softer comes to rest
_SETTLING = 1.0 / math.pi  # steps in which penetration decays
_SLIP = 1e-3  # of the normal R: what tangential impulses yield while they stick
_AT_MOST = 40
_LEAST = 1e-30  # [m²/s²]
_AGAIN = 6  # times that slips are found anew at most
_SAME, _STILL = 1e-2, 1e-4  # by which share of them, and by how much [m/s], they may still move
_RECOVERY = 0.5  # [m/s, rad/s] at most, out of what is too deep
_SEARCHED = 12
_ENOUGH = 1e-9  # of momentum, where it ends
_POSITIVE = Symmetric(positive=True)
_SHORT = 1e-8  # of the slope along a step, where its length is found


@dataclass(frozen=True, slots=True)
class ContactAt:
    """Rows of a contact's velocity along two tangents and the normal, what parts it (φ, negative inside), and its
    friction; stiffness [N/m], nothing where it is as rigid as the step can tell."""

    J: Rows
    gap: Any
    friction: Any
    stiffness: Any = None


@dataclass(frozen=True, slots=True)
class Interval:
    """A row of velocity whose impulse is within bounds: v̂ is the velocity it asks for, R how far it yields."""

    row: Scalars
    wanted: Any
    yielding: Any
    low: Any
    high: Any


class ConvexStep(NamedTuple):
    """v⁺ (nv), impulses of contacts by tangents and normal [N·s], of intervals, Newton's steps and what is left."""

    v: list[Any]
    impulses: list[list[Any]]
    pushes: list[Any]
    iterations: Any
    residual: Any


class _Terms(NamedTuple):
    """Of a contact: R by axis, and the velocity it asks for along its normal."""

    across: Any
    along: Any
    wanted: Any


def limit(row: Scalars, gap: Any, inertia: Any, low: Any, high: Any, h: Any) -> Interval:
    """A limit of a coordinate that its velocity leads across a gap to, as rigid as the step can tell."""
    wanted = gap / (h * (1.0 + _SETTLING))
    wanted = fmin(wanted, _RECOVERY) if high == math.inf else fmax(wanted, -_RECOVERY)
    return Interval(row, wanted, _RIGID / inertia, low, high)


class _Newton(NamedTuple):
    v: Any
    gradient: Any
    left: Any


class _Search(NamedTuple):
    x: Any
    low: Any
    high: Any
    value: Any
    bend: Any


def contact_velocities(
    A: Rows, v: Scalars, push: Scalars, contacts: Sequence[ContactAt], intervals: Sequence[Interval], h: Any
) -> ConvexStep:
    """The velocities after a step h [s] from v (nv), of which A (nv × nv, its lower triangle) and the impulse of all
    else, ``push`` (nv), say what it would be without contacts.

    ``residual`` is what of the gradient is left, 1 being too much, by how each velocity is resisted.
    """
    n = len(v)
    full = [[A[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    scale = [1.0 / full[i][i] for i in range(n)]
    carried = [dot(row, v) for row in full]

    def sized(x: Scalars) -> Any:
        return sum((a * a * b for a, b in zip(x, scale, strict=True)), 0.0)

    enough = _ENOUGH * _ENOUGH * (sized(push) + sized(carried) + 1e-12)

    def slips(w: Scalars) -> list[Any]:
        found = []
        for contact in contacts:
            first, second = (dot(row, w) for row in contact.J[:2])
            found.append(sqrt(first * first + second * second + _LEAST))
        return found

    def again(state: _Slipping) -> _Slipping:
        w, count, left = _least(full, v, push, contacts, intervals, h, list(state.slips), list(state.w), sized, enough)
        now = slips(w)
        moved = sum(
            (fmax(fabs(a - b) - _SAME * a - _STILL, 0.0) for a, b in zip(now, list(state.slips), strict=True)), 0.0
        )
        return _Slipping(array(w), array(now), state.slips, moved, state.steps + count, left)

    first = array(slips(v))
    start = _Slipping(array(list(v)), first, first, 1e300, 0.0, 0.0)
    if contacts:
        found = while_loop(lambda s: lt(0.0, s.moved), again, start, at_most=_AGAIN).state
    else:
        found = again(start)
    w = list(found.w)
    terms = [_terms(contact, full, slip, h) for contact, slip in zip(contacts, list(found.used), strict=True)]
    impulses = [
        _impulse(contact, term, [dot(row, w) for row in contact.J])[0]
        for contact, term in zip(contacts, terms, strict=True)
    ]
    pushes = [_push(one, dot(one.row, w))[0] for one in intervals]
    return ConvexStep(w, impulses, pushes, found.steps, 1e-6 * found.left / enough)


class _Slipping(NamedTuple):
    """Velocities, their slips, those they were found with, by how much slips moved, Newton's steps, what is left."""

    w: Any
    slips: Any
    used: Any
    moved: Any
    steps: Any
    left: Any


def _least(
    full: Rows,
    v: Scalars,
    push: Scalars,
    contacts: Sequence[ContactAt],
    intervals: Sequence[Interval],
    h: Any,
    slips: Scalars,
    start: Scalars,
    sized: Callable[[Scalars], Any],
    enough: Any,
) -> tuple[list[Any], Any, Any]:
    """The velocities at which the function of these slips is least, by Newton's method from a start."""
    terms = [_terms(contact, full, slip, h) for contact, slip in zip(contacts, slips, strict=True)]

    def gradient_at(w: Scalars) -> list[Any]:
        apart = [x - y for x, y in zip(w, v, strict=True)]
        found = [dot(row, apart) - p for row, p in zip(full, push, strict=True)]
        for contact, term in zip(contacts, terms, strict=True):
            gamma, _ = _impulse(contact, term, [dot(row, w) for row in contact.J])
            _pulled(found, contact.J, gamma)
        for one in intervals:
            _pulled(found, [one.row], [_push(one, dot(one.row, w))[0]])
        return found

    def step(state: _Newton) -> _Newton:
        w = list(state.v)
        H = [list(row[: i + 1]) for i, row in enumerate(full)]
        for contact, term in zip(contacts, terms, strict=True):
            _bent(H, contact.J, _impulse(contact, term, [dot(row, w) for row in contact.J])[1])
        for one in intervals:
            _bent(H, [one.row], [[_push(one, dot(one.row, w))[1]]])
        factors = _POSITIVE.factors(H, Pivots("contact_velocities"))
        way = _POSITIVE.solved(factors, [-g for g in state.gradient])
        apart = [x - y for x, y in zip(w, v, strict=True)]
        length = _length(full, apart, push, contacts, terms, intervals, w, way)
        w = [x + length * d for x, d in zip(w, way, strict=True)]
        gradient = gradient_at(w)
        return _Newton(array(w), array(gradient), sized(gradient))

    first = gradient_at(start)
    begin = _Newton(array(list(start)), array(first), sized(first))
    found = while_loop(lambda s: lt(enough, s.left), step, begin, at_most=_AT_MOST)
    return list(found.state.v), found.iterations, found.state.left


def _terms(contact: ContactAt, A: Rows, slip: Any, h: Any) -> _Terms:
    """R of a contact, by the inertia that it meets where each velocity is alone, and the velocity it asks for.

    A cone whose velocities and impulses are dual to each other parts what slides at μ times its ``slip``, which is
    taken off: where that is the speed with which the step ends, sliding is Coulomb's.
    """
    moved = sum((x * x / A[k][k] for row in contact.J for k, x in enumerate(row) if not is_zero(x)), 0.0) / 3.0
    rigid = _RIGID * moved
    if contact.stiffness is None:
        along = rigid
    else:
        along = fmax(rigid, 1.0 / (h * contact.stiffness * h * (1.0 + _SETTLING)))
    wanted = -contact.gap / (h * (1.0 + _SETTLING))
    if contact.stiffness is None:
        wanted = fmin(wanted, _RECOVERY)
    return _Terms(_SLIP * moved, along, wanted - contact.friction * slip)


def _impulse(contact: ContactAt, term: _Terms, c: Scalars) -> tuple[list[Any], list[list[Any]]]:
    """γ, and G = (∂γ/∂y)/R, which is symmetric."""
    y = [-c[0] / term.across, -c[1] / term.across, (term.wanted - c[2]) / term.along]
    gamma, slope = cone_impulse(y, contact.friction, term.across, term.along)
    by = [term.across, term.across, term.along]
    return gamma, [[x / r for x, r in zip(row, by, strict=True)] for row in slope]


def _push(one: Interval, c: Any) -> tuple[Any, Any]:
    gamma, slope = interval_impulse((one.wanted - c) / one.yielding, one.low, one.high)
    return gamma, slope / one.yielding


def _pulled(gradient: list[Any], J: Rows, gamma: Scalars) -> None:
    """The gradient less Jᵀ γ."""
    for row, force in zip(J, gamma, strict=True):
        for k, x in enumerate(row):
            if not is_zero(x):
                gradient[k] = gradient[k] - x * force


def _bent(H: list[list[Any]], J: Rows, G: Rows) -> None:
    """H with Jᵀ G J, on and below its diagonal."""
    columns = [k for k in range(len(H)) if not all(is_zero(row[k]) for row in J)]
    for i in columns:
        bent = [dot(row, [other[i] for other in J]) for row in G]
        for j in columns:
            if j <= i:
                H[i][j] = H[i][j] + dot(bent, [row[j] for row in J])


def _length(
    A: Rows,
    apart: Scalars,
    push: Scalars,
    contacts: Sequence[ContactAt],
    terms: Sequence[_Terms],
    intervals: Sequence[Interval],
    v: Scalars,
    way: Scalars,
) -> Any:
    """How far along a step the function falls: a root of its slope, which grows, by Newton's method within brackets."""
    carried = [dot(row, way) for row in A]
    first, second = dot(apart, carried) - dot(push, way), dot(way, carried)
    rates = [[dot(row, way) for row in contact.J] for contact in contacts]
    places = [[dot(row, v) for row in contact.J] for contact in contacts]
    alone = [(one, dot(one.row, v), dot(one.row, way)) for one in intervals]

    def slope(x: Any) -> tuple[Any, Any]:
        value, bend = first + x * second, second
        for contact, term, c, d in zip(contacts, terms, places, rates, strict=True):
            gamma, G = _impulse(contact, term, [a + x * b for a, b in zip(c, d, strict=True)])
            value = value - dot(gamma, d)
            bend = bend + dot(d, [dot(row, d) for row in G])
        for one, c, d in alone:
            push, stiff = _push(one, c + x * d)
            value, bend = value - push * d, bend + stiff * d * d
        return value, bend

    begin = slope(0.0)[0]
    value, bend = slope(1.0)
    small = _SHORT * fabs(begin) + 1e-300

    def going(s: _Search) -> Any:
        return lt(small, fabs(s.value))

    def closer(s: _Search) -> _Search:
        low, high = where(lt(s.value, 0.0), s.x, s.low), where(lt(s.value, 0.0), s.high, s.x)
        newton = s.x - s.value / s.bend
        inside = and_(lt(low, newton), not_(lt(fmin(high, 1e3), newton)))
        x = where(inside, newton, 0.5 * (low + fmin(high, fmax(2.0 * low, 2.0))))
        value, bend = slope(x)
        return _Search(x, low, high, value, bend)

    return while_loop(going, closer, _Search(1.0, 0.0, 1e300, value, bend), at_most=_SEARCHED).state.x
