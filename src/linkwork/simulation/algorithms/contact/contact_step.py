"""The velocities after a step with contacts, and impacts that bounce.

What strikes at more than some speed leaves with a part e of it, by Newton's law: first the step is done without, which
tells what is struck; then once more, in which those contacts ask for −e c⁻ and what forces change meanwhile.  As all
contacts are in one program, what rests meanwhile does not give way.  What bodies that part again reach within the step,
across a gap, is struck in the next step, with the speed that it has: so chains of impacts are done in order, one link a
step.  Meanwhile these bodies may overlap: what bounces is pushed apart no faster than what does not, or that would add
energy.  With friction, Newton's law may add energy
(Kane and Levinson 1985): of all steps between the two, whose impulses are within the same cones, the one that is
farthest from the first without doing so is taken.

Sources: Newton's law for several contacts: Moreau, Unilateral contact and dry friction in finite freedom dynamics, in:
Nonsmooth Mechanics and Applications, CISM 302, 1988; Kane and Levinson, Dynamics: Theory and Applications, 1985.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.custom_derivative import moved_as, still
from linkwork.expr.control import cond
from linkwork.expr.linalg.factorizations import Symmetric
from linkwork.expr.linalg.pivots import Pivots
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, fmax, fmin, lt, not_, sqrt, where
from linkwork.simulation.algorithms.contact.contact_derivative import implied_velocities, resting
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, Interval, bounded_contact, recovered
from linkwork.simulation.algorithms.contact.convex_contact_solver import ContactProgram

__all__ = ["ConvexStep", "contact_velocities"]

Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]

_STRIKES = 2e-2  # [m/s] at least, for an impact to bounce
_TOUCHES = 1e-9  # [m]: what is nearer touches already
_FAR = 1e3  # [m]: the gap of what is left to the next step
_POSITIVE = Symmetric(positive=True)


class ConvexStep(NamedTuple):
    """v⁺ (nv), impulses of contacts by tangents and normal [N·s], of intervals, Newton's steps and what is left."""

    v: list[Any]
    impulses: list[list[Any]]
    pushes: list[Any]
    iterations: Any
    residual: Any


class _Found(NamedTuple):
    """What the program found, as arrays."""

    w: Any
    impulses: Any
    pushes: Any
    steps: Any
    residual: Any


def contact_velocities(
    A: Rows,
    v: Scalars,
    push: Scalars,
    contacts: Sequence[ContactAt],
    intervals: Sequence[Interval],
    h: Any,
    varied: Callable[[Scalars], Scalars] | None = None,
    closely: bool = False,
) -> ConvexStep:
    """The velocities after a step h [s] from v (nv), of which A (nv × nv, its lower triangle) and the impulse of all
    else, ``push`` (nv), say what it would be without contacts.

    ``varied`` gives A (w − v) − p, where that is differentiated with less than these.  Slips are found ``closely``
    where derivatives are asked for, which are those of the exact ones.  ``residual`` is what of the gradient is left,
    1 being too much, by how each velocity is resisted.
    """
    n = len(v)
    full = [[A[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    slow = [one if one.restitution is None else recovered(one, _STRIKES, h) for one in contacts]
    contacts = [bounded_contact(one, full, v, push, h) for one in slow]
    program = ContactProgram(full, v, push, contacts, intervals, h, varied=varied)
    found = _found(program, None, closely)
    speeds, struck = _struck(program, found)
    if struck:
        strikes = lt(0.0, sum((where(x, 1.0, 0.0) for x in struck), 0.0))
        found = cond(strikes, lambda old: _bounced(program, old, speeds, struck, closely), lambda old: old, found)
    impulses = [list(gamma) for gamma in found.impulses]
    return ConvexStep(list(found.w), impulses, list(found.pushes), found.steps, found.residual)


def _found(program: ContactProgram, start: Scalars | None, closely: bool) -> _Found:
    """The velocities, found without derivatives and differentiated by the equation that they solve."""
    known = resting(program)
    found = known.solution(None if start is None else still(start), closely)
    w = implied_velocities(program, still(list(found.at.w)))
    rates, impulses = program.rates(w), ()
    if program.contacts:
        impulses = array(program.impulses(rates, moved_as(still(list(found.used)), program.slips(rates))))
    pushes = array(program.pushes(rates)) if program.intervals else ()
    steps, residual = still([found.steps, 1e-6 * found.left / known.enough])
    return _Found(array(w), impulses, pushes, steps, residual)


def _struck(program: ContactProgram, found: _Found) -> tuple[list[Any], list[Any]]:
    """Speeds along normals before the step, and which contacts bounce; none where no contact is made to."""
    if all(contact.restitution is None for contact in program.contacts):
        return [], []
    speeds = [dot(contact.J[2], program.v) for contact in program.contacts]
    struck = [and_(lt(0.0, gamma[2]), lt(c, -_STRIKES)) for c, gamma in zip(speeds, found.impulses, strict=True)]
    return speeds, [
        x if one.restitution is not None else False for x, one in zip(struck, program.contacts, strict=True)
    ]


def _bounced(program: ContactProgram, first: _Found, speeds: Scalars, struck: Scalars, closely: bool) -> _Found:
    """The step in which contacts that are struck part again, without more energy than it would end with without any."""
    A = [list(row[: i + 1]) for i, row in enumerate(program.A)]
    changed = _POSITIVE.solved(_POSITIVE.factors(A, Pivots("contact_velocities")), program.push)
    bounces, contacts = [], []
    for contact, c, strikes in zip(program.contacts, speeds, struck, strict=True):
        if contact.restitution is None:
            bounces.append(0.0)
            contacts.append(contact)
        else:
            later = and_(not_(strikes), lt(_TOUCHES, contact.gap))
            contacts.append(replace(contact, gap=where(later, _FAR, contact.gap)))
            away = fmax(fmin(dot(contact.J[2], changed), 0.0) - contact.restitution * c, 1e-300)
            bounces.append(where(strikes, away, 0.0))
    w = list(first.w)
    other = _found(replace(program, bounces=bounces, contacts=contacts), w, closely)
    free = [a + b for a, b in zip(program.v, changed, strict=True)]
    apart = [a - b for a, b in zip(list(other.w), w, strict=True)]
    a = 0.5 * _form(program.A, apart, apart)
    b = _form(program.A, apart, w)
    c = fmin(0.5 * (_form(program.A, w, w) - _form(program.A, free, free)), 0.0)
    share = where(lt(0.0, a + b + c), (sqrt(fmax(b * b - 4.0 * a * c, 0.0)) - b) / fmax(2.0 * a, 1e-300), 1.0)

    def between(x: Any, y: Any) -> Any:
        return x + share * (y - x)

    impulses = between(first.impulses, other.impulses)
    pushes = between(first.pushes, other.pushes) if program.intervals else ()
    residual = fmax(first.residual, other.residual)
    return _Found(between(first.w, other.w), impulses, pushes, first.steps + other.steps, residual)


def _form(A: Rows, x: Scalars, y: Scalars) -> Any:
    return dot(x, [dot(row, y) for row in A])
