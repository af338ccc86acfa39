"""Overlays that are computed from the current configuration: nearest pairs, and the centre of mass of the robot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.viewer.document import SceneDocument
from linkwork.viewer.live.live_robot import LiveRobot

__all__ = ["PAIRS", "CenterOfMass", "NearestPairs", "without_pairs"]

PAIRS = "nearest pairs"  # layer
_COUNT = 6  # nearest pairs that are drawn
_COLOR, _TOUCHING = (240, 145, 20), (220, 40, 40)


class NearestPairs:
    """Lines between the nearest points of the nearest pairs of collision shapes, with their distances.

    There are as many as the document has, else `_COUNT`.
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
        """Labels that are shown."""
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
    """A ball at the centre of mass of the robot."""

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
        """Position (3,) at which it is drawn [m]."""
        return np.asarray(self._ball.position)

    def draw(self) -> None:
        """Draw it at the current configuration.  Raises ValueError for a robot without inertias."""
        if self._visible:
            self._ball.position = self._live.in_picture(np.asarray(self._live.robot.center_of_mass(self._live.q[0])))


def without_pairs(document: SceneDocument) -> SceneDocument:
    """Return a document without its own nearest pairs, which would not follow the sliders."""
    lines = tuple(lines for lines in document.lines if lines.layer != PAIRS)
    return replace(document, lines=lines, texts=tuple(text for text in document.texts if text.layer != PAIRS))
