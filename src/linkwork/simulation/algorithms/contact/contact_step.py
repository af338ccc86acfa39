"""Velocities after a time step with contacts: impacts with restitution, and implicit derivatives.

Impacts: a contact that approaches faster than some speed separates with a fraction e of it, by Newton's law.  The step
is first solved without restitution, which identifies the impacts.  It is then solved again, with −e c⁻ plus the change
by forces during the step as the target of those contacts.  All contacts are in one program, so resting contacts do not
yield.  Bodies that separate and reach others across a gap within the step strike these in the next step, with their
speed: chains of impacts are resolved in order, one link a step.  Meanwhile these bodies may overlap; bouncing contacts
are pushed apart no faster than others, as that would add energy.  With friction, Newton's law may add energy (Kane and
Levinson 1985).  Steps between the two have impulses within the same cones; the result is the one farthest from the
first that does not add energy.

Derivatives follow from the equation that the velocities solve.  With m(w, p) the change of momentum minus the impulses
of all forces except contacts, and slips s(w) those of the solution,

    F(w, p) = m − Σ Jᵀ γ(J w, s(w), p) = 0,     dw = −(∂F/∂w)⁻¹ ∂F/∂p dp,     ∂F/∂w = A + Jᵀ (G + μ G e₃ ∂s/∂c) J.

Only the last term, of the slips at the step's end, is not symmetric.  In reverse λ = −(∂F/∂w)⁻ᵀ w̄ and
p̄ = (∂F/∂p)ᵀ λ.  These nearly symmetric equations are eliminated from the last to the first without pivoting
(`UpperLower`): H = U L with ones on U's diagonal, which preserves the same zeros as Lᵀ D L, those of bodies that are
not connected.

Sources: Newton's law for several contacts: Moreau, Unilateral contact and dry friction in finite freedom dynamics, in:
Nonsmooth Mechanics and Applications, CISM 302, 1988; Kane and Levinson, Dynamics: Theory and Applications, 1985;
Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15; Werling et al., Fast and feature-complete
differentiable physics for articulated rigid bodies, RSS 2021 (differentiated time steps of convex contact).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule, stop_gradient, with_derivative_of
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint
from linkwork.expr.autodiff.graph_derivative import is_zero as stays
from linkwork.expr.control import cond, while_loop
from linkwork.expr.linalg.factorizations import Symmetric
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.linalg.triangular_factors import Pivots
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.functions import and_, fmax, fmin, lt, not_, or_, sqrt, where
from linkwork.expr.scalar.precision import require_float64
from linkwork.expr.scalar.symbol import Graph
from linkwork.simulation.algorithms.contact.contact_terms import (
    FAR,
    ContactAt,
    Interval,
    StepScale,
    aim_of,
    bounded_contact,
)
from linkwork.simulation.algorithms.contact.convex_contact_solver import ContactProgram

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

    ``impulses`` are those of contacts along two tangents and the normal [N·s], ``pushes`` those of intervals.
    ``iterations`` are Newton iterations.
    """

    v: list[Any]
    impulses: list[list[Any]]
    pushes: list[Any]
    iterations: Any
    residual: Any


class _Solved(NamedTuple):
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
    contacts = [bounded_contact(one, full, v, push, h, scale) for one in contacts]
    aimed = sum((one.aim for one in intervals), sum((aim_of(one, full, h) for one in contacts), 0.0))
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


def _solved(program: ContactProgram, start: Scalars | None, closely: bool) -> _Solved:
    """Solve a contact program on plain values; derivatives follow from the equation of its solution."""
    known = resting(program)
    result = known.solution(None if start is None else stop_gradient(start), closely)
    at, used, steps, left = list(result.at.w), list(result.used), result.steps, result.left
    if closely:
        exact, more = _exact(known, at)
        at, steps, left = list(exact.w), steps + more, fmin(left, exact.left)
        used = known.slips(known.rates(at))
    w = implied_velocities(program, stop_gradient(at))
    rates, impulses = program.rates(w), ()
    if program.contacts:
        impulses = array(program.impulses(rates, with_derivative_of(stop_gradient(used), program.slips(rates))))
    pushes = array(program.pushes(rates)) if program.intervals else ()
    enough = known.enough(known.terms(used), known.rates(at))
    steps, residual = stop_gradient([steps, 1e-6 * left / fmax(enough, 1e-300)])
    return _Solved(array(w), impulses, pushes, steps, residual)


