"""Path planning in seven kinds of scenes for a Panda, a UR5 and a robot with two arms: part of `benchmarks.motion`.

A problem is a scene, a free configuration with the hand at the first pose, and all free configurations that inverse
kinematics finds for the second pose.  A path is not guaranteed to exist.  coal checks every path at configurations
1e-3 rad apart.  ``python -m benchmarks.motion.planning --queries 100000`` runs short queries one after the other and
prints time and memory for each tenth of them.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.distance.peers import CoalRobot
from benchmarks.distance.robots import _PANDA, panda
from benchmarks.ik.peers import module
from benchmarks.measurement.robots import ROBOTS, NotInstalled
from benchmarks.motion.planning_peers import OmplPlanner
from benchmarks.motion.scenes import KINDS
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import MOTION
from linkwork import shapes

__all__ = ["ARMS", "PlanningArm", "planning_rows", "problems"]

_TARGETS = {measure: target for (part, measure), target in MOTION.items() if part == "planning"}
_STEP = 1e-3  # [rad] of what coal looks at
_RUNS = 10  # of a problem, with seeds of their own
_SEARCHES = (1, 8)  # of paths that are found besides those of as many as usual
_HOME = np.array([0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8])


@dataclass(frozen=True)
class PlanningArm:
    """A robot and its end-effector frame; elements of q after the arm's own (a second arm) stay away from the goal."""

    robot: lw.Robot
    hand: str
    rest_configuration: tuple[np.ndarray, ...] = ()  # configurations of the second arm, to draw from


@dataclass(frozen=True)
class PlanningProblem:
    """A planning problem: scene, start configuration and goals."""

    kind: str
    scene: lw.Scene
    start: np.ndarray
    goals: np.ndarray


def _panda() -> PlanningArm:
    return PlanningArm(panda(), "panda_hand")


def _ur5() -> PlanningArm:
    """Capsules along its links, about as thick as they are."""
    robot = ROBOTS["ur5"].load()
    for frame in robot.tree.frames:
        if frame.collisions:
            robot = robot.with_collisions(frame.name)
    along_y = lw.pose(rpy=(np.pi / 2, 0, 0))
    for link, radius, length, position, turn in (
        ("base_link", 0.075, 0.02, (0, 0, 0.05), np.eye(4)),
        ("shoulder_link", 0.065, 0.08, (0, 0.02, 0), along_y),
        ("upper_arm_link", 0.06, 0.41, (0, 0, 0.2125), np.eye(4)),
        ("forearm_link", 0.05, 0.38, (0, 0, 0.196), np.eye(4)),
        ("wrist_1_link", 0.045, 0.06, (0, 0.08, 0), along_y),
        ("wrist_2_link", 0.045, 0.06, (0, 0, 0.08), np.eye(4)),
        ("wrist_3_link", 0.04, 0.03, (0, 0.06, 0), along_y),
    ):
        X = turn.copy()
        X[:3, 3] = position
        robot = robot.with_collisions(link, shapes.Capsule(radius, length).at(X))
    return PlanningArm(robot, "tool0")


def _two_arms() -> PlanningArm:
    """Two arms of a Panda's measures on a post, by code: fourteen joints."""
    Joint, turn, half = lw.Joint, lw.joints.Revolute((0, 0, 1)), np.pi / 2
    placements = (
        lw.pose((0, 0, 0.333)),
        lw.pose(rpy=(-half, 0, 0)),
        lw.pose((0, -0.316, 0), rpy=(half, 0, 0)),
        lw.pose((0.0825, 0, 0), rpy=(half, 0, 0)),
        lw.pose((-0.0825, 0.384, 0), rpy=(-half, 0, 0)),
        lw.pose(rpy=(half, 0, 0)),
        lw.pose((0.088, 0, 0), rpy=(half, 0, 0)),
    )
    least = (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973)
    most = (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973)
    parts: list[Any] = [lw.Link("post", shapes.Capsule(0.06, 0.2).at((0.0, 0.0, 0.1)), mass=10.0)]
    for side, y in (("left", 0.25), ("right", -0.25)):
        parent, first = "post", lw.pose((0.0, y, 0.0))
        for k, placement in enumerate(placements):
            link = f"{side}{k + 1}"
            made_problems = [
                shapes.Capsule(radius, length).at(lw.pose(n[:3], rpy=(n[3], n[4] if len(n) > 4 else 0.0, 0.0)))
                for radius, length, *n in _PANDA[f"panda_link{k + 1}"]
            ]
            frames = {}
            if k == 6:
                grip = lw.pose((0, 0, 0.107), rpy=(0, 0, -np.pi / 4))
                frames[f"{side}_hand"] = grip
                made_problems.append(shapes.Box((0.04, 0.21, 0.12)).at(grip @ lw.pose((0, 0, 0.05))))
            parts.append(lw.Link(link, *made_problems, mass=2.0, frames=frames))
            parts.append(
                Joint.of(
                    turn,
                    name=f"{link}_joint",
                    parent=parent,
                    child=link,
                    placement=first @ placement,
                    lower=least[k],
                    upper=most[k],
                )
            )
            parent, first = link, np.eye(4)
    robot = lw.Robot.build("two_arms", *parts)
    goals = tuple(_HOME + np.array([dx, 0.2 * dx, 0.0, 0.3 * dx, 0.0, 0.0, 0.0]) for dx in (-0.8, -1.6))
    return PlanningArm(robot, "left_hand", goals)


