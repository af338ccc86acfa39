"""Animations of robots with matplotlib, which write GIF and show films in notebooks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from linkwork._util.plotting import pyplot, share_scale
from linkwork._util.validation import positive
from linkwork.viewer.figures.robot_figures import draw_paths, draw_robot, frames_to_draw, new_picture

__all__ = ["animation", "frames_of", "trajectory_animation"]

_SCALING_FRAMES = 8  # configurations that set the scale
_PATH_COLOR = "0.4"


def frames_of(caller: str, duration: float, speed: Any, rate: Any) -> int:
    """Return the number of frames of a motion of ``duration`` [s].  Raises ValueError for speeds and rates <= 0."""
    pace, per_second = positive(caller, "speed", speed), positive(caller, "rate", rate, unit="1/s")
    return max(int(np.ceil(duration / pace * per_second)), 1) + 1


def trajectory_animation(trajectory: Any, speed: float, rate: float, frames: Any, axes: Any) -> Any:
    """Return matplotlib's animation of a trajectory: see `linkwork.motion.Trajectory.animation`."""
    if trajectory.robot is None:
        raise ValueError("animation: expected a trajectory of a robot; plain coordinates have no shapes")
    count = frames_of("animation", trajectory.duration, speed, rate)
    times = np.linspace(trajectory.start_time, trajectory.end_time, count)
    return animation(trajectory.robot, times, np.asarray(trajectory(times).q), rate, axes, frames)


def animation(robot: Any, times: np.ndarray, q: np.ndarray, rate: float, axes: Any, frames: Any = None) -> Any:
    """Return matplotlib's animation of a robot in configurations q (n, nq) at times (n,) [s], ``rate`` a second.

    ``frames`` are names of frames whose paths are drawn.
    """
    pyplot()
    names = () if frames is None else frames_to_draw(robot, frames)
    axes = new_picture(robot) if axes is None else axes
    for k in np.unique(np.linspace(0, len(q) - 1, _SCALING_FRAMES).astype(int)):
        draw_robot(axes, robot, q[k])
    paths = [line for name in names for line in draw_paths(axes, robot, [q], name, color=_PATH_COLOR, linewidth=1.0)]
    share_scale([axes])
    limits = axes.get_xlim(), axes.get_ylim(), axes.get_zlim()

    def draw(k: int) -> Any:
        for artist in (*axes.collections, *axes.lines):
            if artist not in paths:
                artist.remove()
        draw_robot(axes, robot, q[k], alpha=1.0)
        axes.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
        axes.set_title(f"{times[k]:.2f} s")
        return (*axes.collections, *axes.lines)

    draw(0)
    return _animation_class()(axes.figure, draw, frames=len(q), interval=1000.0 / rate, blit=False)


@cache
def _animation_class() -> Any:
    """Return the class of animations that draw each frame once when they are saved."""
    from matplotlib.animation import FuncAnimation

    base: Any = FuncAnimation  # whose private methods are not typed

    class Animation(base):  # type: ignore[misc]
        """Frames with one layout: matplotlib would draw each saved frame three times, and arrange it twice."""

        _is_saved = False

        def save(self, *arguments: Any, **options: Any) -> Any:
            """Write a film: see `matplotlib.animation.Animation.save`."""
            figure = self._fig
            engine = figure.get_layout_engine()
            figure.draw_without_rendering()
            figure.set_layout_engine(None)
            self._is_saved = True
            try:
                return super().save(*arguments, **options)
            finally:
                self._is_saved = False
                figure.set_layout_engine(engine)

        def _post_draw(self, *arguments: Any) -> Any:
            return None if self._is_saved else super()._post_draw(*arguments)

    return Animation
