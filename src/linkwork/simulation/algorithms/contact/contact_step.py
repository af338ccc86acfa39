"""Velocities after a time step with contacts, and impacts with restitution.

Impacts: a contact that approaches faster than some speed separates with a fraction e of it, by Newton's law.  The step
is first solved without restitution, which identifies the impacts.  It is then solved again, with −e c⁻ plus the change
by forces during the step as the target of those contacts.  All contacts are in one program, so resting contacts do not
yield.  Bodies that separate and reach others across a gap within the step strike these in the next step, with their
speed: chains of impacts are resolved in order, one link a step.  Meanwhile these bodies may overlap; bouncing contacts
are pushed apart no faster than others, as that would add energy.  With friction, Newton's law may add energy (Kane and
Levinson 1985).  Steps between the two have impulses within the same cones; the result is the one farthest from the
first that does not add energy.

Sources: Moreau, Unilateral contact and dry friction in finite freedom dynamics, in: Nonsmooth Mechanics and
Applications, CISM 302, 1988 (Newton's law for several contacts); Kane and Levinson, Dynamics: Theory and Applications,
1985.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.custom_derivative import stop_gradient, with_derivative_of
from linkwork.expr.control import cond, while_loop
from linkwork.expr.linalg.factorizations import Symmetric
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.linalg.triangular_factors import Pivots
from linkwork.expr.scalar.functions import and_, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.expr.scalar.precision import require_float64
from linkwork.simulation.algorithms.contact.contact_terms import (
    FAR,
    ContactAt,
    Interval,
    StepScale,
    aim_of,
    bounded_contact,
)
from linkwork.simulation.algorithms.contact.convex_contact_solver import ContactProgram
from linkwork.simulation.algorithms.contact.program_derivative import UpperLower, implied_velocities, resting

__all__ = ["ConvexStep", "contact_velocities"]


Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]
_STRIKES = 2.0  # approach speed of an impact with restitution, relative to the change by other forces in a step
_TOUCHES = 1e-9  # gap up to which bodies touch, in characteristic lengths
_EXACT = 1e-10  # square of the gradient at which Newton steps for derivatives end, relative to a solved program
_EXACT_STEPS, _SHORTEST = 40, 1e-4  # maximum number of its steps, and the least share of one
_POSITIVE = Symmetric(positive=True)


class ConvexStep(NamedTuple):
    """Result of a contact step: the velocities after it (nv), the impulses, iterations and the residual.

    ``impulses`` are the contacts' impulses along two tangents and the normal [N·s], ``pushes`` the intervals' impulses.
    ``iterations`` are Newton iterations.
    """

    v: list[Any]
    impulses: list[list[Any]]
    pushes: list[Any]
    iterations: Any
    residual: Any


class _SolvedProgram(NamedTuple):
    """Velocities and impulses that solve a contact program, as arrays."""

    w: Any
    impulses: Any
    pushes: Any
    steps: Any
    residual: Any


class _Newton(NamedTuple):
    """State of Newton's method in a contact program: velocities, gradient, and the length of the next step."""

    w: Any
    gradient: Any
    left: Any  # square of the gradient
    before: Any  # the same one step before
    share: Any
    enough: Any  # square at which it counts as solved


