"""Pictures of simulations: what `draw.py` draws of a robot that falls, and of what bounces.

`python docs/images/simulations.py --write` draws these alone.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw


def strip() -> Any:
    """An arm that lets go of its joints, at six times."""
    robot = lw.load("arm7")
    start = robot.neutral()
    start[[1, 3, 5]] = 0.4, -1.2, 0.8
    run = robot.simulate(start, duration=0.6, record_every=5)
    figure = plt.figure(figsize=(7.2, 1.9), layout="constrained")
    axes = [figure.add_subplot(1, 6, k + 1, projection="3d") for k in range(6)]
    run.strip(num_frames=6, axes=axes)
    for axis in axes:
        axis.view_init(15, -70)
        for drawn in axis.collections:
            drawn.set_rasterized(True)  # thousands of faces
    return figure


def bounce() -> Any:
    """Height of a puck that bounces with four fifths of its speed, with events at the floor and records far apart."""
    puck = lw.Robot.build(
        "puck",
        lw.Link("mass", mass=1.0),
        lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass"),
    )
    floor = lw.simulation.Event("floor", lambda t, q, v: q[0], direction=-1, jump=lambda t, q, v: (q, -0.8 * v))
    run = puck.simulate([0.5], duration=2.0, dt=0.1, method="rk4", events=[floor])
    motion, t = run.trajectory(), np.linspace(0.0, 2.0, 1000)
    figure, axis = plt.subplots(figsize=(5.0, 2.2), layout="constrained")
    axis.plot(t, motion(t).q, color="#00798c")
    axis.plot(run.t, run.q, ".", color="#d1495b", label="records")
    axis.plot([e.time for e in run.events], [e.q[0] for e in run.events], "k|", markersize=9, label="events")
    axis.set_xlabel("t [s]")
    axis.set_ylabel("height [m]")
    axis.legend(frameon=False)
    return figure


ALL = (strip, bounce)

if __name__ == "__main__":
    import draw  # sets matplotlib up

    if "--write" in sys.argv[1:]:
        with draw.mpl.rc_context(draw.STYLE):
            for drawn in ALL:
                draw.saved(drawn(), f"simulation_{drawn.__name__}")
    else:
        print("--write draws them")
