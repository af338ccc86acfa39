"""A task that is a function of the user's.

What tasks and features that are functions of the user's have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import source_of
from linkwork._util.validation import integer, names
from linkwork.constraints.constraint import References
from linkwork.constraints.user_functions import StateQuery, refuse_pickling
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.tasks.task import TOLERANCE, Scalars, Task, TaskKinematics, TaskTarget

__all__ = ["AskingAll", "FunctionRows", "FunctionTask", "read_shape"]


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
    def component_names(self) -> tuple[str, ...]:
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


def read_shape(caller: str, shape: Any) -> tuple[int, ...] | None:
    """The shape of what a function aims at, if it aims at anything.  Raises ValueError."""
    if shape is None:
        return None
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(integer(caller, "shape", n, least=1, what="an integer, or several,") for n in sizes)


class AskingAll(StateQuery):
    """A robot in a configuration, as a function of the user's asks about it: also for the whole of q."""

    def __init__(self, k: TaskKinematics, name: str) -> None:
        super().__init__(k, name)
        self._whole = k

    def q(self, joint: str | None = None) -> Any:
        """The configuration of a joint, a number or an array (nq of it,); without a name that of the robot (nq,)."""
        if joint is not None:
            return super().q(joint)
        result = self._whole.configuration
        return self._answer(("q",), lambda: result, (len(result),))

    def given(self, target: Scalars, shape: tuple[int, ...]) -> Any:
        """What the task aims at: an array, or a number."""
        return self._answer(("target",), lambda: target, shape)


@public_constructor
@dataclass(frozen=True)
class FunctionTask(FunctionRows, Task):
    """Errors are f(k), a number or an array with a row for each; f(k, target) where a ``shape`` of a target is said.

        lw.ik.FunctionTask("level", lambda k: k.point("left")[2] - k.point("right")[2])
        lw.ik.FunctionTask("tip", lambda k, target: robot.pose(k.q(), "hand")[:3, 3] - target, shape=(3,))

    The function asks ``k``, as one of `linkwork.constraints.Holonomic` does: ``k.pose``, ``k.point``, ``k.direction``,
    ``k.center_of_mass``, ``k.q(joint)``; and ``k.q()`` is the robot's configuration, symbols on which the robot's own
    methods work, NumPy's functions and those of `linkwork.expr`.  Rows are derived in the tangent space.
    """

    _kind = "task"

    name: str
    function: Callable[..., Any]
    _: KW_ONLY
    shape: tuple[int, ...] | None = None  # of what it aims at
    units: str | tuple[str, ...] = "m"  # of all rows, or of each: "m", "rad" or "1"
    target: Any = None
    weight: Any = None
    level: int = 0
    tolerance: Any = TOLERANCE
    count: int = field(default=0, compare=False, repr=False)  # of rows: known once it is a robot's
    asked: tuple[tuple[str, ...], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"FunctionTask: name: expected a string, got {self.name!r}")
        if not callable(self.function):
            raise TypeError(f"task {self.name!r}: expected a function of k, got {self.function!r}")
        units = names("FunctionTask", "units", self.units, what="a unit, or one for each row")
        if not units or any(unit not in ("m", "rad", "1") for unit in units):
            raise ValueError(f'task {self.name!r}: units: expected "m", "rad" or "1", or one for each row, got {units}')
        object.__setattr__(self, "units", self.units if isinstance(self.units, str) else units)
        object.__setattr__(self, "shape", read_shape(f"task {self.name!r}", self.shape))
        self.settle(self.name)

    @property
    def known(self) -> bool:
        return self.count > 0

    @property
    def references(self) -> References:
        return References()

    def errors(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        result = self._asked(state, target)[0]
        if self.count and len(result) != self.count:
            raise ValueError(f"task {self.name!r}: its function gave {self.count} numbers before, now {len(result)}")
        return result

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        size = 1 if self.shape is None else int(np.prod(self.shape))
        result, asked = self._asked(state, [0.5] * size)
        if not any(isinstance(x, Symbol) for x in result):
            raise ValueError(
                f"task {self.name!r}: its function ({source_of(self.function)}) gives {result}, whatever the robot does"
            )
        if not isinstance(self.units, str) and len(self.units) != len(result):
            raise ValueError(
                f"task {self.name!r}: units: expected one for each of {len(result)} rows, got {self.units}"
            )
        self.rows(state, [0.5] * size)
        return replace(self, count=len(result), asked=asked)

    def _asked(self, state: TaskKinematics, target: Scalars) -> tuple[list[Any], tuple[tuple[str, ...], ...]]:
        asking = AskingAll(state, f"task {self.name!r}")
        more = () if self.shape is None else (asking.given(target, self.shape),)
        return asking.run(self.function, *more), asking.asked
