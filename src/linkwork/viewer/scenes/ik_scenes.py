"""Scene documents of results of inverse kinematics: solutions, targets, and lines for the remaining errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.validation import boolean, positive
from linkwork.ik import IKPathResult, IKResult
from linkwork.viewer.document import Points, SceneDocument
from linkwork.viewer.scene_builder import SceneBuilder
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.scenes.robot_scenes import FRAME_RATE, moving_scene, segments_between

__all__ = ["ik_document", "ik_path_document"]

_MAX_TARGETS = 100
_MAX_SOLUTIONS = 1000
_ERROR_COLOR = (0.84, 0.20, 0.35, 1.0)
_TARGET_COLOR = (60, 60, 60, 255)
_VISIBLE_ERROR = 1e-3  # [m] distance from a target above which a line is drawn


@document_of.register(IKResult)
def ik_document(
    result: Any,
    *,
    initial: bool = False,
    scene: Scene | None = None,
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of a result of inverse kinematics; see `IKResult.show`."""
    robot = result.problem.robot
    q = np.asarray(result.q, dtype=float).reshape(-1, robot.nq)
    if len(q) > _MAX_SOLUTIONS:
        raise ValueError(f"show: expected a result of at most {_MAX_SOLUTIONS} states, got {len(q)}; show a part of q")
    status = "" if np.all(result.success) else f": {int(np.sum(result.success))} of {len(q)} solved"
    pairs = [task.between for task in result.problem.tasks if task.between is not None]
    frames = tuple(dict.fromkeys(frame for frame, _ in pairs if frame in robot.frames))
    heading = f"{robot.name}{status}" if title is None else title
    builder = moving_scene(robot, np.zeros(1), q[None], title=heading, frames=frames, scene=scene, meshes=meshes)
    if boolean("show", "initial", initial):
        builder.add_ghosts(robot, result._q_init, name="initial guesses")
    for task in result.problem.tasks:
        if task.between is not None and task.name in result.targets:
            _add_targets(builder, robot, q, task, np.asarray(result.targets[task.name]))
    return builder.document()


def _add_targets(builder: SceneBuilder, robot: Any, q: np.ndarray, task: Any, target: np.ndarray) -> None:
    """Add the targets of a pose or position task, and lines from frames to targets that they do not reach."""
    frame, relative_to = task.between
    is_pose = target.shape[-2:] == (4, 4)
    if not is_pose and (target.shape[-1:] != (3,) or target.shape[-2:] == (3, 3)):
        return
    names = {*robot.frames, "world"}
    if not names.issuperset((frame, relative_to)):
        return
    target = target.reshape(-1, 4, 4) if is_pose else _placed(target)
    if relative_to != "world":
        target = np.asarray(robot.pose(q, relative_to)) @ target
    if is_pose:
        for k, pose in enumerate(target[:_MAX_TARGETS]):
            builder.add_frame(task.name if len(target) == 1 else f"{task.name}[{k}]", pose)
    positions = target[:, :3, 3]
    if not is_pose:
        builder.points.append(Points(task.name, positions, np.array([_TARGET_COLOR], np.uint8), layer="targets"))
    reached = np.asarray(robot.pose(q, frame))[:, :3, 3]
    positions = np.broadcast_to(positions, reached.shape)
    far = np.linalg.norm(reached - positions, axis=1) > _VISIBLE_ERROR
    if far.any():
        builder.lines.append(segments_between("errors", reached[far], positions[far], _ERROR_COLOR, "targets"))


def _placed(positions: np.ndarray) -> np.ndarray:
    """Return poses (n, 4, 4) with identity rotation at positions (..., 3)."""
    flat = positions.reshape(-1, 3)
    result = np.tile(np.eye(4), (len(flat), 1, 1))
    result[:, :3, 3] = flat
    return result


@document_of.register(IKPathResult)
def ik_path_document(
    result: Any,
    *,
    rate: float = FRAME_RATE,
    scene: Scene | None = None,
    ghosts: int = 0,
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of configurations along a path of targets; see `IKPathResult.show`."""
    robot = result.problem.robot
    q = np.asarray(result.q, dtype=float)
    q = np.moveaxis(q.reshape(-1, *q.shape[-2:]), 0, 1)  # (T, n, nq)
    pairs = [task.between for task in result.problem.tasks if task.between is not None]
    frames = tuple(dict.fromkeys(frame for frame, _ in pairs if frame in robot.frames))
    seconds = 1.0 / positive("show", "rate", rate, unit="1/s")
    builder = moving_scene(
        robot, seconds * np.arange(len(q)), q, title=title, frames=frames, scene=scene, ghosts=ghosts, meshes=meshes
    )
    return builder.document()
