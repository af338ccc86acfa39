"""Terms and decision variables of a trajectory problem: users' arguments, checked and converted for solvers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import FEATURES
from linkwork._util.messages import nearest
from linkwork._util.unknown_names import foreign_hint
from linkwork._util.validation import finite_array, floats
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.ik.tasks.task import Task
from linkwork.kernels.robot_arguments import by_joint, read_limits
from linkwork.model.limited_coordinates import limited_coordinates
from linkwork.model.tree import Tree
from linkwork.optimal.arguments import phases_of, read_count, read_kind, read_rows, read_scale, read_schedule
from linkwork.optimal.features import (
    BY_NAME,
    AccelerationLimits,
    Feature,
    FunctionFeature,
    JerkLimits,
    ParameterFeature,
    PositionLimits,
    TaskFeature,
    TorqueLimits,
    UnactuatedFeature,
    VariableFeature,
    VelocityLimits,
)
from linkwork.optimal.features.contact_features import robot_weight
from linkwork.optimal.features.derived_features import OffsetFeature, difference_of
from linkwork.optimal.robot_parameters import motor_indices

__all__ = [
    "LIMITS",
    "DecisionVariable",
    "PerStep",
    "ProblemTerm",
    "default_target",
    "duration_variables",
    "first_target",
    "limits_of",
    "make_term",
    "make_variable",
    "read_target",
    "resolve_feature",
    "target_shape",
    "unused_name",
    "with_actuators",
]

Array = np.ndarray[Any, Any]


def _read_only(x: Any) -> Array:
    """Return a read-only copy as an array of floats."""
    copied = np.array(x, dtype=float)
    copied.flags.writeable = False
    return copied


@public
@dataclass(frozen=True, eq=False)
class PerStep:
    """A target for each step at which a feature applies: ``values``, an array (..., steps, *shape)."""

    values: Any

    def __post_init__(self) -> None:
        if not is_traced(self.values):
            finite_array(type(self).__name__, "values", self.values)
            object.__setattr__(self, "values", _read_only(floats(self.values)))


@dataclass(frozen=True, eq=False)
class ProblemTerm:
    """Term of a trajectory problem: a feature with its kind, steps, scale, bounds and target.

    `TrajectoryProblem.terms` has a term for each call of `TrajectoryProblem.add`. ``kind`` is "cost", "least_squares",
    "equality" or "inequality". ``steps`` are the steps at which the term applies, in order; ``single`` is True if a
    single step was selected by its index. ``scale`` has a factor for each component. ``lower`` and ``upper`` are
    bounds by component that replace the bounds of the kind, or None. ``target`` is the default target of `solve`, an
    array (*shape), a `PerStep` or None.

    ``name`` is the name of the term.  ``phases`` are the names of the phases that define the steps; if
    ``is_outside_phase`` is True, the term applies to all steps outside these phases.
    """

    name: str
    feature: Feature
    kind: str
    steps: tuple[int, ...]
    single: bool
    scale: Array
    target: Any
    lower: Array | None
    upper: Array | None
    phases: tuple[str, ...] = ()  # that name the steps
    is_outside_phase: bool = False  # the steps are all but those of the phases

    @property
    def has_target_per_step(self) -> bool:
        """True if the target has a value for each step."""
        return isinstance(self.target, PerStep)


@dataclass(frozen=True, eq=False)
class DecisionVariable:
    """Decision variable of each step or of the whole path: name, bounds and initial guess, (size,) each.

    ``lower`` and ``upper`` are the bounds, and ``initial_guess`` the guess.  A variable of steps is free at ``steps``,
    and equal to its initial guess at other steps.  ``phases`` are the names of the phases that define the steps.
    """

    name: str
    size: int
    lower: Array
    upper: Array
    initial_guess: Array
    steps: tuple[int, ...] = ()  # of variables of steps; at the others they are fixed at the initial guess
    phases: tuple[str, ...] = ()  # that name the steps


def resolve_feature(
    caller: str, problem: Any, value: Any, kind: Any, steps: Any, order: int | None, name: str | None
) -> tuple[Feature, Any]:
    """Return the feature of a new term, and its steps.  Raises TypeError and ValueError."""
    read_kind(caller, kind)
    if isinstance(value, str) and value in problem.parameters:
        if steps is not None:
            raise ValueError(
                f"{caller}: {value!r}: steps: expected None, as a parameter belongs to the whole path, got {steps!r}"
            )
        value, steps = ParameterFeature(value), problem.num_steps - 1
    elif isinstance(value, str) and value in problem.variables:
        value = VariableFeature(value)
    return _as_feature(caller, value, order, name), steps


def unused_name(caller: str, problem: Any, feature: Feature, name: str | None) -> str:
    """Return the name of a new term, by default its feature's name.  Raises TypeError and ValueError."""
    label = name or feature.name
    if not isinstance(label, str):
        raise TypeError(f"{caller}: name: expected a string, got {label!r}")
    if label in problem._names:
        if name is not None:
            raise ValueError(f"{caller}: a feature named {label!r} exists: pass another name=")
        label = next(f"{label} {k}" for k in range(2, 1000) if f"{label} {k}" not in problem._names)
    return label


