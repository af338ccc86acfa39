"""Builder of scene documents: robots, obstacles, paths and markers are added one by one."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import FileSearch, Folders, read_folders
from linkwork._util.messages import listed
from linkwork._util.user_frames import levels_up
from linkwork.errors import PictureWarning
from linkwork.formats.description import tree_paths
from linkwork.shapes import HalfSpace, PointCloud
from linkwork.viewer.document import (
    HIDDEN_LAYERS,
    PART_LAYERS,
    PATH_AXIS,
    Actor,
    Arrows,
    Color,
    FrameAxes,
    Lines,
    Plot,
    Points,
    Prop,
    SceneDocument,
    Text,
)
from linkwork.viewer.robot_parts import MissingFile, robot_parts, robot_size, undrawn_content
from linkwork.viewer.solid_and_field_surfaces import cloud_points
from linkwork.viewer.surfaces import SurfaceSet

__all__ = ["PATH_COLORS", "SceneBuilder", "mesh_search"]

PATH_COLORS: tuple[Color, ...] = (
    (0.00, 0.45, 0.70, 1.0),
    (0.90, 0.62, 0.00, 1.0),
    (0.00, 0.62, 0.45, 1.0),
    (0.80, 0.47, 0.65, 1.0),
    (0.34, 0.71, 0.91, 1.0),
    (0.84, 0.37, 0.00, 1.0),
)
"""Colours of paths and other lines, distinguishable by colour-blind readers."""

_OBSTACLE: Color = (0.62, 0.60, 0.56, 1.0)
_GROUND: Color = (0.86, 0.87, 0.89, 1.0)  # of half-spaces, which are lighter than what stands on them
_GHOST: Color = (0.35, 0.55, 0.80, 1.0)
_GHOST_TRIANGLES = 150_000  # of all copies: a browser without a graphics card draws a million in several seconds
_LEAST_TRIANGLES = 200  # of one surface of a copy
_MAX_LABELS = 12  # of missing mesh files
_MAX_POSES = 500  # poses that determine the lengths of sliders' guides
_MAX_LISTED = 5  # missing mesh files in the warning


def mesh_search(robot: Any, meshes: FileSearch | None) -> FileSearch:
    """Return the search of a robot's mesh files: in its file's folder, its package, and the folders ``meshes``."""
    return tree_paths(robot.tree, meshes)


class SceneBuilder:
    """Contents of a scene document; `document` returns it.

    ``times`` (T,) [s] are the times of all moving contents; a still picture has one.
    """

    def __init__(self, title: str, times: np.ndarray | None = None, meshes: Folders | None = None) -> None:
        self.title = title
        self.times = np.zeros(1) if times is None else np.asarray(times, dtype=float)
        self.is_timed = True  # False for path lengths [rad, m], or values of `axis`, instead of times
        self.axis, self.pace = PATH_AXIS, 1.0
        self.meshes = None if meshes is None else read_folders("show: meshes", meshes)
        self.surfaces = SurfaceSet()
        self.actors: list[Actor] = []
        self.props: list[Prop] = []
        self.lines: list[Lines] = []
        self.points: list[Points] = []
        self.arrows: list[Arrows] = []
        self.frames: list[FrameAxes] = []
        self.texts: list[Text] = []
        self.plots: list[Plot] = []
        self.shown_layers: set[str] = set()
        self.obstacles: Scene | None = None
        self.size = 0.0  # [m] largest extent of a robot

    # -- robots

    def add_robot(
        self,
        robot: Any,
        q: np.ndarray,
        *,
        name: str | None = None,
        opacity: float = 1.0,
        color: Color | None = None,
        offsets: np.ndarray | None = None,
        layers: Collection[str] = PART_LAYERS,
        frames: Collection[str] = (),
    ) -> Actor:
        """Add a robot in configurations q: (nq,), n instances (n, nq), or a motion (T, n, nq).

        ``offsets`` (n, 4, 4) move the instances in the world. ``frames`` are the frames of the layer "frames", by
        default all. A ghost, with an opacity below 1, has no sliders: its actor does not store the robot.
        """
        q = np.asarray(q, dtype=float)
        q = q.reshape((1,) * (3 - q.ndim) + q.shape)
        poses = np.asarray(robot.forward_kinematics(q), dtype=float)
        shown = poses.reshape(poses.shape[0] * poses.shape[1], *poses.shape[2:])
        if offsets is not None:
            poses = offsets[:, None] @ poses
        size = robot_size(robot.tree, poses[0, 0]) if poses.shape[1] else 1.0
        self.size = max(self.size, size)
        parts, missing = robot_parts(
            robot.tree,
            self.surfaces,
            mesh_search(robot, self.meshes),
            size,
            poses=shown[:: max(len(shown) // _MAX_POSES, 1)],
            color=color,
            layers=layers,
            frames=frames,
        )
        self.surfaces.notes += undrawn_content(robot.tree)
        T = len(self.times)
        if len(q) == 1 and T > 1:  # views of one frame
            q, poses = (np.broadcast_to(x, (T, *x.shape[1:])) for x in (q, poses))
        actor = Actor(robot.name if name is None else name, robot if opacity == 1.0 else None, q, poses, parts)
        if opacity != 1.0 or offsets is not None:
            actor = Actor(actor.name, actor.robot, q, poses, parts, opacity, offsets)
        self.actors.append(actor)
        self._label(missing, poses)
        return actor

    def add_ghosts(self, robot: Any, q: np.ndarray, *, name: str = "ghosts", opacity: float = 0.25) -> None:
        """Add transparent still copies of a robot in configurations q (n, nq).

        Large meshes are decimated, so that all copies together have about `_GHOST_TRIANGLES`.
        """
        q = np.asarray(q, dtype=float).reshape(-1, robot.nq)
        if not len(q):
            return
        actor = self.add_robot(robot, q, name=name, opacity=opacity, color=_GHOST, layers=("visual",))
        sizes = [len(self.surfaces.surfaces[part.surface].triangles) for part in actor.parts]
        share = _GHOST_TRIANGLES / max(len(q) * sum(sizes), 1)
        if share < 1.0:
            limits = [max(int(share * size), _LEAST_TRIANGLES) for size in sizes]
            lighter = [self.surfaces.decimated(p.surface, n) for p, n in zip(actor.parts, limits, strict=True)]
            parts = tuple(replace(p, surface=k) for p, k in zip(actor.parts, lighter, strict=True))
            self.actors[-1] = replace(actor, parts=parts)

    def _label(self, missing: Sequence[MissingFile], poses: np.ndarray) -> None:
        """Add labels with the names of missing mesh files at their placeholders, for the first instance only."""
        for file in missing[:_MAX_LABELS]:
            if file.body < 0:
                position = file.position
            elif poses.strides[0] == 0 or len(poses) == 1:
                position = poses[0, 0, file.body, :3] @ np.append(file.position, 1.0)
            else:
                position = poses[:, 0, file.body, :3] @ np.append(file.position, 1.0)
            self.texts.append(Text(file.name, position))

    # -- surroundings

    def add_scene(self, scene: Scene) -> None:
        """Add all obstacles of a scene; obstacles without a colour are grey."""
        self.obstacles = scene
        search = self.meshes or FileSearch(())
        for obstacle in scene.obstacles:
            usual = _GROUND if isinstance(obstacle.shape, HalfSpace) else _OBSTACLE
            pose, rgba = obstacle.pose.matrix(), obstacle.color or usual
            if isinstance(obstacle.shape, PointCloud):
                points = cloud_points(obstacle.shape) @ pose[:3, :3].T + pose[:3, 3]
                colors = np.round(255.0 * np.array([rgba])).astype(np.uint8)
                size = 2.0 * obstacle.shape.radius or 0.01
                self.points.append(Points(obstacle.name, points, colors, size, "obstacle"))
                continue
            for placed in self.surfaces.of_shape(obstacle.shape, search):
                prop = Prop(obstacle.name, placed.index, pose @ placed.pose, placed.color or rgba)
                self.props.append(replace(prop, is_unbounded=isinstance(obstacle.shape, HalfSpace)))

    # -- lines and markers

    def add_frame_path(self, robot: Any, q: np.ndarray, frame: str, *, color: Color = PATH_COLORS[0]) -> None:
        """Add the path of a frame's origin through configurations q (k, nq)."""
        if len(q) > 1:
            points = np.asarray(robot.pose(np.asarray(q, dtype=float), frame))[:, :3, 3]
            self.lines.append(Lines(frame, points, color, width=3.0, layer="paths"))

    def add_frame(self, name: str, poses: np.ndarray, *, layer: str = "targets", length: float | None = None) -> None:
        """Add the axes of a frame at a pose (4, 4), or at (T, 4, 4), with its name."""
        poses = np.asarray(poses, dtype=float)
        self.frames.append(FrameAxes(name, poses, length or 0.15 * (self.size or 1.0), layer))
        self.texts.append(Text(name, poses[..., :3, 3], layer))

    def show_layer(self, layer: str) -> None:
        """Make a layer visible that is hidden by default."""
        self.shown_layers.add(layer)

    # -- result

    def document(self) -> SceneDocument:
        """Return the document.  Warns about missing mesh files."""
        if self.surfaces.missing:
            names = [*self.surfaces.missing]
            shown = listed(names[:_MAX_LISTED]) + (", ..." if len(names) > _MAX_LISTED else "")
            files = "mesh file is drawn as a placeholder" if len(names) == 1 else "mesh files are drawn as placeholders"
            advice = "the notes of the document have the reasons, and meshes=... names the folders of the files"
            message = f"{len(names)} {files}: {shown}; {advice}"
            warnings.warn(message, PictureWarning, stacklevel=levels_up())
        return SceneDocument(
            title=self.title,
            times=self.times,
            surfaces=tuple(self.surfaces.surfaces),
            actors=tuple(replace(actor, obstacles=self.obstacles) for actor in self.actors),
            props=tuple(self.props),
            lines=tuple(self.lines),
            points=tuple(self.points),
            arrows=tuple(self.arrows),
            frames=tuple(self.frames),
            texts=tuple(self.texts),
            plots=tuple(self.plots),
            hidden=HIDDEN_LAYERS - self.shown_layers,
            notes=tuple(dict.fromkeys(self.surfaces.notes)),
            is_timed=self.is_timed,
            axis=self.axis,
            pace=self.pace,
        )
