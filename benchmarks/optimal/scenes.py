"""Paths through random scenes: the success rate from random starts, and collisions between steps.

A scene has `BOXES` boxes around a Panda.  The arm moves from one free configuration to the pose of the hand in another.
Scenes in which the planner finds no path are skipped.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import linkwork as lw
from benchmarks.distance.cases import turned
from benchmarks.distance.peers import CoalRobot
from benchmarks.distance.robots import panda
from benchmarks.ik.peers import module
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import OPTIMAL
from linkwork.errors import Status

__all__ = ["RandomScene", "collisions", "random_scenes", "scene_rows"]

BOXES, CLEAR = 6, 0.02  # [m]: what is left between the arm and obstacles where it starts and where it is to go
STEPS, SEEDS, MARGIN = 32, 8, 0.01
BETWEEN = 1  # configurations between steps that keep away, too
_AGREED = 1e-4  # [m]: how far least distances may be apart
_FEASIBLE = OPTIMAL["scenes", "feasible"]
STEP = 2e-3  # [rad] between configurations that are looked at


@dataclass(frozen=True)
class RandomScene:
    """Obstacles, where the arm is, and which pose its hand is to have."""

    scene: lw.Scene
    start: np.ndarray
    end: np.ndarray  # a configuration with that pose: not told
    pose: np.ndarray


def _boxes(rng: np.random.Generator, count: int) -> lw.Scene:
    scene = lw.Scene()
    for k, R in enumerate(turned(rng.normal(size=(count, 4)))):
        angle, far = rng.uniform(-np.pi, np.pi), rng.uniform(0.4, 0.8)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R, (far * np.cos(angle), far * np.sin(angle), rng.uniform(0.1, 0.9))
        scene = scene.with_box(f"box {k}", tuple(rng.uniform(0.05, 0.25, 3)), X)
    return scene


def random_scenes(robot: lw.Robot, frame: str, count: int) -> Iterator[RandomScene]:
    """The same ones always."""
    scene_count, seed = 0, 0
    while scene_count < count:
        rng, seed = np.random.default_rng([7, seed]), seed + 1
        scene = _boxes(rng, BOXES)
        q = robot.random_configuration(rng, size=64)
        free = q[robot.distances(q, scene).distance.min(-1) > CLEAR]
        if len(free) < 2:
            continue
        start, end = free[:2]
        if robot.plan(start, end, scene, seed=0).success:
            scene_count += 1
            yield RandomScene(scene, start, end, robot.pose(end, frame))


def scene_rows(quick: bool) -> list[MotionRow]:
    """Measure how many scenes with a feasible path are solved, and are collision-free between steps.

    Raises AssertionError if coal finds another minimum distance.
    """
    robot, frame, count = panda(), "panda_hand", 5 if quick else 100
    problem, solved, free, seconds = None, 0, 0, []
    by_coal: int | None = 0 if module("coal") is not None and module("pinocchio") is not None else None
    for case in random_scenes(robot, frame, count):
        clear = lw.optimal.Clearance(scene=case.scene, at_least=MARGIN, between=BETWEEN)
        if problem is None:
            problem = lw.TrajectoryProblem(robot, num_steps=STEPS, duration=2.0)
            problem = problem.add("acceleration", "least_squares")
            problem = problem.add(lw.ik.PoseTask(frame), "equality", steps=-1, name="reach")
            problem = problem.add_limits(velocities=False)
            problem = problem.add(clear, "inequality", name="clear")
            problem.solve(
                case.start, targets={"reach": case.pose}, max_iterations=1, num_guesses=SEEDS
            )  # makes the kernel
        targets = {"reach": case.pose, "clear": clear.target_for(case.scene)}
        begin = time.perf_counter()
        solution = problem.solve(start=case.start, targets=targets, num_guesses=SEEDS)
        seconds.append(time.perf_counter() - begin)
        if solution.status != Status.SOLVED:
            continue
        solved += 1
        path = np.vstack([case.start, solution.q])
        least = collisions(robot, case.scene, path)
        free += least > 0.0
        if by_coal is not None:
            pairs = robot.distances(path[0], case.scene).pairs
            theirs = collisions(robot, case.scene, path, CoalRobot(robot, case.scene, pairs))
            assert abs(least - theirs) < _AGREED, (least, theirs)
            by_coal += theirs > 0.0
    rows = [
        MotionRow(f"of {count} scenes, solved", 100.0 * solved / count, "%"),
        MotionRow(f"of {count} scenes, solved and free between steps", 100.0 * free / count, "%", _FEASIBLE),
    ]
    if by_coal is not None:
        rows.append(MotionRow("the same by coal's distances", 100.0 * by_coal / count, "%", _FEASIBLE))
    return [
        *rows,
        MotionRow("one scene, 8 seeds, median", statistics.median(seconds), "s"),
        MotionRow("one scene, 8 seeds, the longest", max(seconds), "s"),
    ]


def collisions(robot: lw.Robot, scene: lw.Scene, q: np.ndarray, peer: CoalRobot | None = None) -> float:
    """Return the minimum distance along straight lines between configurations (T, nq) [m], by coal if installed."""
    least = np.inf
    for a, b in pairwise(q):
        many = max(2, int(np.ceil(np.linalg.norm(b - a) / STEP)))
        between = a + np.linspace(0.0, 1.0, many)[:, None] * (b - a)
        distances = robot.distances(between, scene).distance if peer is None else [peer.distances(x) for x in between]
        least = min(least, float(np.min(distances)))
    return least
