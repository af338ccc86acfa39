"""Instructions with several results, and what they mean for every kind of number.

A bundle is the value of such an instruction: a loop, a choice, a call, a rule of differentiation.  It knows how many
results there are, what they are on plain numbers, and how it is differentiated; each result is taken out by a `PART`.
Whatever walks over instructions asks the bundle, and knows nothing of its kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from linkwork.expr.scalar.operations import Lowering, Operation

__all__ = ["PART", "Forward", "FunctionSpec", "MultiResult", "bundle_operation"]

FunctionSpec = Mapping[Any, Any]  # derivatives in several directions, sparse: direction -> value


def _no_value(*arguments: Any) -> Any:
    raise TypeError("an instruction of several results has its meaning in its value")


def bundle_operation(name: str) -> Operation:
    """An operation of any number of arguments and results: its instructions have a `MultiResult` for their value."""
    return Operation(name, -1, _no_value, _no_value, None, Lowering("bundle", name), gives="b")


# The result of a bundle that the instruction's value counts.
PART = Operation("part", 1, _no_value, _no_value, None, Lowering("bundle", "part"), kinds="b")


class Forward(Protocol):
    """What dual numbers ask for: results for any kind of number, and their derivatives forward.  Bundles are some."""

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]: ...

    def pushed(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[FunctionSpec]
    ) -> Sequence[FunctionSpec]: ...


class MultiResult(ABC):
    """What an instruction of several results means.  Equal bundles are equal values, and can be hashed.

    Arguments and results are numbers, but for the arguments that `kinds` says are truth values.
    """

    __slots__ = ()

    operation: ClassVar[Operation]

    @property
    @abstractmethod
    def count(self) -> int:
        """How many results there are."""

    def kinds(self, arguments: int) -> str:
        """A letter for each of so many arguments, as in `Operation.kinds`."""
        return "n" * arguments

    def with_bodies(self, change: Callable[[Any], Any]) -> Self:
        """The bundle with something else in the place of each body that it runs."""
        return self

    @abstractmethod
    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The results for floats, or for NumPy arrays that broadcast: a batch."""

    @abstractmethod
    def pushed(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[FunctionSpec]
    ) -> Sequence[FunctionSpec]:
        """The results' derivatives in several directions, of the arguments' in these directions.

        Raises NotDifferentiableError where there is no way to them.
        """

    @abstractmethod
    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        """The gradient of Σ weights·results by the arguments; 0.0 where a weight or a gradient is structurally zero.

        Raises NotDifferentiableError where there is no way to it.
        """

    def __call__(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The results for any kind of number."""
        highest: Any = max(arguments, key=lambda x: getattr(x, "_precedence", 0), default=None)
        bundled = getattr(highest, "_bundled", None)
        return self.on_numbers(arguments) if bundled is None else bundled(self, arguments)
