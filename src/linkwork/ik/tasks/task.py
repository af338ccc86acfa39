"""The contract of a task, over any scalar: what a configuration is asked to do, and by how much it fails.

A task is a value that names frames, joints and points of a robot.  Its *errors* e(q) are zero, or within ranges, where
it is done; its rows are the Jacobian of these, ė = J v, in the tangent space, so nothing leaves the manifold of
configurations.  What it aims at comes with each call, as a *target*, or stands in the task.

A task without a weight is *hard*: it has to be done, within its tolerance.  One with a weight w is *soft*, and adds
½ Σ (w e)² to what is minimised; w has the unit 1/m or 1/rad, so that an error of 1/w costs ½.

Everything that a task asks about a robot it asks of a `TaskKinematics`: what constraints ask, and how that changes
with q.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from linkwork._util.validation import integer
from linkwork.constraints.constraint import Constraint, Kinematics, References
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SolidKind
from linkwork.joints import JointType
from linkwork.spatial import Vec3

__all__ = [
    "AimedTask",
    "MeantPairs",
    "Task",
    "TaskKinematics",
    "TaskRows",
    "TaskTarget",
    "WeighedTask",
    "named",
    "time_differences",
]

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
    kind: str  # "pose", "rotation", "place", "direction", "configuration", "size", "length", "numbers"
    doc: str = ""


@dataclass(frozen=True, slots=True)
class MeantPairs:
    """Pairs of shapes: the robot's own by their places, the shapes that meet a scene, and which of all are meant.

    All are the own ones, then those of each shape with every row of the scene.
    """

    own: tuple[tuple[int, int], ...]
    shapes: tuple[int, ...]
    kept: tuple[int, ...]
    names: tuple[tuple[str, str], ...]  # by kept pair
    links: tuple[str, ...]  # by kept pair: the one that it counts for, which is farther out


class TaskKinematics(Kinematics, Protocol):
    """A robot in a configuration, over any scalar, as tasks ask about it: at rest, v = 0."""

    @property
    def configuration(self) -> list[Any]:
        """q (nq)."""

    def joint(self, name: str) -> JointType:
        """The type of a joint."""

    def difference(self, joint: str, reference: Scalars) -> TaskRows:
        """What leads from a configuration of a joint to where it is, in its tangent space, and the rates of that."""

    def moving_center_of_mass(self, relative_to: str = "world") -> tuple[Vec3, list[Vec3]]:
        """The robot's centre of mass in a frame, and what each of the robot's velocities makes of its rate."""

    def at(self, time: Any) -> TaskKinematics:
        """The same at another time [s]."""

    def clearance_links(self, scene: bool) -> tuple[str, ...]:
        """The links that `clearances` is of, with or without obstacles."""

    def clearances(self, scene: Mapping[SolidKind, Any]) -> Mapping[str, TaskRows]:
        """By link: its least distance to a scene and to links before it, and the rates of that."""

    def meant_pairs(self, caller: str, scene: Scene, pairs: Iterable[tuple[str, str]] | None) -> MeantPairs:
        """The pairs of shapes that names mean, or all.  Raises ValueError and UnknownNameError."""

    def nearby(
        self, own: Sequence[tuple[int, int]], shapes: Sequence[int], scene: Mapping[SolidKind, Any], within: Any
    ) -> TaskRows:
        """Distances of the robot's own pairs, and of shapes with a scene's rows, and the rates of that.

        Pairs whose bounding spheres are farther apart than ``within`` [m] have the distance of these.
        """

    def held(self, constraint: Constraint) -> TaskRows:
        """A constraint's errors and rows, in closed form where it states that."""

    def velocity_rows(self, constraint: Constraint) -> TaskRows:
        """The rows G of a constraint in G v + σ = 0, with its drift σ in the place of errors."""

    def momentum_rows(self) -> list[list[Any]]:
        """The centroidal momentum matrix A (6 × nv): A v is the momentum about the centre of mass (angular; linear)."""

    def derived(self, errors: Callable[[TaskKinematics], Sequence[Any]]) -> TaskRows:
        """What a function finds of the robot, and its derivative in the tangent space, by differentiation."""


