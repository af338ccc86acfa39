"""Objects that a robot picks up and puts down along a trajectory, as moving surfaces of a scene document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork.model import Frame
from linkwork.motion import Trajectory
from linkwork.shapes import Geometry
from linkwork.viewer.document import Prop
from linkwork.viewer.scene_builder import SceneBuilder, mesh_search

__all__ = ["add_carried_objects", "bare_robot", "carried_names", "scene_without"]

_COLOR = (0.80, 0.47, 0.25, 1.0)


def carried_names(trajectory: Trajectory) -> list[str]:
    """Return the names of the objects that the robot does not hold all the time.

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
    """Return the robot without the objects that it does not hold all the time, or without their shapes."""
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

    An object rests before it is picked up and after it is put down.  Before, its pose is that of the obstacle with its
    name in the scene, otherwise that at which it is picked up.
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
    """Return the shapes of a frame that are drawn."""
    return frame.visuals or frame.collisions
