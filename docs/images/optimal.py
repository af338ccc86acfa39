"""Pictures of optimal motion: what `draw.py` draws of the examples.

`python docs/images/optimal.py --write` draws these alone.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

EXAMPLES = Path(__file__).parents[1] / "examples"
GREY, RED, BLUE, LIGHT = "#444444", "#d1495b", "#00798c", "#d8d8d8"


def _example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def swing_up() -> Any:
    """Cart-pole and acrobot in space, and what their motors do."""
    example = _example("swing_up")
    figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.8), layout="constrained", width_ratios=(1.2, 1))
    for (left, right), (name, case) in zip(axes, example["solutions"]().items(), strict=True):
        robot, motor, effort, result, step = case
        q, v, a = example["moved"](result, step)
        for k in range(0, len(q), 3):
            if name == "cart-pole":
                x, angle = q[k]
                points = np.array([[x, 0.0], [x - np.sin(angle), -np.cos(angle)]])
            else:
                names = ("upper_rod", "lower_rod", "tip")
                points = np.array([robot.pose(q[k], frame)[[0, 2], 3] for frame in names])
            share = k / len(q)
            left.plot(*points.T, "-", color=plt.cm.viridis(1.0 - share), linewidth=1.2)
        left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title=name)
        t = step * np.arange(len(q))
        right.axhspan(-effort, effort, color="#eeeeee")
        right.plot(t, robot.inverse_dynamics(q, v, a)[:, motor], color=RED)
        right.set(xlabel="time [s]", ylabel="force [N]" if name == "cart-pole" else "torque [N·m]")
    return figure


def payload() -> Any:
    """Shares of their torque that motors use, with and without limits."""
    example = _example("payload")
    duration, limits = 0.9, example["arm"].effort_limits
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True, layout="constrained")
    for axis, limited in zip(axes, (False, True), strict=True):
        tau = example["torques"](example["lift"](duration, limited), duration) / limits
        t = duration / len(tau) * np.arange(len(tau))
        axis.axhspan(-1.0, 1.0, color="#eeeeee")
        for k in range(tau.shape[1]):
            axis.plot(t, tau[:, k], color=RED if np.abs(tau[:, k]).max() > 0.99 else GREY, linewidth=1.0)
        axis.set(xlabel="time [s]", title="within limits of torque" if limited else "without limits")
    axes[0].set_ylabel("torque of its limit")
    return figure


def parking() -> Any:
    """The car on its way into the gap."""
    example = _example("parking")
    result = example["parked"]()
    figure, axis = plt.subplots(figsize=(7.2, 3.0), layout="constrained")
    base, radius = example["BASE"], example["RADIUS"]
    for center in example["PARKED"]:
        axis.add_patch(plt.Circle(center, radius, color=LIGHT))
    path = np.vstack([example["START"], result.q])
    for k in (*range(0, len(path), 5), len(path) - 1):
        x, y, angle, _ = path[k]
        ahead = np.array([np.cos(angle), np.sin(angle)])
        shade = plt.cm.viridis(1.0 - k / len(path))
        for disc in example["DISCS"].values():
            axis.add_patch(plt.Circle(np.array([x, y]) + disc * ahead, radius, fill=False, color=shade, linewidth=0.5))
        axis.plot(*np.array([[x, y], [x, y] + base * ahead]).T, color=shade, linewidth=1.6)
    axis.plot(path[:, 0], path[:, 1], color=RED)
    axis.axhline(-1.2, color=GREY, linewidth=0.8)
    axis.set(aspect="equal", xlim=(-6.0, 10.5), ylim=(-1.5, 4.2), xlabel="x [m]", ylabel="y [m]")
    return figure


def linkage() -> Any:
    """The four-bar that was found, in several positions, and what its coupler draws."""
    example = _example("linkage")
    result, lengths = example["synthesised"]()
    figure, axis = plt.subplots(figsize=(5.0, 4.0), layout="constrained")
    line = np.array([example["drawn"](q, lengths) for q in result.q])
    for k in range(0, len(line), 6):
        q = result.q[k]
        crank, (pin, _) = example["ray"](q[0], lengths[1]), example["pin"](q, lengths)
        points = np.array([[0.0, 0.0], crank, pin, [lengths[0], 0.0]])
        axis.plot(*points.T, color=GREY if k == 0 else LIGHT, linewidth=1.4, zorder=3 if k == 0 else 1)
        axis.plot(*np.array([crank, line[k], pin]).T, color=BLUE if k == 0 else LIGHT, zorder=2 if k == 0 else 1)
    axis.plot(*line.T, color=RED, linewidth=1.6, zorder=4)
    axis.plot([0.0, lengths[0]], [0.0, 0.0], "o", color=GREY, markersize=4)
    axis.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    return figure


def trot() -> Any:
    """Forces of the quadruped's feet on the ground, and heights of the feet."""
    example = _example("trot")
    result, tau = example["trot"](), example["DURATION"] / example["STEPS"]
    t = tau * np.arange(example["STEPS"] + 1)
    figure, axes = plt.subplots(2, 4, figsize=(7.2, 3.6), sharex=True, sharey="row", layout="constrained")
    for (above, below), (foot, phase) in zip(axes.T, example["SWINGS"].items(), strict=True):
        begin, end = example["PHASES"][phase]
        for axis in (above, below):
            axis.axvspan(tau * begin, tau * end, color="#eeeeee")
        height = example["robot"].pose(np.vstack([example["START"], result.q]), foot)[:, 2, 3]
        above.plot(t, 100.0 * height, color=BLUE)
        above.set_title(foot.removesuffix("_foot").replace("_", " "))
        force = result.variables[foot] / example["WEIGHT"]
        below.stairs(force[:, 2], t, color=RED, baseline=None)
        below.stairs(example["FRICTION"] * force[:, 2], t, color=GREY, linewidth=0.7, baseline=None)
        below.stairs(np.hypot(*force[:, :2].T), t, color=GREY, baseline=None)
        below.set_xlabel("time [s]")
    axes[0, 0].set_ylabel("height [cm]")
    axes[1, 0].set_ylabel("force / weight")
    return figure


