"""Pictures of control: what `draw.py` draws of the example of a moving target.

`python docs/images/regulating.py --write` draws these alone.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

EXAMPLE = Path(__file__).parents[1] / "examples" / "moving_target.py"


def moving_target() -> Any:
    """View from above, and distances over time."""
    example = runpy.run_path(str(EXAMPLE))
    times, path, targets, _ = example["followed"](2.0)
    behind, clear, through = example["distances"](path, targets)
    hand = example["arm"].pose(path, "hand")[:, :3, 3]
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0), layout="constrained", width_ratios=(1, 1.3))
    for center in (example["LAMP"], example["BALL"]):
        left.add_patch(plt.Circle(center[:2], example["RADIUS"], color="#dddddd"))
    left.plot(*targets[:, :2].T, "--", color="#d1495b", label="target")
    left.plot(*hand[:, :2].T, color="#00798c", label="hand")
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    right.axhspan(-5.0, 0.0, color="#eeeeee")
    for x, label, color in (
        (through, "target to the lamp", "#d1495b"),
        (clear, "arm to obstacles", "#444444"),
        (behind, "hand to target", "#00798c"),
    ):
        right.plot(times[::5], 100.0 * x[::5], label=label, color=color)
    right.set(xlabel="time [s]", ylabel="distance [cm]", ylim=(-5.0, float(np.ceil(100.0 * through.max()))))
    for axis in (left, right):
        axis.legend(frameon=False, fontsize=7)
    return figure


ALL = (moving_target,)

if __name__ == "__main__":
    import draw  # sets matplotlib up

    if "--write" in sys.argv[1:]:
        with draw.mpl.rc_context(draw.STYLE):
            for drawn in ALL:
                draw.saved(drawn(), f"control_{drawn.__name__}")
    else:
        print("--write draws them")
