"""Goals of a planner: configurations, poses, positions, pose regions and lists of them, as configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork.errors import ArgumentError, Status
from linkwork.ik.tasks.frame_tasks import PoseTask, PositionTask
from linkwork.ik.tasks.task import Task
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.model.periodic_coordinates import revolutions
from linkwork.planning.planning_space import PlanningSpace
from linkwork.planning.rejected_configurations import collisions_of, limits_of
from linkwork.spatial.arguments import checked_array, checked_pose, is_like_pose, is_like_rotation
from linkwork.spatial.pose import Pose

__all__ = ["GoalConfigurations", "GoalSpec", "PoseRegion", "read_goals", "resolve_goals"]


_POSES = 48  # poses drawn from a region at a time
_DRAWS = 4  # attempts if none of the poses is valid
_IDLE_SAMPLES = 32  # positions tried for joints that do not move a goal's frames, if they are in collision at the start
_PROJECTIONS = 4  # of the best configurations of a draw onto the region, if none is a solution


@dataclass(frozen=True)
class GoalSpec:
    """One goal of a query: a configuration, or a set of poses or positions of frames, of which any may be reached."""

    label: str
    q: np.ndarray | None = None
    poses: Mapping[str, np.ndarray] | None = None  # (n, 4, 4) of each frame; positions (1, 3) [m]
    drawn: tuple[Mapping[str, np.ndarray], ...] = ()  # alternatives if none of the poses is valid
    region: PoseRegion | None = None  # from which the poses are drawn

    def most_solutions(self, of_pose: int) -> int:
        """Return the largest number of goal configurations of this goal, if a single pose has at most ``of_pose``."""
        if self.poses is None:
            return 1
        return max(of_pose, *(len(X) + (self.region is not None) for X in self.poses.values()))


@dataclass(frozen=True)
class GoalConfigurations:
    """Goal configurations (n, nq) of a query, and for each one the index of the goal that it attains.

    ``reasons`` has, for each goal without a valid configuration, the status, a message, and the first configuration
    that was tried, or None.
    """

    q: np.ndarray
    goal_indices: np.ndarray
    reasons: list[tuple[Status, str, np.ndarray | None]]


def read_goals(robot: Any, goal: Any, frame: str | None, seed: int) -> list[GoalSpec]:
    """Return the goals that the argument ``goal`` of `Robot.plan` states.

    Poses and positions are those of ``frame``; poses of a region are drawn with ``seed``.

    Raises ValueError, TypeError and UnknownNameError.
    """
    if frame is not None:
        _check_frame(robot, frame)
    result = _read(robot, goal, frame, seed, "goal")
    if not result:
        raise ValueError("plan: goal: expected at least one goal, got none")
    if frame is not None and all(spec.q is not None for spec in result):
        raise ValueError(
            f"plan: goal: expected a pose (4, 4) or a position (3,) of frame {frame!r} among them, got configurations "
            f"alone; omit frame="
        )
    return result


def _read(robot: Any, goal: Any, frame: str | None, seed: int, label: str) -> list[GoalSpec]:
    if isinstance(goal, Task):
        raise ArgumentError(
            f"plan: {label}: expected configurations, poses (4, 4) or positions (3,), got {type(goal).__name__}; a "
            f"pose or a position needs frame=, and robot.ik_problem(tasks).solve().q is a configuration of tasks"
        )
    if isinstance(goal, Pose):
        goal = goal.matrix()
    if isinstance(goal, PoseRegion):
        _check_frame(robot, goal.frame)
        X = goal.sampled(_DRAWS * _POSES, seed=seed).reshape(_DRAWS, _POSES, 4, 4)
        first, *more = ({goal.frame: pose} for pose in X)
        return [GoalSpec(label, poses=first, drawn=tuple(more), region=goal)]
    if isinstance(goal, Mapping):
        shapes = {_shape(x) for x in goal.values()}
        of_frames = any(name in robot.frames for name in goal) and not any(x.name in goal for x in robot.joints)
        if goal and (shapes == {(4, 4)} or (shapes <= {(4, 4), (3,)} and of_frames)):
            for name in goal:
                _check_frame(robot, name)
            return [GoalSpec(label, poses={name: _poses(f"{label}[{name!r}]", x) for name, x in goal.items()})]
        return [GoalSpec(label, q=read_configuration(robot, "plan", label, goal))]
    if isinstance(goal, str):
        return [GoalSpec(label, q=read_configuration(robot, "plan", label, goal))]
    shape = _shape(goal)
    is_batch = shape[-2:] == (4, 4) and len(shape) <= 3
    if is_batch and (frame is not None or robot.nq != 4 or any(map(is_like_pose, (goal, *goal)))):
        if frame is None:
            raise ValueError(
                f"plan: {label}: expected configurations, got shape {shape}; a pose needs frame=, for example "
                f"frame={robot.frames[-1]!r}"
            )
        if len(shape) == 2:
            return [GoalSpec(label, poses={frame: _poses(label, goal)})]
        return [GoalSpec(f"{label}[{k}]", poses={frame: _poses(f"{label}[{k}]", x)}) for k, x in enumerate(goal)]
    if frame is not None and _is_position(robot, shape, label):
        if is_like_rotation(goal):
            raise ValueError(
                f"plan: {label}: expected a pose (4, 4) or a position (3,) of frame {frame!r}, got a rotation matrix"
            )
        if len(shape) == 1:
            return [GoalSpec(label, poses={frame: _poses(label, goal)})]
        return [GoalSpec(f"{label}[{k}]", poses={frame: _poses(f"{label}[{k}]", x)}) for k, x in enumerate(goal)]
    if isinstance(goal, (list, tuple)) and any(
        _shape(spec) or isinstance(spec, (PoseRegion, Mapping, Task, str)) for spec in goal
    ):
        parts = [_read(robot, spec, frame, seed, f"{label}[{k}]") for k, spec in enumerate(goal)]
        return [spec for part in parts for spec in part]
    if frame is not None and shape[-1:] != (robot.nq,):
        raise ValueError(
            f"plan: {label}: expected a pose (4, 4) of frame {frame!r}, a position (3,), or several of them, got shape "
            f"{shape}"
        )
    if frame is None and shape == (3,) and robot.nq != 3:
        raise ValueError(
            f"plan: {label}: expected a configuration ({robot.nq},), got shape (3,); a position (x, y, z) needs "
            f"frame=, for example frame={robot.frames[-1]!r}"
        )
    q = read_configuration(robot, "plan", label, goal)
    if q.ndim == 1:
        return [GoalSpec(label, q=q)]
    if q.ndim != 2:
        raise ValueError(f"plan: {label}: expected one configuration or several (n, {robot.nq}), got shape {q.shape}")
    return [GoalSpec(f"{label}[{k}]", q=spec) for k, spec in enumerate(q)]


def _shape(goal: Any) -> tuple[int | None, ...]:
    """Return the shape of an array; (None,) for a ragged list."""
    try:
        result: tuple[int, ...] = np.shape(goal)
    except ValueError:
        return (None,)
    return result


def _is_position(robot: Any, shape: tuple[int | None, ...], label: str) -> bool:
    """Return True if an array of this shape is one position of a frame, or several, rather than configurations.

    For a robot with nq = 3, only a single goal of shape (3,) is a position. Arrays of several goals, and goals in a
    list with others, are configurations.
    """
    if robot.nq == 3:
        return shape == (3,) and label == "goal"
    return shape[-1:] == (3,) and len(shape) <= 2


def _check_frame(robot: Any, name: Any) -> None:
    if name not in robot.frames:
        raise robot.tree.unknown_frame(name)


def _poses(label: str, X: Any) -> np.ndarray:
    """Return a checked pose (1, 4, 4), or a checked position (1, 3) [m].  Raises ValueError."""
    if _shape(X) == (3,):
        return checked_array(X, f"plan: {label}: expected a position, three numbers [m]", (3,))[None]
    return np.array(checked_pose(X, f"plan: {label}").elements(), dtype=float).reshape(1, 4, 4)


def resolve_goals(
    space: PlanningSpace, specs: list[GoalSpec], q_init: np.ndarray, max_solutions: int
) -> GoalConfigurations:
    """Return collision-free configurations within limits for all goals.

    A pose may have several configurations, at most ``max_solutions``, by inverse kinematics from ``q_init``.
    """
    q, goal_indices, reasons = [], [], []
    for k, spec in enumerate(specs):
        draws = [spec, *(replace(spec, poses=poses) for poses in spec.drawn)]
        if spec.region is not None:  # its pose nearest to that of the start is tried with the first ones
            nearest = spec.region._nearest(space.robot.pose(q_init, spec.region.frame))[None]
            draws[0] = replace(
                spec, poses={name: np.concatenate([nearest, X]) for name, X in (spec.poses or {}).items()}
            )
        for drawn_spec in draws:
            result = _valid_configurations(space, drawn_spec, q_init, max_solutions)
            if isinstance(result, np.ndarray):
                break
        if isinstance(result, np.ndarray):
            q.append(result)
            goal_indices += [k] * len(result)
        else:
            reasons.append(result)
    configurations = np.concatenate(q) if q else np.empty((0, space.robot.nq))
    return GoalConfigurations(configurations, np.array(goal_indices, dtype=int), reasons)


def _valid_configurations(
    space: PlanningSpace, spec: GoalSpec, q_init: np.ndarray, max_solutions: int
) -> np.ndarray | tuple[Status, str, np.ndarray | None]:
    """Return the valid configurations (n, nq) of a goal; if there are none, a status, a message, and one tried.

    Joints that do not move the frames of a pose keep their positions at the start.  If all configurations are then
    invalid, these joints have sampled positions.
    """
    if spec.q is None:
        candidates, reason = _solve_poses(space, spec, q_init, max_solutions)
        if reason is not None:
            return (*reason, None)
        frames = spec.poses or {}
        for idle in (q_init[None], space.samples(0).take(_IDLE_SAMPLES)):
            q = np.concatenate([candidates[:0], *(space.with_idle_joints(candidates, x, frames) for x in idle)])
            q = q[space.within(q)]
            q = q[space.free_ends(q)] if len(q) else q
            if len(q):
                return np.asarray(q[: len(candidates)])
    else:
        candidates = spec.q[None]
    within = space.within(candidates)
    free = space.free_ends(candidates[within]) if within.any() else within[:0]
    if free.any():
        return np.asarray(candidates[within][free])
    tried = candidates[within][0] if within.any() else candidates[0]
    if not within.any():
        status, why = Status.GOAL_OUTSIDE_LIMITS, limits_of(space, candidates[0])
    else:
        violation = space.violation(candidates[within][0])
        status = Status.GOAL_IN_COLLISION if violation is None else Status.GOAL_VIOLATES_CONSTRAINTS
        why = collisions_of(space, candidates[within][0]) if violation is None else violation
    if spec.q is None:  # other configurations of the pose may be valid
        summary = f"none of the {len(candidates)} inverse kinematics solutions is valid"
        return Status.GOAL_NOT_FOUND, f"{spec.label}: {summary}; of the first: {why}", tried
    if status is Status.GOAL_VIOLATES_CONSTRAINTS:
        return status, f"at {spec.label} {why}", tried
    return status, f"{spec.label}{' is in collision' if status is Status.GOAL_IN_COLLISION else ''}: {why}", tried


_PROOFS = (Status.OUT_OF_REACH, Status.AT_LIMITS, Status.INFEASIBLE)  # that no configuration within limits has a pose


def _solve_poses(
    space: PlanningSpace, spec: GoalSpec, q_init: np.ndarray, max_solutions: int
) -> tuple[np.ndarray, tuple[Status, str] | None]:
    """Return configurations (n, nq) at which frames have the goal's poses or positions.

    The second value is None, or status and message if there are no configurations.  For a region without solutions, the
    poses nearest to those of the best configurations are tried again.
    """
    result = _inverse_kinematics(space, spec, q_init, max_solutions)
    region = spec.region
    for _ in range(_PROJECTIONS if region is not None else 0):
        if np.any(result.success):
            break
        assert region is not None
        poses = {region.frame: region._nearest(space.robot.pose(result.q, region.frame))}
        result = _inverse_kinematics(space, replace(spec, poses=poses), result.q, max_solutions)
    q = np.atleast_2d(result.q)[np.atleast_1d(result.success)]
    if len(q):
        return q, None
    statuses = {str(status) for status in np.atleast_1d(result.status)}
    single = region is None or np.array_equal(region.lower, region.upper)
    if single and statuses <= {status.value for status in _PROOFS}:
        return q, (Status.GOAL_UNREACHABLE, f"{spec.label} is unreachable: {_failure_message(result)}")
    return q, (Status.GOAL_NOT_FOUND, f"no configuration was found for {spec.label}: {_failure_message(result)}")


def _inverse_kinematics(space: PlanningSpace, spec: GoalSpec, q_init: np.ndarray, max_solutions: int) -> Any:
    """Return the result of inverse kinematics for a goal: several solutions of one pose, or one for each pose."""
    robot, poses = space.robot, spec.poses or {}
    limits = (space.lower, space.upper) if space.limited else None
    constraint_tasks = space.tasks
    if len(poses) == 1 and not constraint_tasks:
        ((frame, X),) = poses.items()
        if len(X) == 1:
            return robot.inverse_kinematics(
                X[0], frame, q_init=q_init, num_solutions=max_solutions, position_limits=limits
            )
        return robot.inverse_kinematics(X, frame, q_init=q_init, position_limits=limits)
    pose_tasks = [(PositionTask if X.ndim == 2 else PoseTask)(frame, name=f"at {frame}") for frame, X in poses.items()]
    problem = robot.ik_problem([*pose_tasks, *constraint_tasks], position_limits=limits)
    is_batch = len(next(iter(poses.values()))) > 1
    targets = {f"at {frame}": X if is_batch else X[0] for frame, X in poses.items()}
    return problem.solve(q_init, num_solutions=None if is_batch else max_solutions, **targets)


def _failure_message(result: Any) -> str:
    is_batch = max(np.ndim(X) for X in result.targets.values()) > 2
    index = (0,) if np.ndim(result.success) else ()
    first = f"{np.asarray(result.status)[index]}: {result._sentence(index)}"
    return f"none of {len(result.success)} poses has an answer; of the first: {first}" if is_batch else first


@public
class PoseRegion:
    """Task-space region: all poses X · Y of a frame, with Y within bounds.

    ``lower`` and ``upper`` bound Y by six numbers in X's axes: roll, pitch and yaw [rad], x, y and z [m]; equal bounds
    fix a value.  An infinite bound of an angle means −π or π, so two infinite bounds leave the angle free.  For a cup
    that may be placed anywhere on a board, at any angle about its axis, z, roll and pitch are fixed.

    Source: Berenson, Srinivasa and Kuffner, Task space regions, 2011.

    >>> import linkwork as lw
    >>> free = float("inf")
    >>> low, high = [0, 0, -free, -0.2, -0.2, 0], [0, 0, free, 0.2, 0.2, 0]
    >>> anywhere = lw.planning.PoseRegion("hand", lw.pose((0.5, 0, 0.3)), low, high)
    >>> anywhere.sampled(5, seed=0).shape
    (5, 4, 4)
    """

    __slots__ = ("X", "frame", "lower", "upper")

    def __init__(self, frame: str, X: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Raise ValueError for an invalid pose, and for bounds that are not numbers or are empty."""
        self.frame = frame
        self.X = checked_pose(X, "PoseRegion: X").matrix()
        self.lower, self.upper = _six("lower", lower), _six("upper", upper)
        if (np.isinf(self.lower) & (self.upper < -np.pi) | np.isinf(self.upper) & (self.lower > np.pi)).any():
            raise ValueError(
                f"PoseRegion: upper: expected an angle in [-π, π] where the other bound is infinite, got "
                f"lower={lower!r} and upper={upper!r}; infinite bounds mean -π and π"
            )
        if (self.lower > self.upper).any():
            k = int(np.flatnonzero(self.lower > self.upper)[0])
            raise ValueError(
                f"PoseRegion: lower: expected lower <= upper, got {self.lower[k]} and {self.upper[k]} at {k}"
            )

    def sampled(self, count: int, *, seed: int = 0) -> np.ndarray:
        """Return random poses (count, 4, 4) of the region, uniform in its six coordinates; reproducible by seed."""
        u = np.random.default_rng([seed, 5]).uniform(size=(count, 6))
        lower, upper = self._bounds
        x = lower + u * (upper - lower)
        result: np.ndarray = self.X @ _region_poses(x)
        return result

    def _nearest(self, poses: ArrayLike) -> np.ndarray:
        """Return poses (..., 4, 4) of the region near the given ones, each of the six coordinates clipped to bounds."""
        Y = np.linalg.inv(self.X) @ np.asarray(poses, dtype=float)
        pitch = np.arctan2(-Y[..., 2, 0], np.hypot(Y[..., 0, 0], Y[..., 1, 0]))
        roll, yaw = np.arctan2(Y[..., 2, 1], Y[..., 2, 2]), np.arctan2(Y[..., 1, 0], Y[..., 0, 0])
        x = np.concatenate([np.stack([roll, pitch, yaw], axis=-1), Y[..., :3, 3]], axis=-1)
        lower, upper = self._bounds
        turns = revolutions(x[..., :3] - 0.5 * (lower + upper)[:3])
        x[..., :3] -= 2.0 * np.pi * turns
        flat = np.clip(x, lower, upper).reshape(-1, 6)
        result: np.ndarray = self.X @ _region_poses(flat).reshape(*x.shape[:-1], 4, 4)
        return result

    @property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Finite bounds of the six coordinates."""
        return np.maximum(self.lower, -_FINITE), np.minimum(self.upper, _FINITE)

    def __repr__(self) -> str:
        return f"<PoseRegion of {self.frame!r}>"


_FINITE = np.array([np.pi, np.pi, np.pi, np.inf, np.inf, np.inf])  # infinite bounds become these


def _six(name: str, x: Any) -> np.ndarray:
    expected = (
        f"PoseRegion: {name}: expected six numbers: roll, pitch, yaw [rad], infinite if free, and finite x, y, z [m]"
    )
    result = np.asarray(real_array(expected, x), dtype=float)
    never = np.inf if name == "lower" else -np.inf
    if result.shape != (6,) or np.isnan(result).any() or np.isinf(result[3:]).any() or (result == never).any():
        raise ValueError(f"{expected}; got {x!r}")
    return result


def _region_poses(x: np.ndarray) -> np.ndarray:
    """Return the poses (n, 4, 4) of (n, 6) roll, pitch, yaw, x, y, z, with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    result = np.tile(np.eye(4), (len(x), 1, 1))
    (a, b, c), (i, j, k) = np.cos(x[:, :3]).T, np.sin(x[:, :3]).T
    result[:, 0, :3] = np.stack([c * b, c * j * i - k * a, c * j * a + k * i], axis=-1)
    result[:, 1, :3] = np.stack([k * b, k * j * i + c * a, k * j * a - c * i], axis=-1)
    result[:, 2, :3] = np.stack([-j, b * i, b * a], axis=-1)
    result[:, :3, 3] = x[:, 3:]
    return result
