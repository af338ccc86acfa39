"""Ways of frames in space, robots' shapes and a scene's, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import UnknownNameError
from ...geometry.scene import Scene
from ...model.collisions import link_shapes
from ...shapes import Compound, HalfSpace, PointCloud, Shape
from .plotting import pyplot

__all__ = ["draw_robot", "draw_scene", "draw_ways", "frames_to_draw", "plot_ways", "space_axes"]

_AROUND, _ACROSS = 16, 9  # directions of a shape's farthest points
_POINTS = 2000  # of a cloud
_FLOOR = 1.0  # [m]: half of what is drawn of a plane


def space_axes() -> Any:
    """Axes in space."""
    axes = pyplot().figure(figsize=(7.0, 7.0), layout="constrained").add_subplot(projection="3d")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_zlabel("z [m]")
    return axes


def frames_to_draw(robot: Any, frame: str | Sequence[str] | None) -> tuple[str, ...]:
    """One, several, or the robot's last.  Raises UnknownNameError."""
    names = (robot.frames[-1],) if frame is None else (frame,) if isinstance(frame, str) else tuple(frame)
    for name in names:
        if name not in robot.frames:
            raise UnknownNameError("frame", name, [*robot.frames])
    return names


def plot_ways(
    robot: Any,
    ways: Sequence[np.ndarray],
    frame: str | Sequence[str] | None = None,
    axes: Any = None,
    *,
    scene: Scene | None = None,
    shapes: int = 0,
) -> Any:
    """The ways of frames' origins through configurations (n, nq) each, obstacles, and so many times the robot."""
    if robot is None:
        raise ValueError("plot_path: expected a trajectory of a robot: plain numbers have no frames")
    if isinstance(shapes, bool) or not isinstance(shapes, (int, np.integer)) or shapes < 0:
        raise ValueError(f"plot_path: shapes: expected how often to draw the robot, a whole number, got {shapes!r}")
    names = frames_to_draw(robot, frame)
    axes = space_axes() if axes is None else axes
    for name in names:
        draw_ways(axes, robot, ways, name)
    if scene is not None:
        draw_scene(axes, scene)
    every = np.concatenate([np.empty((0, robot.nq)), *ways])
    if len(every):
        for q in every[np.round(np.linspace(0, len(every) - 1, int(shapes))).astype(int)]:
            draw_robot(axes, robot, q)
    axes.set_aspect("equal")
    return axes


def draw_ways(axes: Any, robot: Any, ways: Sequence[np.ndarray], frame: str, **style: Any) -> None:
    """Where a frame's origin goes."""
    for way in ways:
        if len(way):
            axes.plot(*np.asarray(robot.pose(way, frame))[:, :3, 3].T, **({"linewidth": 2.0, "label": frame} | style))


def draw_scene(axes: Any, scene: Scene, color: Any = "0.6") -> None:
    """All obstacles."""
    for obstacle in scene.obstacles:
        _draw(axes, obstacle.shape, _matrix(obstacle.pose), color, 0.35)


def draw_robot(axes: Any, robot: Any, q: np.ndarray, color: Any = "tab:blue", alpha: float = 0.15) -> None:
    """Its collision shapes in a configuration, or lines between its bodies where it has none."""
    X = np.asarray(robot.forward_kinematics(q))
    shapes = link_shapes(robot.tree)
    for shape in shapes:
        at = _matrix(shape.placement)
        _draw(axes, shape.shape, X[shape.body] @ at if shape.body >= 0 else at, color, alpha)
    if not shapes:
        for body, placed in zip(robot.tree.bodies, X, strict=True):
            start = X[body.parent][:3, 3] if body.parent >= 0 else np.zeros(3)
            axes.plot(*np.stack([start, placed[:3, 3]], axis=1), color=color, linewidth=1.0)


def _matrix(X: Any) -> np.ndarray:
    return np.array(X.elements(), dtype=float).reshape(4, 4)


def _draw(axes: Any, shape: Shape, X: np.ndarray, color: Any, alpha: float) -> None:
    if isinstance(shape, Compound):
        for part in shape.parts:
            _draw(axes, part.shape, X @ _matrix(part.origin), color, alpha)
        return
    if isinstance(shape, PointCloud):
        points = np.asarray(shape.points)[:: max(len(shape.points) // _POINTS, 1)]
        axes.scatter(*(points @ X[:3, :3].T + X[:3, 3]).T, color=color, s=2)
        return
    if isinstance(shape, HalfSpace):
        x, y = np.meshgrid([-_FLOOR, _FLOOR], [-_FLOOR, _FLOOR])
        surface = np.stack([x, y, np.zeros_like(x)], axis=-1)
    else:
        try:
            around = shape.support(_directions())
        except ValueError:  # what has no farthest points, such as terrain
            return
        ends = [np.repeat(row.mean(axis=0, keepdims=True), len(row), axis=0) for row in around[[0, -1]]]
        surface = np.concatenate([ends[:1], around, ends[1:]])  # flat ends are closed in their middle
    axes.plot_surface(*np.moveaxis(surface @ X[:3, :3].T + X[:3, 3], -1, 0), color=color, alpha=alpha, linewidth=0.0)


def _directions() -> np.ndarray:
    """Over the sphere (across, around, 3), not along the axes, where farthest points are not one."""
    around = np.linspace(0.0, 2.0 * np.pi, _AROUND + 1) + 0.1
    across = np.linspace(0.0, np.pi, _ACROSS)
    ring = np.stack([np.cos(around), np.sin(around)], axis=-1)
    return np.stack(
        [
            np.concatenate([np.sin(a) * ring, np.full((len(ring), 1), np.cos(a))], axis=-1)
            for a in np.clip(across, 1e-6, np.pi - 1e-6)
        ]
    )
