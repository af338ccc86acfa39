"""Cartesian paths: time to compute the joint paths, success rate, and pose errors between waypoints.

A path is a spline through 100 poses of a hand along a smooth joint path.  Forward kinematics at 1000 parameters of each
path gives the pose errors.
"""

from __future__ import annotations

import time

import numpy as np

import linkwork as lw
from benchmarks.measurement.robots import ROBOTS, NotInstalled
from benchmarks.tables.figure_rows import MotionRow

__all__ = ["cartesian_rows"]

POSES, POSITIONS = 100, 1000
_ROBOTS = {"ur5": "tool0", "panda": "panda_hand", "arm7": "hand"}


def cartesian_rows(quick: bool) -> list[MotionRow]:
    """Raises AssertionError where a frame is not within the tolerance of its path."""
    results = []
    for name, frame in _ROBOTS.items():
        try:
            robot = ROBOTS[name].load()
        except NotInstalled:
            results.append(MotionRow(f"{name}, from a start, a path of {POSES} poses", None, "s"))
            continue
        joint_paths = _joint_paths(robot, 5 if quick else 20)
        paths = [
            lw.motion.pose_spline(robot.pose(joint_path(np.linspace(0.0, 3.0, POSES)).q, frame))
            for joint_path in joint_paths
        ]
        starts = [joint_path(0.0).q for joint_path in joint_paths]
        cases = {"from a start": starts, "wherever it comes farthest": [None] * len(paths)}
        for title, begins in cases.items():
            results += _followed(robot, frame, f"{name}, {title}", paths, begins)
    return results


def _followed(robot: lw.Robot, frame: str, title: str, paths: list, starts: list) -> list[MotionRow]:  # type: ignore[type-arg]
    robot.track_cartesian_path(paths[0], frame, q_init=starts[0])  # compiles
    seconds, off, done = [], 0.0, 0
    for path, start in zip(paths, starts, strict=True):
        begin = time.perf_counter()
        tracked = robot.track_cartesian_path(path, frame, q_init=start)
        seconds.append(time.perf_counter() - begin)
        done += tracked.success
        if len(tracked.q):
            (part,) = tracked.parts()
            s = np.linspace(part.start_time, part.end_time, POSITIONS)
            left = lw.pose_difference(robot.pose(part(s).q, frame), path(s))[:, 3:]
            off = max(off, float(np.linalg.norm(left, axis=-1).max()))
    assert off <= 1e-4, (title, off)
    return [
        MotionRow(f"{title}, a path of {POSES} poses, median", float(np.median(seconds)), "s"),
        MotionRow(f"{title}, one of twenty takes longer than", float(np.quantile(seconds, 0.95)), "s"),
        MotionRow(f"{title}, followed to the end", 100.0 * done / len(paths), "%"),
        MotionRow(f"{title}, off by at most", off, "m"),
    ]


def _joint_paths(robot: lw.Robot, count: int) -> list[lw.motion.Trajectory]:
    """Smooth ways of the joints, in the middle of their limits."""
    rng, result = np.random.default_rng(0), []
    low, high = np.maximum(robot.lower, -2.5), np.minimum(robot.upper, 2.5)
    for _ in range(count):
        first = low + (high - low) * rng.uniform(0.25, 0.75, robot.nq)
        steps = np.cumsum(np.vstack([np.zeros(robot.nq), 0.25 * rng.normal(size=(3, robot.nq))]), axis=0)
        result.append(robot.spline([0.0, 1.0, 2.0, 3.0], np.clip(first + steps, low, high)))
    return result