def contact_velocities(
    A: Rows,
    v: Scalars,
    push: Scalars,
    contacts: Sequence[ContactAt],
    intervals: Sequence[Interval],
    h: Any,
    scale: StepScale,
    varied: Callable[[Scalars], Scalars] | None = None,
    closely: bool = False,
) -> ConvexStep:
    """Return the velocities after a step h [s] from v (nv), with contacts and bounded impulses of ``intervals``.

    A (nv × nv) is the mass matrix with implicit terms, as its lower triangle, and ``push`` p (nv) is the impulse of
    all other forces.  ``varied(w)`` computes A (w − v) − p at velocities w, if its derivative is cheaper.  ``closely``
    solves for the slips (sliding speeds) to rounding, for derivatives.  ``residual`` is the remaining gradient
    relative to the inertia of each velocity; from 1 on the step is not solved.
    """
    require_float64([*v, *push, *(x for row in A for x in row)])  # stiff contacts are far from float32's accuracy
    n = len(v)
    full = [[A[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    contacts = [bounded_contact(contact, full, v, push, h, scale) for contact in contacts]
    aimed = sum((interval.aim for interval in intervals), sum((aim_of(contact, full, h) for contact in contacts), 0.0))
    program = ContactProgram(full, v, push, contacts, intervals, h, varied=varied, aimed=aimed)
    result = _solved(program, None, closely)
    speeds, struck = _struck(program, result)
    if struck:
        strikes = lt(0.0, sum((where(x, 1.0, 0.0) for x in struck), 0.0))
        result = cond(
            strikes, lambda old: _bounced(program, old, speeds, struck, scale.length, closely), lambda old: old, result
        )
    impulses = [list(gamma) for gamma in result.impulses]
    return ConvexStep(list(result.w), impulses, list(result.pushes), result.steps, result.residual)


def _solved(program: ContactProgram, start: Scalars | None, closely: bool) -> _SolvedProgram:
    """Solve a contact program on plain values; derivatives follow from the equation of its solution."""
    known = resting(program)
    result = known.solution(None if start is None else stop_gradient(start), closely)
    at, used, steps, left, enough = list(result.at.w), list(result.used), result.steps, result.left, result.enough
    if closely:
        exact, more = _exact(known, at)
        at, steps, left, enough = list(exact.w), steps + more, fmin(left, exact.left), exact.enough
        used = known.slips(known.rates(at))
    w = implied_velocities(program, stop_gradient(at))
    rates, impulses = program.rates(w), ()
    if program.contacts:
        impulses = array(program.impulses(rates, with_derivative_of(stop_gradient(used), program.slips(rates))))
    pushes = array(program.pushes(rates)) if program.intervals else ()
    steps, residual = stop_gradient([steps, 1e-6 * left / fmax(enough, 1e-300)])
    return _SolvedProgram(array(w), impulses, pushes, steps, residual)


def _exact(program: ContactProgram, w: Scalars) -> tuple[_Newton, Any]:
    """Return the velocities that solve a program to rounding, and the number of Newton steps to them from w (nv).

    The sliding speeds of contacts are those at these velocities. A step that does not reduce the gradient is
    shortened. Steps end where the program is solved and a step no longer halves the gradient.
    """

    def at(w: Scalars, before: Any, share: Any) -> _Newton:
        rates = program.rates(w)
        terms = program.terms(program.slips(rates))
        gradient, enough = program.unbalanced(program.change(w), terms, w), program.enough(terms, rates)
        return _Newton(array(w), array(gradient), program.sized(gradient), before, share, enough)

    def goes(state: _Newton) -> Any:
        unsolved = and_(lt(state.enough, state.left), lt(_SHORTEST, state.share))
        return and_(lt(_EXACT * state.enough, state.left), or_(unsolved, lt(state.left, 0.25 * state.before)))

    def step(state: _Newton) -> _Newton:
        change = UpperLower(program.jacobian(list(state.w))).solved(list(state.gradient))
        result = at([a - state.share * b for a, b in zip(state.w, change, strict=True)], state.left, 1.0)
        better = lt(result.left, state.left)
        w, gradient = (
            array([where(better, *ab) for ab in zip(*xy, strict=True)])
            for xy in zip(result[:2], state[:2], strict=True)
        )
        share = where(better, 1.0, 0.25 * state.share)
        enough = where(better, result.enough, state.enough)
        return _Newton(w, gradient, fmin(result.left, state.left), state.left, share, enough)

    result = while_loop(goes, step, at(list(w), 1e300, 1.0), max_iterations=_EXACT_STEPS)
    return result.state, result.iterations


def _struck(program: ContactProgram, result: _SolvedProgram) -> tuple[list[Any], list[Any]]:
    """Return the speed of each contact along its normal before the step, and for each contact True if it bounces.

    Both lists are empty if no contact has a restitution.
    """
    if all(contact.restitution is None for contact in program.contacts):
        return [], []
    speeds = [dot(contact.J[2], program.v) for contact in program.contacts]
    each = zip(program.contacts, speeds, result.impulses, strict=True)
    return speeds, [
        False if contact.restitution is None else and_(lt(0.0, gamma[2]), lt(c, -_STRIKES * contact.forced))
        for contact, c, gamma in each
    ]


def _bounced(
    program: ContactProgram, first: _SolvedProgram, speeds: Scalars, struck: Scalars, length: Any, closely: bool
) -> _SolvedProgram:
    """Solve the step again, with the separation velocities by restitution of the contacts that are ``struck``.

    ``length`` is the characteristic length [m].  The result has at most the kinetic energy of the step without
    contacts; otherwise it is interpolated towards ``first``, the solution without restitution.
    """
    A = [list(row[: i + 1]) for i, row in enumerate(program.A)]
    changed = _POSITIVE.solved(_POSITIVE.factors(A, Pivots("contact_velocities")), program.push)
    bounces, contacts = [], []
    for contact, c, strikes in zip(program.contacts, speeds, struck, strict=True):
        if contact.restitution is None:
            bounces.append(0.0)
            contacts.append(contact)
        else:
            later = and_(not_(strikes), lt(_TOUCHES * length, contact.gap))
            contacts.append(replace(contact, gap=where(later, FAR * length, contact.gap)))
            away = fmax(fmin(dot(contact.J[2], changed), 0.0) - contact.restitution * c, 1e-300)
            bounces.append(where(strikes, away, 0.0))
    w = list(first.w)
    bounced = _solved(replace(program, bounces=bounces, contacts=contacts), w, closely)
    free = [a + b for a, b in zip(program.v, changed, strict=True)]
    apart = [a - b for a, b in zip(list(bounced.w), w, strict=True)]
    a = 0.5 * _form(program.A, apart, apart)
    b = _form(program.A, apart, w)
    c = fmin(0.5 * (_form(program.A, w, w) - _form(program.A, free, free)), 0.0)
    share = where(lt(0.0, a + b + c), (sqrt(fmax(b * b - 4.0 * a * c, 0.0)) - b) / fmax(2.0 * a, 1e-300), 1.0)

    def between(x: Any, y: Any) -> Any:
        return x + share * (y - x)

    impulses = between(first.impulses, bounced.impulses)
    pushes = between(first.pushes, bounced.pushes) if program.intervals else ()
    residual = fmax(first.residual, bounced.residual)
    return _SolvedProgram(between(first.w, bounced.w), impulses, pushes, first.steps + bounced.steps, residual)


def _form(A: Rows, x: Scalars, y: Scalars) -> Any:
    return dot(x, [dot(row, y) for row in A])
