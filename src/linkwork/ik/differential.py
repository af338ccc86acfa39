"""Differential inverse kinematics: velocities that move tasks towards their targets within limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_number, floats, positive
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, fabs, le, lt, where
from linkwork.ik.algorithms.differential_step import velocity_step
from linkwork.ik.algorithms.hierarchical_qp import cascade_step, is_plain
from linkwork.ik.algorithms.joint_bounds import MotionLimits
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.arguments import check_tasks, raise_for_inputs, read_locked, read_targets
from linkwork.ik.kernels import rotation_defect, target_scalars, target_shapes
from linkwork.ik.tasks.arguments import DAMPING
from linkwork.ik.tasks.modifiers import LimitRange
from linkwork.ik.tasks.task import Task
from linkwork.ik.velocity_result import DIAGNOSTICS, VelocityResult
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.robot_arguments import read_configuration, read_limits
from linkwork.model.limited_coordinates import LoopSpeed, loop_speeds
from linkwork.model.tree import Tree

__all__ = ["DifferentialIK"]


Scalars = Sequence[Any]

_OFF = 1e-6  # permitted deviation of a target from a rotation
_ANY_RATE = 1e100  # [rad/s², m/s²] stands for no limit of acceleration where a kernel has some
_NO_BOUND = 1e290  # replaces infinite bounds, since non-finite arguments take the kernel's slow path
_kernels: LazyCache[Kernel] = LazyCache(256)


@public
class DifferentialIK:
    """Differential IK step that is prepared once and evaluated in each control period.

    ``robot.ik_problem(tasks).differential(dt)`` builds one, or this constructor.  `velocity` accepts arguments of any
    kind and returns a result with diagnostics.  `step` takes plain arrays and returns the velocity alone.

    ``motion_limits``, ``gain``, ``time_constant``, ``damping`` and ``locked`` are options of `Robot.velocity_for`.
    Error messages begin with ``caller``.
    """

    _has_time = True  # False for steps along a path without time, whose constraints do not drift

    def __init__(
        self,
        robot: Any,
        tasks: Task | Iterable[Task],
        dt: float,
        *,
        motion_limits: Any = True,
        gain: Any = 1.0,
        time_constant: Any = None,
        damping: float = DAMPING,
        locked: Sequence[str] = (),
        caller: str = "velocity_for",
    ) -> None:
        self.robot, self.caller = robot, caller
        self.limits: LimitArrays = read_motion_limits(caller, robot, motion_limits)
        by_call = isinstance(motion_limits, Mapping) and motion_limits.get("acceleration", True) is not True
        self.tasks: tuple[Task, ...] = check_tasks(caller, robot, tasks, self.limits.position, velocities=True)
        self.dt = positive(caller, "dt", dt, symbols=False, unit="s")
        self.locked = read_locked(caller, robot, locked)
        self.gains = self._gains(gain, time_constant)
        self.damping = finite_number(caller, "damping", damping, least=0.0, most=1e6, symbols=False)
        self.shapes = target_shapes(robot.tree, self.tasks)
        limits = self.limits
        self._prepared = (
            np.array(self.dt),
            np.array([x for task in self.tasks for x in task.weights]),
            self.gains,
            np.array(self.damping),
            *(
                np.clip(x, -_NO_BOUND, _NO_BOUND)
                for x in (limits.lower, limits.upper, limits.velocity, limits.acceleration)
            ),
        )
        self._zero_velocity = np.zeros(robot.nv)
        # without a previous velocity, the robot's own limits of acceleration do not bound a step
        self._from_rest = self._prepared if by_call else (*self._prepared[:-1], np.full(robot.nv, _ANY_RATE))

    def _start(self, v_last: np.ndarray | None) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return the previous velocity, zero by default, and the step's arguments for a known or unknown one.

        Without it, the robot's own acceleration limits do not apply.
        """
        return (self._zero_velocity, self._from_rest) if v_last is None else (v_last, self._prepared)

    def _gains(self, gain: Any, time_constant: Any) -> np.ndarray:
        """Return for each error the fraction that a step removes."""
        fixed = {task.name: 1.0 for task in self.tasks if task.own or task.of_velocity}  # removed completely
        for argument, value in (("gain", gain), ("time_constant", time_constant)):
            for task in self.tasks:
                if task.of_velocity and isinstance(value, Mapping) and task.name in value:
                    raise ValueError(
                        f"{self.caller}: {argument} of task {task.name!r}: expected a configuration task, got a "
                        f"velocity task, whose error is removed in one step; omit it"
                    )
        by_task = self._by_task("gain", gain, 1.0)
        if time_constant is not None:
            times = self._by_task("time_constant", time_constant, math.nan)
            by_task = {name: by_task[name] if math.isnan(t) else -math.expm1(-self.dt / t) for name, t in times.items()}
        by_task |= fixed
        for name, x in by_task.items():
            if not 0.0 <= x <= 1.0:
                raise ValueError(f"{self.caller}: gain of task {name!r}: expected a number in [0, 1], got {x!r}")
        return np.array([by_task[task.name] for task in self.tasks for _ in task.component_names])

    def _by_task(self, argument: str, value: Any, default: float) -> dict[str, float]:
        names = [task.name for task in self.tasks]
        if isinstance(value, Mapping):
            for name in value:
                if name not in names:
                    raise UnknownNameError("task", name, names)
        by_name = dict(value) if isinstance(value, Mapping) else dict.fromkeys(names, value)
        result = {name: by_name.get(name, default) for name in names}
        limits: dict[str, Any] = {"above": 0.0, "unit": "s"} if argument == "time_constant" else {}
        for name in [name for name in names if name in by_name]:
            label = f"{argument} of task {name!r}"
            result[name] = finite_number(self.caller, label, result[name], infinite=True, symbols=False, **limits)
        return result

    @cached_property
    def kernel(self) -> Kernel:
        """Compiled step; see `linkwork.Kernel`."""
        tree, limits = self.robot.tree, self.limits
        bounded = (
            frozenset(np.flatnonzero(np.isfinite(limits.lower) | np.isfinite(limits.upper)).tolist()),
            frozenset(np.flatnonzero(np.isfinite(limits.velocity)).tolist()),
            frozenset(np.flatnonzero(np.isfinite(limits.acceleration)).tolist()),
        )
        locked_dofs = frozenset(
            k for name in self.locked for k in range(tree.nv)[tree.v_slices[tree.joint_index(name)]]
        )
        speeds = limits.speeds, limits.loops
        key = (tree, self.tasks, bounded, locked_dofs, *speeds, self._has_time)
        return _kernels.get(key, lambda: _kernel(tree, self.tasks, bounded, locked_dofs, *speeds, self._has_time))

    def velocity(self, q: Any, *, v_last: Any = None, **targets: Any) -> VelocityResult:
        """Compute the velocity (..., nv) at q (..., nq) for targets by task name, one state or a batch.

        ``v_last`` (..., nv) is the previous velocity, which acceleration limits need.  By default it is zero, and the
        robot's own acceleration limits do not apply.  Raises ValueError for targets that are missing, of the wrong
        shape, not finite or not rotations, and UnknownNameError for targets of unknown tasks.
        """
        robot, caller = self.robot, self.caller
        q = read_configuration(robot, caller, "q", q)
        before, prepared = self._start(None if v_last is None else _velocities(caller, robot, v_last))
        arrays = read_targets(self, targets)
        ranks = [x.ndim - len(self.shapes[name]) for name, x in arrays.items()]
        try:
            np.broadcast_shapes(
                q.shape[:-1], before.shape[:-1], *(x.shape[:n] for x, n in zip(arrays.values(), ranks, strict=True))
            )
        except ValueError as error:
            raise ValueError(f"{caller}: q and targets do not broadcast together: {error}") from None
        v, diagnostics = self.kernel(q, before, *prepared, *arrays.values())
        if not np.all(diagnostics[..., 0] <= _OFF):
            raise_for_inputs(self, [("q", q), ("v_last", before)], arrays)
        return VelocityResult._make(self, v, diagnostics)

    def step(self, q: np.ndarray, *targets: np.ndarray, v_last: np.ndarray | None = None) -> np.ndarray:
        """Compute the velocity (nv,) at q (nq,) for targets in task order: plain arrays.

        ``v_last`` (nv,) is the velocity of the previous step, for limits of acceleration.
        """
        before, prepared = self._start(v_last)
        v, diagnostics = self.kernel(q, before, *prepared, *targets)
        if not diagnostics[0] <= _OFF:
            raise_for_inputs(self, [("q", q), ("v_last", before)], dict(zip(self.shapes, targets, strict=True)))
        return v  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        tasks = ", ".join(repr(task.name) for task in self.tasks)
        return f"<DifferentialIK of {self.robot.name!r}: {tasks}; steps of {self.dt:g} s>"


