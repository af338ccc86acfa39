"""Swing-ups and a car from random initial guesses: `python -m benchmarks.optimal.random_guesses --count 100`.

Every solver gets the same guesses.  The table lists how many of them each solves, the statuses of the others, and the
minimum, median, 90 % and maximum cost of the solutions.  All of these problems are feasible: "infeasible" raises
AssertionError, as does "solved" with a violation above tolerance or without a finite cost.

Sources: Tassa, Mansard and Todorov, Control-limited differential dynamic programming, ICRA 2014 (the car); Spong, The
swing up control problem for the acrobot, IEEE Control Systems Magazine 15 (1), 1995; Spong and Block, The pendubot,
CDC 1995.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.errors import Status
from linkwork.expr import cos, sin, sqrt

__all__ = ["CASES", "car", "cart_pole", "main", "pendulum"]

_TOLERANCE = 1e-6

Case = tuple[lw.TrajectoryProblem, np.ndarray, np.ndarray]  # problem, start, and guesses (N, T, nq)


def walks(rng: np.random.Generator, count: int, steps: int, start: np.ndarray, size: float) -> np.ndarray:
    """Smooth random paths (count, steps, nq) from a start: sums of five sines with amplitudes of ``size``."""
    t = np.linspace(0.0, 1.0, steps + 1)[1:]
    waves = np.sin(np.multiply.outer(t, 0.5 * np.pi * np.arange(1, 6)))  # (T, 5)
    return np.asarray(start + np.einsum("tk,nkj->ntj", waves, rng.normal(size=(count, 5, len(start))) * size))


def pendulum(motors: tuple[str, ...], rng: np.random.Generator, count: int) -> Case:
    """The double pendulum from hanging to standing at rest, with motors at some of its joints."""
    robot, steps, duration = lw.load("double_pendulum"), 40, 3.0
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=duration).add("torque", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=-1, target=[np.pi, 0.0], name="upright")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    for name in robot.v_names:
        if name not in motors:
            problem = problem.add(lw.optimal.TorqueFeature([name]), "equality", name=f"no motor at {name!r}")
    start = np.zeros(2)
    return problem, start, walks(rng, count, steps, start, 1.0)


def cart_pole(rng: np.random.Generator, count: int) -> Case:
    """A pole on a cart with one motor, from hanging to standing at rest."""
    robot = lw.Robot.build(
        "cart_pole",
        lw.Link("cart", mass=1.0),
        lw.Link("pole", mass=0.3, com=(0, 0, -0.5), inertia=(0.006, 0.006, 0.0)),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="cart"),
        lw.Joint.of(lw.joints.Revolute((0, 1, 0)), name="hinge", parent="cart", child="pole"),
    )
    steps = 40
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=2.0).add("torque", "least_squares", scale=0.05)
    problem = problem.add("configuration", "equality", steps=-1, target=[0.0, np.pi], name="upright")
    problem = problem.add("velocity", "equality", steps=-1, name="at rest")
    problem = problem.add(lw.optimal.TorqueFeature(["hinge"]), "equality", name="no motor at the hinge")
    return problem, np.zeros(2), walks(rng, count, steps, np.zeros(2), 1.0)


def car(rng: np.random.Generator, count: int, steps: int = 500) -> Case:
    """Return Tassa's car: steering within 0.5 rad, acceleration within 2 m/s², from (1, 1, 3π/2) to the origin.

    The states (x, y, θ, speed) follow from the steps; steering angle and acceleration are variables.
    """
    h, base = 0.03, 2.0
    robot = lw.Robot.build(
        "car",
        lw.Link("body", mass=1.0),
        lw.Link("clock", mass=1.0),
        lw.Joint.of(lw.joints.Planar(), name="place", parent="world", child="body"),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="speed", parent="world", child="clock"),
    )
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=h * steps)
    problem = problem.add_variable("wheel", 1, lower=-0.5, upper=0.5).add_variable("push", 1, lower=-2.0, upper=2.0)

    def dynamics(w: Any) -> Any:
        before, after = w.q(back=1), w.q()
        wheel, f = w.variables("wheel")[0], h * before[3]
        along = f * cos(wheel) + base - sqrt(base**2 - (f * sin(wheel)) ** 2)
        turned = f * sin(wheel) / base
        turned = turned + turned**3 / 6.0 + 3.0 * turned**5 / 40.0  # arcsine, below 1e-12 here
        x = before[0] + along * cos(before[2])
        y = before[1] + along * sin(before[2])
        return np.array(
            [
                after[0] - x,
                after[1] - y,
                after[2] - before[2] - turned,
                after[3] - before[3] - h * w.variables("push")[0],
            ]
        )

    def near(x: Any, scale: float) -> Any:
        return sqrt(x * x + scale**2) - scale

    def running(w: Any) -> Any:
        q = w.q(back=1)
        state = 1e-3 * (near(q[0], 0.1) + near(q[1], 0.1))
        return state + 0.01 * w.variables("wheel")[0] ** 2 + 1e-4 * w.variables("push")[0] ** 2

    def last(w: Any) -> Any:
        q = w.q()
        return 0.1 * near(q[0], 0.01) + 0.1 * near(q[1], 0.01) + near(q[2], 0.01) + 0.3 * near(q[3], 1.0)

    problem = problem.add(dynamics, "equality", name="dynamics")
    problem = problem.add(running, "cost", name="on the way").add(last, "cost", steps=-1, name="at the end")
    start = np.array([1.0, 1.0, 1.5 * np.pi, 0.0])
    pushes = 0.1 * rng.normal(size=(count, steps, 2))
    paths = np.zeros((count, steps, 4))
    state = np.repeat(start[None], count, axis=0)
    for t in range(steps):
        wheel, push = pushes[:, t].T
        f = h * state[:, 3]
        along = f * np.cos(wheel) + base - np.sqrt(base**2 - (f * np.sin(wheel)) ** 2)
        state = state + np.stack(
            [along * np.cos(state[:, 2]), along * np.sin(state[:, 2]), np.arcsin(f * np.sin(wheel) / base), h * push],
            -1,
        )
        paths[:, t] = state
    return problem, start, paths


CASES: dict[str, Callable[[np.random.Generator, int], Case]] = {
    "double pendulum": lambda rng, count: pendulum(("shoulder", "elbow"), rng, count),
    "pendubot": lambda rng, count: pendulum(("shoulder",), rng, count),
    "acrobot": lambda rng, count: pendulum(("elbow",), rng, count),
    "cart-pole": cart_pole,
    "car": car,
}


def main(arguments: list[str] | None = None) -> int:
    """Solve and print.  Raises AssertionError for a wrong "solved"."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimal.random_guesses", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES), help="cases (default: all)")
    parser.add_argument("--count", type=int, default=100, help="guesses per case")
    parser.add_argument("--at-most", type=int, default=1000, help="iterations")
    parser.add_argument("--solvers", nargs="*", default=["augmented", "ipopt"])
    parser.add_argument("--tolerance", type=float, default=_TOLERANCE)
    options = parser.parse_args(arguments)
    for name in options.names:
        problem, start, guesses = CASES[name](np.random.default_rng(0), options.count)
        for solver in options.solvers:
            print(f"{name:<16} {solver:<10} {row(problem, start, guesses, solver, options.at_most, options.tolerance)}")
            sys.stdout.flush()
    return 0


