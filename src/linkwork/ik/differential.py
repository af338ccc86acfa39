"""Differential inverse kinematics as people hold it: a step of velocity towards what tasks ask, within limits.

What a step of velocity is kept within, as people say it: positions, velocities, accelerations, speeds of a base.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_number, floats, positive
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.scalar.functions import and_, fabs, le, lt, where
from linkwork.ik.algorithms.differential_step import velocity_step
from linkwork.ik.algorithms.hierarchical_qp import cascade_step, is_plain
from linkwork.ik.algorithms.joint_bounds import MotionLimits
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.arguments import check_tasks, read_limits, read_locked, read_target
from linkwork.ik.kernels import aims_of, off_by, target_shapes
from linkwork.ik.tasks.task import Task
from linkwork.ik.velocity_result import TOLD, VelocityResult
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.model.tree import Tree

__all__ = ["DifferentialIK"]


_OFF = 1e-6  # by how much a target may be no rotation
_NO_BOUND = 1e290  # stands for an infinite bound: what is not finite takes the long way into a kernel
DAMPING = 0.1
_kernels: LazyCache[Kernel] = LazyCache(256)


@public
class DifferentialIK:
    """Tasks of a robot, and the step of velocity that brings them on within limits: made once, asked each period.

    ``robot.ik_problem(tasks).differential(dt)`` makes one, or this class itself.  `velocity` takes anything and tells
    what became of it; `step` takes plain arrays, and gives the velocity alone.
    """

    _clocked = True  # False where steps are of a path without a clock, whose constraints do not drift

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
        self.tasks: tuple[Task, ...] = check_tasks(caller, robot, tasks, velocities=True)
        self.dt = positive(caller, "dt", dt, symbols=False, unit="s")
        self.limits: LimitArrays = read_motion_limits(caller, robot, motion_limits)
        self.locked = read_locked(caller, robot, locked)
        self.gains = self._gains(gain, time_constant)
        self.damping = finite_number(caller, "damping", damping, least=0.0, most=1e6, symbols=False)
        self.shapes = target_shapes(robot.tree, self.tasks)
        self._by_name = {task.name: task for task in self.tasks}
        kept = self.limits
        self._prepared = (
            np.array(self.dt),
            np.array([x for task in self.tasks for x in task.weights]),
            self.gains,
            np.array(self.damping),
            *(np.clip(x, -_NO_BOUND, _NO_BOUND) for x in (kept.lower, kept.upper, kept.velocity, kept.acceleration)),
        )
        self._rest = np.zeros(robot.nv)

    def _gains(self, gain: Any, time_constant: Any) -> np.ndarray:
        """By row: the part of an error that a step takes away."""
        fixed = {task.name: 1.0 for task in self.tasks if task.own or task.of_velocity}  # asked for in full
        for what, given in (("gain", gain), ("time_constant", time_constant)):
            for task in self.tasks:
                if task.of_velocity and isinstance(given, Mapping) and task.name in given:
                    raise ValueError(
                        f"{self.caller}: {what} of task {task.name!r}: expected tasks of configurations, got one of "
                        f"velocities, whose error a step takes away in full; leave it out"
                    )
        one = self._by_task("gain", gain, 1.0)
        if time_constant is not None:
            times = self._by_task("time_constant", time_constant, math.nan)
            one = {name: one[name] if math.isnan(t) else -math.expm1(-self.dt / t) for name, t in times.items()}
        one |= fixed
        for name, x in one.items():
            if not 0.0 <= x <= 1.0:
                raise ValueError(f"{self.caller}: gain of task {name!r}: expected a number from 0 to 1, got {x!r}")
        return np.array([one[task.name] for task in self.tasks for _ in task.component_names])

    def _by_task(self, what: str, value: Any, default: float) -> dict[str, float]:
        names = [task.name for task in self.tasks]
        if isinstance(value, Mapping):
            for name in value:
                if name not in names:
                    raise UnknownNameError("task", name, names)
        by_name = dict(value) if isinstance(value, Mapping) else dict.fromkeys(names, value)
        result = {name: by_name.get(name, default) for name in names}
        limits: dict[str, Any] = {"above": 0.0, "unit": "s"} if what == "time_constant" else {}
        for name in [name for name in names if name in by_name]:
            argument = f"{what} of task {name!r}"
            result[name] = finite_number(self.caller, argument, result[name], infinite=True, symbols=False, **limits)
        return result

    @cached_property
    def kernel(self) -> Kernel:
        """What computes it, compiled: see `linkwork.Kernel`."""
        tree, kept = self.robot.tree, self.limits
        bounded = (
            frozenset(np.flatnonzero(np.isfinite(kept.lower) | np.isfinite(kept.upper)).tolist()),
            frozenset(np.flatnonzero(np.isfinite(kept.velocity)).tolist()),
            frozenset(np.flatnonzero(np.isfinite(kept.acceleration)).tolist()),
        )
        still = frozenset(k for name in self.locked for k in range(tree.nv)[tree.v_slices[tree.joint_index(name)]])
        key = (tree, self.tasks, bounded, still, kept.speeds, self._clocked)
        return _kernels.get(key, lambda: _kernel(tree, self.tasks, bounded, still, kept.speeds, self._clocked))

    def velocity(self, q: Any, *, v_last: Any = None, **targets: Any) -> VelocityResult:
        """v (..., nv) at q (..., nq), for targets by the tasks' names, one or a batch, and what there is to tell.

        ``v_last`` (..., nv) is the velocity before, which limits of acceleration need: rest if it is left out.  Raises
        ValueError for targets that are missing, of the wrong shape, not finite or no rotations, and UnknownNameError
        for those of no task.
        """
        for name in targets:
            if name not in self.shapes:
                raise UnknownNameError("target", name, self.shapes)
        robot, caller = self.robot, self.caller
        q = read_configuration(robot, caller, "q", q)
        before = self._rest if v_last is None else _velocities(caller, robot, v_last)
        given = {
            name: read_target(caller, robot, self._by_name[name], shape, targets.get(name))
            for name, shape in self.shapes.items()
        }
        ranks = [x.ndim - len(self.shapes[name]) for name, x in given.items()]
        try:
            np.broadcast_shapes(
                q.shape[:-1], before.shape[:-1], *(x.shape[:n] for x, n in zip(given.values(), ranks, strict=True))
            )
        except ValueError as error:
            raise ValueError(f"{caller}: q and targets do not broadcast together: {error}") from None
        v, told = self.kernel(q, before, *self._prepared, *given.values())
        if not np.all(told[..., 0] <= _OFF):
            self._refuse(q, before, given)
        return VelocityResult._make(self, v, told)

    def step(self, q: np.ndarray, *targets: np.ndarray, v_last: np.ndarray | None = None) -> np.ndarray:
        """v (nv,) at q (nq,), for targets in the order of the tasks: plain arrays of the right shape."""
        before = self._rest if v_last is None else v_last
        v, told = self.kernel(q, before, *self._prepared, *targets)
        if not told[0] <= _OFF:
            self._refuse(q, before, dict(zip(self.shapes, targets, strict=True)))
        return v  # type: ignore[no-any-return]

    def _refuse(self, q: np.ndarray, v_last: np.ndarray, given: Mapping[str, np.ndarray]) -> None:
        """Raises ValueError for what is not finite, and for targets that are no rotations."""
        for name, x in (("q", q), ("v_last", v_last)):
            if not np.isfinite(x).all():
                raise ValueError(
                    f"{self.caller}: {name}: expected finite numbers, got {x[~np.isfinite(x)][0]} among them"
                )
        for name, x in given.items():
            read_target(self.caller, self.robot, self._by_name[name], self.shapes[name], x, look=True)
        raise ValueError(f"{self.caller}: a number became NaN or infinite on the way")

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
    still: frozenset[int],
    speeds: tuple[tuple[tuple[int, ...], float], ...],
    clocked: bool,
) -> Kernel:
    shapes = target_shapes(tree, tasks)
    aimed = [task for task in tasks if task.name in shapes]
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
        numbers = aims_of(tasks, aimed, targets)
        stack = Stack(tree, tasks, numbers, tolerances, [*weights], still, dt if clocked else None)
        limits = MotionLimits([*lower], [*upper], [*velocity], [*acceleration], *bounded)
        if is_plain(stack):
            result = velocity_step(stack, [*q], dt, [*v_last], limits, [*gains], damping, speeds)
        else:
            result = cascade_step(stack, [*q], dt, [*v_last], limits, [*gains], damping, speeds)
        off: Any = 0.0
        for task, target in zip(tasks, numbers, strict=True):
            off = off + off_by(task, target)
        total: Any = 0.0
        for x in (*q, *result.errors, *v_last):
            total = total + fabs(x)
        off = off + where(lt(total, math.inf), 0.0, math.inf)  # which bounds would hide
        met: Any = 1.0
        for x, tolerance, hard in zip(result.short, tolerances, stack.hard, strict=True):
            if hard:
                met = where(and_(le(0.5, met), le(fabs(x), tolerance)), 1.0, 0.0)
        told = [off, met, result.least, result.rounds, *result.sides, *result.errors, *result.after]
        return {"v": array(result.v), "told": array(told)}

    assert TOLD[:4] == ("off", "met", "least", "rounds")
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
        **{f"target{k}": shapes[task.name] for k, task in enumerate(aimed)},
    )


_KINDS = ("position", "velocity", "acceleration", "speed")


@dataclass(frozen=True)
class LimitArrays:
    """Bounds as arrays, infinite where there is none."""

    lower: np.ndarray  # (nq,)
    upper: np.ndarray
    velocity: np.ndarray  # (nv,)
    acceleration: np.ndarray  # (nv,)
    speeds: tuple[tuple[tuple[int, ...], float], ...]  # places in v, and the length that they may have


def read_motion_limits(caller: str, robot: Any, motion_limits: Any) -> LimitArrays:
    """Those of a robot (True), none (False), or a dict of what is said besides; see `Robot.velocity_for`.

    Raises ValueError, TypeError and UnknownNameError for what is none.
    """
    if motion_limits is None or isinstance(motion_limits, (bool, np.bool_)):
        motion_limits = {"position": motion_limits is not False and bool(motion_limits is None or motion_limits)}
        motion_limits["velocity"] = motion_limits["position"]
    if not isinstance(motion_limits, Mapping):
        kinds = ", ".join(f"{kind}=" for kind in _KINDS)
        raise TypeError(f"{caller}: motion_limits: expected True, False or dict({kinds}), got {motion_limits!r}")
    for kind in motion_limits:
        if kind not in _KINDS:
            raise UnknownNameError("kind of limits", kind, _KINDS)
    position, velocity = motion_limits.get("position", True), motion_limits.get("velocity", True)
    lower, upper = read_limits(caller, robot, None if position is True else position)
    fastest = np.full(robot.nv, np.inf) if velocity is False else np.array(robot.velocity_limits, dtype=float)
    if not isinstance(velocity, (bool, np.bool_)):
        fastest = np.minimum(fastest, _by_velocity(caller, robot, "velocity", velocity))
    given = motion_limits.get("acceleration", False)
    hardest = np.full(robot.nv, np.inf)
    if given is True:
        raise ValueError(
            f"{caller}: motion_limits: acceleration: robots say none: expected numbers [rad/s², m/s²], got True"
        )
    if given is not False and given is not None:
        hardest = _by_velocity(caller, robot, "acceleration", given)
        if not (hardest > 0.0).all():
            raise ValueError(f"{caller}: motion_limits: acceleration: expected positive numbers, got {given!r}")
    return LimitArrays(lower, upper, fastest, hardest, _speeds(caller, robot, motion_limits.get("speed", {})))


def _by_velocity(caller: str, robot: Any, kind: str, value: Any) -> np.ndarray:
    """(nv,) numbers, of a number, an array, or a dict by joint."""
    expected = f"{caller}: motion_limits: {kind}: expected a number, an array of shape ({robot.nv},) or a dict by joint"
    result = np.full(robot.nv, np.inf)
    try:
        if isinstance(value, Mapping):
            tree = robot.tree
            for joint, numbers in value.items():
                place = tree.v_slices[tree.joint_index(joint)]
                result[place] = np.broadcast_to(floats(numbers), result[place].shape)
        else:
            result[:] = np.broadcast_to(floats(value), result.shape)
    except (TypeError, ValueError) as error:
        if isinstance(error, UnknownNameError):
            raise
        raise ValueError(f"{expected}, got {value!r}") from None
    if not (result >= 0.0).all():
        raise ValueError(f"{expected} that is not negative, got {value!r}")
    return result


def _speeds(caller: str, robot: Any, value: Any) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Lengths of velocities by joint: a number, or two for a base: of the angular and the linear velocity."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{caller}: motion_limits: speed: expected a dict by joint, got {value!r}")
    tree, result = robot.tree, []
    for joint, numbers in value.items():
        k = tree.joint_index(joint)
        places = tuple(range(tree.nv)[tree.v_slices[k]])
        units = tree.bodies[k].joint.v_units
        parts = [tuple(p for p, unit in zip(places, units, strict=True) if unit == one) for one in dict.fromkeys(units)]
        try:
            most = floats(numbers)
        except (TypeError, ValueError):
            most = np.array(np.nan)
        if most.shape == () and len(parts) == 1:
            most = most[None]
        if most.shape != (len(parts),) or not (most > 0.0).all():
            of = " and ".join(f"velocities in {one}" for one in dict.fromkeys(units))
            raise ValueError(
                f"{caller}: motion_limits: speed: joint {joint!r}: expected {len(parts)} positive number(s), of "
                f"{of or 'none'}, "
                f"got {numbers!r}"
            )
        result += [(part, float(x)) for part, x in zip(parts, most, strict=True) if np.isfinite(x)]
    return tuple(result)
