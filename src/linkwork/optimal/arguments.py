"""What problems of optimal motion are asked with, looked at before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.messages import nearest
from linkwork._util.validation import finite_array, floats, integer
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.ik.tasks.task import Task
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_nlp import KINDS
from linkwork.optimal.features import BY_NAME, Feature, FunctionFeature, TaskFeature
from linkwork.optimal.features.arguments import one_of, switch
from linkwork.optimal.features.difference_feature import difference_of
from linkwork.optimal.schedule_arguments import phase_of

__all__ = [
    "ByStep",
    "PathNumber",
    "ProblemEntry",
    "as_feature",
    "path_number",
    "read_callback",
    "read_count",
    "read_guess",
    "read_options",
    "read_robot",
    "read_scale",
    "read_seed",
    "read_switch",
    "read_target",
    "read_tolerances",
    "read_velocity",
    "some_aim",
    "together",
    "weighed",
]


@public
@dataclass(frozen=True, eq=False)
class ByStep:
    """A target for each of the steps at which a feature counts: an array (..., steps, *shape), the first step first."""

    values: Any

    def __post_init__(self) -> None:
        if not is_traced(self.values):
            finite_array(type(self).__name__, "values", self.values)


@dataclass(frozen=True, eq=False)
class ProblemEntry:
    """A feature as it was added to a problem: the form that all solvers read.

    ``kind`` is "cost", "squares", "equality" or "inequality"; ``steps`` are those at which it counts, in order, and
    ``single`` says that one was asked for by its number.  ``scale`` has a number a row.  ``lower`` and ``upper`` are
    bounds by row in the place of the kind's own, or None.  ``target`` is an array (*shape), a `ByStep` or None: what is
    aimed at unless a call says something else.
    """

    name: str
    feature: Feature
    kind: str
    steps: tuple[int, ...]
    single: bool
    scale: np.ndarray
    target: Any
    lower: np.ndarray | None
    upper: np.ndarray | None
    phase: str = ""  # whose steps they are
    besides: bool = False  # or all but those

    @property
    def moving(self) -> bool:
        """Whether what it aims at differs from step to step."""
        return isinstance(self.target, ByStep)


@dataclass(frozen=True, eq=False)
class PathNumber:
    """Decision variables of each step, or parameters of the whole path, by their name: bounds and a guess, (size,)."""

    name: str
    size: int
    lower: np.ndarray
    upper: np.ndarray
    guess: np.ndarray
    steps: tuple[int, ...] = ()  # of variables: where they are; elsewhere they stay what they are guessed
    phase: str = ""  # whose steps they are


def as_feature(caller: str, given: Any, order: int | None, name: str | None) -> Feature:
    """A feature of a name, a task, a function or a feature.  Raises TypeError and ValueError."""
    if isinstance(given, str):
        if given not in BY_NAME:
            raise ValueError(f"{caller}: feature: no feature is called {given!r}; {nearest(given, tuple(BY_NAME))}")
        given = BY_NAME[given]()
    if isinstance(given, Task):
        return TaskFeature(given, 0 if order is None else order)
    if callable(given) and not isinstance(given, (type, Feature)):
        own = getattr(given, "__name__", "")
        given = FunctionFeature(name or (own if own.isidentifier() else "") or "function", given)
    if isinstance(given, Feature):
        return difference_of(given, 0 if order is None else order)
    raise TypeError(
        f"{caller}: feature: expected the name of a feature ({', '.join(BY_NAME)}), a task of "
        f"linkwork.ik, or a feature "
        f"of linkwork.optimal, or a function of a window, got {given!r}"
    )


def weighed(caller: str, kind: str, feature: Feature, scale: np.ndarray) -> np.ndarray:
    """Scales by row with the weight of a task, which is of squares.  Raises ValueError for weights and ranges that
    would count for nothing."""
    if not isinstance(feature, TaskFeature):
        return scale
    task = feature.task
    if feature.depth and any(pair != (0.0, 0.0) for pair in task.ranges):
        raise ValueError(
            f"{caller}: order: ranges of a task are of its errors, not of how they change: give lower= "
            f"and upper= instead"
        )
    if task.weight is None:
        return scale
    if kind != "squares":
        raise ValueError(
            f"{caller}: the task's weight, {task.weight!r}, is of squares, and kind {kind!r} is asked: expected "
            f"'squares', or a task without a weight"
        )
    return np.asarray(scale * np.array(task.weights))


def read_options(solver: str, options: Mapping[str, Any], known: Collection[str], others: Collection[str]) -> None:
    """Options of a solver by their names.  Raises TypeError for one that it, or any (``others``), does not know."""
    for name in options:
        if name in known:
            continue
        if name in others:
            raise TypeError(
                f"Problem.solve: solver={solver!r} does not know {name}=: it takes {', '.join(sorted(known))}"
            )
        raise TypeError(f"Problem.solve: there is no option {name!r}; {nearest(name, [*known, *others])}")


def read_robot(caller: str, given: Any) -> Any:
    """Raises TypeError for what is no robot."""
    if not isinstance(given, RobotBase):
        raise TypeError(f"{caller}: robot: expected a robot, as lw.load gives it, got {given!r}")
    return given


def together(axes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The leading axes of all, by what they are of.  Raises ValueError for some that do not go together."""
    try:
        return np.broadcast_shapes(*axes.values())
    except ValueError:
        told = ", ".join(f"{name} {shape}" for name, shape in axes.items() if shape)
        raise ValueError(f"Problem.solve: leading axes are problems, the same of all: got {told}") from None


