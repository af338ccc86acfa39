"""Rewards and failures that are truth values: they count as 1 and 0, and unsuitable results are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("gymnasium")

from linkwork.environments import ControlTask, VectorEnvironment

ROBOT: Any = lw.load("double_pendulum")
START = np.array([2.0, -0.5])


def _step(**functions: Any) -> tuple[float, bool]:
    """Return the reward and the end of a step of no length to speak of, from `START` at rest."""
    functions.setdefault("reward", lambda q, v, action, goal: 0.0)
    task = ControlTask(
        ROBOT,
        start=lambda rng: (START, np.zeros(2)),
        observe=functions.pop("observe", lambda q, v, goal: [*q, *v]),
        joints=("shoulder",),
        efforts=(1.0,),
        dt=1e-6,
        steps_per_action=1,
        **functions,
    )
    envs = VectorEnvironment(task, num_envs=1)
    envs.reset(seed=0)
    _, rewards, ended, _, _ = envs.step(np.zeros((1, 1)))
    return float(rewards[0]), bool(ended[0])


CONDITIONS: Any = {
    "comparison": lambda q: abs(q[0]) > 1.9,
    "or": lambda q: (q[0] > 3.0) | (q[1] < -0.4),
    "and": lambda q: (q[0] > 3.0) & (q[1] < -0.4),
    "largest": lambda q: np.abs(q).max() > 2.1,
    "any": lambda q: np.any(np.abs(q) > 1.9),
    "all": lambda q: np.all(np.abs(q) > 1.9),
    "number": lambda q: (np.abs(q) > 1.9).astype(float)[0],
    "constant": lambda q: True,
}


@pytest.mark.costly
@pytest.mark.parametrize("name", CONDITIONS)
def test_failures_and_rewards_may_be_truth_values(name):
    condition, expected = CONDITIONS[name], bool(CONDITIONS[name](START))
    assert _step(failed=lambda q, v, goal: condition(q)) == (0.0, expected)
    reward = _step(reward=lambda q, v, action, goal: condition(q), failed=lambda q, v, goal: False)
    assert reward == (float(expected), False)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"reward": lambda q, v, action, goal: 2.0 * (q[0] > 0.0)}, "ControlTask: reward: expected no arithmetic"),
        ({"failed": lambda q, v, goal: (q[0] > 0.0) + (q[1] > 0.0)}, "ControlTask: failed: expected no arithmetic"),
        ({"failed": lambda q, v, goal: np.abs(q) > 1.9}, "ControlTask: failed: expected a number or a truth value"),
        ({"observe": lambda q, v, goal: {"q": q}}, "ControlTask: observe: expected a flat list of numbers"),
    ],
)
def test_refused_results_of_functions_name_the_function_and_its_line(functions, message):
    with pytest.raises(TypeError, match=message) as raised:
        _step(**functions)
    assert f"at {__file__}:" in str(raised.value) and "do not fit" not in str(raised.value)
