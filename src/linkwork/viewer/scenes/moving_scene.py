"""Scene documents of motions: configurations over time, with paths of frames, ghosts and plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.validation import finite_number, integer, positive
from linkwork._util.validation import name as checked_name
from linkwork.viewer.curves import configuration_plots, velocity_plots
from linkwork.viewer.document import Color, Lines
from linkwork.viewer.scene_builder import PATH_COLORS, SceneBuilder
from linkwork.viewer.scenes.robot_scenes import read_frames

__all__ = ["FRAME_RATE", "frame_times", "moving_scene", "paths_color", "segments_between"]

FRAME_RATE = 50.0  # frames a second, by default
_MAX_FRAMES = 5000
_MAX_GHOSTS = 200


def frame_times(caller: str, start: float, end: float, rate: Any) -> np.ndarray:
    """Return increasing times from start to end [s], ``rate`` a second, at least 2 and at most 5000.

    There is one for a motion without duration.
    """
    rate = positive(caller, "rate", rate, unit="1/s")
    if not end > start:
        return np.array([start])
    count = int(min(np.ceil((end - start) * rate), _MAX_FRAMES - 1))
    return np.linspace(start, end, max(count, 1) + 1)


def moving_scene(
    robot: Any,
    times: np.ndarray,
    q: np.ndarray,
    *,
    title: str | None,
    v: np.ndarray | None = None,
    frames: str | Sequence[str] | None = None,
    scene: Scene | None = None,
    ghosts: Any = 0,
    meshes: Folders | None = None,
    spacing: float | None = None,
    opacity: float = 1.0,
    caller: str = "show",
) -> SceneBuilder:
    """Return a builder with a robot's motion q (T, nq), or that of several (T, n, nq), at times (T,) [s].

    ``frames`` are shown as axes, with their paths; ``ghosts`` is the number of transparent copies along the motion.
    Plots of q, and of ``v`` if it is passed, are those of the first robot.
    """
    from linkwork.viewer.scenes.robot_scenes import grid_offsets

    names = read_frames(robot, caller, frames)
    count = integer(caller, "ghosts", ghosts, least=0, most=_MAX_GHOSTS)
    heading = robot.name if title is None else checked_name(caller, "title", title)
    q = q[:, None] if q.ndim == 2 else q
    builder = SceneBuilder(heading, times, meshes)
    offsets = None if spacing is None else grid_offsets(q.shape[1], positive(caller, "spacing", spacing, unit="m"))
    if scene is not None:
        builder.add_scene(scene)
    builder.add_robot(robot, q, offsets=offsets, frames=names, opacity=finite_number(caller, "opacity", opacity))
    if names:
        builder.show_layer("frames")
    if count and offsets is None:
        chosen = np.unique(np.round(np.linspace(0, len(q) - 1, count)).astype(int))
        builder.add_ghosts(robot, q[chosen, 0])
    for k, name in enumerate(names):
        builder.add_frame_path(robot, q[:, 0], name, color=paths_color(k))
    if len(times) > 1:
        builder.plots += configuration_plots(robot, q[:, 0])
        if v is not None:
            builder.plots += velocity_plots(robot, v)
    return builder


def paths_color(k: int) -> Color:
    """Return the colour of the k-th path."""
    return PATH_COLORS[k % len(PATH_COLORS)]


def segments_between(name: str, starts: np.ndarray, ends: np.ndarray, color: Color, layer: str) -> Lines:
    """Return segments from starts (k, 3) to ends (k, 3) [m]."""
    points = np.stack([starts, ends], axis=1).reshape(-1, 3)
    return Lines(name, points, color, segments=True, width=1.0, layer=layer)
