"""Scene documents of trajectories and tracked Cartesian paths, with the objects that a robot picks up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.validation import integer
from linkwork.model import Frame
from linkwork.motion import TimedPath, TrackedPath, Trajectory
from linkwork.optimal import OptimalResult
from linkwork.shapes import Geometry
from linkwork.viewer.document import Lines, Prop, SceneDocument
from linkwork.viewer.scene_builder import SceneBuilder, mesh_search
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.scenes.robot_scenes import FRAME_RATE, frame_times, moving_scene, path_times

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
    times = frame_times(trajectory.start_time, trajectory.end_time, rate)
    states = trajectory(times)
    q, v = np.asarray(states.q), np.asarray(states.v) if trajectory.is_timed else None
    robot, shown = bare_robot(trajectory), scene_without(scene, carried_names(trajectory))
    path = np.asarray(trajectory(path_times(times)).q) if frames is not None else None
    builder = moving_scene(
        robot, times, q, v=v, title=title, frames=frames, scene=shown, ghosts=ghosts, meshes=meshes, path=path
    )
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


# -- objects that a robot picks up


_COLOR = (0.80, 0.47, 0.25, 1.0)


def carried_names(trajectory: Trajectory) -> list[str]:
    """Return the names of the objects that the robot picks up or puts down during the motion.

    Such objects are attached objects and links of mounted robots.
    """
    objects = [_frames(robot) for robot in _robots(trajectory)]

    def is_carried(name: str) -> bool:
        present = [frames[name] for frames in objects if name in frames]
        changes = len({*present}) > 1 and not all(frame.is_link for frame in present)
        return changes or len(present) < len(objects)

    shaped = dict.fromkeys(name for frames in objects for name, frame in frames.items() if _geometries(frame))
    return [name for name in shaped if is_carried(name)]


def bare_robot(trajectory: Trajectory) -> Any:
    """Return the robot without the objects that it picks up or puts down, or without their shapes."""
    names, robot = carried_names(trajectory), trajectory.robot
    bare = next((r for r in (robot, *_robots(trajectory)) if not _frames(r).keys() & {*names}), None)
    if bare is not None:
        return bare
    frames = [replace(f, visuals=(), collisions=()) if f.name in names else f for f in robot.tree.frames]
    return type(robot)(replace(robot.tree, frames=tuple(frames)))


def scene_without(scene: Scene | None, names: list[str]) -> Scene | None:
    """Return a scene without obstacles that are drawn as objects of the robot."""
    if scene is None:
        return None
    for name in names:
        if name in scene.names:
            scene = scene.without(name)
    return scene


def add_carried_objects(
    builder: SceneBuilder, trajectory: Trajectory, times: np.ndarray, q: np.ndarray, scene: Scene | None
) -> None:
    """Add the objects that the robot does not hold all the time, at ``times`` (T,) and configurations q (T, nq).

    An object rests before it is picked up and after it is put down.  Before it is picked up, it has the pose of the
    obstacle with its name in the scene, or else the pose at which it is picked up.
    """
    sections, robots = trajectory.sections, _robots(trajectory)
    which = np.searchsorted([section.start for section in sections[1:]], times, side="right")
    for name in carried_names(trajectory):
        carrying = [name in _frames(robot) for robot in robots]
        first = carrying.index(True)
        color = _COLOR
        if scene is not None and name in scene.names:
            at_rest, color = scene[name].pose.matrix(), scene[name].color or _COLOR
        else:
            at_rest = robots[first].pose(trajectory(sections[first].start).q, name)
        poses = np.zeros((len(times), 4, 4))
        for k, (section, robot) in enumerate(zip(sections, robots, strict=True)):
            frames = which == k
            poses[frames] = robot.pose(q[frames], name) if carrying[k] else at_rest
            if carrying[k]:
                at_rest = robot.pose(trajectory(section.end, side="left").q, name)
        carrier = robots[first]
        for geometry in _geometries(_frames(carrier)[name]):
            for surface in builder.surfaces.of_shape(geometry.shape, mesh_search(carrier, builder.meshes)):
                placement = geometry.origin.matrix() @ surface.pose
                rgba = geometry.material and geometry.material.rgba
                prop = Prop(name, surface.index, poses @ placement, rgba or surface.color or color, layer="objects")
                builder.props.append(prop)


def _robots(trajectory: Trajectory) -> list[Any]:
    return [trajectory.robot if section.robot is None else section.robot for section in trajectory.sections]


def _frames(robot: Any) -> dict[str, Frame]:
    """Return the frames of a robot by name."""
    return {frame.name: frame for frame in robot.tree.frames}


def _geometries(frame: Frame) -> tuple[Geometry, ...]:
    """Return the shapes of a frame that are drawn: the visual shapes, else the collision shapes."""
    return frame.visuals or frame.collisions
