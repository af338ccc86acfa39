"""Pictures of what inverse kinematics reaches: what `draw.py` draws of arms that ship inside."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

GREY, RED, BLUE, LIGHT = "#444444", "#d1495b", "#00798c", "#d8d8d8"
DOWN = np.diag([1.0, -1.0, -1.0])
STEPS = 300  # of all starts, for each pose of a map


def _plane(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x and z of a map's points, and the points (count, count, 3)."""
    x, z = np.linspace(-1.15, 1.15, count), np.linspace(-0.75, 1.45, count)
    X, Z = np.meshgrid(x, z)
    return x, z, np.stack([X, np.zeros_like(X), Z], axis=-1)


def _poses(positions: np.ndarray, R: np.ndarray) -> np.ndarray:
    X = np.zeros((*np.broadcast_shapes(positions.shape[:-1], R.shape[:-2]), 4, 4))
    X[..., :3, :3], X[..., :3, 3], X[..., 3, 3] = R, positions, 1.0
    return X


def _drawn(axis: Any, robot: lw.Robot, q: np.ndarray) -> None:
    """An arm from the side: lines between the origins of its frames."""
    links = [joint.child for joint in robot.joints] + ["hand"]
    positions = np.array([np.zeros(3), *(robot.pose(q, name)[:3, 3] for name in links)])
    axis.plot(positions[:, 0], positions[:, 2], "-o", color=GREY, linewidth=1.6, markersize=2.5)


def reach() -> Any:
    """The plane y = 0 of a seven-axis arm: where its hand can be pointing down, and in what share of directions."""
    robot = lw.load("arm7")
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.5), layout="constrained", sharey=True)
    x, z, positions = _plane(70)
    solutions = robot.inverse_kinematics(
        _poses(positions, DOWN), "hand", position_tolerance=1e-5, orientation_tolerance=1e-5, max_iterations=STEPS
    )
    away = np.where(solutions.success, 0.0, solutions.position_error)
    left.contourf(x, z, solutions.success.astype(float), levels=[0.5, 1.5], colors=["#9fcfd6"])
    lines = left.contour(x, z, away, levels=[0.1, 0.2, 0.3, 0.4], colors=RED, linewidths=0.7)
    left.clabel(lines, fmt="%.1f m", fontsize=7)
    for position in ((0.5, 0.0, 0.05), (-0.45, 0.0, 0.45)):
        solution = robot.inverse_kinematics(_poses(np.array(position), DOWN), "hand")
        _drawn(left, robot, solution.q)
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="hand pointing down")
    x, z, positions = _plane(34)
    w = np.random.default_rng(0).normal(size=(40, 4))
    R = np.array([_rotation(q / np.linalg.norm(q)) for q in w])
    solutions = robot.inverse_kinematics(
        _poses(positions[:, :, None], R),
        "hand",
        position_tolerance=1e-5,
        orientation_tolerance=1e-5,
        max_iterations=STEPS,
    )
    share = solutions.success.mean(axis=-1)
    drawn = right.contourf(x, z, 100.0 * share, levels=[1, 20, 40, 60, 80, 100.1], cmap="Blues")
    figure.colorbar(drawn, ax=right, label="directions reached [%]", ticks=[20, 40, 60, 80, 100])
    right.set(aspect="equal", xlabel="x [m]", title="forty directions, evenly")
    return figure


def _rotation(q: np.ndarray) -> np.ndarray:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, v = q[0], q[1:]
    K = np.cross(np.eye(3), v)
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


def success() -> Any:
    """Share of reachable poses that are not solved after so many steps: from one start, and with other starts."""
    figure, axis = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
    steps = np.unique(np.round(np.logspace(0.5, 3.0, 60)))
    for name, frame, color in (("arm6", "tool", BLUE), ("arm7", "hand", RED)):
        robot = lw.load(name)
        X = robot.pose(robot.random_configuration(seed=0, size=20_000), frame)
        solutions = robot.inverse_kinematics(X, frame, position_tolerance=1e-5, orientation_tolerance=1e-5)
        taken = np.where(solutions.success, solutions.iterations, np.inf)
        once = np.where(solutions.restarts == 0, taken, np.inf)
        for count, style, starts in (
            (once, "--", "from the middle of limits alone"),
            (taken, "-", "with other starts"),
        ):
            left = np.array([np.mean(count > n) for n in steps])
            shown = left > 0
            axis.plot(steps[shown], 100.0 * left[shown], style, color=color, label=f"{name}, {starts}")
    axis.set(xscale="log", yscale="log", xlabel="steps", ylabel="not solved yet [%]")
    axis.legend(frameon=False, fontsize=8)
    return figure


ALL = (reach, success)
