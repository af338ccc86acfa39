"""A feature that is a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import place_of
from linkwork._util.validation import as_numbers, integer, names
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.tasks.function_task_function_rows import FunctionRows, read_shape
from linkwork.optimal.features.feature import DEEPEST, Feature, FeatureRows, Scalars, Window
from linkwork.optimal.features.function_feature_asking import AskingWindow

__all__ = ["FunctionFeature"]


@public_constructor
@dataclass(frozen=True)
class FunctionFeature(FunctionRows, Feature):
    """f(w), a number or an array with a row for each; f(w, target) where a ``shape`` of a target is said.

        problem.add(lambda w: w.point("tip")[2] - 0.1, "inequality", name="table")
        problem.add(lambda w: np.cross(w.v("wheel") * axis, w.point("rim")), "equality", name="rolls")

    The function asks ``w``, steps t, t − 1, ... of the path: ``w.q()``, ``w.v()``, ``w.a()``, ``w.jerk()``, of a joint
    or of the robot; ``w.pose``, ``w.point``, ``w.direction``, ``w.center_of_mass``, ``w.momentum``,
    ``w.kinetic_energy``, ``w.potential_energy``, ``w.torque``, ``w.power``; ``w.variables(name)``,
    ``w.parameter(name)``, ``w.time`` and ``w.step``.  What is asked of a configuration may be asked of an earlier step,
    ``back`` steps before.  Answers are symbols, on which NumPy's functions, the robot's own methods and those of
    `linkwork.expr` work.

    How many steps it looks at follows from what it asks, and rows by the chain rule from those of the answers.
    """

    _kind = "feature"

    name: str
    function: Callable[..., Any]
    _: KW_ONLY
    shape: tuple[int, ...] | None = None  # of what it aims at
    units: str | tuple[str, ...] = "1"  # of all rows, or of each
    target: Any = None
    depth: int = DEEPEST  # at most; less where it asks for less, once it is a robot's
    count: int = field(default=0, compare=False, repr=False)  # of rows: known once it is a robot's
    asked: tuple[str, ...] = field(default=(), compare=False, repr=False)  # what it asks for

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"FunctionFeature: name: expected a text, got {self.name!r}")
        who = f"feature {self.name!r}"
        if not callable(self.function):
            raise TypeError(f"{who}: expected a function of w, got {self.function!r}")
        put = object.__setattr__
        put(self, "depth", integer(who, "depth", self.depth, least=0, most=DEEPEST, what="a whole number"))
        units = names(who, "units", self.units, what="a unit, or one for each row")
        if not units:
            raise ValueError(f"{who}: units: expected a unit, or one for each row, got {self.units!r}")
        put(self, "units", self.units if isinstance(self.units, str) else units)
        put(self, "shape", read_shape(who, self.shape))
        if self.target is not None:
            found = as_numbers(self.target)
            if found is None or found.shape != self.shape or not np.isfinite(found).all():
                raise ValueError(f"{who}: target: expected finite numbers of shape {self.shape}, got {self.target!r}")
            put(self, "target", _nested(found.tolist()))

    @property
    def needs_forces(self) -> bool:
        return "torque" in self.asked or "power" in self.asked

    def settled(self, robot: Any, w: Window) -> Self:
        asking, more = self._asking(w, [0.5] * self._size)
        found = asking.run(self.function, *more)
        if not any(isinstance(x, Symbol) for x in found):
            raise ValueError(
                f"feature {self.name!r}: its function ({place_of(self.function)}) gives {found}, whatever the path does"
            )
        if not isinstance(self.units, str) and len(self.units) != len(found):
            raise ValueError(
                f"feature {self.name!r}: units: expected one for each of {len(found)} rows, got {self.units}"
            )
        asked = tuple(dict.fromkeys(question[0] for question in asking.asked))
        return replace(self, count=len(found), depth=asking.deepest, asked=asked)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        asking, more = self._asking(w, target)
        found = asking.run(self.function, *more)
        self._check(len(found))
        return found

    def rows(self, w: Window, target: Scalars) -> FeatureRows:
        asking, more = self._asking(w, target)
        found = asking.run_with_rows(self.function, *more)
        self._check(len(found.values))
        return found

    @property
    def _size(self) -> int:
        return 1 if self.shape is None else int(np.prod(self.shape))

    def _asking(self, w: Window, target: Scalars) -> tuple[AskingWindow, tuple[Any, ...]]:
        asking = AskingWindow(w, f"feature {self.name!r}", self.depth)
        if self.shape is None:
            return asking, ()
        aim = list(target) if len(target) else [0.0] * self._size
        return asking, (asking.given(aim, self.shape),)

    def _check(self, count: int) -> None:
        if self.count and count != self.count:
            raise ValueError(f"feature {self.name!r}: its function gave {self.count} numbers before, now {count}")


def _nested(x: Any) -> Any:
    return tuple(map(_nested, x)) if isinstance(x, list) else x
