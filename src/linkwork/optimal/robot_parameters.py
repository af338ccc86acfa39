"""Values of the robot's parameters that a call passes, such as loads and gravity; joints with motors and limits."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from linkwork._util.validation import floats
from linkwork.dynamics import inertial_parameters as inertial
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.kernel_parameters import KINDS, Parameter, inputs_of, read_parameters
from linkwork.model.parametrized_tree import parametrized
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.shooting.resisted_velocities import added_resistance
from linkwork.optimal.features import PathContact
from linkwork.spatial.arguments import LARGEST

__all__ = [
    "forces_of_motion",
    "forces_of_states",
    "motor_indices",
    "motor_limits",
    "nominal_parameters",
    "own_robot_parameters",
    "parameter_axes",
    "parameters_with_batch_axis",
    "per_step_parameters",
    "read_finite",
    "read_robot_parameters",
    "refuse_idle_motors",
    "robot_inputs",
    "robot_of_inputs",
    "with_batch_axis",
    "with_inputs",
]


Array = np.ndarray[Any, Any]
_FILE = 1e-5  # relative tolerance of inertias from files with six digits
_KERNELS: LazyCache[Kernel] = LazyCache(64)
_FREE: LazyCache[Any] = LazyCache(32)  # robots without their constraints


def read_robot_parameters(caller: str, problem: Any, value: Any) -> dict[Parameter, Array]:
    """Return values (..., *shape) of robot parameters as a sorted dict by parameter.

    ``value`` is a dict by names, as `Robot.parameters` has them.

    Raises TypeError and ValueError for invalid values, UnknownNameError.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{caller}: parameters: expected a dict of parameter names to values, got {value!r}")
    tree = problem.robot.tree
    read_parameters(tree, caller, [*value])  # raises for parameters named twice
    by_parameter = {p: x for name, x in value.items() for p in read_parameters(tree, caller, name)}
    for force in problem.contacts:
        point, _, added = force.frame.rpartition(": ") if isinstance(force, PathContact) else ("", "", "")
        if added == "contact" and any((p.kind, p.name) == ("point", point) for p in by_parameter):
            raise ValueError(
                f"{caller}: parameters: point:{point}: contact {force.name!r} acts at a frame that was added at "
                f"the point: pass 'frame:{force.frame}', which moves it"
            )
    return {p: _read_values(caller, tree, p, by_parameter[p]) for p in sorted(by_parameter, key=str)}


def own_robot_parameters(caller: str, problem: Any, value: Any) -> dict[Parameter, Array]:
    """Return values by parameter, from a dict of values, or from names, for which the robot's own values are used."""
    if value is None or isinstance(value, Mapping):
        return read_robot_parameters(caller, problem, value)
    tree = problem.robot.tree
    named = nominal_parameters(tree, read_parameters(tree, caller, value))
    return read_robot_parameters(caller, problem, {str(p): x for p, x in named.items()})


def nominal_parameters(tree: Tree, parameters: Iterable[Parameter]) -> dict[Parameter, Array]:
    """Return the tree's own values (*shape,) as a dict by parameter."""
    return {p: np.reshape(p.nominal(tree), p.shape(tree)) for p in parameters}


def updated_parameters(
    caller: str, problem: Any, known: Mapping[Parameter, Array], value: Any
) -> dict[Parameter, Array]:
    """Return the values ``known``, updated with ``value``, a dict of values by name.

    Raises ValueError, TypeError, UnknownNameError.
    """
    named = {str(p): p for p in known}
    values = read_robot_parameters(caller, problem, value)
    unknown = [str(p) for p in values if str(p) not in named]
    if unknown:
        had = ", ".join(map(repr, named)) or "none"
        raise ValueError(
            f"{caller}: parameters: expected parameters that the controller was made with, {had}, got {unknown[0]!r}: "
            f"name it in TrajectoryProblem.controller(parameters=...)"
        )
    return {**known, **{named[str(p)]: x for p, x in values.items()}}


def parameters_with_batch_axis(
    caller: str, tree: Tree, values: Mapping[Parameter, Array], lead: tuple[int, ...]
) -> dict[Parameter, Array]:
    """Return parameter values (n, *shape), broadcast to a batch with the axes ``lead``, flattened to one axis n.

    Values without leading axes (*shape,) do not change. Raises ValueError for other leading axes.
    """
    result = {}
    for p, x in values.items():
        result[p] = with_batch_axis(f"{caller}: parameters: {p}", x, p.shape(tree), lead)
    return result