def _velocities(caller: str, robot: Any, value: Any) -> np.ndarray:
    try:
        result = floats(value)
    except (TypeError, ValueError):
        raise ValueError(f"{caller}: v_last: expected velocities (..., {robot.nv}), got {value!r}") from None
    if result.ndim < 1 or result.shape[-1] != robot.nv:
        raise ValueError(f"{caller}: v_last: expected velocities (..., {robot.nv}), got shape {result.shape}")
    return result


def _kernel(
    tree: Tree,
    tasks: tuple[Task, ...],
    bounded: tuple[frozenset[int], frozenset[int], frozenset[int]],
    locked_dofs: frozenset[int],
    speeds: tuple[tuple[tuple[int, ...], float], ...],
    loops: tuple[LoopSpeed, ...],
    has_time: bool,
) -> Kernel:
    shapes = target_shapes(tree, tasks)
    with_targets = [task for task in tasks if task.name in shapes]
    count = sum(len(task.component_names) for task in tasks)
    tolerances = [x for task in tasks for x in task.tolerances]

    def velocities(
        *,
        q: Any,
        v_last: Any,
        dt: Any,
        weights: Any,
        gains: Any,
        damping: Any,
        lower: Any,
        upper: Any,
        velocity: Any,
        acceleration: Any,
        **targets: Any,
    ) -> Any:
        values = target_scalars(tasks, with_targets, targets)
        stack = Stack(tree, tasks, values, tolerances, [*weights], locked_dofs, dt if has_time else None)
        limits = MotionLimits([*lower], [*upper], [*velocity], [*acceleration], *bounded, loops)
        if is_plain(stack):
            result = velocity_step(stack, [*q], dt, [*v_last], limits, [*gains], damping, speeds)
        else:
            result = cascade_step(stack, [*q], dt, [*v_last], limits, [*gains], damping, speeds)
        defect: Any = 0.0
        for task, target in zip(tasks, values, strict=True):
            defect = defect + rotation_defect(task, target)
        total: Any = 0.0
        for x in (*q, *result.errors, *v_last):
            total = total + fabs(x)
        defect = defect + where(lt(total, math.inf), 0.0, math.inf)  # bounds would hide NaN and infinity
        satisfied: Any = 1.0
        for x, tolerance, hard in zip(result.short, tolerances, stack.hard, strict=True):
            if hard:
                satisfied = where(and_(le(0.5, satisfied), le(fabs(x), tolerance)), 1.0, 0.0)
        sides = [*result.sides, *limit_sides(stack, [*q], [x * dt for x in result.v])]
        diagnostics = [defect, satisfied, result.least, result.rounds, *sides, *result.errors, *result.after]
        return {"v": array(result.v), "diagnostics": array(diagnostics)}

    assert DIAGNOSTICS[:4] == ("off", "met", "least", "rounds")
    return compile(
        velocities,
        name="differential_inverse_kinematics",
        q=(tree.nq,),
        v_last=(tree.nv,),
        dt=(),
        weights=(count,),
        gains=(count,),
        damping=(),
        lower=(tree.nq,),
        upper=(tree.nq,),
        velocity=(tree.nv,),
        acceleration=(tree.nv,),
        **{f"target{k}": shapes[task.name] for k, task in enumerate(with_targets)},
    )


