"""Episodes that begin in the step in which the ones before end, and environments for stable-baselines3."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from linkwork.environments import (
    TASKS,
    Push,
    Randomization,
    VectorEnvironment,
    stable_baselines,
    stable_baselines_environment,
)
from linkwork.simulation import IMU

SIDE = np.array([0.0, 0.0, 0.0, 5.0, 0.0, 0.0])
VARIED = Randomization(
    scales={"inertia:pole": (0.5, 2.0)},
    bias=(-0.01, 0.01),
    action_delay=(0, 2),
    observation_delay=(0, 3),
    pushes=Push("cart", (-SIDE, SIDE), interval=(0.05, 0.2), duration=(0.01, 0.05)),
)


def cart_pole(sensor: IMU | None = None) -> Any:
    """Return a task with short episodes, some of which end by failure; a sensor's readings are observed."""
    base = TASKS["cart_pole"]()
    if sensor is None:
        return replace(base, horizon=17)

    def observe(q: Any, v: Any, goal: Any, imu: Any) -> list[Any]:
        return [*base.observe(q, v, goal), *imu]

    return replace(base, observe=observe, sensors={"imu": sensor}, horizon=17, observation_bounds=None)


def policy(observations: np.ndarray) -> np.ndarray:
    """Return actions (n, 1) that let the pole fall in some episodes."""
    return np.sin(40.0 * observations[:, 1:2] + 20.0 * observations[:, :1])


def episodes(envs: VectorEnvironment, steps: int) -> list[list[np.ndarray]]:
    """Return the episodes of each environment, each as rows of observation, reward and ends."""
    at_once = envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    observations, _ = envs.reset(seed=[4, 9, 2, 7])
    rows: list[list[list[np.ndarray]]] = [[[np.append(x, np.zeros(3))]] for x in observations]
    over = np.zeros(4, dtype=bool)
    for _ in range(steps):
        observations, rewards, terminated, truncated, info = envs.step(policy(observations))
        ended = terminated | truncated
        for k in range(4):
            last = info["final_obs"][k] if at_once and ended[k] else observations[k]
            if over[k] and not at_once:
                rows[k].append([np.append(observations[k], np.zeros(3))])
            else:
                rows[k][-1].append(np.append(last, [rewards[k], terminated[k], truncated[k]]))
            if at_once and ended[k]:
                rows[k].append([np.append(observations[k], np.zeros(3))])
        over = ended
    return [[np.array(episode) for episode in environment] for environment in rows]


@pytest.mark.costly
@pytest.mark.parametrize("sensor", [None, IMU("pole"), IMU("pole", delay=0.02)])
@pytest.mark.parametrize("randomization", [None, VARIED])
def test_episodes_after_same_step_and_next_step_resets_are_equal(sensor: Any, randomization: Any) -> None:
    task = cart_pole(sensor)
    first, second = (
        episodes(VectorEnvironment(task, 4, None, randomization, mode), 80)
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    )
    ends = []
    for later, at_once in zip(first, second, strict=True):
        assert len(later) >= 4 and len(at_once) >= 4
        for a, b in zip(later[:4], at_once[:4], strict=True):
            shared = min(len(a), len(b))
            assert np.array_equal(a[:shared], b[:shared])
        ends += [episode[-1, -2:].tolist() for episode in at_once[:-1]]
    assert [0.0, 1.0] in ends and (randomization is None or [1.0, 0.0] in ends)


@pytest.mark.slow(every=3)
def test_noise_of_environments_with_same_step_resets_is_independent() -> None:
    task, noisy = cart_pole(IMU("pole", noise=0.1)), replace(VARIED, noise=0.01)
    together = VectorEnvironment(task, 3, None, noisy, AutoresetMode.SAME_STEP)
    alone = [VectorEnvironment(task, 1, None, noisy, AutoresetMode.SAME_STEP) for _ in range(3)]
    observations = together.reset(seed=[1, 2, 3])[0]
    assert np.array_equal(observations, np.concatenate([envs.reset(seed=[k + 1])[0] for k, envs in enumerate(alone)]))
    for _ in range(40):
        actions = policy(observations)
        results = [envs.step(actions[k : k + 1]) for k, envs in enumerate(alone)]
        observations, rewards, *_, info = together.step(actions)
        assert np.array_equal(observations, np.concatenate([result[0] for result in results]))
        assert np.array_equal(rewards, np.concatenate([result[1] for result in results]))
        for k, result in enumerate(results):
            if result[2] | result[3]:
                assert np.array_equal(info["final_obs"][k], result[4]["final_obs"][0]) and info["_final_obs"][k]


def test_gymnasium_records_episodes_with_same_step_resets() -> None:
    envs = RecordEpisodeStatistics(VectorEnvironment(cart_pole(), 3, autoreset_mode=AutoresetMode.SAME_STEP))
    envs.reset(seed=0)
    for _ in range(17):
        envs.step(np.zeros((3, 1)))
    assert list(envs.length_queue) == [17, 17, 17]


