"""Paths of a Panda beside IPOPT and others: 32 steps, accelerations squared, the hand's pose at the end.

Without obstacles, and among five boxes: 45 pairs with the capsules and the box of the arm.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from .distance_robots import boxes, panda
from .motion_rows import MotionRow
from .optimal_rivals import CasadiPath, FatropPath, PathCase, SciPyPath

__all__ = ["HOME", "cases", "goals", "path_rows"]

STEPS, DURATION, BOXES = 32, 2.0, 5
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
    rng, robot, found = np.random.default_rng(0), case.robot, []
    while len(found) < count:
        q = np.clip(HOME + rng.uniform(-0.8, 0.8, robot.nq), robot.lower + 0.1, robot.upper - 0.1)
        if case.scene is None or robot.distances(q, case.scene).distance.min() > 0.02:
            found.append(q)
    return robot.pose(np.array(found), case.frame)


def path_rows(quick: bool) -> list[MotionRow]:
    """Beside IPOPT, Fatrop and SciPy."""
    rows = []
    for name, case in cases().items():
        poses = goals(case, 3 if quick else 10)
        peers: dict[str, Any] = {"IPOPT": CasadiPath(case)}
        if case.scene is None:
            peers |= {"Fatrop": FatropPath(case), "SciPy": SciPyPath(case)}
        for peer, path in peers.items():
            found = [path.solve(HOME, X) for X in poses]
            assert all(x.solved and x.violation < 1e-6 for x in found), (name, peer)
            seconds = statistics.median(x.seconds for x in found)
            rows.append(MotionRow(f"{name}: beside {peer}", None, "s", peer=seconds, peer_name=peer))
    return rows