def _exact(program: ContactProgram, w: Scalars) -> tuple[_Newton, Any]:
    """Return the velocities that solve a program to rounding, and the number of Newton steps to them from w (nv).

    The slips are those of the velocities themselves.  A step that does not reduce the gradient is shortened.  Steps end
    where the program is solved and a step no longer halves the gradient.
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

    found = while_loop(goes, step, at(list(w), 1e300, 1.0), max_iterations=_EXACT_STEPS)
    return found.state, found.iterations


def _struck(program: ContactProgram, result: _Solved) -> tuple[list[Any], list[Any]]:
    """Return the speed of each contact along its normal before the step, and for each contact True if it bounces.

    Both lists are empty if no contact has a restitution.
    """
    if all(contact.restitution is None for contact in program.contacts):
        return [], []
    speeds = [dot(contact.J[2], program.v) for contact in program.contacts]
    each = zip(program.contacts, speeds, result.impulses, strict=True)
    return speeds, [
        False if one.restitution is None else and_(lt(0.0, gamma[2]), lt(c, -_STRIKES * one.forced))
        for one, c, gamma in each
    ]


def _bounced(
    program: ContactProgram, first: _Solved, speeds: Scalars, struck: Scalars, length: Any, closely: bool
) -> _Solved:
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
    other = _solved(replace(program, bounces=bounces, contacts=contacts), w, closely)
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
    return _Solved(between(first.w, other.w), impulses, pushes, first.steps + other.steps, residual)


def _form(A: Rows, x: Scalars, y: Scalars) -> Any:
    return dot(x, [dot(row, y) for row in A])


def implied_velocities(program: ContactProgram, w: Scalars) -> list[Any]:
    """Return the velocities w (nv), which solve the program, with their derivatives by all of its values attached."""
    shape = _ProgramShape.of(program)
    return apply_rule(_Implied(shape), [*w, *program.momentum(w), *shape.values(program)])


def resting(program: ContactProgram) -> ContactProgram:
    """Return the program with its values as constants, so that it has no derivatives."""
    shape = _ProgramShape.of(program)
    n = shape.n
    *values, aimed = stop_gradient([*program.v, *program.push, *shape.values(program), program.aimed])
    known = shape.program(values[2 * n :])
    each = zip(known.contacts, program.contacts, strict=True)
    contacts = [one if own.limb is None else replace(one, limb=own.limb.resting) for one, own in each]
    return replace(known, v=values[:n], push=values[n : 2 * n], contacts=contacts, aimed=aimed)


@dataclass(frozen=True, slots=True)
class _ProgramShape:
    """Layout of the values of a contact program in one flat list."""

    n: int
    contacts: tuple[tuple[bool, bool], ...]  # True if a contact has a stiffness, and a bearing
    intervals: int
    bounces: bool

    @staticmethod
    def of(program: ContactProgram) -> _ProgramShape:
        contacts = tuple((one.stiffness is not None, one.bearing is not None) for one in program.contacts)
        return _ProgramShape(len(program.v), contacts, len(program.intervals), program.bounces is not None)

    def values(self, program: ContactProgram) -> list[Any]:
        result = [program.A[i][j] for i in range(self.n) for j in range(i + 1)]
        for one in program.contacts:
            result += [*(x for row in one.J for x in row), one.gap, one.friction, one.forced, one.least]
            result += [x for x in (one.stiffness, one.bearing) if x is not None]
            result += [] if one.bearing is None else [one.firmness]
        for interval in program.intervals:
            result += [*interval.row, interval.target, interval.stiffness, interval.low, interval.high]
        return [*result, *(program.bounces or ()), program.h]

    def program(self, values: Scalars) -> ContactProgram:
        """Return the contact program with these values; its v and its impulse of other forces are zero."""
        n, rest = self.n, iter(values)
        lower = [[next(rest) for _ in range(i + 1)] for i in range(n)]
        A = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        contacts = []
        for stiff, bears in self.contacts:
            J = [[next(rest) for _ in range(n)] for _ in range(3)]
            gap, friction, forced, least = next(rest), next(rest), next(rest), next(rest)
            stiffness = next(rest) if stiff else None
            bearing, firmness = (next(rest), next(rest)) if bears else (None, 1.0)
            contacts.append(ContactAt(J, gap, friction, stiffness, None, None, bearing, firmness, forced, least))
        intervals = []
        for _ in range(self.intervals):
            row = [next(rest) for _ in range(n)]
            intervals.append(Interval(row, next(rest), next(rest), next(rest), next(rest)))
        bounces = [next(rest) for _ in contacts] if self.bounces else None
        return ContactProgram(A, [0.0] * n, [0.0] * n, contacts, intervals, next(rest), bounces)


@dataclass(frozen=True, slots=True)
class _Implied(CustomDerivative):
    """Derivative rule of the velocities w that solve a contact program, by the implicit-function theorem.

    The inputs are w, the change of momentum at w, and the values of the program.
    """

    shape: _ProgramShape
    separable: ClassVar[bool] = False

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs[: self.shape.n], []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        n = self.shape.n
        if all(map(stays, direction[n:])):
            return [0.0] * n
        moving = seeded([*results, *inputs[n:]], [*[0.0] * n, *direction[n:]])
        left = [parts(x, moving[0].level)[1] for x in self._left(moving)]
        return self._factors(results, inputs).solved([-x for x in left])

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        if all(map(stays, weights)):
            return [0.0] * len(inputs)
        known = tuple(None if hasattr(x, "_precedence") else float(x) for x in inputs)
        varied = [x for x, number in zip(inputs, known, strict=True) if number is None]
        result = iter(_pulled(self, known).run([*varied, *weights]))
        n = self.shape.n
        gradient = [next(result) if number is None else 0.0 for number in known]
        return [*[0.0] * n, *gradient[n:]]

    def _left(self, values: Scalars) -> list[Any]:
        """Return the gradient F (nv) of the program's function.

        ``values`` are w, the change of momentum at w, and the program's values, in one list.
        """
        n = self.shape.n
        w, momentum, program = values[:n], values[n : 2 * n], self.shape.program(values[2 * n :])
        return program.unbalanced(momentum, program.terms(program.slips(program.rates(w))), w)

    def _factors(self, w: Scalars, values: Scalars) -> UpperLower:
        """Return the factors of ∂F/∂w (nv × nv), the derivative of the program's gradient by w."""
        return UpperLower(self.shape.program(values[2 * self.shape.n :]).jacobian(w))


