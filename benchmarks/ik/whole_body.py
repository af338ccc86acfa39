"""A humanoid with a free base: both hands, both feet and the center of mass together.

Targets come from random configurations within limits, with random base positions within a metre and random base
orientations, so all targets are jointly reachable.  The start is the middle of limits with the base at the origin.
Poses and centers of mass are checked by Pinocchio's kinematics, within 1e-5 m and 1e-5 rad on each axis; limits
exactly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.ik.protocol import TOLERANCE, Measured, Stopwatch, errors
from benchmarks.measurement.robots import ROBOTS
from benchmarks.peers.pinocchio_peer import CannotCompare, PinocchioModel
from linkwork.cli.function_timings import threads

__all__ = ["Humanoid", "humanoid"]

FRAMES = {
    "talos": ("gripper_left_base_link", "gripper_right_base_link", "left_sole_link", "right_sole_link"),
    "g1": ("left_rubber_hand", "right_rubber_hand", "left_ankle_roll_link", "right_ankle_roll_link"),
    "humanoid": ("left_hand", "right_hand", "left_foot", "right_foot"),
}


@dataclass(frozen=True)
class Goals:
    """Poses (count, 4, 4) by frame, and centres of mass (count, 3)."""

    poses: dict[str, np.ndarray]
    center: np.ndarray

    def of(self, k: int) -> dict[str, np.ndarray]:
        return {**{name: X[k].copy() for name, X in self.poses.items()}, "center_of_mass": self.center[k].copy()}


class Humanoid:
    """A robot with a free base and its Pinocchio model."""

    def __init__(self, name: str) -> None:
        self.name, self.frames = name, FRAMES[name]
        self.robot = ROBOTS[name].load()
        self.pinocchio = PinocchioModel(self.robot)

    def goals(self, q: np.ndarray) -> Goals:
        """Return the poses and centers of mass at configurations (count, nq)."""
        pin, model, data = self.pinocchio.pin, self.pinocchio.model, self.pinocchio.data
        frames = {name: self.pinocchio.frame(name) for name in self.frames}
        poses, centers = {name: np.empty((len(q), 4, 4)) for name in frames}, np.empty((len(q), 3))
        for k, row in enumerate(self.pinocchio.q(q)):
            pin.framesForwardKinematics(model, data, row)
            for name, frame in frames.items():
                poses[name][k] = data.oMf[frame].homogeneous
            centers[k] = pin.centerOfMass(model, data, row)
        return Goals(poses, centers)

    def reached(self, q: np.ndarray, goals: Goals) -> np.ndarray:
        """Return True for configurations (count, nq) that reach all goals within limits."""
        have = self.goals(np.nan_to_num(q))
        most = TOLERANCE + 1e-11
        fine = np.all(np.abs(have.center - goals.center) <= most, axis=-1)
        for name, X in goals.poses.items():
            fine &= np.all(np.abs(errors(have.poses[name], X)) <= most, axis=-1)
        return fine & np.all(np.isfinite(q) & (q >= self.robot.lower) & (q <= self.robot.upper), axis=-1)

    @cached_property
    def problem(self) -> Any:
        """Raises CannotCompare if this version of linkwork has no such tasks."""
        ik: Any = getattr(lw, "ik", None)
        if ik is None or not hasattr(ik, "CenterOfMassTask"):
            raise CannotCompare("this linkwork has no tasks of frames and of the centre of mass")
        tasks = [ik.PoseTask(frame, tolerance=TOLERANCE) for frame in self.frames]
        tasks.append(ik.CenterOfMassTask(tolerance=TOLERANCE, name="center_of_mass"))
        return self.robot.ik_problem(tasks)

    @cached_property
    def start(self) -> np.ndarray:
        bounded = np.isfinite(self.robot.lower)
        q = self.robot.neutral()
        q[bounded] = 0.5 * (self.robot.lower[bounded] + self.robot.upper[bounded])
        return q


def humanoid(robot: Humanoid, count: int) -> Measured:
    """One call a target."""
    goals = robot.goals(robot.robot.random_configuration(seed=0, size=count))
    problem, start = robot.problem, robot.start
    q, seconds = np.empty((count, robot.robot.nq)), np.empty(count)
    problem.solve(start, **goals.of(0))
    for _ in range(2):  # what is compiled only where a search is long is there the second time
        results = []
        for k in range(count):
            targets = goals.of(k)
            watch = Stopwatch()
            results.append(problem.solve(start, **targets))
            seconds[k] = watch.stop()
            q[k] = results[-1].q
    solution = Measured(robot.name, "linkwork", lw.__version__, "robot.ik_problem(tasks).solve(seed, **targets)")
    solution.reached, solution.seconds = robot.reached(q, goals), seconds
    for k in np.flatnonzero(~solution.reached):
        result = results[k]
        solution.misses.append(
            {
                "pose": int(k),
                "status": str(result.status),
                "said solved": bool(result.success),
                "position error": float(result.position_error),
                "orientation error": float(result.orientation_error),
                "within limits": bool(np.all((q[k] >= robot.robot.lower) & (q[k] <= robot.robot.upper))),
                "iterations": int(result.iterations),
                "restarts": int(result.restarts),
            }
        )
    solution.statuses = dict(Counter(str(miss["status"]) for miss in solution.misses))
    with threads(1):
        few = min(count, 500)
        targets = {name: x[:few] for name, x in {**goals.poses, "center_of_mass": goals.center}.items()}
        problem.solve(start, **targets)
        watch = Stopwatch()
        problem.solve(start, **targets)
        solution.batch = watch.stop() / few
    return solution
