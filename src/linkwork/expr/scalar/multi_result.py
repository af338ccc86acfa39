"""Instructions with several results, defined for every scalar type.

A bundle is the value of such an instruction: a loop, a branch, a call, a derivative rule.  It defines the number of its
results, their values on numbers, and its derivatives; a `PART` instruction extracts each result.  Code that traverses
instructions uses this interface and does not know the kinds of bundles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from linkwork.expr.scalar.operations import Lowering, Operation

__all__ = ["PART", "Forward", "MultiResult", "SparseRow", "bundle_operation"]

SparseRow = Mapping[Any, Any]  # sparse derivatives in several directions: direction -> value


def _no_value(*arguments: Any) -> Any:
    raise TypeError("an instruction with several results is evaluated by its value")


def bundle_operation(name: str) -> Operation:
    """Return an operation that marks an instruction with several results.

    The value of such an instruction is a `MultiResult`.
    """
    return Operation(name, -1, _no_value, _no_value, None, Lowering("bundle", name), gives="b")


# The result of a bundle with the index that is the instruction's value.
PART = Operation("part", 1, _no_value, _no_value, None, Lowering("bundle", "part"), kinds="b")


class Forward(Protocol):
    """Protocol of a function with several results that has directional derivatives.

    A call returns the results for any scalar type, and ``push_forward`` their derivatives in several directions.
    """

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]: ...

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]: ...


class MultiResult(ABC):
    """Operation with several results (a bundle), such as a loop: an immutable, hashable value.

    Arguments and results are numbers, except for the arguments that `kinds` marks as truth values.
    """

    __slots__ = ()

    operation: ClassVar[Operation]

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of results."""

    @property
    def used_results(self) -> Sequence[int]:
        """Indices of the results that are used; the others are never read."""
        return range(self.count)

    def kinds(self, arguments: int) -> str:
        """Return a text with a letter for each argument: n for a number, t for a truth value."""
        return "n" * arguments

    def differentiated(self, arguments: int) -> range:
        """Return the indices of the arguments with respect to which the results have derivatives."""
        return range(arguments)

    def with_bodies(self, change: Callable[[Any], Any]) -> Self:
        """Return the operation with each of its bodies, such as that of a loop, replaced by ``change(body)``."""
        return self

    @abstractmethod
    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """Return the results for arguments that are floats, or NumPy arrays that broadcast (a batch)."""

    @abstractmethod
    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        """Return the derivatives of each result in several directions, as sparse rows.

        ``rows`` are the derivatives of each argument in these directions. Raises NotDifferentiableError if the
        operation has no derivatives.
        """

    @abstractmethod
    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        """Return the gradient of Σ weights·results with respect to the arguments.

        Weights and elements of the gradient that are structurally zero are 0.0.  Raises NotDifferentiableError if the
        operation has no gradient.
        """

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """Return the results for arguments of any scalar type."""
        highest: Any = max(arguments, key=lambda x: getattr(x, "_precedence", 0), default=None)
        bundled = getattr(highest, "_bundled", None)
        return self.evaluate(arguments) if bundled is None else bundled(self, arguments)
