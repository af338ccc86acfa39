"""Numbers of the robot that come with a call, in the place of its own: loads, gravity, what is in joints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import parameters as inertial
from ...model.parameter import KINDS, Parameter, inputs_of, read_parameters
from ...model.parametrised import parametrised
from ...model.tree import Tree
from ...spatial.given import LARGEST

__all__ = ["forces_of_motion", "read_robot_numbers", "with_inputs"]

Array = np.ndarray[Any, Any]

_FILE = 1e-5  # relative: what is left of a file's six digits


def read_robot_numbers(who: str, robot: Any, given: Any) -> dict[Parameter, Array]:
    """By parameter (..., *shape), of a dict by names as `Robot.parameters` has them; in one order, however given.

    Raises TypeError and ValueError for what is none, UnknownNameError.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{who}: parameters: expected a dict of numbers by the robot's parameters, got {given!r}")
    read_parameters(robot.tree, who, [*given])  # refuses what is given twice
    by_parameter = {p: x for name, x in given.items() for p in read_parameters(robot.tree, who, name)}
    return {p: _numbers(who, robot.tree, p, by_parameter[p]) for p in sorted(by_parameter, key=str)}


def _numbers(who: str, tree: Tree, p: Parameter, given: Any) -> Array:
    shape = p.shape(tree)
    told = f"{who}: parameters: {p}"
    expected = f"{told}: expected numbers (..., {', '.join(map(str, shape))}), {KINDS[p.kind].doc}"
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        found = np.array(math.nan)
    if found.ndim < len(shape) or found.shape[found.ndim - len(shape) :] != shape:
        raise ValueError(f"{expected}, got {given!r}")
    if not (np.abs(found) <= LARGEST).all():
        raise ValueError(f"{expected}, finite, got {given!r}")
    if p.kind == "direction" and not np.allclose(np.linalg.norm(found, axis=-1), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"{expected}, got {given!r}: divide it by its length")
    if p.kind == "inertia":
        own = np.reshape(p.nominal(tree), shape)
        known = np.broadcast_to(np.all(found == own, axis=-1), found.shape[:-1])
        wrong = np.argwhere(~known & ~np.asarray(inertial.is_physical(found, tolerance=_FILE)))
        if len(wrong):
            why = inertial.explain(found[tuple(wrong[0])], tolerance=_FILE)
            where = f"[{', '.join(map(str, wrong[0]))}]" if wrong.shape[1] else ""
            raise ValueError(
                f"{told}{where}: no body has these numbers: {'; '.join(why)}; "
                f"linkwork.parameters.from_log_cholesky gives what a body can have, whatever it is given"
            )
    return found


def with_inputs(tree: Tree, parameters: tuple[Parameter, ...], given: Mapping[str, Any]) -> Tree:
    """The tree with what a kernel is given for these, by their names there, row by row."""
    if not parameters:
        return tree
    return parametrised(tree, {p: list(given[name]) for p, name in inputs_of(parameters).items()})


def forces_of_motion(
    robot: Any, numbers: Mapping[Parameter, Array], q: Array, v: Array, a: Array, **passive: bool
) -> Array:
    """Joint forces (..., T, nv) of motions (..., T, n) of a robot with such numbers (..., *shape), without what keeps
    its constraints."""
    free = robot.without_constraints() if robot.tree.constraints else robot
    if not numbers:
        return np.asarray(free.inverse_dynamics(q, v, a, **passive))
    kernel = free.compile(("inverse_dynamics", passive), parameters=[*map(str, numbers)])
    shapes = {p: p.shape(robot.tree) for p in numbers}
    steps = {p: np.expand_dims(x, x.ndim - len(shapes[p])) for p, x in numbers.items()}
    names = inputs_of(tuple(numbers))
    return np.asarray(kernel(q, v, a, **{names[p]: x for p, x in steps.items()}))
