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
    """Return an operation for instructions with several results, whose value is a `MultiResult`."""
    return Operation(name, -1, _no_value, _no_value, None, Lowering("bundle", name), gives="b")


# The result of a bundle with the index that is the instruction's value.
PART = Operation("part", 1, _no_value, _no_value, None, Lowering("bundle", "part"), kinds="b")


class Forward(Protocol):
    """Protocol for dual numbers: results for any scalar type and their forward derivatives."""

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]: ...

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]: ...


class MultiResult(ABC):
    """Definition of an instruction with several results: an immutable, hashable value.

    Arguments and results are numbers, except for the arguments that `kinds` marks as truth values.
    """

    __slots__ = ()

    operation: ClassVar[Operation]

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of results."""

    def kinds(self, arguments: int) -> str:
        """Return a letter for each argument, as in `Operation.kinds`."""
        return "n" * arguments

    def with_bodies(self, change: Callable[[Any], Any]) -> Self:
        """Return the bundle with each body that it runs changed."""
        return self

    @abstractmethod
    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """Evaluate the results for floats, or for NumPy arrays that broadcast (a batch)."""

    @abstractmethod
    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        """Return the derivatives of the results in several directions, for those of the arguments.

        Raises NotDifferentiableError if there are none.
        """

    @abstractmethod
    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        """Return the gradient of Σ weights·results by the arguments.

        It is 0.0 where a weight or a gradient is structurally zero.  Raises NotDifferentiableError if there is none.
        """

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """Return the results for any scalar type."""
        highest: Any = max(arguments, key=lambda x: getattr(x, "_precedence", 0), default=None)
        bundled = getattr(highest, "_bundled", None)
        return self.evaluate(arguments) if bundled is None else bundled(self, arguments)