def test_unsupported_reset_modes_of_environments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"autoreset_mode: expected gymnasium.*NEXT_STEP, SAME_STEP or DISABLED, got"):
        VectorEnvironment("pendulum", autoreset_mode="never")


def check_baselines(environments: Any) -> None:
    """Check the interface of stable-baselines3 against a vector environment with the same seeds."""
    plain = VectorEnvironment(cart_pole(), 3, None, VARIED, AutoresetMode.SAME_STEP)
    environments.seed(5)
    observations, (expected, _) = environments.reset(), plain.reset(seed=[5, 6, 7])
    assert observations.dtype == np.float32 and environments.observation_space.shape == (4,)
    ends = 0
    for _ in range(40):
        assert np.array_equal(observations, expected.astype(np.float32))
        actions = policy(expected)
        environments.step_async(actions)
        observations, rewards, ended, infos = environments.step_wait()
        expected, plain_rewards, terminated, truncated, info = plain.step(actions)
        assert np.array_equal(rewards, plain_rewards.astype(np.float32)) and rewards.dtype == np.float32
        assert np.array_equal(ended, terminated | truncated)
        for k in range(3):
            assert ("terminal_observation" in infos[k]) == ended[k]
            if ended[k]:
                ends += 1
                last = info["final_obs"][k].astype(np.float32)
                assert np.array_equal(infos[k]["terminal_observation"], last)
                assert infos[k]["TimeLimit.truncated"] is bool(truncated[k])
                drawn = environments.reset_infos[k]["randomization"]
                assert np.array_equal(drawn["inertia_pole"], info["randomization"]["inertia_pole"][k])
    # options of a reset, alike or by environment
    for options in ({"q": [0.1, 0.2]}, [{"q": [0.1, 0.1 * k]} for k in range(3)]):
        environments.set_options(options)
        environments.reset()
        expected = [each["q"] for each in options] if isinstance(options, list) else [options["q"]] * 3
        assert np.array_equal(environments.envs.state[0], expected)
    environments.set_options([{"q": [0.1, 0.2]}, {}, {}])
    with pytest.raises(ValueError, match="set_options: expected the same names for all environments"):
        environments.reset()
    environments.set_options({})
    assert ends > 3 and environments.env_is_wrapped(object) == [False] * 3
    assert environments.get_attr("task", [0, 2]) == [environments.envs.task] * 2
    for call in (lambda: environments.set_attr("task", None), lambda: environments.env_method("observe")):
        with pytest.raises(NotImplementedError, match="all step in one kernel; make_vec_env makes single"):
            call()


def test_environments_for_stable_baselines_have_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    class VecEnv:
        """The attributes that stable-baselines3's base class sets."""

        def __init__(self, num_envs: int, observation_space: Any, action_space: Any) -> None:
            self.num_envs, self.observation_space, self.action_space = num_envs, observation_space, action_space
            self.reset_infos: list[Any] = [{}] * num_envs
            self.seed(None)
            self._reset_options()
            self.render_mode = self.get_attr("render_mode")[0]  # type: ignore[attr-defined]

        def seed(self, seed: int | None) -> None:
            self._seeds = [None if seed is None else seed + k for k in range(self.num_envs)]

        def _reset_seeds(self) -> None:
            self.seed(None)

        def set_options(self, options: Any) -> None:
            self._options = options if isinstance(options, list) else [dict(options)] * self.num_envs

        def _reset_options(self) -> None:
            self._options: Any = [{}] * self.num_envs

        def _get_indices(self, indices: Any) -> Any:
            return range(self.num_envs) if indices is None else indices

    names = ("stable_baselines3", "stable_baselines3.common", "stable_baselines3.common.vec_env")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    module: Any = sys.modules[names[-1]]
    module.VecEnv, module.VecMonitor = VecEnv, lambda environments: environments
    stable_baselines._classes.cache_clear()
    try:
        check_baselines(stable_baselines_environment(cart_pole(), 3, randomization=VARIED))
    finally:
        stable_baselines._classes.cache_clear()


def test_missing_stable_baselines_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    stable_baselines._classes.cache_clear()
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    with pytest.raises(ImportError, match="pip install stable-baselines3"):
        stable_baselines_environment("pendulum")


@pytest.mark.slow(every=9)
def test_stable_baselines_learns_in_a_vector_of_environments() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports
        baselines = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
        from stable_baselines3.common.vec_env import VecMonitor
    environments = stable_baselines_environment(cart_pole(), 3, randomization=VARIED)
    assert isinstance(environments, VecMonitor)
    check_baselines(environments.venv)
    environments = stable_baselines_environment(cart_pole(), 16)
    model = baselines.PPO("MlpPolicy", environments, n_steps=32, batch_size=256, n_epochs=2, seed=0, device="cpu")
    model.learn(1024)
    lengths = [episode["l"] for episode in model.ep_info_buffer]
    assert len(lengths) > 16 and max(lengths) == 17
