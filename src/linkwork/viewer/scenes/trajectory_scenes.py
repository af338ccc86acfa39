"""Scene documents of trajectories and tracked Cartesian paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.validation import integer
from linkwork.motion import TimedPath, TrackedPath, Trajectory
from linkwork.optimal import OptimalResult
from linkwork.viewer.document import Lines, SceneDocument
from linkwork.viewer.scenes.carried_objects import add_carried_objects, bare_robot, carried_names, scene_without
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.scenes.moving_scene import FRAME_RATE, frame_times, moving_scene

__all__ = ["tracked_path_document", "trajectory_document"]

_PATH_COLOR = (0.25, 0.25, 0.25, 1.0)
_SAMPLES = 200  # of a Cartesian path
_RECONFIGURATION = 1e-3  # [m] on the time axis of a tracked path between both configurations


@document_of.register(Trajectory)
def trajectory_document(
    trajectory: Any,
    *,
    frames: str | Sequence[str] | None = None,
    scene: Scene | None = None,
    ghosts: int = 0,
    rate: float = FRAME_RATE,
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of a trajectory; see `linkwork.motion.Trajectory.show`."""
    robot = trajectory.robot
    if robot is None:
        raise ValueError("show: expected a trajectory of a robot; plain coordinates have no shapes")
    if trajectory._traced:
        raise TypeError("show: q: expected numbers, got symbols; show the trajectory outside compiled functions")
    times = frame_times("show", trajectory.start_time, trajectory.end_time, rate)
    states = trajectory(times)
    q, v = np.asarray(states.q), np.asarray(states.v) if trajectory.is_timed else None
    robot, shown = bare_robot(trajectory), scene_without(scene, carried_names(trajectory))
    builder = moving_scene(robot, times, q, v=v, title=title, frames=frames, scene=shown, ghosts=ghosts, meshes=meshes)
    add_carried_objects(builder, trajectory, times, q, scene)
    builder.is_timed = trajectory.is_timed
    return builder.document()


@document_of.register(TrackedPath)
def tracked_path_document(
    result: Any, *, scene: Scene | None = None, ghosts: int = 0, meshes: Folders | None = None, title: str | None = None
) -> SceneDocument:
    """Return the scene document of a tracked path, 1 m of the path a second; see `TrackedPath.show`."""
    robot, frame = result.robot, result.frame
    integer("show", "ghosts", ghosts, least=0)
    q, s = np.asarray(result.q), np.asarray(result.s)
    if not len(q):
        raise ValueError(f"show: no part of the path is followed: {result.message}")
    times = s - s[0]
    for k in range(1, len(times)):  # positions of reconfigurations occur twice
        times[k] = max(times[k], times[k - 1] + _RECONFIGURATION)
    heading = robot.name if title is None else title
    builder = moving_scene(robot, times, q, title=heading, frames=frame, scene=scene, ghosts=ghosts, meshes=meshes)
    samples = np.linspace(0.0, result.path.length, _SAMPLES)
    commanded = np.asarray(result.path(samples))
    if result.relative_to != "world":
        commanded = np.asarray(robot.pose(q[0], result.relative_to)) @ commanded
    builder.is_timed = False
    builder.lines.append(Lines("path", commanded[:, :3, 3], _PATH_COLOR, width=1.5, layer="targets"))
    return builder.document()


@document_of.register(TimedPath)
def _timed_path_document(result: TimedPath, **options: Any) -> SceneDocument:
    return trajectory_document(result.trajectory, **options)


@document_of.register(OptimalResult)
def _optimal_document(result: OptimalResult, index: Any = (), **options: Any) -> SceneDocument:
    return document_of(result.trajectory(index), **options)