ARMS = {"panda": _panda, "ur5": _ur5, "two arms": _two_arms}


def problems(arm: PlanningArm, kind: str, count: int) -> Iterator[PlanningProblem]:
    """Yield `count` reproducible problems of a kind."""
    robot, problem_count, seed = arm.robot, 0, 0
    while problem_count < count and seed < 40 * count:
        drawn = KINDS[kind](np.random.default_rng([seed, list(KINDS).index(kind)]))
        seed += 1
        ends = []
        for X, rest_pose in zip((drawn.begin, drawn.end), arm.rest_configuration or (None, None), strict=True):
            solution = robot.inverse_kinematics(X, arm.hand, num_solutions=12)
            q = solution.q[solution.success]
            if rest_pose is not None and len(q):
                q = q.copy()
                q[:, -len(rest_pose) :] = rest_pose
            if len(q):
                q = q[~robot.in_collision(q, drawn.scene)]
            ends.append(q)
        if all(len(q) for q in ends):
            problem_count += 1
            yield PlanningProblem(kind, drawn.scene, ends[0][0], ends[1])


class _Coal:
    """Collision test of a path by coal."""

    def __init__(self, robot: lw.Robot, scene: lw.Scene) -> None:
        self.robot = robot
        pairs = robot.distances(robot.neutral(), scene).pairs
        self.peer = CoalRobot(robot, scene, pairs)
        self.pin = module("pinocchio")

    def touches(self, path: np.ndarray) -> int:
        robot, peer = self.robot, self.peer
        rows = []
        for q0, q1 in pairwise(path):
            phi = robot.difference(q0, q1)
            t = np.linspace(0.0, 1.0, 2 + int(np.linalg.norm(phi) / _STEP))[:, None]
            rows.append(robot.integrate(q0, t * phi))
        q = np.concatenate(rows)
        moving = []
        for name, k in peer.moving:
            link, geometry = peer.shapes[name]
            X = robot.pose(q, link) @ np.array(geometry.origin.elements(), float).reshape(4, 4)
            moving.append((k, X))
        touched = 0
        for i in range(len(q)):
            for k, X in moving:
                peer.data.oMg[k] = self.pin.SE3(X[i])
            touched += bool(self.pin.computeCollisions(peer.model, peer.data, True))
        return touched


def planning_rows(quick: bool) -> list[MotionRow]:
    """Measure success, time, length relative to the best of ten runs, and collisions of the paths by coal."""
    rows = []
    for name, make in ARMS.items():
        try:
            arm = make()
        except NotInstalled:
            rows.append(MotionRow(f"{name}: solved", None, "%", target=_TARGETS["other robots, solved"]))
            continue
        count = 2 if quick else 100 if name == "panda" else 30
        besides = _SEARCHES if name == "panda" else ()
        parts = {kind: measured(arm, kind, count, 2 if quick else _RUNS, besides) for kind in KINDS}
        rows += [MotionRow(f"{name}, {kind}: median", part.median, "s") for kind, part in parts.items()]
        seconds = np.concatenate([part.seconds for part in parts.values()])
        longer = np.concatenate([part.longer for part in parts.values()])
        judged = _TARGETS if name == "panda" else {"solved": _TARGETS["other robots, solved"]}
        many = sum(part.many for part in parts.values())
        solved = np.isfinite(seconds)
        allowed = [part.touching for part in parts.values() if part.touching is not None]
        for title, value, unit in (
            ("solved", 100.0 * float(solved.mean()), "%"),
            ("median", float(np.median(seconds)), "s"),
            ("95 %", float(np.quantile(seconds[solved], 0.95 / solved.mean())) if solved.mean() > 0.95 else None, "s"),
            ("longer than the best of ten", 100.0 * float(np.median(longer)), "%"),
        ):
            rows.append(MotionRow(f"{name}, {many} problems: {title}", value, unit, target=judged.get(title)))
        ours, theirs = (np.concatenate([getattr(part, x) for part in parts.values()]) for x in ("goal_seconds", "ompl"))
        peer = float(np.median(theirs)) if len(theirs) else None
        title = f"{name}, to one goal each: median; ompl's RRT-Connect with linkwork's in_collision, sampled"
        rows.append(MotionRow(title, float(np.median(ours)), "s", peer=peer, peer_name="ompl"))
        for searches in besides:
            seconds = np.concatenate([part.by_searches[searches][0] for part in parts.values()])
            longer = np.concatenate([_longer(part.by_searches[searches][1]) for part in parts.values()])
            title = f"{name}, with searches={searches}"
            rows.append(MotionRow(f"{title}: median", float(np.median(seconds)), "s"))
            rows.append(MotionRow(f"{title}: longer than the best of ten", 100.0 * float(np.median(longer)), "%"))
        touching = float(sum(allowed)) if allowed else None
        rows.append(MotionRow(f"{name}: paths that touch, by coal", touching, target=_TARGETS["collisions"]))
    return rows


