"""A path in the workspace, drawn with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import UnknownNameError
from ...shapes import Box

__all__ = ["plot_plan"]

_EDGES = [(0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7), (6, 7)]
_SAMPLES = 8  # on an edge
_MOST = 2000  # edges of a tree that are drawn


def plot_plan(found: Any, frame: str | None, axes: Any) -> Any:
    """Trees thin, the path thick, boxes as their edges, other obstacles as points of their surfaces."""
    robot = found.robot
    frame = robot.frames[-1] if frame is None else frame
    if frame not in robot.frames:
        raise UnknownNameError("frame", frame, [*robot.frames])
    axes = _new_axes() if axes is None else axes
    for tree, color in zip(found.trees, ("tab:blue", "tab:orange"), strict=False):
        child = np.flatnonzero(tree.parent >= 0)[:_MOST]
        for way in _places(robot, frame, tree.q[tree.parent[child]], tree.q[child]) if len(child) else ():
            axes.plot(*way.T, color=color, linewidth=0.4, alpha=0.6)
        roots = robot.pose(tree.q[tree.parent < 0], frame)[..., :3, 3]
        axes.scatter(*roots.T, color=color, s=12)
    if found.success and len(found.path) > 1:
        for way in _places(robot, frame, found.path[:-1], found.path[1:]):
            axes.plot(*way.T, color="black", linewidth=2.0)
    for obstacle in () if found.scene is None else found.scene.obstacles:
        _draw(axes, obstacle)
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_zlabel("z [m]")
    axes.set_title(found.status)
    return axes


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plot needs matplotlib: pip install "linkwork[figures]"') from None
    return plt.figure(figsize=(7.0, 7.0), layout="constrained").add_subplot(projection="3d")


def _places(robot: Any, frame: str, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """(edges, samples, 3) of the frame's origin."""
    t = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    phi = robot.difference(q0, q1)
    q = robot.integrate(q0[:, None], t * phi[:, None])
    found: np.ndarray = robot.pose(q, frame)[..., :3, 3]
    return found


def _draw(axes: Any, obstacle: Any) -> None:
    X = np.array(obstacle.pose.elements(), dtype=float).reshape(4, 4)
    if isinstance(obstacle.shape, Box):
        half = 0.5 * np.array(obstacle.shape.size)
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
        corners = corners @ X[:3, :3].T + X[:3, 3]
        for a, b in _EDGES:
            axes.plot(*corners[[a, b]].T, color="0.5", linewidth=0.8)
        return
    try:
        ways = np.random.default_rng(0).normal(size=(150, 3))
        points = np.array([[*obstacle.shape.support(way / np.linalg.norm(way))] for way in ways])
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        return  # what has no end, such as a floor
    points = points @ X[:3, :3].T + X[:3, 3]
    axes.scatter(*points.T, color="0.5", s=2)
