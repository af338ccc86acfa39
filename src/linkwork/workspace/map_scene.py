"""Scene document of a workspace map: a point for each voxel, coloured by a value, with the robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.file_search import Folders
from linkwork._util.messages import number
from linkwork._util.validation import instance, one_of
from linkwork._util.validation import name as checked_name
from linkwork.kernels import RobotBase, read_configuration
from linkwork.viewer.document import Points, SceneDocument
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


@document_of.register(WorkspaceMap)
def map_document(
    result: WorkspaceMap,
    name: str = "collision_free",
    *,
    robot: Any = None,
    q: Any = None,
    section: str | None = None,
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of a map; see `WorkspaceMap.show`."""
    one_of("show", "name", name, VALUES)
    if section is not None:
        one_of("show", "section", section, SECTIONS)
    placement = np.eye(4)
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
    points = np.asarray(result.points)[free]
    if section is not None and len(points):
        axis, side = SECTIONS[section]
        towards = side * points[:, axis]
        behind = towards <= 0.5 * (towards.min() + towards.max())
        points, values = points[behind], values[behind]
    if len(points) > _MAX_POINTS:
        builder.surfaces.notes.append(f"{_MAX_POINTS} of {len(points)} voxels are drawn")
        chosen = np.linspace(0, len(points) - 1, _MAX_POINTS).astype(int)
        points, values = points[chosen], values[chosen]
    if len(points):
        share = (values - low) / (high - low) if high > low else np.ones(len(values))
        size = _POINT_SIZE * result.voxel_size
        world = points @ placement[:3, :3].T + placement[:3, 3]
        builder.points.append(Points(VALUES[name], world, _colors(share), size, "map"))
    return builder.document()


def _colors(share: np.ndarray) -> np.ndarray:
    """Return colours (n, 4) of values from 0 to 1, uint8."""
    steps = np.linspace(0.0, 1.0, len(_COLORS))
    channels = [np.interp(share, steps, _COLORS[:, k]) for k in range(3)]
    return np.round(np.stack([*channels, np.full(len(share), 255.0)], axis=1)).astype(np.uint8)
