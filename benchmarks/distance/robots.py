"""Distances of robots in `python -m benchmarks.distance`.

The robots are a Panda and a humanoid of thirty capsules.  The Panda has capsules and boxes; it is measured against
itself and twenty boxes at random configurations within limits.  coal measures the same pairs in Pinocchio's loop,
including its kinematics.  For the humanoid, compilation is measured.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.distance.cases import turned
from benchmarks.distance.peers import CoalRobot
from benchmarks.measurement.paired_timing import compare
from benchmarks.measurement.robots import ROBOTS, NotInstalled, example_robots
from benchmarks.measurement.seconds import shown_time
from benchmarks.peers.pinocchio_peer import CannotCompare
from benchmarks.tables.targets import DISTANCES, Target
from benchmarks.tables.verdicts import Verdict
from linkwork import shapes
from linkwork.cli.function_timings import Call, Effort, environment, threads
from linkwork.cli.output import Terminal

__all__ = ["boxes", "checked_edges", "humanoid", "measured", "panda"]

BATCH = 1024
EDGES, CHECKED, SAMPLES = 256, 25_600, 100  # timed, looked at again, and samples on each
_HALF = np.pi / 2
_PANDA: dict[str, tuple[tuple[float, ...], ...]] = {  # radius, length, place, and the rotation about x, or y if given
    "panda_link0": ((0.11, 0.03, -0.075, 0.0, 0.06, 0.0, _HALF),),
    "panda_link1": ((0.06, 0.283, 0.0, 0.0, -0.1915, 0.0),),
    "panda_link2": ((0.06, 0.12, 0.0, 0.0, 0.0, _HALF),),
    "panda_link3": ((0.06, 0.15, 0.0, 0.0, -0.145, 0.0),),
    "panda_link4": ((0.06, 0.12, 0.0, 0.0, 0.0, _HALF),),
    "panda_link5": ((0.06, 0.1, 0.0, 0.0, -0.26, 0.0), (0.025, 0.14, 0.0, 0.08, -0.13, 0.0)),
    "panda_link6": ((0.05, 0.08, 0.0, 0.0, -0.03, 0.0),),
    "panda_link7": ((0.04, 0.14, 0.0, 0.0, 0.01, 0.0),),
}
_HUMANOID = 30


def panda() -> lw.Robot:
    """Return a Panda with capsules on the links, a box for the hand, and fixed fingers.  Raises NotInstalled."""
    robot = ROBOTS["panda"].load()
    for frame in robot.tree.frames:
        if frame.collisions:
            robot = robot.with_collisions(frame.name)
    for link, of in _PANDA.items():
        robot = robot.with_collisions(link, *(_capsule(*values) for values in of))
    robot = robot.with_collisions("panda_hand", shapes.Box((0.04, 0.21, 0.12)).at((0.0, 0.0, 0.05)))
    return robot.with_locked_joints({name: 0.0 for name in robot.q_names if "finger" in name})


def _capsule(radius: float, length: float, x: float, y: float, z: float, roll: float, pitch: float = 0.0) -> Any:
    return shapes.Capsule(radius, length).at(lw.pose((x, y, z), rpy=(roll, pitch, 0.0)))


def boxes(count: int = 20) -> Any:
    """Around an arm, none of them at its base."""
    rng, scene = np.random.default_rng(0), lw.Scene()
    R = turned(rng.normal(size=(count, 4)))
    for k in range(count):
        angle, far = rng.uniform(-np.pi, np.pi), rng.uniform(0.45, 0.9)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R[k], (far * np.cos(angle), far * np.sin(angle), rng.uniform(0.0, 0.9))
        scene = scene.with_box(f"box{k}", tuple(rng.uniform(0.05, 0.2, 3)), X)
    return scene


def humanoid() -> lw.Robot:
    """Return the bundled humanoid with one capsule on each of its first `_HUMANOID` bodies."""
    robot = lw.load("humanoid", floating_base=True)
    links = [body.name for body in robot.tree.bodies][:_HUMANOID]
    for frame in robot.tree.frames:
        if frame.collisions:
            robot = robot.with_collisions(frame.name)
    for link in links:
        robot = robot.with_collisions(link, shapes.Capsule(0.03, 0.1))
    return robot


def measured(effort: Effort, quick: bool, terminal: Terminal) -> tuple[list[dict[str, Any]], list[Verdict]]:
    """Return the records of all measurements, and the verdicts for the table of targets."""
    results: list[dict[str, Any]] = []
    rows: list[Verdict] = []
    for part in (_pair, _panda, _hulls, _edges, _compiled):
        try:
            for record, verdicts in part(effort, quick):
                results.append(record)
                rows += verdicts
        except (NotInstalled, CannotCompare, AttributeError, ImportError, OSError) as error:
            terminal.warning(f"left out: {part.__name__.strip('_')}: {error}")
        terminal.log.line(f"robots: {part.__name__.strip('_')}")
    return results, rows


Part = Iterator[tuple[dict[str, Any], list[Verdict]]]


def _pair(effort: Effort, quick: bool) -> Part:
    a, b, X, Y = shapes.Capsule(0.1, 0.3), shapes.Capsule(0.1, 0.5), lw.pose(), lw.pose((1.0, 0.2, 0.0))
    names = {"distance": lw.signed_distance, "a": a, "b": b, "X": X, "Y": Y}
    gc.collect()
    gc.freeze()  # what was measured before is not looked through while results come and go
    with threads(1):
        seconds = compare(Call("distance(a, X, b, Y)", names), None, effort).ours
    gc.unfreeze()
    key = ("one pair", "one call")
    yield {"what": key[0], "measure": key[1], "seconds": seconds}, [_row(key, seconds)]


def _panda(effort: Effort, quick: bool) -> Part:
    robot, scene = panda(), boxes()
    q = robot.random_configuration(np.random.default_rng(1), size=BATCH)
    with threads(1):
        distances = robot.distances(q, scene)
        peer, beside = _beside(robot, scene, q, distances)
        title = f"panda, {len(scene)} boxes"
        yield {"what": title, "measure": "pairs", "count": len(distances.pairs), "difference": beside,
               "touching": float((distances.distance <= 0.0).any(-1).mean()),
               "wrong": beside is not None and beside > 1e-4}, []  # fmt: skip
        calls = {"distances and gradient": robot.distance_derivatives, "yes or no": robot.in_collision}
        for measure, ask in calls.items():
            yes = measure == "yes or no"
            its = None if peer is None else peer.seconds(q[:64], yes)
            for kind, x in (("", q), (", float32", q.astype(np.float32))):
                key = (title, measure + kind)
                if kind and np.asarray(getattr(ask(x, scene), "gradient", True)).dtype == float:
                    yield {"what": title, "measure": measure + kind, "seconds": None}, [_row(key, None)]
                    continue
                seconds = _of_batch(ask, x, scene, effort)
                record = {"what": title, "measure": measure + kind, "seconds": seconds, "coal": its}
                yield record, [_row(key, seconds, its)]


def _of_batch(ask: Callable[..., Any], q: np.ndarray, scene: Any, effort: Effort) -> float:
    ask(q, scene)
    return compare(Call("ask(q, scene)", {"ask": ask, "q": q, "scene": scene}), None, effort).ours / len(q)


def _beside(robot: lw.Robot, scene: Any, q: np.ndarray, result: Any) -> tuple[CoalRobot | None, float | None]:
    """Return coal's robot, and the maximum difference of its distances."""
    try:
        peer = CoalRobot(robot, scene, result.pairs)
    except CannotCompare:
        return None, None
    its = np.array([peer.distances(x) for x in q[:64]])
    return peer, float(np.abs(its - result.distance[:64]).max())


