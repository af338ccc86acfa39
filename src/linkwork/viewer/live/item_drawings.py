"""Drawings on a live page of everything but robots: obstacles, lines, points, arrows, frames, labels and overlays.

Overlays are computed from the current configuration: nearest pairs, and the centre of mass of the robot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.viewer.document import Arrows, Color, FrameAxes, Lines, Points, Prop, SceneDocument, Text
from linkwork.viewer.live.actor_drawing import add_surface, node_name, rgb
from linkwork.viewer.live.live_robot import LiveRobot
from linkwork.viewer.rotations import quaternions

__all__ = ["PAIRS", "ArrowDrawing", "CenterOfMass", "ItemDrawings", "NearestPairs", "without_pairs"]

_Move = Callable[[int], None]
_SHAFT, _HEAD, _HEAD_LENGTH = 0.012, 0.03, 0.06  # radii and length of arrows, in units of the scene's size


class ArrowDrawing:
    """Arrows that change.

    The node is hidden while there are no arrows, or while their layer is hidden.
    """

    def __init__(self, scene: Any, name: str, color: Color, size: float) -> None:
        self._handle = scene.add_arrows(
            name,
            np.zeros((1, 2, 3)),
            rgb(color),
            shaft_radius=_SHAFT * size,
            head_radius=_HEAD * size,
            head_length=_HEAD_LENGTH * size,
            visible=False,
        )
        self._shown, self._has_any = True, False

    @property
    def visible(self) -> bool:
        """True if the layer of the arrows is shown."""
        return self._shown

    @visible.setter
    def visible(self, shown: bool) -> None:
        self._shown = shown
        self._handle.visible = shown and self._has_any

    @property
    def segments(self) -> np.ndarray:
        """Starts and ends (k, 2, 3) of the arrows that are drawn [m]."""
        return np.asarray(self._handle.points) if self._has_any else np.empty((0, 2, 3))

    def draw(self, starts: np.ndarray, ends: np.ndarray) -> None:
        """Draw arrows from ``starts`` (k, 3) to ``ends`` (k, 3) [m]."""
        long = np.linalg.norm(ends - starts, axis=-1) > 1e-9
        self._has_any = bool(long.any())
        if self._has_any:
            self._handle.points = np.stack([starts[long], ends[long]], axis=1).astype(np.float32)
        self._handle.visible = self._shown and self._has_any


class ItemDrawings:
    """Viser nodes of obstacles, lines, points, arrows, frames and labels, and their motion with time."""

    def __init__(self, scene: Any, document: SceneDocument, size: float) -> None:
        self.by_layer: defaultdict[str, list[Any]] = defaultdict(list)
        """Handles of the nodes of each layer."""
        self._scene, self._document, self._size = scene, document, size
        self._moves: list[_Move] = []
        kinds: tuple[tuple[str, tuple[Any, ...], Callable[[str, Any], Any]], ...] = (
            ("obstacles", document.props, self._draw_prop),
            ("lines", document.lines, self._draw_lines),
            ("points", document.points, self._draw_points),
            ("arrows", document.arrows, self._draw_arrows),
            ("frames", document.frames, self._draw_frame),
            ("labels", document.texts, self._draw_text),
        )
        for kind, items, draw in kinds:
            for k, item in enumerate(items):
                handle = draw(f"/{kind}/{k} {node_name(getattr(item, 'name', ''))}", item)
                handle.visible = item.layer not in document.hidden
                self.by_layer[item.layer].append(handle)

    def show_time(self, k: int) -> None:
        """Move all time-dependent items to the frame of time with index k."""
        for move in self._moves:
            move(k)

    def _draw_prop(self, name: str, prop: Prop) -> Any:
        poses = np.asarray(prop.pose).reshape(-1, 4, 4)
        first = poses[0]
        surface = self._document.surfaces[prop.surface]
        handle = add_surface(self._scene, name, surface, prop.color, quaternions(first[:3, :3]), first[:3, 3])
        if len(poses) > 1:
            self._moves.append(_mover(handle, poses))
        return handle

    def _draw_lines(self, name: str, lines: Lines) -> Any:
        points = np.asarray(lines.points, dtype=float)
        segments = points if lines.segments else np.repeat(points, 2, axis=-2)[..., 1:-1, :]
        segments = segments.reshape(-1, segments.shape[-2] // 2, 2, 3)
        handle = self._scene.add_line_segments(
            name, segments[0], rgb(lines.color), thickness=lines.width, thickness_units="screen"
        )
        if len(segments) > 1:
            self._moves.append(lambda k: setattr(handle, "points", segments[k]))
        return handle

    def _draw_points(self, name: str, points: Points) -> Any:
        positions = np.asarray(points.points, dtype=np.float32)
        positions = positions.reshape(-1, *positions.shape[-2:])
        first = positions[0]
        colors = np.broadcast_to(np.asarray(points.colors)[:, :3], (first.shape[0], 3))
        radius = 0.5 * float(points.size)  # viser's size of a point
        handle = self._scene.add_point_cloud(
            name, first, np.array(colors), point_size=radius, point_shape="circle", precision="float32"
        )
        if len(positions) > 1:
            self._moves.append(lambda k: setattr(handle, "points", positions[k]))
        return handle

    def _draw_arrows(self, name: str, arrows: Arrows) -> Any:
        drawing = ArrowDrawing(self._scene, name, arrows.color, self._size)
        ends = arrows.starts + arrows.scale * arrows.vectors

        def move(k: int) -> None:
            shown = arrows.visible[k]
            drawing.draw(arrows.starts[k][shown], ends[k][shown])

        self._moves.append(move)
        move(0)
        return drawing

    def _draw_frame(self, name: str, frame: FrameAxes) -> Any:
        poses = np.asarray(frame.poses).reshape(-1, 4, 4)
        first = poses[0]
        handle = self._scene.add_frame(
            name,
            axes_length=frame.length,
            axes_radius=0.03 * frame.length,
            origin_radius=0.05 * frame.length,
            wxyz=quaternions(first[:3, :3]),
            position=first[:3, 3],
        )
        if len(poses) > 1:
            self._moves.append(_mover(handle, poses))
        return handle

    def _draw_text(self, name: str, text: Text) -> Any:
        positions = np.asarray(text.position, dtype=float).reshape(-1, 3)
        handle = self._scene.add_label(name, escaped(text.text), position=positions[0])
        if len(positions) > 1:
            self._moves.append(lambda k: setattr(handle, "position", positions[k]))
        return handle


def _mover(handle: Any, poses: np.ndarray) -> _Move:
    """Return a function of an index k that moves a node to the pose ``poses[k]``; ``poses`` is (T, 4, 4)."""
    wxyz = quaternions(poses[:, :3, :3])

    def move(k: int) -> None:
        handle.wxyz, handle.position = wxyz[k], poses[k, :3, 3]

    return move


PAIRS = "nearest pairs"  # layer
_COUNT = 6  # nearest pairs that are drawn
_COLOR, _TOUCHING = (240, 145, 20), (220, 40, 40)


class NearestPairs:
    """Lines with distances between the witness points of the nearest pairs of collision shapes.

    Their number is that of the pairs in the document, else `_COUNT`.
    """

    def __init__(self, scene: Any, live: LiveRobot, document: SceneDocument, root: str) -> None:
        self._scene, self._live, self._obstacles = scene, live, live.actor.obstacles
        self._count = sum(len(lines.points) // 2 for lines in document.lines if lines.layer == PAIRS) or _COUNT
        count = len(live.robot.collision_pairs) + (0 if self._obstacles is None else 1)
        self.is_possible = bool(live.robot.collision_shapes) and count > 0
        """True if the robot has pairs of collision shapes."""
        self._lines = scene.add_line_segments(
            f"{root}/nearest pairs", np.zeros((1, 2, 3)), _COLOR, thickness=2.5, thickness_units="screen", visible=False
        )
        self._labels: list[Any] = []
        self._root = root
        self._visible = False

    @property
    def visible(self) -> bool:
        """True if the pairs are shown."""
        return self._visible

    @visible.setter
    def visible(self, shown: bool) -> None:
        self._visible = shown
        self._lines.visible = shown
        for label in self._labels:
            label.visible = shown
        self._live.redraw()

    @property
    def texts(self) -> list[str]:
        """Distance labels of the pairs that are shown."""
        return [label.text for label in self._labels if label.visible]

    def draw(self) -> None:
        """Draw the pairs at the current configuration."""
        if not self._visible:
            return
        pairs = self._live.robot.distances(self._live.q[0], self._obstacles)
        distance = np.asarray(pairs.distance)
        nearest = np.argsort(distance)[: self._count]
        ends = np.stack([np.asarray(pairs.point_a), np.asarray(pairs.point_b)], axis=-2)[nearest]
        ends = self._live.in_picture(ends)
        self._lines.points = ends.astype(np.float32)
        while len(self._labels) < len(nearest):
            self._labels.append(self._scene.add_label(f"{self._root}/distance {len(self._labels)}", ""))
        for label, k, segment in zip(self._labels, nearest, ends, strict=False):
            a, b = pairs.pairs[int(k)]
            label.text = escaped(f"{a} – {b}: {distance[k]:.4f} m")
            label.position, label.visible = segment.mean(axis=0), True
        self._lines.colors = np.array(_TOUCHING if distance.min(initial=np.inf) <= 0.0 else _COLOR, dtype=np.uint8)


class CenterOfMass:
    """Sphere at the centre of mass of the robot."""

    def __init__(self, scene: Any, live: LiveRobot, root: str, size: float) -> None:
        self._live = live
        self._ball = scene.add_icosphere(
            f"{root}/center of mass", radius=0.02 * size, color=(250, 200, 30), visible=False
        )
        self._visible = False

    @property
    def visible(self) -> bool:
        """True if the centre of mass is shown."""
        return self._visible

    @visible.setter
    def visible(self, shown: bool) -> None:
        self._visible = self._ball.visible = shown
        self._live.redraw()

    @property
    def position(self) -> np.ndarray:
        """Position (3,) of the drawn sphere [m]."""
        return np.asarray(self._ball.position)

    def draw(self) -> None:
        """Draw the centre of mass at the current configuration.  Raises ValueError for a robot without inertias."""
        if self._visible:
            self._ball.position = self._live.in_picture(np.asarray(self._live.robot.center_of_mass(self._live.q[0])))


def without_pairs(document: SceneDocument) -> SceneDocument:
    """Return a document without its lines between nearest pairs, which would not follow the joint sliders."""
    lines = tuple(lines for lines in document.lines if lines.layer != PAIRS)
    return replace(document, lines=lines, texts=tuple(text for text in document.texts if text.layer != PAIRS))