def squat() -> Any:
    """The humanoid from the side on its way down, and what its soles push with."""
    example = _example("squat")
    result, human = example["squat"](), example["human"]
    steps, start = example["STEPS"], example["START"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4), layout="constrained", width_ratios=(1, 1.3))
    body = ("left_foot", "left_ankle_roll_link", "left_shank", "left_thigh", "torso", "head")
    arm = ("left_upper_arm", "left_forearm", "left_hand")
    path = np.vstack([start, result.q])
    shown = (0, 2, 4, steps // 2)
    for k, step in enumerate(shown):
        shade = plt.cm.viridis(1.0 - (k + 1) / len(shown))
        for names in (body, arm):
            left.plot(
                *np.array([human.pose(path[step], name)[[0, 2], 3] for name in names]).T,
                "o-",
                color=shade,
                markersize=2,
            )
    left.axhline(0.0, color=LIGHT)
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    t = example["DURATION"] / steps * np.arange(steps + 1)
    push = sum(result.variables[foot] for foot in example["FEET"])
    right.stairs(push[:, 5] / example["WEIGHT"], t, color=RED, baseline=None)
    right.set(xlabel="time [s]", ylabel="push / weight")
    ahead = right.twinx()
    ahead.axhspan(-50.0 * example["SOLE"][0], 50.0 * example["SOLE"][0], color="#eeeeee", zorder=-1)
    ahead.stairs(-100.0 * push[:, 1] / push[:, 5], t, color=BLUE, baseline=None)
    ahead.set(ylabel="where it pushes, ahead of the sole's middle [cm]", ylim=(-20.0, 20.0))
    right.set_zorder(1)
    right.patch.set_visible(False)
    return figure


ALL = (swing_up, payload, parking, linkage, trot, squat)

if __name__ == "__main__":
    import draw  # sets matplotlib up

    if "--write" in sys.argv[1:]:
        with draw.mpl.rc_context(draw.STYLE):
            for drawn in ALL:
                draw.saved(drawn(), f"optimal_{drawn.__name__}")
    else:
        print("--write draws them")
