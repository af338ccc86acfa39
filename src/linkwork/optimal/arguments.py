"""Checks of the arguments of trajectory problems and their solvers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.validation import floats, integer, is_integer, is_real, number, seed
from linkwork.errors import UnknownNameError
from linkwork.kernels.robot_arguments import read_configuration, stacked_by_joint
from linkwork.kernels.robot_base import RobotBase
from linkwork.optimal.algorithms.path_nlp import KINDS
from linkwork.optimal.features import Feature
from linkwork.optimal.features.arguments import one_of, switch

__all__ = [
    "PROGRESS",
    "SOLVE",
    "OutsidePhase",
    "broadcast_axes",
    "phases_of",
    "read_callback",
    "read_count",
    "read_duration",
    "read_guess",
    "read_kind",
    "read_phases",
    "read_robot",
    "read_rows",
    "read_scale",
    "read_schedule",
    "read_seed",
    "read_switch",
    "read_tolerances",
    "read_velocity",
]

SOLVE = "TrajectoryProblem.solve"
PROGRESS = "solve: iterations"  # label of the progress bar
Array = np.ndarray[Any, Any]


def read_robot(caller: str, value: Any) -> Any:
    """Return a robot.  Raises TypeError for other values."""
    if not isinstance(value, RobotBase):
        raise TypeError(f"{caller}: robot: expected a robot, as lw.load returns it, got {value!r}")
    return value


def broadcast_axes(axes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common leading axes of a call's arguments.  Raises ValueError where they do not broadcast.

    ``axes`` has the leading axes of each argument by name.
    """
    try:
        return np.broadcast_shapes(*axes.values())
    except ValueError:
        shown = ", ".join(f"{name} {shape}" for name, shape in axes.items() if shape)
        raise ValueError(f"{SOLVE}: leading axes do not broadcast: got {shown}") from None


def read_seed(value: Any) -> int:
    """Return the integer seed of random guesses from an integer, or drawn by a generator.  Raises ValueError."""
    checked = seed(SOLVE, "seed", value)
    return checked if isinstance(checked, int) else int(np.random.default_rng(checked).integers(2**32))


def read_count(caller: str, name: str, value: Any) -> int:
    """Return an integer >= 1.  Raises ValueError."""
    return integer(caller, name, value, least=1)


def read_switch(name: str, value: Any) -> bool:
    """Return True or False.  Raises ValueError for other values."""
    return switch(SOLVE, name, value)


def read_callback(value: Any) -> None:
    """Raise TypeError if the callback is not callable."""
    if value is not None and not callable(value):
        raise TypeError(f"{SOLVE}: callback: expected a function of the result so far, got {value!r}")


def read_kind(caller: str, kind: Any) -> str:
    """Return the kind of a term: "cost", "least_squares", "equality" or "inequality".  Raises ValueError."""
    return one_of(caller, "kind", kind, KINDS)


def read_rows(caller: str, argument: str, value: Any, count: int, rows: Sequence[str]) -> Array:
    """Return an array with a number for each component, from one number or an array.

    Raises ValueError for NaN and wrong shapes.
    """
    try:
        result = floats(value)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if result.shape not in ((), (count,)) or np.isnan(result).any():
        raise ValueError(
            f"{caller}: {argument}: expected a number, or one for each of {count} components ({', '.join(rows)}), "
            f"got {value!r}"
        )
    return np.broadcast_to(result, (count,)).copy()


def read_scale(caller: str, scale: Any, feature: Feature) -> Array:
    """Return scales >= 0 by component.  Raises ValueError."""
    scales = read_rows(caller, "scale", scale, len(feature.component_names), feature.component_names)
    if not ((scales >= 0.0) & np.isfinite(scales)).all():
        raise ValueError(f"{caller}: scale: expected finite numbers >= 0, got {scale!r}")
    return scales


def read_guess(robot: Any, steps: int, value: Any) -> Array:
    """Return a path (..., T, nq), from a path or from one configuration for all steps.

    Raises ValueError, and UnknownNameError for an unknown joint or named configuration.
    """
    try:
        path = floats(stacked_by_joint(robot, SOLVE, "initial_guess", value, "q"))
    except UnknownNameError:
        raise
    except (TypeError, ValueError):
        raise ValueError(
            f"{SOLVE}: initial_guess: expected numbers (..., {steps}, {robot.nq}), got {value!r}"
        ) from None
    if path.shape == (robot.nq,):
        path = np.repeat(path[None], steps, axis=0)
    elif path.ndim > 1 and path.shape[-2:] == (1, robot.nq):
        path = np.repeat(path, steps, axis=-2)
    if path.shape[-2:] != (steps, robot.nq):
        raise ValueError(
            f"{SOLVE}: initial_guess: expected a path (..., {steps}, {robot.nq}), or a configuration ({robot.nq},) or "
            f"(..., 1, {robot.nq}), got shape {np.shape(value)}"
        )
    return read_configuration(robot, SOLVE, "initial_guess", path)


