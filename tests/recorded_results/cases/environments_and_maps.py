"""Environments for reinforcement learning, and maps of workspaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.environments import ControlTask, Push, Randomization, SingleEnvironment, VectorEnvironment
from linkwork.simulation import IMU, ContactGround
from linkwork.workspace import WorkspaceMap
from recorded_results.case import case
from recorded_results.robots import arm, crane


def _task() -> ControlTask:
    robot = crane()

    def observe(q: Any, v: Any, goal: Any, last_action: Any, imu: Any) -> Any:
        return [*q, *(0.3 * v), goal[0] - q[0], *last_action, *imu]

    def reward(q: Any, v: Any, action: Any, goal: Any, previous_action: Any) -> Any:
        return 1.3 - abs(q[0] - goal[0]) - 0.02 * action[0] * previous_action[0]

    return ControlTask(
        robot,
        lambda rng: (rng.uniform(-0.4, 0.4, 2), rng.uniform(-0.2, 0.2, 2)),
        observe,
        reward,
        ("rail", "hinge"),
        (11.0, 0.9),
        failed=lambda q, v, goal: abs(q[1]) > 0.9,
        goal=lambda rng: rng.uniform(0.2, 0.5, 1),
        dt=0.01,
        steps_per_action=3,
        horizon=5,
        sensors={"imu": IMU("hook", of="specific_force", noise=0.05, delay=0.03)},
        info=lambda q, v, action, goal: {"distance": q[0] - goal[0], "effort": action[0] ** 2},
        contacts=ContactGround(["hook"], friction=0.5, height=-0.9),
    )


@case(1e-6)
def episodes_of_randomized_environments(_: Any) -> Any:
    side = np.array([0.0, 0.1, 0.0, 3.0, 1.0, 0.5])
    varied = Randomization(
        scales={"inertia:load": (0.6, 1.9), "damping": ([0.5, 0.7], [2.0, 1.5])},
        parameters={"gravity": lambda rng: rng.normal([0.1, 0.2, -9.7], 0.1), "contact_friction": (0.2, 0.6)},
        noise=0.02,
        bias=(-0.03, 0.02),
        action_delay=(0, 2),
        observation_delay=(0, 1),
        pushes=Push("hook", (-side, side), interval=(0.02, 0.06), duration=(0.02, 0.05)),
    )
    envs = VectorEnvironment(_task(), num_envs=3, randomization=varied)
    first, info = envs.reset(seed=11)
    actions = np.random.default_rng(4).uniform(-1.0, 1.0, (8, 3, 2))
    steps = [envs.step(action) for action in actions]
    single = SingleEnvironment(_task())
    start, _info = single.reset(seed=7, options={"q": [0.3, -0.2], "goal": [0.45]})
    alone = [single.step(np.array([0.4, -0.7])) for _k in range(5)]
    return {
        "drawn": {name: np.nan_to_num(np.asarray(x, dtype=float)) for name, x in info["randomization"].items()},
        "first": first,
        "steps": [list(step[:4]) for step in steps],
        "info": [{k: x for k, x in step[4].items() if k in ("distance", "effort", "_distance")} for step in steps],
        "state": list(envs.state),
        "alone": [start, [list(step[:4]) for step in alone], alone[-1][4]["distance"]],
        "texts": [
            str(envs.single_observation_space.shape),
            str(envs.single_action_space),
            envs.spec.id if envs.spec else "",
        ],
    }


@case(1e-6)
def example_tasks(_: Any) -> Any:
    result = {}
    for name in ("pendulum", "cart_pole", "acrobot", "reacher", "hopper"):
        envs = VectorEnvironment(name, num_envs=2)
        first, _info = envs.reset(seed=3)
        shape = envs.action_space.shape
        action = 0.3 * np.sin(1.0 + np.arange(np.prod(shape))).reshape(shape)
        steps = [list(envs.step(action)[:4]) for _k in range(3)]
        space = envs.single_observation_space
        result[name] = [first, steps, np.nan_to_num(space.high, posinf=-1.0)]
    return result


@case(1e-6)
def map_of_a_workspace(folder: Path) -> Any:
    robot = arm()
    scene = lw.Scene().with_sphere("ball", 0.15, (0.3, 0.3, 0.8))
    result = robot.workspace_map(
        "tool",
        scene,
        samples=3000,
        voxel_size=0.13,
        relative_to="column",
        approach_axis="-x",
        margin=0.02,
        seed=5,
        workers=1,
        position_limits={"lift": (-1.4, 1.2)},
    )
    names = (
        "reached",
        "collision_free",
        "directions",
        "orientation_coverage",
        "max_manipulability",
        "mean_manipulability",
        "max_inverse_condition",
        "mean_inverse_condition",
        "limit_margin",
    )
    result.save(folder / "map.npz")
    again = WorkspaceMap.load(folder / "map.npz")
    positions = [[0.31, 0.12, 0.4], [0.1, 0.5, 0.2], [2.0, 0.0, 0.0], [-0.3, 0.3, 0.5]]
    grid = result.grid("collision_free")
    return {
        "values": {name: np.nan_to_num(np.asarray(getattr(result, name), dtype=float)) for name in names},
        "volume": result.volume,
        "points": result.points,
        "cells": result.cells,
        "text": str(result),
        "again": str(again),
        "at": [np.nan_to_num(result.at(name, positions)) for name in names if name != "directions"],
        "reachable": result.reachable(positions),
        "grid": list(grid) if isinstance(grid, tuple) else grid,
        "again values": again.values,
        "options": [result.approach_axis, result.part, result.seed, result.relative_to],
    }
