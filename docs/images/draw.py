"""The pages' figures, drawn anew from what the examples compute: `python docs/images/draw.py`.

Takes matplotlib and SciPy: `pip install ".[figures]"`.  `guides.py` draws the pictures of robots in a browser.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import clearances
import graphs
import matplotlib.pyplot as plt
import motions
import reaching
import regulating
import simulations
import workspaces

import mechanisms
import optimal

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parent / "examples"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "linkwork",
    "path.simplify_threshold": 0.2,
    "font.size": 9.0,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=["#444444", "#d1495b", "#00798c"]),
    "lines.linewidth": 1.0,
}


def saved(figure: Any, name: str) -> None:
    """Save a small file: coordinates to a hundredth of a point, and lines without indentation."""
    path = FOLDER / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    drawn = re.sub(r"\d+\.\d{3,}", lambda x: f"{float(x[0]):.2f}", path.read_text(encoding="utf-8"))
    path.write_text(re.sub(r"\n +", "\n", drawn), encoding="utf-8")


def forces(arm: Any, data: Any, base: Any, fit: Any) -> None:
    """Joint forces at samples that were held out: measured, by the file's robot, by the one that was identified."""
    robot, count = fit.robot, 100  # of those held out
    q, v, a, tau = (x[-count:] for x in data)
    nominal = runpy.run_path(str(EXAMPLES / "identify_arm.py"))["robot"]
    t = np.arange(count) / 30.0
    figure, axes = plt.subplots(3, 1, figsize=(7.2, 5.4), sharex=True, layout="constrained")
    for axis, name in zip(axes, ("upper_arm_roll", "wrist_flex", "wrist_roll"), strict=True):
        k = robot.v_names.index(name)
        axis.plot(t, tau[:, k], ".", markersize=2.5, label="measured")
        axis.plot(t, nominal.inverse_dynamics(q, v, a, passive=True)[:, k], label="the file's robot")
        axis.plot(t, robot.inverse_dynamics(q, v, a, passive=True)[:, k], label="identified")
        axis.set_ylabel(f"{name} [N·m]")
    axes[0].legend(ncols=3, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    axes[-1].set_xlabel("time [s]")
    saved(figure, "identified_forces")


def parameters(arm: Any, data: Any, base: Any, fit: Any) -> None:
    """Base parameters less the truth, in their standard deviations, and how wrong the file's robot is."""
    figure, axis = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
    indices = np.arange(len(base.values))
    truth, sigma = base.values_of(arm), base.standard_deviations
    axis.axhspan(-2.0, 2.0, color="#eeeeee")
    axis.axhline(0.0, color="#bbbbbb", linewidth=0.8)
    axis.plot(indices, (base.nominal - truth) / sigma, "x", color="#d1495b", markersize=4, label="the file's robot")
    estimate = (base.values - truth) / sigma
    axis.errorbar(indices, estimate, 1.0, fmt=".", color="#00798c", label="estimate ± σ", linewidth=1.0)
    axis.set_yscale("symlog", linthresh=5.0)
    axis.set_yticks([-100, -10, -2, 0, 2, 10, 100], ["-100", "-10", "-2", "0", "2", "10", "100"])
    axis.set_xlabel("base parameter")
    axis.set_ylabel("error / σ")
    axis.legend(ncols=2, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    saved(figure, "identified_parameters")


def poses(arm: Any, zeros: Any, data: Any, fit: Any) -> None:
    """Distances of the hand to its measured positions, before and after; the last poses were held out."""
    q, X = data
    nominal = runpy.run_path(str(EXAMPLES / "calibrate_arm.py"))["robot"]
    before = np.linalg.norm(nominal.pose(q, "hand")[:, :3, 3] - X[:, :3, 3], axis=1)
    after = np.linalg.norm(fit.robot.pose(fit.configuration(q), "hand")[:, :3, 3] - X[:, :3, 3], axis=1)
    figure, axis = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
    indices = np.arange(len(q))
    axis.axvspan(fit.samples - 0.5, len(q), color="#eeeeee")
    axis.text(fit.samples, 2e-2, " held out", color="#888888")
    axis.plot(indices, 1e3 * before, "x", color="#d1495b", markersize=3.5, label="as drawn")
    axis.plot(indices, 1e3 * after, ".", color="#00798c", markersize=4, label="calibrated")
    axis.set_yscale("log")
    axis.set_xlabel("measured pose")
    axis.set_ylabel("hand's distance [mm]")
    axis.legend(ncols=2, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    saved(figure, "calibrated_poses")


if __name__ == "__main__":
    with mpl.rc_context(STYLE):
        estimates = runpy.run_path(str(EXAMPLES / "identify_arm.py"))["estimated"]()
        forces(*estimates)
        parameters(*estimates)
        poses(*runpy.run_path(str(EXAMPLES / "calibrate_arm.py"))["calibrated"]())
        for drawn in mechanisms.ALL:
            saved(drawn(), f"mechanism_{drawn.__name__}")
        for drawn in graphs.ALL:
            saved(drawn(), f"tree_{drawn.__name__}")
        for drawn in reaching.ALL:
            saved(drawn(), f"ik_{drawn.__name__}")
        for drawn in clearances.ALL:
            saved(drawn(), f"distance_{drawn.__name__}")
        for drawn in optimal.ALL:
            saved(drawn(), f"optimal_{drawn.__name__}")
        for drawn in motions.ALL:
            saved(drawn(), f"motion_{drawn.__name__}")
        for drawn in regulating.ALL:
            saved(drawn(), f"control_{drawn.__name__}")
        for drawn in simulations.ALL:
            saved(drawn(), f"simulation_{drawn.__name__}")
        for drawn in workspaces.ALL:
            saved(drawn(), f"workspace_{drawn.__name__}")
