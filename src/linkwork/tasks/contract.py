"""The contract of a task, over any scalar: what a configuration is asked to do, and by how much it fails.

A task is a value that names frames, joints and points of a robot.  Its *errors* e(q) are zero, or within ranges, where
it is done; its rows are the Jacobian of these, ė = J v, in the tangent space, so nothing leaves the manifold of
configurations.  What it aims at comes with each call, as a *target*, or stands in the task.

A task without a weight is *hard*: it has to be done, within its tolerance.  One with a weight w is *soft*, and adds
½ Σ (w e)² to what is minimised; w has the unit 1/m or 1/rad, so that an error of 1/w costs ½.

Everything that a task asks about a robot it asks of a `Kinematics`, as constraints do.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..constraints.contract import Kinematics, References

__all__ = ["Task", "TaskRows", "TaskTarget"]

Scalars = Sequence[Any]

TOLERANCE = 1e-6  # [m, rad]


@dataclass(frozen=True, slots=True)
class TaskRows:
    """The errors of a task in one state, and their Jacobian: nv numbers a row."""

    errors: list[Any]
    rows: list[list[Any]]


@dataclass(frozen=True, slots=True)
class TaskTarget:
    """What comes with each call: the shape of an array, "nq" for a configuration, and what kind of thing it is."""

    shape: tuple[int | str, ...]
    kind: str  # "pose", "rotation", "place", "direction", "configuration" or "numbers"
    doc: str = ""


class Task(ABC):
    """A task: an immutable value with a name of its own, by which its target is given.

    Fields of every kind: ``name``; ``weight`` (nothing where it is hard), a number or one a row [1/m, 1/rad];
    ``level`` of priority, 0 first; ``tolerance`` of its errors, a number for the angle and the way that may be left, or
    one a row, infinite where a row is free; ``target``, where it is always the same.
    """

    name: str
    weight: float | tuple[float, ...] | None
    level: int
    tolerance: float | tuple[float, ...]
    target: Any

    @property
    def references(self) -> References:
        """What of a robot it names."""
        return References()

    @property
    def target_of(self) -> TaskTarget | None:
        """What it aims at; nothing where there is nothing to say."""
        return None

    @property
    @abstractmethod
    def row_names(self) -> tuple[str, ...]:
        """What each of its errors is called: as many as there are."""

    @property
    @abstractmethod
    def row_units(self) -> tuple[str, ...]:
        """The unit of each error: "m", "rad" or "1"."""

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Between which numbers each error may be: (0, 0) where it is to vanish."""
        return ((0.0, 0.0),) * len(self.row_names)

    @abstractmethod
    def rows(self, k: Kinematics, target: Scalars) -> TaskRows:
        """Errors and Jacobian in a state; ``target`` are the numbers of what it aims at, none where there is none."""

    def checked(self, robot: Any) -> Iterable[str]:
        """What is wrong with it for a robot, a message each, besides names that are not there."""
        return ()

    @property
    def hard(self) -> bool:
        """Whether it has to be done."""
        return self.weight is None

    @property
    def weights(self) -> tuple[float, ...]:
        """By row; 0 of a hard one."""
        return self._by_row(0.0 if self.weight is None else self.weight, "weight")

    @property
    def tolerances(self) -> tuple[float, ...]:
        """By row."""
        return self.tolerances_of(self.tolerance)

    def tolerances_of(self, given: Any) -> tuple[float, ...]:
        """By row: one number bounds the length of what is left in each unit, whichever axes it is in."""
        if isinstance(given, tuple):
            return self._by_row(given, "tolerance")
        units = self.row_units
        return tuple(given / math.sqrt(units.count(unit)) if unit in ("m", "rad") else given for unit in units)

    def _by_row(self, given: Any, what: str) -> tuple[float, ...]:
        count = len(self.row_names)
        if isinstance(given, tuple):
            if len(given) != count:
                raise ValueError(
                    f"task {self.name!r}: {what}: expected a number, or one for each of its {count} rows "
                    f"({', '.join(self.row_names)}), got {len(given)}"
                )
            return given
        return (given,) * count

    def settle(self, default: str) -> None:
        """What every kind's ``__post_init__`` ends with: its name and numbers as they are meant.

        Raises TypeError and ValueError for what is none.
        """
        put = object.__setattr__
        if not isinstance(self.name, str):
            raise TypeError(f"{type(self).__name__}: name: expected a text, got {self.name!r}")
        put(self, "name", self.name or default)
        if isinstance(self.level, bool) or not isinstance(self.level, int) or self.level < 0:
            raise ValueError(f"task {self.name!r}: level: expected 0, 1, 2 ..., got {self.level!r}")
        if self.weight is not None:
            put(self, "weight", _numbers(self.name, "weight", "1/m or 1/rad", self.weight, math.inf))
        put(self, "tolerance", _numbers(self.name, "tolerance", "m or rad", self.tolerance, None))
        assert len(self.weights) == len(self.tolerances) == len(self.row_units)


def _numbers(name: str, what: str, unit: str, given: Any, below: float | None) -> float | tuple[float, ...]:
    """A number that is not negative, or several.  A tolerance is above zero, and may be infinite."""
    least = "above 0" if below is None else "from 0"

    def one(x: Any) -> float:
        try:
            found = float(x)
        except (TypeError, ValueError):
            found = math.nan
        if not (found > 0.0 if below is None else 0.0 <= found < below) or isinstance(x, str):
            raise ValueError(f"task {name!r}: {what}: expected a number {least} [{unit}], or one a row, got {given!r}")
        return found

    if isinstance(given, (int, float)) or not hasattr(given, "__len__") or isinstance(given, str):
        return one(given)
    return tuple(one(x) for x in given)