def make_term(
    caller: str,
    problem: Any,
    label: str,
    feature: Feature,
    kind: str,
    *,
    steps: Any = None,
    scale: Any = 1.0,
    target: Any = None,
    lower: Any = None,
    upper: Any = None,
) -> ProblemTerm:
    """Return a term of a problem from the arguments of `TrajectoryProblem.add`.  Raises ValueError and TypeError."""
    indices, single = read_schedule(caller, steps, problem.num_steps, problem.phases)
    low, high = _bounds(caller, feature, kind, lower, upper)
    if target is None:
        target = feature.target
    elif target_shape(problem.robot.tree, feature) is None:
        feature = _minus_target(caller, feature, kind, target, len(indices))
    if target is not None and not isinstance(target, PerStep):
        target = _read_only(read_target(problem.robot.tree, caller, feature, target))
    scales = _read_only(_weighted_scales(caller, kind, feature, read_scale(caller, scale, feature)))
    return ProblemTerm(label, feature, kind, indices, single, scales, target, low, high, *phases_of(steps))


def _minus_target(caller: str, feature: Feature, kind: str, target: Any, steps: int) -> OffsetFeature:
    """Return a feature without a target of its own, minus a target: a number for each component, or one for all.

    Raises ValueError for a cost, which has the same minimum with any target.
    """
    if kind == "cost":
        raise ValueError(f"{caller}: target: expected None, as a constant does not change what minimises a cost")
    axes = np.shape(target.values if isinstance(target, PerStep) else target)
    single = axes[-1:] == (steps,) and axes[-2:-1] != (steps,) if isinstance(target, PerStep) else not axes
    return OffsetFeature(feature, () if single else (len(feature.component_names),))


def _bounds(
    caller: str, feature: Feature, kind: str, lower: Any, upper: Any
) -> tuple[Array, Array] | tuple[None, None]:
    """Return the lower and upper bounds by component, or two None if there are none.

    The bounds are the arguments ``lower`` and ``upper``, or else the ranges of an IK task.
    """
    rows = feature.component_names
    if lower is not None or upper is not None:
        if kind == "cost":
            raise ValueError(f"{caller}: lower and upper: expected None, as a cost has no bounds")
        low = read_rows(caller, "lower", -np.inf if lower is None else lower, len(rows), rows)
        high = read_rows(caller, "upper", np.inf if upper is None else upper, len(rows), rows)
        if not (low <= high).all():
            raise ValueError(f"{caller}: lower: expected at most upper, got {lower!r} > {upper!r}")
        return _read_only(low), _read_only(high)
    ranges = _ranges_of(feature)
    if kind in ("equality", "least_squares") and any(pair != (0.0, 0.0) for pair in ranges):
        low, high = np.array(ranges, dtype=float).T
        return _read_only(low), _read_only(high)
    return None, None


