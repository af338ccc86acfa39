"""Paths of a Panda compared with IPOPT and others: 32 steps, squared accelerations, the hand's pose at the end.

The paths are without obstacles, and among five boxes: 45 pairs with the capsules and the box of the arm.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.distance.robots import boxes, panda
from benchmarks.optimal.path_peers import MARGIN, CasadiPath, FatropPath, PathCase, SciPyPath, outer_pairs
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import OPTIMAL
from linkwork.errors import Status

__all__ = ["HOME", "cases", "goals", "path_rows", "problem_of"]

STEPS, DURATION, BOXES = 32, 2.0, 5
SEEDS = "8 seeds beside one"
HOME = np.array([0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8])


def cases() -> dict[str, PathCase]:
    """The two that have targets."""
    robot = panda()
    return {
        "without obstacles": PathCase(robot, "panda_hand", STEPS, DURATION / STEPS),
        "among boxes": PathCase(robot, "panda_hand", STEPS, DURATION / STEPS, boxes(BOXES)),
    }


def goals(case: PathCase, count: int) -> np.ndarray:
    """Poses that configurations near the start have, which are free with 2 cm to spare (count, 4, 4)."""
    rng, robot, result = np.random.default_rng(0), case.robot, []
    while len(result) < count:
        q = np.clip(HOME + rng.uniform(-0.8, 0.8, robot.nq), robot.lower + 0.1, robot.upper - 0.1)
        if case.scene is None or robot.distances(q, case.scene).distance.min() > 0.02:
            result.append(q)
    return robot.pose(np.array(result), case.frame)


def problem_of(case: PathCase) -> lw.TrajectoryProblem:
    """The same as `CasadiPath` has it."""
    problem = lw.TrajectoryProblem(case.robot, num_steps=case.steps, duration=case.steps * case.step)
    problem = problem.add("acceleration", "least_squares")
    problem = problem.add(lw.ik.PoseTask(case.frame), "equality", steps=-1, name="reach")
    problem = problem.add_limits(velocities=False)
    if case.scene is not None:
        pairs = outer_pairs(case.robot, case.scene)
        problem = problem.add(
            lw.optimal.Clearance(scene=case.scene, at_least=MARGIN, pairs=pairs), "inequality", name="clear"
        )
    return problem


def path_rows(quick: bool) -> list[MotionRow]:
    """Compare paths with IPOPT, Fatrop and SciPy.  Raises AssertionError if paths or costs differ."""
    rows = []
    for name, case in cases().items():
        poses = goals(case, 3 if quick else 10)
        problem = problem_of(case)
        ours = [problem.solve(start=HOME, targets={"reach": X}) for X in poses]
        assert all(x.status == Status.SOLVED for x in ours), [x.status for x in ours]
        peers: dict[str, Any] = {"IPOPT": CasadiPath(case)}
        if case.scene is None:
            peers |= {"Fatrop": FatropPath(case), "SciPy": SciPyPath(case)}
        seconds = _seconds(problem, poses, 3 if quick else 9)
        rows.append(MotionRow(f"{name}, 8 seeds beside one", seconds[8] / seconds[1], "", OPTIMAL["paths", SEEDS]))
        more = _built_anew(case, poses[0], 5 if quick else 20) - seconds[1]
        rows.append(MotionRow(f"{name}, built anew, more than solved again", more, "s", OPTIMAL["paths", "built anew"]))
        rows.append(MotionRow(f"{name}, iterations", statistics.median(int(x.iterations) for x in ours)))
        for peer, path in peers.items():
            solution = [path.solve(HOME, X) for X in poses]
            assert all(x.solved and x.violation < 1e-6 for x in solution), (name, peer)
            again = [
                [path.solve(HOME, X).seconds for _ in range(4)] if x.seconds < 0.1 else []
                for X, x in zip(poses, solution, strict=True)
            ]
            theirs = statistics.median(min([x.seconds, *more]) for x, more in zip(solution, again, strict=True))
            first = peer == "IPOPT"
            bounds = (OPTIMAL["paths", name], OPTIMAL["paths", "beside IPOPT"]) if first else (None, None)
            rows.append(MotionRow(f"{name}, beside {peer}", seconds[1], "s", bounds[0], theirs, peer, bounds[1]))
            worst = max(float(x.cost) / y.cost for x, y in zip(ours, solution, strict=True))
            target = OPTIMAL["paths", "cost beside IPOPT's"] if first else None
            rows.append(MotionRow(f"{name}, most cost over {peer}'s", worst, "", target))
    return rows


def _built_anew(case: PathCase, pose: np.ndarray, rounds: int) -> float:
    """Return the minimum time to build an equal problem again and solve it for the first time [s]."""
    least = np.inf
    for _ in range(rounds):
        begin = time.perf_counter()
        problem_of(case).solve(start=HOME, targets={"reach": pose})
        least = min(least, time.perf_counter() - begin)
    return least


def _seconds(problem: lw.TrajectoryProblem, poses: np.ndarray, rounds: int) -> dict[int, float]:
    """Return the time by number of seeds: the median over poses of the minimum over alternating rounds."""
    results: dict[int, list[float]] = {1: [], 8: []}
    for X in poses:
        least = dict.fromkeys(results, np.inf)
        for _ in range(rounds):
            for seeds in results:
                begin = time.perf_counter()
                problem.solve(start=HOME, targets={"reach": X}, num_guesses=seeds)
                least[seeds] = min(least[seeds], time.perf_counter() - begin)
        for seeds, x in least.items():
            results[seeds].append(x)
    return {seeds: statistics.median(x) for seeds, x in results.items()}
