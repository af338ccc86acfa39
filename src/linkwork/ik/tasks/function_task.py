"""Tasks defined by a user function, and what they share with user-defined features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import source_of
from linkwork._util.validation import integer, names
from linkwork.constraints.constraint import References
from linkwork.constraints.function_constraints import StateQuery
from linkwork.constraints.user_functions import OfUserFunctions
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.tasks.arguments import TOLERANCE
from linkwork.ik.tasks.task import Scalars, Task, TaskKinematics, TaskTarget

__all__ = ["ConfigurationQuery", "FunctionRows", "FunctionTask", "read_shape"]


class FunctionRows(OfUserFunctions):
    """Target, component names and units shared by user-defined tasks and features."""

    _kind: ClassVar[str]  # "task" or "feature"
    name: str
    function: Callable[..., Any]
    shape: tuple[int, ...] | None  # of the target
    units: str | tuple[str, ...]  # of all components, or of each
    count: int  # of components

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The user's function."""
        return (self.function,)

    @property
    def target_of(self) -> TaskTarget | None:
        """Target passed to the function, or None."""
        return None if self.shape is None else TaskTarget(self.shape, "numbers", "argument of its function")

    @property
    def component_names(self) -> tuple[str, ...]:
        """Name of each component."""
        return (self.name,) if self.count == 1 else tuple(f"{self.name}[{i}]" for i in range(self.count))

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of each component."""
        return (self.units,) * self.count if isinstance(self.units, str) else self.units


def read_shape(caller: str, shape: Any) -> tuple[int, ...] | None:
    """Return the shape of a target as a tuple; None means no target.  Raises ValueError."""
    if shape is None:
        return None
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(integer(caller, "shape", n, least=1, description="an integer, or several,") for n in sizes)


class ConfigurationQuery(StateQuery):
    """Kinematics of a robot at a configuration, as the argument k of user functions; it includes the whole of q."""

    def __init__(self, k: TaskKinematics, name: str) -> None:
        super().__init__(k, name)
        self._whole = k

    def q(self, joint: str | None = None) -> Any:
        """Return the configuration of a joint, a number or an array; without a name that of the robot (nq,)."""
        if joint is not None:
            return super().q(joint)
        result = self._whole.configuration
        return self._answer(("q",), lambda: result, (len(result),))

    def target(self, target: Scalars, shape: tuple[int, ...]) -> Any:
        """Return symbols for the task's target: an array of this ``shape``, or a scalar for ().

        The user's function receives them as an argument, so that its result is an expression of the target.
        """
        return self._answer(("target",), lambda: target, shape)


@public_constructor
@dataclass(frozen=True)
class FunctionTask(FunctionRows, Task):
    """Task with errors f(k), a number or an array; f(k, target) if a target ``shape`` is specified.

        lw.ik.FunctionTask("level", lambda k: k.point("left")[2] - k.point("right")[2])
        lw.ik.FunctionTask("tip", lambda k, target: robot.pose(k.q(), "hand")[:3, 3] - target, shape=(3,))

    The function queries ``k`` like a function of `linkwork.constraints.Holonomic`: ``k.pose``, ``k.point``,
    ``k.direction``, ``k.center_of_mass``, ``k.q(joint)``.  ``k.q()`` is the robot's configuration, an array of symbols
    on which the robot's methods, NumPy's functions and those of `linkwork.expr` work.  The Jacobian is derived in the
    tangent space.

    ``units`` is that of the errors, or one for each.  ``weight``, ``tolerance`` and ``name`` are those of every `Task`.
    ``count``, the number of errors, is computed.
    """

    _kind = "task"

    name: str
    function: Callable[..., Any]
    _: KW_ONLY
    shape: tuple[int, ...] | None = None  # of the target
    units: str | tuple[str, ...] = "m"  # of all components, or of each: "m", "rad" or "1"
    target: Any = None
    weight: Any = None
    level: int = 0
    tolerance: Any = TOLERANCE
    count: int = field(default=0, compare=False, repr=False)  # of components; set by `settled`
    queries: tuple[tuple[str, ...], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"FunctionTask: name: expected a string, got {self.name!r}")
        if not callable(self.function):
            raise TypeError(
                f"task {self.name!r}: function: expected a function of the kinematics k, got {self.function!r}"
            )
        units = names("FunctionTask", "units", self.units, description="a unit, or one per component")
        if not units or any(unit not in ("m", "rad", "1") for unit in units):
            raise ValueError(
                f'task {self.name!r}: units: expected "m", "rad" or "1", or one per component, got {units}'
            )
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
        result = self._evaluate(state, target)[0]
        if self.count and len(result) != self.count:
            raise ValueError(
                f"task {self.name!r}: function: expected {self.count} values in every state, got {len(result)}"
            )
        return result

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        size = 1 if self.shape is None else int(np.prod(self.shape))
        result, queries = self._evaluate(state, [0.5] * size)
        if not any(isinstance(x, Symbol) for x in result):
            raise ValueError(
                f"task {self.name!r}: function ({source_of(self.function)}): expected a function of the "
                f"configuration, got one that always returns {result}"
            )
        if not isinstance(self.units, str) and len(self.units) != len(result):
            raise ValueError(
                f"task {self.name!r}: units: expected one for each of {len(result)} components, got {self.units}"
            )
        self.rows(state, [0.5] * size)
        return replace(self, count=len(result), queries=queries)

    def _evaluate(self, state: TaskKinematics, target: Scalars) -> tuple[list[Any], tuple[tuple[str, ...], ...]]:
        query = ConfigurationQuery(state, f"task {self.name!r}")
        arguments = () if self.shape is None else (query.target(target, self.shape),)
        return query.run(self.function, *arguments), query.queries