@lru_cache(maxsize=32)
def _pulled(rule: _Implied, known: tuple[float | None, ...]) -> Region:
    """Return a region of the graph that computes the gradient of the weighted velocities by the inputs.

    ``known`` are the inputs that are constants, None for others.  The region takes the other inputs and the weights
    (nv), and returns the gradient by these inputs.
    """
    graph, n = Graph(), rule.shape.n
    varied = graph.inputs("x", (sum(x is None for x in known),))
    weights = graph.inputs("w", (n,))
    rest = iter(varied)
    values = [next(rest) if x is None else x for x in known]
    pulled = rule._factors(values[:n], values).solved_transposed(list(weights))
    gradient = adjoint(rule._left(values), list(varied), [-x for x in pulled])
    return Region.of(gradient, [*varied, *weights])


class UpperLower:
    """Factors U L of a nearly symmetric matrix H (n × n), without pivoting."""

    def __init__(self, H: Sequence[Scalars]) -> None:
        n = len(H)
        rows = [list(row) for row in H]
        self.inverse: list[Any] = [0.0] * n
        for k in range(n - 1, -1, -1):
            self.inverse[k] = 1.0 / rows[k][k]
            for i in range(k):
                if is_zero(rows[i][k]):
                    continue
                share = rows[i][k] = rows[i][k] * self.inverse[k]
                for j in range(k):
                    if not is_zero(rows[k][j]):
                        rows[i][j] = rows[i][j] - share * rows[k][j]
        self.rows = rows

    def solved(self, b: Scalars) -> list[Any]:
        """Return the solution x (n) of H x = b, where H is the matrix that was factored."""
        n, x = len(b), list(b)
        for i in range(n - 1, -1, -1):
            x[i] = _less(x[i], self.rows[i][i + 1 :], x[i + 1 :])
        for i in range(n):
            x[i] = _less(x[i], self.rows[i][:i], x[:i]) * self.inverse[i]
        return x

    def solved_transposed(self, b: Scalars) -> list[Any]:
        """Return the solution x (n) of Hᵀ x = b, where H is the matrix that was factored."""
        n, x = len(b), list(b)
        for i in range(n - 1, -1, -1):
            x[i] = _less(x[i], [self.rows[k][i] for k in range(i + 1, n)], x[i + 1 :]) * self.inverse[i]
        for i in range(n):
            x[i] = _less(x[i], [self.rows[k][i] for k in range(i)], x[:i])
        return x


def _less(x: Any, row: Scalars, others: Scalars) -> Any:
    for a, b in zip(row, others, strict=True):
        if not is_zero(a) and not is_zero(b):
            x = x - a * b
    return x
