"""Inverse kinematics along a path of targets: each search starts from the previous solution, and jumps are reported.

A search from the previous solution takes few iterations.  If it fails or jumps, the path between the two targets is
bisected repeatedly.  A solution that is reached in small steps is not a jump, however far it is.  If bisection also
fails, other starts are tried, and the nearest solution is used: the robot is reconfigured at this target.

A robot with velocity constraints, for example on wheels, moves by steps of differential IK that satisfy them
(`RollingSteps`) and is never reconfigured.  A target that such steps do not reach counts as not reached.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

import numpy as np

from linkwork import geometry
from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.pictures import Output, Shown, ghost_count, show
from linkwork._util.result import Result
from linkwork._util.status import statuses
from linkwork._util.validation import floats
from linkwork.errors import Status
from linkwork.ik.arguments import flat_states, read_target, unknown_target
from linkwork.ik.differential import DifferentialIK
from linkwork.ik.kernels import DIAGNOSTICS, ProblemView
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kinematics.poses import pose, pose_difference
from linkwork.model.coordinate_names import joint_of

__all__ = ["IKPathResult", "JointDiscontinuity", "follow"]


_FEW = np.array(25.0)  # iterations from the previous solution
_MORE = np.array(200.0)  # iterations of each further start
_STARTS = np.arange(1.0, 33.0)
_DIVISIONS = (2, 4, 8, 16)
_ROTATION_TOLERANCE = 1e-6


def follow(
    problem: ProblemView, q_init: Any, max_joint_jump: Any, caller: str, targets: Mapping[str, Any]
) -> IKPathResult:
    """Solve along a path of targets; see `IKProblem.follow`."""
    robot = problem.robot
    jump = _jumps(caller, robot, max_joint_jump)
    target_arrays = _paths(problem, caller, targets)
    q_init = problem.midrange if q_init is None else read_configuration(robot, caller, "q_init", q_init)
    ranks = {name: len(problem.shapes[name]) for name in target_arrays}
    lengths = {name: x.shape[-1 - ranks[name]] for name, x in target_arrays.items()}
    count = next(iter(lengths.values()))
    if len(set(lengths.values())) > 1 or count < 1:
        raise ValueError(f"{caller}: expected paths of equal length >= 1, got {lengths}")
    try:
        batch = np.broadcast_shapes(
            q_init.shape[:-1], *(x.shape[: x.ndim - ranks[name] - 1] for name, x in target_arrays.items())
        )
    except ValueError as error:
        raise ValueError(f"{caller}: q_init and paths do not broadcast together: {error}") from None
    paths = {name: flat_states(x, ranks[name] + 1, batch) for name, x in target_arrays.items()}
    walker = _Walker(problem, jump)
    walker.check_values(caller, paths)
    q = np.empty((math.prod(batch), count, robot.nq))
    success, changed = np.empty(q.shape[:2], dtype=bool), np.zeros(q.shape[:2], dtype=bool)
    starts = flat_states(q_init, 1, batch)
    begin: dict[str, Any] = {name: x[:, 0] for name, x in paths.items()}
    first = problem.solve(starts, **begin)
    q[:, 0], success[:, 0] = first.q, first.success
    for t in range(1, count):
        now = {name: np.ascontiguousarray(x[:, t]) for name, x in paths.items()}
        before = np.ascontiguousarray(q[:, t - 1])
        result, done = walker.step(before, now)
        for i in np.flatnonzero(~done) if walker.rolling is None else ():
            ends = [{name: x[i, k] for name, x in paths.items()} for k in (t - 1, t)]
            result[i], done[i], changed[i, t] = walker.recover(before[i], *ends)
        q[:, t], success[:, t] = result, done
    q, success, changed = (x.reshape(*batch, *x.shape[1:]) for x in (q, success, changed))
    iterations = walker.iterations + int(np.sum(first.iterations))
    return IKPathResult._make(problem, q, success, changed, iterations)


def _jumps(caller: str, robot: Any, value: Any) -> np.ndarray:
    try:
        result = np.broadcast_to(floats(value), (robot.nv,))
    except (TypeError, ValueError):
        result = np.array([np.nan])
    if not (result > 0.0).all():
        raise ValueError(
            f"{caller}: max_joint_jump: expected a positive number or ({robot.nv},) of them [rad, m], got {value!r}"
        )
    return result


def _paths(problem: ProblemView, caller: str, targets: Mapping[str, Any]) -> dict[str, np.ndarray]:
    by_name = {task.name: task for task in problem.tasks}
    if not problem.shapes:
        raise ValueError(f"{caller}: tasks: expected a task with a target, got none")
    for name in targets:
        if name not in problem.shapes:
            raise unknown_target(problem, "path", name)
    result = {}
    for name, shape in problem.shapes.items():
        x = read_target(caller, problem.robot, by_name[name], shape, targets.get(name))
        if x.ndim == len(shape) and targets.get(name) is None:  # constant along the path
            lengths = [np.shape(y)[-1 - len(problem.shapes[n])] for n, y in targets.items() if np.ndim(y)]
            x = np.broadcast_to(x, (*(lengths[:1] or [1]), *shape))
        if x.ndim == len(shape):
            raise ValueError(
                f"{caller}: {name}: expected a path (..., T, {', '.join(map(str, shape))}), got one target of {x.shape}"
            )
        result[name] = x
    return result


class _Walker:
    """Solver that follows many paths at once, one target after the other, and recovers where a search fails."""

    def __init__(self, problem: ProblemView, jump: np.ndarray) -> None:
        self.problem, self.jump = problem, jump
        self.rolling = RollingSteps(problem, jump) if has_velocity_constraints(problem) else None
        self.iterations = 0
        self.kinds = {task.name: task.target_of.kind for task in problem.tasks if task.target_of is not None}

    def check_values(self, caller: str, paths: Mapping[str, np.ndarray]) -> None:
        """Raise ValueError for targets that are not finite or not rotations."""
        for name, x in paths.items():
            valid = np.isfinite(x).all()
            if valid and self.kinds[name] in ("pose", "rotation"):
                R = x[..., :3, :3]
                off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max() if R.size else 0.0
                valid = off <= _ROTATION_TOLERANCE and (np.linalg.det(R) > 0.0).all()
            if not valid:
                p = self.problem
                task = next(task for task in p.tasks if task.name == name)
                read_target(caller, p.robot, task, p.shapes[name], x, check_values=True)

    def step(self, before: np.ndarray, now: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Search from the previous solutions with few iterations; return q and success.

        A solution that jumps is not a success.
        """
        if self.rolling is not None:
            q, done, iterations = self.rolling.walk(before, now)
            self.iterations += iterations
            return q, done
        q, done = self._searched(before, now, _FEW, np.array(0.0))
        return q, done & ~self._jumps(before, q)

    def recover(
        self, before: np.ndarray, last: Mapping[str, np.ndarray], now: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, bool, bool]:
        """Recover a failed step by bisection and restarts; return q, success and whether the robot is reconfigured."""
        for divisions in _DIVISIONS:
            q, valid = before, True
            for k in range(1, divisions + 1):
                between = {name: self._interpolate(name, last[name], now[name], k / divisions) for name in now}
                end, done = self.step(q[None], {name: x[None] for name, x in between.items()})
                q, valid = end[0], bool(done[0])
                if not valid:
                    break
            if valid:
                return q, True, False
        count = len(_STARTS)
        q, done = self._searched(
            np.repeat(before[None], count, axis=0),
            {name: np.repeat(x[None], count, axis=0) for name, x in now.items()},
            _MORE,
            _STARTS,
        )
        if not done.any():
            target_arrays: dict[str, Any] = dict(now)
            result = self.problem.solve(before, **target_arrays)
            self.iterations += int(result.iterations)
            q, done = result.q[None], np.array([bool(result.success)])
        if done.any():
            largest = self._joint_steps(before, q[done]).max(axis=-1)
            nearest = q[done][int(np.argmin(largest))]
            return nearest, True, bool(largest.min() > 1.0)
        near, _ = self._searched(before[None], {name: x[None] for name, x in now.items()}, _FEW, np.array(0.0))
        return (before if self._jumps(before, near)[0] else near[0]), False, False

    def _searched(
        self, q: np.ndarray, targets: Mapping[str, np.ndarray], steps: np.ndarray, first: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        p = self.problem
        result = p.kernel(q, p.tolerances, p.weights, *p.finite_bounds, steps, first, *targets.values())
        self.iterations += int(result.diagnostics[..., DIAGNOSTICS.index("iterations")].sum())
        return np.array(result.q), result.diagnostics[..., 0] == 1.0

    def _joint_steps(self, q: np.ndarray, next_q: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.abs(self.problem.robot.difference(q, next_q)) / self.jump
        return result

    def _jumps(self, q: np.ndarray, next_q: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.any(self._joint_steps(q, next_q) > 1.0, axis=-1)
        return result

    def _interpolate(self, name: str, last: np.ndarray, now: np.ndarray, part: float) -> np.ndarray:
        """Return the target of task ``name`` at the fraction ``part`` of the way from ``last`` to ``now``."""
        if part == 1.0:
            return now
        kind = self.kinds[name]
        if kind == "configuration":
            robot = self.problem.robot
            result: np.ndarray = robot.integrate(last, part * robot.difference(last, now))
            return result
        if kind not in ("pose", "rotation"):
            x = last + part * (now - last)
            length = float(np.linalg.norm(x))
            scale = float(np.linalg.norm(now)) / length if kind == "direction" and length > 0.0 else 1.0
            scaled: np.ndarray = x * scale
            return scaled
        X_last, X_now = np.eye(4), np.eye(4)
        size = len(last)
        X_last[:size, :size], X_now[:size, :size] = last, now
        remaining = pose_difference(X_last, X_now)
        axis, angle = remaining[:3], float(np.linalg.norm(remaining[:3]))
        R = pose(axis=axis, angle=part * angle) if angle > 0.0 else np.eye(4)
        X = np.eye(4)
        X[:3, :3] = R[:3, :3] @ X_last[:3, :3]
        X[:3, 3] = X_last[:3, 3] + part * remaining[3:]
        return X[:size, :size]


class JointDiscontinuity(NamedTuple):
    """Largest joint motion between consecutive targets: size [rad, m], joint, and second target's index."""

    size: float
    joint: str
    step: int


_STATUSES = (Status.SOLVED, Status.NOT_FOUND)
_ADVICE = "Start from another q_init, or relax the tolerances."


class IKPathResult(Shown, Result):
    """Configurations along a path of T targets, for one path or a batch.

    ``q`` (..., T, nq) is within limits.  ``success`` (..., T) is True where the target is reached, and ``reconfigured``
    (..., T) where the robot had to jump to another family of solutions.
    """

    problem: ProblemView
    q: np.ndarray
    success: np.ndarray
    reconfigured: np.ndarray
    iterations: int  # summed over all searches

    def _fill(
        self,
        problem: ProblemView,
        q: np.ndarray,
        success: np.ndarray,
        reconfigured: np.ndarray,
        iterations: int,
    ) -> None:
        self.problem, self.q, self.success, self.reconfigured = problem, q, success, reconfigured
        self.iterations = iterations

    @property
    def status(self) -> np.ndarray:
        """Status of each target (..., T): "solved" or "not_found"."""
        return np.asarray(statuses(~self.success, _STATUSES))

    @property
    def message(self) -> str:
        """Number of reached targets, largest jump and reconfigurations; counts for a batch of paths."""
        return self._describe(()) if self.success.ndim == 1 else super().message

    @cached_property
    def steps(self) -> np.ndarray:
        """Tangent vectors from each target's configuration to the next (..., T − 1, nv) [rad, m]."""
        result: np.ndarray = self.problem.robot.difference(self.q[..., :-1, :], self.q[..., 1:, :])
        return result

    @property
    def reconfigurations(self) -> Any:
        """Number of reconfigurations; an integer, or an array (...)."""
        result = self.reconfigured.sum(axis=-1)
        return int(result) if result.ndim == 0 else result

    @property
    def largest_jump(self) -> JointDiscontinuity:
        """Largest motion of any joint between consecutive targets, over all paths."""
        sizes = np.abs(self.steps)
        if sizes.size == 0:
            return JointDiscontinuity(0.0, "", 0)
        index = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        return JointDiscontinuity(float(sizes[index]), self._joint(int(index[-1])), int(index[-2]) + 1)

    def explain(self, index: int | tuple[int, ...] = ()) -> str:
        """Return a description of the events along a path, with advice; ``index`` selects a path of a batch.

        Raises ValueError if the index does not select one path.
        """
        failed = not np.all(self.success[index])
        return f"{self._describe(index)}. {_ADVICE}" if failed else f"{self._describe(index)}."

    @public
    def show(
        self,
        *,
        rate: float = 50.0,
        scene: geometry.Scene | None = None,
        ghosts: int | None = None,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the robot at ``rate`` targets a second, with the paths of the tasks' frames.

        All paths of a batch are shown together.  ``ghosts`` is the number of transparent copies along the first path,
        by default 6 in a picture without ``time``, else 0.  The obstacles of ``scene`` are shown.  ``meshes`` are
        folders of mesh files, and ``title`` is the title of the page.  Returns the `linkwork.viewer.View` of a live
        page, or the path of a file; see `Robot.show` for the output and the errors.
        """
        return show(
            self, output, rate=rate, scene=scene, ghosts=ghost_count(ghosts, output), meshes=meshes, title=title
        )

    def _describe(self, path: int | tuple[int, ...]) -> str:
        success, changed, steps = self.success[path], self.reconfigured[path], np.abs(self.steps[path])
        if success.ndim != 1:
            raise ValueError(
                f"explain: index: expected indices of one path in the batch {self.success.shape[:-1]}, got {path!r}"
            )
        count = len(success)
        sentences = [f"{int(success.sum())} of {count} targets are reached"]
        if not success.all():
            sentences[0] += f", the first failure is target {int(np.flatnonzero(~success)[0])}"
        if steps.size:
            t, k = np.unravel_index(int(np.argmax(steps)), steps.shape)
            sentences.append(
                f"the largest jump is {steps[t, k]:.3g} of {self._joint(int(k))!r}, to target {int(t) + 1}"
            )
        for t in np.flatnonzero(changed):
            moved = {self._joint(int(k)): None for k in np.argsort(-steps[t - 1])[:3]}
            sentences.append(f"the robot is reconfigured before target {int(t)}: {', '.join(moved)} move most")
        return "; ".join(sentences)

    def _joint(self, k: int) -> str:
        return joint_of(self.problem.robot.tree, k)

    def __repr__(self) -> str:
        jump = self.largest_jump
        return (
            f"<IKPathResult: {int(self.success.sum())} of {self.success.size} reached; "
            f"{int(self.reconfigured.sum())} reconfigurations; largest jump {jump.size:.3g} of {jump.joint!r}>"
        )


_STEP_SHARE = 0.05  # maximum motion in one step, relative to max_joint_jump
_STEPS = 400  # maximum steps between targets
_NO_STEP = 1e-9  # [rad, m] smaller steps end the motion
_SETTLED = 1e-7  # [rad, m] soft tasks are at their minimum if the step is smaller


def has_velocity_constraints(problem: ProblemView) -> bool:
    """Return True if the robot has velocity constraints, which single configurations cannot satisfy."""
    return any(not constraint.holonomic for constraint in problem.robot.tree.constraints)


class _PathStep(DifferentialIK):
    """Differential IK step along a path, where time does not pass: the errors of tasks do not drift."""

    _has_time = False


class RollingSteps:
    """Motion from a configuration towards targets by differential IK steps that satisfy the velocity constraints."""

    def __init__(self, problem: ProblemView, jump: np.ndarray) -> None:
        self.problem, self.max_step = problem, _STEP_SHARE * jump
        limits = {"position": problem.position_limits or False, "velocity": False, "acceleration": False}
        self.ik = _PathStep(
            problem.robot, problem.tasks, 1.0, motion_limits=limits, locked=problem.locked, caller=problem.caller
        )
        self.hard = np.array([task.hard for task in problem.tasks for _ in task.component_names])

    def walk(self, before: np.ndarray, targets: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, int]:
        """Step towards the targets; return q (N, nq), success (N,) and the total number of steps."""
        robot, q, size, steps = self.problem.robot, before, np.full(len(before), np.inf), 0
        for _ in range(_STEPS):
            moving = ~self._done(q, targets, size) & (size > _NO_STEP)
            if not moving.any():
                break
            steps += int(moving.sum())
            step = self.ik.velocity(q, **targets).v
            step = step / np.maximum((np.abs(step) / self.max_step).max(axis=-1, keepdims=True), 1.0)
            size = np.where(moving, np.abs(step).max(axis=-1), size)
            q = np.where(moving[:, None], robot.integrate(q, step), q)
        return q, self._done(q, targets, size), steps

    def _done(self, q: np.ndarray, targets: Mapping[str, np.ndarray], size: np.ndarray) -> np.ndarray:
        errors = self.problem.residual_kernel(q, *targets.values()).errors
        remaining = (
            np.abs(errors[..., self.hard]) <= np.broadcast_to(self.problem.tolerances, errors.shape)[..., self.hard]
        )
        done: np.ndarray = remaining.all(axis=-1)
        return done if self.hard.all() else done & (size <= _SETTLED)
