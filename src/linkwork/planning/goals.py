"""Where a path may end: configurations, poses, regions, sets of any, as configurations that can be planned to.

A box of poses that a frame may end in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork.errors import Status, UnknownNameError
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.planning.collision_space import collisions_of, limits_of
from linkwork.planning.planning_space import PlanningSpace
from linkwork.spatial.arguments import checked_pose, matrix_of

__all__ = ["GoalsFound", "PoseRegion", "WantedGoal", "goals_found", "read_goals"]


_POSES = 48  # that are drawn from a region at once
_DRAWS = 4  # times, where none of them will do


@dataclass(frozen=True)
class WantedGoal:
    """One of what people wrote: a configuration, or poses of frames, any of which will do."""

    label: str
    q: np.ndarray | None = None
    poses: Mapping[str, np.ndarray] | None = None  # by frame (n, 4, 4)
    drawn: tuple[Mapping[str, np.ndarray], ...] = ()  # other poses, where none of these will do


@dataclass(frozen=True)
class GoalsFound:
    """Configurations (n, nq), the index of the goal of each, and status and message of the goals that have none."""

    q: np.ndarray
    of: np.ndarray
    reasons: list[tuple[Status, str]]


def read_goals(robot: Any, goal: Any, frame: str | None, seed: int) -> list[WantedGoal]:
    """What ``goal`` of `Robot.plan` is.  Raises ValueError, TypeError and UnknownNameError."""
    if frame is not None:
        _check_frame(robot, frame)
    result = _read(robot, goal, frame, seed, "goal")
    if not result:
        raise ValueError("plan: goal: expected one at least, got none")
    if frame is not None and all(one.q is not None for one in result):
        raise ValueError(f"plan: goal: expected a pose (4, 4) of frame {frame!r} among them, got configurations alone")
    return result


def _read(robot: Any, goal: Any, frame: str | None, seed: int, label: str) -> list[WantedGoal]:
    if isinstance(goal, PoseRegion):
        _check_frame(robot, goal.frame)
        X = goal.sampled(_DRAWS * _POSES, seed=seed).reshape(_DRAWS, _POSES, 4, 4)
        first, *more = ({goal.frame: some} for some in X)
        return [WantedGoal(label, poses=first, drawn=tuple(more))]
    if isinstance(goal, Mapping):
        if goal and all(np.shape(x) == (4, 4) for x in goal.values()):
            for name in goal:
                _check_frame(robot, name)
            return [WantedGoal(label, poses={name: _poses(f"{label}[{name!r}]", x) for name, x in goal.items()})]
        return [WantedGoal(label, q=read_configuration(robot, "plan", label, goal))]
    shape = _shape(goal)
    if shape[-2:] == (4, 4) and len(shape) <= 3 and (frame is not None or robot.nq != 4):
        if frame is None:
            raise ValueError(f"plan: {label}: of a pose (4, 4) say the frame: frame={robot.frames[-1]!r}")
        if len(shape) == 2:
            return [WantedGoal(label, poses={frame: _poses(label, goal)})]
        return [WantedGoal(f"{label}[{k}]", poses={frame: _poses(f"{label}[{k}]", x)}) for k, x in enumerate(goal)]
    if isinstance(goal, (list, tuple)) and any(_shape(one) or isinstance(one, (PoseRegion, Mapping)) for one in goal):
        parts = [_read(robot, one, frame, seed, f"{label}[{k}]") for k, one in enumerate(goal)]
        return [one for part in parts for one in part]
    if frame is not None and shape[-1:] != (robot.nq,):
        raise ValueError(
            f"plan: {label}: expected a pose (4, 4) of frame {frame!r} or several (n, 4, 4), got shape {shape}"
        )
    q = read_configuration(robot, "plan", label, goal)
    if q.ndim == 1:
        return [WantedGoal(label, q=q)]
    if q.ndim != 2:
        raise ValueError(f"plan: {label}: expected one configuration or several (n, {robot.nq}), got shape {q.shape}")
    return [WantedGoal(f"{label}[{k}]", q=one) for k, one in enumerate(q)]


def _shape(goal: Any) -> tuple[int | None, ...]:
    """That of an array; (None,) of a list whose parts have several."""
    try:
        result: tuple[int, ...] = np.shape(goal)
    except ValueError:
        return (None,)
    return result


def _check_frame(robot: Any, name: Any) -> None:
    if name not in robot.frames:
        raise UnknownNameError("frame", str(name), [*robot.frames])


def _poses(label: str, X: Any) -> np.ndarray:
    return np.array(checked_pose(X, f"plan: {label}").elements(), dtype=float).reshape(1, 4, 4)


def goals_found(space: PlanningSpace, wanted: list[WantedGoal], seed: np.ndarray, answers: int) -> GoalsFound:
    """Configurations within limits that are free, of all goals: of poses several answers of inverse kinematics."""
    q, of, reasons = [], [], []
    for k, one in enumerate(wanted):
        result = _free_of(space, one, seed, answers)
        for poses in one.drawn:
            if isinstance(result, np.ndarray):
                break
            result = _free_of(space, replace(one, poses=poses), seed, answers)
        if isinstance(result, np.ndarray):
            q.append(result)
            of += [k] * len(result)
        else:
            reasons.append(result)
    every = np.concatenate(q) if q else np.empty((0, space.robot.nq))
    return GoalsFound(every, np.array(of, dtype=int), reasons)


def _free_of(space: PlanningSpace, one: WantedGoal, seed: np.ndarray, answers: int) -> np.ndarray | tuple[Status, str]:
    """Return configurations of a goal (n, nq), or status and message where there are none."""
    if one.q is not None:
        candidates, what = one.q[None], one.label
    else:
        candidates, why = _solved(space, one, seed, answers)
        what = f"{one.label}: none of the {len(candidates)} configurations that inverse kinematics found is free"
        if not len(candidates):
            return Status.GOAL_UNREACHABLE, f"{one.label} is unreachable: {why}"
    within = space.within(candidates)
    if not within.any():
        return Status.GOAL_OUTSIDE_LIMITS, f"{one.label}: {limits_of(space, candidates[0])}"
    candidates = candidates[within]
    free = space.free_ends(candidates)
    if free.any():
        return np.asarray(candidates[free])
    told = space.violation(candidates[0])
    if told is not None:
        return Status.GOAL_VIOLATES_CONSTRAINTS, f"at {one.label} {told}"
    told = collisions_of(space, candidates[0])
    return (
        Status.GOAL_IN_COLLISION,
        f"{what} is in collision: {told}" if one.q is not None else f"{what}; of the first: {told}",
    )


def _solved(space: PlanningSpace, one: WantedGoal, seed: np.ndarray, answers: int) -> tuple[np.ndarray, str]:
    """Configurations at which frames have poses, and why there is none."""
    robot, poses = space.robot, one.poses or {}
    limits = (space.lower, space.upper) if space.limited else None
    kept = space.tasks
    if len(poses) == 1 and not kept:
        ((frame, X),) = poses.items()
        if len(X) == 1:
            result = robot.inverse_kinematics(X[0], frame, q_init=seed, num_solutions=answers, position_limits=limits)
        else:
            result = robot.inverse_kinematics(X, frame, q_init=seed, position_limits=limits)
    else:
        at = [PoseTask(frame, name=f"at {frame}") for frame in poses]
        problem, many = robot.ik_problem([*at, *kept], position_limits=limits), len(next(iter(poses.values()))) > 1
        targets = {f"at {frame}": X if many else X[0] for frame, X in poses.items()}
        result = problem.solve(seed, num_solutions=None if many else answers, **targets)
    q = np.atleast_2d(result.q)[np.atleast_1d(result.success)]
    why = "" if len(q) else _why(result)
    return q, why


def _why(result: Any) -> str:
    many = max(np.ndim(X) for X in result.targets.values()) > 2
    place = (0,) if np.ndim(result.success) else ()
    first = f"{np.asarray(result.status)[place]}: {result._sentence(place)}"
    return f"none of {len(result.success)} poses has an answer; of the first: {first}" if many else first


@public
class PoseRegion:
    """Poses X · (a pose within bounds) of a frame: a task-space region.

    ``lower`` and ``upper`` are of six numbers in X's axes: roll, pitch and yaw [rad], x, y and z [m]; equal bounds fix
    one.  A cup that may stand anywhere on a board, turned anyhow about its axis, has z, roll and pitch fixed.

    Source: Berenson, Srinivasa and Kuffner, Task space regions, 2011.

    >>> import linkwork as lw
    >>> low, high = [0, 0, -3.1, -0.2, -0.2, 0], [0, 0, 3.1, 0.2, 0.2, 0]
    >>> anywhere = lw.planning.PoseRegion("hand", lw.pose((0.5, 0, 0.3)), low, high)
    >>> anywhere.sampled(5, seed=0).shape
    (5, 4, 4)
    """

    __slots__ = ("X", "frame", "lower", "upper")

    def __init__(self, frame: str, X: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Raises ValueError for what is no pose, and bounds that are no numbers or leave nothing."""
        self.frame = frame
        self.X = matrix_of(checked_pose(X, "PoseRegion: X"))
        self.lower, self.upper = _six("lower", lower), _six("upper", upper)
        if (self.lower > self.upper).any():
            k = int(np.flatnonzero(self.lower > self.upper)[0])
            raise ValueError(f"PoseRegion: expected lower ≤ upper, got {self.lower[k]} and {self.upper[k]} at {k}")

    def sampled(self, count: int, *, seed: int = 0) -> np.ndarray:
        """Poses (count, 4, 4) drawn evenly from it, by its six numbers; the same for a seed."""
        u = np.random.default_rng([seed, 5]).uniform(size=(count, 6))
        x = self.lower + u * (self.upper - self.lower)
        result: np.ndarray = self.X @ _poses_region(x)
        return result

    def __repr__(self) -> str:
        return f"<PoseRegion of {self.frame!r}>"


def _six(name: str, x: Any) -> np.ndarray:
    expected = f"PoseRegion: {name}: expected six finite numbers: roll, pitch, yaw [rad], x, y, z [m]"
    result = np.asarray(real_array(expected, x), dtype=float)
    if result.shape != (6,) or not np.isfinite(result).all():
        raise ValueError(f"{expected}; got {x!r}")
    return result


def _poses_region(x: np.ndarray) -> np.ndarray:
    """Of (n, 6) numbers: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    result = np.tile(np.eye(4), (len(x), 1, 1))
    (a, b, c), (i, j, k) = np.cos(x[:, :3]).T, np.sin(x[:, :3]).T
    result[:, 0, :3] = np.stack([c * b, c * j * i - k * a, c * j * a + k * i], axis=-1)
    result[:, 1, :3] = np.stack([k * b, k * j * i + c * a, k * j * a - c * i], axis=-1)
    result[:, 2, :3] = np.stack([-j, b * i, b * a], axis=-1)
    result[:, :3, 3] = x[:, 3:]
    return result
