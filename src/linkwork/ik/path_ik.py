"""Inverse kinematics along a path of targets: each solution starts from the one before, and jumps are reported.

From the solution before, the search takes few iterations.  Where it fails or jumps, the path between the two targets
is bisected, again and again: a solution that is reached in small steps is no jump, however far it is.  Where that
fails too, other starting points are tried, and the nearest solution is taken: the robot is reconfigured there.

A robot with velocity constraints, such as one on wheels, moves by steps of differential inverse kinematics that obey
them (`RollingSteps`), and is never reconfigured: a target that such steps do not lead to is not reached.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.result import Result
from linkwork._util.status import statuses
from linkwork._util.validation import floats
from linkwork.errors import Status, UnknownNameError
from linkwork.ik.arguments import read_target
from linkwork.ik.differential import DifferentialIK
from linkwork.ik.kernels import TOLD
from linkwork.ik.problem_protocol import ProblemView
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kinematics.poses import pose, pose_difference

__all__ = ["JUMP", "IKPathResult", "JointDiscontinuity", "follow"]


JUMP = 0.5  # [rad, m]
_FEW = np.array(25.0)  # steps from the answer before
_MORE = np.array(200.0)  # steps of each of other starts
_STARTS = np.arange(1.0, 33.0)
_DIVISIONS = (2, 4, 8, 16)
_OFF = 1e-6


def follow(
    problem: ProblemView, q_init: Any, max_joint_jump: Any, caller: str, targets: Mapping[str, Any]
) -> IKPathResult:
    """The answers along a path; see `IKProblem.follow`."""
    robot = problem.robot
    jump = _jumps(caller, robot, max_joint_jump)
    given = _paths(problem, caller, targets)
    q_init = problem.middle if q_init is None else read_configuration(robot, caller, "q_init", q_init)
    ranks = {name: len(problem.shapes[name]) for name in given}
    lengths = {name: x.shape[-1 - ranks[name]] for name, x in given.items()}
    count = next(iter(lengths.values()))
    if len(set(lengths.values())) > 1 or count < 1:
        raise ValueError(f"{caller}: expected paths of one length, of one target at least, got {lengths}")
    try:
        batch = np.broadcast_shapes(
            q_init.shape[:-1], *(x.shape[: x.ndim - ranks[name] - 1] for name, x in given.items())
        )
    except ValueError as error:
        raise ValueError(f"{caller}: seed and paths do not broadcast together: {error}") from None
    paths = {
        name: np.broadcast_to(x, (*batch, *x.shape[x.ndim - ranks[name] - 1 :])).reshape(
            -1, *x.shape[x.ndim - ranks[name] - 1 :]
        )
        for name, x in given.items()
    }
    walker = _Walker(problem, jump)
    walker.look_at(caller, paths)
    q = np.empty((math.prod(batch), count, robot.nq))
    success, changed = np.empty(q.shape[:2], dtype=bool), np.zeros(q.shape[:2], dtype=bool)
    starts = np.broadcast_to(q_init, (*batch, robot.nq)).reshape(-1, robot.nq)
    begin: dict[str, Any] = {name: x[:, 0] for name, x in paths.items()}
    first = problem.solve(starts, **begin)
    q[:, 0], success[:, 0] = first.q, first.success
    for t in range(1, count):
        now = {name: np.ascontiguousarray(x[:, t]) for name, x in paths.items()}
        before = np.ascontiguousarray(q[:, t - 1])
        result, done = walker.directly(before, now)
        for i in np.flatnonzero(~done) if walker.rolling is None else ():
            ends = [{name: x[i, k] for name, x in paths.items()} for k in (t - 1, t)]
            result[i], done[i], changed[i, t] = walker.around(before[i], *ends)
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
        raise ValueError(f"{caller}: largest_jump: expected a positive number, or {robot.nv} [rad, m], got {value!r}")
    return result


def _paths(problem: ProblemView, caller: str, targets: Mapping[str, Any]) -> dict[str, np.ndarray]:
    by_name = {task.name: task for task in problem.tasks}
    if not problem.shapes:
        raise ValueError(f"{caller}: no task aims at anything, so there is no path")
    for name in targets:
        if name not in problem.shapes:
            raise UnknownNameError("path", name, problem.shapes)
    result = {}
    for name, shape in problem.shapes.items():
        x = read_target(caller, problem.robot, by_name[name], shape, targets.get(name))
        if x.ndim == len(shape) and targets.get(name) is None:  # the same all the way
            lengths = [np.shape(y)[-1 - len(problem.shapes[n])] for n, y in targets.items() if np.ndim(y)]
            x = np.broadcast_to(x, (*(lengths[:1] or [1]), *shape))
        if x.ndim == len(shape):
            raise ValueError(
                f"{caller}: {name}: expected a path (..., T, {', '.join(map(str, shape))}), got one target of {x.shape}"
            )
        result[name] = x
    return result


class _Walker:
    """Steps of many paths, and what to do where one of them fails."""

    def __init__(self, problem: ProblemView, jump: np.ndarray) -> None:
        self.problem, self.jump = problem, jump
        self.rolling = RollingSteps(problem, jump) if rolls(problem) else None
        self.iterations = 0
        self.kinds = {task.name: task.target_of.kind for task in problem.tasks if task.target_of is not None}

    def look_at(self, caller: str, paths: Mapping[str, np.ndarray]) -> None:
        """Raises ValueError for what is not finite, and for what is no rotation."""
        for name, x in paths.items():
            fine = np.isfinite(x).all()
            if fine and self.kinds[name] in ("pose", "rotation"):
                R = x[..., :3, :3]
                off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max() if R.size else 0.0
                fine = off <= _OFF and (np.linalg.det(R) > 0.0).all()
            if not fine:
                p = self.problem
                task = next(task for task in p.tasks if task.name == name)
                read_target(caller, p.robot, task, p.shapes[name], x, look=True)

    def directly(self, before: np.ndarray, now: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """From the answers before, in few steps: configurations, and whether they answer without a jump."""
        if self.rolling is not None:
            q, done, iterations = self.rolling.walked(before, now)
            self.iterations += iterations
            return q, done
        q, done = self._searched(before, now, _FEW, np.array(0.0))
        return q, done & ~self._jumps(before, q)

    def around(
        self, before: np.ndarray, last: Mapping[str, np.ndarray], now: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, bool, bool]:
        """A configuration, whether it is an answer, and whether the robot is reconfigured."""
        for parts in _DIVISIONS:
            q, fine = before, True
            for k in range(1, parts + 1):
                between = {name: self._between(name, last[name], now[name], k / parts) for name in now}
                one, done = self.directly(q[None], {name: x[None] for name, x in between.items()})
                q, fine = one[0], bool(done[0])
                if not fine:
                    break
            if fine:
                return q, True, False
        many = len(_STARTS)
        q, done = self._searched(
            np.repeat(before[None], many, axis=0),
            {name: np.repeat(x[None], many, axis=0) for name, x in now.items()},
            _MORE,
            _STARTS,
        )
        if not done.any():
            given: dict[str, Any] = dict(now)
            result = self.problem.solve(before, **given)
            self.iterations += int(result.iterations)
            q, done = result.q[None], np.array([bool(result.success)])
        if done.any():
            far = self._far(before, q[done]).max(axis=-1)
            nearest = q[done][int(np.argmin(far))]
            return nearest, True, bool(far.min() > 1.0)
        near, _ = self._searched(before[None], {name: x[None] for name, x in now.items()}, _FEW, np.array(0.0))
        return (before if self._jumps(before, near)[0] else near[0]), False, False

    def _searched(
        self, q: np.ndarray, targets: Mapping[str, np.ndarray], steps: np.ndarray, first: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        p = self.problem
        result = p.kernel(q, p.tolerances, p.weights, *p.ends, steps, first, *targets.values())
        self.iterations += int(result.told[..., TOLD.index("iterations")].sum())
        return np.array(result.q), result.told[..., 0] == 1.0

    def _far(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.abs(self.problem.robot.difference(one, other)) / self.jump
        return result

    def _jumps(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.any(self._far(one, other) > 1.0, axis=-1)
        return result

    def _between(self, name: str, last: np.ndarray, now: np.ndarray, part: float) -> np.ndarray:
        """What lies between two targets."""
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
        one, other = np.eye(4), np.eye(4)
        size = len(last)
        one[:size, :size], other[:size, :size] = last, now
        left = pose_difference(one, other)
        turn, angle = left[:3], float(np.linalg.norm(left[:3]))
        R = pose(axis=turn, angle=part * angle) if angle > 0.0 else np.eye(4)
        X = np.eye(4)
        X[:3, :3] = R[:3, :3] @ one[:3, :3]
        X[:3, 3] = one[:3, 3] + part * left[3:]
        return X[:size, :size]


class JointDiscontinuity(NamedTuple):
    """How far a joint goes from one target to the next [rad, m], which joint, and to which target (its number)."""

    size: float
    joint: str
    step: int


_STATUSES = (Status.SOLVED, Status.NOT_FOUND)


class IKPathResult(Result):
    """Configurations along a path of T targets; of a batch of paths, an entry for each path.

    ``q`` (..., T, nq) are within limits; ``success`` (..., T) is True for those that do what was asked, and
    ``reconfigured`` (..., T) where the robot had to jump from one family of answers to another.
    """

    problem: ProblemView
    q: np.ndarray
    success: np.ndarray
    reconfigured: np.ndarray
    iterations: int  # of all searches together

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
        """The word of a `linkwork.errors.Status` by target (..., T): "solved" or "not_found"."""
        return np.asarray(statuses(~self.success, _STATUSES))

    @property
    def message(self) -> str:
        """How many targets are reached, the largest jump and reconfigurations; of a batch of paths in numbers."""
        return self._of_path(()) if self.success.ndim == 1 else super().message

    @cached_property
    def steps(self) -> np.ndarray:
        """By how much each number of velocity goes from target to target (..., T − 1, nv) [rad, m]."""
        result: np.ndarray = self.problem.robot.difference(self.q[..., :-1, :], self.q[..., 1:, :])
        return result

    @property
    def reconfigurations(self) -> Any:
        """How many there are: a whole number, or an array (...)."""
        result = self.reconfigured.sum(axis=-1)
        return int(result) if result.ndim == 0 else result

    @property
    def largest_jump(self) -> JointDiscontinuity:
        """The farthest that any joint goes from one target to the next, of all paths."""
        sizes = np.abs(self.steps)
        if sizes.size == 0:
            return JointDiscontinuity(0.0, "", 0)
        place = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        return JointDiscontinuity(float(sizes[place]), self._joint(int(place[-1])), int(place[-2]) + 1)

    def explain(self, index: int | tuple[int, ...] = ()) -> str:
        """Return what became of a path, with advice; of a batch, of the path of an index.

        Raises ValueError where the index is not one of the paths.
        """
        failed = not np.all(self.success[index])
        return f"{self._of_path(index)}. {Status.NOT_FOUND.advice}" if failed else f"{self._of_path(index)}."

    def _of_path(self, path: int | tuple[int, ...]) -> str:
        success, changed, steps = self.success[path], self.reconfigured[path], np.abs(self.steps[path])
        if success.ndim != 1:
            raise ValueError(f"explain: index: expected one of the paths {self.success.shape[:-1]}, got {path!r}")
        count = len(success)
        told = [f"{int(success.sum())} of {count} targets are reached"]
        if not success.all():
            told[0] += f", target {int(np.flatnonzero(~success)[0])} is the first that is not"
        if steps.size:
            t, k = np.unravel_index(int(np.argmax(steps)), steps.shape)
            told.append(f"the largest jump is {steps[t, k]:.3g} of {self._joint(int(k))!r}, to target {int(t) + 1}")
        for t in np.flatnonzero(changed):
            moved = {self._joint(int(k)): None for k in np.argsort(-steps[t - 1])[:3]}
            told.append(f"the robot is reconfigured on the way to target {int(t)}: {', '.join(moved)} move most")
        return "; ".join(told)

    def _joint(self, k: int) -> str:
        tree = self.problem.robot.tree
        for i, body in tree.stacked():
            if k in range(tree.nv)[tree.v_slices[i]]:
                return str(body.joint_name)
        raise AssertionError(k)

    def __repr__(self) -> str:
        jump = self.largest_jump
        return (
            f"<IKPathResult: {int(self.success.sum())} of {self.success.size} reached; "
            f"{int(self.reconfigured.sum())} reconfigurations; largest jump {jump.size:.3g} of {jump.joint!r}>"
        )


_PART = 0.05  # of the largest jump: how far a number of velocity goes in one step, which is straight
_STEPS = 400  # from target to target
_STILL = 1e-9  # [rad, m] a step that is none
_SETTLED = 1e-7  # [rad, m] a step at which soft tasks are at their minimum


def rolls(problem: ProblemView) -> bool:
    """True where the robot has constraints of velocities, which single configurations cannot obey."""
    return any(not constraint.holonomic for constraint in problem.robot.tree.constraints)


class _PathStep(DifferentialIK):
    """A step along a path that has no clock."""

    _clocked = False


class RollingSteps:
    """Walks from a configuration towards targets by steps δ with G(q) δ = 0."""

    def __init__(self, problem: ProblemView, jump: np.ndarray) -> None:
        self.problem, self.most = problem, _PART * jump
        limits = {"position": (problem.lower, problem.upper), "velocity": False}
        self.ik = _PathStep(
            problem.robot, problem.tasks, 1.0, motion_limits=limits, locked=problem.locked, caller=problem.caller
        )
        self.hard = np.array([task.hard for task in problem.tasks for _ in task.component_names])

    def walked(self, before: np.ndarray, targets: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the configurations (N, nq) that steps lead to, whether tasks are done there (N,), and the number of
        steps of all together.
        """
        robot, q, size, steps = self.problem.robot, before, np.full(len(before), np.inf), 0
        for _ in range(_STEPS):
            going = ~self._done(q, targets, size) & (size > _STILL)
            if not going.any():
                break
            steps += int(going.sum())
            step = self.ik.velocity(q, **targets).v
            step = step / np.maximum((np.abs(step) / self.most).max(axis=-1, keepdims=True), 1.0)
            size = np.where(going, np.abs(step).max(axis=-1), size)
            q = np.where(going[:, None], robot.integrate(q, step), q)
        return q, self._done(q, targets, size), steps

    def _done(self, q: np.ndarray, targets: Mapping[str, np.ndarray], size: np.ndarray) -> np.ndarray:
        errors = self.problem.looking(q, *targets.values()).errors
        left = np.abs(errors[..., self.hard]) <= np.broadcast_to(self.problem.tolerances, errors.shape)[..., self.hard]
        done: np.ndarray = left.all(axis=-1)
        return done if self.hard.all() else done & (size <= _SETTLED)
