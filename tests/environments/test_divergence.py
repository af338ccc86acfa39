"""Environments whose simulation diverges: the end of the episode, its reward, its mark and the warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode

import linkwork as lw
from linkwork.environments import ControlTask, SingleEnvironment, VectorEnvironment
from linkwork.errors import SimulationWarning


def _task(reward: Any) -> ControlTask:
    """Return a mass on a rail whose controller multiplies its velocity by the action times 2e5 in a step of 10 ms."""
    robot = lw.Robot.build(
        "mass",
        lw.Link("mass", mass=0.5),
        lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="rail", parent="world", child="mass"),
    )

    def law(t: Any, q: Any, v: Any, action: Any) -> Any:
        return [1e7 * action[0] * v[0]]

    def start(rng: np.random.Generator) -> tuple[Any, Any]:
        return np.array([0.3]), np.array([1.0])

    return ControlTask(
        robot,
        start=start,
        observe=lambda q, v, goal: [*q, *v],
        reward=reward,
        controller=law,
        action_size=1,
        dt=0.01,
        steps_per_action=200,
        info=lambda q, v, action, goal: {"speed": v[0]},
    )


def test_reward_of_a_diverged_simulation_is_that_of_its_last_state() -> None:
    envs = VectorEnvironment(_task(lambda q, v, action, goal: -3.0 + 0.0 * q[0]), 3)
    envs.reset(seed=0)
    actions = np.array([[0.0], [1.0], [0.0]])
    with pytest.warns(SimulationWarning, match=r"environment 1 diverged, .*shorter dt"):
        _, rewards, terminated, _, info = envs.step(actions)
    assert rewards.tolist() == [-3.0, -3.0, -3.0] and terminated.tolist() == [False, True, False]
    assert info["diverged"].tolist() == [False, True, False] and info["_diverged"].all()
    assert np.isfinite(info["speed"]).all() and abs(info["speed"][1]) > 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it comes once
        envs.step(actions)
        assert "diverged" not in envs.step(0.0 * actions)[4]
    at_once = VectorEnvironment(_task(lambda q, v, action, goal: -3.0), 3, autoreset_mode=AutoresetMode.SAME_STEP)
    at_once.reset(seed=0)
    with pytest.warns(SimulationWarning, match="diverged"):
        info = at_once.step(actions)[4]
    assert info["final_info"]["diverged"].tolist() == [False, True, False] and not info["diverged"].any()


def test_values_that_are_not_finite_are_zero_after_a_divergence() -> None:
    single = SingleEnvironment(_task(lambda q, v, action, goal: -((v[0] * v[0]) ** 80)))
    single.reset(seed=0)
    with pytest.warns(SimulationWarning, match="diverged"):
        _, reward, terminated, _, info = single.step(np.array([1.0]))
    assert terminated and reward == 0.0 and info["diverged"] and np.isfinite(info["speed"])