def row(
    problem: lw.TrajectoryProblem,
    start: np.ndarray,
    guesses: np.ndarray,
    solver: str,
    max_iterations: int,
    tolerance: float,
) -> str:
    """A line about all guesses by one solver."""
    begun = time.perf_counter()
    solution = problem.solve(
        start,
        initial_guess=guesses,
        solver=solver,
        max_iterations=max_iterations,
        tolerance=tolerance,
        step_tolerance=tolerance,
    )
    took = time.perf_counter() - begun
    status = np.asarray(solution.status)
    cost, solved = np.asarray(solution.cost), status == Status.SOLVED
    assert Status.INFEASIBLE not in status
    worst = np.max([np.asarray(x) for x in solution.violations.values()], axis=0)
    assert (worst[solved] <= tolerance).all() and np.isfinite(cost[solved]).all()
    counts = ", ".join(f"{int((status == x).sum())} {x}" for x in np.unique(status) if x != Status.SOLVED)
    quantiles = np.quantile(cost[solved], [0.0, 0.5, 0.9, 1.0]) if solved.any() else []
    shown = " ".join(f"{x:.4g}" for x in quantiles)
    return f"{int(solved.sum())} of {len(solved)} solved, costs {shown}; {counts or 'no other'}; {took:.0f} s"


if __name__ == "__main__":
    sys.exit(main())
