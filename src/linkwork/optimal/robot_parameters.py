"""Numbers of the robot that come with a call, in the place of its own: loads, gravity, what is in joints.

Which joints have motors, and what these can exert.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from linkwork._util.validation import floats
from linkwork.dynamics import inertial_parameters as inertial
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import KINDS, Parameter, inputs_of, read_parameters
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.features import PathContact
from linkwork.spatial.arguments import LARGEST

__all__ = [
    "along",
    "axes_of",
    "by_environment",
    "forces_of_motion",
    "forces_of_states",
    "motor_limits",
    "motor_places",
    "nominal_numbers",
    "own_robot_numbers",
    "read_finite",
    "read_robot_numbers",
    "robot_inputs",
    "robot_of_inputs",
    "spread",
    "with_inputs",
]


Array = np.ndarray[Any, Any]
_FILE = 1e-5  # relative: what is left of a file's six digits
_KERNELS: LazyCache[Kernel] = LazyCache(64)
_FREE: LazyCache[Any] = LazyCache(32)  # robots without their constraints


def read_robot_numbers(caller: str, problem: Any, value: Any) -> dict[Parameter, Array]:
    """By parameter (..., *shape), of a dict by names as `Robot.parameters` of a problem's robot has them; in one order,
    however given.

    Raises TypeError and ValueError for what is none, UnknownNameError.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{caller}: parameters: expected a dict of numbers by the robot's parameters, got {value!r}")
    tree = problem.robot.tree
    read_parameters(tree, caller, [*value])  # refuses what is given twice
    by_parameter = {p: x for name, x in value.items() for p in read_parameters(tree, caller, name)}
    for one in problem.contacts:
        point, _, added = one.frame.rpartition(": ") if isinstance(one, PathContact) else ("", "", "")
        if added == "contact" and any((p.kind, p.name) == ("point", point) for p in by_parameter):
            raise ValueError(
                f"{caller}: parameters: point:{point}: contact {one.name!r} is at a frame that was added "
                f"where the point "
                f"is: expected 'frame:{one.frame}', which moves it"
            )
    return {p: _numbers(caller, tree, p, by_parameter[p]) for p in sorted(by_parameter, key=str)}


def own_robot_numbers(caller: str, problem: Any, value: Any) -> dict[Parameter, Array]:
    """The same of names, too, with the robot's own numbers."""
    if value is None or isinstance(value, Mapping):
        return read_robot_numbers(caller, problem, value)
    tree = problem.robot.tree
    named = nominal_numbers(tree, read_parameters(tree, caller, value))
    return read_robot_numbers(caller, problem, {str(p): x for p, x in named.items()})


def nominal_numbers(tree: Tree, parameters: Iterable[Parameter]) -> dict[Parameter, Array]:
    """The tree's own (*shape,)."""
    return {p: np.reshape(p.nominal(tree), p.shape(tree)) for p in parameters}


def renumbered(caller: str, problem: Any, known: Mapping[Parameter, Array], value: Any) -> dict[Parameter, Array]:
    """What is known, with what is given by name for some of it.  Raises ValueError, TypeError, UnknownNameError."""
    named = {str(p): p for p in known}
    numbers = read_robot_numbers(caller, problem, value)
    other = [str(p) for p in numbers if str(p) not in named]
    if other:
        had = ", ".join(map(repr, named)) or "none"
        raise ValueError(
            f"{caller}: parameters: expected some of those that the controller was made with, {had}, got {other[0]!r}: "
            f"name it in TrajectoryProblem.controller(parameters=...)"
        )
    return {**known, **{named[str(p)]: x for p, x in numbers.items()}}


def spread(
    caller: str, tree: Tree, numbers: Mapping[Parameter, Array], lead: tuple[int, ...]
) -> dict[Parameter, Array]:
    """The same with one leading axis, that of all environments (*lead,), where there is any.  Raises ValueError."""
    result = {}
    for p, x in numbers.items():
        result[p] = by_environment(f"{caller}: parameters: {p}", x, p.shape(tree), lead)
    return result


