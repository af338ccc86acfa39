"""Implicit differentiation: derivatives of the solution of an equation, independent of the solver.

r(x, p) = 0 implies J dx = −∂r/∂p dp, with J = ∂r/∂x at the solution.  In reverse, with Jᵀλ = x̄, p̄ = −(∂r/∂p)ᵀλ.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from linkwork.expr.autodiff.custom_derivative import CustomDerivative

__all__ = ["ImplicitDerivative", "Solution"]

Scalars = Sequence[Any]


class Solution(NamedTuple):
    """Point at which an implicit function is differentiated: the rule's inputs, results and intermediate values."""

    inputs: Scalars
    results: Scalars
    extra: Scalars


class ImplicitDerivative(CustomDerivative):
    """Function that returns the solution x of an equation r(x, p) = 0, differentiated without its solver.

    The first results are x; further results, such as a status, have no derivative.  With J = ∂r/∂x, a subclass defines
    the products −∂r/∂p dp and −(∂r/∂p)ᵀλ, and the solution of linear systems with J and Jᵀ.
    """

    __slots__ = ()

    separable: ClassVar[bool] = False

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of elements of the solution x; they are the first of the function's results."""

    @property
    def ignored(self) -> int:
        """Number of leading inputs that are not p: x itself as an input, or an initial guess."""
        return 0

    @abstractmethod
    def residual_jvp(self, at: Solution, direction: Scalars) -> Scalars:
        """Return −∂r/∂p dp, the change of −r at constant x.

        ``direction`` has an element for every input of the function; dp are its elements for p.
        """

    @abstractmethod
    def residual_vjp(self, at: Solution, multipliers: Scalars) -> Scalars:
        """Return −(∂r/∂p)ᵀλ with an element for every input of the function; λ are the ``multipliers``."""

    @abstractmethod
    def solve_jacobian(self, at: Solution, right: Scalars, transpose: bool) -> Scalars:
        """Return J⁻¹ · right, or J⁻ᵀ · right with ``transpose``, where J = ∂r/∂x."""

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