def limit_sides(stack: Stack, q: Scalars, delta: Scalars) -> list[Any]:
    """Return the limits that the step δ reaches, for each error of `LimitRange` tasks: 1 upper, −1 lower, 0 none."""
    at, owners = stack.at(q), [stack.tasks[k] for k in stack.owners]
    result = []
    for task, e, row, (low, high) in zip(owners, at.errors, at.rows, stack.ranges, strict=True):
        if isinstance(task, LimitRange):
            x = e + dot(row, delta)
            result.append(where(le(high - _REACHED, x), 1.0, where(le(x, low + _REACHED), -1.0, 0.0)))
    return result


_REACHED = by_type(1e-9)  # [rad, m, 1] distance from a limit that counts as reached
_KINDS = ("position", "velocity", "acceleration", "speed")


@dataclass(frozen=True)
class LimitArrays:
    """Position, velocity and acceleration limits as arrays, infinite where absent, and bounds of speed norms."""

    lower: np.ndarray  # (nq,)
    upper: np.ndarray
    velocity: np.ndarray  # (nv,)
    acceleration: np.ndarray  # (nv,)
    speeds: tuple[tuple[tuple[int, ...], float], ...]  # indices in v, and the bound of their norm
    position: tuple[np.ndarray, np.ndarray] | None  # lower and upper; None if position limits are ignored
    loops: tuple[LoopSpeed, ...]  # speed limits of joints that close loops