def _hulls(effort: Effort, quick: bool) -> Part:
    """The file's meshes as outer hulls, and coal with the full ones."""
    bare, scene, folder = ROBOTS["panda"].load(), boxes(), example_robots()
    bare = bare.with_locked_joints({name: 0.0 for name in bare.q_names if "finger" in name})
    folders = [folder, folder.parent, folder.parents[1]]
    robot, full = (bare.with_collision_hulls(folders, max_vertices=count) for count in (32, None))
    q = robot.random_configuration(np.random.default_rng(1), size=BATCH // 4)
    key = ("panda, hulls of 32", "distances and gradient")
    with threads(1):
        distances = robot.distances(q[:64], scene)
        _, difference = _beside(robot, scene, q, distances)
        peer, _ = _beside(full, scene, q[:1], distances)
        its = None if peer is None else peer.seconds(q[:32], False)
        seconds = _of_batch(robot.distance_derivatives, q, scene, effort)
    record = {"what": key[0], "measure": key[1], "seconds": seconds, "coal": its, "difference": difference}
    wrong = difference is not None and difference > 1e-4
    yield {**record, "count": len(distances.pairs), "wrong": wrong}, [_row(key, seconds, its)]


def _edges(effort: Effort, quick: bool) -> Part:
    """Edges of length 1, which are certified, and whether samples on those that are free agree."""
    robot, scene = panda(), boxes()
    count = EDGES if quick else CHECKED
    with threads(1):
        q0, q1 = _edges_of(robot, np.random.default_rng(2), EDGES)
        names = {"ask": robot.is_motion_free, "q0": q0, "q1": q1, "scene": scene}
        seconds = compare(Call("ask(q0, q1, scene)", names), None, effort).ours / EDGES
    free, wrong = checked_edges(count, 2)
    title = f"panda, {len(scene)} boxes"
    for measure, value in (("edge of 1 rad", seconds), ("edges wrongly certified", float(wrong))):
        record = {"what": title, "measure": measure, "seconds": value, "free": free / count, "count": count}
        yield {**record, "wrong": bool(wrong)}, [_row((title, measure), value)]


def checked_edges(count: int, seed: int) -> tuple[int, int]:
    """Count the random edges of length 1 that are certified free, and those of them with samples in collision."""
    robot, scene, rng = panda(), boxes(), np.random.default_rng(seed)
    free, wrong = 0, 0
    for start in range(0, count, EDGES):
        q0, q1 = _edges_of(robot, rng, min(EDGES, count - start))
        certified = np.asarray(robot.is_motion_free(q0, q1, scene).free, bool)
        free += int(certified.sum())
        if certified.any():
            s = rng.uniform(0.0, 1.0, (SAMPLES, int(certified.sum()), 1))
            samples = q0[certified] + s * (q1 - q0)[certified]
            wrong += int(np.asarray(robot.in_collision(samples, scene)).any(0).sum())
    return free, wrong


def _edges_of(robot: lw.Robot, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random edges of length 1, clipped to limits."""
    q0 = robot.random_configuration(rng, size=count)
    step = rng.normal(size=q0.shape)
    return q0, np.clip(q0 + step / np.linalg.norm(step, axis=1, keepdims=True), robot.lower, robot.upper)


def _compiled(effort: Effort, quick: bool) -> Part:
    robot = humanoid()
    q = robot.random_configuration(np.random.default_rng(0), size=16)
    with environment(LINKWORK_CACHE="off"):
        start = time.perf_counter()
        distances = robot.distances(q)
        seconds = time.perf_counter() - start
    key = ("humanoid, 30 capsules", "compile, cold")
    yield {"what": key[0], "measure": key[1], "seconds": seconds, "count": len(distances.pairs)}, [_row(key, seconds)]


def _row(key: tuple[str, str], value: float | None, peer: float | None = None) -> Verdict:
    target: Target = DISTANCES[key]
    counted = "wrongly" in key[1]
    text = "-" if value is None else f"{value:g}" if counted else shown_time(value)
    most = f"<= {target.bound:g}" if counted else f"<= {shown_time(target.bound)}"
    return Verdict(*key, text, "-" if peer is None else shown_time(peer), value, text, target, most)