def make_variable(
    method: str,
    problem: Any,
    name: Any,
    size: Any,
    lower: Any,
    upper: Any,
    initial_guess: Any,
    steps: Any = None,
) -> DecisionVariable:
    """Return a variable of steps, or a parameter of the whole path.  Raises TypeError and ValueError."""
    caller = f"TrajectoryProblem.{method}"
    if not isinstance(name, str) or not name:
        raise TypeError(f"{caller}: name: expected a name, got {name!r}")
    if name in problem.variables or name in problem.parameters:
        raise ValueError(f"{caller}: a variable or parameter named {name!r} exists: pass another name")
    caller, of_steps = f"{caller}: {name!r}", method == "add_variable"
    indices = read_schedule(caller, steps, problem.num_steps, problem.phases)[0] if of_steps else ()
    size = read_count(caller, "size", size)
    rows = [f"{name}[{k}]" for k in range(size)]
    low = read_rows(caller, "lower", -np.inf if lower is None else lower, size, rows)
    high = read_rows(caller, "upper", np.inf if upper is None else upper, size, rows)
    if not (low <= high).all():
        raise ValueError(f"{caller}: lower: expected at most upper, got {lower!r} > {upper!r}")
    guess = np.clip(read_rows(caller, "initial_guess", initial_guess, size, rows), low, high)
    return DecisionVariable(
        name, size, _read_only(low), _read_only(high), _read_only(guess), indices, phases_of(steps)[0]
    )


def duration_variables(durations: Mapping[str, Any]) -> dict[str, DecisionVariable]:
    """Return a parameter of the path for each free duration, by name, such as "duration of swing".

    ``durations`` [s] is a dict by phase: a number, or a pair (lower, upper) for a free duration.
    """
    variables = {}
    for phase, x in durations.items():
        if isinstance(x, tuple):
            name = f"duration of {phase}" if phase else "duration"
            guess = [float(np.sqrt(x[0] * x[1]))]
            variables[name] = DecisionVariable(name, 1, _read_only(x[:1]), _read_only(x[1:]), _read_only(guess))
    return variables


def _as_feature(caller: str, value: Any, order: int | None, name: str | None) -> Feature:
    """Return the feature for a user's argument: a name, a task, a function, or a feature itself.

    ``order`` is the order of the finite difference in time.  Raises TypeError and ValueError.
    """
    if isinstance(value, str):
        if value not in BY_NAME:
            remedy = foreign_hint(value, (FEATURES,), BY_NAME) or nearest(value, tuple(BY_NAME))
            raise ValueError(f"{caller}: feature: no feature is called {value!r}; {remedy}")
        value = BY_NAME[value]()
    if isinstance(value, Task):
        return TaskFeature(value, 0 if order is None else order)
    if callable(value) and not isinstance(value, (type, Feature)):
        default = getattr(value, "__name__", "")
        value = FunctionFeature(name or (default if default.isidentifier() else "") or "function", value)
    if isinstance(value, Feature):
        return difference_of(value, 0 if order is None else order)
    raise TypeError(
        f"{caller}: feature: expected the name of a feature ({', '.join(BY_NAME)}), a task of linkwork.ik, a feature "
        f"of linkwork.optimal, or a function of a window, got {value!r}"
    )


def _weighted_scales(caller: str, kind: str, feature: Feature, scale: Array) -> Array:
    """Return the scales by component, multiplied by the weights of an IK task; for other features unchanged.

    Raises ValueError if weights or ranges of the task would have no effect.
    """
    if not isinstance(feature, TaskFeature):
        return scale
    task = feature.task
    if feature.depth and any(pair != (0.0, 0.0) for pair in task.ranges):
        raise ValueError(
            f"{caller}: order: expected 0, as the task's ranges bound its errors, not their rates: pass lower= "
            f"and upper= instead"
        )
    if task.weight is None:
        return scale
    if kind != "least_squares":
        raise ValueError(
            f"{caller}: kind: expected 'least_squares' for a task with a weight, {task.weight!r}, got {kind!r}"
        )
    return np.asarray(scale * np.array(task.weights))


def _ranges_of(feature: Feature) -> tuple[tuple[float, float], ...]:
    """Return the permitted range (lower, upper) of each component: that of an IK task's errors, else (0, 0)."""
    task = getattr(feature, "task", None)
    if task is None or feature.depth:
        return ((0.0, 0.0),) * len(feature.component_names)
    return tuple(task.ranges)