def read_seed(seed: Any) -> int:
    """What draws first paths.  Raises ValueError."""
    return integer("Problem.solve", "seed", seed, least=0, most=None, what="a whole number")


def read_count(caller: str, name: str, given: Any) -> int:
    """How often, or how many.  Raises ValueError for what is not a whole number from 1."""
    return integer(caller, name, given, least=1, what="a whole number")


def read_switch(name: str, given: Any) -> bool:
    """Raises ValueError for what is neither True nor False."""
    return switch("Problem.solve", name, given)


def read_callback(given: Any) -> None:
    """Raises TypeError for what cannot be called."""
    if given is not None and not callable(given):
        raise TypeError(f"Problem.solve: callback: expected a function of the result so far, got {given!r}")


def read_kind(caller: str, kind: Any) -> str:
    """What is asked of a feature.  Raises ValueError."""
    return one_of(caller, "kind", kind, KINDS)


def read_rows(caller: str, what: str, given: Any, count: int, rows: Sequence[str]) -> np.ndarray:
    """A number for each row, of one for all or several.  Raises ValueError for NaN and other shapes."""
    try:
        found = floats(given)
    except (TypeError, ValueError):
        found = np.array(math.nan)
    if found.shape not in ((), (count,)) or np.isnan(found).any():
        raise ValueError(
            f"{caller}: {what}: expected a number, or one for each of {count} rows ({', '.join(rows)}), got {given!r}"
        )
    return np.broadcast_to(found, (count,)).copy()


def read_scale(caller: str, scale: Any, feature: Feature) -> np.ndarray:
    """Scales by row, above 0.  Raises ValueError."""
    found = read_rows(caller, "scale", scale, len(feature.component_names), feature.component_names)
    if not ((found >= 0.0) & np.isfinite(found)).all():
        raise ValueError(f"{caller}: scale: expected finite numbers from 0, got {scale!r}")
    return found


def target_shape(tree: Tree, feature: Feature) -> tuple[int, ...] | None:
    """The shape of what a feature aims at, if it aims at something."""
    if feature.target_of is None:
        return None
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return tuple(sizes[n] if isinstance(n, str) else n for n in feature.target_of.shape)


def nothing_aimed_at(robot: Any, feature: Any) -> np.ndarray:
    """What a feature aims at that is told nothing: zeros, one as a pose and a rotation, neutral as a configuration."""
    kind, shape = feature.target_of.kind, target_shape(robot.tree, feature)
    assert shape is not None
    if kind == "configuration":
        return np.array(robot.neutral())
    return np.eye(shape[0]) if kind in ("pose", "rotation") else np.zeros(shape)


def some_aim(robot: Any, entry: ProblemEntry) -> Any:
    """What an entry aims at, in its first step, or nothing."""
    shape = target_shape(robot.tree, entry.feature)
    if shape is None:
        return ()
    aim = nothing_aimed_at(robot, entry.feature) if entry.target is None else entry.target
    return np.asarray(aim.values).reshape(-1, *shape)[0] if isinstance(aim, ByStep) else aim


