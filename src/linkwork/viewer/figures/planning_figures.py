"""Figures of plans with matplotlib: search trees, the path, obstacles and the robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.plotting import ORANGE, SKY, equal_scales, plot_text, space_axes
from linkwork._util.validation import integer
from linkwork.viewer.figures.robot_figures import draw_robots_along, draw_surroundings, frames_to_draw
from linkwork.viewer.scenes.planning_scenes import plan_ends

__all__ = ["plot_plan"]

_SAMPLES = 8  # samples on an edge
_MAX_EDGES = 2000  # maximum edges of a tree in a plot


def plot_plan(result: Any, frame: str | None, axes: Any, shapes: int) -> Any:
    """Draw a plan and return the axes: thin search trees, a thick path, obstacles, and the robot.

    The robot is drawn ``shapes`` times along the path, paler before its end; without a path at the start and the first
    goal.
    """
    robot, shapes = result.robot, integer("plot", "shapes", shapes, least=0)
    (frame,) = frames_to_draw(robot, frame)
    is_new = axes is None
    axes = space_axes() if is_new else axes
    for tree, color in zip(result.trees, (SKY, ORANGE), strict=False):
        child = np.flatnonzero(tree.parent >= 0)[:_MAX_EDGES]
        _, q0, q1 = result._space.straight_parts(tree.q[tree.parent[child]], tree.q[child])
        for points in _frame_positions(result, frame, q0, q1) if len(child) else ():
            axes.plot(*points.T, color=color, linewidth=0.4, alpha=0.6)
        roots = robot.pose(tree.q[tree.parent < 0], frame)[..., :3, 3]
        axes.scatter(*roots.T, color=color, s=12)
    if result.success and len(result.path) > 1:
        for points in _frame_positions(result, frame, result.path[:-1], result.path[1:]):
            axes.plot(*points.T, color="0.2", linewidth=2.0)
    if result.success:
        chosen = result.path[np.round(np.linspace(len(result.path) - 1, 0, shapes)[::-1]).astype(int)]
    else:
        chosen = np.concatenate([ends[:1] for ends in plan_ends(result)])[:shapes]
    draw_robots_along(axes, robot, chosen)
    draw_surroundings(axes, result.scene, is_new=is_new)
    equal_scales(axes)
    axes.set_title(plot_text(f"{result.status}: path of {frame}"), fontsize="medium")
    return axes


def _frame_positions(plan: Any, frame: str, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Return positions (edges, samples, 3) of a frame's origin along straight motions of a continuous path."""
    t = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    phi = plan._space.along(q0, q1)
    q = plan.robot.integrate(q0[:, None], t * phi[:, None])  # straight, without projection onto path constraints
    result: np.ndarray = plan.robot.pose(q, frame)[..., :3, 3]
    return result
