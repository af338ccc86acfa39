"""Prescribed motion: a joint or a point moves as a function of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.arguments import check_coordinate_joint, check_relative_motion, name_or
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References
from linkwork.constraints.jacobian_rows import AXES, RelativePoint, relative_point, timed
from linkwork.constraints.user_functions import OfUserFunctions, over_any_scalar
from linkwork.expr.scalar.symbol import Graph

__all__ = ["Prescribed"]


@public_constructor
@dataclass(frozen=True)
class Prescribed(OfUserFunctions, Constraint):
    """Prescribed motion of a joint, or of a point in a frame: q − f(t) = 0, or r − f(t) = 0.

        lw.constraints.Prescribed("crank", lambda t: 2.0 * t)
        lw.constraints.Prescribed(point="tip", motion=lambda t: (0.4, 0.1 * np.sin(t)), axes="xy")

    f returns one value for each coordinate of the joint, or for each of ``axes``, the axes of the frame along which
    the motion of the point is prescribed.  Its velocity and acceleration are derived.  The constraint force is the
    driving force of the joint [N·m, N] or the force on the point [N].

    The frame is ``relative_to``, by default the world.  ``units`` has the unit of each row, "rad" or "m".  ``name`` is
    the constraint's name, by default composed of the names of its parts.
    """

    joint: str | None = None
    motion: Callable[[Any], Any] | None = None
    _: KW_ONLY
    point: str | None = None
    relative_to: str = "world"
    axes: str = "xyz"
    name: str = ""
    units: tuple[str, ...] = field(default=(), compare=False)  # of a joint's rows: set by `bind`

    time_dependent = True

    def __post_init__(self) -> None:
        if (self.joint is None) == (self.point is None):
            raise ValueError(
                f"Prescribed: joint or point: expected either a joint or a point, got {self.joint!r} and {self.point!r}"
            )
        if not callable(self.motion):
            raise TypeError(f"Prescribed: motion: expected a function of time, got {self.motion!r}")
        if not self.axes or len({*self.axes}) != len(self.axes) or not {*self.axes} <= {*"xyz"}:
            raise ValueError(f'Prescribed: axes: expected some of "xyz", each once, got {self.axes!r}')
        object.__setattr__(self, "name", name_or(self.name, f"prescribed({self.joint or self.point})"))
        if self.point is not None:
            self._motion(Graph().input("t"), len(self.axes))

    @property
    def references(self) -> References:
        if self.point is None:
            return References(joints=(str(self.joint),))
        return References(points=(self.point,), frames=(self.relative_to,))

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return () if self.motion is None else (self.motion,)

    @property
    def component_names(self) -> tuple[str, ...]:
        if self.point is not None:
            return tuple(f"{self.name}: {axis}" for axis in self.axes)
        count = len(self._motion(Graph().input("t")))
        return (self.name,) if count == 1 else tuple(f"{self.name}[{i}]" for i in range(count))

    @property
    def row_units(self) -> tuple[str, ...]:
        count = len(self.component_names)
        return ("m",) * count if self.point is not None else (self.units or ("rad",) * count)

    def error(self, state: Kinematics) -> list[Any]:
        if self.joint is not None:
            value = state.q(self.joint)
        else:
            position = self._relative_point(state).point
            value = [position.dot(axis) for axis in self._axes]
        return [x - y for x, y in zip(value, self._motion(state.time, len(value)), strict=True)]

    def rates(self, state: Kinematics) -> Rates:
        count = len(self.component_names)
        first, second = timed(lambda t: self._motion(t, count), state.time)
        if self.joint is not None:
            result = Rates(state.moving(self.joint), [0.0] * count)
        else:
            result = self._relative_point(state).rates(*self._axes)
        bias = [x - y for x, y in zip(result.bias, second, strict=True)]
        return Rates(result.rows, bias, [-x for x in first], result.sizes)

    def bind(self, state: Kinematics) -> Self:
        self.error(state)
        return self if self.joint is None else replace(self, units=state.units(self.joint))

    def checked(self, robot: Any) -> Iterable[str]:
        if self.joint is not None:
            yield from check_coordinate_joint(robot, self.joint, "Prescribed", single=False)
        elif self.point is not None:
            yield from check_relative_motion(robot, ("point", self.point), ("frame", self.relative_to))

    @property
    def _axes(self) -> list[Any]:
        return [AXES["xyz".index(axis)] for axis in self.axes]

    def _relative_point(self, state: Kinematics) -> RelativePoint:
        return relative_point(state, str(self.point), self.relative_to)

    def _motion(self, time: Any, count: int | None = None) -> list[Any]:
        assert self.motion is not None
        return over_any_scalar(f"constraint {self.name!r}", self.motion, time, count=count)