class Task(ABC):
    """A task: an immutable value with a name of its own, by which its target is given.

    A kind writes ``errors``, from which rows follow by differentiation, or both at once in ``rows``.

    Fields of every kind: ``name``; ``weight`` (nothing where it is hard), a number or one a row [1/m, 1/rad], where 0
    counts for nothing: what is left is told, and not made less; ``level`` of priority, 0 first; ``tolerance`` of its
    errors, a number for the angle and the way that may be left, or one a row, infinite where a row is free; ``target``,
    where it is always the same.
    """

    name: str
    weight: float | tuple[float, ...] | None
    level: int
    tolerance: float | tuple[float, ...]
    target: Any
    own: bool = False  # whether it is one that the robot has of itself
    of_velocity: bool = False  # True where it asks for a velocity: no configuration fails it, and its errors are zero

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
    def component_names(self) -> tuple[str, ...]:
        """What each of its errors is called: as many as there are."""

    @property
    @abstractmethod
    def row_units(self) -> tuple[str, ...]:
        """The unit of each error: "m", "rad" or "1"."""

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Between which numbers each error may be: (0, 0) where it is to vanish."""
        return ((0.0, 0.0),) * len(self.component_names)

    def errors(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        """e(q) in a state; ``target`` are the numbers of what it aims at, none where there is none."""
        return self.rows(state, target).errors

    def drift(self, state: TaskKinematics, target: Scalars) -> list[Any] | None:
        """Rates of the errors of a robot at rest [m/s, rad/s]: ė = J v + drift.  None where time does not change them.

        A task of velocities, which asks for J v = w, has the drift −w.
        """
        return None

    def rows(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        """Errors and Jacobian.  Default: by differentiation of ``errors``."""
        if type(self).errors is Task.errors:
            raise TypeError(f"{type(self).__name__}: a task needs a method `errors`, or `rows`")
        return k.derived(lambda state: self.errors(state, target))

    @property
    def exact(self) -> bool:
        """Whether rows are the derivative of errors everywhere, and not only where these vanish."""
        return True

    @property
    def known(self) -> bool:
        """Whether all of it is known: what only a robot can tell is not before it is ``settled``."""
        return True

    @property
    def between(self) -> tuple[str, str] | None:
        """The two frames, or points, on whose relative motion alone it depends, where it is so."""
        return None

    def freed(self) -> Task:
        """The same where errors may stay that do not vanish: some of its rows are free."""
        return self

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        """The task as it is of a robot, here also on symbols: what only a robot can tell is known from then on.

        Raises ValueError for functions of the user's that cannot be such.
        """
        return self

    def exact_jacobian(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        """The same with rows that are the derivative of errors everywhere."""
        return self.rows(k, target) if self.exact else k.derived(lambda state: self.errors(state, target))

    def curved_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Rows to differentiate again, for second derivatives: as good near the target, where they are not exact."""
        return self.rows(state, target)

    @property
    def moved(self) -> Task | None:
        """The task whose errors' differences by time are how this one moves, in closed form; nothing where those are
        no differences of errors: see `rates`.
        """
        return self

    def rates(self, states: Sequence[TaskKinematics], steps: Sequence[Any], target: Scalars) -> list[Any]:
        """How it moves, of as many states as its order says and one more, the newest first, each ``steps`` [s] after
        the next: the k-th difference by time of its errors, or of what these are of where axes turn.
        """
        return time_differences([self.errors(k, target) for k in states], steps)

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Errors, and rows by which controllers move them; rows after these only tell of motion, for `settling`."""
        return self.exact_jacobian(state, target)

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        """What the rate of J v, by `moving_rows`, is to be for ë + k_d ė + k_p e = 0, by ``gains`` k_p and k_d.

        J v is ``moved``; by what the target does it is to be ``led``, at a rate ``ahead``.
        """
        each = zip(errors, moved, led, ahead, strict=False)
        return [c + gains[1] * (r - x) - gains[0] * e for e, x, r, c in each]

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

    def tolerances_of(self, value: Any) -> tuple[float, ...]:
        """By row: one number bounds the length of what is left in each unit, whichever axes it is in."""
        if isinstance(value, tuple):
            return self._by_row(value, "tolerance")
        units = self.row_units
        count = Counter(units)
        return tuple(value / math.sqrt(count[unit]) if unit in ("m", "rad") else value for unit in units)

    def _by_row(self, value: Any, what: str) -> tuple[float, ...]:
        count = len(self.component_names)
        if isinstance(value, tuple):
            if len(value) != count:
                raise ValueError(
                    f"task {self.name!r}: {what}: expected a number, or one for each of its {count} rows "
                    f"({', '.join(self.component_names)}), got {len(value)}"
                )
            return value
        return (value,) * count

    def settle(self, default: str) -> None:
        """What every kind's ``__post_init__`` ends with: its name and numbers as they are meant.

        Raises TypeError and ValueError for what is none.
        """
        put = object.__setattr__
        if not isinstance(self.name, str):
            raise TypeError(f"{type(self).__name__}: name: expected a string, got {self.name!r}")
        put(self, "name", self.name or default)
        put(self, "level", integer(f"task {self.name!r}", "level", self.level, least=0, what="an integer"))
        if self.weight is not None:
            put(self, "weight", _numbers(self.name, "weight", "1/m or 1/rad", self.weight, math.inf))
        put(self, "tolerance", _numbers(self.name, "tolerance", "m or rad", self.tolerance, None))
        put(self, "target", _frozen(self.name, self.target))
        if self.known:
            assert len(self.weights) == len(self.tolerances) == len(self.row_units)


@dataclass(frozen=True, kw_only=True)
class WeighedTask(Task):
    """A task with the numbers of every kind as they are by default, and nothing to aim at."""

    weight: Any = None
    level: int = 0
    tolerance: Any = TOLERANCE
    name: str = ""

    target = None


@dataclass(frozen=True, kw_only=True)
class AimedTask(WeighedTask):
    """The same with a target."""

    target: Any = None


def time_differences(rows: Sequence[Iterable[Any]], steps: Sequence[Any]) -> list[Any]:
    """The difference by time of as high an order as there are rows besides the first, the newest first."""
    result = [list(row) for row in rows]
    while len(result) > 1:
        result = [
            [(x - y) / step for x, y in zip(now, before, strict=True)]
            for now, before, step in zip(result, result[1:], steps, strict=False)
        ]
    return result[0]


def named(task: Task, *fields: str, of: str = "frame") -> None:
    """Raises TypeError for a field that is no name."""
    for field in fields:
        value = getattr(task, field)
        if not isinstance(value, str):
            raise TypeError(f"{type(task).__name__}: {field}: expected a {of}'s name, got {value!r}")


def _frozen(name: str, target: Any) -> Any:
    """A target as numbers that hash: nested tuples.  Raises ValueError for what is not finite."""
    if target is None:
        return None
    try:
        result = np.array(target, dtype=float)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if not np.isfinite(result).all():
        raise ValueError(f"task {name!r}: target: expected finite numbers, got {target!r}")

    def nested(x: Any) -> Any:
        return tuple(map(nested, x)) if isinstance(x, list) else x

    return nested(result.tolist())


def ranges_of(caller: str, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Bounds of ranges, each a number or one a row.  Raises ValueError where one leaves nothing, and for NaN."""

    def read(what: str, value: Any) -> Any:
        try:
            result = np.array(value, dtype=float)
        except (TypeError, ValueError):
            result = np.array(math.nan)
        if result.ndim > 1 or np.isnan(result).any():
            raise ValueError(f"{caller}: {what}: expected a number, or one a row, got {value!r}")
        return tuple(result.tolist()) if result.ndim else float(result)

    low, high = read("lower", lower), read("upper", upper)
    try:
        fine = (np.array(low) <= np.array(high)).all() and not (np.array(low) == np.inf).any()
    except ValueError:
        raise ValueError(f"{caller}: lower and upper: expected as many of each, got {lower!r} and {upper!r}") from None
    if not fine or (np.array(high) == -np.inf).any():
        raise ValueError(f"{caller}: lower and upper: a range leaves nothing: from {lower!r} to {upper!r}")
    return low, high


def _numbers(name: str, what: str, unit: str, value: Any, below: float | None) -> float | tuple[float, ...]:
    """A number that is not negative, or several.  A tolerance is above zero, and may be infinite."""
    least = "above 0" if below is None else "from 0"

    def one(x: Any) -> float:
        try:
            result = float(x)
        except (TypeError, ValueError):
            result = math.nan
        if not (result > 0.0 if below is None else 0.0 <= result < below) or isinstance(x, str):
            raise ValueError(f"task {name!r}: {what}: expected a number {least} [{unit}], or one a row, got {value!r}")
        return result

    if isinstance(value, (int, float, str)) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0:
        return one(value)
    return tuple(one(x) for x in value)