def with_batch_axis(label: str, x: Array, shape: tuple[int, ...], lead: tuple[int, ...]) -> Array:
    """Return a parameter's values (n, *shape), broadcast to a batch with the axes ``lead``, flattened to one axis n.

    Values (*shape,) without leading axes do not change. Raises ValueError for other leading axes.
    """
    if x.ndim == len(shape):
        return x
    try:
        return np.broadcast_to(x, (*lead, *shape)).reshape(-1, *shape)
    except ValueError:
        axes = x.shape[: x.ndim - len(shape)]
        raise ValueError(f"{label}: expected the leading axes of the state, {lead}, got {axes}") from None


def parameter_axes(tree: Tree, values: Mapping[Parameter, Array]) -> dict[str, tuple[int, ...]]:
    """Return the leading axes, before those of the parameter's own shape, of each value, as a dict by name."""
    return {f"parameters: {p}": x.shape[: x.ndim - len(p.shape(tree))] for p, x in values.items()}


def robot_inputs(tree: Tree, values: Mapping[Parameter, Array]) -> dict[str, Array]:
    """Return parameter values as inputs of a kernel: arrays (..., size) by name of the input."""
    if not values:
        return {}
    names = inputs_of(tuple(values))
    return {names[p]: x.reshape(*x.shape[: x.ndim - len(p.shape(tree))], -1) for p, x in values.items()}


def _read_values(caller: str, tree: Tree, p: Parameter, value: Any) -> Array:
    shape = p.shape(tree)
    label = f"{caller}: parameters: {p}"
    expected = f"{label}: expected numbers (..., {', '.join(map(str, shape))}), {KINDS[p.kind].doc}"
    try:
        result = floats(value)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if result.ndim < len(shape) or result.shape[result.ndim - len(shape) :] != shape:
        raise ValueError(f"{expected}, got {value!r}")
    if not (np.abs(result) <= LARGEST).all():
        raise ValueError(f"{expected}, finite and of at most {LARGEST:.0e}, got {value!r}")
    if p.kind == "direction" and not np.allclose(np.linalg.norm(result, axis=-1), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"{expected}, got {value!r}: normalize it")
    if p.kind == "inertia":
        nominal = np.reshape(p.nominal(tree), shape)
        known = np.broadcast_to(np.all(result == nominal, axis=-1), result.shape[:-1])
        wrong = np.argwhere(~known & ~np.asarray(inertial.is_physical(result, tolerance=_FILE)))
        if len(wrong):
            why = inertial.explain(result[tuple(wrong[0])], tolerance=_FILE)
            where = f"[{', '.join(map(str, wrong[0]))}]" if wrong.shape[1] else ""
            raise ValueError(
                f"{label}{where}: not the inertia of a physical body: {'; '.join(why)}; "
                f"linkwork.parameters.from_log_cholesky returns physical inertias for all arguments"
            )
    return result


def with_inputs(tree: Tree, parameters: tuple[Parameter, ...], inputs: Mapping[str, Any]) -> Tree:
    """Return the tree with the values that a kernel's inputs have for ``parameters``.

    ``inputs`` are flat, by name of the input.
    """
    if not parameters:
        return tree
    return parametrized(tree, {p: list(inputs[name]) for p, name in inputs_of(parameters).items()})


def robot_of_inputs(robot: Any, parameters: tuple[Parameter, ...], inputs: Mapping[str, Any]) -> Any:
    """Return the robot with the values that a kernel's inputs have for ``parameters``, in a compiled function."""
    if not parameters:
        return robot
    names = inputs_of(parameters)
    return robot.with_parameters({str(p): np.reshape(inputs[names[p]], p.shape(robot.tree)) for p in parameters})


def per_step_parameters(tree: Tree, values: Mapping[Parameter, Array]) -> dict[Parameter, Array]:
    """Return parameter values with an additional axis, (..., 1, *shape), which broadcasts over time steps."""
    return {p: np.expand_dims(x, x.ndim - len(p.shape(tree))) for p, x in values.items()}


def forces_of_motion(
    robot: Any, values: Mapping[Parameter, Array], q: Array, v: Array, a: Array, after: Array | None, passive: bool
) -> Array:
    """Return joint forces (..., T, nv) of motions by inverse dynamics, without constraint forces.

    q is (..., T, nq), v and a are (..., T, nv). ``values`` of the robot's parameters are (..., *shape) each. Damping
    and friction are evaluated at the velocities ``after``, those at the ends of steps.
    """
    return forces_of_states(robot, per_step_parameters(robot.tree, values), q, v, a, after, passive=passive)


