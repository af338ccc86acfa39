"""Pictures of environments, for gymnasium's ``render_mode="rgb_array"``."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.plotting import pyplot
from linkwork.parts.scene_plots import draw_robot
from linkwork.simulation.plots import same_space

__all__ = ["MODES", "robot_frames"]

MODES = ("rgb_array",)
_SIZE, _DOTS = 4.0, 80.0  # [inch], [1/inch]: 320 pixels a side


def robot_frames(robot: Any, q: np.ndarray) -> tuple[np.ndarray, ...]:
    """Draw the robot at each of q (n, nq), and return the pictures (height, width, 3) of uint8."""
    pyplot()  # raises ImportError, with what to install, where matplotlib is not
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    frames = []
    for one in q:
        figure = Figure(figsize=(_SIZE, _SIZE), dpi=_DOTS)
        canvas: Any = FigureCanvasAgg(figure)
        axes = figure.add_subplot(projection="3d")
        draw_robot(axes, robot, one, alpha=0.5)
        axes.set_axis_off()
        same_space([axes])
        canvas.draw()
        frames.append(np.array(canvas.buffer_rgba())[..., :3])
    return tuple(frames)