def ranges_of(feature: Feature) -> tuple[tuple[float, float], ...]:
    """Between which numbers a feature's values may be where a task says so."""
    task = getattr(feature, "task", None)
    if task is None or feature.depth:
        return ((0.0, 0.0),) * len(feature.component_names)
    return tuple(task.ranges)


def path_number(
    what: str, name: str, size: Any, lower: Any, upper: Any, guess: Any, steps: tuple[int, ...], at: Any = None
) -> PathNumber:
    """Variables or parameters as they are meant.  Raises ValueError."""
    caller = f"Problem.{what}: {name!r}"
    size = read_count(caller, "size", size)
    rows = [f"{name}[{k}]" for k in range(size)]
    low = read_rows(caller, "lower", -np.inf if lower is None else lower, size, rows)
    high = read_rows(caller, "upper", np.inf if upper is None else upper, size, rows)
    if not (low <= high).all():
        raise ValueError(f"{caller}: bounds leave nothing: from {lower!r} to {upper!r}")
    first = np.clip(read_rows(caller, "guess", guess, size, rows), low, high)
    return PathNumber(name, size, low, high, first, steps, phase_of(at)[0])


def read_guess(robot: Any, steps: int, given: Any) -> np.ndarray:
    """A path (..., T, nq), of one or of a configuration (..., 1, nq) for all steps.  Raises ValueError."""
    try:
        path = floats(given)
    except (TypeError, ValueError):
        raise ValueError(f"Problem.solve: guess: expected numbers (..., {steps}, {robot.nq}), got {given!r}") from None
    if path.shape == (robot.nq,):
        path = np.repeat(path[None], steps, axis=0)
    elif path.ndim > 1 and path.shape[-2:] == (1, robot.nq):
        path = np.repeat(path, steps, axis=-2)
    if path.shape[-2:] != (steps, robot.nq):
        raise ValueError(
            f"Problem.solve: guess: expected (..., {steps}, {robot.nq}), or (..., 1, {robot.nq}) and ({robot.nq},) of "
            f"configurations that stay, got shape {np.shape(given)}"
        )
    return read_configuration(robot, "Problem.solve", "guess", path)


def read_target(tree: Tree, caller: str, feature: Feature, given: Any, lead: bool) -> np.ndarray:
    """What a feature aims at, (*shape), with ``lead`` (..., *shape).  Raises ValueError."""
    shape = target_shape(tree, feature)
    assert shape is not None
    try:
        found = floats(given)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if (
        found.ndim < len(shape)
        or found.shape[found.ndim - len(shape) :] != shape
        or (found.ndim > len(shape) and not lead)
    ):
        raise ValueError(
            f"{caller}: target: expected numbers of shape {'(..., ' if lead else '('}{', '.join(map(str, shape))}), "
            f"got shape {found.shape}"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"{caller}: target: expected finite numbers, got {given!r}")
    return found


def read_tolerances(names: Sequence[str], given: Any, step: Any, usual: float) -> np.ndarray:
    """That of steps, then those of constraints; the usual one of those that are not named.

    Raises UnknownNameError and ValueError.
    """
    by_name = dict(given) if isinstance(given, dict) else dict.fromkeys(names, given)
    unknown = [name for name in by_name if name not in names]
    if unknown:
        raise UnknownNameError("constraint", unknown[0], tuple(names))
    try:
        found = np.array([float(step), *(float(by_name.get(name, usual)) for name in names)])
    except (TypeError, ValueError):
        found = np.array([math.nan])
    if not ((found > 0.0) & np.isfinite(found)).all():
        raise ValueError(f"Problem.solve: tolerance: expected finite numbers above 0, got {given!r} and {step!r}")
    return found


def read_velocity(robot: Any, velocity: Any) -> np.ndarray:
    """Velocities (..., nv).  Raises ValueError."""
    try:
        v = floats(velocity)
    except (TypeError, ValueError):
        v = np.array(math.nan)
    if v.shape[-1:] != (robot.nv,) or not np.isfinite(v).all():
        raise ValueError(f"Problem.solve: velocity: expected finite numbers (..., {robot.nv}), got {velocity!r}")
    return v
