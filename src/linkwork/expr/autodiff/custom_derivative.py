"""Functions with custom derivatives: a rule or an equation defines the values and their derivatives.

`apply_rule` applies a rule to scalars of any type.  On symbols the results are stored with their rule, so `tangent`,
`jacobian` and `adjoint` use the rule instead of the operations; the rule is dropped when code is generated.  Thus a
linear solve is differentiated with its existing factors, and a root without the iterations that found it.

`stop_gradient` returns scalars without derivatives; `with_derivative_of` returns scalars with other scalars'
derivatives.

`ImplicitDerivative` differentiates the solution of an equation, independent of the solver: r(x, p) = 0 implies J dx =
−∂r/∂p dp, with J = ∂r/∂x at the solution.  In reverse, with Jᵀλ = x̄, p̄ = −(∂r/∂p)ᵀλ.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from linkwork.expr.autodiff.masked_terms import pull_back
from linkwork.expr.scalar.multi_result import MultiResult, SparseRow, bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = [
    "RULE",
    "CustomDerivative",
    "ImplicitDerivative",
    "RuleResult",
    "Solution",
    "apply_rule",
    "stop_gradient",
    "with_derivative_of",
]

RULE = bundle_operation("ruled")


class CustomDerivative(ABC):
    """Function of scalars that defines its derivatives itself, over any scalar.

    Instances are immutable; two instances are equal if they compute the same function.
    """

    __slots__ = ()

    separable: ClassVar[bool] = True
    """False if derivatives of all results are finite at the same points.

    If True, reverse mode calls `cotangent` once for each condition under which weights count.
    """

    def depends(self, result: int) -> bool:
        """Return True if result number ``result`` depends on the inputs.

        This holds even where `compute` returns a number in its place.
        """
        return False

    @abstractmethod
    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the results, and intermediate values that derivatives can use, for example factors.

        Second derivatives differentiate the intermediate values operation by operation, or by the rule that returned
        them.  They must therefore be results of rules, not steps of an iteration or steps that leave out zeros.
        """

    @abstractmethod
    def tangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], direction: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the directional derivative of the results for a ``direction`` of the inputs.

        ``extra`` are the intermediate values that `compute` returned.  Elements of the direction may be 0.0.
        """

    @abstractmethod
    def cotangent(
        self, inputs: Sequence[Any], results: Sequence[Any], extra: Sequence[Any], weights: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the gradient of Σ weights·results with respect to the inputs.

        ``extra`` are the intermediate values that `compute` returned.  Some of the weights may be 0.0.
        """


def apply_rule(rule: CustomDerivative, inputs: Sequence[Any]) -> list[Any]:
    """Return the results of a rule for scalars of any type: floats, batches, symbols, dual numbers."""
    highest: Any = max(inputs, key=lambda x: getattr(x, "_precedence", 0), default=None)
    kind = getattr(highest, "_precedence", 0)
    if kind > 1:  # dual numbers: values and tangents separately
        return list(highest._bundled(_PendingRule(rule), inputs))
    results, extra = rule.compute(inputs)
    if not hasattr(highest, "graph"):  # numbers, of any kind
        return list(results)
    kinds = "".join("t" if x.__class__ is bool or (hasattr(x, "op") and x.op.logical) else "n" for x in extra)
    bundle = RuleResult(rule, len(results), len(inputs), kinds)
    result = highest.graph.bundle(bundle, [*results, *inputs, *extra])
    return [
        symbol if hasattr(x, "_precedence") or rule.depends(k) else x
        for k, (symbol, x) in enumerate(zip(result, results, strict=True))
    ]


@dataclass(frozen=True)
class RuleResult(MultiResult):
    """Instruction of a trace that stores computed results together with the rule that differentiates them.

    Its arguments are the results, the inputs and the intermediate values of the rule, one after the other.
    """

    rule: CustomDerivative
    results: int
    inputs: int
    extra: str  # kinds of the intermediate values

    operation: ClassVar[Operation] = RULE

    @property
    def count(self) -> int:
        return self.results

    def kinds(self, arguments: int) -> str:
        return "n" * (arguments - len(self.extra)) + self.extra

    def differentiated(self, arguments: int) -> range:
        return range(self.count, self.count + self.inputs)

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return arguments[: self.count]

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        end = self.count + self.inputs
        return _push_forward(self.rule, arguments[self.count : end], results, arguments[end:], rows[self.count : end])

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        end = self.count + self.inputs
        inputs, extra = arguments[self.count : end], arguments[end:]
        separable = self.rule.separable
        result = pull_back(
            lambda weights_of_group: self.rule.cotangent(inputs, results, extra, weights_of_group),
            weights,
            apart=separable,
        )
        return [*[0.0] * self.count, *result, *[0.0] * (len(arguments) - end)]


