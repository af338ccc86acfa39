"""A path in the workspace, drawn with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.parts.scene_plots import draw_robot, draw_scene, frames_to_draw, space_axes
from linkwork.planning.planning_space import PlanningSpace

__all__ = ["plot_plan"]

_SAMPLES = 8  # on an edge
_MOST = 2000  # edges of a tree that are drawn


def plot_plan(found: Any, frame: str | None, axes: Any, shapes: int) -> Any:
    """Trees thin, the path thick, obstacles, and so many times the robot."""
    robot = found.robot
    (frame,) = frames_to_draw(robot, frame)
    axes = space_axes() if axes is None else axes
    for tree, color in zip(found.trees, ("tab:blue", "tab:orange"), strict=False):
        child = np.flatnonzero(tree.parent >= 0)[:_MOST]
        for way in _places(found, frame, tree.q[tree.parent[child]], tree.q[child]) if len(child) else ():
            axes.plot(*way.T, color=color, linewidth=0.4, alpha=0.6)
        roots = robot.pose(tree.q[tree.parent < 0], frame)[..., :3, 3]
        axes.scatter(*roots.T, color=color, s=12)
    if found.success and len(found.path) > 1:
        for way in _places(found, frame, found.path[:-1], found.path[1:]):
            axes.plot(*way.T, color="black", linewidth=2.0)
    if found.scene is not None:
        draw_scene(axes, found.scene)
    if found.success:
        for q in found.path[np.round(np.linspace(0, len(found.path) - 1, shapes)).astype(int)]:
            draw_robot(axes, robot, q)
    axes.set_aspect("equal")
    axes.set_title(found.status)
    return axes


def _places(plan: Any, frame: str, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """(edges, samples, 3) of the frame's origin."""
    t = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    phi = plan.space.difference(q0, q1)
    q = PlanningSpace.integrate(plan.space, q0[:, None], t * phi[:, None])  # straight, whatever is to be kept besides
    found: np.ndarray = plan.robot.pose(q, frame)[..., :3, 3]
    return found
