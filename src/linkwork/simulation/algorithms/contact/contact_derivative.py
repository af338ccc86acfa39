"""How the velocities after a step with contacts vary: by the equation that they solve, not by the way to them.

With m(w, p) the change of momentum less the impulses of all but contacts, and slips s(w) those of the solution,

    F(w, p) = m − Σ Jᵀ γ(J w, s(w), p) = 0,     dw = −(∂F/∂w)⁻¹ ∂F/∂p dp,     ∂F/∂w = A + Jᵀ (G + μ G e₃ ∂s/∂c) J.

The last term, of slips that the step ends with, is the only one that is not symmetric.  In reverse λ = −(∂F/∂w)⁻ᵀ w̄
and p̄ = (∂F/∂p)ᵀ λ.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15; differentiated time steps of
convex contact: Werling et al., Fast and feature-complete differentiable physics for articulated rigid bodies, RSS 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from linkwork.expr.autodiff.custom_derivative import CustomDerivative, ruled, still
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import adjoint, is_zero
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.symbol import Graph
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, Interval
from linkwork.simulation.algorithms.contact.convex_contact_solver import ContactProgram
from linkwork.simulation.algorithms.contact.unsymmetric_solve import UpperLower

__all__ = ["implied_velocities", "resting"]

Scalars = Sequence[Any]


def implied_velocities(program: ContactProgram, w: Scalars) -> list[Any]:
    """w (nv), which solves the program, differentiated by all of its numbers."""
    shape = _ProgramShape.of(program)
    return ruled(_Implied(shape), [*w, *program.momentum(w), *shape.numbers(program)])


def resting(program: ContactProgram) -> ContactProgram:
    """The same program without derivatives."""
    shape = _ProgramShape.of(program)
    n = shape.n
    numbers = still([*program.v, *program.push, *shape.numbers(program)])
    known = shape.program(numbers[2 * n :])
    each = zip(known.contacts, program.contacts, strict=True)
    contacts = [one if given.limb is None else replace(one, limb=given.limb.resting) for one, given in each]
    return replace(known, v=numbers[:n], push=numbers[n : 2 * n], contacts=contacts)


@dataclass(frozen=True, slots=True)
class _ProgramShape:
    """What a program's numbers are, one after the other."""

    n: int
    contacts: tuple[tuple[bool, bool], ...]  # whether each has a stiffness, and a bearing
    intervals: int
    bounces: bool

    @staticmethod
    def of(program: ContactProgram) -> _ProgramShape:
        contacts = tuple((one.stiffness is not None, one.bearing is not None) for one in program.contacts)
        return _ProgramShape(len(program.v), contacts, len(program.intervals), program.bounces is not None)

    def numbers(self, program: ContactProgram) -> list[Any]:
        found = [program.A[i][j] for i in range(self.n) for j in range(i + 1)]
        for one in program.contacts:
            found += [*(x for row in one.J for x in row), one.gap, one.friction]
            found += [x for x in (one.stiffness, one.bearing) if x is not None]
        for interval in program.intervals:
            found += [*interval.row, interval.wanted, interval.stiffness, interval.low, interval.high]
        return [*found, *(program.bounces or ()), program.h]

    def program(self, numbers: Scalars) -> ContactProgram:
        """The program of such numbers, but for what its momentum is made of."""
        n, rest = self.n, iter(numbers)
        lower = [[next(rest) for _ in range(i + 1)] for i in range(n)]
        A = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        contacts = []
        for stiff, bears in self.contacts:
            J = [[next(rest) for _ in range(n)] for _ in range(3)]
            numbers = next(rest), next(rest), next(rest) if stiff else None
            contacts.append(ContactAt(J, *numbers, bearing=next(rest) if bears else None))
        intervals = []
        for _ in range(self.intervals):
            row = [next(rest) for _ in range(n)]
            intervals.append(Interval(row, next(rest), next(rest), next(rest), next(rest)))
        bounces = [next(rest) for _ in contacts] if self.bounces else None
        return ContactProgram(A, [0.0] * n, [0.0] * n, contacts, intervals, next(rest), bounces)


@dataclass(frozen=True, slots=True)
class _Implied(CustomDerivative):
    """w: inputs are w, the momentum there, and the program's numbers."""

    shape: _ProgramShape

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs[: self.shape.n], []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        n = self.shape.n
        if all(map(is_zero, direction[n:])):
            return [0.0] * n
        moving = seeded([*results, *inputs[n:]], [*[0.0] * n, *direction[n:]])
        left = [parts(x, moving[0].level)[1] for x in self._left(moving)]
        return self._factors(results, inputs).solved([-x for x in left])

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        if all(map(is_zero, weights)):
            return [0.0] * len(inputs)
        known = tuple(None if hasattr(x, "_precedence") else float(x) for x in inputs)
        varied = [x for x, number in zip(inputs, known, strict=True) if number is None]
        found = iter(_pulled(self, known).run([*varied, *weights]))
        n = self.shape.n
        gradient = [next(found) if number is None else 0.0 for number in known]
        return [*[0.0] * n, *gradient[n:]]

    def _left(self, numbers: Scalars) -> list[Any]:
        """F, of w, the momentum and the program's numbers."""
        n = self.shape.n
        w, momentum, program = numbers[:n], numbers[n : 2 * n], self.shape.program(numbers[2 * n :])
        return program.unbalanced(momentum, program.terms(program.slips(program.rates(w))), w)

    def _factors(self, w: Scalars, numbers: Scalars) -> UpperLower:
        """Of ∂F/∂w."""
        return UpperLower(self.shape.program(numbers[2 * self.shape.n :]).jacobian(w))


@lru_cache(maxsize=32)
def _pulled(rule: _Implied, known: tuple[float | None, ...]) -> Region:
    """The gradient by what is not known, of that and the weights."""
    graph, n = Graph(), rule.shape.n
    varied = graph.inputs("x", (sum(x is None for x in known),))
    weights = graph.inputs("w", (n,))
    rest = iter(varied)
    numbers = [next(rest) if x is None else x for x in known]
    pulled = rule._factors(numbers[:n], numbers).solved_transposed(list(weights))
    gradient = adjoint(rule._left(numbers), list(varied), [-x for x in pulled])
    return Region.of(gradient, [*varied, *weights])
