"""Plans, roadmaps and timed paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from helpers.gantry import gantry
from linkwork.planning import PoseRegion, Roadmap
from recorded_results.case import case
from recorded_results.robots import arm, inside


def _scene() -> lw.Scene:
    return lw.Scene().with_box("box", (0.9, 1.2, 1.0), (0.1, -0.05, 0.02)).with_sphere("ball", 0.23, (0.13, 0.9, 0.0))


def _plan(plan: Any) -> Any:
    return {"path": plan.path, "cost": plan.cost, "status": str(plan.status), "nodes": plan.nodes, "goal": plan.goal}


@case(1e-4)
def plan_around_two_obstacles(_: Any) -> Any:
    plan = gantry().plan([-1.5, 0.1], [1.4, -0.2], _scene(), seed=3)
    smooth = plan.trajectory(smooth=True)
    tree = plan.trees[0]
    return {
        **_plan(plan),
        "smooth": [smooth.duration, smooth(0.5 * smooth.duration).q],
        "tree": [len(tree.q), tree.q[:5], tree.parent[:5]],
        "text": str(plan).split(" in ")[0],
    }


@case(1e-4)
def plans_with_every_option(_: Any) -> Any:
    robot, scene = gantry(), _scene()
    start, goals = [-1.5, 0.1], [[1.4, -0.2], [1.3, 0.9]]
    weighed = robot.plan(
        start,
        goals,
        scene,
        seed=5,
        weights=[1.0, 2.3],
        margin=0.03,
        position_limits={robot.q_names[0]: (-1.6, 1.7)},
        collision_check="sampled",
        resolution=0.08,
        simplify=False,
    )
    best = robot.plan(start, goals[0], scene, seed=2, method="optimal", max_iterations=2, time_limit=100.0)
    return {
        "weighed": _plan(weighed),
        "best": [str(best.status), best.iterations, best.cost < 3.4, best.path[-1]],
        "pose": _plan(robot.plan(start, [1.2, 0.3, 0.0], scene, seed=4, frame=robot.links[-1].name)),
    }


@case(1e-6)
def plans_that_fail(_: Any) -> Any:
    robot, scene = gantry(), _scene()
    plans = {
        "start": robot.plan([0.1, 0.05], [1.4, -0.2], scene),
        "goal": robot.plan([-1.5, 0.1], [[0.2, 0.9], [0.3, 0.1]], scene),
        "limits": robot.plan([-1.5, 0.1], [2.4, -0.2], scene),
        "outside": robot.plan([-2.2, 0.1], [1.4, -0.2], scene),
        "unreachable": robot.plan([-1.5, 0.1], lw.pose((3.1, 0.3, 0.2)), scene, frame=robot.links[-1].name),
    }
    return {name: [str(plan.status), plan.message] for name, plan in plans.items()}


@case(1e-4)
def roadmaps_and_regions(folder: Path) -> Any:
    robot, scene = gantry(), _scene()
    options: dict[str, Any] = {"weights": [1.3, 0.8], "margin": 0.02}
    roadmap = Roadmap(robot, scene, num_nodes=45, num_neighbors=7, seed=4, lazy=True, **options)
    plan = roadmap.plan([-1.5, 0.1], [1.4, -0.2])
    roadmap.save(folder / "map.npz")
    again = Roadmap.load(folder / "map.npz", robot, scene, **options)
    larger = Roadmap(robot, scene, num_nodes=25, seed=6, **options).extended(10)
    region = PoseRegion(
        "tool",
        lw.pose((0.4, 0.1, 0.6), rpy=(0.2, 0.3, -0.4)),
        [-0.1, 0, -np.inf, 0, -0.05, 0],
        [0.2, 0, np.inf, 0, 0.05, 0.1],
    )
    return {
        "plan": _plan(plan),
        "nodes": roadmap.nodes[:9],
        "edges": [len(roadmap.edges), roadmap.edges[:9]],
        "larger": [larger.nodes, np.asarray(larger.edges), str(larger), np.asarray(larger.components)],
        "again": [str(again), again.nodes[-3:]],
        "region": region.sampled(5, seed=3),
    }


@case(1e-4)
def plan_of_an_arm_along_a_constraint(_: Any) -> Any:
    robot = arm()
    scene = lw.Scene().with_sphere("ball", 0.12, (0.35, 0.3, 0.75))
    level = lw.ik.AlignTask("tool.z", target=(0.1, 0.2, 0.9), cone=1.3, name="level")
    q = inside(robot, 12, 51, 0.5)[[6, 9]]
    plan = robot.plan(*q, scene, path_constraints=[level], constraint_tolerance=2e-3, seed=1)
    blocked = robot.plan(*inside(robot, 12, 51, 0.5)[[3, 7]], scene, path_constraints=[level])
    return {**_plan(plan), "message": str(plan).split(" in ")[0], "blocked": blocked.message}
