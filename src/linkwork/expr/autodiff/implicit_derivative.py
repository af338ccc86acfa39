"""The derivative of what an equation determines: by the equation, whatever the way to its solution was.

From r(x, p) = 0 follows J dx = −∂r/∂p dp, with J = ∂r/∂x at the solution; in reverse, with Jᵀλ = x̄, p̄ = −(∂r/∂p)ᵀλ.

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
    """The inputs of a rule, its results, and what else was computed on the way."""

    inputs: Scalars
    results: Scalars
    extra: Scalars


class ImplicitDerivative(CustomDerivative):
    """A function whose first results are the x of r(x, p) = 0; the results after them have no derivative.

    A rule states how r changes with p, forward and in reverse, and how equations with J and Jᵀ are solved.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of results that are x."""

    @property
    def ignored(self) -> int:
        """The number of first inputs that are no p: x itself where it comes as an input, or a start."""
        return 0

    @abstractmethod
    def pushed(self, at: Solution, direction: Scalars) -> Scalars:
        """−∂r/∂p dp."""

    @abstractmethod
    def pulled(self, at: Solution, multipliers: Scalars) -> Scalars:
        """−(∂r/∂p)ᵀλ, by all inputs."""

    @abstractmethod
    def solved(self, at: Solution, right: Scalars, transpose: bool) -> Scalars:
        """x of J x = right, or of Jᵀ x = right."""

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        if _are_zero(direction[self.ignored :]):
            return [0.0] * len(results)
        at = Solution(inputs, results, extra)
        result = self.solved(at, self.pushed(at, direction), False)
        return [*result, *[0.0] * (len(results) - self.size)]

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        if _are_zero(weights[: self.size]):
            return [0.0] * len(inputs)
        at = Solution(inputs, results, extra)
        return self.pulled(at, self.solved(at, weights[: self.size], True))


def _are_zero(numbers: Scalars) -> bool:
    """Whether numbers are known to be zero, whatever the inputs are."""
    return all(x.__class__ is float and x == 0.0 for x in numbers)
