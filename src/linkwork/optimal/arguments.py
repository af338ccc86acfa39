"""Checks of the arguments of trajectory problems and their solvers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.validation import floats, integer, is_real, number, seed
from linkwork.errors import UnknownNameError
from linkwork.kernels.robot_arguments import read_configuration, stacked_by_joint
from linkwork.kernels.robot_base import RobotBase
from linkwork.optimal.algorithms.path_nlp import KINDS
from linkwork.optimal.features import Feature
from linkwork.optimal.features.arguments import one_of, switch

__all__ = [
    "PROGRESS",
    "SOLVE",
    "broadcast_axes",
    "read_callback",
    "read_count",
    "read_guess",
    "read_kind",
    "read_robot",
    "read_rows",
    "read_scale",
    "read_seed",
    "read_switch",
    "read_tolerances",
    "read_velocity",
]

SOLVE = "TrajectoryProblem.solve"
PROGRESS = "solve: iterations"  # label of the progress bar
Array = np.ndarray[Any, Any]


def read_robot(caller: str, value: Any) -> Any:
    """Return a robot.  Raises TypeError for anything else."""
    if not isinstance(value, RobotBase):
        raise TypeError(f"{caller}: robot: expected a robot, as lw.load returns it, got {value!r}")
    return value


def broadcast_axes(axes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common leading axes of arguments by name.  Raises ValueError where they do not broadcast."""
    try:
        return np.broadcast_shapes(*axes.values())
    except ValueError:
        shown = ", ".join(f"{name} {shape}" for name, shape in axes.items() if shape)
        raise ValueError(f"{SOLVE}: leading axes do not broadcast: got {shown}") from None


def read_seed(value: Any) -> int:
    """Return the integer seed of random guesses; a generator draws one.  Raises ValueError."""
    checked = seed(SOLVE, "seed", value)
    return checked if isinstance(checked, int) else int(np.random.default_rng(checked).integers(2**32))


def read_count(caller: str, name: str, value: Any) -> int:
    """Return an integer >= 1.  Raises ValueError."""
    return integer(caller, name, value, least=1)


def read_switch(name: str, value: Any) -> bool:
    """Return True or False.  Raises ValueError for anything else."""
    return switch(SOLVE, name, value)


def read_callback(value: Any) -> None:
    """Raise TypeError if the callback is not callable."""
    if value is not None and not callable(value):
        raise TypeError(f"{SOLVE}: callback: expected a function of the result so far, got {value!r}")


def read_kind(caller: str, kind: Any) -> str:
    """Return the kind of a term.  Raises ValueError."""
    return one_of(caller, "kind", kind, KINDS)


def read_rows(caller: str, argument: str, value: Any, count: int, rows: Sequence[str]) -> Array:
    """Return a number for each component, from one or several.  Raises ValueError for NaN and other shapes."""
    try:
        numbers = floats(value)
    except (TypeError, ValueError):
        numbers = np.array(math.nan)
    if numbers.shape not in ((), (count,)) or np.isnan(numbers).any():
        raise ValueError(
            f"{caller}: {argument}: expected a number, or one for each of {count} components ({', '.join(rows)}), "
            f"got {value!r}"
        )
    return np.broadcast_to(numbers, (count,)).copy()


def read_scale(caller: str, scale: Any, feature: Feature) -> Array:
    """Return scales >= 0 by component.  Raises ValueError."""
    scales = read_rows(caller, "scale", scale, len(feature.component_names), feature.component_names)
    if not ((scales >= 0.0) & np.isfinite(scales)).all():
        raise ValueError(f"{caller}: scale: expected finite numbers >= 0, got {scale!r}")
    return scales


def read_guess(robot: Any, steps: int, value: Any) -> Array:
    """Return a path (..., T, nq), from a path or from one configuration for all steps.  Raises ValueError."""
    try:
        path = floats(value)
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
    """Return the tolerance of steps, then those of the constraints ``names``, which have ``defaults``.

    Raises UnknownNameError and ValueError.
    """
    alike = [] if value is None or isinstance(value, Mapping) else [value]
    given = dict.fromkeys(names, value) if alike else value or {}
    by_name = {**dict(zip(names, defaults, strict=True)), **given}
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