def read_motion_limits(caller: str, robot: Any, motion_limits: Any) -> LimitArrays:
    """Return motion limits from True (the robot's), False (none) or a dict; see `Robot.velocity_for`.

    Raises ValueError, TypeError and UnknownNameError.
    """
    if motion_limits is None or isinstance(motion_limits, (bool, np.bool_)):
        motion_limits = {"position": motion_limits is not False and bool(motion_limits is None or motion_limits)}
        motion_limits["velocity"] = motion_limits["acceleration"] = motion_limits["position"]
    if not isinstance(motion_limits, Mapping):
        kinds = ", ".join(f"{kind}=" for kind in _KINDS)
        raise TypeError(f"{caller}: motion_limits: expected True, False or dict({kinds}), got {motion_limits!r}")
    for kind in motion_limits:
        if kind not in _KINDS:
            raise UnknownNameError("kind of limits", kind, _KINDS)
    position, velocity = motion_limits.get("position", True), motion_limits.get("velocity", True)
    lower, upper = read_limits(caller, robot, None if position is True else position)
    max_velocity = np.full(robot.nv, np.inf) if velocity is False else np.array(robot.velocity_limits, dtype=float)
    if not isinstance(velocity, (bool, np.bool_)):
        max_velocity = np.minimum(max_velocity, _by_velocity(caller, robot, "velocity", velocity))
    value = motion_limits.get("acceleration", True)
    max_acceleration = np.full(robot.nv, np.inf)
    if value is True:
        max_acceleration = np.array(robot.acceleration_limits, dtype=float)
    elif value is not False and value is not None:
        max_acceleration = _by_velocity(caller, robot, "acceleration", value)
        if not (max_acceleration > 0.0).all():
            raise ValueError(f"{caller}: motion_limits: acceleration: expected positive numbers, got {value!r}")
    speeds = _speeds(caller, robot, motion_limits.get("speed", {}))
    limits = None if position is False else (lower, upper)
    loops = () if velocity is False else loop_speeds(robot.tree)
    return LimitArrays(lower, upper, max_velocity, max_acceleration, speeds, limits, loops)


def _by_velocity(caller: str, robot: Any, kind: str, value: Any) -> np.ndarray:
    """Return (nv,) values from a number, an array, or a dict by joint."""
    expected = f"{caller}: motion_limits: {kind}: expected a number, an array of shape ({robot.nv},) or a dict by joint"
    result = np.full(robot.nv, np.inf)
    try:
        if isinstance(value, Mapping):
            tree = robot.tree
            for joint, values in value.items():
                index, ratio = tree.v_slices[tree.joint_index(joint)], _ratio(tree, joint)
                result[index] = np.minimum(result[index], np.broadcast_to(floats(values) / ratio, result[index].shape))
        else:
            result[:] = np.broadcast_to(floats(value), result.shape)
    except (TypeError, ValueError) as error:
        if isinstance(error, UnknownNameError):
            raise
        raise ValueError(f"{expected}, got {value!r}") from None
    if not (result >= 0.0).all():
        raise ValueError(f"{expected}, all >= 0, got {value!r}")
    return result


def _speeds(caller: str, robot: Any, value: Any) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Return bounds of the norms of joint velocities, as pairs (indices in v, bound), from a dict by joint.

    A floating base has two bounds, of its angular and its linear velocity.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{caller}: motion_limits: speed: expected a dict by joint, got {value!r}")
    tree, result = robot.tree, []
    for joint, values in value.items():
        k = tree.joint_index(joint)
        indices = tuple(range(tree.nv)[tree.v_slices[k]])
        units = tree.bodies[k].joint.v_units
        groups = [
            tuple(p for p, unit in zip(indices, units, strict=True) if unit == kind) for kind in dict.fromkeys(units)
        ]
        try:
            bounds = floats(values)
        except (TypeError, ValueError):
            bounds = np.array(np.nan)
        if bounds.shape == () and len(groups) == 1:
            bounds = bounds[None]
        if bounds.shape != (len(groups),) or not (bounds > 0.0).all():
            of = " and ".join(f"velocities in {kind}" for kind in dict.fromkeys(units))
            raise ValueError(
                f"{caller}: motion_limits: speed: joint {joint!r}: expected "
                f"{f'{len(groups)} positive number(s), for {of}' if of else 'a joint that moves'}, got {values!r}"
            )
        bounds = bounds / _ratio(tree, joint)
        result += [(group, float(x)) for group, x in zip(groups, bounds, strict=True) if np.isfinite(x)]
    return tuple(result)


def _ratio(tree: Tree, joint: str) -> float:
    """Return the velocity of a joint for a unit velocity of the joint that it follows; 1 for other joints."""
    coupling = tree.bodies[tree.joint_index(joint)].coupling
    return 1.0 if coupling is None else max(abs(coupling.ratio), 1e-300)