def by_environment(label: str, x: Array, shape: tuple[int, ...], lead: tuple[int, ...]) -> Array:
    """What has a ``shape`` of its own with one leading axis, that of all environments (*lead,), where there is any.
    Raises ValueError.
    """
    if x.ndim == len(shape):
        return x
    try:
        return np.broadcast_to(x, (*lead, *shape)).reshape(-1, *shape)
    except ValueError:
        axes = x.shape[: x.ndim - len(shape)]
        raise ValueError(f"{label}: expected leading axes of the state's, {lead}, got {axes}") from None


def axes_of(tree: Tree, numbers: Mapping[Parameter, Array]) -> dict[str, tuple[int, ...]]:
    """Leading axes of each, by what it is called."""
    return {f"parameters: {p}": x.shape[: x.ndim - len(p.shape(tree))] for p, x in numbers.items()}


def robot_inputs(tree: Tree, numbers: Mapping[Parameter, Array]) -> dict[str, Array]:
    """By the names of a kernel's inputs, row by row (..., numbers)."""
    if not numbers:
        return {}
    names = inputs_of(tuple(numbers))
    return {names[p]: x.reshape(*x.shape[: x.ndim - len(p.shape(tree))], -1) for p, x in numbers.items()}


def _numbers(caller: str, tree: Tree, p: Parameter, value: Any) -> Array:
    shape = p.shape(tree)
    label = f"{caller}: parameters: {p}"
    expected = f"{label}: expected numbers (..., {', '.join(map(str, shape))}), {KINDS[p.kind].doc}"
    try:
        numbers = floats(value)
    except (TypeError, ValueError):
        numbers = np.array(math.nan)
    if numbers.ndim < len(shape) or numbers.shape[numbers.ndim - len(shape) :] != shape:
        raise ValueError(f"{expected}, got {value!r}")
    if not (np.abs(numbers) <= LARGEST).all():
        raise ValueError(f"{expected}, finite, got {value!r}")
    if p.kind == "direction" and not np.allclose(np.linalg.norm(numbers, axis=-1), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"{expected}, got {value!r}: divide it by its length")
    if p.kind == "inertia":
        own = np.reshape(p.nominal(tree), shape)
        known = np.broadcast_to(np.all(numbers == own, axis=-1), numbers.shape[:-1])
        wrong = np.argwhere(~known & ~np.asarray(inertial.is_physical(numbers, tolerance=_FILE)))
        if len(wrong):
            why = inertial.explain(numbers[tuple(wrong[0])], tolerance=_FILE)
            where = f"[{', '.join(map(str, wrong[0]))}]" if wrong.shape[1] else ""
            raise ValueError(
                f"{label}{where}: no body has these numbers: {'; '.join(why)}; "
                f"linkwork.parameters.from_log_cholesky gives what a body can have, whatever it is given"
            )
    return numbers


def with_inputs(tree: Tree, parameters: tuple[Parameter, ...], inputs: Mapping[str, Any]) -> Tree:
    """The tree with what a kernel is given for these, by their names there, row by row."""
    if not parameters:
        return tree
    return parametrized(tree, {p: list(inputs[name]) for p, name in inputs_of(parameters).items()})


def robot_of_inputs(robot: Any, parameters: tuple[Parameter, ...], inputs: Mapping[str, Any]) -> Any:
    """The robot with the same, in a function that is compiled."""
    if not parameters:
        return robot
    names = inputs_of(parameters)
    return robot.with_parameters({str(p): np.reshape(inputs[names[p]], p.shape(robot.tree)) for p in parameters})


def along(tree: Tree, numbers: Mapping[Parameter, Array]) -> dict[Parameter, Array]:
    """The same of each step (..., 1, *shape)."""
    return {p: np.expand_dims(x, x.ndim - len(p.shape(tree))) for p, x in numbers.items()}


