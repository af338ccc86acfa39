"""Controllers of tasks of inverse kinematics: the base class, and operational-space control with priorities."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import finite_number
from linkwork.control.algorithms.operational_space_forces import (
    Level,
    TaskMotion,
    force_shares,
    task_forces,
    task_motion,
)
from linkwork.control.controller_base import ControlLaw, Shapes, read_nonnegative
from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array, scalars
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, where
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.arguments import check_tasks
from linkwork.ik.kernels import target_shapes
from linkwork.ik.tasks.joint_tasks import JointTask
from linkwork.ik.tasks.task import Task
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.mechanisms.algorithms.constraint_rows import rates_of

__all__ = ["OperationalSpace", "TaskLaw", "read_condition", "require_actuation"]


class TaskLaw(ControlLaw):
    """Base class of controllers of IK tasks, whose errors e obey ë + k_d ė + k_p e = 0.

    A task named "hand" has its target as the input ``hand``, or ``hand_q`` if the target is a configuration. The inputs
    ``hand_v`` and ``hand_a`` are the desired J v and its rate, in the axes of its errors; 0 by default. J is the task's
    Jacobian; in a frame's own axes J v is its twist. For tasks of joints they are the target's velocity and
    acceleration, in the target's axes.
    """

    def __init__(self, robot: Any, tasks: Any, stiffness: Any, damping: Any, actuators: Any, limits: Any) -> None:
        super().__init__(robot, actuators, limits)
        self.tasks: tuple[Task, ...] = tuple(x for x in check_tasks(self.caller, robot, tasks) if not x.own)
        for task in self.tasks:
            if any(pair != (0.0, 0.0) for pair in task.ranges):
                raise ValueError(f"{self.caller}: task {task.name!r}: expected a task without ranges of its errors")
        self.stiffness = self._by_task("stiffness", stiffness, None)
        self.damping = self._by_task("damping", damping, {k: 2.0 * math.sqrt(x) for k, x in self.stiffness.items()})
        self.shapes = target_shapes(robot.tree, self.tasks)

    def _by_task(self, argument: str, value: Any, default: Mapping[str, float] | None) -> dict[str, float]:
        """Return a gain >= 0 by task name, from one number or a dict.  Raises ValueError and UnknownNameError."""
        names = [task.name for task in self.tasks]
        if isinstance(value, Mapping):
            for name in value:
                if name not in names:
                    raise UnknownNameError("task", name, names)
        result = {}
        for name in names:
            x = value.get(name) if isinstance(value, Mapping) else value
            x = default[name] if x is None and default is not None else x
            if isinstance(x, (bool, str)) or not isinstance(x, (int, float, np.number)) or not 0.0 <= x < math.inf:
                raise ValueError(f"{self.caller}: {argument} of task {name!r}: expected a number >= 0, got {x!r}")
            result[name] = float(x)
        return result

    def _target_name(self, task: Task) -> str:
        kind = task.target_of.kind if task.target_of is not None else ""
        return f"{task.name}_q" if kind == "configuration" else task.name

    @property
    def input_shapes(self) -> Shapes:
        result: dict[str, tuple[int, ...]] = {}
        for task in self.tasks:
            if task.name in self.shapes:
                result[self._target_name(task)] = self.shapes[task.name]
            rows = (len(task.component_names),)
            result |= {f"{task.name}_v": rows, f"{task.name}_a": rows}
        return result

    @property
    def required_inputs(self) -> tuple[str, ...]:
        return tuple(self._target_name(x) for x in self.tasks if x.name in self.shapes and x.target is None)

    @property
    def pose_inputs(self) -> tuple[str, ...]:
        targets = ((x, x.target_of) for x in self.tasks)
        return tuple(self._target_name(x) for x, target in targets if target is not None and target.kind == "pose")

    def _any_targets(self, tasks: Iterable[Task], q: np.ndarray) -> dict[str, np.ndarray]:
        """Return an arbitrary valid target for each task, to evaluate its Jacobian."""
        result = {}
        for task in tasks:
            if task.name in self.shapes:
                kind, shape = task.target_of.kind if task.target_of is not None else "", self.shapes[task.name]
                if isinstance(task, JointTask) and task.index is not None:
                    start = task.index.start
                    result[self._target_name(task)] = q[start : start + task.index.size].reshape(shape)
                    continue
                examples = {"configuration": q, "pose": np.eye(4), "rotation": np.eye(3), "direction": np.eye(3)[0]}
                result[self._target_name(task)] = examples.get(
                    kind, np.full(shape, 1.0 if kind in ("size", "length") else 0.0)
                )
        return result

    def _motions(
        self, q: Any, v: Any, tasks: Iterable[Task], inputs: Mapping[str, Any]
    ) -> tuple[Stack, TaskMotion, list[Any]]:
        """Return the stack of the tasks, their errors and Jacobians, and desired accelerations a*.

        a* has an entry for each component of the tasks' errors.
        """
        stack, motion, accelerations, _ = self._accelerations(q, v, tasks, inputs)
        return stack, motion, accelerations

    def _accelerations(
        self, q: Any, v: Any, tasks: Iterable[Task], inputs: Mapping[str, Any]
    ) -> tuple[Stack, TaskMotion, list[Any], list[Any]]:
        """Return the stack of the tasks, their errors and Jacobians, desired accelerations a*, and a part of a*.

        The damping part is a* for zero errors and zero target accelerations.
        """
        chosen = tuple(tasks)
        targets = [
            scalars(inputs.get(self._target_name(x), x.target)).ravel().tolist() if x.name in self.shapes else []
            for x in chosen
        ]
        stack = Stack(
            self.robot.tree,
            chosen,
            tuple(targets),
            [t for x in chosen for t in x.tolerances],
            [w for x in chosen for w in x.weights],
        )
        zeros = [[0.0] * len(x.component_names) for x in chosen]
        leads = [list(inputs.get(f"{x.name}_v", zero)) for x, zero in zip(chosen, zeros, strict=True)]
        motion = task_motion(stack, list(q), list(v), leads)
        accelerations: list[Any] = []
        damped: list[Any] = []
        for task, rates, target_v, zero in zip(chosen, motion.rates, leads, zeros, strict=True):
            part = slice(len(accelerations), len(accelerations) + len(task.component_names))
            target_a = list(inputs.get(f"{task.name}_a", zero))
            gains = self.stiffness[task.name], self.damping[task.name]
            accelerations += task.settling(motion.errors[part], rates, target_v, target_a, gains)
            damped += task.settling(zero, rates, target_v, zero, gains)
        return stack, motion, accelerations, damped


_SPEED = 0.25  # joint speed to which errors lead near singularities, per damping, in rad and characteristic lengths
_TINY = by_type(1e-300)  # [N·m, N] avoids a division by zero
_SAMPLES = 33  # configurations of which the median condition number is taken
_CONDITION_FACTOR, _MAX_CONDITION = 10.0, 1e6  # default of max_condition, relative to the median, and its maximum


@public_constructor
class OperationalSpace(TaskLaw):
    """Operational-space control: tasks move as unit masses on springs and dampers, by their priority.

    The law is τ = h + M a_0 + Σ J̃ᵀΛ (a* − J̇ v − J a), with the desired accelerations a* of the tasks. J̃ is a task's
    Jacobian without the motions of tasks of higher priority, Λ⁻¹ = J̃ M⁻¹ J̃ᵀ, and a are the accelerations that a_0
    and the tasks of higher priority cause.

    ``tasks`` are those of inverse kinematics (`linkwork.ik`).  All joints that move them are actuated; of a robot with
    constraints, the actuators determine all motions, and J and M are those of the motions that the constraints allow.
    Tasks of ``level`` 0 have the highest priority; forces of later levels do not accelerate them (J M⁻¹ τ = 0).
    Errors of feasible tasks obey ë + k_d ė + k_p e = 0, with ``stiffness`` k_p [1/s²] and ``damping`` k_d [1/s]
    (default: critical), numbers or dicts by task.  Components with an infinite ``tolerance`` are free; weights have no
    effect.  A `PostureTask` that is alone in the last level acts in the remaining null space, as a_0.  Without one,
    ``nullspace_damping`` [1/s] acts there and in singular directions (default: the largest damping of the tasks, or
    critical where all are 0).

    The forces of each level, except for target velocities and accelerations, are bounded.  Near singularities they lead
    to joint speeds up to ¼ k_d, with the largest damping k_d, in rad/s or characteristic lengths per second, plus half
    of the fastest joint's, elsewhere to eight times that.

    Near singularities, Λ⁻¹ is regularised so that its condition number stays below ``max_condition``, in units of
    angles and half characteristic lengths (default: ten times the median over configurations). So forces are bounded,
    and nothing changes elsewhere. Inputs are targets by the tasks' names, and desired rates and accelerations as
    NAME_v and NAME_a, in the axes of errors; for tasks of joints, in those of the target. |τ| ≤ ``effort_limits``
    (default: the robot's own). If tasks need more, gravity compensation comes first, then damping with velocity terms,
    then the forces of errors and target accelerations, level by level. Each is scaled, in its direction, to what the
    limits leave. Damping that the limits cut brakes all joints alike. With ``passive``, springs, damping and friction
    of joints are compensated.

    Sources: Khatib, IEEE J. Robotics and Automation RA-3(1), 1987; Sentis and Khatib, Int. J. Humanoid Robotics 2(4),
    2005.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> arm = lw.load("arm7")
    >>> hand, posture = lw.ik.PoseTask("hand"), lw.ik.PostureTask(level=1, target=arm.neutral())
    >>> law = lw.control.OperationalSpace(arm, [hand, posture], stiffness={"hand": 100.0, "posture": 10.0})
    >>> law
    <OperationalSpace of 'arm7': hand, [hand_v], [hand_a], [posture_q], [posture_v], [posture_a]>
    >>> law(0.0, arm.neutral(), np.zeros(7), hand=arm.pose(arm.neutral(), "hand")).shape
    (7,)
    """

    def __init__(
        self,
        robot: Any,
        tasks: Task | Iterable[Task],
        stiffness: Any = 100.0,
        damping: Any = None,
        *,
        nullspace_damping: float | None = None,
        max_condition: float | None = None,
        actuators: str | Iterable[str] | None = None,
        effort_limits: Any = None,
        passive: bool = True,
    ) -> None:
        super().__init__(robot, tasks, stiffness, damping, actuators, effort_limits)
        require_actuation(self, np.ones(robot.nv))
        self._rate = max(self.damping.values()) or 2.0 * math.sqrt(max(self.stiffness.values()))
        self.passive = bool(passive)
        levels = sorted({task.level for task in self.tasks})
        self.levels = [[task for task in self.tasks if task.level == level] for level in levels]
        self.posture = None
        if len(self.levels[-1]) == 1 and self._is_posture(self.levels[-1][0]):
            self.posture = self.levels.pop()[0]
        if self.posture is not None and nullspace_damping:
            raise ValueError(
                f"{self.caller}: nullspace_damping: not available with the posture task {self.posture.name!r}: pass "
                f"damping={{{self.posture.name!r}: ...}} instead"
            )
        if nullspace_damping is None:
            nullspace_damping = 0.0 if self.posture is not None else self._rate
        self.nullspace_damping = float(
            read_nonnegative(self.caller, "nullspace_damping", nullspace_damping, [()], "1/s")
        )
        self.max_condition = read_condition(self.caller, max_condition, robot, self._first_rows)

    def _is_posture(self, task: Task) -> bool:
        """True if the task's Jacobian is the identity at all configurations, and no component is free."""
        if len(task.component_names) != self.robot.nv or np.isinf(task.tolerances).any():
            return False
        q, targets = self.robot.random_configuration(seed=0, size=2)
        _, motion, _ = self._motions(q.tolist(), [0.0] * self.robot.nv, [task], self._any_targets([task], targets))
        return bool(np.array_equal(np.array(motion.rows, dtype=float), np.eye(self.robot.nv)))

    def _first_rows(self, q: np.ndarray) -> list[list[Any]]:
        """Return the Jacobian of the first level's tasks at q, in comparable units, without free components."""
        tasks = self.levels[0] if self.levels else []
        stack, motion, _ = self._motions(q.tolist(), [0.0] * self.robot.nv, tasks, self._any_targets(tasks, q))
        active = [k for k, tolerance in enumerate(stack.tolerances) if tolerance < np.inf]
        return [[stack.scales[k] * x for x in motion.rows[k]] for k in active]

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        a0 = [-self.nullspace_damping * x if self.nullspace_damping else 0.0 for x in v]
        pull0: list[Any] = [0.0] * self.robot.nv
        if self.posture is not None:
            _, motion, accelerations, damped = self._accelerations(q, v, [self.posture], inputs)
            a0 = [a - x for a, x in zip(damped, motion.drifts, strict=True)]
            pull0 = [a - b for a, b in zip(accelerations, damped, strict=True)]
        allowed, levels, pull_accelerations, led = self._allowed(t, q, v, self.passive), [], [], []
        exerted = list if allowed is None else allowed.exerted
        units = unit_steps(self.robot.tree)
        fastest: Any = functools.reduce(fmax, (fabs(x) * (1.0 / unit) for x, unit in zip(v, units, strict=True)), 0.0)
        most = self._rate * (_SPEED * self._rate + 0.5 * fastest) if self._rate else None
        for tasks in self.levels:
            stack, motion, accelerations, damped = self._accelerations(q, v, tasks, inputs)
            active = [k for k, tolerance in enumerate(stack.tolerances) if tolerance < np.inf]
            scales = stack.scales
            rows = [[scales[k] * x for x in motion.rows[k]] for k in active]
            by_v, by_a = self._references(tasks, motion, inputs)
            drifting = [scales[k] * (damped[k] - motion.drifts[k]) for k in active]
            if allowed is not None:
                drifting = [x - dot(row, allowed.bias) for x, row in zip(drifting, rows, strict=True)]
                rows = allowed.rows(rows)
            levels.append(Level(rows, drifting, [scales[k] * by_v[k] for k in active]))
            led.append([scales[k] * by_a[k] for k in active])
            pull_accelerations.append([scales[k] * (accelerations[k] - damped[k]) for k in active])
        whole = [
            Level(x.rows, _added(x.accelerations, y), _added(x.reference, z))
            for x, y, z in zip(levels, pull_accelerations, led, strict=True)
        ]
        acting = self.max_condition, self.passive
        shares: list[Any] | None = None
        if most is not None:
            bounds = [most * unit for unit in units]
            shares = force_shares(self.robot.tree, list(q), whole, _added(a0, pull0), *acting, bounds)
            cut = 1.0 - functools.reduce(fmin, shares, 1.0)  # of the damping of tasks, which all joints have instead
            a0 = [a - cut * self._rate * x for a, x in zip(a0, v, strict=True)]
        if not np.isfinite(self.effort_limits).any():  # no limits: all forces together
            return exerted(self._task_torque(q, v, whole, _added(a0, pull0), shares)), None
        zero = [0.0] * self.robot.nv
        load = self._required_forces(q, array(zero), zero) if self._has_resisting_loops else None
        gravity = exerted(list(self.robot.gravity_force(q, passive=self.passive)) if load is None else load)
        damped_torque = exerted(self._task_torque(q, v, levels, a0, shares))
        tau, share = self._add_within_limits(gravity, [a - b for a, b in zip(damped_torque, gravity, strict=True)])
        brake = self.robot.mass_matrix(q, passive=self.passive) @ array([-(1.0 - share) * self._rate * x for x in v])
        tau, _ = self._add_within_limits(tau, exerted(list(brake)))
        no_accelerations = [[0.0] * len(x) for x in pull_accelerations]
        for k, pull in enumerate(zip(pull_accelerations, led, strict=True)):
            each = [pull if j == k else (no_accelerations[j], no_accelerations[j]) for j in range(len(levels))]
            weighed = [Level(x.rows, *parts) for x, parts in zip(levels, each, strict=True)]
            more = task_forces(self.robot.tree, list(q), weighed, zero, *acting, shares)
            tau, _ = self._add_within_limits(tau, exerted(more))
        if self.posture is not None:
            at_rest = [Level(x.rows, no_accelerations[j], no_accelerations[j]) for j, x in enumerate(levels)]
            posture_torque = self.robot.mass_matrix(q, passive=self.passive) @ array(pull0)
            more = task_forces(self.robot.tree, list(q), at_rest, pull0, *acting, shares)
            tau, _ = self._add_within_limits(tau, exerted(_added(posture_torque, more)))
        return tau, None

    def _references(
        self, tasks: Sequence[Task], motion: TaskMotion, inputs: Mapping[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return two parts of the desired accelerations a*: by the velocities and by the accelerations of targets."""
        by_v: list[Any] = []
        by_a: list[Any] = []
        for task, rates in zip(tasks, motion.rates, strict=True):
            zero = [0.0] * len(task.component_names)
            target_v, target_a = (list(inputs.get(f"{task.name}_{x}", zero)) for x in ("v", "a"))
            gains = self.stiffness[task.name], self.damping[task.name]
            each = [(zero, zero), (target_v, zero), (target_v, target_a)]
            resting, moving, whole = (task.settling(zero, rates, v, a, gains) for v, a in each)
            by_v += [x - y for x, y in zip(moving, resting, strict=True)] if f"{task.name}_v" in inputs else zero
            by_a += [x - y for x, y in zip(whole, moving, strict=True)] if f"{task.name}_a" in inputs else zero
        return [x if is_zero(y) else x - y for x, y in zip(by_v, motion.led, strict=True)], by_a

    def _task_torque(self, q: Any, v: Any, levels: Sequence[Level], a0: Sequence[Any], shares: Any) -> list[Any]:
        required = self._required_forces(q, v, a0)
        more = task_forces(self.robot.tree, list(q), levels, a0, self.max_condition, self.passive, shares)
        return [a + b for a, b in zip(required, more, strict=True)]

    def _add_within_limits(self, tau: Sequence[Any], more: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return τ plus the largest fraction, at most 1, of ``more`` that effort limits allow; and the fraction."""
        share: Any = 1.0
        for x, d, limit in zip(tau, more, self.effort_limits, strict=True):
            if np.isfinite(limit):
                room = fmax(limit - where(lt(0.0, d), x, -x), 0.0)
                size = fabs(d)
                share = fmin(share, where(lt(room, size), room / fmax(size, _TINY), 1.0))
        return [x + share * d for x, d in zip(tau, more, strict=True)], share


def _added(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    return [a + b for a, b in zip(x, y, strict=True)]


def read_condition(caller: str, value: Any, robot: Any, rows: Callable[[np.ndarray], Sequence[Any]]) -> float:
    """Return ``max_condition`` as a number > 1.  Raises ValueError.

    For None it is ten times the median condition number of J M⁻¹ Jᵀ in random configurations; ``rows`` returns J.
    """
    if value is not None:
        return float(finite_number(caller, "max_condition", value, above=1.0, symbols=False))
    conditions = []
    for q in _sampled(robot):
        J = np.array(rows(q), dtype=float).reshape(-1, robot.nv)
        W = np.array(inverse_mass_matrix(robot.tree, q.tolist()).matrix, dtype=float)
        if robot.constraints:
            G = np.array(rates_of(robot.tree, q.tolist(), [0.0] * robot.nv).rows, dtype=float).reshape(-1, robot.nv)
            W = W - W @ G.T @ np.linalg.pinv(G @ W @ G.T, rcond=1e-12) @ G @ W
        sizes = np.linalg.eigvalsh(J @ W @ J.T) if len(J) else np.ones(1)
        conditions.append(sizes[-1] / max(sizes[0], sizes[-1] / _MAX_CONDITION, 1e-300))
    return float(np.clip(_CONDITION_FACTOR * np.median(conditions), _CONDITION_FACTOR, _MAX_CONDITION))


def _sampled(robot: Any) -> np.ndarray:
    """Return random configurations that satisfy the constraints; if none is found, one that violates them."""
    drawn: np.ndarray = robot.random_configuration(seed=0, size=_SAMPLES)
    if not any(c.holonomic for c in robot.constraints):
        return drawn
    timed = {"time": 0.0} if any(c.time_dependent for c in robot.constraints) else {}
    projected: np.ndarray = robot.project(drawn, check=False, **timed)
    errors = np.abs(robot.constraint_error(projected, **timed)).max(axis=-1, initial=0.0)
    closed = projected[errors < 1e-6 * characteristic_length(robot.tree)]
    return closed if len(closed) else projected[:1]


def require_actuation(law: ControlLaw, needed: Any) -> None:
    """Raise ValueError if a velocity for which ``needed`` (nv) is True is not actuated.

    For a robot with constraints, the actuators must determine all motions that the constraints allow.
    """
    robot = law.robot
    idle = law._left_free if robot.constraints else np.setdiff1d(np.flatnonzero(needed), law.acting)
    if len(idle):
        raise ValueError(
            f"{law.caller}: robot: expected an actuator for each velocity of the task, or actuators that determine all "
            f"motions that the constraints allow, got {robot.v_names[idle[0]]!r} without an actuator: use "
            f"linkwork.control.WholeBody"
        )