@dataclass(frozen=True)
class Measured:
    """Results for a kind: seconds (runs,), infinite without a path; lengths by problem and run."""

    many: int
    seconds: np.ndarray
    cost: np.ndarray
    touching: int | None
    goal_seconds: np.ndarray  # seconds to one goal (problems,), and ompl's, where it is installed
    ompl: np.ndarray
    by_searches: dict[int, tuple[np.ndarray, np.ndarray]]  # by searches: seconds, and lengths by problem and run

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def longer(self) -> np.ndarray:
        return _longer(self.cost)


def _longer(cost: np.ndarray) -> np.ndarray:
    """Return the relative excess length of each found path over the problem's shortest one."""
    cost = cost[np.isfinite(cost).any(axis=1)]
    ratio = cost / cost.min(axis=1, keepdims=True)
    result: np.ndarray = ratio[np.isfinite(ratio)] - 1.0
    return result


def _timed_plan(
    robot: lw.Robot, problem: PlanningProblem, seed: int, **options: Any
) -> tuple[lw.planning.PlanResult, float]:
    """Return the result of planning and its time [s], infinite if it fails."""
    begun = time.perf_counter()
    plan = robot.plan(problem.start, problem.goals, problem.scene, seed=seed, time_limit=2.0, **options)
    return plan, time.perf_counter() - begun if plan.success else np.inf


def measured(arm: PlanningArm, kind: str, count: int, runs: int, searches: tuple[int, ...] = ()) -> Measured:
    """Measure the problems of a kind, each solved once before it is timed, so that no time includes compilation."""
    seconds, cost, touching, many = [], [], 0, 0
    is_first, goal_seconds, ompl = True, [], []
    plans: dict[int, list[tuple[float, float]]] = {search_count: [] for search_count in searches}
    try:
        peer = OmplPlanner(arm.robot)
    except CannotCompare:
        peer = None
    for problem in problems(arm, kind, count):
        many += 1
        arm.robot.plan(problem.start, problem.goals, problem.scene)
        costs = []
        for seed in range(runs):
            result, spent = _timed_plan(arm.robot, problem, seed)
            seconds.append(spent)
            costs.append(result.cost)
            for search_count in searches:
                plan, spent = _timed_plan(arm.robot, problem, seed, searches=search_count)
                plans[search_count].append((spent, plan.cost))
            if seed == 0 and result.success and is_first:
                try:
                    touching += _Coal(arm.robot, problem.scene).touches(result.path) > 0
                except CannotCompare:
                    is_first = False
        cost.append(costs)
        begun = time.perf_counter()
        arm.robot.plan(problem.start, problem.goals[0], problem.scene, time_limit=2.0)
        goal_seconds.append(time.perf_counter() - begun)
        if peer is not None:
            ompl.append(peer.seconds(problem.start, problem.goals[0], problem.scene))
    shape = (-1, runs)
    touched = touching if is_first else None
    values = {search_count: np.array(rows).reshape(-1, 2).T for search_count, rows in plans.items()}
    timings = {search_count: (spent, lengths.reshape(shape)) for search_count, (spent, lengths) in values.items()}
    return Measured(
        many, np.array(seconds), np.array(cost).reshape(shape), touched, np.array(goal_seconds), np.array(ompl), timings
    )


def queries(count: int) -> Iterator[str]:
    """Time and memory of short queries, by tenths."""
    arm = _panda()
    samples = [next(problems(arm, kind, 1)) for kind in ("table", "box", "shelves, tall")]
    for tenth in range(10):
        begun = time.perf_counter()
        for k in range(count // 10):
            problem = samples[k % len(samples)]
            arm.robot.plan(problem.start, problem.goals, problem.scene, seed=k % 7)
        each = (time.perf_counter() - begun) / max(count // 10, 1)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield f"{(tenth + 1) * (count // 10):8} queries: {1e3 * each:.2f} ms each, {memory:.0f} MB"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.motion.planning", description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    lw.set_num_threads(1)
    for line in queries(parser.parse_args().queries):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