def read_tolerances(names: Sequence[str], value: Any, step: Any, defaults: Sequence[float]) -> Array:
    """Return an array of tolerances: that of the step length, then those of the constraints ``names``.

    ``value`` is a number for all constraints, or a dict by name; other constraints have the ``defaults``. Raises
    UnknownNameError and ValueError.
    """
    alike = [] if value is None or isinstance(value, Mapping) else [value]
    by_user = dict.fromkeys(names, value) if alike else value or {}
    by_name = {**dict(zip(names, defaults, strict=True)), **by_user}
    unknown = [name for name in by_name if name not in names]
    if unknown:
        raise UnknownNameError("constraint", unknown[0], tuple(names))
    try:
        tolerances = np.array([number(x) for x in (step, *by_name.values(), *alike)])
    except (TypeError, ValueError):
        tolerances = np.array([math.nan])
    if not ((tolerances > 0.0) & np.isfinite(tolerances)).all():
        is_of_step = not (is_real(step) and 0.0 < float(step) < math.inf)
        argument, got = ("step_tolerance", step) if is_of_step else ("tolerance", value)
        raise ValueError(f"{SOLVE}: {argument}: expected positive numbers, got {got!r}")
    return tolerances[: 1 + len(names)]


def read_velocity(robot: Any, velocity: Any) -> Array:
    """Return velocities (..., nv), from an array or a dict by joint.  Raises ValueError."""
    velocity = stacked_by_joint(robot, SOLVE, "velocity", velocity, "v")
    try:
        v = floats(velocity)
    except (TypeError, ValueError):
        v = np.array(math.nan)
    if v.shape[-1:] != (robot.nv,) or not np.isfinite(v).all():
        raise ValueError(f"{SOLVE}: velocity: expected finite numbers (..., {robot.nv}), got {velocity!r}")
    return v


def read_phases(phases: Any, steps: int) -> dict[str, range]:
    """Return the steps of each phase as a range, by name.  Raises TypeError and ValueError."""
    if phases is None:
        return {}
    if not isinstance(phases, Mapping):
        raise TypeError(
            f"TrajectoryProblem: phases: expected a dict of names to (first step, step after the last), got {phases!r}"
        )
    ranges = {}
    for name, pair in phases.items():
        try:
            first, end = pair
            is_valid = isinstance(name, str) and is_integer(first) and is_integer(end) and 0 <= first < end <= steps
        except (TypeError, ValueError):
            is_valid = False
        if not is_valid:
            raise ValueError(
                f"TrajectoryProblem: phases: {name!r}: expected (first step, step after the last) in 0 to {steps}, "
                f"got {pair!r}"
            )
        ranges[name] = range(int(first), int(end))
    return ranges


@dataclass(frozen=True)
class OutsidePhase:
    """Argument ``steps`` that selects all steps outside of phases."""

    phases: tuple[str, ...]


def read_schedule(caller: str, value: Any, steps: int, phases: Mapping[str, range]) -> tuple[tuple[int, ...], bool]:
    """Return the steps that an argument selects, and True if the argument is a single index.

    Raises TypeError and ValueError.
    """

    def one(x: Any) -> int:
        if not is_integer(x):
            raise TypeError(f"{caller}: steps: expected steps, a slice or names of phases, got {value!r}")
        if not -steps <= x < steps:
            raise ValueError(f"{caller}: steps: expected steps from {-steps} to {steps - 1}, got {x}")
        return int(x) % steps

    if value is None:
        return tuple(range(steps)), False
    named, is_outside = phases_of(value)
    for name in named:
        if name not in phases:
            raise ValueError(f"{caller}: steps: unknown phase {name!r}; {nearest(name, tuple(phases))}")
    if named:
        inside = {t for name in named for t in phases[name]}
        return tuple(t for t in range(steps) if (t in inside) != is_outside), False
    if isinstance(value, slice):
        result = tuple(range(steps)[value])
    elif isinstance(value, (range, Sequence, np.ndarray)):
        result = tuple(sorted({one(x) for x in value}))
    else:
        return (one(value),), True
    if not result:
        raise ValueError(f"{caller}: steps: {value!r} selects none of {steps} steps")
    return result, False


def phases_of(value: Any) -> tuple[tuple[str, ...], bool]:
    """Return the phases that an argument ``steps`` names, and True if it selects the steps outside of them."""
    if isinstance(value, OutsidePhase):
        return value.phases, True
    if isinstance(value, str):
        return (value,), False
    is_named = isinstance(value, (list, tuple)) and all(isinstance(x, str) for x in value)
    return (tuple(value) if is_named else ()), False


def read_duration(duration: Any, phases: Mapping[str, range], steps: int) -> dict[str, Any]:
    """Return a dict from phase to duration [s]; the key "" means the whole path.

    A duration is a number, or a pair (lower, upper) for a free duration.  Raises ValueError.
    """
    if isinstance(duration, Mapping):
        missing = [name for name in phases if name not in duration]
        unknown = [name for name in duration if name not in phases]
        covered = sorted(k for span in phases.values() for k in span)
        if missing or unknown or covered != list(range(steps)):
            raise ValueError(
                f"TrajectoryProblem: duration: expected one for each phase, with phases that cover the steps 0 to "
                f"{steps} without overlap, got {dict(duration)!r} "
                f"for { ({name: (span.start, span.stop) for name, span in phases.items()})!r}"
            )
        return {name: _seconds(duration[name]) for name in sorted(phases, key=lambda name: phases[name].start)}
    return {"": _seconds(duration)}


def _seconds(value: Any) -> Any:
    try:
        pair = tuple(number(x) for x in value) if isinstance(value, (tuple, list)) else (number(value),)
    except (TypeError, ValueError):
        pair = (math.nan,)
    if len(pair) not in (1, 2) or not all(0.0 < x < math.inf for x in pair) or pair[0] > pair[-1]:
        raise ValueError(f"TrajectoryProblem: duration: expected a time > 0 [s], or (lower, upper), got {value!r}")
    return pair if len(pair) == 2 else pair[0]
