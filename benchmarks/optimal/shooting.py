"""Optimal control by forward dynamics: iterations compared with crocoddyl's, and random problems with limits.

The limits are on torques and velocities.
"""

from __future__ import annotations

import time
from importlib.resources import files
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.optimal.shooting_peer import Crocoddyl
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import OPTIMAL

__all__ = ["shooting_rows"]

STEPS, STEP = 100, 0.01
ALONG = {"configuration": 0.1, "velocity": 0.03}
END = {"configuration": 30.0, "velocity": 30.0}
TORQUE = 0.01
SPEED = 1.6  # [rad/s]
EFFORT = (150.0, 70.0, 40.0, 12.0, 12.0, 12.0)  # [N·m]


def shooting_rows(quick: bool) -> list[MotionRow]:
    """The figures.  Raises AssertionError where crocoddyl's optimum is another."""
    return [*_beside_crocoddyl(quick), *_by_accelerations(quick), *_within_limits(quick), *_swings()]


def reaching(robot: lw.Robot, whole_steps: bool = False) -> lw.TrajectoryProblem:
    """Return the problem of a motion from rest to rest with quadratic costs only.

    With ``whole_steps`` its last position is half a step after the end, as with crocoddyl's semi-implicit Euler steps.
    """
    problem = lw.TrajectoryProblem(robot, num_steps=STEPS, duration=STEPS * STEP).add(
        "torque", "least_squares", scale=TORQUE
    )
    ahead = lw.optimal.FunctionFeature("ahead", lambda w, aim: w.q() + 0.5 * STEP * w.v() - aim, shape=(robot.nq,))
    for name in ("configuration", "velocity"):
        if whole_steps and name == "configuration":
            more = {"steps": slice(0, -1), "scale": ALONG[name], "name": f"{name} on the way"}
            problem = problem.add(name, "least_squares", **more)
            problem = problem.add(ahead, "least_squares", steps=-1, scale=END[name], name=f"{name} at the end")
            continue
        problem = problem.add(name, "least_squares", scale=ALONG[name], name=f"{name} on the way")
        problem = problem.add(
            name,
            "least_squares",
            steps=-1,
            scale=float(np.sqrt(END[name] ** 2 - ALONG[name] ** 2)),
            name=f"{name} at the end",
        )
    return problem


def _beside_crocoddyl(quick: bool) -> list[MotionRow]:
    robot = lw.load("arm6")
    rng = np.random.default_rng(0)
    q0, q1 = rng.uniform(-1.0, 1.0, (2, robot.nq))
    problem = reaching(robot)
    hold = robot.gravity_force(q0)
    options: dict[str, Any] = {
        "solver": "ilqr",
        "control_limits": False,
        "targets": {f"configuration {where}": q1 for where in ("on the way", "at the end")},
        "controls": np.tile(hold, (STEPS, 1)),
    }
    best = reaching(robot, True).solve(q0, second_order=True, max_iterations=500, step_tolerance=1e-9, **options)
    first = 0.5 * ALONG["configuration"] ** 2 * float(((q0 - q1) ** 2).sum())  # crocoddyl's, of the start itself
    request = {"start": [*q0.tolist(), *[0.0] * robot.nv], "goal": q1.tolist(), "step": STEP, "steps": STEPS}
    request |= {"along": ALONG, "end": END, "torque": TORQUE, "u": hold.tolist()}
    try:
        peer: Crocoddyl | None = Crocoddyl(str(files("linkwork.robots") / "arm6.urdf"), request)
    except OSError:
        peer = None
    many, rounds = 11, 5 if quick else 25
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    for _ in range(rounds):
        ends = []
        for iterations in (1, many):
            begun = time.perf_counter()
            problem.solve(q0, second_order=False, max_iterations=iterations, **options)
            ends.append(time.perf_counter() - begun)
        times["ours"].append((ends[1] - ends[0]) / (many - 1))
        if peer is not None:
            times["peer"].append((peer.solved(many)[1] - peer.solved(1)[1]) / (many - 1))
    ours, theirs = float(np.median(times["ours"])), float(np.median(times["peer"])) if peer is not None else None
    rows = [
        MotionRow("an iteration, 6 joints, 100 steps", ours, "s", OPTIMAL["shooting", "iteration"], theirs, "crocoddyl")
    ]
    if peer is not None:
        cost = peer.solved(1000)[0] - first
        off = abs(best.cost - cost) / cost
        rows.append(
            MotionRow("cost at the optimum beside crocoddyl's", off, "", OPTIMAL["shooting", "beside crocoddyl"])
        )
        peer.close()
        assert off < 1e-3, (best.cost, cost)
    return rows


