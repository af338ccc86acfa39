"""Constraints that are functions of the user's, on configurations or velocities, and what these may ask of a robot.

A function runs on symbols, one for each number that it asks for, like a function that `linkwork.compile` traces:
NumPy's functions and those of `linkwork.expr` work on them.  Its result is then evaluated on the numbers that the
constraint gets, of whatever kind these are.  So the function sees symbols alone, and the constraint is one over any
scalar, differentiated like every other.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import line_of, source_of
from linkwork._util.validation import names as names_of
from linkwork.constraints.constraint import Constraint, Kinematics, References, with_names
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array, filled, scalars
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import CONSTANT
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.spatial import Vec3

__all__ = ["Holonomic", "Pfaffian", "StateQuery", "over_any_scalar", "refuse_pickling"]


class StateQuery:
    """A robot in one state, as a function of the user's asks about it.

    Numbers are bare, all else are NumPy arrays; names are the robot's.  ``v``, ``twist`` and ``point_velocity`` are for
    functions of velocities, those of `Pfaffian`.
    """

    def __init__(
        self, k: Kinematics, name: str, velocities: bool = False, names: Mapping[str, str] | None = None
    ) -> None:
        self._k, self._name, self._velocities, self._names = k, name, velocities, names or {}
        self._graph = Graph(name)
        self._symbols: list[Symbol] = []
        self._values: list[Any] = []
        self._answers: dict[tuple[str, ...], Any] = {}

    @property
    def time(self) -> Any:
        """The time t [s]."""
        return self._answer(("time",), lambda: [self._k.time], ())

    def q(self, joint: str) -> Any:
        """The configuration of a joint: a number, or an array (nq,) where it has several [rad, m]."""
        return self._answer(("q", joint), lambda: self._k.q(joint))

    def v(self, joint: str) -> Any:
        """The velocity of a joint: a number, or an array (nv,) where it has several [rad/s, m/s]."""
        self._refuse_velocity("v")
        return self._answer(("v", joint), lambda: self._k.v(joint))

    def pose(self, frame: str, relative_to: str = "world") -> Any:
        """X_AB (4, 4), the pose of a frame B in a frame A (``relative_to``) [1, m]."""
        B, A = self._frames(frame, relative_to)
        result = self._answer(("pose", B, A), lambda: self._k.pose(B, A).elements()[:12], (3, 4))
        return filled((4, 4), [*result.ravel().tolist(), 0.0, 0.0, 0.0, 1.0])

    def point(self, name: str, relative_to: str = "world") -> Any:
        """The position (3,) of a point, or of a frame's origin, in a frame [m]."""
        P, A = self._frames(name, relative_to)
        return self._answer(("point", P, A), lambda: [*self._k.point(P, A)], (3,))

    def direction(self, name: str, relative_to: str = "world") -> Any:
        """A direction, or an axis of a frame (``"hand.z"``), in a frame's axes: (3,), of unit length."""
        d, A = self._frames(name, relative_to)
        return self._answer(("direction", d, A), lambda: [*self._k.direction(d, A)], (3,))

    def center_of_mass(self, relative_to: str = "world") -> Any:
        """The robot's centre of mass (3,) in a frame [m]."""
        (A,) = self._frames(relative_to)
        return self._answer(("center_of_mass", A), lambda: [*self._k.center_of_mass(A)], (3,))

    def twist(
        self, frame: str, relative_to: str = "world", expressed_in: str = "world", point: str | None = None
    ) -> Any:
        """(ω; v) (6,) of a frame B relative to A, in the axes of E [rad/s, m/s].

        v is the velocity of the point of B that coincides with the origin of the frame ``point``, B's own by default.
        """
        self._refuse_velocity("twist")
        B, A, E, P = self._frames(frame, relative_to, expressed_in, frame if point is None else point)

        def seen() -> list[Any]:
            V, R = self._k.between(B, A).twist, self._k.pose(B, E).rotation
            v = V.linear if P == B else V.linear + V.angular.cross(self._k.pose(P, B).translation)
            return [*(R @ V.angular), *(R @ v)]

        return self._answer(("twist", B, A, E, P), seen, (6,))

    def point_velocity(self, name: str, relative_to: str = "world", expressed_in: str = "world") -> Any:
        """The velocity (3,) of a point, or of a frame's origin, relative to A, in the axes of E [m/s]."""
        self._refuse_velocity("point_velocity")
        P, A, E = self._frames(name, relative_to, expressed_in)

        def seen() -> list[Any]:
            B, r = self._k.place_of(P)
            V = self._k.between(B, A).twist
            return [*(self._k.pose(B, E).rotation @ (V.linear + V.angular.cross(r)))]

        return self._answer(("point_velocity", P, A, E), seen, (3,))

    # -- what was asked, and what comes of it

    def run(self, function: Callable[..., Any], *more: Any) -> list[Any]:
        """What a function of this, and of more, makes of it: one number after the other.  Raises ValueError."""
        return self.taken_over(self.outputs(function, *more), self._values)

    def outputs(self, function: Callable[..., Any], *more: Any) -> list[Any]:
        """What a function of this, and of more, makes of symbols for what it asks.  Raises ValueError."""
        return _outputs(self._name, function, (self, *more))

    def taken_over(self, outputs: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
        """The same as it is of answers, numbers of any kind in the order in which they were asked for."""
        return _taken_over(self._name, outputs, self._symbols, answers)

    @property
    def asked(self) -> tuple[tuple[str, ...], ...]:
        """The questions: each the name of a method, and the names that it was given."""
        return tuple(self._answers)

    def _frames(self, *names: Any) -> list[Any]:
        return [with_names(name, self._names) if isinstance(name, str) else name for name in names]

    def _answer(
        self, question: tuple[str, ...], values: Callable[[], Sequence[Any]], shape: tuple[int, ...] | None = None
    ) -> Any:
        result = self._answers.get(question)
        if result is None:
            given = list(values())
            symbols = [self._graph.input(f"{' '.join(question)}[{i}]") for i in range(len(given))]
            self._symbols += symbols
            self._values += given
            single = shape == () or (shape is None and len(given) == 1)
            result = symbols[0] if single else filled(shape or (len(given),), symbols)
            self._answers[question] = result
        return result.copy() if isinstance(result, np.ndarray) else result

    def _refuse_velocity(self, method: str) -> None:
        if not self._velocities:
            raise ValueError(
                f"k.{method}: a constraint of configurations may not ask for velocities: Pfaffian is for functions "
                f"that are linear in them"
            )


@dataclass(frozen=True)
class OfFunction(Constraint):
    """A constraint that is a function of the user's of `StateQuery`: what holonomic ones and those of velocities
    share.
    """

    name: str
    function: Callable[[StateQuery], Any]
    units: str | tuple[str, ...] = field(default="m", kw_only=True)  # of all rows, or of each
    names: tuple[tuple[str, str], ...] = field(
        default=(), kw_only=True, repr=False
    )  # frames that the function knows by others
    count: int = field(default=0, kw_only=True, compare=False, repr=False)  # of rows: known once it is a robot's
    asked: tuple[tuple[str, ...], ...] = field(
        default=(), kw_only=True, compare=False, repr=False
    )  # what the function asks for
    time_dependent: bool = field(default=False, kw_only=True, compare=False, repr=False)
    uses_inertia: bool = field(default=False, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"constraint {self.name!r}: expected a function of k, got {self.function!r}")
        units = names_of(type(self).__name__, "units", self.units, what="a unit, or one for each row")
        if not units or any(unit not in ("m", "rad") for unit in units):
            raise ValueError(
                f'constraint {self.name!r}: units: expected "m" or "rad", or one for each row, got {units}'
            )
        object.__setattr__(self, "units", self.units if isinstance(self.units, str) else units)

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (self.function,)

    @property
    def references(self) -> References:
        by_kind: dict[str, list[str]] = {"frames": [], "joints": [], "points": [], "directions": []}
        for method, *names in self.asked:
            first = {"q": "joints", "v": "joints", "point": "points", "point_velocity": "points"}
            kinds = [first.get(method, "directions" if method == "direction" else "frames")] + ["frames"] * len(names)
            for kind, name in zip(kinds, names, strict=False):
                by_kind[kind].append(name)
        return References(**{kind: tuple(dict.fromkeys(names)) for kind, names in by_kind.items()})

    @property
    def component_names(self) -> tuple[str, ...]:
        self._needs_a_robot()
        return (self.name,) if self.count == 1 else tuple(f"{self.name}[{i}]" for i in range(self.count))

    @property
    def row_units(self) -> tuple[str, ...]:
        self._needs_a_robot()
        return (self.units,) * self.count if isinstance(self.units, str) else self.units

    def bind(self, state: Kinematics) -> Self:
        asking = self._asking(state)
        result = asking.run(self.function)
        if not any(isinstance(x, Symbol) for x in result):
            raise ValueError(
                f"constraint {self.name!r}: its function ({source_of(self.function)}) gives {result} for every robot"
            )
        if not isinstance(self.units, str) and len(self.units) != len(result):
            raise ValueError(
                f"constraint {self.name!r}: units: expected one for each of {len(result)} rows, got {self.units}"
            )
        methods = {question[0] for question in asking.asked}
        time_dependent, uses_inertia = "time" in methods, "center_of_mass" in methods
        return replace(
            self, count=len(result), asked=asking.asked, time_dependent=time_dependent, uses_inertia=uses_inertia
        )

    def with_names(self, names: Mapping[str, str]) -> Self:
        """Frames that the function names are looked up by other names: the function stays as it is."""
        before = dict(self.names)
        after = {known: with_names(name, names) for known, name in before.items()}
        after |= {known: name for known, name in names.items() if known not in before}
        asked = tuple((method, *(with_names(name, names) for name in rest)) for method, *rest in self.asked)
        return replace(self, names=tuple(sorted(after.items())), asked=asked)

    def __getstate__(self) -> dict[str, Any]:
        refuse_pickling(self)
        return self.__dict__

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def _asking(self, state: Kinematics) -> StateQuery:
        return StateQuery(state, f"constraint {self.name!r}", not self.holonomic, dict(self.names))

    def _answered(self, state: Kinematics) -> list[Any]:
        """What the function gives in a state, a number a row."""
        result = self._asking(state).run(self.function)
        if len(result) != self.count:
            self._needs_a_robot()
            raise ValueError(
                f"constraint {self.name!r}: its function gave {self.count} numbers before, now {len(result)}"
            )
        return result

    def _needs_a_robot(self) -> None:
        if not self.count:
            raise ValueError(
                f"constraint {self.name!r}: how many rows it has is known once it is a robot's: robot.with_constraints"
            )


def over_any_scalar(name: str, function: Callable[..., Any], *arguments: Any, count: int | None = None) -> list[Any]:
    """What a function of the user's gives of numbers, and of lists of numbers which it gets as arrays, of any kind.

    ``name`` is what messages begin with; ``count`` is how many numbers are expected.  Raises ValueError.
    """
    graph = Graph(name)
    symbols: list[Symbol] = []
    values: list[Any] = []
    given: list[Any] = []
    for i, argument in enumerate(arguments):
        several = isinstance(argument, (list, tuple, Vec3))
        numbers = [*argument] if several else [argument]
        own = [graph.input(f"x{i}[{j}]") for j in range(len(numbers))]
        symbols += own
        values += numbers
        given.append(filled((len(own),), own) if several else own[0])
    outputs = _outputs(name, function, given)
    if count is not None and len(outputs) != count:
        raise ValueError(f"{name}: its function ({source_of(function)}): expected {count} numbers, got {len(outputs)}")
    return _taken_over(name, outputs, symbols, values)


def refuse_pickling(constraint: Any, kind: str = "constraint") -> None:
    """Raises PicklingError where a constraint, or what else, has a function that no other process could import.

    Tools that pickle functions themselves, by value, are left to it.
    """
    for function in constraint.functions:
        if _is_importable(function) or _by_value():
            continue
        raise pickle.PicklingError(
            f"{kind} {constraint.name!r}: its function ({source_of(function)}) cannot be pickled, as no other "
            f"process could import it: write it by def at the top of a module"
        )


def _is_importable(function: Any) -> bool:
    """Whether it is found in its module by its name; what is no function of Python's own is left to pickle."""
    name, module = getattr(function, "__qualname__", None), getattr(function, "__module__", None)
    if name is None or module is None:
        return True
    result: Any = sys.modules.get(module)
    for part in name.split("."):
        result = getattr(result, part, None)
    return result is function or "<" not in name


def _by_value() -> bool:
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("cloudpickle", "dill"):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _outputs(name: str, function: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
    """What a function gives of symbols, one number after the other."""
    try:
        result = function(*given)
    except UnknownNameError:
        raise
    except Exception as error:
        where = line_of(error.__traceback__) or source_of(function)
        raise ValueError(f"{name}: its function raised {type(error).__name__}: {error}\n    at {where}") from error
    try:
        found = scalars(array(result) if isinstance(result, (list, tuple)) else result).ravel().tolist()
        outputs = [x if isinstance(x, Symbol) else _number(x) for x in found]
        if not outputs or any(isinstance(x, Symbol) and x.op.logical for x in outputs):
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: its function ({source_of(function)}): expected a number or an array of numbers, got {result!r}"
        ) from None
    if any(isinstance(x, float) and not np.isfinite(x) for x in outputs):
        raise ValueError(f"{name}: its function ({source_of(function)}): expected finite numbers, got {result!r}")
    return outputs


def _number(x: Any) -> float:
    if isinstance(x, (bool, str, bytes, complex)) or x is None:
        raise TypeError
    return float(x)


def _taken_over(name: str, outputs: Sequence[Any], symbols: Sequence[Symbol], values: Sequence[Any]) -> list[Any]:
    """Expressions of symbols as they are of other numbers."""
    if not any(isinstance(x, Symbol) for x in outputs):
        return list(outputs)
    try:
        region = Region.of(outputs, symbols)
    except KeyError as error:
        raise ValueError(f"{name}: its function gives a symbol that is none of its own: {error.args[0]!r}") from None
    if any(i.operation is CONSTANT and i.value != i.value for i in region.instructions):
        raise ValueError(f"{name}: its function computes with NaN")
    return region.run(values)


@public_constructor
@dataclass(frozen=True)
class Holonomic(OfFunction):
    """φ(q, t) = f(k) is zero: a number, or an array with a row for each.

    The function asks ``k``, an `StateQuery`, for configurations of joints, poses, points, directions and the time, and
    may use NumPy's functions and those of `linkwork.expr`.  Rates and biases are derived.

        lw.constraints.Holonomic("cam", lambda k: k.q("follower") - 0.02 * np.cos(k.q("cam")))
    """

    def error(self, state: Kinematics) -> list[Any]:
        return self._answered(state)


@public_constructor
@dataclass(frozen=True)
class Pfaffian(OfFunction):
    """A(q, t) v + σ(q, t) = f(k) is zero: a number, or an array with a row for each.

    The function asks ``k``, an `StateQuery`, for velocities of joints, twists of frames and velocities of points,
    beside all that `Holonomic` may ask for.  It has to be linear in velocities, but for what does not depend on them;
    that is tried in random states when the constraint is put on a robot.  Rows, drifts and biases are derived.

        lw.constraints.Pfaffian("skate", lambda k: k.twist("runner", expressed_in="runner")[4])
    """

    holonomic = False

    def velocity(self, state: Kinematics) -> list[Any]:
        return self._answered(state)
