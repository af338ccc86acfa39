"""Pictures of distances: what `draw.py` draws of an arm that ships inside, its shapes and its clearances."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

GREY, RED, BLUE, LIGHT = "#444444", "#d1495b", "#00798c", "#d8d8d8"
SCENE = (
    lw.Scene()
    .with_box("table", (0.7, 1.0, 0.06), (0.75, 0, 0.3))
    .with_sphere("lamp", 0.12, (0.45, 0, 1.15))
    .with_cylinder("post", 0.06, 0.9, (-0.5, 0, 0.45))
)
MOVING = (1, 3)  # joints of the slice
COUNT = 121
CHOSEN = ((0.3, -1.6), (0.9, -0.9))


def _outline(shape: lw.shapes.Shape, X: np.ndarray) -> np.ndarray:
    """Outline of a shape at a pose, seen along y: its farthest points in directions of the plane y = 0."""
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    directions = np.stack([np.cos(angle), np.zeros_like(angle), np.sin(angle)], axis=-1)
    points = shape.support(directions @ X[:3, :3]) @ X[:3, :3].T + X[:3, 3]
    return np.asarray(points[:, [0, 2]])


def _drawn(axis: Any, robot: lw.Robot, q: np.ndarray) -> None:
    for name in SCENE:
        obstacle = SCENE[name]
        X = np.reshape(obstacle.pose.elements(), (4, 4)).astype(float)
        axis.fill(*_outline(obstacle.shape, X).T, color=LIGHT, edgecolor=GREY, linewidth=0.8)
    for frame in robot.tree.frames:
        for geometry in frame.collisions:
            X = robot.pose(q, frame.name) @ np.reshape(geometry.origin.elements(), (4, 4)).astype(float)
            axis.fill(*_outline(geometry.shape, X).T, facecolor=BLUE, edgecolor=BLUE, alpha=0.35, linewidth=1.0)


def shapes() -> Any:
    """An arm's shapes among obstacles from the side, and from where to where each link is nearest to them."""
    robot = lw.load("arm7")
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained", sharey=True)
    for axis, angles in zip(axes, CHOSEN, strict=True):
        q = _at(robot, *angles)
        _drawn(axis, robot, q)
        nearest = robot.distances(q, SCENE)
        for link in {a for a, b in nearest.pairs if b in SCENE}:
            of = [k for k, (a, b) in enumerate(nearest.pairs) if a == link and b in SCENE]
            k = of[int(np.argmin(nearest.distance[of]))]
            ends = np.array([nearest.point_a[k], nearest.point_b[k]])
            color = RED if nearest.distance[k] <= 0.0 else GREY
            axis.plot(ends[:, 0], ends[:, 2], "-o", color=color, linewidth=0.9, markersize=2.0)
        axis.set(
            aspect="equal",
            xlabel="x [m]",
            title=f"clearance {1e3 * robot.minimum_distance(q, SCENE, pairs=_around(robot)):.0f} mm",
        )
    axes[0].set_ylabel("z [m]")
    return figure


def _around(robot: lw.Robot) -> list[tuple[str, str]]:
    """All pairs of a link and an obstacle."""
    return [(a, b) for a, b in robot.distances(robot.neutral(), SCENE).pairs if b in SCENE]


def _at(robot: lw.Robot, first: Any, second: Any) -> np.ndarray:
    """Configurations whose two joints of the slice are there."""
    first, second = np.broadcast_arrays(first, second)
    q = np.broadcast_to(robot.neutral(), (*first.shape, robot.nq)).copy()
    q[..., MOVING[0]], q[..., MOVING[1]] = first, second
    return q


def slice() -> Any:
    """Distance of the arm to obstacles, over two of its joints; hatched where it touches itself."""
    robot = lw.load("arm7")
    low, high = robot.lower[list(MOVING)], robot.upper[list(MOVING)]
    x, y = (np.linspace(a, b, COUNT) for a, b in zip(low, high, strict=True))
    q = _at(robot, *np.meshgrid(x, y))
    d, self_distance = robot.minimum_distance(q, SCENE, pairs=_around(robot)), robot.minimum_distance(q)
    figure, axis = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    most = float(np.abs(d).max())
    levels = np.linspace(-most, most, 19)
    drawn = axis.contourf(x, y, d, levels=levels, cmap="RdBu")
    axis.contour(x, y, d, levels=[0.0], colors=GREY, linewidths=1.2)
    axis.contourf(x, y, self_distance, levels=[-1.0, 0.0], colors="none", hatches=["////"])
    figure.colorbar(drawn, ax=axis, label="clearance [m]", format="%.2f")
    names = [robot.q_names[k] for k in MOVING]
    axis.set(xlabel=f"{names[0]} [rad]", ylabel=f"{names[1]} [rad]")
    for angles in CHOSEN:
        axis.plot(*angles, "o", color="black", markersize=4)
    return figure


ALL = (shapes, slice)