def target_shape(tree: Tree, feature: Feature) -> tuple[int, ...] | None:
    """Return the shape of a feature's target, or None for a feature without a target."""
    if feature.target_of is None:
        return None
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return tuple(sizes[n] if isinstance(n, str) else n for n in feature.target_of.shape)


def default_target(robot: Any, feature: Any) -> Array:
    """Return a default target: zeros, the identity of poses and rotations, or the neutral configuration."""
    kind, shape = feature.target_of.kind, target_shape(robot.tree, feature)
    assert shape is not None
    if kind == "configuration":
        return np.array(robot.neutral())
    return np.eye(shape[0]) if kind in ("pose", "rotation") else np.zeros(shape)


def first_target(robot: Any, term: ProblemTerm) -> Any:
    """Return the target of a term at its first step, or a default target; () for a feature without a target."""
    shape = target_shape(robot.tree, term.feature)
    if shape is None:
        return ()
    target = default_target(robot, term.feature) if term.target is None else term.target
    return np.asarray(target.values).reshape(-1, *shape)[0] if isinstance(target, PerStep) else target


def read_target(tree: Tree, caller: str, feature: Feature, value: Any, batch: bool = False) -> Array:
    """Return a feature's target (*shape), or with ``batch`` (..., *shape).  Raises ValueError."""
    shape = target_shape(tree, feature)
    assert shape is not None
    try:
        target = floats(value)
    except (TypeError, ValueError):
        target = np.array(np.nan)
    if not _has_core(target, shape) or (target.ndim > len(shape) and not batch):
        raise ValueError(
            f"{caller}: target: expected numbers of shape {'(..., ' if batch else '('}{', '.join(map(str, shape))}), "
            f"got shape {target.shape}"
        )
    if not np.isfinite(target).all():
        raise ValueError(f"{caller}: target: expected finite numbers, got {value!r}")
    return target


def _has_core(x: Array, shape: Sequence[int]) -> bool:
    """Return True if the last axes of the array x have the given shape."""
    return x.ndim >= len(shape) and x.shape[x.ndim - len(shape) :] == tuple(shape)


def with_actuators(problem: Any, actuators: str | Iterable[str]) -> Any:
    """Return the problem with zero forces in the joints that are not among ``actuators``.  Raises UnknownNameError."""
    caller, tree = "TrajectoryProblem", problem.robot.tree
    motors = set(motor_indices(caller, problem.robot, actuators, "actuators"))
    joints = {body.joint_name: {*range(tree.nv)[tree.v_slices[i]]} for i, body in tree.stacked() if body.joint.nv}
    idle = [name for name, dofs in joints.items() if not dofs & motors]
    if not idle:
        return problem
    bound = problem._bound(caller, UnactuatedFeature(idle, name="unactuated"))
    return problem._with_feature(caller, bound, "equality", scale=1.0 / robot_weight(tree))


LIMITS: dict[Any, str] = {
    PositionLimits: "positions",
    VelocityLimits: "velocities",
    AccelerationLimits: "accelerations",
    JerkLimits: "jerks",
    TorqueLimits: "torques",
}
"""Argument of `linkwork.TrajectoryProblem.add_limits` for each kind of limits."""


def limits_of(caller: str, robot: Any, kind: Any, value: Any) -> tuple[Feature, ...]:
    """Return the limits of a kind from True, numbers, or a dict by joint (other joints: the robot's limits)."""
    if value is True:
        return (kind(),)
    if not isinstance(value, Mapping):
        return (kind(upper=value),)
    if kind is PositionLimits:
        lower, upper = read_limits(caller, robot, value)
        by_name = kind(tuple(lower.tolist()), tuple(upper.tolist()))
        return (kind(), by_name) if any(x.loop is not None for x in limited_coordinates(robot.tree)) else (by_name,)
    default = getattr(robot, {"torque": "effort"}.get(kind.kind, kind.kind) + "_limits")
    most = by_joint(caller, LIMITS[kind], robot.tree, value, default=default, least=0.0, infinite=True)
    return (kind(upper=tuple(most.tolist())),)
