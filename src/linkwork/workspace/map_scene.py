"""Scene document of a workspace map: a point for each voxel, coloured by a value, with the robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.file_search import Folders
from linkwork._util.messages import number
from linkwork._util.validation import instance, one_of
from linkwork._util.validation import name as checked_name
from linkwork.kernels import RobotBase, read_configuration
from linkwork.viewer.bounds import round_length
from linkwork.viewer.document import Lines, Points, SceneDocument, Text
from linkwork.viewer.scene_builder import SceneBuilder
from linkwork.viewer.scenes.document_of import document_of
from linkwork.workspace.workspace_map import VALUES, WorkspaceMap

__all__ = ["SECTIONS", "map_document"]

SECTIONS = {"x": (0, 1.0), "y": (1, -1.0), "z": (2, 1.0)}
"""Axis of each section, and the sign of the side of the camera, whose half is left out."""
_COLORS = np.array(  # from small to large values, dark to bright
    [(43, 24, 82), (45, 72, 134), (32, 121, 140), (38, 166, 118), (134, 205, 70), (250, 226, 50)], dtype=float
)
_MAX_POINTS = 200_000
_POINT_SIZE = 0.7  # diameter of a point, relative to a voxel
_SMALL_POINT_SIZE = 0.25  # size of points if all voxels are drawn; gaps between them show the robot
_FLAT = 2.5  # [voxels] thickness below which a map has no section
_BAR = 60  # points of the bar of colours
_LENGTH = (0.25, 0.25, 0.25, 1.0)  # colour of the bar of a length


@document_of.register(WorkspaceMap)
def map_document(
    result: WorkspaceMap,
    name: str = "collision_free",
    *,
    robot: Any = None,
    q: Any = None,
    section: str | None = "y",
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of a map; see `WorkspaceMap.show`."""
    one_of("show", "name", name, VALUES)
    if section is not None:
        one_of("show", "section", section, SECTIONS)
    placement = np.eye(4)
    own_robot, scene = result._of
    robot = own_robot if robot is None else robot
    if robot is None and q is not None:
        raise ValueError("show: q: expected the argument robot too")
    free = np.flatnonzero(result.collision_free > 0)
    values = np.asarray(result.values[name], dtype=float)[free]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    heading = (
        f"{result.frame} of {result.robot}: {VALUES[name]}, {number(low)} (dark) to {number(high)} (bright)"
        if title is None
        else checked_name("show", "title", title)
    )
    builder = SceneBuilder(heading, None, meshes)
    if robot is not None:
        instance("show", "robot", robot, RobotBase, description="the Robot of the map")
        configuration = np.asarray(robot.neutral()) if q is None else read_configuration(robot, "show", "q", q)
        if configuration.shape != (robot.nq,):
            raise ValueError(
                f"show: q: expected a configuration ({robot.nq},), got an array of shape {configuration.shape}"
            )
        if result.relative_to != "world":
            placement = np.asarray(robot.pose(configuration, result.relative_to))
        builder.add_robot(robot, configuration)
    else:
        builder.surfaces.notes.append("a map from a file has no robot: pass robot=... to show it")
    if scene is not None:
        builder.add_scene(scene)
    points = np.asarray(result.points)[free]
    axis, side = SECTIONS["y" if section is None else section]
    towards = side * points[:, axis]
    if len(points) and np.ptp(towards) < _FLAT * result.voxel_size:
        section = None  # no half of a planar robot's map shows the robot
    if section is not None and len(points):
        behind = towards <= 0.5 * (towards.min() + towards.max())
        points, values = points[behind], values[behind]
    if len(points) > _MAX_POINTS:
        builder.surfaces.notes.append(f"{_MAX_POINTS} of {len(points)} voxels are drawn")
        chosen = np.linspace(0, len(points) - 1, _MAX_POINTS).astype(int)
        points, values = points[chosen], values[chosen]
    if len(points):
        share = (values - low) / (high - low) if high > low else np.ones(len(values))
        size = (_SMALL_POINT_SIZE if section is None else _POINT_SIZE) * result.voxel_size
        world = points @ placement[:3, :3].T + placement[:3, 3]
        builder.points.append(Points(VALUES[name], world, _colors(share), size, "map"))
        _add_scales(builder, world, VALUES[name], low, high)
    return builder.document()


def _add_scales(builder: SceneBuilder, points: np.ndarray, title: str, low: float, high: float) -> None:
    """Add a colour bar with its values to the right of the map, and a bar of a round length in front of the map."""
    lower, upper = points.min(axis=0), points.max(axis=0)
    size = float((upper - lower).max()) or 1.0
    heights = np.linspace(lower[2], lower[2] + size, _BAR)
    foot = np.array([upper[0], upper[1], 0.0]) + 0.12 * size * np.array([1.0, 1.0, 0.0])
    colors = _colors(np.linspace(0.0, 1.0, _BAR))
    builder.points.append(Points("colours", foot + np.outer(heights, (0.0, 0.0, 1.0)), colors, 0.04 * size, "scale"))
    for share in (0.0, 0.5, 1.0):
        label = number(low + share * (high - low)) + (f" {title}" if share == 1.0 else "")
        position = foot + np.array([0.05, 0.05, 0.0]) * size + np.array([0.0, 0.0, lower[2] + share * size])
        builder.texts.append(Text(label, position, "scale"))
    length = round_length(0.4 * size)
    start = np.array([lower[0], lower[1] - 0.1 * size, lower[2]])
    end = start + np.array([length, 0.0, 0.0])
    builder.lines.append(Lines("length", np.stack([start, end]), _LENGTH, width=4.0, layer="scale"))
    builder.texts.append(Text(f"{number(length)} m", 0.5 * (start + end), "scale"))


def _colors(share: np.ndarray) -> np.ndarray:
    """Return RGBA colours (n, 4) uint8 for values (n,) from 0 to 1."""
    steps = np.linspace(0.0, 1.0, len(_COLORS))
    channels = [np.interp(share, steps, _COLORS[:, k]) for k in range(3)]
    return np.round(np.stack([*channels, np.full(len(share), 255.0)], axis=1)).astype(np.uint8)
