"""Implicit differentiation: derivatives of the solution of an equation, independent of the solver.

r(x, p) = 0 implies J dx = −∂r/∂p dp, with J = ∂r/∂x at the solution.  In reverse, with Jᵀλ = x̄, p̄ = −(∂r/∂p)ᵀλ.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.autodiff.custom_derivative import CustomDerivative

__all__ = ["ImplicitDerivative", "Solution"]

Scalars = Sequence[Any]


class Solution(NamedTuple):
    """Inputs, results and intermediate values of a rule."""

    inputs: Scalars
    results: Scalars
    extra: Scalars


class ImplicitDerivative(CustomDerivative):
    """A function whose first results are the x of r(x, p) = 0; further results have no derivative.

    A subclass defines the products with ∂r/∂p, forward and in reverse, and the solution of linear systems with J and
    Jᵀ.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of results that are x."""

    @property
    def ignored(self) -> int:
        """Number of leading inputs that are not p: x itself as an input, or an initial guess."""
        return 0

    @abstractmethod
    def residual_jvp(self, at: Solution, direction: Scalars) -> Scalars:
        """Return −∂r/∂p dp."""

    @abstractmethod
    def residual_vjp(self, at: Solution, multipliers: Scalars) -> Scalars:
        """Return −(∂r/∂p)ᵀλ, for all inputs."""

    @abstractmethod
    def solve_jacobian(self, at: Solution, right: Scalars, transpose: bool) -> Scalars:
        """Solve J x = right, or Jᵀ x = right with ``transpose``."""

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        if _are_zero(direction[self.ignored :]):
            return [0.0] * len(results)
        at = Solution(inputs, results, extra)
        result = self.solve_jacobian(at, self.residual_jvp(at, direction), False)
        return [*result, *[0.0] * (len(results) - self.size)]

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        if _are_zero(weights[: self.size]):
            return [0.0] * len(inputs)
        at = Solution(inputs, results, extra)
        return self.residual_vjp(at, self.solve_jacobian(at, weights[: self.size], True))


def _are_zero(values: Scalars) -> bool:
    """Return True if all values are known to be zero at trace time."""
    return all(x.__class__ is float and x == 0.0 for x in values)