def _by_accelerations(quick: bool) -> list[MotionRow]:
    """The same problem with torques and with accelerations as controls: an iteration, and all the way to the optimum.

    Raises AssertionError where the optima differ.
    """
    robot = lw.load("arm6")
    q0, q1 = np.random.default_rng(0).uniform(-1.0, 1.0, (2, robot.nq))
    problem = reaching(robot)
    targets = {f"configuration {where}": q1 for where in ("on the way", "at the end")}
    times: dict[str, list[float]] = {"forward": [], "inverse": []}
    results: dict[str, Any] = {}
    for _ in range(5 if quick else 25):
        for dynamics, seconds in times.items():
            options: dict[str, Any] = {"solver": "ilqr", "control_limits": False, "targets": targets}
            results[dynamics] = problem.solve(q0, dynamics=dynamics, second_order=dynamics == "inverse", **options)
            begun = time.perf_counter()
            problem.solve(q0, dynamics=dynamics, second_order=dynamics == "inverse", **options)
            seconds.append(time.perf_counter() - begun)
    forward, inverse = (float(np.median(times[name])) for name in ("forward", "inverse"))
    assert abs(results["forward"].cost - results["inverse"].cost) < 1e-9 * results["forward"].cost
    counts = {name: float(result.iterations) for name, result in results.items()}
    return [
        MotionRow("to the optimum, with torques as controls", forward, "s"),
        MotionRow("its iterations, with torques", counts["forward"]),
        MotionRow("to the optimum, with accelerations as controls", inverse, "s"),
        MotionRow("its iterations, with accelerations", counts["inverse"]),
        MotionRow("one of these, with line searches: torques", forward / counts["forward"], "s"),
        MotionRow("one of these, with line searches: accelerations", inverse / counts["inverse"], "s"),
    ]


def random_reaches(count: int) -> tuple[lw.TrajectoryProblem, dict[str, Any], np.ndarray]:
    """Return the problem of an arm from rest to rest in a second within limits, random targets, and starts."""
    robot = lw.load("arm6")
    problem = lw.TrajectoryProblem(robot, num_steps=50, duration=1.0)
    problem = problem.add("torque", "least_squares", scale=TORQUE).add(
        "velocity", "least_squares", scale=0.1, name="slowly"
    )
    problem = problem.add("configuration", "equality", steps=-1, target=np.zeros(6), name="there")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    problem = problem.add(lw.optimal.VelocityLimits(upper=SPEED), "inequality", name="speed")
    rng = np.random.default_rng(1)
    q0 = rng.uniform(-1.5, 1.5, (count, 6))
    q1 = q0 + rng.uniform(-0.8, 0.8, (count, 6))
    path = q0[:, None] + (q1 - q0)[:, None] * np.linspace(0.0, 1.0, 51)[1:, None]
    return (
        problem,
        {"targets": {"there": q1}, "initial_guess": path, "control_limits": EFFORT, "max_iterations": 200},
        q0,
    )


def _within_limits(quick: bool) -> list[MotionRow]:
    count = 10 if quick else 50
    problem, options, q0 = random_reaches(count)
    solution = problem.solve(q0, solver="shooting", **options)
    over = float((np.abs(solution.controls) - EFFORT).max())
    over = max(over, float((np.abs(solution.velocities) - SPEED).max()), 0.0)
    begun = time.perf_counter()
    problem.solve(q0, solver="shooting", **options)
    each = (time.perf_counter() - begun) / count
    return [
        MotionRow(
            f"solved of {count} random problems within limits", 100.0 * float(np.mean(solution.success)), "%",
            OPTIMAL["shooting", "solved"],
        ),
        MotionRow("the most iterations", float(np.max(solution.iterations))),
        MotionRow("limits passed by at most", over, "", OPTIMAL["shooting", "limits passed"]),
        MotionRow("a problem, of all in a batch", each, "s"),
    ]  # fmt: skip


def _swings() -> list[MotionRow]:
    """An acrobot to its upright equilibrium."""
    robot = lw.load("double_pendulum")
    problem = lw.TrajectoryProblem(robot, num_steps=80, duration=3.2)
    problem = problem.add(lw.optimal.TorqueFeature(["elbow"]), "least_squares", scale=0.1, name="effort")
    problem = problem.add("velocity", "least_squares", scale=0.1, name="slowly")
    problem = problem.add("configuration", "equality", steps=-1, target=[np.pi, 0.0], name="up")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    options: dict[str, Any] = {"solver": "ilqr", "actuated": ["elbow"], "control_limits": 20.0, "max_iterations": 400}
    solution = problem.solve([0.0, 0.0], **options)
    begun = time.perf_counter()
    problem.solve([0.0, 0.0], **options)
    seconds = time.perf_counter() - begun
    return [MotionRow("an acrobot swings up, from hanging", seconds if solution.success else None, "s")]
