"""`linkwork demo`: pose a built-in robot, check its dynamics, and evaluate them a million times."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork import Robot, __version__, get_num_threads
from linkwork._util.progress import ProgressBar
from linkwork.cli.arguments import FAILED, add_json, load_robot, random_states
from linkwork.cli.commands.bench_ik import middle
from linkwork.cli.output import Terminal, columns_of, label, number, number_list, quantity
from linkwork.cli.values import positive
from linkwork.model import tree_lines

__all__ = ["add_arguments", "run"]

_CHECKED = 1000  # states
_TOLERANCE = 1e-9  # of the check; rounding gives some 1e-14 for well-conditioned robots
_CHUNK = 8192  # states
_TIPS = ("hand", "tool", "tip")  # frames to pose; the first that exists


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", metavar="NAME", default="arm7", help="a built-in robot, or a file (default: arm7)")
    parser.add_argument(
        "--samples", metavar="N", type=positive, default=1_000_000, help="states to evaluate (default: 1000000)"
    )
    add_json(parser)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Timing of inverse dynamics: the number of states and the total time [s]."""

    states: int
    seconds: float

    @property
    def rate(self) -> float:
        """States per second."""
        return self.states / self.seconds


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    robot = load_robot(arguments.robot, terminal).without_constraints()  # random states do not satisfy constraints
    out = terminal.out
    frame = next((name for name in _TIPS if name in robot.frames), robot.frames[-1])
    q = middle(robot)
    pose = robot.pose(q, frame)
    if not arguments.json:
        size = f"{quantity(robot.nv, 'degree')} of freedom, {number(robot.mass)} kg"
        out.lines([f"{label(robot.name)}: {size}", "", *tree_lines(robot.tree, columns_of(out)), ""])
        out.lines([*_pose_text(robot, frame, q, pose), ""])
    start = time.perf_counter()
    robot.compile("inverse_dynamics")
    compile_seconds = time.perf_counter() - start
    residual = check(robot)
    holds = residual <= _TOLERANCE
    if not arguments.json:
        verdict = "" if holds else f": more than {_TOLERANCE:g}, WRONG"
        out.line(f"inverse dynamics of forward dynamics, {_CHECKED} random states: forces come back to {residual:.1e}")
        out.line(f"  (the largest difference, relative to the state's largest joint force){verdict}")
        out.flush()
    evaluation = evaluate(robot, arguments.samples, terminal)
    if arguments.json:
        out.json(_data(robot, frame, q, pose, residual, compile_seconds, evaluation))
    else:
        rate = f"{evaluation.rate:.3g} states/s, {1e9 / evaluation.rate:.3g} ns each"
        rate += f", {quantity(get_num_threads(), 'thread')}"
        out.line(f"inverse dynamics of {evaluation.states} random states: {evaluation.seconds:.3g} s ({rate})")
        out.line(f"compiled in {compile_seconds:.2f} s")
    return 0 if holds else FAILED


def check(robot: Robot) -> float:
    """Return the largest relative error of joint forces after forward and inverse dynamics at random states.

    The error is relative to the largest joint force of each state.
    """
    states = random_states(robot, "forward_dynamics", 0, _CHECKED)
    q, v, tau = states.values()
    back = robot.inverse_dynamics(q, v, robot.forward_dynamics(q, v, tau))
    errors = np.abs(back - tau).max(axis=-1, initial=0.0) / np.abs(tau).max(axis=-1, initial=1e-300)
    return float(errors.max())


def evaluate(robot: Robot, samples: int, terminal: Terminal) -> Evaluation:
    """Return the time that inverse dynamics takes for ``samples`` random states, evaluated in chunks.

    The time to draw the states is not included.
    """
    rng = np.random.default_rng(0)
    robot.inverse_dynamics(*random_states(robot, "inverse_dynamics", rng, 1).values())
    seconds, left = 0.0, samples
    with ProgressBar(terminal.progress, "inverse dynamics", samples) as progress:
        while left > 0:
            count = min(left, _CHUNK)
            states = random_states(robot, "inverse_dynamics", rng, count)
            start = time.perf_counter()
            robot.inverse_dynamics(*states.values())
            seconds += time.perf_counter() - start
            left -= count
            progress.advance(count)
    return Evaluation(samples, seconds)


def _pose_text(robot: Robot, frame: str, q: np.ndarray, pose: np.ndarray) -> list[str]:
    values = [f"{label(joint.name)} {number_list(q[joint.q_slice])}" for joint in robot.joints]
    lines = [f"pose of {label(frame)} in the world [m], every joint in the middle of its range:"]
    lines += ["  " + ", ".join(values[k : k + 4]) for k in range(0, len(values), 4)]
    shown = np.round(pose, 6) + 0.0  # no negative zero
    return lines + ["  [" + "  ".join(f"{x:9.6f}" for x in row) + " ]" for row in shown]


def _data(
    robot: Robot,
    frame: str,
    q: np.ndarray,
    pose: np.ndarray,
    residual: float,
    compile_seconds: float,
    evaluation: Evaluation,
) -> dict[str, Any]:
    return {
        "linkwork": __version__,
        "robot": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "mass": robot.mass,
        "pose": {"frame": frame, "q": q.tolist(), "matrix": pose.tolist()},
        "check": {
            "states": _CHECKED,
            "largest_residual": residual,
            "relative_to": "the largest joint force of the state",
            "tolerance": _TOLERANCE,
            "holds": residual <= _TOLERANCE,
        },
        "inverse_dynamics": {
            "states": evaluation.states,
            "seconds": evaluation.seconds,
            "states_per_second": evaluation.rate,
        },
        "compile_seconds": compile_seconds,
    }