def forces_of_motion(
    robot: Any, numbers: Mapping[Parameter, Array], q: Array, v: Array, a: Array, **passive: bool
) -> Array:
    """Joint forces (..., T, nv) of motions (..., T, n) of a robot with such numbers (..., *shape), without what keeps
    its constraints.
    """
    return forces_of_states(robot, along(robot.tree, numbers), q, v, a, **passive)


def forces_of_states(
    robot: Any, numbers: Mapping[Parameter, Array], q: Array, v: Array, a: Array, **passive: bool
) -> Array:
    """The same (..., nv) of states (..., n), each with numbers of its own (..., *shape)."""
    free = _FREE.get(robot, robot.without_constraints) if robot.tree.constraints else robot
    if not numbers:
        return np.asarray(free.inverse_dynamics(q, v, a, **passive))
    key = free, tuple(numbers), tuple(passive.items())
    kernel = _KERNELS.get(key, lambda: _forces_kernel(free, tuple(numbers), passive))
    return np.asarray(kernel(q, v, a, **robot_inputs(robot.tree, numbers)))


def _forces_kernel(robot: Any, parameters: tuple[Parameter, ...], passive: Mapping[str, bool]) -> Kernel:
    """Also of parameters on which joint forces do not depend."""
    tree: Tree = robot.tree

    def forces(q: Any, v: Any, a: Any, **inputs: Any) -> Any:
        changed = with_inputs(tree, parameters, inputs)
        return array(inverse_dynamics(changed, list(q), list(v), list(a), (), passive.get("passive", False)))

    sizes = {name: (math.prod(p.shape(tree)),) for p, name in inputs_of(parameters).items()}
    return compile(forces, name="joint_forces", q=(tree.nq,), v=(tree.nv,), a=(tree.nv,), **sizes)


def motor_places(caller: str, robot: Any, actuated: Any) -> tuple[int, ...]:
    """The velocities that have motors."""
    tree = robot.tree
    if actuated is None:
        free = {i for i, body in tree.stacked() if body.parent < 0 and body.joint.nv == 6}
        chosen = [i for i, _ in tree.stacked() if i not in free]
    else:
        names = [actuated] if isinstance(actuated, str) else list(actuated)
        chosen = sorted({tree.joint_index(name) for name in names})
    velocities = tuple(k for i in chosen for k in range(tree.nv)[tree.v_slices[i]])
    if not velocities:
        raise ValueError(f"{caller}: actuated: no joint has a motor")
    return velocities


def motor_limits(caller: str, robot: Any, places: tuple[int, ...], value: Any) -> tuple[Array, Array]:
    """Least and most (m,) of the motors' forces."""
    if value is False:
        bounds: Any = (-math.inf, math.inf)
    elif value is None or value is True:
        effort = np.asarray(robot.effort_limits, dtype=float)[list(places)]
        bounds = (-effort, effort)
    else:
        bounds = value if isinstance(value, tuple) and len(value) == 2 else None
    try:
        if bounds is None:
            most = floats(value)
            bounds = (-most, most)
        low, high = (np.broadcast_to(floats(x), (len(places),)).copy() for x in bounds)
    except (TypeError, ValueError):
        low = high = np.array(math.nan)
    if not ((low <= high) & (low < math.inf) & (high > -math.inf)).all():
        raise ValueError(
            f"{caller}: control_limits: expected a number, one for each of {len(places)} motors, or (least, most), "
            f"got {value!r}"
        )
    return low, high


def read_finite(caller: str, what: str, value: Any, shape: tuple[int, ...]) -> Array:
    try:
        numbers = floats(value)
    except (TypeError, ValueError):
        numbers = np.array(math.nan)
    if (
        numbers.shape[numbers.ndim - len(shape) :] != shape
        or numbers.ndim < len(shape)
        or not np.isfinite(numbers).all()
    ):
        raise ValueError(
            f"{caller}: {what}: expected finite numbers (..., {', '.join(map(str, shape))}), got {value!r}"
        )
    return numbers
