"""Pictures of motion: what `draw.py` draws of an arm that ships inside, on its way in space and in time.

`python docs/images/motions.py --write` draws these alone.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

SCENE = (
    lw.Scene()
    .with_box("table", (0.6, 1.1, 0.05), (0.5, 0.0, 0.15))
    .with_cylinder("post", 0.05, 0.5, (0.42, 0.05, 0.42))
    .with_sphere("lamp", 0.1, (0.1, -0.45, 0.9))
)
START = np.array([0.6, 0.5, 0.1, -1.7, 0.3, 1.4, 0.4])
GOAL = np.array([-0.7, 0.6, -0.1, -1.6, -0.3, 1.5, 0.2])
LIMITS: dict[str, Any] = {"acceleration": 4.0, "velocity": 1.5}


def _followed() -> tuple[lw.motion.TrackedPath, lw.motion.TimedPath]:
    """A hand on rounded corners, and the same in the least time."""
    robot = lw.load("arm7")
    X = robot.pose(START, "hand")
    offsets = ((0.0, -0.25, 0.1), (-0.05, -0.3, 0.3), (-0.1, 0.0, 0.35))
    path = lw.motion.polyline([X, *(lw.pose(p) @ X for p in offsets)], blend=0.08)
    tracked = robot.track_cartesian_path(path, "hand", q_init=START)
    return tracked, tracked.timed(speed=0.6, **LIMITS)


def path() -> Any:
    """Among obstacles: what was planned to the other side of a post, and what was explored for it."""
    robot = lw.load("arm7")
    figure = plt.figure(figsize=(7.2, 3.6), layout="constrained")
    planned = robot.plan(START, GOAL, SCENE, seed=1)
    left, right = (figure.add_subplot(1, 2, k, projection="3d") for k in (1, 2))
    planned.plot("hand", left, shapes=3)
    left.set_title("planned")
    followed, _ = _followed()
    followed.plot(axes=right, shapes=3)
    right.set_title("on a path in space")
    for axes in (left, right):
        axes.tick_params(labelsize=6)
        axes.view_init(25, -60)
        for drawn in axes.collections:
            if drawn.get_array() is None and len(drawn.get_facecolor()) > 20:
                drawn.set_rasterized(True)  # surfaces of many small faces
    return figure


def phase() -> Any:
    """Phase plane of a path in space."""
    _, timed = _followed()
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    timed.plot(axes, speed={"hand": 0.6}, **LIMITS)
    return figure


def joints() -> Any:
    """Velocities and accelerations by time, limits shaded."""
    _, timed = _followed()
    drawn = timed.trajectory.plot(limits=LIMITS, columns=3, num_samples=150)
    drawn[0, 0].figure.set_size_inches(7.2, 5.4)
    return drawn[0, 0].figure


ALL = (path, phase, joints)

if __name__ == "__main__":
    import draw  # sets matplotlib up

    if "--write" in sys.argv[1:]:
        with draw.mpl.rc_context(draw.STYLE):
            for drawn in ALL:
                draw.saved(drawn(), f"motion_{drawn.__name__}")
    else:
        print("--write draws them")
