"""What tasks and features that are functions of the user's have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from linkwork._util.validation import integer
from linkwork.constraints.user_functions import refuse_pickling
from linkwork.ik.tasks.task import TaskTarget

__all__ = ["FunctionRows", "read_shape"]


class FunctionRows:
    """What a function aims at, and what its rows are called."""

    _kind: ClassVar[str]  # "task" or "feature"
    name: str
    function: Callable[..., Any]
    shape: tuple[int, ...] | None  # of what it aims at
    units: str | tuple[str, ...]  # of all rows, or of each
    count: int  # of rows

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The user's function."""
        return (self.function,)

    @property
    def target_of(self) -> TaskTarget | None:
        """What its function gets, if anything."""
        return None if self.shape is None else TaskTarget(self.shape, "numbers", "what its function gets")

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name for each row."""
        return (self.name,) if self.count == 1 else tuple(f"{self.name}[{i}]" for i in range(self.count))

    @property
    def row_units(self) -> tuple[str, ...]:
        """The unit of each row."""
        return (self.units,) * self.count if isinstance(self.units, str) else self.units

    def __getstate__(self) -> dict[str, Any]:
        refuse_pickling(self, self._kind)
        return self.__dict__

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self


def read_shape(who: str, shape: Any) -> tuple[int, ...] | None:
    """The shape of what a function aims at, if it aims at anything.  Raises ValueError."""
    if shape is None:
        return None
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(integer(who, "shape", n, least=1, what="a whole number, or several,") for n in sizes)