@dataclass(frozen=True, slots=True)
class _PendingRule:
    """A rule of differentiation that is applied to dual numbers.

    It is applied first to the values, then by `push_forward` to the derivatives.
    """

    rule: CustomDerivative

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return apply_rule(self.rule, arguments)

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        _, extra = self.rule.compute(arguments)
        return _push_forward(self.rule, arguments, results, extra, rows)


def _push_forward(
    rule: CustomDerivative,
    inputs: Sequence[Any],
    results: Sequence[Any],
    extra: Sequence[Any],
    rows: Sequence[SparseRow],
) -> list[SparseRow]:
    """Return the sparse derivatives of a rule's results in all directions of the inputs' derivatives.

    ``rows`` has, for each input, a dict of its derivatives by direction.  The rule's `tangent` is called once for each
    direction.
    """
    result: list[dict[Any, Any]] = [{} for _ in results]
    for key in dict.fromkeys(key for row in rows for key in row):
        direction = [row.get(key, 0.0) for row in rows]
        for row, derivative in zip(result, rule.tangent(inputs, results, extra, direction), strict=True):
            if not (isinstance(derivative, float) and derivative == 0.0):
                row[key] = derivative
    return list(result)


Scalars = Sequence[Any]


@dataclass(frozen=True)
class _StopGradient(CustomDerivative):
    """Identity without a derivative."""

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs, []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        return [0.0] * len(results)

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        return [0.0] * len(inputs)


@dataclass(frozen=True)
class _WithDerivativeOf(CustomDerivative):
    """Rule that returns the first half of its inputs, with the derivatives of the second half."""

    def compute(self, inputs: Scalars) -> tuple[Scalars, Scalars]:
        return inputs[: len(inputs) // 2], []

    def tangent(self, inputs: Scalars, results: Scalars, extra: Scalars, direction: Scalars) -> Scalars:
        return direction[len(results) :]

    def cotangent(self, inputs: Scalars, results: Scalars, extra: Scalars, weights: Scalars) -> Scalars:
        return [*([0.0] * len(results)), *weights]


def stop_gradient(values: Scalars) -> list[Any]:
    """Return the same values without derivatives."""
    return apply_rule(_StopGradient(), values)


def with_derivative_of(values: Scalars, source: Scalars) -> list[Any]:
    """Return ``values`` with the derivatives of ``source``, which has the same length."""
    return apply_rule(_WithDerivativeOf(), [*values, *source])


class Solution(NamedTuple):
    """The point at which an implicit function x(p), with r(x, p) = 0, is differentiated.

    It has the inputs, results and intermediate values of the function's derivative rule.
    """

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
        """Number of leading inputs that are not parameters p of r(x, p) = 0, such as an initial guess of x."""
        return 0

    @abstractmethod
    def residual_jvp(self, at: Solution, direction: Scalars) -> Scalars:
        """Return −∂r/∂p dp, where r(x, p) = 0 is the equation: the change of −r at constant x.

        ``direction`` has an element for every input of the function; dp are its elements for p.
        """

    @abstractmethod
    def residual_vjp(self, at: Solution, multipliers: Scalars) -> Scalars:
        """Return −(∂r/∂p)ᵀλ, where r(x, p) = 0 is the equation and λ are the ``multipliers``.

        The result has an element for every input of the function.
        """

    @abstractmethod
    def solve_jacobian(self, at: Solution, right: Scalars, transpose: bool) -> Scalars:
        """Return J⁻¹ · right, or J⁻ᵀ · right with ``transpose``; J = ∂r/∂x belongs to the equation r(x, p) = 0."""

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