def forces_of_states(
    robot: Any,
    values: Mapping[Parameter, Array],
    q: Array,
    v: Array,
    a: Array,
    after: Array | None = None,
    *,
    passive: bool,
) -> Array:
    """Return joint forces (..., nv) of states by inverse dynamics, without constraint forces.

    q is (..., nq), v and a are (..., nv). ``values`` of the robot's parameters are (..., *shape) each. Damping and
    friction are evaluated at the velocities ``after``, if passed, else at v.
    """
    free = _FREE.get(robot, robot.without_constraints) if robot.tree.constraints else robot
    if not values and after is None:
        return np.asarray(free.inverse_dynamics(q, v, a, passive=passive))
    key = free, tuple(values), passive
    kernel = _KERNELS.get(key, lambda: _forces_kernel(free, tuple(values), passive))
    return np.asarray(kernel(q, v, a, v if after is None else after, **robot_inputs(robot.tree, values)))


def _forces_kernel(robot: Any, parameters: tuple[Parameter, ...], passive: bool) -> Kernel:
    """Return the compiled inverse dynamics with parameters as inputs, also those without influence."""
    tree: Tree = robot.tree

    def forces(q: Any, v: Any, a: Any, after: Any, **inputs: Any) -> Any:
        changed = with_inputs(tree, parameters, inputs)
        tau = inverse_dynamics(changed, list(q), list(v), list(a), (), passive)
        added = added_resistance(changed, list(v), list(after)) if passive else [0.0] * tree.nv
        return array([x if is_zero(r) else x + r for x, r in zip(tau, added, strict=True)])

    sizes = {name: (math.prod(p.shape(tree)),) for p, name in inputs_of(parameters).items()}
    return compile(forces, name="joint_forces", q=(tree.nq,), v=(tree.nv,), a=(tree.nv,), after=(tree.nv,), **sizes)


def motor_indices(
    caller: str, robot: Any, actuated: Any, argument: str = "actuated", idle: Collection[int] = ()
) -> tuple[int, ...]:
    """Return the indices in v of the joints with motors, named by ``actuated``.

    The default is all joints except a free base and ``idle`` joints. ``argument`` is the name of the argument in
    messages. Raises ValueError if no joint has a motor, and UnknownNameError.
    """
    tree = robot.tree
    if actuated is None:
        free = {i for i, body in tree.stacked() if body.parent < 0 and body.joint.nv == 6}
        chosen = [i for i, _ in tree.stacked() if i not in free]
    else:
        names = [actuated] if isinstance(actuated, str) else list(actuated)
        try:
            chosen = sorted({tree.joint_index(name) for name in names})
        except UnknownNameError as error:
            raise error.at(f"{caller}: {argument}") from None
        idle = ()
    velocities = tuple(k for i in chosen for k in range(tree.nv)[tree.v_slices[i]] if k not in idle)
    if not velocities:
        raise ValueError(f"{caller}: {argument}: expected at least one joint with degrees of freedom, got {actuated!r}")
    return velocities


def refuse_idle_motors(where: str, robot: Any, motors: Iterable[int], idle: Collection[int]) -> None:
    """Raise ValueError for motors, as indices in v, whose forces a problem constrains to zero.

    ``where`` names the caller and the argument.
    """
    both = [robot.v_names[k] for k in motors if k in idle]
    if both:
        raise ValueError(
            f"{where}: expected joints with motors, but the problem constrains the force of {both[0]!r} to zero "
            "(actuators= of TrajectoryProblem, or UnactuatedFeature)"
        )


def motor_limits(caller: str, robot: Any, indices: tuple[int, ...], value: Any) -> tuple[Array, Array]:
    """Return the lower and upper limits (m,) of the motor forces [N·m, N].

    ``value`` is None or True for the robot's effort limits, False for no limits, a number or array for the absolute
    value, or a pair (lower, upper). Raises ValueError.
    """
    if value is False:
        bounds: Any = (-math.inf, math.inf)
    elif value is None or value is True:
        effort = np.asarray(robot.effort_limits, dtype=float)[list(indices)]
        bounds = (-effort, effort)
    else:
        bounds = value if isinstance(value, tuple) and len(value) == 2 else None
    try:
        if bounds is None:
            most = floats(value)
            bounds = (-most, most)
        low, high = (np.broadcast_to(floats(x), (len(indices),)).copy() for x in bounds)
    except (TypeError, ValueError):
        low = high = np.array(math.nan)
    if not ((low <= high) & (low < math.inf) & (high > -math.inf)).all():
        raise ValueError(
            f"{caller}: control_limits: expected a number, one for each of {len(indices)} motors, or (lower, upper), "
            f"got {value!r}"
        )
    return low, high


def read_finite(caller: str, argument: str, value: Any, shape: tuple[int, ...]) -> Array:
    try:
        result = floats(value)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if result.shape[result.ndim - len(shape) :] != shape or result.ndim < len(shape) or not np.isfinite(result).all():
        raise ValueError(
            f"{caller}: {argument}: expected finite numbers (..., {', '.join(map(str, shape))}), got {value!r}"
        )
    return result
