"""Implicit derivatives of the velocities that solve a contact program.

Derivatives follow from the equation that the velocities solve.  With m(w, p) the change of momentum minus the impulses
of all forces except contacts, and slips s(w) those of the solution,

    F(w, p) = m − Σ Jᵀ γ(J w, s(w), p) = 0,     dw = −(∂F/∂w)⁻¹ ∂F/∂p dp,     ∂F/∂w = A + Jᵀ (G + μ G e₃ ∂s/∂c) J.

A is the mass matrix with implicit terms; γ and G are those of `contact_terms`.  Only the last term, of the slips at the
step's end, is not symmetric.  In reverse λ = −(∂F/∂w)⁻ᵀ w̄ and p̄ = (∂F/∂p)ᵀ λ.  These nearly symmetric equations are
eliminated from the last to the first without pivoting (`UpperLower`): H = U L with ones on U's diagonal, which
preserves the same zeros as Lᵀ D L, those of bodies that are not connected.

Sources: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15; Werling et al., Fast and
feature-complete differentiable physics for articulated rigid bodies, RSS 2021 (differentiated time steps of convex
contact).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule, stop_gradient
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint
from linkwork.expr.autodiff.graph_derivative import is_zero as stays
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.symbol import Graph
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, Interval
from linkwork.simulation.algorithms.contact.convex_contact_solver import ContactProgram

__all__ = ["UpperLower", "implied_velocities", "resting"]

Scalars = Sequence[Any]


def implied_velocities(program: ContactProgram, w: Scalars) -> list[Any]:
    """Return the velocities w (nv), which solve the program, with derivatives attached.

    The derivatives are with respect to all values of the program.
    """
    shape = _ProgramShape.of(program)
    return apply_rule(_Implied(shape), [*w, *program.momentum(w), *shape.values(program)])


def resting(program: ContactProgram) -> ContactProgram:
    """Return the program with its values as constants, so that it has no derivatives."""
    shape = _ProgramShape.of(program)
    n = shape.n
    *values, aimed = stop_gradient([*program.v, *program.push, *shape.values(program), program.aimed])
    known = shape.program(values[2 * n :])
    each = zip(known.contacts, program.contacts, strict=True)
    contacts = [
        contact if original.limb is None else replace(contact, limb=original.limb.resting) for contact, original in each
    ]
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
        contacts = tuple((contact.stiffness is not None, contact.bearing is not None) for contact in program.contacts)
        return _ProgramShape(len(program.v), contacts, len(program.intervals), program.bounces is not None)

    def values(self, program: ContactProgram) -> list[Any]:
        result = [program.A[i][j] for i in range(self.n) for j in range(i + 1)]
        for contact in program.contacts:
            result += [
                *(x for row in contact.J for x in row),
                contact.gap,
                contact.friction,
                contact.forced,
                contact.least,
            ]
            result += [x for x in (contact.stiffness, contact.bearing) if x is not None]
            result += [] if contact.bearing is None else [contact.softness]
        for interval in program.intervals:
            result += [*interval.row, interval.target, interval.stiffness, interval.low, interval.high]
        return [*result, *(program.bounces or ()), program.h]

    def program(self, values: Scalars) -> ContactProgram:
        """Return the contact program with these values; its v and its impulse of other forces are zero."""
        n, remaining = self.n, iter(values)
        lower = [[next(remaining) for _ in range(i + 1)] for i in range(n)]
        A = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        contacts = []
        for stiff, bears in self.contacts:
            J = [[next(remaining) for _ in range(n)] for _ in range(3)]
            gap, friction, forced, least = next(remaining), next(remaining), next(remaining), next(remaining)
            stiffness = next(remaining) if stiff else None
            bearing, softness = (next(remaining), next(remaining)) if bears else (None, 1.0)
            contacts.append(ContactAt(J, gap, friction, stiffness, None, None, bearing, softness, forced, least))
        intervals = []
        for _ in range(self.intervals):
            row = [next(remaining) for _ in range(n)]
            intervals.append(Interval(row, next(remaining), next(remaining), next(remaining), next(remaining)))
        bounces = [next(remaining) for _ in contacts] if self.bounces else None
        return ContactProgram(A, [0.0] * n, [0.0] * n, contacts, intervals, next(remaining), bounces)


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
        """Return the factors of ∂F/∂w (nv × nv), the derivative of the program's gradient with respect to w."""
        return UpperLower(self.shape.program(values[2 * self.shape.n :]).jacobian(w))


@lru_cache(maxsize=32)
def _pulled(rule: _Implied, known: tuple[float | None, ...]) -> Region:
    """Return a region of the graph for the vector–Jacobian product wᵀ ∂v/∂inputs of the solution v.

    ``known`` are the inputs that are constants, None for others.  The region takes the other inputs and the weights
    (nv), and returns the gradient with respect to these inputs.
    """
    graph, n = Graph(), rule.shape.n
    varied = graph.inputs("x", (sum(x is None for x in known),))
    weights = graph.inputs("w", (n,))
    remaining = iter(varied)
    values = [next(remaining) if x is None else x for x in known]
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


def _less(x: Any, row: Scalars, values: Scalars) -> Any:
    for a, b in zip(row, values, strict=True):
        if not is_zero(a) and not is_zero(b):
            x = x - a * b
    return x
